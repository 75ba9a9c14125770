// SPDX-License-Identifier: Apache-2.0
#include "spill/spill_file.h"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/byte_size.h"
#include "base/error.h"
#include "base/injection.h"
#include "spill/block_checksum.h"
#include "spill/spill_store.h"

namespace icebound::spill {
namespace {

/// Vectors handed to one pwritev; far below IOV_MAX, and more would not be faster.
constexpr size_t kVectorsMax = 64;

int64_t RoundUp(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }
int64_t RoundDown(int64_t value, int64_t unit) { return value / unit * unit; }

/// Writes all of `parts` one after the other; returns 0 or errno.
int WriteFully(int fd, int64_t offset, std::span<const std::span<const uint8_t>> parts) {
  size_t part = 0;
  size_t position = 0;  // in parts[part]
  while (true) {
    std::array<iovec, kVectorsMax> vectors;
    size_t count = 0;
    for (size_t i = part; i < parts.size() && count < kVectorsMax; ++i) {
      const std::span<const uint8_t> rest = i == part ? parts[i].subspan(position) : parts[i];
      if (!rest.empty()) vectors[count++] = {const_cast<uint8_t*>(rest.data()), rest.size()};
    }
    if (count == 0) return 0;
    const ssize_t written = ::pwritev(fd, vectors.data(), static_cast<int>(count), offset);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    if (written == 0) return ENOSPC;
    offset += written;
    for (size_t left = static_cast<size_t>(written); left > 0 || (part < parts.size() && position == parts[part].size());) {
      const size_t step = std::min(left, parts[part].size() - position);
      left -= step;
      position += step;
      if (position == parts[part].size()) ++part, position = 0;
    }
  }
}

/// Returns 0 or errno.
int PunchHole(int fd, int64_t offset, int64_t bytes) {
  const arrow::Status injected = [] {
    ICEBOUND_INJECT("spill.punch");
    return arrow::Status::OK();
  }();
  if (!injected.ok()) return EOPNOTSUPP;
  int error;
  do {
    error = ::fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, bytes) == 0 ? 0 : errno;
  } while (error == EINTR);
  return error;
}

}  // namespace

SpillFile::SpillFile(std::shared_ptr<SpillStore> store, std::string name, double min_saving)
    : store_(std::move(store)), handle_(std::move(name)), gauge_(min_saving) {}

arrow::Result<std::shared_ptr<SpillFile>> SpillFile::Create(std::shared_ptr<SpillStore> store, std::string name,
                                                            double min_saving) {
  ICEBOUND_INJECT("spill.create");
  std::shared_ptr<SpillFile> file(new SpillFile(std::move(store), std::move(name), min_saving));
  ARROW_RETURN_NOT_OK(file->store_->handles.Acquire(file->handle_, FileHandles::Mode::kCreate).status());
  return file;
}

SpillFile::~SpillFile() {
  // Bytes of a file that cannot be deleted are still on the disk, so they stay counted.
  if (store_->handles.CloseAndRemove(handle_, store_->directory->OwnedByThisProcess())) store_->quota.Refund(disk_bytes());
}

std::string SpillFile::path() const { return fmt::format("{}/{}", store_->directory->path(), handle_.name()); }

arrow::Status SpillFile::Append(std::span<const uint8_t> bytes, int64_t rows) { return AppendParts({&bytes, 1}, rows); }

arrow::Status SpillFile::AppendParts(std::span<const std::span<const uint8_t>> parts, int64_t rows) {
  int64_t raw_bytes = 0;
  for (const auto& part : parts) raw_bytes += static_cast<int64_t>(part.size());
  if (finished_) return MakeError(ErrorKind::kInternal, "append to the finished spill file {}", path());
  if (raw_bytes > kMaxBlockBytes || rows < 0 || rows > std::numeric_limits<uint32_t>::max()) {
    return MakeError(ErrorKind::kInternal, "a block for spill file {} is too large: {} bytes, {} rows", path(), raw_bytes, rows);
  }
  BlockHead head;
  head.rows = static_cast<uint32_t>(rows);
  head.raw_bytes = static_cast<uint32_t>(raw_bytes);
  const bool compress = raw_bytes > 0 && gauge_.ShouldCompress();
  const arrow::Status status = compress ? WriteCompressed(parts, &head) : WritePlain(parts, &head);
  if (!status.ok()) {
    RollBack();
    return status;
  }
  const int64_t block_bytes = kBlockHeadBytes + head.stored_bytes;
  if (compress) {
    gauge_.AddCompressed(raw_bytes, head.stored_bytes);
  } else {
    gauge_.AddPlain(raw_bytes);
  }
  index_.Add(blocks_, end_offset_);
  end_offset_ += block_bytes;
  ++blocks_;
  rows_ += rows;
  raw_bytes_ += raw_bytes;
  max_block_bytes_ = std::max(max_block_bytes_, raw_bytes);
  store_->written_bytes.fetch_add(block_bytes, std::memory_order_relaxed);
  store_->written_raw_bytes.fetch_add(raw_bytes, std::memory_order_relaxed);
  return arrow::Status::OK();
}

