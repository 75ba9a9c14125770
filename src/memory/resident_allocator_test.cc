// SPDX-License-Identifier: Apache-2.0
#include "memory/resident_allocator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <thread>
#include <vector>

#include "memory/memory_testing.h"

namespace icebound::memory {
namespace {

/// A live block and what was written to it.
struct Block {
  uint8_t* address;
  int64_t bytes;
  int64_t alignment;
  uint8_t mark;
};

void Fill(const Block& block) { std::memset(block.address, block.mark, static_cast<size_t>(block.bytes)); }

bool HoldsMark(const uint8_t* address, int64_t bytes, uint8_t mark) {
  return std::all_of(address, address + bytes, [mark](uint8_t byte) { return byte == mark; });
}

int64_t RandomBytes(std::mt19937_64* random) {
  const int64_t orders[] = {64, 1 << 10, 9 << 10, 70 << 10, 300 << 10, 2 << 20, 6 << 20};
  const int64_t most = orders[(*random)() % 7];
  return static_cast<int64_t>((*random)() % static_cast<uint64_t>(most)) + 1;
}

/// Allocates, resizes and frees at random, checking contents against the marks and the commitment against a model.
void RunRandomly(ResidentAllocator* allocator, uint64_t seed, int steps) {
  std::mt19937_64 random(seed);
  std::vector<Block> blocks;
  for (int step = 0; step < steps; ++step) {
    const uint64_t dice = random() % 10;
    if (blocks.empty() || (dice < 4 && blocks.size() < 40)) {
      Block block{nullptr, RandomBytes(&random), random() % 20 == 0 ? 4096 : 64, static_cast<uint8_t>(random())};
      block.address = allocator->Allocate(block.bytes, block.alignment, kNoCeiling);
      ASSERT_NE(block.address, nullptr);
      ASSERT_EQ(reinterpret_cast<uintptr_t>(block.address) % static_cast<uintptr_t>(block.alignment), 0u);
      Fill(block);
      blocks.push_back(block);
      continue;
    }
    const size_t pick = random() % blocks.size();
    Block& block = blocks[pick];
    if (dice < 7) {
      const int64_t new_bytes = RandomBytes(&random);
      uint8_t* moved = allocator->Reallocate(block.address, block.bytes, new_bytes, block.alignment, kNoCeiling);
      ASSERT_NE(moved, nullptr);
      ASSERT_TRUE(HoldsMark(moved, std::min(block.bytes, new_bytes), block.mark)) << block.bytes << " to " << new_bytes;
      block.address = moved;
      block.bytes = new_bytes;
      Fill(block);
    } else {
      ASSERT_TRUE(HoldsMark(block.address, block.bytes, block.mark))
          << "another block wrote into one of " << block.bytes << " bytes";
      allocator->Free(block.address, block.bytes, block.alignment);
      block = blocks.back();
      blocks.pop_back();
    }
  }
  for (const Block& block : blocks) {
    ASSERT_TRUE(HoldsMark(block.address, block.bytes, block.mark));
    allocator->Free(block.address, block.bytes, block.alignment);
  }
}

TEST(ResidentAllocator, KeepsContentsThroughRandomUse) {
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    CommittedBytes committed;
    {
      ResidentAllocator allocator(&committed, 4 * kMiB);
      RunRandomly(&allocator, seed, kSanitized ? 150 : 800);
      EXPECT_EQ(committed.now(), allocator.committed_bytes());
      EXPECT_EQ(allocator.committed_bytes(), allocator.trimmable_bytes()) << "nothing is live";
      EXPECT_LE(allocator.trimmable_bytes(), 4 * kMiB + 8 * kMiB) << "free blocks beyond what may be kept are given back";
      allocator.Trim(kNoCeiling);
      EXPECT_EQ(committed.now(), 0);
    }
    EXPECT_EQ(committed.now(), 0);
  }
}

TEST(ResidentAllocator, ManyThreadsShareIt) {
  CommittedBytes committed;
  ResidentAllocator allocator(&committed, 4 * kMiB);
  std::vector<std::thread> threads;
  for (uint64_t seed = 1; seed <= 4; ++seed)
    threads.emplace_back([&allocator, seed] { RunRandomly(&allocator, seed, kSanitized ? 100 : 400); });
  std::atomic<bool> done{false};
  std::thread trimmer([&] {
    while (!done) {
      allocator.Trim(kMiB);
      std::this_thread::yield();
    }
  });
  for (auto& thread : threads) thread.join();
  done = true;
  trimmer.join();
  allocator.Trim(kNoCeiling);
  EXPECT_EQ(committed.now(), 0);
}

// What one phase leaves on the free lists must not make the next one map its blocks anew each time.
TEST(ResidentAllocator, BlocksInUseOutliveThoseThatNobodyNeeds) {
  for (const auto& [old_bytes, new_bytes] : {std::pair<int64_t, int64_t>{64 << 10, 900 << 10}, {900 << 10, 64 << 10}}) {
    CommittedBytes committed;
    ResidentAllocator allocator(&committed, 4 * kMiB);
    std::vector<uint8_t*> blocks;
    for (int64_t bytes = 0; bytes < 8 * kMiB; bytes += old_bytes) blocks.push_back(allocator.Allocate(old_bytes, 64, kNoCeiling));
    for (uint8_t* block : blocks) allocator.Free(block, old_bytes, 64);
    constexpr int kRounds = 1000;
    int mapped = 0;
    for (int i = 0; i < kRounds; ++i) {
      const int64_t before = committed.now();
      uint8_t* block = allocator.Allocate(new_bytes, 64, kNoCeiling);
      mapped += committed.now() > before ? 1 : 0;
      allocator.Free(block, new_bytes, 64);
    }
    EXPECT_LT(mapped, kRounds / 10) << new_bytes;
  }
}

TEST(ResidentAllocator, BlocksFreedByAnotherThread) {
  CommittedBytes committed;
  ResidentAllocator allocator(&committed, kMiB);
  for (int64_t bytes : {100, 5000, 20000, 300000, 5000000}) {
    std::vector<uint8_t*> blocks;
    for (int i = 0; i < 50; ++i) {
      blocks.push_back(allocator.Allocate(bytes, 64, kNoCeiling));
      blocks.back()[0] = 1;
    }
    std::thread([&] {
      for (uint8_t* block : blocks) allocator.Free(block, bytes, 64);
    }).join();
  }
  allocator.Trim(kNoCeiling);
  EXPECT_EQ(committed.now(), 0);
}

TEST(ResidentAllocator, NeverPassesTheCeiling) {
  for (int64_t bytes : {64, 700, 6000, 20000, 100000, 1000000, 5000000}) {
    CommittedBytes committed;
    ResidentAllocator allocator(&committed, kNoCeiling);
    const int64_t ceiling_bytes = 20 * kMiB;
    std::vector<uint8_t*> blocks;
    while (uint8_t* block = allocator.Allocate(bytes, 64, ceiling_bytes)) blocks.push_back(block);
    EXPECT_LE(committed.peak(), ceiling_bytes);
    EXPECT_GT(committed.now(), ceiling_bytes - bytes - SlabAllocator::kSlabBytes) << "but comes close: " << bytes;
    // Slab ends and heads are the only commitment that is not a block: less than a sixth for the worst class.
    EXPECT_GE(static_cast<int64_t>(blocks.size()) * BlockBytes(bytes), ceiling_bytes * 5 / 6 - bytes) << bytes;
    for (uint8_t* block : blocks) allocator.Free(block, bytes, 64);
    const size_t before = blocks.size();
    blocks.clear();
    while (uint8_t* block = allocator.Allocate(bytes, 64, ceiling_bytes)) blocks.push_back(block);
    EXPECT_EQ(blocks.size(), before) << "freed blocks can all be had again";
    for (uint8_t* block : blocks) allocator.Free(block, bytes, 64);
  }
}

TEST(ResidentAllocator, RefusedResizeLeavesTheBlockAsItWas) {
  CommittedBytes committed;
  ResidentAllocator allocator(&committed, kMiB);
  for (int64_t bytes : {100, 10000, 400000, 6000000}) {
    uint8_t* block = allocator.Allocate(bytes, 64, kNoCeiling);
    std::memset(block, 7, static_cast<size_t>(bytes));
    allocator.Trim(kNoCeiling);
    const int64_t before = committed.now();
    EXPECT_EQ(allocator.Reallocate(block, bytes, 60 * kMiB, 64, before + kMiB), nullptr);
    EXPECT_EQ(committed.now(), before);
    EXPECT_TRUE(HoldsMark(block, bytes, 7));
    allocator.Free(block, bytes, 64);
  }
}

TEST(ResidentAllocator, ResizingCommitsOnlyTheDifference) {
  CommittedBytes committed;
  ResidentAllocator allocator(&committed, 0);
  uint8_t* block = allocator.Allocate(kMiB, 64, kNoCeiling);
  const int64_t ceiling_bytes = 64 * kMiB;
  int64_t bytes = kMiB;
  while (bytes < 60 * kMiB) {
    const int64_t larger = std::min(bytes + bytes / 2, 60 * kMiB);
    block = allocator.Reallocate(block, bytes, larger, 64, ceiling_bytes);
    ASSERT_NE(block, nullptr) << "two copies would not fit below the ceiling, one does: " << larger;
    bytes = larger;
  }
  EXPECT_LE(committed.peak(), 60 * kMiB);
  block = allocator.Reallocate(block, bytes, 100, 64, ceiling_bytes);
  ASSERT_NE(block, nullptr);
  EXPECT_LE(committed.now(), 2 * kPageBytes);
  allocator.Free(block, 100, 64);
}

TEST(ResidentAllocator, EmptyBlocksAreValidAndFree) {
  CommittedBytes committed;
  ResidentAllocator allocator(&committed, kMiB);
  uint8_t* empty = allocator.Allocate(0, 64, 0);
  ASSERT_NE(empty, nullptr);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(empty) % 64, 0u);
  EXPECT_EQ(committed.now(), 0);
  uint8_t* block = allocator.Reallocate(empty, 0, 5000, 64, kNoCeiling);
  ASSERT_NE(block, nullptr);
  block[4999] = 1;
  block = allocator.Reallocate(block, 5000, 0, 64, 0);
  EXPECT_EQ(block, empty);
  allocator.Free(block, 0, 64);
  allocator.Trim(kNoCeiling);
  EXPECT_EQ(committed.now(), 0);
}

