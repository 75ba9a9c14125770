// SPDX-License-Identifier: Apache-2.0
#include "memory/memory_ledger.h"

#include <arrow/buffer.h>
#include <arrow/builder.h>
#include <arrow/testing/gtest_util.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <set>
#include <thread>
#include <vector>

#include "base/error.h"
#include "icebound/error.h"
#include "memory/memory_testing.h"
#include "memory/size_classes.h"

namespace icebound::memory {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// ---- sizes of ledgers ----

TEST(MemoryLedger, PromiseIsContinuousAndNeverFalls) {
  EXPECT_EQ(PromisedResidentBytes(32 * kMiB), 82 * kMiB);
  EXPECT_EQ(PromisedResidentBytes(64 * kMiB), 114 * kMiB);
  EXPECT_EQ(PromisedResidentBytes(78 * kMiB), 128 * kMiB);
  EXPECT_EQ(PromisedResidentBytes(100 * kMiB), 128 * kMiB);
  EXPECT_EQ(PromisedResidentBytes(128 * kMiB), 128 * kMiB);
  EXPECT_EQ(PromisedResidentBytes(256 * kMiB), 256 * kMiB);
  for (int64_t limit = 32 * kMiB; limit < 512 * kMiB; limit += kMiB) {
    const int64_t step = PromisedResidentBytes(limit + kMiB) - PromisedResidentBytes(limit);
    EXPECT_GE(step, 0);
    EXPECT_LE(step, kMiB);
  }
}

TEST(MemoryLedger, GrantsAreWhatThePromiseLeaves) {
  for (int64_t limit : {32 * kMiB, 64 * kMiB, 128 * kMiB, 256 * kMiB, 1024 * kMiB}) {
    ASSERT_OK_AND_ASSIGN(auto ledger, MemoryLedger::Make({.limit_bytes = limit, .baseline_bytes = 6 * kMiB}));
    EXPECT_EQ(ledger->granted_bytes(), PromisedResidentBytes(limit) - 6 * kMiB - 16 * kMiB - 4 * kMiB);
    ASSERT_OK_AND_ASSIGN(auto hosted, MemoryLedger::Make({.limit_bytes = limit, .inside_host = true}));
    EXPECT_EQ(hosted->granted_bytes(), limit + 50 * kMiB - 22 * kMiB - 4 * kMiB);
  }
}

TEST(MemoryLedger, RefusesLimitsThatCannotWork) {
  for (int64_t limit : {int64_t{0}, int64_t{-1}, 16 * kMiB, 32 * kMiB - 1}) {
    auto made = MemoryLedger::Make({.limit_bytes = limit});
    ASSERT_FALSE(made.ok());
    EXPECT_EQ(GetErrorKind(made.status()), ErrorKind::kMemoryLimit);
    EXPECT_EQ(ExitCode(made.status()), 3);
    EXPECT_THAT(made.status().message(), HasSubstr("below the minimum of 32 MiB"));
  }
  EXPECT_THAT(MemoryLedger::Make({.limit_bytes = 16 * kMiB}).status().message(),
              HasSubstr("memory limit 16 MiB is below the minimum of 32 MiB"));

  auto crowded = MemoryLedger::Make({.limit_bytes = 128 * kMiB, .baseline_bytes = 90 * kMiB});
  ASSERT_FALSE(crowded.ok());
  EXPECT_EQ(GetErrorKind(crowded.status()), ErrorKind::kMemoryLimit);
  EXPECT_THAT(crowded.status().message(),
              HasSubstr("memory limit 128 MiB is too small: the process already holds 110.0 MiB and needs "
                        "24.0 MiB more to work, but may have 128.0 MiB in all"));
}

// ---- reservations ----

TEST(MemoryLedger, ReservationsAreCountedAndReturned) {
  auto ledger = MakeLedger(80 * kMiB);
  {
    auto consumer = ledger->AddConsumer("merge");
    EXPECT_EQ(consumer->name(), "merge");
    ASSERT_OK(consumer->Reserve(30 * kMiB));
    EXPECT_TRUE(consumer->TryReserve(10 * kMiB));
    EXPECT_EQ(consumer->reserved_bytes(), 40 * kMiB);
    EXPECT_EQ(ledger->reserved_bytes(), 40 * kMiB);
    EXPECT_EQ(ledger->available_bytes(), 40 * kMiB);
    consumer->Release(25 * kMiB);
    EXPECT_EQ(consumer->reserved_bytes(), 15 * kMiB);
    EXPECT_EQ(consumer->peak_bytes(), 40 * kMiB);
  }
  EXPECT_EQ(ledger->reserved_bytes(), 0) << "a consumer that goes returns what it reserved";
  EXPECT_EQ(ledger->peak_bytes(), 40 * kMiB);
}

TEST(MemoryLedger, RequiredRequestsReachTheLastByteAndNoFurther) {
  auto ledger = MakeLedger(64 * kMiB);
  auto consumer = ledger->AddConsumer("scan");
  ASSERT_OK(consumer->Reserve(64 * kMiB));
  EXPECT_FALSE(consumer->Reserve(1).ok());
  EXPECT_FALSE(consumer->TryReserve(1));
  ASSERT_OK(consumer->Reserve(0));
  EXPECT_TRUE(consumer->TryReserve(0));
  EXPECT_EQ(ledger->reserved_bytes(), 64 * kMiB);
  EXPECT_EQ(consumer->peak_bytes(), 64 * kMiB) << "what was refused never counts";
  consumer->Release(64 * kMiB);
}

TEST(MemoryLedger, OptionalRequestsLeaveTheHeadroom) {
  auto ledger = MakeLedger(64 * kMiB);
  auto sort = ledger->AddConsumer("read ahead");
  int64_t taken = 0;
  while (sort->TryReserve(kMiB / 4)) taken += kMiB / 4;
  EXPECT_EQ(taken, 60 * kMiB) << "a sixteenth is left to required requests";
  auto scan = ledger->AddConsumer("scan");
  EXPECT_OK(scan->Reserve(4 * kMiB));
}

TEST(MemoryLedger, RefusalNamesTheTopConsumers) {
  auto ledger = MakeLedger(80 * kMiB);
  auto scan = ledger->AddConsumer("scan lineitem");
  auto sort = ledger->AddConsumer("sort");
  auto join = ledger->AddConsumer("join");
  ASSERT_OK(scan->Reserve(20 * kMiB + kMiB / 10));
  ASSERT_OK(sort->Reserve(18 * kMiB));
  ASSERT_OK(join->Reserve(35 * kMiB));
  arrow::Status refused = sort->Reserve(12 * kMiB);
  EXPECT_EQ(GetErrorKind(refused), ErrorKind::kMemoryLimit);
  EXPECT_EQ(ExitCode(refused), 3);
  EXPECT_THAT(
      refused.message(),
      HasSubstr(
          "memory limit too small: sort needs 12.0 MiB more; holding: join 35.0 MiB, scan lineitem 20.1 MiB, sort 18.0 MiB; "
          "of 80.0 MiB grants"));
  EXPECT_EQ(ledger->DescribeTopConsumers(2), "join 35.0 MiB, scan lineitem 20.1 MiB, and 1 more");
  EXPECT_EQ(MakeLedger(40 * kMiB)->DescribeTopConsumers(3), "nothing");
}

TEST(MemoryLedger, ReservationFollowsItsScope) {
  auto ledger = MakeLedger(64 * kMiB);
  auto consumer = ledger->AddConsumer("window");
  {
    Reservation reservation(consumer.get());
    ASSERT_OK(reservation.ResizeTo(20 * kMiB));
    ASSERT_OK(reservation.ResizeTo(5 * kMiB));
    EXPECT_EQ(consumer->reserved_bytes(), 5 * kMiB);
    EXPECT_FALSE(reservation.ResizeTo(70 * kMiB).ok());
    EXPECT_EQ(reservation.bytes(), 5 * kMiB) << "a refused resize changes nothing";
    Reservation moved = std::move(reservation);
    EXPECT_TRUE(moved.TryResizeTo(6 * kMiB));
    EXPECT_EQ(consumer->reserved_bytes(), 6 * kMiB);
  }
  EXPECT_EQ(consumer->reserved_bytes(), 0);
}

// ---- pools ----

TEST(ConsumerPool, ChargesBlocksAndCountsBytes) {
  auto ledger = MakeLedger(64 * kMiB);
  auto consumer = ledger->AddConsumer("scan");
  arrow::MemoryPool* pool = consumer->pool();
  EXPECT_EQ(pool->backend_name(), "icebound");
  uint8_t* block = nullptr;
  ASSERT_OK(pool->Allocate(100000, &block));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % 64, 0u);
  EXPECT_EQ(pool->bytes_allocated(), 100000);
  EXPECT_EQ(consumer->reserved_bytes(), BlockBytes(100000));
  EXPECT_EQ(ledger->reserved_bytes(), BlockBytes(100000));
  std::memset(block, 9, 100000);
  ASSERT_OK(pool->Reallocate(100000, 9 * kMiB, &block));
  EXPECT_EQ(block[99999], 9);
  EXPECT_EQ(pool->bytes_allocated(), 9 * kMiB);
  EXPECT_EQ(pool->max_memory(), 9 * kMiB);
  ASSERT_OK(pool->Reallocate(9 * kMiB, 1000, &block));
  EXPECT_EQ(block[999], 9);
  EXPECT_EQ(pool->bytes_allocated(), 1000);
  EXPECT_EQ(consumer->reserved_bytes(), BlockBytes(1000));
  pool->Free(block, 1000);
  EXPECT_EQ(pool->bytes_allocated(), 0);
  EXPECT_EQ(pool->num_allocations(), 2);
  EXPECT_EQ(pool->total_bytes_allocated(), 9 * kMiB);
  EXPECT_EQ(consumer->reserved_bytes(), 0);
  EXPECT_EQ(consumer->peak_bytes(), 9 * kMiB);
}

