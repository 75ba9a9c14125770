// SPDX-License-Identifier: Apache-2.0
#include "sql/quoted_paths.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/error.h"

namespace icebound::sql {
namespace {

// NAMEDATALEN - 1 of PostgreSQL: longer identifiers are cut by its scanner.
constexpr size_t kLongestParserName = 63;

// Parts of a qualified name that the grammar takes.
constexpr size_t kParserNameParts = 3;

// Between the parts that a placeholder stands for. Scanners take control characters in quoted names, people do not type them.
constexpr char kLevelSeparator = '\x1f';

bool AnyKeyword(std::string_view text, const Token& token, std::initializer_list<std::string_view> keywords) {
  return std::any_of(keywords.begin(), keywords.end(), [&](std::string_view word) { return IsKeyword(text, token, word); });
}

/// Follows the nesting of parentheses and tells where a table is expected.
class TablePositionFinder {
 public:
  explicit TablePositionFinder(std::string_view text) : text_(text) { frames_.emplace_back(); }

  /// Takes the next token; true when it stands where a table is expected.
  bool Next(const Token& token) {
    Frame& frame = frames_.back();
    const bool expected = std::exchange(frame.table_expected, false);
    if (IsSymbol(text_, token, '(')) {
      Open(expected);
    } else if (IsSymbol(text_, token, ')')) {
      if (frames_.size() > 1) frames_.pop_back();
    } else if (IsSymbol(text_, token, ';')) {
      frames_.assign(1, Frame());
    } else if (IsSymbol(text_, token, ',')) {
      frame.table_expected = frame.in_from;
    } else if (token.kind == TokenKind::kKeyword) {
      Keyword(token, &frame);
    }
    previous_ = token;
    return expected;
  }

 private:
  struct Frame {
    bool select = false;  ///< SELECT was seen here, so a FROM starts a table list
    bool in_from = false;
    bool table_expected = false;
  };

  void Open(bool table_expected) {
    Frame frame;
    frame.in_from = frame.table_expected = table_expected;
    frames_.push_back(frame);
  }

  void Keyword(const Token& token, Frame* frame) {
    if (IsKeyword(text_, token, "select")) {
      *frame = Frame{.select = true};
    } else if (IsKeyword(text_, token, "from")) {
      const bool distinct_from = IsKeyword(text_, previous_, "distinct");
      if (frame->select && !distinct_from) frame->in_from = frame->table_expected = true;
    } else if (IsKeyword(text_, token, "join")) {
      frame->table_expected = frame->in_from;
    } else if (AnyKeyword(text_, token,
                          {"where", "group", "having", "window", "order", "limit", "offset", "fetch", "for", "union", "intersect",
                           "except", "values", "table"})) {
      frame->in_from = false;
    }
  }