TEST(ResidentAllocator, ScatteredLiveBlocksDoNotPinFreedPages) {
  // Every eighth block stays: the pages of the others must come back, for all sizes whose blocks are whole pages.
  CommittedBytes committed;
  ResidentAllocator allocator(&committed, kNoCeiling);
  for (int64_t bytes : {12 << 10, 33 << 10, 70 << 10, 500 << 10}) {
    std::vector<uint8_t*> blocks;
    for (int i = 0; i < 64; ++i) blocks.push_back(allocator.Allocate(bytes, 64, kNoCeiling));
    for (size_t i = 0; i < blocks.size(); ++i) {
      if (i % 8 != 0) allocator.Free(blocks[i], bytes, 64);
    }
    allocator.Trim(kNoCeiling);
    EXPECT_EQ(committed.now(), 8 * BlockBytes(bytes));
    for (size_t i = 0; i < blocks.size(); i += 8) allocator.Free(blocks[i], bytes, 64);
    allocator.Trim(kNoCeiling);
  }
}

#if defined(__SANITIZE_ADDRESS__)
TEST(ResidentAllocatorDeathTest, AddressSanitizerSeesMisuse) {
  CommittedBytes committed;
  ResidentAllocator allocator(&committed, 64 * kMiB);
  for (int64_t bytes : {100, 5000, 20000, 1000000}) {
    EXPECT_DEATH(
        {
          uint8_t* block = allocator.Allocate(bytes, 64, kNoCeiling);
          allocator.Free(block, bytes, 64);
          block[bytes / 2] = 1;
        },
        "use-after-poison");
    EXPECT_DEATH(
        {
          uint8_t* block = allocator.Allocate(bytes, 64, kNoCeiling);
          block[bytes] = 1;
        },
        "use-after-poison");
  }
}
#endif

