// SPDX-License-Identifier: Apache-2.0
//
// Least and greatest value of a page or a column chunk, in the order that parquet-format prescribes for the column's logical
// type.
//
//   integers      signed or unsigned, by logical type
//   floats        NaN is skipped; a zero is written as -0 in the minimum and +0 in the maximum, since both compare equal
//   byte arrays   unsigned bytes; decimals in fixed bytes as signed big-endian numbers; half floats as floats
//
// Long values are cut: a minimum to a prefix, a maximum to a prefix whose last character (byte, when not text) is raised, and
// both are then marked as inexact. A maximum that cannot be raised has no bound.
#pragma once

#include <parquet/schema.h>
#include <parquet/statistics.h>
#include <parquet/types.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>

namespace icebound::io {

/// Bounds in their encoded form, ready for parquet::EncodedStatistics.
struct EncodedBounds {
  bool valid = false;
  std::string minimum;
  std::string maximum;
  bool minimum_exact = true;
  bool maximum_exact = true;
};

/// Values in column chunk statistics are kept whole up to this many bytes, beyond it cut to kCutBytes. Page indexes always cut.
constexpr size_t kWholeBoundBytes = 256;
constexpr size_t kCutBytes = 64;

/// Cuts both bounds to at most `bytes`. `text`: they are UTF-8 and stay so.
EncodedBounds CutBounds(const EncodedBounds& bounds, size_t bytes, bool text);

/// Bounds of numbers.
template <typename T>
class NumberBounds {
 public:
  void Update(const T* values, int64_t count) {
    if constexpr (std::is_floating_point_v<T>) {
      for (int64_t i = 0; i < count; ++i) {
        if (std::isnan(values[i])) continue;
        Include(values[i], values[i]);
      }
    } else if (count > 0) {
      T minimum = values[0];
      T maximum = values[0];
      for (int64_t i = 1; i < count; ++i) {
        minimum = values[i] < minimum ? values[i] : minimum;
        maximum = values[i] > maximum ? values[i] : maximum;
      }
      Include(minimum, maximum);
    }
  }
  void Merge(const NumberBounds& other) {
    if (other.valid_) Include(other.minimum_, other.maximum_);
  }
  void Reset() { valid_ = false; }

  bool valid() const { return valid_; }
  T minimum() const { return minimum_; }
  T maximum() const { return maximum_; }

  EncodedBounds Encode() const {
    EncodedBounds encoded;
    if (!valid_) return encoded;
    T minimum = minimum_;
    T maximum = maximum_;
    if constexpr (std::is_floating_point_v<T>) {
      if (minimum == 0) minimum = -T{0};
      if (maximum == 0) maximum = T{0};
    }
    encoded.valid = true;
    encoded.minimum.assign(reinterpret_cast<const char*>(&minimum), sizeof(T));
    encoded.maximum.assign(reinterpret_cast<const char*>(&maximum), sizeof(T));
    return encoded;
  }

 private:
  void Include(T minimum, T maximum) {
    if (!valid_) {
      valid_ = true;
      minimum_ = minimum;
      maximum_ = maximum;
      return;
    }
    minimum_ = minimum < minimum_ ? minimum : minimum_;
    maximum_ = maximum > maximum_ ? maximum : maximum_;
  }

  bool valid_ = false;
  T minimum_{};
  T maximum_{};
};

enum class BytesOrder { kUnsigned, kText, kSignedBigEndian, kHalfFloat };

/// Bounds of byte strings. Values longer than kWholeBoundBytes are remembered cut, so that memory stays small.
class BytesBounds {
 public:
  explicit BytesBounds(BytesOrder order) : order_(order) {}

  void Update(const parquet::ByteArray& value) {
    const uint64_t prefix = Prefix(value.ptr, value.len);
    if (valid_ && prefix > minimum_.prefix && prefix < maximum_.prefix) return;
    UpdateSlowly(value.ptr, value.len, prefix);
  }
  void Merge(const BytesBounds& other);
  void Reset() {
    valid_ = false;
    unbounded_ = false;
  }
  EncodedBounds Encode() const;

 private:
  struct Bound {
    std::string value;
    uint64_t prefix = 0;
    bool exact = true;
  };

  /// The first eight bytes as a number that orders as the values do; shorter values end in zeros.
  uint64_t Prefix(const uint8_t* value, size_t length) const {
    uint64_t prefix = 0;
    if (length >= 8) {
      std::memcpy(&prefix, value, 8);
    } else if (length > 0) {
      std::memcpy(&prefix, value, length);
    }
    prefix = __builtin_bswap64(prefix);
    if (order_ == BytesOrder::kSignedBigEndian) return prefix ^ (uint64_t{1} << 63);
    if (order_ == BytesOrder::kHalfFloat) return HalfFloatPrefix(value);
    return prefix;
  }
  static uint64_t HalfFloatPrefix(const uint8_t* value);

  void UpdateSlowly(const uint8_t* value, size_t length, uint64_t prefix);
  bool Less(const uint8_t* a, size_t a_length, uint64_t a_prefix, const uint8_t* b, size_t b_length, uint64_t b_prefix) const;
  void SetMinimum(const uint8_t* value, size_t length, uint64_t prefix);
  void SetMaximum(const uint8_t* value, size_t length, uint64_t prefix);

  const BytesOrder order_;
  bool valid_ = false;
  bool unbounded_ = false;  // a maximum could not be cut
  Bound minimum_;
  Bound maximum_;
};

}  // namespace icebound::io
