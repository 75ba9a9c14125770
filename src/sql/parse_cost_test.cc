// SPDX-License-Identifier: Apache-2.0
//
// The bounds against what the heap really holds. A thread looks at the allocator's counters while a statement is bound.
#include "sql/parse_cost.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "sql/fake_tables_test.h"
#include "sql/statement.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kCountersWork = false;  // the sanitizers bring their own allocator
#else
constexpr bool kCountersWork = true;
#endif

namespace icebound::sql {
namespace {

constexpr int kPieces = 5000;

int64_t HeapBytes() {
  const struct mallinfo2 info = mallinfo2();
  return static_cast<int64_t>(info.uordblks + info.hblkhd);
}

std::string Repeat(std::string_view before, std::string_view piece, std::string_view separator, std::string_view after) {
  std::string text(before);
  for (int i = 0; i < kPieces; ++i) {
    if (i > 0) text += separator;
    text += piece;
  }
  return text.append(after);
}

struct Case {
  const char* name;
  std::string sql;
};

std::vector<Case> LongStatements() {
  const std::string from = " FROM (VALUES (1)) AS t(x)";
  return {
      {"numbers", Repeat("SELECT 1" + from + " WHERE x IN (", "100000", ",", ")")},
      {"digits", Repeat("SELECT 1" + from + " WHERE x IN (", "1", ",", ")")},
      {"strings", Repeat("SELECT 1 FROM (VALUES ('a')) AS t(x) WHERE x IN (", "'user-0000001'", ",", ")")},
      {"rows", Repeat("SELECT * FROM (VALUES ", "(1,'a name',2.5)", ",", ") AS t(a, b, c)")},
      {"narrow rows", Repeat("SELECT * FROM (VALUES ", "(1)", ",", ") AS t(a)")},
      {"columns", Repeat("SELECT ", "x", ",", from)},
      {"nulls", Repeat("SELECT ", "NULL", ",", "")},
      {"sums", Repeat("SELECT ", "x+1", ",", from)},
      {"signs", Repeat("SELECT ", "-x", ",", from)},
      {"casts", Repeat("SELECT ", "1::int", ",", "")},
      {"calls", Repeat("SELECT ", "abs(x)", ",", from)},
      {"conditions", Repeat("SELECT 1" + from + " WHERE ", "x=1", " OR ", "")},
      {"cases", Repeat("SELECT CASE ", "WHEN x=1 THEN 1", " ", " END" + from)},
      {"text", Repeat("SELECT '", "lorem ipsum", " ", "'")},
  };
}

TEST(ParseBytesMax, BoundsWhatBindingTakes) {
  if (!kCountersWork) GTEST_SKIP() << "needs the allocator's own counters";
  FakeTables tables;
  BindOptions options;
  options.pool = arrow::default_memory_pool();
  ASSERT_TRUE(BindStatement("SELECT abs(1 + 2) IN (1, 2)", tables, options).ok()) << "wakes what is made once";
  for (const Case& c : LongStatements()) {
    const int64_t bound = ParseBytesMax(c.sql);
    const int64_t before = HeapBytes();
    std::atomic<int64_t> peak{before};
    std::atomic<bool> stop{false};
    std::thread watcher([&] {
      while (!stop) {
        peak = std::max(peak.load(), HeapBytes());
        std::this_thread::sleep_for(std::chrono::microseconds(50));
      }
    });
    const auto statement = BindStatement(c.sql, tables, options);
    const int64_t after = HeapBytes();
    stop = true;
    watcher.join();
    ASSERT_TRUE(statement.ok()) << c.name << ": " << statement.status();
    EXPECT_LE(peak - before, bound) << c.name;
    EXPECT_LE(after - before, PlanBytesMax(bound)) << c.name;
    if (std::string_view(c.name) == "numbers") {
      EXPECT_GE(peak - before, bound / 3) << "a bound that is far too large refuses what would fit";
    }
  }
}

TEST(ParseBytesMax, GoesByTokens) {
  const std::string numbers = Repeat("SELECT 1 IN (", "123456789", ",", ")");
  const std::string digits = Repeat("SELECT 1 IN (", "1", ",", ")");
  EXPECT_LT(ParseBytesMax(numbers), ParseBytesMax(digits) * 5 / 4);
  EXPECT_LT(ParseBytesMax("SELECT '" + std::string(100'000, 'x') + "'"), 1'000'000);
  EXPECT_GT(ParseBytesMax("SELECT 'not ended"), 0);
}

TEST(ScanBytesMax, CountsNoFewerTokensThanTheScanner) {
  for (const Case& c : LongStatements()) {
    const auto scanned = SplitStatements(c.sql);
    ASSERT_TRUE(scanned.ok());
    EXPECT_GE(ScanBytesMax(c.sql), 2 * static_cast<int64_t>(c.sql.size()));
  }
  EXPECT_EQ(ScanBytesMax("ab + c1"), 3 * ScanBytesMax("+") - 3 * 2 + 2 * 7);
}

}  // namespace
}  // namespace icebound::sql