  const std::string_view text_;
  std::vector<Frame> frames_;
  Token previous_{TokenKind::kOther, 0, 0};
};

/// The name an identifier token means: quotes removed, or folded to lower case (ASCII, as PostgreSQL does for UTF-8).
std::string IdentifierName(std::string_view token_text) {
  std::string name;
  if (token_text.front() == '"') {
    for (size_t i = 1; i + 1 < token_text.size(); ++i) {
      name.push_back(token_text[i]);
      if (token_text[i] == '"') ++i;
    }
    return name;
  }
  for (char c : token_text) name.push_back(c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c);
  return name;
}

/// A prefix that occurs nowhere in the text, so that no name or string of the user's is taken for a placeholder.
std::string PlaceholderPrefix(std::string_view text) {
  std::string prefix = "icebound_name_";
  while (text.find(prefix) != std::string_view::npos) prefix += "x_";
  return prefix;
}

std::string_view TextOf(std::string_view text, const Token& token) {
  return text.substr(static_cast<size_t>(token.begin), static_cast<size_t>(token.end - token.begin));
}

bool IsNamePart(const Token& token) { return token.kind == TokenKind::kIdentifier || token.kind == TokenKind::kKeyword; }

/// The tokens from `first` on that are a table's name of many parts: how many of them (dots included) must become one, so that
/// the parser takes the rest. 0: none, as the name is short, or a function's.
size_t SurplusTokens(std::string_view text, const std::vector<Token>& tokens, size_t first) {
  size_t parts = 0;
  size_t next = first;
  while (next < tokens.size() && IsNamePart(tokens[next])) {
    ++parts;
    ++next;
    if (next >= tokens.size() || !IsSymbol(text, tokens[next], '.')) break;
    ++next;
  }
  const bool is_call = next < tokens.size() && IsSymbol(text, tokens[next], '(');
  return parts > kParserNameParts && !is_call ? 2 * (parts - kParserNameParts) + 1 : 0;
}

bool StartsUescape(std::string_view text, const std::vector<Token>& tokens, size_t next) {
  return next < tokens.size() && IsKeyword(text, tokens[next], "uescape");
}

}  // namespace

std::vector<std::string> SplitLevels(std::string name) {
  std::vector<std::string> levels(1);
  for (const char c : name) {
    if (c == kLevelSeparator) {
      levels.emplace_back();
    } else {
      levels.back().push_back(c);
    }
  }
  return levels;
}

RewrittenText::RewrittenText(std::string_view original, std::vector<Edit> edits) : original_(original), edits_(std::move(edits)) {
  int copied = 0;
  for (const Edit& edit : edits_) {
    text_.append(original.substr(static_cast<size_t>(copied), static_cast<size_t>(edit.begin - copied)));
    new_begins_.push_back(static_cast<int>(text_.size()));
    text_.append(edit.replacement);
    copied = edit.end;
    if (!edit.identifier.empty()) names_.emplace(edit.replacement, edit.identifier);
  }
  text_.append(original.substr(static_cast<size_t>(copied)));
}

int RewrittenText::ToOriginal(int offset) const {
  const auto after = std::upper_bound(new_begins_.begin(), new_begins_.end(), offset);
  if (after == new_begins_.begin()) return offset;
  const size_t index = static_cast<size_t>(after - new_begins_.begin()) - 1;
  const int past_replacement = offset - new_begins_[index] - static_cast<int>(edits_[index].replacement.size());
  return past_replacement < 0 ? edits_[index].begin : edits_[index].end + past_replacement;
}

std::string RewrittenText::RestoreName(std::string_view name) const {
  if (names_.empty()) return std::string(name);
  const auto found = names_.find(std::string(name));
  return found == names_.end() ? std::string(name) : found->second;
}

std::string RewrittenText::RestoreMessage(std::string message) const {
  for (const Edit& edit : edits_) {
    const std::string shown(original_.substr(static_cast<size_t>(edit.begin), static_cast<size_t>(edit.end - edit.begin)));
    const std::string looked_for = edit.identifier.empty() ? std::string(kPathFunction) : edit.replacement;
    const size_t at = message.find("\"" + looked_for + "\"");
    if (at != std::string::npos) message.replace(at + 1, looked_for.size(), shown);
  }
  return message;
}

arrow::Result<std::vector<RewrittenText::Edit>> FindRewrites(const SourceText& source, const std::vector<Token>& tokens) {
  const std::string_view text = source.statement();
  std::vector<RewrittenText::Edit> edits;
  TablePositionFinder finder(text);
  std::string prefix;
  for (size_t i = 0; i < tokens.size(); ++i) {
    const Token& token = tokens[i];
    const std::string_view token_text = TextOf(text, token);
    const bool table_expected = finder.Next(token);
    const size_t surplus = table_expected && IsNamePart(token) ? SurplusTokens(text, tokens, i) : 0;
    const bool is_string =
        token.kind == TokenKind::kString || (token.kind == TokenKind::kUnicodeString && !StartsUescape(text, tokens, i + 1));
    if (table_expected && is_string) {
      edits.push_back({token.begin, token.end, fmt::format("{}({})", kPathFunction, token_text), ""});
    } else if (surplus > 0) {
      std::string levels;
      for (size_t part = i; part < i + surplus; part += 2) {
        if (part > i) levels.push_back(kLevelSeparator);
        levels += IdentifierName(TextOf(text, tokens[part]));
      }
      if (prefix.empty()) prefix = PlaceholderPrefix(text);
      const int end = tokens[i + surplus - 1].end;
      edits.push_back({token.begin, end, fmt::format("{}{}", prefix, edits.size()), std::move(levels)});
      i += surplus - 1;
    } else if (token_text.size() > kLongestParserName && token.kind == TokenKind::kIdentifier) {
      std::string name = IdentifierName(token_text);
      if (name.size() <= kLongestParserName) continue;
      if (prefix.empty()) prefix = PlaceholderPrefix(text);
      edits.push_back({token.begin, token.end, fmt::format("{}{}", prefix, edits.size()), std::move(name)});
    } else if (token_text.size() > kLongestParserName && token.kind == TokenKind::kUnicodeIdentifier) {
      return source.Error(ErrorKind::kUnsupported, token.begin,
                          "not supported yet: U& identifiers of more than 63 bytes; write the name without U&");
    }
  }
  return edits;
}

}  // namespace icebound::sql
