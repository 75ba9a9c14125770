// SPDX-License-Identifier: Apache-2.0
//
// Decodes the rows of one file, a row group (or some ranges of its rows) at a time, into bounded batches of the rows that pass
// the filter.
//
//   window   rows that are looked at together: at most a batch, and within one page of every column that the filter reads
//     1. the filter's columns are loaded, and the filter says which rows pass (parquet_row_filter.h);
//     2. of the other columns only the values of these rows are decoded. Where no row passes, nothing is: rows are skipped when
//        the next ones are wanted, pages without being decompressed.
// Columns that the file does not have (a constant, the number of the row) are made when a batch is.
//   batch    the rows that passed in as many windows as it takes to fill half of one, or all of the only window
//
// Flat columns of the usual encodings are decoded by flat/flat_column.h, the others by Arrow's column readers; a batch with one
// of those is one window. Around them
//   - the Parquet library gets its row group from us: metadata of one footer page instead of the whole footer, and column
//     streams that read page by page (parquet_column_stream.h) instead of a chunk at once;
//   - pages that hold no wanted row are left out of the streams when the file has an offset index. A column then delivers the
//     rows of the pages that are left, its *segments*; rows of a segment that nobody wants are skipped, so that the columns of a
//     batch agree;
//   - the rows of a window follow from their width: estimated from the footer before the first batch, measured after it;
//   - when memory is refused for a window, the row group is opened again at that row with windows an eighth as long, down to one
//     row; and a page that is large beside the memory there is waits until no other stream has one (wide_pages.h).
#pragma once

#include <arrow/record_batch.h>
#include <arrow/result.h>
#include <parquet/arrow/reader.h>

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/excluded_rows.h"
#include "io/flat/flat_column.h"
#include "io/flat/flat_output.h"
#include "io/parquet_footer.h"
#include "io/parquet_row_filter.h"
#include "io/parquet_row_group_source.h"
#include "io/parquet_schema.h"
#include "io/row_ranges.h"
#include "io/wide_pages.h"
#include "memory/memory_ledger.h"
#include "runtime/cancellation.h"

namespace icebound::io {

struct BatchBounds {
  int64_t rows = 8192;
  int64_t bytes = int64_t{1} << 20;
};

struct RowGroupReaderOptions {
  std::shared_ptr<arrow::Schema> schema;  ///< of the batches
  std::vector<ColumnSource> columns;      ///< for each of its fields: where it comes from in the file
  BatchBounds bounds;
  int64_t read_ahead_bytes = int64_t{4} << 20;     ///< of a remote file: blocks being used and fetched, all columns together
  WidePageGate* wide_gate = nullptr;               ///< outlives the reader; null: there is no other stream
  std::shared_ptr<const ParquetRowFilter> filter;  ///< null: all rows come
  std::shared_ptr<const ExcludedRows> excluded;    ///< but these; null: none
  const runtime::CancellationToken* cancellation_or_null = nullptr;  ///< looked at when the filter lets nothing through for long
};

/// Not thread safe: one a stream and file. The footer is shared, the consumer outlives the reader and every batch of it.
class ParquetRowGroupReader {
 public:
  static arrow::Result<std::unique_ptr<ParquetRowGroupReader>> Make(std::shared_ptr<ParquetFooter> footer,
                                                                    RowGroupReaderOptions options,
                                                                    memory::MemoryConsumer* consumer);
  ~ParquetRowGroupReader();

  /// Starts on the rows `ranges` of a row group; what was left of the one before is dropped.
  arrow::Status Open(const FooterPage& page, int row_group, RowRanges ranges);

  /// The next batch, never empty; null when the ranges are done.
  arrow::Result<std::shared_ptr<arrow::RecordBatch>> Next();

  /// Rows that have been looked at since the last call, whether they passed or not.
  int64_t TakeReadRows() { return std::exchange(read_rows_, 0); }

 private:
  struct Column {
    ColumnSource source;
    std::shared_ptr<arrow::DataType> type;                 // of the batch
    std::unique_ptr<FlatColumn> flat;                      // or
    std::unique_ptr<parquet::arrow::ColumnReader> reader;  // or neither: the file does not have it
    RowRanges segments;                                    // rows the reader's stream holds
    size_t segment = 0;
    int64_t row = 0;                              // the next one it delivers
    std::optional<FlatSlots> slots;               // of a column that the filter reads
    std::shared_ptr<arrow::ChunkedArray> window;  // of one that the reader and the filter read
  };

  ParquetRowGroupReader(std::shared_ptr<ParquetFooter> footer, RowGroupReaderOptions options, memory::MemoryConsumer* consumer);

