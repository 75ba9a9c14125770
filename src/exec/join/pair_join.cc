// SPDX-License-Identifier: Apache-2.0
#include "exec/join/pair_join.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.h"

namespace icebound::exec::join {
namespace {

/// A piece with more than this part of the whole has not shrunk.
constexpr double kStuckPart = 0.75;

/// Chunks of pieces are not smaller than this.
constexpr int64_t kPieceChunkBytesMin = int64_t{4} << 10;

}  // namespace

PairJoin::PairJoin(JoinPlan* plan, JoinOutput* output, JoinPair pair, int64_t chunk_bytes, int64_t bytes_max)
    : plan_(*plan),
      output_(*output),
      pair_(std::move(pair)),
      chunk_bytes_(chunk_bytes),
      bytes_max_(std::max(bytes_max, FloorBytes(chunk_bytes))),
      matcher_(plan, output),
      build_side_(ChooseBuildSide(pair_)),
      build_pages_(plan->budget),
      fates_(plan, build_side_),
      probe_pages_(plan->budget) {}

std::vector<JoinPair> CutPair(JoinPair pair, const JoinRules& rules, int parts) {
  std::vector<JoinPair> result;
  const auto blocks = [&](int side) {
    const auto& file = pair.rows[static_cast<size_t>(side)].file;
    // A row that is wider than a piece goes over several blocks, between which there must be no cut.
    return file == nullptr || file->max_block_bytes() >= RowPartitions::kPieceBytes ? int64_t{1} : file->blocks();
  };
  int cut_side = blocks(kLeftSide) > blocks(kRightSide) ? kLeftSide : kRightSide;
  if (rules.HasFate(1 - cut_side)) cut_side = 1 - cut_side;
  const int64_t block_count = blocks(cut_side);
  const auto part_count = std::min<int64_t>(parts, block_count);
  if (part_count <= 1 || pair.cut_side >= 0 || rules.HasFate(1 - cut_side)) {
    result.push_back(std::move(pair));
    return result;
  }
  for (int64_t part = 0; part < part_count; ++part) {
    JoinPair& cut = result.emplace_back(pair);
    cut.is_stuck = true;
    cut.cut_side = cut_side;
    cut.first_block = block_count * part / part_count;
    cut.end_block = part + 1 == part_count ? spill::kAllBlocks : block_count * (part + 1) / part_count;
  }
  return result;
}

int PairJoin::ChooseBuildSide(const JoinPair& pair) {
  if (pair.cut_side >= 0) return 1 - pair.cut_side;
  return NeededBytes(pair.rows[kLeftSide]) < NeededBytes(pair.rows[kRightSide]) ? kLeftSide : kRightSide;
}

arrow::Result<SpilledRowReader> PairJoin::OpenSide(int side, bool consume) {
  const SpilledRows& rows = pair_.rows[static_cast<size_t>(side)];
  spill::ReadOptions options;
  if (pair_.cut_side == side) {
    options.first_block = pair_.first_block;
    options.end_block = pair_.end_block;
  }
  // Of a cut pair's files others read, before and after: heads must stay, and so must the side that is shared.
  if (consume && pair_.cut_side < 0) options.consume_end = spill::kAllBlocks;
  return SpilledRowReader::Open(rows, plan_.side(side), options);
}

bool PairJoin::GivesNothing() const {
  const bool no_left = pair_.rows[kLeftSide].rows == 0;
  const bool no_right = pair_.rows[kRightSide].rows == 0;
  return (no_left || plan_.rules.DropsUnmatched(kLeftSide)) && (no_right || plan_.rules.DropsUnmatched(kRightSide)) &&
         (no_left || no_right);
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> PairJoin::Next() {
  while (true) {
    switch (step_) {
      case Step::kStart:
        ARROW_RETURN_NOT_OK(Start());
        break;
      case Step::kLoad:
        ARROW_RETURN_NOT_OK(LoadChunk());
        step_ = Step::kProbe;
        break;
      case Step::kProbe: {
        if (has_block_) {
          ARROW_ASSIGN_OR_RAISE(auto batch, matcher_.Next());
          if (batch != nullptr) return batch;
          ARROW_RETURN_NOT_OK(SaveMatches());
        }
        ARROW_ASSIGN_OR_RAISE(has_block_, NextBlock());
        if (has_block_) break;
        fates_.Start(build_pages_.data(), build_pages_.data() + build_used_bytes_);
        step_ = plan_.rules.HasFate(build_side_) ? Step::kFates : Step::kNextChunk;
        break;
      }
      case Step::kFates: {
        ARROW_RETURN_NOT_OK(plan_.context->cancellation.Check());
        ARROW_ASSIGN_OR_RAISE(auto batch, fates_.Next(&output_));
        if (batch != nullptr) return batch;
        step_ = Step::kNextChunk;
        break;
      }
      case Step::kNextChunk:
        step_ = is_last_chunk_ ? Step::kEnd : Step::kLoad;
        if (step_ == Step::kEnd) Free();
        break;
      case Step::kEnd:
        return nullptr;
    }
  }
}

arrow::Status PairJoin::Start() {
  if (GivesNothing()) {
    Free();
    step_ = Step::kEnd;
    return arrow::Status::OK();
  }
  const int64_t chunk_max = bytes_max_ - 2 * chunk_bytes_;
  const int64_t chunks = (NeededBytes(pair_.rows[static_cast<size_t>(build_side_)]) + chunk_max - 1) / chunk_max;
  if (chunks > kChunksMax && !pair_.is_stuck) {
    ARROW_RETURN_NOT_OK(Split());
    Free();
    step_ = Step::kEnd;
    return arrow::Status::OK();
  }
  ARROW_ASSIGN_OR_RAISE(build_reader_, OpenSide(build_side_, /*consume=*/true));
  ARROW_RETURN_NOT_OK(probe_pages_.Resize(chunk_bytes_ + kReadSlackBytes));
  step_ = Step::kLoad;
  return arrow::Status::OK();
}

// --- splitting --------------------------------------------------------------------------------------------------------------

arrow::Status PairJoin::Split() {
  const int64_t whole_bytes = NeededBytes(pair_.rows[static_cast<size_t>(build_side_)]);
  int bits = 1;
  while (bits < RowPartitions::kBitsMax && (whole_bytes >> bits) > bytes_max_ / 2) ++bits;
  while (bits > 1 && (chunk_bytes_ << bits) > bytes_max_ - chunk_bytes_) --bits;
  const int64_t chunk_bytes = std::min(chunk_bytes_, std::max(kPieceChunkBytesMin, (bytes_max_ - 2 * chunk_bytes_) >> bits) /
                                                         kPieceChunkBytesMin * kPieceChunkBytesMin);
  std::vector<JoinPair> pieces(size_t{1} << bits);
  ARROW_RETURN_NOT_OK(SplitSide(kLeftSide, bits, chunk_bytes, &pieces));
  ARROW_RETURN_NOT_OK(SplitSide(kRightSide, bits, chunk_bytes, &pieces));
  for (JoinPair& piece : pieces) {
    const int64_t piece_bytes = std::min(NeededBytes(piece.rows[kLeftSide]), NeededBytes(piece.rows[kRightSide]));
    piece.level = pair_.level + 1;
    piece.is_stuck = static_cast<double>(piece_bytes) > kStuckPart * static_cast<double>(whole_bytes);
    if (piece.rows[kLeftSide].rows + piece.rows[kRightSide].rows == 0) continue;
    const int parts = piece.is_stuck ? plan_.context->threads : 1;
    for (JoinPair& part : CutPair(std::move(piece), plan_.rules, parts)) pieces_.push_back(std::move(part));
  }
  return arrow::Status::OK();
}

arrow::Status PairJoin::SplitSide(int side, int bits, int64_t chunk_bytes, std::vector<JoinPair>* pieces) {
  SpilledRows& source = pair_.rows[static_cast<size_t>(side)];
  RowPartitionsOptions options;
  options.context = plan_.context;
  options.budget = plan_.budget;
  options.side = &plan_.side(side);
  options.purpose = side == plan_.build_side ? "join-build" : "join-probe";
  options.bits = bits;
  options.level = pair_.level + 1;
  options.chunk_bytes = chunk_bytes;
  RowPartitions partitions(options);
  ARROW_RETURN_NOT_OK(probe_pages_.Resize(chunk_bytes_ + kReadSlackBytes));
  ARROW_RETURN_NOT_OK(partitions.StartWorker(0));
  ARROW_ASSIGN_OR_RAISE(SpilledRowReader reader, OpenSide(side, /*consume=*/true));
  while (true) {
    ARROW_RETURN_NOT_OK(plan_.context->cancellation.Check());
    int64_t used_bytes = 0;
    ARROW_ASSIGN_OR_RAISE(const int64_t rows, reader.Read(&probe_pages_, &used_bytes));
    if (rows == 0) break;
    const uint8_t* row = probe_pages_.data();
    for (int64_t i = 0; i < rows; ++i) {
      uint64_t hash;
      std::memcpy(&hash, row, sizeof(hash));
      const int64_t row_bytes = plan_.side(side).RowBytes(row);
      ARROW_RETURN_NOT_OK(partitions.AppendRow(0, PartitionOf(hash, options.level, bits), row, row_bytes));
      row += row_bytes;
    }
  }
  ARROW_RETURN_NOT_OK(partitions.FinishWorker(0));
  spilled_bytes_ += partitions.spilled_bytes();
  source = {};
  for (size_t p = 0; p < pieces->size(); ++p) {
    ARROW_ASSIGN_OR_RAISE((*pieces)[p].rows[static_cast<size_t>(side)], partitions.TakeSpilled(static_cast<int>(p)));
  }
  return arrow::Status::OK();
}

// --- the side in the table --------------------------------------------------------------------------------------------------

/// Takes memory for as much of the rest as it may hold.
arrow::Status PairJoin::ReserveChunk(int64_t* table_bytes) {
  const SpilledRows& rows = pair_.rows[static_cast<size_t>(build_side_)];
  const int64_t chunk_max = bytes_max_ - 2 * chunk_bytes_;
  const int64_t average_bytes = std::max<int64_t>(1, rows.bytes / std::max<int64_t>(rows.rows, 1));
  // A part that fits with room to spare for an uneven mix of rows.
  int64_t row_bytes = std::min(rows.bytes + kReadSlackBytes, chunk_max * average_bytes / (average_bytes + kTableBytesPerRow));
  while (true) {
    *table_bytes = JoinTable::Bytes(row_bytes / average_bytes + 1);
    if (build_pages_.bytes() >= row_bytes || build_pages_.TryResize(row_bytes)) {
      if (plan_.budget->TryTake(*table_bytes)) return arrow::Status::OK();
    }
    if (row_bytes <= 2 * chunk_bytes_) break;
    build_pages_.Free();
    row_bytes = std::max(row_bytes / 2, 2 * chunk_bytes_);
  }
  // The floor.
  ARROW_RETURN_NOT_OK(build_pages_.Resize(row_bytes));
  return plan_.budget->Take(*table_bytes);
}

arrow::Status PairJoin::LoadChunk() {
  const JoinSide& side = plan_.side(build_side_);
  table_.Free();
  int64_t table_bytes = 0;
  ARROW_RETURN_NOT_OK(ReserveChunk(&table_bytes));
  build_used_bytes_ = 0;
  int64_t rows = 0;
  int64_t widest_block_rows = 0;
  arrow::Status status;
  while (status.ok()) {
    ARROW_RETURN_NOT_OK(plan_.context->cancellation.Check());
    ARROW_ASSIGN_OR_RAISE(is_last_chunk_, build_reader_->AtEnd());
    if (is_last_chunk_) break;
    if (rows > 0) {
      ARROW_ASSIGN_OR_RAISE(const bool fits, build_reader_->Fits(build_pages_, build_used_bytes_));
      if (!fits || JoinTable::Bytes(rows + widest_block_rows) > table_bytes) break;
    }
    const auto read = build_reader_->Read(&build_pages_, &build_used_bytes_);
    status = read.status();
    if (!status.ok()) break;
    rows += *read;
    widest_block_rows = std::max(widest_block_rows, *read);
  }
  plan_.budget->Give(table_bytes);
  ARROW_RETURN_NOT_OK(status);
  if (pair_.rows[static_cast<size_t>(probe_side())].rows > 0) {
    ARROW_RETURN_NOT_OK(table_.Allocate(plan_.budget, rows));
    const bool keep_duplicates = plan_.rules.emits_pairs || plan_.residual != nullptr || plan_.rules.HasFate(build_side_);
    table_.Insert(side, build_pages_.data(), build_pages_.data() + build_used_bytes_, keep_duplicates);
  }
  // The other side: from the start, and its matches so far.
  ARROW_ASSIGN_OR_RAISE(probe_reader_, OpenSide(probe_side(), /*consume=*/is_last_chunk_));
  next_row_ = block_end_ = nullptr;
  has_block_ = false;
  matches_reader_.reset();
  old_matches_ = std::move(new_matches_);
  if (old_matches_ != nullptr) {
    ARROW_RETURN_NOT_OK(old_matches_->Finish());
    ARROW_ASSIGN_OR_RAISE(matches_reader_, old_matches_->OpenReader(/*consume=*/true));
  }
  if (plan_.rules.HasFate(probe_side()) && !is_last_chunk_) {
    ARROW_ASSIGN_OR_RAISE(new_matches_, plan_.context->disk.CreateFile("join-matches"));
  }
  return arrow::Status::OK();
}

// --- the other side ---------------------------------------------------------------------------------------------------------

/// Starts to match the next rows of the other side; false when there are none.
arrow::Result<bool> PairJoin::NextBlock() {
  ARROW_RETURN_NOT_OK(plan_.context->cancellation.Check());
  if (next_row_ == block_end_) {
    int64_t used_bytes = 0;
    ARROW_ASSIGN_OR_RAISE(const int64_t rows, probe_reader_->Read(&probe_pages_, &used_bytes));
    if (rows == 0) return false;
    next_row_ = probe_pages_.data();
    block_end_ = probe_pages_.data() + used_bytes;
  }
  ARROW_RETURN_NOT_OK(FillBlock());
  return true;
}

arrow::Status PairJoin::FillBlock() {
  const JoinSide& side = plan_.side(probe_side());
  const bool may_have_nulls = side.may_have_null_keys();
  packed_.clear();
  hashes_.clear();
  valid_.clear();
  targets_.clear();
  chosen_.clear();
  const uint8_t* const begin = next_row_;
  while (next_row_ < block_end_ && static_cast<int64_t>(packed_.size()) < plan_.context->batch_rows) {
    const uint8_t* packed = side.Packed(next_row_);
    uint64_t hash;
    std::memcpy(&hash, next_row_, sizeof(hash));
    chosen_.push_back(static_cast<int32_t>(packed_.size()));
    packed_.push_back(packed);
    hashes_.push_back(hash);
    if (may_have_nulls) {
      const bool is_valid = !side.HasNullKey(packed);
      valid_.push_back(is_valid ? 1 : 0);
      targets_.push_back(is_valid ? 0 : kNoPartition);
    }
    next_row_ += side.RowBytes(next_row_);
  }
  matched_.assign(packed_.size(), 0);
  if (matches_reader_ != nullptr) {
    ARROW_ASSIGN_OR_RAISE(const auto bytes, matches_reader_->PeekBytes());
    if (bytes.value_or(0) != static_cast<int64_t>(matched_.size())) {
      return MakeError(ErrorKind::kInternal, "matches of {} rows for a block of {}", bytes.value_or(0), matched_.size());
    }
    ARROW_RETURN_NOT_OK(matches_reader_->NextInto(matched_).status());
  }
  const SpilledRows& build_rows = pair_.rows[static_cast<size_t>(build_side_)];
  BuildTables tables;
  tables.tables = &table_;
  tables.may_repeat = table_.has_duplicates();
  tables.average_row_bytes = build_rows.bytes / std::max<int64_t>(build_rows.rows, 1);
  tables.widest_row_bytes = build_rows.widest_row_bytes;
  ProbeBlock block;
  block.source.packed_rows = packed_.data();
  block.keys = {packed_.data(), side.row_keys(), hashes_.data()};
  block.targets = may_have_nulls ? targets_.data() : nullptr;
  block.rows = static_cast<int64_t>(packed_.size());
  block.bytes = next_row_ - begin;
  block.chosen = chosen_;
  block.valid = may_have_nulls ? valid_.data() : nullptr;
  block.matched = matched_.data();
  block.decides_fates = is_last_chunk_;
  return matcher_.Start(block, build_side_, tables);
}

/// Keeps the block's matches for the next pass.
arrow::Status PairJoin::SaveMatches() {
  if (new_matches_ == nullptr) return arrow::Status::OK();
  return new_matches_->Append(matched_, static_cast<int64_t>(matched_.size()));
}

void PairJoin::Free() {
  table_.Free();
  build_pages_.Free();
  probe_pages_.Free();
  build_reader_.reset();
  probe_reader_.reset();
  matches_reader_.reset();
  old_matches_.reset();
  new_matches_.reset();
  pair_.rows = {};
}

}  // namespace icebound::exec::join
