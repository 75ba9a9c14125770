// SPDX-License-Identifier: Apache-2.0
//
// Three things people write that PostgreSQL's grammar does not take as they mean them are rewritten before parsing, on its own
// token stream:
//
//   FROM 'dir/*.parquet' t     a string where a table stands becomes a table function:   FROM icebound_path('dir/*.parquet') t
//   identifiers over 63 bytes  the parser would cut them without a word: a short placeholder stands in, and the tree gets the
//   full name back
//   names of more than three parts, where a table stands: the first of them become one placeholder, so that three are left
//
// Where a table stands: directly after FROM, JOIN or a comma of a FROM list, also behind opening parentheses of a join tree; not
// after the FROM of EXTRACT, SUBSTRING, TRIM, OVERLAY, IS [NOT] DISTINCT FROM or COPY.
#pragma once

#include <arrow/result.h>

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "sql/parser.h"
#include "sql/sql_error.h"

namespace icebound::sql {

/// The table function that a quoted path becomes.
inline constexpr std::string_view kPathFunction = "icebound_path";

/// The parts of a table's name: those of one placeholder are told apart by a character that no statement has.
std::vector<std::string> SplitLevels(std::string name);

/// Text with some stretches replaced. Maps positions of the new text to the original. Immutable, thread safe.
class RewrittenText {
 public:
  struct Edit {
    int begin;  ///< bytes [begin, end) of the original ...
    int end;
    std::string replacement;  ///< ... became this
    std::string identifier;   ///< the full name when the replacement is a placeholder, else empty
  };

  /// Edits in order, not overlapping.
  RewrittenText(std::string_view original, std::vector<Edit> edits);

  const std::string& text() const { return text_; }
  /// A position inside a replacement maps to where the replaced stretch begins.
  int ToOriginal(int offset) const;
  /// `name`, or the identifier for which it stands.
  std::string RestoreName(std::string_view name) const;
  /// `message` of the parser with placeholders and the path function undone.
  std::string RestoreMessage(std::string message) const;

 private:
  const std::string_view original_;
  std::vector<Edit> edits_;
  std::vector<int> new_begins_;                         ///< where each replacement begins in text_
  std::unordered_map<std::string, std::string> names_;  ///< placeholder to identifier
  std::string text_;
};

/// The edits for both rewrites, over the tokens of `source`.
arrow::Result<std::vector<RewrittenText::Edit>> FindRewrites(const SourceText& source, const std::vector<Token>& tokens);

}  // namespace icebound::sql
