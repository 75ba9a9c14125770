// SPDX-License-Identifier: Apache-2.0
//
// Parquet's RLE / bit-packed hybrid: what levels and dictionary codes are stored as (parquet-format, Encodings.md).
//
//   stream  = run*
//   run     = varint(count << 1)            value in ceil(width / 8) bytes      `count` times the same value
//           | varint((groups << 1) | 1)     groups * width bytes                8 * groups values, least significant bit first
//
// We look at aligned groups of eight: a group whose values are equal extends the run before it or starts one; a run is written as
// such when it is shorter than its packed form, otherwise its groups join the packed ones around it. So a run never straddles a
// group, a stream holds at most one header a group, and the test is a handful of XORs. The last group is filled up with zeros,
// which readers ignore.
#pragma once

#include <cstdint>

namespace icebound::io {

/// Bits that hold every value up to `maximum`; 0 for 0.
inline int BitWidth(uint32_t maximum) { return maximum == 0 ? 0 : 32 - __builtin_clz(maximum); }

/// An upper bound of the bytes that EncodeHybrid writes.
inline int64_t MaxHybridBytes(int64_t count, int bit_width) { return (count + 7) / 8 * (bit_width + 1) + 16; }

/// Encodes `count` values below 2^bit_width (1 to 32; 1 to 8 for bytes). Returns the bytes written to `out`.
int64_t EncodeHybrid(const uint32_t* values, int64_t count, int bit_width, uint8_t* out);
int64_t EncodeHybrid(const uint8_t* values, int64_t count, int bit_width, uint8_t* out);

/// One run of `count` times `value`, as EncodeHybrid would write it.
int64_t EncodeHybridRun(uint32_t value, int64_t count, int bit_width, uint8_t* out);

}  // namespace icebound::io
