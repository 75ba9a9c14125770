// SPDX-License-Identifier: Apache-2.0
#include "io/parquet_column_stream.h"

#include <parquet/column_reader.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "io/thrift_compact.h"

namespace icebound::io {
namespace {

/// Writers' totals are sometimes a little off; a page is absurd only beyond its chunk's total and this.
constexpr int64_t kPlausiblePageBytes = int64_t{16} << 20;

/// A page header with statistics is rarely longer.
constexpr int64_t kHeaderBytes = 512;

}  // namespace

ColumnStream::ColumnStream(std::shared_ptr<InputFile> file, ColumnStreamOptions options)
    : file_(std::move(file)), options_(std::move(options)) {
  if (options_.ranges.empty()) return;
  position_ = options_.ranges.front().offset;
  ReadAhead(position_);
}

ColumnStream::~ColumnStream() {
  // The request writes into our memory.
  if (ahead_ready_.is_valid()) IgnoreError(TakeAhead().status());
}

int64_t ColumnStream::LeftInRange() const {
  return range_ < options_.ranges.size() ? options_.ranges[range_].offset + options_.ranges[range_].length - position_ : 0;
}

void ColumnStream::NextRange() {
  while (range_ < options_.ranges.size() && LeftInRange() <= 0) {
    if (++range_ < options_.ranges.size()) position_ = options_.ranges[range_].offset;
  }
}

std::string_view ColumnStream::Buffered() const {
  if (position_ < block_.offset || position_ >= block_.offset + block_.length) return {};
  const int64_t skip = position_ - block_.offset;
  return {reinterpret_cast<const char*>(block_.buffer->data()) + skip,
          static_cast<size_t>(std::min(block_.length - skip, LeftInRange()))};
}

void ColumnStream::ReadAhead(int64_t offset) {
  if (options_.ahead_budget == nullptr || range_ >= options_.ranges.size()) return;
  size_t range = range_;
  if (offset == options_.ranges[range].offset + options_.ranges[range].length) {
    if (++range == options_.ranges.size()) return;
    offset = options_.ranges[range].offset;
  }
  if (ahead_ready_.is_valid()) {
    if (ahead_.offset == offset) return;
    IgnoreError(TakeAhead().status());  // overtaken
  }
  // A page, its header, and a little more: pages of a column are about as large as each other.
  const int64_t wanted = std::max(options_.buffer_bytes, page_bytes_ + page_bytes_ / 16 + kHeaderBytes);
  const int64_t left_in_range = options_.ranges[range].offset + options_.ranges[range].length - offset;
  const int64_t left_in_budget = options_.ahead_budget->limit_bytes - options_.ahead_budget->used_bytes;
  const int64_t length = std::min({wanted, left_in_range, left_in_budget});
  if (length <= std::min(kHeaderBytes, left_in_range - 1)) return;
  auto buffer = arrow::AllocateResizableBuffer(length, options_.ahead_pool);
  if (!buffer.ok()) return;  // no memory to spare: the bytes are read when they are needed
  ahead_ = {.buffer = std::move(buffer).ValueUnsafe(), .offset = offset, .length = length};
  options_.ahead_budget->used_bytes += length;
  ahead_ready_ = file_->ReadAsync(offset, {ahead_.buffer->mutable_data(), static_cast<size_t>(length)});
}

arrow::Result<ColumnStream::Block> ColumnStream::TakeAhead() {
  const arrow::Status status = ahead_ready_.status();
  ahead_ready_ = {};
  Block block = std::exchange(ahead_, {});
  options_.ahead_budget->used_bytes -= block.length;
  ARROW_RETURN_NOT_OK(status);
  return block;
}

arrow::Status ColumnStream::Fetch(int64_t offset, int64_t count, uint8_t* out) {
  if (ahead_ready_.is_valid() && ahead_.offset == offset) {
    ARROW_ASSIGN_OR_RAISE(const Block ahead, TakeAhead());
    const int64_t length = std::min(count, ahead.length);
    std::memcpy(out, ahead.buffer->data(), static_cast<size_t>(length));
    // What is not wanted now becomes the block.
    if (length < ahead.length) block_ = ahead;
    if (length == count) return arrow::Status::OK();
    offset += length, count -= length, out += length;
  }
  return file_->ReadAt(offset, {out, static_cast<size_t>(count)});
}

arrow::Status ColumnStream::Fill(int64_t count) {
  count = std::min(count, LeftInRange());
  const std::string_view have = Buffered();
  const int64_t kept = static_cast<int64_t>(have.size());
  if (kept >= count) return arrow::Status::OK();
  if (kept == 0 && ahead_ready_.is_valid() && ahead_.offset == position_ && ahead_.length >= count) {
    ARROW_ASSIGN_OR_RAISE(block_, TakeAhead());
    ReadAhead(block_.offset + block_.length);
    return arrow::Status::OK();
  }
  // As much as was asked ahead for, if that follows: then it need not be fetched twice.
  const bool joins = ahead_ready_.is_valid() && ahead_.offset == position_ + kept;
  const int64_t want = std::min(std::max(count, joins ? kept + ahead_.length : options_.buffer_bytes), LeftInRange());
  if (block_.buffer == nullptr || block_.buffer.use_count() > 1 || block_.buffer->size() < want) {
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::ResizableBuffer> larger, arrow::AllocateResizableBuffer(want, options_.pool));
    std::copy_n(have.data(), kept, reinterpret_cast<char*>(larger->mutable_data()));
    block_.buffer = std::move(larger);
  } else {
    if (kept > 0) std::memmove(block_.buffer->mutable_data(), have.data(), static_cast<size_t>(kept));
  }
  const std::shared_ptr<arrow::ResizableBuffer> buffer = block_.buffer;
  block_ = {};
  ARROW_RETURN_NOT_OK(Fetch(position_ + kept, want - kept, buffer->mutable_data() + kept));
  block_ = {.buffer = buffer, .offset = position_, .length = want};
  ReadAhead(position_ + want);
  return arrow::Status::OK();
}

