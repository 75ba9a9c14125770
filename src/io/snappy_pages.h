// SPDX-License-Identifier: Apache-2.0
//
// A page reader of the Parquet library that decodes snappy pages by our own decoder (snappy_decoder.h).
#pragma once

#include <arrow/buffer.h>
#include <parquet/column_reader.h>

#include <functional>
#include <memory>

namespace icebound::io {

/// Wraps a reader that was opened as if nothing were compressed. Like the library's own, it uses one buffer for all pages: a page
/// is good until the next. Throws what the library throws. Not thread safe.
class SnappyPages final : public parquet::PageReader {
 public:
  /// Opens the reader to wrap, given the codec to open it for.
  using Open = std::function<std::unique_ptr<parquet::PageReader>(parquet::Compression::type codec)>;

  /// The reader of a chunk with this codec: `open(codec)`, wrapped when that is snappy.
  static std::unique_ptr<parquet::PageReader> OpenChunk(parquet::Compression::type codec, arrow::MemoryPool* pool,
                                                        const Open& open);

  SnappyPages(std::unique_ptr<parquet::PageReader> pages, arrow::MemoryPool* pool) : pages_(std::move(pages)), pool_(pool) {}

  std::shared_ptr<parquet::Page> NextPage() override;
  void set_max_page_header_size(uint32_t size) override { pages_->set_max_page_header_size(size); }

 private:
  std::shared_ptr<arrow::Buffer> Decode(const parquet::Page& page, int64_t plain_bytes, int64_t text_bytes);

  const std::unique_ptr<parquet::PageReader> pages_;
  arrow::MemoryPool* const pool_;
  std::shared_ptr<arrow::ResizableBuffer> text_;  // of the page that was given out last
};

}  // namespace icebound::io
