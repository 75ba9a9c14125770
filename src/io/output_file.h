// SPDX-License-Identifier: Apache-2.0
//
// Where writers put their bytes: nothing is visible before Finish, and nothing is left after Abort.
//
//   local file     an unnamed file of the target's folder (O_TMPFILE: a killed process leaves nothing), or, where the file
//                  system has none, .<name>.icebound-<random>.tmp beside it. Finish: fsync, name it, rename(2) over the
//                  target, fsync the folder.
//   device, FIFO   written directly: /dev/stdout and the like have nothing to rename.
//   object store   a multipart upload that is completed in Finish; Abort gives it up and the store forgets its parts.
//
// Refused before a byte is written: a target that is a folder, one that exists without a write permission bit (even for root,
// whom the system would let through), one whose folder is missing or closed.
#pragma once

#include <arrow/io/interfaces.h>
#include <arrow/result.h>

#include <memory>
#include <string>

#include "base/error.h"
#include "io/file_systems.h"

namespace icebound::io {

/// One file being written. Not thread safe. Destruction without Finish aborts.
class OutputFile {
 public:
  virtual ~OutputFile() = default;

  static arrow::Result<std::unique_ptr<OutputFile>> Create(const Location& location);

  /// Local path, absolute or relative to the working directory.
  static arrow::Result<std::unique_ptr<OutputFile>> CreateLocal(const std::string& path);

  /// `path` inside `file_system`; `shown` is the name that messages use ("s3://bucket/key").
  static arrow::Result<std::unique_ptr<OutputFile>> CreateRemote(std::shared_ptr<arrow::fs::FileSystem> file_system,
                                                                 const std::string& path, std::string shown);

  /// Appends. Errors name the file; a full disk is kDiskLimit, everything else kIo.
  virtual arrow::Status Write(const void* data, int64_t bytes) = 0;
  /// Makes the content durable and visible under its name. Call once.
  virtual arrow::Status Finish() = 0;
  /// Gives the content up. Safe after any error, and after Finish (when it does nothing).
  virtual void Abort() = 0;

  /// Name for messages.
  virtual const std::string& name() const = 0;
  int64_t bytes_written() const { return bytes_written_; }

 protected:
  int64_t bytes_written_ = 0;
};

/// An arrow::io::OutputStream over an OutputFile that it does not own, for libraries that want one. Close() only stops further
/// writes: whether the file appears is its owner's decision.
class OutputFileStream final : public arrow::io::OutputStream {
 public:
  explicit OutputFileStream(OutputFile* file) : file_(file) {}
  arrow::Status Close() override {
    closed_ = true;
    return arrow::Status::OK();
  }
  bool closed() const override { return closed_; }
  arrow::Result<int64_t> Tell() const override { return file_->bytes_written(); }
  arrow::Status Write(const void* data, int64_t bytes) override { return file_->Write(data, bytes); }
  using arrow::io::OutputStream::Write;

 private:
  OutputFile* const file_;
  bool closed_ = false;
};

/// A folder of files that appears whole at Finish: its files are written to .<name>.icebound-<random>.tmp beside it, which is
/// renamed. An object store has no rename, and an upload that waits for its end holds a buffer: there each file is completed when
/// it is sealed, and Abort (or a failed Finish) deletes what was completed. Not thread safe. Destruction without Finish aborts.
class OutputDirectory {
 public:
  virtual ~OutputDirectory() = default;

  /// The folder must not exist, or be empty.
  static arrow::Result<std::unique_ptr<OutputDirectory>> Create(const Location& location);
  static arrow::Result<std::unique_ptr<OutputDirectory>> CreateLocal(const std::string& path);
  static arrow::Result<std::unique_ptr<OutputDirectory>> CreateRemote(std::shared_ptr<arrow::fs::FileSystem> file_system,
                                                                      const std::string& path, std::string shown);

  /// The next file. The directory owns it; it is valid until it is sealed or the directory goes.
  virtual arrow::Result<OutputFile*> Create(const std::string& file_name) = 0;
  /// No more writes to that file: its descriptor or buffer is given back, its content kept for Finish. `file` is gone afterwards.
  virtual arrow::Status Seal(OutputFile* file) = 0;
  virtual arrow::Status Finish() = 0;
  virtual void Abort() = 0;
};

}  // namespace icebound::io
