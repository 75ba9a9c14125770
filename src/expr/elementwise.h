// SPDX-License-Identifier: Apache-2.0
//
// Loops over the rows of a batch for kernels that compute one output value from one value of each argument.
//
// Values are read in blocks: an array argument is read in place, a scalar is spread once over a block that stays in the
// first-level cache, so every kernel has one tight loop whatever the mix of arrays and scalars. The loop runs over null rows, too
// (their slots hold anything), and only collects a failure code; when one is seen, a second pass over the rows that are not null
// finds the row to report, if there is any.
#pragma once

#include <arrow/array/data.h>
#include <arrow/buffer.h>
#include <arrow/datum.h>
#include <arrow/result.h>
#include <arrow/scalar.h>
#include <arrow/util/bit_util.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "expr/functions.h"

namespace icebound::expr {

inline constexpr int64_t kBlockRows = 512;

/// Why a row has no value. Codes are or-ed over a block.
enum Failure : uint8_t { kNoFailure = 0, kOverflow = 1, kDivisionByZero = 2, kUnderflow = 4, kDomain = 8 };

/// The bytes of a fixed-width scalar.
std::string_view ScalarBytes(const arrow::Scalar& scalar);

template <typename T>
T ScalarValue(const arrow::Scalar& scalar) {
  T value;
  std::memcpy(&value, ScalarBytes(scalar).data(), sizeof(T));
  return value;
}

/// The values of a fixed-width argument, a block at a time, in place. Buffers may be aligned to 8 bytes only, so decimals of 128
/// bits are read by DecimalReader instead.
template <typename T>
class BlockReader {
  static_assert(alignof(T) <= 8);

 public:
  explicit BlockReader(const arrow::Datum& datum) {
    if (datum.is_array()) {
      values_ = datum.array()->GetValues<T>(1);
    } else {
      std::fill(block_, block_ + kBlockRows, ScalarValue<T>(*datum.scalar()));
    }
  }
  /// Valid for the rows [row, row + kBlockRows) of the argument; row is a multiple of kBlockRows.
  const T* At(int64_t row) const { return values_ == nullptr ? block_ : values_ + row; }

 private:
  const T* values_ = nullptr;
  T block_[kBlockRows];
};

/// The rows in which every argument has a value, as a bitmap from bit 0; nullptr when all have. Scalars must not be null.
arrow::Result<std::shared_ptr<arrow::Buffer>> CombinedValidity(std::span<const arrow::Datum> arguments, int64_t num_rows,
                                                               arrow::MemoryPool* pool);

arrow::Datum MakeArrayDatum(const TypePtr& type, int64_t num_rows, std::shared_ptr<arrow::Buffer> validity,
                            std::shared_ptr<arrow::Buffer> values);

/// A new buffer for `num_rows` bits, its last byte cleared.
arrow::Result<std::shared_ptr<arrow::Buffer>> AllocateBits(int64_t num_rows, arrow::MemoryPool* pool);

/// Packs 0/1 bytes into bits from `first_bit`, a multiple of 8; whole bytes are written.
void PackBits(const uint8_t* bytes, int64_t count, uint8_t* bits, int64_t first_bit);

/// Calls `check(row)` for the rows that are set in the bitmap (all for nullptr) until it returns a failure.
template <typename Check>
uint8_t FirstFailure(const std::shared_ptr<arrow::Buffer>& validity, int64_t num_rows, Check check) {
  for (int64_t row = 0; row < num_rows; ++row) {
    if (validity != nullptr && !arrow::bit_util::GetBit(validity->data(), row)) continue;
    if (const uint8_t failure = check(row); failure != kNoFailure) return failure;
  }
  return kNoFailure;
}

/// Turns a failure code into the error, given the kernel's input.
using FailureStatus = arrow::Status (*)(uint8_t failure, const KernelInput& input);

/// One output for one value: op(T value, Out* out) returns a Failure.
template <typename Out, typename T, typename Op>
arrow::Result<arrow::Datum> MapUnary(const KernelInput& input, Op op, FailureStatus on_failure = nullptr) {
  ARROW_ASSIGN_OR_RAISE(auto validity, CombinedValidity(input.arguments, input.num_rows, input.context.pool));
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> values,
                        arrow::AllocateBuffer(input.num_rows * sizeof(Out), input.context.pool));
  const BlockReader<T> reader(input.arguments[0]);
  Out* out = reinterpret_cast<Out*>(values->mutable_data());
  uint8_t failures = 0;
  for (int64_t begin = 0; begin < input.num_rows; begin += kBlockRows) {
    const int64_t count = std::min(kBlockRows, input.num_rows - begin);
    const T* in = reader.At(begin);
    for (int64_t i = 0; i < count; ++i) failures |= op(in[i], &out[begin + i]);
  }
  if (failures != kNoFailure && on_failure != nullptr) {
    const uint8_t failure = FirstFailure(validity, input.num_rows, [&](int64_t row) {
      Out ignored;
      return op(reader.At(row - row % kBlockRows)[row % kBlockRows], &ignored);
    });
    if (failure != kNoFailure) return on_failure(failure, input);
  }
  return MakeArrayDatum(input.type, input.num_rows, std::move(validity), std::move(values));
}

