// SPDX-License-Identifier: Apache-2.0
//
// A hand-written scanner over the text: a loop takes one item at a time (a number with its unit, years-months, or
// hours:minutes:seconds) and adds it to three sums: months, days, nanoseconds. They are 128-bit while adding, so that overflow is
// seen once, at the end.
#include "sql/interval_literal.h"

#include <array>
#include <cctype>
#include <cmath>
#include <limits>
#include <optional>
#include <string>

#include "base/error.h"

namespace icebound::sql {
namespace {

constexpr int64_t kNanosPerSecond = 1'000'000'000;
constexpr int64_t kNanosPerMinute = 60 * kNanosPerSecond;
constexpr int64_t kNanosPerHour = 60 * kNanosPerMinute;
constexpr int64_t kNanosPerDay = 24 * kNanosPerHour;
constexpr int64_t kDaysPerMonth = 30;  // for fractions only, as in PostgreSQL
constexpr int kFractionDigits = 9;
constexpr int64_t kFractionScale = 1'000'000'000;

enum class Base { kMonths, kDays, kNanos };
struct Unit {
  std::string_view name;
  Base base;
  int64_t factor;
};

constexpr std::array kUnits = {
    Unit{"millennium", Base::kMonths, 12000},
    Unit{"millennia", Base::kMonths, 12000},
    Unit{"mil", Base::kMonths, 12000},
    Unit{"mils", Base::kMonths, 12000},
    Unit{"century", Base::kMonths, 1200},
    Unit{"centuries", Base::kMonths, 1200},
    Unit{"cent", Base::kMonths, 1200},
    Unit{"c", Base::kMonths, 1200},
    Unit{"decade", Base::kMonths, 120},
    Unit{"decades", Base::kMonths, 120},
    Unit{"dec", Base::kMonths, 120},
    Unit{"decs", Base::kMonths, 120},
    Unit{"year", Base::kMonths, 12},
    Unit{"years", Base::kMonths, 12},
    Unit{"yr", Base::kMonths, 12},
    Unit{"yrs", Base::kMonths, 12},
    Unit{"y", Base::kMonths, 12},
    Unit{"month", Base::kMonths, 1},
    Unit{"months", Base::kMonths, 1},
    Unit{"mon", Base::kMonths, 1},
    Unit{"mons", Base::kMonths, 1},
    Unit{"week", Base::kDays, 7},
    Unit{"weeks", Base::kDays, 7},
    Unit{"w", Base::kDays, 7},
    Unit{"day", Base::kDays, 1},
    Unit{"days", Base::kDays, 1},
    Unit{"d", Base::kDays, 1},
    Unit{"hour", Base::kNanos, kNanosPerHour},
    Unit{"hours", Base::kNanos, kNanosPerHour},
    Unit{"hr", Base::kNanos, kNanosPerHour},
    Unit{"hrs", Base::kNanos, kNanosPerHour},
    Unit{"h", Base::kNanos, kNanosPerHour},
    Unit{"minute", Base::kNanos, kNanosPerMinute},
    Unit{"minutes", Base::kNanos, kNanosPerMinute},
    Unit{"min", Base::kNanos, kNanosPerMinute},
    Unit{"mins", Base::kNanos, kNanosPerMinute},
    Unit{"m", Base::kNanos, kNanosPerMinute},
    Unit{"second", Base::kNanos, kNanosPerSecond},
    Unit{"seconds", Base::kNanos, kNanosPerSecond},
    Unit{"sec", Base::kNanos, kNanosPerSecond},
    Unit{"secs", Base::kNanos, kNanosPerSecond},
    Unit{"s", Base::kNanos, kNanosPerSecond},
    Unit{"millisecond", Base::kNanos, 1'000'000},
    Unit{"milliseconds", Base::kNanos, 1'000'000},
    Unit{"ms", Base::kNanos, 1'000'000},
    Unit{"msec", Base::kNanos, 1'000'000},
    Unit{"msecs", Base::kNanos, 1'000'000},
    Unit{"msecond", Base::kNanos, 1'000'000},
    Unit{"mseconds", Base::kNanos, 1'000'000},
    Unit{"microsecond", Base::kNanos, 1'000},
    Unit{"microseconds", Base::kNanos, 1'000},
    Unit{"us", Base::kNanos, 1'000},
    Unit{"usec", Base::kNanos, 1'000},
    Unit{"usecs", Base::kNanos, 1'000},
    Unit{"usecond", Base::kNanos, 1'000},
    Unit{"useconds", Base::kNanos, 1'000},
};

std::optional<Unit> FindUnit(std::string_view name) {
  for (const Unit& unit : kUnits) {
    if (unit.name == name) return unit;
  }
  return std::nullopt;
}

/// A decimal number: whole and a fraction in 1/kFractionScale, both with the sign applied.
struct Number {
  int64_t whole = 0;
  int64_t fraction = 0;
};

using Wide = __int128;

class IntervalReader {
 public:
  IntervalReader(std::string_view text, IntervalFields fields) : fields_(fields) {
    for (char c : text) text_.push_back(static_cast<char>(std::tolower(static_cast<unsigned char>(c))));
  }

  /// False when the text is no interval; overflow is left to Sum.
  bool Read() {
    SkipBlanks();
    if (Done()) return false;
    if (Peek() == '@') ++at_;
    SkipBlanks();
    if (!Done() && Peek() == 'p') return ReadIso();
    while (SkipBlanks(), !Done()) {
      if (text_.substr(at_) == "ago" && items_ > 0) {
        Negate();
        at_ = text_.size();
      } else if (!ReadItem()) {
        return false;
      }
    }
    return items_ > 0;
  }

  Wide months() const { return months_; }
  Wide days() const { return days_; }
  Wide nanos() const { return nanos_; }

 private:
  bool Done() const { return at_ >= text_.size(); }
  char Peek() const { return text_[at_]; }
  bool PeekIs(char c) const { return !Done() && Peek() == c; }
  bool PeekDigit() const { return !Done() && Peek() >= '0' && Peek() <= '9'; }
  void SkipBlanks() {
    while (!Done() && (Peek() == ' ' || Peek() == '\t' || Peek() == '\n' || Peek() == '\r')) ++at_;
  }
  void Negate() { months_ = -months_, days_ = -days_, nanos_ = -nanos_; }

  /// +1, -1; a sign is optional.
  int ReadSign() {
    if (PeekIs('-')) return ++at_, -1;
    if (PeekIs('+')) ++at_;
    return 1;
  }

  bool ReadDigits(int64_t* value) {
    if (!PeekDigit()) return false;
    *value = 0;
    for (; PeekDigit(); ++at_) {
      if (*value > (std::numeric_limits<int64_t>::max() - 9) / 10) return false;
      *value = *value * 10 + (Peek() - '0');
    }
    return true;
  }

  /// Digits after a point; beyond nanoseconds they are rounded off.
  void ReadFraction(int64_t* fraction) {
    *fraction = 0;
    int digits = 0;
    for (; PeekDigit(); ++at_, ++digits) {
      if (digits < kFractionDigits) *fraction = *fraction * 10 + (Peek() - '0');
      if (digits == kFractionDigits && Peek() >= '5') ++*fraction;
    }
    for (; digits < kFractionDigits; ++digits) *fraction *= 10;
  }

  bool ReadNumber(Number* number) {
    const bool has_whole = ReadDigits(&number->whole);
    if (!has_whole && PeekDigit()) return false;  // too many digits
    if (PeekIs('.')) {
      ++at_;
      if (!has_whole && !PeekDigit()) return false;
      ReadFraction(&number->fraction);
      return true;
    }
    return has_whole;
  }

  std::string_view ReadWord() {
    const size_t begin = at_;
    while (!Done() && Peek() >= 'a' && Peek() <= 'z') ++at_;
    return std::string_view(text_).substr(begin, at_ - begin);
  }

  bool ReadItem() {
    ++items_;
    const int sign = ReadSign();
    SkipBlanks();
    Number number;
    if (!ReadNumber(&number)) return false;
    if (PeekIs(':') && number.fraction == 0) return ReadTime(sign, number.whole);
    if (PeekIs('-') && number.fraction == 0 && at_ + 1 < text_.size() &&
        std::isdigit(static_cast<unsigned char>(text_[at_ + 1]))) {
      return ReadYearsMonths(sign, number.whole);
    }
    SkipBlanks();
    const size_t before_word = at_;
    const std::string_view word = ReadWord();
    if (word.empty() || word == "ago") {
      at_ = before_word;
      // A number before a time of day counts days: '1 12:00'.
      const bool before_time = !Done() && text_.find(':', at_) != std::string::npos && PeekDigit();
      Add(sign, number, before_time ? *FindUnit("day") : BareUnit());
      return true;
    }
    const std::optional<Unit> unit = FindUnit(word);
    if (!unit) return false;
    Add(sign, number, *unit);
    return true;
  }

  /// What a number without a unit counts: the last field of INTERVAL '...' DAY TO HOUR, seconds without fields.
  Unit BareUnit() const {
    const uint32_t mask = fields_.mask;
    if (mask == IntervalFields::kAll || (mask & IntervalFields::kSecond)) return *FindUnit("second");
    if (mask & IntervalFields::kMinute) return *FindUnit("minute");
    if (mask & IntervalFields::kHour) return *FindUnit("hour");
    if (mask & IntervalFields::kDay) return *FindUnit("day");
    if (mask & IntervalFields::kMonth) return *FindUnit("month");
    return *FindUnit("year");
  }

  void Add(int sign, const Number& number, const Unit& unit) {
    const Wide whole = static_cast<Wide>(number.whole) * unit.factor * sign;
    // In 1/kFractionScale of the base unit.
    const Wide fraction = static_cast<Wide>(number.fraction) * unit.factor * sign;
    switch (unit.base) {
      case Base::kMonths:
        // A part of a year is rounded to months; a part of a month becomes days.
        months_ += whole + (unit.factor == 1 ? 0 : Rounded(fraction));
        if (unit.factor == 1) AddDays(fraction * kDaysPerMonth);
        break;
      case Base::kDays:
        days_ += whole;
        AddDays(fraction);
        break;
      case Base::kNanos:
        nanos_ += whole + fraction / kFractionScale;
        break;
    }
  }

  static Wide Rounded(Wide scaled) {
    const Wide half = kFractionScale / 2;
    return (scaled < 0 ? scaled - half : scaled + half) / kFractionScale;
  }

  /// `scaled_days` in 1/kFractionScale of a day: whole days, the rest as time.
  void AddDays(Wide scaled_days) {
    days_ += scaled_days / kFractionScale;
    nanos_ += scaled_days % kFractionScale * (kNanosPerDay / kFractionScale);
  }

  bool ReadYearsMonths(int sign, int64_t years) {
    ++at_;  // '-'
    int64_t months = 0;
    if (!ReadDigits(&months) || months >= 12) return false;
    months_ += sign * (static_cast<Wide>(years) * 12 + months);
    return true;
  }

  bool ReadTime(int sign, int64_t first) {
    int64_t second = 0, third = 0, fraction = 0;
    ++at_;  // ':'
    if (!ReadDigits(&second)) return false;
    bool has_third = PeekIs(':');
    if (has_third) {
      ++at_;
      if (!ReadDigits(&third)) return false;
    }
    const bool minutes_seconds =
        !has_third && (PeekIs('.') || fields_.mask == (IntervalFields::kMinute | IntervalFields::kSecond));
    if (PeekIs('.')) {
      ++at_;
      ReadFraction(&fraction);
    }
    if (minutes_seconds) third = std::exchange(second, std::exchange(first, 0));
    if (second >= 60 || third > 60) return false;
    nanos_ += sign * (static_cast<Wide>(first) * kNanosPerHour + static_cast<Wide>(second) * kNanosPerMinute +
                      static_cast<Wide>(third) * kNanosPerSecond + fraction);
    return true;
  }

  /// P1Y2M3W4DT5H6M7.8S
  bool ReadIso() {
    ++at_;  // 'p'
    bool time = false;
    while (!Done()) {
      if (PeekIs('t')) {
        if (time) return false;
        time = true;
        ++at_;
        continue;
      }
      const int sign = ReadSign();
      Number number;
      if (!ReadNumber(&number) || Done()) return false;
      const char letter = text_[at_++];
      const std::string_view dates = "ymwd", times = "hms";
      if ((time ? times : dates).find(letter) == std::string_view::npos) return false;
      Add(sign, number, letter == 'm' ? *FindUnit(time ? "minute" : "month") : *FindUnit(std::string_view(&letter, 1)));
      ++items_;
    }
    return items_ > 0;
  }

  std::string text_;
  const IntervalFields fields_;
  size_t at_ = 0;
  int items_ = 0;
  Wide months_ = 0;
  Wide days_ = 0;
  Wide nanos_ = 0;
};

/// Cuts off what is smaller than the last field.
void CutToFields(uint32_t mask, Wide* months, Wide* days, Wide* nanos) {
  if (mask == IntervalFields::kAll || (mask & IntervalFields::kSecond)) return;
  if (mask & IntervalFields::kMinute) {
    *nanos -= *nanos % kNanosPerMinute;
  } else if (mask & IntervalFields::kHour) {
    *nanos -= *nanos % kNanosPerHour;
  } else {
    *nanos = 0;
    if (mask & IntervalFields::kDay) return;
    *days = 0;
    if (!(mask & IntervalFields::kMonth)) *months -= *months % 12;
  }
}

template <typename T>
bool Fits(Wide value) {
  return value >= std::numeric_limits<T>::min() && value <= std::numeric_limits<T>::max();
}

}  // namespace

arrow::Result<arrow::MonthDayNanoIntervalType::MonthDayNanos> ParseInterval(std::string_view text, IntervalFields fields) {
  IntervalReader reader(text, fields);
  if (!reader.Read()) return MakeError(ErrorKind::kInvalidInput, "invalid input syntax for type interval: \"{}\"", text);
  Wide months = reader.months(), days = reader.days(), nanos = reader.nanos();
  CutToFields(fields.mask, &months, &days, &nanos);
  if (!Fits<int32_t>(months) || !Fits<int32_t>(days) || !Fits<int64_t>(nanos)) {
    return MakeError(ErrorKind::kInvalidInput, "interval out of range: \"{}\"", text);
  }
  arrow::MonthDayNanoIntervalType::MonthDayNanos interval;
  interval.months = static_cast<int32_t>(months);
  interval.days = static_cast<int32_t>(days);
  interval.nanoseconds = static_cast<int64_t>(nanos);
  return interval;
}

}  // namespace icebound::sql
