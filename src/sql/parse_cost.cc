// SPDX-License-Identifier: Apache-2.0
#include "sql/parse_cost.h"

#include "sql/parser.h"

namespace icebound::sql {
namespace {

// Measured maxima, with a quarter more.
constexpr int64_t kStatementBytes = int64_t{64} << 10;  // whatever its length
constexpr int64_t kTextBytes = 8;                       // a byte of text: it is copied from stage to stage
constexpr int64_t kKeywordBytes = 1800;                 // NULL as a column of its own takes most
constexpr int64_t kIdentifierBytes = 1100;
constexpr int64_t kStringBytes = 800;
constexpr int64_t kOtherBytes = 600;        // numbers, operators
constexpr int64_t kPunctuationBytes = 120;  // , ( ) . ;

/// A token in the scanner's array, which doubles, and in ours.
constexpr int64_t kScannedTokenBytes = 96;

int64_t CostOf(const Token& token, std::string_view text) {
  switch (token.kind) {
    case TokenKind::kKeyword:
      return kKeywordBytes;
    case TokenKind::kIdentifier:
    case TokenKind::kUnicodeIdentifier:
      return kIdentifierBytes;
    case TokenKind::kString:
    case TokenKind::kUnicodeString:
      return kStringBytes;
    case TokenKind::kSymbol:
      return std::string_view(",().;").find(text[static_cast<size_t>(token.begin)]) != std::string_view::npos ? kPunctuationBytes
                                                                                                              : kOtherBytes;
    case TokenKind::kOther:
      return kOtherBytes;
  }
  return kKeywordBytes;
}

}  // namespace

int64_t ScanBytesMax(std::string_view text) {
  // A run of letters and digits is one token at most, and so is everything else that is not white space.
  int64_t tokens = 0;
  bool in_word = false;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool word = (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z') ||
                      byte == '_' || byte >= 0x80;
    const bool space = byte == ' ' || (byte >= '\t' && byte <= '\r');
    if (word ? !in_word : !space) ++tokens;
    in_word = word;
  }
  return kScannedTokenBytes * tokens + 2 * static_cast<int64_t>(text.size());
}

int64_t ParseBytesMax(std::string_view statement) {
  const auto tokens = ScanTokens(SourceText(statement));
  int64_t bytes = kStatementBytes + kTextBytes * static_cast<int64_t>(statement.size());
  if (!tokens.ok()) return bytes;  // it gets no further than the scanner
  for (const Token& token : *tokens) bytes += CostOf(token, statement);
  return bytes;
}

}  // namespace icebound::sql
