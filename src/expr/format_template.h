// SPDX-License-Identifier: Apache-2.0
//
// The templates of to_char, to_date and to_timestamp: "YYYY-MM-DD HH24:MI:SS", "FM9,990.00".
#pragma once

#include <arrow/result.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "expr/date_time_text.h"
#include "expr/number_text.h"

namespace icebound::expr {

/// The fields a date template can show.
enum class DatePattern {
  kLiteral,
  kHour12,
  kHour24,
  kMinute,
  kSecond,
  kMillisecond,
  kMicrosecond,
  kFraction,
  kSecondsOfDay,
  kMeridiem,
  kMeridiemDots,
  kYearComma,
  kYear,
  kIsoYear,
  kEra,
  kEraDots,
  kMonthName,
  kMonthShort,
  kMonth,
  kDayName,
  kDayShort,
  kDayOfYear,
  kDay,
  kDayOfWeek,
  kIsoDayOfWeek,
  kWeekOfMonth,
  kWeekOfYear,
  kIsoWeek,
  kCentury,
  kJulian,
  kQuarter,
  kRomanMonth,
  kZone,
  kZoneHour,
  kZoneMinute,
  kZoneOffset,
};

enum class LetterCase { kUpper, kCapital, kLower };

struct DateElement {
  DatePattern pattern = DatePattern::kLiteral;
  LetterCase letter_case = LetterCase::kUpper;
  int width = 0;           ///< digits of years and fractions
  bool fill_mode = false;  ///< FM: no padding
  bool ordinal = false;    ///< TH
  bool ordinal_upper = false;
  std::string literal;
};

/// A parsed template of dates and times. Thread safe: immutable.
class DateTemplate {
 public:
  explicit DateTemplate(std::string_view text);

  /// A timestamp in microseconds of UTC. `zoned`: TZ and OF show the zone.
  void Format(int64_t micros, bool zoned, std::string* out) const;
  void Format(const Interval& interval, std::string* out) const;
  /// The timestamp a text shows, in microseconds; fields that the template does not name are those of 0001-01-01 00:00.
  arrow::Result<int64_t> Parse(std::string_view text) const;
  bool empty() const { return elements_.empty(); }

 private:
  std::vector<DateElement> elements_;
};

/// A parsed template of numbers. Thread safe: immutable.
class NumberTemplate {
 public:
  static arrow::Result<NumberTemplate> Make(std::string_view text);

  void Format(Int128 value, int scale, std::string* out) const;
  void Format(double value, std::string* out) const;

 private:
  enum class Token { kDigit, kZero, kPoint, kGroup, kSign, kMinus, kPlus, kPlusMinus, kBrackets, kLiteral };
  struct Element {
    Token token;
    std::string literal;
  };

  /// `integer` and `fraction` are digits; an overflow shows # in their places.
  void Emit(bool negative, std::string_view integer, std::string_view fraction, bool overflow, std::string* out) const;
  void EmitSign(bool negative, std::string* out) const;

  std::vector<Element> elements_;
  bool fill_mode_ = false;
  int integer_places_ = 0;
  int fraction_places_ = 0;
  int first_zero_ = -1;         ///< the first integer place that shows zeros
  int last_fraction_zero_ = 0;  ///< fraction places up to here are shown under FM
  bool has_point_ = false;
  bool sign_leads_ = false, sign_trails_ = false, has_own_sign_ = false, has_brackets_ = false;
};

}  // namespace icebound::expr
