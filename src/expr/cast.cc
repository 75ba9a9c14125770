// SPDX-License-Identifier: Apache-2.0
#include "expr/cast.h"

#include <arrow/array/array_nested.h>
#include <arrow/array/concatenate.h>
#include <arrow/array/util.h>
#include <arrow/compute/api_scalar.h>
#include <arrow/compute/api_vector.h>
#include <arrow/extension/uuid.h>
#include <arrow/util/checked_cast.h>

#include "base/error.h"
#include "expr/calendar.h"
#include "expr/date_time_text.h"
#include "expr/decimal_block.h"
#include "expr/elementwise.h"

namespace icebound::expr {

using arrow::Datum;
using arrow::Type;
using arrow::internal::checked_cast;

namespace {

arrow::Result<Datum> ArrowCast(const Datum& value, const TypePtr& type, arrow::compute::ExecContext* exec) {
  auto result = arrow::compute::Cast(value, type, arrow::compute::CastOptions::Safe(), exec);
  if (result.ok() || result.status().IsOutOfMemory()) return result;
  return WithContext(result.status(), ErrorKind::kExecution,
                     fmt::format("casting {} to {}", SqlTypeName(*value.type()), SqlTypeName(*type)));
}

/// A kernel's input for one array.
struct UnaryInput {
  UnaryInput(const Datum& value, const TypePtr& type, const EvalContext& context, arrow::compute::ExecContext* exec)
      : argument(value), input{std::span<const Datum>(&argument, 1), type, value.length(), context, nullptr, exec} {}
  Datum argument;
  KernelInput input;
};

arrow::Result<Datum> DurationToInterval(const Datum& value, const EvalContext& context, arrow::compute::ExecContext* exec) {
  const auto unit = checked_cast<const arrow::DurationType&>(*value.type()).unit();
  constexpr int64_t kNanosPerUnit[] = {1'000'000'000, 1'000'000, 1'000, 1};
  const int64_t factor = kNanosPerUnit[static_cast<int>(unit)];
  const TypePtr type = arrow::month_day_nano_interval();
  const UnaryInput unary(value, type, context, exec);
  return MapUnary<Interval, int64_t>(
      unary.input,
      [factor](int64_t duration, Interval* out) -> uint8_t {
        *out = Interval{};
        return __builtin_mul_overflow(duration, factor, &out->nanoseconds) ? kOverflow : kNoFailure;
      },
      [](uint8_t, const KernelInput& input) { return OutOfRange(*input.type); });
}

arrow::Result<Datum> OtherIntervalToInterval(const Datum& value, const EvalContext& context, arrow::compute::ExecContext* exec) {
  const TypePtr type = arrow::month_day_nano_interval();
  const UnaryInput unary(value, type, context, exec);
  if (value.type()->id() == Type::INTERVAL_MONTHS) {
    return MapUnary<Interval, int32_t>(unary.input, [](int32_t months, Interval* out) -> uint8_t {
      *out = Interval{months, 0, 0};
      return kNoFailure;
    });
  }
  using DayMillis = arrow::DayTimeIntervalType::DayMilliseconds;
  return MapUnary<Interval, DayMillis>(unary.input, [](const DayMillis& value, Interval* out) -> uint8_t {
    *out = Interval{0, value.days, int64_t{value.milliseconds} * 1'000'000};
    return kNoFailure;
  });
}

}  // namespace

arrow::Result<Datum> ToLogical(const Datum& value, const EvalContext& context, arrow::compute::ExecContext* exec) {
  const TypePtr from = value.type();
  if (IsLogical(*from)) return value;
  if (value.is_scalar()) {
    ARROW_ASSIGN_OR_RAISE(auto array, arrow::MakeArrayFromScalar(*value.scalar(), 1, context.pool));
    ARROW_ASSIGN_OR_RAISE(Datum logical, ToLogical(array, context, exec));
    ARROW_ASSIGN_OR_RAISE(auto scalar, logical.make_array()->GetScalar(0));
    return scalar;
  }
  const TypePtr to = LogicalType(from);
  switch (from->id()) {
    case Type::DICTIONARY: {
      const arrow::ArrayData& data = *value.array();
      const Datum indices(arrow::ArrayData::Make(checked_cast<const arrow::DictionaryType&>(*from).index_type(), data.length,
                                                 {data.buffers[0], data.buffers[1]}, data.null_count, data.offset));
      ARROW_ASSIGN_OR_RAISE(const Datum values, ToLogical(Datum(data.dictionary), context, exec));
      return arrow::compute::Take(values, indices, arrow::compute::TakeOptions::NoBoundsCheck(), exec);
    }
    case Type::RUN_END_ENCODED: {
      ARROW_ASSIGN_OR_RAISE(const Datum decoded, arrow::compute::RunEndDecode(value, exec));
      return ToLogical(decoded, context, exec);
    }
    case Type::DURATION:
      return DurationToInterval(value, context, exec);
    case Type::INTERVAL_MONTHS:
    case Type::INTERVAL_DAY_TIME:
      return OtherIntervalToInterval(value, context, exec);
    default:
      return ArrowCast(value, to, exec);
  }
}

namespace {

arrow::Result<Datum> CastArray(const Datum& value, const TypePtr& type, const EvalContext& context,
                               arrow::compute::ExecContext* exec);

/// Offsets from 0 for children that were cut to start at the first one's.
arrow::Result<std::shared_ptr<arrow::Buffer>> RebasedOffsets(const int32_t* offsets, int64_t num_rows, arrow::MemoryPool* pool) {
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> buffer, arrow::AllocateBuffer((num_rows + 1) * sizeof(int32_t), pool));
  int32_t* rebased = reinterpret_cast<int32_t*>(buffer->mutable_data());
  for (int64_t i = 0; i <= num_rows; ++i) rebased[i] = offsets[i] - offsets[0];
  return buffer;
}

/// The children one by one. They are cut to the rows of a slice first: what lies outside must not fail the cast.
arrow::Result<Datum> CastNested(const Datum& value, const TypePtr& type, const EvalContext& context,
                                arrow::compute::ExecContext* exec) {
  const arrow::ArrayData& data = *value.array();
  ARROW_ASSIGN_OR_RAISE(auto validity, CombinedValidity({&value, 1}, data.length, context.pool));
  std::vector<std::shared_ptr<arrow::Buffer>> buffers = {std::move(validity)};
  int64_t begin = data.offset, length = data.length;
  if (type->id() != Type::STRUCT) {
    static constexpr int32_t kEmpty[1] = {0};
    const int32_t* offsets = data.length == 0 ? kEmpty : data.GetValues<int32_t>(1);
    begin = offsets[0];
    length = offsets[data.length] - offsets[0];
    ARROW_ASSIGN_OR_RAISE(auto rebased, RebasedOffsets(offsets, data.length, context.pool));
    buffers.push_back(std::move(rebased));
  }
  auto result = arrow::ArrayData::Make(type, data.length, std::move(buffers));
  for (size_t i = 0; i < data.child_data.size(); ++i) {  // The one child of a map is a struct of key and item.
    const auto child = data.child_data[i]->Slice(begin, length);
    ARROW_ASSIGN_OR_RAISE(const Datum converted,
                          CastArray(Datum(child), type->field(static_cast<int>(i))->type(), context, exec));
    result->child_data.push_back(converted.array());
  }
  return result;
}

arrow::Status CannotCast(const arrow::DataType& from, const arrow::DataType& to) {
  return MakeError(ErrorKind::kUnsupported, "cannot cast type {} to {}", SqlFamilyName(from), SqlFamilyName(to));
}

/// uuid to bytea and back share their sixteen bytes.
arrow::Result<Datum> CastUuid(const Datum& value, const TypePtr& type, const EvalContext& context,
                              arrow::compute::ExecContext* exec) {
  const auto storage_type = arrow::fixed_size_binary(16);
  if (ClassOf(*type) == TypeClass::kBinary) {
    auto storage = value.array()->Copy();
    storage->type = storage_type;
    return ArrowCast(Datum(storage), type, exec);
  }
  const BytesReader reader(value);
  const ValidityReader valid(value);
  for (int64_t row = 0; row < value.length(); ++row) {
    if (valid[row] && reader[row].size() != 16) {
      return MakeError(ErrorKind::kExecution, "a uuid has 16 bytes, not {}", reader[row].size());
    }
  }
  ARROW_ASSIGN_OR_RAISE(const Datum fixed, ArrowCast(value, storage_type, exec));
  auto result = fixed.array()->Copy();
  result->type = type;
  return result;
}

arrow::Result<Datum> CastLogical(const Datum& value, const TypePtr& type, const EvalContext& context,
                                 arrow::compute::ExecContext* exec) {
  const TypePtr from_type = value.type();
  const TypeClass from = ClassOf(*from_type), to = ClassOf(*type);
  if (!IsExplicitCast(*from_type, *type)) return CannotCast(*from_type, *type);
  const UnaryInput unary(value, type, context, exec);
  if (from == TypeClass::kUnknown) {
    ARROW_ASSIGN_OR_RAISE(auto nulls, arrow::MakeArrayOfNull(type, value.length(), context.pool));
    return nulls;
  }
  if (from == TypeClass::kText && to != TypeClass::kText) return CastFromText(unary.input);
  switch (to) {
    case TypeClass::kText:
      return CastToText(unary.input);
    case TypeClass::kDecimal:
      return CastToDecimal(unary.input);
    case TypeClass::kBoolean:
    case TypeClass::kInt16:
    case TypeClass::kInt32:
    case TypeClass::kInt64:
    case TypeClass::kFloat:
    case TypeClass::kDouble:
      return CastToNumber(unary.input);
    case TypeClass::kDate:
    case TypeClass::kTime:
    case TypeClass::kTimestamp:
    case TypeClass::kTimestampTz:
    case TypeClass::kInterval:
      return CastToTemporal(unary.input);
    case TypeClass::kUuid:
      return CastUuid(value, type, context, exec);
    case TypeClass::kBinary:
      return from == TypeClass::kUuid ? CastUuid(value, type, context, exec) : ArrowCast(value, type, exec);
    case TypeClass::kList:
    case TypeClass::kStruct:
    case TypeClass::kMap:
      return from_type->id() == type->id() && type->id() != Type::FIXED_SIZE_LIST && type->id() != Type::LIST_VIEW
                 ? CastNested(value, type, context, exec)
                 : ArrowCast(value, type, exec);
    default:
      return CannotCast(*from_type, *type);
  }
}

arrow::Result<Datum> CastArray(const Datum& value, const TypePtr& type, const EvalContext& context,
                               arrow::compute::ExecContext* exec) {
  if (value.type()->Equals(*type)) return value;
  ARROW_ASSIGN_OR_RAISE(const Datum source, ToLogical(value, context, exec));
  const TypePtr logical = LogicalType(type);
  Datum result = source;
  if (!source.type()->Equals(*logical)) {
    ARROW_ASSIGN_OR_RAISE(result, CastLogical(source, logical, context, exec));
  }
  if (logical->Equals(*type)) return result;
  return ArrowCast(result, type, exec);
}

}  // namespace