TEST(ConsumerPool, EmptyAndSenselessRequests) {
  auto ledger = MakeLedger(64 * kMiB);
  arrow::MemoryPool* pool = ledger->pool();
  uint8_t* block = nullptr;
  ASSERT_OK(pool->Allocate(0, &block));
  ASSERT_NE(block, nullptr);
  ASSERT_OK(pool->Reallocate(0, 100, &block));
  ASSERT_OK(pool->Reallocate(100, 0, &block));
  pool->Free(block, 0);
  EXPECT_EQ(GetErrorKind(pool->Allocate(-1, &block)), ErrorKind::kInternal);
  for (int64_t senseless : {std::numeric_limits<int64_t>::max(), int64_t{1} << 62, 65 * kMiB}) {
    EXPECT_EQ(GetErrorKind(pool->Allocate(senseless, &block)), ErrorKind::kMemoryLimit);
  }
  EXPECT_EQ(GetErrorKind(pool->Allocate(10, 48, &block)), ErrorKind::kInternal);
  EXPECT_EQ(GetErrorKind(pool->Allocate(10, 8192, &block)), ErrorKind::kInternal);
  ASSERT_OK(pool->Allocate(10, 4096, &block));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % 4096, 0u);
  pool->Free(block, 10, 4096);
  EXPECT_EQ(pool->bytes_allocated(), 0);
}

