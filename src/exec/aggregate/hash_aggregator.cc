// SPDX-License-Identifier: Apache-2.0
#include "exec/aggregate/hash_aggregator.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/error.h"
#include "exec/aggregate/group_stream.h"
#include "exec/aggregate/grouped_update.h"
#include "exec/aggregate/key_codes.h"
#include "runtime/metrics.h"
#include "runtime/worker_pool.h"

namespace icebound::exec::aggregate {
namespace {

/// 64 partitions: what is 64 times the memory of a stream is merged without splitting once more.
constexpr int kPartitionBits = 6;

/// A chunk, 64 of them a worker, is a part of a block on disk. Below 4 KiB rows hardly fit; above 64 KiB nothing gets faster.
constexpr int64_t kChunkBytesMin = int64_t{4} << 10;
constexpr int64_t kChunkBytesMax = int64_t{64} << 10;

/// Part of the free memory that groups may keep when nothing was spilled: the rest is for who takes the rows.
constexpr double kKeepShare = 0.6;

/// Of what is free when the input begins, the part that workers may need from the start.
constexpr int64_t kStartPart = 2;

/// Encoded keys of one slice, if there is more than one row.
constexpr int64_t kKeyBytesMax = int64_t{128} << 10;

/// Blocks are read to a buffer; wider rows need more, and get it then.
constexpr int64_t kReadBytes = PartitionFiles::kBlockBytesMax + kReadSlackBytes;

/// A batch of strings grows while it is filled, and is in two places for a moment.
constexpr int64_t kBatchGrowth = 2;

/// A code whose group is not known yet.
constexpr uint16_t kNoGroup = std::numeric_limits<uint16_t>::max();

static_assert(KeyCodes::kCodesMax <= kSliceGroupsMax);

}  // namespace

/// What one worker holds. Guarded by mutex: Append and Reclaim.
struct HashAggregator::Worker {
  Worker(const GroupStoreOptions& options, sort::SortBudget* budget) : store(options), pages(budget), keys(budget) {}

  std::mutex mutex;
  GroupStore store;

  // Scratch of a slice; lives in `pages`.
  struct Scratch {
    uint64_t hashes[kSliceRows];
    uint32_t key_bytes[kSliceRows];
    uint8_t* key_places[kSliceRows];
    uint8_t* rows[kSliceRows];
    SliceScratch values;

    // Of batches that have codes, or of no keys; rows is then set when somebody asks.
    uint16_t codes[kSliceRows];
    uint16_t numbers[kSliceRows];
    uint16_t group_of_code[KeyCodes::kCodesMax];
    uint8_t* group_rows[kSliceGroupsMax];
    int32_t counts[kSliceGroupsMax];  // rows of the slice, by group
  };
  sort::MappedPages pages;
  sort::MappedPages keys;
  Scratch* scratch = nullptr;

  KeyCodes codes;
  bool has_codes = false;  // of the batch
  SliceGroups groups;      // of the slice; without any, the groups of its rows are in scratch->rows

  void ForgetGroups() {
    groups = {};
    if (has_codes) std::fill_n(scratch->group_of_code, codes.code_count(), kNoGroup);
  }
  /// Sets scratch->rows from the numbers of groups.
  void SpreadRows() {
    for (int32_t i = 0; i < groups.count; ++i) {
      scratch->rows[i] = groups.rows[groups.numbers != nullptr ? groups.numbers[i] : 0];
    }
  }

