// SPDX-License-Identifier: Apache-2.0
#include "exec/join/join_output.h"

#include <arrow/array/builder_primitive.h>
#include <arrow/array/util.h>
#include <arrow/compute/api_vector.h>
#include <arrow/compute/cast.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "expr/evaluate.h"

namespace icebound::exec::join {

namespace {

constexpr uint8_t kNullMark = 2;

std::shared_ptr<arrow::Array> NumbersOver(std::span<const int32_t> rows) {
  auto buffer = std::make_shared<arrow::Buffer>(reinterpret_cast<const uint8_t*>(rows.data()),
                                                static_cast<int64_t>(rows.size() * sizeof(int32_t)));
  return std::make_shared<arrow::Int32Array>(static_cast<int64_t>(rows.size()), std::move(buffer));
}

}  // namespace

bool CanTake(const arrow::DataType& type) {
  using arrow::Type;
  switch (type.id()) {
    case Type::STRING_VIEW:
    case Type::BINARY_VIEW:
    case Type::LIST_VIEW:
    case Type::LARGE_LIST_VIEW:
      return false;
    case Type::DICTIONARY: {
      const Type::type values = static_cast<const arrow::DictionaryType&>(type).value_type()->id();
      return values == Type::STRING || values == Type::BINARY;
    }
    case Type::EXTENSION:
      return CanTake(*static_cast<const arrow::ExtensionType&>(type).storage_type());
    default:
      // Dictionaries inside come out as their values only from packed rows.
      return std::all_of(type.fields().begin(), type.fields().end(),
                         [](const auto& field) { return field->type()->id() != Type::DICTIONARY && CanTake(*field->type()); });
  }
}

JoinOutput::JoinOutput(JoinPlan* plan) : plan_(*plan), exec_(plan->consumer->pool()) { exec_.set_use_threads(false); }

arrow::Result<arrow::ArrayVector> JoinOutput::Gather(int side, const RowSource& source, std::span<const int32_t> rows,
                                                     bool all_in_order) {
  if (source.batch == nullptr) {
    if (all_in_order) return Decode(side, {source.packed_rows, rows.size()});
    std::vector<const uint8_t*> packed(rows.size());
    for (size_t i = 0; i < rows.size(); ++i) packed[i] = source.packed_rows[rows[i]];
    return Decode(side, packed);
  }
  const arrow::Schema& schema = *plan_.side(side).schema();
  arrow::ArrayVector columns;
  columns.reserve(static_cast<size_t>(schema.num_fields()));
  for (int i = 0; i < schema.num_fields(); ++i) {
    ARROW_ASSIGN_OR_RAISE(auto column, Take(side, i, source.batch->column(i), rows, all_in_order));
    columns.push_back(std::move(column));
  }
  return columns;
}

/// Rows of a column as plain values.
arrow::Result<std::shared_ptr<arrow::Array>> JoinOutput::Take(int side, int number, const std::shared_ptr<arrow::Array>& column,
                                                              std::span<const int32_t> rows, bool all_in_order) {
  const arrow::Field& field = *plan_.side(side).schema()->field(number);
  const bool is_dictionary = column->type_id() == arrow::Type::DICTIONARY;
  const bool is_plain = plan_.side(side).is_plain(number) && !is_dictionary;
  if (all_in_order && is_plain) return column;
  if (!CanTake(*column->type()) || (!is_plain && !is_dictionary)) return TakePacked(column, field, rows);
  std::shared_ptr<arrow::Array> taken = column;
  if (!all_in_order) {
    ARROW_ASSIGN_OR_RAISE(const arrow::Datum datum, arrow::compute::Take(arrow::Datum(column), arrow::Datum(NumbersOver(rows)),
                                                                         arrow::compute::TakeOptions::NoBoundsCheck(), &exec_));
    taken = datum.make_array();
  }
  if (!is_dictionary) return taken;
  ARROW_ASSIGN_OR_RAISE(const arrow::Datum values,
                        arrow::compute::Cast(arrow::Datum(taken), field.type(), arrow::compute::CastOptions::Safe(), &exec_));
  return values.make_array();
}

/// The same by way of packed rows, for types Arrow has no kernels for.
arrow::Result<std::shared_ptr<arrow::Array>> JoinOutput::TakePacked(const std::shared_ptr<arrow::Array>& column,
                                                                    const arrow::Field& field, std::span<const int32_t> rows) {
  const auto count = static_cast<size_t>(column->length());
  const auto batch =
      arrow::RecordBatch::Make(arrow::schema({field.WithType(column->type())->WithNullable(true)}), column->length(), {column});
  ARROW_ASSIGN_OR_RAISE(const auto codec, row::RowCodec::Make(batch->schema()));
  std::vector<uint32_t> sizes(count, 0);
  ARROW_RETURN_NOT_OK(codec->AddSizes(*batch, 0, sizes));
  int64_t bytes = 0;
  for (const uint32_t size : sizes) bytes += size;
  ARROW_ASSIGN_OR_RAISE(const auto buffer, arrow::AllocateBuffer(bytes + kReadSlackBytes, pool()));
  std::vector<uint8_t*> places(count);
  uint8_t* next = buffer->mutable_data();
  for (size_t i = 0; i < count; ++i) places[i] = std::exchange(next, next + sizes[i]);
  ARROW_RETURN_NOT_OK(codec->Encode(*batch, 0, places));
  std::vector<const uint8_t*> wanted(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) wanted[i] = places[static_cast<size_t>(rows[i])];
  ARROW_ASSIGN_OR_RAISE(const auto decoded, codec->Decode(wanted, pool()));
  return decoded->column(0);
}

arrow::Result<arrow::ArrayVector> JoinOutput::Decode(int side, std::span<const uint8_t* const> packed) {
  return plan_.side(side).Decode(packed, pool());
}

std::shared_ptr<arrow::RecordBatch> JoinOutput::Pairs(arrow::ArrayVector left, arrow::ArrayVector right, int64_t rows) const {
  left.insert(left.end(), std::make_move_iterator(right.begin()), std::make_move_iterator(right.end()));
  return arrow::RecordBatch::Make(plan_.pair_schema, rows, std::move(left));
}

arrow::Result<JoinOutput::Survivors> JoinOutput::ApplyResidual(const std::shared_ptr<arrow::RecordBatch>& pairs) {
  const int64_t rows = pairs->num_rows();
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> buffer,
                        arrow::AllocateBuffer(rows * static_cast<int64_t>(sizeof(int32_t)), pool()));
  auto* number = reinterpret_cast<int32_t*>(buffer->mutable_data());
  std::iota(number, number + rows, 0);
  auto numbers = std::make_shared<arrow::Int32Array>(rows, std::move(buffer));
  const int column = pairs->num_columns();
  ARROW_ASSIGN_OR_RAISE(const auto numbered, pairs->AddColumn(column, "", std::move(numbers)));
  ARROW_ASSIGN_OR_RAISE(const auto kept, expr::Filter(*plan_.residual, numbered, {pool(), plan_.context->statement_time_us}));
  if (kept == nullptr || kept->num_rows() == 0) return Survivors{};
  ARROW_ASSIGN_OR_RAISE(auto batch, kept->RemoveColumn(column));
  return Survivors{std::move(batch), kept->column(column)};
}

