// SPDX-License-Identifier: Apache-2.0
//
// Finds the few bytes of CSV text that mean something: 64 bytes at a time are compared with all of them, and the positions that
// match are a word of bits, taken one by one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "io/csv/csv_dialect.h"

namespace icebound::io {

/// Not thread safe.
class SpecialScanner {
 public:
  /// Readable bytes that the caller keeps behind the end of the text.
  static constexpr size_t kPadding = 64;

  explicit SpecialScanner(const CsvDialect& dialect)
      : special_{dialect.delimiter, '\n', '\r', dialect.quote.value_or('\n'), dialect.escape.value_or('\n')} {}

  void Reset(const char* begin, const char* end) {
    block_ = begin;
    end_ = end;
    bits_ = begin < end ? BitsOf(begin) : 0;
  }

  /// The next special byte, or the end.
  const char* Next() {
    while (bits_ == 0) {
      if (end_ - block_ <= 64) return end_;
      block_ += 64;
      bits_ = BitsOf(block_);
    }
    const char* found = block_ + __builtin_ctzll(bits_);
    bits_ &= bits_ - 1;
    return found;
  }

 private:
  uint64_t BitsOf(const char* block) const {
    uint64_t bits = 0;
#if defined(__SSE2__)
    for (int part = 0; part < 4; ++part) {
      const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(block + 16 * part));
      __m128i match = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(special_[0]));
      for (int i = 1; i < kSpecials; ++i) match = _mm_or_si128(match, _mm_cmpeq_epi8(bytes, _mm_set1_epi8(special_[i])));
      bits |= static_cast<uint64_t>(static_cast<uint32_t>(_mm_movemask_epi8(match))) << (16 * part);
    }
#else
    for (int at = 0; at < 64; ++at) {
      bool match = false;
      for (int i = 0; i < kSpecials; ++i) match = match || block[at] == special_[i];
      bits |= static_cast<uint64_t>(match) << at;
    }
#endif
    const ptrdiff_t left = end_ - block;
    return left >= 64 ? bits : bits & ((uint64_t{1} << left) - 1);
  }

  static constexpr int kSpecials = 5;

  const char special_[kSpecials];
  const char* block_ = nullptr;
  const char* end_ = nullptr;
  uint64_t bits_ = 0;
};

}  // namespace icebound::io
