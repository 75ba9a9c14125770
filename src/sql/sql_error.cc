// SPDX-License-Identifier: Apache-2.0
#include "sql/sql_error.h"

#include <fmt/format.h>

#include <algorithm>

namespace icebound::sql {
namespace {

// Characters of a line that are shown: fits a terminal of 100 columns with the "LINE n, COLUMN m: " prefix.
constexpr int kShownCharacters = 76;

bool IsContinuation(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

int CountCharacters(std::string_view text) {
  return static_cast<int>(std::count_if(text.begin(), text.end(), [](char byte) { return !IsContinuation(byte); }));
}

/// The line around `offset`, without its end (\n or \r\n).
std::string_view LineAround(std::string_view text, size_t offset) {
  const size_t newline_before = offset == 0 ? std::string_view::npos : text.rfind('\n', offset - 1);
  const size_t begin = newline_before == std::string_view::npos ? 0 : newline_before + 1;
  size_t end = text.find('\n', offset);
  if (end == std::string_view::npos) end = text.size();
  if (end > begin && text[end - 1] == '\r') --end;
  return text.substr(begin, end - begin);
}

size_t ByteOfCharacter(std::string_view text, int character) {
  size_t byte = 0;
  for (int i = 0; byte < text.size(); ++byte) {
    if (IsContinuation(text[byte])) continue;
    if (i++ == character) break;
  }
  return byte;
}

}  // namespace

LineColumn LocateOffset(std::string_view text, size_t offset) {
  offset = std::min(offset, text.size());
  const std::string_view before = text.substr(0, offset);
  const size_t newline = before.rfind('\n');
  LineColumn result;
  result.line = 1 + static_cast<int>(std::count(before.begin(), before.end(), '\n'));
  result.column = 1 + CountCharacters(newline == std::string_view::npos ? before : before.substr(newline + 1));
  return result;
}

std::string RenderCaret(std::string_view text, size_t offset, int lines_before) {
  offset = std::min(offset, text.size());
  const LineColumn where = LocateOffset(text, offset);
  const std::string_view line = LineAround(text, offset);
  const int characters = CountCharacters(line);
  // The window begins so that the caret has a third of it on its left.
  int first = 0;
  if (characters > kShownCharacters) {
    first = std::clamp(where.column - 1 - kShownCharacters / 3, 0, characters - kShownCharacters);
  }
  const int last = std::min(characters, first + kShownCharacters);
  const size_t begin_byte = ByteOfCharacter(line, first);
  std::string shown(line.substr(begin_byte, ByteOfCharacter(line, last) - begin_byte));
  std::replace_if(
      shown.begin(), shown.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; }, ' ');

  const std::string prefix =
      fmt::format("LINE {}, COLUMN {}: {}", lines_before + where.line, where.column, first > 0 ? "..." : "");
  const size_t indent = prefix.size() + static_cast<size_t>(where.column - 1 - first);
  return fmt::format("{}{}{}\n{}^", prefix, shown, last < characters ? "..." : "", std::string(indent, ' '));
}

arrow::Status SourceText::Error(ErrorKind kind, int offset, std::string message) const {
  if (offset < 0) return ErrorStatus(kind, std::move(message));
  return MakeError(kind, "{}\n{}", message, RenderCaret(whole_, statement_offset_ + static_cast<size_t>(offset), lines_before_));
}

arrow::Status SourceText::Position(const arrow::Status& status, int offset) const {
  if (status.ok()) return status;
  const bool has_position = status.message().find("\nLINE ") != std::string::npos;
  if (has_position) return status;
  return Error(GetErrorKind(status).value_or(ErrorKind::kInvalidInput), offset, status.message());
}

StatementLines::StatementLines(const SourceText& source) {
  const std::string_view whole = source.whole();
  const std::string_view before = whole.substr(0, source.statement_offset());
  const size_t newline = before.rfind('\n');
  const size_t begin = newline == std::string_view::npos ? 0 : newline + 1;
  const size_t end = whole.find('\n', source.statement_offset() + source.statement().size());
  lines_ = whole.substr(begin, end == std::string_view::npos ? end : end - begin);
  statement_offset_ = source.statement_offset() - begin;
  lines_before_ = static_cast<int>(std::count(before.begin(), before.end(), '\n'));
}

arrow::Status StatementLines::Position(const arrow::Status& status) const {
  const std::optional<int> offset = GetTextOffset(status);
  if (!offset.has_value()) return status;
  const std::string_view statement = std::string_view(lines_).substr(statement_offset_);
  return SourceText(lines_, statement_offset_, statement, lines_before_).Position(status, *offset);
}

}  // namespace icebound::sql
