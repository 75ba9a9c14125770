// SPDX-License-Identifier: Apache-2.0
#include "io/parquet_writer/byte_spool.h"

#include <algorithm>
#include <cstring>
#include <optional>

namespace icebound::io {
namespace {

constexpr int64_t kCopyBytes = int64_t{64} << 10;

}  // namespace

arrow::Status ByteSpool::Write(const void* data, int64_t bytes) {
  const auto* next = static_cast<const uint8_t*>(data);
  bytes_ += bytes;
  while (bytes > 0) {
    const int64_t room = memory_bytes_max_ - buffer_.size();
    const int64_t part = std::min(bytes, room);
    ARROW_RETURN_NOT_OK(buffer_.Append(next, part));
    next += part;
    bytes -= part;
    if (buffer_.size() < memory_bytes_max_) break;
    if (file_ == nullptr) {
      ARROW_ASSIGN_OR_RAISE(file_, disk_->CreateFile("page-index"));
    }
    ARROW_RETURN_NOT_OK(file_->Append(buffer_.span(), /*rows=*/1));
    buffer_.Clear();
  }
  return arrow::Status::OK();
}

arrow::Result<std::unique_ptr<ByteSpool::Reader>> ByteSpool::Read() {
  std::unique_ptr<Reader> reader(new Reader(this, pool_));
  if (file_ == nullptr) return reader;
  ARROW_RETURN_NOT_OK(file_->Finish());
  spill::ReadOptions options;
  options.consume_end = file_->blocks();
  ARROW_ASSIGN_OR_RAISE(reader->spilled_, file_->OpenReader(options));
  ARROW_RETURN_NOT_OK(reader->block_.Resize(file_->max_block_bytes()));
  return reader;
}

arrow::Status ByteSpool::Reader::Read(void* out, int64_t bytes) {
  auto* next = static_cast<uint8_t*>(out);
  while (bytes > 0) {
    if (rest_.empty()) {
      std::optional<spill::BlockView> view;
      if (spilled_ != nullptr) {
        ARROW_ASSIGN_OR_RAISE(view, spilled_->NextInto({block_.data(), static_cast<size_t>(block_.size())}));
      }
      if (view) {
        rest_ = view->bytes;
      } else if (!in_memory_) {
        spilled_.reset();
        in_memory_ = true;
        rest_ = spool_->buffer_.span();
      } else {
        return MakeError(ErrorKind::kInternal, "a spool of {} bytes ends {} bytes early", spool_->bytes_, bytes);
      }
      continue;
    }
    const size_t part = std::min(rest_.size(), static_cast<size_t>(bytes));
    std::memcpy(next, rest_.data(), part);
    rest_ = rest_.subspan(part);
    next += part;
    bytes -= static_cast<int64_t>(part);
  }
  return arrow::Status::OK();
}

arrow::Status ByteSpool::CopyTo(OutputFile* file) {
  ARROW_ASSIGN_OR_RAISE(auto reader, Read());
  PoolVector<uint8_t> buffer(pool_);
  ARROW_RETURN_NOT_OK(buffer.Resize(std::min(bytes_, kCopyBytes)));
  for (int64_t rest = bytes_; rest > 0;) {
    const int64_t part = std::min(rest, buffer.size());
    ARROW_RETURN_NOT_OK(reader->Read(buffer.data(), part));
    ARROW_RETURN_NOT_OK(file->Write(buffer.data(), part));
    rest -= part;
  }
  return arrow::Status::OK();
}

}  // namespace icebound::io
