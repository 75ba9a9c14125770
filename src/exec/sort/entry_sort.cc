// SPDX-License-Identifier: Apache-2.0
#include "exec/sort/entry_sort.h"

#include <algorithm>
#include <array>

namespace icebound::exec::sort {
namespace {

constexpr int kDigitBits = 8;
constexpr size_t kDigits = size_t{1} << kDigitBits;

/// Below this many entries, comparing beats counting: eight histograms of 256 counters cost about as much as sorting 200 numbers.
constexpr size_t kCompareEntriesMax = 200;

/// Groups up to this size compare their keys rather than cache the next digit: half a dozen comparisons cost less than a pass.
constexpr size_t kCompareRowsMax = 8;

/// Nesting of step 3 after which keys are compared: crafted keys could otherwise nest as deep as there are rows.
constexpr int kDepthMax = 64;

/// Rows ahead whose keys are fetched into the cache while digits are loaded: memory takes about 100 ns, a digit about 5.
constexpr size_t kPrefetchRows = 16;

bool ByPrefix(const SortEntry& left, const SortEntry& right) { return left.prefix < right.prefix; }

void InsertionSortByPrefix(std::span<SortEntry> entries) {
  for (size_t i = 1; i < entries.size(); ++i) {
    const SortEntry entry = entries[i];
    size_t at = i;
    for (; at > 0 && entry.prefix < entries[at - 1].prefix; --at) entries[at] = entries[at - 1];
    entries[at] = entry;
  }
}

class EntrySorter {
 public:
  EntrySorter(const RowLayout& layout, std::span<SortEntry> scratch) : layout_(layout), scratch_(scratch) {}

  /// Sorts by the lowest `bits` bits of the prefixes; the others are equal.
  void SortByPrefix(std::span<SortEntry> entries, int bits) {
    if (bits <= 0 || entries.size() < 2) return;
    if (entries.size() <= 24) {
      InsertionSortByPrefix(entries);
    } else if (entries.size() <= kCompareEntriesMax) {
      std::sort(entries.begin(), entries.end(), ByPrefix);
    } else if (entries.size() <= scratch_.size()) {
      SortByCounting(entries, bits);
    } else {
      SplitInPlace(entries, bits);
    }
  }

  /// Sorts groups of equal prefixes by the key bytes from `offset` on.
  void SortTies(std::span<SortEntry> entries, uint32_t offset, int depth) {
    for (size_t begin = 0; begin < entries.size();) {
      size_t end = begin + 1;
      if (depth == 0 && begin + kPrefetchRows < entries.size()) Prefetch(entries[begin + kPrefetchRows], offset);
      while (end < entries.size() && entries[end].prefix == entries[begin].prefix) {
        if (depth == 0 && end + kPrefetchRows < entries.size()) Prefetch(entries[end + kPrefetchRows], offset);
        ++end;
      }
      if (end - begin > 1) SortGroup(entries.subspan(begin, end - begin), offset, depth);
      begin = end;
    }
  }

 private:
  /// Fetches the head of a row and its key at `offset` into the cache. Below the first level they are there already.
  void Prefetch(const SortEntry& entry, uint32_t offset) const {
    __builtin_prefetch(entry.row);
    __builtin_prefetch(layout_.Key(entry.row) + offset + 7);
  }

  /// Least significant digit first, through the scratch.
  void SortByCounting(std::span<SortEntry> entries, int bits);

  /// Most significant digit first, by swapping entries to where their digit belongs.
  void SplitInPlace(std::span<SortEntry> entries, int bits);

  /// Sorts rows whose keys agree in their first `offset` bytes.
  void SortGroup(std::span<SortEntry> entries, uint32_t offset, int depth);

  void SortByComparing(std::span<SortEntry> entries, uint32_t offset);

  /// Key bytes from `offset` on that all entries have in common.
  uint32_t CommonBytes(std::span<const SortEntry> entries, uint32_t offset) const;

  /// Caches the eight key bytes at `offset`; true when they are the same in all entries.
  bool LoadDigits(std::span<SortEntry> entries, uint32_t offset) const;

