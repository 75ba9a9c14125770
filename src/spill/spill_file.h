// SPDX-License-Identifier: Apache-2.0
//
// A spill file: blocks appended one after the other, then read back in order, by one reader or by several over ranges.
//
//   CreateFile -> Append* -> Finish -> OpenReader -> NextInto* -> (drop the reader, drop the file)
//
// A block is what the caller says it is, usually 64 KiB to 1 MiB: nothing is buffered here, each Append is one write (more only
// for blocks beyond 256 KiB that compress), each NextInto one read, which also fetches the head of the block after it.
// The index of a file is sparse (128 offsets at most), so a file costs about 1 KiB of memory whatever its size.
#pragma once

#include <arrow/memory_pool.h>
#include <arrow/result.h>
#include <arrow/status.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "spill/block_codec.h"
#include "spill/block_index.h"
#include "spill/file_handles.h"

namespace icebound::spill {

struct SpillStore;
class SpillReader;

/// A block read back: `bytes` point into the memory it was read to.
struct BlockView {
  std::span<const uint8_t> bytes;
  int64_t rows = 0;
};

constexpr int64_t kAllBlocks = std::numeric_limits<int64_t>::max();

/// What to read, and which of it to free behind the reader.
struct ReadOptions {
  int64_t first_block = 0;
  /// Where first_block begins, when the caller remembers it: stored_bytes() just before it was appended. Unknown (-1), it is
  /// found over the heads of the blocks before it, which must not be freed then.
  int64_t first_offset = -1;
  int64_t end_block = kAllBlocks;  ///< exclusive
  /// Blocks in [consume_begin, consume_end) are freed on disk once read. Ranges of the readers of one file must not overlap, and
  /// no other reader may come for a freed block (it would get kCorruptData). Empty by default: nothing is freed before the file
  /// goes.
  int64_t consume_begin = 0;
  int64_t consume_end = 0;
  arrow::MemoryPool* pool = nullptr;  ///< for the buffer of Next(); NextInto() needs none
};

/// A finished or growing file. Deleting the last reference (readers hold one) deletes the file. Append and Finish are for one
/// thread at a time; different files, and different readers of one finished file, may be used on different threads.
class SpillFile : public std::enable_shared_from_this<SpillFile> {
 public:
  /// Called by DiskManager::CreateFile.
  static arrow::Result<std::shared_ptr<SpillFile>> Create(std::shared_ptr<SpillStore> store, std::string name, double min_saving);
  ~SpillFile();

  SpillFile(const SpillFile&) = delete;
  SpillFile& operator=(const SpillFile&) = delete;

  /// Appends one block (at most kMaxBlockBytes raw). Compresses with LZ4 unless measured not to pay for this file.
  /// After a failure the file ends where it did before, and appending may go on (say, when other files have gone).
  arrow::Status Append(std::span<const uint8_t> bytes, int64_t rows);

  /// The same for a block whose bytes lie in pieces; they need not be copied together first.
  arrow::Status AppendParts(std::span<const std::span<const uint8_t>> parts, int64_t rows);

  /// No more appends; required before reading.
  arrow::Status Finish();

  /// Opens a reader from `first_block` on. consume=true frees blocks on disk behind the reader. Next() needs `pool`.
  arrow::Result<std::unique_ptr<SpillReader>> OpenReader(bool consume, int64_t first_block = 0,
                                                         arrow::MemoryPool* pool = nullptr);
  arrow::Result<std::unique_ptr<SpillReader>> OpenReader(const ReadOptions& options);

  int64_t rows() const { return rows_; }
  int64_t blocks() const { return blocks_; }
  int64_t raw_bytes() const { return raw_bytes_; }                               ///< before compression
  int64_t stored_bytes() const { return end_offset_; }                           ///< written to disk, ever
  int64_t max_block_bytes() const { return max_block_bytes_; }                   ///< the largest raw block
  int64_t disk_bytes() const { return allocated_bytes_ - freed_bytes_.load(); }  ///< on disk now, as the quota counts
  const std::string& name() const { return handle_.name(); }                     ///< in the private directory
  std::string path() const;

 private:
  friend class SpillReader;

  SpillFile(std::shared_ptr<SpillStore> store, std::string name, double min_saving);

  // These write one block at end_offset_ and complete its head.
  arrow::Status WritePlain(std::span<const std::span<const uint8_t>> parts, BlockHead* head);
  arrow::Status WriteCompressed(std::span<const std::span<const uint8_t>> parts, BlockHead* head);
  arrow::Status WriteAt(int64_t offset, std::span<const std::span<const uint8_t>> parts);
  arrow::Status ChargeUpTo(int64_t end_offset);
  void RollBack();
  void Free(int64_t begin, int64_t end);
  arrow::Status WriteError(int error_number, int64_t wanted_bytes) const;

  const std::shared_ptr<SpillStore> store_;
  FileHandle handle_;
  bool finished_ = false;
  int64_t rows_ = 0;
  int64_t blocks_ = 0;
  int64_t raw_bytes_ = 0;
  int64_t max_block_bytes_ = 0;
  int64_t end_offset_ = 0;
  int64_t allocated_bytes_ = 0;          // charged to the quota: end_offset_ in whole units (more after a failed truncation)
  std::atomic<int64_t> freed_bytes_{0};  // of those, given back by readers
  CompressionGauge gauge_;
  BlockIndex index_;
};

/// Reads one file's blocks in order. Holds the file. Not thread safe.
class SpillReader {
 public:
  SpillReader(std::shared_ptr<SpillFile> file, const ReadOptions& options);
  ~SpillReader();

  SpillReader(const SpillReader&) = delete;
  SpillReader& operator=(const SpillReader&) = delete;

  /// Raw bytes of the next block; nullopt at the end.
  arrow::Result<std::optional<int64_t>> PeekBytes();

  /// The next block, decompressed and checked; nullopt at the end. The bytes live until the next call. kCorruptData names the
  /// file and offset.
  arrow::Result<std::optional<BlockView>> Next();

  /// Reads the next block into the caller's memory: `out` must hold PeekBytes(), or max_block_bytes() of the file for any.
  /// After an error the reader stays where it is.
  arrow::Result<std::optional<BlockView>> NextInto(std::span<uint8_t> out);

  /// Blocks read so far, counted from the start of the file: the index of the next one.
  int64_t next_block() const { return block_; }

 private:
  friend class SpillFile;

  arrow::Status SeekToFirstBlock();
  arrow::Status LoadHead();
  arrow::Status ReadPlain(std::span<uint8_t> out);
  arrow::Status ReadCompressed(std::span<uint8_t> out);
  arrow::Status ReadAt(int fd, int64_t offset, std::span<const std::span<uint8_t>> parts) const;
  std::span<uint8_t> PrefetchTarget();
  arrow::Status Corrupt(std::string_view what) const;
  void FreeBehind(bool at_end);

  const std::shared_ptr<SpillFile> file_;
  const ReadOptions options_;
  const int64_t end_block_;
  int64_t block_ = 0;
  int64_t offset_ = 0;      // of block_'s head
  int64_t free_from_ = -1;  // start of what was consumed but not freed yet; -1: nothing yet
  int64_t free_to_ = 0;
  std::optional<BlockHead> head_;  // of block_, when known
  bool next_head_read_ = false;    // next_head_ holds the bytes of the head after block_
  std::array<uint8_t, kBlockHeadBytes> next_head_;
  std::shared_ptr<arrow::Buffer> buffer_;  // of Next()
};

}  // namespace icebound::spill
