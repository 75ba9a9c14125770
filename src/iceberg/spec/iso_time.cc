// SPDX-License-Identifier: Apache-2.0
#include "iceberg/spec/iso_time.h"

#include <chrono>
#include <limits>
#include <optional>

#include "base/error.h"

namespace icebound::iceberg {
namespace {

/// The calendar repeats after 400 years. std::chrono knows years of 16 bits only, so it sees the first cycle alone.
constexpr int64_t kDaysPerCycle = 146097;
constexpr int64_t kYearsPerCycle = 400;

/// Takes `count` digits off the front.
std::optional<int64_t> TakeDigits(std::string_view* text, size_t count) {
  if (text->size() < count) return std::nullopt;
  int64_t number = 0;
  for (size_t i = 0; i < count; ++i) {
    const char c = (*text)[i];
    if (c < '0' || c > '9') return std::nullopt;
    number = number * 10 + (c - '0');
  }
  text->remove_prefix(count);
  return number;
}

bool TakeChar(std::string_view* text, char wanted) {
  if (text->empty() || text->front() != wanted) return false;
  text->remove_prefix(1);
  return true;
}

std::optional<int64_t> TakeDate(std::string_view* text) {
  const bool negative = TakeChar(text, '-');
  if (!negative) TakeChar(text, '+');
  size_t year_digits = 0;
  while (year_digits < text->size() && (*text)[year_digits] >= '0' && (*text)[year_digits] <= '9') ++year_digits;
  if (year_digits < 4 || year_digits > 9) return std::nullopt;
  const auto year = TakeDigits(text, year_digits);
  if (!year || !TakeChar(text, '-')) return std::nullopt;
  const auto month = TakeDigits(text, 2);
  if (!month || !TakeChar(text, '-')) return std::nullopt;
  const auto day = TakeDigits(text, 2);
  if (!day || *month < 1 || *month > 12 || *day < 1) return std::nullopt;
  const YearMonthDay date{negative ? -*year : *year, static_cast<int>(*month), static_cast<int>(*day)};
  const int64_t days = DayNumber(date);
  const YearMonthDay back = CalendarDate(days);
  if (back.day != date.day || back.month != date.month) return std::nullopt;  // February 30
  return days;
}

/// A time of day in nanoseconds.
std::optional<int64_t> TakeTime(std::string_view* text) {
  const auto hour = TakeDigits(text, 2);
  if (!hour || *hour > 23 || !TakeChar(text, ':')) return std::nullopt;
  const auto minute = TakeDigits(text, 2);
  if (!minute || *minute > 59) return std::nullopt;
  int64_t seconds = 0;
  int64_t nanos = 0;
  if (TakeChar(text, ':')) {
    const auto second = TakeDigits(text, 2);
    if (!second || *second > 59) return std::nullopt;
    seconds = *second;
    if (TakeChar(text, '.')) {
      int digits = 0;
      for (; !text->empty() && text->front() >= '0' && text->front() <= '9'; ++digits, text->remove_prefix(1)) {
        if (digits < 9) nanos = nanos * 10 + (text->front() - '0');
      }
      if (digits == 0 || digits > 9) return std::nullopt;
      for (; digits < 9; ++digits) nanos *= 10;
    }
  }
  return ((*hour * 60 + *minute) * 60 + seconds) * 1'000'000'000 + nanos;
}

arrow::Status Malformed(std::string_view text, std::string_view form) {
  return MakeError(ErrorKind::kCorruptData, "'{}' is not a {}", text, form);
}

}  // namespace

YearMonthDay CalendarDate(int64_t days) {
  const int64_t cycle = FloorDivide(days, kDaysPerCycle);
  const std::chrono::days in_cycle{days - cycle * kDaysPerCycle};
  const std::chrono::year_month_day date{std::chrono::sys_days{in_cycle}};
  return {static_cast<int>(date.year()) + cycle * kYearsPerCycle, static_cast<int>(static_cast<unsigned>(date.month())),
          static_cast<int>(static_cast<unsigned>(date.day()))};
}

int64_t DayNumber(const YearMonthDay& date) {
  const int64_t cycle = FloorDivide(date.year - 1970, kYearsPerCycle);
  const std::chrono::year year{static_cast<int>(date.year - cycle * kYearsPerCycle)};
  const std::chrono::year_month_day in_cycle{year, std::chrono::month{static_cast<unsigned>(date.month)},
                                             std::chrono::day{static_cast<unsigned>(date.day)}};
  return std::chrono::sys_days{in_cycle}.time_since_epoch().count() + cycle * kDaysPerCycle;
}

void AppendIsoDate(int64_t days, std::string* out) {
  const YearMonthDay date = CalendarDate(days);
  const char* sign = date.year < 0 ? "-" : date.year > 9999 ? "+" : "";
  fmt::format_to(std::back_inserter(*out), "{}{:04}-{:02}-{:02}", sign, date.year < 0 ? -date.year : date.year, date.month,
                 date.day);
}

void AppendIsoTime(int64_t value, TimePrecision precision, std::string* out) {
  const int64_t per_second = precision == TimePrecision::kMicros ? 1'000'000 : 1'000'000'000;
  const int64_t seconds = value / per_second;
  const int64_t nanos = value % per_second * (1'000'000'000 / per_second);
  fmt::format_to(std::back_inserter(*out), "{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
  if (nanos == 0) return;
  if (nanos % 1'000'000 == 0) {
    fmt::format_to(std::back_inserter(*out), ".{:03}", nanos / 1'000'000);
  } else if (nanos % 1000 == 0) {
    fmt::format_to(std::back_inserter(*out), ".{:06}", nanos / 1000);
  } else {
    fmt::format_to(std::back_inserter(*out), ".{:09}", nanos);
  }
}

void AppendIsoTimestamp(int64_t value, TimePrecision precision, bool utc, std::string* out) {
  const int64_t per_day = precision == TimePrecision::kMicros ? kMicrosPerDay : kNanosPerDay;
  AppendIsoDate(FloorDivide(value, per_day), out);
  out->push_back('T');
  AppendIsoTime(FloorModulo(value, per_day), precision, out);
  if (utc) out->append("+00:00");
}

arrow::Result<int32_t> ParseIsoDate(std::string_view text) {
  std::string_view rest = text;
  const auto days = TakeDate(&rest);
  if (!days || !rest.empty() || *days != static_cast<int32_t>(*days)) return Malformed(text, "date such as 2017-11-16");
  return static_cast<int32_t>(*days);
}

arrow::Result<int64_t> ParseIsoTime(std::string_view text) {
  std::string_view rest = text;
  const auto nanos = TakeTime(&rest);
  if (!nanos || !rest.empty() || *nanos % 1000 != 0) return Malformed(text, "time of microseconds such as 22:31:08.123456");
  return *nanos / 1000;
}

arrow::Result<int64_t> ParseIsoTimestamp(std::string_view text, TimePrecision precision, bool utc) {
  const auto malformed = [&] {
    return Malformed(text,
                     utc ? "timestamp such as 2017-11-16T22:31:08.123456+00:00" : "timestamp such as 2017-11-16T22:31:08.123456");
  };
  std::string_view rest = text;
  const auto days = TakeDate(&rest);
  if (!days || !TakeChar(&rest, 'T')) return malformed();
  const auto nanos = TakeTime(&rest);
  if (!nanos || (utc ? rest != "+00:00" && rest != "Z" : !rest.empty())) return malformed();
  const bool micros = precision == TimePrecision::kMicros;
  if (micros && *nanos % 1000 != 0) return malformed();
  const __int128 value =
      static_cast<__int128>(*days) * (micros ? kMicrosPerDay : kNanosPerDay) + (micros ? *nanos / 1000 : *nanos);
  if (value < std::numeric_limits<int64_t>::min() || value > std::numeric_limits<int64_t>::max()) {
    return MakeError(ErrorKind::kCorruptData, "timestamp '{}' does not fit 64 bits", text);
  }
  return static_cast<int64_t>(value);
}

}  // namespace icebound::iceberg
