// SPDX-License-Identifier: Apache-2.0
//
// Blocks up to 8 KiB, cut from slabs.
//
//   region (1 MiB of addresses) = 16 slabs of 64 KiB, aligned, so that a block's address names its slab
//
//   slab  +----------+---------+---------+-- - --+- - - - - - - - - - -+
//         | head 64B | block 0 | block 1 |  ...  |  never touched       |
//         +----------+---------+---------+-- - --+- - - - - - - - - - -+
//         0          64                          used                64 KiB
//                                                committed: `used` in whole pages
//
// A slab serves one size class. Its pages are committed as the used part grows, so an almost empty slab costs one page, not 64
// KiB. Freed blocks form a list inside the slab. A slab whose last block was freed leaves its class, its pages still committed;
// the next slab any class needs is taken from these, and Trim gives them back to the system. Addresses are kept for reuse until
// the end.
//
// Each class has its own mutex, the spare slabs another one, taken after it.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "memory/committed_bytes.h"
#include "memory/size_classes.h"

namespace icebound::memory {

/// Thread safe.
class SlabAllocator {
 public:
  static constexpr int64_t kSlabBytes = 64 << 10;
  static constexpr int64_t kRegionBytes = 1 << 20;

  explicit SlabAllocator(CommittedBytes* committed) : committed_(committed) {}
  SlabAllocator(const SlabAllocator&) = delete;
  SlabAllocator& operator=(const SlabAllocator&) = delete;
  ~SlabAllocator();

  /// A block of exactly `block_bytes`, a quarter step up to kSmallBytesMax; null when new pages would pass the ceiling.
  uint8_t* Allocate(int64_t block_bytes, int64_t ceiling_bytes);
  void Free(uint8_t* block, int64_t block_bytes);

  /// Gives at least `wanted_bytes` of spare slabs back to the system, or all there are. Returns what was given back.
  int64_t Trim(int64_t wanted_bytes);

  /// Pages committed, and those of them that Trim would give back.
  int64_t committed_bytes() const { return committed_bytes_.load(std::memory_order_relaxed); }
  int64_t spare_bytes() const { return spare_bytes_.load(std::memory_order_relaxed); }

 private:
  struct FreeBlock {
    FreeBlock* next;
  };

  /// The head of a slab; everything is guarded by the mutex of its class, or of the spare slabs while it is one.
  struct Slab {
    Slab* next = nullptr;
    Slab* previous = nullptr;
    FreeBlock* free_blocks = nullptr;
    uint32_t live_blocks = 0;
    uint32_t used_bytes = 0;
    uint32_t committed_bytes = 0;
    bool listed = false;  // in SizeClass::with_free_blocks
  };
  static constexpr int64_t kHeadBytes = 64;
  static_assert(sizeof(Slab) <= kHeadBytes);

  struct alignas(64) SizeClass {
    std::mutex mutex;
    Slab* with_free_blocks = nullptr;  // slabs that have a freed block, the last one that got one first
    Slab* growing = nullptr;           // the only slab with a part that was never used
  };

  static Slab* SlabOf(uint8_t* block);
  uint8_t* TakeFreeBlock(SizeClass* size_class);
  uint8_t* TakeUnusedBlock(Slab* slab, int64_t block_bytes, int64_t ceiling_bytes);
  Slab* TakeSlab(int64_t ceiling_bytes);
  void KeepSpare(Slab* slab);
  bool MapRegion();
  void Link(SizeClass* size_class, Slab* slab);
  void Unlink(SizeClass* size_class, Slab* slab);

  CommittedBytes* const committed_;
  std::atomic<int64_t> committed_bytes_{0};
  std::atomic<int64_t> spare_bytes_{0};
  std::array<SizeClass, kSmallClassCount> classes_;

  std::mutex slabs_mutex_;
  Slab* spare_slabs_ = nullptr;       // guarded by slabs_mutex_: committed, no live block
  std::vector<uint8_t*> bare_slabs_;  // guarded by slabs_mutex_: addresses without pages; has room for every slab there is
  std::vector<uint8_t*> regions_;     // guarded by slabs_mutex_
};

}  // namespace icebound::memory
