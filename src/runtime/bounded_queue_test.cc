// SPDX-License-Identifier: Apache-2.0
#include "runtime/bounded_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

#include "icebound/error.h"
#include "runtime/worker_pool.h"

namespace icebound::runtime {
namespace {

TEST(BoundedQueueTest, KeepsTheOrderOfOneProducer) {
  BoundedQueue<int> queue(10);
  std::vector<int> popped;
  ASSERT_TRUE(RunOnThreads(2, [&](int worker) -> arrow::Status {
                if (worker == 0) {
                  for (int i = 0; i < 1000; ++i) ARROW_RETURN_NOT_OK(queue.Push(i, i % 7));
                  queue.Close();
                  return arrow::Status::OK();
                }
                while (true) {
                  ARROW_ASSIGN_OR_RAISE(const auto item, queue.Pop());
                  if (!item.has_value()) return arrow::Status::OK();
                  popped.push_back(*item);
                }
              }).ok());
  std::vector<int> expected(1000);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(popped, expected);
  EXPECT_EQ(queue.bytes(), 0);
}

TEST(BoundedQueueTest, BytesInTheQueueNeverPassTheCapacityOrOneItem) {
  constexpr int64_t kCapacity = 100;
  BoundedQueue<int64_t> queue(kCapacity);
  std::atomic<int64_t> most{0};
  std::atomic<int64_t> pushed{0}, popped{0};
  std::atomic<int> producers{3};
  ASSERT_TRUE(RunOnThreads(5, [&](int worker) -> arrow::Status {
                std::mt19937 random(worker);
                if (worker < 3) {
                  for (int i = 0; i < 2000; ++i) {
                    const int64_t bytes = 1 + random() % 60;
                    ARROW_RETURN_NOT_OK(queue.Push(bytes, bytes));
                    pushed.fetch_add(bytes);
                    const int64_t held = queue.bytes();
                    int64_t seen = most.load();
                    while (seen < held && !most.compare_exchange_weak(seen, held)) {
                    }
                  }
                  if (producers.fetch_sub(1) == 1) queue.Close();
                  return arrow::Status::OK();
                }
                while (true) {
                  ARROW_ASSIGN_OR_RAISE(const auto item, queue.Pop());
                  if (!item.has_value()) return arrow::Status::OK();
                  popped.fetch_add(*item);
                }
              }).ok());
  EXPECT_EQ(pushed.load(), popped.load());
  EXPECT_LE(most.load(), kCapacity);
}

TEST(BoundedQueueTest, AnItemLargerThanTheCapacityTravelsAlone) {
  BoundedQueue<int> queue(10);
  ASSERT_TRUE(queue.Push(1, 1000).ok());
  EXPECT_EQ(queue.bytes(), 1000);
  std::atomic<bool> second_in{false};
  std::thread producer([&] {
    EXPECT_TRUE(queue.Push(2, 1).ok());
    second_in = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(second_in.load());
  EXPECT_EQ(queue.Pop().ValueOrDie(), 1);
  producer.join();
  EXPECT_EQ(queue.Pop().ValueOrDie(), 2);
}

TEST(BoundedQueueTest, CloseLetsTheRestBePoppedAndRefusesMore) {
  BoundedQueue<int> queue(10);
  ASSERT_TRUE(queue.Push(1, 1).ok());
  queue.Close();
  EXPECT_EQ(GetErrorKind(queue.Push(2, 1)), ErrorKind::kInternal);
  EXPECT_EQ(queue.Pop().ValueOrDie(), 1);
  EXPECT_EQ(queue.Pop().ValueOrDie(), std::nullopt);
  EXPECT_EQ(queue.Pop().ValueOrDie(), std::nullopt);
}

TEST(BoundedQueueTest, CloseWakesAWaitingConsumer) {
  BoundedQueue<int> queue(10);
  std::thread consumer([&] { EXPECT_EQ(queue.Pop().ValueOrDie(), std::nullopt); });
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
  queue.Close();
  consumer.join();
}

TEST(BoundedQueueTest, AbortWakesBothSidesDropsTheItemsAndTheFirstOneCounts) {
  auto item = std::make_shared<int>(7);
  BoundedQueue<std::shared_ptr<int>> full(1);
  BoundedQueue<std::shared_ptr<int>> empty(1);
  ASSERT_TRUE(full.Push(item, 1).ok());
  EXPECT_EQ(item.use_count(), 2);
  std::thread producer([&] { EXPECT_EQ(GetErrorKind(full.Push(item, 1)), ErrorKind::kDiskLimit); });
  std::thread consumer([&] { EXPECT_EQ(GetErrorKind(empty.Pop().status()), ErrorKind::kCancelled); });
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
  full.Abort(MakeError(ErrorKind::kDiskLimit, "full"));
  full.Abort(MakeError(ErrorKind::kCancelled, "too late"));
  empty.Abort(MakeError(ErrorKind::kCancelled, "stopped"));
  producer.join();
  consumer.join();
  EXPECT_EQ(item.use_count(), 1);
  EXPECT_EQ(full.bytes(), 0);
  EXPECT_EQ(GetErrorKind(full.Push(item, 1)), ErrorKind::kDiskLimit);
  EXPECT_EQ(GetErrorKind(full.Pop().status()), ErrorKind::kDiskLimit);
  full.Close();
  EXPECT_EQ(GetErrorKind(full.Pop().status()), ErrorKind::kDiskLimit);
}

TEST(BoundedQueueTest, AbortWithoutAReasonIsStillAnError) {
  BoundedQueue<int> queue(1);
  queue.Abort(arrow::Status::OK());
  EXPECT_EQ(GetErrorKind(queue.Push(1, 1)), ErrorKind::kInternal);
}

TEST(BoundedQueueTest, CarriesItemsThatOnlyMove) {
  BoundedQueue<std::unique_ptr<int>> queue(10);
  ASSERT_TRUE(queue.Push(std::make_unique<int>(3), 1).ok());
  EXPECT_EQ(**queue.Pop().ValueOrDie(), 3);
}

}  // namespace
}  // namespace icebound::runtime
