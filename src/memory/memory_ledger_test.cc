// SPDX-License-Identifier: Apache-2.0
#include "memory/memory_ledger.h"

#include <arrow/testing/gtest_util.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "icebound/error.h"

namespace icebound::memory {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kMiB = int64_t{1} << 20;

TEST(MemoryLedger, PromiseIsContinuousAndNeverFalls) {
  EXPECT_EQ(PromisedResidentBytes(32 * kMiB), 82 * kMiB);
  EXPECT_EQ(PromisedResidentBytes(64 * kMiB), 114 * kMiB);
  EXPECT_EQ(PromisedResidentBytes(78 * kMiB), 128 * kMiB);
  EXPECT_EQ(PromisedResidentBytes(100 * kMiB), 128 * kMiB);
  EXPECT_EQ(PromisedResidentBytes(128 * kMiB), 128 * kMiB);
  EXPECT_EQ(PromisedResidentBytes(256 * kMiB), 256 * kMiB);
}

TEST(MemoryLedger, ReservesAllocatesAndReturns) {
  ASSERT_OK_AND_ASSIGN(auto ledger, MemoryLedger::Make({.limit_bytes = 64 * kMiB, .baseline_bytes = 14 * kMiB}));
  EXPECT_EQ(ledger->granted_bytes(), 80 * kMiB);
  auto consumer = ledger->AddConsumer("scan");
  ASSERT_OK(consumer->Reserve(10 * kMiB));
  uint8_t* block = nullptr;
  ASSERT_OK(consumer->pool()->Allocate(100000, &block));
  std::memset(block, 1, 100000);
  EXPECT_GE(consumer->reserved_bytes(), 10 * kMiB + 100000);
  ASSERT_OK(consumer->pool()->Reallocate(100000, 9 * kMiB, &block));
  EXPECT_EQ(block[99999], 1);
  arrow::Status refused = consumer->Reserve(75 * kMiB);
  EXPECT_EQ(GetErrorKind(refused), ErrorKind::kMemoryLimit);
  EXPECT_THAT(refused.message(), HasSubstr("scan needs 75.0 MiB more; holding: scan 19.0 MiB; of 80.0 MiB grants"));
  consumer->pool()->Free(block, 9 * kMiB);
  consumer->Release(10 * kMiB);
  EXPECT_EQ(consumer->reserved_bytes(), 0);
  ledger->Trim();
  EXPECT_EQ(ledger->reserved_bytes(), 0);
}

}  // namespace
}  // namespace icebound::memory