TEST(ConsumerPool, RefusalPassesThroughArrow) {
  auto ledger = MakeLedger(64 * kMiB);
  auto consumer = ledger->AddConsumer("project");
  arrow::Int64Builder builder(consumer->pool());
  ASSERT_OK(builder.AppendValues(std::vector<int64_t>(1000, 7)));
  arrow::Status status = builder.Reserve(100 * kMiB);
  EXPECT_EQ(GetErrorKind(status), ErrorKind::kMemoryLimit);
  EXPECT_TRUE(status.IsOutOfMemory());
  EXPECT_THAT(status.message(), HasSubstr("project needs"));
  ASSERT_OK_AND_ASSIGN(auto array, builder.Finish());
  EXPECT_EQ(array->length(), 1000);
}

TEST(ConsumerPool, BuffersOutliveTheirConsumer) {
  auto ledger = MakeLedger(64 * kMiB);
  std::shared_ptr<arrow::Buffer> buffer;
  std::shared_ptr<arrow::ResizableBuffer> empty;
  {
    auto scan = ledger->AddConsumer("scan");
    ASSERT_OK(scan->Reserve(3 * kMiB));
    ASSERT_OK_AND_ASSIGN(buffer, arrow::AllocateBuffer(10 * kMiB, scan->pool()));
    ASSERT_OK_AND_ASSIGN(empty, arrow::AllocateResizableBuffer(0, scan->pool()));
  }
  EXPECT_EQ(ledger->reserved_bytes(), 10 * kMiB) << "the reservation went, the buffer stays charged";
  EXPECT_EQ(ledger->DescribeTopConsumers(3), "scan 10.0 MiB");
  std::memset(buffer->mutable_data(), 1, 10 * kMiB);
  // Whatever consumers come and go meanwhile.
  for (int i = 0; i < 500; ++i) {
    auto other = ledger->AddConsumer("other");
    ASSERT_OK(other->Reserve(kMiB));
  }
  EXPECT_EQ(ledger->DescribeTopConsumers(3), "scan 10.0 MiB");
  empty.reset();
  buffer.reset();
  EXPECT_EQ(ledger->reserved_bytes(), 0);
}

TEST(ConsumerPool, ConsumersOfManyStatementsShareFewAccounts) {
  auto ledger = MakeLedger(64 * kMiB);
  std::set<arrow::MemoryPool*> pools;
  for (int i = 0; i < 10000; ++i) pools.insert(ledger->AddConsumer("sort")->pool());
  EXPECT_LT(pools.size(), 100u);
}

