// SPDX-License-Identifier: Apache-2.0
//
// LIKE patterns: % stands for any text, _ for one character, and a character after the escape character for itself.
#pragma once

#include <arrow/result.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace icebound::expr {

/// What every match of a pattern starts with; `rest_is_any`: and whatever starts with it matches.
struct LikePrefix {
  std::string text;
  bool rest_is_any;
};
LikePrefix PrefixOfLike(std::string_view pattern, std::string_view escape);

}  // namespace icebound::expr
