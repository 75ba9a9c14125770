// SPDX-License-Identifier: Apache-2.0
//
// Rows without the bytes that are the same in all rows of a run: how rows lie in spill blocks.
//
// Most bytes of a row's fixed part never change in a run: the high bytes of numbers, dates and lengths, null bits.
// Leaving them out halves an ordinary row, at a tenth of what a general compressor costs for the same (LZ4 takes
// about 280 ns for a row of TPC-H lineitem).
//
//   packed row = varying bytes of the fixed part, in order | all bytes behind the (watched) fixed part
//
//   and when keys vary in width, in front of that, for the head that is not in the fixed part then:
//                key bytes, 1 to 5 | payload bytes, 1 to 5 | key
//
// The fixed part is taken in lanes of 16 bytes. Packing shuffles a lane so that its varying bytes stand first, stores
// all 16, and moves on by their number; unpacking shuffles them back to their places and fills the others with the
// run's constants. So both write up to kOverrunBytes past a row's end; what follows is written later.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "exec/sort/row_layout.h"
#include "exec/sort/row_spread.h"

namespace icebound::exec::sort {

/// Immutable once made, hence thread safe.
class RowPacking {
 public:
  /// Bytes that Pack and Unpack may write (and Unpack read) past the end of a row.
  static constexpr int64_t kOverrunBytes = 16;

  /// For rows of `spread`.
  explicit RowPacking(const RowSpread& spread);

  /// As bytes, for the reader of the rows: [watched bytes of one row | the bits that differ from it in others].
  static int64_t EncodedBytes(const RowLayout& layout);
  static void Encode(const RowSpread& spread, uint8_t* out);
  RowPacking(const RowLayout& layout, const uint8_t* encoded);

  /// Bytes the tables take at most.
  static constexpr int64_t kTableBytesMax = (RowSpread::kWatchedBytesMax / 16) * 52 + 128;

  /// Writes the packed row at `out`; returns where the next one goes.
  uint8_t* Pack(const uint8_t* row, uint8_t* out) const;

  /// Rebuilds `rows` rows from `packed` one behind the other at `out`, which has room for `out_bytes` and
  /// kOverrunBytes more. False when the bytes are not packed rows that fill out exactly.
  bool Unpack(std::span<const uint8_t> packed, int64_t rows, uint8_t* out, int64_t out_bytes) const;

 private:
  /// Sixteen bytes of the fixed part.
  struct Lane {
    uint8_t gather[16];    // packing: byte i of the output is byte gather[i] of the lane
    uint8_t scatter[16];   // unpacking: byte i of the lane is byte scatter[i] of the input; 80: it is constant
    uint8_t constant[16];  // the byte where it is constant, else 00
    uint32_t varying_bytes;
  };
  /// How the machine at hand shuffles lanes.
  struct LaneLoops;

  void MakeLanes(const uint8_t* constants, const uint8_t* varying_bits);
  const uint8_t* UnpackHeadAndKey(const uint8_t* packed, const uint8_t* packed_end, uint8_t* row, const uint8_t* row_end) const;

  RowLayout layout_;
  uint32_t watched_bytes_ = 0;
  uint32_t varying_bytes_ = 0;
  std::vector<Lane> lanes_;
  const LaneLoops& loops_;
};

}  // namespace icebound::exec::sort