arrow::Result<Datum> CastDatum(const Datum& value, const TypePtr& type, int64_t num_rows, const EvalContext& context,
                               arrow::compute::ExecContext* exec) {
  if (value.type()->Equals(*type)) return value;
  if (!value.is_scalar()) return CastArray(value, type, context, exec);
  if (!value.scalar()->is_valid) return arrow::MakeNullScalar(type);
  ARROW_ASSIGN_OR_RAISE(auto array, arrow::MakeArrayFromScalar(*value.scalar(), 1, context.pool));
  ARROW_ASSIGN_OR_RAISE(const Datum result, CastArray(array, type, context, exec));
  ARROW_ASSIGN_OR_RAISE(auto scalar, result.make_array()->GetScalar(0));
  return scalar;
}

std::shared_ptr<arrow::Scalar> WidenScalar(const arrow::Scalar& scalar, const TypePtr& type) {
  if (!scalar.is_valid) return arrow::MakeNullScalar(type);
  const TypeClass from = ClassOf(*scalar.type), to = ClassOf(*type);
  if (!IsLogical(*scalar.type) || !IsLogical(*type)) return nullptr;
  if (from == TypeClass::kDate && (to == TypeClass::kTimestamp || to == TypeClass::kTimestampTz)) {
    const bool nano = checked_cast<const arrow::TimestampType&>(*type).unit() == arrow::TimeUnit::NANO;
    int64_t value = 0;
    if (__builtin_mul_overflow(int64_t{ScalarValue<int32_t>(scalar)}, nano ? kNanosPerDay : kMicrosPerDay, &value))
      return nullptr;
    return std::make_shared<arrow::TimestampScalar>(value, type);
  }
  if (!IsInteger(from) && from != TypeClass::kDecimal) return nullptr;
  const Int128 value = DecimalScalarValue(scalar);
  const int scale = DecimalScale(*scalar.type);
  if (to == TypeClass::kDecimal) {
    const auto& decimal = checked_cast<const arrow::DecimalType&>(*type);
    Int128 scaled = 0;
    if (decimal.scale() < scale || !MultiplyByPowerOfTen(value, decimal.scale() - scale, &scaled)) return nullptr;
    const Int128 limit = PowerOfTen(decimal.precision());
    return scaled < limit && scaled > -limit ? MakeDecimalScalar(scaled, type) : nullptr;
  }
  if (from == TypeClass::kDecimal && to != TypeClass::kDouble) return nullptr;
  switch (to) {
    case TypeClass::kInt32:
      return value == static_cast<int32_t>(value) ? std::make_shared<arrow::Int32Scalar>(static_cast<int32_t>(value)) : nullptr;
    case TypeClass::kInt64:
      return std::make_shared<arrow::Int64Scalar>(static_cast<int64_t>(value));
    case TypeClass::kDouble: {
      std::string text;
      AppendDecimal(value, scale, &text);
      const auto parsed = ParseDouble(text);
      return parsed.ok() ? std::make_shared<arrow::DoubleScalar>(*parsed) : nullptr;
    }
    default:
      return nullptr;
  }
}

}  // namespace icebound::expr
