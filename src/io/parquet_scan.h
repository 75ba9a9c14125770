// SPDX-License-Identifier: Apache-2.0
//
// The running scan of a ParquetTable: which row group is whose. See parquet_table.h for the whole picture.
#pragma once

#include <arrow/result.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "io/parquet_footer.h"
#include "io/parquet_pruning.h"
#include "io/parquet_row_group_reader.h"
#include "io/parquet_table.h"

namespace icebound::io {

/// One file of the scan, opened and matched to the table's columns. Shared by the streams that read it.
struct ScanFile {
  std::shared_ptr<ParquetFooter> footer;
  std::vector<ColumnSource> columns;  ///< of the projection
  std::unique_ptr<ParquetPruner> pruner;
  int next_row_group = 0;  ///< guarded by the scan's mutex, as is next_piece
  int next_piece = 0;
};

/// A piece of a row group to read, or (when no column is wanted) a whole file to count.
struct ScanMorsel {
  std::shared_ptr<ScanFile> file;
  int row_group = -1;
  int piece = 0;
  int pieces = 1;
  int64_t counted_rows = 0;

  /// The rows of this piece of a row group of `rows` rows.
  RowRange Rows(int64_t rows) const { return {.begin = rows * piece / pieces, .end = rows * (piece + 1) / pieces}; }
};

/// Thread safe. Streams share it and keep it alive.
class ParquetScan : public std::enable_shared_from_this<ParquetScan> {
 public:
  static arrow::Result<std::unique_ptr<runtime::StreamSource>> Make(std::shared_ptr<const ParquetTable> table,
                                                                    ParquetScanRequest request, runtime::QueryContext* context);

  const std::shared_ptr<arrow::Schema>& schema() const { return schema_; }
  int MaxStreams() const;
  int64_t ReadAheadBytes() const;  ///< of one stream
  arrow::Result<std::unique_ptr<runtime::BatchStream>> OpenStream();

  /// The next piece of work; nullopt when there is none left.
  arrow::Result<std::optional<ScanMorsel>> NextMorsel();

  /// Counts a batch as delivered, and the rows that were read for it.
  void Deliver(int64_t rows, int64_t read_rows);
  /// Counts rows that were pruned: nobody will see them.
  void Prune(int64_t rows);

  runtime::QueryContext* context() const { return context_; }
  WidePageGate* wide_gate_or_null() const { return wide_gate_.get(); }
  memory::MemoryConsumer* consumer() const { return consumer_.get(); }
  const std::shared_ptr<const ParquetRowFilter>& filter_or_null() const { return filter_; }

 private:
  ParquetScan(std::shared_ptr<const ParquetTable> table, ParquetScanRequest request, runtime::QueryContext* context);
  arrow::Result<std::shared_ptr<ScanFile>> OpenFile(int64_t index) const;
  arrow::Result<std::vector<expr::ExprPtr>> PruningFilters() const;
  int PiecesPerRowGroup() const;
  bool LimitReached() const;

  const std::shared_ptr<const ParquetTable> table_;
  const ParquetScanRequest request_;
  runtime::QueryContext* const context_;
  const std::shared_ptr<arrow::Schema> schema_;
  const std::unique_ptr<memory::MemoryConsumer> consumer_;
  std::shared_ptr<const ParquetRowFilter> filter_;  // of the request's filters; constant once made
  const int pieces_;                                // morsels a row group
  std::unique_ptr<WidePageGate> wide_gate_;         // with more than one stream

  std::atomic<int64_t> delivered_rows_{0};
  std::mutex mutex_;
  std::deque<std::shared_ptr<ScanFile>> open_files_;  // with row groups left; guarded by mutex_
  int64_t next_file_ = 0;                             // guarded by mutex_
  int files_opening_ = 0;                             // guarded by mutex_: claimed, and not yet in open_files_
  std::condition_variable file_opened_;               // with mutex_: files_opening_ fell
};

}  // namespace icebound::io
