// SPDX-License-Identifier: Apache-2.0
#include "io/csv/csv_values.h"

#include <algorithm>

#include "expr/calendar.h"
#include "expr/date_time_text.h"

namespace icebound::io {
namespace {

// In the order in which they are preferred.
enum : uint32_t {
  kBoolean = 1 << 0,
  kInteger = 1 << 1,
  kLongInteger = 1 << 2,
  kNumber = 1 << 3,
  kDate = 1 << 4,
  kTime = 1 << 5,
  kTimestamp = 1 << 6,
  kTimestampTz = 1 << 7,
};

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

/// The number in `count` digits at `at`; -1 when they are not all digits.
int Digits(std::string_view text, size_t at, size_t count) {
  int number = 0;
  for (size_t i = at; i < at + count; ++i) {
    if (i >= text.size() || !IsDigit(text[i])) return -1;
    number = number * 10 + (text[i] - '0');
  }
  return number;
}

/// YYYY-MM-DD at the beginning of `text`.
bool TakeIsoDate(std::string_view text, int64_t* days) {
  if (text.size() < 10 || text[4] != '-' || text[7] != '-') return false;
  const int year = Digits(text, 0, 4), month = Digits(text, 5, 2), day = Digits(text, 8, 2);
  if (year < 1 || month < 1 || month > 12 || day < 1 || day > expr::DaysInMonth(year, month)) return false;
  *days = expr::DaysFromCivil(year, month, day);
  return true;
}

/// HH:MM[:SS[.f...]] at the beginning of `text`: nanoseconds since midnight, and how many characters it took. No more than nine
/// digits of a second.
bool TakeIsoTime(std::string_view text, int64_t* nanos, size_t* taken) {
  const int hour = Digits(text, 0, 2), minute = Digits(text, 3, 2);
  if (hour < 0 || hour > 23 || minute < 0 || minute > 59 || text[2] != ':') return false;
  *taken = 5;
  int second = 0;
  int64_t fraction = 0;
  if (text.size() > 5 && text[5] == ':') {
    second = Digits(text, 6, 2);
    if (second < 0 || second > 59) return false;
    *taken = 8;
    if (text.size() > 9 && text[8] == '.' && IsDigit(text[9])) {
      int64_t scale = expr::kNanosPerMicro * expr::kMicrosPerSecond;
      for (*taken = 9; *taken < text.size() && IsDigit(text[*taken]); ++*taken) {
        if (scale == 1) return false;
        scale /= 10;
        fraction += scale * (text[*taken] - '0');
      }
    }
  }
  *nanos =
      (hour * expr::kMicrosPerHour + minute * expr::kMicrosPerMinute + second * expr::kMicrosPerSecond) * expr::kNanosPerMicro +
      fraction;
  return true;
}

/// Z, or an offset from UTC: +HH, +HHMM, +HH:MM.
bool IsZone(std::string_view text) {
  if (text == "Z" || text == "z") return true;
  if (text.size() < 3 || (text[0] != '+' && text[0] != '-') || Digits(text, 1, 2) < 0) return false;
  if (text.size() == 3) return true;
  const size_t minutes = text[3] == ':' ? 4 : 3;
  return text.size() == minutes + 2 && Digits(text, minutes, 2) >= 0;
}

uint32_t NumberTypes(std::string_view text) {
  std::string_view rest = text;
  if (rest.front() == '+' || rest.front() == '-') rest.remove_prefix(1);
  size_t digits = 0;
  while (digits < rest.size() && IsDigit(rest[digits])) ++digits;
  // "007" is a name made of digits; "0.5" and "0" are numbers.
  if (digits > 1 && rest.front() == '0') return 0;
  if (digits == rest.size() && digits > 0) {
    int64_t value;
    if (ParseCsvInteger<int64_t>(text, *arrow::int64(), &value)) return kInteger | kLongInteger | kNumber;
    return digits <= static_cast<size_t>(expr::kMaxDecimalDigits) ? kLongInteger | kNumber : kNumber;
  }
  double value;
  return ParseCsvNumber<double>(text, *arrow::float64(), &value) ? kNumber : 0;
}

uint32_t DateTimeTypes(std::string_view text) {
  int64_t days, nanos;
  size_t taken;
  if (TakeIsoTime(text, &nanos, &taken)) return taken == text.size() && taken > 5 ? kTime : 0;
  if (!TakeIsoDate(text, &days)) return 0;
  if (text.size() == 10) return kDate | kTimestamp;
  if (text[10] != ' ' && text[10] != 'T') return 0;
  text.remove_prefix(11);
  if (!TakeIsoTime(text, &nanos, &taken)) return 0;
  text.remove_prefix(taken);
  if (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  if (text.empty()) return kTimestamp;
  return IsZone(text) ? kTimestampTz : 0;
}

}  // namespace

bool ParseCsvBoolean(std::string_view text, bool* value) {
  if (text == "true" || text == "false") {
    *value = text == "true";
    return true;
  }
  const auto slow = expr::ParseBoolean(text);
  if (slow.ok()) *value = *slow;
  return slow.ok();
}

bool ParseCsvDecimal(std::string_view text, const arrow::DataType& type, expr::Int128* value) {
  const auto& decimal = static_cast<const arrow::Decimal128Type&>(type);
  const auto parsed = expr::ParseDecimal(text, decimal.precision(), decimal.scale());
  if (parsed.ok()) *value = *parsed;
  return parsed.ok();
}

bool ParseCsvDate(std::string_view text, const arrow::DataType&, int32_t* value) {
  int64_t days;
  if (text.size() == 10 && TakeIsoDate(text, &days)) {
    *value = static_cast<int32_t>(days);
    return true;
  }
  const auto slow = expr::ParseDate(text);
  if (slow.ok()) *value = *slow;
  return slow.ok();
}

bool ParseCsvTime(std::string_view text, const arrow::DataType& type, int64_t* value) {
  const auto slow = expr::ParseTime(text, static_cast<const arrow::Time64Type&>(type).unit());
  if (slow.ok()) *value = *slow;
  return slow.ok();
}

bool ParseCsvTimestamp(std::string_view text, const arrow::DataType& type, int64_t* value) {
  const auto& timestamp = static_cast<const arrow::TimestampType&>(type);
  int64_t days, nanos;
  size_t taken;
  const bool is_micro = timestamp.unit() == arrow::TimeUnit::MICRO;
  if (is_micro && text.size() > 11 && TakeIsoDate(text, &days) && (text[10] == ' ' || text[10] == 'T') &&
      TakeIsoTime(text.substr(11), &nanos, &taken) && 11 + taken == text.size() && nanos % expr::kNanosPerMicro == 0) {
    *value = days * expr::kMicrosPerDay + nanos / expr::kNanosPerMicro;
    return true;
  }
  const auto slow = expr::ParseTimestamp(text, timestamp);
  if (slow.ok()) *value = *slow;
  return slow.ok();
}

uint32_t CsvTypeGuess::TypesOf(std::string_view text) {
  text = expr::TrimSpace(text);
  if (text.empty()) return 0;
  if (expr::EqualsIgnoreCase(text, "true") || expr::EqualsIgnoreCase(text, "false")) return kBoolean;
  const uint32_t number = NumberTypes(text);
  return number != 0 ? number : DateTimeTypes(text);
}

std::shared_ptr<arrow::DataType> CsvTypeGuess::type() const {
  if (!seen_ || possible_ == 0) return arrow::utf8();
  switch (possible_ & (~possible_ + 1)) {
    case kBoolean:
      return arrow::boolean();
    case kInteger:
      return arrow::int64();
    case kLongInteger:
      return arrow::decimal128(expr::kMaxDecimalDigits, 0);
    case kNumber:
      return arrow::float64();
    case kDate:
      return arrow::date32();
    case kTime:
      return arrow::time64(arrow::TimeUnit::MICRO);
    case kTimestamp:
      return arrow::timestamp(arrow::TimeUnit::MICRO);
    default:
      return arrow::timestamp(arrow::TimeUnit::MICRO, "UTC");
  }
}

}  // namespace icebound::io
