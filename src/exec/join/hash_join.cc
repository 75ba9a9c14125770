// SPDX-License-Identifier: Apache-2.0
#include "exec/join/hash_join.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "exec/join/hash_join_stream.h"
#include "runtime/operator_timer.h"
#include "runtime/worker_pool.h"

namespace icebound::exec::join {
namespace {

/// Of what is free, so much is left to the other input and the operators above.
constexpr double kHeldPart = 0.6;

/// A scan may want so much, and batches on their way something; below four times this the build side has a quarter of the grants.
constexpr int64_t kOthersBytes = int64_t{36} << 20;

/// Chunks being filled may take this part of what may be held.
constexpr int64_t kChunksPart = 8;
constexpr int64_t kChunkBytesMin = int64_t{16} << 10;
constexpr int64_t kChunkBytesMax = int64_t{128} << 10;
/// With less than this to hold, chunks are smaller than kChunkBytesMin.
constexpr int64_t kTinyBytes = int64_t{8} << 20;
constexpr int64_t kTinyChunkBytes = int64_t{4} << 10;

/// Bloom filter: a part of what may be held, within bounds.
constexpr int64_t kFilterPart = 24;
constexpr int64_t kFilterBytesMin = int64_t{64} << 10;
constexpr int64_t kFilterBytesMax = int64_t{8} << 20;

/// With a row wider than this part of what may be held, pairs are joined one after another: a thread may hold several such rows.
constexpr int64_t kLonelyRowPart = 16;

/// Of its share a join leaves to its streams' batches at most this part.
constexpr int64_t kBatchesPart = 4;

/// Bytes of workspace a row of a batch, of a worker or stream: hashes, heads, places, pairs.
constexpr int64_t kWorkspaceBytesPerRow = 96;

/// A chunk for each of `count` workers and each of 2^bits partitions, when all together may take `chunks_bytes`.
int64_t ChunkBytes(int64_t chunks_bytes, int count, int bits, int64_t bytes_min) {
  return std::clamp((chunks_bytes / count >> bits) / kTinyChunkBytes * kTinyChunkBytes, bytes_min, kChunkBytesMax);
}

}  // namespace

HashJoin::HashJoin(const HashJoinOptions& options, JoinRules rules)
    : plan_(rules),
      consumer_(options.context->ledger.AddConsumer("hash join", this)),
      budget_(consumer_.get()),
      streams_max_(std::max(1, options.context->threads)),
      workspace_(&budget_) {
  plan_.context = options.context;
  plan_.metrics = options.metrics;
  plan_.consumer = consumer_.get();
  plan_.budget = &budget_;
  plan_.residual = options.condition.residual;
  plan_.position = options.condition.position;
  plan_.output_schema = options.output;
  plan_.build_side = options.build_left ? kLeftSide : kRightSide;
}

HashJoin::~HashJoin() {
  if (probe_filter_ != nullptr) probe_filter_->Withdraw();
  UpdateMetrics();
  std::lock_guard lock(reclaim_mutex_);
  phase_ = Phase::kIdle;
}

arrow::Result<std::unique_ptr<HashJoin>> HashJoin::Make(HashJoinOptions options) {
  const JoinRules rules(options.type);
  if (rules.knows_nulls && (options.condition.keys.size() != 1 || options.condition.residual != nullptr)) {
    return MakeError(ErrorKind::kInternal, "{} takes one key and no other condition", expr::JoinTypeName(options.type));
  }
  std::unique_ptr<HashJoin> join(new HashJoin(options, rules));
  ARROW_RETURN_NOT_OK(join->MakeSides(options));
  return join;
}

arrow::Status HashJoin::MakeSides(const HashJoinOptions& options) {
  std::vector<expr::ExprPtr> left_keys;
  std::vector<expr::ExprPtr> right_keys;
  std::vector<bool> null_safe;
  for (const expr::JoinKey& key : options.condition.keys) {
    left_keys.push_back(key.left);
    right_keys.push_back(key.right);
    null_safe.push_back(key.null_safe);
  }
  ARROW_ASSIGN_OR_RAISE(plan_.sides[kLeftSide],
                        JoinSide::Make(options.left, left_keys, null_safe, plan_.rules.HasFate(kLeftSide)));
  ARROW_ASSIGN_OR_RAISE(plan_.sides[kRightSide],
                        JoinSide::Make(options.right, right_keys, null_safe, plan_.rules.HasFate(kRightSide)));
  const auto& left = plan_.side(kLeftSide);
  const auto& right = plan_.side(kRightSide);
  for (size_t k = 0; k < left.key_types().size(); ++k) {
    if (!left.key_types()[k]->Equals(*right.key_types()[k])) {
      return MakeError(ErrorKind::kInternal, "join keys of different types: {} and {}", left.key_types()[k]->ToString(),
                       right.key_types()[k]->ToString());
    }
  }
  std::stable_partition(null_safe.begin(), null_safe.end(), [](bool safe) { return safe; });
  plan_.null_safe = null_safe;
  arrow::FieldVector fields = left.schema()->fields();
  for (const auto& field : right.schema()->fields()) fields.push_back(field);
  plan_.pair_schema = arrow::schema(std::move(fields));
  plan_.is_keyless = options.condition.keys.empty();
  may_filter_ = !plan_.is_keyless && plan_.rules.DropsUnmatched(1 - plan_.build_side);
  // NOT IN wants to see NULLs of the other side.
  if (may_filter_ && !plan_.rules.knows_nulls && plan_.side(1 - plan_.build_side).has_plain_keys()) {
    probe_filter_ = options.probe_filter_or_null;
  }
  return arrow::Status::OK();
}

// --- memory -----------------------------------------------------------------------------------------------------------------

int64_t HashJoin::HeldBytesMax() const {
  const memory::MemoryLedger& ledger = plan_.context->ledger;
  const int64_t free_bytes = ledger.available_bytes() + budget_.slack_bytes() + budget_.taken_bytes();
  const int64_t granted_bytes = ledger.granted_bytes();
  const int64_t share_bytes = consumer_->share_bytes();
  // Batches of the streams are no part of what is held, and in a chain of joins every one has some on their way.
  const int64_t batches_bytes = std::min(streams_max_ * plan_.context->batch_bytes, share_bytes / kBatchesPart);
  // What another one holds beyond its share is not free, but to be had.
  const auto part_bytes = static_cast<int64_t>(kHeldPart * static_cast<double>(std::max(free_bytes, share_bytes)));
  return std::min({share_bytes - batches_bytes, part_bytes, std::max(granted_bytes - kOthersBytes, granted_bytes / 4)});
}

int64_t HashJoin::WorkspaceBytes() const { return plan_.context->batch_rows * kWorkspaceBytesPerRow; }

void HashJoin::ChooseSizes(int workers) {
  const int64_t held_bytes_max = HeldBytesMax();
  const int64_t chunk_bytes_min = held_bytes_max < kTinyBytes ? kTinyChunkBytes : kChunkBytesMin;
  const int64_t chunks_bytes = held_bytes_max / kChunksPart;
  // A forced spill writes every chunk after every batch: with many partitions a block a row.
  bits_ = plan_.is_keyless ? 0 : (plan_.context->force_spill ? 2 : RowPartitions::kBitsMax);
  while (bits_ > 2 && (workers * chunk_bytes_min << bits_) > chunks_bytes) --bits_;
  chunk_bytes_ = ChunkBytes(chunks_bytes, workers, bits_, chunk_bytes_min);
}

/// Between batches of the build: spills what the ledger wants back.
arrow::Status HashJoin::GiveBackIfAsked() {
  if (!consumer_->reclaim_requested()) return arrow::Status::OK();
  while (budget_.taken_bytes() > HeldBytesMax()) {
    ARROW_ASSIGN_OR_RAISE(const int64_t freed_bytes, build_->SpillLargest());
    build_->FreeSpareChunks();
    if (freed_bytes == 0) break;
  }
  budget_.ReturnSlack(floor_bytes_);
  return arrow::Status::OK();
}

int64_t HashJoin::ReclaimableBytes() const {
  const std::unique_lock lock(reclaim_mutex_, std::try_to_lock);
  // Another reclaim is under way: there is something, and Reclaim will say that the join is busy.
  if (!lock.owns_lock()) return 1;
  const int64_t slack_bytes =
      std::max<int64_t>(0, std::min(budget_.slack_bytes(), budget_.slack_bytes() + budget_.taken_bytes() - floor_bytes_));
  if (phase_ == Phase::kIdle) return 0;
  return slack_bytes + (phase_ == Phase::kProbe ? 0 : build_->kept_bytes());
}

arrow::Result<int64_t> HashJoin::Reclaim(int64_t bytes) {
  const std::unique_lock lock(reclaim_mutex_, std::try_to_lock);
  if (!lock.owns_lock() || phase_ == Phase::kIdle) return 0;
  int64_t released_bytes = budget_.ReturnSlack(floor_bytes_);
  while (phase_ != Phase::kProbe && released_bytes < bytes) {
    ARROW_ASSIGN_OR_RAISE(const int64_t freed_bytes, build_->SpillLargest(/*wait=*/false));
    build_->FreeSpareChunks();
    released_bytes += budget_.ReturnSlack(floor_bytes_);
    if (freed_bytes == 0) break;
  }
  return released_bytes;
}

// --- build ------------------------------------------------------------------------------------------------------------------

arrow::Status HashJoin::StartBuild(int workers) {
  ChooseSizes(workers);
  RowPartitionsOptions options;
  options.context = plan_.context;
  options.budget = &budget_;
  options.side = &plan_.side(plan_.build_side);
  options.purpose = "join-build";
  options.bits = bits_;
  options.workers = workers;
  options.chunk_bytes = chunk_bytes_;
  options.held_bytes_max = [this] { return HeldBytesMax(); };
  build_ = std::make_unique<RowPartitions>(options);
  ARROW_RETURN_NOT_OK(workspace_.Resize(std::max(workers, streams_max_) * WorkspaceBytes()));
  filter_.emplace(&budget_, plan_.side(plan_.build_side).key_types());
  if (may_filter_) filter_->Start(std::clamp(HeldBytesMax() / kFilterPart, kFilterBytesMin, kFilterBytesMax));
  build_workers_.resize(static_cast<size_t>(workers));
  for (int worker = 0; worker < workers; ++worker) {
    build_workers_[static_cast<size_t>(worker)].ranges = filter_->NewRanges();
    ARROW_RETURN_NOT_OK(build_->StartWorker(worker));
  }
  floor_bytes_ = budget_.taken_bytes();
  std::lock_guard lock(reclaim_mutex_);
  phase_ = Phase::kBuild;
  return arrow::Status::OK();
}

arrow::Status HashJoin::AppendBuild(int worker, const std::shared_ptr<arrow::RecordBatch>& batch) {
  ARROW_RETURN_NOT_OK(plan_.context->cancellation.Check());
  if (batch->num_rows() == 0) return arrow::Status::OK();
  const JoinSide& side = plan_.side(plan_.build_side);
  BuildWorker& state = build_workers_[static_cast<size_t>(worker)];
  ARROW_ASSIGN_OR_RAISE(const SideBatch rows, side.Evaluate(batch, {consumer_->pool(), plan_.context->statement_time_us}));
  const auto count = static_cast<size_t>(batch->num_rows());
  state.hashes.resize(count);
  state.valid.resize(count);
  state.targets.resize(count);
  ARROW_ASSIGN_OR_RAISE(const bool has_null_keys, side.Hash(rows, state.hashes, state.valid));
  if (plan_.build_side == kRightSide) {
    plan_.right_has_rows = true;
    if (has_null_keys) plan_.right_has_null_key = true;
  }
  if (may_filter_) filter_->Add(rows.keys, state.hashes, state.valid, &state.ranges);
  const bool drops_nulls = has_null_keys && plan_.rules.DropsUnmatched(plan_.build_side);
  for (size_t i = 0; i < count; ++i) {
    const bool is_dropped = drops_nulls && state.valid[i] == 0;
    state.targets[i] = is_dropped ? kNoPartition : PartitionOf(state.hashes[i], 0, bits_);
    state.rows += is_dropped ? 0 : 1;
  }
  ARROW_RETURN_NOT_OK(build_->Append(worker, *rows.packed, state.hashes, state.targets));
  return GiveBackIfAsked();
}

arrow::Status HashJoin::FinishBuildWorker(int worker) { return build_->FinishWorker(worker); }

arrow::Status HashJoin::FinishBuild() {
  std::vector<std::vector<KeyRange>> ranges;
  for (BuildWorker& worker : build_workers_) {
    build_rows_ += worker.rows;
    ranges.push_back(std::move(worker.ranges));
  }
  build_workers_.clear();
  filter_->Publish(ranges, plan_.null_safe, build_rows_);
  if (probe_filter_ != nullptr && (filter_->has_bloom() || filter_->has_ranges())) {
    published_keys_.emplace(&plan_.side(1 - plan_.build_side), &*filter_);
    probe_filter_->Publish(&*published_keys_);
  }
  build_->FreeSpareChunks();
  floor_bytes_ = workspace_.bytes();
  std::lock_guard lock(reclaim_mutex_);
  phase_ = Phase::kParked;
  return arrow::Status::OK();
}

bool HashJoin::NeedsProbe() const {
  if (plan_.rules.type == expr::JoinType::kLeftAntiNulls && plan_.build_side == kRightSide && plan_.right_has_null_key)
    return false;
  return build_rows_ > 0 || !plan_.rules.DropsUnmatched(1 - plan_.build_side);
}

// --- probe ------------------------------------------------------------------------------------------------------------------

/// Takes the floor of the probe phase, for which partitions are spilled if need be, and leaves it as slack.
arrow::Status HashJoin::ReserveProbe() {
  while (true) {
    int64_t spilled = 0;
    for (int p = 0; p < build_->partition_count(); ++p) spilled += build_->is_spilled(p) ? 1 : 0;
    const int64_t probe_bytes = streams_max_ * RowPartitions::WorkerBytes(static_cast<int>(spilled), probe_chunk_bytes_);
    const int64_t pair_bytes = spilled > 0 ? streams_max_ * PairJoin::FloorBytes(chunk_bytes_) : 0;
    const int64_t bytes = std::max(probe_bytes, pair_bytes);
    const bool may_hold = budget_.taken_bytes() + bytes <= HeldBytesMax();
    if (may_hold && budget_.TryTake(bytes)) {
      budget_.Give(bytes);
      floor_bytes_ = budget_.taken_bytes() + bytes;
      return arrow::Status::OK();
    }
    ARROW_ASSIGN_OR_RAISE(const int64_t freed_bytes, build_->SpillLargest());
    build_->FreeSpareChunks();
    if (freed_bytes > 0) continue;
    ARROW_RETURN_NOT_OK(budget_.Take(bytes));
    budget_.Give(bytes);
    floor_bytes_ = budget_.taken_bytes() + bytes;
    return arrow::Status::OK();
  }
}

arrow::Status HashJoin::StartProbe(std::unique_ptr<Operator> probe) {
  {
    // From here on nothing of the build side is spilled any more but by this thread.
    std::lock_guard lock(reclaim_mutex_);
    phase_ = Phase::kProbe;
  }
  probe_ = std::move(probe);
  if (probe_ == nullptr) return FinishProbing();
  // Others have come since the build: the joins below, which had their share of what was left.
  probe_chunk_bytes_ = std::min(chunk_bytes_, ChunkBytes(HeldBytesMax() / kChunksPart, streams_max_, bits_, kTinyChunkBytes));
  ARROW_RETURN_NOT_OK(ReserveProbe());
  is_spilled_.resize(static_cast<size_t>(build_->partition_count()));
  for (size_t p = 0; p < is_spilled_.size(); ++p) is_spilled_[p] = build_->is_spilled(static_cast<int>(p));
  if (std::find(is_spilled_.begin(), is_spilled_.end(), true) != is_spilled_.end()) {
    RowPartitionsOptions options;
    options.context = plan_.context;
    options.budget = &budget_;
    options.side = &plan_.side(1 - plan_.build_side);
    options.purpose = "join-probe";
    options.bits = bits_;
    options.workers = streams_max_;
    options.chunk_bytes = probe_chunk_bytes_;
    spilled_probe_ = std::make_unique<RowPartitions>(options);
  }
  ARROW_RETURN_NOT_OK(BuildTables());
  probe_streams_max_ = probe_->max_streams();
  UpdateMetrics();
  return arrow::Status::OK();
}

arrow::Status HashJoin::BuildTables() {
  tables_.resize(static_cast<size_t>(build_->partition_count()));
  std::atomic<int> next{0};
  ARROW_RETURN_NOT_OK(runtime::RunOnThreads(std::max(1, plan_.context->threads), [&](int) -> arrow::Status {
    for (int p = next++; p < build_->partition_count(); p = next++) {
      ARROW_RETURN_NOT_OK(plan_.context->cancellation.Check());
      if (!is_spilled_[static_cast<size_t>(p)]) ARROW_RETURN_NOT_OK(BuildTable(p));
    }
    return arrow::Status::OK();
  }));
  int64_t rows = 0;
  int64_t bytes = 0;
  for (int p = 0; p < build_->partition_count(); ++p) {
    may_repeat_ = may_repeat_ || tables_[static_cast<size_t>(p)].has_duplicates();
    for (const RowChunk& chunk : build_->chunks(p)) {
      rows += chunk.rows;
      bytes += chunk.used_bytes;
    }
  }
  average_row_bytes_ = rows > 0 ? bytes / rows : 0;
  return arrow::Status::OK();
}

arrow::Status HashJoin::BuildTable(int partition) {
  JoinTable& table = tables_[static_cast<size_t>(partition)];
  budget_.Give(build_->table_bytes(partition));
  build_->ForgetTableBytes(partition);
  ARROW_RETURN_NOT_OK(table.Allocate(&budget_, build_->rows(partition)));
  const bool keep_duplicates = plan_.rules.emits_pairs || plan_.residual != nullptr || plan_.rules.HasFate(plan_.build_side);
  for (RowChunk& chunk : build_->chunks(partition)) {
    table.Insert(plan_.side(plan_.build_side), chunk.pages.data(), chunk.pages.data() + chunk.used_bytes, keep_duplicates);
  }
  return arrow::Status::OK();
}

arrow::Result<std::unique_ptr<runtime::BatchStream>> HashJoin::OpenStream() {
  const int stream = opened_++;
  if (stream >= streams_max_) return MakeError(ErrorKind::kInternal, "a join was asked for more than {} streams", streams_max_);
  return std::make_unique<HashJoinStream>(this, stream);
}

// --- pairs ------------------------------------------------------------------------------------------------------------------

/// All rows of the other side are matched or written: frees what only they needed, and says what is left to do.
arrow::Status HashJoin::FinishProbing() {
  if (probe_filter_ != nullptr) probe_filter_->Withdraw();
  probe_.reset();  // what the scan holds is worth more to the pairs
  filter_.reset();
  const bool has_fates = plan_.rules.HasFate(plan_.build_side);
  std::vector<Task> tasks;
  std::vector<Task> pairs;
  for (int p = 0; p < build_->partition_count(); ++p) {
    if (!build_->is_spilled(p)) {
      if (has_fates && build_->rows(p) > 0) {
        tasks.push_back({std::nullopt, p});
      } else {
        FreePartition(p);
      }
      continue;
    }
    JoinPair pair;
    pair.is_stuck = plan_.is_keyless;
    ARROW_ASSIGN_OR_RAISE(pair.rows[static_cast<size_t>(plan_.build_side)], build_->TakeSpilled(p));
    if (spilled_probe_ != nullptr) {
      ARROW_ASSIGN_OR_RAISE(pair.rows[static_cast<size_t>(1 - plan_.build_side)], spilled_probe_->TakeSpilled(p));
    }
    // One pair for all threads, unless it can be cut.
    const int parts = plan_.is_keyless ? streams_max_ : 1;
    for (JoinPair& part : CutPair(std::move(pair), plan_.rules, parts)) pairs.push_back({std::move(part), -1});
  }
  spilled_bytes_ += build_->spilled_bytes() + (spilled_probe_ != nullptr ? spilled_probe_->spilled_bytes() : 0);
  if (!pairs.empty()) runtime::RaiseTo(spill_levels_, 1);
  int64_t widest_bytes = build_->widest_row_bytes();
  if (spilled_probe_ != nullptr) widest_bytes = std::max(widest_bytes, spilled_probe_->widest_row_bytes());
  if (widest_bytes > HeldBytesMax() / kLonelyRowPart) work_.RunOneAtATime();
  // What is in memory goes first, to make room.
  for (Task& pair : pairs) tasks.push_back(std::move(pair));
  UpdateMetrics();
  work_.Publish(std::move(tasks));
  return arrow::Status::OK();
}

void HashJoin::FreePartition(int partition) {
  if (!tables_.empty()) tables_[static_cast<size_t>(partition)].Free();
  build_->chunks(partition).clear();
  budget_.Give(build_->table_bytes(partition));
  build_->ForgetTableBytes(partition);
}

int64_t HashJoin::PairBytesMax(int tasks_left) const {
  const int64_t threads = std::clamp(std::min(opened_.load(), tasks_left), 1, streams_max_);
  return (HeldBytesMax() - workspace_.bytes()) / threads;
}

/// Nothing is left to do: all memory goes back.
void HashJoin::FinishStreams() {
  if (!work_.IsAtEnd()) return;
  UpdateMetrics();
  budget_.ReturnSlack(0);
}

void HashJoin::UpdateMetrics() {
  runtime::RaiseTo(plan_.metrics->peak_bytes, consumer_->peak_bytes());
  plan_.metrics->spilled_bytes.store(spilled_bytes(), std::memory_order_relaxed);
  runtime::RaiseTo(plan_.metrics->spill_levels, spill_levels_.load(std::memory_order_relaxed));
}

}  // namespace icebound::exec::join
