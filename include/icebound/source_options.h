// SPDX-License-Identifier: Apache-2.0
//
// How files that are registered as tables are read.
#pragma once

#include <arrow/type.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace icebound {

/// How RegisterParquet reads. The defaults read whatever the files hold.
struct ParquetReadOptions {
  /// Columns the table must have, in any order and no others, with these types (as the session delivers them: plain strings and
  /// lists, decimal128). A difference is ErrorKind::kInvalidInput naming the file, the column and both types. Null: any.
  std::shared_ptr<arrow::Schema> expected_schema;

  /// Reads the footer of every file now: two schemas are an error at once, and the number of rows is exact. Otherwise this holds
  /// for tables of up to 16 files; of larger ones the first footer is read now, and the others when a statement opens them.
  bool check_all_files = false;
};

/// How RegisterCsv (and FROM 'x.csv') reads. A file is UTF-8 text of records that end in LF, CR LF or CR; values may be quoted,
/// and hold delimiters and line ends then. Empty lines are skipped, unless there is only one column (where they are NULL).
struct CsvReadOptions {
  std::optional<char> delimiter;     ///< default: a tab for *.tsv files, a comma for others
  std::optional<char> quote = '"';   ///< doubled inside a quoted value; nullopt: nothing is quoted
  std::optional<char> escape;        ///< in quoted values, takes the next character as it is; default: none
  bool header = true;                ///< the first line names the columns; otherwise they are column0, column1, ...
  std::vector<std::string> columns;  ///< names instead, in the order of the file (a header line is skipped)

  /// Values that are NULL when they are not quoted. In columns that are not text, "" in quotes is NULL, too.
  std::vector<std::string> null_strings = {""};

  /// Types of columns by name: bool, int16, int32, int64, float32, float64, decimal128, date32, time64, timestamp, utf8 or
  /// binary. The values are read as CAST reads text. Columns that are not named get the narrowest type of all values of a sample:
  ///
  ///     boolean (true, false) | bigint -> decimal(38, 0) -> double | date -> timestamp | time | timestamp with time zone | text
  ///
  /// Arrows widen; everything else that is mixed is text, and so are numbers that begin with a zero they would lose ("007") and
  /// columns without a value. A later value that does not fit is an error naming file, line and column.
  std::map<std::string, std::shared_ptr<arrow::DataType>> types;

  /// Bytes of the sample, taken evenly from the beginnings of the first files (16 at most).
  int64_t sample_bytes = int64_t{4} << 20;
};

}  // namespace icebound
