// SPDX-License-Identifier: Apache-2.0
#include "expr/decimal_arithmetic.h"

#include <arrow/util/checked_cast.h>
#include <arrow/util/decimal.h>

#include <algorithm>

#include "base/error.h"
#include "expr/cast.h"
#include "expr/decimal_block.h"
#include "expr/resolve.h"

namespace icebound::expr {

using arrow::Datum;
using arrow::internal::checked_cast;

namespace {

constexpr int kQuotientScale = 16;
constexpr int kProductScale = 20;

using Wide256 = arrow::BasicDecimal256;

Wide256 Widen(Int128 value) {
  return Wide256(arrow::BasicDecimal128(static_cast<int64_t>(value >> 64), static_cast<uint64_t>(value)));
}

/// False when the value needs more than 38 digits.
bool Narrow(const Wide256& wide, Int128* out) {
  if (!wide.FitsInPrecision(kMaxDecimalDigits)) return false;
  const auto words = wide.little_endian_array();
  *out = static_cast<Int128>((static_cast<UInt128>(words[1]) << 64) | words[0]);
  return true;
}

/// How a kernel moves its operands and checks its result.
struct DecimalShapes {
  int left_shift = 0;  ///< digits to multiply the left operand with
  int right_shift = 0;
  int reduce = 0;    ///< digits a product loses
  Int128 limit = 0;  ///< results reach from -limit to limit, exclusively
};

template <typename Wide>
Wide WrappingMultiply(Wide a, Wide b) {
  using Unsigned = std::conditional_t<sizeof(Wide) == 8, uint64_t, UInt128>;
  return static_cast<Wide>(static_cast<Unsigned>(a) * static_cast<Unsigned>(b));
}
template <typename Wide>
Wide WrappingAdd(Wide a, Wide b) {
  using Unsigned = std::conditional_t<sizeof(Wide) == 8, uint64_t, UInt128>;
  return static_cast<Wide>(static_cast<Unsigned>(a) + static_cast<Unsigned>(b));
}
template <typename Wide>
Wide WrappingSubtract(Wide a, Wide b) {
  using Unsigned = std::conditional_t<sizeof(Wide) == 8, uint64_t, UInt128>;
  return static_cast<Wide>(static_cast<Unsigned>(a) - static_cast<Unsigned>(b));
}

/// The operands of a binary kernel, a block at a time.
template <typename Wide>
class BlockOperands {
 public:
  explicit BlockOperands(const KernelInput& input)
      : left_reader_(input.arguments[0]),
        right_reader_(input.arguments[1]),
        left_varies_(input.arguments[0].is_array()),
        right_varies_(input.arguments[1].is_array()) {
    // A constant is spread once.
    if (!left_varies_) left = left_reader_.Block(0, kBlockRows, left_scratch_);
    if (!right_varies_) right = right_reader_.Block(0, kBlockRows, right_scratch_);
  }

  void Load(int64_t begin, int64_t count) {
    if (left_varies_) left = left_reader_.Block(begin, count, left_scratch_);
    if (right_varies_) right = right_reader_.Block(begin, count, right_scratch_);
  }

  const Wide* left = nullptr;
  const Wide* right = nullptr;

