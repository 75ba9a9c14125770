// SPDX-License-Identifier: Apache-2.0
#include "exec/join/block_matcher.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace icebound::exec::join {
namespace {

/// Rows ahead whose bytes are fetched while pairs are collected.
constexpr size_t kPrefetchRows = 8;

/// A batch of pairs may pass its bytes this many times before rows are weighed one by one.
constexpr int64_t kBytesSlack = 4;

bool ReadFlag(const uint8_t* row) { return __atomic_load_n(row + kHeadBytes, __ATOMIC_RELAXED) != 0; }

arrow::Status SecondMatchError(expr::TextPosition subquery) {
  return AtTextOffset(MakeError(ErrorKind::kExecution, "more than one row returned by a subquery used as an expression"),
                      subquery.offset);
}

}  // namespace

arrow::Status BlockMatcher::Start(const ProbeBlock& block, int build_side, const BuildTables& tables) {
  block_ = block;
  build_side_ = build_side;
  tables_ = tables;
  heads_.resize(block.chosen.size());
  JoinTable::Lookup(plan_.side(build_side), tables.tables, block.targets, block.keys, block.chosen, heads_.data());
  pairs_done_ = false;
  fates_done_ = !block.decides_fates || !plan_.rules.HasFate(probe_side());
  next_chosen_ = 0;
  next_row_ = nullptr;
  stops_at_match_ = !plan_.rules.emits_pairs && !plan_.rules.HasFate(build_side);
  const runtime::QueryContext& context = *plan_.context;
  const int64_t probe_average = block.rows > 0 ? block.bytes / block.rows : 0;
  const int64_t pair_bytes = std::max<int64_t>(1, tables.average_row_bytes + probe_average);
  pairs_max_ =
      std::clamp<int64_t>(context.batch_bytes / pair_bytes, std::min<int64_t>(16, context.batch_rows), context.batch_rows);
  weighs_build_rows_ = tables.widest_row_bytes * pairs_max_ > kBytesSlack * context.batch_bytes;
  // Without repetition the probe rows of a block come out once, and a block is no larger than a batch.
  weighs_probe_rows_ = tables.may_repeat && plan_.side(probe_side()).has_variable_rows();
  if (weighs_probe_rows_) ARROW_RETURN_NOT_OK(MeasureProbeRows());
  if (!loops()) return arrow::Status::OK();
  loop_matches_ = {};
  // Every row has the same chain, but for those that match nothing.
  return loop_.Start(block.source, block.chosen, block.rows, build_side, heads_.empty() ? nullptr : heads_[0]);
}