// ---- what the system sees ----

int64_t AnonymousBytes() { return ProbeResidentMemory().anonymous_bytes; }

TEST(ResidentAllocatorRss, TrimLowersTheResidentSize) {
  SKIP_WHEN_SANITIZED();
  ExpectInChild([]() -> std::string {
    CommittedBytes committed;
    ResidentAllocator allocator(&committed, kNoCeiling);
    std::vector<std::pair<uint8_t*, int64_t>> blocks;
    for (int64_t bytes : {1 << 10, 8 << 10, 40 << 10, 200 << 10, 1 << 20}) {
      for (int64_t sum = 0; sum < 8 * kMiB; sum += bytes) {
        blocks.emplace_back(allocator.Allocate(bytes, 64, kNoCeiling), bytes);
        std::memset(blocks.back().first, 1, static_cast<size_t>(bytes));
      }
    }
    const int64_t full = AnonymousBytes();
    for (auto [block, bytes] : blocks) allocator.Free(block, bytes, 64);
    const int64_t freed = AnonymousBytes();
    if (freed < full - kMiB) return "freed blocks should be kept until trimmed";
    allocator.Trim(kNoCeiling);
    const int64_t trimmed = AnonymousBytes();
    if (full - trimmed < 39 * kMiB) return fmt::format("40 MiB were trimmed, the system saw {}", full - trimmed);
    return "";
  });
}

