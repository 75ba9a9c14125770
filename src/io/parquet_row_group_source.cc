// SPDX-License-Identifier: Apache-2.0
#include "io/parquet_row_group_source.h"

#include <parquet/column_reader.h>
#include <parquet/page_index.h>

#include <algorithm>

#include "base/error.h"

namespace icebound::io {
namespace {

/// Read at once from a local column chunk, and for all columns together. Whatever their number, each gets enough for a page
/// header.
constexpr int64_t kLocalBufferBytes = 32 << 10;
constexpr int64_t kLocalBufferTotalBytes = 2 << 20;
constexpr int64_t kMinBufferBytes = 1 << 10;

/// Offset indexes of a row group are read together when they lie within so many bytes.
constexpr int64_t kMaxIndexBytes = int64_t{1} << 20;

/// parquet-mr up to 1.2.8 left the dictionary page's header out of a chunk's size (PARQUET-816).
constexpr int64_t kMissingHeaderBytes = 100;

parquet::ReaderProperties PageProperties(arrow::MemoryPool* pool) {
  parquet::ReaderProperties properties(pool);
  properties.set_page_checksum_verification(true);
  return properties;
}

}  // namespace

struct ParquetRowGroupSource::Group final : parquet::RowGroupReader::Contents {
  explicit Group(ParquetRowGroupSource* source) : source(source) {}
  std::unique_ptr<parquet::PageReader> GetColumnPageReader(int leaf) override { return source->OpenPages(leaf); }
  const parquet::RowGroupMetaData* metadata() const override { return source->row_group_.get(); }
  const parquet::ReaderProperties* properties() const override { return &source->properties_; }
  ParquetRowGroupSource* const source;
};

ParquetRowGroupSource::ParquetRowGroupSource(std::shared_ptr<ParquetFooter> footer, memory::MemoryConsumer* consumer,
                                             WidePass* wide_pass)
    : footer_(std::move(footer)),
      file_(footer_->shared_file()),
      consumer_(consumer),
      wide_pass_(wide_pass),
      properties_(PageProperties(consumer->pool())),
      metadata_(footer_->head()) {}

ParquetRowGroupSource::~ParquetRowGroupSource() = default;

void ParquetRowGroupSource::SetRowGroup(const FooterPage& page, int row_group) {
  metadata_ = page.Subset(row_group);
  row_group_ = metadata_->RowGroup(0);
  total_bytes_ = 0;
  for (const int leaf : leaves_) total_bytes_ += std::max<int64_t>(0, row_group_->ColumnChunk(leaf)->total_compressed_size());
  chosen_.clear();
}

void ParquetRowGroupSource::SetLeaves(std::vector<int> leaves, int64_t read_ahead_bytes) {
  leaves_ = std::move(leaves);
  ahead_budget_.limit_bytes = read_ahead_bytes;
}

std::shared_ptr<parquet::RowGroupReader> ParquetRowGroupSource::GetRowGroup(int) {
  return std::make_shared<parquet::RowGroupReader>(std::make_unique<Group>(this));
}

parquet::BloomFilterReader& ParquetRowGroupSource::GetBloomFilterReader() {
  throw parquet::ParquetException("Not yet implemented: Bloom filters");
}

ByteRange ParquetRowGroupSource::ChunkRange(const parquet::ColumnChunkMetaData& chunk) const {
  int64_t start = chunk.data_page_offset();
  if (chunk.has_dictionary_page() && chunk.dictionary_page_offset() > 0) start = std::min(start, chunk.dictionary_page_offset());
  int64_t length = chunk.total_compressed_size();
  if (start < 0 || length < 0 || length > file_->size_bytes() || start > file_->size_bytes() - length) {
    throw parquet::ParquetException(
        fmt::format("its column chunk lies outside the file: {} bytes from offset {}", length, start));
  }
  if (footer_->head()->writer_version().VersionLt(parquet::ApplicationVersion::PARQUET_816_FIXED_VERSION())) {
    length += std::min(kMissingHeaderBytes, file_->size_bytes() - start - length);
  }
  return {.offset = start, .length = length};
}

/// What is read at once of a chunk. Local columns share a total evenly. Remote ones get what their size is worth, so that all
/// take about as many requests: one, when everything fits; otherwise half the budget goes to the first blocks, and the rest to
/// pages that turn out larger.
int64_t ParquetRowGroupSource::BufferBytes(int64_t chunk_bytes) const {
  const auto leaves = static_cast<int64_t>(std::max<size_t>(1, leaves_.size()));
  if (file_->is_local()) return std::clamp(kLocalBufferTotalBytes / leaves, kMinBufferBytes, kLocalBufferBytes);
  if (total_bytes_ <= ahead_budget_.limit_bytes) return std::max(chunk_bytes, kMinBufferBytes);
  const double part = static_cast<double>(chunk_bytes) / static_cast<double>(total_bytes_);
  return std::max(kMinBufferBytes, static_cast<int64_t>(part * static_cast<double>(ahead_budget_.limit_bytes / 2)));
}

std::unique_ptr<parquet::PageReader> ParquetRowGroupSource::OpenPages(int leaf) {
  const std::unique_ptr<parquet::ColumnChunkMetaData> chunk = row_group_->ColumnChunk(leaf);
  if (!chunk->file_path().empty()) throw parquet::ParquetException("Not yet implemented: column chunks in other files");
  if (chunk->crypto_metadata() != nullptr) throw parquet::ParquetException("Not yet implemented: encrypted columns");
  ColumnStreamOptions options;
  const auto chosen = chosen_.find(leaf);
  options.ranges = chosen == chosen_.end() ? std::vector<ByteRange>{ChunkRange(*chunk)} : chosen->second;
  options.buffer_bytes = BufferBytes(chunk->total_compressed_size());
  options.chunk_uncompressed_bytes = chunk->total_uncompressed_size();
  options.pool = consumer_->pool();
  options.wide_pass = wide_pass_;
  if (!file_->is_local()) {
    options.ahead_pool = consumer_->try_pool();
    options.ahead_budget = &ahead_budget_;
  }
  const bool always_compressed =
      footer_->head()->writer_version().VersionLt(parquet::ApplicationVersion::PARQUET_CPP_10353_FIXED_VERSION());
  return parquet::PageReader::Open(std::make_shared<ColumnStream>(file_, std::move(options)), chunk->num_values(),
                                   chunk->compression(), properties_, *footer_->head()->schema()->Column(leaf),
                                   always_compressed);
}

arrow::Status ParquetRowGroupSource::LoadOffsetIndexes(const std::vector<int>& leaves) {
  index_bytes_.reset();
  int64_t begin = file_->size_bytes(), end = 0;
  for (const int leaf : leaves) {
    const auto place = row_group_->ColumnChunk(leaf)->GetOffsetIndexLocation();
    if (!place.has_value() || place->length <= 0 || place->offset < 0) continue;
    begin = std::min(begin, place->offset);
    end = std::max(end, place->offset + place->length);
  }
  if (begin >= end || end - begin > kMaxIndexBytes) return arrow::Status::OK();  // none, or too far apart: read one by one
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> bytes, arrow::AllocateBuffer(end - begin, consumer_->pool()));
  ARROW_RETURN_NOT_OK(file_->ReadAt(begin, {bytes->mutable_data(), static_cast<size_t>(end - begin)}));
  index_bytes_ = std::move(bytes);
  index_offset_ = begin;
  return arrow::Status::OK();
}

