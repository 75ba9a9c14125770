// SPDX-License-Identifier: Apache-2.0
#include "memory/page_mapping.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

namespace icebound::memory {

uint8_t* MapPages(int64_t bytes) {
  void* address =
      mmap(nullptr, static_cast<size_t>(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (address == MAP_FAILED) return nullptr;
  // Fails on kernels without transparent huge pages, where there is nothing to forbid.
  (void)madvise(address, static_cast<size_t>(bytes), MADV_NOHUGEPAGE);
  return static_cast<uint8_t*>(address);
}

uint8_t* MapAlignedPages(int64_t bytes, int64_t alignment) {
  uint8_t* start = MapPages(bytes + alignment);
  if (start == nullptr) return nullptr;
  const auto address = reinterpret_cast<uintptr_t>(start);
  const auto misfit = static_cast<int64_t>(address & static_cast<uintptr_t>(alignment - 1));
  const int64_t head_bytes = misfit == 0 ? 0 : alignment - misfit;
  // The ends were never touched: keeping their addresses, should the system refuse, costs no memory.
  if (head_bytes > 0) (void)UnmapPages(start, head_bytes);
  (void)UnmapPages(start + head_bytes + bytes, alignment - head_bytes);
  return start + head_bytes;
}

bool UnmapPages(uint8_t* address, int64_t bytes) { return munmap(address, static_cast<size_t>(bytes)) == 0; }

void DropPages(uint8_t* address, int64_t bytes) { (void)madvise(address, static_cast<size_t>(bytes), MADV_DONTNEED); }

uint8_t* RemapPages(uint8_t* address, int64_t old_bytes, int64_t new_bytes) {
#if defined(__SANITIZE_THREAD__)
  // ThreadSanitizer does not follow mremap: it would take a later user of the old addresses for a racing one.
  uint8_t* copy = MapPages(new_bytes);
  if (copy == nullptr) return nullptr;
  std::memcpy(copy, address, static_cast<size_t>(std::min(old_bytes, new_bytes)));
  (void)UnmapPages(address, old_bytes);
  return copy;
#endif
  void* moved = mremap(address, static_cast<size_t>(old_bytes), static_cast<size_t>(new_bytes), MREMAP_MAYMOVE);
  return moved == MAP_FAILED ? nullptr : static_cast<uint8_t*>(moved);
}

}  // namespace icebound::memory
