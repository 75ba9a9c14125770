// SPDX-License-Identifier: Apache-2.0
#include "exec/sort/row_spread.h"

#include <algorithm>

namespace icebound::exec::sort {
namespace {

/// Two words that the compiler keeps in one register.
using WordPair = uint64_t __attribute__((vector_size(16)));

WordPair LoadPair(const void* at) {
  WordPair pair;
  std::memcpy(&pair, at, sizeof(pair));
  return pair;
}

}  // namespace

RowSpread::RowSpread(const RowLayout& layout)
    : layout_(layout), watched_bytes_(std::min(layout.fixed_part_bytes, kWatchedBytesMax)) {
  const size_t lines = (watched_bytes_ + 8 * kLineWords - 1) / (8 * kLineWords);
  first_.resize(lines * kLineWords);
  varying_.resize(lines * kLineWords);
}

void RowSpread::SetFirst(const uint8_t* row) {
  std::copy_n(row + layout_.FixedPartOffset(row), watched_bytes_, reinterpret_cast<uint8_t*>(first_.data()));
  std::fill(varying_.begin(), varying_.end(), 0);
  if (!layout_.key_is_fixed) {
    common_key_bytes_ = std::min(layout_.KeyBytes(row), kCommonKeyBytesMax);
    std::memcpy(first_key_.data(), layout_.Key(row), common_key_bytes_);
  }
}

void RowSpread::Add(std::span<const SortEntry> rows) {
  if (rows.empty()) return;
  if (rows_ == 0) SetFirst(rows[0].row);
  rows_ += static_cast<int64_t>(rows.size());
  for (size_t line = 0; line < first_.size(); line += kLineWords) {
    const uint64_t* first = first_.data() + line;
    uint64_t* varying = varying_.data() + line;
    const WordPair first0 = LoadPair(first), first1 = LoadPair(first + 2), first2 = LoadPair(first + 4),
                   first3 = LoadPair(first + 6);
    WordPair varying0{}, varying1{}, varying2{}, varying3{};
    for (const SortEntry& entry : rows) {
      const uint8_t* at = entry.row + layout_.FixedPartOffset(entry.row) + 8 * line;
      varying0 |= LoadPair(at) ^ first0;
      varying1 |= LoadPair(at + 16) ^ first1;
      varying2 |= LoadPair(at + 32) ^ first2;
      varying3 |= LoadPair(at + 48) ^ first3;
    }
    const WordPair found[4] = {varying0, varying1, varying2, varying3};
    for (uint32_t word = 0; word < kLineWords; ++word) varying[word] |= found[word / 2][word % 2];
  }
  if (layout_.key_is_fixed) return;
  for (const SortEntry& entry : rows) {
    if (common_key_bytes_ == 0) break;
    ShortenCommonKey(layout_.Key(entry.row), layout_.KeyBytes(entry.row));
  }
}

void RowSpread::ShortenCommonKey(const uint8_t* key, uint32_t bytes_max) {
  const uint32_t bytes = std::min(common_key_bytes_, bytes_max);
  if (std::memcmp(first_key_.data(), key, bytes) == 0) {
    common_key_bytes_ = bytes;
  } else {
    common_key_bytes_ =
        static_cast<uint32_t>(std::mismatch(first_key_.begin(), first_key_.begin() + bytes, key).first - first_key_.begin());
  }
}

void RowSpread::Merge(const RowSpread& other) {
  if (other.rows_ == 0) return;
  if (rows_ == 0) {
    *this = other;
    return;
  }
  for (size_t word = 0; word < first_.size(); ++word)
    varying_[word] |= other.varying_[word] | (first_[word] ^ other.first_[word]);
  if (!layout_.key_is_fixed) ShortenCommonKey(other.first_key_.data(), other.common_key_bytes_);
  rows_ += other.rows_;
}

}  // namespace icebound::exec::sort
