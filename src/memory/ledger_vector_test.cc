// SPDX-License-Identifier: Apache-2.0
#include "memory/ledger_vector.h"

#include <arrow/testing/gtest_util.h>
#include <gtest/gtest.h>

#include <limits>
#include <numeric>
#include <vector>

#include "icebound/error.h"
#include "memory/memory_testing.h"

namespace icebound::memory {
namespace {

TEST(LedgerVector, BehavesAsAVectorAndChargesItsCapacity) {
  auto ledger = MakeLedger(64 * kMiB);
  auto consumer = ledger->AddConsumer("rows");
  std::vector<uint32_t> model;
  {
    LedgerVector<uint32_t> vector(consumer.get());
    EXPECT_TRUE(vector.empty());
    for (uint32_t i = 0; i < 3'000'000; ++i) {
      ASSERT_OK(vector.Append(i * 7));
      model.push_back(i * 7);
      ASSERT_LE(vector.size(), vector.capacity());
    }
    EXPECT_TRUE(std::equal(vector.begin(), vector.end(), model.begin(), model.end()));
    EXPECT_EQ(consumer->reserved_bytes(), vector.capacity_bytes());
    EXPECT_LE(vector.capacity_bytes(), 3'000'000 * 4 * 2) << "it grows by half";

    ASSERT_OK(vector.Resize(10));
    ASSERT_OK(vector.Resize(20));
    EXPECT_EQ(vector[9], 63u);
    EXPECT_EQ(std::accumulate(vector.begin() + 10, vector.end(), 0u), 0u) << "new values are zero";
    ASSERT_OK(vector.ShrinkToFit());
    EXPECT_EQ(consumer->reserved_bytes(), 128);
    EXPECT_EQ(vector[9], 63u);
    vector.Clear();
    ASSERT_OK(vector.ShrinkToFit());
    EXPECT_EQ(consumer->reserved_bytes(), 0);
    ASSERT_OK(vector.Append(5));
    EXPECT_EQ(vector[0], 5u);

    LedgerVector<uint32_t> moved = std::move(vector);
    EXPECT_EQ(moved[0], 5u);
    EXPECT_EQ(vector.size(), 0);  // NOLINT(bugprone-use-after-move): moved from means empty
    vector = std::move(moved);
    EXPECT_EQ(vector[0], 5u);
  }
  EXPECT_EQ(consumer->reserved_bytes(), 0);
}

TEST(LedgerVector, RefusalLeavesItAsItWas) {
  auto ledger = MakeLedger(64 * kMiB);
  auto consumer = ledger->AddConsumer("rows");
  LedgerVector<int64_t> vector(consumer.get());
  for (int64_t i = 0; i < 1000; ++i) ASSERT_OK(vector.Append(i));
  arrow::Status refused = vector.Reserve(10 * kMiB);
  EXPECT_EQ(GetErrorKind(refused), ErrorKind::kMemoryLimit);
  EXPECT_FALSE(vector.TryReserve(10 * kMiB));
  EXPECT_EQ(GetErrorKind(vector.Reserve(std::numeric_limits<int64_t>::max())), ErrorKind::kMemoryLimit);
  EXPECT_EQ(GetErrorKind(vector.Resize(int64_t{1} << 61)), ErrorKind::kMemoryLimit);
  EXPECT_EQ(vector.size(), 1000);
  EXPECT_EQ(vector[999], 999);
}

TEST(LedgerVector, FillsTheWholeLedgerWithoutASecondCopy) {
  auto ledger = MakeLedger(30 * kMiB);
  auto consumer = ledger->AddConsumer("rows");
  LedgerVector<int64_t> vector(consumer.get());
  constexpr int64_t kStep = 30'000;
  while (vector.Reserve(kStep).ok()) {
    for (int i = 0; i < kStep; ++i) vector.UnsafeAppend(vector.size());
  }
  EXPECT_GE(vector.size() * 8, 30 * kMiB - kStep * 8) << "a half-as-large step that does not fit becomes an exact one";
  for (int64_t i = 0; i < vector.size(); i += 1000) ASSERT_EQ(vector[i], i);
}

TEST(LedgerVector, TryReserveKeepsToTheShare) {
  auto ledger = MakeLedger(64 * kMiB);
  TestSpiller join(ledger.get(), "join");
  TestSpiller sort(ledger.get(), "sort");
  ASSERT_TRUE(join.Take(kMiB));
  LedgerVector<int64_t> vector(sort.consumer());
  EXPECT_TRUE(vector.TryReserve(29 * kMiB / 8));
  EXPECT_FALSE(vector.TryReserve(31 * kMiB / 8));
  EXPECT_OK(vector.Reserve(31 * kMiB / 8));
}

}  // namespace
}  // namespace icebound::memory
