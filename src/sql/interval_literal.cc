// SPDX-License-Identifier: Apache-2.0
#include "sql/interval_literal.h"

#include <algorithm>
#include <string>

#include "base/error.h"
#include "expr/date_time_text.h"

namespace icebound::sql {
namespace {

constexpr int64_t kNanosPerMinute = 60'000'000'000;
constexpr int64_t kNanosPerHour = 60 * kNanosPerMinute;
constexpr int32_t kMonthsPerYear = 12;

bool Has(uint32_t fields, uint32_t field) { return (fields & field) != 0; }

/// The smallest field: YEAR TO MONTH counts months.
std::string_view LastField(uint32_t fields) {
  if (fields == IntervalFields::kAll || Has(fields, IntervalFields::kSecond)) return "second";
  if (Has(fields, IntervalFields::kMinute)) return "minute";
  if (Has(fields, IntervalFields::kHour)) return "hour";
  if (Has(fields, IntervalFields::kDay)) return "day";
  if (Has(fields, IntervalFields::kMonth)) return "month";
  return "year";
}

/// In MINUTE TO SECOND, '5:30' means minutes and seconds, where it means hours and minutes otherwise.
std::string WithHours(std::string_view text, uint32_t fields) {
  std::string with_hours(text);
  const bool minutes_and_seconds =
      fields == (IntervalFields::kMinute | IntervalFields::kSecond) && std::count(text.begin(), text.end(), ':') == 1;
  if (!minutes_and_seconds) return with_hours;
  size_t digits = text.find(':');
  while (digits > 0 && text[digits - 1] >= '0' && text[digits - 1] <= '9') --digits;
  return with_hours.insert(digits, "0:");
}

bool IsSignedNumber(std::string_view word) {
  if (word.starts_with('-') || word.starts_with('+')) word.remove_prefix(1);
  return !word.empty() && word.find_first_not_of("0123456789") == std::string_view::npos;
}

/// SQL's day-time form: the number before a time of day counts days, '1 12:00' or '1-2 3 04:05:06'.
std::string WithDays(const std::string& text) {
  const std::string_view view = text;
  const auto colon = static_cast<size_t>(std::find(view.begin(), view.end(), ':') - view.begin());
  if (colon == view.size()) return text;
  const size_t time = view.find_last_of(" \t", colon);
  if (time == std::string::npos) return text;
  const size_t end = text.find_last_not_of(" \t", time);
  if (end == std::string::npos) return text;
  const size_t blank = text.find_last_of(" \t", end);
  const size_t begin = blank == std::string::npos ? 0 : blank + 1;
  if (!IsSignedNumber(std::string_view(text).substr(begin, end + 1 - begin))) return text;
  return fmt::format("{} day{}", std::string_view(text).substr(0, end + 1), std::string_view(text).substr(end + 1));
}

}  // namespace

arrow::Result<arrow::MonthDayNanoIntervalType::MonthDayNanos> IntervalFromText(std::string_view text, uint32_t fields) {
  const std::string_view last = LastField(fields);
  const std::string normal = WithDays(WithHours(text, fields));
  auto interval = expr::ParseInterval(normal, last);
  if (!interval.ok()) return MakeError(ErrorKind::kInvalidInput, "invalid input syntax for type interval: \"{}\"", text);
  if (last == "second") return interval;
  if (last == "minute") {
    interval->nanoseconds -= interval->nanoseconds % kNanosPerMinute;
  } else if (last == "hour") {
    interval->nanoseconds -= interval->nanoseconds % kNanosPerHour;
  } else {
    interval->nanoseconds = 0;
    if (last != "day") interval->days = 0;
    if (last == "year") interval->months -= interval->months % kMonthsPerYear;
  }
  return interval;
}

}  // namespace icebound::sql
