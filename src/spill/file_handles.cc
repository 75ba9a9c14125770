// SPDX-License-Identifier: Apache-2.0
#include "spill/file_handles.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace icebound::spill {

FileHandles::FileHandles(int directory_fd, std::string directory, int max_open)
    : directory_fd_(directory_fd), directory_(std::move(directory)), max_open_(max_open) {}

FileHandles::~FileHandles() {
  for (FileHandle* handle : idle_) ::close(handle->fd_);
}

int FileHandles::open_count() const {
  std::lock_guard lock(mutex_);
  return open_count_;
}

arrow::Result<FileHandles::Pin> FileHandles::Acquire(FileHandle& handle, Mode mode) {
  std::unique_lock lock(mutex_);
  while (true) {
    if (handle.close_error_ != 0) {
      return MakeError(ErrorKind::kIo, "spill file {}/{} may have lost bytes when it was closed: {}", directory_, handle.name_,
                       std::strerror(handle.close_error_));
    }
    if (handle.fd_ >= 0) {
      if (handle.pins_++ == 0) idle_.erase(handle.idle_);
      return Pin(this, &handle, handle.fd_);
    }
    if (!handle.opening_ && (open_count_ < max_open_ || CloseIdleLocked(lock))) {
      // CloseIdleLocked lets go of the lock: look again whether this handle is still closed.
      if (handle.fd_ >= 0 || handle.opening_ || open_count_ >= max_open_) continue;
      break;
    }
    changed_.wait(lock);
  }
  ++open_count_;
  handle.opening_ = true;
  arrow::Result<int> fd = -1;
  while (true) {
    lock.unlock();
    fd = Open(handle, mode);
    const int open_error = fd.ok() ? 0 : errno;
    lock.lock();
    // The rest of the process may have used up the descriptors: give one of ours back, if there is one, and try again.
    if ((open_error != EMFILE && open_error != ENFILE) || !CloseIdleLocked(lock)) break;
  }
  handle.opening_ = false;
  changed_.notify_all();
  if (!fd.ok()) {
    --open_count_;
    return fd.status();
  }
  handle.fd_ = *fd;
  handle.pins_ = 1;
  return Pin(this, &handle, *fd);
}

arrow::Result<int> FileHandles::Open(const FileHandle& handle, Mode mode) {
  const int create = mode == Mode::kCreate ? O_CREAT | O_EXCL : 0;
  int fd;
  do {
    fd = ::openat(directory_fd_, handle.name_.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | create, 0600);
  } while (fd < 0 && errno == EINTR);
  if (fd < 0) {
    const int error = errno;
    const ErrorKind kind = error == ENOSPC || error == EDQUOT ? ErrorKind::kDiskLimit : ErrorKind::kIo;
    arrow::Status status =
        MakeError(kind, "cannot {} spill file {}/{}: {}{}", mode == Mode::kCreate ? "create" : "open", directory_, handle.name_,
                  std::strerror(error), error == EMFILE ? " (the process has no descriptors left: raise ulimit -n)" : "");
    errno = error;
    return status;
  }
  // Blocks are read in order: let the system read further ahead. A hint only, so its failure means nothing.
  ::posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
  return fd;
}

void FileHandles::Unpin(FileHandle* handle) {
  {
    std::lock_guard lock(mutex_);
    if (--handle->pins_ > 0) return;
    handle->idle_ = idle_.insert(idle_.end(), handle);
  }
  changed_.notify_one();
}

/// Closes the least recently used idle descriptor outside the lock; false when there is none.
bool FileHandles::CloseIdleLocked(std::unique_lock<std::mutex>& lock) {
  if (idle_.empty()) return false;
  FileHandle* victim = idle_.front();
  idle_.pop_front();
  const int fd = std::exchange(victim->fd_, -1);
  // The victim may be asked for again meanwhile; its own owner cannot delete it before `opening_` is false.
  victim->opening_ = true;
  lock.unlock();
  const int error = ::close(fd) == 0 || errno == EINTR ? 0 : errno;
  lock.lock();
  victim->opening_ = false;
  victim->close_error_ = error;
  --open_count_;
  changed_.notify_all();
  return true;
}

bool FileHandles::CloseAndRemove(FileHandle& handle, bool remove) {
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !handle.opening_; });
    if (handle.fd_ >= 0) {
      idle_.erase(handle.idle_);
      ::close(std::exchange(handle.fd_, -1));
      --open_count_;
    }
  }
  changed_.notify_all();
  return remove && (::unlinkat(directory_fd_, handle.name_.c_str(), 0) == 0 || errno == ENOENT);
}

}  // namespace icebound::spill
