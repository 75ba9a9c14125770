// SPDX-License-Identifier: Apache-2.0
//
// Who gets memory when there is not enough for everybody.
#include <arrow/buffer.h>
#include <arrow/testing/gtest_util.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <random>
#include <thread>
#include <vector>

#include "base/error.h"
#include "icebound/error.h"
#include "memory/memory_testing.h"

namespace icebound::memory {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

/// The ledger of a 512 MiB session; optional requests may have `kLendable` of it.
constexpr int64_t kGrants = 480 * kMiB;
constexpr int64_t kLendable = kGrants - 8 * kMiB;

// ---- the table of the request: a sort, a sort and a join, three operators; fair and greedy ----

TEST(FairShares, OneOperatorMayHaveAll) {
  auto ledger = MakeLedger(kGrants);
  TestSpiller sort(ledger.get(), "sort");
  EXPECT_EQ(sort.consumer()->share_bytes(), kLendable);
  EXPECT_EQ(sort.TakeUntilRefused(kMiB), kLendable);
  EXPECT_EQ(sort.reclaim_calls(), 0) << "nobody spills for itself behind its back";
}

TEST(FairShares, TwoGetHalfEachAndBothSpill) {
  auto ledger = MakeLedger(kGrants);
  TestSpiller sort(ledger.get(), "sort");
  TestSpiller join(ledger.get(), "join");
  EXPECT_EQ(sort.TakeUntilRefused(kMiB), kLendable) << "an idle operator takes nothing away";
  EXPECT_EQ(join.TakeUntilRefused(kMiB), kLendable / 2) << "its half is there although the other had all";
  EXPECT_GT(sort.spilled_bytes(), 0);
  EXPECT_EQ(join.spilled_bytes(), 0);
  EXPECT_EQ(sort.TakeUntilRefused(kMiB), kLendable / 2);
  EXPECT_EQ(join.consumer()->reserved_bytes(), kLendable / 2) << "nobody within its share is disturbed";
  join.SpillAll();
  EXPECT_EQ(join.TakeUntilRefused(kMiB), kLendable / 2);
}

TEST(FairShares, ThreeGetAThirdEach) {
  auto ledger = MakeLedger(kGrants);
  TestSpiller sort(ledger.get(), "sort");
  TestSpiller join(ledger.get(), "join");
  TestSpiller aggregate(ledger.get(), "aggregate");
  const int64_t step = kMiB / 64;
  for (TestSpiller* spiller : {&sort, &join, &aggregate}) spiller->TakeUntilRefused(step);
  for (TestSpiller* spiller : {&sort, &join, &aggregate}) {
    EXPECT_LE(spiller->consumer()->reserved_bytes(), kLendable / 3);
    EXPECT_GT(spiller->consumer()->reserved_bytes(), kLendable / 3 - step);
    EXPECT_EQ(spiller->consumer()->share_bytes(), kLendable / 3);
  }
}

TEST(FairShares, WhoSpillsEverythingIsOutUntilItComesBack) {
  auto ledger = MakeLedger(kGrants);
  TestSpiller sort(ledger.get(), "sort");
  TestSpiller join(ledger.get(), "join");
  sort.set_spills_whole(true);
  sort.TakeUntilRefused(kMiB);
  EXPECT_EQ(join.TakeUntilRefused(kMiB), kLendable) << "the sort's run is on disk, so the join is alone";
  EXPECT_EQ(sort.TakeUntilRefused(kMiB), kLendable / 2);
  EXPECT_EQ(join.consumer()->reserved_bytes(), kLendable / 2) << "only the excess was taken from it";
}

TEST(FairShares, GrowAgainWhenAnotherFinishes) {
  auto ledger = MakeLedger(kGrants);
  TestSpiller sort(ledger.get(), "sort");
  {
    TestSpiller join(ledger.get(), "join");
    ASSERT_TRUE(join.Take(kMiB));
    EXPECT_EQ(sort.TakeUntilRefused(kMiB), kLendable / 2);
    join.SpillAll();
    EXPECT_EQ(sort.consumer()->share_bytes(), kLendable) << "one that holds nothing is not active";
    ASSERT_TRUE(join.Take(kMiB));
    EXPECT_EQ(sort.consumer()->share_bytes(), kLendable / 2);
  }
  EXPECT_EQ(sort.TakeUntilRefused(kMiB), kLendable);
}

TEST(FairShares, UnspillableOnesComeFirst) {
  auto ledger = MakeLedger(kGrants);
  TestSpiller sort(ledger.get(), "sort");
  TestSpiller join(ledger.get(), "join");
  auto scan = ledger->AddConsumer("scan");
  EXPECT_EQ(scan->share_bytes(), kGrants);
  ASSERT_OK(scan->Reserve(72 * kMiB));
  EXPECT_EQ(sort.TakeUntilRefused(kMiB), kLendable - 72 * kMiB);
  EXPECT_EQ(join.TakeUntilRefused(kMiB), (kLendable - 72 * kMiB) / 2);
}

TEST(FairShares, PoolAndReservationsOfOneConsumerCountTogether) {
  auto ledger = MakeLedger(kGrants);
  TestSpiller sort(ledger.get(), "sort");
  ASSERT_OK_AND_ASSIGN(auto buffer, arrow::AllocateBuffer(100 * kMiB, sort.consumer()->pool()));
  EXPECT_EQ(sort.TakeUntilRefused(kMiB), kLendable);
  EXPECT_EQ(sort.consumer()->share_bytes(), kLendable);
}

TEST(FairShares, BuffersOfAFinishedConsumerAreNobodysShare) {
  auto ledger = MakeLedger(kGrants);
  std::shared_ptr<arrow::Buffer> result;
  {
    TestSpiller first(ledger.get(), "first");
    ASSERT_OK_AND_ASSIGN(result, arrow::AllocateBuffer(100 * kMiB, first.consumer()->pool()));
  }
  TestSpiller second(ledger.get(), "second");
  EXPECT_EQ(second.consumer()->share_bytes(), kLendable - 100 * kMiB);
}

TEST(Greedy, TheFirstTakesAllAndTheSecondStillFinishes) {
  auto ledger = MakeLedger(kGrants, PoolPolicy::kGreedy);
  TestSpiller sort(ledger.get(), "sort");
  TestSpiller join(ledger.get(), "join");
  EXPECT_EQ(sort.TakeUntilRefused(kMiB), kLendable);
  // The join comes with empty hands: the largest spills for it. Afterwards it is on its own.
  ASSERT_TRUE(join.Take(10 * kMiB));
  EXPECT_EQ(sort.reclaim_calls(), 1);
  EXPECT_EQ(sort.consumer()->reserved_bytes(), kLendable - 10 * kMiB) << "the first keeps the rest: greedy has no shares";
  EXPECT_FALSE(join.Take(kMiB)) << "it holds something, so it can spill that";
  // A join of 400 MiB ends in what it can get, spilling as it goes, and so does another operator after it.
  for (TestSpiller* spiller : {&join, &sort}) {
    int64_t done = 0;
    while (done < 400 * kMiB) {
      if (spiller->Take(5 * kMiB)) {
        done += 5 * kMiB;
      } else {
        ASSERT_GT(spiller->SpillAll(), 0) << "refused with nothing left to spill";
      }
    }
  }
}

TEST(Greedy, RequiredRequestsReclaimTheLargest) {
  auto ledger = MakeLedger(kGrants, PoolPolicy::kGreedy);
  TestSpiller small(ledger.get(), "small");
  TestSpiller large(ledger.get(), "large");
  ASSERT_TRUE(small.Take(100 * kMiB));
  ASSERT_TRUE(large.Take(300 * kMiB));
  auto scan = ledger->AddConsumer("scan");
  ASSERT_OK(scan->Reserve(100 * kMiB));
  EXPECT_EQ(large.reclaim_calls(), 1);
  EXPECT_EQ(small.reclaim_calls(), 0);
}

// ---- reclaim ----

TEST(Reclaim, UnspillableRequestsMakeTheLargestSpill) {
  auto ledger = MakeLedger(kGrants);
  TestSpiller small(ledger.get(), "small");
  TestSpiller large(ledger.get(), "large");
  ASSERT_TRUE(small.Take(100 * kMiB));
  ASSERT_TRUE(large.Take(200 * kMiB));
  auto scan = ledger->AddConsumer("scan");
  ASSERT_OK_AND_ASSIGN(auto first, arrow::AllocateBuffer(200 * kMiB, scan->pool()));
  EXPECT_EQ(large.reclaim_calls(), 1);
  EXPECT_EQ(small.reclaim_calls(), 0);
  ASSERT_OK_AND_ASSIGN(auto second, arrow::AllocateBuffer(250 * kMiB, scan->pool()));
  EXPECT_EQ(small.reclaim_calls(), 1) << "then the next, until it fits";
}

TEST(Reclaim, AnImpossibleRequestDisturbsNobody) {
  auto ledger = MakeLedger(kGrants);
  TestSpiller sort(ledger.get(), "sort");
  ASSERT_TRUE(sort.Take(100 * kMiB));
  auto scan = ledger->AddConsumer("scan");
  EXPECT_EQ(GetErrorKind(scan->Reserve(kGrants + 1)), ErrorKind::kMemoryLimit);
  EXPECT_FALSE(scan->TryReserve(kGrants + 1));
  EXPECT_EQ(sort.reclaim_calls(), 0);
}

TEST(Reclaim, NobodyReclaimsFromItself) {
  auto ledger = MakeLedger(kGrants, PoolPolicy::kFair, /*stall_timeout_ms=*/50);
  TestSpiller sort(ledger.get(), "sort");
  sort.TakeUntilRefused(kMiB);
  EXPECT_FALSE(sort.consumer()->Reserve(100 * kMiB).ok());
  EXPECT_EQ(sort.reclaim_calls(), 0);
}

TEST(Reclaim, ABusyConsumerIsAskedAndAnswersAtItsNextBatch) {
  auto ledger = MakeLedger(kGrants);
  TestSpiller sort(ledger.get(), "sort");
  ASSERT_TRUE(sort.Take(400 * kMiB));
  sort.set_busy(true);
  std::atomic<bool> stop{false};
  std::thread sorting([&] {
    while (!stop) {
      std::this_thread::sleep_for(milliseconds(2));
      if (sort.consumer()->reclaim_requested()) sort.SpillAll();
    }
  });
  auto scan = ledger->AddConsumer("scan");
  EXPECT_OK(scan->Reserve(200 * kMiB));
  stop = true;
  sorting.join();
  EXPECT_GE(sort.spilled_bytes(), 400 * kMiB);
  EXPECT_FALSE(sort.consumer()->reclaim_requested()) << "its Release answered the request";
}

TEST(Reclaim, ABusyConsumerThatBecomesIdleIsAskedAgain) {
  auto ledger = MakeLedger(kGrants);
  TestSpiller sort(ledger.get(), "sort");
  ASSERT_TRUE(sort.Take(400 * kMiB));
  sort.set_busy(true);
  std::thread finishing([&] {
    while (sort.reclaim_calls() == 0) std::this_thread::sleep_for(milliseconds(1));
    sort.set_busy(false);  // it will not poll again: its input is at its end
  });
  auto scan = ledger->AddConsumer("scan");
  EXPECT_OK(scan->Reserve(200 * kMiB));
  finishing.join();
  EXPECT_GE(sort.reclaim_calls(), 2);
}

TEST(Reclaim, AConsumerThatStaysBusyFailsTheRequestNotTheProcess) {
  auto ledger = MakeLedger(kGrants, PoolPolicy::kFair, /*stall_timeout_ms=*/100);
  TestSpiller sort(ledger.get(), "sort");
  ASSERT_TRUE(sort.Take(400 * kMiB));
  sort.set_busy(true);
  auto scan = ledger->AddConsumer("scan");
  arrow::Status refused = scan->Reserve(200 * kMiB);
  EXPECT_EQ(GetErrorKind(refused), ErrorKind::kMemoryLimit);
  EXPECT_THAT(refused.message(), HasSubstr("scan needs 200.0 MiB more; holding: sort 400.0 MiB"));
  EXPECT_EQ(ledger->reserved_bytes(), 400 * kMiB);
  EXPECT_FALSE(sort.consumer()->reclaim_requested()) << "nobody spills for a request that is no more";
}

TEST(Reclaim, AFailedSpillIsTheErrorOfTheRequest) {
  auto ledger = MakeLedger(kGrants);
  TestSpiller sort(ledger.get(), "sort");
  ASSERT_TRUE(sort.Take(400 * kMiB));
  sort.set_failure(MakeError(ErrorKind::kDiskLimit, "spill directory is full"));
  auto scan = ledger->AddConsumer("scan");
  EXPECT_EQ(GetErrorKind(scan->Reserve(200 * kMiB)), ErrorKind::kDiskLimit);
  EXPECT_FALSE(scan->TryReserve(200 * kMiB));
}

TEST(Reclaim, ARequestMetByOtherMeansIsWithdrawn) {
  auto ledger = MakeLedger(kGrants);
  TestSpiller sort(ledger.get(), "sort");
  ASSERT_TRUE(sort.Take(200 * kMiB));
  sort.set_busy(true);
  auto other = ledger->AddConsumer("other");
  ASSERT_OK(other->Reserve(200 * kMiB));
  std::thread releasing([&] {
    while (!sort.consumer()->reclaim_requested()) std::this_thread::sleep_for(milliseconds(1));
    other->Release(200 * kMiB);
  });
  auto scan = ledger->AddConsumer("scan");
  EXPECT_OK(scan->Reserve(100 * kMiB));
  releasing.join();
  EXPECT_FALSE(sort.consumer()->reclaim_requested());
  EXPECT_EQ(sort.spilled_bytes(), 0);
}

TEST(Reclaim, ASpillThatMustAllocateLivesOnTheEmergencyReserve) {
  auto ledger = MakeLedger(kGrants);
  TestSpiller sort(ledger.get(), "sort");
  ASSERT_TRUE(sort.Take(400 * kMiB));
  auto scan = ledger->AddConsumer("scan");
  ASSERT_OK(scan->Reserve(80 * kMiB));
  sort.set_workspace_bytes(kMiB);
  EXPECT_OK(scan->Reserve(kMiB));
  EXPECT_LE(ledger->peak_bytes(), kGrants + kMiB);
  sort.set_workspace_bytes(100 * kMiB);
  ASSERT_OK(scan->Reserve(ledger->available_bytes()));
  EXPECT_EQ(GetErrorKind(scan->Reserve(kMiB)), ErrorKind::kMemoryLimit) << "but not beyond it, and without recursion";
}

TEST(Reclaim, AWaitingRequestGetsWhatAnotherThreadReleases) {
  auto ledger = MakeLedger(kGrants);
  auto first = ledger->AddConsumer("first");
  ASSERT_OK(first->Reserve(400 * kMiB));
  std::thread releasing([&] {
    std::this_thread::sleep_for(milliseconds(30));
    first->Release(400 * kMiB);
  });
  auto second = ledger->AddConsumer("second");
  EXPECT_OK(second->Reserve(400 * kMiB));
  releasing.join();
}

TEST(Reclaim, AConsumerMayGoWhileItIsReclaimedFrom) {
  auto ledger = MakeLedger(64 * kMiB);
  std::atomic<bool> stop{false};
  std::thread scanning([&] {
    auto scan = ledger->AddConsumer("scan");
    while (!stop) {
      // With 50 MiB to have, each of these needs whatever the other thread's consumers hold.
      if (scan->Reserve(50 * kMiB).ok()) scan->Release(50 * kMiB);
    }
  });
  for (int i = 0; i < 300; ++i) {
    TestSpiller sort(ledger.get(), "sort");
    sort.Take(20 * kMiB);
    if (i % 3 == 0) std::this_thread::yield();
  }
  stop = true;
  scanning.join();
  EXPECT_EQ(ledger->reserved_bytes(), 0);
}

// ---- contention ----

TEST(Contention, AGrabberOfEveryFreedByteStarvesNobody) {
  // Somebody takes all there is, gives every now and then a little back, and takes it again at once. A sort that spilled, and
  // now needs its merge buffers, must get them.
  auto ledger = MakeLedger(64 * kMiB);
  std::atomic<bool> stop{false};
  std::atomic<int64_t> grabbed_times{0};
  auto grabber = ledger->AddConsumer("grabber");
  std::thread grabbing([&] {
    int64_t held = 0;
    while (!stop) {
      while (grabber->TryReserve(kMiB)) {
        held += kMiB;
        ++grabbed_times;
      }
      if (held > 0) {
        grabber->Release(kMiB);
        held -= kMiB;
      }
    }
    grabber->Release(held);
  });
  while (grabbed_times < 50) std::this_thread::yield();
  TestSpiller sort(ledger.get(), "sort");
  for (int i = 0; i < 50; ++i) {
    ASSERT_OK(sort.consumer()->Reserve(6 * kMiB)) << "round " << i;
    sort.consumer()->Release(6 * kMiB);
  }
  stop = true;
  grabbing.join();
}

TEST(Contention, ASpillableGrabberIsHeldToItsShare) {
  auto ledger = MakeLedger(64 * kMiB);
  std::atomic<bool> stop{false};
  TestSpiller grabber(ledger.get(), "grabber");
  std::atomic<bool> full{false};
  std::thread grabbing([&] {
    while (!stop) {
      grabber.TakeUntilRefused(kMiB / 2);
      full = true;
      if (grabber.consumer()->reclaim_requested()) grabber.SpillAll();
    }
  });
  while (!full) std::this_thread::yield();
  TestSpiller sort(ledger.get(), "sort");
  ASSERT_TRUE(sort.Take(kMiB));
  // 60 MiB are lendable: with both active each may have 30, whatever the other does.
  int refused = 0;
  while (sort.consumer()->reserved_bytes() < 30 * kMiB && refused < 1000) {
    if (!sort.Take(kMiB)) ++refused;
  }
  EXPECT_EQ(sort.consumer()->reserved_bytes(), 30 * kMiB) << refused << " refusals";
  stop = true;
  grabbing.join();
  EXPECT_LE(grabber.consumer()->reserved_bytes(), 30 * kMiB);
}

/// An operator of the stress test: takes, allocates, spills, and never holds both its lock and a ledger call.
void RunOperator(MemoryLedger* ledger, int number, int rounds, std::atomic<int>* unexpected) {
  std::mt19937_64 random(static_cast<uint64_t>(number));
  for (int round = 0; round < rounds; ++round) {
    TestSpiller spiller(ledger, "operator " + std::to_string(number));
    std::vector<std::shared_ptr<arrow::Buffer>> buffers;
    for (int step = 0; step < 60; ++step) {
      if (spiller.consumer()->reclaim_requested()) spiller.SpillAll();
      if (!spiller.Take(static_cast<int64_t>(random() % (2 * kMiB)) + 1)) spiller.SpillAll();
      auto buffer = arrow::AllocateBuffer(static_cast<int64_t>(random() % (256 << 10)), spiller.consumer()->pool());
      if (!buffer.ok()) {
        if (GetErrorKind(buffer.status()) != ErrorKind::kMemoryLimit) ++*unexpected;
        spiller.SpillAll();
        continue;
      }
      if ((*buffer)->size() > 0) (*buffer)->mutable_data()[0] = 1;
      buffers.push_back(std::move(*buffer));
      if (buffers.size() > 8) buffers.erase(buffers.begin() + static_cast<int64_t>(random() % buffers.size()));
      if (ledger->reserved_bytes() > ledger->granted_bytes() + (128 << 10)) ++*unexpected;
    }
  }
}

TEST(Contention, ManyOperatorsOnManyThreads) {
  for (PoolPolicy policy : {PoolPolicy::kFair, PoolPolicy::kGreedy}) {
    auto ledger = MakeLedger(48 * kMiB, policy);
    std::atomic<int> unexpected{0};
    std::atomic<bool> stop{false};
    std::vector<std::thread> threads;
    for (int number = 0; number < 6; ++number) {
      threads.emplace_back([&, number] { RunOperator(ledger.get(), number, 8, &unexpected); });
    }
    std::thread observer([&] {
      while (!stop) {
        EXPECT_FALSE(ledger->DescribeTopConsumers(3).empty());
        EXPECT_GE(ledger->available_bytes(), 0);
        std::this_thread::sleep_for(milliseconds(1));
      }
    });
    for (auto& thread : threads) thread.join();
    stop = true;
    observer.join();
    EXPECT_EQ(unexpected, 0);
    EXPECT_LE(ledger->peak_bytes(), ledger->granted_bytes() + (128 << 10));
    ledger->Trim();
    EXPECT_EQ(ledger->reserved_bytes(), 0);
    EXPECT_EQ(ledger->DescribeTopConsumers(3), "nothing");
  }
}

}  // namespace
}  // namespace icebound::memory
