// SPDX-License-Identifier: Apache-2.0
#include "exec/join/hash_join_stream.h"

#include <arrow/compute/api_vector.h>
#include <arrow/util/byte_size.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "runtime/operator_timer.h"

namespace icebound::exec::join {
namespace {

/// The Bloom filter is asked no more when, of this many rows, more than this part passed.
constexpr int64_t kBloomTrialRows = 65536;
constexpr double kBloomPassMax = 0.75;

}  // namespace

HashJoinStream::HashJoinStream(HashJoin* join, int number)
    : join_(*join), plan_(join->plan_), number_(number), output_(&join->plan_), matcher_(&join->plan_, &output_) {}

HashJoinStream::~HashJoinStream() {
  if (step_ == Step::kProbe) {
    input_.reset();
    join_.work_.Fail(MakeError(ErrorKind::kCancelled, "a stream of a join was closed before its end"));
    join_.work_.Leave();
  } else if (step_ == Step::kTask) {
    join_.work_.Fail(MakeError(ErrorKind::kCancelled, "a stream of a join was closed before its end"));
    pair_.reset();
    join_.work_.Done({});
  }
}

arrow::Result<HashJoinStream::BatchPtr> HashJoinStream::Next() {
  while (step_ != Step::kEnd) {
    if (step_ == Step::kWait) {
      ARROW_RETURN_NOT_OK(TakeTask());
      continue;
    }
    auto batch = [this] {
      const runtime::OperatorTimer timer(*plan_.metrics);
      return Advance();
    }();
    if (!batch.ok()) join_.work_.Fail(batch.status());
    if (!batch.ok() || *batch != nullptr) return batch;
  }
  return nullptr;
}

/// A batch, or null when the step has changed.
arrow::Result<HashJoinStream::BatchPtr> HashJoinStream::Advance() {
  switch (step_) {
    case Step::kStart:
      ARROW_RETURN_NOT_OK(Start());
      return nullptr;
    case Step::kProbe:
      return Probe();
    case Step::kTask:
      return RunTask();
    default:
      return nullptr;
  }
}

arrow::Status HashJoinStream::Start() {
  if (!join_.work_.TryEnter(join_.probe_streams_max_)) {
    step_ = Step::kWait;
    return arrow::Status::OK();
  }
  step_ = Step::kProbe;
  if (join_.spilled_probe_ != nullptr) ARROW_RETURN_NOT_OK(join_.spilled_probe_->StartWorker(number_, join_.is_spilled_));
  ARROW_ASSIGN_OR_RAISE(input_, join_.probe_->OpenStream());
  return arrow::Status::OK();
}

// --- probing ----------------------------------------------------------------------------------------------------------------

arrow::Result<HashJoinStream::BatchPtr> HashJoinStream::Probe() {
  while (true) {
    if (is_matching_) {
      ARROW_ASSIGN_OR_RAISE(BatchPtr batch, matcher_.Next());
      if (batch != nullptr) return batch;
      is_matching_ = false;
      rows_ = SideBatch();
    }
    ARROW_RETURN_NOT_OK(plan_.context->cancellation.Check());
    if (waiting_ == nullptr) {
      waiting_first_ = 0;
      ARROW_ASSIGN_OR_RAISE(waiting_, input_->Next());
      if (waiting_ == nullptr) {
        ARROW_RETURN_NOT_OK(StopProbing());
        return nullptr;
      }
    }
    BatchPtr batch = waiting_;
    const int64_t rows_max = std::max<int64_t>(1, plan_.context->batch_rows);
    if (waiting_->num_rows() - waiting_first_ > rows_max) {
      batch = waiting_->Slice(waiting_first_, rows_max);
      waiting_first_ += rows_max;
    } else {
      if (waiting_first_ > 0) batch = waiting_->Slice(waiting_first_);
      waiting_.reset();
    }
    if (batch->num_rows() > 0) ARROW_RETURN_NOT_OK(StartBatch(batch));
  }
}

arrow::Status HashJoinStream::StopProbing() {
  if (join_.spilled_probe_ != nullptr) ARROW_RETURN_NOT_OK(join_.spilled_probe_->FinishWorker(number_));
  input_.reset();
  key_bytes_.reset();
  step_ = Step::kWait;
  if (join_.work_.Leave()) ARROW_RETURN_NOT_OK(join_.FinishProbing());
  return arrow::Status::OK();
}

arrow::Status HashJoinStream::StartBatch(const BatchPtr& batch) {
  const int probe_side = 1 - plan_.build_side;
  const JoinSide& side = plan_.side(probe_side);
  ARROW_ASSIGN_OR_RAISE(rows_, side.Evaluate(batch, {output_.pool(), plan_.context->statement_time_us}));
  const auto count = static_cast<size_t>(batch->num_rows());
  hashes_.resize(count);
  valid_.resize(count);
  ARROW_ASSIGN_OR_RAISE(has_null_keys_, side.Hash(rows_, hashes_, valid_));
  if (probe_side == kRightSide && plan_.rules.knows_nulls) {
    plan_.right_has_rows = true;
    if (has_null_keys_) plan_.right_has_null_key = true;
  }
  pass_ = valid_;
  if (join_.may_filter_) Filter(rows_);
  Direct();
  if (!spilled_.empty()) ARROW_RETURN_NOT_OK(SpillRows(rows_));
  if (!chosen_.empty()) ARROW_RETURN_NOT_OK(MatchRows(rows_));
  return arrow::Status::OK();
}

/// Takes rows out of pass_ that match nothing. Only where they leave no trace.
void HashJoinStream::Filter(const SideBatch& rows) {
  const JoinFilter& filter = *join_.filter_;
  auto passed = static_cast<int64_t>(pass_.size());
  if (filter.has_ranges()) passed = filter.ApplyRanges(rows.keys, pass_);
  const bool pays =
      bloom_rows_ < kBloomTrialRows || static_cast<double>(bloom_passed_) < kBloomPassMax * static_cast<double>(bloom_rows_);
  if (filter.has_bloom() && pays && passed > 0) {
    bloom_rows_ += passed;
    bloom_passed_ += filter.ApplyBloom(hashes_, pass_);
  }
}

/// Says for every row where it goes: to a table, to a file, nowhere.
void HashJoinStream::Direct() {
  const size_t count = hashes_.size();
  const bool keeps_unmatched = !plan_.rules.DropsUnmatched(1 - plan_.build_side);
  targets_.resize(count);
  spill_targets_.resize(count);
  chosen_.clear();
  spilled_.clear();
  for (size_t i = 0; i < count; ++i) {
    targets_[i] = spill_targets_[i] = kNoPartition;
    if (pass_[i] == 0) {
      if (keeps_unmatched) chosen_.push_back(static_cast<int32_t>(i));
      continue;
    }
    const uint8_t partition = PartitionOf(hashes_[i], 0, join_.bits_);
    if (join_.is_spilled_[partition]) {
      spill_targets_[i] = partition;
      spilled_.push_back(static_cast<int32_t>(i));
    } else {
      targets_[i] = partition;
      chosen_.push_back(static_cast<int32_t>(i));
    }
  }
}

arrow::Status HashJoinStream::SpillRows(const SideBatch& rows) {
  const bool can_take = std::all_of(rows.packed->columns().begin(), rows.packed->columns().end(),
                                    [](const auto& column) { return CanTake(*column->type()); });
  if (spilled_.size() * 2 > hashes_.size() || !can_take) {
    return join_.spilled_probe_->Append(number_, *rows.packed, hashes_, spill_targets_);
  }
  // Few: they are brought together first.
  auto numbers = std::make_shared<arrow::Int32Array>(
      static_cast<int64_t>(spilled_.size()),
      std::make_shared<arrow::Buffer>(reinterpret_cast<const uint8_t*>(spilled_.data()),
                                      static_cast<int64_t>(spilled_.size() * sizeof(int32_t))));
  arrow::compute::ExecContext exec(output_.pool());
  ARROW_ASSIGN_OR_RAISE(const arrow::Datum few, arrow::compute::Take(arrow::Datum(rows.packed), arrow::Datum(numbers),
                                                                     arrow::compute::TakeOptions::NoBoundsCheck(), &exec));
  std::vector<uint64_t> hashes(spilled_.size());
  std::vector<uint8_t> targets(spilled_.size());
  for (size_t i = 0; i < spilled_.size(); ++i) {
    hashes[i] = hashes_[static_cast<size_t>(spilled_[i])];
    targets[i] = spill_targets_[static_cast<size_t>(spilled_[i])];
  }
  return join_.spilled_probe_->Append(number_, *few.record_batch(), hashes, targets);
}

arrow::Status HashJoinStream::PackKeys(const SideBatch& rows) {
  const row::RowCodec& codec = plan_.side(1 - plan_.build_side).key_codec();
  const size_t count = hashes_.size();
  const auto keys = arrow::RecordBatch::Make(codec.output_schema(), static_cast<int64_t>(count), rows.keys);
  key_places_.resize(count);
  int64_t bytes = 0;
  const int32_t fixed_bytes = codec.fixed_width().value_or(-1);
  const bool is_fixed = fixed_bytes >= 0;
  if (is_fixed) {
    bytes = static_cast<int64_t>(count) * fixed_bytes;
  } else {
    key_sizes_.assign(count, 0);
    ARROW_RETURN_NOT_OK(codec.AddSizes(*keys, 0, key_sizes_));
    for (const uint32_t size : key_sizes_) bytes += size;
  }
  if (key_bytes_ == nullptr) {
    ARROW_ASSIGN_OR_RAISE(key_bytes_, arrow::AllocateResizableBuffer(bytes + kReadSlackBytes, output_.pool()));
  } else if (key_bytes_->size() < bytes + kReadSlackBytes) {
    ARROW_RETURN_NOT_OK(key_bytes_->Resize(bytes + kReadSlackBytes));
  }
  uint8_t* next = key_bytes_->mutable_data();
  for (size_t i = 0; i < count; ++i) {
    key_places_[i] = next;
    next += is_fixed ? fixed_bytes : static_cast<int64_t>(key_sizes_[i]);
  }
  return codec.Encode(*keys, 0, key_places_);
}

arrow::Status HashJoinStream::MatchRows(const SideBatch& rows) {
  ARROW_RETURN_NOT_OK(PackKeys(rows));
  const JoinSide& side = plan_.side(1 - plan_.build_side);
  matched_.assign(hashes_.size(), 0);
  BuildTables tables;
  tables.tables = join_.tables_.data();
  tables.may_repeat = join_.may_repeat_;
  tables.average_row_bytes = join_.average_row_bytes_;
  tables.widest_row_bytes = join_.build_->widest_row_bytes();
  ProbeBlock block;
  block.source.batch = rows.input.get();
  block.keys = {key_places_.data(), side.lone_keys(), hashes_.data()};
  block.targets = targets_.data();
  block.rows = rows.input->num_rows();
  ARROW_ASSIGN_OR_RAISE(block.bytes, arrow::util::ReferencedBufferSize(*rows.input));
  block.chosen = chosen_;
  block.valid = has_null_keys_ ? valid_.data() : nullptr;
  block.matched = matched_.data();
  ARROW_RETURN_NOT_OK(matcher_.Start(block, plan_.build_side, tables));
  is_matching_ = true;
  return arrow::Status::OK();
}

// --- tasks ------------------------------------------------------------------------------------------------------------------

arrow::Status HashJoinStream::TakeTask() {
  ARROW_ASSIGN_OR_RAISE(auto taken, join_.work_.Take());
  if (!taken.has_value()) {
    step_ = Step::kEnd;
    join_.FinishStreams();
    return arrow::Status::OK();
  }
  step_ = Step::kTask;
  task_ = std::move(taken->task);
  if (task_->pair.has_value()) {
    pair_ = std::make_unique<PairJoin>(&plan_, &output_, std::move(*task_->pair), join_.chunk_bytes_,
                                       join_.PairBytesMax(taken->left));
  } else {
    fates_.emplace(&plan_, plan_.build_side);
    next_chunk_ = 0;
  }
  return arrow::Status::OK();
}

arrow::Result<HashJoinStream::BatchPtr> HashJoinStream::RunTask() {
  ARROW_RETURN_NOT_OK(plan_.context->cancellation.Check());
  if (pair_ != nullptr) {
    ARROW_ASSIGN_OR_RAISE(BatchPtr batch, pair_->Next());
    if (batch != nullptr) return batch;
  } else {
    while (true) {
      ARROW_ASSIGN_OR_RAISE(BatchPtr batch, fates_->Next(&output_));
      if (batch != nullptr) return batch;
      const std::vector<RowChunk>& chunks = join_.build_->chunks(task_->partition);
      if (next_chunk_ == chunks.size()) break;
      const RowChunk& chunk = chunks[next_chunk_++];
      fates_->Start(chunk.pages.data(), chunk.pages.data() + chunk.used_bytes);
    }
    join_.FreePartition(task_->partition);
  }
  ARROW_RETURN_NOT_OK(FinishTask());
  return nullptr;
}

arrow::Status HashJoinStream::FinishTask() {
  std::vector<HashJoin::Task> more;
  if (pair_ != nullptr) {
    join_.spilled_bytes_.fetch_add(pair_->spilled_bytes(), std::memory_order_relaxed);
    for (JoinPair& piece : pair_->TakePieces()) {
      runtime::RaiseTo(join_.spill_levels_, piece.level + 1);
      more.push_back({std::move(piece), -1});
    }
    pair_.reset();
  }
  fates_.reset();
  step_ = Step::kWait;
  join_.work_.Done(std::move(more));
  if (plan_.consumer->reclaim_requested()) plan_.budget->ReturnSlack(join_.floor_bytes_);
  return arrow::Status::OK();
}

}  // namespace icebound::exec::join
