// SPDX-License-Identifier: Apache-2.0
//
// Expected values are those of the specification (Appendix B and the tables of transforms), of public bug reports, and of the
// mmh3 package and PyIceberg where neither has one.
#include "iceberg/spec/transform.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <limits>

#include "iceberg/spec/iso_time.h"
#include "iceberg/spec/json_value.h"
#include "iceberg/spec/murmur3.h"

namespace icebound::iceberg {
namespace {

TypePtr TypeOf(std::string_view word) { return Type::Parse(word).ValueOrDie(); }

/// The value that stands in JSON as `json`.
Literal Value(std::string_view word, std::string_view json) { return LiteralFromJson(*TypeOf(word), json).ValueOrDie(); }

int32_t Hash(std::string_view word, std::string_view json) { return BucketHash(*TypeOf(word), Value(word, json)).ValueOrDie(); }

Literal Apply(std::string_view transform, std::string_view word, const Literal& value) {
  const auto result = Transform::Parse(transform).ValueOrDie().Apply(*TypeOf(word), value);
  EXPECT_TRUE(result.ok()) << result.status().ToString();
  return result.ok() ? *result : Literal();
}

TEST(Murmur3, HashesEveryLength) {
  const std::string bytes("\0\1\2\3\4\5\6\7", 8);
  const int32_t expected[] = {0,          1364076727,  1893835456,  1372901591, -188683207,
                              -861610805, -1877163262, -1921103596, -782117261};
  for (size_t length = 0; length <= 8; ++length) {
    EXPECT_EQ(Murmur3(std::string_view(bytes).substr(0, length)), expected[length]) << length;
  }
}

TEST(Transform, Rule16BucketHashesAreThoseOfTheSpecification) {
  EXPECT_EQ(Hash("int", "34"), 2017239379);
  EXPECT_EQ(Hash("long", "34"), 2017239379);
  EXPECT_EQ(Hash("decimal(9,2)", "\"14.20\""), -500754589);
  EXPECT_EQ(Hash("date", "\"2017-11-16\""), -653330422);
  EXPECT_EQ(Hash("time", "\"22:31:08\""), -662762989);
  EXPECT_EQ(Hash("timestamp", "\"2017-11-16T22:31:08\""), -2047944441);
  EXPECT_EQ(Hash("timestamp", "\"2017-11-16T22:31:08.000001\""), -1207196810);
  EXPECT_EQ(Hash("timestamptz", "\"2017-11-16T22:31:08+00:00\""), -2047944441);
  EXPECT_EQ(Hash("timestamp_ns", "\"2017-11-16T22:31:08\""), -2047944441);
  EXPECT_EQ(Hash("timestamp_ns", "\"2017-11-16T22:31:08.000001001\""), -1207196810);
  EXPECT_EQ(Hash("timestamptz_ns", "\"2017-11-16T22:31:08.000001001+00:00\""), -1207196810);
  EXPECT_EQ(Hash("string", "\"iceberg\""), 1210000089);
  EXPECT_EQ(Hash("uuid", "\"f79c3e09-677c-4bbd-a479-3f349cb785e7\""), 1488055340);
  EXPECT_EQ(Hash("fixed[4]", "\"00010203\""), -188683207);
  EXPECT_EQ(Hash("binary", "\"00010203\""), -188683207);
  EXPECT_EQ(Hash("boolean", "true"), 1392991556);
  EXPECT_EQ(Hash("float", "1.0"), -142385009);
  EXPECT_EQ(Hash("double", "1.0"), -142385009);
}

TEST(Transform, Rule16FloatsHashOneZeroAndOneNan) {
  for (const double zero : {0.0, -0.0}) {
    EXPECT_EQ(BucketHash(*TypeOf("double"), zero).ValueOrDie(), 1669671676);
    EXPECT_EQ(BucketHash(*TypeOf("float"), static_cast<float>(zero)).ValueOrDie(), 1669671676);
  }
  for (const double nan : {std::nan(""), std::nan("7"), -std::nan("")}) {
    EXPECT_EQ(BucketHash(*TypeOf("double"), nan).ValueOrDie(), 1428788237);
  }
}

TEST(Transform, Rule16BucketsOfPublicReports) {
  EXPECT_EQ(Apply("bucket[16]", "uuid", Value("uuid", "\"f79c3e09-677c-4bbd-a479-3f349cb785e7\"")), Literal(int32_t{12}));
  EXPECT_EQ(Apply("bucket[16]", "decimal(5,2)", Value("decimal(5,2)", "\"-1.28\"")), Literal(int32_t{13}));
  EXPECT_EQ(Apply("bucket[32]", "string", Literal("\xf0\x9f\x92\xb0")), Literal(int32_t{12}));  // U+1F4B0
}

TEST(Transform, Rule16NanosecondsBeforeAMicrosecondAreFloored) {
  const Literal micros = Apply("bucket[1000000]", "timestamp", Literal(int64_t{-1}));
  EXPECT_EQ(Apply("bucket[1000000]", "timestamp_ns", Literal(int64_t{-1})), micros);
  EXPECT_EQ(Apply("bucket[1000000]", "timestamp_ns", Literal(int64_t{-1000})), micros);
  EXPECT_NE(Apply("bucket[1000000]", "timestamp_ns", Literal(int64_t{-1001})), micros);
}

TEST(Transform, Rule17TruncateRoundsDownAlsoBelowZero) {
  EXPECT_EQ(Apply("truncate[10]", "int", Literal(int32_t{1})), Literal(int32_t{0}));
  EXPECT_EQ(Apply("truncate[10]", "int", Literal(int32_t{-1})), Literal(int32_t{-10}));
  EXPECT_EQ(Apply("truncate[10]", "int", Literal(int32_t{-10})), Literal(int32_t{-10}));
  EXPECT_EQ(Apply("truncate[10]", "long", Literal(int64_t{-11})), Literal(int64_t{-20}));
  EXPECT_EQ(Apply("truncate[10]", "long", Literal(int64_t{9})), Literal(int64_t{0}));
  EXPECT_EQ(Apply("truncate[50]", "decimal(9,2)", Value("decimal(9,2)", "\"10.65\"")), Value("decimal(9,2)", "\"10.50\""));
  EXPECT_EQ(Apply("truncate[10]", "decimal(9,2)", Value("decimal(9,2)", "\"-0.05\"")), Value("decimal(9,2)", "\"-0.10\""));
  EXPECT_EQ(Apply("truncate[10]", "decimal(9,2)", Value("decimal(9,2)", "\"12.34\"")), Value("decimal(9,2)", "\"12.30\""));
}

TEST(Transform, Rule17TruncateCutsStringsByCodePointsAndBytesByBytes) {
  EXPECT_EQ(Apply("truncate[3]", "string", Literal("iceberg")), Literal("ice"));
  EXPECT_EQ(Apply("truncate[9]", "string", Literal("iceberg")), Literal("iceberg"));
  EXPECT_EQ(Apply("truncate[2]", "string", Literal("\xf0\x9f\x92\xb0\xc3\xa9x")), Literal("\xf0\x9f\x92\xb0\xc3\xa9"));
  EXPECT_EQ(Apply("truncate[3]", "binary", Literal("\1\2\3\4\5")), Literal("\1\2\3"));
}

TEST(Transform, Rule17TimesAreFlooredBefore1970) {
  struct Case {
    int64_t micros;
    int32_t year, month, day, hour;
  };
  const Case cases[] = {
      {-1, -1, -1, -1, -1},                                          // 1969-12-31T23:59:59.999999
      {-1'000'000, -1, -1, -1, -1},                                  // 1969-12-31T23:59:59
      {0, 0, 0, 0, 0},                                               // 1970-01-01
      {-86'400'000'000, -1, -1, -1, -24},                            // 1969-12-31
      {-86'400'000'001, -1, -1, -2, -25},                            // 1969-12-30T23:59:59.999999
      {1'512'151'975'038'194, 47, 575, 17501, 420042},               // 2017-12-01T18:12:55.038194
      {-62'135'596'800'000'000, -1969, -23628, -719162, -17259888},  // 0001-01-01
  };
  for (const Case& c : cases) {
    for (const auto& [type, value] : {std::pair{"timestamp", c.micros}, std::pair{"timestamptz", c.micros}}) {
      EXPECT_EQ(Apply("year", type, Literal(value)), Literal(c.year)) << c.micros;
      EXPECT_EQ(Apply("month", type, Literal(value)), Literal(c.month)) << c.micros;
      EXPECT_EQ(Apply("day", type, Literal(value)), Literal(c.day)) << c.micros;
      EXPECT_EQ(Apply("hour", type, Literal(value)), Literal(c.hour)) << c.micros;
    }
    const Literal date(c.day);
    EXPECT_EQ(Apply("year", "date", date), Literal(c.year));
    EXPECT_EQ(Apply("month", "date", date), Literal(c.month));
    EXPECT_EQ(Apply("day", "date", date), date);
  }
  EXPECT_EQ(Apply("hour", "timestamp_ns", Literal(int64_t{-1})), Literal(int32_t{-1}));
  EXPECT_EQ(Apply("day", "timestamptz_ns", Literal(int64_t{-1})), Literal(int32_t{-1}));
  EXPECT_EQ(Apply("year", "timestamp_ns", Literal(int64_t{0})), Literal(int32_t{0}));
}

TEST(Transform, Rule17AnHourThatFitsNoPartitionValueIsAnError) {
  const auto hour = Transform::Of(TransformKind::kHour);
  const auto type = TypeOf("timestamp");
  const auto far = hour.Apply(*type, Literal(std::numeric_limits<int64_t>::max()));
  EXPECT_FALSE(far.ok());
  EXPECT_NE(far.status().message().find("+294247-01-10"), std::string::npos) << far.status().message();
  EXPECT_EQ(hour.Apply(*type, Literal(int64_t{2147483647} * 3'600'000'000)).ValueOrDie(), Literal(int32_t{2147483647}));
  EXPECT_EQ(Apply("year", "timestamp", Literal(std::numeric_limits<int64_t>::max())), Literal(int32_t{294247 - 1970}));
}

TEST(Transform, NullStaysNullEverywhere) {
  for (const char* word : {"identity", "bucket[4]", "truncate[4]", "void"}) EXPECT_TRUE(IsNull(Apply(word, "int", Literal())));
  for (const char* word : {"year", "month", "day", "hour"}) EXPECT_TRUE(IsNull(Apply(word, "timestamp", Literal())));
  EXPECT_TRUE(IsNull(Apply("void", "int", Literal(int32_t{3}))));
}

TEST(Transform, WordsAreReadAndWritten) {
  for (const char* word : {"identity", "bucket[16]", "truncate[20]", "year", "month", "day", "hour", "void"}) {
    const Transform transform = Transform::Parse(word).ValueOrDie();
    EXPECT_TRUE(transform.is_known()) << word;
    EXPECT_EQ(transform.ToString(), word);
  }
  EXPECT_EQ(Transform::Parse("Bucket[16]").ValueOrDie(), Transform::Bucket(16).ValueOrDie());
  for (const char* word : {"bucket", "bucket[x]", "bucket[1", "zorder(a, b)", "days", "truncate[99999999999]", ""}) {
    const Transform transform = Transform::Parse(word).ValueOrDie();
    EXPECT_FALSE(transform.is_known()) << word;
    EXPECT_EQ(transform.ToString(), word);
    EXPECT_FALSE(transform.Apply(*TypeOf("int"), Literal(int32_t{1})).ok());
  }
  EXPECT_FALSE(Transform::Parse("bucket[0]").ok());
  EXPECT_FALSE(Transform::Parse("truncate[-3]").ok());
}

TEST(Transform, SourcesAreThoseOfTheSpecification) {
  const char* types[] = {"boolean", "int",  "long",      "float",       "double",       "decimal(9,2)",
                         "date",    "time", "timestamp", "timestamptz", "timestamp_ns", "timestamptz_ns",
                         "string",  "uuid", "fixed[4]",  "binary",      "variant",      "geometry"};
  const auto taking = [&](std::string_view word) {
    std::string taken;
    for (const char* type : types) {
      if (Transform::Parse(word).ValueOrDie().CheckSource(*TypeOf(type)).ok()) taken += std::string(type) + " ";
    }
    return taken;
  };
  const std::string timestamps = "timestamp timestamptz timestamp_ns timestamptz_ns ";
  EXPECT_EQ(taking("bucket[2]"), "int long decimal(9,2) date time " + timestamps + "string uuid fixed[4] binary ");
  EXPECT_EQ(taking("truncate[2]"), "int long decimal(9,2) string binary ");
  EXPECT_EQ(taking("day"), "date " + timestamps);
  EXPECT_EQ(taking("hour"), timestamps);
  EXPECT_EQ(taking("identity"),
            "boolean int long float double decimal(9,2) date time " + timestamps + "string uuid fixed[4] binary ");
}

TEST(Calendar, IsTheOneOfTheStandardLibrary) {
  // Days near every turn of a month of years that the standard library has, and one far beyond it by the cycle of 400 years.
  for (int year : {-400, -1, 0, 1, 1582, 1600, 1899, 1900, 1969, 1970, 1972, 2000, 2024, 2100, 9999}) {
    for (unsigned month = 1; month <= 12; ++month) {
      const std::chrono::year_month_day first{std::chrono::year{year}, std::chrono::month{month}, std::chrono::day{1}};
      const auto days = std::chrono::sys_days{first}.time_since_epoch().count();
      for (int64_t around = days - 1; around <= days + 1; ++around) {
        const std::chrono::year_month_day expected{std::chrono::sys_days{std::chrono::days{around}}};
        const YearMonthDay date = CalendarDate(around);
        EXPECT_EQ(date.year, static_cast<int>(expected.year()));
        EXPECT_EQ(date.month, static_cast<int>(static_cast<unsigned>(expected.month())));
        EXPECT_EQ(date.day, static_cast<int>(static_cast<unsigned>(expected.day())));
        EXPECT_EQ(DayNumber(date), around);
      }
    }
  }
  EXPECT_EQ(CalendarDate(146097LL * 700 + 59).year, 1970 + 400 * 700);
}

}  // namespace
}  // namespace icebound::iceberg
