// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <arrow/record_batch.h>
#include <arrow/result.h>
#include <arrow/table.h>

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

/// The rows of one statement, streamed: nothing is collected unless asked, and they can be taken once. Not thread safe. Keeps its
/// session alive.
class Result {
 public:
  virtual ~Result() = default;
  virtual const std::shared_ptr<arrow::Schema>& schema() const = 0;
  /// A reader that runs the plan as it is pulled. Destroying it stops the plan and frees its memory and spill files.
  virtual arrow::Result<std::shared_ptr<arrow::RecordBatchReader>> ToReader() = 0;
  /// All rows in memory, from Arrow's default pool and outside the limit: for small results.
  virtual arrow::Result<std::shared_ptr<arrow::Table>> ToTable() = 0;
  /// Writes the rows to one Parquet file (or a directory with file_size_bytes), all or nothing. Returns the rows written.
  virtual arrow::Result<int64_t> WriteParquet(const std::string& path, const ParquetWriteOptions& options = {}) = 0;
  virtual QueryMetrics metrics() const = 0;
};

}  // namespace icebound
