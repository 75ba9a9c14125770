// SPDX-License-Identifier: Apache-2.0
//
// A file being read: ranged reads into the caller's memory, and proof that it is still the file that was opened.
//
// Why not arrow::io::RandomAccessFile: its reads allocate (from whichever pool), it has no notion of "changed while it was read",
// and its failures have no ErrorKind, so that a network fault inside the Parquet reader could not be told from a corrupt page.
#pragma once

#include <arrow/filesystem/filesystem.h>
#include <arrow/result.h>
#include <arrow/util/future.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "io/file_systems.h"

namespace icebound::io {

/// What tells two versions of a file apart, as far as its store says. Zero fields are unknown and not compared.
struct FileVersion {
  int64_t size_bytes = 0;
  int64_t modified_ns = 0;
  uint64_t inode = 0;
};

/// Thread safe: reads may run side by side.
class InputFile {
 public:
  /// Opens `path` of `location`'s store. `expected` (may be null) is the version a listing saw: another one now is kCorruptData.
  /// `read_bytes` (may be null) counts the bytes fetched.
  static arrow::Result<std::shared_ptr<InputFile>> Open(const Location& location, const std::string& path,
                                                        const FileVersion* expected, std::atomic<int64_t>* read_bytes);
  virtual ~InputFile() = default;

  /// Fills `out` with the bytes from `offset` on. A range outside the file is kCorruptData, a failing store kIo.
  arrow::Status ReadAt(int64_t offset, std::span<uint8_t> out);

  /// The same on a thread of the store's; `out` must stay until the future is done. For files that are not local.
  arrow::Future<> ReadAsync(int64_t offset, std::span<uint8_t> out);

  /// kCorruptData "changed while it was read" when the store now has another version under this name, or none. A system call for
  /// local files, a request for remote ones.
  arrow::Status CheckUnchanged();

  /// The full name for messages: a path or a URI.
  const std::string& name() const { return name_; }
  int64_t size_bytes() const { return version_.size_bytes; }
  const FileVersion& version() const { return version_; }
  /// False for stores where a request costs milliseconds: read ahead and read big.
  bool is_local() const { return executor_ == nullptr; }

 protected:
  InputFile(std::string name, arrow::internal::Executor* executor, std::atomic<int64_t>* read_bytes)
      : name_(std::move(name)), executor_(executor), read_bytes_(read_bytes) {}
  virtual arrow::Status DoReadAt(int64_t offset, std::span<uint8_t> out) = 0;
  /// The version under this name now.
  virtual arrow::Result<FileVersion> CurrentVersion() = 0;
  arrow::Status ChangedError() const;

  const std::string name_;
  arrow::internal::Executor* const executor_;  // for reads ahead; null for local files, whose reads ahead are the system's
  std::atomic<int64_t>* const read_bytes_;
  FileVersion version_;  // constant after Open
};

}  // namespace icebound::io