arrow::Status SpillFile::WritePlain(std::span<const std::span<const uint8_t>> parts, BlockHead* head) {
  BlockChecksum checksum(end_offset_);
  for (const auto& part : parts) checksum.Update(part);
  head->codec = BlockCodec::kNone;
  head->stored_bytes = head->raw_bytes;
  head->checksum = checksum.Finish(*head);
  std::array<uint8_t, kBlockHeadBytes> head_bytes;
  EncodeHead(*head, head_bytes.data());

  const int64_t body_offset = end_offset_ + kBlockHeadBytes;
  ARROW_RETURN_NOT_OK(ChargeUpTo(body_offset + head->raw_bytes));
  const std::span<const uint8_t> head_part(head_bytes);
  if (parts.size() != 1) {
    ARROW_RETURN_NOT_OK(WriteAt(body_offset, parts));
    return WriteAt(end_offset_, {&head_part, 1});
  }
  const std::array<std::span<const uint8_t>, 2> both = {head_part, parts[0]};
  return WriteAt(end_offset_, both);
}

/// The scratch is  [ gathered piece | head | pieces as stored ... ]. A block whose pieces fit at once goes out with its head in
/// one write; a longer one leaves a gap for its head, which goes out last.
arrow::Status SpillFile::WriteCompressed(std::span<const std::span<const uint8_t>> parts, BlockHead* head) {
  const ScratchBuffers::Loan loan = store_->scratch->Borrow();
  PieceCursor cursor(parts, loan.bytes().first(kGatherBytes));
  const std::span<uint8_t> out = loan.bytes().subspan(kGatherBytes);
  BlockChecksum checksum(end_offset_);
  int64_t pending = kBlockHeadBytes;  // bytes in `out`, the head or its gap included
  int64_t flushed = 0;                // stored bytes written already
  head->codec = BlockCodec::kLz4;
  for (auto piece = cursor.Next(); !piece.empty(); piece = cursor.Next()) {
    if (pending + EncodedPieceBytesMax(static_cast<int64_t>(piece.size())) > static_cast<int64_t>(out.size())) {
      const std::span<const uint8_t> body = out.subspan(kBlockHeadBytes, pending - kBlockHeadBytes);
      checksum.Update(body);
      const int64_t body_offset = end_offset_ + kBlockHeadBytes + flushed;
      flushed += static_cast<int64_t>(body.size());
      ARROW_RETURN_NOT_OK(ChargeUpTo(body_offset + static_cast<int64_t>(body.size())));
      ARROW_RETURN_NOT_OK(WriteAt(body_offset, {&body, 1}));
      pending = kBlockHeadBytes;
    }
    pending += EncodePiece(piece, out.subspan(pending));
  }
  const std::span<const uint8_t> body = out.subspan(kBlockHeadBytes, pending - kBlockHeadBytes);
  const int64_t stored_bytes = flushed + static_cast<int64_t>(body.size());
  if (flushed == 0 && stored_bytes >= head->raw_bytes) return WritePlain(parts, head);
  checksum.Update(body);
  head->stored_bytes = static_cast<uint32_t>(stored_bytes);
  ARROW_RETURN_NOT_OK(ChargeUpTo(end_offset_ + kBlockHeadBytes + stored_bytes));
  head->checksum = checksum.Finish(*head);
  EncodeHead(*head, out.data());
  if (flushed == 0) {
    const std::span<const uint8_t> whole = out.first(pending);
    return WriteAt(end_offset_, {&whole, 1});
  }
  ARROW_RETURN_NOT_OK(WriteAt(end_offset_ + kBlockHeadBytes + flushed, {&body, 1}));
  const std::span<const uint8_t> head_part = out.first(kBlockHeadBytes);
  return WriteAt(end_offset_, {&head_part, 1});
}

