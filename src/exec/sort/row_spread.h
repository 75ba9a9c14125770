// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "exec/sort/row_layout.h"

namespace icebound::exec::sort {

/// A row and the number that orders it.
struct SortEntry {
  uint64_t prefix;
  const uint8_t* row;
};

/// What the rows of a run have in common: which bits of their fixed part are the same in all of them, and, when keys
/// vary in width, how many first key bytes. Keys are shortened by it (key_prefix.h), and rows on disk
/// (row_packing.h). A value type; not thread safe.
class RowSpread {
 public:
  /// Bytes of the fixed part that are watched; those behind count as varying. A spread has two of each, so this
  /// bounds what a run costs.
  static constexpr uint32_t kWatchedBytesMax = 512;

  explicit RowSpread(const RowLayout& layout);

  /// Reads up to kReadSlackBytes past each row.
  void Add(std::span<const SortEntry> rows);

  /// As if all rows of `other` had been added.
  void Merge(const RowSpread& other);

  /// As if no row had been added.
  void Clear() { rows_ = 0; }

  int64_t rows() const { return rows_; }
  const RowLayout& layout() const { return layout_; }

  uint32_t watched_bytes() const { return watched_bytes_; }

  /// The watched bytes of one of the rows, and the bits in which any other differs from it.
  const uint8_t* constants() const { return reinterpret_cast<const uint8_t*>(first_.data()); }
  const uint8_t* varying_bits() const { return reinterpret_cast<const uint8_t*>(varying_.data()); }

  /// First key bytes that are the same in all rows, when keys vary in width.
  uint32_t common_key_bytes() const { return common_key_bytes_; }

 private:
  /// Watched words are taken by cache lines, so that a line's words stay in registers over many rows.
  static constexpr uint32_t kLineWords = 8;
  static constexpr uint32_t kCommonKeyBytesMax = 56;

  void SetFirst(const uint8_t* row);
  void ShortenCommonKey(const uint8_t* key, uint32_t bytes_max);

  RowLayout layout_;
  uint32_t watched_bytes_ = 0;
  uint32_t common_key_bytes_ = 0;
  int64_t rows_ = 0;
  std::vector<uint64_t> first_;  // words in memory order, whole lines
  std::vector<uint64_t> varying_;
  std::array<uint8_t, kCommonKeyBytesMax> first_key_{};
};

}  // namespace icebound::exec::sort
