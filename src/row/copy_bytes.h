// SPDX-License-Identifier: Apache-2.0
//
// Copies of short byte strings, inlined: a call of memcpy costs more than the copy, and a loop mispredicts its end. Up to 64
// bytes the head and the tail are copied as wide words that overlap in the middle, so that a length is one of six cases. All
// stay within both ranges.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace icebound::row {

template <typename T>
inline T LoadAs(const void* source) {
  T value;
  std::memcpy(&value, source, sizeof(T));
  return value;
}

template <typename T>
inline void StoreAs(void* destination, T value) {
  std::memcpy(destination, &value, sizeof(T));
}

/// Sixteen bytes at once; the compiler makes one register of it (SSE2 belongs to every x86-64).
using ByteVector = uint8_t __attribute__((vector_size(16)));

/// FF where a byte is zero.
inline ByteVector ZeroBytesOf(ByteVector bytes) { return reinterpret_cast<ByteVector>(bytes == ByteVector{}); }

inline bool AnySet(ByteVector bytes) {
  const auto halves = reinterpret_cast<uint64_t __attribute__((vector_size(16)))>(bytes);
  return (halves[0] | halves[1]) != 0;
}

/// Nonzero when the word has a zero byte: taking one from each byte borrows into a high bit that was clear.
template <typename Word>
inline Word ZeroByteOf(Word word) {
  constexpr Word kOnes = static_cast<Word>(0x0101010101010101ULL);
  constexpr Word kHighs = static_cast<Word>(0x8080808080808080ULL);
  return (word - kOnes) & ~word & kHighs;
}

enum class CopyMode { kPlain, kInverted };

/// Copies `length` bytes of two ranges that do not overlap, inverting every bit if asked. With kFindZero it says whether
/// `source` has a zero byte, else false.
template <CopyMode kMode, bool kFindZero>
[[gnu::always_inline]] inline bool CopyShort(uint8_t* destination, const uint8_t* source, size_t length) {
  const auto move_vector = [&](size_t at) {
    const auto bytes = LoadAs<ByteVector>(source + at);
    StoreAs(destination + at, kMode == CopyMode::kInverted ? ~bytes : bytes);
    return kFindZero ? ZeroBytesOf(bytes) : ByteVector{};
  };
  const auto move_word = [&]<typename Word>(size_t at, Word) {
    const auto bytes = LoadAs<Word>(source + at);
    StoreAs<Word>(destination + at, kMode == CopyMode::kInverted ? static_cast<Word>(~bytes) : bytes);
    return kFindZero ? ZeroByteOf(bytes) : Word{0};
  };
  if (length > 32) {
    return AnySet(move_vector(0) | move_vector(16) | move_vector(length - 32) | move_vector(length - 16));
  }
  if (length >= 16) return AnySet(move_vector(0) | move_vector(length - 16));
  if (length >= 8) return (move_word(0, uint64_t{}) | move_word(length - 8, uint64_t{})) != 0;
  if (length >= 4) return (move_word(0, uint32_t{}) | move_word(length - 4, uint32_t{})) != 0;
  bool found = false;
  if (length > 0) {
    // First, middle and last of one to three bytes; some are the same.
    for (const size_t at : {size_t{0}, length >> 1, length - 1}) {
      found |= kFindZero && source[at] == 0;
      destination[at] = kMode == CopyMode::kInverted ? static_cast<uint8_t>(~source[at]) : source[at];
    }
  }
  return found;
}

/// Longest length CopyShort is for.
constexpr size_t kShortBytes = 64;

template <CopyMode kMode = CopyMode::kPlain>
[[gnu::always_inline]] inline void CopyBytes(uint8_t* destination, const void* source_bytes, size_t length) {
  const auto* source = static_cast<const uint8_t*>(source_bytes);
  if (length <= kShortBytes) {
    CopyShort<kMode, /*kFindZero=*/false>(destination, source, length);
  } else if constexpr (kMode == CopyMode::kPlain) {
    std::memcpy(destination, source, length);
  } else {
    for (size_t at = 0; at + 16 < length; at += 16) StoreAs(destination + at, ~LoadAs<ByteVector>(source + at));
    StoreAs(destination + length - 16, ~LoadAs<ByteVector>(source + length - 16));
  }
}

/// Whether a string has a zero byte.
inline bool HasZeroByte(const void* text, size_t length) {
  const auto* source = static_cast<const uint8_t*>(text);
  const auto vector = [source](size_t at) { return ZeroBytesOf(LoadAs<ByteVector>(source + at)); };
  if (length > kShortBytes) return std::memchr(source, 0, length) != nullptr;
  if (length > 32) return AnySet(vector(0) | vector(16) | vector(length - 32) | vector(length - 16));
  if (length >= 16) return AnySet(vector(0) | vector(length - 16));
  if (length >= 8) return (ZeroByteOf(LoadAs<uint64_t>(source)) | ZeroByteOf(LoadAs<uint64_t>(source + length - 8))) != 0;
  if (length >= 4) return (ZeroByteOf(LoadAs<uint32_t>(source)) | ZeroByteOf(LoadAs<uint32_t>(source + length - 4))) != 0;
  return length > 0 && (source[0] == 0 || source[length >> 1] == 0 || source[length - 1] == 0);
}

}  // namespace icebound::row
