// SPDX-License-Identifier: Apache-2.0
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "base/injection.h"
#include "spill/block_checksum.h"
#include "spill/spill_file.h"
#include "spill/spill_store.h"

namespace icebound::spill {
namespace {

/// Holes are punched for this many consumed bytes at a time: a call a block would cost more than it frees early.
constexpr int64_t kFreeBytes = int64_t{1} << 20;

}  // namespace

SpillReader::SpillReader(std::shared_ptr<SpillFile> file, const ReadOptions& options)
    : file_(std::move(file)), options_(options), end_block_(std::min(options.end_block, file_->blocks())) {}

SpillReader::~SpillReader() { FreeBehind(/*at_end=*/true); }

arrow::Status SpillReader::SeekToFirstBlock() {
  if (options_.first_offset >= 0) {
    block_ = options_.first_block;
    offset_ = options_.first_offset;
    return arrow::Status::OK();
  }
  const BlockIndex::Position position = file_->index_.Floor(options_.first_block);
  block_ = position.block;
  offset_ = position.offset;
  while (block_ < options_.first_block) {
    ARROW_RETURN_NOT_OK(LoadHead());
    offset_ += kBlockHeadBytes + head_->stored_bytes;
    ++block_;
    head_.reset();
  }
  return arrow::Status::OK();
}

arrow::Status SpillReader::LoadHead() {
  if (head_.has_value()) return arrow::Status::OK();
  if (!next_head_read_) {
    ARROW_ASSIGN_OR_RAISE(const FileHandles::Pin pin, file_->store_->handles.Acquire(file_->handle_));
    const std::span<uint8_t> part(next_head_);
    ARROW_RETURN_NOT_OK(ReadAt(pin.fd(), offset_, {&part, 1}));
  }
  next_head_read_ = false;
  const auto head = DecodeHead(next_head_.data());
  if (!head.ok()) return Corrupt(head.status().message());
  if (head->raw_bytes > file_->max_block_bytes_ || offset_ + kBlockHeadBytes + head->stored_bytes > file_->end_offset_) {
    return Corrupt("the block is longer than any in the file can be");
  }
  head_ = *head;
  return arrow::Status::OK();
}

arrow::Result<std::optional<int64_t>> SpillReader::PeekBytes() {
  if (block_ >= end_block_) return std::nullopt;
  ARROW_RETURN_NOT_OK(LoadHead());
  return head_->raw_bytes;
}

arrow::Result<std::optional<BlockView>> SpillReader::Next() {
  ARROW_ASSIGN_OR_RAISE(const auto bytes, PeekBytes());
  if (bytes.has_value() && (buffer_ == nullptr || buffer_->size() < *bytes)) {
    if (options_.pool == nullptr)
      return MakeError(ErrorKind::kInternal, "SpillReader::Next needs a pool: give one to OpenReader");
    buffer_.reset();
    ARROW_ASSIGN_OR_RAISE(buffer_, arrow::AllocateBuffer(file_->max_block_bytes(), options_.pool));
  }
  return NextInto(buffer_ == nullptr ? std::span<uint8_t>() : std::span<uint8_t>(buffer_->mutable_data(), buffer_->size()));
}

arrow::Result<std::optional<BlockView>> SpillReader::NextInto(std::span<uint8_t> out) {
  if (block_ >= end_block_) {
    FreeBehind(/*at_end=*/true);
    return std::nullopt;
  }
  ARROW_RETURN_NOT_OK(LoadHead());
  if (out.size() < head_->raw_bytes) {
    return MakeError(ErrorKind::kInternal, "{} bytes of memory for a spill block of {}", out.size(), head_->raw_bytes);
  }
  out = out.first(head_->raw_bytes);
  const arrow::Status status = head_->codec == BlockCodec::kNone ? ReadPlain(out) : ReadCompressed(out);
  if (!status.ok()) {
    next_head_read_ = false;
    return status;
  }
  const BlockView view{out, head_->rows};
  const int64_t begin = offset_;
  offset_ += kBlockHeadBytes + head_->stored_bytes;
  if (block_ >= options_.consume_begin && block_ < options_.consume_end) {
    if (free_from_ < 0) free_from_ = begin;
    free_to_ = offset_;
  }
  ++block_;
  head_.reset();
  FreeBehind(/*at_end=*/false);
  return view;
}

/// Where the bytes after the current block go: the next block's head comes along with a read, if there is a next block.
std::span<uint8_t> SpillReader::PrefetchTarget() {
  next_head_read_ = block_ + 1 < end_block_;
  return next_head_read_ ? std::span<uint8_t>(next_head_) : std::span<uint8_t>();
}

arrow::Status SpillReader::ReadPlain(std::span<uint8_t> out) {
  {
    ARROW_ASSIGN_OR_RAISE(const FileHandles::Pin pin, file_->store_->handles.Acquire(file_->handle_));
    const std::array<std::span<uint8_t>, 2> parts = {out, PrefetchTarget()};
    ARROW_RETURN_NOT_OK(ReadAt(pin.fd(), offset_ + kBlockHeadBytes, parts));
  }
  BlockChecksum checksum(offset_);
  checksum.Update(out);
  return checksum.Finish(*head_) == head_->checksum ? arrow::Status::OK() : Corrupt("the checksum does not match");
}

/// Pieces are decompressed from the scratch straight into `out`. A block longer than the scratch comes in several reads, and a
/// piece cut by the end of one moves to the front before the next. The bytes are only handed out when the checksum of all of them
/// matched.
arrow::Status SpillReader::ReadCompressed(std::span<uint8_t> out) {
  const ScratchBuffers::Loan loan = file_->store_->scratch->Borrow();
  const std::span<uint8_t> scratch = loan.bytes();
  BlockChecksum checksum(offset_);
  int64_t unread = head_->stored_bytes;
  int64_t position = offset_ + kBlockHeadBytes;
  size_t held = 0;  // bytes at the front of the scratch that are not decoded yet
  size_t filled = 0;
  while (unread > 0) {
    const size_t wanted = std::min<size_t>(scratch.size() - held, unread);
    const std::span<uint8_t> target = scratch.subspan(held, wanted);
    const bool last = static_cast<int64_t>(wanted) == unread;
    {
      ARROW_ASSIGN_OR_RAISE(const FileHandles::Pin pin, file_->store_->handles.Acquire(file_->handle_));
      const std::array<std::span<uint8_t>, 2> parts = {target, last ? PrefetchTarget() : std::span<uint8_t>()};
      ARROW_RETURN_NOT_OK(ReadAt(pin.fd(), position, parts));
    }
    checksum.Update(target);
    unread -= static_cast<int64_t>(wanted);
    position += static_cast<int64_t>(wanted);
    const auto decoded = DecodePieces(scratch.first(held + wanted), out.subspan(filled));
    if (!decoded.ok()) return Corrupt(decoded.status().message());
    filled += decoded->raw_bytes;
    held = held + wanted - decoded->stored_bytes;
    if (held == scratch.size()) return Corrupt("a piece is longer than any can be");
    std::memmove(scratch.data(), scratch.data() + decoded->stored_bytes, held);
  }
  if (held != 0 || filled != out.size()) return Corrupt("the pieces do not add up to the block");
  return checksum.Finish(*head_) == head_->checksum ? arrow::Status::OK() : Corrupt("the checksum does not match");
}

arrow::Status SpillReader::ReadAt(int fd, int64_t offset, std::span<const std::span<uint8_t>> parts) const {
  ICEBOUND_INJECT("spill.read");
  std::array<iovec, 2> vectors;
  size_t count = 0;
  int64_t wanted = 0;
  for (const auto& part : parts) {
    if (part.empty()) continue;
    vectors[count++] = {part.data(), part.size()};
    wanted += static_cast<int64_t>(part.size());
  }
  int64_t done = 0;
  for (size_t first = 0; first < count;) {
    const ssize_t read = ::preadv(fd, vectors.data() + first, static_cast<int>(count - first), offset + done);
    if (read < 0 && errno == EINTR) continue;
    if (read < 0)
      return MakeError(ErrorKind::kIo, "cannot read spill file {} at offset {}: {}", file_->path(), offset, std::strerror(errno));
    if (read == 0)
      return Corrupt(fmt::format("the file is cut short: {} bytes wanted at offset {}, {} there", wanted, offset, done));
    done += read;
    for (size_t left = static_cast<size_t>(read); left > 0;) {
      iovec& vector = vectors[first];
      const size_t step = std::min(left, vector.iov_len);
      vector.iov_base = static_cast<uint8_t*>(vector.iov_base) + step;
      vector.iov_len -= step;
      left -= step;
      if (vector.iov_len == 0) ++first;
    }
  }
  return arrow::Status::OK();
}

arrow::Status SpillReader::Corrupt(std::string_view what) const {
  return MakeError(ErrorKind::kCorruptData, "spill file {}, block {} at offset {}: {}", file_->path(), block_, offset_, what);
}

void SpillReader::FreeBehind(bool at_end) {
  if (free_from_ < 0 || free_to_ <= free_from_ || (!at_end && free_to_ - free_from_ < kFreeBytes)) return;
  file_->Free(free_from_, free_to_);
  // The unit that the next block begins in was not freed: it belongs to the next round.
  free_from_ = free_to_ == file_->end_offset_
                   ? free_to_
                   : free_to_ / file_->store_->directory->unit_bytes() * file_->store_->directory->unit_bytes();
}

}  // namespace icebound::spill