  arrow::Status OpenColumns();
  arrow::Status OpenColumn(int index);
  /// True when all rows of the row group are wanted, from the first on: then no page is left out.
  bool WantsAll() const;
  RowRanges RowsToCome() const;
  arrow::Result<bool> IsFlat(int index) const;
  void EstimateRowBytes();
  int64_t LeafRowBytes(const parquet::ColumnChunkMetaData& chunk, int leaf) const;
  int64_t NextWindowRows() const;

  /// Decodes up to `rows` rows from row_ on, and adds those that pass to the batch. Returns how many rows it looked at.
  arrow::Result<int64_t> DecodeWindow(int64_t rows);
  arrow::Result<int64_t> LoadFilterColumns(int64_t rows);
  arrow::Status ApplyFilter(int64_t rows);
  arrow::Result<std::shared_ptr<arrow::Array>> FilterValues(int index, const int32_t* positions, int64_t count);
  arrow::Status AppendColumns(int64_t rows, const int32_t* positions, int64_t count);
  arrow::Status AppendFlat(Column* column, int64_t rows, const int32_t* positions, int64_t count, FlatOutput* output);
  arrow::Result<std::shared_ptr<arrow::ChunkedArray>> DecodeColumn(Column* column, int64_t rows);
  arrow::Status SkipTo(Column* column, int64_t row);
  arrow::Result<std::shared_ptr<arrow::ChunkedArray>> ReadRows(Column* column, int64_t rows);
  arrow::Result<std::shared_ptr<arrow::ChunkedArray>> Convert(const Column& column,
                                                              std::shared_ptr<arrow::ChunkedArray> values) const;
  /// Values of a column that the file does not have: of these rows of the window (all when `positions` is null).
  arrow::Result<std::shared_ptr<arrow::Array>> MakeValues(const ColumnSource& source, const int32_t* positions, int64_t count);
  arrow::Status AppendRowNumbers(int64_t first, const int32_t* positions, int64_t count, FlatOutput* output) const;
  arrow::Result<std::shared_ptr<arrow::ChunkedArray>> FillNulls(const ColumnSource& source,
                                                                std::shared_ptr<arrow::ChunkedArray> values);
  arrow::Result<arrow::Datum> Take(const arrow::Datum& values, const int32_t* positions, int64_t count) const;

  /// After a failure: true when the window is worth another try.
  arrow::Result<bool> Recover(const arrow::Status& status, int64_t rows);
  /// After a refusal of memory: drops what the columns hold, waits for a turn alone, and starts again at row_. False when nothing
  /// is left to try.
  arrow::Result<bool> TryWithLess(int64_t rows);
  bool IsBatchFull() const;
  int64_t BatchBytes() const;
  bool HoldsDoneWidePage() const;
  arrow::Status Flush();
  void DropBatch();
  void Emit(int64_t rows, const arrow::ChunkedArrayVector& columns);
  template <typename Body>
  std::invoke_result_t<Body> Guard(const Column& column, Body&& body) const;
  std::string Where() const;
  std::string Where(const Column& column) const;

  const std::shared_ptr<ParquetFooter> footer_;
  const RowGroupReaderOptions options_;
  memory::MemoryConsumer* const consumer_;
  memory::Reservation reservation_;  // the decoders' own objects

  WidePass wide_pass_;
  ParquetRowGroupSource* source_ = nullptr;  // owned by file_reader_
  std::unique_ptr<parquet::arrow::FileReader> file_reader_;
  std::vector<std::vector<int>> field_leaves_;  // of each projected column
  std::vector<bool> is_filtered_;               // the filter reads it

  int row_group_ = -1;
  int64_t first_row_ = 0;  // of the row group, in the file
  RowRanges ranges_;
  size_t range_ = 0;
  int64_t row_ = 0;  // the next wanted row
  std::vector<Column> columns_;
  std::vector<bool> left_to_arrow_;  // in this row group
  FlatSlots slots_;                  // of columns that are loaded and appended at once
  std::optional<ParquetWindowFilter> filter_;
  double row_bytes_ = 1;    // estimate for the next batch
  int64_t rows_limit_ = 0;  // grows from batch to batch, shrinks when memory is refused
  int64_t read_rows_ = 0;

  // The batch in the making: outputs of flat columns, and what Arrow's readers gave, which is all of it.
  int64_t batch_rows_ = 0;
  std::vector<std::unique_ptr<FlatOutput>> outputs_;
  arrow::ChunkedArrayVector pieces_;
  std::deque<std::shared_ptr<arrow::RecordBatch>> ready_;
};

}  // namespace icebound::io
