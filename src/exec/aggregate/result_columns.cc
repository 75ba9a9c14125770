// SPDX-License-Identifier: Apache-2.0
#include "exec/aggregate/result_columns.h"

#include <arrow/array/builder_binary.h>
#include <arrow/util/bit_util.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "exec/aggregate/argument_columns.h"
#include "expr/date_time_math.h"
#include "expr/number_text.h"
#include "expr/type_rules.h"

namespace icebound::exec::aggregate {
namespace {

using arrow::Type;
using expr::AggregateKind;
using row::LoadAs;
using row::StoreAs;
using Rows = std::span<const uint8_t* const>;

/// Values and validity of a fixed-width column being made.
struct FixedColumn {
  std::shared_ptr<arrow::DataType> type;
  std::shared_ptr<arrow::Buffer> values;
  std::shared_ptr<arrow::Buffer> validity;
  int64_t rows = 0;
  int64_t null_count = 0;

  static arrow::Result<FixedColumn> Make(const std::shared_ptr<arrow::DataType>& type, size_t rows, arrow::MemoryPool* pool) {
    FixedColumn column;
    column.type = type;
    column.rows = static_cast<int64_t>(rows);
    const int64_t bits = static_cast<const arrow::FixedWidthType&>(*type).bit_width();
    ARROW_ASSIGN_OR_RAISE(column.values, arrow::AllocateBuffer(arrow::bit_util::BytesForBits(bits * column.rows), pool));
    ARROW_ASSIGN_OR_RAISE(column.validity, arrow::AllocateBuffer(arrow::bit_util::BytesForBits(column.rows), pool));
    std::memset(column.values->mutable_data(), 0, static_cast<size_t>(column.values->size()));
    std::memset(column.validity->mutable_data(), 0xFF, static_cast<size_t>(column.validity->size()));
    return column;
  }
  template <typename Value>
  void Set(size_t i, Value value) {
    StoreAs(values->mutable_data() + i * sizeof(Value), value);
  }
  void SetNull(size_t i) {
    arrow::bit_util::ClearBit(validity->mutable_data(), static_cast<int64_t>(i));
    ++null_count;
  }
  std::shared_ptr<arrow::Array> Finish() {
    return arrow::MakeArray(arrow::ArrayData::Make(type, rows, {null_count > 0 ? validity : nullptr, values}, null_count));
  }
};

/// A 64-bit integer in a column of any type that stands for one.
void SetInteger(FixedColumn* column, size_t i, int64_t value) {
  if (column->type->id() == Type::BOOL) {
    arrow::bit_util::SetBitTo(column->values->mutable_data(), static_cast<int64_t>(i), value != 0);
    return;
  }
  switch (static_cast<const arrow::FixedWidthType&>(*column->type).bit_width()) {
    case 8:
      return column->Set(i, static_cast<int8_t>(value));
    case 16:
      return column->Set(i, static_cast<int16_t>(value));
    case 32:
      return column->Set(i, static_cast<int32_t>(value));
    case 64:
      return column->Set(i, value);
    default:
      return column->Set(i, static_cast<Int128>(value));
  }
}

arrow::Status SumOutOfRange(const arrow::DataType& type) {
  if (arrow::is_decimal(type.id())) return MakeError(ErrorKind::kExecution, "numeric field overflow in an aggregate");
  return MakeError(ErrorKind::kExecution, "{} out of range in an aggregate", expr::SqlTypeName(type));
}

bool FitsDigits(Int128 value, int digits) {
  const Int128 bound = expr::PowerOfTen(digits);
  return value > -bound && value < bound;
}

/// A sum state as 128 bits; false when it does not fit.
bool ReadSum(StateKind kind, const uint8_t* state, Int128* sum) {
  *sum = LoadAs<Int128>(state + 1);
  return kind == StateKind::kSumInt || LoadAs<int64_t>(state + 17) == (*sum < 0 ? -1 : 0);
}

arrow::Status WriteSums(const StatePlace& place, Rows rows, FixedColumn* column) {
  const bool is_decimal = arrow::is_decimal(column->type->id());
  for (size_t i = 0; i < rows.size(); ++i) {
    const uint8_t* state = rows[i] + place.offset;
    if (state[0] == 0) {
      column->SetNull(i);
      continue;
    }
    if (place.kind == StateKind::kSumDouble) {
      column->Set(i, LoadAs<double>(state + 1));
      continue;
    }
    Int128 sum = 0;
    bool fits = ReadSum(place.kind, state, &sum);
    if (is_decimal) {
      fits = fits && FitsDigits(sum, expr::kMaxDecimalDigits);
      column->Set(i, sum);
    } else {
      fits = fits && sum == static_cast<int64_t>(sum);
      column->Set(i, static_cast<int64_t>(sum));
    }
    if (!fits) return SumOutOfRange(*column->type);
  }
  return arrow::Status::OK();
}

/// sum / count with the result's scale, rounded half away from zero.
bool DivideSum(Int128 sum, int64_t count, int digits, Int128* quotient) {
  const Int128 whole = sum / count;
  const Int128 rest = sum % count;
  const Int128 power = expr::PowerOfTen(digits);
  Int128 scaled = 0;
  if (__builtin_mul_overflow(whole, power, &scaled)) return false;
  // |rest| < 2^63 and power <= 10^16: no overflow.
  const Int128 rest_scaled = rest * power;
  Int128 fraction = rest_scaled / count;
  const Int128 left = rest_scaled % count;
  const Int128 twice = (left < 0 ? -left : left) * 2;
  if (twice >= count) fraction += sum < 0 ? -1 : 1;
  if (__builtin_add_overflow(scaled, fraction, quotient)) return false;
  return FitsDigits(*quotient, expr::kMaxDecimalDigits);
}

arrow::Status WriteAverages(const ResultPlan& plan, const StatePlace& sum_place, const StatePlace& count_place, Rows rows,
                            FixedColumn* column) {
  const int digits =
      arrow::is_decimal(plan.type->id()) ? static_cast<const arrow::DecimalType&>(*plan.type).scale() - plan.argument_scale : 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    const uint8_t* state = rows[i] + sum_place.offset;
    const auto count = LoadAs<int64_t>(rows[i] + count_place.offset);
    if (state[0] == 0 || count == 0) {
      column->SetNull(i);
      continue;
    }
    if (sum_place.kind == StateKind::kSumDouble) {
      column->Set(i, LoadAs<double>(state + 1) / static_cast<double>(count));
      continue;
    }
    Int128 sum = 0;
    Int128 quotient = 0;
    if (!ReadSum(sum_place.kind, state, &sum) || !DivideSum(sum, count, digits, &quotient)) return SumOutOfRange(*plan.type);
    column->Set(i, quotient);
  }
  return arrow::Status::OK();
}

arrow::Status WriteIntervals(const ResultPlan& plan, const StatePlace& place, Rows rows, FixedColumn* column) {
  for (size_t i = 0; i < rows.size(); ++i) {
    const uint8_t* state = rows[i] + place.offset;
    const auto count = LoadAs<int64_t>(state);
    if (count == 0) {
      column->SetNull(i);
      continue;
    }
    const auto months = LoadAs<int64_t>(state + 8);
    const auto days = LoadAs<int64_t>(state + 16);
    const auto nanoseconds = LoadAs<Int128>(state + 24);
    Interval value{static_cast<int32_t>(months), static_cast<int32_t>(days), static_cast<int64_t>(nanoseconds)};
    const bool fits = value.months == months && value.days == days && value.nanoseconds == nanoseconds;
    if (!fits || (plan.kind == AggregateKind::kAvg && !expr::DivideInterval(value, static_cast<double>(count), &value))) {
      return MakeError(ErrorKind::kExecution, "interval out of range in an aggregate");
    }
    column->Set(i, value);
  }
  return arrow::Status::OK();
}

void WriteMoments(AggregateKind kind, const StatePlace& place, Rows rows, FixedColumn* column) {
  const bool is_sample = kind == AggregateKind::kStddevSamp || kind == AggregateKind::kVarSamp;
  const bool is_deviation = kind == AggregateKind::kStddevSamp || kind == AggregateKind::kStddevPop;
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto count = LoadAs<int64_t>(rows[i] + place.offset);
    if (count == 0 || (is_sample && count == 1)) {
      column->SetNull(i);
      continue;
    }
    const double variance = LoadAs<double>(rows[i] + place.offset + 16) / static_cast<double>(is_sample ? count - 1 : count);
    column->Set(i, is_deviation ? std::sqrt(variance) : variance);
  }
}