  KeySlice Slice(int32_t count, bool variable) const {
    return {count, scratch->hashes, scratch->key_places, variable ? scratch->key_bytes : nullptr};
  }
};

arrow::Result<std::unique_ptr<HashAggregator>> HashAggregator::Make(runtime::QueryContext* context, std::string name,
                                                                    std::unique_ptr<GroupLayout> layout,
                                                                    runtime::OperatorMetrics* metrics) {
  return std::unique_ptr<HashAggregator>(new HashAggregator(context, std::move(name), std::move(layout), metrics));
}

HashAggregator::HashAggregator(runtime::QueryContext* context, std::string name, std::unique_ptr<GroupLayout> layout,
                               runtime::OperatorMetrics* metrics)
    : context_(context),
      name_(std::move(name)),
      metrics_(metrics),
      layout_(std::move(layout)),
      consumer_(context->ledger.AddConsumer(name_, this)),
      budget_(consumer_.get()) {}

HashAggregator::~HashAggregator() {
  SetTakingRows(false);
  {
    std::lock_guard lock(reclaim_mutex_);
    waits_in_memory_ = false;
  }
  UpdateMetrics();
}

// --- input ------------------------------------------------------------------------------------------------------------------

int HashAggregator::PartitionBits() const { return layout_->has_keys() ? kPartitionBits : 0; }

int HashAggregator::WorkersMax(int peers) const {
  const int64_t worker_bytes =
      GroupStore::StartBytes(PartitionBits(), kChunkBytesMin) + static_cast<int64_t>(sizeof(Worker::Scratch)) + kKeyBytesMax;
  const int64_t workers = context_->ledger.available_bytes() / kStartPart / peers / worker_bytes;
  return static_cast<int>(std::clamp<int64_t>(workers, 1, std::max(1, context_->threads)));
}

arrow::Status HashAggregator::StartInput(int workers, int peers) {
  const int bits = PartitionBits();
  const int64_t worker_bytes = consumer_->share_bytes() / workers / peers;
  chunk_bytes_ = std::clamp(worker_bytes / (int64_t{8} << kPartitionBits) / 4096 * 4096, kChunkBytesMin, kChunkBytesMax);
  files_ = std::make_unique<PartitionFiles>(context_, name_, 0, 1 << bits);
  floor_bytes_ = StreamBytes();
  ARROW_RETURN_NOT_OK(budget_.Take(floor_bytes_));
  budget_.Give(floor_bytes_);
  GroupStoreOptions options;
  options.layout = layout_.get();
  options.budget = &budget_;
  options.files = files_.get();
  options.bits = bits;
  options.chunk_bytes = chunk_bytes_;
  for (int i = 0; i < workers; ++i) {
    workers_.push_back(std::make_unique<Worker>(options, &budget_));
    Worker& worker = *workers_.back();
    ARROW_RETURN_NOT_OK(worker.store.Start());
    ARROW_RETURN_NOT_OK(worker.pages.Resize(sizeof(Worker::Scratch)));
    ARROW_RETURN_NOT_OK(worker.keys.Resize(kKeyBytesMax));
    worker.scratch = new (worker.pages.data()) Worker::Scratch;
  }
  SetTakingRows(true);
  return arrow::Status::OK();
}

/// What a stream needs to split a partition.
int64_t HashAggregator::StreamBytes() const { return GroupStore::StartBytes(PartitionStream::kBits, chunk_bytes_) + kReadBytes; }

/// Hashes and encodes the keys of as many rows as the scratch holds; returns how many, one at least.
arrow::Result<int32_t> HashAggregator::LoadKeys(Worker* worker, const arrow::RecordBatch& keys, int64_t first, int64_t rows_max) {
  Worker::Scratch& scratch = *worker->scratch;
  auto count = static_cast<int32_t>(std::min<int64_t>(rows_max, kSliceRows));
  const bool variable = layout_->has_variable_keys();
  int64_t bytes = 0;
  if (variable) {
    std::fill_n(scratch.key_bytes, count, 0);
    ARROW_RETURN_NOT_OK(layout_->key_codec().AddSizes(keys, first, {scratch.key_bytes, static_cast<size_t>(count)}));
    int32_t fitting = 0;
    while (fitting < count && (fitting == 0 || bytes + scratch.key_bytes[fitting] <= kKeyBytesMax)) {
      bytes += scratch.key_bytes[fitting++];
    }
    count = fitting;
  } else {
    const auto width = static_cast<int64_t>(layout_->fixed_key_bytes());
    if (width > 0) count = static_cast<int32_t>(std::clamp<int64_t>(kKeyBytesMax / width, 1, count));
    bytes = count * width;
  }
  if (bytes > worker->keys.bytes()) ARROW_RETURN_NOT_OK(worker->keys.Resize(bytes));
  uint8_t* place = worker->keys.data();
  for (int32_t i = 0; i < count; ++i) {
    scratch.key_places[i] = place;
    place += variable ? scratch.key_bytes[i] : layout_->fixed_key_bytes();
  }
  const auto rows = static_cast<size_t>(count);
  ARROW_RETURN_NOT_OK(layout_->hasher().Hash(keys.columns(), first, {scratch.hashes, rows}));
  ARROW_RETURN_NOT_OK(layout_->key_codec().Encode(keys, first, {scratch.key_places, rows}));
  return count;
}

arrow::Status HashAggregator::Append(int worker_index, const GroupBatch& batch) {
  ARROW_RETURN_NOT_OK(context_->cancellation.Check());
  Worker& worker = *workers_[static_cast<size_t>(worker_index)];
  std::lock_guard lock(worker.mutex);
  const auto keys = arrow::RecordBatch::Make(layout_->key_schema(), batch.rows, batch.keys);
  worker.has_codes = layout_->has_keys() && worker.codes.Open(batch.keys);
  worker.ForgetGroups();
  for (int64_t first = 0; first < batch.rows;) {
    int32_t count = static_cast<int32_t>(std::min<int64_t>(batch.rows - first, kSliceRows));
    if (worker.has_codes && !worker.codes.Load(first, count, worker.scratch->codes)) {
      worker.has_codes = false;
      worker.groups = {};
    }
    if (!worker.has_codes && layout_->has_keys()) {
      ARROW_ASSIGN_OR_RAISE(count, LoadKeys(&worker, *keys, first, batch.rows - first));
    }
    ARROW_RETURN_NOT_OK(AppendSlice(&worker, batch, *keys, first, count));
    first += count;
  }
  if (context_->force_spill) return SpillWorker(&worker);
  if (consumer_->reclaim_requested() && worker.store.total_rows() > 0) {
    ARROW_RETURN_NOT_OK(SpillWorker(&worker));
    ARROW_RETURN_NOT_OK(worker.store.Shrink());
    budget_.ReturnSlack(floor_bytes_);
  }
  return arrow::Status::OK();
}

/// Finds the rows of the slice's groups, spilling when memory is refused.
arrow::Status HashAggregator::FindRows(Worker* worker, const arrow::RecordBatch& keys, int64_t first, int32_t count, bool must) {
  if (worker->has_codes) return FindGroups(worker, keys, first, count, must);
  Worker::Scratch& scratch = *worker->scratch;
  KeySlice slice = worker->Slice(count, layout_->has_variable_keys());
  static const uint8_t kNoKey = 0;
  static const uint8_t* const kNoKeys[] = {&kNoKey};
  static const uint64_t kNoHash = 0;
  uint8_t** rows = scratch.rows;
  if (!layout_->has_keys()) {
    slice = {1, &kNoHash, kNoKeys, nullptr};
    rows = scratch.group_rows;
  }
  ARROW_ASSIGN_OR_RAISE(bool found, worker->store.Find(slice, rows, must));
  if (!found) {
    ARROW_RETURN_NOT_OK(SpillWorker(worker));
    ARROW_ASSIGN_OR_RAISE(found, worker->store.Find(slice, rows, /*must=*/true));
    if (!found) return MakeError(ErrorKind::kInternal, "{}: no room for groups", name_);
  }
  if (!layout_->has_keys()) {
    worker->groups = {count, nullptr, 1, scratch.group_rows};
    scratch.counts[0] = count;
  }
  return arrow::Status::OK();
}

/// FindRows by codes: a code that is new in the batch is looked for by the key of its first row.
arrow::Status HashAggregator::FindGroups(Worker* worker, const arrow::RecordBatch& keys, int64_t first, int32_t count,
                                         bool must) {
  Worker::Scratch& scratch = *worker->scratch;
  int32_t group_count = worker->groups.groups;
  const int32_t known_groups = group_count;
  bool all_known = true;
  for (int32_t i = 0; i < count; ++i) {
    scratch.numbers[i] = scratch.group_of_code[scratch.codes[i]];
    all_known &= scratch.numbers[i] != kNoGroup;
  }
  for (int32_t i = 0; !all_known && i < count; ++i) {
    uint16_t& group = scratch.group_of_code[scratch.codes[i]];
    if (group == kNoGroup) {
      ARROW_RETURN_NOT_OK(LoadKeys(worker, keys, first + i, 1).status());
      const KeySlice slice = worker->Slice(1, layout_->has_variable_keys());
      ARROW_ASSIGN_OR_RAISE(const bool found, worker->store.Find(slice, scratch.group_rows + group_count, must));
      if (!found) {
        ARROW_RETURN_NOT_OK(SpillWorker(worker));
        worker->ForgetGroups();
        return FindGroups(worker, keys, first, count, /*must=*/true);
      }
      group = static_cast<uint16_t>(group_count++);
    }
    scratch.numbers[i] = group;
  }
  worker->store.AddMetRows(count - (group_count - known_groups));
  worker->groups = {count, scratch.numbers, group_count, scratch.group_rows};
  CountRows(worker->groups, scratch.counts);
  return arrow::Status::OK();
}

/// Updates one state with the values of the slice.
void HashAggregator::Update(Worker* worker, const StatePlace& place, const SliceValues& values, int32_t count,
                            bool* rows_are_set) {
  const Worker::Scratch& scratch = *worker->scratch;
  if (worker->groups.groups > 0) {
    if (UpdateGroups(place.kind, place.offset, worker->groups, scratch.counts, values)) return;
    if (!*rows_are_set) worker->SpreadRows();
    *rows_are_set = true;
  }
  UpdateStates(place.kind, place.offset, scratch.rows, count, values, worker->store.space());
}

arrow::Status HashAggregator::AppendSlice(Worker* worker, const GroupBatch& batch, const arrow::RecordBatch& keys, int64_t first,
                                          int32_t count) {
  Worker::Scratch& scratch = *worker->scratch;
  ARROW_RETURN_NOT_OK(FindRows(worker, keys, first, count, /*must=*/false));
  bool rows_are_set = false;
  for (size_t a = 0; a < batch.arguments.size(); ++a) {
    const SliceValues values = batch.arguments[a].Load(first, count, &scratch.values);
    const std::vector<int>& states = (*batch.states_of_argument)[a];
    int64_t string_bytes = 0;
    for (const int state : states) {
      if (IsByteString(layout_->states()[static_cast<size_t>(state)].kind)) string_bytes += StringBytes(values, count);
    }
    if (string_bytes > 0) {
      ARROW_ASSIGN_OR_RAISE(const bool has_room, worker->store.MakeRoom(string_bytes, /*must=*/false));
      if (!has_room) {
        // What the slice has added so far goes out with the rest; the rows that the groups get now are merged with it later.
        ARROW_RETURN_NOT_OK(SpillWorker(worker));
        worker->ForgetGroups();
        rows_are_set = false;
        ARROW_RETURN_NOT_OK(FindRows(worker, keys, first, count, /*must=*/true));
        ARROW_RETURN_NOT_OK(worker->store.MakeRoom(string_bytes, /*must=*/true).status());
      }
    }
    for (const int state : states) {
      Update(worker, layout_->states()[static_cast<size_t>(state)], values, count, &rows_are_set);
    }
  }
  return arrow::Status::OK();
}

arrow::Status HashAggregator::SpillWorker(Worker* worker) {
  ARROW_RETURN_NOT_OK(worker->store.Spill());
  CountSpill(files_->TakeUncountedBytes(), 1);
  return arrow::Status::OK();
}

arrow::Status HashAggregator::FinishWorker(int worker) {
  std::lock_guard lock(workers_[static_cast<size_t>(worker)]->mutex);
  workers_[static_cast<size_t>(worker)]->keys.Free();
  return arrow::Status::OK();
}

void HashAggregator::SetTakingRows(bool taking_rows) {
  std::lock_guard lock(reclaim_mutex_);
  taking_rows_ = taking_rows;
}

int64_t HashAggregator::ReclaimableBytes() const {
  const std::unique_lock lock(reclaim_mutex_, std::try_to_lock);
  // Another reclaim is under way: there is something, and Reclaim will say that the aggregation is busy.
  if (!lock.owns_lock()) return 1;
  if (!taking_rows_ && !waits_in_memory_) return 0;
  return std::max<int64_t>(0, budget_.taken_bytes() + budget_.slack_bytes() - floor_bytes_ -
                                  static_cast<int64_t>(workers_.size()) * GroupStore::StartBytes(kPartitionBits, chunk_bytes_));
}

arrow::Result<int64_t> HashAggregator::Reclaim(int64_t bytes) {
  const std::unique_lock lock(reclaim_mutex_, std::try_to_lock);
  int64_t released_bytes = 0;
  if (!lock.owns_lock()) return released_bytes;
  if (waits_in_memory_) {
    ARROW_RETURN_NOT_OK(SpillWaiting());
    return budget_.ReturnSlack(max_streams_ * StreamBytes());
  }
  if (!taking_rows_) return released_bytes;
  for (const auto& worker : workers_) {
    if (released_bytes >= bytes) break;
    const std::unique_lock worker_lock(worker->mutex, std::try_to_lock);
    if (!worker_lock.owns_lock() || worker->store.total_rows() == 0) continue;
    ARROW_RETURN_NOT_OK(SpillWorker(worker.get()));
    ARROW_RETURN_NOT_OK(worker->store.Shrink());
    released_bytes += budget_.ReturnSlack(floor_bytes_);
  }
  return released_bytes;
}

// --- between input and output -----------------------------------------------------------------------------------------------

int64_t HashAggregator::FreeBytes() const { return context_->ledger.available_bytes() + budget_.slack_bytes(); }

arrow::Status HashAggregator::SpillAll() {
  return runtime::RunOnThreads(static_cast<int>(workers_.size()), [this](int i) -> arrow::Status {
    Worker& worker = *workers_[static_cast<size_t>(i)];
    std::lock_guard lock(worker.mutex);
    return SpillWorker(&worker);
  });
}

/// Makes the files the streams' work. Returns the bytes of the largest.
int64_t HashAggregator::QueueStored() {
  std::lock_guard lock(work_mutex_);
  int64_t largest_bytes = 0;
  for (int p = 0; p < files_->count(); ++p) {
    StoredRows stored = files_->Take(static_cast<uint32_t>(p));
    if (stored.rows == 0) continue;
    largest_bytes = std::max(largest_bytes, stored.bytes);
    stored_.push_back(std::move(stored));
  }
  return largest_bytes;
}

/// Writes rows that were to stay in memory, before a stream has begun.
arrow::Status HashAggregator::SpillWaiting() {
  waits_in_memory_ = false;
  for (const auto& worker : workers_) ARROW_RETURN_NOT_OK(SpillWorker(worker.get()));
  workers_.clear();
  memory_partitions_ = 0;
  QueueStored();
  return arrow::Status::OK();
}

/// As many streams as partitions fit side by side, each with the batch that it makes; when not even one fits, all are split
/// anyhow. Groups that streams gather must leave the room for their batches, or each would wait for that of the others.
void HashAggregator::ChooseStreams(int64_t largest_bytes) {
  const int64_t share_bytes = consumer_->share_bytes();
  const int64_t batch_bytes = kBatchGrowth * context_->batch_bytes;
  int64_t streams = share_bytes / (largest_bytes + largest_bytes / 2 + StreamBytes() + batch_bytes);
  if (streams < 1) streams = share_bytes / (StreamBytes() + batch_bytes);
  max_streams_ = static_cast<int>(std::clamp<int64_t>(streams, 1, context_->threads));
  // The ledger's headroom has room for one.
  budget_.SetCeiling(share_bytes - (max_streams_ - 1) * batch_bytes);
}

arrow::Status HashAggregator::FinishInput() {
  SetTakingRows(false);
  int64_t rows = 0;
  int64_t held_bytes = 0;
  for (const auto& worker : workers_) {
    rows += worker->store.total_rows();
    held_bytes += worker->store.held_bytes();
  }
  // Every stream merges one partition at a time.
  int64_t merge_bytes = 0;
  for (int p = 0; p < files_->count(); ++p) {
    int64_t partition_rows = 0;
    for (const auto& worker : workers_) partition_rows += worker->store.rows(static_cast<uint32_t>(p));
    merge_bytes = std::max(merge_bytes, InPlaceMerge::TableBytes(partition_rows) * context_->threads);
  }
  const auto keep_bytes = static_cast<int64_t>(kKeepShare * static_cast<double>(FreeBytes() + budget_.taken_bytes()));
  bool too_much = rows > 0 && held_bytes + merge_bytes > keep_bytes;
  if (spilled_bytes() == 0 && !too_much) {
    too_much = !budget_.TryTake(merge_bytes);
    if (!too_much) budget_.Give(merge_bytes);
  }
  const int partitions = files_->count();
  if (spilled_bytes() > 0 || too_much) {
    ARROW_RETURN_NOT_OK(SpillAll());
    workers_.clear();
    const int64_t largest_bytes = QueueStored();
    ChooseStreams(largest_bytes);
  } else {
    memory_partitions_ = static_cast<uint32_t>(partitions);
    max_streams_ = layout_->has_keys() ? context_->threads : 1;
    for (const auto& worker : workers_) {
      worker->store.Seal();
      worker->store.FreeTable();
      worker->pages.Free();
      worker->keys.Free();
    }
  }
  budget_.ReturnSlack(budget_.taken_bytes() + max_streams_ * StreamBytes() + (memory_partitions_ > 0 ? merge_bytes : 0));
  UpdateMetrics();
  std::lock_guard lock(reclaim_mutex_);
  waits_in_memory_ = memory_partitions_ > 0 && rows > 0;
  return arrow::Status::OK();
}

// --- output -----------------------------------------------------------------------------------------------------------------

arrow::Result<std::unique_ptr<GroupRowStream>> HashAggregator::OpenStream() { return std::make_unique<PartitionStream>(this); }

/// What the workers hold.
std::vector<GroupStore*> HashAggregator::Stores() {
  std::vector<GroupStore*> stores;
  for (const auto& worker : workers_) stores.push_back(&worker->store);
  return stores;
}

bool HashAggregator::TakeWork(Work* work) {
  {
    std::lock_guard lock(reclaim_mutex_);
    waits_in_memory_ = false;
  }
  std::lock_guard lock(work_mutex_);
  if (next_partition_ < memory_partitions_) {
    *work = {true, next_partition_++, {}};
    return true;
  }
  if (stored_.empty()) return false;
  *work = {false, 0, std::move(stored_.front())};
  stored_.pop_front();
  return true;
}

/// Parts of a partition come next: its siblings would only add to what is on disk.
void HashAggregator::AddWork(std::vector<StoredRows> parts) {
  std::lock_guard lock(work_mutex_);
  for (StoredRows& part : parts) stored_.push_front(std::move(part));
}

void HashAggregator::CountSpill(int64_t bytes, int64_t level) {
  spilled_bytes_.fetch_add(bytes, std::memory_order_relaxed);
  metrics_->spilled_bytes.fetch_add(bytes, std::memory_order_relaxed);
  if (bytes == 0) return;
  runtime::RaiseTo(spill_levels_, level);
  runtime::RaiseTo(metrics_->spill_levels, level);
}

void HashAggregator::UpdateMetrics() { runtime::RaiseTo(metrics_->peak_bytes, consumer_->peak_bytes()); }

}  // namespace icebound::exec::aggregate
