// SPDX-License-Identifier: Apache-2.0
#include "memory/resident_guard.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <vector>

#include "memory/size_classes.h"

namespace icebound::memory {
namespace {

// How near to the promise is near: a batch's worth of allocations lies between two looks.
constexpr int64_t kMarginBytes = 4 << 20;

// Two drops are at least this far apart, so that a working set larger than the margin costs a few percent at most.
constexpr int64_t kDropIntervalNs = 20'000'000;

struct Mapping {
  uintptr_t begin = 0;
  uintptr_t end = 0;
  int64_t resident_bytes = 0;
};

/// Private, read-only mappings of files without a single page of their own. A page of its own (a relocated pointer table, a
/// debugger's breakpoint) would be lost by dropping it, so such a mapping is left alone.
std::vector<Mapping> CleanFileMappings() {
  std::vector<Mapping> mappings;
  std::FILE* file = std::fopen("/proc/self/smaps", "re");
  if (file == nullptr) return mappings;
  char line[4352];
  Mapping current;
  bool eligible = false;
  while (std::fgets(line, sizeof(line), file) != nullptr) {
    uintptr_t begin = 0;
    uintptr_t end = 0;
    char permissions[8];
    uint64_t inode = 0;
    int64_t kib = 0;
    if (std::sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %7s %*x %*x:%*x %" SCNu64, &begin, &end, permissions, &inode) == 4) {
      current = {begin, end, 0};
      eligible = inode != 0 && permissions[0] == 'r' && permissions[1] == '-' && permissions[3] == 'p';
    } else if (std::sscanf(line, "Rss: %" SCNd64 " kB", &kib) == 1) {
      current.resident_bytes = kib * 1024;
    } else if (eligible && std::sscanf(line, "Anonymous: %" SCNd64 " kB", &kib) == 1 && kib == 0 && current.resident_bytes > 0) {
      mappings.push_back(current);
    }
  }
  std::fclose(file);
  return mappings;
}

}  // namespace

int64_t DropLibraryPages() {
  int64_t dropped_bytes = 0;
  for (const Mapping& mapping : CleanFileMappings()) {
    const size_t bytes = mapping.end - mapping.begin;
    if (madvise(reinterpret_cast<void*>(mapping.begin), bytes, MADV_DONTNEED) == 0) dropped_bytes += mapping.resident_bytes;
  }
  return dropped_bytes;
}

ResidentGuard::ResidentGuard(int64_t promised_bytes)
    : promised_bytes_(promised_bytes), statm_fd_(open("/proc/self/statm", O_RDONLY | O_CLOEXEC)) {}

ResidentGuard::~ResidentGuard() {
  if (statm_fd_ >= 0) close(statm_fd_);
}

int64_t ResidentGuard::ResidentBytes() const {
  char text[128];
  const ssize_t length = statm_fd_ < 0 ? -1 : pread(statm_fd_, text, sizeof(text) - 1, 0);
  if (length <= 0) return 0;
  text[length] = '\0';
  int64_t resident_pages = 0;
  return std::sscanf(text, "%*d %" SCNd64, &resident_pages) == 1 ? resident_pages * kPageBytes : 0;
}

void ResidentGuard::Check() {
  if (ResidentBytes() <= promised_bytes_ - kMarginBytes) return;
  const int64_t now_ns =
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
  int64_t next_drop_ns = next_drop_ns_.load();
  // One thread drops, the others go on.
  if (now_ns < next_drop_ns || !next_drop_ns_.compare_exchange_strong(next_drop_ns, now_ns + kDropIntervalNs)) return;
  DropLibraryPages();
  drops_.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace icebound::memory
