// SPDX-License-Identifier: Apache-2.0
#include "iceberg/avro/block_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"

namespace icebound::iceberg::avro {

namespace {

constexpr std::string_view kMagic("Obj\x01", 4);
// What is fetched at once: most manifests in one or two requests, and little memory.
constexpr int64_t kReadBytes = 256 << 10;
// The header holds the schema of the file, and in manifests that of the table: a few MiB for 10,000 columns.
constexpr int64_t kMaxHeaderBytes = int64_t{64} << 20;
constexpr auto kSyncBytes = static_cast<int64_t>(sizeof(SyncMarker));
constexpr int64_t kMaxFrameBytes = 2 * kMaxVarintBytes;

BlockCursor CursorOf(std::span<const uint8_t> bytes) { return {bytes.data(), static_cast<int64_t>(bytes.size())}; }

}  // namespace

BlockReader::BlockReader(std::shared_ptr<arrow::io::RandomAccessFile> file, std::string name, const ReaderOptions& options)
    : file_(std::move(file)),
      name_(std::move(name)),
      consumer_(options.consumer),
      begin_offset_(options.begin_offset),
      end_offset_(options.end_offset),
      metadata_reservation_(options.consumer) {}

arrow::Result<std::unique_ptr<BlockReader>> BlockReader::Open(std::shared_ptr<arrow::io::RandomAccessFile> file, std::string name,
                                                              const ReaderOptions& options) {
  std::unique_ptr<BlockReader> reader(new BlockReader(std::move(file), std::move(name), options));
  auto size = reader->file_->GetSize();
  if (!size.ok()) return WithContext(size.status(), ErrorKind::kIo, reader->name_);
  reader->file_bytes_ = *size;
  ARROW_RETURN_NOT_OK(reader->ReadHeader());
  return reader;
}

std::optional<std::string_view> BlockReader::metadata(std::string_view key) const {
  for (const auto& [name, value] : metadata_) {
    if (name == key) return value;
  }
  return std::nullopt;
}

arrow::Result<std::span<const uint8_t>> BlockReader::ReadAt(int64_t offset, int64_t size) {
  const int64_t end = std::min(offset + size, file_bytes_);
  size = end - offset;
  if (window_ == nullptr || offset < window_offset_ || end > window_offset_ + window_bytes_) {
    // What is in the window already stays; the rest is fetched, and some of what follows.
    const int64_t kept_from = std::clamp(offset, window_offset_, window_offset_ + window_bytes_);
    const int64_t kept_bytes = kept_from == offset ? window_offset_ + window_bytes_ - offset : 0;
    const int64_t wanted = std::min(std::max(size, kReadBytes), file_bytes_ - offset);
    if (window_ == nullptr) {
      ARROW_ASSIGN_OR_RAISE(window_, arrow::AllocateResizableBuffer(wanted, consumer_->pool()));
    }
    if (kept_bytes > 0)
      std::memmove(window_->mutable_data(), window_->data() + (offset - window_offset_), static_cast<size_t>(kept_bytes));
    window_offset_ = offset;
    window_bytes_ = kept_bytes;
    if (window_->size() < wanted) ARROW_RETURN_NOT_OK(window_->Resize(wanted, /*shrink_to_fit=*/false));
    auto read = file_->ReadAt(offset + kept_bytes, wanted - kept_bytes, window_->mutable_data() + kept_bytes);
    if (!read.ok()) return WithContext(read.status(), ErrorKind::kIo, name_);
    window_bytes_ += *read;
    if (window_bytes_ < size) {
      return MakeError(ErrorKind::kCorruptData, "{}: it became shorter while it was read: byte {} is missing", name_,
                       window_offset_ + window_bytes_);
    }
  }
  return std::span<const uint8_t>(window_->data() + (offset - window_offset_), static_cast<size_t>(size));
}

arrow::Status BlockReader::ReadHeader() {
  // The header does not say how long it is: try with more and more of the file until it fits.
  for (int64_t tried_bytes = kReadBytes;; tried_bytes *= 4) {
    ARROW_ASSIGN_OR_RAISE(const auto bytes, ReadAt(0, std::min(tried_bytes, kMaxHeaderBytes)));
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (text.substr(0, kMagic.size()) != kMagic) {
      return MakeError(ErrorKind::kCorruptData, "{}: not an Avro file: it does not begin with \"Obj\" and 1", name_);
    }
    BlockCursor cursor = CursorOf(bytes.subspan(kMagic.size()));
    const arrow::Status status = ParseMetadata(&cursor);
    const int64_t at = static_cast<int64_t>(kMagic.size()) + cursor.offset();
    if (!status.ok()) {
      const bool is_all = static_cast<int64_t>(bytes.size()) >= std::min(file_bytes_, kMaxHeaderBytes);
      if (cursor.ran_out() && !is_all) continue;
      return WithContext(status, ErrorKind::kCorruptData, fmt::format("{}, header, byte {}", name_, at));
    }
    return InterpretMetadata(at);
  }
}

arrow::Status BlockReader::ParseMetadata(BlockCursor* cursor) {
  metadata_.clear();
  int64_t held_bytes = 0;
  for (;;) {
    int64_t count = 0;
    ARROW_RETURN_NOT_OK(cursor->ReadItemCount(/*min_item_bytes=*/2, &count));
    if (count == 0) break;
    for (int64_t i = 0; i < count; ++i) {
      std::string_view key;
      std::string_view value;
      ARROW_RETURN_NOT_OK(cursor->ReadBytes(&key));
      ARROW_RETURN_NOT_OK(cursor->ReadBytes(&value));
      held_bytes += static_cast<int64_t>(key.size() + value.size() + 4 * sizeof(std::string));
      if (held_bytes > metadata_reservation_.bytes()) {
        ARROW_RETURN_NOT_OK(metadata_reservation_.ResizeTo(held_bytes + held_bytes / 2));
      }
      metadata_.emplace_back(key, value);
    }
  }
  std::string_view sync;
  ARROW_RETURN_NOT_OK(cursor->ReadFixed(kSyncBytes, &sync));
  std::memcpy(sync_.data(), sync.data(), sync.size());
  return arrow::Status::OK();
}

arrow::Status BlockReader::InterpretMetadata(int64_t header_bytes) {
  const auto in_header = [&](const arrow::Status& status) {
    return WithContext(status, ErrorKind::kCorruptData, fmt::format("{}, header", name_));
  };
  const auto schema_text = metadata("avro.schema");
  if (!schema_text) return in_header(MakeError(ErrorKind::kCorruptData, "there is no avro.schema"));
  auto schema = Schema::Parse(*schema_text, consumer_);
  if (!schema.ok()) return in_header(schema.status());
  schema_ = std::move(schema).ValueUnsafe();
  const auto codec = CodecByName(metadata("avro.codec").value_or("null"));
  if (!codec.ok()) return in_header(codec.status());
  auto decompressor = BlockDecompressor::Make(*codec, consumer_);
  if (!decompressor.ok()) return in_header(decompressor.status());
  codec_ = std::move(decompressor).ValueUnsafe();
  return SeekToSplit(header_bytes);
}

arrow::Status BlockReader::SeekToSplit(int64_t header_bytes) {
  header_bytes_ = header_bytes;
  offset_ = header_bytes;
  if (begin_offset_ <= header_bytes - kSyncBytes) return arrow::Status::OK();
  const std::string_view marker(reinterpret_cast<const char*>(sync_.data()), sync_.size());
  for (int64_t from = begin_offset_; from + kSyncBytes <= file_bytes_ && from < end_offset_;) {
    ARROW_ASSIGN_OR_RAISE(const auto bytes, ReadAt(from, kReadBytes));
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (const size_t found = text.find(marker); found != std::string_view::npos) {
      offset_ = from + static_cast<int64_t>(found) + kSyncBytes;
      return arrow::Status::OK();
    }
    from += static_cast<int64_t>(text.size()) - (kSyncBytes - 1);
  }
  at_end_ = true;
  return arrow::Status::OK();
}

arrow::Result<bool> BlockReader::NextBlock() {
  while (!at_end_) {
    if (in_block_) {
      in_block_ = false;
      if (cursor_.left() > 0) {
        return Fail(MakeError(ErrorKind::kCorruptData, "{} bytes stand behind the block's last record", cursor_.left()));
      }
    }
    if (offset_ == file_bytes_ || offset_ - kSyncBytes >= end_offset_) break;
    block_offset_ = offset_;
    const arrow::Status status = LoadBlock();
    if (!status.ok()) {
      at_end_ = true;
      return WithContext(status, ErrorKind::kCorruptData, fmt::format("{}, block at byte {}", name_, block_offset_));
    }
    if (records_left_ > 0) {
      --records_left_;
      return true;
    }
  }
  at_end_ = true;
  return false;
}

arrow::Result<BlockReader::BlockFrame> BlockReader::ReadBlockFrame(int64_t offset) {
  ARROW_ASSIGN_OR_RAISE(const auto bytes, ReadAt(offset, kMaxFrameBytes));
  BlockCursor cursor = CursorOf(bytes);
  BlockFrame frame;
  ARROW_RETURN_NOT_OK(cursor.ReadLong(&frame.records));
  ARROW_RETURN_NOT_OK(cursor.ReadLong(&frame.data_bytes));
  frame.data_offset = offset + cursor.offset();
  if (frame.records < 0) return MakeError(ErrorKind::kCorruptData, "a block of {} records", frame.records);
  if (frame.data_bytes < 0) return MakeError(ErrorKind::kCorruptData, "a block of {} bytes", frame.data_bytes);
  if (frame.data_bytes > file_bytes_ - frame.data_offset - kSyncBytes) {
    return MakeError(ErrorKind::kCorruptData, "a block of {} bytes and its sync marker do not fit in the {} bytes that are left",
                     frame.data_bytes, file_bytes_ - frame.data_offset);
  }
  return frame;
}

arrow::Status BlockReader::LoadBlock() {
  ARROW_ASSIGN_OR_RAISE(const BlockFrame frame, ReadBlockFrame(offset_));
  ARROW_ASSIGN_OR_RAISE(const auto bytes, ReadAt(frame.data_offset, frame.data_bytes + kSyncBytes));
  if (std::memcmp(bytes.data() + frame.data_bytes, sync_.data(), sync_.size()) != 0) {
    return MakeError(ErrorKind::kCorruptData, "the block does not end with the file's sync marker, at byte {}",
                     frame.data_offset + frame.data_bytes);
  }
  ARROW_ASSIGN_OR_RAISE(const auto plain, codec_->Decompress(bytes.first(static_cast<size_t>(frame.data_bytes))));
  cursor_ = BlockCursor(plain.data(), static_cast<int64_t>(plain.size()), cursor_.items_of_nothing());
  ARROW_RETURN_NOT_OK(cursor_.CheckCount(frame.records, schema_->root().min_bytes));
  offset_ = frame.next_offset();
  records_left_ = frame.records;
  in_block_ = true;
  return arrow::Status::OK();
}

arrow::Result<int64_t> BlockReader::RecordsBefore() {
  if (in_block_) return MakeError(ErrorKind::kInternal, "{}: RecordsBefore is called while records are read", name_);
  int64_t records = 0;
  for (int64_t at = header_bytes_; at < offset_ && !at_end_;) {
    const auto frame = ReadBlockFrame(at);
    if (!frame.ok()) {
      return WithContext(frame.status(), ErrorKind::kCorruptData, fmt::format("{}, block at byte {}", name_, at));
    }
    records += frame->records;
    at = frame->next_offset();
  }
  return records;
}

arrow::Status BlockReader::Fail(const arrow::Status& status) {
  at_end_ = true;
  in_block_ = false;
  records_left_ = 0;
  return WithContext(status, ErrorKind::kCorruptData,
                     fmt::format("{}, block at byte {}, byte {} of its data", name_, block_offset_, cursor_.offset()));
}

}  // namespace icebound::iceberg::avro
