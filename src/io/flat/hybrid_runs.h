// SPDX-License-Identifier: Apache-2.0
//
// The hybrid of run lengths and bit packing that Parquet keeps dictionary indexes and levels in.
//
//   run length   varint(count << 1)        value in ceil(width / 8) bytes, little endian
//   bit packed   varint(groups << 1 | 1)   groups * width bytes: 8 values each, from the lowest bit of the first byte on
//
// Runs are skipped without being unpacked. The last group may be padded: the caller knows how many values there are.
// Source: Apache Parquet, Encodings.md ("Run Length Encoding / Bit-Packing Hybrid").
#pragma once

#include <arrow/status.h>

#include <cstdint>

namespace icebound::io {

/// Not thread safe. The bytes must stay.
class HybridRuns {
 public:
  static constexpr int kMaxBits = 32;

  /// Starts on `size` bytes of values of `bits` bits, at most kMaxBits.
  void Start(const uint8_t* data, int64_t size, int bits);

  /// The next `count` values; an error when the bytes end before.
  arrow::Status Read(int64_t count, uint32_t* out);
  arrow::Status Skip(int64_t count);

  /// Skips `count` values and says how many of them were 1. For levels, which have one bit.
  arrow::Result<int64_t> SkipAndCountOnes(int64_t count);

  /// True when the next `count` values are one run of `value`; they are skipped then.
  arrow::Result<bool> SkipRunOf(uint32_t value, int64_t count);

 private:
  /// Opens the next run when the last one is used up.
  arrow::Status NeedRun();
  void Unpack(int64_t count, uint32_t* out);

  const uint8_t* next_ = nullptr;
  const uint8_t* end_ = nullptr;
  int bits_ = 0;
  int64_t repeats_ = 0;  // left of a run length
  uint32_t repeated_ = 0;
  int64_t packed_ = 0;  // left of a bit packed run, whose
  const uint8_t* packed_bytes_ = nullptr;
  int64_t packed_at_ = 0;  // next value is this one
};

}  // namespace icebound::io
