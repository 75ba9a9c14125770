// SPDX-License-Identifier: Apache-2.0
//
// What the Parquet library sees as the file: one with the file's schema and a single row group, whichever is being read. Pages of
// a column that hold no wanted row are left out of its stream, where the file has an offset index.
//
// Source of the page selection: Apache Parquet, PageIndex.md ("page index: row ranges").
#pragma once

#include <arrow/result.h>
#include <parquet/file_reader.h>
#include <parquet/index_location.h>

#include <map>
#include <memory>
#include <string_view>
#include <vector>

#include "io/parquet_column_stream.h"
#include "io/parquet_footer.h"
#include "io/row_ranges.h"
#include "io/wide_pages.h"
#include "memory/memory_ledger.h"

namespace icebound::io {

/// Not thread safe. Throws what the Parquet library throws, which expects no less of it.
class ParquetRowGroupSource final : public parquet::ParquetFileReader::Contents {
 public:
  ParquetRowGroupSource(std::shared_ptr<ParquetFooter> footer, memory::MemoryConsumer* consumer, WidePass* wide_pass);
  ~ParquetRowGroupSource() override;

  /// Column readers of the row group before must be gone: they point into its metadata.
  void SetRowGroup(const FooterPage& page, int row_group);
  /// The leaves that will be read, and the memory for blocks of a remote file.
  void SetLeaves(std::vector<int> leaves, int64_t read_ahead_bytes);

  const parquet::RowGroupMetaData& row_group() const { return *row_group_; }

  /// Reads the offset indexes of these leaves at once: they lie side by side, and a remote store is slow to answer. SelectPages
  /// finds them; ForgetOffsetIndexes frees them.
  arrow::Status LoadOffsetIndexes(const std::vector<int>& leaves);
  void ForgetOffsetIndexes() { index_bytes_.reset(); }

  /// Leaves out the pages of a flat leaf that hold no row of `wanted`. Returns the rows of the pages that are left.
  arrow::Result<RowRanges> SelectPages(int leaf, const RowRanges& wanted);

  /// The pages of a leaf that were not left out.
  std::unique_ptr<parquet::PageReader> OpenPages(int leaf);

  // --- parquet::ParquetFileReader::Contents
  void Close() override {}
  std::shared_ptr<parquet::RowGroupReader> GetRowGroup(int) override;
  std::shared_ptr<parquet::FileMetaData> metadata() const override { return metadata_; }
  std::shared_ptr<parquet::PageIndexReader> GetPageIndexReader() override { return nullptr; }
  parquet::BloomFilterReader& GetBloomFilterReader() override;

 private:
  struct Group;

  /// Where a whole chunk lies, dictionary page included.
  ByteRange ChunkRange(const parquet::ColumnChunkMetaData& chunk) const;
  int64_t BufferBytes(int64_t chunk_bytes) const;
  arrow::Result<std::string_view> OffsetIndexBytes(const parquet::IndexLocation& place, std::shared_ptr<arrow::Buffer>* holder);

  const std::shared_ptr<ParquetFooter> footer_;
  const std::shared_ptr<InputFile> file_;
  memory::MemoryConsumer* const consumer_;
  WidePass* const wide_pass_;
  const parquet::ReaderProperties properties_;
  std::shared_ptr<parquet::FileMetaData> metadata_;  // the head until there is a row group
  std::unique_ptr<parquet::RowGroupMetaData> row_group_;
  std::map<int, std::vector<ByteRange>> chosen_;  // of the leaves whose pages were chosen; the others are read whole
  std::vector<int> leaves_;
  ReadAheadBudget ahead_budget_;
  int64_t total_bytes_ = 0;                     // compressed, of the leaves in this row group
  std::shared_ptr<arrow::Buffer> index_bytes_;  // offset indexes, while columns are opened
  int64_t index_offset_ = 0;                    // of the first of these bytes, in the file
};

}  // namespace icebound::io