bool JoinOutput::ComesOutAlone(int side, bool matched, bool has_null_key) const {
  switch (plan_.rules.fate(side)) {
    case RowFate::kNothing:
      return false;
    case RowFate::kWithNullsIfUnmatched:
      return !matched;
    case RowFate::kIfMatched:
      return matched;
    case RowFate::kIfUnmatched:
      if (!plan_.rules.knows_nulls || !plan_.right_has_rows) return !matched;
      return !matched && !has_null_key && !plan_.right_has_null_key;
    case RowFate::kWithMark:
      return true;
  }
  return false;
}

std::optional<bool> JoinOutput::MarkOf(bool matched, bool has_null_key) const {
  if (matched) return true;
  if (!plan_.rules.knows_nulls || !plan_.right_has_rows) return false;
  if (has_null_key || plan_.right_has_null_key) return std::nullopt;
  return false;
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> JoinOutput::Alone(int side, arrow::ArrayVector columns, int64_t rows,
                                                                     std::span<const uint8_t> marks) {
  const RowFate fate = plan_.rules.fate(side);
  if (fate == RowFate::kWithNullsIfUnmatched) {
    arrow::ArrayVector nulls;
    for (const auto& field : plan_.side(1 - side).schema()->fields()) {
      ARROW_ASSIGN_OR_RAISE(auto column, arrow::MakeArrayOfNull(field->type(), rows, pool()));
      nulls.push_back(std::move(column));
    }
    return side == kLeftSide ? Pairs(std::move(columns), std::move(nulls), rows)
                             : Pairs(std::move(nulls), std::move(columns), rows);
  }
  if (fate == RowFate::kWithMark) {
    arrow::BooleanBuilder builder(pool());
    ARROW_RETURN_NOT_OK(builder.Reserve(rows));
    for (const uint8_t mark : marks) {
      if (mark == kNullMark) {
        builder.UnsafeAppendNull();
      } else {
        builder.UnsafeAppend(mark != 0);
      }
    }
    ARROW_ASSIGN_OR_RAISE(auto column, builder.Finish());
    columns.push_back(std::move(column));
  }
  return arrow::RecordBatch::Make(plan_.output_schema, rows, std::move(columns));
}

std::shared_ptr<arrow::RecordBatch> JoinOutput::Deliver(const std::shared_ptr<arrow::RecordBatch>& batch) const {
  plan_.metrics->rows.fetch_add(batch->num_rows(), std::memory_order_relaxed);
  return arrow::RecordBatch::Make(plan_.output_schema, batch->num_rows(), batch->columns());
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> FateScan::Next(JoinOutput* output) {
  const JoinSide& side = plan_.side(side_);
  const bool with_mark = plan_.rules.fate(side_) == RowFate::kWithMark;
  packed_.clear();
  marks_.clear();
  int64_t bytes = 0;
  while (next_ < end_ && static_cast<int64_t>(packed_.size()) < plan_.context->batch_rows) {
    const uint8_t* row = next_;
    const int64_t row_bytes = side.RowBytes(row);
    const uint8_t* packed = side.Packed(row);
    const bool matched = row[kHeadBytes] != 0;
    const bool has_null_key = plan_.rules.knows_nulls && side.HasNullKey(packed);
    if (output->ComesOutAlone(side_, matched, has_null_key)) {
      if (!packed_.empty() && bytes + row_bytes > plan_.context->batch_bytes) break;
      bytes += row_bytes;
      packed_.push_back(packed);
      if (with_mark) {
        const std::optional<bool> mark = output->MarkOf(matched, has_null_key);
        marks_.push_back(mark.has_value() ? static_cast<uint8_t>(*mark) : kNullMark);
      }
    }
    next_ += row_bytes;
  }
  if (packed_.empty()) return nullptr;
  ARROW_ASSIGN_OR_RAISE(auto columns, output->Decode(side_, packed_));
  ARROW_ASSIGN_OR_RAISE(auto batch, output->Alone(side_, std::move(columns), static_cast<int64_t>(packed_.size()), marks_));
  return output->Deliver(batch);
}

}  // namespace icebound::exec::join
