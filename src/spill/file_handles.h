// SPDX-License-Identifier: Apache-2.0
//
// A bounded set of open descriptors for any number of files. A file is opened when it is first used, and closed when its
// descriptor is needed for another: the least recently used one that nobody is in the middle of a call with. Names stay in the
// directory until a file is deleted, so that it can be opened again.
#pragma once

#include <arrow/result.h>
#include <arrow/status.h>

#include <condition_variable>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

namespace icebound::spill {

class FileHandles;

/// One file's place in the set. Its fields belong to FileHandles.
class FileHandle {
 public:
  explicit FileHandle(std::string name) : name_(std::move(name)) {}
  FileHandle(const FileHandle&) = delete;
  FileHandle& operator=(const FileHandle&) = delete;

  const std::string& name() const { return name_; }

 private:
  friend class FileHandles;

  const std::string name_;  // in the directory
  // Guarded by FileHandles::mutex_.
  int fd_ = -1;
  int pins_ = 0;                           // calls under way
  bool opening_ = false;                   // one thread opens it outside the lock; others wait
  int close_error_ = 0;                    // errno of a close that may have lost written bytes
  std::list<FileHandle*>::iterator idle_;  // valid when open and without pins
};

/// Thread safe. A thread holds one pin at a time and does not block on others while holding it; so waiting for a free descriptor
/// always ends.
class FileHandles {
 public:
  /// `directory_fd` must stay open as long as this lives.
  FileHandles(int directory_fd, std::string directory, int max_open);
  ~FileHandles();

  /// Keeps the descriptor open while it lives.
  class Pin {
   public:
    Pin(FileHandles* handles, FileHandle* handle, int fd) : handles_(handles), handle_(handle), fd_(fd) {}
    Pin(Pin&& other) noexcept : handles_(std::exchange(other.handles_, nullptr)), handle_(other.handle_), fd_(other.fd_) {}
    Pin& operator=(Pin&&) = delete;
    ~Pin() {
      if (handles_ != nullptr) handles_->Unpin(handle_);
    }
    int fd() const { return fd_; }

   private:
    FileHandles* handles_;
    FileHandle* handle_;
    int fd_;
  };

  enum class Mode { kExisting, kCreate };

  /// Opens `handle` if need be, closing another one when max_open are open (waiting for a pin to go when all are in use).
  arrow::Result<Pin> Acquire(FileHandle& handle, Mode mode = Mode::kExisting);

  /// Closes `handle`, which must have no pins, and removes its file if asked to. False when the file is still there.
  bool CloseAndRemove(FileHandle& handle, bool remove);

  int max_open() const { return max_open_; }
  int open_count() const;

 private:
  arrow::Result<int> Open(const FileHandle& handle, Mode mode);
  void Unpin(FileHandle* handle);
  bool CloseIdleLocked(std::unique_lock<std::mutex>& lock);

  const int directory_fd_;
  const std::string directory_;
  const int max_open_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;  // a pin went, an opening ended, or a descriptor was closed
  int open_count_ = 0;               // guarded by mutex_; those being opened included
  std::list<FileHandle*> idle_;      // guarded by mutex_; open without pins, least recently used first
};

}  // namespace icebound::spill
