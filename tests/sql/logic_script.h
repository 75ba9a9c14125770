// SPDX-License-Identifier: Apache-2.0
//
// Scripts of SQL statements with their answers, in the format of sqllogictest (SQLite, DuckDB and DataFusion keep theirs in it):
//
//     # a comment
//     statement ok                      the next lines, up to an empty one, are a statement that succeeds
//     statement error no such column    ... that fails with a message that has this text
//     query IT rowsort                  a query of two columns; its rows are compared in any order
//     SELECT ...
//     ----
//     1	one                            a row a line, columns separated by a tab
//
// A letter a column: I and T are compared as text, R as numbers to twelve digits. Without `rowsort` the order counts. NULL is a
// null, (empty) an empty text. `query error TEXT` is as `statement error TEXT`.
#pragma once

#include <arrow/result.h>

#include <string>
#include <vector>

namespace icebound::testing {

struct LogicRecord {
  int line = 0;  ///< of its first line, from 1
  std::string sql;
  bool is_query = false;
  bool fails = false;
  std::string error_text;  ///< part of the message that a failing statement gives
  std::string column_types;
  bool any_order = false;
  std::vector<std::string> rows;  ///< as they stand in the script
};

/// Fails with the line of the first fault.
arrow::Result<std::vector<LogicRecord>> ParseLogicScript(const std::string& text);

/// Why `actual` is not what the record expects; empty when it is. Both are rows as ParseLogicScript gives them.
std::string CompareRows(const LogicRecord& record, std::vector<std::string> actual);

}  // namespace icebound::testing
