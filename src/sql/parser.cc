// SPDX-License-Identifier: Apache-2.0
#include "sql/parser.h"

#include <pg_query.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>

#include "base/error.h"
#include "sql/quoted_paths.h"

namespace icebound::sql {
namespace {

/// Byte offset of the first byte that is not part of well-formed UTF-8 (or is NUL, which a C string cannot hold).
std::optional<size_t> FirstBadByte(std::string_view text) {
  size_t i = 0;
  while (i < text.size()) {
    const auto lead = static_cast<unsigned char>(text[i]);
    size_t length = lead < 0x80                   ? 1
                    : lead >= 0xC2 && lead < 0xE0 ? 2
                    : lead >= 0xE0 && lead < 0xF0 ? 3
                    : lead >= 0xF0 && lead < 0xF5 ? 4
                                                  : 0;
    if (lead == 0 || length == 0 || i + length > text.size()) return i;
    for (size_t k = 1; k < length; ++k) {
      const auto byte = static_cast<unsigned char>(text[i + k]);
      unsigned low = 0x80, high = 0xBF;
      if (k == 1 && lead == 0xE0) low = 0xA0;   // overlong
      if (k == 1 && lead == 0xED) high = 0x9F;  // surrogates
      if (k == 1 && lead == 0xF0) low = 0x90;   // overlong
      if (k == 1 && lead == 0xF4) high = 0x8F;  // beyond U+10FFFF
      if (byte < low || byte > high) return i;
    }
    i += length;
  }
  return std::nullopt;
}

arrow::Status CheckText(std::string_view text) {
  const std::optional<size_t> bad = FirstBadByte(text);
  if (!bad) return arrow::Status::OK();
  const LineColumn where = LocateOffset(text.substr(0, *bad), *bad);
  if (text[*bad] == '\0') {
    return MakeError(ErrorKind::kInvalidInput, "the SQL text has a NUL character in line {}, column {}", where.line,
                     where.column);
  }
  return MakeError(ErrorKind::kInvalidInput, "the SQL text is not valid UTF-8 in line {}, column {}: byte 0x{:02x}", where.line,
                   where.column, static_cast<unsigned char>(text[*bad]));
}

/// The parser counts characters from 1; 0 means that it does not know.
int ByteOffset(std::string_view text, int cursor_position) {
  if (cursor_position <= 0) return -1;
  int characters = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xC0) == 0x80) continue;
    if (++characters == cursor_position) return static_cast<int>(i);
  }
  return static_cast<int>(text.size());
}

std::string FriendlyMessage(const PgQueryError& error) {
  std::string message = error.message;
  const bool too_deep = message.starts_with("memory exhausted") || message.starts_with("stack depth limit exceeded");
  return too_deep ? "the statement is nested too deeply" : message;
}

TokenKind KindOf(const PgQueryScanToken& token, std::string_view text) {
  switch (token.token) {
    case PG_QUERY_TOKEN_IDENT:
      return TokenKind::kIdentifier;
    case PG_QUERY_TOKEN_UIDENT:
      return TokenKind::kUnicodeIdentifier;
    case PG_QUERY_TOKEN_SCONST:
      return TokenKind::kString;
    case PG_QUERY_TOKEN_USCONST:
      return TokenKind::kUnicodeString;
    default:
      break;
  }
  const std::string_view name = pg_query_keyword_kind_name(token.keyword_kind);
  if (name != "NO_KEYWORD") return TokenKind::kKeyword;
  return token.end - token.start == 1 &&
                 !(text[static_cast<size_t>(token.start)] >= '0' && text[static_cast<size_t>(token.start)] <= '9')
             ? TokenKind::kSymbol
             : TokenKind::kOther;
}

struct FreeScanResult {
  void operator()(PgQueryScanTokensResult* result) const { pg_query_free_scan_tokens_result(*result); }
};
struct FreeParseResult {
  void operator()(PgQueryParseResult* result) const { pg_query_free_parse_result(*result); }
};

arrow::Status CheckSingleStatement(const SourceText& source, const std::vector<Token>& tokens) {
  const std::string_view text = source.statement();
  bool ended = false;
  bool any = false;
  for (const Token& token : tokens) {
    if (IsSymbol(text, token, ';')) {
      ended = any;
    } else if (ended) {
      return source.Error(ErrorKind::kInvalidInput, token.begin, "only one statement can be given at a time");
    } else {
      any = true;
    }
  }
  return any ? arrow::Status::OK() : MakeError(ErrorKind::kInvalidInput, "the SQL text has no statement");
}

