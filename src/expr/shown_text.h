// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "expr/utf8_text.h"

namespace icebound::expr {

/// A value as a message shows it: a long one is cut, as it may be as wide as memory allows, and its bytes are given.
inline std::string ShownText(std::string_view text) {
  const std::string_view head = CutText(text, 120);
  return head.size() == text.size() ? std::string(text) : fmt::format("{}... ({} bytes)", head, text.size());
}

}  // namespace icebound::expr
