// SPDX-License-Identifier: Apache-2.0
#include "io/parquet_row_group_reader.h"

#include <arrow/compute/cast.h>
#include <arrow/compute/exec.h>
#include <parquet/arrow/schema.h>
#include <parquet/column_reader.h>
#include <parquet/file_reader.h>
#include <parquet/page_index.h>
#include <parquet/size_statistics.h>

#include <algorithm>
#include <map>

#include "base/error.h"
#include "io/batch_bytes.h"
#include "io/parquet_column_stream.h"
#include "io/parquet_guard.h"

namespace icebound::io {
namespace {

/// Read at once from a local column chunk, and for all columns together. Whatever their number, each gets enough for a page
/// header.
constexpr int64_t kLocalBufferBytes = 32 << 10;
constexpr int64_t kLocalBufferTotalBytes = 2 << 20;
constexpr int64_t kMinBufferBytes = 1 << 10;

/// Decoder objects of one leaf that are not in Arrow buffers (record reader, decoders, page header, codec), measured with Arrow
/// 26: 6.5 KiB, and half a KiB in the file's reader.
constexpr int64_t kDecoderBytes = 7 << 10;

/// Offset indexes of a row group are read together when they lie within so many bytes.
constexpr int64_t kMaxIndexBytes = int64_t{1} << 20;

/// Rows of the first batch of a row group whose strings may be much longer than their chunk is large (a dictionary): the second
/// one knows better.
constexpr int64_t kProbeRows = 256;

/// parquet-mr up to 1.2.8 left the dictionary page's header out of a chunk's size (PARQUET-816).
constexpr int64_t kMissingHeaderBytes = 100;

parquet::ReaderProperties PageProperties(arrow::MemoryPool* pool) {
  parquet::ReaderProperties properties(pool);
  properties.set_page_checksum_verification(true);
  return properties;
}

void CollectLeaves(const parquet::arrow::SchemaField& field, std::vector<int>* leaves) {
  if (field.is_leaf()) leaves->push_back(field.column_index);
  for (const parquet::arrow::SchemaField& child : field.children) CollectLeaves(child, leaves);
}

}  // namespace

/// What the Parquet library sees as the file: one with the file's schema and a single row group, whichever is being read. Throws,
/// as that library expects.
class ParquetRowGroupReader::Source final : public parquet::ParquetFileReader::Contents {
 public:
  Source(std::shared_ptr<ParquetFooter> footer, memory::MemoryConsumer* consumer, WidePass* wide_pass)
      : footer_(std::move(footer)),
        file_(footer_->shared_file()),
        consumer_(consumer),
        wide_pass_(wide_pass),
        properties_(PageProperties(consumer->pool())),
        metadata_(footer_->head()) {}

  /// Column readers of the row group before must be gone: they point into its metadata.
  void SetRowGroup(const FooterPage& page, int row_group) {
    metadata_ = page.Subset(row_group);
    row_group_ = metadata_->RowGroup(0);
    total_bytes_ = 0;
    for (const int leaf : leaves_) total_bytes_ += std::max<int64_t>(0, row_group_->ColumnChunk(leaf)->total_compressed_size());
    // Byte ranges of the leaves whose pages were chosen; the other leaves are read whole.
    chosen_.clear();
  }
  /// The leaves that will be read, and the memory for blocks of a remote file.
  void SetLeaves(std::vector<int> leaves, int64_t read_ahead_bytes) {
    leaves_ = std::move(leaves);
    ahead_budget_.limit_bytes = read_ahead_bytes;
  }
  void SetRanges(int leaf, std::vector<ByteRange> ranges) { chosen_[leaf] = std::move(ranges); }

  const parquet::RowGroupMetaData& row_group() const { return *row_group_; }

