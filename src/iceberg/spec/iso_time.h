// SPDX-License-Identifier: Apache-2.0
//
// Dates and times as Iceberg's JSON and partition paths write them (ISO 8601, proleptic Gregorian calendar, UTC), and the
// calendar that the time transforms need. Days count from 1970-01-01 and may be any 32-bit number, years accordingly.
#pragma once

#include <arrow/result.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace icebound::iceberg {

constexpr int64_t kMicrosPerDay = int64_t{86'400'000'000};
constexpr int64_t kNanosPerDay = kMicrosPerDay * 1000;

constexpr int64_t FloorDivide(int64_t value, int64_t divisor) { return value / divisor - (value % divisor < 0 ? 1 : 0); }
constexpr int64_t FloorModulo(int64_t value, int64_t divisor) { return value % divisor + (value % divisor < 0 ? divisor : 0); }

struct YearMonthDay {
  int64_t year;  ///< astronomical: 0 is 1 BC
  int month;     ///< 1..12
  int day;       ///< 1..31
};
YearMonthDay CalendarDate(int64_t days);
int64_t DayNumber(const YearMonthDay& date);

enum class TimePrecision { kMicros, kNanos };

/// "2017-11-16"; years beyond four digits have their sign ("+12017-11-16"), years before 0 too.
void AppendIsoDate(int64_t days, std::string* out);
/// "22:31:08.123456": seconds always, the fraction in 3, 6 or 9 digits as needed.
void AppendIsoTime(int64_t value, TimePrecision precision, std::string* out);
/// Date, 'T', time; then "+00:00" if `utc`.
void AppendIsoTimestamp(int64_t value, TimePrecision precision, bool utc, std::string* out);

/// ErrorKind::kCorruptData for anything else than the forms above (fewer or no digits of a fraction, and no seconds, are
/// accepted; digits beyond the precision are not unless they are 0). The zone of a UTC timestamp is "+00:00" or "Z".
arrow::Result<int32_t> ParseIsoDate(std::string_view text);
arrow::Result<int64_t> ParseIsoTime(std::string_view text);
arrow::Result<int64_t> ParseIsoTimestamp(std::string_view text, TimePrecision precision, bool utc);

}  // namespace icebound::iceberg