 private:
  const DecimalReader left_reader_, right_reader_;
  const bool left_varies_, right_varies_;
  Wide left_scratch_[kBlockRows], right_scratch_[kBlockRows];
};

/// Results that always fit: loops without a check. Wrapping, because null slots and values beyond a column's precision hold
/// anything.
template <typename Wide, typename Out, typename Op>
arrow::Result<Datum> MapUnchecked(const KernelInput& input, const DecimalShapes& shapes, Op op) {
  ARROW_ASSIGN_OR_RAISE(auto validity, CombinedValidity(input.arguments, input.num_rows, input.context.pool));
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> values,
                        arrow::AllocateBuffer(input.num_rows * sizeof(Out), input.context.pool));
  Out* out = reinterpret_cast<Out*>(values->mutable_data());
  BlockOperands<Wide> operands(input);
  const Wide left_factor = static_cast<Wide>(PowerOfTen(shapes.left_shift)),
             right_factor = static_cast<Wide>(PowerOfTen(shapes.right_shift));
  for (int64_t begin = 0; begin < input.num_rows; begin += kBlockRows) {
    const int64_t count = std::min(kBlockRows, input.num_rows - begin);
    operands.Load(begin, count);
    const Wide *left = operands.left, *right = operands.right;
    if (left_factor == 1 && right_factor == 1) {
      for (int64_t i = 0; i < count; ++i) StoreDecimal(op(left[i], right[i]), &out[begin + i]);
      continue;
    }
    for (int64_t i = 0; i < count; ++i) {
      const auto result = op(WrappingMultiply(left[i], left_factor), WrappingMultiply(right[i], right_factor));
      StoreDecimal(result, &out[begin + i]);
    }
  }
  return MakeArrayDatum(input.type, input.num_rows, std::move(validity), std::move(values));
}

arrow::Status DecimalFailure(uint8_t failure, const KernelInput& input) {
  if (failure & kDivisionByZero) return MakeError(ErrorKind::kExecution, "division by zero");
  return OutOfRange(*input.type);
}

/// Results that may not fit: op(left, right, Int128* out) returns a Failure.
template <typename Out, typename Op>
arrow::Result<Datum> MapChecked(const KernelInput& input, const DecimalShapes& shapes, Op op) {
  ARROW_ASSIGN_OR_RAISE(auto validity, CombinedValidity(input.arguments, input.num_rows, input.context.pool));
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> values,
                        arrow::AllocateBuffer(input.num_rows * sizeof(Out), input.context.pool));
  const DecimalReader left_reader(input.arguments[0]), right_reader(input.arguments[1]);
  Out* out = reinterpret_cast<Out*>(values->mutable_data());
  const auto checked = [&](Int128 left, Int128 right, Int128* result) -> uint8_t {
    *result = 0;
    uint8_t failure = op(left, right, result);
    if (*result >= shapes.limit || *result <= -shapes.limit) failure |= kOverflow;
    return failure;
  };
  BlockOperands<Int128> operands(input);
  uint8_t failures = 0;
  for (int64_t begin = 0; begin < input.num_rows; begin += kBlockRows) {
    const int64_t count = std::min(kBlockRows, input.num_rows - begin);
    operands.Load(begin, count);
    const Int128 *left = operands.left, *right = operands.right;
    if constexpr (requires { op.ProductsFit(left, right, count); }) {
      if (op.ProductsFit(left, right, count)) {
        for (int64_t i = 0; i < count; ++i) {
          StoreDecimal(static_cast<Int128>(static_cast<int64_t>(left[i])) * static_cast<int64_t>(right[i]), &out[begin + i]);
        }
        continue;
      }
    }
    for (int64_t i = 0; i < count; ++i) {
      Int128 result;
      failures |= checked(left[i], right[i], &result);
      StoreDecimal(result, &out[begin + i]);
    }
  }
  if (failures != kNoFailure) {
    const uint8_t failure = FirstFailure(validity, input.num_rows, [&](int64_t row) {
      Int128 ignored;
      return checked(left_reader[row], right_reader[row], &ignored);
    });
    if (failure != kNoFailure) return DecimalFailure(failure, input);
  }
  return MakeArrayDatum(input.type, input.num_rows, std::move(validity), std::move(values));
}

/// 256-bit forms, for the rare operands that 128 bits cannot hold once they are aligned. 38 digits times 10^38 still fit.
uint8_t WideModulo(Int128 left, Int128 right, const DecimalShapes& shapes, Int128* out) {
  const Wide256 a = Widen(left) * Widen(PowerOfTen(shapes.left_shift)), b = Widen(right) * Widen(PowerOfTen(shapes.right_shift));
  return Narrow(a % b, out) ? kNoFailure : kOverflow;
}

uint8_t WideDivide(Int128 left, Int128 right, int shift, Int128* out) {
  if (shift > kMaxDecimalDigits) return left == 0 ? kNoFailure : kOverflow;
  const Wide256 numerator = Widen(left) * Widen(PowerOfTen(shift)), divisor = Widen(right);
  Wide256 quotient = numerator / divisor;
  Wide256 rest = numerator % divisor;
  rest.Abs();
  if (rest + rest >= Wide256::Abs(divisor)) quotient = quotient + Wide256((left < 0) != (right < 0) ? -1 : 1);
  return Narrow(quotient, out) ? kNoFailure : kOverflow;
}

