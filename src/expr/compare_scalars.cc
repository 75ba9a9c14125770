// SPDX-License-Identifier: Apache-2.0
#include "expr/compare_scalars.h"

#include <arrow/extension_type.h>
#include <arrow/util/checked_cast.h>

#include "expr/calendar.h"
#include "expr/compare_rows.h"
#include "expr/decimal_block.h"

namespace icebound::expr {

using arrow::Type;
using arrow::internal::checked_cast;

namespace {

template <typename T>
int ThreeWay(const T& left, const T& right) {
  return left < right ? -1 : (right < left ? 1 : 0);
}

/// An integer, date or decimal of any width, unscaled.
std::optional<Int128> ExactValue(const arrow::Scalar& scalar) {
  switch (scalar.type->id()) {
    case Type::INT8:
      return ScalarValue<int8_t>(scalar);
    case Type::UINT8:
      return ScalarValue<uint8_t>(scalar);
    case Type::INT16:
      return ScalarValue<int16_t>(scalar);
    case Type::UINT16:
      return ScalarValue<uint16_t>(scalar);
    case Type::INT32:
    case Type::DATE32:
    case Type::DECIMAL32:
      return ScalarValue<int32_t>(scalar);
    case Type::UINT32:
      return ScalarValue<uint32_t>(scalar);
    case Type::INT64:
    case Type::DECIMAL64:
      return ScalarValue<int64_t>(scalar);
    case Type::UINT64:
      return ScalarValue<uint64_t>(scalar);
    case Type::DECIMAL128:
      return ScalarValue<Int128>(scalar);
    default:
      return std::nullopt;
  }
}

std::optional<double> FloatingValue(const arrow::Scalar& scalar) {
  switch (scalar.type->id()) {
    case Type::FLOAT:
      return ScalarValue<float>(scalar);
    case Type::DOUBLE:
      return ScalarValue<double>(scalar);
    default:
      return std::nullopt;
  }
}

/// Nanoseconds of a timestamp or time.
std::optional<Int128> InstantValue(const arrow::Scalar& scalar) {
  constexpr int64_t kNanosPerUnit[] = {1'000'000'000, 1'000'000, 1'000, 1};
  const auto in_unit = [&](int64_t value, arrow::TimeUnit::type unit) {
    return static_cast<Int128>(value) * kNanosPerUnit[static_cast<int>(unit)];
  };
  switch (scalar.type->id()) {
    case Type::TIMESTAMP:
      return in_unit(ScalarValue<int64_t>(scalar), checked_cast<const arrow::TimestampType&>(*scalar.type).unit());
    case Type::TIME64:
      return in_unit(ScalarValue<int64_t>(scalar), checked_cast<const arrow::Time64Type&>(*scalar.type).unit());
    case Type::TIME32:
      return in_unit(ScalarValue<int32_t>(scalar), checked_cast<const arrow::Time32Type&>(*scalar.type).unit());
    default:
      return std::nullopt;
  }
}

int CompareExact(Int128 left, int left_scale, Int128 right, int right_scale) {
  const bool left_shifts = left_scale < right_scale;
  Int128 scaled = 0;
  const int shift = left_shifts ? right_scale - left_scale : left_scale - right_scale;
  if (!MultiplyByPowerOfTen(left_shifts ? left : right, shift, &scaled)) {
    const int sign = (left_shifts ? left : right) < 0 ? -1 : 1;  // Beyond everything the other side can be.
    return left_shifts ? sign : -sign;
  }
  return left_shifts ? ThreeWay(scaled, right) : ThreeWay(left, scaled);
}

}  // namespace

std::optional<std::string_view> BytesOfScalar(const arrow::Scalar& scalar) {
  if (scalar.type->id() == Type::EXTENSION) {
    const auto& value = checked_cast<const arrow::ExtensionScalar&>(scalar).value;
    return value == nullptr ? std::nullopt : BytesOfScalar(*value);
  }
  if (!scalar.is_valid || !(arrow::is_base_binary_like(scalar.type->id()) || arrow::is_binary_view_like(scalar.type->id()) ||
                            scalar.type->id() == Type::FIXED_SIZE_BINARY)) {
    return std::nullopt;
  }
  return checked_cast<const arrow::BaseBinaryScalar&>(scalar).view();
}

std::optional<int> CompareScalars(const arrow::Scalar& left, const arrow::Scalar& right) {
  if (!left.is_valid || !right.is_valid) return std::nullopt;
  if (left.type->id() == Type::BOOL && right.type->id() == Type::BOOL) {
    return ThreeWay<int>(checked_cast<const arrow::BooleanScalar&>(left).value,
                         checked_cast<const arrow::BooleanScalar&>(right).value);
  }
  const bool left_date = ClassOf(*left.type) == TypeClass::kDate, right_date = ClassOf(*right.type) == TypeClass::kDate;
  const auto left_exact = ExactValue(left), right_exact = ExactValue(right);
  if (left_exact && right_exact && left_date == right_date) {
    return CompareExact(*left_exact, DecimalScale(*left.type), *right_exact, DecimalScale(*right.type));
  }
  if (const auto a = FloatingValue(left), b = FloatingValue(right); a && b) {
    if (*a != *a || *b != *b) return static_cast<int>(*a != *a) - static_cast<int>(*b != *b);
    return ThreeWay(*a, *b);
  }
  if (const auto a = InstantValue(left), b = InstantValue(right); a && b) {
    const bool same_kind = (left.type->id() == Type::TIMESTAMP) == (right.type->id() == Type::TIMESTAMP);
    return same_kind ? std::optional<int>(ThreeWay(*a, *b)) : std::nullopt;
  }
  if (const auto a = BytesOfScalar(left), b = BytesOfScalar(right); a && b) return ThreeWay(*a, *b);
  if (left.type->id() == Type::INTERVAL_MONTH_DAY_NANO && right.type->id() == Type::INTERVAL_MONTH_DAY_NANO) {
    return ThreeWay(IntervalSpan(ScalarValue<Interval>(left)), IntervalSpan(ScalarValue<Interval>(right)));
  }
  return std::nullopt;
}

}  // namespace icebound::expr
