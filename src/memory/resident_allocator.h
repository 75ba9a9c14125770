// SPDX-License-Identifier: Apache-2.0
//
// The allocator below every pool of a ledger. It commits before it maps, and a freed block stays committed until the system has
// its pages back, so that its CommittedBytes never lies below what is resident.
//
//   up to 8 KiB     slabs (slab_allocator.h)
//   up to 4 MiB     one mapping a block, size classes in quarter steps (size_classes.h). A freed block waits, with its pages, on
//                   the free list of its class; the list's link lies inside the block.
//   beyond          one mapping a block, exact to the page, unmapped when freed, grown and shrunk by mremap
//
// Trim takes free blocks, largest class first, and gives them back: blocks up to 256 KiB keep their addresses ("bare") because
// many small holes would use up the mappings a process may have (the addresses go too when there are no others); larger ones are
// unmapped. Free blocks beyond `retained_bytes_max` are trimmed as they come, the surplus first: blocks that nobody has needed
// for a whole round, in which kRounds times `retained_bytes_max` were freed. Else what a phase of the query has left behind would
// fill the free lists, and the blocks of the phase that runs would be mapped anew each time.
//
// Reallocate never holds two copies that were not both committed: within a class nothing happens; a large block moves its page
// tables (mremap); a small one is copied, and when there is no room for the copy, a block of its own mapping is moved after all.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "memory/committed_bytes.h"
#include "memory/size_classes.h"
#include "memory/slab_allocator.h"

namespace icebound::memory {

/// Thread safe. Blocks are aligned to 64 bytes, or to any power of two up to a page.
class ResidentAllocator {
 public:
  static constexpr int64_t kAlignmentMax = kPageBytes;

  ResidentAllocator(CommittedBytes* committed, int64_t retained_bytes_max)
      : committed_(committed), retained_bytes_max_(retained_bytes_max), slabs_(committed) {}
  ResidentAllocator(const ResidentAllocator&) = delete;
  ResidentAllocator& operator=(const ResidentAllocator&) = delete;
  ~ResidentAllocator();

  /// A block of BlockBytes(bytes, alignment); null when committing it would pass the ceiling (or there is no address space). A
  /// request for 0 bytes gets a valid address that must not be touched.
  uint8_t* Allocate(int64_t bytes, int64_t alignment, int64_t ceiling_bytes);

  /// Resizes, keeping the first min(old, new) bytes. Null when refused; then the old block is as it was.
  uint8_t* Reallocate(uint8_t* block, int64_t old_bytes, int64_t new_bytes, int64_t alignment, int64_t ceiling_bytes);

  /// `bytes` and `alignment` as they were asked for.
  void Free(uint8_t* block, int64_t bytes, int64_t alignment);

  /// Gives at least `wanted_bytes` of free blocks back to the system, or all there are. Returns what was given back.
  int64_t Trim(int64_t wanted_bytes);

  /// Committed for blocks, live and free; the part Trim would give back.
  int64_t committed_bytes() const { return slabs_.committed_bytes() + mapped_bytes_.load(std::memory_order_relaxed); }
  int64_t trimmable_bytes() const { return slabs_.spare_bytes() + free_bytes_.load(std::memory_order_relaxed); }

 private:
  struct FreeBlock {
    FreeBlock* next;
  };
  struct alignas(64) SizeClass {
    std::mutex mutex;
    FreeBlock* free_blocks = nullptr;  // guarded by mutex: resident
    int64_t free_count = 0;            // guarded by mutex: of free_blocks
    int64_t idle_count = 0;            // guarded by mutex: the least free_count of this round
    int64_t surplus_count = 0;         // guarded by mutex: idle_count of the last round, less what is gone
    std::vector<uint8_t*> bare;        // guarded by mutex: addresses without pages
  };

  static bool IsSmall(int64_t block_bytes) { return block_bytes <= kSmallBytesMax; }
  static bool IsPooled(int64_t block_bytes) { return block_bytes <= kPooledBytesMax; }
  SizeClass& ClassOf(int64_t block_bytes) { return classes_[QuarterStepIndex(block_bytes)]; }

  uint8_t* AllocateBlock(int64_t block_bytes, int64_t ceiling_bytes);
  void FreeBlockOf(uint8_t* block, int64_t block_bytes);
  uint8_t* TakeFreeBlock(int64_t block_bytes, bool surplus_only = false);
  uint8_t* MapBlock(int64_t block_bytes, int64_t ceiling_bytes);
  void ReturnToSystem(uint8_t* block, int64_t block_bytes);
  uint8_t* ResizeBlock(uint8_t* block, int64_t old_block_bytes, int64_t new_block_bytes, int64_t keep_bytes,
                       int64_t ceiling_bytes);
  uint8_t* MoveToNewBlock(uint8_t* block, int64_t old_block_bytes, int64_t new_block_bytes, int64_t keep_bytes,
                          int64_t ceiling_bytes);
  uint8_t* RemapBlock(uint8_t* block, int64_t old_block_bytes, int64_t new_block_bytes, int64_t ceiling_bytes);
  bool Commit(int64_t bytes, int64_t ceiling_bytes);
  void Uncommit(int64_t bytes);
  int64_t TrimFreeLists(int64_t wanted_bytes, bool surplus_only = false);
  void CountFreed(int64_t block_bytes);
  bool ReleaseBareAddresses();

  CommittedBytes* const committed_;
  const int64_t retained_bytes_max_;
  std::atomic<int64_t> mapped_bytes_{0};  // blocks with their own mapping, live and free
  std::atomic<int64_t> free_bytes_{0};    // those of them on free lists
  std::atomic<int64_t> round_bytes_{0};   // freed in this round
  SlabAllocator slabs_;
  std::array<SizeClass, kClassCount> classes_;  // those of small blocks stay empty
};

}  // namespace icebound::memory
