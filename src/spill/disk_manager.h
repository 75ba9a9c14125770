// SPDX-License-Identifier: Apache-2.0
//
// The disk manager: one private, locked directory a process; spill files written and read a block at a time.
//
//   <spill directory>/icebound-<pid>-<random>/       0700, held by an flock on its lock file
//     lock                                           0600, the owner's pid, for people
//     <n>-<purpose>.spill                            0600
//
// The next start removes directories whose lock is free (their owner is gone) and never touches a held one
// (private_directory.h has the protocol). spill_file.h has the file, block_codec.h the block and its bytes.
//
// Quota: bytes on disk of all files, in whole allocation units, never exceed limit_bytes; a write beyond it, or a full disk, is
// ErrorKind::kDiskLimit naming the directory and the bytes. Read-back blocks are freed progressively (hole punching), so disk
// use stays near 1x the data; where the file system cannot punch holes the bytes stay counted until the file goes.
//
// Memory: the scratch for compression is allocated by Make (scratch_buffers times kScratchBytes) and never again, so that
// spilling needs no memory when there is none. Descriptors: one for the directory, one for the lock, and at most max_open_files
// for all spill files and readers together.
#pragma once

#include <arrow/memory_pool.h>
#include <arrow/result.h>
#include <arrow/status.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "spill/spill_file.h"

namespace icebound::spill {

struct DiskManagerOptions {
  std::string directory;               ///< must exist; empty: the system's temporary directory
  std::optional<int64_t> limit_bytes;  ///< default: 90 % of the free space now
  int max_open_files = 64;             ///< at least 4; fewer when RLIMIT_NOFILE leaves fewer
  int scratch_buffers = 0;             ///< threads that may compress side by side (more take turns); 0: one a CPU, at most 8
  arrow::MemoryPool* pool = nullptr;   ///< charged for the scratch; null: plain heap, for the caller to account for
};

/// Thread safe. Files may outlive it, but are of no use then: their bytes went with the directory.
class DiskManager {
 public:
  /// kInvalidInput for a directory that does not exist, is none, or in which this user may not write; kDiskLimit for a full disk.
  static arrow::Result<std::unique_ptr<DiskManager>> Make(const DiskManagerOptions& options);
  ~DiskManager();  ///< removes the directory

  DiskManager(const DiskManager&) = delete;
  DiskManager& operator=(const DiskManager&) = delete;

  /// `purpose` goes into the file name and messages: "sort-run", "join-build".
  /// `min_saving` is the part of its bytes that LZ4 must save for the file to be compressed: LZ4 takes about 2 ns a byte, so a
  /// caller whose bytes are dense already asks for more.
  arrow::Result<std::shared_ptr<SpillFile>> CreateFile(std::string_view purpose,
                                                       double min_saving = CompressionGauge::kMinSaving);

  const std::string& directory() const;  ///< the private one
  int64_t limit_bytes() const;
  int64_t used_bytes() const;  ///< on disk now
  int64_t peak_used_bytes() const;
  int64_t written_bytes() const;      ///< ever, stored size
  int64_t written_raw_bytes() const;  ///< ever, before compression
  int64_t created_files() const;
  int max_open_files() const;     ///< descriptors its files may hold
  int64_t scratch_bytes() const;  ///< memory held from Make to the end

 private:
  explicit DiskManager(std::shared_ptr<SpillStore> store) : store_(std::move(store)) {}

  const std::shared_ptr<SpillStore> store_;
};

}  // namespace icebound::spill
