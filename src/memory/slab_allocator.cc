// SPDX-License-Identifier: Apache-2.0
#include "memory/slab_allocator.h"

#include <new>

#include "memory/block_poison.h"
#include "memory/page_mapping.h"

namespace icebound::memory {

SlabAllocator::~SlabAllocator() {
  // Live blocks here are a caller's fault (the ledger reports it); their region is left mapped rather than pulled from under
  // them.
  committed_->Subtract(spare_bytes());
  if (committed_bytes() == spare_bytes()) {
    for (uint8_t* region : regions_) {
      UnpoisonBytes(region, kRegionBytes);
      (void)UnmapPages(region, kRegionBytes);
    }
  }
}

SlabAllocator::Slab* SlabAllocator::SlabOf(uint8_t* block) {
  return reinterpret_cast<Slab*>(reinterpret_cast<uintptr_t>(block) & ~static_cast<uintptr_t>(kSlabBytes - 1));
}

uint8_t* SlabAllocator::Allocate(int64_t block_bytes, int64_t ceiling_bytes) {
  SizeClass& size_class = classes_[QuarterStepIndex(block_bytes)];
  std::lock_guard lock(size_class.mutex);
  if (size_class.with_free_blocks != nullptr) return TakeFreeBlock(&size_class);
  if (size_class.growing == nullptr || size_class.growing->used_bytes + block_bytes > kSlabBytes) {
    Slab* slab = TakeSlab(ceiling_bytes);
    if (slab == nullptr) return nullptr;
    size_class.growing = slab;
  }
  Slab* slab = size_class.growing;
  uint8_t* block = TakeUnusedBlock(slab, block_bytes, ceiling_bytes);
  if (block == nullptr && slab->live_blocks == 0) {
    // A slab without a block would be in nobody's list when its class is asked to free.
    size_class.growing = nullptr;
    KeepSpare(slab);
  }
  return block;
}

uint8_t* SlabAllocator::TakeFreeBlock(SizeClass* size_class) {
  Slab* slab = size_class->with_free_blocks;
  FreeBlock* block = slab->free_blocks;
  UnpoisonBytes(block, sizeof(FreeBlock));
  slab->free_blocks = block->next;
  ++slab->live_blocks;
  if (slab->free_blocks == nullptr) Unlink(size_class, slab);
  return reinterpret_cast<uint8_t*>(block);
}

uint8_t* SlabAllocator::TakeUnusedBlock(Slab* slab, int64_t block_bytes, int64_t ceiling_bytes) {
  const int64_t used_after = slab->used_bytes + block_bytes;
  const int64_t new_page_bytes = RoundUp(used_after, kPageBytes) - slab->committed_bytes;
  if (new_page_bytes > 0) {
    if (!committed_->TryAdd(new_page_bytes, ceiling_bytes)) return nullptr;
    committed_bytes_.fetch_add(new_page_bytes, std::memory_order_relaxed);
    slab->committed_bytes += static_cast<uint32_t>(new_page_bytes);
  }
  uint8_t* block = reinterpret_cast<uint8_t*>(slab) + slab->used_bytes;
  slab->used_bytes = static_cast<uint32_t>(used_after);
  ++slab->live_blocks;
  return block;
}

void SlabAllocator::Free(uint8_t* block, int64_t block_bytes) {
  SizeClass& size_class = classes_[QuarterStepIndex(block_bytes)];
  std::lock_guard lock(size_class.mutex);
  Slab* slab = SlabOf(block);
  slab->free_blocks = new (block) FreeBlock{slab->free_blocks};
  PoisonBytes(block, block_bytes);
  --slab->live_blocks;
  if (slab->live_blocks == 0) {
    if (slab->listed) Unlink(&size_class, slab);
    if (size_class.growing == slab) size_class.growing = nullptr;
    KeepSpare(slab);
  } else if (!slab->listed) {
    Link(&size_class, slab);
  }
}

SlabAllocator::Slab* SlabAllocator::TakeSlab(int64_t ceiling_bytes) {
  std::lock_guard lock(slabs_mutex_);
  uint32_t committed_bytes = kPageBytes;
  uint8_t* address = nullptr;
  if (spare_slabs_ != nullptr) {
    address = reinterpret_cast<uint8_t*>(spare_slabs_);
    committed_bytes = spare_slabs_->committed_bytes;
    spare_bytes_.fetch_sub(committed_bytes, std::memory_order_relaxed);
    spare_slabs_ = spare_slabs_->next;
  } else {
    if (bare_slabs_.empty() && !MapRegion()) return nullptr;
    if (!committed_->TryAdd(kPageBytes, ceiling_bytes)) return nullptr;
    committed_bytes_.fetch_add(kPageBytes, std::memory_order_relaxed);
    address = bare_slabs_.back();
    bare_slabs_.pop_back();
  }
  UnpoisonBytes(address, kSlabBytes);
  Slab* slab = new (address) Slab();
  slab->used_bytes = kHeadBytes;
  slab->committed_bytes = committed_bytes;
  return slab;
}

void SlabAllocator::KeepSpare(Slab* slab) {
  PoisonBytes(reinterpret_cast<uint8_t*>(slab) + kHeadBytes, kSlabBytes - kHeadBytes);
  std::lock_guard lock(slabs_mutex_);
  slab->next = spare_slabs_;
  spare_slabs_ = slab;
  spare_bytes_.fetch_add(slab->committed_bytes, std::memory_order_relaxed);
}

bool SlabAllocator::MapRegion() {
  uint8_t* region = MapAlignedPages(kRegionBytes, kSlabBytes);
  if (region == nullptr) return false;
  try {
    regions_.reserve(regions_.size() + 1);
    bare_slabs_.reserve((regions_.size() + 1) * (kRegionBytes / kSlabBytes));
  } catch (const std::bad_alloc&) {
    (void)UnmapPages(region, kRegionBytes);
    return false;
  }
  regions_.push_back(region);
  for (int64_t offset = kRegionBytes - kSlabBytes; offset >= 0; offset -= kSlabBytes) bare_slabs_.push_back(region + offset);
  return true;
}

int64_t SlabAllocator::Trim(int64_t wanted_bytes) {
  int64_t given_bytes = 0;
  std::lock_guard lock(slabs_mutex_);
  while (given_bytes < wanted_bytes && spare_slabs_ != nullptr) {
    Slab* slab = spare_slabs_;
    const int64_t bytes = slab->committed_bytes;
    spare_slabs_ = slab->next;
    UnpoisonBytes(slab, kSlabBytes);
    DropPages(reinterpret_cast<uint8_t*>(slab), bytes);
    bare_slabs_.push_back(reinterpret_cast<uint8_t*>(slab));
    spare_bytes_.fetch_sub(bytes, std::memory_order_relaxed);
    committed_bytes_.fetch_sub(bytes, std::memory_order_relaxed);
    committed_->Subtract(bytes);
    given_bytes += bytes;
  }
  return given_bytes;
}

void SlabAllocator::Link(SizeClass* size_class, Slab* slab) {
  slab->previous = nullptr;
  slab->next = size_class->with_free_blocks;
  if (slab->next != nullptr) slab->next->previous = slab;
  size_class->with_free_blocks = slab;
  slab->listed = true;
}

void SlabAllocator::Unlink(SizeClass* size_class, Slab* slab) {
  (slab->previous == nullptr ? size_class->with_free_blocks : slab->previous->next) = slab->next;
  if (slab->next != nullptr) slab->next->previous = slab->previous;
  slab->listed = false;
}

}  // namespace icebound::memory
