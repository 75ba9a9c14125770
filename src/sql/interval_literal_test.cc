// SPDX-License-Identifier: Apache-2.0
#include "sql/interval_literal.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace icebound::sql {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
using F = IntervalFields;

struct Case {
  std::string_view text;
  uint32_t fields;
  int32_t months;
  int32_t days;
  int64_t nanoseconds;
};

TEST(IntervalFromText, AgreesWithPostgres) {
  // Expected values are PostgreSQL's.
  const Case cases[] = {
      {"3 months 2 days", F::kAll, 3, 2, 0},
      {"1 year -2 hours", F::kAll, 12, 0, -7200 * kSecond},
      {"1.5 years", F::kAll, 18, 0, 0},
      {"1 12:00", F::kAll, 0, 1, 43200 * kSecond},
      {"-1 12:00", F::kAll, 0, -1, 43200 * kSecond},
      {"1-2 3 04:05:06", F::kAll, 14, 3, 14706 * kSecond},
      {"90", F::kAll, 0, 0, 90 * kSecond},
      {"1", F::kYear, 12, 0, 0},
      {"1", F::kMonth, 1, 0, 0},
      {"1", F::kDay, 0, 1, 0},
      {"1", F::kHour, 0, 0, 3600 * kSecond},
      {"1", F::kMinute, 0, 0, 60 * kSecond},
      {"1", F::kSecond, 0, 0, kSecond},
      {"1-2", F::kYear | F::kMonth, 14, 0, 0},
      {"5", F::kYear | F::kMonth, 5, 0, 0},
      {"1 12:30", F::kDay | F::kHour | F::kMinute, 0, 1, 45000 * kSecond},
      {"5:30", F::kMinute | F::kSecond, 0, 0, 330 * kSecond},
      {"5:30", F::kHour | F::kMinute, 0, 0, 19800 * kSecond},
      {"1 day 2 hours 3 minutes", F::kDay, 0, 1, 0},
      {"1 day 2 hours 3 minutes", F::kHour, 0, 1, 7200 * kSecond},
      {"14 months 3 days", F::kYear, 12, 0, 0},
      {"1:02:03", F::kMinute, 0, 0, 3720 * kSecond},
  };
  for (const Case& test : cases) {
    const auto interval = IntervalFromText(test.text, test.fields);
    ASSERT_TRUE(interval.ok()) << test.text << ": " << interval.status().ToString();
    EXPECT_EQ(interval->months, test.months) << test.text << " " << test.fields;
    EXPECT_EQ(interval->days, test.days) << test.text << " " << test.fields;
    EXPECT_EQ(interval->nanoseconds, test.nanoseconds) << test.text << " " << test.fields;
  }
}

TEST(IntervalFromText, RefusesWhatIsNone) {
  for (const char* text : {"", "  ", "x", "1 fortnight", "1 day day", "--1 day", "1-13", "99999999999999999999 days", ":"}) {
    const auto interval = IntervalFromText(text);
    ASSERT_FALSE(interval.ok()) << text;
    EXPECT_EQ(GetErrorKind(interval.status()), ErrorKind::kInvalidInput);
    EXPECT_EQ(interval.status().message(), std::string("invalid input syntax for type interval: \"") + text + "\"");
  }
}

}  // namespace
}  // namespace icebound::sql