arrow::Status SpillFile::WriteAt(int64_t offset, std::span<const std::span<const uint8_t>> parts) {
  ICEBOUND_INJECT("spill.write");
  int error = 0;
  {
    ARROW_ASSIGN_OR_RAISE(const FileHandles::Pin pin, store_->handles.Acquire(handle_));
    error = WriteFully(pin.fd(), offset, parts);
  }
  if (error == 0) return arrow::Status::OK();
  int64_t wanted_bytes = 0;
  for (const auto& part : parts) wanted_bytes += static_cast<int64_t>(part.size());
  return WriteError(error, wanted_bytes);
}

arrow::Status SpillFile::WriteError(int error_number, int64_t wanted_bytes) const {
  const std::string& directory = store_->directory->path();
  if (error_number == ENOSPC || error_number == EDQUOT || error_number == EFBIG) {
    return MakeError(ErrorKind::kDiskLimit,
                     "the disk of the spill directory {} is full ({}): free space there or choose another with --spill-dir; "
                     "{} wanted, {} in use, spill limit {}",
                     directory, std::strerror(error_number), wanted_bytes, store_->quota.used_bytes(),
                     store_->quota.limit_bytes());
  }
  return MakeError(ErrorKind::kIo, "cannot write to spill file {}: {}", path(), std::strerror(error_number));
}

arrow::Status SpillFile::ChargeUpTo(int64_t end_offset) {
  const int64_t wanted = RoundUp(end_offset, store_->directory->unit_bytes());
  if (wanted <= allocated_bytes_) return arrow::Status::OK();
  if (!store_->quota.TryCharge(wanted - allocated_bytes_)) {
    return MakeError(
        ErrorKind::kDiskLimit,
        "the spill limit is reached in {}: raise --spill-limit, or choose a directory on a larger disk with --spill-dir; "
        "{} wanted, {} in use, spill limit {}",
        store_->directory->path(), FormatBytes(wanted - allocated_bytes_), FormatBytes(store_->quota.used_bytes()),
        FormatByteLimit(store_->quota.limit_bytes()));
  }
  allocated_bytes_ = wanted;
  return arrow::Status::OK();
}

void SpillFile::RollBack() {
  const int64_t kept = RoundUp(end_offset_, store_->directory->unit_bytes());
  auto pin = store_->handles.Acquire(handle_);
  // Not truncated, the bytes are still there: they stay charged, and the next append writes over them.
  if (!pin.ok() || ::ftruncate(pin->fd(), end_offset_) != 0) return;
  store_->quota.Refund(allocated_bytes_ - kept);
  allocated_bytes_ = kept;
}

arrow::Status SpillFile::Finish() {
  if (finished_) return MakeError(ErrorKind::kInternal, "the spill file {} was finished before", path());
  finished_ = true;
  return arrow::Status::OK();
}

/// Frees the whole units inside [begin, end). Without hole punching the bytes stay on disk, and counted, until the file goes.
void SpillFile::Free(int64_t begin, int64_t end) {
  const int64_t unit = store_->directory->unit_bytes();
  begin = RoundUp(begin, unit);
  end = end == end_offset_ ? RoundUp(end, unit) : RoundDown(end, unit);
  if (begin >= end || store_->cannot_punch.load(std::memory_order_relaxed)) return;
  auto pin = store_->handles.Acquire(handle_);
  if (!pin.ok()) return;
  const int error = PunchHole(pin->fd(), begin, end - begin);
  if (error == EOPNOTSUPP || error == ENOSYS) store_->cannot_punch.store(true, std::memory_order_relaxed);
  if (error != 0) return;
  freed_bytes_.fetch_add(end - begin, std::memory_order_relaxed);
  store_->quota.Refund(end - begin);
}

arrow::Result<std::unique_ptr<SpillReader>> SpillFile::OpenReader(bool consume, int64_t first_block, arrow::MemoryPool* pool) {
  ReadOptions options;
  options.first_block = first_block;
  options.consume_begin = first_block;
  options.consume_end = consume ? kAllBlocks : first_block;
  options.pool = pool;
  return OpenReader(options);
}

arrow::Result<std::unique_ptr<SpillReader>> SpillFile::OpenReader(const ReadOptions& options) {
  if (!finished_) return MakeError(ErrorKind::kInternal, "read of the unfinished spill file {}", path());
  if (options.first_block < 0 || options.first_block > blocks_) {
    return MakeError(ErrorKind::kInternal, "the spill file {} has no block {}: it has {}", path(), options.first_block, blocks_);
  }
  auto reader = std::make_unique<SpillReader>(shared_from_this(), options);
  ARROW_RETURN_NOT_OK(reader->SeekToFirstBlock());
  return reader;
}

}  // namespace icebound::spill
