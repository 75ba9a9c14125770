// SPDX-License-Identifier: Apache-2.0
#include "memory/resident_allocator.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>
#include <utility>

#include "memory/block_poison.h"
#include "memory/page_mapping.h"

namespace icebound::memory {
namespace {

// A block up to this size keeps its addresses when its pages are given back. A process may have 65,530 mappings by default;
// holes of at least 256 KiB reach that only beyond 16 GiB.
constexpr int64_t kBareBytesMax = 256 << 10;

// From here on moving page tables is cheaper than copying bytes (a copy also faults the new pages in).
constexpr int64_t kRemapBytesMin = 256 << 10;

// A round has to be longer than the time between two uses of a block, such as two row groups of a scan.
constexpr int64_t kRounds = 2;

/// Makes exactly the first `bytes` of a live block usable.
uint8_t* ShowBytes(uint8_t* block, int64_t bytes, int64_t block_bytes) {
  if (block != nullptr) {
    UnpoisonBytes(block, bytes);
    PoisonBytes(block + bytes, block_bytes - bytes);
  }
  return block;
}

// What an empty allocation points at: valid, aligned, never written.
alignas(ResidentAllocator::kAlignmentMax) uint8_t empty_block[1];

}  // namespace

ResidentAllocator::~ResidentAllocator() {
  Trim(std::numeric_limits<int64_t>::max());
  ReleaseBareAddresses();
}

uint8_t* ResidentAllocator::Allocate(int64_t bytes, int64_t alignment, int64_t ceiling_bytes) {
  if (bytes == 0) return empty_block;
  const int64_t block_bytes = BlockBytes(bytes, alignment);
  return ShowBytes(AllocateBlock(block_bytes, ceiling_bytes), bytes, block_bytes);
}

void ResidentAllocator::Free(uint8_t* block, int64_t bytes, int64_t alignment) {
  if (bytes == 0) return;
  FreeBlockOf(block, BlockBytes(bytes, alignment));
}

uint8_t* ResidentAllocator::Reallocate(uint8_t* block, int64_t old_bytes, int64_t new_bytes, int64_t alignment,
                                       int64_t ceiling_bytes) {
  const int64_t old_block_bytes = BlockBytes(old_bytes, alignment);
  const int64_t new_block_bytes = BlockBytes(new_bytes, alignment);
  if (old_bytes == 0) return Allocate(new_bytes, alignment, ceiling_bytes);
  if (new_bytes == 0) {
    FreeBlockOf(block, old_block_bytes);
    return empty_block;
  }
  if (old_block_bytes == new_block_bytes) return ShowBytes(block, new_bytes, new_block_bytes);
  uint8_t* resized = ResizeBlock(block, old_block_bytes, new_block_bytes, std::min(old_bytes, new_bytes), ceiling_bytes);
  return ShowBytes(resized, new_bytes, new_block_bytes);
}

uint8_t* ResidentAllocator::ResizeBlock(uint8_t* block, int64_t old_block_bytes, int64_t new_block_bytes, int64_t keep_bytes,
                                        int64_t ceiling_bytes) {
  if (IsSmall(old_block_bytes) || IsSmall(new_block_bytes)) {
    return MoveToNewBlock(block, old_block_bytes, new_block_bytes, keep_bytes, ceiling_bytes);
  }
  if (std::max(old_block_bytes, new_block_bytes) < kRemapBytesMin) {
    uint8_t* moved = MoveToNewBlock(block, old_block_bytes, new_block_bytes, keep_bytes, ceiling_bytes);
    if (moved != nullptr) return moved;
  }
  return RemapBlock(block, old_block_bytes, new_block_bytes, ceiling_bytes);
}

uint8_t* ResidentAllocator::AllocateBlock(int64_t block_bytes, int64_t ceiling_bytes) {
  if (IsSmall(block_bytes)) return slabs_.Allocate(block_bytes, ceiling_bytes);
  if (IsPooled(block_bytes)) {
    if (uint8_t* block = TakeFreeBlock(block_bytes)) return block;
  }
  return MapBlock(block_bytes, ceiling_bytes);
}

void ResidentAllocator::FreeBlockOf(uint8_t* block, int64_t block_bytes) {
  UnpoisonBytes(block, block_bytes);
  if (IsSmall(block_bytes)) return slabs_.Free(block, block_bytes);
  if (!IsPooled(block_bytes)) return ReturnToSystem(block, block_bytes);
  SizeClass& size_class = ClassOf(block_bytes);
  {
    std::lock_guard lock(size_class.mutex);
    size_class.free_blocks = new (block) FreeBlock{size_class.free_blocks};
    ++size_class.free_count;
    PoisonBytes(block, block_bytes);
  }
  CountFreed(block_bytes);
  const int64_t free_bytes = free_bytes_.fetch_add(block_bytes, std::memory_order_relaxed) + block_bytes;
  if (free_bytes <= retained_bytes_max_) return;
  const int64_t given_bytes = TrimFreeLists(free_bytes - retained_bytes_max_, /*surplus_only=*/true);
  if (free_bytes - given_bytes > retained_bytes_max_) TrimFreeLists(free_bytes - given_bytes - retained_bytes_max_);
}

/// Counts what is freed, and begins the next round.
void ResidentAllocator::CountFreed(int64_t block_bytes) {
  const int64_t round_bytes = round_bytes_.fetch_add(block_bytes, std::memory_order_relaxed) + block_bytes;
  if (round_bytes < kRounds * retained_bytes_max_) return;
  round_bytes_.store(0, std::memory_order_relaxed);
  for (SizeClass& size_class : classes_) {
    std::lock_guard lock(size_class.mutex);
    size_class.surplus_count = std::exchange(size_class.idle_count, size_class.free_count);
  }
}

uint8_t* ResidentAllocator::TakeFreeBlock(int64_t block_bytes, bool surplus_only) {
  SizeClass& size_class = ClassOf(block_bytes);
  std::lock_guard lock(size_class.mutex);
  FreeBlock* block = size_class.free_blocks;
  if (block == nullptr || (surplus_only && size_class.surplus_count == 0)) return nullptr;
  UnpoisonBytes(block, block_bytes);
  size_class.free_blocks = block->next;
  --size_class.free_count;
  size_class.idle_count = std::min(size_class.idle_count, size_class.free_count);
  if (surplus_only) --size_class.surplus_count;
  size_class.surplus_count = std::min(size_class.surplus_count, size_class.free_count);
  free_bytes_.fetch_sub(block_bytes, std::memory_order_relaxed);
  return reinterpret_cast<uint8_t*>(block);
}

uint8_t* ResidentAllocator::MapBlock(int64_t block_bytes, int64_t ceiling_bytes) {
  if (!Commit(block_bytes, ceiling_bytes)) return nullptr;
  uint8_t* block = nullptr;
  if (IsPooled(block_bytes)) {
    SizeClass& size_class = ClassOf(block_bytes);
    std::lock_guard lock(size_class.mutex);
    if (!size_class.bare.empty()) {
      block = size_class.bare.back();
      size_class.bare.pop_back();
    }
  }
  if (block == nullptr) block = MapPages(block_bytes);
  if (block == nullptr && ReleaseBareAddresses()) block = MapPages(block_bytes);
  if (block == nullptr) Uncommit(block_bytes);
  return block;
}

void ResidentAllocator::ReturnToSystem(uint8_t* block, int64_t block_bytes) {
  const bool unmapped = block_bytes > kBareBytesMax && UnmapPages(block, block_bytes);
  if (!unmapped) DropPages(block, block_bytes);
  Uncommit(block_bytes);
  if (unmapped) return;
  if (IsPooled(block_bytes)) {
    SizeClass& size_class = ClassOf(block_bytes);
    std::lock_guard lock(size_class.mutex);
    try {
      size_class.bare.push_back(block);
      return;
    } catch (const std::bad_alloc&) {
    }
  }
  // Addresses nobody can name any more: no memory is lost, and the mapping is asked to go once more.
  (void)UnmapPages(block, block_bytes);
}

uint8_t* ResidentAllocator::MoveToNewBlock(uint8_t* block, int64_t old_block_bytes, int64_t new_block_bytes, int64_t keep_bytes,
                                           int64_t ceiling_bytes) {
  uint8_t* moved = AllocateBlock(new_block_bytes, ceiling_bytes);
  if (moved == nullptr) return nullptr;
  UnpoisonBytes(moved, new_block_bytes);
  std::memcpy(moved, block, static_cast<size_t>(keep_bytes));
  FreeBlockOf(block, old_block_bytes);
  return moved;
}

uint8_t* ResidentAllocator::RemapBlock(uint8_t* block, int64_t old_block_bytes, int64_t new_block_bytes, int64_t ceiling_bytes) {
  const int64_t more_bytes = new_block_bytes - old_block_bytes;
  if (more_bytes > 0 && !Commit(more_bytes, ceiling_bytes)) return nullptr;
  UnpoisonBytes(block, old_block_bytes);
  uint8_t* moved = RemapPages(block, old_block_bytes, new_block_bytes);
  if (moved == nullptr) {
    if (more_bytes > 0) Uncommit(more_bytes);
    return nullptr;
  }
  if (more_bytes < 0) Uncommit(-more_bytes);
  return moved;
}

bool ResidentAllocator::Commit(int64_t bytes, int64_t ceiling_bytes) {
  if (!committed_->TryAdd(bytes, ceiling_bytes)) return false;
  mapped_bytes_.fetch_add(bytes, std::memory_order_relaxed);
  return true;
}

void ResidentAllocator::Uncommit(int64_t bytes) {
  mapped_bytes_.fetch_sub(bytes, std::memory_order_relaxed);
  committed_->Subtract(bytes);
}

bool ResidentAllocator::ReleaseBareAddresses() {
  bool any = false;
  for (int64_t block_bytes = kPooledBytesMax; block_bytes > kSmallBytesMax; block_bytes = SmallerBlockBytes(block_bytes)) {
    SizeClass& size_class = ClassOf(block_bytes);
    std::lock_guard lock(size_class.mutex);
    std::erase_if(size_class.bare, [&](uint8_t* block) { return UnmapPages(block, block_bytes) && (any = true); });
  }
  return any;
}

int64_t ResidentAllocator::Trim(int64_t wanted_bytes) {
  const int64_t given_bytes = TrimFreeLists(wanted_bytes);
  return given_bytes >= wanted_bytes ? given_bytes : given_bytes + slabs_.Trim(wanted_bytes - given_bytes);
}

int64_t ResidentAllocator::TrimFreeLists(int64_t wanted_bytes, bool surplus_only) {
  int64_t given_bytes = 0;
  for (int64_t block_bytes = kPooledBytesMax; block_bytes > kSmallBytesMax && given_bytes < wanted_bytes;
       block_bytes = SmallerBlockBytes(block_bytes)) {
    while (given_bytes < wanted_bytes) {
      uint8_t* block = TakeFreeBlock(block_bytes, surplus_only);
      if (block == nullptr) break;
      ReturnToSystem(block, block_bytes);
      given_bytes += block_bytes;
    }
  }
  return given_bytes;
}

}  // namespace icebound::memory
