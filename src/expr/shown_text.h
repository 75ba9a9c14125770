// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace icebound::expr {

/// A value as a message shows it: a long one is cut, as it may be as wide as memory allows, and its bytes are given.
inline std::string ShownText(std::string_view text) {
  constexpr size_t kShownBytes = 120;
  if (text.size() <= kShownBytes) return std::string(text);
  size_t end = kShownBytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;  // not inside a character
  return fmt::format("{}... ({} bytes)", text.substr(0, end), text.size());
}

}  // namespace icebound::expr
