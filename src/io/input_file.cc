// SPDX-License-Identifier: Apache-2.0
#include "io/input_file.h"

#include <arrow/util/thread_pool.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "base/error.h"

namespace icebound::io {
namespace {

arrow::Status SystemError(int error_number, std::string_view what, const std::string& name) {
  const ErrorKind kind = error_number == ENOENT || error_number == ENOTDIR ? ErrorKind::kNotFound : ErrorKind::kIo;
  return MakeError(kind, "cannot {} {}: {}", what, name, std::generic_category().message(error_number));
}

FileVersion VersionOf(const struct stat& info) {
  return {.size_bytes = info.st_size,
          .modified_ns = info.st_mtim.tv_sec * int64_t{1000000000} + info.st_mtim.tv_nsec,
          .inode = info.st_ino};
}

bool SameVersion(const FileVersion& a, const FileVersion& b) {
  const bool times_known = a.modified_ns != 0 && b.modified_ns != 0;
  const bool inodes_known = a.inode != 0 && b.inode != 0;
  return a.size_bytes == b.size_bytes && (!times_known || a.modified_ns == b.modified_ns) &&
         (!inodes_known || a.inode == b.inode);
}

class LocalInputFile final : public InputFile {
 public:
  LocalInputFile(std::string name, std::atomic<int64_t>* read_bytes) : InputFile(std::move(name), nullptr, read_bytes) {}
  ~LocalInputFile() override {
    if (descriptor_ >= 0) close(descriptor_);
  }

  arrow::Status Open(const std::string& path) {
    path_ = path;
    // Without waiting: opening a pipe would wait for its other end, for ever.
    descriptor_ = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor_ < 0) return SystemError(errno, "open", name_);
    struct stat info;
    if (fstat(descriptor_, &info) != 0) return SystemError(errno, "inspect", name_);
    if (S_ISDIR(info.st_mode)) return MakeError(ErrorKind::kInvalidInput, "{} is a directory, not a file", name_);
    if (!S_ISREG(info.st_mode)) return MakeError(ErrorKind::kInvalidInput, "{} is not a regular file", name_);
    version_ = VersionOf(info);
    return arrow::Status::OK();
  }

 protected:
  arrow::Status DoReadAt(int64_t offset, std::span<uint8_t> out) override {
    while (!out.empty()) {
      const ssize_t count = pread(descriptor_, out.data(), out.size(), offset);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return SystemError(errno, "read", name_);
      if (count == 0) return ChangedError();  // the range was inside the file when it was opened
      out = out.subspan(static_cast<size_t>(count));
      offset += count;
    }
    return arrow::Status::OK();
  }

  // Both the open file (overwritten in place) and the name (replaced by rename) must be as they were.
  arrow::Result<FileVersion> CurrentVersion() override {
    struct stat info;
    if (fstat(descriptor_, &info) != 0) return SystemError(errno, "inspect", name_);
    if (!SameVersion(VersionOf(info), version_)) return VersionOf(info);
    if (stat(path_.c_str(), &info) != 0) return ChangedError();
    return VersionOf(info);
  }

 private:
  std::string path_;
  int descriptor_ = -1;
};

class RemoteInputFile final : public InputFile {
 public:
  RemoteInputFile(std::string name, std::shared_ptr<arrow::fs::FileSystem> file_system, std::atomic<int64_t>* read_bytes)
      : InputFile(std::move(name), file_system->io_context().executor(), read_bytes), file_system_(std::move(file_system)) {}

  arrow::Status Open(const std::string& path) {
    path_ = path;
    ARROW_ASSIGN_OR_RAISE(version_, CurrentVersion());
    // The size is passed along so that the store is not asked for it a second time.
    arrow::fs::FileInfo info(path, arrow::fs::FileType::File);
    info.set_size(version_.size_bytes);
    auto file = file_system_->OpenInputFile(info);
    if (!file.ok()) return WithContext(file.status(), ErrorKind::kIo, fmt::format("opening {}", name_));
    file_ = std::move(file).ValueUnsafe();
    return arrow::Status::OK();
  }

