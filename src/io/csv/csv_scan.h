// SPDX-License-Identifier: Apache-2.0
//
// The running scan of a CsvTable: whose block is next. See csv_table.h for the whole picture.
#pragma once

#include <arrow/result.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "io/csv/csv_columns.h"
#include "io/csv/csv_table.h"
#include "io/wide_pages.h"

namespace icebound::io {

/// What the streams share of one file.
struct CsvScanFile {
  std::unique_ptr<CsvFile> csv;  ///< guarded by the scan's mutex
  CsvDialect dialect;
  std::vector<int> slots;  ///< where in the projection a column of the file goes, or -1
};

/// Thread safe. Streams share it and keep it alive.
class CsvScan : public std::enable_shared_from_this<CsvScan> {
 public:
  static arrow::Result<std::unique_ptr<runtime::StreamSource>> Make(std::shared_ptr<const CsvTable> table, CsvScanRequest request,
                                                                    runtime::QueryContext* context);

  const std::shared_ptr<arrow::Schema>& schema() const { return schema_; }
  int MaxStreams() const;
  arrow::Result<std::unique_ptr<runtime::BatchStream>> OpenStream();

  /// Reads the next block into `block`; its file, or null when there is none left. `wide_pass.was_refused()` afterwards: nothing
  /// was read.
  arrow::Result<std::shared_ptr<CsvScanFile>> NextBlock(CsvBlock* block, WidePass* wide_pass);

  /// Counts a batch as delivered.
  void Deliver(int64_t rows);

  /// Rows of a batch at most: by number, and by the bytes of what has a fixed width.
  int64_t batch_rows() const { return batch_rows_; }
  int64_t BlockBytes() const;
  /// The slot of a column of schema().
  int slot(int column) const { return slots_[static_cast<size_t>(column)]; }
  const CsvNulls& nulls() const { return nulls_; }
  runtime::QueryContext* context() const { return context_; }
  WidePageGate* wide_gate_or_null() const { return wide_gate_.get(); }
  memory::MemoryConsumer* consumer() const { return consumer_.get(); }

 private:
  CsvScan(std::shared_ptr<const CsvTable> table, CsvScanRequest request, runtime::QueryContext* context);
  int64_t BatchRows() const;
  arrow::Result<std::shared_ptr<CsvScanFile>> OpenFile(int64_t index) const;

  const std::shared_ptr<const CsvTable> table_;
  const CsvScanRequest request_;
  runtime::QueryContext* const context_;
  const std::shared_ptr<arrow::Schema> schema_;
  const std::vector<int> slots_;
  const CsvNulls nulls_;
  const std::unique_ptr<memory::MemoryConsumer> consumer_;
  const int64_t batch_rows_;
  std::unique_ptr<WidePageGate> wide_gate_;  // with more than one stream

  std::atomic<int64_t> delivered_rows_{0};
  std::mutex mutex_;
  std::shared_ptr<CsvScanFile> file_;  // guarded by mutex_; null before the first and between two
  int64_t next_file_ = 0;              // guarded by mutex_
};

}  // namespace icebound::io
