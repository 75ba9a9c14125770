// SPDX-License-Identifier: Apache-2.0
#include "io/output_file.h"

#include <arrow/filesystem/filesystem.h>
#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <thread>
#include <vector>

#include "base/injection.h"

namespace icebound::io {
namespace {

namespace stdfs = std::filesystem;

/// Written bytes go to the disk in the background every so often, so that the fsync of Finish has little left to wait for and a
/// container's page cache does not fill with dirty pages.
constexpr int64_t kWritebackBytes = int64_t{8} << 20;

/// NAME_MAX of every file system we know is 255 bytes; the temporary name keeps this much of the target's.
constexpr size_t kKeptNameBytes = 200;

arrow::Status SystemError(int error, const std::string& name, std::string_view action) {
  const bool disk_full = error == ENOSPC || error == EDQUOT;
  return MakeError(disk_full ? ErrorKind::kDiskLimit : ErrorKind::kIo, "cannot {} {}: {}", action, name, std::strerror(error));
}

std::string RandomSuffix() {
  uint64_t bits = 0;
  if (getrandom(&bits, sizeof bits, 0) != sizeof bits) bits = static_cast<uint64_t>(getpid()) * 0x9E3779B97F4A7C15u ^ clock();
  return fmt::format("{:016x}", bits);
}

stdfs::path TemporaryBeside(const stdfs::path& target) {
  return target.parent_path() /
         fmt::format(".{}.icebound-{}.tmp", target.filename().string().substr(0, kKeptNameBytes), RandomSuffix());
}

/// Absolute path with symbolic links followed (a link keeps pointing at what we write). The target itself need not exist.
arrow::Result<stdfs::path> ResolveTarget(const std::string& path) {
  if (path.empty()) return MakeError(ErrorKind::kInvalidInput, "the output path is empty");
  if (path.find('\0') != std::string::npos) return MakeError(ErrorKind::kInvalidInput, "the output path contains a zero byte");
  std::error_code error;
  stdfs::path absolute = stdfs::absolute(path, error);
  if (error) return SystemError(error.value(), path, "resolve output path");
  if (!absolute.has_filename()) absolute = absolute.parent_path();  // "dir/" names dir
  stdfs::path resolved = stdfs::weakly_canonical(absolute, error);
  if (error) return SystemError(error.value(), path, "resolve output path");
  return resolved;
}

arrow::Status CheckParent(const stdfs::path& target, const std::string& name) {
  const stdfs::path parent = target.parent_path();
  struct stat info;
  if (stat(parent.c_str(), &info) != 0) {
    if (errno == ENOENT)
      return MakeError(ErrorKind::kNotFound, "cannot write {}: its folder {} does not exist", name, parent.string());
    if (errno == ENOTDIR) return MakeError(ErrorKind::kInvalidInput, "cannot write {}: a part of its path is not a folder", name);
    return SystemError(errno, name, "write");
  }
  if (!S_ISDIR(info.st_mode))
    return MakeError(ErrorKind::kInvalidInput, "cannot write {}: {} is not a folder", name, parent.string());
  return arrow::Status::OK();
}

/// Makes a rename (or a new name) survive a power cut. Some file systems refuse to sync a folder; those need no sync.
arrow::Status SyncFolder(const stdfs::path& folder, const std::string& name) {
  const int fd = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return errno == EACCES ? arrow::Status::OK() : SystemError(errno, name, "sync the folder of");
  const int result = fsync(fd);
  const int error = errno;
  close(fd);
  if (result != 0 && error != EINVAL && error != ENOTSUP) return SystemError(error, name, "sync the folder of");
  return arrow::Status::OK();
}

class LocalOutputFile final : public OutputFile {
 public:
  LocalOutputFile(std::string name, stdfs::path target) : name_(std::move(name)), target_(std::move(target)) {}
  ~LocalOutputFile() override { Abort(); }

  const std::string& name() const override { return name_; }

