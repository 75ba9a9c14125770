// SPDX-License-Identifier: Apache-2.0
//
// Characters of UTF-8 text. Text columns hold valid UTF-8; on other bytes the functions stay inside the view and treat a stray
// byte as a character.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace icebound::expr {

inline bool IsContinuation(char c) { return (static_cast<uint8_t>(c) & 0xC0) == 0x80; }

/// True when every byte is below 128.
inline bool IsAscii(std::string_view text) {
  size_t i = 0;
  uint64_t any = 0;
  for (; i + 8 <= text.size(); i += 8) {
    uint64_t eight;
    std::memcpy(&eight, text.data() + i, 8);
    any |= eight;
  }
  for (; i < text.size(); ++i) any |= static_cast<uint8_t>(text[i]);
  return (any & 0x8080808080808080ULL) == 0;
}

inline int64_t CountCharacters(std::string_view text) {
  int64_t count = 0;
  for (const char c : text) count += IsContinuation(c) ? 0 : 1;
  return count;
}

/// Bytes of the character at `at`.
inline size_t CharacterBytes(std::string_view text, size_t at) {
  size_t end = at + 1;
  while (end < text.size() && IsContinuation(text[end])) ++end;
  return end - at;
}

/// The longest beginning of `text` of at most `bytes` bytes that does not end inside a character.
inline std::string_view CutText(std::string_view text, size_t bytes) {
  if (text.size() <= bytes) return text;
  while (bytes > 0 && IsContinuation(text[bytes])) --bytes;
  return text.substr(0, bytes);
}

/// The offset after `count` characters from the start; the size when there are fewer.
inline size_t SkipCharacters(std::string_view text, int64_t count) {
  size_t at = 0;
  for (; count > 0 && at < text.size(); --count) at += CharacterBytes(text, at);
  return at;
}

/// The offset where the last `count` characters begin; 0 when there are fewer.
inline size_t SkipCharactersBack(std::string_view text, int64_t count) {
  size_t at = text.size();
  for (; count > 0 && at > 0; --count) {
    --at;
    while (at > 0 && IsContinuation(text[at])) --at;
  }
  return at;
}

}  // namespace icebound::expr