TEST(ResidentAllocatorRss, ResizingALargeBlockDoesNotDoubleIt) {
  SKIP_WHEN_SANITIZED();
  ExpectInChild([]() -> std::string {
    CommittedBytes committed;
    ResidentAllocator allocator(&committed, 0);
    const int64_t before = ProbeResidentMemory().current_bytes;
    uint8_t* block = allocator.Allocate(100 * kMiB, 64, kNoCeiling);
    std::memset(block, 1, 100 * kMiB);
    block = allocator.Reallocate(block, 100 * kMiB, 101 * kMiB, 64, kNoCeiling);
    std::memset(block, 1, 101 * kMiB);
    const int64_t grown = ProbeResidentMemory().peak_bytes - before;
    if (grown > 103 * kMiB) return fmt::format("resizing 100 to 101 MiB took {} MiB", grown / kMiB);
    if (grown < 100 * kMiB) return "the probe does not see the block at all";
    return "";
  });
}

TEST(ResidentAllocatorRss, CommittedIsWhatIsResident) {
  SKIP_WHEN_SANITIZED();
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    ExpectInChild([seed]() -> std::string {
      CommittedBytes committed;
      ResidentAllocator allocator(&committed, 8 * kMiB);
      std::mt19937_64 random(seed);
      std::vector<std::pair<uint8_t*, int64_t>> blocks;
      const int64_t start = AnonymousBytes();
      int64_t worst_above = 0;
      int64_t worst_below = 0;
      for (int step = 0; step < 3000; ++step) {
        if (blocks.size() < 10 || (random() % 5 < 3 && committed.now() < 100 * kMiB)) {
          const int64_t bytes = BlockBytes(RandomBytes(&random));  // whole blocks, so that all that is charged is touched
          blocks.emplace_back(allocator.Allocate(bytes, 64, kNoCeiling), bytes);
          std::memset(blocks.back().first, 1, static_cast<size_t>(bytes));
        } else {
          const size_t pick = random() % blocks.size();
          allocator.Free(blocks[pick].first, blocks[pick].second, 64);
          blocks[pick] = blocks.back();
          blocks.pop_back();
        }
        if (step % 20 == 0) {
          const int64_t difference = AnonymousBytes() - start - committed.now();
          worst_above = std::max(worst_above, difference);
          worst_below = std::max(worst_below, -difference);
        }
      }
      if (committed.peak() < 60 * kMiB) return "the test did not allocate enough to show anything";
      if (worst_above > kMiB) return fmt::format("{} more bytes were resident than committed", worst_above);
      if (worst_below > 4 * kMiB) return fmt::format("{} more bytes were committed than resident", worst_below);
      return "";
    });
  }
}

}  // namespace
}  // namespace icebound::memory