  arrow::Status Open() {
    mode_t mode = 0666;
    struct stat info;
    if (stat(target_.c_str(), &info) == 0) {
      if (S_ISDIR(info.st_mode)) {
        return MakeError(ErrorKind::kInvalidInput, "cannot write {}: it is a folder; name a file in it", name_);
      }
      if ((info.st_mode & 0222) == 0 || access(target_.c_str(), W_OK) != 0) {
        return MakeError(ErrorKind::kInvalidInput, "cannot write {}: it exists and is read-only", name_);
      }
      if (!S_ISREG(info.st_mode)) return OpenDirectly();
      mode = info.st_mode & 07777;
      keep_mode_ = true;
    }
    ARROW_RETURN_NOT_OK(CheckParent(target_, name_));
    ICEBOUND_INJECT("output.create");
    ARROW_RETURN_NOT_OK(OpenTemporary());
    if (keep_mode_ && fchmod(fd_, mode) != 0) return SystemError(errno, name_, "set the mode of");
    return arrow::Status::OK();
  }

  /// For the files of an OutputDirectory: the folder is private already, so the file gets its own name at once.
  arrow::Status OpenInPlace() {
    fd_ = open(target_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd_ < 0) return SystemError(errno, name_, "create");
    temporary_ = target_;
    return arrow::Status::OK();
  }

  arrow::Status Write(const void* data, int64_t bytes) override {
    ICEBOUND_INJECT("output.write");
    const auto* next = static_cast<const char*>(data);
    while (bytes > 0) {
      const ssize_t written = write(fd_, next, static_cast<size_t>(std::min<int64_t>(bytes, int64_t{1} << 30)));
      if (written < 0) {
        if (errno == EINTR) continue;
        return SystemError(errno, name_, "write");
      }
      next += written;
      bytes -= written;
      bytes_written_ += written;
    }
    StartWriteback();
    return arrow::Status::OK();
  }

  arrow::Status Finish() override {
    if (direct_) return CloseDescriptor();
    ICEBOUND_INJECT("output.sync");
    if (fsync(fd_) != 0) return SystemError(errno, name_, "sync");
    if (temporary_.empty()) ARROW_RETURN_NOT_OK(NameTemporary());
    ARROW_RETURN_NOT_OK(CloseDescriptor());
    if (temporary_ == target_) {
      temporary_.clear();
      return arrow::Status::OK();
    }
    ICEBOUND_INJECT("output.rename");
    if (rename(temporary_.c_str(), target_.c_str()) != 0) return SystemError(errno, name_, "rename a temporary file to");
    temporary_.clear();
    return SyncFolder(target_.parent_path(), name_);
  }

  void Abort() override {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
    if (!temporary_.empty()) unlink(temporary_.c_str());
    temporary_.clear();
  }

