// SPDX-License-Identifier: Apache-2.0
//
// How a merge compares rows: by a 64-bit code, and by key bytes only when codes tie.
//
// PrefixOrder serves keys of a fixed width whose varying bits fit a KeyPrefix (all runs together). The code is the
// prefix, so a comparison is one of numbers and ties are equal keys.
//
// OffsetValueOrder serves all others. A code says where a key first differs from the row that was output last, and
// what stands there:
//
//   code = (65535 - index of the first six-byte word that differs) << 48 | that word          0: no difference (or
//                                                                                             behind word 65534)
//
// Of two keys not below the last output row, the one that agrees with it longer, or has the smaller word at the same
// place, is smaller. When codes differ, the larger one is also the code relative to the smaller key; so after each
// step down the tree all codes on the winner's path are relative to the winner again, and bytes that were compared
// once are never compared again. Ties go on behind the word and give the loser a new code. Sources: Conner (1977); Do
// and Graefe, "Robust and Efficient Sorting with Offset-Value Coding" (arXiv 2209.08420). The words must be aligned
// for this to hold: the difference is counted in whole words, not in bytes.
#pragma once

#include <algorithm>
#include <cstdint>

#include "exec/sort/key_prefix.h"
#include "exec/sort/row_layout.h"

namespace icebound::exec::sort {

class PrefixOrder {
 public:
  PrefixOrder(const RowLayout&, const KeyPrefix& prefix) : prefix_(prefix) {}

  uint64_t FirstCode(const uint8_t* row) const { return prefix_.Of(row); }
  uint64_t NextCode(const uint8_t* row, const uint8_t* /*previous*/) const { return prefix_.Of(row); }

  /// Whether `left` goes before `right`, given that their codes are equal: their keys are, so either will do.
  bool BreakTie(const uint8_t* /*left*/, const uint8_t* /*right*/, uint64_t /*code*/, uint64_t* /*loser_code*/) const {
    return true;
  }

 private:
  const KeyPrefix prefix_;
};

class OffsetValueOrder {
 public:
  OffsetValueOrder(const RowLayout& layout, const KeyPrefix&) : layout_(layout) {}

  uint64_t FirstCode(const uint8_t* row) const { return CodeAt(row, 0); }

  /// The code of a row relative to the row before it in its run, which was output last.
  uint64_t NextCode(const uint8_t* row, const uint8_t* previous) const {
    const uint32_t offset = FirstDifference(row, previous, 0);
    return offset == kNoDifference ? 0 : CodeAt(row, offset / kWordBytes);
  }

  bool BreakTie(const uint8_t* left, const uint8_t* right, uint64_t code, uint64_t* loser_code) const {
    const uint32_t word = (kWordsMax - static_cast<uint32_t>(code >> 48)) + (code == 0 ? 0 : 1);
    const uint32_t offset = FirstDifference(left, right, word * kWordBytes);
    if (offset == kNoDifference) {
      *loser_code = 0;
      return true;
    }
    const bool left_first = layout_.Key(left)[offset] < layout_.Key(right)[offset];
    *loser_code = CodeAt(left_first ? right : left, offset / kWordBytes);
    return left_first;
  }

 private:
  static constexpr uint32_t kWordBytes = 6;
  static constexpr uint32_t kWordsMax = 65535;
  static constexpr uint32_t kNoDifference = ~uint32_t{0};

  uint64_t CodeAt(const uint8_t* row, uint32_t word) const {
    if (word >= kWordsMax) return 0;
    const uint64_t value = KeyPrefix::LoadPadded(layout_.Key(row), layout_.KeyBytes(row), word * kWordBytes) >> 16;
    return static_cast<uint64_t>(kWordsMax - word) << 48 | value;
  }

  /// The first byte from `offset` on in which the keys differ, given that they agree before it.
  uint32_t FirstDifference(const uint8_t* left, const uint8_t* right, uint32_t offset) const {
    const uint8_t* left_key = layout_.Key(left);
    const uint8_t* right_key = layout_.Key(right);
    const uint32_t common = std::min(layout_.KeyBytes(left), layout_.KeyBytes(right));
    for (; offset < common; offset += 8) {
      const uint64_t differing = LoadOrdered(left_key + offset) ^ LoadOrdered(right_key + offset);
      if (differing == 0) continue;
      offset += static_cast<uint32_t>(__builtin_clzll(differing)) / 8;
      return offset < common ? offset : kNoDifference;
    }
    return kNoDifference;  // no key is a proper prefix of another: they are equal
  }

  const RowLayout layout_;
};

}  // namespace icebound::exec::sort