  const RowLayout& layout_;
  const std::span<SortEntry> scratch_;
};

void EntrySorter::SortByCounting(std::span<SortEntry> entries, int bits) {
  const int passes = (bits + kDigitBits - 1) / kDigitBits;
  std::array<std::array<uint32_t, kDigits>, 64 / kDigitBits> counts;
  for (int pass = 0; pass < passes; ++pass) counts[pass].fill(0);
  for (const SortEntry& entry : entries) {
    for (int pass = 0; pass < passes; ++pass) ++counts[pass][entry.prefix >> (pass * kDigitBits) & (kDigits - 1)];
  }
  SortEntry* from = entries.data();
  SortEntry* to = scratch_.data();
  for (int pass = 0; pass < passes; ++pass) {
    const int shift = pass * kDigitBits;
    std::array<uint32_t, kDigits>& starts = counts[pass];
    if (starts[from[0].prefix >> shift & (kDigits - 1)] == entries.size()) continue;
    uint32_t start = 0;
    for (uint32_t& count : starts) start += std::exchange(count, start);
    for (size_t i = 0; i < entries.size(); ++i) to[starts[from[i].prefix >> shift & (kDigits - 1)]++] = from[i];
    std::swap(from, to);
  }
  if (from != entries.data()) std::copy(from, from + entries.size(), entries.data());
}

void EntrySorter::SplitInPlace(std::span<SortEntry> entries, int bits) {
  const int shift = std::max(0, bits - kDigitBits);
  const auto digit_of = [shift](const SortEntry& entry) { return entry.prefix >> shift & (kDigits - 1); };
  std::array<size_t, kDigits> counts{};
  for (const SortEntry& entry : entries) ++counts[digit_of(entry)];
  std::array<size_t, kDigits> next;
  std::array<size_t, kDigits> ends;
  size_t start = 0;
  for (size_t digit = 0; digit < kDigits; ++digit) {
    next[digit] = start;
    start += counts[digit];
    ends[digit] = start;
  }
  for (size_t digit = 0; digit < kDigits; ++digit) {
    while (next[digit] < ends[digit]) {
      SortEntry entry = entries[next[digit]];
      for (size_t home = digit_of(entry); home != digit; home = digit_of(entry)) std::swap(entry, entries[next[home]++]);
      entries[next[digit]++] = entry;
    }
  }
  start = 0;
  for (size_t digit = 0; digit < kDigits; ++digit) {
    SortByPrefix(entries.subspan(start, ends[digit] - start), shift);
    start = ends[digit];
  }
}

bool EntrySorter::LoadDigits(std::span<SortEntry> entries, uint32_t offset) const {
  uint64_t differing = 0;
  for (size_t i = 0; i < entries.size(); ++i) {
    if (i + kPrefetchRows < entries.size()) __builtin_prefetch(layout_.Key(entries[i + kPrefetchRows].row) + offset);
    const uint8_t* row = entries[i].row;
    entries[i].prefix = KeyPrefix::LoadPadded(layout_.Key(row), layout_.KeyBytes(row), offset);
    differing |= entries[i].prefix ^ entries[0].prefix;
  }
  return differing == 0;
}

uint32_t EntrySorter::CommonBytes(std::span<const SortEntry> entries, uint32_t offset) const {
  const uint8_t* first = layout_.Key(entries[0].row) + offset;
  uint32_t common = layout_.KeyBytes(entries[0].row) - offset;
  for (const SortEntry& entry : entries.subspan(1)) {
    const uint32_t bytes = std::min(common, layout_.KeyBytes(entry.row) - offset);
    const uint8_t* key = layout_.Key(entry.row) + offset;
    if (std::memcmp(first, key, bytes) == 0) {
      common = bytes;
    } else {
      common = static_cast<uint32_t>(std::mismatch(first, first + bytes, key).first - first);
    }
  }
  return common;
}

void EntrySorter::SortByComparing(std::span<SortEntry> entries, uint32_t offset) {
  const auto less = [&](const SortEntry& left, const SortEntry& right) {
    return layout_.CompareFrom(left.row, right.row, offset) < 0;
  };
  if (entries.size() > kCompareRowsMax) {
    std::sort(entries.begin(), entries.end(), less);
    return;
  }
  for (size_t i = 1; i < entries.size(); ++i) {
    const SortEntry entry = entries[i];
    size_t at = i;
    for (; at > 0 && less(entry, entries[at - 1]); --at) entries[at] = entries[at - 1];
    entries[at] = entry;
  }
}

void EntrySorter::SortGroup(std::span<SortEntry> entries, uint32_t offset, int depth) {
  if (offset >= layout_.KeyBytes(entries[0].row)) return;  // the first key ends here, so all do: they are equal
  if (entries.size() <= kCompareRowsMax || depth >= kDepthMax) return SortByComparing(entries, offset);
  while (LoadDigits(entries, offset)) {
    offset += CommonBytes(entries, offset);
    if (offset >= layout_.KeyBytes(entries[0].row)) return;
  }
  SortByPrefix(entries, 64);
  SortTies(entries, offset + 8, depth + 1);
}

}  // namespace

void SortEntries(const RowLayout& layout, const KeyPrefix& prefix, std::span<SortEntry> entries, std::span<SortEntry> scratch) {
  EntrySorter sorter(layout, scratch);
  sorter.SortByPrefix(entries, prefix.bits());
  if (!prefix.exact()) sorter.SortTies(entries, prefix.resume_offset(), 0);
}

}  // namespace icebound::exec::sort
