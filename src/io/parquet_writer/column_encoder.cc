// SPDX-License-Identifier: Apache-2.0
#include "io/parquet_writer/column_encoder.h"

#include <arrow/util/bitmap_ops.h>
#include <parquet/level_conversion.h>

#include <limits>

#include "base/error.h"
#include "io/parquet_writer/page_parts.h"

namespace icebound::io {
namespace {

/// Rows between two looks at the page's size. The scratch of a slice (16 bytes a value) stays in the nearest cache.
constexpr int64_t kSliceRows = 1024;

/// Heap bytes of a page in the two index builders, besides its bounds.
constexpr int64_t kPageIndexBytes = 160;

bool IsText(const parquet::ColumnDescriptor& descriptor) {
  const auto& logical = descriptor.logical_type();
  return logical != nullptr && (logical->is_string() || logical->is_JSON() || logical->is_enum());
}

/// Bytes of the values of a binary array, nulls (normally empty) included. For a dictionary array: of the values it stands for.
int64_t BinaryBytes(const arrow::Array& array) {
  switch (array.type_id()) {
    case arrow::Type::STRING:
    case arrow::Type::BINARY:
      return static_cast<const arrow::BinaryArray&>(array).total_values_length();
    case arrow::Type::LARGE_STRING:
    case arrow::Type::LARGE_BINARY:
      return static_cast<const arrow::LargeBinaryArray&>(array).total_values_length();
    case arrow::Type::STRING_VIEW:
    case arrow::Type::BINARY_VIEW: {
      const auto& views = static_cast<const arrow::BinaryViewArray&>(array);
      int64_t bytes = 0;
      for (int64_t i = 0; i < views.length(); ++i) bytes += views.IsValid(i) ? static_cast<int64_t>(views.GetView(i).size()) : 0;
      return bytes;
    }
    default:
      return 0;
  }
}

bool RowStartsAt(const int16_t* repetition_levels, int64_t level, int64_t level_count) {
  return repetition_levels == nullptr || level == level_count || repetition_levels[level] == 0;
}

/// Slices end with rows, as pages do, but inside of a row that is wider than two slices. Such a row starts with a slice.
int64_t SliceEnd(const int16_t* repetition_levels, int64_t begin, int64_t level_count, int64_t slice_levels) {
  const int64_t usual_end = std::min(begin + slice_levels, level_count);
  const int64_t end_max = std::min(usual_end + slice_levels, level_count);
  int64_t end = usual_end;
  while (end < end_max && !RowStartsAt(repetition_levels, end, level_count)) ++end;
  if (RowStartsAt(repetition_levels, end, level_count)) return end;
  end = usual_end;
  while (end > begin && !RowStartsAt(repetition_levels, end, level_count)) --end;
  return end > begin ? end : usual_end;
}

}  // namespace

arrow::Result<std::unique_ptr<ColumnEncoder>> ColumnEncoder::Make(const ColumnEncoderOptions& options) {
  ValueEncoderOptions value_options;
  value_options.descriptor = options.descriptor;
  value_options.pool = options.pool;
  value_options.dictionary_bytes_max = options.dictionary_bytes_max;
  value_options.expected_values = options.expected_rows;
  value_options.compressed = options.compressed;
  value_options.lent_bytes_min = 2 * options.max_page_bytes;
  ARROW_ASSIGN_OR_RAISE(auto values, ValueEncoder::Make(value_options));
  std::unique_ptr<ColumnEncoder> encoder(new ColumnEncoder(options, std::move(values)));
  encoder->StartChunk();
  return encoder;
}

ColumnEncoder::ColumnEncoder(const ColumnEncoderOptions& options, std::unique_ptr<ValueEncoder> values)
    : options_(options),
      is_text_(IsText(*options.descriptor)),
      values_(std::move(values)),
      definition_levels_(options.descriptor->max_definition_level(), options.pool),
      repetition_levels_(options.descriptor->max_repetition_level(), options.pool) {}

int64_t ColumnEncoder::ValueBytes(const arrow::Array& array) const {
  switch (options_.descriptor->physical_type()) {
    case parquet::Type::BOOLEAN:
      return 1;
    case parquet::Type::INT32:
    case parquet::Type::FLOAT:
      return 4;
    case parquet::Type::FIXED_LEN_BYTE_ARRAY:
      return options_.descriptor->type_length();
    case parquet::Type::BYTE_ARRAY:
      break;
    default:
      return 8;
  }
  int64_t bytes = 0;
  int64_t values = array.length();
  if (array.type_id() == arrow::Type::DICTIONARY) {
    const arrow::Array& dictionary = *static_cast<const arrow::DictionaryArray&>(array).dictionary();
    bytes = BinaryBytes(dictionary);
    values = dictionary.length();
  } else {
    bytes = BinaryBytes(array);
  }
  constexpr int64_t kLengthBytes = 4;
  return kLengthBytes + (values > 0 ? bytes / values : 0);
}

int64_t ColumnEncoder::SliceRows(int64_t value_bytes) const {
  const int64_t fitting = std::max<int64_t>(1, options_.max_page_bytes / std::max<int64_t>(1, value_bytes));
  return std::min({kSliceRows, options_.max_page_rows, fitting});
}

arrow::Status ColumnEncoder::AppendFlat(const arrow::Array& array, EncodeWorkspace* workspace) {
  const bool all_null = array.type_id() == arrow::Type::NA;
  const int64_t null_count = all_null ? array.length() : array.null_count();
  if (null_count > 0 && definition_levels_.max_level() == 0) {
    return MakeError(ErrorKind::kExecution, "column {} is declared not null but has {} null value(s)",
                     options_.descriptor->path()->ToDotString(), null_count);
  }
  ARROW_ASSIGN_OR_RAISE(LeafReader reader, LeafReader::Make(array, *options_.descriptor, &workspace->scratch.leaf));
  const uint8_t* validity = null_count > 0 && !all_null ? array.null_bitmap_data() : nullptr;
  const int64_t slice_rows = SliceRows(ValueBytes(array));
  for (int64_t row = 0; row < array.length();) {
    // Wide values have pages of their own: alone in one, they need not be copied to it.
    if (slice_rows == 1 && page_rows_ > 0) ARROW_RETURN_NOT_OK(FinishPage(workspace));
    const int64_t rows = std::min({slice_rows, array.length() - row, options_.max_page_rows - page_rows_});
    int64_t valid = all_null ? 0 : rows;
    if (validity != nullptr) valid = arrow::internal::CountSetBits(validity, array.offset() + row, rows);
    if (validity != nullptr) {
      ARROW_RETURN_NOT_OK(definition_levels_.AppendBits(validity, array.offset() + row, rows, valid));
    } else if (definition_levels_.max_level() > 0) {
      ARROW_RETURN_NOT_OK(definition_levels_.AppendRun(all_null ? 0 : 1, rows));
    }
    if (valid > 0) ARROW_RETURN_NOT_OK(values_->Append(&reader, valid, /*row_ends=*/true, &workspace->scratch));
    page_rows_ += rows;
    page_levels_ += rows;
    page_values_ += valid;
    row += rows;
    ARROW_RETURN_NOT_OK(FinishPageIfFull(workspace));
  }
  return arrow::Status::OK();
}

arrow::Status ColumnEncoder::AppendLevels(const int16_t* definition_levels, const int16_t* repetition_levels, int64_t level_count,
                                          const arrow::Array& leaf, EncodeWorkspace* workspace) {
  const auto max_definition = static_cast<int16_t>(definition_levels_.max_level());
  ARROW_ASSIGN_OR_RAISE(const uint8_t* validity,
                        ValidityFromLevels(definition_levels, level_count, leaf, &workspace->scratch.leaf));
  ARROW_ASSIGN_OR_RAISE(LeafReader reader, LeafReader::Make(leaf, *options_.descriptor, &workspace->scratch.leaf, validity));
  const int64_t value_bytes = ValueBytes(leaf);
  const int64_t slice_levels = SliceRows(value_bytes);
  int64_t wide_row_end = 0;
  for (int64_t begin = 0; begin < level_count;) {
    const int64_t end = SliceEnd(repetition_levels, begin, level_count, slice_levels);
    const bool row_ends = RowStartsAt(repetition_levels, end, level_count);
    if (!row_ends && begin >= wide_row_end) {
      wide_row_end = end;
      while (!RowStartsAt(repetition_levels, wide_row_end, level_count)) ++wide_row_end;
      const int64_t values = max_definition == 0 || definition_levels == nullptr
                                 ? wide_row_end - begin
                                 : std::count(definition_levels + begin, definition_levels + wide_row_end, max_definition);
      if (values * value_bytes > options_.max_page_bytes) ARROW_RETURN_NOT_OK(FinishPage(workspace));
      values_->ExpectRow(values * value_bytes);
    }
    const int64_t levels = end - begin;
    int64_t valid = levels;
    if (definition_levels != nullptr && max_definition > 0) {
      valid = std::count(definition_levels + begin, definition_levels + end, max_definition);
      ARROW_RETURN_NOT_OK(definition_levels_.AppendLevels(definition_levels + begin, levels));
    }
    int64_t rows = levels;
    if (repetition_levels != nullptr && repetition_levels_.max_level() > 0) {
      rows = std::count(repetition_levels + begin, repetition_levels + end, int16_t{0});
      ARROW_RETURN_NOT_OK(repetition_levels_.AppendLevels(repetition_levels + begin, levels));
    }
    if (valid > 0) ARROW_RETURN_NOT_OK(values_->Append(&reader, valid, row_ends, &workspace->scratch));
    page_rows_ += rows;
    page_levels_ += levels;
    page_values_ += valid;
    begin = end;
    if (row_ends) ARROW_RETURN_NOT_OK(FinishPageIfFull(workspace));
  }
  return arrow::Status::OK();
}

arrow::Result<const uint8_t*> ColumnEncoder::ValidityFromLevels(const int16_t* definition_levels, int64_t level_count,
                                                                const arrow::Array& leaf, LeafScratch* scratch) const {
  const auto max_definition = static_cast<int16_t>(definition_levels_.max_level());
  if (definition_levels == nullptr || max_definition == 0 || leaf.type_id() == arrow::Type::NA) return nullptr;
  const auto min_slot_definition =
      parquet::internal::LevelInfo::ComputeLevelInfo(options_.descriptor).repeated_ancestor_def_level;
  scratch->validity.Clear();
  ARROW_RETURN_NOT_OK(scratch->validity.Resize(leaf.length() / 8 + 1));
  uint8_t* bits = scratch->validity.data();
  std::memset(bits, 0, static_cast<size_t>(scratch->validity.size()));
  int64_t slot = 0;
  for (int64_t i = 0; i < level_count; ++i) {
    if (definition_levels[i] < min_slot_definition) continue;  // an empty or missing list has no slot
    if (definition_levels[i] == max_definition) {
      if (slot < leaf.length()) bits[slot / 8] |= static_cast<uint8_t>(1 << (slot % 8));
      if (slot >= leaf.length() || leaf.IsNull(slot)) {
        return MakeError(ErrorKind::kExecution, "column {} is declared not null but has a null value",
                         options_.descriptor->path()->ToDotString());
      }
    }
    ++slot;
  }
  return bits;
}

arrow::Status ColumnEncoder::FinishPageIfFull(EncodeWorkspace* workspace) {
  const int64_t bytes = values_->page_bytes() + definition_levels_.EstimateBytes() + repetition_levels_.EstimateBytes();
  if (page_rows_ < options_.max_page_rows && bytes < options_.max_page_bytes && !values_->wants_new_page())
    return arrow::Status::OK();
  return FinishPage(workspace);
}

arrow::Result<std::span<uint8_t>> ColumnEncoder::AssemblePage(const PageValues& values, EncodeScratch* scratch) {
  scratch->levels.Clear();
  ARROW_RETURN_NOT_OK(repetition_levels_.Encode(&scratch->levels));
  ARROW_RETURN_NOT_OK(definition_levels_.Encode(&scratch->levels));
  const int64_t level_bytes = scratch->levels.size();
  const int64_t bytes = level_bytes + values.bytes;
  if (bytes + static_cast<int64_t>(values.lent.size()) > std::numeric_limits<int32_t>::max()) {
    return MakeError(ErrorKind::kUnsupported, "column {}: a row of {} bytes does not fit a Parquet page (2 GiB)",
                     options_.descriptor->path()->ToDotString(), bytes);
  }
  if (level_bytes <= kPageHeadroomBytes) {
    uint8_t* page = values.data - level_bytes;
    if (level_bytes > 0) std::memcpy(page, scratch->levels.data(), static_cast<size_t>(level_bytes));
    return std::span<uint8_t>(page, static_cast<size_t>(bytes));
  }
  scratch->page.Clear();
  ARROW_RETURN_NOT_OK(scratch->page.Reserve(bytes));
  scratch->page.AppendUnchecked(scratch->levels.data(), level_bytes);
  scratch->page.AppendUnchecked(values.data, values.bytes);
  return std::span<uint8_t>(scratch->page.data(), static_cast<size_t>(bytes));
}

arrow::Result<PoolVector<uint8_t>> ColumnEncoder::CompressPage(PageHeader* header, std::span<const uint8_t> page,
                                                               EncodeWorkspace* workspace) {
  std::span<const uint8_t> stored = page;
  if (workspace->codec != nullptr && IsWidePage(static_cast<int64_t>(page.size()))) {
    return CompressWidePage(header, page, workspace->codec.get());
  }
  if (workspace->codec != nullptr) {
    PoolVector<uint8_t>& out = workspace->scratch.compressed;
    const auto bytes = static_cast<int64_t>(page.size());
    out.Clear();
    ARROW_RETURN_NOT_OK(out.Reserve(workspace->codec->MaxCompressedLen(bytes, page.data())));
    ARROW_ASSIGN_OR_RAISE(const int64_t compressed_bytes,
                          workspace->codec->Compress(bytes, page.data(), out.capacity_bytes(), out.data()));
    stored = {out.data(), static_cast<size_t>(compressed_bytes)};
  }
  header->uncompressed_bytes = static_cast<int32_t>(page.size());
  header->compressed_bytes = static_cast<int32_t>(stored.size());
  const PageHeaderBytes header_bytes(*header);
  PoolVector<uint8_t> result(options_.pool);
  ARROW_RETURN_NOT_OK(result.ReserveExactly(header_bytes.size() + static_cast<int64_t>(stored.size())));
  result.AppendUnchecked(header_bytes.span().data(), header_bytes.size());
  result.AppendUnchecked(stored.data(), static_cast<int64_t>(stored.size()));
  return result;
}

/// As CompressPage, into the page itself: of a page that is one wide value there should be as few copies as possible.
arrow::Result<PoolVector<uint8_t>> ColumnEncoder::CompressWidePage(PageHeader* header, std::span<const uint8_t> page,
                                                                   arrow::util::Codec* codec) {
  constexpr int64_t kHeaderBytesMax = 64;
  const auto bytes = static_cast<int64_t>(page.size());
  PoolVector<uint8_t> result(options_.pool);
  const int64_t compressed_bytes_max = codec->MaxCompressedLen(bytes, page.data());
  ARROW_RETURN_NOT_OK(result.ReserveExactly(kHeaderBytesMax + compressed_bytes_max));
  uint8_t* compressed = result.data() + kHeaderBytesMax;
  ARROW_ASSIGN_OR_RAISE(const int64_t compressed_bytes, codec->Compress(bytes, page.data(), compressed_bytes_max, compressed));
  header->uncompressed_bytes = static_cast<int32_t>(bytes);
  header->compressed_bytes = static_cast<int32_t>(compressed_bytes);
  const PageHeaderBytes header_bytes(*header);
  if (header_bytes.size() > kHeaderBytesMax)
    return MakeError(ErrorKind::kInternal, "a page header of {} bytes", header_bytes.size());
  result.AppendUnchecked(header_bytes.span().data(), header_bytes.size());
  std::memmove(result.end(), compressed, static_cast<size_t>(compressed_bytes));
  result.Advance(compressed_bytes);
  ARROW_RETURN_NOT_OK(result.ShrinkToFit());
  return result;
}

/// A page of `head` (levels, and the value's length) and one wide value that lies elsewhere, stored without putting the two
/// together first, where that can be done.
arrow::Result<PoolVector<uint8_t>> ColumnEncoder::StoreLentPage(PageHeader* header, std::span<const uint8_t> head,
                                                                std::span<const uint8_t> lent, EncodeWorkspace* workspace) {
  const auto bytes = static_cast<int64_t>(head.size() + lent.size());
  if (workspace->codec == nullptr) {
    header->uncompressed_bytes = header->compressed_bytes = static_cast<int32_t>(bytes);
    const PageHeaderBytes header_bytes(*header);
    PoolVector<uint8_t> result(options_.pool);
    ARROW_RETURN_NOT_OK(result.ReserveExactly(header_bytes.size() + bytes));
    result.AppendUnchecked(header_bytes.span().data(), header_bytes.size());
    result.AppendUnchecked(head.data(), static_cast<int64_t>(head.size()));
    result.AppendUnchecked(lent.data(), static_cast<int64_t>(lent.size()));
    return result;
  }
  if (CanCompressInParts(*workspace->codec, head.size())) {
    return CompressInParts(header, head, lent, workspace->codec.get(), options_.pool);
  }
  PoolVector<uint8_t>& page = workspace->scratch.page;
  page.Clear();
  ARROW_RETURN_NOT_OK(page.ReserveExactly(bytes));
  page.AppendUnchecked(head.data(), static_cast<int64_t>(head.size()));
  page.AppendUnchecked(lent.data(), static_cast<int64_t>(lent.size()));
  return CompressWidePage(header, {page.data(), static_cast<size_t>(bytes)}, workspace->codec.get());
}

arrow::Status ColumnEncoder::FinishPage(EncodeWorkspace* workspace) {
  if (page_levels_ == 0) return arrow::Status::OK();
  ARROW_ASSIGN_OR_RAISE(const PageValues values, values_->FinishPage(&workspace->scratch));
  ARROW_ASSIGN_OR_RAISE(const std::span<uint8_t> page, AssemblePage(values, &workspace->scratch));
  PageHeader header;
  header.value_count = static_cast<int32_t>(page_levels_);
  header.encoding = values.encoding;
  ARROW_ASSIGN_OR_RAISE(PoolVector<uint8_t> stored, values.lent.empty() ? CompressPage(&header, page, workspace)
                                                                        : StoreLentPage(&header, page, values.lent, workspace));
  const int64_t stored_bytes = stored.size();
  if (IsWidePage(header.uncompressed_bytes)) {
    widest_page_bytes_ = std::max<int64_t>(widest_page_bytes_, header.uncompressed_bytes);
    values_->ShrinkBuffers(2 * options_.max_page_bytes);
    workspace->scratch.page.ReleaseIfLarger(2 * options_.max_page_bytes);
    workspace->scratch.values.ReleaseIfLarger(2 * options_.max_page_bytes);
  }
  uncompressed_bytes_ += header.uncompressed_bytes + PageHeaderBytes(header).size();
  ++(values.encoding == parquet::Encoding::RLE_DICTIONARY ? code_pages_ : plain_pages_);
  held_page_bytes_ += stored.capacity_bytes();
  pages_.push_back(std::move(stored));
  IndexPage(stored_bytes);
  data_bytes_ += stored_bytes;
  chunk_rows_ += page_rows_;
  chunk_levels_ += page_levels_;
  chunk_nulls_ += page_levels_ - page_values_;
  page_rows_ = page_levels_ = page_values_ = 0;
  definition_levels_.Clear();
  repetition_levels_.Clear();
  return arrow::Status::OK();
}

void ColumnEncoder::IndexPage(int64_t page_bytes) {
  const int64_t nulls = page_levels_ - page_values_;
  EncodedBounds bounds = values_->TakePageBounds();
  // A value of fixed length has no shorter form: readers, and the index builder itself, expect all its bytes.
  if (options_.descriptor->physical_type() != parquet::Type::FIXED_LEN_BYTE_ARRAY)
    bounds = CutBounds(bounds, kCutBytes, is_text_);
  parquet::EncodedStatistics statistics;
  statistics.set_null_count(nulls);
  statistics.all_null_value = page_values_ == 0;
  if (bounds.valid) {
    statistics.set_min(bounds.minimum);
    statistics.set_max(bounds.maximum);
    index_bytes_ += 2 * static_cast<int64_t>(bounds.minimum.size() + bounds.maximum.size());
  }
  index_bytes_ += kPageIndexBytes;
  std::unique_ptr<parquet::SizeStatistics> sizes = parquet::SizeStatistics::Make(options_.descriptor);
  if (!sizes->definition_level_histogram.empty()) sizes->definition_level_histogram = definition_levels_.histogram();
  if (!sizes->repetition_level_histogram.empty()) sizes->repetition_level_histogram = repetition_levels_.histogram();
  if (sizes->unencoded_byte_array_data_bytes) sizes->unencoded_byte_array_data_bytes = values_->TakeUnencodedBytes();
  size_statistics_->Merge(*sizes);
  column_index_->AddPage(statistics, *sizes);
  parquet::PageLocation location;
  location.offset = data_bytes_;
  location.compressed_page_size = static_cast<int32_t>(page_bytes);
  location.first_row_index = chunk_rows_;
  offset_index_->AddPage(location, *sizes);
}

arrow::Result<FinishedChunk> ColumnEncoder::FinishChunk(EncodeWorkspace* workspace) {
  ARROW_RETURN_NOT_OK(FinishPage(workspace));
  FinishedChunk chunk(options_.pool);
  chunk.rows = chunk_rows_;
  chunk.values = chunk_levels_;
  chunk.data_bytes = data_bytes_;
  chunk.uncompressed_bytes = uncompressed_bytes_;
  chunk.code_pages = code_pages_;
  chunk.plain_pages = plain_pages_;
  ARROW_RETURN_NOT_OK(FinishDictionary(workspace, &chunk));
  DescribeChunk(&chunk);
  chunk.size_statistics = *size_statistics_;
  chunk.column_index = std::move(column_index_);
  chunk.offset_index = std::move(offset_index_);
  chunk.column_index->Finish();
  StartChunk();
  return chunk;
}

arrow::Status ColumnEncoder::FinishDictionary(EncodeWorkspace* workspace, FinishedChunk* chunk) {
  const DictionaryValues dictionary = values_->dictionary();
  if (code_pages_ == 0) return arrow::Status::OK();
  PageHeader header;
  header.is_dictionary = true;
  header.value_count = static_cast<int32_t>(dictionary.entries);
  ARROW_ASSIGN_OR_RAISE(chunk->dictionary_page, CompressPage(&header, dictionary.bytes, workspace));
  chunk->uncompressed_bytes += header.uncompressed_bytes + PageHeaderBytes(header).size();
  return arrow::Status::OK();
}

void ColumnEncoder::DescribeChunk(FinishedChunk* chunk) {
  parquet::EncodedStatistics& statistics = chunk->statistics;
  statistics.set_null_count(chunk_nulls_);
  statistics.all_null_value = chunk_nulls_ == chunk_levels_;
  if (code_pages_ > 0 && plain_pages_ == 0) statistics.set_distinct_count(values_->dictionary().entries);
  EncodedBounds bounds = values_->chunk_bounds();
  if (bounds.valid && std::max(bounds.minimum.size(), bounds.maximum.size()) > kWholeBoundBytes) {
    bounds = CutBounds(bounds, kCutBytes, is_text_);
  }
  if (!bounds.valid) return;
  statistics.set_min(bounds.minimum);
  statistics.set_max(bounds.maximum);
  statistics.is_min_value_exact = bounds.minimum_exact;
  statistics.is_max_value_exact = bounds.maximum_exact;
}

void ColumnEncoder::StartChunk() {
  values_->ResetChunk();
  chunk_rows_ = chunk_levels_ = chunk_nulls_ = data_bytes_ = uncompressed_bytes_ = index_bytes_ = widest_page_bytes_ = 0;
  code_pages_ = plain_pages_ = 0;
  size_statistics_ = parquet::SizeStatistics::Make(options_.descriptor);
  column_index_ = parquet::ColumnIndexBuilder::Make(options_.descriptor);
  offset_index_ = parquet::OffsetIndexBuilder::Make();
}

int64_t ColumnEncoder::EstimateChunkBytes() const {
  const double ratio =
      uncompressed_bytes_ > 0 ? static_cast<double>(data_bytes_) / static_cast<double>(uncompressed_bytes_) : 1.0;
  const auto open = static_cast<double>(values_->page_bytes() + static_cast<int64_t>(values_->dictionary().bytes.size()));
  return data_bytes_ + static_cast<int64_t>(open * ratio);
}

int64_t ColumnEncoder::working_bytes() const {
  return values_->memory_bytes() + definition_levels_.memory_bytes() + repetition_levels_.memory_bytes() + index_bytes_;
}

}  // namespace icebound::io
