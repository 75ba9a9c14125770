// SPDX-License-Identifier: Apache-2.0
//
// One column chunk, or some of its pages, as the byte stream Arrow's page reader wants.
//
// The stream reads page by page: a small buffer takes page headers and small pages, a larger page goes straight into a buffer of
// its own, which the page reader drops as soon as it has decompressed it. So a chunk of any size costs one page, and the
// compressed one only for a moment. From a remote store the stream asks for the next page (about as large as the last one) while
// the page reader works on this one, as far as the budget that the columns of a row group share goes. Before a page is read, the
// sizes its header claims are checked: a page that runs over the end of its chunk, or decompresses to absurdly more than its
// chunk, is found before anything is allocated for it.
#pragma once

#include <arrow/buffer.h>
#include <arrow/io/interfaces.h>
#include <arrow/util/future.h>

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "io/input_file.h"
#include "io/wide_pages.h"

namespace icebound::io {

struct ByteRange {
  int64_t offset = 0;
  int64_t length = 0;
};

/// Bytes that the streams of one reader may have asked for ahead. Not thread safe: one thread reads all of them.
struct ReadAheadBudget {
  int64_t limit_bytes = 0;
  int64_t used_bytes = 0;
};

struct ColumnStreamOptions {
  std::vector<ByteRange> ranges;         ///< whole pages, in file order
  int64_t buffer_bytes = 0;              ///< read at once, at least
  int64_t chunk_uncompressed_bytes = 0;  ///< what the footer says of the whole chunk
  arrow::MemoryPool* pool = nullptr;
  arrow::MemoryPool* ahead_pool = nullptr;  ///< for blocks read ahead, with
  ReadAheadBudget* ahead_budget = nullptr;  ///< what they may hold; null reads none
  WidePass* wide_pass = nullptr;            ///< asked before a page is read; null: any page may be
};

/// Not thread safe. Views from Peek live until the next call.
class ColumnStream final : public arrow::io::InputStream {
 public:
  ColumnStream(std::shared_ptr<InputFile> file, ColumnStreamOptions options);
  ~ColumnStream() override;

  arrow::Result<std::string_view> Peek(int64_t count) override;
  arrow::Result<std::shared_ptr<arrow::Buffer>> Read(int64_t count) override;
  arrow::Result<int64_t> Read(int64_t count, void* out) override;
  /// Skips bytes, which are not read when they are not in the buffer.
  arrow::Status Close() override;
  bool closed() const override { return closed_; }
  arrow::Result<int64_t> Tell() const override { return position_; }

 private:
  /// Bytes of the file, from `offset` on.
  struct Block {
    std::shared_ptr<arrow::ResizableBuffer> buffer;
    int64_t offset = 0;
    int64_t length = 0;
  };

  int64_t LeftInRange() const;
  /// Goes to the next range when this one is used up.
  void NextRange();
  /// Makes at least `count` bytes (what is left of the range at most) available in the buffer.
  arrow::Status Fill(int64_t count);
  /// Reads `count` bytes from `offset` on: from the block read ahead as far as it goes, the rest by a request.
  arrow::Status Fetch(int64_t offset, int64_t count, uint8_t* out);
  /// Asks for the block behind `offset`, or at the next range's start when this range ends there.
  void ReadAhead(int64_t offset);
  /// Waits for the block read ahead. Whether it came or not, there is none afterwards.
  arrow::Result<Block> TakeAhead();
  arrow::Status CheckPageHeader(std::string_view header);
  std::string_view Buffered() const;

  const std::shared_ptr<InputFile> file_;
  const ColumnStreamOptions options_;
  size_t range_ = 0;
  int64_t position_ = 0;  // in the file: of the next byte to give

  Block block_;
  Block ahead_;  // being read while ahead_ready_ is valid
  arrow::Future<> ahead_ready_;
  int64_t page_bytes_ = 0;  // of the largest page so far
  bool closed_ = false;
};

}  // namespace icebound::io
