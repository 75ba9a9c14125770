// SPDX-License-Identifier: Apache-2.0
//
// One column chunk, or some of its pages, as the byte stream Arrow's page reader wants.
//
// The stream reads page by page: a small buffer takes page headers and small pages, a larger page goes straight into a buffer of its own, which the page
// reader drops as soon as it has decompressed it. So a chunk of any size costs one page, and the compressed one only for a moment. Before a page is read, the sizes its header claims are checked: a page that runs over the
// end of its chunk, or decompresses to absurdly more than its chunk, is found before anything is allocated for it.
#pragma once

#include <arrow/buffer.h>
#include <arrow/io/interfaces.h>

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "io/input_file.h"

namespace icebound::io {

struct ByteRange {
  int64_t offset = 0;
  int64_t length = 0;
};

struct ColumnStreamOptions {
  std::vector<ByteRange> ranges;            ///< whole pages, in file order
  int64_t buffer_bytes = 0;                 ///< read at once, at least
  int64_t chunk_uncompressed_bytes = 0;     ///< what the footer says of the whole chunk
  arrow::MemoryPool* pool = nullptr;
};

/// Not thread safe. Views from Peek, and buffers from Read no longer than buffer_bytes, live until the next call: enough for Arrow's page reader, which
/// promises no more for its pages.
class ColumnStream final : public arrow::io::InputStream {
 public:
  ColumnStream(std::shared_ptr<InputFile> file, ColumnStreamOptions options);

  arrow::Result<std::string_view> Peek(int64_t count) override;
  arrow::Result<std::shared_ptr<arrow::Buffer>> Read(int64_t count) override;
  arrow::Result<int64_t> Read(int64_t count, void* out) override;
  arrow::Status Close() override;
  bool closed() const override { return closed_; }
  arrow::Result<int64_t> Tell() const override { return position_; }

 private:
  int64_t LeftInRange() const;
  /// Goes to the next range when this one is used up.
  void NextRange();
  /// Makes at least `count` bytes (what is left of the range at most) available in the buffer.
  arrow::Status Fill(int64_t count);
  arrow::Status CheckPageHeader(std::string_view header);
  std::string_view Buffered() const;

  const std::shared_ptr<InputFile> file_;
  const ColumnStreamOptions options_;
  size_t range_ = 0;
  int64_t position_ = 0;  // in the file: of the next byte to give

  std::shared_ptr<arrow::ResizableBuffer> buffer_;  // bytes of the file from buffer_offset_ on, buffer_length_ of them
  int64_t buffer_offset_ = 0;
  int64_t buffer_length_ = 0;
  bool closed_ = false;
};

}  // namespace icebound::io
