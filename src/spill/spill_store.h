// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "spill/disk_quota.h"
#include "spill/file_handles.h"
#include "spill/private_directory.h"
#include "spill/scratch_buffers.h"

namespace icebound::spill {

/// What the files of one disk manager share; held by the manager and by every file. Thread safe.
struct SpillStore {
  SpillStore(std::unique_ptr<PrivateDirectory> private_directory, int64_t limit_bytes, int max_open_files,
             std::unique_ptr<ScratchBuffers> scratch_buffers)
      : directory(std::move(private_directory)),
        quota(limit_bytes),
        handles(directory->fd(), directory->path(), max_open_files),
        scratch(std::move(scratch_buffers)) {}

  const std::unique_ptr<PrivateDirectory> directory;
  DiskQuota quota;
  FileHandles handles;
  const std::unique_ptr<ScratchBuffers> scratch;
  std::atomic<int64_t> written_bytes{0};
  std::atomic<int64_t> written_raw_bytes{0};
  std::atomic<int64_t> created_files{0};
  /// Set when the file system says that it cannot free parts of a file; nobody asks again.
  std::atomic<bool> cannot_punch{false};
};

}  // namespace icebound::spill
