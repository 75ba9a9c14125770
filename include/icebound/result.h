// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <arrow/io/interfaces.h>
#include <arrow/record_batch.h>
#include <arrow/result.h>
#include <arrow/table.h>

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "icebound/metrics.h"

namespace icebound {

/// How WriteParquet (and COPY ... (FORMAT parquet)) writes.
struct ParquetWriteOptions {
  std::string compression = "snappy";      ///< "zstd", "snappy" or "none"
  std::optional<int> compression_level;    ///< zstd only
  std::optional<int64_t> row_group_rows;   ///< default 122,880
  std::optional<int64_t> row_group_bytes;  ///< encoded bytes; default: rows alone decide
  std::optional<int64_t>
      file_size_bytes;  ///< start a new file part-00000.parquet, ... in directory `path` beyond this many bytes
};

/// What a statement answers with.
enum class ResultKind {
  kRows,        ///< a query: its rows
  kPlan,        ///< EXPLAIN: one column of text
  kCount,       ///< COPY: one row, the number of rows it wrote
  kDefinition,  ///< CREATE VIEW and the like: no columns, no rows
};

/// The rows of one statement, streamed: nothing is collected unless asked, and they can be taken once. Not thread safe. Keeps its
/// session alive.
class Result {
 public:
  virtual ~Result() = default;
  virtual const std::shared_ptr<arrow::Schema>& schema() const = 0;
  virtual ResultKind kind() const = 0;
  /// Runs the plan up to its first row (sorts, COPY): optional, the calls below do it too.
  virtual arrow::Status Prepare() = 0;
  /// A reader that runs the plan as it is pulled. Destroying it stops the plan and frees its memory and spill files.
  virtual arrow::Result<std::shared_ptr<arrow::RecordBatchReader>> ToReader() = 0;
  /// All rows in memory, from Arrow's default pool and outside the limit: for small results.
  virtual arrow::Result<std::shared_ptr<arrow::Table>> ToTable() = 0;
  /// Writes the rows to one Parquet file (or a directory with file_size_bytes), all or nothing. Returns the rows written.
  virtual arrow::Result<int64_t> WriteParquet(const std::string& path, const ParquetWriteOptions& options = {}) = 0;
  /// Writes the rows to a file, all or nothing. The format is options["format"] or the extension (.parquet .csv .arrow .json
  /// .jsonl); the other options are those of COPY, in text. Returns the rows written.
  virtual arrow::Result<int64_t> WriteFile(const std::string& path, const std::map<std::string, std::string>& options = {}) = 0;
  /// Writes the rows to an open stream as they come: "table", "csv", "json", "jsonl" or "arrow". Returns the rows written.
  virtual arrow::Result<int64_t> WriteStream(arrow::io::OutputStream* out, const std::string& format) = 0;
  /// Counters of this statement. Safe from any thread while another one reads.
  virtual QueryMetrics metrics() const = 0;
};

}  // namespace icebound
