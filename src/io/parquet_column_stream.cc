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

}  // namespace

ColumnStream::ColumnStream(std::shared_ptr<InputFile> file, ColumnStreamOptions options) : file_(std::move(file)), options_(std::move(options)) {
  if (!options_.ranges.empty()) position_ = options_.ranges.front().offset;
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
  if (buffer_ == nullptr || position_ < buffer_offset_ || position_ >= buffer_offset_ + buffer_length_) return {};
  const int64_t skip = position_ - buffer_offset_;
  return {reinterpret_cast<const char*>(buffer_->data()) + skip, static_cast<size_t>(std::min(buffer_length_ - skip, LeftInRange()))};
}

arrow::Status ColumnStream::Fill(int64_t count) {
  count = std::min(count, LeftInRange());
  const std::string_view have = Buffered();
  if (static_cast<int64_t>(have.size()) >= count) return arrow::Status::OK();
  const int64_t want = std::min(std::max(count, options_.buffer_bytes), LeftInRange());
  if (buffer_ == nullptr) {
    ARROW_ASSIGN_OR_RAISE(buffer_, arrow::AllocateResizableBuffer(0, options_.pool));
  }
  const int64_t kept = static_cast<int64_t>(have.size());
  if (buffer_->size() < want) {
    // What is kept moves to the front first: growing may move the buffer, and bytes in front of it are not needed any more.
    if (kept > 0) std::memmove(buffer_->mutable_data(), have.data(), static_cast<size_t>(kept));
    buffer_offset_ = position_, buffer_length_ = kept;
    ARROW_RETURN_NOT_OK(buffer_->Resize(want, /*shrink_to_fit=*/false));
  } else if (kept > 0) {
    std::memmove(buffer_->mutable_data(), have.data(), static_cast<size_t>(kept));
  }
  buffer_offset_ = position_, buffer_length_ = kept;
  ARROW_RETURN_NOT_OK(file_->ReadAt(position_ + kept, {buffer_->mutable_data() + kept, static_cast<size_t>(want - kept)}));
  buffer_length_ = want;
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
  ThriftWalker walker([&](int64_t offset) -> arrow::Result<std::string_view> { return header.substr(static_cast<size_t>(offset)); },
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
    return MakeError(ErrorKind::kCorruptData, "a page of {} bytes at offset {} runs over the end of its column chunk", sizes[3], position_);
  }
  if (sizes[2] > std::max(options_.chunk_uncompressed_bytes, kPlausiblePageBytes)) {
    return MakeError(ErrorKind::kCorruptData, "a page at offset {} claims to decompress from {} to {} bytes, its whole column chunk to {}", position_,
                     sizes[3], sizes[2], options_.chunk_uncompressed_bytes);
  }
  return arrow::Status::OK();
}

arrow::Result<std::shared_ptr<arrow::Buffer>> ColumnStream::Read(int64_t count) {
  NextRange();
  count = std::clamp<int64_t>(count, 0, LeftInRange());
  std::string_view have = Buffered();
  if (static_cast<int64_t>(have.size()) >= count || count <= options_.buffer_bytes) {
    ARROW_RETURN_NOT_OK(Fill(count));
    have = Buffered();
    position_ += count;
    return std::make_shared<arrow::Buffer>(reinterpret_cast<const uint8_t*>(have.data()), count);
  }
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> page, arrow::AllocateBuffer(count, options_.pool));
  const int64_t kept = static_cast<int64_t>(have.size());
  if (kept > 0) std::memcpy(page->mutable_data(), have.data(), have.size());
  ARROW_RETURN_NOT_OK(file_->ReadAt(position_ + kept, {page->mutable_data() + kept, static_cast<size_t>(count - kept)}));
  position_ += count;
  return page;
}

arrow::Result<int64_t> ColumnStream::Read(int64_t count, void* out) {
  ARROW_ASSIGN_OR_RAISE(const std::shared_ptr<arrow::Buffer> bytes, Read(count));
  std::memcpy(out, bytes->data(), static_cast<size_t>(bytes->size()));
  return bytes->size();
}

arrow::Status ColumnStream::Close() {
  buffer_.reset();
  closed_ = true;
  return arrow::Status::OK();
}

}  // namespace icebound::io
