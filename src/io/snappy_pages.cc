// SPDX-License-Identifier: Apache-2.0
#include "io/snappy_pages.h"

#include <parquet/column_page.h>
#include <parquet/exception.h>

#include <cstring>
#include <span>

#include "io/snappy_decoder.h"

namespace icebound::io {
namespace {

constexpr int64_t kAnyLength = -1;

}  // namespace

std::unique_ptr<parquet::PageReader> SnappyPages::OpenChunk(parquet::Compression::type codec, arrow::MemoryPool* pool,
                                                            const Open& open) {
  if (codec != parquet::Compression::SNAPPY) return open(codec);
  return std::make_unique<SnappyPages>(open(parquet::Compression::UNCOMPRESSED), pool);
}

/// The page's bytes: `plain_bytes` as they are, then the text of the block behind them, which makes it `text_bytes` in all.
std::shared_ptr<arrow::Buffer> SnappyPages::Decode(const parquet::Page& page, int64_t plain_bytes, int64_t text_bytes) {
  if (plain_bytes < 0 || plain_bytes > page.size()) {
    throw parquet::ParquetException("Corrupt page: its levels are longer than itself");
  }
  // A page of nulls alone may have no block.
  SnappyBlock block;
  const std::span<const uint8_t> bytes(page.data() + plain_bytes, static_cast<size_t>(page.size() - plain_bytes));
  if (text_bytes != plain_bytes) {
    const auto opened = OpenSnappyBlock(bytes);
    if (!opened.has_value() || (text_bytes != kAnyLength && opened->text_bytes != text_bytes - plain_bytes)) {
      throw parquet::ParquetException("Corrupt snappy compressed data: another length than the page's");
    }
    block = *opened;
  }
  if (text_ == nullptr) {
    PARQUET_ASSIGN_OR_THROW(text_, arrow::AllocateResizableBuffer(plain_bytes + block.text_bytes, pool_));
  } else {
    PARQUET_THROW_NOT_OK(text_->Resize(plain_bytes + block.text_bytes, /*shrink_to_fit=*/false));
  }
  if (plain_bytes > 0) std::memcpy(text_->mutable_data(), page.data(), static_cast<size_t>(plain_bytes));
  if (block.text_bytes > 0 && !DecodeSnappy(block, text_->mutable_data() + plain_bytes)) {
    throw parquet::ParquetException("Corrupt snappy compressed data");
  }
  return text_;
}

std::shared_ptr<parquet::Page> SnappyPages::NextPage() {
  if (data_page_filter_) pages_->set_data_page_filter(data_page_filter_);
  const std::shared_ptr<parquet::Page> page = pages_->NextPage();
  if (page == nullptr) return page;
  switch (page->type()) {
    case parquet::PageType::DICTIONARY_PAGE: {
      const auto& dictionary = static_cast<const parquet::DictionaryPage&>(*page);
      return std::make_shared<parquet::DictionaryPage>(Decode(*page, 0, kAnyLength), dictionary.num_values(),
                                                       dictionary.encoding(), dictionary.is_sorted());
    }
    case parquet::PageType::DATA_PAGE: {
      const auto& data = static_cast<const parquet::DataPageV1&>(*page);
      return std::make_shared<parquet::DataPageV1>(Decode(*page, 0, data.uncompressed_size()), data.num_values(), data.encoding(),
                                                   data.definition_level_encoding(), data.repetition_level_encoding(),
                                                   data.uncompressed_size(), data.statistics(), data.first_row_index(),
                                                   data.size_statistics());
    }
    case parquet::PageType::DATA_PAGE_V2: {
      const auto& data = static_cast<const parquet::DataPageV2&>(*page);
      if (!data.is_compressed()) return page;
      const int64_t level_bytes = int64_t{data.definition_levels_byte_length()} + int64_t{data.repetition_levels_byte_length()};
      return std::make_shared<parquet::DataPageV2>(
          Decode(*page, level_bytes, data.uncompressed_size()), data.num_values(), data.num_nulls(), data.num_rows(),
          data.encoding(), data.definition_levels_byte_length(), data.repetition_levels_byte_length(), data.uncompressed_size(),
          /*is_compressed=*/false, data.statistics(), data.first_row_index(), data.size_statistics());
    }
    default:
      return page;
  }
}

}  // namespace icebound::io