arrow::Result<std::string_view> ParquetRowGroupSource::OffsetIndexBytes(const parquet::IndexLocation& place,
                                                                        std::shared_ptr<arrow::Buffer>* holder) {
  if (index_bytes_ != nullptr && place.offset >= index_offset_ &&
      place.offset + place.length <= index_offset_ + index_bytes_->size()) {
    return std::string_view(*index_bytes_)
        .substr(static_cast<size_t>(place.offset - index_offset_), static_cast<size_t>(place.length));
  }
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> bytes, arrow::AllocateBuffer(place.length, consumer_->pool()));
  ARROW_RETURN_NOT_OK(file_->ReadAt(place.offset, {bytes->mutable_data(), static_cast<size_t>(place.length)}));
  *holder = std::move(bytes);
  return std::string_view(**holder);
}

arrow::Result<RowRanges> ParquetRowGroupSource::SelectPages(int leaf, const RowRanges& wanted) {
  const std::unique_ptr<parquet::ColumnChunkMetaData> chunk = row_group_->ColumnChunk(leaf);
  const int64_t rows = row_group_->num_rows();
  const RowRanges whole = {{.begin = 0, .end = rows}};
  const std::optional<parquet::IndexLocation> place = chunk->GetOffsetIndexLocation();
  if (!place.has_value() || place->length <= 0) return whole;
  std::shared_ptr<arrow::Buffer> holder;
  ARROW_ASSIGN_OR_RAISE(const std::string_view bytes, OffsetIndexBytes(*place, &holder));
  const std::unique_ptr<parquet::OffsetIndex> index =
      parquet::OffsetIndex::Make(bytes.data(), static_cast<int64_t>(bytes.size()), parquet::ReaderProperties(consumer_->pool()));

  const ByteRange chunk_range = ChunkRange(*chunk);
  const int64_t chunk_end = chunk_range.offset + chunk_range.length;
  const std::vector<parquet::PageLocation>& pages = index->page_locations();
  if (pages.empty() || pages.front().first_row_index != 0 || pages.front().offset < chunk_range.offset) {
    return arrow::Status::Invalid("its offset index does not begin with the chunk's first page");
  }
  RowRanges segments;
  std::vector<ByteRange> ranges;
  const auto append = [&](int64_t offset, int64_t length) {
    if (!ranges.empty() && ranges.back().offset + ranges.back().length == offset) {
      ranges.back().length += length;
    } else if (length > 0) {
      ranges.push_back({.offset = offset, .length = length});
    }
  };
  append(chunk_range.offset, pages.front().offset - chunk_range.offset);  // the dictionary page
  for (size_t i = 0; i < pages.size(); ++i) {
    const bool last = i + 1 == pages.size();
    const RowRange page_rows{.begin = pages[i].first_row_index, .end = last ? rows : pages[i + 1].first_row_index};
    const int64_t size = pages[i].compressed_page_size;
    if (page_rows.begin > page_rows.end || size < 0 || pages[i].offset < chunk_range.offset ||
        pages[i].offset > chunk_end - size) {
      return arrow::Status::Invalid("page ", i, " of its offset index lies outside the chunk or out of order");
    }
    if (!Overlaps(wanted, page_rows.begin, page_rows.end)) continue;
    AppendRange(page_rows, &segments);
    append(pages[i].offset, size);
  }
  chosen_[leaf] = std::move(ranges);
  return segments;
}

}  // namespace icebound::io