/// EXPLAIN [ANALYZE] COPY and EXPLAIN (ANALYZE) COPY: the prefix is cut off, the rest is a statement that the grammar knows.
ExplainPrefix CutExplainBeforeCopy(std::string_view text, const std::vector<Token>& tokens,
                                   std::vector<RewrittenText::Edit>* edits) {
  size_t next = 0;
  auto take = [&](std::string_view keyword) {
    if (next >= tokens.size() || !IsKeyword(text, tokens[next], keyword)) return false;
    ++next;
    return true;
  };
  auto take_symbol = [&](char symbol) {
    if (next >= tokens.size() || !IsSymbol(text, tokens[next], symbol)) return false;
    ++next;
    return true;
  };
  ExplainPrefix prefix;
  prefix.explain = take("explain");
  const bool parenthesis = prefix.explain && take_symbol('(');
  prefix.analyze = prefix.explain && take("analyze");
  if (!prefix.explain || (parenthesis && (!prefix.analyze || !take_symbol(')')))) return {};
  if (next >= tokens.size() || !IsKeyword(text, tokens[next], "copy")) return {};
  edits->insert(edits->begin(), RewrittenText::Edit{tokens.front().begin, tokens[next].begin, "", ""});
  return prefix;
}

}  // namespace

bool IsKeyword(std::string_view text, const Token& token, std::string_view keyword) {
  if (token.kind != TokenKind::kKeyword || static_cast<size_t>(token.end - token.begin) != keyword.size()) return false;
  return std::equal(keyword.begin(), keyword.end(), text.begin() + token.begin, [](char expected, char written) {
    return expected == (written >= 'A' && written <= 'Z' ? static_cast<char>(written - 'A' + 'a') : written);
  });
}

bool IsSymbol(std::string_view text, const Token& token, char symbol) {
  return token.kind == TokenKind::kSymbol && text[static_cast<size_t>(token.begin)] == symbol;
}

arrow::Result<std::vector<Token>> ScanTokens(const SourceText& source) {
  ARROW_RETURN_NOT_OK(CheckText(source.statement()));
  const std::string text(source.statement());
  PgQueryScanTokensResult result = pg_query_scan_tokens(text.c_str());
  const std::unique_ptr<PgQueryScanTokensResult, FreeScanResult> guard(&result);
  if (result.error) {
    return source.Error(ErrorKind::kInvalidInput, ByteOffset(text, result.error->cursorpos), FriendlyMessage(*result.error));
  }
  std::vector<Token> tokens;
  tokens.reserve(static_cast<size_t>(result.n_tokens));
  for (int i = 0; i < result.n_tokens; ++i) {
    const PgQueryScanToken& token = result.tokens[i];
    if (token.token == PG_QUERY_TOKEN_SQL_COMMENT || token.token == PG_QUERY_TOKEN_C_COMMENT) continue;
    tokens.push_back({KindOf(token, text), token.start, token.end});
  }
  return tokens;
}

arrow::Result<ParsedStatement> ParseStatement(const SourceText& source) {
  ParsedStatement parsed;
  ARROW_ASSIGN_OR_RAISE(parsed.tokens, ScanTokens(source));
  ARROW_RETURN_NOT_OK(CheckSingleStatement(source, parsed.tokens));
  ARROW_ASSIGN_OR_RAISE(auto edits, FindRewrites(source, parsed.tokens));
  parsed.prefix = CutExplainBeforeCopy(source.statement(), parsed.tokens, &edits);
  const RewrittenText rewritten(source.statement(), std::move(edits));

  PgQueryParseResult result = pg_query_parse(rewritten.text().c_str());
  const std::unique_ptr<PgQueryParseResult, FreeParseResult> guard(&result);
  if (result.error) {
    const int offset = ByteOffset(rewritten.text(), result.error->cursorpos);
    return source.Error(ErrorKind::kInvalidInput, offset < 0 ? offset : rewritten.ToOriginal(offset),
                        rewritten.RestoreMessage(FriendlyMessage(*result.error)));
  }
  ParseTree::Options options;
  options.map_location = [&](int offset) { return rewritten.ToOriginal(offset); };
  options.map_text = [&](std::string_view name) { return rewritten.RestoreName(name); };
  ARROW_ASSIGN_OR_RAISE(parsed.tree, ParseTree::FromJson(result.parse_tree, options));
  const std::vector<Node> statements = parsed.tree.root()["stmts"].items();
  if (statements.size() != 1) return MakeError(ErrorKind::kInternal, "the parser found {} statements in one", statements.size());
  return parsed;
}

}  // namespace icebound::sql
