// SPDX-License-Identifier: Apache-2.0
//
// Functions of numbers. Rounding: numeric half away from zero, double precision half to even. Roots, powers, logarithms and
// trigonometric functions are computed in double precision whatever the argument is.
#include <arrow/util/checked_cast.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <random>

#include "base/error.h"
#include "expr/cast.h"
#include "expr/decimal_block.h"
#include "expr/elementwise.h"
#include "expr/resolve.h"
#include "expr/text_kernels.h"

namespace icebound::expr {

using arrow::Datum;
using arrow::internal::checked_cast;

namespace {

using enum TypeClass;

arrow::Status NumberFailure(uint8_t failure, const KernelInput& input) {
  if (failure & kDomain) return MakeError(ErrorKind::kExecution, "input is out of range");
  if (failure & kDivisionByZero) return MakeError(ErrorKind::kExecution, "division by zero");
  if (failure & kUnderflow) return MakeError(ErrorKind::kExecution, "value out of range: underflow");
  return OutOfRange(*input.type);
}

// --- abs, sign ---------------------------------------------------------------------------------------------------------------

template <typename T>
arrow::Result<Datum> Abs(const KernelInput& input) {
  return MapUnary<T, T>(
      input,
      [](T value, T* out) -> uint8_t {
        if constexpr (std::is_floating_point_v<T>) {
          *out = std::fabs(value);
          return kNoFailure;
        } else {
          *out = value;
          return value < 0 && __builtin_sub_overflow(T{0}, value, out) ? kOverflow : kNoFailure;
        }
      },
      NumberFailure);
}

template <typename Out>
arrow::Result<Datum> AbsDecimalAs(const KernelInput& input) {
  return MapDecimal<Out>(
      input,
      [](Int128 value, Out* out) -> uint8_t {
        StoreDecimal(value < 0 ? -value : value, out);
        return kNoFailure;
      },
      NumberFailure);
}

arrow::Result<Datum> AbsDecimal(const KernelInput& input) {
  return input.type->id() == arrow::Type::DECIMAL64 ? AbsDecimalAs<int64_t>(input) : AbsDecimalAs<Int128>(input);
}

arrow::Result<Datum> SignDouble(const KernelInput& input) {
  return MapUnary<double, double>(input, [](double value, double* out) -> uint8_t {
    *out = value > 0 ? 1 : (value < 0 ? -1 : (std::isnan(value) ? value : 0));
    return kNoFailure;
  });
}

arrow::Result<TypePtr> OneDigitResult(const std::vector<ExprPtr>&) { return arrow::decimal128(1, 0); }

arrow::Result<Datum> SignDecimal(const KernelInput& input) {
  return MapDecimal<Int128>(
      input,
      [](Int128 value, Int128* out) -> uint8_t {
        StoreDecimal(value > 0 ? 1 : (value < 0 ? -1 : 0), out);
        return kNoFailure;
      },
      NumberFailure);
}

// --- rounding ----------------------------------------------------------------------------------------------------------------

enum class Rounding { kHalfAway, kTruncate, kCeiling, kFloor };

/// value / 10^digits in one of four ways.
Int128 Reduce(Int128 value, int digits, Rounding rounding) {
  if (digits <= 0) return value;
  if (rounding == Rounding::kHalfAway) return DivideByPowerOfTen(value, digits);
  const Int128 divisor = digits > kMaxDecimalDigits ? 0 : PowerOfTen(digits);
  const Int128 quotient = divisor == 0 ? 0 : value / divisor;
  const Int128 rest = divisor == 0 ? value : value % divisor;
  if (rounding == Rounding::kCeiling && rest > 0) return quotient + 1;
  if (rounding == Rounding::kFloor && rest < 0) return quotient - 1;
  return quotient;
}

/// Rounds to `places` after the point (before it when negative) and brings the result to the scale of its type.
template <typename Out>
uint8_t RoundDecimal(Int128 value, int scale, int places, Rounding rounding, const arrow::DecimalType& type, Out* out) {
  const int kept = std::min(places, scale);
  Int128 result = 0;
  const bool fits = MultiplyByPowerOfTen(Reduce(value, scale - kept, rounding), type.scale() - kept, &result) &&
                    result < PowerOfTen(type.precision()) && -result < PowerOfTen(type.precision());
  StoreDecimal(fits ? result : 0, out);
  return fits ? kNoFailure : kOverflow;
}

template <Rounding kRounding, typename Out>
arrow::Result<Datum> RoundDecimalsAs(const KernelInput& input) {
  const auto& type = checked_cast<const arrow::DecimalType&>(*input.type);
  const int scale = DecimalScale(*input.arguments[0].type());
  if (input.arguments.size() < 2) {
    return MapDecimal<Out>(
        input, [&](Int128 value, Out* out) { return RoundDecimal(value, scale, 0, kRounding, type, out); }, NumberFailure);
  }
  const DecimalReader values(input.arguments[0]);
  const ValueReader<int32_t> places(input.arguments[1]);
  return MapRows<Out>(input, [&](int64_t row, Out* out) {
    const int clamped = std::clamp(places[row], -kMaxDecimalDigits - 1, kMaxDecimalDigits);
    const uint8_t failure = RoundDecimal(values[row], scale, clamped, kRounding, type, out);
    return failure == kNoFailure ? arrow::Status::OK() : NumberFailure(failure, input);
  });
}

template <Rounding kRounding>
arrow::Result<Datum> RoundDecimals(const KernelInput& input) {
  return input.type->id() == arrow::Type::DECIMAL64 ? RoundDecimalsAs<kRounding, int64_t>(input)
                                                    : RoundDecimalsAs<kRounding, Int128>(input);
}

/// No places: an integer with room for the carry. Literal places: that scale. Places from a column: the argument's scale.
arrow::Result<TypePtr> RoundedResult(const std::vector<ExprPtr>& arguments) {
  const TypePtr logical = LogicalType(arguments[0]->type());
  const auto& type = checked_cast<const arrow::DecimalType&>(*logical);
  const int integer_digits = type.precision() - type.scale() + 1;
  int scale = 0;
  if (arguments.size() > 1) {
    scale = type.scale();
    if (arguments[1]->kind() == ExprKind::kLiteral) {
      const auto& places = *checked_cast<const LiteralExpr&>(*arguments[1]).value();
      if (places.is_valid) scale = std::max(checked_cast<const arrow::Int32Scalar&>(places).value, 0);
      if (scale > type.scale()) scale = std::max(type.scale(), std::min(scale, kMaxDecimalDigits - integer_digits));
    }
  }
  return DecimalType(std::min(integer_digits + scale, kMaxDecimalDigits), scale, type.id() == arrow::Type::DECIMAL64);
}

/// Rounding cannot fail while there is room for the carry.
bool RoundingNeverFails(const CallExpr& call) {
  const auto& type = checked_cast<const arrow::DecimalType&>(*call.type());
  const TypePtr logical = LogicalType(call.children()[0]->type());
  const auto& from = checked_cast<const arrow::DecimalType&>(*logical);
  return type.precision() - type.scale() > from.precision() - from.scale();
}

/// An integer is numeric to begin with; rounding it to places takes a numeric too.
void AddRounding(FunctionRegistry* registry, std::string_view name, Kernel decimals, Kernel doubles, bool with_places) {
  registry->Add({.name = name, .parameters = {kDouble}, .result_type = DoubleResult, .kernel = doubles, .can_fail = false});
  registry->Add({.name = name,
                 .parameters = {kDecimal},
                 .result_type = RoundedResult,
                 .kernel = decimals,
                 .never_fails = RoundingNeverFails});
  if (!with_places) return;
  registry->Add({.name = name,
                 .parameters = {kDecimal, kInt32},
                 .result_type = RoundedResult,
                 .kernel = decimals,
                 .never_fails = RoundingNeverFails});
}

// --- functions of doubles ----------------------------------------------------------------------------------------------------

/// Overflow and underflow of a function value, as PostgreSQL checks them.
uint8_t CheckResult(double result, bool finite_input) { return finite_input && std::isinf(result) ? kOverflow : kNoFailure; }

template <double (*kFunction)(double)>
arrow::Result<Datum> Plain(const KernelInput& input) {
  return MapUnary<double, double>(
      input,
      [](double value, double* out) {
        *out = kFunction(value);
        return CheckResult(*out, std::isfinite(value));
      },
      NumberFailure);
}

/// Infinity has no sine.
template <double (*kFunction)(double)>
arrow::Result<Datum> Periodic(const KernelInput& input) {
  return MapUnary<double, double>(
      input,
      [](double value, double* out) -> uint8_t {
        *out = kFunction(value);
        return std::isinf(value) ? kDomain : kNoFailure;
      },
      NumberFailure);
}

/// Defined from -1 to 1.
template <double (*kFunction)(double)>
arrow::Result<Datum> Inverse(const KernelInput& input) {
  return MapUnary<double, double>(
      input,
      [](double value, double* out) -> uint8_t {
        *out = kFunction(value);
        return value < -1 || value > 1 ? kDomain : kNoFailure;
      },
      NumberFailure);
}

arrow::Result<Datum> SquareRoot(const KernelInput& input) {
  return MapUnary<double, double>(
      input,
      [](double value, double* out) -> uint8_t {
        *out = std::sqrt(value);
        return value < 0 ? kDomain : kNoFailure;
      },
      [](uint8_t, const KernelInput&) {
        return MakeError(ErrorKind::kExecution, "cannot take square root of a negative number");
      });
}

arrow::Status LogarithmFailure(uint8_t failure, const KernelInput&) {
  return MakeError(ErrorKind::kExecution, "cannot take logarithm of {}",
                   failure & kDivisionByZero ? "zero" : "a negative number");
}

template <double (*kFunction)(double)>
arrow::Result<Datum> Logarithm(const KernelInput& input) {
  return MapUnary<double, double>(
      input,
      [](double value, double* out) -> uint8_t {
        *out = kFunction(value);
        return value == 0 ? kDivisionByZero : (value < 0 ? kDomain : kNoFailure);
      },
      LogarithmFailure);
}

/// log(base, x)
arrow::Result<Datum> LogarithmOfBase(const KernelInput& input) {
  return MapBinary<double, double, double>(
      input,
      [](double base, double value, double* out) -> uint8_t {
        *out = std::log(value) / std::log(base);
        if (base == 0 || value == 0) return kDivisionByZero;
        if (base < 0 || value < 0) return kDomain;
        return base == 1 ? kUnderflow : kNoFailure;
      },
      [](uint8_t failure, const KernelInput& input) {
        return failure == kUnderflow ? MakeError(ErrorKind::kExecution, "division by zero") : LogarithmFailure(failure, input);
      });
}

arrow::Result<Datum> Power(const KernelInput& input) {
  return MapBinary<double, double, double>(
      input,
      [](double base, double exponent, double* out) -> uint8_t {
        *out = std::pow(base, exponent);
        if (base == 0 && exponent < 0) return kDivisionByZero;
        if (base < 0 && std::isfinite(exponent) && std::isfinite(base) && exponent != std::floor(exponent)) return kDomain;
        if (!std::isfinite(base) || !std::isfinite(exponent)) return kNoFailure;
        return std::isinf(*out) ? kOverflow : (*out == 0 && base != 0 ? kUnderflow : kNoFailure);
      },
      [](uint8_t failure, const KernelInput& input) {
        if (failure & kDivisionByZero) return MakeError(ErrorKind::kExecution, "zero raised to a negative power is undefined");
        if (failure & kDomain) {
          return MakeError(ErrorKind::kExecution, "a negative number raised to a non-integer power yields a complex result");
        }
        return NumberFailure(failure, input);
      });
}

arrow::Result<Datum> ArcTangent2(const KernelInput& input) {
  return MapBinary<double, double, double>(input, [](double y, double x, double* out) -> uint8_t {
    *out = std::atan2(y, x);
    return kNoFailure;
  });
}

double Cotangent(double value) { return 1 / std::tan(value); }
double Degrees(double value) { return value * (180 / std::numbers::pi); }
double Radians(double value) { return value * (std::numbers::pi / 180); }
double RoundHalfEven(double value) { return std::nearbyint(value); }

// The standard library's functions are overloaded; these name the ones for doubles.
#define ICEBOUND_DOUBLE_FUNCTION(Name, function) \
  double Name(double value) { return std::function(value); }
ICEBOUND_DOUBLE_FUNCTION(CubeRoot, cbrt)
ICEBOUND_DOUBLE_FUNCTION(Exp, exp)
ICEBOUND_DOUBLE_FUNCTION(Ln, log)
ICEBOUND_DOUBLE_FUNCTION(Log10, log10)
ICEBOUND_DOUBLE_FUNCTION(Log2, log2)
ICEBOUND_DOUBLE_FUNCTION(Sin, sin)
ICEBOUND_DOUBLE_FUNCTION(Cos, cos)
ICEBOUND_DOUBLE_FUNCTION(Tan, tan)
ICEBOUND_DOUBLE_FUNCTION(Asin, asin)
ICEBOUND_DOUBLE_FUNCTION(Acos, acos)
ICEBOUND_DOUBLE_FUNCTION(Atan, atan)
ICEBOUND_DOUBLE_FUNCTION(Sinh, sinh)
ICEBOUND_DOUBLE_FUNCTION(Cosh, cosh)
ICEBOUND_DOUBLE_FUNCTION(Tanh, tanh)
ICEBOUND_DOUBLE_FUNCTION(Truncate, trunc)
ICEBOUND_DOUBLE_FUNCTION(Ceiling, ceil)
ICEBOUND_DOUBLE_FUNCTION(Floor, floor)
#undef ICEBOUND_DOUBLE_FUNCTION

arrow::Result<Datum> Pi(const KernelInput&) { return Datum(std::make_shared<arrow::DoubleScalar>(std::numbers::pi)); }

/// A value in [0, 1) for every row.
arrow::Result<Datum> Random(const KernelInput& input) {
  thread_local std::mt19937_64 generator{std::random_device{}()};
  return MapRows<double>(input, [&](int64_t, double* out) {
    *out = static_cast<double>(generator() >> 11) * 0x1.0p-53;
    return arrow::Status::OK();
  });
}

// --- integers ----------------------------------------------------------------------------------------------------------------

template <typename T>
arrow::Result<Datum> GreatestDivisor(const KernelInput& input) {
  return MapBinary<T, T, T>(
      input,
      [](T left, T right, T* out) -> uint8_t {
        using Unsigned = std::make_unsigned_t<T>;
        const auto magnitude = [](T value) {
          return value < 0 ? static_cast<Unsigned>(-static_cast<Unsigned>(value)) : static_cast<Unsigned>(value);
        };
        const Unsigned result = std::gcd(magnitude(left), magnitude(right));
        *out = static_cast<T>(result);
        return *out < 0 ? kOverflow : kNoFailure;
      },
      NumberFailure);
}

template <typename T>
arrow::Result<Datum> LeastMultiple(const KernelInput& input) {
  return MapBinary<T, T, T>(
      input,
      [](T left, T right, T* out) -> uint8_t {
        *out = 0;
        if (left == 0 || right == 0) return kNoFailure;
        const auto magnitude = [](T value) { return value < 0 ? -static_cast<Int128>(value) : static_cast<Int128>(value); };
        const Int128 divisor = std::gcd(static_cast<uint64_t>(magnitude(left)), static_cast<uint64_t>(magnitude(right)));
        const Int128 multiple = magnitude(left) / divisor * magnitude(right);
        *out = static_cast<T>(multiple);
        return multiple == *out ? kNoFailure : kOverflow;
      },
      NumberFailure);
}

/// The bucket of a value among `count` equal ones between two bounds: 0 below, count + 1 from the upper bound on.
arrow::Result<Datum> WidthBucket(const KernelInput& input) {
  const ValueReader<double> value(input.arguments[0]), low(input.arguments[1]), high(input.arguments[2]);
  const ValueReader<int32_t> count(input.arguments[3]);
  return MapRows<int32_t>(input, [&](int64_t row, int32_t* out) -> arrow::Status {
    const double x = value[row], a = low[row], b = high[row];
    const int64_t buckets = count[row];
    if (buckets <= 0) return MakeError(ErrorKind::kExecution, "count must be greater than zero");
    if (std::isnan(x) || std::isnan(a) || std::isnan(b)) {
      return MakeError(ErrorKind::kExecution, "operand, lower bound, and upper bound cannot be NaN");
    }
    if (!std::isfinite(a) || !std::isfinite(b)) return MakeError(ErrorKind::kExecution, "lower and upper bounds must be finite");
    if (a == b) return MakeError(ErrorKind::kExecution, "lower bound cannot equal upper bound");
    const bool ascending = a < b;
    int64_t bucket = 0;
    if (ascending ? x >= b : x <= b) {
      bucket = buckets + 1;
    } else if (ascending ? x >= a : x <= a) {
      bucket = std::min<int64_t>(static_cast<int64_t>((x - a) / (b - a) * static_cast<double>(buckets)), buckets - 1) + 1;
    }
    if (bucket > std::numeric_limits<int32_t>::max()) return OutOfRange(*input.type);
    *out = static_cast<int32_t>(bucket);
    return arrow::Status::OK();
  });
}

// --- registration ------------------------------------------------------------------------------------------------------------

void AddDouble(FunctionRegistry* registry, std::string_view name, Kernel kernel, bool can_fail, size_t arguments = 1) {
  registry->Add({.name = name,
                 .parameters = std::vector(arguments, kDouble),
                 .result_type = DoubleResult,
                 .kernel = kernel,
                 .can_fail = can_fail});
}

void RegisterDoubles(FunctionRegistry* registry) {
  AddDouble(registry, "sqrt", SquareRoot, true);
  AddDouble(registry, "cbrt", Plain<CubeRoot>, false);
  AddDouble(registry, "exp", Plain<Exp>, true);
  AddDouble(registry, "ln", Logarithm<Ln>, true);
  AddDouble(registry, "log10", Logarithm<Log10>, true);
  AddDouble(registry, "log", Logarithm<Log10>, true);
  AddDouble(registry, "log", LogarithmOfBase, true, 2);
  AddDouble(registry, "log2", Logarithm<Log2>, true);
  AddDouble(registry, "power", Power, true, 2);
  registry->AddAlias("pow", "power");
  registry->AddAlias("^", "power");
  AddDouble(registry, "sin", Periodic<Sin>, true);
  AddDouble(registry, "cos", Periodic<Cos>, true);
  AddDouble(registry, "tan", Periodic<Tan>, true);
  AddDouble(registry, "cot", Periodic<Cotangent>, true);
  AddDouble(registry, "asin", Inverse<Asin>, true);
  AddDouble(registry, "acos", Inverse<Acos>, true);
  AddDouble(registry, "atan", Plain<Atan>, false);
  AddDouble(registry, "atan2", ArcTangent2, false, 2);
  AddDouble(registry, "sinh", Plain<Sinh>, true);
  AddDouble(registry, "cosh", Plain<Cosh>, true);
  AddDouble(registry, "tanh", Plain<Tanh>, false);
  AddDouble(registry, "degrees", Plain<Degrees>, true);
  AddDouble(registry, "radians", Plain<Radians>, false);
}

}  // namespace

void RegisterNumbers(FunctionRegistry* registry) {
  RegisterDoubles(registry);
  const auto add_abs = [&](TypeClass type, Kernel kernel, bool can_fail) {
    registry->Add({.name = "abs", .parameters = {type}, .result_type = FirstResult, .kernel = kernel, .can_fail = can_fail});
  };
  add_abs(kInt16, Abs<int16_t>, true);
  add_abs(kInt32, Abs<int32_t>, true);
  add_abs(kInt64, Abs<int64_t>, true);
  add_abs(kDecimal, AbsDecimal, false);
  add_abs(kFloat, Abs<float>, false);
  add_abs(kDouble, Abs<double>, false);
  AddDouble(registry, "sign", SignDouble, false);
  registry->Add(
      {.name = "sign", .parameters = {kDecimal}, .result_type = OneDigitResult, .kernel = SignDecimal, .can_fail = false});
  AddRounding(registry, "round", RoundDecimals<Rounding::kHalfAway>, Plain<RoundHalfEven>, true);
  AddRounding(registry, "trunc", RoundDecimals<Rounding::kTruncate>, Plain<Truncate>, true);
  AddRounding(registry, "ceil", RoundDecimals<Rounding::kCeiling>, Plain<Ceiling>, false);
  registry->AddAlias("ceiling", "ceil");
  AddRounding(registry, "floor", RoundDecimals<Rounding::kFloor>, Plain<Floor>, false);
  registry->Add({.name = "pi", .result_type = DoubleResult, .kernel = Pi, .can_fail = false});
  registry->Add(
      {.name = "random", .result_type = DoubleResult, .kernel = Random, .can_fail = false, .volatility = Volatility::kVolatile});
  registry->Add({.name = "gcd", .parameters = {kInt32, kInt32}, .result_type = Int32Result, .kernel = GreatestDivisor<int32_t>});
  registry->Add({.name = "gcd", .parameters = {kInt64, kInt64}, .result_type = Int64Result, .kernel = GreatestDivisor<int64_t>});
  registry->Add({.name = "lcm", .parameters = {kInt32, kInt32}, .result_type = Int32Result, .kernel = LeastMultiple<int32_t>});
  registry->Add({.name = "lcm", .parameters = {kInt64, kInt64}, .result_type = Int64Result, .kernel = LeastMultiple<int64_t>});
  registry->Add({.name = "width_bucket",
                 .parameters = {kDouble, kDouble, kDouble, kInt32},
                 .result_type = Int32Result,
                 .kernel = WidthBucket});
}

}  // namespace icebound::expr
