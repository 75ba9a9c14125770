// SPDX-License-Identifier: Apache-2.0
#include "exec/sort/row_packing.h"

#include <algorithm>

#include "row/copy_bytes.h"

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#endif

namespace icebound::exec::sort {
namespace {

/// Seven bits a byte, the lowest first; the high bit says that more follow.
uint8_t* PutVarint(uint32_t value, uint8_t* out) {
  for (; value >= 0x80; value >>= 7) *out++ = static_cast<uint8_t>(value | 0x80);
  *out++ = static_cast<uint8_t>(value);
  return out;
}

/// Reads at most five bytes.
const uint8_t* GetVarint(const uint8_t* at, uint32_t* value) {
  for (uint32_t shift = 0; shift < 35; shift += 7) {
    const uint32_t byte = *at++;
    *value |= (byte & 0x7F) << shift;
    if (byte < 0x80) break;
  }
  return at;
}

}  // namespace

/// The loops over the lanes of a row. Both return where the packed bytes end.
struct RowPacking::LaneLoops {
  uint8_t* (*pack)(const Lane* lanes, size_t count, const uint8_t* row, uint8_t* out);
  const uint8_t* (*unpack)(const Lane* lanes, size_t count, const uint8_t* packed, uint8_t* row);

  static const LaneLoops& Best();

 private:
  static uint8_t* PackPortable(const Lane* lanes, size_t count, const uint8_t* row, uint8_t* out) {
    for (size_t i = 0; i < count; ++i, row += 16) {
      for (uint32_t at = 0; at < lanes[i].varying_bytes; ++at) *out++ = row[lanes[i].gather[at]];
    }
    return out;
  }
  static const uint8_t* UnpackPortable(const Lane* lanes, size_t count, const uint8_t* packed, uint8_t* row) {
    for (size_t i = 0; i < count; ++i, row += 16) {
      std::memcpy(row, lanes[i].constant, 16);
      for (uint32_t at = 0; at < lanes[i].varying_bytes; ++at) row[lanes[i].gather[at]] = *packed++;
    }
    return packed;
  }

#if defined(__x86_64__)
  __attribute__((target("ssse3"))) static uint8_t* PackSsse3(const Lane* lanes, size_t count, const uint8_t* row, uint8_t* out) {
    for (size_t i = 0; i < count; ++i, row += 16) {
      const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(row));
      const __m128i places = _mm_loadu_si128(reinterpret_cast<const __m128i*>(lanes[i].gather));
      _mm_storeu_si128(reinterpret_cast<__m128i*>(out), _mm_shuffle_epi8(bytes, places));
      out += lanes[i].varying_bytes;
    }
    return out;
  }
  __attribute__((target("ssse3"))) static const uint8_t* UnpackSsse3(const Lane* lanes, size_t count, const uint8_t* packed,
                                                                     uint8_t* row) {
    for (size_t i = 0; i < count; ++i, row += 16) {
      const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(packed));
      const __m128i places = _mm_loadu_si128(reinterpret_cast<const __m128i*>(lanes[i].scatter));
      const __m128i constant = _mm_loadu_si128(reinterpret_cast<const __m128i*>(lanes[i].constant));
      _mm_storeu_si128(reinterpret_cast<__m128i*>(row), _mm_or_si128(_mm_shuffle_epi8(bytes, places), constant));
      packed += lanes[i].varying_bytes;
    }
    return packed;
  }
#elif defined(__ARM_NEON)
  static uint8_t* PackNeon(const Lane* lanes, size_t count, const uint8_t* row, uint8_t* out) {
    for (size_t i = 0; i < count; ++i, row += 16) {
      vst1q_u8(out, vqtbl1q_u8(vld1q_u8(row), vld1q_u8(lanes[i].gather)));
      out += lanes[i].varying_bytes;
    }
    return out;
  }
  static const uint8_t* UnpackNeon(const Lane* lanes, size_t count, const uint8_t* packed, uint8_t* row) {
    for (size_t i = 0; i < count; ++i, row += 16) {
      vst1q_u8(row, vorrq_u8(vqtbl1q_u8(vld1q_u8(packed), vld1q_u8(lanes[i].scatter)), vld1q_u8(lanes[i].constant)));
      packed += lanes[i].varying_bytes;
    }
    return packed;
  }
#endif
};

const RowPacking::LaneLoops& RowPacking::LaneLoops::Best() {
#if defined(__x86_64__)
  static const LaneLoops kBest =
      __builtin_cpu_supports("ssse3") ? LaneLoops{PackSsse3, UnpackSsse3} : LaneLoops{PackPortable, UnpackPortable};
#elif defined(__ARM_NEON)
  static const LaneLoops kBest{PackNeon, UnpackNeon};
#else
  static const LaneLoops kBest{PackPortable, UnpackPortable};
#endif
  return kBest;
}

