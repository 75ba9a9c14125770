// SPDX-License-Identifier: Apache-2.0
//
// The proleptic Gregorian calendar on day numbers (day 0 is 1970-01-01), with years counted astronomically (0 is 1 BC).
#pragma once

#include <cstdint>

namespace icebound::expr {

inline constexpr int64_t kMicrosPerSecond = 1'000'000;
inline constexpr int64_t kMicrosPerMinute = 60 * kMicrosPerSecond;
inline constexpr int64_t kMicrosPerHour = 60 * kMicrosPerMinute;
inline constexpr int64_t kMicrosPerDay = 24 * kMicrosPerHour;
inline constexpr int64_t kNanosPerMicro = 1000;
inline constexpr int64_t kNanosPerDay = kMicrosPerDay * kNanosPerMicro;

struct CivilDate {
  int64_t year;
  int month;  ///< 1..12
  int day;    ///< 1..31
};

constexpr int64_t FloorDivide(int64_t value, int64_t divisor) {
  const int64_t quotient = value / divisor;
  return quotient - (value % divisor < 0 ? 1 : 0);
}
constexpr int64_t FloorModulo(int64_t value, int64_t divisor) {
  const int64_t rest = value % divisor;
  return rest < 0 ? rest + divisor : rest;
}

/// Day number of a date. Years start in March here, so that the leap day is the last one of a year; a cycle of 400 years has
/// 146097 days.
constexpr int64_t DaysFromCivil(int64_t year, int month, int day) {
  const int64_t march_year = year - (month <= 2 ? 1 : 0);
  const int64_t cycle = FloorDivide(march_year, 400);
  const int64_t year_of_cycle = march_year - cycle * 400;
  const int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  return cycle * 146097 + year_of_cycle * 365 + year_of_cycle / 4 - year_of_cycle / 100 + day_of_year - 719468;
}

constexpr CivilDate CivilFromDays(int64_t days) {
  const int64_t shifted = days + 719468;
  const int64_t cycle = FloorDivide(shifted, 146097);
  const int64_t day_of_cycle = shifted - cycle * 146097;
  const int64_t year_of_cycle = (day_of_cycle - day_of_cycle / 1460 + day_of_cycle / 36524 - day_of_cycle / 146096) / 365;
  const int64_t day_of_year = day_of_cycle - (365 * year_of_cycle + year_of_cycle / 4 - year_of_cycle / 100);
  const int march_month = static_cast<int>((5 * day_of_year + 2) / 153);
  const int month = march_month + (march_month < 10 ? 3 : -9);
  return {year_of_cycle + cycle * 400 + (month <= 2 ? 1 : 0), month,
          static_cast<int>(day_of_year - (153 * march_month + 2) / 5 + 1)};
}

constexpr bool IsLeapYear(int64_t year) { return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0); }
constexpr int DaysInMonth(int64_t year, int month) {
  constexpr int kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  return month == 2 && IsLeapYear(year) ? 29 : kDays[month - 1];
}

/// 0 is Sunday.
constexpr int DayOfWeek(int64_t days) { return static_cast<int>(FloorModulo(days + 4, 7)); }

struct IsoWeek {
  int64_t year;
  int week;
};
/// ISO 8601: weeks start on Monday, and week 1 holds the year's first Thursday.
constexpr IsoWeek IsoWeekOf(int64_t days) {
  const int64_t thursday = days - FloorModulo(days + 3, 7) + 3;
  const int64_t year = CivilFromDays(thursday).year;
  return {year, static_cast<int>((thursday - DaysFromCivil(year, 1, 1)) / 7) + 1};
}

}  // namespace icebound::expr