uint8_t Divide(Int128 left, Int128 right, int shift, Int128* out) {
  if (right == 0) return kDivisionByZero;
  Int128 numerator;
  if (!MultiplyByPowerOfTen(left, shift, &numerator)) return WideDivide(left, right, shift, out);
  if (numerator == static_cast<int64_t>(numerator) && right == static_cast<int64_t>(right) && right != -1) {
    const int64_t n = static_cast<int64_t>(numerator), d = static_cast<int64_t>(right);
    const int64_t quotient = n / d, rest = n % d;
    const uint64_t magnitude = rest < 0 ? -static_cast<uint64_t>(rest) : rest, divisor = d < 0 ? -static_cast<uint64_t>(d) : d;
    *out = quotient + (magnitude >= divisor - magnitude ? ((n < 0) != (d < 0) ? -1 : 1) : 0);
    return kNoFailure;
  }
  const Int128 quotient = numerator / right, rest = numerator % right;
  const UInt128 magnitude = rest < 0 ? -static_cast<UInt128>(rest) : static_cast<UInt128>(rest);
  const UInt128 divisor = right < 0 ? -static_cast<UInt128>(right) : static_cast<UInt128>(right);
  *out = quotient + (magnitude >= divisor - magnitude ? ((numerator < 0) != (right < 0) ? -1 : 1) : 0);
  return kNoFailure;
}

uint8_t Modulo(Int128 left, Int128 right, const DecimalShapes& shapes, Int128* out) {
  if (right == 0) return kDivisionByZero;
  Int128 a, b;
  if (!MultiplyByPowerOfTen(left, shapes.left_shift, &a) || !MultiplyByPowerOfTen(right, shapes.right_shift, &b)) {
    return WideModulo(left, right, shapes, out);
  }
  *out = b == -1 ? 0 : a % b;
  return kNoFailure;
}

/// Whether all values are 64-bit integers, as most decimals of any type are.
bool FitInt64(const Int128* values, int64_t count) {
  uint64_t beyond = 0;
  for (int64_t i = 0; i < count; ++i) {
    beyond |= static_cast<uint64_t>(values[i] >> 64) ^ static_cast<uint64_t>(static_cast<int64_t>(values[i]) >> 63);
  }
  return beyond == 0;
}

uint8_t MultiplyReduced(Int128 left, Int128 right, int reduce, Int128* out) {
  Int128 product;
  if (!__builtin_mul_overflow(left, right, &product)) {
    *out = DivideByPowerOfTen(product, reduce);
    return kNoFailure;
  }
  Wide256 wide = Widen(left) * Widen(right);
  if (reduce > 0) wide = wide.ReduceScaleBy(reduce, /*round=*/true);
  return Narrow(wide, out) ? kNoFailure : kOverflow;
}

/// What an argument needs at run time; as DecimalOperandOf, which saw the same expression.
DecimalOperand OperandOf(const KernelInput& input, int index) { return DecimalOperandOf(*input.call->children()[index]); }

template <typename Out>
arrow::Result<Datum> AddOrSubtract(DecimalOperation operation, const KernelInput& input, DecimalShapes shapes) {
  const DecimalOperand left = OperandOf(input, 0), right = OperandOf(input, 1);
  const int scale = DecimalScale(*input.type);
  shapes.left_shift = scale - left.scale;
  shapes.right_shift = scale - right.scale;
  const bool add = operation == DecimalOperation::kAdd;
  const int exact_digits = std::max(left.IntegerDigits(), right.IntegerDigits()) + scale + 1;
  if (exact_digits > checked_cast<const arrow::DecimalType&>(*input.type).precision()) {
    return MapChecked<Out>(input, shapes, [&](Int128 a, Int128 b, Int128* out) -> uint8_t {
      Int128 x, y;
      bool overflow = !MultiplyByPowerOfTen(a, shapes.left_shift, &x) || !MultiplyByPowerOfTen(b, shapes.right_shift, &y);
      overflow = overflow || (add ? __builtin_add_overflow(x, y, out) : __builtin_sub_overflow(x, y, out));
      return overflow ? kOverflow : kNoFailure;
    });
  }
  const auto run = [&]<typename Wide>(Wide) {
    if (add) return MapUnchecked<Wide, Out>(input, shapes, [](Wide a, Wide b) { return WrappingAdd(a, b); });
    return MapUnchecked<Wide, Out>(input, shapes, [](Wide a, Wide b) { return WrappingSubtract(a, b); });
  };
  return exact_digits <= 18 ? run(int64_t{}) : run(Int128{});
}

/// Products that may pass 38 digits, or lose some.
struct CheckedProduct {
  int reduce = 0;
  bool any_product_fits = false;  // of two 64-bit integers: below 2^126, which is below 10^38