  /// Where a whole chunk lies, dictionary page included.
  ByteRange ChunkRange(const parquet::ColumnChunkMetaData& chunk) const {
    int64_t start = chunk.data_page_offset();
    if (chunk.has_dictionary_page() && chunk.dictionary_page_offset() > 0)
      start = std::min(start, chunk.dictionary_page_offset());
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

  std::unique_ptr<parquet::PageReader> OpenPages(int leaf) {
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

  // --- parquet::ParquetFileReader::Contents
  void Close() override {}
  std::shared_ptr<parquet::RowGroupReader> GetRowGroup(int) override {
    return std::make_shared<parquet::RowGroupReader>(std::make_unique<Group>(this));
  }
  std::shared_ptr<parquet::FileMetaData> metadata() const override { return metadata_; }
  std::shared_ptr<parquet::PageIndexReader> GetPageIndexReader() override { return nullptr; }
  parquet::BloomFilterReader& GetBloomFilterReader() override {
    throw parquet::ParquetException("Not yet implemented: Bloom filters");
  }

 private:
  struct Group final : parquet::RowGroupReader::Contents {
    explicit Group(Source* source) : source(source) {}
    std::unique_ptr<parquet::PageReader> GetColumnPageReader(int leaf) override { return source->OpenPages(leaf); }
    const parquet::RowGroupMetaData* metadata() const override { return source->row_group_.get(); }
    const parquet::ReaderProperties* properties() const override { return &source->properties_; }
    Source* const source;
  };

  /// What is read at once of a chunk. Local columns share a total evenly. Remote ones get what their size is worth, so that all
  /// take about as many requests: one, when everything fits; otherwise half the budget goes to the first blocks, and the rest to
  /// pages that turn out larger.
  int64_t BufferBytes(int64_t chunk_bytes) const {
    const auto leaves = static_cast<int64_t>(std::max<size_t>(1, leaves_.size()));
    if (file_->is_local()) return std::clamp(kLocalBufferTotalBytes / leaves, kMinBufferBytes, kLocalBufferBytes);
    if (total_bytes_ <= ahead_budget_.limit_bytes) return std::max(chunk_bytes, kMinBufferBytes);
    const double part = static_cast<double>(chunk_bytes) / static_cast<double>(total_bytes_);
    return std::max(kMinBufferBytes, static_cast<int64_t>(part * static_cast<double>(ahead_budget_.limit_bytes / 2)));
  }

  const std::shared_ptr<ParquetFooter> footer_;
  const std::shared_ptr<InputFile> file_;
  memory::MemoryConsumer* const consumer_;
  WidePass* const wide_pass_;
  const parquet::ReaderProperties properties_;
  std::shared_ptr<parquet::FileMetaData> metadata_;  // the head until there is a row group
  std::unique_ptr<parquet::RowGroupMetaData> row_group_;
  std::map<int, std::vector<ByteRange>> chosen_;
  std::vector<int> leaves_;
  ReadAheadBudget ahead_budget_;
  int64_t total_bytes_ = 0;  // compressed, of the leaves in this row group
};

ParquetRowGroupReader::ParquetRowGroupReader(std::shared_ptr<ParquetFooter> footer, RowGroupReaderOptions options,
                                             memory::MemoryConsumer* consumer)
    : footer_(std::move(footer)),
      options_(std::move(options)),
      consumer_(consumer),
      reservation_(consumer),
      wide_pass_(options_.wide_gate) {}

ParquetRowGroupReader::~ParquetRowGroupReader() {
  columns_.clear();  // before the file they read from
}

arrow::Result<std::unique_ptr<ParquetRowGroupReader>> ParquetRowGroupReader::Make(std::shared_ptr<ParquetFooter> footer,
                                                                                  RowGroupReaderOptions options,
                                                                                  memory::MemoryConsumer* consumer) {
  std::unique_ptr<ParquetRowGroupReader> reader(new ParquetRowGroupReader(std::move(footer), std::move(options), consumer));
  auto source = std::make_unique<Source>(reader->footer_, consumer, &reader->wide_pass_);
  reader->source_ = source.get();
  const arrow::Status status = GuardParquet(
      ErrorKind::kCorruptData, [&] { return reader->Where(); },
      [&]() -> arrow::Status {
        auto file = std::make_unique<parquet::ParquetFileReader>();
        file->Open(std::move(source));
        parquet::ArrowReaderProperties properties = ReadProperties(consumer->pool());
        const parquet::SchemaDescriptor& descriptor = *reader->footer_->head()->schema();
        for (const ColumnSource& column : reader->options_.columns) {
          if (!column.as_dictionary) continue;
          properties.set_read_dictionary(descriptor.ColumnIndex(*descriptor.group_node()->field(column.field_index)), true);
        }
        ARROW_ASSIGN_OR_RAISE(reader->file_reader_,
                              parquet::arrow::FileReader::Make(consumer->pool(), std::move(file), properties));
        return arrow::Status::OK();
      });
  ARROW_RETURN_NOT_OK(status);
  std::vector<int> leaves;
  for (const ColumnSource& column : reader->options_.columns) {
    reader->field_leaves_.emplace_back();
    CollectLeaves(reader->file_reader_->manifest().schema_fields[column.field_index], &reader->field_leaves_.back());
    leaves.insert(leaves.end(), reader->field_leaves_.back().begin(), reader->field_leaves_.back().end());
  }
  const auto decoder_bytes = static_cast<int64_t>(leaves.size()) * kDecoderBytes;
  ARROW_RETURN_NOT_OK(reader->reservation_.ResizeTo(decoder_bytes + reader->footer_->row_group_bytes()));
  reader->source_->SetLeaves(std::move(leaves), reader->options_.read_ahead_bytes);
  return reader;
}

std::string ParquetRowGroupReader::Where() const {
  return row_group_ < 0 ? fmt::format("reading {}", footer_->file().name())
                        : fmt::format("reading {}, row group {}", footer_->file().name(), row_group_);
}

std::string ParquetRowGroupReader::Where(int field_index) const {
  return fmt::format("{}, column \"{}\"", Where(), footer_->schema()->field(field_index)->name());
}

arrow::Status ParquetRowGroupReader::Open(const FooterPage& page, int row_group, RowRanges ranges) {
  columns_.clear();
  ready_.clear();
  row_group_ = row_group;
  ranges_ = std::move(ranges);
  range_ = 0;
  row_ = ranges_.empty() ? 0 : ranges_.front().begin;
  rows_limit_ = options_.bounds.rows;
  if (ranges_.empty() || options_.columns.empty()) return arrow::Status::OK();
  ARROW_RETURN_NOT_OK(GuardParquet(
      ErrorKind::kCorruptData, [&] { return Where(); },
      [&]() -> arrow::Status {
        source_->SetRowGroup(page, row_group_);
        const int leaves = footer_->head()->num_columns();
        if (source_->row_group().num_columns() != leaves) {
          return arrow::Status::Invalid("it has ", source_->row_group().num_columns(), " columns where the schema has ", leaves);
        }
        EstimateRowBytes();
        return arrow::Status::OK();
      }));
  return OpenColumns();
}

arrow::Status ParquetRowGroupReader::OpenColumns() {
  columns_.clear();
  columns_.resize(options_.columns.size());
  if (!WantsAll())
    ARROW_RETURN_NOT_OK(GuardParquet(
        ErrorKind::kCorruptData, [&] { return Where(); }, [&] { return LoadOffsetIndexes(); }));
  for (size_t i = 0; i < columns_.size(); ++i) ARROW_RETURN_NOT_OK(OpenColumn(static_cast<int>(i)));
  index_bytes_.reset();
  return arrow::Status::OK();
}

bool ParquetRowGroupReader::WantsAll() const {
  return ranges_.size() == 1 && ranges_.front() == RowRange{.begin = 0, .end = source_->row_group().num_rows()} && range_ == 0 &&
         row_ == 0;
}

arrow::Status ParquetRowGroupReader::LoadOffsetIndexes() {
  index_bytes_.reset();
  int64_t begin = footer_->file().size_bytes(), end = 0;
  for (const std::vector<int>& leaves : field_leaves_) {
    if (leaves.size() != 1) continue;
    const auto place = source_->row_group().ColumnChunk(leaves.front())->GetOffsetIndexLocation();
    if (!place.has_value() || place->length <= 0 || place->offset < 0) continue;
    begin = std::min(begin, place->offset);
    end = std::max(end, place->offset + place->length);
  }
  if (begin >= end || end - begin > kMaxIndexBytes) return arrow::Status::OK();  // none, or too far apart: read one by one
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> bytes, arrow::AllocateBuffer(end - begin, consumer_->pool()));
  ARROW_RETURN_NOT_OK(footer_->shared_file()->ReadAt(begin, {bytes->mutable_data(), static_cast<size_t>(end - begin)}));
  index_bytes_ = std::move(bytes);
  index_offset_ = begin;
  return arrow::Status::OK();
}

arrow::Result<std::string_view> ParquetRowGroupReader::OffsetIndexBytes(const parquet::IndexLocation& place,
                                                                        std::shared_ptr<arrow::Buffer>* holder) {
  if (index_bytes_ != nullptr && place.offset >= index_offset_ &&
      place.offset + place.length <= index_offset_ + index_bytes_->size()) {
    return std::string_view(*index_bytes_)
        .substr(static_cast<size_t>(place.offset - index_offset_), static_cast<size_t>(place.length));
  }
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> bytes, arrow::AllocateBuffer(place.length, consumer_->pool()));
  ARROW_RETURN_NOT_OK(footer_->shared_file()->ReadAt(place.offset, {bytes->mutable_data(), static_cast<size_t>(place.length)}));
  *holder = std::move(bytes);
  return std::string_view(**holder);
}

arrow::Status ParquetRowGroupReader::OpenColumn(int index) {
  Column& column = columns_[index];
  column.source = options_.columns[index];
  column.type = options_.schema->field(index)->type();
  return GuardParquet(
      ErrorKind::kCorruptData, [&] { return Where(column.source.field_index); },
      [&]() -> arrow::Status {
        const int64_t rows = source_->row_group().num_rows();
        column.segments = {{.begin = 0, .end = rows}};
        // Leaves of a nested column must deliver the same rows, but their pages end at different ones: it is read whole.
        if (const std::vector<int>& leaves = field_leaves_[index]; !WantsAll() && leaves.size() == 1) {
          ARROW_ASSIGN_OR_RAISE(column.segments, SelectPages(*source_->row_group().ColumnChunk(leaves.front()), leaves.front()));
        }
        column.segment = 0;
        column.row = column.segments.empty() ? 0 : column.segments.front().begin;
        return file_reader_->GetColumn(column.source.field_index, &column.reader);
      });
}

arrow::Result<RowRanges> ParquetRowGroupReader::SelectPages(const parquet::ColumnChunkMetaData& chunk, int leaf) {
  const int64_t rows = source_->row_group().num_rows();
  const RowRanges whole = {{.begin = 0, .end = rows}};
  const std::optional<parquet::IndexLocation> place = chunk.GetOffsetIndexLocation();
  if (!place.has_value() || place->length <= 0) return whole;
  std::shared_ptr<arrow::Buffer> holder;
  ARROW_ASSIGN_OR_RAISE(const std::string_view bytes, OffsetIndexBytes(*place, &holder));
  const std::unique_ptr<parquet::OffsetIndex> index =
      parquet::OffsetIndex::Make(bytes.data(), static_cast<int64_t>(bytes.size()), parquet::ReaderProperties(consumer_->pool()));

  const ByteRange chunk_range = source_->ChunkRange(chunk);
  const int64_t chunk_end = chunk_range.offset + chunk_range.length;
  const std::vector<parquet::PageLocation>& pages = index->page_locations();
  if (pages.empty() || pages.front().first_row_index != 0 || pages.front().offset < chunk_range.offset) {
    return arrow::Status::Invalid("its offset index does not begin with the chunk's first page");
  }
  RowRanges wanted(ranges_.begin() + static_cast<int64_t>(range_), ranges_.end());
  wanted.front().begin = row_;
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
  source_->SetRanges(leaf, std::move(ranges));
  return segments;
}

int64_t ParquetRowGroupReader::LeafRowBytes(const parquet::ColumnChunkMetaData& chunk, int leaf) const {
  const int64_t rows = std::max<int64_t>(1, source_->row_group().num_rows());
  const parquet::ColumnDescriptor& descriptor = *footer_->head()->schema()->Column(leaf);
  const int64_t values_per_row = (std::max<int64_t>(0, chunk.num_values()) + rows - 1) / rows;
  const int64_t levels = 2 * ((descriptor.max_definition_level() > 0) + (descriptor.max_repetition_level() > 0));
  switch (descriptor.physical_type()) {
    case parquet::Type::BYTE_ARRAY: {
      int64_t bytes = std::max<int64_t>(0, chunk.total_uncompressed_size());
      if (const auto sizes = chunk.size_statistics(); sizes != nullptr && sizes->unencoded_byte_array_data_bytes.has_value()) {
        bytes = std::max<int64_t>(0, *sizes->unencoded_byte_array_data_bytes);
      }
      return values_per_row * (levels + 4) + bytes / rows;
    }
    case parquet::Type::FIXED_LEN_BYTE_ARRAY:
      return values_per_row * (levels + std::max(16, descriptor.type_length()));
    default:
      return values_per_row * (levels + 16);  // decimals widen to 16 bytes
  }
}

void ParquetRowGroupReader::EstimateRowBytes() {
  row_bytes_ = 0;
  bool certain = true;
  for (const std::vector<int>& leaves : field_leaves_) {
    for (const int leaf : leaves) {
      const std::unique_ptr<parquet::ColumnChunkMetaData> chunk = source_->row_group().ColumnChunk(leaf);
      row_bytes_ += static_cast<double>(LeafRowBytes(*chunk, leaf));
      const auto sizes = chunk->size_statistics();
      certain = certain && (chunk->type() != parquet::Type::BYTE_ARRAY ||
                            (sizes != nullptr && sizes->unencoded_byte_array_data_bytes.has_value()));
    }
  }
  rows_limit_ = certain ? options_.bounds.rows : std::min(options_.bounds.rows, kProbeRows);
}

int64_t ParquetRowGroupReader::NextBatchRows() const {
  const double fitting = static_cast<double>(options_.bounds.bytes) / std::max(1.0, row_bytes_);
  const int64_t rows = std::min({options_.bounds.rows, rows_limit_, static_cast<int64_t>(std::min(fitting, 1e9))});
  return std::min(std::max<int64_t>(1, rows), ranges_[range_].end - row_);
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> ParquetRowGroupReader::Next() {
  while (ready_.empty()) {
    wide_pass_.Give();  // who asks is done with the batch before
    if (range_ == ranges_.size()) {
      columns_.clear();
      return nullptr;
    }
    int64_t rows = NextBatchRows();
    arrow::Status status = Decode(rows);
    while (GetErrorKind(status) == ErrorKind::kMemoryLimit) {
      ARROW_ASSIGN_OR_RAISE(const bool again, TryWithLess(rows));
      if (!again) break;
      rows = NextBatchRows();
      status = Decode(rows);
    }
    if (!status.ok()) return ExplainWideRow(status, wide_pass_.widest_page_bytes());
    row_ += rows;
    if (row_ == ranges_[range_].end && ++range_ < ranges_.size()) row_ = ranges_[range_].begin;
  }
  std::shared_ptr<arrow::RecordBatch> batch = std::move(ready_.front());
  ready_.pop_front();
  return batch;
}

arrow::Result<bool> ParquetRowGroupReader::TryWithLess(int64_t rows) {
  const bool had_turn = wide_pass_.held();
  if (rows == 1 && had_turn) return false;
  if (!wide_pass_.was_refused()) rows_limit_ = std::max<int64_t>(1, rows / 8);
  // What was decoded so far is lost with the readers.
  columns_.clear();
  ARROW_RETURN_NOT_OK(wide_pass_.Wait());
  ARROW_RETURN_NOT_OK(OpenColumns());
  return true;
}

arrow::Status ParquetRowGroupReader::Decode(int64_t rows) {
  arrow::ChunkedArrayVector values;
  int64_t bytes = 0;
  for (Column& column : columns_) {
    ARROW_ASSIGN_OR_RAISE(values.emplace_back(), DecodeColumn(&column, rows));
    for (const auto& chunk : values.back()->chunks()) bytes += HeldBytes(*chunk->data());
  }
  if (!columns_.empty()) {
    const double measured = static_cast<double>(bytes) / static_cast<double>(rows);
    // Down at once, up by at most a factor of four: the next rows may be wider than these.
    row_bytes_ = std::max(measured, 1.0);
    rows_limit_ = std::min(options_.bounds.rows, std::max(rows_limit_, rows) * 4);
  }
  Emit(rows, values);
  return arrow::Status::OK();
}

arrow::Result<std::shared_ptr<arrow::ChunkedArray>> ParquetRowGroupReader::DecodeColumn(Column* column, int64_t rows) {
  return GuardParquet(
      ErrorKind::kCorruptData, [&] { return Where(column->source.field_index); },
      [&]() -> arrow::Result<std::shared_ptr<arrow::ChunkedArray>> {
        ARROW_RETURN_NOT_OK(SkipTo(column, row_));
        ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::ChunkedArray> values, ReadRows(column, rows));
        return Convert(*column, std::move(values));
      });
}

arrow::Status ParquetRowGroupReader::SkipTo(Column* column, int64_t row) {
  while (column->row < row) {
    const int64_t segment_end = column->segments[column->segment].end;
    if (column->row == segment_end) {
      if (++column->segment == column->segments.size())
        return arrow::Status::Invalid("its pages have fewer rows than its offset index says");
      column->row = column->segments[column->segment].begin;
      continue;
    }
    const int64_t unwanted = std::min({segment_end, row}) - column->row;
    ARROW_RETURN_NOT_OK(ReadRows(column, std::min(unwanted, std::max<int64_t>(NextBatchRows(), 64))).status());
  }
  return arrow::Status::OK();
}

arrow::Result<std::shared_ptr<arrow::ChunkedArray>> ParquetRowGroupReader::ReadRows(Column* column, int64_t rows) {
  std::shared_ptr<arrow::ChunkedArray> values;
  ARROW_RETURN_NOT_OK(column->reader->NextBatch(rows, &values));
  if (values->length() != rows) {
    return arrow::Status::Invalid("it ends at row ", column->row + values->length(), ", the row group has ",
                                  source_->row_group().num_rows());
  }
  column->row += rows;
  return values;
}

arrow::Result<std::shared_ptr<arrow::ChunkedArray>> ParquetRowGroupReader::Convert(
    const Column& column, std::shared_ptr<arrow::ChunkedArray> values) const {
  if (values->type()->Equals(*column.type)) return values;
  if (column.source.needs_cast) {
    arrow::compute::ExecContext context(consumer_->pool());
    context.set_use_threads(false);
    ARROW_ASSIGN_OR_RAISE(const arrow::Datum cast,
                          arrow::compute::Cast(values, column.type, arrow::compute::CastOptions::Safe(), &context));
    return cast.chunked_array();
  }
  arrow::ArrayVector chunks;
  for (const auto& chunk : values->chunks()) chunks.push_back(arrow::MakeArray(Relabel(chunk->data(), column.type)));
  return arrow::ChunkedArray::Make(std::move(chunks), column.type);
}

void ParquetRowGroupReader::Emit(int64_t rows, const arrow::ChunkedArrayVector& columns) {
  // A column of more than 2 GiB of text comes in several chunks: a batch ends where any chunk does.
  std::vector<int64_t> chunk(columns.size(), 0), start(columns.size(), 0);
  for (int64_t row = 0; row < rows;) {
    int64_t count = rows - row;
    for (size_t i = 0; i < columns.size(); ++i) {
      while (row == start[i] + columns[i]->chunk(static_cast<int>(chunk[i]))->length())
        start[i] += columns[i]->chunk(static_cast<int>(chunk[i]++))->length();
      count = std::min(count, start[i] + columns[i]->chunk(static_cast<int>(chunk[i]))->length() - row);
    }
    arrow::ArrayVector arrays;
    for (size_t i = 0; i < columns.size(); ++i) {
      const std::shared_ptr<arrow::Array>& array = columns[i]->chunk(static_cast<int>(chunk[i]));
      arrays.push_back(count == array->length() ? array : array->Slice(row - start[i], count));
    }
    SplitByBytes(arrow::RecordBatch::Make(options_.schema, count, std::move(arrays)), options_.bounds.bytes, &ready_);
    row += count;
  }
}

}  // namespace icebound::io
