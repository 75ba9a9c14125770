// SPDX-License-Identifier: Apache-2.0
#include "io/wide_pages.h"

#include <arrow/testing/gtest_util.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "base/error.h"

namespace icebound::io {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

TEST(WidePages, NarrowOnesPassFreely) {
  runtime::CancellationToken cancellation;
  WidePageGate gate(2 * kMiB, &cancellation);
  WidePass first(&gate), second(&gate);
  EXPECT_TRUE(first.MayRead(2 * kMiB));
  EXPECT_FALSE(first.held());
  EXPECT_TRUE(first.MayRead(2 * kMiB + 1));
  EXPECT_TRUE(first.held());
  EXPECT_TRUE(second.MayRead(kMiB));
  EXPECT_FALSE(second.MayRead(3 * kMiB));
  EXPECT_TRUE(second.was_refused());
  EXPECT_TRUE(first.MayRead(4 * kMiB));  // whoever has the turn keeps it
  first.Give();
  ASSERT_OK(second.Wait());
  EXPECT_TRUE(second.held());
  EXPECT_FALSE(second.was_refused());
  EXPECT_EQ(first.widest_page_bytes(), 4 * kMiB);
}

TEST(WidePages, OneStreamAtATime) {
  runtime::CancellationToken cancellation;
  WidePageGate gate(kMiB, &cancellation);
  std::atomic<int> inside{0}, most{0}, turns{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      WidePass pass(&gate);
      for (int turn = 0; turn < 200; ++turn) {
        if (!pass.MayRead(2 * kMiB)) ASSERT_OK(pass.Wait());
        const int now = ++inside;
        if (now > most) most = now;
        ++turns;
        std::this_thread::yield();
        --inside;
        pass.Give();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(most, 1);
  EXPECT_EQ(turns, 800);
}

TEST(WidePages, WithoutAGateThereIsNobodyToWaitFor) {
  WidePass pass(nullptr);
  EXPECT_TRUE(pass.MayRead(100 * kMiB));
  EXPECT_FALSE(pass.held());
  ASSERT_OK(pass.Wait());
  EXPECT_TRUE(pass.held());  // it has had its turn: nothing is left to try
  pass.Give();
  EXPECT_FALSE(pass.held());
}

TEST(WidePages, AWaiterCanBeCancelled) {
  runtime::CancellationToken cancellation;
  WidePageGate gate(kMiB, &cancellation);
  WidePass holder(&gate), waiter(&gate);
  ASSERT_TRUE(holder.MayRead(2 * kMiB));
  ASSERT_FALSE(waiter.MayRead(2 * kMiB));
  cancellation.Cancel();
  EXPECT_EQ(GetErrorKind(waiter.Wait()), ErrorKind::kCancelled);
}

TEST(WidePages, OnlyARefusalOfMemoryIsExplained) {
  const arrow::Status refused = MakeError(ErrorKind::kMemoryLimit, "memory limit too small: no");
  const arrow::Status explained = ExplainWideRow(refused, 5 * kMiB);
  EXPECT_EQ(GetErrorKind(explained), ErrorKind::kMemoryLimit);
  EXPECT_THAT(explained.message(), ::testing::StartsWith("memory limit too small"));
  EXPECT_THAT(explained.message(), ::testing::HasSubstr("at least 20 MiB, or to 40 MiB when"));
  EXPECT_EQ(ExplainWideRow(refused, 1000).message(), refused.message());
  EXPECT_TRUE(ExplainWideRow(arrow::Status::OK(), 5 * kMiB).ok());
  const arrow::Status other = MakeError(ErrorKind::kIo, "no");
  EXPECT_EQ(ExplainWideRow(other, 5 * kMiB).message(), other.message());
}

}  // namespace
}  // namespace icebound::io
