// SPDX-License-Identifier: Apache-2.0
#include "expr/like_pattern.h"

#include <cstring>

#include "base/error.h"
#include "expr/pattern_length.h"
#include "expr/utf8_text.h"

namespace icebound::expr {

LikePrefix PrefixOfLike(std::string_view pattern, std::string_view escape) {
  LikePrefix prefix{{}, false, false};
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
  prefix.is_whole = true;
  return prefix;
}

arrow::Result<LikeMatcher> LikeMatcher::Make(std::string_view pattern, std::string_view escape) {
  if (CountCharacters(escape) > 1) {
    return MakeError(ErrorKind::kExecution, "invalid escape string");
  }
  ARROW_RETURN_NOT_OK(CheckPatternLength(pattern, "LIKE pattern"));
  LikeMatcher matcher;
  matcher.pieces_.emplace_back();
  bool after_percent = false;
  for (size_t i = 0; i < pattern.size();) {
    if (pattern[i] == '%' && !pattern.substr(i).starts_with(escape.empty() ? "\xFF" : escape)) {
      if (!after_percent) matcher.pieces_.emplace_back();
      after_percent = true;
      ++i;
      continue;
    }
    after_percent = false;
    Piece& piece = matcher.pieces_.back();
    bool is_any = pattern[i] == '_';
    if (!escape.empty() && pattern.substr(i).starts_with(escape)) {
      i += escape.size();
      if (i >= pattern.size()) return MakeError(ErrorKind::kExecution, "LIKE pattern must not end with escape character");
      is_any = false;
    }
    const size_t bytes = is_any ? 1 : CharacterBytes(pattern, i);
    if (is_any) {
      piece.is_any.resize(piece.literal.size(), false);
      piece.is_any.push_back(true);
    } else if (!piece.is_any.empty()) {
      piece.is_any.resize(piece.literal.size() + bytes, false);
    }
    piece.literal.append(pattern.substr(i, bytes));
    ++piece.characters;
    i += bytes;
  }
  return matcher;
}

bool LikeMatcher::MatchesAt(const Piece& piece, std::string_view text, size_t at, size_t* end) {
  if (piece.is_any.empty()) {
    *end = at + piece.literal.size();
    return text.substr(at).starts_with(piece.literal);
  }
  for (size_t i = 0; i < piece.literal.size(); ++i) {
    if (at >= text.size()) return false;
    if (piece.is_any[i]) {
      at += CharacterBytes(text, at);
    } else if (text[at++] != piece.literal[i]) {
      return false;
    }
  }
  *end = at;
  return true;
}

bool LikeMatcher::Find(const Piece& piece, std::string_view text, size_t from, size_t* end) {
  if (piece.is_any.empty()) {
    if (piece.literal.empty()) {
      *end = from;
      return true;
    }
    if (from + piece.literal.size() > text.size()) return false;
    const void* found = memmem(text.data() + from, text.size() - from, piece.literal.data(), piece.literal.size());
    if (found == nullptr) return false;
    *end = static_cast<const char*>(found) - text.data() + piece.literal.size();
    return true;
  }
  for (size_t at = from; at < text.size(); at += CharacterBytes(text, at)) {
    if (MatchesAt(piece, text, at, end)) return true;
  }
  return false;
}

bool LikeMatcher::Matches(std::string_view text) const {
  size_t at = 0;
  if (!MatchesAt(pieces_.front(), text, 0, &at)) return false;
  if (pieces_.size() == 1) return at == text.size();
  for (size_t i = 1; i + 1 < pieces_.size(); ++i) {
    if (!Find(pieces_[i], text, at, &at)) return false;
  }
  const Piece& last = pieces_.back();
  const size_t start =
      last.is_any.empty() ? text.size() - std::min(text.size(), last.literal.size()) : SkipCharactersBack(text, last.characters);
  size_t end = 0;
  return start >= at && MatchesAt(last, text, start, &end) && end == text.size();
}

}  // namespace icebound::expr