void WriteExtremes(const StatePlace& place, Rows rows, FixedColumn* column) {
  for (size_t i = 0; i < rows.size(); ++i) {
    const uint8_t* state = rows[i] + place.offset;
    if (state[0] == 0) {
      column->SetNull(i);
    } else if (place.kind == StateKind::kMinWide || place.kind == StateKind::kMaxWide) {
      column->Set(i, LoadAs<Int128>(state + 1));
    } else if (place.kind == StateKind::kMinInt || place.kind == StateKind::kMaxInt) {
      SetInteger(column, i, LoadAs<int64_t>(state + 1));
    } else if (column->type->id() == Type::FLOAT) {
      column->Set(i, static_cast<float>(LoadAs<double>(state + 1)));
    } else {
      column->Set(i, LoadAs<double>(state + 1));
    }
  }
}

/// Strings in the column's own type.
arrow::Result<std::shared_ptr<arrow::Array>> TextColumn(const std::shared_ptr<arrow::DataType>& type, const StatePlace& place,
                                                        Rows rows, arrow::MemoryPool* pool) {
  int64_t bytes = 0;
  for (const uint8_t* row : rows) bytes += ByteString::Length(row + place.offset);
  arrow::BinaryBuilder builder(pool);
  ARROW_RETURN_NOT_OK(builder.Reserve(static_cast<int64_t>(rows.size())));
  ARROW_RETURN_NOT_OK(builder.ReserveData(bytes));
  for (const uint8_t* row : rows) {
    if (ByteString::Seen(row + place.offset)) {
      builder.UnsafeAppend(ByteString::View(row + place.offset));
    } else {
      builder.UnsafeAppendNull();
    }
  }
  ARROW_ASSIGN_OR_RAISE(const auto array, builder.Finish());
  auto data = array->data()->Copy();
  data->type = type;
  return arrow::MakeArray(data);
}

