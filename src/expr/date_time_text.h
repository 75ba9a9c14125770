// SPDX-License-Identifier: Apache-2.0
//
// Dates, times, timestamps and intervals as text, read and printed as PostgreSQL does with DateStyle ISO, MDY and IntervalStyle
// postgres, in UTC. Not read: infinity, named time zones in a literal, and words that depend on the clock (now, today). All
// functions are pure.
#pragma once

#include <arrow/result.h>
#include <arrow/type.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace icebound::expr {

using Interval = arrow::MonthDayNanoIntervalType::MonthDayNanos;

/// Days since 1970-01-01.
arrow::Result<int32_t> ParseDate(std::string_view text);
/// Microseconds (or nanoseconds) since midnight. 24:00:00, which PostgreSQL allows, has no place in Arrow's type and is out of
/// range.
arrow::Result<int64_t> ParseTime(std::string_view text, arrow::TimeUnit::type unit);
/// A zone in the text is applied when the type has one and ignored otherwise, as in PostgreSQL.
arrow::Result<int64_t> ParseTimestamp(std::string_view text, const arrow::TimestampType& type);
/// "1 year 2 mons 3 days 04:05:06", "1-2", "P1Y2M3DT4H5M6S", "90 minutes ago". A number without a unit is in `default_unit`.
arrow::Result<Interval> ParseInterval(std::string_view text, std::string_view default_unit = "second");

void AppendDate(int32_t days, std::string* out);
void AppendTime(int64_t value, arrow::TimeUnit::type unit, std::string* out);
void AppendTimestamp(int64_t value, const arrow::TimestampType& type, std::string* out);
void AppendInterval(const Interval& interval, std::string* out);

/// The unit a word means ("mons", "hr"), for intervals, EXTRACT and date_trunc.
enum class DateTimeField {
  kMicroseconds,
  kMilliseconds,
  kSecond,
  kMinute,
  kHour,
  kDay,
  kWeek,
  kMonth,
  kQuarter,
  kYear,
  kDecade,
  kCentury,
  kMillennium,
  kDayOfWeek,
  kIsoDayOfWeek,
  kDayOfYear,
  kIsoYear,
  kEpoch,
  kJulian,
  kTimezone,
  kTimezoneHour,
  kTimezoneMinute,
};
/// nullopt when the word is no unit.
std::optional<DateTimeField> FieldFromWord(std::string_view word);

}  // namespace icebound::expr
