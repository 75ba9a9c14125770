// SPDX-License-Identifier: Apache-2.0
//
// The private directory of one process, `icebound-<pid>-<16 hex digits>`, and the removal of those whose owner is gone.
//
// A directory is alive while an flock on its lock file is held; the system drops the lock when the owner ends, however it ends.
// Rules:
//
//   create   mkdir, open `lock` with O_EXCL, flock it, then check that the name still leads to it. When any step finds that
//   somebody
//            removed the directory in between, another random name is tried: nothing was in it yet.
//   reclaim  open `lock` (never creating it), flock it without waiting. Held: alive, left alone. Got it: the owner is gone and
//            everybody else stays away, so the files go, then `lock`, then the directory, and only then the flock.
//            No `lock`: either just made (see create) or left by a reclaim that was killed: removed only if empty, which
//            costs a creator one more try and nobody a byte.
//
// So files are only ever deleted under the flock of their directory. Only directories of this user and of exactly this form of
// name are looked at, and symbolic links are not followed.
#pragma once

#include <arrow/result.h>
#include <arrow/status.h>

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>

namespace icebound::spill {

/// Not thread safe, except for its const members.
class PrivateDirectory {
 public:
  /// Removes dead directories below `parent` (best effort), then makes a new one there.
  static arrow::Result<std::unique_ptr<PrivateDirectory>> Make(const std::string& parent);
  ~PrivateDirectory();

  PrivateDirectory(const PrivateDirectory&) = delete;
  PrivateDirectory& operator=(const PrivateDirectory&) = delete;

  /// Deletes the files, the directory and the lock. Does nothing in a forked child: the directory is its parent's.
  void Remove();
  /// False in a forked child, which must not delete what it inherited the sight of.
  bool OwnedByThisProcess() const;

  const std::string& path() const { return path_; }
  int fd() const { return fd_; }
  /// Free bytes of the file system for this user, and its allocation unit.
  int64_t free_bytes() const { return free_bytes_; }
  int64_t unit_bytes() const { return unit_bytes_; }

 private:
  PrivateDirectory() = default;

  std::string parent_;
  std::string name_;
  std::string path_;
  int fd_ = -1;
  int lock_fd_ = -1;
  pid_t owner_ = 0;
  bool removed_ = false;
  int64_t free_bytes_ = 0;
  int64_t unit_bytes_ = 0;
};

/// Removes what processes that ended without cleaning up left below `parent`. Returns how many directories went.
int64_t ReclaimDeadDirectories(const std::string& parent);

}  // namespace icebound::spill
