// SPDX-License-Identifier: Apache-2.0
//
// = <> < <= > >= and IS [NOT] DISTINCT FROM. Text compares by bytes (the "C" collation), floating point with NaN equal to itself
// and above every number, decimals of different scales by value, timestamps with and without zone as instants of UTC, intervals
// with months of 30 days, lists and structs element by element.
#include <arrow/util/bitmap_ops.h>
#include <arrow/util/checked_cast.h>

#include <cmath>

#include "base/error.h"
#include "expr/calendar.h"
#include "expr/compare_rows.h"
#include "expr/date_time_text.h"
#include "expr/decimal_block.h"
#include "expr/elementwise.h"
#include "expr/number_text.h"
#include "expr/resolve.h"

namespace icebound::expr {

using arrow::Datum;
using arrow::Type;
using arrow::internal::checked_cast;

namespace {

enum class Comparison { kEqual, kNotEqual, kLess, kLessEqual };

template <Comparison kComparison, typename T>
bool Compare(const T& left, const T& right) {
  if constexpr (std::is_floating_point_v<T>) {
    // NaN is the greatest value and equals itself.
    if constexpr (kComparison == Comparison::kEqual) return (left == right) | ((left != left) & (right != right));
    if constexpr (kComparison == Comparison::kNotEqual) return !((left == right) | ((left != left) & (right != right)));
    if constexpr (kComparison == Comparison::kLess) return (left < right) | ((right != right) & (left == left));
    if constexpr (kComparison == Comparison::kLessEqual) return (left <= right) | (right != right);
  } else {
    if constexpr (kComparison == Comparison::kEqual) return left == right;
    if constexpr (kComparison == Comparison::kNotEqual) return left != right;
    if constexpr (kComparison == Comparison::kLess) return left < right;
    if constexpr (kComparison == Comparison::kLessEqual) return left <= right;
  }
}

using Bits = arrow::Result<std::shared_ptr<arrow::Buffer>>;

template <Comparison kComparison, typename T>
Bits ComparePrimitive(const Datum& left, const Datum& right, const KernelInput& input) {
  return MapBits<T>(left, right, input.num_rows, input.context.pool,
                    [](const T& a, const T& b) { return Compare<kComparison, T>(a, b); });
}

template <Comparison kComparison>
Bits CompareBytes(const Datum& left_datum, const Datum& right_datum, const KernelInput& input) {
  const BytesReader left(left_datum), right(right_datum);
  return MapRowsToBits(input.num_rows, input.context.pool,
                       [&](int64_t row) { return Compare<kComparison, std::string_view>(left[row], right[row]); });
}

template <Comparison kComparison>
Bits CompareBooleans(const Datum& left_datum, const Datum& right_datum, const KernelInput& input) {
  const auto reader = [](const Datum& datum) {
    const bool scalar = datum.is_scalar() && checked_cast<const arrow::BooleanScalar&>(*datum.scalar()).value;
    const uint8_t* bits = datum.is_scalar() ? nullptr : datum.array()->buffers[1]->data();
    const int64_t offset = datum.is_scalar() ? 0 : datum.array()->offset;
    return [=](int64_t row) -> int { return bits == nullptr ? scalar : arrow::bit_util::GetBit(bits, offset + row); };
  };
  const auto left = reader(left_datum), right = reader(right_datum);
  return MapRowsToBits(input.num_rows, input.context.pool,
                       [&](int64_t row) { return Compare<kComparison, int>(left(row), right(row)); });
}

/// Values whose unit or scale differs: both are brought to the finer one. `Wide` holds the products, or they saturate.
template <Comparison kComparison, typename Wide>
Bits CompareScaled(const Datum& left_datum, const Datum& right_datum, const KernelInput& input, int left_shift, int right_shift) {
  ARROW_ASSIGN_OR_RAISE(auto bits, AllocateBits(input.num_rows, input.context.pool));
  const DecimalReader left_reader(left_datum), right_reader(right_datum);
  // Only the side with the smaller scale is multiplied; a product beyond 128 bits is beyond everything on the other side.
  constexpr Int128 kBeyond = static_cast<Int128>(~static_cast<UInt128>(0) >> 1);
  const auto align = [](Wide* values, int64_t count, int shift) {
    if (shift == 0) return;
    if constexpr (sizeof(Wide) == 8) {
      const uint64_t factor = static_cast<uint64_t>(PowerOfTen(shift));
      for (int64_t i = 0; i < count; ++i) values[i] = static_cast<Wide>(static_cast<uint64_t>(values[i]) * factor);
    } else {
      for (int64_t i = 0; i < count; ++i) {
        Int128 scaled;
        if (!MultiplyByPowerOfTen(values[i], shift, &scaled)) scaled = values[i] < 0 ? -kBeyond : kBeyond;
        values[i] = scaled;
      }
    }
  };
  Wide left[kBlockRows], right[kBlockRows];
  if (right_datum.is_scalar()) {
    right_reader.Read(0, kBlockRows, right);
    align(right, kBlockRows, right_shift);
  }
  if (left_datum.is_scalar()) {
    left_reader.Read(0, kBlockRows, left);
    align(left, kBlockRows, left_shift);
  }
  uint8_t bytes[kBlockRows];
  for (int64_t begin = 0; begin < input.num_rows; begin += kBlockRows) {
    const int64_t count = std::min(kBlockRows, input.num_rows - begin);
    if (left_datum.is_array()) {
      left_reader.Read(begin, count, left);
      align(left, count, left_shift);
    }
    if (right_datum.is_array()) {
      right_reader.Read(begin, count, right);
      align(right, count, right_shift);
    }
    for (int64_t i = 0; i < count; ++i) bytes[i] = Compare<kComparison, Wide>(left[i], right[i]);
    PackBits(bytes, count, bits->mutable_data(), begin);
  }
  return bits;
}

template <Comparison kComparison>
Bits CompareDecimals(const Datum& left, const Datum& right, const KernelInput& input) {
  const int left_scale = DecimalScale(*left.type()), right_scale = DecimalScale(*right.type());
  const int scale = std::max(left_scale, right_scale);
  const int left_digits = DecimalDigits(*left.type()) + scale - left_scale,
            right_digits = DecimalDigits(*right.type()) + scale - right_scale;
  if (std::max(left_digits, right_digits) <= 18) {
    return CompareScaled<kComparison, int64_t>(left, right, input, scale - left_scale, scale - right_scale);
  }
  return CompareScaled<kComparison, Int128>(left, right, input, scale - left_scale, scale - right_scale);
}

bool IsNanoseconds(const arrow::DataType& type) {
  return type.id() == Type::TIMESTAMP ? checked_cast<const arrow::TimestampType&>(type).unit() == arrow::TimeUnit::NANO
                                      : checked_cast<const arrow::Time64Type&>(type).unit() == arrow::TimeUnit::NANO;
}

template <Comparison kComparison>
Bits CompareTimes(const Datum& left, const Datum& right, const KernelInput& input) {
  const bool left_nano = IsNanoseconds(*left.type()), right_nano = IsNanoseconds(*right.type());
  if (left_nano == right_nano) return ComparePrimitive<kComparison, int64_t>(left, right, input);
  const ValueReader<int64_t> left_values(left), right_values(right);
  const Int128 left_factor = left_nano ? 1 : kNanosPerMicro, right_factor = right_nano ? 1 : kNanosPerMicro;
  return MapRowsToBits(input.num_rows, input.context.pool, [&](int64_t row) {
    return Compare<kComparison, Int128>(left_values[row] * left_factor, right_values[row] * right_factor);
  });
}

template <Comparison kComparison>
Bits CompareIntervals(const Datum& left_datum, const Datum& right_datum, const KernelInput& input) {
  const ValueReader<Interval> left(left_datum), right(right_datum);
  return MapRowsToBits(input.num_rows, input.context.pool, [&](int64_t row) {
    return Compare<kComparison, Int128>(IntervalSpan(left[row]), IntervalSpan(right[row]));
  });
}

template <Comparison kComparison>
Bits CompareNested(const Datum& left, const Datum& right, const KernelInput& input) {
  ARROW_ASSIGN_OR_RAISE(auto left_array, ToArray(left, input.num_rows, input.context.pool));
  ARROW_ASSIGN_OR_RAISE(auto right_array, ToArray(right, input.num_rows, input.context.pool));
  ARROW_ASSIGN_OR_RAISE(const auto comparer, RowComparer::Make(*left_array, *right_array));
  return MapRowsToBits(input.num_rows, input.context.pool,
                       [&](int64_t row) { return Compare<kComparison, int>(comparer->Compare(row, row), 0); });
}

/// The comparison of values alone; null rows hold anything.
template <Comparison kComparison>
Bits CompareValues(const Datum& left, const Datum& right, const KernelInput& input) {
  const arrow::DataType& type = *left.type();
  switch (ClassOf(type)) {
    case TypeClass::kBoolean:
      return CompareBooleans<kComparison>(left, right, input);
    case TypeClass::kInt16:
    case TypeClass::kInt32:
    case TypeClass::kInt64:
      if (type.id() != right.type()->id()) return CompareDecimals<kComparison>(left, right, input);
      if (type.id() == Type::INT16) return ComparePrimitive<kComparison, int16_t>(left, right, input);
      if (type.id() == Type::INT32) return ComparePrimitive<kComparison, int32_t>(left, right, input);
      return ComparePrimitive<kComparison, int64_t>(left, right, input);
    case TypeClass::kDecimal:
      return CompareDecimals<kComparison>(left, right, input);
    case TypeClass::kFloat:
      return ComparePrimitive<kComparison, float>(left, right, input);
    case TypeClass::kDouble:
      return ComparePrimitive<kComparison, double>(left, right, input);
    case TypeClass::kText:
    case TypeClass::kBinary:
    case TypeClass::kUuid:
      return CompareBytes<kComparison>(left, right, input);
    case TypeClass::kDate:
      return ComparePrimitive<kComparison, int32_t>(left, right, input);
    case TypeClass::kTime:
    case TypeClass::kTimestamp:
    case TypeClass::kTimestampTz:
      return CompareTimes<kComparison>(left, right, input);
    case TypeClass::kInterval:
      return CompareIntervals<kComparison>(left, right, input);
    default:
      return CompareNested<kComparison>(left, right, input);
  }
}

template <Comparison kComparison, bool kSwapped>
arrow::Result<Datum> CompareKernel(const KernelInput& input) {
  ARROW_ASSIGN_OR_RAISE(auto validity, CombinedValidity(input.arguments, input.num_rows, input.context.pool));
  ARROW_ASSIGN_OR_RAISE(
      auto bits, (CompareValues<kComparison>(input.arguments[kSwapped ? 1 : 0], input.arguments[kSwapped ? 0 : 1], input)));
  return MakeArrayDatum(arrow::boolean(), input.num_rows, std::move(validity), std::move(bits));
}

/// Distinct: exactly one side is null, or both have values that differ.
template <bool kDistinct>
arrow::Result<Datum> DistinctKernel(const KernelInput& input) {
  const Datum &left = input.arguments[0], &right = input.arguments[1];
  const ValidityReader left_valid(left), right_valid(right);
  std::shared_ptr<arrow::Buffer> different;
  const bool null_scalar = (left.is_scalar() && !left.scalar()->is_valid) || (right.is_scalar() && !right.scalar()->is_valid);
  if (!null_scalar && left.type()->id() != Type::NA && right.type()->id() != Type::NA) {
    ARROW_ASSIGN_OR_RAISE(different, CompareValues<Comparison::kNotEqual>(left, right, input));
  }
  const uint8_t* bits = different == nullptr ? nullptr : different->data();
  ARROW_ASSIGN_OR_RAISE(auto result, MapRowsToBits(input.num_rows, input.context.pool, [&](int64_t row) {
                          const bool a = left_valid[row], b = right_valid[row];
                          const bool distinct = a != b || (a && bits != nullptr && arrow::bit_util::GetBit(bits, row));
                          return distinct == kDistinct;
                        }));
  return MakeArrayDatum(arrow::boolean(), input.num_rows, nullptr, std::move(result));
}

/// The type both sides take; integers and decimals compare as they are.
arrow::Status CoerceComparison(std::string_view name, std::vector<ExprPtr>* arguments) {
  for (int side = 0; side < 2; ++side) {
    ExprPtr& literal = (*arguments)[side];
    const Expr& other = *(*arguments)[1 - side];
    if (!IsUntypedLiteral(*literal) || IsUntypedLiteral(other)) continue;
    TypePtr type = LogicalType(other.type());
    const auto& value = checked_cast<const LiteralExpr&>(*literal).value();
    if (ClassOf(*type) == TypeClass::kDecimal && value->is_valid) {
      ARROW_ASSIGN_OR_RAISE(const auto shape, ShapeOfDecimal(checked_cast<const arrow::StringScalar&>(*value).view()));
      type = arrow::decimal128(shape.precision, shape.scale);
    } else if (type->id() == Type::FIXED_SIZE_BINARY) {
      type = arrow::binary();
    }
    ARROW_ASSIGN_OR_RAISE(literal, CoerceTo(std::move(literal), type));
  }
  const TypePtr left = LogicalType((*arguments)[0]->type()), right = LogicalType((*arguments)[1]->type());
  const TypeClass a = ClassOf(*left), b = ClassOf(*right);
  const auto is_exact = [](TypeClass c) { return IsInteger(c) || c == TypeClass::kDecimal; };
  const bool as_they_are = (a == b && (a == TypeClass::kDecimal || a == TypeClass::kBinary || a == TypeClass::kTime)) ||
                           (is_exact(a) && is_exact(b)) || (left->id() == Type::TIMESTAMP && right->id() == Type::TIMESTAMP);
  if (as_they_are) return arrow::Status::OK();
  const auto common = CommonType({left, right});
  if (!common.ok() || ClassOf(**common) == TypeClass::kMap || ClassOf(**common) == TypeClass::kOther)
    return NoSuchCall(name, *arguments);
  for (ExprPtr& argument : *arguments) {
    ARROW_ASSIGN_OR_RAISE(argument, CoerceTo(std::move(argument), *common));
  }
  return arrow::Status::OK();
}

arrow::Result<Resolution> ResolveComparison(const FunctionFamily& family, std::vector<ExprPtr> arguments) {
  if (arguments.size() != 2) return NoSuchCall(family.name, arguments);
  ARROW_RETURN_NOT_OK(CoerceComparison(family.name, &arguments));
  return Resolution{family.overloads.front(), std::move(arguments), arrow::boolean()};
}

void AddComparison(FunctionRegistry* registry, std::string_view name, Kernel kernel, bool strict) {
  registry->Add({.name = name, .kernel = kernel, .strict = strict, .can_fail = false});
  registry->SetResolver(name, ResolveComparison);
}

}  // namespace

void RegisterComparison(FunctionRegistry* registry) {
  AddComparison(registry, "=", CompareKernel<Comparison::kEqual, false>, true);
  AddComparison(registry, "<>", CompareKernel<Comparison::kNotEqual, false>, true);
  AddComparison(registry, "<", CompareKernel<Comparison::kLess, false>, true);
  AddComparison(registry, "<=", CompareKernel<Comparison::kLessEqual, false>, true);
  AddComparison(registry, ">", CompareKernel<Comparison::kLess, true>, true);
  AddComparison(registry, ">=", CompareKernel<Comparison::kLessEqual, true>, true);
  AddComparison(registry, "is_distinct_from", DistinctKernel<true>, false);
  AddComparison(registry, "is_not_distinct_from", DistinctKernel<false>, false);
}

}  // namespace icebound::expr
