// SPDX-License-Identifier: Apache-2.0
//
// Decodes the rows of one file, a row group (or some ranges of its rows) at a time, into bounded batches.
//
// Arrow's column readers do the decoding; around them
//   - the Parquet library gets its row group from us: metadata of one footer page instead of the whole footer, and column
//     streams that read page by page (parquet_column_stream.h) instead of a chunk at once;
//   - pages that hold no wanted row are left out of the streams when the file has an offset index. A column then delivers the
//     rows of the pages that are left, its *segments*; rows of a segment that nobody wants are decoded and dropped, so that the
//     columns of a batch agree;
//   - the rows of a batch follow from their width: estimated from the footer before the first batch, measured after it;
//   - when memory is refused for a batch, the row group is opened again at that row with batches an eighth as long, down to
//     one row; and a page that is large beside the memory there is waits until no other stream has one (wide_pages.h).
//
// Source of the page selection: Apache Parquet, PageIndex.md ("page index: row ranges").
#pragma once

#include <arrow/record_batch.h>
#include <arrow/result.h>
#include <parquet/arrow/reader.h>

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "io/parquet_footer.h"
#include "io/parquet_schema.h"
#include "io/row_ranges.h"
#include "io/wide_pages.h"
#include "memory/memory_ledger.h"

namespace icebound::io {

struct BatchBounds {
  int64_t rows = 8192;
  int64_t bytes = int64_t{1} << 20;
};

struct RowGroupReaderOptions {
  std::shared_ptr<arrow::Schema> schema;  ///< of the batches
  std::vector<ColumnSource> columns;      ///< for each of its fields: where it comes from in the file
  BatchBounds bounds;
  int64_t read_ahead_bytes = int64_t{4} << 20;  ///< of a remote file: blocks being used and fetched, all columns together
  WidePageGate* wide_gate = nullptr;            ///< outlives the reader; null: there is no other stream
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

 private:
  class Source;
  struct Column {
    std::unique_ptr<parquet::arrow::ColumnReader> reader;
    RowRanges segments;  // rows its stream holds
    size_t segment = 0;
    int64_t row = 0;  // the next one it delivers
    ColumnSource source;
    std::shared_ptr<arrow::DataType> type;  // of the batch
  };

  ParquetRowGroupReader(std::shared_ptr<ParquetFooter> footer, RowGroupReaderOptions options, memory::MemoryConsumer* consumer);

  arrow::Status OpenColumns();
  arrow::Status OpenColumn(int index);
  /// True when all rows of the row group are wanted, from the first on: then no page is left out.
  bool WantsAll() const;
  /// Reads the offset indexes that SelectPages will ask for at once: they lie side by side, and a remote store is slow to answer.
  arrow::Status LoadOffsetIndexes();
  arrow::Result<std::string_view> OffsetIndexBytes(const parquet::IndexLocation& place, std::shared_ptr<arrow::Buffer>* holder);
  arrow::Result<RowRanges> SelectPages(const parquet::ColumnChunkMetaData& chunk, int leaf);
  void EstimateRowBytes();
  int64_t LeafRowBytes(const parquet::ColumnChunkMetaData& chunk, int leaf) const;
  /// Decodes `rows` rows from row_ on into ready_.
  arrow::Status Decode(int64_t rows);
  /// After a refusal of memory: drops what the columns hold, waits for a turn alone, and starts again at row_. False when nothing
  /// is left to try.
  arrow::Result<bool> TryWithLess(int64_t rows);
  arrow::Result<std::shared_ptr<arrow::ChunkedArray>> DecodeColumn(Column* column, int64_t rows);
  arrow::Status SkipTo(Column* column, int64_t row);
  arrow::Result<std::shared_ptr<arrow::ChunkedArray>> ReadRows(Column* column, int64_t rows);
  arrow::Result<std::shared_ptr<arrow::ChunkedArray>> Convert(const Column& column,
                                                              std::shared_ptr<arrow::ChunkedArray> values) const;
  void Emit(int64_t rows, const arrow::ChunkedArrayVector& columns);
  int64_t NextBatchRows() const;
  std::string Where() const;
  std::string Where(int field_index) const;

  const std::shared_ptr<ParquetFooter> footer_;
  const RowGroupReaderOptions options_;
  memory::MemoryConsumer* const consumer_;
  memory::Reservation reservation_;  // the decoders' own objects

  WidePass wide_pass_;
  Source* source_ = nullptr;  // owned by file_reader_
  std::unique_ptr<parquet::arrow::FileReader> file_reader_;
  std::vector<std::vector<int>> field_leaves_;  // of each projected column

  int row_group_ = -1;
  RowRanges ranges_;
  size_t range_ = 0;
  int64_t row_ = 0;  // the next wanted row
  std::vector<Column> columns_;
  std::shared_ptr<arrow::Buffer> index_bytes_;  // offset indexes, while columns are opened
  int64_t index_offset_ = 0;                    // of the first of these bytes, in the file
  double row_bytes_ = 1;                        // estimate for the next batch
  int64_t rows_limit_ = 0;                      // grows from batch to batch, shrinks when memory is refused
  std::deque<std::shared_ptr<arrow::RecordBatch>> ready_;
};

}  // namespace icebound::io
