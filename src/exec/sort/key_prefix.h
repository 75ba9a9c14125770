// SPDX-License-Identifier: Apache-2.0
//
// Sort keys squeezed into one 64-bit number.
//
// Keys are long, but most of their bits never change: the null markers, the high bytes of a date or an order number,
// "https://www." of an address. RowSpread notes which bits vary at all (keys of a fixed width), or how many first
// bytes are common (other keys). KeyPrefix takes the first 64 bits that matter. For ORDER BY l_shipdate, l_orderkey,
// l_linenumber, 16 bytes, about 41 bits vary: the numbers decide the whole order and the rows are never looked at.
//
//   fixed width   the varying bits form segments; a gap of fewer than eight constant bits does not end one (they
//                 order nothing, so they do no harm). The prefix is the segments side by side, at most eight, at most
//                 64 bits. It is exact when it has all of them.
//   otherwise     the eight bytes behind the common ones, filled up with 00 where the key ends
//
// When prefixes tie and the prefix is not exact, keys differ from resume_offset() on or not at all.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "exec/sort/row_layout.h"
#include "exec/sort/row_spread.h"

namespace icebound::exec::sort {

/// Immutable, hence thread safe.
class KeyPrefix {
 public:
  explicit KeyPrefix(const RowSpread& spread);

  uint64_t Of(const uint8_t* row) const {
    const uint8_t* key = layout_.Key(row);
    if (!layout_.key_is_fixed) return LoadPadded(key, layout_.KeyBytes(row), common_bytes_);
    uint64_t prefix = segment_count_ == 0 ? 0 : Take(segments_[0], key);
    for (int i = 1; i < segment_count_; ++i) prefix = prefix << segments_[i].bits | Take(segments_[i], key);
    return prefix;
  }

  /// Sets the prefix of every entry.
  void Compute(std::span<SortEntry> entries) const;

  /// Whether these prefixes also order rows of another spread as well as prefixes made for it would.
  bool Suits(const RowSpread& spread) const;

  int bits() const { return bits_; }                         ///< prefixes are below 2^bits
  bool exact() const { return exact_; }                      ///< equal prefixes mean equal keys
  uint32_t resume_offset() const { return resume_offset_; }  ///< key bytes in front of it are equal when prefixes are

  /// The eight key bytes at `offset`, with 00 for those behind the key's end.
  static uint64_t LoadPadded(const uint8_t* key, uint32_t key_bytes, uint32_t offset) {
    if (offset >= key_bytes) return 0;
    const uint64_t word = LoadOrdered(key + offset);
    const uint32_t left = key_bytes - offset;
    return left >= 8 ? word : word & (~uint64_t{0} << (8 * (8 - left)));
  }

 private:
  struct Segment {
    uint32_t byte = 0;   // where the eight bytes start that hold it
    uint32_t shift = 0;  // bits behind it in those bytes
    uint32_t bits = 0;
    uint64_t mask = 0;
  };

  static uint64_t Take(const Segment& segment, const uint8_t* key) {
    return LoadOrdered(key + segment.byte) >> segment.shift & segment.mask;
  }
  void MakeSegments(const RowSpread& spread);
  bool InSegments(uint32_t bit) const;

  RowLayout layout_;
  std::array<Segment, 8> segments_;
  int segment_count_ = 0;
  int bits_ = 0;
  bool exact_ = false;
  uint32_t common_bytes_ = 0;
  uint32_t resume_offset_ = 0;
};

}  // namespace icebound::exec::sort
