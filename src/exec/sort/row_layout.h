// SPDX-License-Identifier: Apache-2.0
//
// Where things are in a sorter's row, which is the same in the arena and in the merge:
//
//   key fixed, payload fixed    [key | payload]                                   every row has the same size
//   key fixed                   [row bytes, 4 | key | payload]
//   otherwise                   [row bytes, 4 | key bytes, 4 | key | payload]
//
// "row bytes" counts the whole row, head included. key = row/sort_key.h, payload = row/row_codec.h, which begins with
// bytes of a fixed number. So every row has a fixed part, whose bytes are at the same place in all rows: head, key and
// fixed bytes of the payload, from the start of the row on; or, when keys vary in width, the fixed bytes of the payload
// alone. Rows are not aligned.
//
// Comparing and packing may read up to kReadSlackBytes past a row; whoever stores rows keeps that many readable bytes
// behind them.
#pragma once

#include <cstdint>
#include <cstring>

namespace icebound::exec::sort {

/// Bytes that may be read (never used) behind a row: a cache line.
constexpr int64_t kReadSlackBytes = 64;

struct RowLayout {
  uint32_t fixed_row_bytes = 0;  ///< 0: each row says
  uint32_t fixed_key_bytes = 0;  ///< meaningful when key_is_fixed
  bool key_is_fixed = false;
  uint32_t head_bytes = 0;        ///< 0, 4 or 8
  uint32_t fixed_part_bytes = 0;  ///< see above

  uint32_t RowBytes(const uint8_t* row) const {
    if (fixed_row_bytes != 0) return fixed_row_bytes;
    return LoadHead(row);
  }
  uint32_t KeyBytes(const uint8_t* row) const { return key_is_fixed ? fixed_key_bytes : LoadHead(row + 4); }
  const uint8_t* Key(const uint8_t* row) const { return row + head_bytes; }
  uint32_t PayloadOffset(const uint8_t* row) const { return head_bytes + KeyBytes(row); }
  uint32_t FixedPartOffset(const uint8_t* row) const { return key_is_fixed ? 0 : PayloadOffset(row); }

  /// Order of two keys that agree in their first `offset` bytes.
  int CompareFrom(const uint8_t* left, const uint8_t* right, uint32_t offset) const {
    const uint32_t left_bytes = KeyBytes(left);
    const uint32_t right_bytes = KeyBytes(right);
    const uint32_t common = left_bytes < right_bytes ? left_bytes : right_bytes;
    if (offset >= common) return 0;  // no key is a proper prefix of another: they are equal
    return std::memcmp(Key(left) + offset, Key(right) + offset, common - offset);
  }

  static uint32_t LoadHead(const uint8_t* at) {
    uint32_t value;
    std::memcpy(&value, at, sizeof(value));
    return value;
  }
};

/// Eight bytes as a number whose order is their memcmp order.
inline uint64_t LoadOrdered(const uint8_t* at) {
  uint64_t value;
  std::memcpy(&value, at, sizeof(value));
  return __builtin_bswap64(value);
}

}  // namespace icebound::exec::sort
