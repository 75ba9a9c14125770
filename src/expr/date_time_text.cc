// SPDX-License-Identifier: Apache-2.0
#include "expr/date_time_text.h"

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include "base/error.h"
#include "expr/calendar.h"
#include "expr/number_text.h"
#include "expr/shown_text.h"

namespace icebound::expr {

namespace {

constexpr bool IsDigit(char c) { return c >= '0' && c <= '9'; }
constexpr bool IsAlpha(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

arrow::Status FieldOutOfRange(std::string_view text) {
  return MakeError(ErrorKind::kExecution, "date/time field value out of range: \"{}\"", ShownText(text));
}

/// Walks over a text; every Take function moves on only when it succeeds.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : text_(text) {}
  bool AtEnd() const { return at_ == text_.size(); }
  char Peek(size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  void Skip(size_t count = 1) { at_ += count; }
  bool Take(char c) {
    if (Peek() != c) return false;
    ++at_;
    return true;
  }
  void SkipSpace() {
    while (!AtEnd() && (Peek() == ' ' || Peek() == '\t' || Peek() == '\n')) ++at_;
  }
  std::string_view TakeDigits() { return TakeWhile(IsDigit); }
  std::string_view TakeWord() { return TakeWhile(IsAlpha); }
  std::string_view Rest() const { return text_.substr(at_); }

 private:
  template <typename Predicate>
  std::string_view TakeWhile(Predicate predicate) {
    const size_t begin = at_;
    while (!AtEnd() && predicate(text_[at_])) ++at_;
    return text_.substr(begin, at_ - begin);
  }

  std::string_view text_;
  size_t at_ = 0;
};

/// The value of up to nine digits; -1 for none or too many.
int64_t Number(std::string_view digits) {
  if (digits.empty() || digits.size() > 9) return -1;
  int64_t value = 0;
  for (char c : digits) value = value * 10 + (c - '0');
  return value;
}

/// As Number, for the large counts of intervals.
int64_t LargeNumber(std::string_view digits) {
  if (digits.empty() || digits.size() > 18) return -1;
  int64_t value = 0;
  for (char c : digits) value = value * 10 + (c - '0');
  return value;
}

/// A fraction's digits ("25" of .25) in nanoseconds, rounded half away from zero.
int64_t FractionNanos(std::string_view digits) {
  int64_t nanos = 0;
  for (size_t i = 0; i < 9; ++i) nanos = nanos * 10 + (i < digits.size() ? digits[i] - '0' : 0);
  return nanos + (digits.size() > 9 && digits[9] >= '5' ? 1 : 0);
}

int MonthFromWord(std::string_view word) {
  constexpr std::array<std::string_view, 12> kMonths = {"january", "february", "march",     "april",   "may",      "june",
                                                        "july",    "august",   "september", "october", "november", "december"};
  if (word.size() < 3) return 0;
  for (size_t i = 0; i < kMonths.size(); ++i) {
    if (EqualsIgnoreCase(word, kMonths[i]) || (EqualsIgnoreCase(word, kMonths[i].substr(0, 3)))) return static_cast<int>(i) + 1;
  }
  return EqualsIgnoreCase(word, "sept") ? 9 : 0;
}

struct DateParts {
  int64_t year = 0;
  int64_t month = 0;
  int64_t day = 0;
};

/// Two-digit years are 1970..2069.
int64_t FullYear(std::string_view digits) {
  const int64_t year = Number(digits);
  return digits.size() == 2 && year >= 0 ? year + (year < 70 ? 2000 : 1900) : year;
}

bool TakeSeparator(Cursor* cursor) {
  const char c = cursor->Peek();
  if (c == '-' || c == '/' || c == '.' || c == ' ' || c == ',') {
    cursor->Skip();
    cursor->SkipSpace();
    return true;
  }
  return false;
}

/// year-month-day, yyyymmdd, month/day/year, and month names in any of the usual places.
bool TakeDateParts(Cursor* cursor, DateParts* parts) {
  std::array<std::string_view, 3> numbers;
  int count = 0, month = 0, month_at = -1;
  for (int field = 0; field < 3; ++field) {
    if (field > 0 && !TakeSeparator(cursor)) return false;
    if (IsAlpha(cursor->Peek())) {
      month = MonthFromWord(cursor->TakeWord());
      if (month == 0 || month_at >= 0) return false;
      month_at = field;
      if (cursor->Peek() == ' ') cursor->SkipSpace();
      if (cursor->Peek() != '-' && cursor->Peek() != ',' && IsDigit(cursor->Peek()) && field < 2) {
        numbers[count++] = cursor->TakeDigits();
        ++field;
      }
      continue;
    }
    numbers[count] = cursor->TakeDigits();
    if (numbers[count].empty()) return false;
    if (field == 0 && numbers[0].size() == 8 && cursor->Peek() != '-' && cursor->Peek() != '/') {
      *parts = {Number(numbers[0].substr(0, 4)), Number(numbers[0].substr(4, 2)), Number(numbers[0].substr(6, 2))};
      return true;
    }
    ++count;
  }
  if (month_at >= 0) {
    if (count != 2) return false;
    const bool year_first = numbers[0].size() > 2;
    *parts = {FullYear(numbers[year_first ? 0 : 1]), month, Number(numbers[year_first ? 1 : 0])};
    return true;
  }
  if (numbers[0].size() > 2) {
    *parts = {Number(numbers[0]), Number(numbers[1]), Number(numbers[2])};
  } else {
    *parts = {FullYear(numbers[2]), Number(numbers[0]), Number(numbers[1])};
  }
  return true;
}

/// Takes the era off the end of a text, where it may follow the date or the time; true for BC.
bool TakeEra(std::string_view* text) {
  const std::string_view trimmed = TrimSpace(*text);
  const std::string_view word = trimmed.size() < 3 ? std::string_view() : trimmed.substr(trimmed.size() - 2);
  if (word.empty() || trimmed[trimmed.size() - 3] != ' ') return false;
  const bool before_christ = EqualsIgnoreCase(word, "bc");
  if (before_christ || EqualsIgnoreCase(word, "ad")) *text = TrimSpace(trimmed.substr(0, trimmed.size() - 2));
  return before_christ;
}

/// The date at the cursor, with an error only for fields out of range; nullopt for anything that is no date.
arrow::Result<std::optional<int64_t>> TakeDate(Cursor* cursor, bool before_christ, std::string_view text) {
  DateParts parts;
  if (EqualsIgnoreCase(cursor->Rest(), "epoch")) {
    cursor->Skip(5);
    return 0;
  }
  if (!TakeDateParts(cursor, &parts)) return std::nullopt;
  if (parts.year < 0 || parts.month < 0 || parts.day < 0) return std::nullopt;
  if (parts.year == 0 || parts.month < 1 || parts.month > 12 || parts.day < 1 || parts.day > 31) return FieldOutOfRange(text);
  if (before_christ) parts.year = 1 - parts.year;
  if (parts.day > DaysInMonth(parts.year, static_cast<int>(parts.month))) return FieldOutOfRange(text);
  if (parts.year > 5'874'897 || parts.year < -4712)
    return MakeError(ErrorKind::kExecution, "date out of range: \"{}\"", ShownText(text));
  return DaysFromCivil(parts.year, static_cast<int>(parts.month), static_cast<int>(parts.day));
}

/// hh:mm[:ss[.fraction]] [AM|PM], or hhmmss after a T, in nanoseconds; nullopt for anything that is no time.
arrow::Result<std::optional<int64_t>> TakeTime(Cursor* cursor, std::string_view text) {
  const std::string_view first = cursor->TakeDigits();
  int64_t hour = Number(first), minute = 0, second = 0, nanos = 0;
  if (first.size() == 6 || (first.size() == 4 && cursor->Peek() != ':')) {
    hour = Number(first.substr(0, 2));
    minute = Number(first.substr(2, 2));
    if (first.size() == 6) second = Number(first.substr(4, 2));
  } else {
    if (first.size() > 2 || first.empty() || !cursor->Take(':')) return std::nullopt;
    minute = Number(cursor->TakeDigits());
    if (cursor->Take(':')) second = Number(cursor->TakeDigits());
  }
  if (hour < 0 || minute < 0 || second < 0) return std::nullopt;
  if (cursor->Peek() == '.' && IsDigit(cursor->Peek(1))) {
    cursor->Skip();
    nanos = FractionNanos(cursor->TakeDigits());
  }
  Cursor half_day = *cursor;
  half_day.SkipSpace();
  const std::string_view word = half_day.TakeWord();
  if (EqualsIgnoreCase(word, "am") || EqualsIgnoreCase(word, "pm")) {
    if (hour < 1 || hour > 12) return FieldOutOfRange(text);
    hour = hour % 12 + (EqualsIgnoreCase(word, "pm") ? 12 : 0);
    *cursor = half_day;
  }
  const int64_t total = ((hour * 60 + minute) * 60 + second) * 1'000'000'000 + nanos;
  if (hour > 24 || minute > 59 || second > 60 || total > kNanosPerDay) return FieldOutOfRange(text);
  return total;
}

/// Z, UTC, GMT, +hh, +hhmm, +hh:mm[:ss]: seconds east of Greenwich; nullopt when there is no zone.
arrow::Result<std::optional<int64_t>> TakeZone(Cursor* cursor, std::string_view text) {
  cursor->SkipSpace();
  if (IsAlpha(cursor->Peek())) {
    Cursor after = *cursor;
    const std::string_view word = after.TakeWord();
    if (after.Peek() == '/') {  // Area/City
      std::string name(cursor->Rest());
      for (char& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
      return MakeError(ErrorKind::kExecution, "time zone \"{}\" not recognized", name);
    }
    const bool is_utc = EqualsIgnoreCase(word, "z") || EqualsIgnoreCase(word, "utc") || EqualsIgnoreCase(word, "gmt") ||
                        EqualsIgnoreCase(word, "zulu");
    if (!is_utc) return std::nullopt;
    *cursor = after;
    return 0;
  }
  if (cursor->Peek() != '+' && cursor->Peek() != '-') return std::nullopt;
  const int64_t sign = cursor->Peek() == '-' ? -1 : 1;
  cursor->Skip();
  const std::string_view first = cursor->TakeDigits();
  int64_t hour = Number(first), minute = 0, second = 0;
  if (first.size() == 4) {
    hour = Number(first.substr(0, 2));
    minute = Number(first.substr(2));
  } else if (cursor->Take(':')) {
    minute = Number(cursor->TakeDigits());
    if (cursor->Take(':')) second = Number(cursor->TakeDigits());
  }
  if (hour < 0 || minute < 0 || second < 0 || first.size() > 4 || first.size() == 3)
    return InvalidSyntax("timestamp with time zone", text);
  if (hour > 15 || minute > 59 || second > 59)
    return MakeError(ErrorKind::kExecution, "time zone displacement out of range: \"{}\"", ShownText(text));
  return sign * (hour * 3600 + minute * 60 + second);
}

int64_t RoundToMicros(int64_t nanos) { return (nanos + 500) / 1000; }

}  // namespace

arrow::Result<int32_t> ParseDate(std::string_view text) {
  std::string_view rest = TrimSpace(text);
  const bool before_christ = TakeEra(&rest);
  Cursor cursor(rest);
  ARROW_ASSIGN_OR_RAISE(const auto days, TakeDate(&cursor, before_christ, text));
  if (!days) return InvalidSyntax("date", text);
  if (!cursor.AtEnd()) {  // A timestamp's text is read as a date, too.
    if (!cursor.Take('T')) cursor.SkipSpace();
    ARROW_ASSIGN_OR_RAISE(const auto time, TakeTime(&cursor, text));
    if (!time) return InvalidSyntax("date", text);
    ARROW_RETURN_NOT_OK(TakeZone(&cursor, text).status());
    if (!cursor.AtEnd()) return InvalidSyntax("date", text);
  }
  return static_cast<int32_t>(*days);
}

arrow::Result<int64_t> ParseTime(std::string_view text, arrow::TimeUnit::type unit) {
  Cursor cursor(TrimSpace(text));
  cursor.Take('T');
  ARROW_ASSIGN_OR_RAISE(const auto nanos, TakeTime(&cursor, text));
  if (nanos) ARROW_RETURN_NOT_OK(TakeZone(&cursor, text).status());
  if (!nanos || !cursor.AtEnd()) return InvalidSyntax("time", text);
  if (*nanos >= kNanosPerDay - 500 && (unit != arrow::TimeUnit::NANO || *nanos == kNanosPerDay)) return FieldOutOfRange(text);
  return unit == arrow::TimeUnit::NANO ? *nanos : RoundToMicros(*nanos);
}

arrow::Result<int64_t> ParseTimestamp(std::string_view text, const arrow::TimestampType& type) {
  const bool zoned = !type.timezone().empty();
  const std::string_view name = zoned ? "timestamp with time zone" : "timestamp";
  std::string_view rest = TrimSpace(text);
  const bool before_christ = TakeEra(&rest);
  Cursor cursor(rest);
  ARROW_ASSIGN_OR_RAISE(const auto days, TakeDate(&cursor, before_christ, text));
  if (!days) return InvalidSyntax(name, text);
  int64_t nanos = 0;
  if (cursor.Take('T') || cursor.Take('t') || (cursor.SkipSpace(), IsDigit(cursor.Peek()))) {
    ARROW_ASSIGN_OR_RAISE(const auto time, TakeTime(&cursor, text));
    if (!time) return InvalidSyntax(name, text);
    nanos = *time;
  }
  ARROW_ASSIGN_OR_RAISE(const auto zone_seconds, TakeZone(&cursor, text));
  if (!cursor.AtEnd()) return InvalidSyntax(name, text);
  const bool is_nano = type.unit() == arrow::TimeUnit::NANO;
  const Int128 value = static_cast<Int128>(*days) * (is_nano ? kNanosPerDay : kMicrosPerDay) +
                       (is_nano ? nanos : RoundToMicros(nanos)) -
                       static_cast<Int128>(zoned ? zone_seconds.value_or(0) : 0) * (is_nano ? 1'000'000'000 : kMicrosPerSecond);
  if (value != static_cast<int64_t>(value))
    return MakeError(ErrorKind::kExecution, "timestamp out of range: \"{}\"", ShownText(text));
  return static_cast<int64_t>(value);
}

std::optional<DateTimeField> FieldFromWord(std::string_view word) {
  struct Entry {
    std::string_view word;
    DateTimeField field;
  };
  using enum DateTimeField;
  static constexpr Entry kWords[] = {
      {"us", kMicroseconds},
      {"usec", kMicroseconds},
      {"usecs", kMicroseconds},
      {"usecond", kMicroseconds},
      {"useconds", kMicroseconds},
      {"microsecond", kMicroseconds},
      {"microseconds", kMicroseconds},
      {"microsecon", kMicroseconds},
      {"ms", kMilliseconds},
      {"msec", kMilliseconds},
      {"msecs", kMilliseconds},
      {"msecond", kMilliseconds},
      {"mseconds", kMilliseconds},
      {"millisecond", kMilliseconds},
      {"milliseconds", kMilliseconds},
      {"millisecon", kMilliseconds},
      {"s", kSecond},
      {"sec", kSecond},
      {"secs", kSecond},
      {"second", kSecond},
      {"seconds", kSecond},
      {"m", kMinute},
      {"min", kMinute},
      {"mins", kMinute},
      {"minute", kMinute},
      {"minutes", kMinute},
      {"h", kHour},
      {"hr", kHour},
      {"hrs", kHour},
      {"hour", kHour},
      {"hours", kHour},
      {"d", kDay},
      {"day", kDay},
      {"days", kDay},
      {"w", kWeek},
      {"week", kWeek},
      {"weeks", kWeek},
      {"mon", kMonth},
      {"mons", kMonth},
      {"month", kMonth},
      {"months", kMonth},
      {"qtr", kQuarter},
      {"quarter", kQuarter},
      {"y", kYear},
      {"yr", kYear},
      {"yrs", kYear},
      {"year", kYear},
      {"years", kYear},
      {"dec", kDecade},
      {"decs", kDecade},
      {"decade", kDecade},
      {"decades", kDecade},
      {"c", kCentury},
      {"cent", kCentury},
      {"century", kCentury},
      {"centuries", kCentury},
      {"mil", kMillennium},
      {"mils", kMillennium},
      {"millennium", kMillennium},
      {"millennia", kMillennium},
      {"dow", kDayOfWeek},
      {"isodow", kIsoDayOfWeek},
      {"doy", kDayOfYear},
      {"isoyear", kIsoYear},
      {"epoch", kEpoch},
      {"julian", kJulian},
      {"timezone", kTimezone},
      {"timezone_hour", kTimezoneHour},
      {"timezone_minute", kTimezoneMinute},
  };
  for (const Entry& entry : kWords) {
    if (EqualsIgnoreCase(entry.word, word)) return entry.field;
  }
  return std::nullopt;
}

namespace {

arrow::Status IntervalFieldOutOfRange(std::string_view text) {
  return MakeError(ErrorKind::kExecution, "interval field value out of range: \"{}\"", ShownText(text));
}

/// Sums the parts of an interval exactly: whole units as integers, fractions as decimal digits scaled by the unit below.
class IntervalSum {
 public:
  /// Adds sign * (whole + fraction / 10^9) units; false when the unit cannot be part of an interval.
  bool Add(int64_t sign, int64_t whole, int64_t fraction_nanos, DateTimeField field) {
    using enum DateTimeField;
    switch (field) {
      case kMicroseconds:
        return AddNanos(sign, whole, fraction_nanos, 1'000);
      case kMilliseconds:
        return AddNanos(sign, whole, fraction_nanos, 1'000'000);
      case kSecond:
        return AddNanos(sign, whole, fraction_nanos, 1'000'000'000);
      case kMinute:
        return AddNanos(sign, whole, fraction_nanos, 60'000'000'000);
      case kHour:
        return AddNanos(sign, whole, fraction_nanos, 3'600'000'000'000);
      case kDay:
        return AddDays(sign, whole, fraction_nanos, 1);
      case kWeek:
        return AddDays(sign, whole, fraction_nanos, 7);
      case kMonth:
        months_ += static_cast<Int128>(sign) * whole;
        return AddDays(sign, 0, fraction_nanos, 30);
      case kYear:
        return AddMonths(sign, whole, fraction_nanos, 12);
      case kDecade:
        return AddMonths(sign, whole, fraction_nanos, 120);
      case kCentury:
        return AddMonths(sign, whole, fraction_nanos, 1200);
      case kMillennium:
        return AddMonths(sign, whole, fraction_nanos, 12000);
      default:
        return false;
    }
  }
  /// False when the unit was there before.
  bool TakeUnit(DateTimeField field) {
    const uint32_t bit = uint32_t{1} << static_cast<int>(field);
    const bool first = (seen_units_ & bit) == 0;
    seen_units_ |= bit;
    return first;
  }
  void AddTime(int64_t sign, int64_t nanos) { nanos_ += static_cast<Int128>(sign) * nanos; }
  void Negate() {
    months_ = -months_;
    days_ = -days_;
    nanos_ = -nanos_;
  }
  arrow::Result<Interval> Finish(std::string_view text) const {
    const Int128 micros = (nanos_ < 0 ? nanos_ - 500 : nanos_ + 500) / 1000;  // PostgreSQL keeps microseconds.
    const Int128 nanos = micros * 1000;
    if (months_ != static_cast<int32_t>(months_) || days_ != static_cast<int32_t>(days_) ||
        nanos != static_cast<int64_t>(nanos)) {
      return IntervalFieldOutOfRange(text);
    }
    return Interval{static_cast<int32_t>(months_), static_cast<int32_t>(days_), static_cast<int64_t>(nanos)};
  }

 private:
  bool AddNanos(int64_t sign, int64_t whole, int64_t fraction_nanos, int64_t unit_nanos) {
    nanos_ += static_cast<Int128>(sign) *
              (static_cast<Int128>(whole) * unit_nanos + static_cast<Int128>(fraction_nanos) * unit_nanos / 1'000'000'000);
    return true;
  }
  bool AddDays(int64_t sign, int64_t whole, int64_t fraction_nanos, int64_t unit_days) {
    const int64_t fraction = fraction_nanos * unit_days;  // in 1e-9 days
    days_ += static_cast<Int128>(sign) * (static_cast<Int128>(whole) * unit_days + fraction / 1'000'000'000);
    nanos_ += static_cast<Int128>(sign) * (static_cast<Int128>(fraction % 1'000'000'000) * kNanosPerDay / 1'000'000'000);
    return true;
  }
  /// A fraction of a year is rounded to whole months.
  bool AddMonths(int64_t sign, int64_t whole, int64_t fraction_nanos, int64_t unit_months) {
    months_ += static_cast<Int128>(sign) * (static_cast<Int128>(whole) * unit_months +
                                            (static_cast<Int128>(fraction_nanos) * unit_months + 500'000'000) / 1'000'000'000);
    return true;
  }

  Int128 months_ = 0, days_ = 0, nanos_ = 0;
  uint32_t seen_units_ = 0;
};

/// ISO 8601 with designators, after the P.
bool TakeIsoInterval(Cursor* cursor, IntervalSum* sum) {
  bool time = false, any = false;
  while (!cursor->AtEnd()) {
    if (cursor->Take('T')) {
      time = true;
      continue;
    }
    const int64_t sign = cursor->Take('-') ? -1 : 1;
    if (sign > 0) cursor->Take('+');
    const int64_t whole = LargeNumber(cursor->TakeDigits());
    int64_t fraction = 0;
    if (cursor->Take('.')) fraction = FractionNanos(cursor->TakeDigits());
    if (whole < 0) return false;
    using enum DateTimeField;
    DateTimeField field;
    switch (cursor->Peek()) {
      case 'Y':
        field = kYear;
        break;
      case 'M':
        field = time ? kMinute : kMonth;
        break;
      case 'W':
        field = kWeek;
        break;
      case 'D':
        field = kDay;
        break;
      case 'H':
        field = kHour;
        break;
      case 'S':
        field = kSecond;
        break;
      default:
        return false;
    }
    cursor->Skip();
    sum->Add(sign, whole, fraction, field);
    any = true;
  }
  return any;
}

/// One item of the traditional form: a number with a unit, year-month, or a time of day.
arrow::Result<bool> TakeIntervalItem(Cursor* cursor, DateTimeField default_field, std::string_view text, IntervalSum* sum) {
  int64_t sign = 1;
  if (cursor->Take('-')) {
    sign = -1;
  } else {
    cursor->Take('+');
  }
  const std::string_view digits = cursor->TakeDigits();
  int64_t whole = digits.empty() && cursor->Peek() == '.' ? 0 : LargeNumber(digits);
  if (whole < 0) return false;
  if (cursor->Take(':')) {  // hh:mm[:ss[.fraction]]; hours may exceed a day
    const int64_t minute = Number(cursor->TakeDigits());
    int64_t second = 0, nanos = 0;
    if (cursor->Take(':')) {
      second = Number(cursor->TakeDigits());
      if (cursor->Take('.')) nanos = FractionNanos(cursor->TakeDigits());
    }
    if (minute < 0 || second < 0) return false;
    if (minute > 59 || second > 59 || whole > 2'500'000) return IntervalFieldOutOfRange(text);
    sum->AddTime(sign, ((whole * 60 + minute) * 60 + second) * 1'000'000'000 + nanos);
    return true;
  }
  if (cursor->Peek() == '-' && IsDigit(cursor->Peek(1))) {  // year-month
    cursor->Skip();
    const int64_t months = Number(cursor->TakeDigits());
    if (months < 0) return false;
    if (months > 11) return IntervalFieldOutOfRange(text);
    if (whole > 200'000'000) return IntervalFieldOutOfRange(text);
    sum->Add(sign, whole * 12 + months, 0, DateTimeField::kMonth);
    return true;
  }
  int64_t fraction = 0;
  if (cursor->Take('.')) fraction = FractionNanos(cursor->TakeDigits());
  cursor->SkipSpace();
  DateTimeField field = default_field;
  Cursor ahead = *cursor;
  if (const std::string_view word = ahead.TakeWord(); !word.empty() && !EqualsIgnoreCase(word, "ago")) {
    const auto named = FieldFromWord(word);
    if (!named || *named == DateTimeField::kQuarter) return false;
    field = *named;
    *cursor = ahead;
  }
  return sum->TakeUnit(field) && sum->Add(sign, whole, fraction, field);
}

}  // namespace

arrow::Result<Interval> ParseInterval(std::string_view text, std::string_view default_unit) {
  Cursor cursor(TrimSpace(text));
  IntervalSum sum;
  const auto default_field = FieldFromWord(default_unit);
  if (!default_field) return MakeError(ErrorKind::kInvalidInput, "interval unit \"{}\" not recognized", default_unit);
  if (cursor.Take('P')) {
    if (!TakeIsoInterval(&cursor, &sum)) return InvalidSyntax("interval", text);
    return sum.Finish(text);
  }
  cursor.Take('@');
  cursor.SkipSpace();
  if (cursor.AtEnd()) return InvalidSyntax("interval", text);
  while (!cursor.AtEnd()) {
    Cursor ahead = cursor;
    if (EqualsIgnoreCase(ahead.TakeWord(), "ago") && ahead.AtEnd()) {
      sum.Negate();
      break;
    }
    ARROW_ASSIGN_OR_RAISE(const bool taken, TakeIntervalItem(&cursor, *default_field, text, &sum));
    if (!taken) return InvalidSyntax("interval", text);
    cursor.SkipSpace();
  }
  return sum.Finish(text);
}

namespace {

void AppendPadded(int64_t value, int width, std::string* out) {
  char buffer[24];
  const auto end = std::to_chars(buffer, buffer + sizeof(buffer), value).ptr;
  const int length = static_cast<int>(end - buffer);
  if (length < width) out->append(width - length, '0');
  out->append(buffer, length);
}

/// hh:mm:ss and the fraction without trailing zeros.
void AppendClock(int64_t nanos, std::string* out) {
  const int64_t seconds = nanos / 1'000'000'000;
  int64_t fraction = nanos % 1'000'000'000;
  AppendPadded(seconds / 3600, 2, out);
  out->push_back(':');
  AppendPadded(seconds / 60 % 60, 2, out);
  out->push_back(':');
  AppendPadded(seconds % 60, 2, out);
  if (fraction == 0) return;
  int digits = 9;
  for (; fraction % 10 == 0; fraction /= 10) --digits;
  out->push_back('.');
  AppendPadded(fraction, digits, out);
}

/// The date without its era; true when it lies before the year 1.
bool AppendDateBody(int64_t days, std::string* out) {
  const CivilDate date = CivilFromDays(days);
  const bool before_christ = date.year <= 0;
  AppendPadded(before_christ ? 1 - date.year : date.year, 4, out);
  out->push_back('-');
  AppendPadded(date.month, 2, out);
  out->push_back('-');
  AppendPadded(date.day, 2, out);
  return before_christ;
}

}  // namespace

void AppendDate(int32_t days, std::string* out) {
  if (AppendDateBody(days, out)) out->append(" BC");
}

void AppendTime(int64_t value, arrow::TimeUnit::type unit, std::string* out) {
  AppendClock(unit == arrow::TimeUnit::NANO ? value : value * kNanosPerMicro, out);
}

void AppendTimestamp(int64_t value, const arrow::TimestampType& type, std::string* out) {
  const bool is_nano = type.unit() == arrow::TimeUnit::NANO;
  const int64_t per_day = is_nano ? kNanosPerDay : kMicrosPerDay;
  const bool before_christ = AppendDateBody(FloorDivide(value, per_day), out);
  out->push_back(' ');
  AppendClock(FloorModulo(value, per_day) * (is_nano ? 1 : kNanosPerMicro), out);
  if (!type.timezone().empty()) out->append("+00");
  if (before_christ) out->append(" BC");
}

void AppendInterval(const Interval& interval, std::string* out) {
  const size_t begin = out->size();
  bool after_negative = false;
  const auto append_unit = [&](int64_t value, std::string_view unit) {
    if (value == 0) return;
    if (out->size() > begin) out->push_back(' ');
    if (after_negative && value > 0) out->push_back('+');
    AppendInteger(value, out);
    out->push_back(' ');
    out->append(unit);
    if (value != 1) out->push_back('s');
    after_negative = value < 0;
  };
  append_unit(interval.months / 12, "year");
  append_unit(interval.months % 12, "mon");
  append_unit(interval.days, "day");
  if (interval.nanoseconds == 0 && out->size() > begin) return;
  if (out->size() > begin) out->push_back(' ');
  if (interval.nanoseconds < 0) {
    out->push_back('-');
  } else if (after_negative) {
    out->push_back('+');
  }
  const uint64_t magnitude = interval.nanoseconds < 0 ? -static_cast<uint64_t>(interval.nanoseconds) : interval.nanoseconds;
  AppendClock(static_cast<int64_t>(std::min<uint64_t>(magnitude, std::numeric_limits<int64_t>::max())), out);
}

}  // namespace icebound::expr
