// SPDX-License-Identifier: Apache-2.0
//
// LIKE patterns: % stands for any text, _ for one character, and a character after the escape character for itself.
//
// A pattern is cut at its % into pieces. The first piece is tied to the start of the text and the last to its end; each piece
// between is looked for after the one before, and the leftmost place is always as good as any other. So matching never
// backtracks: it costs the length of the text, with memmem doing the search for pieces without _.
#pragma once

#include <arrow/result.h>

#include <string>
#include <string_view>
#include <vector>

namespace icebound::expr {

/// What every match of a pattern starts with; `rest_is_any`: and whatever starts with it matches; `is_whole`: and nothing
/// follows.
struct LikePrefix {
  std::string text;
  bool rest_is_any;
  bool is_whole;
};
LikePrefix PrefixOfLike(std::string_view pattern, std::string_view escape);

/// A compiled pattern. Thread safe: immutable.
class LikeMatcher {
 public:
  /// `escape` is one character, or empty for none.
  static arrow::Result<LikeMatcher> Make(std::string_view pattern, std::string_view escape);

  bool Matches(std::string_view text) const;

 private:
  struct Piece {
    std::string literal;       ///< with a placeholder byte for each _
    std::vector<bool> is_any;  ///< which bytes of it are placeholders; empty when none is
    int64_t characters = 0;
  };

  static bool MatchesAt(const Piece& piece, std::string_view text, size_t at, size_t* end);
  static bool Find(const Piece& piece, std::string_view text, size_t from, size_t* end);

  std::vector<Piece> pieces_;  ///< one more than there are % (runs of % count once)
};

}  // namespace icebound::expr
