// SPDX-License-Identifier: Apache-2.0
//
// The running scan of a stream of Parquet files: which row group is whose. See parquet_table.h for the whole picture.
//
// Files come one after another from a ScanFileSource, each opened and matched to the scan's columns in its own way: by name
// (ParquetTable) or by field id, with constants and rows that are left out (column_mapping.h, excluded_rows.h).
#pragma once

#include <arrow/result.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "io/excluded_rows.h"
#include "io/parquet_footer.h"
#include "io/parquet_pruning.h"
#include "io/parquet_row_filter.h"
#include "io/parquet_row_group_reader.h"
#include "runtime/batch_stream.h"
#include "runtime/query_context.h"

namespace icebound::io {

/// One file of the scan, opened and matched to the scan's columns. Shared by the streams that read it.
struct ScanFile {
  std::shared_ptr<ParquetFooter> footer;
  std::vector<ColumnSource> columns;             ///< for each of the scan's schema
  std::shared_ptr<const ExcludedRows> excluded;  ///< null: none
  std::unique_ptr<ParquetPruner> pruner;         ///< the scan's doing, as is what follows
  int next_row_group = 0;                        ///< guarded by the scan's mutex, as is next_piece
  int next_piece = 0;
};

/// The files of one scan, in its order. Thread safe: the streams ask side by side, without a lock, as opening takes long.
class ScanFileSource {
 public:
  virtual ~ScanFileSource() = default;
  /// The next file; null when there is none left. What it holds is charged to `consumer`, which outlives it.
  virtual arrow::Result<std::shared_ptr<ScanFile>> Next(memory::MemoryConsumer* consumer) = 0;
};

/// What is scanned, and what is known of it beforehand.
struct ParquetScanOptions {
  std::string name;                       ///< for messages
  std::shared_ptr<arrow::Schema> schema;  ///< of the batches; no columns: rows to be counted
  std::vector<expr::ExprPtr> filters;     ///< conjuncts over these columns
  std::vector<ParquetProbeFilter> probe_filters;
  std::optional<int64_t> limit;  ///< rows that are enough; only a hint
  bool ordered = false;          ///< one stream, in the files' order
  std::unique_ptr<ScanFileSource> files;
  bool is_local = true;
  // About, for how many streams there are:
  int64_t rows = 0;  ///< that all files have: for progress
  int64_t file_count = 0;
  int64_t row_groups = 0;
  int64_t row_group_rows = 0;
  bool splits = false;       ///< pages of all columns can be found by row
  int64_t column_bytes = 0;  ///< a stream holds about this much of all columns
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
  static arrow::Result<std::unique_ptr<runtime::StreamSource>> Make(ParquetScanOptions options, runtime::QueryContext* context);

  const std::shared_ptr<arrow::Schema>& schema() const { return options_.schema; }
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
  ParquetScan(ParquetScanOptions options, runtime::QueryContext* context);
  arrow::Result<std::shared_ptr<ScanFile>> OpenNextFile();
  arrow::Result<std::vector<expr::ExprPtr>> PruningFilters() const;
  int PiecesPerRowGroup() const;
  bool LimitReached() const;

  const ParquetScanOptions options_;
  runtime::QueryContext* const context_;
  const std::unique_ptr<memory::MemoryConsumer> consumer_;
  std::shared_ptr<const ParquetRowFilter> filter_;  // of the request's filters; constant once made
  const int pieces_;                                // morsels a row group
  std::unique_ptr<WidePageGate> wide_gate_;         // with more than one stream

  std::atomic<int64_t> delivered_rows_{0};
  std::mutex mutex_;
  std::deque<std::shared_ptr<ScanFile>> open_files_;  // with row groups left; guarded by mutex_
  bool no_files_left_ = false;                        // guarded by mutex_
  int files_opening_ = 0;                             // guarded by mutex_: asked for, and not yet in open_files_
  std::condition_variable file_opened_;               // with mutex_: files_opening_ fell
};

}  // namespace icebound::io
