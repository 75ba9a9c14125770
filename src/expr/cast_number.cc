// SPDX-License-Identifier: Apache-2.0
//
// Casts between numbers. Source and target may be smallint, integer, bigint, numeric, real, double precision or boolean.
#include <arrow/compute/api_scalar.h>
#include <arrow/util/checked_cast.h>

#include <charconv>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "expr/cast.h"
#include "expr/decimal_block.h"
#include "expr/number_text.h"

namespace icebound::expr {

using arrow::Type;
using arrow::internal::checked_cast;

arrow::Status OutOfRange(const arrow::DataType& type) {
  switch (ClassOf(type)) {
    case TypeClass::kDecimal:
      return MakeError(ErrorKind::kExecution, "numeric field overflow");
    case TypeClass::kFloat:
    case TypeClass::kDouble:
      return MakeError(ErrorKind::kExecution, "value out of range: overflow");
    case TypeClass::kTimestamp:
    case TypeClass::kTimestampTz:
      return MakeError(ErrorKind::kExecution, "timestamp out of range");
    default:
      return MakeError(ErrorKind::kExecution, "{} out of range", SqlTypeName(type));
  }
}

namespace {

arrow::Status CastFailure(uint8_t failure, const KernelInput& input) {
  if (failure & kUnderflow) return MakeError(ErrorKind::kExecution, "value out of range: underflow");
  return OutOfRange(*input.type);
}

template <typename To, typename From>
uint8_t Convert(From value, To* out) {
  if constexpr (std::is_integral_v<To> && std::is_integral_v<From>) {
    *out = static_cast<To>(value);
    return static_cast<From>(*out) == value ? kNoFailure : kOverflow;
  } else if constexpr (std::is_integral_v<To>) {
    const From rounded = std::nearbyint(value);  // half to even: the default rounding mode
    // The bounds are exact in floating point: -2^n and 2^n.
    const From bound = -static_cast<From>(std::numeric_limits<To>::min());
    const bool fits = rounded >= -bound && rounded < bound;
    *out = fits ? static_cast<To>(rounded) : To{0};
    return fits ? kNoFailure : kOverflow;
  } else if constexpr (std::is_same_v<To, float> && std::is_same_v<From, double>) {
    *out = static_cast<float>(value);
    return (std::isinf(*out) && !std::isinf(value) ? kOverflow : 0) | (*out == 0 && value != 0 ? kUnderflow : 0);
  } else {
    *out = static_cast<To>(value);
    return kNoFailure;
  }
}

template <typename To, typename From>
arrow::Result<arrow::Datum> MapConvert(const KernelInput& input) {
  return MapUnary<To, From>(
      input, [](From value, To* out) { return Convert<To, From>(value, out); }, CastFailure);
}

/// Correctly rounded: exact quotients where both sides are exact doubles, otherwise through the decimal digits.
double DecimalToDouble(Int128 value, int scale) {
  constexpr Int128 kExact = static_cast<Int128>(1) << 53;
  constexpr int kExactPowers = 22;
  if (value >= -kExact && value <= kExact && scale <= kExactPowers) {
    return static_cast<double>(value) / static_cast<double>(PowerOfTen(scale));
  }
  std::string text;
  AppendDecimal(value, scale, &text);
  double result = 0;
  std::from_chars(text.data(), text.data() + text.size(), result);
  return result;
}

template <typename To>
uint8_t ConvertDecimal(Int128 value, int scale, To* out) {
  if constexpr (std::is_floating_point_v<To>) {
    *out = static_cast<To>(DecimalToDouble(value, scale));
    return kNoFailure;
  } else {
    const Int128 whole = DivideByPowerOfTen(value, scale);
    *out = static_cast<To>(whole);
    return static_cast<Int128>(*out) == whole ? kNoFailure : kOverflow;
  }
}

template <typename To>
arrow::Result<arrow::Datum> CastTo(const KernelInput& input) {
  const arrow::DataType& from = *input.arguments[0].type();
  switch (from.id()) {
    case Type::INT16:
      return MapConvert<To, int16_t>(input);
    case Type::INT32:
      return MapConvert<To, int32_t>(input);
    case Type::INT64:
      return MapConvert<To, int64_t>(input);
    case Type::FLOAT:
      return MapConvert<To, float>(input);
    case Type::DOUBLE:
      return MapConvert<To, double>(input);
    default: {
      const int scale = DecimalScale(from);
      return MapDecimal<To>(
          input, [scale](Int128 value, To* out) { return ConvertDecimal(value, scale, out); }, CastFailure);
    }
  }
}

arrow::Result<arrow::Datum> ArrowCast(const KernelInput& input) {
  return arrow::compute::Cast(input.arguments[0], input.type, arrow::compute::CastOptions::Safe(), input.exec);
}

}  // namespace

arrow::Result<arrow::Datum> CastToNumber(const KernelInput& input) {
  if (input.arguments[0].type()->id() == Type::BOOL || input.type->id() == Type::BOOL) return ArrowCast(input);
  switch (input.type->id()) {
    case Type::INT16:
      return CastTo<int16_t>(input);
    case Type::INT32:
      return CastTo<int32_t>(input);
    case Type::INT64:
      return CastTo<int64_t>(input);
    case Type::FLOAT:
      return CastTo<float>(input);
    default:
      return CastTo<double>(input);
  }
}

namespace {

/// Rescales with a check against the target's precision.
template <typename Out>
uint8_t Rescale(Int128 value, int from_scale, int to_scale, Int128 limit, Out* out) {
  Int128 result = 0;
  bool fits = true;
  if (to_scale >= from_scale) {
    fits = MultiplyByPowerOfTen(value, to_scale - from_scale, &result);
  } else {
    result = DivideByPowerOfTen(value, from_scale - to_scale);
  }
  fits = fits && result < limit && result > -limit;
  StoreDecimal(fits ? result : 0, out);
  return fits ? kNoFailure : kOverflow;
}

/// PostgreSQL prints the significant digits a float can promise (15, or 6 for real) and reads those.
template <typename Float>
arrow::Result<Int128> FloatToDecimal(Float value, const arrow::DecimalType& type) {
  if (!std::isfinite(value)) {
    return MakeError(ErrorKind::kExecution, "cannot convert {} to numeric", std::isnan(value) ? "NaN" : "infinity");
  }
  char buffer[64];
  const auto end =
      std::to_chars(buffer, buffer + sizeof(buffer), value, std::chars_format::general, std::numeric_limits<Float>::digits10).ptr;
  return ParseDecimal(std::string_view(buffer, end - buffer), type.precision(), type.scale());
}

template <typename Float, typename Out>
arrow::Result<arrow::Datum> CastFloatToDecimal(const KernelInput& input) {
  const auto& type = checked_cast<const arrow::DecimalType&>(*input.type);
  ARROW_ASSIGN_OR_RAISE(auto validity, CombinedValidity(input.arguments, input.num_rows, input.context.pool));
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> values,
                        arrow::AllocateBuffer(input.num_rows * sizeof(Out), input.context.pool));
  const ValueReader<Float> reader(input.arguments[0]);
  Out* out = reinterpret_cast<Out*>(values->mutable_data());
  for (int64_t row = 0; row < input.num_rows; ++row) {
    Int128 value = 0;
    if (validity == nullptr || arrow::bit_util::GetBit(validity->data(), row)) {
      ARROW_ASSIGN_OR_RAISE(value, FloatToDecimal(reader[row], type));
    }
    StoreDecimal(value, &out[row]);
  }
  return MakeArrayDatum(input.type, input.num_rows, std::move(validity), std::move(values));
}

template <typename Out>
arrow::Result<arrow::Datum> CastToDecimalAs(const KernelInput& input) {
  const arrow::DataType& from = *input.arguments[0].type();
  if (from.id() == Type::FLOAT) return CastFloatToDecimal<float, Out>(input);
  if (from.id() == Type::DOUBLE) return CastFloatToDecimal<double, Out>(input);
  const auto& to = checked_cast<const arrow::DecimalType&>(*input.type);
  const int from_scale = DecimalScale(from), to_scale = to.scale();
  const Int128 limit = PowerOfTen(to.precision());
  return MapDecimal<Out>(
      input, [=](Int128 value, Out* out) { return Rescale(value, from_scale, to_scale, limit, out); }, CastFailure);
}

}  // namespace

arrow::Result<arrow::Datum> CastToDecimal(const KernelInput& input) {
  return input.type->id() == Type::DECIMAL64 ? CastToDecimalAs<int64_t>(input) : CastToDecimalAs<Int128>(input);
}

}  // namespace icebound::expr
