// SPDX-License-Identifier: Apache-2.0
#include "memory/size_classes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace icebound::memory {
namespace {

TEST(SizeClasses, BlocksHoldTheRequestAndWasteAtMostAQuarter) {
  int64_t previous = 0;
  for (int64_t bytes = 1; bytes <= 6 << 20; bytes += 1 + bytes / 997) {
    const int64_t block = BlockBytes(bytes);
    ASSERT_GE(block, bytes);
    ASSERT_EQ(block % kBlockAlignment, 0) << bytes;
    ASSERT_GE(block, previous) << "a larger request never gets a smaller block: " << bytes;
    ASSERT_EQ(BlockBytes(block), block) << "a block's size is its own block size: " << bytes;
    if (bytes > kSmallBytesMax) {
      ASSERT_EQ(block % kPageBytes, 0) << bytes;
    }
    // A page for whole-page blocks, a cache line for tiny ones, a quarter for the rest.
    ASSERT_LE(block - bytes, std::max({int64_t{63}, bytes / 4, bytes > kSmallBytesMax ? kPageBytes - 1 : 0})) << bytes;
    previous = block;
  }
  EXPECT_EQ(BlockBytes(0), 0);
  EXPECT_EQ(BlockBytes(int64_t{100} << 20), int64_t{100} << 20);
  EXPECT_EQ(BlockBytes((int64_t{100} << 20) + 1), (int64_t{100} << 20) + kPageBytes) << "large blocks are exact to the page";
}

TEST(SizeClasses, LargeAlignmentsTakeWholePages) {
  for (int64_t bytes : {1, 100, 4096, 8192, 8193, 100000}) {
    const int64_t block = BlockBytes(bytes, kPageBytes);
    EXPECT_GT(block, kSmallBytesMax);
    EXPECT_EQ(block % kPageBytes, 0);
    EXPECT_GE(block, bytes);
  }
}

TEST(SizeClasses, IndexNumbersTheQuarterSteps) {
  std::set<int64_t> steps;
  for (int64_t bytes = 1; bytes <= kPooledBytesMax; bytes += 1 + bytes / 1000) steps.insert(QuarterStepBytes(bytes));
  int expected = 0;
  for (int64_t step : steps) EXPECT_EQ(QuarterStepIndex(step), expected++) << step;
  EXPECT_EQ(expected, kClassCount);
}

TEST(SizeClasses, SmallerBlockBytesVisitsEveryPooledSize) {
  std::set<int64_t> expected;
  for (int64_t bytes = kSmallBytesMax + 1; bytes <= kPooledBytesMax; bytes += 1000) expected.insert(BlockBytes(bytes));
  std::set<int64_t> visited;
  for (int64_t block = kPooledBytesMax; block > kSmallBytesMax; block = SmallerBlockBytes(block)) visited.insert(block);
  EXPECT_EQ(visited, expected);
}

}  // namespace
}  // namespace icebound::memory
