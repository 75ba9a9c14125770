// SPDX-License-Identifier: Apache-2.0
#include "exec/sort/external_sorter.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "exec/sort/merge_stream.h"
#include "runtime/metrics.h"
#include "runtime/worker_pool.h"

namespace icebound::exec::sort {
namespace {

/// Part of the free memory a merge may take: the rest is for who takes the rows. At the smallest limit (48 MiB of
/// grants) that leaves 19 MiB.
constexpr double kMergeShare = 0.6;

/// Runs one merge should be able to take without a second level: at a limit of 64 MiB these are about 13 GB of rows,
/// at 256 MiB 50 GB.
constexpr int64_t kFanInWanted = 512;

/// A block below 32 KiB compresses badly and costs a system call for few rows; above 512 KiB nothing gets faster.
constexpr int64_t kBlockBytesMin = int64_t{32} << 10;
constexpr int64_t kBlockBytesMax = int64_t{512} << 10;

constexpr int64_t kChunkBytesMin = int64_t{64} << 10;
constexpr int64_t kChunkBytesMax = int64_t{1} << 20;

/// Radix sort scratch: at most what leaves room for its source in a second-level cache of 2 MiB.
constexpr int64_t kScratchBytesMin = int64_t{64} << 10;
constexpr int64_t kScratchBytesMax = int64_t{1} << 20;

/// A row is held by the scan and by the sort, and later by a batch (which is the merge's copy, too) and twice by a consumer that
/// encodes it; a wider one than a third of the grants cannot pass, and is refused before it is tried.
constexpr int64_t kWidestRowPart = 3;

/// Rows wider than this part of the grants are not kept in memory for the merge, nor merged ahead: each of them is held by the
/// merge, a batch and the consumer already.
constexpr int64_t kLonelyRowPart = 64;

/// Copies of the widest row that the merge leaves room for: the batch (the row as the merge loaded it), the consumer's encoded
/// page before and after compression, and the page that waits to be written.
constexpr int64_t kConsumerRows = 4;

/// Fewer runs than this are merged alone: two merges of so few write rows again that one of twice as many would not.
constexpr int64_t kPairFanInMin = 4;

/// Output rows are gathered in a buffer of at least this size, however little memory there is.
constexpr int64_t kOutputBytesMin = int64_t{64} << 10;

int64_t PagesDown(int64_t bytes) { return bytes / 4096 * 4096; }

}  // namespace

arrow::Result<std::unique_ptr<ExternalSorter>> ExternalSorter::Make(runtime::QueryContext* context,
                                                                    const std::shared_ptr<arrow::Schema>& input,
                                                                    SorterOptions options, runtime::OperatorMetrics* metrics) {
  ARROW_ASSIGN_OR_RAISE(std::unique_ptr<SortRowFormat> format, SortRowFormat::Make(input, options.keys, options.output_columns));
  return std::unique_ptr<ExternalSorter>(new ExternalSorter(context, std::move(format), std::move(options), metrics));
}

ExternalSorter::ExternalSorter(runtime::QueryContext* context, std::unique_ptr<SortRowFormat> format, SorterOptions options,
                               runtime::OperatorMetrics* metrics)
    : context_(context),
      metrics_(metrics),
      options_(std::move(options)),
      format_(std::move(format)),
      consumer_(context->ledger.AddConsumer("sort", this)),
      budget_(consumer_.get()),
      shared_(*format_, &budget_, &context->disk, context->cancellation),
      cutoff_pages_(&budget_) {}

ExternalSorter::~ExternalSorter() {
  SetTakingRows(false);
  UpdateMetrics();
  budget_.Give(charged_runs_ * SortRun::kStateBytes);
}

// --- run generation ---------------------------------------------------------------------------------------------------------

void ExternalSorter::ChooseSizes(int workers) {
  const int64_t granted_bytes = context_->ledger.granted_bytes();
  const int64_t worker_bytes = consumer_->share_bytes() / workers;
  const auto merge_bytes = static_cast<int64_t>(kMergeShare * static_cast<double>(granted_bytes));
  shared_.workers = workers;
  shared_.force_spill = context_->force_spill;
  shared_.block_bytes = std::clamp(PagesDown(merge_bytes / kFanInWanted), kBlockBytesMin, kBlockBytesMax);
  shared_.chunk_bytes = std::clamp(PagesDown(worker_bytes / 64), kChunkBytesMin, kChunkBytesMax);
  shared_.scratch_entries =
      std::clamp(PagesDown(worker_bytes / 32), kScratchBytesMin, kScratchBytesMax) / int64_t{sizeof(SortEntry)};
  shared_.row_bytes_max = granted_bytes / kWidestRowPart;
  // Two runs to read, their scratch, one run to write, the rows between; and what an open run or reader costs beside its block.
  shared_.floor_bytes = 4 * (shared_.block_bytes + 2 * SortRun::kStateBytes) + OutputBufferBytes();
}

arrow::Status ExternalSorter::StartInput(int workers) {
  ChooseSizes(workers);
  ARROW_RETURN_NOT_OK(budget_.Take(shared_.floor_bytes));
  budget_.Give(shared_.floor_bytes);
  if (options_.fetch_rows.has_value()) {
    ARROW_RETURN_NOT_OK(cutoff_pages_.Resize(KeyCutoff::kStateBytes));
    cutoff_.emplace(format_->layout(), *options_.fetch_rows);
    shared_.cutoff_or_null = &*cutoff_;
  }
  for (int worker = 0; worker < workers; ++worker) {
    builders_.push_back(std::make_unique<SortRunBuilder>(&shared_));
    ARROW_RETURN_NOT_OK(builders_.back()->Start());
  }
  SetTakingRows(true);
  return arrow::Status::OK();
}

arrow::Status ExternalSorter::Append(int worker, const arrow::RecordBatch& batch) {
  ARROW_RETURN_NOT_OK(context_->cancellation.Check());
  if (options_.fetch_rows == 0) return arrow::Status::OK();
  return builders_[worker]->Append(batch);
}

arrow::Status ExternalSorter::FinishWorker(int worker) { return builders_[worker]->Finish(); }

void ExternalSorter::SetTakingRows(bool taking_rows) {
  std::lock_guard lock(reclaim_mutex_);
  taking_rows_ = taking_rows;
}

int64_t ExternalSorter::ReclaimableBytes() const {
  const std::unique_lock lock(reclaim_mutex_, std::try_to_lock);
  // Another reclaim is under way: there is something, and Reclaim will say that the sorter is busy.
  if (!lock.owns_lock()) return 1;
  if (!taking_rows_) return 0;
  int64_t bytes = 0;
  for (const auto& builder : builders_) bytes += builder->ReclaimableBytes();
  return bytes;
}

arrow::Result<int64_t> ExternalSorter::Reclaim(int64_t bytes) {
  const std::unique_lock lock(reclaim_mutex_, std::try_to_lock);
  int64_t released_bytes = 0;
  if (!lock.owns_lock() || !taking_rows_) return released_bytes;
  for (const auto& builder : builders_) {
    if (released_bytes >= bytes) break;
    ARROW_ASSIGN_OR_RAISE(const bool spilled, builder->Reclaim());
    if (spilled) released_bytes += budget_.ReturnSlack(shared_.floor_bytes);
  }
  return released_bytes;
}

// --- merge planning ---------------------------------------------------------------------------------------------------------

int64_t ExternalSorter::FreeBytes() const { return context_->ledger.available_bytes() + budget_.slack_bytes(); }

int64_t ExternalSorter::MergeBytesMax() const {
  const int64_t free_bytes = FreeBytes();
  const auto share_bytes = static_cast<int64_t>(kMergeShare * static_cast<double>(free_bytes));
  const int64_t part_bytes = std::min(share_bytes, free_bytes - BytesForConsumer());
  // The floor is held already, however small the share has become.
  return std::max(std::min(part_bytes, consumer_->share_bytes() - budget_.taken_bytes()), shared_.floor_bytes);
}

int64_t ExternalSorter::OutputBytesMax() const {
  return std::clamp(consumer_->share_bytes() / 64, std::min(kOutputBytesMin, context_->batch_bytes), context_->batch_bytes);
}

bool ExternalSorter::HasLonelyRows() const {
  return shared_.widest_row_bytes.load(std::memory_order_relaxed) > context_->ledger.granted_bytes() / kLonelyRowPart;
}

/// Of the buffer that a merge of all runs has for the row that has won.
int64_t ExternalSorter::WideRowBytes() const {
  int64_t bytes = 0;
  for (const PlannedRun& planned : runs_) bytes = std::max(bytes, RowMerger::WideRowBytes(planned.run));
  return bytes;
}

int64_t ExternalSorter::BytesForConsumer() const {
  const int64_t widest_bytes = shared_.widest_row_bytes.load(std::memory_order_relaxed);
  return widest_bytes > context_->batch_bytes ? kConsumerRows * widest_bytes : 0;
}

int ExternalSorter::MergeThreads() const { return HasLonelyRows() ? 1 : context_->threads; }

int64_t ExternalSorter::OutputBufferBytes() const {
  return RowBatchesWanted(MergeThreads()) * RowBatch::BufferBytes(context_->batch_rows, OutputBytesMax());
}

arrow::Status ExternalSorter::FinishInput() {
  int64_t held_bytes = 0;
  for (const auto& builder : builders_) held_bytes += builder->held_bytes();
  // Rows in memory are the merge's memory when they stay.
  const bool too_much = held_bytes > static_cast<int64_t>(kMergeShare * static_cast<double>(FreeBytes() + budget_.taken_bytes()));
  if (shared_.spilled.load() || too_much || HasLonelyRows()) ARROW_RETURN_NOT_OK(SpillWhatIsInMemory());
  SetTakingRows(false);
  for (const auto& builder : builders_) {
    builder->FreeWorkspace();
    // A reclaim may have come between.
    for (SortRun& run : builder->TakeRuns()) runs_.push_back({std::move(run)});
  }
  initial_runs_ = static_cast<int64_t>(runs_.size());
  ARROW_RETURN_NOT_OK(ChargeRuns());
  if (!runs_.empty()) {
    merge_levels_ = 1;
    ARROW_RETURN_NOT_OK(ReduceRuns());
  }
  final_fan_in_ = static_cast<int64_t>(runs_.size());
  int64_t needed_bytes = budget_.taken_bytes() + OutputBufferBytes() + shared_.block_bytes;
  for (const PlannedRun& planned : runs_) needed_bytes += RunReader::BufferBytes(planned.run);
  budget_.ReturnSlack(needed_bytes);
  UpdateMetrics();
  return arrow::Status::OK();
}

arrow::Status ExternalSorter::SpillWhatIsInMemory() {
  return runtime::RunOnThreads(static_cast<int>(builders_.size()), [this](int worker) { return builders_[worker]->SpillRest(); });
}

/// Pays for the state of the runs there are.
arrow::Status ExternalSorter::ChargeRuns() {
  const auto run_count = static_cast<int64_t>(runs_.size());
  const int64_t more_bytes = (run_count - charged_runs_) * SortRun::kStateBytes;
  if (more_bytes > 0) {
    ARROW_RETURN_NOT_OK(budget_.Take(more_bytes));
  } else {
    budget_.Give(-more_bytes);
  }
  charged_runs_ = run_count;
  return arrow::Status::OK();
}

/// How many of the smallest runs a merge can take with this much memory; at least two.
int64_t ExternalSorter::FanIn(int64_t bytes) const {
  int64_t fan_in = 0;
  for (auto planned = runs_.rbegin(); planned != runs_.rend(); ++planned, ++fan_in) {
    bytes -= RunReader::BufferBytes(planned->run);
    if (bytes < 0) break;
  }
  return std::max<int64_t>(2, fan_in);
}

arrow::Status ExternalSorter::ReduceRuns() {
  const auto larger = [](const PlannedRun& left, const PlannedRun& right) {
    return left.run.file->raw_bytes() > right.run.file->raw_bytes();
  };
  std::sort(runs_.begin(), runs_.end(), larger);
  while (true) {
    const std::vector<int64_t> counts = ChooseMerges();
    if (counts.empty()) return arrow::Status::OK();
    ARROW_RETURN_NOT_OK(MergeSmallest(counts));
    std::sort(runs_.begin(), runs_.end(), larger);
  }
}

/// How many of the smallest runs to merge next: none when all fit the last merge, one group, or two to be merged side by side.
std::vector<int64_t> ExternalSorter::ChooseMerges() const {
  const int64_t merge_bytes =
      MergeBytesMax() - OutputBufferBytes() - shared_.block_bytes - WideRowBytes();  // less what is shared
  const auto run_count = static_cast<int64_t>(runs_.size());
  const int64_t last_fan_in = FanIn(merge_bytes);
  if (last_fan_in >= run_count) return {};
  // Merging n runs takes n - 1 away: the first merge takes the odd rest, so that all others are full.
  const int64_t excess = run_count - last_fan_in;
  const int64_t pair_fan_in = PairFanIn();
  if (pair_fan_in >= kPairFanInMin && excess > pair_fan_in - 1) {
    const int64_t odd = (excess - 1) % (pair_fan_in - 1) + 1;
    return {odd + 1, pair_fan_in};
  }
  // One block more is needed to write.
  const int64_t fan_in = FanIn(merge_bytes - MappedPages::RoundUp(shared_.block_bytes));
  const int64_t odd = (run_count - 1) % (fan_in - 1) + 1;
  return {odd > 1 ? odd : std::min(fan_in, run_count)};
}

/// How many runs each of two merges that run side by side can take; 0 on one thread.
int64_t ExternalSorter::PairFanIn() const {
  if (MergeThreads() < 2) return 0;
  int64_t reader_bytes = 1;
  for (const PlannedRun& planned : runs_) reader_bytes = std::max(reader_bytes, RunReader::BufferBytes(planned.run));
  const int64_t fixed_bytes = RowBatch::BufferBytes(context_->batch_rows, OutputBytesMax()) + WideRowBytes() +
                              2 * MappedPages::RoundUp(RunWriter::WorkspaceBytes(shared_.block_bytes));
  return (MergeBytesMax() / 2 - fixed_bytes) / reader_bytes;
}

ExternalSorter::MergeGroup ExternalSorter::TakeSmallest(int64_t count) {
  MergeGroup group{{}, {SortRun{nullptr, RowSpread(format_->layout())}, 0}};
  for (int64_t i = 0; i < count; ++i) {
    group.merged.level = std::max(group.merged.level, runs_.back().level + 1);
    group.runs.push_back(std::move(runs_.back().run));
    runs_.pop_back();
  }
  return group;
}

/// Merges the last runs into one each of `counts`, side by side; they take their place.
arrow::Status ExternalSorter::MergeSmallest(const std::vector<int64_t>& counts) {
  std::vector<MergeGroup> groups;
  for (const int64_t count : counts) groups.push_back(TakeSmallest(count));
  const auto merge = [&](int worker) { return Merge(&groups[static_cast<size_t>(worker)]); };
  ARROW_RETURN_NOT_OK(runtime::RunOnThreads(static_cast<int>(groups.size()), merge));
  if (groups.size() > 1) paired_merges_ += static_cast<int64_t>(groups.size());
  for (MergeGroup& group : groups) {
    merge_levels_ = std::max(merge_levels_, group.merged.level);
    runs_.push_back(std::move(group.merged));
  }
  UpdateMetrics();
  return ChargeRuns();
}

/// Merges a group's runs. On any thread.
arrow::Status ExternalSorter::Merge(MergeGroup* group) {
  RowMerger::Inputs inputs{std::move(group->runs), {}, RowSpread(format_->layout())};
  for (const SortRun& run : inputs.runs) inputs.spread.Merge(run.spread);
  const RowSpread spread = inputs.spread;
  MappedPages block(&budget_);
  ARROW_RETURN_NOT_OK(block.Resize(RunWriter::WorkspaceBytes(shared_.block_bytes)));
  ARROW_ASSIGN_OR_RAISE(auto rows, RowBatch::Make(&budget_, context_->batch_rows, OutputBytesMax()));
  ARROW_ASSIGN_OR_RAISE(auto merger, RowMerger::Make(format_->layout(), &budget_, std::move(inputs)));
  RunWriter writer(format_->layout(), &context_->disk, block.data(), shared_.block_bytes);
  ARROW_RETURN_NOT_OK(writer.Open());
  ARROW_RETURN_NOT_OK(writer.Begin(spread));
  int64_t rows_left = options_.fetch_rows.value_or(std::numeric_limits<int64_t>::max());
  while (rows_left > 0) {
    ARROW_RETURN_NOT_OK(context_->cancellation.Check());
    ARROW_RETURN_NOT_OK(merger->Fill(rows.get()));
    rows->Truncate(rows_left);
    if (rows->empty()) break;
    for (const uint8_t* row : rows->rows()) ARROW_RETURN_NOT_OK(writer.Add(row));
    rows_left -= rows->row_count();
  }
  ARROW_ASSIGN_OR_RAISE(group->merged.run, writer.Finish());
  shared_.spilled_bytes.fetch_add(group->merged.run.file->stored_bytes(), std::memory_order_relaxed);
  return arrow::Status::OK();
}

void ExternalSorter::UpdateMetrics() {
  metrics_->peak_bytes.store(consumer_->peak_bytes(), std::memory_order_relaxed);
  metrics_->spilled_bytes.store(spilled_bytes(), std::memory_order_relaxed);
  metrics_->spill_levels.store(merge_levels_, std::memory_order_relaxed);
}

// --- output -----------------------------------------------------------------------------------------------------------------

arrow::Result<std::unique_ptr<runtime::BatchStream>> ExternalSorter::OpenStream() {
  RowMerger::Inputs inputs{{}, {}, RowSpread(format_->layout())};
  for (PlannedRun& planned : runs_) {
    inputs.spread.Merge(planned.run.spread);
    inputs.runs.push_back(std::move(planned.run));
  }
  runs_.clear();
  for (const auto& builder : builders_) {
    inputs.spread.Merge(builder->spread());
    inputs.entries.push_back(builder->SortedEntries());
  }
  MergeStreamOptions options;
  options.context = context_;
  options.metrics = metrics_;
  options.format = format_.get();
  options.pool = consumer_->pool();
  options.fetch_rows = options_.fetch_rows;
  options.threads = MergeThreads();
  for (int i = 0; i < RowBatchesWanted(options.threads); ++i) {
    ARROW_ASSIGN_OR_RAISE(auto rows, RowBatch::Make(&budget_, context_->batch_rows, OutputBytesMax()));
    options.row_batches.push_back(std::move(rows));
  }
  ARROW_ASSIGN_OR_RAISE(options.merger, RowMerger::Make(format_->layout(), &budget_, std::move(inputs), options.pool));
  return MakeMergeStream(std::move(options));
}

}  // namespace icebound::exec::sort