/// Packed values; a state that has seen nothing is null, as the packed null is.
arrow::Result<std::shared_ptr<arrow::Array>> PackedColumn(const row::RowCodec& codec, BytesForm form, const StatePlace& place,
                                                          Rows rows, arrow::MemoryPool* pool) {
  // The null bit of the only column, and slots of 00.
  std::vector<uint8_t> null_row(static_cast<size_t>(codec.fixed_bytes()) + 1, 0);
  null_row[0] = 1;
  ARROW_ASSIGN_OR_RAISE(const auto buffer,
                        arrow::AllocateBuffer(static_cast<int64_t>(rows.size() * sizeof(const uint8_t*)), pool));
  auto** packed = reinterpret_cast<const uint8_t**>(buffer->mutable_data());
  for (size_t i = 0; i < rows.size(); ++i) {
    const uint8_t* state = rows[i] + place.offset;
    const std::string_view value = ByteString::View(state);
    if (!ByteString::Seen(state)) {
      packed[i] = null_row.data();
    } else {
      packed[i] = form == BytesForm::kOrdered ? PackedInOrdered(value) : reinterpret_cast<const uint8_t*>(value.data());
    }
  }
  ARROW_ASSIGN_OR_RAISE(const auto batch, codec.Decode({packed, rows.size()}, pool));
  return batch->column(0);
}

arrow::Status WriteResults(const GroupLayout& layout, const ResultPlan& plan, Rows rows, FixedColumn* column) {
  const StatePlace& place = layout.states()[static_cast<size_t>(plan.state)];
  switch (place.kind) {
    case StateKind::kCount:
      for (size_t i = 0; i < rows.size(); ++i) column->Set(i, LoadAs<int64_t>(rows[i] + place.offset));
      break;
    case StateKind::kSumInt:
    case StateKind::kSumWide:
    case StateKind::kSumDouble:
      if (plan.kind == AggregateKind::kAvg) {
        const StatePlace& count = layout.states()[static_cast<size_t>(plan.count_state)];
        ARROW_RETURN_NOT_OK(WriteAverages(plan, place, count, rows, column));
      } else {
        ARROW_RETURN_NOT_OK(WriteSums(place, rows, column));
      }
      break;
    case StateKind::kSumInterval:
      ARROW_RETURN_NOT_OK(WriteIntervals(plan, place, rows, column));
      break;
    case StateKind::kMoments:
      WriteMoments(plan.kind, place, rows, column);
      break;
    default:
      WriteExtremes(place, rows, column);
      break;
  }
  return arrow::Status::OK();
}

}  // namespace

ResultColumns::~ResultColumns() = default;

arrow::Result<std::unique_ptr<ResultColumns>> ResultColumns::Make(const GroupLayout* layout, std::vector<ResultPlan> plans) {
  std::unique_ptr<ResultColumns> columns(new ResultColumns(layout));
  for (const ResultPlan& plan : plans) {
    std::unique_ptr<row::RowCodec> codec;
    if (plan.bytes_form == BytesForm::kPacked || plan.bytes_form == BytesForm::kOrdered) {
      ARROW_ASSIGN_OR_RAISE(codec, row::RowCodec::Make(PackedValueSchema(plan.type)));
    }
    columns->codecs_.push_back(std::move(codec));
  }
  columns->plans_ = std::move(plans);
  return columns;
}

arrow::Result<arrow::ArrayVector> ResultColumns::Keys(Rows rows, arrow::MemoryPool* pool) const {
  ARROW_ASSIGN_OR_RAISE(const auto buffer,
                        arrow::AllocateBuffer(static_cast<int64_t>(rows.size() * sizeof(const uint8_t*)), pool));
  auto** keys = reinterpret_cast<const uint8_t**>(buffer->mutable_data());
  for (size_t i = 0; i < rows.size(); ++i) keys[i] = layout_.Key(rows[i]);
  ARROW_ASSIGN_OR_RAISE(const auto batch, layout_.key_codec().Decode({keys, rows.size()}, pool));
  return batch->columns();
}

arrow::Result<std::shared_ptr<arrow::Array>> ResultColumns::Result(size_t index, Rows rows, arrow::MemoryPool* pool) const {
  const ResultPlan& plan = plans_[index];
  const StatePlace& place = layout_.states()[static_cast<size_t>(plan.state)];
  if (plan.bytes_form == BytesForm::kText) return TextColumn(plan.type, place, rows, pool);
  if (plan.bytes_form != BytesForm::kNone) return PackedColumn(*codecs_[index], plan.bytes_form, place, rows, pool);
  ARROW_ASSIGN_OR_RAISE(FixedColumn column, FixedColumn::Make(plan.type, rows.size(), pool));
  ARROW_RETURN_NOT_OK(AtTextOffset(WriteResults(layout_, plan, rows, &column), plan.position.offset));
  return column.Finish();
}

}  // namespace icebound::exec::aggregate
