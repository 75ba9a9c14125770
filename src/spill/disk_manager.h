// SPDX-License-Identifier: Apache-2.0
//
// The disk manager: one private, locked directory a process; spill files written and read a block at a time.
//
//   <spill directory>/icebound-<pid>-<random>/       0700, held by an flock on <dir>/lock
//     lock                                           owner's pid, for people
//     <n>-<purpose>.spill                            0600
//
// The next start removes directories whose lock is free (their owner is gone) and never touches a held one.
//
// File = sequence of blocks, each
//   +--------+---------+----------+-------+----------+-----------+-----------------+
//   | magic  | codec   | rows     | raw   | stored   | checksum  | stored bytes... |
//   | 4 B    | 4 B     | 4 B      | 4 B   | 4 B      | 8 B XXH3  |                 |
//   +--------+---------+----------+-------+----------+-----------+-----------------+
// raw/stored are the sizes before and after compression; the checksum covers the stored bytes and the head.
//
// Quota: bytes on disk of all files never exceed limit_bytes; a write beyond it, or ENOSPC, is ErrorKind::kDiskLimit naming the
// directory and the bytes. Read-back blocks are freed progressively (hole punching), so disk use stays near 1x the data.
// Open descriptors are bounded (max_open_files) whatever the number of files: the least recently used one is closed and
// reopened on demand.
#pragma once

#include <arrow/result.h>
#include <arrow/status.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace icebound::spill {

struct DiskManagerOptions {
  std::string directory;                     ///< empty: the system's temporary directory
  std::optional<int64_t> limit_bytes;        ///< default: 90 % of the free space now
  int max_open_files = 64;                   ///< at least 4; fewer when RLIMIT_NOFILE leaves fewer
};

enum class BlockCodec : uint32_t { kNone = 0, kLz4 = 1 };

/// A block read back: `bytes` point into the reader's buffer and live until its next call.
struct BlockView {
  std::span<const uint8_t> bytes;
  int64_t rows = 0;
};

/// Reads one file's blocks in order, releasing them behind it when `consume` was asked. Not thread safe.
class SpillReader {
 public:
  virtual ~SpillReader() = default;
  /// The next block, decompressed and checked; nullopt at the end. kCorruptData names the file and offset.
  virtual arrow::Result<std::optional<BlockView>> Next() = 0;
  /// Reads the next block into the caller's memory: `out` must hold max_block_bytes() of the file. Returns bytes and rows.
  virtual arrow::Result<std::optional<BlockView>> NextInto(std::span<uint8_t> out) = 0;
};

/// A finished or growing file. Deleting the last reference deletes the file. Append is not thread safe; different readers of one
/// finished file may run on different threads.
class SpillFile {
 public:
  virtual ~SpillFile() = default;
  /// Appends one block (at most 16 MiB raw). Compresses with LZ4 unless measured not to pay for this file.
  virtual arrow::Status Append(std::span<const uint8_t> bytes, int64_t rows) = 0;
  /// No more appends; required before reading.
  virtual arrow::Status Finish() = 0;

  /// Opens a reader from `first_block` on. consume=true frees blocks on disk behind the reader: only one such reader a file.
  virtual arrow::Result<std::unique_ptr<SpillReader>> OpenReader(bool consume, int64_t first_block = 0) = 0;

  virtual int64_t rows() const = 0;
  virtual int64_t blocks() const = 0;
  virtual int64_t raw_bytes() const = 0;         ///< before compression
  virtual int64_t stored_bytes() const = 0;      ///< written to disk, ever
  virtual int64_t max_block_bytes() const = 0;   ///< the largest raw block
};

/// Thread safe.
class DiskManager {
 public:
  static arrow::Result<std::unique_ptr<DiskManager>> Make(const DiskManagerOptions& options);
  virtual ~DiskManager() = default;  ///< removes the directory

  /// `purpose` goes into the file name and messages: "sort-run", "join-build".
  virtual arrow::Result<std::shared_ptr<SpillFile>> CreateFile(std::string_view purpose) = 0;

  virtual const std::string& directory() const = 0;       ///< the private one
  virtual int64_t limit_bytes() const = 0;
  virtual int64_t used_bytes() const = 0;                  ///< on disk now
  virtual int64_t peak_used_bytes() const = 0;
  virtual int64_t written_bytes() const = 0;               ///< ever, stored size
  virtual int64_t written_raw_bytes() const = 0;           ///< ever, before compression
  virtual int64_t created_files() const = 0;
};

}  // namespace icebound::spill
