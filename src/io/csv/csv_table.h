// SPDX-License-Identifier: Apache-2.0
//
// A table of CSV files, and scans of it.
//
//   CsvTable   lists the files, reads the header of each of the first 16 (of later ones when a scan opens them), and a sample of
//              their values, which says what the columns' types are. Columns go by name: the files may have them in any order.
//   Scan       hands out blocks of whole records (csv_file.h) to the streams of a pipeline, file by file. Finding where a block
//              ends is quick and done by one stream at a time; cutting it into values and reading them (csv_columns.h) is done by
//              all side by side. Only wanted columns are read.
//
// A stream holds a block of about the bytes of a batch, where the block's values are, and the batch.
#pragma once

#include <arrow/result.h>
#include <arrow/type.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "icebound/source_options.h"
#include "io/csv/csv_file.h"
#include "io/csv/csv_values.h"
#include "io/file_listing.h"
#include "io/file_systems.h"
#include "memory/memory_ledger.h"
#include "runtime/batch_stream.h"
#include "runtime/query_context.h"

namespace icebound::io {

/// True when a path is read as CSV where nothing else says so: it ends in .csv or .tsv.
bool IsCsvPath(std::string_view path);

struct CsvScanRequest {
  std::vector<int> projection;   ///< columns of CsvTable::schema(), in the order wanted; empty: rows, to be counted
  std::optional<int64_t> limit;  ///< rows that are enough
  bool ordered = false;          ///< one stream, in the table's order
};

/// Immutable once made, thread safe. It holds no file open. The ledger outlives it.
class CsvTable : public std::enable_shared_from_this<CsvTable> {
 public:
  /// `path_or_uri` is a file, a directory (every *.csv and *.tsv below it) or a pattern.
  static arrow::Result<std::shared_ptr<CsvTable>> Open(FileSystems* file_systems, std::string_view path_or_uri,
                                                       memory::MemoryLedger* ledger, const CsvReadOptions& options);

  const std::shared_ptr<arrow::Schema>& schema() const { return schema_; }
  int64_t file_count() const { return listing_->size(); }
  int64_t total_bytes() const { return listing_->total_bytes(); }
  int64_t rows() const { return rows_; }  ///< what the sample suggests for the size of all
  std::string Describe() const;

  arrow::Result<std::unique_ptr<runtime::StreamSource>> Scan(CsvScanRequest request, runtime::QueryContext* context) const;

 private:
  friend class CsvScan;

  /// A file behind its header.
  struct Opened {
    std::unique_ptr<CsvFile> csv;
    std::vector<int> columns;  // of the table, for each of the file's
  };

  CsvTable(Location location, CsvReadOptions options, memory::MemoryLedger* ledger);
  CsvDialect DialectOf(std::string_view path) const;
  /// `read_bytes` may be null. The first file to be opened gives the table its columns.
  arrow::Result<Opened> OpenFile(int64_t index, std::atomic<int64_t>* read_bytes) const;
  /// The names of a file's columns, `csv` behind its header.
  arrow::Result<std::vector<std::string>> ReadNames(CsvFile* csv) const;
  arrow::Result<std::vector<int>> MatchNames(const std::vector<std::string>& names, const std::string& file_name) const;
  arrow::Status Sample();
  arrow::Status SampleFile(int64_t index, int64_t bytes, std::vector<CsvTypeGuess>* guesses, int64_t* sampled_rows,
                           int64_t* sampled_bytes);
  arrow::Status MakeSchema(const std::vector<CsvTypeGuess>& guesses);

  const Location location_;
  const CsvReadOptions options_;
  const std::unique_ptr<memory::MemoryConsumer> consumer_;
  std::optional<FileListing> listing_;
  std::vector<std::string> names_;
  std::string first_file_;
  std::shared_ptr<arrow::Schema> schema_;
  int64_t rows_ = 0;
};

/// "FILE, line 12, column "price": " before `status`, for the record of `block` that is at fault.
arrow::Status AtRecord(const arrow::Status& status, const CsvBlock& block, const char* record, std::string_view column_name,
                       arrow::MemoryPool* pool);

}  // namespace icebound::io