  uint8_t operator()(Int128 left, Int128 right, Int128* out) const { return MultiplyReduced(left, right, reduce, out); }
  bool ProductsFit(const Int128* left, const Int128* right, int64_t count) const {
    return any_product_fits && FitInt64(left, count) && FitInt64(right, count);
  }
};

template <typename Out>
arrow::Result<Datum> Multiply(const KernelInput& input, DecimalShapes shapes) {
  const DecimalOperand left = OperandOf(input, 0), right = OperandOf(input, 1);
  shapes.reduce = left.scale + right.scale - DecimalScale(*input.type);
  if (shapes.reduce > 0 || left.precision + right.precision > checked_cast<const arrow::DecimalType&>(*input.type).precision()) {
    const bool any_product_fits = shapes.reduce == 0 && shapes.limit == PowerOfTen(kMaxDecimalDigits);
    return MapChecked<Out>(input, shapes, CheckedProduct{shapes.reduce, any_product_fits});
  }
  if (left.precision <= 18 && right.precision <= 18) {
    return MapUnchecked<int64_t, Out>(input, shapes, [](int64_t a, int64_t b) {
      if constexpr (sizeof(Out) == 8) {
        return WrappingMultiply(a, b);
      } else {
        return static_cast<Int128>(a) * b;
      }
    });
  }
  return MapUnchecked<Int128, Out>(input, shapes, [](Int128 a, Int128 b) { return WrappingMultiply(a, b); });
}

template <typename Out>
arrow::Result<Datum> Run(DecimalOperation operation, const KernelInput& input) {
  const auto& type = checked_cast<const arrow::DecimalType&>(*input.type);
  DecimalShapes shapes;
  shapes.limit = PowerOfTen(type.precision());
  switch (operation) {
    case DecimalOperation::kAdd:
    case DecimalOperation::kSubtract:
      return AddOrSubtract<Out>(operation, input, shapes);
    case DecimalOperation::kMultiply:
      return Multiply<Out>(input, shapes);
    case DecimalOperation::kDivide: {
      const int shift = type.scale() - OperandOf(input, 0).scale + OperandOf(input, 1).scale;
      return MapChecked<Out>(input, shapes, [shift](Int128 a, Int128 b, Int128* out) { return Divide(a, b, shift, out); });
    }
    case DecimalOperation::kModulo: {
      shapes.left_shift = type.scale() - OperandOf(input, 0).scale;
      shapes.right_shift = type.scale() - OperandOf(input, 1).scale;
      return MapChecked<Out>(input, shapes, [shapes](Int128 a, Int128 b, Int128* out) { return Modulo(a, b, shapes, out); });
    }
  }
  return MakeError(ErrorKind::kInternal, "unknown decimal operation");
}

}  // namespace

TypePtr DecimalResultType(DecimalOperation operation, const std::vector<ExprPtr>& arguments) {
  const DecimalOperand left = DecimalOperandOf(*arguments[0]), right = DecimalOperandOf(*arguments[1]);
  const int widest = std::max(left.scale, right.scale);
  int scale = widest, precision = 0;
  switch (operation) {
    case DecimalOperation::kAdd:
    case DecimalOperation::kSubtract:
      precision = std::max(left.IntegerDigits(), right.IntegerDigits()) + scale + 1;
      break;
    case DecimalOperation::kMultiply: {
      scale = left.scale + right.scale;
      precision = left.precision + right.precision;
      if (precision > kMaxDecimalDigits && scale > kProductScale) {
        scale = std::max({kProductScale, kMaxDecimalDigits - left.IntegerDigits() - right.IntegerDigits()});
        scale = std::min(scale, left.scale + right.scale);
      }
      break;
    }
    case DecimalOperation::kDivide:
      scale = std::max(kQuotientScale, widest);
      precision = left.IntegerDigits() + right.scale + scale;
      break;
    case DecimalOperation::kModulo:
      precision = std::min(left.IntegerDigits(), right.IntegerDigits()) + scale;
      break;
  }
  precision = std::clamp(precision, std::max(scale, 1), kMaxDecimalDigits);
  return DecimalType(precision, std::min(scale, precision), IsNarrowDecimal(arguments));
}

arrow::Result<Datum> DecimalArithmetic(DecimalOperation operation, const KernelInput& input) {
  return input.type->id() == arrow::Type::DECIMAL64 ? Run<int64_t>(operation, input) : Run<Int128>(operation, input);
}

}  // namespace icebound::expr
