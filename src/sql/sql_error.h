// SPDX-License-Identifier: Apache-2.0
//
// How an error points into the SQL text, in PostgreSQL's manner with the column beside the line:
//
//     column "l_shipdat" does not exist; did you mean "l_shipdate"?
//     LINE 3, COLUMN 8: SELECT l_shipdat FROM t
//                              ^
//
// Columns count characters, not bytes. A tab is shown as one space, so that the caret stands below its character; a long line is
// cut to a window around the caret.
#pragma once

#include <arrow/status.h>

#include <string>
#include <string_view>

#include "base/error.h"

namespace icebound::sql {

/// Both count from 1; the column counts characters (UTF-8 code points).
struct LineColumn {
  int line = 1;
  int column = 1;
};

/// Where byte `offset` of `text` stands; an offset past the end is the end.
LineColumn LocateOffset(std::string_view text, size_t offset);

/// The two lines "LINE n, COLUMN m: ..." and the caret, without a trailing newline. `lines_before` are not in `text`.
std::string RenderCaret(std::string_view text, size_t offset, int lines_before = 0);

/// The text of which a statement is a part: errors show lines of the whole, so that a statement in a file points into the file.
/// Does not own the text. Immutable, thread safe.
class SourceText {
 public:
  /// `statement` begins at byte `statement_offset` of `whole`, which follows `lines_before` lines.
  SourceText(std::string_view whole, size_t statement_offset, std::string_view statement, int lines_before = 0)
      : whole_(whole), statement_(statement), statement_offset_(statement_offset), lines_before_(lines_before) {}
  explicit SourceText(std::string_view statement) : SourceText(statement, 0, statement) {}

  std::string_view whole() const { return whole_; }
  std::string_view statement() const { return statement_; }
  size_t statement_offset() const { return statement_offset_; }

  /// An error at byte `offset` of the statement; a negative offset (position unknown) gives the message alone.
  [[nodiscard]] arrow::Status Error(ErrorKind kind, int offset, std::string message) const;

  /// Adds the position to an error that has none; its kind stays (kInvalidInput when it has no kind).
  [[nodiscard]] arrow::Status Position(const arrow::Status& status, int offset) const;

 private:
  const std::string_view whole_;
  const std::string_view statement_;
  const size_t statement_offset_;
  const int lines_before_;
};

/// What errors of a running statement need of its text, when the text is gone: the lines that it stands in. A value.
class StatementLines {
 public:
  StatementLines() = default;
  explicit StatementLines(const SourceText& source);

  /// As SourceText::Position, at the place that the error names (GetTextOffset); an error that names none stays as it is.
  [[nodiscard]] arrow::Status Position(const arrow::Status& status) const;

  int64_t bytes() const { return static_cast<int64_t>(lines_.size()); }

 private:
  std::string lines_;
  size_t statement_offset_ = 0;
  int lines_before_ = 0;
};

}  // namespace icebound::sql
