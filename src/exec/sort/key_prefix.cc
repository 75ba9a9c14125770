// SPDX-License-Identifier: Apache-2.0
#include "exec/sort/key_prefix.h"

#include <algorithm>

namespace icebound::exec::sort {

KeySpread::KeySpread(const RowLayout& layout) : layout_(layout) {
  if (layout.key_is_fixed) words_ = (std::min(layout.fixed_key_bytes, kWatchedBytes) + 7) / 8;
}

void KeySpread::SetFirst(const uint8_t* row) {
  if (layout_.key_is_fixed) {
    std::memcpy(first_.data(), layout_.Key(row), 8 * words_);
  } else {
    common_bytes_ = std::min(layout_.KeyBytes(row), kWatchedBytes);
    std::memcpy(first_.data(), layout_.Key(row), common_bytes_);
  }
}

void KeySpread::ShortenCommon(const uint8_t* key) {
  // A shorter key differs from the first one before its end, because none is a prefix of another; so this never counts bytes behind it.
  common_bytes_ = static_cast<uint32_t>(std::mismatch(first_bytes(), first_bytes() + common_bytes_, key).first - first_bytes());
}

void KeySpread::Merge(const KeySpread& other) {
  if (other.rows_ == 0) return;
  if (rows_ == 0) {
    *this = other;
    return;
  }
  for (uint32_t word = 0; word < words_; ++word) varying_[word] |= other.varying_[word] | (first_[word] ^ other.first_[word]);
  if (!layout_.key_is_fixed) {
    common_bytes_ = std::min(common_bytes_, other.common_bytes_);
    ShortenCommon(other.first_bytes());
  }
  rows_ += other.rows_;
}

bool KeySpread::Varies(uint32_t bit) const {
  return (reinterpret_cast<const uint8_t*>(varying_.data())[bit / 8] >> (7 - bit % 8) & 1) != 0;
}

KeyPrefix::KeyPrefix(const KeySpread& spread) : layout_(spread.layout_), common_bytes_(spread.common_bytes_) {
  if (layout_.key_is_fixed) {
    MakeSegments(spread);
  } else {
    bits_ = 64;
    resume_offset_ = common_bytes_ + 8;
  }
}

void KeyPrefix::MakeSegments(const KeySpread& spread) {
  constexpr uint32_t kGapBitsMax = 8;
  const uint32_t watched_bits = 8 * std::min(layout_.fixed_key_bytes, KeySpread::kWatchedBytes);
  uint32_t bit = 0;
  const auto skip_constant = [&] {
    while (bit < watched_bits && !spread.Varies(bit)) ++bit;
  };
  for (skip_constant(); bit < watched_bits && segment_count_ < static_cast<int>(segments_.size()) && bits_ < 64; skip_constant()) {
    const uint32_t start = bit;
    // Eight bytes are read from the byte that holds `start`, so a segment ends with them; and the prefix has 64 bits.
    const uint32_t last = std::min({watched_bits, start - start % 8 + 64, start + static_cast<uint32_t>(64 - bits_)});
    uint32_t end = start + 1;
    for (uint32_t at = end; at < last && at < end + kGapBitsMax; ++at) {
      if (spread.Varies(at)) end = at + 1;
    }
    Segment& segment = segments_[segment_count_++];
    segment.byte = start / 8;
    segment.bits = end - start;
    segment.shift = 64 - start % 8 - segment.bits;
    segment.mask = segment.bits == 64 ? ~uint64_t{0} : (uint64_t{1} << segment.bits) - 1;
    bits_ += static_cast<int>(segment.bits);
    bit = end;
  }
  exact_ = bit == watched_bits && layout_.fixed_key_bytes <= KeySpread::kWatchedBytes;
  resume_offset_ = bit / 8;
}

void KeyPrefix::Compute(std::span<SortEntry> entries) const {
  if (layout_.key_is_fixed && segment_count_ == 1) {
    const Segment only = segments_[0];
    for (SortEntry& entry : entries) entry.prefix = Take(only, layout_.Key(entry.row));
  } else if (layout_.key_is_fixed && segment_count_ == 2) {
    const Segment first = segments_[0];
    const Segment second = segments_[1];
    for (SortEntry& entry : entries) {
      const uint8_t* key = layout_.Key(entry.row);
      entry.prefix = Take(first, key) << second.bits | Take(second, key);
    }
  } else if (layout_.key_is_fixed && segment_count_ == 3) {
    const Segment first = segments_[0];
    const Segment second = segments_[1];
    const Segment third = segments_[2];
    for (SortEntry& entry : entries) {
      const uint8_t* key = layout_.Key(entry.row);
      entry.prefix = (Take(first, key) << second.bits | Take(second, key)) << third.bits | Take(third, key);
    }
  } else {
    for (SortEntry& entry : entries) entry.prefix = Of(entry.row);
  }
}

}  // namespace icebound::exec::sort
