// SPDX-License-Identifier: Apache-2.0
#include "base/injection.h"

#include <arrow/result.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <thread>
#include <vector>

#include "base/error.h"
#include "icebound/error.h"

namespace icebound {
namespace {

#ifndef ICEBOUND_INJECTION
TEST(Injection, IsCompiledOut) { GTEST_SKIP() << "built without ICEBOUND_INJECTION"; }
#else

arrow::Status Write() {
  ICEBOUND_INJECT("test.write");
  return arrow::Status::OK();
}

arrow::Result<int> Read() {
  ICEBOUND_INJECT("test.read");
  return 42;
}

TEST(Injection, DoesNothingWhenNothingIsArmed) {
  EXPECT_TRUE(Write().ok());
  EXPECT_EQ(*Read(), 42);
}

TEST(Injection, FailsTheNthHitOnly) {
  ScopedInjection armed("test.write", ScopedInjection::FailOnHit(3, MakeError(ErrorKind::kDiskLimit, "disk full")));
  EXPECT_TRUE(Write().ok());
  EXPECT_TRUE(Write().ok());
  EXPECT_EQ(GetErrorKind(Write()), ErrorKind::kDiskLimit);
  EXPECT_TRUE(Write().ok());
  EXPECT_EQ(armed.hits(), 4);
  EXPECT_TRUE(Read().ok()) << "another point is not touched";
}

TEST(Injection, FailsFromTheNthHitOn) {
  ScopedInjection armed("test.read", ScopedInjection::FailFromHit(2, MakeError(ErrorKind::kIo, "gone")));
  EXPECT_TRUE(Read().ok());
  EXPECT_FALSE(Read().ok());
  EXPECT_EQ(GetErrorKind(Read().status()), ErrorKind::kIo);
}

TEST(Injection, EndsWithItsScopeAndTheInnerOneWins) {
  ScopedInjection outer("test.write", ScopedInjection::FailFromHit(1, MakeError(ErrorKind::kIo, "outer")));
  {
    ScopedInjection inner("test.write", ScopedInjection::FailFromHit(1, MakeError(ErrorKind::kDiskLimit, "inner")));
    EXPECT_EQ(GetErrorKind(Write()), ErrorKind::kDiskLimit);
  }
  EXPECT_EQ(GetErrorKind(Write()), ErrorKind::kIo);
}

TEST(Injection, CountsHitsOfAllThreadsOnce) {
  std::atomic<int> failures{0};
  ScopedInjection armed("test.write", ScopedInjection::FailOnHit(500, MakeError(ErrorKind::kIo, "once")));
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < 250; ++n) {
        if (!Write().ok()) ++failures;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(armed.hits(), 1000);
  EXPECT_EQ(failures, 1);
}

TEST(Injection, DisarmingWaitsForARunningCallback) {
  std::promise<void> entered;
  std::promise<void> leave;
  std::atomic<bool> left{false};
  std::thread thread;
  {
    ScopedInjection armed("test.write", [&](int64_t) {
      entered.set_value();
      leave.get_future().wait();
      left = true;
      return arrow::Status::OK();
    });
    thread = std::thread([] { IgnoreError(Write()); });
    entered.get_future().wait();
    leave.set_value();
  }
  EXPECT_TRUE(left);
  thread.join();
}

#endif  // ICEBOUND_INJECTION

}  // namespace
}  // namespace icebound
