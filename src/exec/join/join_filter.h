// SPDX-License-Identifier: Apache-2.0
//
// What the build side's keys say about a probe row without looking at a table: a Bloom filter of their hashes, and the least and
// the greatest value of each integer key. Both see every row of the build side, whether it stays in memory or not, and nothing is
// asked before all have been added (Publish): a filter of a part of the rows would drop rows that match.
//
// The Bloom filter has one word of 64 bits for a hash, and sets four bits of it: one cache miss a lookup. Its size is chosen
// before the rows are known; once they are, it is folded to what they need.
#pragma once

#include <arrow/array.h>
#include <arrow/status.h>

#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "exec/sort/mapped_pages.h"
#include "exec/sort/sort_budget.h"

namespace icebound::exec::join {

/// Integers, dates and times as they are compared.
struct KeyRange {
  int64_t least = INT64_MAX;
  int64_t greatest = INT64_MIN;
};

/// Add: any thread. Publish: one, when all rows are there. Apply: any thread, after it.
class JoinFilter {
 public:
  JoinFilter(sort::SortBudget* budget, const std::vector<std::shared_ptr<arrow::DataType>>& key_types);

  /// Takes `bytes` for the Bloom filter, or goes without.
  void Start(int64_t bytes);

  /// One worker's ranges, merged by Publish.
  std::vector<KeyRange> NewRanges() const { return std::vector<KeyRange>(key_types_.size()); }

  /// Adds rows with valid[i] != 0.
  void Add(const arrow::ArrayVector& keys, std::span<const uint64_t> hashes, std::span<const uint8_t> valid,
           std::vector<KeyRange>* ranges);

  /// `null_safe[k]`: NULLs of that key match, so its range says nothing.
  void Publish(const std::vector<std::vector<KeyRange>>& ranges, const std::vector<bool>& null_safe, int64_t rows);

  /// Zeroes pass[i] of rows that match nothing. Returns how many still pass.
  int64_t ApplyRanges(const arrow::ArrayVector& keys, std::span<uint8_t> pass) const;
  int64_t ApplyBloom(std::span<const uint64_t> hashes, std::span<uint8_t> pass) const;

  bool has_bloom() const { return published_ && word_count_ > 0; }
  bool has_ranges() const { return published_ && has_ranges_; }
  KeyRange range(size_t key) const { return ranges_[key]; }  ///< once published

 private:
  static constexpr size_t kMaskCount = 256;

  /// Words with four bits, drawn from a fixed sequence.
  static constexpr std::array<uint64_t, kMaskCount> MakeMasks() {
    std::array<uint64_t, kMaskCount> masks{};
    uint64_t state = 1;
    for (uint64_t& mask : masks) {
      while (std::popcount(mask) < 4) {
        state = state * 6364136223846793005ULL + 1442695040888963407ULL;
        mask |= uint64_t{1} << (state >> 58);
      }
    }
    return masks;
  }
  /// One of 256 * 64 patterns: a load and a rotation, where four shifts would take four times as long.
  static uint64_t BitsOf(uint64_t hash) {
    static constexpr std::array<uint64_t, kMaskCount> kMasks = MakeMasks();
    return std::rotl(kMasks[hash % kMaskCount], static_cast<int>(hash / kMaskCount % 64));
  }
  void Fold();
  size_t WordOf(uint64_t hash) const { return static_cast<size_t>((static_cast<unsigned __int128>(hash) * word_count_) >> 64); }

  const std::vector<std::shared_ptr<arrow::DataType>> key_types_;
  sort::MappedPages pages_;
  uint64_t* words_ = nullptr;
  uint64_t word_count_ = 0;
  std::vector<KeyRange> ranges_;  // of all rows, once published
  bool has_ranges_ = false;
  bool published_ = false;
};

}  // namespace icebound::exec::join
