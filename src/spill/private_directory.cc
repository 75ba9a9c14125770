// SPDX-License-Identifier: Apache-2.0
#include "spill/private_directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <random>
#include <string_view>
#include <utility>

#include "base/error.h"

namespace icebound::spill {
namespace {

constexpr std::string_view kPrefix = "icebound-";
constexpr size_t kRandomDigits = 16;
constexpr char kLockName[] = "lock";

/// A descriptor that closes itself.
class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  int Release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

bool IsPrivateName(std::string_view name) {
  if (!name.starts_with(kPrefix)) return false;
  name.remove_prefix(kPrefix.size());
  const size_t dash = name.find('-');
  if (dash == 0 || dash == std::string_view::npos || name.size() != dash + 1 + kRandomDigits) return false;
  const auto is_digit = [](unsigned char c) { return std::isdigit(c) != 0; };
  const auto is_hex = [](unsigned char c) { return std::isxdigit(c) != 0; };
  return std::all_of(name.begin(), name.begin() + dash, is_digit) && std::all_of(name.begin() + dash + 1, name.end(), is_hex);
}

/// Calls `visit` with each name, one at a time: the system's temporary directory may hold a million.
template <typename Visitor>
void ForEachName(int directory_fd, Visitor&& visit) {
  const int copy = ::openat(directory_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* listing = copy < 0 ? nullptr : ::fdopendir(copy);
  if (listing == nullptr) {
    if (copy >= 0) ::close(copy);
    return;
  }
  while (const dirent* entry = ::readdir(listing)) visit(entry->d_name);
  ::closedir(listing);
}

/// Deletes the files of a directory whose lock the caller holds, then the lock file, then the directory. When a file cannot be
/// deleted the lock file stays, so that a later start tries again.
bool DeleteLocked(int parent_fd, const std::string& name, int directory_fd) {
  bool all_gone = true;
  ForEachName(directory_fd, [&](const char* file) {
    const std::string_view file_name(file);
    if (file_name == "." || file_name == ".." || file_name == kLockName) return;
    if (::unlinkat(directory_fd, file, 0) != 0 && errno != ENOENT) all_gone = false;
  });
  return all_gone && ::unlinkat(directory_fd, kLockName, 0) == 0 && ::unlinkat(parent_fd, name.c_str(), AT_REMOVEDIR) == 0;
}

bool ReclaimIfDead(int parent_fd, const std::string& name) {
  Descriptor directory(::openat(parent_fd, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat info;
  if (!directory.valid() || ::fstat(directory.get(), &info) != 0 || info.st_uid != ::geteuid()) return false;
  Descriptor lock(::openat(directory.get(), kLockName, O_RDWR | O_NOFOLLOW | O_CLOEXEC));
  if (!lock.valid()) return errno == ENOENT && ::unlinkat(parent_fd, name.c_str(), AT_REMOVEDIR) == 0;
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) return false;
  // Another process may have reclaimed it between our open and our lock: then there is nothing left to do.
  if (::fstat(lock.get(), &info) != 0 || info.st_nlink == 0) return false;
  return DeleteLocked(parent_fd, name, directory.get());
}

std::string RandomName() {
  std::random_device random;
  const uint64_t value = (uint64_t{random()} << 32) | random();
  return fmt::format("{}{}-{:016x}", kPrefix, ::getpid(), value);
}

arrow::Status CreationError(const std::string& parent, std::string_view step, int error) {
  ErrorKind kind = ErrorKind::kIo;
  if (error == ENOSPC || error == EDQUOT) kind = ErrorKind::kDiskLimit;
  // A directory in which nobody may write (/proc says ENOENT) is a wrong choice like one that is missing.
  if (error == EACCES || error == EPERM || error == EROFS || error == ENOENT) kind = ErrorKind::kInvalidInput;
  return MakeError(kind, "cannot {} in the spill directory {}: {} (choose another with --spill-dir)", step, parent,
                   std::strerror(error));
}

/// Returns the lock's descriptor; an invalid one when the directory was removed meanwhile and another name is due.
arrow::Result<Descriptor> LockNewDirectory(const std::string& parent, int directory_fd) {
  Descriptor lock(::openat(directory_fd, kLockName, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!lock.valid()) {
    if (errno == ENOENT) return Descriptor();
    return CreationError(parent, "create a lock file", errno);
  }
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return Descriptor();
    return CreationError(parent, "lock a file", errno);
  }
  struct stat info;
  if (::fstat(lock.get(), &info) != 0 || info.st_nlink == 0) return Descriptor();
  const std::string pid = fmt::format("{}\n", ::getpid());
  if (::write(lock.get(), pid.data(), pid.size()) != static_cast<ssize_t>(pid.size())) {
    const int error = errno;
    ::unlinkat(directory_fd, kLockName, 0);
    return CreationError(parent, "write", error);
  }
  return lock;
}

arrow::Result<Descriptor> OpenParent(const std::string& parent) {
  Descriptor fd(::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd.valid()) return fd;
  if (errno == ENOENT) {
    return MakeError(ErrorKind::kInvalidInput,
                     "the spill directory {} does not exist: create it or choose another with --spill-dir", parent);
  }
  if (errno == ENOTDIR) {
    return MakeError(ErrorKind::kInvalidInput, "the spill directory {} is not a directory: choose another with --spill-dir",
                     parent);
  }
  return CreationError(parent, "open files", errno);
}

int64_t ReclaimBelow(int parent_fd) {
  int64_t reclaimed = 0;
  ForEachName(parent_fd, [&](const char* name) {
    if (IsPrivateName(name) && ReclaimIfDead(parent_fd, name)) ++reclaimed;
  });
  return reclaimed;
}

}  // namespace

arrow::Result<std::unique_ptr<PrivateDirectory>> PrivateDirectory::Make(const std::string& parent) {
  ARROW_ASSIGN_OR_RAISE(const Descriptor parent_fd, OpenParent(parent));
  ReclaimBelow(parent_fd.get());

  std::error_code error;
  std::unique_ptr<PrivateDirectory> result(new PrivateDirectory());
  const std::filesystem::path absolute = std::filesystem::canonical(parent, error);
  result->parent_ = error ? parent : absolute.string();
  // Losing a race once is rare; losing it this often means that something else removes our directories.
  constexpr int kAttempts = 100;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const std::string name = RandomName();
    if (::mkdirat(parent_fd.get(), name.c_str(), 0700) != 0) {
      if (errno == EEXIST) continue;
      return CreationError(parent, "create a directory", errno);
    }
    Descriptor directory(::openat(parent_fd.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!directory.valid()) {
      if (errno == ENOENT) continue;
      return CreationError(parent, "open a directory", errno);
    }
    auto lock = LockNewDirectory(parent, directory.get());
    if (!lock.ok()) ::unlinkat(parent_fd.get(), name.c_str(), AT_REMOVEDIR);
    ARROW_RETURN_NOT_OK(lock.status());
    if (!lock->valid()) continue;

    struct statvfs space;
    if (::fstatvfs(directory.get(), &space) != 0) return CreationError(parent, "ask for the free space", errno);
    result->free_bytes_ = static_cast<int64_t>(space.f_bavail) * static_cast<int64_t>(space.f_frsize);
    result->unit_bytes_ = std::clamp<int64_t>(static_cast<int64_t>(space.f_bsize), 4096, 65536);
    result->name_ = name;
    result->path_ = result->parent_ + "/" + name;
    result->fd_ = directory.Release();
    result->lock_fd_ = lock->Release();
    result->owner_ = ::getpid();
    return result;
  }
  return MakeError(ErrorKind::kIo, "cannot create a directory in {}: something removes it again and again (tried {} times)",
                   parent, kAttempts);
}

void PrivateDirectory::Remove() {
  if (removed_ || !OwnedByThisProcess()) return;
  removed_ = true;
  const Descriptor parent_fd(::open(parent_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  DeleteLocked(parent_fd.get(), name_, fd_);
}

bool PrivateDirectory::OwnedByThisProcess() const { return fd_ >= 0 && ::getpid() == owner_; }

PrivateDirectory::~PrivateDirectory() {
  Remove();
  if (fd_ >= 0) ::close(fd_);
  if (lock_fd_ >= 0) ::close(lock_fd_);
}

int64_t ReclaimDeadDirectories(const std::string& parent) {
  const Descriptor fd(::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return fd.valid() ? ReclaimBelow(fd.get()) : 0;
}

}  // namespace icebound::spill
