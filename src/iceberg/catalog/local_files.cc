// SPDX-License-Identifier: Apache-2.0
#include "iceberg/catalog/local_files.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "base/error.h"
#include "base/injection.h"
#include "iceberg/catalog/uuid.h"

namespace icebound::iceberg {
namespace {

arrow::Status SystemError(std::string_view doing, const std::string& path, int error) {
  const ErrorKind kind = error == ENOSPC || error == EDQUOT || error == EFBIG ? ErrorKind::kDiskLimit : ErrorKind::kIo;
  return MakeError(kind, "cannot {} {}: {}", doing, path, std::generic_category().message(error));
}

std::string DirectoryOf(const std::string& path) {
  const std::string parent = std::filesystem::path(path).parent_path().string();
  return parent.empty() ? "." : parent;
}

/// A descriptor that is closed.
struct Descriptor {
  int number = -1;
  ~Descriptor() {
    if (number >= 0) close(number);
  }
};

arrow::Status SyncDirectory(const std::string& directory) {
  ICEBOUND_INJECT("catalog.sync_directory");
  const Descriptor descriptor{open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (descriptor.number < 0) return SystemError("open directory", directory, errno);
  // EINVAL: a file system that has nothing to sync for directories.
  if (fsync(descriptor.number) != 0 && errno != EINVAL) return SystemError("sync directory", directory, errno);
  return arrow::Status::OK();
}

/// Creates the directory and those above it; each new one is synced into its parent.
arrow::Status CreateDirectories(const std::string& directory) {
  if (mkdir(directory.c_str(), 0777) == 0) return SyncDirectory(DirectoryOf(directory));
  if (errno == ENOENT) {
    ARROW_RETURN_NOT_OK(CreateDirectories(DirectoryOf(directory)));
    if (mkdir(directory.c_str(), 0777) == 0) return SyncDirectory(DirectoryOf(directory));
  }
  std::error_code ignored;
  if (errno == EEXIST && std::filesystem::is_directory(directory, ignored)) return arrow::Status::OK();
  return SystemError("create directory", directory, errno);
}

arrow::Status WriteAll(int descriptor, const std::string& path, std::span<const uint8_t> bytes) {
  while (!bytes.empty()) {
    ICEBOUND_INJECT("catalog.write");
    const ssize_t written = write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return SystemError("write", path, errno);
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  if (fsync(descriptor) != 0) return SystemError("sync", path, errno);
  return arrow::Status::OK();
}

arrow::Status WriteFile(const std::string& path, std::span<const uint8_t> bytes) {
  const Descriptor descriptor{open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666)};
  if (descriptor.number < 0) {
    if (errno == EEXIST) return MakeError(ErrorKind::kInvalidInput, "{} exists already", path);
    return SystemError("create", path, errno);
  }
  const arrow::Status written = WriteAll(descriptor.number, path, bytes);
  if (!written.ok()) unlink(path.c_str());
  return written;
}

enum class Sameness { kSame, kOther, kMissing, kUnknown };

/// Whether `path` is the very file `staged`.
Sameness CompareFiles(const std::string& staged, const std::string& path) {
  struct stat one, other;
  if (stat(staged.c_str(), &one) != 0) return Sameness::kUnknown;
  if (stat(path.c_str(), &other) != 0) return errno == ENOENT ? Sameness::kMissing : Sameness::kUnknown;
  return one.st_dev == other.st_dev && one.st_ino == other.st_ino ? Sameness::kSame : Sameness::kOther;
}

/// 0, or errno. A second name where the file system has those, else the only one.
int TakeName(const std::string& staged, const std::string& path) {
  if (link(staged.c_str(), path.c_str()) == 0) return 0;
  if (errno != EPERM && errno != EOPNOTSUPP && errno != ENOSYS) return errno;
  return renameat2(AT_FDCWD, staged.c_str(), AT_FDCWD, path.c_str(), RENAME_NOREPLACE) == 0 ? 0 : errno;
}

}  // namespace

arrow::Status WriteNewLocalFile(const std::string& path, std::span<const uint8_t> bytes) {
  const std::string directory = DirectoryOf(path);
  ARROW_RETURN_NOT_OK(CreateDirectories(directory));
  ARROW_RETURN_NOT_OK(WriteFile(path, bytes));
  const arrow::Status synced = SyncDirectory(directory);
  if (!synced.ok()) unlink(path.c_str());
  return synced;
}

arrow::Status PublishLocalFile(const std::string& staged, const std::string& path) {
  const int error = TakeName(staged, path);
  // A network file system may have done it and lost the answer, and then says that the name exists.
  const Sameness sameness = error == 0 ? Sameness::kSame : CompareFiles(staged, path);
  if (sameness == Sameness::kUnknown) {
    return MakeError(ErrorKind::kCommitUnknown, "whether {} is the file that was to get this name cannot be found out: {}", path,
                     std::generic_category().message(error));
  }
  unlink(staged.c_str());
  if (sameness == Sameness::kOther) return MakeError(ErrorKind::kCommitConflict, "{} exists already", path);
  if (sameness == Sameness::kMissing) {
    if (error == EINVAL || error == ENOSYS || error == EOPNOTSUPP) {
      return MakeError(ErrorKind::kUnsupported,
                       "the file system of {} can neither link nor rename exclusively, which commits to a table directory need: "
                       "keep the table in a SQL or REST catalog",
                       path);
    }
    return SystemError("create", path, error);
  }
  const arrow::Status synced = SyncDirectory(DirectoryOf(path));
  if (synced.ok()) return synced;
  return MakeError(ErrorKind::kCommitUnknown, "{} is there, but may be gone after a power cut: {}", path, synced.message());
}

arrow::Status ReplaceLocalFile(const std::string& path, std::span<const uint8_t> bytes) {
  ARROW_ASSIGN_OR_RAISE(const std::string uuid, NewUuid());
  const std::string staged = fmt::format("{}/staged-{}.tmp", DirectoryOf(path), uuid);
  ARROW_RETURN_NOT_OK(WriteFile(staged, bytes));
  if (rename(staged.c_str(), path.c_str()) == 0) return arrow::Status::OK();
  const int error = errno;
  unlink(staged.c_str());
  return SystemError("replace", path, error);
}

}  // namespace icebound::iceberg