/// One output for a value of each of two arguments: op(L left, R right, Out* out) returns a Failure.
template <typename Out, typename L, typename R, typename Op>
arrow::Result<arrow::Datum> MapBinary(const KernelInput& input, Op op, FailureStatus on_failure = nullptr) {
  ARROW_ASSIGN_OR_RAISE(auto validity, CombinedValidity(input.arguments, input.num_rows, input.context.pool));
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> values,
                        arrow::AllocateBuffer(input.num_rows * sizeof(Out), input.context.pool));
  const BlockReader<L> left_reader(input.arguments[0]);
  const BlockReader<R> right_reader(input.arguments[1]);
  Out* out = reinterpret_cast<Out*>(values->mutable_data());
  uint8_t failures = 0;
  for (int64_t begin = 0; begin < input.num_rows; begin += kBlockRows) {
    const int64_t count = std::min(kBlockRows, input.num_rows - begin);
    const L* left = left_reader.At(begin);
    const R* right = right_reader.At(begin);
    for (int64_t i = 0; i < count; ++i) failures |= op(left[i], right[i], &out[begin + i]);
  }
  if (failures != kNoFailure && on_failure != nullptr) {
    const uint8_t failure = FirstFailure(validity, input.num_rows, [&](int64_t row) {
      Out ignored;
      const int64_t block = row - row % kBlockRows;
      return op(left_reader.At(block)[row - block], right_reader.At(block)[row - block], &ignored);
    });
    if (failure != kNoFailure) return on_failure(failure, input);
  }
  return MakeArrayDatum(input.type, input.num_rows, std::move(validity), std::move(values));
}

/// Bits for one test of two values: op(left, right) returns bool. The result has no validity of its own.
template <typename T, typename Op>
arrow::Result<std::shared_ptr<arrow::Buffer>> MapBits(const arrow::Datum& left_datum, const arrow::Datum& right_datum,
                                                      int64_t num_rows, arrow::MemoryPool* pool, Op op) {
  ARROW_ASSIGN_OR_RAISE(auto bits, AllocateBits(num_rows, pool));
  const BlockReader<T> left_reader(left_datum);
  const BlockReader<T> right_reader(right_datum);
  uint8_t bytes[kBlockRows];
  for (int64_t begin = 0; begin < num_rows; begin += kBlockRows) {
    const int64_t count = std::min(kBlockRows, num_rows - begin);
    const T* left = left_reader.At(begin);
    const T* right = right_reader.At(begin);
    for (int64_t i = 0; i < count; ++i) bytes[i] = op(left[i], right[i]);
    PackBits(bytes, count, bits->mutable_data(), begin);
  }
  return bits;
}

/// Bits for one test of a row number.
template <typename Op>
arrow::Result<std::shared_ptr<arrow::Buffer>> MapRowsToBits(int64_t num_rows, arrow::MemoryPool* pool, Op op) {
  ARROW_ASSIGN_OR_RAISE(auto bits, AllocateBits(num_rows, pool));
  uint8_t bytes[kBlockRows];
  for (int64_t begin = 0; begin < num_rows; begin += kBlockRows) {
    const int64_t count = std::min(kBlockRows, num_rows - begin);
    for (int64_t i = 0; i < count; ++i) bytes[i] = op(begin + i);
    PackBits(bytes, count, bits->mutable_data(), begin);
  }
  return bits;
}

/// Random access to a fixed-width argument; for kernels whose work a row outweighs the index arithmetic.
template <typename T>
class ValueReader {
 public:
  explicit ValueReader(const arrow::Datum& datum)
      : scalar_(datum.is_array() ? T{} : ScalarValue<T>(*datum.scalar())),
        values_(reinterpret_cast<const uint8_t*>(datum.is_array() ? datum.array()->GetValues<T>(1) : &scalar_)),
        mask_(datum.is_array() ? -1 : 0) {}
  ValueReader(const ValueReader&) = delete;
  ValueReader& operator=(const ValueReader&) = delete;
  T operator[](int64_t row) const {
    T value;
    std::memcpy(&value, values_ + (row & mask_) * static_cast<int64_t>(sizeof(T)), sizeof(T));
    return value;
  }

 private:
  const T scalar_;
  const uint8_t* const values_;
  const int64_t mask_;
};

/// Random access to text, bytea (of any or of fixed size) and uuid arguments.
class BytesReader {
 public:
  explicit BytesReader(const arrow::Datum& datum);
  std::string_view operator[](int64_t row) const {
    if (offsets_ == nullptr) return {data_ + (row & mask_) * width_, static_cast<size_t>(width_)};
    return {data_ + offsets_[row], static_cast<size_t>(offsets_[row + 1] - offsets_[row])};
  }

 private:
  const int32_t* offsets_ = nullptr;  ///< nullptr: every value has `width_` bytes
  const char* data_ = nullptr;
  int64_t width_ = 0;
  int64_t mask_ = -1;
};

/// Rows of an argument that are not null.
class ValidityReader {
 public:
  explicit ValidityReader(const arrow::Datum& datum);
  bool operator[](int64_t row) const { return bits_ == nullptr ? all_ : arrow::bit_util::GetBit(bits_, offset_ + row); }

 private:
  const uint8_t* bits_ = nullptr;
  int64_t offset_ = 0;
  bool all_ = true;
};

}  // namespace icebound::expr
