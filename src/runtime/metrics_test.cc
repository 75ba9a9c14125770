// SPDX-License-Identifier: Apache-2.0
#include "runtime/metrics.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "icebound/error.h"
#include "runtime/cancellation.h"
#include "runtime/operator_timer.h"
#include "runtime/worker_pool.h"

namespace icebound::runtime {
namespace {

TEST(MetricsTest, ReferencesStayValidWhileWorkersAddOperators) {
  MetricsRegistry registry;
  OperatorMetrics& first = registry.AddOperator("first");
  ASSERT_TRUE(RunOnThreads(4, [&](int worker) {
                for (int i = 0; i < 200; ++i) {
                  registry.AddOperator("worker " + std::to_string(worker)).rows.fetch_add(i);
                  first.rows.fetch_add(1);
                }
                return arrow::Status::OK();
              }).ok());
  int operators = 0;
  int64_t rows = 0;
  registry.ForEachOperator([&](const OperatorMetrics& metrics) {
    ++operators;
    rows += metrics.rows.load();
  });
  EXPECT_EQ(operators, 801);
  EXPECT_EQ(rows, 800 + 4 * (199 * 200 / 2));
}

TEST(MetricsTest, RaiseToKeepsTheLargestOfAllThreads) {
  std::atomic<int64_t> peak{5};
  RaiseTo(peak, 3);
  EXPECT_EQ(peak.load(), 5);
  ASSERT_TRUE(RunOnThreads(4, [&](int worker) {
                for (int64_t i = 0; i < 1000; ++i) RaiseTo(peak, 4 * i + worker);
                return arrow::Status::OK();
              }).ok());
  EXPECT_EQ(peak.load(), 3999);
}

TEST(MetricsTest, OperatorTimerLeavesOutWhatRunsInside) {
  const auto sleep = [](int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); };
  OperatorMetrics child("child"), parent("parent");
  {
    OperatorTimer busy(parent);
    sleep(20);
    {
      OperatorTimer child_busy(child);
      sleep(200);
      OperatorTimer again(child);  // inside itself it counts once
    }
  }
  // Sleeps are never shorter than asked; how much longer they are is the machine's business, so only the order is compared.
  EXPECT_GE(parent.busy_ns.load(), 20'000'000);
  EXPECT_GE(child.busy_ns.load(), 200'000'000);
  EXPECT_LT(parent.busy_ns.load(), child.busy_ns.load());
}

TEST(CancellationTest, CheckFailsFromTheCancelOn) {
  CancellationToken token;
  EXPECT_TRUE(token.Check().ok());
  std::thread([&] { token.Cancel(); }).join();
  EXPECT_TRUE(token.cancelled());
  EXPECT_EQ(GetErrorKind(token.Check()), ErrorKind::kCancelled);
}

}  // namespace
}  // namespace icebound::runtime
