// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <optional>

#include "base/error.h"
#include "expr/calendar.h"
#include "expr/format_template.h"
#include "expr/shown_text.h"

namespace icebound::expr {

namespace {

constexpr std::array<std::string_view, 12> kMonths = {"January", "February", "March",     "April",   "May",      "June",
                                                      "July",    "August",   "September", "October", "November", "December"};
constexpr std::array<std::string_view, 7> kDays = {"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"};
constexpr std::array<std::string_view, 12> kRoman = {"I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII"};

struct Keyword {
  std::string_view text;
  DatePattern pattern;
  LetterCase letter_case;
  int width;
};

/// The longest of several that fit comes first. Names differ in meaning by their case.
const Keyword* FindKeyword(std::string_view rest) {
  using enum DatePattern;
  using enum LetterCase;
  static constexpr Keyword kExact[] = {
      {"MONTH", kMonthName, kUpper, 9},
      {"Month", kMonthName, kCapital, 9},
      {"month", kMonthName, kLower, 9},
      {"MON", kMonthShort, kUpper, 3},
      {"Mon", kMonthShort, kCapital, 3},
      {"mon", kMonthShort, kLower, 3},
      {"DAY", kDayName, kUpper, 9},
      {"Day", kDayName, kCapital, 9},
      {"day", kDayName, kLower, 9},
      {"DY", kDayShort, kUpper, 3},
      {"Dy", kDayShort, kCapital, 3},
      {"dy", kDayShort, kLower, 3},
      {"A.M.", kMeridiemDots, kUpper, 0},
      {"P.M.", kMeridiemDots, kUpper, 0},
      {"a.m.", kMeridiemDots, kLower, 0},
      {"p.m.", kMeridiemDots, kLower, 0},
      {"AM", kMeridiem, kUpper, 0},
      {"PM", kMeridiem, kUpper, 0},
      {"am", kMeridiem, kLower, 0},
      {"pm", kMeridiem, kLower, 0},
      {"B.C.", kEraDots, kUpper, 0},
      {"A.D.", kEraDots, kUpper, 0},
      {"b.c.", kEraDots, kLower, 0},
      {"a.d.", kEraDots, kLower, 0},
      {"BC", kEra, kUpper, 0},
      {"AD", kEra, kUpper, 0},
      {"bc", kEra, kLower, 0},
      {"ad", kEra, kLower, 0},
      {"RM", kRomanMonth, kUpper, 4},
      {"rm", kRomanMonth, kLower, 4},
      {"TZH", kZoneHour, kUpper, 0},
      {"TZM", kZoneMinute, kUpper, 0},
      {"TZ", kZone, kUpper, 0},
      {"tz", kZone, kLower, 0},
      {"OF", kZoneOffset, kUpper, 0},
  };
  static constexpr Keyword kAnyCase[] = {
      {"HH24", kHour24, kUpper, 2},
      {"HH12", kHour12, kUpper, 2},
      {"HH", kHour12, kUpper, 2},
      {"MI", kMinute, kUpper, 2},
      {"SSSSS", kSecondsOfDay, kUpper, 0},
      {"SSSS", kSecondsOfDay, kUpper, 0},
      {"SS", kSecond, kUpper, 2},
      {"MS", kMillisecond, kUpper, 3},
      {"US", kMicrosecond, kUpper, 6},
      {"FF1", kFraction, kUpper, 1},
      {"FF2", kFraction, kUpper, 2},
      {"FF3", kFraction, kUpper, 3},
      {"FF4", kFraction, kUpper, 4},
      {"FF5", kFraction, kUpper, 5},
      {"FF6", kFraction, kUpper, 6},
      {"Y,YYY", kYearComma, kUpper, 5},
      {"YYYY", kYear, kUpper, 4},
      {"YYY", kYear, kUpper, 3},
      {"YY", kYear, kUpper, 2},
      {"Y", kYear, kUpper, 1},
      {"IYYY", kIsoYear, kUpper, 4},
      {"IYY", kIsoYear, kUpper, 3},
      {"IY", kIsoYear, kUpper, 2},
      {"IDDD", kLiteral, kUpper, 0},
      {"ID", kIsoDayOfWeek, kUpper, 1},
      {"IW", kIsoWeek, kUpper, 2},
      {"I", kIsoYear, kUpper, 1},
      {"MM", kMonth, kUpper, 2},
      {"DDD", kDayOfYear, kUpper, 3},
      {"DD", kDay, kUpper, 2},
      {"D", kDayOfWeek, kUpper, 1},
      {"WW", kWeekOfYear, kUpper, 2},
      {"W", kWeekOfMonth, kUpper, 1},
      {"CC", kCentury, kUpper, 2},
      {"J", kJulian, kUpper, 0},
      {"Q", kQuarter, kUpper, 1},
  };
  for (const Keyword& keyword : kExact) {
    if (rest.starts_with(keyword.text)) return &keyword;
  }
  for (const Keyword& keyword : kAnyCase) {
    if (rest.size() >= keyword.text.size() && EqualsIgnoreCase(rest.substr(0, keyword.text.size()), keyword.text))
      return &keyword;
  }
  return nullptr;
}

void AppendCased(std::string_view text, LetterCase letter_case, std::string* out) {
  for (char c : text) {
    if (letter_case == LetterCase::kUpper && c >= 'a' && c <= 'z') c = static_cast<char>(c - 32);
    if (letter_case == LetterCase::kLower && c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
    out->push_back(c);
  }
}

void AppendName(std::string_view name, int width, const DateElement& element, std::string* out) {
  AppendCased(name, element.letter_case, out);
  if (!element.fill_mode && static_cast<int>(name.size()) < width) out->append(width - name.size(), ' ');
}

void AppendNumber(int64_t value, int width, const DateElement& element, std::string* out) {
  std::string digits;
  AppendInteger(value < 0 ? -value : value, &digits);
  if (value < 0) out->push_back('-');
  if (!element.fill_mode && static_cast<int>(digits.size()) < width) out->append(width - digits.size(), '0');
  out->append(digits);
  if (!element.ordinal) return;
  const int64_t last = value % 10, tens = value / 10 % 10;
  const char* ending = tens == 1 ? "th" : (last == 1 ? "st" : (last == 2 ? "nd" : (last == 3 ? "rd" : "th")));
  AppendCased(ending, element.ordinal_upper ? LetterCase::kUpper : LetterCase::kLower, out);
}

/// The last `width` digits of a year, or all of a longer one for YYYY.
int64_t YearDigits(int64_t year, int width) {
  constexpr int64_t kPowers[] = {1, 10, 100, 1000};
  return width < 4 ? year % kPowers[width] : year;
}

/// What the fields of a template show.
struct Moment {
  int64_t days = 0;
  CivilDate date{};
  int64_t year = 0;  ///< as shown: without a sign for years before Christ
  int64_t hour = 0;
  int64_t micros = 0;  ///< within the hour
  bool zoned = false;
  bool is_interval = false;
};

void AppendYear(const Moment& moment, const DateElement& element, std::string* out) {
  const bool iso = element.pattern == DatePattern::kIsoYear;
  const int64_t iso_year = iso ? IsoWeekOf(moment.days).year : 0;
  AppendNumber(YearDigits(iso ? (iso_year <= 0 ? 1 - iso_year : iso_year) : moment.year, element.width), element.width, element,
               out);
}

void AppendClockField(const Moment& moment, const DateElement& element, std::string* out) {
  using enum DatePattern;
  const int64_t fraction = moment.micros % kMicrosPerSecond;
  constexpr int64_t kDivisors[] = {0, 100'000, 10'000, 1'000, 100, 10, 1};
  switch (element.pattern) {
    case kHour12:
      return AppendNumber(moment.hour % 12 == 0 ? 12 : moment.hour % 12, 2, element, out);
    case kHour24:
      return AppendNumber(moment.hour, 2, element, out);
    case kMinute:
      return AppendNumber(moment.micros / kMicrosPerMinute, 2, element, out);
    case kSecond:
      return AppendNumber(moment.micros / kMicrosPerSecond % 60, 2, element, out);
    case kSecondsOfDay:
      return AppendNumber(moment.hour * 3600 + moment.micros / kMicrosPerSecond, 0, element, out);
    case kMeridiem:
      return AppendCased(moment.hour % 24 >= 12 ? "PM" : "AM", element.letter_case, out);
    case kMeridiemDots:
      return AppendCased(moment.hour % 24 >= 12 ? "P.M." : "A.M.", element.letter_case, out);
    default: {  // Fractions keep their zeros whatever the fill mode.
      DateElement padded = element;
      padded.fill_mode = false;
      return AppendNumber(fraction / kDivisors[element.width], element.width, padded, out);
    }
  }
}

void AppendDateField(const Moment& moment, const DateElement& element, std::string* out) {
  using enum DatePattern;
  const int day_of_year = static_cast<int>(moment.days - DaysFromCivil(moment.date.year, 1, 1)) + 1;
  const int day_of_week = DayOfWeek(moment.days);
  switch (element.pattern) {
    case kYear:
    case kIsoYear:
      return AppendYear(moment, element, out);
    case kYearComma:
      AppendNumber(moment.year / 1000, 1, element, out);
      out->push_back(',');
      return AppendNumber(moment.year % 1000, 3, DateElement{}, out);
    case kEra:
      return AppendCased(moment.date.year <= 0 && !moment.is_interval ? "BC" : "AD", element.letter_case, out);
    case kEraDots:
      return AppendCased(moment.date.year <= 0 && !moment.is_interval ? "B.C." : "A.D.", element.letter_case, out);
    case kMonthName:
      return AppendName(kMonths[moment.date.month - 1], 9, element, out);
    case kMonthShort:
      return AppendName(kMonths[moment.date.month - 1].substr(0, 3), 3, element, out);
    case kMonth:
      return AppendNumber(moment.date.month, 2, element, out);
    case kDayName:
      return AppendName(kDays[day_of_week], 9, element, out);
    case kDayShort:
      return AppendName(kDays[day_of_week].substr(0, 3), 3, element, out);
    case kDayOfYear:
      return AppendNumber(day_of_year, 3, element, out);
    case kDay:
      return AppendNumber(moment.date.day, 2, element, out);
    case kDayOfWeek:
      return AppendNumber(day_of_week + 1, 1, element, out);
    case kIsoDayOfWeek:
      return AppendNumber(day_of_week == 0 ? 7 : day_of_week, 1, element, out);
    case kWeekOfMonth:
      return AppendNumber((moment.date.day - 1) / 7 + 1, 1, element, out);
    case kWeekOfYear:
      return AppendNumber((day_of_year - 1) / 7 + 1, 2, element, out);
    case kIsoWeek:
      return AppendNumber(IsoWeekOf(moment.days).week, 2, element, out);
    case kCentury:
      return AppendNumber((moment.year + 99) / 100, 2, element, out);
    case kJulian:
      return AppendNumber(moment.days + 2440588, 0, element, out);
    case kQuarter:
      return AppendNumber((moment.date.month - 1) / 3 + 1, 1, element, out);
    case kRomanMonth:
      return AppendName(kRoman[moment.date.month - 1], 4, element, out);
    case kZone:
      return AppendCased(moment.zoned ? "UTC" : "", element.letter_case, out);
    case kZoneHour:
    case kZoneOffset:
      out->append("+00");
      return;
    case kZoneMinute:
      out->append("00");
      return;
    case kLiteral:
      out->append(element.literal);
      return;
    default:
      return AppendClockField(moment, element, out);
  }
}

}  // namespace

DateTemplate::DateTemplate(std::string_view text) {
  const auto add_literal = [this](char c) {
    if (elements_.empty() || elements_.back().pattern != DatePattern::kLiteral) elements_.emplace_back();
    elements_.back().literal.push_back(c);
  };
  for (size_t i = 0; i < text.size();) {
    if (text[i] == '"') {
      for (++i; i < text.size() && text[i] != '"'; ++i) {
        if (text[i] == '\\' && i + 1 < text.size()) ++i;
        add_literal(text[i]);
      }
      ++i;
      continue;
    }
    DateElement element;
    size_t at = i;
    if (EqualsIgnoreCase(text.substr(at, 2), "FM")) {
      element.fill_mode = true;
      at += 2;
    }
    const Keyword* keyword = FindKeyword(text.substr(at));
    if (keyword == nullptr || keyword->pattern == DatePattern::kLiteral) {
      if (element.fill_mode) {
        i = at;
        continue;
      }
      add_literal(text[i++]);
      continue;
    }
    element.pattern = keyword->pattern;
    element.letter_case = keyword->letter_case;
    element.width = keyword->width;
    at += keyword->text.size();
    if (const std::string_view suffix = text.substr(at, 2); suffix == "TH" || suffix == "th") {
      element.ordinal = true;
      element.ordinal_upper = suffix == "TH";
      at += 2;
    }
    elements_.push_back(std::move(element));
    i = at;
  }
}

void DateTemplate::Format(int64_t micros, bool zoned, std::string* out) const {
  Moment moment;
  moment.days = FloorDivide(micros, kMicrosPerDay);
  moment.date = CivilFromDays(moment.days);
  moment.year = moment.date.year <= 0 ? 1 - moment.date.year : moment.date.year;
  const int64_t time = FloorModulo(micros, kMicrosPerDay);
  moment.hour = time / kMicrosPerHour;
  moment.micros = time % kMicrosPerHour;
  moment.zoned = zoned;
  for (const DateElement& element : elements_) AppendDateField(moment, element, out);
}

void DateTemplate::Format(const Interval& interval, std::string* out) const {
  Moment moment;
  moment.is_interval = true;
  moment.year = interval.months / 12;
  moment.date = CivilDate{moment.year, interval.months % 12, interval.days};
  const int64_t time = interval.nanoseconds / kNanosPerMicro;
  moment.hour = time / kMicrosPerHour;
  moment.micros = time % kMicrosPerHour;
  for (const DateElement& element : elements_) {
    // Names and weeks belong to dates; an interval shows nothing for them.
    using enum DatePattern;
    const bool has = element.pattern == kLiteral || (element.pattern >= kHour12 && element.pattern <= kYear) ||
                     element.pattern == kMonth || element.pattern == kDay || element.pattern == kCentury;
    if (has) AppendDateField(moment, element, out);
  }
}

namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsAlphanumeric(char c) { return IsDigit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/// The fields read so far.
struct ParsedMoment {
  int64_t year = 1;
  int64_t month = 1, day = 1, hour = 0, minute = 0, second = 0, micros = 0;
  std::optional<int64_t> day_of_year, julian;
  std::optional<bool> afternoon;
  bool before_christ = false;
};

arrow::Status InvalidValue(std::string_view value, std::string_view field) {
  return MakeError(ErrorKind::kExecution, "invalid value \"{}\" for \"{}\"", ShownText(value), field);
}

/// Reads up to `width` digits (any number for 0) into `out`.
arrow::Status TakeNumber(std::string_view* rest, int width, std::string_view field, int64_t* out) {
  size_t length = 0;
  while (length < rest->size() && IsDigit((*rest)[length]) && length < (width == 0 ? 12u : static_cast<size_t>(width))) ++length;
  if (length == 0) return InvalidValue(rest->substr(0, std::min<size_t>(rest->size(), width == 0 ? 4 : width)), field);
  *out = 0;
  for (const char c : rest->substr(0, length)) *out = *out * 10 + (c - '0');
  rest->remove_prefix(length);
  return arrow::Status::OK();
}

template <size_t kCount>
arrow::Status TakeName(std::string_view* rest, const std::array<std::string_view, kCount>& names, size_t letters,
                       std::string_view field, int64_t* out) {
  for (size_t i = 0; i < kCount; ++i) {
    const std::string_view name = letters == 0 ? names[i] : names[i].substr(0, letters);
    if (rest->size() < name.size() || !EqualsIgnoreCase(rest->substr(0, name.size()), name)) continue;
    rest->remove_prefix(name.size());
    *out = static_cast<int64_t>(i) + 1;
    return arrow::Status::OK();
  }
  return InvalidValue(rest->substr(0, 9), field);
}

arrow::Status TakeFraction(std::string_view* rest, int width, int64_t* micros) {
  int64_t value = 0;
  const size_t before = rest->size();
  ARROW_RETURN_NOT_OK(TakeNumber(rest, width, "US", &value));
  for (size_t digits = before - rest->size(); digits < 6; ++digits) value *= 10;
  *micros = value;
  return arrow::Status::OK();
}

arrow::Status TakeElement(const DateElement& element, int year_width, std::string_view* rest, ParsedMoment* moment) {
  using enum DatePattern;
  int64_t ignored = 0;
  switch (element.pattern) {
    case kYear: {
      ARROW_RETURN_NOT_OK(TakeNumber(rest, year_width, "YYYY", &moment->year));
      // Short years are the ones nearest to 2020.
      if (element.width < 4 && moment->year < 100) moment->year += moment->year < 70 ? 2000 : 1900;
      return arrow::Status::OK();
    }
    case kMonth:
      return TakeNumber(rest, 2, "MM", &moment->month);
    case kMonthName:
      return TakeName(rest, kMonths, 0, "Month", &moment->month);
    case kMonthShort:
      return TakeName(rest, kMonths, 3, "Mon", &moment->month);
    case kDayName:
      return TakeName(rest, kDays, 0, "Day", &ignored);
    case kDayShort:
      return TakeName(rest, kDays, 3, "Dy", &ignored);
    case kDay:
      return TakeNumber(rest, 2, "DD", &moment->day);
    case kDayOfYear:
      return TakeNumber(rest, 3, "DDD", &moment->day_of_year.emplace());
    case kJulian:
      return TakeNumber(rest, 0, "J", &moment->julian.emplace());
    case kHour12:
      ARROW_RETURN_NOT_OK(TakeNumber(rest, 2, "HH12", &moment->hour));
      if (moment->hour < 1 || moment->hour > 12)
        return MakeError(ErrorKind::kExecution, "hour \"{}\" is invalid for the 12-hour clock", moment->hour);
      return arrow::Status::OK();
    case kHour24:
      return TakeNumber(rest, 2, "HH24", &moment->hour);
    case kMinute:
      return TakeNumber(rest, 2, "MI", &moment->minute);
    case kSecond:
      return TakeNumber(rest, 2, "SS", &moment->second);
    case kMillisecond:
      return TakeFraction(rest, 3, &moment->micros);
    case kMicrosecond:
    case kFraction:
      return TakeFraction(rest, 6, &moment->micros);
    case kMeridiem:
    case kMeridiemDots: {
      const std::string_view word = rest->substr(0, element.pattern == kMeridiem ? 2 : 4);
      moment->afternoon = EqualsIgnoreCase(word.substr(0, 1), "p");
      if (!*moment->afternoon && !EqualsIgnoreCase(word.substr(0, 1), "a")) return InvalidValue(word, "AM");
      rest->remove_prefix(word.size());
      return arrow::Status::OK();
    }
    case kEra:
    case kEraDots: {
      const std::string_view word = rest->substr(0, element.pattern == kEra ? 2 : 4);
      moment->before_christ = EqualsIgnoreCase(word.substr(0, 1), "b");
      rest->remove_prefix(word.size());
      return arrow::Status::OK();
    }
    default:
      return MakeError(ErrorKind::kUnsupported,
                       "this template reads no text: only years, months, days, hours, minutes, seconds and names can be read");
  }
}

}  // namespace

arrow::Result<int64_t> DateTemplate::Parse(std::string_view text) const {
  ParsedMoment moment;
  std::string_view rest = TrimSpace(text);
  const auto skip_separators = [&rest] {
    while (!rest.empty() && !IsAlphanumeric(rest.front())) rest.remove_prefix(1);
  };
  for (size_t i = 0; i < elements_.size() && !rest.empty(); ++i) {
    const DateElement& element = elements_[i];
    if (element.pattern == DatePattern::kLiteral) {
      // Separators stand for each other; letters of the template stand for one character each.
      for (const char c : element.literal) {
        if (IsAlphanumeric(c) && !rest.empty()) rest.remove_prefix(1);
      }
      skip_separators();
      continue;
    }
    skip_separators();
    if (rest.empty()) break;
    const bool digits_follow = i + 1 < elements_.size() && elements_[i + 1].pattern != DatePattern::kLiteral;
    ARROW_RETURN_NOT_OK(TakeElement(element, digits_follow ? element.width : 0, &rest, &moment));
  }
  const auto out_of_range = [&] {
    return MakeError(ErrorKind::kExecution, "date/time field value out of range: \"{}\"", ShownText(text));
  };
  if (moment.afternoon) moment.hour = moment.hour % 12 + (*moment.afternoon ? 12 : 0);
  if (moment.before_christ) moment.year = 1 - moment.year;
  const bool valid = moment.month >= 1 && moment.month <= 12 && moment.day >= 1 && moment.year <= 294'276 &&
                     moment.day <= DaysInMonth(moment.year, static_cast<int>(moment.month)) && moment.hour < 24 &&
                     moment.minute < 60 && moment.second < 60;
  if (!valid) return out_of_range();
  int64_t days = DaysFromCivil(moment.year, static_cast<int>(moment.month), static_cast<int>(moment.day));
  if (moment.day_of_year) {
    if (*moment.day_of_year < 1 || *moment.day_of_year > (IsLeapYear(moment.year) ? 366 : 365)) return out_of_range();
    days = DaysFromCivil(moment.year, 1, 1) + *moment.day_of_year - 1;
  }
  if (moment.julian) days = *moment.julian - 2440588;
  const Int128 micros = static_cast<Int128>(days) * kMicrosPerDay +
                        ((moment.hour * 60 + moment.minute) * 60 + moment.second) * kMicrosPerSecond + moment.micros;
  if (micros != static_cast<int64_t>(micros)) return out_of_range();
  return static_cast<int64_t>(micros);
}

}  // namespace icebound::expr
