// SPDX-License-Identifier: Apache-2.0
//
// The wall around libpg_query (PostgreSQL's own scanner and grammar): parser.cc is the only file that includes it. Text goes in;
// tokens, trees and errors with positions in the user's text come out.
#pragma once

#include <arrow/result.h>

#include <cstdint>
#include <string_view>
#include <vector>

#include "sql/parse_tree.h"
#include "sql/sql_error.h"

namespace icebound::sql {

enum class TokenKind : uint8_t {
  kKeyword,
  kIdentifier,         ///< plain or "quoted"
  kUnicodeIdentifier,  ///< U&"..."
  kString,             ///< '...', E'...', $$...$$ (continuation lines included)
  kUnicodeString,      ///< U&'...'
  kSymbol,             ///< one character: ( ) , . ; [ ] and operators of one character
  kOther,              ///< numbers, longer operators, parameters
};

/// Bytes [begin, end) of the text it was scanned from.
struct Token {
  TokenKind kind;
  int begin;
  int end;
};

/// True when `token` of `text` is the keyword (given in lower case).
bool IsKeyword(std::string_view text, const Token& token, std::string_view keyword);
bool IsSymbol(std::string_view text, const Token& token, char symbol);

/// The tokens of the statement, comments left out. Fails on invalid UTF-8, NUL characters, unterminated strings and comments.
arrow::Result<std::vector<Token>> ScanTokens(const SourceText& source);

/// What EXPLAIN asked for; filled before parsing only for EXPLAIN COPY, which PostgreSQL's grammar has not.
struct ExplainPrefix {
  bool explain = false;
  bool analyze = false;
};

struct ParsedStatement {
  ParseTree tree;             ///< its root has the fields version and stmts
  std::vector<Token> tokens;  ///< of the text as the user wrote it
  ExplainPrefix prefix;

  /// The statement node: SelectStmt, CopyStmt, ... The parsed statement must not move while the node is used.
  Node statement() const { return tree.root()["stmts"].items().front()["stmt"]; }
};

/// Parses exactly one statement (a trailing semicolon is allowed): quoted paths after FROM and JOIN and identifiers beyond 63
/// bytes are handled, every location in the tree is an offset in `source.statement()`.
arrow::Result<ParsedStatement> ParseStatement(const SourceText& source);

}  // namespace icebound::sql