 protected:
  arrow::Status DoReadAt(int64_t offset, std::span<uint8_t> out) override {
    auto count = file_->ReadAt(offset, static_cast<int64_t>(out.size()), out.data());
    if (!count.ok()) return WithContext(count.status(), ErrorKind::kIo, fmt::format("reading {}", name_));
    if (*count != static_cast<int64_t>(out.size())) return ChangedError();
    return arrow::Status::OK();
  }

  arrow::Result<FileVersion> CurrentVersion() override {
    auto info = file_system_->GetFileInfo(path_);
    if (!info.ok()) return WithContext(info.status(), ErrorKind::kIo, fmt::format("inspecting {}", name_));
    if (info->type() == arrow::fs::FileType::NotFound) return MakeError(ErrorKind::kNotFound, "{} does not exist", name_);
    if (!info->IsFile()) return MakeError(ErrorKind::kInvalidInput, "{} is not a file", name_);
    const bool has_time = info->mtime() != arrow::fs::kNoTime;
    return FileVersion{.size_bytes = info->size(), .modified_ns = has_time ? info->mtime().time_since_epoch().count() : 0};
  }

 private:
  const std::shared_ptr<arrow::fs::FileSystem> file_system_;
  std::string path_;
  std::shared_ptr<arrow::io::RandomAccessFile> file_;
};

template <typename File, typename... Args>
arrow::Result<std::shared_ptr<InputFile>> OpenAs(const std::string& path, Args&&... args) {
  auto file = std::make_shared<File>(std::forward<Args>(args)...);
  ARROW_RETURN_NOT_OK(file->Open(path));
  return file;
}

}  // namespace

arrow::Result<std::shared_ptr<InputFile>> InputFile::Open(const Location& location, const std::string& path,
                                                          const FileVersion* expected, std::atomic<int64_t>* read_bytes) {
  std::shared_ptr<InputFile> file;
  std::string name = location.prefix + path;
  if (location.is_local) {
    ARROW_ASSIGN_OR_RAISE(file, OpenAs<LocalInputFile>(path, std::move(name), read_bytes));
  } else {
    ARROW_ASSIGN_OR_RAISE(file, OpenAs<RemoteInputFile>(path, std::move(name), location.file_system, read_bytes));
  }
  if (expected != nullptr && !SameVersion(*expected, file->version_)) return file->ChangedError();
  return file;
}

arrow::Status InputFile::ReadAt(int64_t offset, std::span<uint8_t> out) {
  const int64_t length = static_cast<int64_t>(out.size());
  if (offset < 0 || length > version_.size_bytes || offset > version_.size_bytes - length) {
    return MakeError(ErrorKind::kCorruptData, "{} refers to bytes {} to {} of itself, but has only {}", name_, offset,
                     offset + length, version_.size_bytes);
  }
  ARROW_RETURN_NOT_OK(DoReadAt(offset, out));
  if (read_bytes_ != nullptr) read_bytes_->fetch_add(length, std::memory_order_relaxed);
  return arrow::Status::OK();
}

arrow::Future<> InputFile::ReadAsync(int64_t offset, std::span<uint8_t> out) {
  auto submitted = arrow::DeferNotOk(executor_->Submit([this, offset, out] { return ReadAt(offset, out); }));
  return submitted;
}

arrow::Status InputFile::CheckUnchanged() {
  auto now = CurrentVersion();
  if (!now.ok()) return GetErrorKind(now.status()) == ErrorKind::kNotFound ? ChangedError() : now.status();
  return SameVersion(*now, version_) ? arrow::Status::OK() : ChangedError();
}

arrow::Status InputFile::ChangedError() const {
  return MakeError(ErrorKind::kCorruptData, "{} changed while it was read: run the statement again", name_);
}

}  // namespace icebound::io