 private:
  arrow::Status OpenDirectly() {
    // A pipe's reader may come a little later, or never: a plain open would wait for ever. Writes wait as usual.
    constexpr auto kPipePatience = std::chrono::seconds(10);
    const auto deadline = std::chrono::steady_clock::now() + kPipePatience;
    while ((fd_ = open(target_.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK)) < 0 && errno == ENXIO) {
      if (std::chrono::steady_clock::now() >= deadline) {
        return MakeError(ErrorKind::kInvalidInput, "nobody reads from the pipe {}", name_);
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    if (fd_ < 0) return SystemError(errno, name_, "open");
    fcntl(fd_, F_SETFL, O_WRONLY);
    direct_ = true;
    return arrow::Status::OK();
  }

  arrow::Status OpenTemporary() {
    fd_ = open(target_.parent_path().c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
    if (fd_ >= 0) return arrow::Status::OK();
    stdfs::path temporary = TemporaryBeside(target_);
    fd_ = open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd_ < 0) return SystemError(errno, name_, "create a file beside");
    temporary_ = std::move(temporary);
    return arrow::Status::OK();
  }

  /// Links the unnamed file under a temporary name: rename can replace the target, a link cannot.
  arrow::Status NameTemporary() {
    stdfs::path temporary = TemporaryBeside(target_);
    const std::string descriptor = fmt::format("/proc/self/fd/{}", fd_);
    if (linkat(AT_FDCWD, descriptor.c_str(), AT_FDCWD, temporary.c_str(), AT_SYMLINK_FOLLOW) != 0) {
      return SystemError(errno, name_, "name the temporary file of");
    }
    temporary_ = std::move(temporary);
    return arrow::Status::OK();
  }

  void StartWriteback() {
    if (direct_ || bytes_written_ - writeback_bytes_ < kWritebackBytes) return;
    sync_file_range(fd_, writeback_bytes_, bytes_written_ - writeback_bytes_, SYNC_FILE_RANGE_WRITE);
    writeback_bytes_ = bytes_written_;
  }

  arrow::Status CloseDescriptor() {
    const int result = close(fd_);
    fd_ = -1;
    if (result != 0 && errno != EINTR) return SystemError(errno, name_, "close");
    return arrow::Status::OK();
  }

  const std::string name_;
  const stdfs::path target_;
  stdfs::path temporary_;  // empty while the file has no name
  int fd_ = -1;
  int64_t writeback_bytes_ = 0;
  bool direct_ = false;
  bool keep_mode_ = false;
};

class RemoteOutputFile final : public OutputFile {
 public:
  RemoteOutputFile(std::string name, std::shared_ptr<arrow::io::OutputStream> stream)
      : name_(std::move(name)), stream_(std::move(stream)) {}
  ~RemoteOutputFile() override { Abort(); }

  const std::string& name() const override { return name_; }

  arrow::Status Write(const void* data, int64_t bytes) override {
    ARROW_RETURN_NOT_OK(WithContext(stream_->Write(data, bytes), ErrorKind::kIo, "writing " + name_));
    bytes_written_ += bytes;
    return arrow::Status::OK();
  }

  arrow::Status Finish() override {
    ARROW_RETURN_NOT_OK(WithContext(stream_->Close(), ErrorKind::kIo, "completing " + name_));
    stream_.reset();
    return arrow::Status::OK();
  }

  void Abort() override {
    if (stream_ == nullptr) return;
    IgnoreError(stream_->Abort());
    stream_.reset();
  }

 private:
  const std::string name_;
  std::shared_ptr<arrow::io::OutputStream> stream_;
};

class LocalOutputDirectory final : public OutputDirectory {
 public:
  LocalOutputDirectory(std::string name, stdfs::path target) : name_(std::move(name)), target_(std::move(target)) {}
  ~LocalOutputDirectory() override { Abort(); }

  arrow::Status Open() {
    std::error_code error;
    const stdfs::file_status status = stdfs::status(target_, error);
    if (stdfs::exists(status)) {
      if (!stdfs::is_directory(status)) {
        return MakeError(ErrorKind::kInvalidInput, "cannot write files into {}: it exists and is not a folder", name_);
      }
      if (!stdfs::is_empty(target_, error) || error) {
        return MakeError(ErrorKind::kInvalidInput, "cannot write files into {}: the folder is not empty", name_);
      }
    }
    ARROW_RETURN_NOT_OK(CheckParent(target_, name_));
    temporary_ = TemporaryBeside(target_);
    if (mkdir(temporary_.c_str(), 0777) != 0) {
      const int mkdir_error = errno;
      temporary_.clear();
      return SystemError(mkdir_error, name_, "create a folder beside");
    }
    return arrow::Status::OK();
  }

  arrow::Result<OutputFile*> Create(const std::string& file_name) override {
    auto file = std::make_unique<LocalOutputFile>(name_ + "/" + file_name, temporary_ / file_name);
    ARROW_RETURN_NOT_OK(file->OpenInPlace());
    return files_.emplace_back(std::move(file)).get();
  }

  arrow::Status Seal(OutputFile* file) override {
    ARROW_RETURN_NOT_OK(file->Finish());
    std::erase_if(files_, [&](const auto& held) { return held.get() == file; });
    return arrow::Status::OK();
  }

  arrow::Status Finish() override {
    while (!files_.empty()) ARROW_RETURN_NOT_OK(Seal(files_.back().get()));
    ARROW_RETURN_NOT_OK(SyncFolder(temporary_, name_));
    ICEBOUND_INJECT("output.rename");
    if (rename(temporary_.c_str(), target_.c_str()) != 0) return SystemError(errno, name_, "rename a temporary folder to");
    temporary_.clear();
    return SyncFolder(target_.parent_path(), name_);
  }

  void Abort() override {
    files_.clear();
    std::error_code ignored;
    if (!temporary_.empty()) stdfs::remove_all(temporary_, ignored);
    temporary_.clear();
  }

 private:
  const std::string name_;
  const stdfs::path target_;
  stdfs::path temporary_;
  std::vector<std::unique_ptr<LocalOutputFile>> files_;
};

class RemoteOutputDirectory final : public OutputDirectory {
 public:
  RemoteOutputDirectory(std::shared_ptr<arrow::fs::FileSystem> file_system, std::string path, std::string shown)
      : file_system_(std::move(file_system)), path_(std::move(path)), name_(std::move(shown)) {}
  ~RemoteOutputDirectory() override { Abort(); }

  arrow::Status Open() {
    arrow::fs::FileSelector selector;
    selector.base_dir = path_;
    selector.allow_not_found = true;
    auto found = file_system_->GetFileInfo(selector);
    ARROW_RETURN_NOT_OK(WithContext(found.status(), ErrorKind::kIo, "listing " + name_));
    if (!found->empty()) return MakeError(ErrorKind::kInvalidInput, "cannot write files into {}: it is not empty", name_);
    return arrow::Status::OK();
  }

  arrow::Result<OutputFile*> Create(const std::string& file_name) override {
    ARROW_ASSIGN_OR_RAISE(open_file_, OutputFile::CreateRemote(file_system_, path_ + "/" + file_name, name_ + "/" + file_name));
    open_path_ = path_ + "/" + file_name;
    return open_file_.get();
  }

  arrow::Status Seal(OutputFile* file) override {
    completed_paths_.push_back(open_path_);  // before the end: a completion that failed half-way is deleted too
    ARROW_RETURN_NOT_OK(file->Finish());
    open_file_.reset();
    return arrow::Status::OK();
  }

  arrow::Status Finish() override {
    if (open_file_ != nullptr) ARROW_RETURN_NOT_OK(Seal(open_file_.get()));
    completed_paths_.clear();
    return arrow::Status::OK();
  }

  void Abort() override {
    open_file_.reset();
    for (const std::string& path : completed_paths_) IgnoreError(file_system_->DeleteFile(path));
    completed_paths_.clear();
  }

 private:
  const std::shared_ptr<arrow::fs::FileSystem> file_system_;
  const std::string path_;
  const std::string name_;
  std::unique_ptr<OutputFile> open_file_;
  std::string open_path_;
  std::vector<std::string> completed_paths_;
};

}  // namespace

arrow::Result<std::unique_ptr<OutputFile>> OutputFile::Create(const Location& location) {
  if (location.is_local) return CreateLocal(location.path);
  return CreateRemote(location.file_system, location.path, location.text);
}

arrow::Result<std::unique_ptr<OutputDirectory>> OutputDirectory::Create(const Location& location) {
  if (location.is_local) return CreateLocal(location.path);
  return CreateRemote(location.file_system, location.path, location.text);
}

arrow::Result<std::unique_ptr<OutputFile>> OutputFile::CreateLocal(const std::string& path) {
  if (path.ends_with('/')) return MakeError(ErrorKind::kInvalidInput, "cannot write {}: it is a folder; name a file in it", path);
  ARROW_ASSIGN_OR_RAISE(stdfs::path target, ResolveTarget(path));
  auto file = std::make_unique<LocalOutputFile>(path, std::move(target));
  ARROW_RETURN_NOT_OK(file->Open());
  return file;
}

arrow::Result<std::unique_ptr<OutputFile>> OutputFile::CreateRemote(std::shared_ptr<arrow::fs::FileSystem> file_system,
                                                                    const std::string& path, std::string shown) {
  auto stream = file_system->OpenOutputStream(path);
  ARROW_RETURN_NOT_OK(WithContext(stream.status(), ErrorKind::kIo, "creating " + shown));
  return std::make_unique<RemoteOutputFile>(std::move(shown), std::move(*stream));
}

arrow::Result<std::unique_ptr<OutputDirectory>> OutputDirectory::CreateLocal(const std::string& path) {
  ARROW_ASSIGN_OR_RAISE(stdfs::path target, ResolveTarget(path));
  auto directory = std::make_unique<LocalOutputDirectory>(path, std::move(target));
  ARROW_RETURN_NOT_OK(directory->Open());
  return directory;
}

arrow::Result<std::unique_ptr<OutputDirectory>> OutputDirectory::CreateRemote(std::shared_ptr<arrow::fs::FileSystem> file_system,
                                                                              const std::string& path, std::string shown) {
  auto directory = std::make_unique<RemoteOutputDirectory>(std::move(file_system), path, std::move(shown));
  ARROW_RETURN_NOT_OK(directory->Open());
  return directory;
}

}  // namespace icebound::io
