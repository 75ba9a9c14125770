// SPDX-License-Identifier: Apache-2.0
//
// Reads decimal (and integer) arguments as 64-bit or 128-bit integers, a block at a time, whatever width the column has.
#pragma once

#include <arrow/datum.h>
#include <arrow/type.h>

#include <cstdint>

#include "expr/elementwise.h"
#include "expr/number_text.h"

namespace icebound::expr {

/// The scale of a decimal type; 0 for integers.
int DecimalScale(const arrow::DataType& type);

/// True when every value of the type (decimal or integer) fits 18 digits, so that int64 arithmetic holds it.
bool FitsInt64(const arrow::DataType& type);

/// Values of an argument of decimal32/64/128 or integer type, unscaled. Thread safe: immutable.
class DecimalReader {
 public:
  explicit DecimalReader(const arrow::Datum& datum);

  /// Rows [begin, begin + count). The low 64 bits are the value when the type fits int64.
  void Read(int64_t begin, int64_t count, int64_t* out) const;
  void Read(int64_t begin, int64_t count, Int128* out) const;

  /// As Read into `scratch`, which has `count` values; or where the values are, when the column holds them as they are.
  template <typename Wide>
  const Wide* Block(int64_t begin, int64_t count, Wide* scratch) const {
    if constexpr (sizeof(Wide) == 8) {
      if (values_ != nullptr && byte_width_ == 8) return reinterpret_cast<const Wide*>(values_ + begin * 8);
    }
    Read(begin, count, scratch);
    return scratch;
  }

  Int128 operator[](int64_t row) const {
    Int128 value;
    Read(row, 1, &value);
    return value;
  }

 private:
  template <typename Wide>
  void ReadAs(int64_t begin, int64_t count, Wide* out) const;

  const uint8_t* values_ = nullptr;  ///< nullptr for a scalar
  int byte_width_ = 0;
  Int128 scalar_ = 0;
};

/// The value of a decimal or integer scalar, unscaled.
Int128 DecimalScalarValue(const arrow::Scalar& scalar);
std::shared_ptr<arrow::Scalar> MakeDecimalScalar(Int128 value, const TypePtr& type);

/// value / 10^digits, rounded half away from zero.
inline Int128 DivideByPowerOfTen(Int128 value, int digits) {
  if (digits <= 0) return value;
  if (digits > kMaxDecimalDigits) return 0;
  const Int128 divisor = PowerOfTen(digits);
  const Int128 quotient = value / divisor;
  const Int128 rest = value % divisor;
  const Int128 half = divisor / 2;
  return quotient + (rest >= half ? 1 : 0) - (-rest >= half ? 1 : 0);
}

/// value * 10^digits; false when it needs more than 128 bits.
inline bool MultiplyByPowerOfTen(Int128 value, int digits, Int128* out) {
  if (digits <= 0) {
    *out = value;
    return true;
  }
  if (digits > kMaxDecimalDigits) {
    *out = 0;
    return value == 0;
  }
  return !__builtin_mul_overflow(value, PowerOfTen(digits), out);
}

/// Writes a decimal result: 64 or 128 bits wide.
inline void StoreDecimal(Int128 value, Int128* out) { std::memcpy(out, &value, sizeof(value)); }
inline void StoreDecimal(Int128 value, int64_t* out) { *out = static_cast<int64_t>(value); }

/// Applies op(Int128 value, Out* out), which returns a Failure, to the first argument, a decimal or integer; in two passes as
/// MapUnary.
template <typename Out, typename Op>
arrow::Result<arrow::Datum> MapDecimal(const KernelInput& input, Op op, FailureStatus on_failure) {
  ARROW_ASSIGN_OR_RAISE(auto validity, CombinedValidity(input.arguments, input.num_rows, input.context.pool));
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> values,
                        arrow::AllocateBuffer(input.num_rows * sizeof(Out), input.context.pool));
  const DecimalReader reader(input.arguments[0]);
  Out* out = reinterpret_cast<Out*>(values->mutable_data());
  Int128 block[kBlockRows];
  uint8_t failures = 0;
  for (int64_t begin = 0; begin < input.num_rows; begin += kBlockRows) {
    const int64_t count = std::min(kBlockRows, input.num_rows - begin);
    reader.Read(begin, count, block);
    for (int64_t i = 0; i < count; ++i) failures |= op(block[i], &out[begin + i]);
  }
  if (failures != kNoFailure) {
    const uint8_t failure = FirstFailure(validity, input.num_rows, [&](int64_t row) {
      Out ignored;
      return op(reader[row], &ignored);
    });
    if (failure != kNoFailure) return on_failure(failure, input);
  }
  return MakeArrayDatum(input.type, input.num_rows, std::move(validity), std::move(values));
}

}  // namespace icebound::expr
