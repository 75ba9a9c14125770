// SPDX-License-Identifier: Apache-2.0
#include "spill/disk_manager.h"

#include <sys/resource.h>

#include <algorithm>
#include <filesystem>

#include "base/byte_size.h"
#include "base/error.h"
#include "spill/spill_store.h"

namespace icebound::spill {
namespace {

constexpr int kOpenFilesMin = 4;
constexpr int kScratchBuffersMax = 8;

/// A quarter of what the process may open: Parquet files, sockets and the host's own files need the rest.
int OpenFilesMax(int asked) {
  struct rlimit limit;
  int64_t allowed = asked;
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    allowed = std::min<int64_t>(allowed, static_cast<int64_t>(limit.rlim_cur) / 4);
  }
  return static_cast<int>(std::max<int64_t>(allowed, kOpenFilesMin));
}

int ScratchCount(int asked) {
  if (asked > 0) return asked;
  return std::clamp(UsableCpus(), 1, kScratchBuffersMax);
}

/// Letters, digits and dashes only: the purpose becomes part of a file name.
std::string FileName(int64_t number, std::string_view purpose) {
  constexpr size_t kPurposeBytesMax = 40;
  std::string name = fmt::format("{}-", number);
  for (const char c : purpose.substr(0, kPurposeBytesMax)) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    name += plain ? c : '-';
  }
  return name + ".spill";
}

}  // namespace

arrow::Result<std::unique_ptr<DiskManager>> DiskManager::Make(const DiskManagerOptions& options) {
  if (options.limit_bytes.has_value() && *options.limit_bytes < 0) {
    return MakeError(ErrorKind::kInvalidInput, "the spill limit (--spill-limit) is negative: {} bytes", *options.limit_bytes);
  }
  std::string parent = options.directory;
  if (parent.empty()) {
    std::error_code error;
    parent = std::filesystem::temp_directory_path(error).string();
    if (error) {
      return MakeError(ErrorKind::kInvalidInput, "no temporary directory (TMPDIR is {}): {}; name one with --spill-dir", parent,
                       error.message());
    }
  }
  ARROW_ASSIGN_OR_RAISE(auto scratch, ScratchBuffers::Make(ScratchCount(options.scratch_buffers), options.pool));
  ARROW_ASSIGN_OR_RAISE(auto directory, PrivateDirectory::Make(parent));
  const int64_t limit_bytes = options.limit_bytes.value_or(directory->free_bytes() / 10 * 9);
  auto store =
      std::make_shared<SpillStore>(std::move(directory), limit_bytes, OpenFilesMax(options.max_open_files), std::move(scratch));
  return std::unique_ptr<DiskManager>(new DiskManager(std::move(store)));
}

DiskManager::~DiskManager() { store_->directory->Remove(); }

arrow::Result<std::shared_ptr<SpillFile>> DiskManager::CreateFile(std::string_view purpose, double min_saving) {
  const int64_t number = store_->created_files.fetch_add(1, std::memory_order_relaxed);
  return SpillFile::Create(store_, FileName(number, purpose), min_saving);
}

const std::string& DiskManager::directory() const { return store_->directory->path(); }
int64_t DiskManager::limit_bytes() const { return store_->quota.limit_bytes(); }
int64_t DiskManager::used_bytes() const { return store_->quota.used_bytes(); }
int64_t DiskManager::peak_used_bytes() const { return store_->quota.peak_bytes(); }
int64_t DiskManager::written_bytes() const { return store_->written_bytes.load(std::memory_order_relaxed); }
int64_t DiskManager::written_raw_bytes() const { return store_->written_raw_bytes.load(std::memory_order_relaxed); }
int64_t DiskManager::created_files() const { return store_->created_files.load(std::memory_order_relaxed); }
int DiskManager::max_open_files() const { return store_->handles.max_open(); }
int64_t DiskManager::scratch_bytes() const { return store_->scratch->total_bytes(); }

}  // namespace icebound::spill
