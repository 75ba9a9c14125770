// SPDX-License-Identifier: Apache-2.0
#include "io/parquet_writer/footer.h"

#include <parquet/metadata.h>

#include <limits>
#include <vector>

#include "io/thrift_compact.h"

namespace icebound::io {
namespace {

constexpr int64_t kSpoolMemoryBytes = int64_t{256} << 10;
constexpr int64_t kWriteBytes = int64_t{64} << 10;

// Field ids and numbers of parquet.thrift.
namespace file_field {
constexpr int16_t kRowCount = 3, kRowGroups = 4;
}
namespace group_field {
constexpr int16_t kColumns = 1, kTotalBytes = 2, kRowCount = 3, kFileOffset = 5, kCompressedBytes = 6, kOrdinal = 7;
}
namespace chunk_field {
constexpr int16_t kFileOffset = 2, kMetadata = 3, kOffsetIndexOffset = 4, kOffsetIndexLength = 5, kColumnIndexOffset = 6,
                  kColumnIndexLength = 7;
}
namespace column_field {
constexpr int16_t kType = 1, kEncodings = 2, kPath = 3, kCodec = 4, kValueCount = 5, kUncompressedBytes = 6, kCompressedBytes = 7,
                  kDataPageOffset = 9, kDictionaryPageOffset = 11, kStatistics = 12, kEncodingStats = 13, kSizeStatistics = 16;
}
constexpr int kEncodingPlain = 0, kEncodingRle = 3, kEncodingRleDictionary = 8;
constexpr int kPageTypeData = 0, kPageTypeDictionary = 2;

int CodecNumber(arrow::Compression::type codec) {
  switch (codec) {
    case arrow::Compression::SNAPPY:
      return 1;
    case arrow::Compression::ZSTD:
      return 6;
    default:
      return 0;
  }
}

void PutI32(int16_t field, int64_t value, ThriftAppender* out) {
  out->Field(field, ThriftType::kI32);
  out->Integer(value);
}

void PutI64(int16_t field, int64_t value, ThriftAppender* out) {
  out->Field(field, ThriftType::kI64);
  out->Integer(value);
}

void PutBinary(int16_t field, std::string_view value, ThriftAppender* out) {
  out->Field(field, ThriftType::kBinary);
  out->Binary(value);
}

void PutBool(int16_t field, bool value, ThriftAppender* out) {
  out->Field(field, value ? ThriftType::kTrue : ThriftType::kFalse);
}

void PutList(int16_t field, size_t size, ThriftType element, ThriftAppender* out) {
  out->Field(field, ThriftType::kList);
  out->List(static_cast<int64_t>(size), element);
}

void PutStatistics(const parquet::EncodedStatistics& statistics, ThriftAppender* out) {
  out->Field(column_field::kStatistics, ThriftType::kStruct);
  out->BeginStruct();
  PutI64(3, statistics.null_count, out);
  if (statistics.has_distinct_count) PutI64(4, statistics.distinct_count, out);
  if (statistics.has_min && statistics.has_max) {
    PutBinary(5, statistics.max(), out);
    PutBinary(6, statistics.min(), out);
    PutBool(7, statistics.is_max_value_exact.value_or(true), out);
    PutBool(8, statistics.is_min_value_exact.value_or(true), out);
  }
  out->EndStruct();
}

void PutEncodingStats(const FinishedChunk& chunk, ThriftAppender* out) {
  const auto put = [&](int page_type, int encoding, int32_t count) {
    if (count == 0) return;
    out->BeginStruct();
    PutI32(1, page_type, out);
    PutI32(2, encoding, out);
    PutI32(3, count, out);
    out->EndStruct();
  };
  const int32_t dictionary_pages = chunk.dictionary_page.empty() ? 0 : 1;
  const auto kinds = static_cast<size_t>(dictionary_pages + (chunk.code_pages > 0) + (chunk.plain_pages > 0));
  PutList(column_field::kEncodingStats, kinds, ThriftType::kStruct, out);
  put(kPageTypeDictionary, kEncodingPlain, dictionary_pages);
  put(kPageTypeData, kEncodingRleDictionary, chunk.code_pages);
  put(kPageTypeData, kEncodingPlain, chunk.plain_pages);
}

void PutSizeStatistics(const parquet::SizeStatistics& sizes, ThriftAppender* out) {
  if (!sizes.is_set()) return;
  out->Field(column_field::kSizeStatistics, ThriftType::kStruct);
  out->BeginStruct();
  if (sizes.unencoded_byte_array_data_bytes) PutI64(1, *sizes.unencoded_byte_array_data_bytes, out);
  const auto put_histogram = [&](int16_t field, const std::vector<int64_t>& histogram) {
    if (histogram.empty()) return;
    PutList(field, histogram.size(), ThriftType::kI64, out);
    for (int64_t count : histogram) out->Integer(count);
  };
  put_histogram(2, sizes.repetition_level_histogram);
  put_histogram(3, sizes.definition_level_histogram);
  out->EndStruct();
}

/// Collects small writes to a file.
class BufferedFile {
 public:
  explicit BufferedFile(OutputFile* file) : file_(file) {}
  std::string* buffer() { return &buffer_; }
  arrow::Status FlushIfLarge() { return static_cast<int64_t>(buffer_.size()) < kWriteBytes ? arrow::Status::OK() : Flush(); }
  arrow::Status Flush() {
    ARROW_RETURN_NOT_OK(file_->Write(buffer_.data(), static_cast<int64_t>(buffer_.size())));
    buffer_.clear();
    return arrow::Status::OK();
  }

