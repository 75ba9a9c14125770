// SPDX-License-Identifier: Apache-2.0
#include "expr/like_pattern.h"

namespace icebound::expr {

LikePrefix PrefixOfLike(std::string_view pattern, std::string_view escape) {
  LikePrefix prefix{{}, false};
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (!escape.empty() && pattern.substr(i).starts_with(escape)) {
      i += escape.size();
      if (i >= pattern.size()) return prefix;
      prefix.text.push_back(pattern[i]);
      continue;
    }
    if (pattern[i] == '%') {
      prefix.rest_is_any = pattern.find_first_not_of('%', i) == std::string_view::npos;
      return prefix;
    }
    if (pattern[i] == '_') return prefix;
    prefix.text.push_back(pattern[i]);
  }
  return prefix;
}

}  // namespace icebound::expr
