// SPDX-License-Identifier: Apache-2.0
//
// + - * / % and unary minus on numbers. Mixed operands meet as in PostgreSQL: integers in the wider one, integer with numeric in
// numeric (see decimal_arithmetic.h), anything with floating point in double precision (real with real stays real).
#include <cmath>
#include <limits>

#include "base/error.h"
#include "expr/cast.h"
#include "expr/decimal_arithmetic.h"
#include "expr/decimal_block.h"
#include "expr/elementwise.h"
#include "expr/number_text.h"
#include "expr/resolve.h"

namespace icebound::expr {

using arrow::Datum;
using arrow::Type;

namespace {

arrow::Status ArithmeticFailure(uint8_t failure, const KernelInput& input) {
  if (failure & kDivisionByZero) return MakeError(ErrorKind::kExecution, "division by zero");
  if (failure & kOverflow) return OutOfRange(*input.type);
  return MakeError(ErrorKind::kExecution, "value out of range: underflow");
}

template <typename T>
uint8_t CheckFloat(T left, T right, T result, bool check_underflow) {
  const bool overflow = std::isinf(result) && !std::isinf(left) && !std::isinf(right);
  const bool underflow = check_underflow && result == 0 && left != 0;
  return (overflow ? kOverflow : 0) | (underflow ? kUnderflow : 0);
}

struct Add {
  template <typename T>
  uint8_t operator()(T left, T right, T* out) const {
    if constexpr (std::is_floating_point_v<T>) {
      *out = left + right;
      return CheckFloat(left, right, *out, false);
    } else {
      return __builtin_add_overflow(left, right, out) ? kOverflow : kNoFailure;
    }
  }
};

struct Subtract {
  template <typename T>
  uint8_t operator()(T left, T right, T* out) const {
    if constexpr (std::is_floating_point_v<T>) {
      *out = left - right;
      return CheckFloat(left, right, *out, false);
    } else {
      return __builtin_sub_overflow(left, right, out) ? kOverflow : kNoFailure;
    }
  }
};

struct Multiply {
  template <typename T>
  uint8_t operator()(T left, T right, T* out) const {
    if constexpr (std::is_floating_point_v<T>) {
      *out = left * right;
      return CheckFloat(left, right, *out, right != 0);
    } else {
      return __builtin_mul_overflow(left, right, out) ? kOverflow : kNoFailure;
    }
  }
};

struct Divide {
  template <typename T>
  uint8_t operator()(T left, T right, T* out) const {
    if constexpr (std::is_floating_point_v<T>) {
      *out = left / right;
      if (right == 0 && !std::isnan(left)) return kDivisionByZero;
      return CheckFloat(left, right, *out, !std::isinf(right));
    } else {
      *out = 0;
      if (right == 0) return kDivisionByZero;
      if (right == -1) return __builtin_sub_overflow(T{0}, left, out) ? kOverflow : kNoFailure;
      *out = static_cast<T>(left / right);
      return kNoFailure;
    }
  }
};

struct Modulo {
  template <typename T>
  uint8_t operator()(T left, T right, T* out) const {
    *out = 0;
    if (right == 0) return kDivisionByZero;
    if (right != -1) *out = static_cast<T>(left % right);
    return kNoFailure;
  }
};

template <typename Op, DecimalOperation kDecimalOperation>
arrow::Result<Datum> Arithmetic(const KernelInput& input) {
  switch (input.type->id()) {
    case Type::INT16:
      return MapBinary<int16_t, int16_t, int16_t>(input, Op{}, ArithmeticFailure);
    case Type::INT32:
      return MapBinary<int32_t, int32_t, int32_t>(input, Op{}, ArithmeticFailure);
    case Type::INT64:
      return MapBinary<int64_t, int64_t, int64_t>(input, Op{}, ArithmeticFailure);
    case Type::FLOAT:
    case Type::DOUBLE:
      if constexpr (!std::is_same_v<Op, Modulo>) {
        if (input.type->id() == Type::FLOAT) return MapBinary<float, float, float>(input, Op{}, ArithmeticFailure);
        return MapBinary<double, double, double>(input, Op{}, ArithmeticFailure);
      }
      [[fallthrough]];
    default:
      return DecimalArithmetic(kDecimalOperation, input);
  }
}

/// An untyped literal beside a number takes the number's type; beside a decimal, the digits it is written with.
arrow::Result<ExprPtr> TypeLiteralLike(ExprPtr literal, const TypePtr& type) {
  const auto& value = static_cast<const LiteralExpr&>(*literal).value();
  if (ClassOf(*type) == TypeClass::kDecimal && value->is_valid) {
    ARROW_ASSIGN_OR_RAISE(const auto shape, ShapeOfDecimal(static_cast<const arrow::StringScalar&>(*value).view()));
    return CoerceTo(std::move(literal), arrow::decimal128(shape.precision, shape.scale));
  }
  return CoerceTo(std::move(literal), type);
}

/// Numbers meet in a common type here; everything else (dates, intervals) is chosen by signature.
template <DecimalOperation kOperation>
arrow::Result<Resolution> ResolveArithmetic(const FunctionFamily& family, std::vector<ExprPtr> arguments) {
  if (arguments.size() != 2) return NoSuchCall(family.name, arguments);
  const bool left_untyped = IsUntypedLiteral(*arguments[0]), right_untyped = IsUntypedLiteral(*arguments[1]);
  const TypePtr left = LogicalType(arguments[0]->type()), right = LogicalType(arguments[1]->type());
  if (left_untyped && IsNumeric(ClassOf(*right))) {
    ARROW_ASSIGN_OR_RAISE(arguments[0], TypeLiteralLike(arguments[0], right));
  } else if (right_untyped && IsNumeric(ClassOf(*left))) {
    ARROW_ASSIGN_OR_RAISE(arguments[1], TypeLiteralLike(arguments[1], left));
  }
  const TypeClass a = ClassOf(*arguments[0]->type()), b = ClassOf(*arguments[1]->type());
  if (!IsNumeric(a) || !IsNumeric(b)) return ResolveBySignature(family, std::move(arguments));
  TypePtr type;
  if (IsInteger(a) && IsInteger(b)) {
    type = TypeForClass(arrow::null(), std::max(a, b));
  } else if (a == TypeClass::kFloat && b == TypeClass::kFloat) {
    type = arrow::float32();
  } else if (std::max(a, b) > TypeClass::kDecimal) {
    type = arrow::float64();
  } else {
    return Resolution{family.overloads.front(), arguments, DecimalResultType(kOperation, arguments)};
  }
  if (kOperation == DecimalOperation::kModulo && arrow::is_floating(type->id())) return NoSuchCall(family.name, arguments);
  for (ExprPtr& argument : arguments) {
    ARROW_ASSIGN_OR_RAISE(argument, CoerceTo(std::move(argument), type));
  }
  return Resolution{family.overloads.front(), arguments, type};
}

/// Exact decimal results that were not capped at 38 digits hold every sum, difference and product.
bool ExactDecimalNeverFails(const CallExpr& call) {
  return arrow::is_decimal(call.type()->id()) &&
         static_cast<const arrow::DecimalType&>(*call.type()).precision() < kMaxDecimalDigits;
}

struct Negate {
  template <typename T>
  uint8_t operator()(T value, T* out) const {
    if constexpr (std::is_floating_point_v<T>) {
      *out = -value;
      return kNoFailure;
    } else {
      return __builtin_sub_overflow(T{0}, value, out) ? kOverflow : kNoFailure;
    }
  }
};

template <typename T>
arrow::Result<Datum> NegateValues(const KernelInput& input) {
  return MapUnary<T, T>(input, Negate{}, ArithmeticFailure);
}

template <typename Out>
arrow::Result<Datum> NegateDecimalAs(const KernelInput& input) {
  return MapDecimal<Out>(
      input,
      [](Int128 value, Out* out) -> uint8_t {
        StoreDecimal(-value, out);
        return kNoFailure;
      },
      ArithmeticFailure);
}

arrow::Result<Datum> NegateDecimal(const KernelInput& input) {
  return input.type->id() == Type::DECIMAL64 ? NegateDecimalAs<int64_t>(input) : NegateDecimalAs<Int128>(input);
}

}  // namespace

void RegisterArithmetic(FunctionRegistry* registry) {
  // The first overload of each is the numeric one, chosen by the resolver; its signature matches nothing.
  registry->Add({.name = "+", .kernel = Arithmetic<Add, DecimalOperation::kAdd>, .never_fails = ExactDecimalNeverFails});
  registry->SetResolver("+", ResolveArithmetic<DecimalOperation::kAdd>);
  registry->Add(
      {.name = "-", .kernel = Arithmetic<Subtract, DecimalOperation::kSubtract>, .never_fails = ExactDecimalNeverFails});
  registry->SetResolver("-", ResolveArithmetic<DecimalOperation::kSubtract>);
  registry->Add(
      {.name = "*", .kernel = Arithmetic<Multiply, DecimalOperation::kMultiply>, .never_fails = ExactDecimalNeverFails});
  registry->SetResolver("*", ResolveArithmetic<DecimalOperation::kMultiply>);
  registry->Add({.name = "/", .kernel = Arithmetic<Divide, DecimalOperation::kDivide>});
  registry->SetResolver("/", ResolveArithmetic<DecimalOperation::kDivide>);
  registry->Add({.name = "%", .kernel = Arithmetic<Modulo, DecimalOperation::kModulo>});
  registry->SetResolver("%", ResolveArithmetic<DecimalOperation::kModulo>);
  registry->AddAlias("mod", "%");

  registry->Add(
      {.name = "negate", .parameters = {TypeClass::kInt16}, .result_type = FirstResult, .kernel = NegateValues<int16_t>});
  registry->Add(
      {.name = "negate", .parameters = {TypeClass::kInt32}, .result_type = FirstResult, .kernel = NegateValues<int32_t>});
  registry->Add(
      {.name = "negate", .parameters = {TypeClass::kInt64}, .result_type = FirstResult, .kernel = NegateValues<int64_t>});
  registry->Add({.name = "negate",
                 .parameters = {TypeClass::kDecimal},
                 .result_type = FirstResult,
                 .kernel = NegateDecimal,
                 .can_fail = false});
  registry->Add({.name = "negate",
                 .parameters = {TypeClass::kFloat},
                 .result_type = FirstResult,
                 .kernel = NegateValues<float>,
                 .can_fail = false});
  registry->Add({.name = "negate",
                 .parameters = {TypeClass::kDouble},
                 .result_type = FirstResult,
                 .kernel = NegateValues<double>,
                 .can_fail = false});
}

}  // namespace icebound::expr
