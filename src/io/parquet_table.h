// SPDX-License-Identifier: Apache-2.0
//
// A table of Parquet files, and scans of it.
//
//   ParquetTable   lists the files and reads the first footer: the schema is that file's. Every other file is checked against it
//                  when it is opened.
//   Scan           hands out morsels to the streams of a pipeline: a row group each, or a piece of one when there are fewer row
//                  groups than would keep the streams busy. A stream takes a morsel, skips it when its statistics exclude the
//                  filters, narrows it to the pages that may match, and decodes it (parquet_row_group_reader.h). Footers are
//                  read once a file and shared; at most one file a stream is open, and one more.
//
// Rows that do not pass the filters do not come: row groups and pages are left out by what the file says of itself
// (parquet_pruning.h), and rows by their values before the other columns are decoded (parquet_row_filter.h).
#pragma once

#include <arrow/result.h>
#include <arrow/type.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "expr/expr.h"
#include "io/file_listing.h"
#include "io/file_systems.h"
#include "io/parquet_morsel_shape.h"
#include "io/parquet_statistics.h"
#include "memory/memory_ledger.h"
#include "runtime/batch_stream.h"
#include "runtime/probe_filter.h"
#include "runtime/query_context.h"

namespace icebound::io {

/// The keys of a join above the scan, which may drop rows that the join will not match.
struct ParquetProbeFilter {
  std::shared_ptr<const runtime::ProbeFilter> filter;
  std::vector<int> columns;  ///< projected ones
};

struct ParquetScanRequest {
  /// columns of ParquetTable::schema(), in the order wanted; empty: rows without columns, to be counted
  std::vector<int> projection;
  std::vector<expr::ExprPtr> filters;  ///< conjuncts over the projected columns
  std::optional<int64_t> limit;        ///< rows that are enough; only a hint
  bool ordered = false;                ///< one stream, in the table's order: files by name, rows as stored
  std::vector<ParquetProbeFilter> probe_filters;
};

struct ParquetTableOptions {
  /// Columns the table must have, by name, and their types; null: any.
  std::shared_ptr<arrow::Schema> expected_schema;

  /// Reads the footers of all files at once instead of the first few.
  bool check_all_files = false;

  /// Delivers columns of text whose chunks are small dictionaries (as the first file has them) as Arrow dictionaries with 32-bit
  /// indexes; a chunk of another file or row group that is none is made one while it is read. Off: plain values.
  bool keep_dictionaries = false;
};

/// Immutable, thread safe. It holds no file open. The ledger outlives it.
class ParquetTable : public std::enable_shared_from_this<ParquetTable> {
 public:
  /// `path_or_uri` is a file, a directory or a pattern (file_listing.h).
  static arrow::Result<std::shared_ptr<ParquetTable>> Open(FileSystems* file_systems, std::string_view path_or_uri,
                                                           memory::MemoryLedger* ledger, const ParquetTableOptions& options = {});

  /// Columns in plain types (parquet_schema.h). Nullability is what the first file says.
  const std::shared_ptr<arrow::Schema>& schema() const { return schema_; }

  int64_t file_count() const { return listing_->size(); }
  int64_t total_bytes() const { return listing_->total_bytes(); }
  /// Exact when all footers were read (a few files); otherwise what the first file suggests for the size of all.
  int64_t rows() const { return rows_; }
  bool rows_are_exact() const { return rows_are_exact_; }
  int64_t row_groups() const { return row_groups_; }  ///< as exact as rows()
  /// "parquet dir/*.parquet (12 files, 53 row groups)".
  std::string Describe() const;

  /// Reads a few footers again: a statistic for each column of the schema.
  arrow::Result<std::vector<ParquetColumnStatistics>> ReadStatistics() const;

  arrow::Result<std::unique_ptr<runtime::StreamSource>> Scan(ParquetScanRequest request, runtime::QueryContext* context) const;

 private:
  class Files;

  ParquetTable(Location location, memory::MemoryLedger* ledger);
  arrow::Status ReadFooters(const ParquetTableOptions& options);
  /// kInvalidInput when schema_ is not what is expected.
  arrow::Status CheckExpected(const arrow::Schema& expected) const;

  const Location location_;
  const std::unique_ptr<memory::MemoryConsumer> consumer_;
  std::optional<FileListing> listing_;
  std::string first_file_;
  std::shared_ptr<arrow::Schema> schema_;
  ParquetMorselShape shape_;
  int64_t rows_ = 0;
  int64_t row_groups_ = 0;
  bool rows_are_exact_ = false;
};

}  // namespace icebound::io