RowPacking::RowPacking(const RowSpread& spread)
    : layout_(spread.layout()), watched_bytes_(spread.watched_bytes()), loops_(LaneLoops::Best()) {
  MakeLanes(spread.constants(), spread.varying_bits());
}

RowPacking::RowPacking(const RowLayout& layout, const uint8_t* encoded)
    : layout_(layout), watched_bytes_(static_cast<uint32_t>(EncodedBytes(layout) / 2)), loops_(LaneLoops::Best()) {
  MakeLanes(encoded, encoded + watched_bytes_);
}

int64_t RowPacking::EncodedBytes(const RowLayout& layout) {
  return 2 * int64_t{std::min(layout.fixed_part_bytes, RowSpread::kWatchedBytesMax)};
}

void RowPacking::Encode(const RowSpread& spread, uint8_t* out) {
  out = std::copy_n(spread.constants(), spread.watched_bytes(), out);
  std::copy_n(spread.varying_bits(), spread.watched_bytes(), out);
}

void RowPacking::MakeLanes(const uint8_t* constants, const uint8_t* varying_bits) {
  lanes_.resize((watched_bytes_ + 15) / 16);
  for (size_t i = 0; i < lanes_.size(); ++i) {
    Lane& lane = lanes_[i];
    lane = {};
    for (uint8_t at = 0; at < 16; ++at) {
      const size_t byte = 16 * i + at;
      lane.scatter[at] = 0x80;
      if (byte >= watched_bytes_) continue;
      if (varying_bits[byte] == 0) {
        lane.constant[at] = constants[byte];
      } else {
        lane.scatter[at] = static_cast<uint8_t>(lane.varying_bytes);
        lane.gather[lane.varying_bytes++] = at;
      }
    }
    varying_bytes_ += lane.varying_bytes;
  }
}

uint8_t* RowPacking::Pack(const uint8_t* row, uint8_t* out) const {
  const uint8_t* const row_end = row + layout_.RowBytes(row);
  if (!layout_.key_is_fixed) {
    const uint32_t key_bytes = layout_.KeyBytes(row);
    const uint8_t* key = layout_.Key(row);
    row = key + key_bytes;
    out = PutVarint(key_bytes, out);
    out = PutVarint(static_cast<uint32_t>(row_end - row), out);
    row::CopyBytes(out, key, key_bytes);
    out += key_bytes;
  }
  out = loops_.pack(lanes_.data(), lanes_.size(), row, out);
  row += watched_bytes_;
  row::CopyBytes(out, row, static_cast<size_t>(row_end - row));
  return out + (row_end - row);
}

/// Null when it makes no sense.
const uint8_t* RowPacking::UnpackHeadAndKey(const uint8_t* packed, const uint8_t* packed_end, uint8_t* row,
                                            const uint8_t* row_end) const {
  uint32_t key_bytes = 0;
  uint32_t payload_bytes = 0;
  packed = GetVarint(packed, &key_bytes);
  packed = GetVarint(packed, &payload_bytes);
  const int64_t row_bytes = int64_t{layout_.head_bytes} + key_bytes + payload_bytes;
  if (packed > packed_end || key_bytes > packed_end - packed || row_bytes > row_end - row || payload_bytes < watched_bytes_)
    return nullptr;
  const auto head = static_cast<uint32_t>(row_bytes);
  std::memcpy(row, &head, sizeof(head));
  std::memcpy(row + 4, &key_bytes, sizeof(key_bytes));
  row::CopyBytes(row + layout_.head_bytes, packed, key_bytes);
  return packed + key_bytes;
}

bool RowPacking::Unpack(std::span<const uint8_t> packed, int64_t rows, uint8_t* out, int64_t out_bytes) const {
  const uint8_t* next = packed.data();
  const uint8_t* const end = next + packed.size();
  const uint8_t* const out_end = out + out_bytes;
  for (int64_t i = 0; i < rows; ++i) {
    if (!layout_.key_is_fixed) {
      next = UnpackHeadAndKey(next, end, out, out_end);
      if (next == nullptr) return false;
    } else if (layout_.fixed_part_bytes > out_end - out) {
      return false;
    }
    if (varying_bytes_ > end - next) return false;
    uint8_t* const fixed_part = out + layout_.FixedPartOffset(out);
    next = loops_.unpack(lanes_.data(), lanes_.size(), next, fixed_part);
    uint8_t* const rest = fixed_part + watched_bytes_;
    const int64_t rest_bytes = out + layout_.RowBytes(out) - rest;
    if (rest_bytes < 0 || rest_bytes > end - next || rest_bytes > out_end - rest) return false;
    row::CopyBytes(rest, next, static_cast<size_t>(rest_bytes));
    next += rest_bytes;
    out = rest + rest_bytes;
  }
  return next == end && out == out_end;
}

}  // namespace icebound::exec::sort