arrow::Result<std::string_view> ColumnStream::Peek(int64_t count) {
  NextRange();
  if (LeftInRange() <= 0) return std::string_view();
  // Arrow asks for far more than a header takes, and again for twice as much when it was not enough.
  const bool first_try = count <= static_cast<int64_t>(parquet::kDefaultPageHeaderSize);
  ARROW_RETURN_NOT_OK(Fill(first_try ? std::min(count, options_.buffer_bytes) : count));
  const std::string_view view = Buffered().substr(0, static_cast<size_t>(count));
  ARROW_RETURN_NOT_OK(CheckPageHeader(view));
  return view;
}

arrow::Status ColumnStream::CheckPageHeader(std::string_view header) {
  ThriftWalker walker(
      [&](int64_t offset) -> arrow::Result<std::string_view> { return header.substr(static_cast<size_t>(offset)); },
      static_cast<int64_t>(header.size()));
  // PageHeader: 1 type, 2 uncompressed_page_size, 3 compressed_page_size, all i32 and required.
  int64_t sizes[4] = {};
  int16_t id = 0;
  while (id < 3) {
    auto field = walker.ReadField(id);
    if (!field.ok() || field->type != ThriftType::kI32) return arrow::Status::OK();  // the page reader says what is wrong with it
    id = field->id;
    auto value = walker.ReadInteger();
    if (!value.ok() || id > 3) return arrow::Status::OK();
    sizes[id] = *value;
  }
  if (sizes[3] > LeftInRange() - walker.offset()) {
    return MakeError(ErrorKind::kCorruptData, "a page of {} bytes at offset {} runs over the end of its column chunk", sizes[3],
                     position_);
  }
  if (sizes[2] > std::max(options_.chunk_uncompressed_bytes, kPlausiblePageBytes)) {
    return MakeError(ErrorKind::kCorruptData,
                     "a page at offset {} claims to decompress from {} to {} bytes, its whole column chunk to {}", position_,
                     sizes[3], sizes[2], options_.chunk_uncompressed_bytes);
  }
  if (options_.wide_pass != nullptr && !options_.wide_pass->MayRead(sizes[2])) {
    return MakeError(ErrorKind::kMemoryLimit, "a page of {} bytes has to wait for its turn", sizes[2]);
  }
  return arrow::Status::OK();
}

arrow::Result<std::shared_ptr<arrow::Buffer>> ColumnStream::Read(int64_t count) {
  NextRange();
  count = std::clamp<int64_t>(count, 0, LeftInRange());
  page_bytes_ = std::max(page_bytes_, count);
  const bool is_ahead = ahead_ready_.is_valid() && ahead_.offset == position_ && ahead_.length >= count;
  std::string_view have = Buffered();
  if (static_cast<int64_t>(have.size()) >= count || count <= options_.buffer_bytes || is_ahead) {
    ARROW_RETURN_NOT_OK(Fill(count));
    const int64_t at = position_ - block_.offset;
    position_ += count;
    return arrow::SliceBuffer(block_.buffer, at, count);
  }
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> page, arrow::AllocateBuffer(count, options_.pool));
  const int64_t kept = static_cast<int64_t>(have.size());
  if (kept > 0) std::memcpy(page->mutable_data(), have.data(), have.size());
  ARROW_RETURN_NOT_OK(Fetch(position_ + kept, count - kept, page->mutable_data() + kept));
  position_ += count;
  ReadAhead(std::max(position_, block_.offset + block_.length));
  return page;
}

arrow::Result<int64_t> ColumnStream::Read(int64_t count, void* out) {
  ARROW_ASSIGN_OR_RAISE(const std::shared_ptr<arrow::Buffer> bytes, Read(count));
  std::memcpy(out, bytes->data(), static_cast<size_t>(bytes->size()));
  return bytes->size();
}

arrow::Status ColumnStream::Close() {
  if (ahead_ready_.is_valid()) IgnoreError(TakeAhead().status());
  block_ = {};
  closed_ = true;
  return arrow::Status::OK();
}

}  // namespace icebound::io
