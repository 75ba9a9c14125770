// SPDX-License-Identifier: Apache-2.0
#include "exec/join/nested_loop.h"

#include <numeric>
#include <utility>

#include "exec/join/join_table.h"
#include "expr/evaluate.h"

namespace icebound::exec::join {

arrow::Status NestedLoop::Start(const RowSource& source, std::span<const int32_t> chosen, int64_t source_rows, int build_side,
                                uint8_t* first) {
  chosen_ = chosen;
  build_side_ = build_side;
  next_build_row_ = chosen.empty() ? nullptr : first;
  turn_ = turns_ = 0;
  matches_.clear();
  if (next_build_row_ == nullptr) return arrow::Status::OK();
  const bool all = static_cast<int64_t>(chosen.size()) == source_rows;
  ARROW_ASSIGN_OR_RAISE(probe_columns_, output_.Gather(1 - build_side, source, chosen, all));
  return arrow::Status::OK();
}

/// The next build rows as columns; false when there are none.
arrow::Result<bool> NestedLoop::LoadBuildRows() {
  build_rows_.clear();
  build_columns_.clear();
  const JoinSide& side = plan_.side(build_side_);
  std::vector<const uint8_t*> packed;
  int64_t bytes = 0;
  while (next_build_row_ != nullptr && static_cast<int64_t>(build_rows_.size()) < plan_.context->batch_rows) {
    bytes += side.RowBytes(next_build_row_);
    if (!build_rows_.empty() && bytes > plan_.context->batch_bytes) break;
    build_rows_.push_back(next_build_row_);
    packed.push_back(side.Packed(next_build_row_));
    next_build_row_ = JoinTable::Next(next_build_row_);
  }
  if (build_rows_.empty()) return false;
  ARROW_ASSIGN_OR_RAISE(build_columns_, output_.Decode(build_side_, packed));
  ARROW_RETURN_NOT_OK(Orient());
  return true;
}

/// Chooses whose rows are the constants, and numbers the columns of the condition accordingly.
arrow::Status NestedLoop::Orient() {
  turns_probe_rows_ = chosen_.size() <= build_rows_.size();
  turn_ = 0;
  turns_ = static_cast<int64_t>(turns_probe_rows_ ? chosen_.size() : build_rows_.size());
  const auto long_rows = static_cast<int64_t>(turns_probe_rows_ ? build_rows_.size() : chosen_.size());
  const int constant_side = turns_probe_rows_ ? 1 - build_side_ : build_side_;
  const arrow::ArrayVector& constant_columns = turns_probe_rows_ ? probe_columns_ : build_columns_;
  const arrow::ArrayVector& long_columns = turns_probe_rows_ ? build_columns_ : probe_columns_;
  const int left_columns = plan_.side(kLeftSide).schema()->num_fields();
  arrow::FieldVector fields;
  arrow::ArrayVector columns;
  constants_.clear();
  std::vector<int> mapping(static_cast<size_t>(plan_.pair_schema->num_fields()), -1);
  const std::vector<int> used = expr::ReferencedColumns(*plan_.residual);
  for (const int column : used) {
    const int side = column < left_columns ? kLeftSide : kRightSide;
    if (side == constant_side) continue;
    mapping[static_cast<size_t>(column)] = static_cast<int>(columns.size());
    fields.push_back(plan_.pair_schema->field(column));
    columns.push_back(long_columns[static_cast<size_t>(side == kLeftSide ? column : column - left_columns)]);
  }
  const auto long_count = static_cast<int>(columns.size());
  for (const int column : used) {
    const int side = column < left_columns ? kLeftSide : kRightSide;
    if (side != constant_side) continue;
    mapping[static_cast<size_t>(column)] = long_count + static_cast<int>(constants_.size());
    constants_.push_back(constant_columns[static_cast<size_t>(side == kLeftSide ? column : column - left_columns)]);
  }
  ARROW_ASSIGN_OR_RAISE(condition_, expr::RemapColumns(plan_.residual, mapping));
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> numbers,
                        arrow::AllocateBuffer(long_rows * static_cast<int64_t>(sizeof(int32_t)), output_.pool()));
  auto* number = reinterpret_cast<int32_t*>(numbers->mutable_data());
  std::iota(number, number + long_rows, 0);
  fields.push_back(arrow::field("", arrow::int32(), false));
  columns.push_back(std::make_shared<arrow::Int32Array>(long_rows, std::move(numbers)));
  long_ = arrow::RecordBatch::Make(arrow::schema(std::move(fields)), long_rows, std::move(columns));
  return arrow::Status::OK();
}

/// Puts one row into the condition and finds its matches.
arrow::Status NestedLoop::EvaluateRow(int64_t row) {
  const int long_count = long_->num_columns() - 1;
  const auto with_constants = [&](const expr::ExprPtr& node) -> arrow::Result<expr::ExprPtr> {
    if (node->kind() != expr::ExprKind::kColumn) return node;
    const int index = static_cast<const expr::ColumnExpr&>(*node).index();
    if (index < long_count) return node;
    ARROW_ASSIGN_OR_RAISE(auto value, constants_[static_cast<size_t>(index - long_count)]->GetScalar(row));
    return expr::MakeLiteral(std::move(value));
  };
  ARROW_ASSIGN_OR_RAISE(const expr::ExprPtr condition, expr::Transform(condition_, with_constants));
  ARROW_ASSIGN_OR_RAISE(const auto kept, expr::Filter(*condition, long_, {output_.pool(), plan_.context->statement_time_us}));
  if (kept == nullptr) return arrow::Status::OK();
  const int32_t* number = kept->column(long_count)->data()->GetValues<int32_t>(1);
  for (int64_t i = 0; i < kept->num_rows(); ++i) {
    const auto probe = static_cast<size_t>(turns_probe_rows_ ? row : number[i]);
    const auto build = static_cast<size_t>(turns_probe_rows_ ? number[i] : row);
    matches_.push_back({chosen_[probe], build_rows_[build]});
  }
  return arrow::Status::OK();
}

arrow::Result<std::span<const MatchedPair>> NestedLoop::Next(const Settled& settled) {
  matches_.clear();
  while (matches_.empty()) {
    if (turn_ == turns_) {
      ARROW_RETURN_NOT_OK(plan_.context->cancellation.Check());
      ARROW_ASSIGN_OR_RAISE(const bool more, LoadBuildRows());
      if (!more) break;
    }
    const int64_t row = turn_++;
    const auto at = static_cast<size_t>(row);
    if (turns_probe_rows_ ? settled.ProbeRow(chosen_[at]) : settled.BuildRow(build_rows_[at])) continue;
    ARROW_RETURN_NOT_OK(EvaluateRow(row));
  }
  if (matches_.empty()) {
    long_.reset();
    probe_columns_.clear();
    build_columns_.clear();
    constants_.clear();
  }
  return std::span<const MatchedPair>(matches_);
}

}  // namespace icebound::exec::join
