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
  MakeLanes(spread.first_row(), spread.varying_bits());
}

RowPacking::RowPacking(const RowLayout& layout, const uint8_t* encoded)
    : layout_(layout), watched_bytes_(static_cast<uint32_t>(EncodedBytes(layout) / 2)), loops_(LaneLoops::Best()) {
  MakeLanes(encoded, encoded + watched_bytes_);
}

int64_t RowPacking::EncodedBytes(const RowLayout& layout) {
  return 2 * int64_t{std::min(layout.fixed_part_bytes, RowSpread::kWatchedBytesMax)};
}

void RowPacking::Encode(const RowSpread& spread, uint8_t* out) {
  std::memcpy(out, spread.first_row(), spread.watched_bytes());
  std::memcpy(out + spread.watched_bytes(), spread.varying_bits(), spread.watched_bytes());
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
  out = loops_.pack(lanes_.data(), lanes_.size(), row, out);
  const size_t rest_bytes = layout_.RowBytes(row) - watched_bytes_;
  row::CopyBytes(out, row + watched_bytes_, rest_bytes);
  return out + rest_bytes;
}

bool RowPacking::Unpack(std::span<const uint8_t> packed, int64_t rows, uint8_t* out, int64_t out_bytes) const {
  const uint8_t* next = packed.data();
  const uint8_t* const end = next + packed.size();
  const uint8_t* const out_end = out + out_bytes;
  for (int64_t i = 0; i < rows; ++i) {
    if (varying_bytes_ > end - next || watched_bytes_ > out_end - out) return false;
    next = loops_.unpack(lanes_.data(), lanes_.size(), next, out);
    const uint32_t row_bytes = layout_.RowBytes(out);
    const int64_t rest_bytes = int64_t{row_bytes} - watched_bytes_;
    if (rest_bytes < 0 || rest_bytes > end - next || int64_t{row_bytes} > out_end - out) return false;
    row::CopyBytes(out + watched_bytes_, next, static_cast<size_t>(rest_bytes));
    next += rest_bytes;
    out += row_bytes;
  }
  return next == end && out == out_end;
}

}  // namespace icebound::exec::sort