TEST(ConsumerPool, FreeBlocksServeOthersBeforeAnybodyIsRefused) {
  auto ledger = MakeLedger(64 * kMiB);
  auto scan = ledger->AddConsumer("scan");
  auto sort = ledger->AddConsumer("sort");
  std::vector<std::shared_ptr<arrow::Buffer>> buffers;
  for (int i = 0; i < 50; ++i) {
    ASSERT_OK_AND_ASSIGN(buffers.emplace_back(), arrow::AllocateBuffer(kMiB, scan->pool()));
  }
  buffers.clear();
  EXPECT_GT(ledger->reserved_bytes(), 0) << "some are kept for reuse, and still counted";
  EXPECT_EQ(ledger->available_bytes(), 64 * kMiB) << "but can be had";
  ASSERT_OK(sort->Reserve(64 * kMiB));
  EXPECT_EQ(ledger->reserved_bytes(), 64 * kMiB);
}

TEST(ConsumerPool, ShrinkingNeedsNoRoom) {
  auto ledger = MakeLedger(64 * kMiB);
  auto scan = ledger->AddConsumer("scan");
  for (int64_t large : {1 << 10, 8 << 10, 30 << 10, 100 << 10, 600 << 10, 8 << 20}) {
    for (int64_t small : {64, 700, 5000, 20 << 10, 300 << 10}) {
      if (small >= large) continue;
      uint8_t* block = nullptr;
      ASSERT_OK(scan->pool()->Allocate(large, &block));
      ledger->Trim();
      ASSERT_OK(scan->Reserve(ledger->available_bytes()));
      ASSERT_OK(scan->pool()->Reallocate(large, small, &block)) << large << " to " << small;
      scan->pool()->Free(block, small);
      scan->Release(scan->reserved_bytes());
    }
  }
}

TEST(ConsumerPool, TryPoolKeepsToTheShare) {
  auto ledger = MakeLedger(64 * kMiB);
  TestSpiller sort(ledger.get(), "sort");
  TestSpiller join(ledger.get(), "join");
  ASSERT_TRUE(join.Take(kMiB));
  ASSERT_EQ(sort.consumer()->share_bytes(), 30 * kMiB);
  std::vector<std::shared_ptr<arrow::Buffer>> buffers;
  while (true) {
    auto buffer = arrow::AllocateBuffer(kMiB, sort.consumer()->try_pool());
    if (!buffer.ok()) {
      EXPECT_EQ(GetErrorKind(buffer.status()), ErrorKind::kMemoryLimit);
      break;
    }
    buffers.push_back(std::move(*buffer));
  }
  EXPECT_EQ(buffers.size(), 30u);
  EXPECT_TRUE(arrow::AllocateBuffer(kMiB, sort.consumer()->pool()).ok()) << "what the plan cannot do without may pass the share";
  EXPECT_EQ(sort.reclaim_calls() + join.reclaim_calls(), 0);
}

TEST(ConsumerPool, BuffersMayOutliveTheLedgersOwner) {
  auto ledger = MakeLedger(64 * kMiB);
  auto scan = ledger->AddConsumer("scan");
  std::shared_ptr<arrow::Buffer> large, small;
  ASSERT_OK_AND_ASSIGN(large, arrow::AllocateBuffer(3 * kMiB, scan->pool()));
  ASSERT_OK_AND_ASSIGN(small, arrow::AllocateBuffer(100, scan->pool()));
  ASSERT_OK_AND_ASSIGN(const std::shared_ptr<arrow::Buffer> empty, arrow::AllocateBuffer(0, ledger->pool()));
  std::memset(large->mutable_data(), 7, 3 * kMiB);
  scan.reset();
  ledger.reset();
  EXPECT_EQ(large->data()[3 * kMiB - 1], 7);
  large.reset();
  EXPECT_EQ(small->size(), 100);
  small.reset();
  // Memory checkers see here whether the ledger went with the last of them.
}

// ---- the process ----

TEST(ProbeResidentMemory, SeesTouchedPages) {
  const ResidentMemory before = ProbeResidentMemory();
  EXPECT_GT(before.current_bytes, 0);
  EXPECT_GE(before.peak_bytes, before.anonymous_bytes);
  auto ledger = MakeLedger(64 * kMiB);
  ASSERT_OK_AND_ASSIGN(auto buffer, arrow::AllocateBuffer(20 * kMiB, ledger->pool()));
  std::memset(buffer->mutable_data(), 1, 20 * kMiB);
  EXPECT_GE(ProbeResidentMemory().anonymous_bytes - before.anonymous_bytes, 19 * kMiB);
}

}  // namespace
}  // namespace icebound::memory
