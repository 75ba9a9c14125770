// SPDX-License-Identifier: Apache-2.0
#include "exec/sort/key_prefix.h"

#include <algorithm>

namespace icebound::exec::sort {

KeyPrefix::KeyPrefix(const RowSpread& spread) : layout_(spread.layout()), common_bytes_(spread.common_key_bytes()) {
  if (layout_.key_is_fixed) {
    MakeSegments(spread);
  } else {
    bits_ = 64;
    resume_offset_ = common_bytes_ + 8;
  }
}

void KeyPrefix::MakeSegments(const RowSpread& spread) {
  constexpr uint32_t kGapBitsMax = 8;
  const uint32_t watched_bytes = std::min(layout_.fixed_key_bytes, spread.watched_bytes() - layout_.head_bytes);
  const uint32_t watched_bits = 8 * watched_bytes;
  const uint8_t* varying = spread.varying_bits() + layout_.head_bytes;
  const auto varies = [varying](uint32_t bit) { return (varying[bit / 8] >> (7 - bit % 8) & 1) != 0; };
  uint32_t bit = 0;
  const auto skip_constant = [&] {
    while (bit < watched_bits && !varies(bit)) ++bit;
  };
  for (skip_constant(); bit < watched_bits && segment_count_ < static_cast<int>(segments_.size()) && bits_ < 64;
       skip_constant()) {
    const uint32_t start = bit;
    // Eight bytes are read from the byte that holds `start`, so a segment ends with them; and the prefix has 64 bits.
    const uint32_t last = std::min({watched_bits, start - start % 8 + 64, start + static_cast<uint32_t>(64 - bits_)});
    uint32_t end = start + 1;
    for (uint32_t at = end; at < last && at < end + kGapBitsMax; ++at) {
      if (varies(at)) end = at + 1;
    }
    Segment& segment = segments_[segment_count_++];
    segment.byte = start / 8;
    segment.bits = end - start;
    segment.shift = 64 - start % 8 - segment.bits;
    segment.mask = segment.bits == 64 ? ~uint64_t{0} : (uint64_t{1} << segment.bits) - 1;
    bits_ += static_cast<int>(segment.bits);
    bit = end;
  }
  exact_ = bit == watched_bits && layout_.fixed_key_bytes == watched_bytes;
  resume_offset_ = bit / 8;
}

bool KeyPrefix::InSegments(uint32_t bit) const {
  for (int i = 0; i < segment_count_; ++i) {
    const uint32_t end = 8 * segments_[i].byte + 64 - segments_[i].shift;
    if (bit < end) return bit >= end - segments_[i].bits;
  }
  return false;
}

bool KeyPrefix::Suits(const RowSpread& spread) const {
  if (!layout_.key_is_fixed) {
    // Eight bytes that begin a little early are nearly as good.
    return spread.common_key_bytes() >= common_bytes_ && spread.common_key_bytes() < common_bytes_ + 4;
  }
  if (!exact_) return false;
  const uint8_t* varying = spread.varying_bits() + layout_.head_bytes;
  for (uint32_t byte = 0; byte < layout_.fixed_key_bytes; ++byte) {
    for (uint32_t bit = 0; bit < 8 && varying[byte] != 0; ++bit) {
      if ((varying[byte] >> (7 - bit) & 1) != 0 && !InSegments(8 * byte + bit)) return false;
    }
  }
  return true;
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