arrow::Status BlockMatcher::MeasureProbeRows() {
  const JoinSide& side = plan_.side(probe_side());
  const auto rows = static_cast<size_t>(block_.rows);
  probe_bytes_.assign(rows, 0);
  if (block_.source.batch == nullptr) {
    for (size_t i = 0; i < rows; ++i) probe_bytes_[i] = side.codec().RowSize(block_.source.packed_rows[i]);
    return arrow::Status::OK();
  }
  for (const auto& column : block_.source.batch->columns()) {
    // What a value takes beside its slot; the slots are in the average.
    if (column->type_id() == arrow::Type::STRING || column->type_id() == arrow::Type::BINARY) {
      const auto& values = static_cast<const arrow::BinaryArray&>(*column);
      for (size_t i = 0; i < rows; ++i) probe_bytes_[i] += static_cast<uint32_t>(values.value_length(static_cast<int64_t>(i)));
    } else if (arrow::is_base_binary_like(column->type_id()) || arrow::is_nested(column->type_id())) {
      // Rare: as if every value were average.
      const auto average = static_cast<uint32_t>(block_.bytes / std::max<int64_t>(block_.rows, 1));
      for (size_t i = 0; i < rows; ++i) probe_bytes_[i] += average;
    }
  }
  return arrow::Status::OK();
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> BlockMatcher::Next() {
  if (!pairs_done_) {
    if (!plan_.rules.emits_pairs && plan_.residual == nullptr) {
      ARROW_RETURN_NOT_OK(NoteAll());
      pairs_done_ = true;
    } else {
      ARROW_ASSIGN_OR_RAISE(auto batch, NextPairs());
      if (batch != nullptr) return output_.Deliver(batch);
      pairs_done_ = true;
    }
  }
  if (!fates_done_) {
    fates_done_ = true;
    ARROW_ASSIGN_OR_RAISE(auto batch, MakeFates());
    if (batch != nullptr) return output_.Deliver(batch);
  }
  return nullptr;
}

/// Notes matches where no pair is asked for: all rows of a key have matched once one has.
arrow::Status BlockMatcher::NoteAll() {
  const bool has_flags = plan_.rules.HasFate(build_side_);
  for (size_t j = 0; j < heads_.size(); ++j) {
    if (heads_[j] == nullptr) continue;
    block_.matched[block_.chosen[j]] = 1;
    if (!has_flags) continue;
    // The first row's flag is set last, so that whoever sees it can rely on the others.
    if (__atomic_load_n(heads_[j] + kHeadBytes, __ATOMIC_ACQUIRE) != 0) continue;
    for (uint8_t* row = JoinTable::Next(heads_[j]); row != nullptr; row = JoinTable::Next(row)) {
      __atomic_store_n(row + kHeadBytes, 1, __ATOMIC_RELAXED);
    }
    __atomic_store_n(heads_[j] + kHeadBytes, 1, __ATOMIC_RELEASE);
  }
  return arrow::Status::OK();
}

/// Whether the pair can be passed over because nothing depends on it any more.
bool BlockMatcher::IsSettled(int32_t probe_row, const uint8_t* build_row) const {
  if (stops_at_match_) return block_.matched[probe_row] != 0;
  return !plan_.rules.emits_pairs && ReadFlag(build_row);
}

bool BlockMatcher::BuildRow(const uint8_t* row) const {
  return !plan_.rules.emits_pairs && plan_.rules.HasFate(build_side_) && ReadFlag(row);
}

/// The next pairs that match, up to a batch.
arrow::Status BlockMatcher::CollectLoop() {
  pair_rows_.clear();
  pair_build_.clear();
  const JoinSide& side = plan_.side(build_side_);
  int64_t bytes = 0;
  while (true) {
    if (loop_matches_.empty()) {
      ARROW_ASSIGN_OR_RAISE(loop_matches_, loop_.Next(*this));
      if (loop_matches_.empty()) return arrow::Status::OK();
    }
    const MatchedPair pair = loop_matches_.front();
    if (weighs_build_rows_) bytes += side.RowBytes(pair.build_row);
    if (weighs_probe_rows_) bytes += probe_bytes_[static_cast<size_t>(pair.probe_row)];
    const auto pairs = static_cast<int64_t>(pair_rows_.size());
    if (pairs == pairs_max_ || (pairs > 0 && bytes > plan_.context->batch_bytes)) return arrow::Status::OK();
    loop_matches_ = loop_matches_.subspan(1);
    pair_rows_.push_back(pair.probe_row);
    pair_build_.push_back(pair.build_row);
  }
}

/// The next candidates, up to a batch.
void BlockMatcher::Collect() {
  pair_rows_.clear();
  pair_build_.clear();
  const JoinSide& side = plan_.side(build_side_);
  int64_t bytes = 0;
  const bool settles = !plan_.rules.emits_pairs;
  while (next_chosen_ < heads_.size()) {
    if (next_chosen_ + kPrefetchRows < heads_.size()) __builtin_prefetch(heads_[next_chosen_ + kPrefetchRows]);
    uint8_t* row = next_row_ != nullptr ? next_row_ : heads_[next_chosen_];
    next_row_ = nullptr;
    const int32_t probe_row = block_.chosen[next_chosen_];
    while (row != nullptr) {
      if (settles && IsSettled(probe_row, row)) {
        row = stops_at_match_ ? nullptr : JoinTable::Next(row);
        continue;
      }
      if (weighs_build_rows_) bytes += side.RowBytes(row);
      if (weighs_probe_rows_) bytes += probe_bytes_[static_cast<size_t>(probe_row)];
      const auto pairs = static_cast<int64_t>(pair_rows_.size());
      if (pairs == pairs_max_ || (pairs > 0 && bytes > plan_.context->batch_bytes)) {
        next_row_ = row;
        return;
      }
      pair_rows_.push_back(probe_row);
      pair_build_.push_back(row);
      row = tables_.may_repeat ? JoinTable::Next(row) : nullptr;
    }
    ++next_chosen_;
  }
}

arrow::Status BlockMatcher::NotePair(int32_t probe_row, uint8_t* build_row) {
  if (plan_.rules.is_single) {
    const bool seen_before = build_side_ == kRightSide ? block_.matched[probe_row] != 0
                                                       : __atomic_exchange_n(build_row + kHeadBytes, 1, __ATOMIC_RELAXED) != 0;
    if (seen_before) return SecondMatchError(plan_.position);
  }
  block_.matched[probe_row] = 1;
  if (plan_.rules.HasFate(build_side_) && !ReadFlag(build_row)) __atomic_store_n(build_row + kHeadBytes, 1, __ATOMIC_RELAXED);
  return arrow::Status::OK();
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> BlockMatcher::MakePairs() {
  pair_packed_.resize(pair_build_.size());
  const JoinSide& side = plan_.side(build_side_);
  for (size_t i = 0; i < pair_build_.size(); ++i) pair_packed_[i] = side.Packed(pair_build_[i]);
  bool in_order = static_cast<int64_t>(pair_rows_.size()) == block_.rows;
  for (size_t i = 0; in_order && i < pair_rows_.size(); ++i) in_order = pair_rows_[i] == static_cast<int32_t>(i);
  ARROW_ASSIGN_OR_RAISE(auto probe, output_.Gather(probe_side(), block_.source, pair_rows_, in_order));
  ARROW_ASSIGN_OR_RAISE(auto build, output_.Decode(build_side_, pair_packed_));
  const auto rows = static_cast<int64_t>(pair_rows_.size());
  return build_side_ == kRightSide ? output_.Pairs(std::move(probe), std::move(build), rows)
                                   : output_.Pairs(std::move(build), std::move(probe), rows);
}

/// The next batch of pairs that goes out; null when there is none left.
arrow::Result<std::shared_ptr<arrow::RecordBatch>> BlockMatcher::NextPairs() {
  while (true) {
    ARROW_RETURN_NOT_OK(plan_.context->cancellation.Check());
    if (loops()) {
      ARROW_RETURN_NOT_OK(CollectLoop());
    } else {
      Collect();
    }
    if (pair_rows_.empty()) return nullptr;
    if (plan_.residual == nullptr || loops()) {
      const bool must_note = plan_.rules.HasFate(build_side_) || plan_.rules.HasFate(probe_side());
      for (size_t i = 0; must_note && i < pair_rows_.size(); ++i) ARROW_RETURN_NOT_OK(NotePair(pair_rows_[i], pair_build_[i]));
      if (!plan_.rules.emits_pairs) continue;
      return MakePairs();
    }
    ARROW_ASSIGN_OR_RAISE(const auto pairs, MakePairs());
    ARROW_ASSIGN_OR_RAISE(const JoinOutput::Survivors survivors, output_.ApplyResidual(pairs));
    if (survivors.batch == nullptr) continue;
    const int32_t* number = survivors.numbers->data()->GetValues<int32_t>(1);
    for (int64_t i = 0; i < survivors.batch->num_rows(); ++i) {
      const auto pair = static_cast<size_t>(number[i]);
      ARROW_RETURN_NOT_OK(NotePair(pair_rows_[pair], pair_build_[pair]));
    }
    if (plan_.rules.emits_pairs) return survivors.batch;
  }
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> BlockMatcher::MakeFates() {
  const bool with_mark = plan_.rules.fate(probe_side()) == RowFate::kWithMark;
  fate_rows_.clear();
  marks_.clear();
  for (const int32_t row : block_.chosen) {
    const bool matched = block_.matched[row] != 0;
    const bool has_null_key = block_.valid != nullptr && block_.valid[row] == 0;
    if (!output_.ComesOutAlone(probe_side(), matched, has_null_key)) continue;
    fate_rows_.push_back(row);
    if (with_mark) {
      const std::optional<bool> mark = output_.MarkOf(matched, has_null_key);
      marks_.push_back(mark.has_value() ? static_cast<uint8_t>(*mark) : 2);
    }
  }
  if (fate_rows_.empty()) return nullptr;
  const bool all = static_cast<int64_t>(fate_rows_.size()) == block_.rows;
  ARROW_ASSIGN_OR_RAISE(auto columns, output_.Gather(probe_side(), block_.source, fate_rows_, all));
  return output_.Alone(probe_side(), std::move(columns), static_cast<int64_t>(fate_rows_.size()), marks_);
}

}  // namespace icebound::exec::join
