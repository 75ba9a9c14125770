// SPDX-License-Identifier: Apache-2.0
//
// One leaf column: arrays (or levels and leaf arrays, for nested columns) in; finished, compressed pages and the chunk's metadata
// out.
//
//   AppendFlat / AppendLevels  ->  slices of a few hundred values  ->  LevelBuffer, ValueEncoder  ->  page full: levels | values,
//   compressed, behind its header, to the list of finished pages, which the owner may take away (to a spill file) at any time.
//
// Pages start at rows, hold at most max_page_rows rows, and about max_page_bytes bytes unless one row is larger. The dictionary
// page is made last but goes first in the file; so offsets inside a chunk are counted from its first data page, and are moved
// when the chunk gets its place.
#pragma once

#include <arrow/array.h>
#include <arrow/util/compression.h>
#include <parquet/page_index.h>
#include <parquet/schema.h>
#include <parquet/size_statistics.h>
#include <parquet/statistics.h>

#include <memory>
#include <vector>

#include "io/parquet_writer/level_buffer.h"
#include "io/parquet_writer/page_header.h"
#include "io/parquet_writer/value_encoder.h"

namespace icebound::io {

struct ColumnEncoderOptions {
  const parquet::ColumnDescriptor* descriptor = nullptr;  ///< must outlive the encoder
  arrow::MemoryPool* pool = nullptr;
  int64_t max_page_bytes = int64_t{1} << 20;
  int64_t max_page_rows = 20'000;
  int64_t dictionary_bytes_max = int64_t{1} << 20;
  int64_t expected_rows = 0;  ///< of a row group
  bool compressed = true;
};

/// What one thread needs to encode any column. `codec` is null for no compression.
struct EncodeWorkspace {
  EncodeWorkspace(arrow::MemoryPool* pool, std::unique_ptr<arrow::util::Codec> codec) : scratch(pool), codec(std::move(codec)) {}
  EncodeScratch scratch;
  std::unique_ptr<arrow::util::Codec> codec;
};

/// A chunk without its data pages: those were in ColumnEncoder::pages().
struct FinishedChunk {
  PoolVector<uint8_t> dictionary_page;  ///< header and content; empty without dictionary
  int64_t rows = 0;
  int64_t values = 0;              ///< nulls included
  int64_t data_bytes = 0;          ///< of all data pages with their headers
  int64_t uncompressed_bytes = 0;  ///< data pages and dictionary page, headers included
  int32_t code_pages = 0;          ///< data pages that hold dictionary codes
  int32_t plain_pages = 0;
  parquet::EncodedStatistics statistics;
  parquet::SizeStatistics size_statistics;
  std::unique_ptr<parquet::ColumnIndexBuilder> column_index;
  std::unique_ptr<parquet::OffsetIndexBuilder> offset_index;  ///< offsets counted from the first data page

  explicit FinishedChunk(arrow::MemoryPool* pool) : dictionary_page(pool) {}
};

/// Not thread safe, but may move between threads.
class ColumnEncoder {
 public:
  static arrow::Result<std::unique_ptr<ColumnEncoder>> Make(const ColumnEncoderOptions& options);

  /// Rows of a column that is neither nested nor repeated. `array` comes from ReadableLeaf.
  arrow::Status AppendFlat(const arrow::Array& array, EncodeWorkspace* workspace);

  /// Rows of a nested column, as levels and the leaf array below them. Starts at a row.
  arrow::Status AppendLevels(const int16_t* definition_levels, const int16_t* repetition_levels, int64_t level_count,
                             const arrow::Array& leaf, EncodeWorkspace* workspace);

  /// Ends the last page and the chunk; then starts the next one. Its pages remain in pages().
  arrow::Result<FinishedChunk> FinishChunk(EncodeWorkspace* workspace);

  /// Finished data pages of the current chunk that nobody took away yet, in order.
  std::vector<PoolVector<uint8_t>>& pages() { return pages_; }
  int64_t held_page_bytes() const { return held_page_bytes_; }
  /// Call when pages() were taken away.
  void ForgetPages() {
    pages_.clear();
    held_page_bytes_ = 0;
  }

  /// Compressed size of the chunk if it were finished now, roughly.
  int64_t EstimateChunkBytes() const;
  /// What the encoder holds besides finished pages: buffers, dictionary, page index.
  int64_t working_bytes() const;
  int64_t widest_page_bytes() const { return widest_page_bytes_; }  ///< of the chunk's pages that are one wide value; or 0
  const parquet::ColumnDescriptor& descriptor() const { return *options_.descriptor; }

 private:
  ColumnEncoder(const ColumnEncoderOptions& options, std::unique_ptr<ValueEncoder> values);

  /// A bit for each slot of `leaf`: set where its level says that there is a value. Null when all of them have one for certain.
  arrow::Result<const uint8_t*> ValidityFromLevels(const int16_t* definition_levels, int64_t level_count,
                                                   const arrow::Array& leaf, LeafScratch* scratch) const;
  /// Of a value of `array` as PLAIN, on average.
  int64_t ValueBytes(const arrow::Array& array) const;
  int64_t SliceRows(int64_t value_bytes) const;
  arrow::Status FinishPageIfFull(EncodeWorkspace* workspace);
  arrow::Status FinishPage(EncodeWorkspace* workspace);
  arrow::Result<std::span<uint8_t>> AssemblePage(const PageValues& values, EncodeScratch* scratch);
  arrow::Result<PoolVector<uint8_t>> CompressPage(PageHeader* header, std::span<const uint8_t> page, EncodeWorkspace* workspace);
  arrow::Result<PoolVector<uint8_t>> StoreLentPage(PageHeader* header, std::span<const uint8_t> head,
                                                   std::span<const uint8_t> lent, EncodeWorkspace* workspace);
  arrow::Result<PoolVector<uint8_t>> CompressWidePage(PageHeader* header, std::span<const uint8_t> page,
                                                      arrow::util::Codec* codec);
  bool IsWidePage(int64_t bytes) const { return bytes > 2 * options_.max_page_bytes; }
  void IndexPage(int64_t page_bytes);
  arrow::Status FinishDictionary(EncodeWorkspace* workspace, FinishedChunk* chunk);
  void DescribeChunk(FinishedChunk* chunk);
  void StartChunk();

  const ColumnEncoderOptions options_;
  const bool is_text_;
  const std::unique_ptr<ValueEncoder> values_;

  // The current page.
  LevelBuffer definition_levels_;
  LevelBuffer repetition_levels_;
  int64_t page_rows_ = 0;
  int64_t page_levels_ = 0;
  int64_t page_values_ = 0;  // non-null

  // The current chunk.
  std::vector<PoolVector<uint8_t>> pages_;
  int64_t held_page_bytes_ = 0;
  int64_t widest_page_bytes_ = 0;
  int64_t chunk_rows_ = 0;
  int64_t chunk_levels_ = 0;
  int64_t chunk_nulls_ = 0;
  int64_t data_bytes_ = 0;
  int64_t uncompressed_bytes_ = 0;
  int64_t index_bytes_ = 0;
  int32_t code_pages_ = 0;
  int32_t plain_pages_ = 0;
  std::unique_ptr<parquet::SizeStatistics> size_statistics_;
  std::unique_ptr<parquet::ColumnIndexBuilder> column_index_;
  std::unique_ptr<parquet::OffsetIndexBuilder> offset_index_;
};

}  // namespace icebound::io
