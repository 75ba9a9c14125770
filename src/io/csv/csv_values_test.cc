// SPDX-License-Identifier: Apache-2.0
#include "io/csv/csv_values.h"

#include <gtest/gtest.h>

namespace icebound::io {
namespace {

std::string GuessOf(const std::vector<std::string>& values) {
  CsvTypeGuess guess;
  for (const std::string& value : values) guess.Add(value);
  return guess.type()->ToString();
}

struct GuessCase {
  std::vector<std::string> values;
  std::string type;
};

TEST(CsvTypeGuess, ChoosesTheNarrowestTypeOfAllValues) {
  const std::vector<GuessCase> cases = {
      {{}, "string"},
      {{"true", "FALSE"}, "bool"},
      {{"true", "1"}, "string"},
      {{"1", "-2", "+3", " 4 "}, "int64"},
      {{"9223372036854775807", "-9223372036854775808"}, "int64"},
      {{"1", "9223372036854775808"}, "decimal128(38, 0)"},
      {{"99999999999999999999999999999999999999"}, "decimal128(38, 0)"},
      {{"1", "999999999999999999999999999999999999999"}, "double"},
      {{"1", "9223372036854775808", "0.5"}, "double"},
      {{"1.5", "-.5", "1e10", "nan", "-Infinity", "2"}, "double"},
      {{"0", "0.5", "-0.25"}, "double"},
      {{"1", "007"}, "string"},
      {{"-01"}, "string"},
      {{"1", "x"}, "string"},
      {{"0x10"}, "string"},
      {{"2024-02-29", "1999-12-31"}, "date32[day]"},
      {{"2023-02-29"}, "string"},
      {{"24-02-29"}, "string"},
      {{"2024-02-29", "2024-02-29 10:00:00"}, "timestamp[us]"},
      {{"2024-02-29T10:00:00.123456", "2024-02-29 10:00"}, "timestamp[us]"},
      {{"2024-02-29 10:00:00Z", "2024-02-29 10:00:00.5+02:00", "2024-02-29T10:00:00-0130"}, "timestamp[us, tz=UTC]"},
      {{"2024-02-29 10:00:00Z", "2024-02-29 10:00:00"}, "string"},
      {{"10:00:00", "23:59:59.999999"}, "time64[us]"},
      {{"24:00:00"}, "string"},
      {{"10:00"}, "string"},
      {{"10:00:00", "2024-02-29"}, "string"},
      {{"", "1"}, "string"},
  };
  for (const GuessCase& item : cases) {
    EXPECT_EQ(GuessOf(item.values), item.type) << (item.values.empty() ? "" : item.values.back());
  }
}

TEST(CsvValues, AreReadAsCastReadsThem) {
  int64_t integer = 0;
  EXPECT_TRUE(ParseCsvInteger<int64_t>(" +42 ", *arrow::int64(), &integer) && integer == 42);
  EXPECT_FALSE(ParseCsvInteger<int64_t>("9223372036854775808", *arrow::int64(), &integer));
  int16_t small = 0;
  EXPECT_TRUE(ParseCsvInteger<int16_t>("-32768", *arrow::int16(), &small) && small == -32768);
  EXPECT_FALSE(ParseCsvInteger<int16_t>("32768", *arrow::int16(), &small));
  double number = 0;
  EXPECT_TRUE(ParseCsvNumber<double>("+1.5", *arrow::float64(), &number) && number == 1.5);
  EXPECT_FALSE(ParseCsvNumber<double>("1.5x", *arrow::float64(), &number));
  EXPECT_FALSE(ParseCsvNumber<double>("1e999", *arrow::float64(), &number));
  bool boolean = false;
  EXPECT_TRUE(ParseCsvBoolean("yes", &boolean) && boolean);
  int32_t days = 0;
  EXPECT_TRUE(ParseCsvDate("1970-01-02", *arrow::date32(), &days) && days == 1);
  EXPECT_TRUE(ParseCsvDate("Jan 3, 1970", *arrow::date32(), &days) && days == 2);
  EXPECT_FALSE(ParseCsvDate("1970-02-30", *arrow::date32(), &days));
  const auto micros = arrow::timestamp(arrow::TimeUnit::MICRO), nanos = arrow::timestamp(arrow::TimeUnit::NANO);
  EXPECT_TRUE(ParseCsvTimestamp("1970-01-01T00:00:01.5", *micros, &integer) && integer == 1'500'000);
  EXPECT_TRUE(ParseCsvTimestamp("1970-01-01 00:00:01.5", *nanos, &integer) && integer == 1'500'000'000);
  EXPECT_TRUE(ParseCsvTimestamp("1969-12-31 23:59", *micros, &integer) && integer == -60'000'000);
  EXPECT_TRUE(ParseCsvTimestamp("1970-01-01 02:00:00+02", *arrow::timestamp(arrow::TimeUnit::MICRO, "UTC"), &integer) &&
              integer == 0);
  EXPECT_FALSE(ParseCsvTimestamp("1970-01-01 25:00:00", *micros, &integer));
  EXPECT_TRUE(ParseCsvTime("00:00:01", *arrow::time64(arrow::TimeUnit::MICRO), &integer) && integer == 1'000'000);
  expr::Int128 decimal = 0;
  EXPECT_TRUE(ParseCsvDecimal("-1.25", *arrow::decimal128(10, 2), &decimal) && decimal == -125);
  EXPECT_FALSE(ParseCsvDecimal("123456789.25", *arrow::decimal128(10, 2), &decimal));
}

}  // namespace
}  // namespace icebound::io