 private:
  OutputFile* const file_;
  std::string buffer_;
};

}  // namespace

Footer::Footer(const WrittenSchema* schema, std::shared_ptr<parquet::WriterProperties> properties, spill::DiskManager* disk,
               arrow::MemoryPool* pool)
    : schema_(schema), properties_(std::move(properties)), spool_(disk, pool, kSpoolMemoryBytes) {}

arrow::Status Footer::AddChunk(int column, const FinishedChunk& chunk, const ChunkPlace& place) {
  const parquet::ColumnDescriptor& descriptor = *schema_->descriptor->Column(column);
  const bool has_dictionary = !chunk.dictionary_page.empty();
  entry_.clear();
  ThriftAppender out(&entry_);
  PutI64(chunk_field::kFileOffset, 0, &out);  // deprecated; 0 says that the metadata is here and nowhere else
  out.Field(chunk_field::kMetadata, ThriftType::kStruct);
  out.BeginStruct();
  PutI32(column_field::kType, static_cast<int>(descriptor.physical_type()), &out);
  PutList(column_field::kEncodings, has_dictionary ? 3 : 2, ThriftType::kI32, &out);
  out.Integer(kEncodingPlain);
  out.Integer(kEncodingRle);
  if (has_dictionary) out.Integer(kEncodingRleDictionary);
  const std::vector<std::string> path = descriptor.path()->ToDotVector();
  PutList(column_field::kPath, path.size(), ThriftType::kBinary, &out);
  for (const std::string& name : path) out.Binary(name);
  PutI32(column_field::kCodec, CodecNumber(properties_->compression(descriptor.path())), &out);
  PutI64(column_field::kValueCount, chunk.values, &out);
  PutI64(column_field::kUncompressedBytes, chunk.uncompressed_bytes, &out);
  PutI64(column_field::kCompressedBytes, place.end - place.start, &out);
  PutI64(column_field::kDataPageOffset, place.data_start, &out);
  if (has_dictionary) PutI64(column_field::kDictionaryPageOffset, place.start, &out);
  PutStatistics(chunk.statistics, &out);
  PutEncodingStats(chunk, &out);
  PutSizeStatistics(chunk.size_statistics, &out);
  out.EndStruct();
  if (column == 0) group_offset_ = place.start;
  group_uncompressed_bytes_ += chunk.uncompressed_bytes;
  group_compressed_bytes_ += place.end - place.start;
  return AddRecord(place.column_index_bytes, place.offset_index_bytes);
}

arrow::Status Footer::EndRowGroup(int64_t rows) {
  entry_.clear();
  ThriftAppender out(&entry_);
  out.Continue(group_field::kColumns);
  PutI64(group_field::kTotalBytes, group_uncompressed_bytes_, &out);
  PutI64(group_field::kRowCount, rows, &out);
  PutI64(group_field::kFileOffset, group_offset_, &out);
  PutI64(group_field::kCompressedBytes, group_compressed_bytes_, &out);
  // The ordinal is optional, and too small for what people write.
  if (row_groups_ <= std::numeric_limits<int16_t>::max()) {
    out.Field(group_field::kOrdinal, ThriftType::kI16);
    out.Integer(row_groups_);
  }
  entry_.push_back('\0');  // the end of the row group
  ++row_groups_;
  rows_ += rows;
  group_uncompressed_bytes_ = group_compressed_bytes_ = 0;
  return AddRecord(0, 0);
}

arrow::Status Footer::AddRecord(int64_t first, int64_t second) {
  const auto bytes = static_cast<uint32_t>(entry_.size());
  std::array<char, sizeof bytes + sizeof first + sizeof second> head;
  std::memcpy(head.data(), &bytes, sizeof bytes);
  std::memcpy(head.data() + sizeof bytes, &first, sizeof first);
  std::memcpy(head.data() + sizeof bytes + sizeof first, &second, sizeof second);
  ARROW_RETURN_NOT_OK(spool_.Write(head.data(), static_cast<int64_t>(head.size())));
  return spool_.Write(entry_.data(), bytes);
}

arrow::Result<Footer::Frame> Footer::MakeFrame() const {
  auto empty_file = parquet::FileMetaDataBuilder::Make(schema_->descriptor.get(), properties_)->Finish(schema_->metadata);
  const std::string bytes = empty_file->SerializeToString();
  ThriftWalker walker(
      [&](int64_t offset) -> arrow::Result<std::string_view> {
        return std::string_view(bytes).substr(static_cast<size_t>(offset));
      },
      static_cast<int64_t>(bytes.size()));
  Frame frame;
  int16_t field = 0;
  while (true) {
    const auto begin = static_cast<size_t>(walker.offset());
    ARROW_ASSIGN_OR_RAISE(const ThriftWalker::FieldHead head, walker.ReadField(field));
    if (head.type == ThriftType::kStop || head.id > file_field::kRowGroups) {
      frame.tail = bytes.substr(begin);  // counts its first field from the row groups, as it will again
      return frame;
    }
    ARROW_RETURN_NOT_OK(walker.Skip(head.type));
    field = head.id;
    if (head.id < file_field::kRowCount) frame.head.append(bytes, begin, static_cast<size_t>(walker.offset()) - begin);
  }
}

arrow::Status Footer::WriteTo(OutputFile* file, int64_t column_indexes_offset, int64_t offset_indexes_offset) {
  ARROW_ASSIGN_OR_RAISE(const Frame frame, MakeFrame());
  BufferedFile buffered(file);
  buffered.buffer()->append(frame.head);
  ThriftAppender out(buffered.buffer());
  out.Continue(file_field::kRowCount - 1);
  PutI64(file_field::kRowCount, rows_, &out);
  PutList(file_field::kRowGroups, static_cast<size_t>(row_groups_), ThriftType::kStruct, &out);
  ARROW_ASSIGN_OR_RAISE(auto records, spool_.Read());
  for (int64_t group = 0; group < row_groups_; ++group) {
    ARROW_RETURN_NOT_OK(CopyRowGroup(records.get(), &column_indexes_offset, &offset_indexes_offset, buffered.buffer()));
    ARROW_RETURN_NOT_OK(buffered.FlushIfLarge());
  }
  buffered.buffer()->append(frame.tail);
  return buffered.Flush();
}

arrow::Status Footer::CopyRowGroup(ByteSpool::Reader* records, int64_t* column_indexes_offset, int64_t* offset_indexes_offset,
                                   std::string* out) const {
  const int columns = schema_->descriptor->num_columns();
  ThriftAppender group(out);
  PutList(group_field::kColumns, static_cast<size_t>(columns), ThriftType::kStruct, &group);
  for (int record = 0; record <= columns; ++record) {
    uint32_t bytes = 0;
    int64_t column_index_bytes = 0;
    int64_t offset_index_bytes = 0;
    ARROW_RETURN_NOT_OK(records->Read(&bytes, sizeof bytes));
    ARROW_RETURN_NOT_OK(records->Read(&column_index_bytes, sizeof column_index_bytes));
    ARROW_RETURN_NOT_OK(records->Read(&offset_index_bytes, sizeof offset_index_bytes));
    const size_t begin = out->size();
    out->resize(begin + bytes);
    ARROW_RETURN_NOT_OK(records->Read(out->data() + begin, bytes));
    if (record == columns) return arrow::Status::OK();  // that was the rest of the row group
    ThriftAppender chunk(out);
    chunk.Continue(chunk_field::kMetadata);
    PutI64(chunk_field::kOffsetIndexOffset, *offset_indexes_offset, &chunk);
    PutI32(chunk_field::kOffsetIndexLength, offset_index_bytes, &chunk);
    if (column_index_bytes > 0) {
      PutI64(chunk_field::kColumnIndexOffset, *column_indexes_offset, &chunk);
      PutI32(chunk_field::kColumnIndexLength, column_index_bytes, &chunk);
    }
    out->push_back('\0');
    *offset_indexes_offset += offset_index_bytes;
    *column_indexes_offset += column_index_bytes;
  }
  return arrow::Status::OK();
}

}  // namespace icebound::io
