// SPDX-License-Identifier: Apache-2.0
#include "expr/like_pattern.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

#include "base/error.h"
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

namespace {

using ByteVector = uint8_t __attribute__((vector_size(16)));
using WordVector = uint64_t __attribute__((vector_size(16)));
constexpr size_t kStep = sizeof(ByteVector);

ByteVector LoadBytes(const char* bytes) {
  ByteVector vector;
  std::memcpy(&vector, bytes, sizeof(vector));
  return vector;
}

/// Where `piece` is in `text` from `from` on, behind which it has room: sixteen places at once are tested for its first and last
/// byte, and compared where both are right. For texts of some dozen bytes this is faster than memmem, which has more to prepare.
size_t FindText(std::string_view text, size_t from, std::string_view piece) {
  const size_t last = piece.size() - 1;
  const char* begin = text.data();
  const size_t places = text.size() - last;  // from `from` on
  if (piece.size() < 2 || places < from + kStep) {
    const void* found = memmem(begin + from, text.size() - from, piece.data(), piece.size());
    return found == nullptr ? std::string_view::npos : static_cast<size_t>(static_cast<const char*>(found) - begin);
  }
  const ByteVector first_byte = ByteVector{} + static_cast<uint8_t>(piece.front());
  const ByteVector last_byte = ByteVector{} + static_cast<uint8_t>(piece.back());
  for (size_t at = from;; at = std::min(at + kStep, places - kStep)) {
    const auto fits =
        reinterpret_cast<WordVector>((LoadBytes(begin + at) == first_byte) & (LoadBytes(begin + at + last) == last_byte));
    for (size_t half = 0; half < 2; ++half) {
      for (uint64_t word = fits[half]; word != 0;) {
        const auto byte = static_cast<size_t>(std::countr_zero(word)) / 8;
        const size_t place = at + half * 8 + byte;
        if (std::memcmp(begin + place, piece.data(), piece.size()) == 0) return place;
        word &= ~(uint64_t{0xFF} << (byte * 8));
      }
    }
    if (at + kStep >= places) return std::string_view::npos;
  }
}

}  // namespace

arrow::Result<LikeMatcher> LikeMatcher::Make(std::string_view pattern, std::string_view escape) {
  if (CountCharacters(escape) > 1) {
    return MakeError(ErrorKind::kExecution, "invalid escape string");
  }
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
    const size_t found = FindText(text, from, piece.literal);
    if (found == std::string_view::npos) return false;
    *end = found + piece.literal.size();
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
