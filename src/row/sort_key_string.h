// SPDX-License-Identifier: Apache-2.0
//
// Strings as self-delimiting bytes in memcmp order: 00 becomes 00 FF, and 00 00 ends. Descending inverts every bit, so there
// the special byte is FF, escaped as FF 00 and ended by FF FF.
//
// Text hardly ever holds a zero byte, so everything here is fast for strings without one, and right for the others.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "row/copy_bytes.h"

namespace icebound::row {

/// Bytes that end a string.
constexpr uint32_t kStringEndBytes = 2;

/// Longest string the decoder looks for: a key is shorter than 4 GiB.
constexpr size_t kLongestKeyBytes = size_t{1} << 32;

inline uint64_t CountZeroBytes(std::string_view text) {
  return static_cast<uint64_t>(std::count(text.begin(), text.end(), '\0'));
}

/// Writes `text`, which has zero bytes, and its end.
template <bool kInvert>
[[gnu::noinline]] uint8_t* WriteStringWithZeros(std::string_view text, uint8_t* out) {
  constexpr CopyMode kMode = kInvert ? CopyMode::kInverted : CopyMode::kPlain;
  constexpr uint8_t kMask = kInvert ? 0xFF : 0;
  const char* begin = text.data();
  const char* const end = begin + text.size();
  while (const void* zero = std::memchr(begin, 0, static_cast<size_t>(end - begin))) {
    const auto piece_bytes = static_cast<size_t>(static_cast<const char*>(zero) - begin);
    CopyBytes<kMode>(out, begin, piece_bytes);
    out += piece_bytes;
    *out++ = kMask;
    *out++ = static_cast<uint8_t>(~kMask);
    begin += piece_bytes + 1;
  }
  CopyBytes<kMode>(out, begin, static_cast<size_t>(end - begin));
  out += end - begin;
  StoreAs<uint16_t>(out, kInvert ? 0xFFFF : 0);
  return out + kStringEndBytes;
}

/// Writes `text` and its end. `no_zeros` when the caller knows that it has no zero byte.
template <bool kInvert>
[[gnu::always_inline]] inline uint8_t* WriteString(std::string_view text, bool no_zeros, uint8_t* out) {
  constexpr CopyMode kMode = kInvert ? CopyMode::kInverted : CopyMode::kPlain;
  if (no_zeros) {
    CopyBytes<kMode>(out, text.data(), text.size());
  } else if (text.size() <= kShortBytes) {
    // The search costs little on the way; a copy that was in vain is shorter than what takes its place.
    const auto* bytes = reinterpret_cast<const uint8_t*>(text.data());
    if (CopyShort<kMode, /*kFindZero=*/true>(out, bytes, text.size())) return WriteStringWithZeros<kInvert>(text, out);
  } else {
    if (HasZeroByte(text.data(), text.size())) return WriteStringWithZeros<kInvert>(text, out);
    CopyBytes<kMode>(out, text.data(), text.size());
  }
  out += text.size();
  StoreAs<uint16_t>(out, kInvert ? 0xFFFF : 0);
  return out + kStringEndBytes;
}

/// Where a written string ends, and how long it was before it was written.
struct WrittenString {
  const uint8_t* end;
  uint64_t length;
  bool has_escapes;
};

inline WrittenString MeasureString(const uint8_t* key, uint8_t mask) {
  const auto next = [mask](const uint8_t* from) {
    return static_cast<const uint8_t*>(std::memchr(from, mask, kLongestKeyBytes));
  };
  const uint8_t* special = next(key);
  uint64_t escapes = 0;
  while (special[1] != mask) {
    ++escapes;
    special = next(special + 2);
  }
  return {special + kStringEndBytes, static_cast<uint64_t>(special - key) - escapes, escapes != 0};
}

/// Undoes WriteString into `length` bytes at `out`.
inline void ReadStringWithZeros(const uint8_t* key, uint64_t length, uint8_t mask, uint8_t* out) {
  for (uint64_t i = 0; i < length; ++i) {
    out[i] = *key ^ mask;
    key += *key == mask ? 2 : 1;
  }
}

}  // namespace icebound::row
