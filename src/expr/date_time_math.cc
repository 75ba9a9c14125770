// SPDX-License-Identifier: Apache-2.0
#include "expr/date_time_math.h"

#include <arrow/util/checked_cast.h>

#include <algorithm>

namespace icebound::expr {

using arrow::internal::checked_cast;

namespace {

template <typename Wide>
bool Store(Wide months, Wide days, Int128 nanos, Interval* out) {
  *out = Interval{static_cast<int32_t>(months), static_cast<int32_t>(days), static_cast<int64_t>(nanos)};
  return out->months == months && out->days == days && out->nanoseconds == nanos;
}

/// Six decimals are what an interval's seconds have; the rest is noise of the multiplication.
double RoundToMicro(double value) { return std::rint(value * 1e6) / 1e6; }

bool FitsInt32(double value) { return value > -2147483649.0 && value < 2147483648.0; }

}  // namespace

bool IsNanosecondType(const arrow::DataType& type) {
  if (type.id() == arrow::Type::TIMESTAMP) return checked_cast<const arrow::TimestampType&>(type).unit() == arrow::TimeUnit::NANO;
  return type.id() == arrow::Type::TIME64 && checked_cast<const arrow::Time64Type&>(type).unit() == arrow::TimeUnit::NANO;
}

int64_t AddMonths(int64_t days, int64_t months) {
  const CivilDate date = CivilFromDays(days);
  const int64_t month_number = date.year * 12 + (date.month - 1) + months;
  const int64_t year = FloorDivide(month_number, 12);
  const int month = static_cast<int>(FloorModulo(month_number, 12)) + 1;
  return DaysFromCivil(year, month, std::min(date.day, DaysInMonth(year, month)));
}

bool AddInterval(int64_t value, const Interval& interval, bool nanoseconds, int64_t* out) {
  const int64_t per_day = UnitsPerDay(nanoseconds);
  const int64_t time = nanoseconds ? interval.nanoseconds : interval.nanoseconds / kNanosPerMicro;
  Int128 result = value;
  if (interval.months != 0) {
    const int64_t days = FloorDivide(value, per_day);
    result += static_cast<Int128>(AddMonths(days, interval.months) - days) * per_day;
  }
  result += static_cast<Int128>(interval.days) * per_day + time;
  *out = static_cast<int64_t>(result);
  return *out == result;
}

bool NegateInterval(const Interval& interval, Interval* out) {
  return Store(-static_cast<int64_t>(interval.months), -static_cast<int64_t>(interval.days),
               -static_cast<Int128>(interval.nanoseconds), out);
}

bool SumIntervals(const Interval& left, const Interval& right, Interval* out) {
  return Store(int64_t{left.months} + right.months, int64_t{left.days} + right.days,
               static_cast<Int128>(left.nanoseconds) + right.nanoseconds, out);
}

namespace {

/// `scale` multiplies or divides one field.
template <typename Scale>
bool ScaleFields(const Interval& interval, Scale scale, Interval* out) {
  *out = Interval{};
  const double months = scale(interval.months), days = scale(interval.days);
  if (!FitsInt32(months) || !FitsInt32(days)) return false;
  const double whole_months = std::trunc(months), whole_days = std::trunc(days);
  const double month_days = RoundToMicro((months - whole_months) * 30);
  double seconds = RoundToMicro((days - whole_days + month_days - std::trunc(month_days)) * 86400);
  double total_days = whole_days + std::trunc(month_days);
  if (std::fabs(seconds) >= 86400) {
    total_days += std::trunc(seconds / 86400);
    seconds -= std::trunc(seconds / 86400) * 86400;
  }
  const double micros = std::rint(scale(static_cast<double>(interval.nanoseconds) / 1000) + seconds * 1e6);
  if (!FitsInt32(total_days) || !(std::fabs(micros) < 9.2e15)) return false;
  return Store(static_cast<int64_t>(whole_months), static_cast<int64_t>(total_days), static_cast<Int128>(micros) * kNanosPerMicro,
               out);
}

}  // namespace

bool MultiplyInterval(const Interval& interval, double factor, Interval* out) {
  return ScaleFields(
      interval, [factor](double field) { return field * factor; }, out);
}

bool DivideInterval(const Interval& interval, double divisor, Interval* out) {
  return ScaleFields(
      interval, [divisor](double field) { return field / divisor; }, out);
}

bool DifferenceAsInterval(Int128 nanos, Interval* out) {
  return Store<Int128>(0, nanos / kNanosPerDay, nanos % kNanosPerDay, out);
}

Interval Age(int64_t later_us, int64_t earlier_us) {
  const bool negative = later_us < earlier_us;
  if (negative) std::swap(later_us, earlier_us);
  const int64_t later_days = FloorDivide(later_us, kMicrosPerDay), earlier_days = FloorDivide(earlier_us, kMicrosPerDay);
  const CivilDate later = CivilFromDays(later_days), earlier = CivilFromDays(earlier_days);
  int64_t months = (later.year - earlier.year) * 12 + later.month - earlier.month;
  int64_t days = later.day - earlier.day;
  int64_t micros = FloorModulo(later_us, kMicrosPerDay) - FloorModulo(earlier_us, kMicrosPerDay);
  if (micros < 0) {
    micros += kMicrosPerDay;
    --days;
  }
  if (days < 0) {  // Borrow the days of the earlier date's month.
    days += DaysInMonth(earlier.year, earlier.month);
    --months;
  }
  Interval age{static_cast<int32_t>(months), static_cast<int32_t>(days), micros * kNanosPerMicro};
  if (negative) age = Interval{-age.months, -age.days, -age.nanoseconds};
  return age;
}

bool JustifyHours(const Interval& interval, Interval* out) {
  int64_t days = interval.days + interval.nanoseconds / kNanosPerDay;
  int64_t nanos = interval.nanoseconds % kNanosPerDay;
  if (days > 0 && nanos < 0) {
    nanos += kNanosPerDay;
    --days;
  } else if (days < 0 && nanos > 0) {
    nanos -= kNanosPerDay;
    ++days;
  }
  return Store<int64_t>(interval.months, days, nanos, out);
}

bool JustifyDays(const Interval& interval, Interval* out) {
  int64_t months = int64_t{interval.months} + interval.days / 30;
  int64_t days = interval.days % 30;
  if (months > 0 && days < 0) {
    days += 30;
    --months;
  } else if (months < 0 && days > 0) {
    days -= 30;
    ++months;
  }
  return Store<int64_t>(months, days, interval.nanoseconds, out);
}

bool JustifyInterval(const Interval& interval, Interval* out) {
  Interval hours;
  if (!JustifyHours(interval, &hours) || !JustifyDays(hours, out)) return false;
  // One sign for all fields.
  int64_t months = out->months, days = out->days, nanos = out->nanoseconds;
  if (months > 0 && (days < 0 || (days == 0 && nanos < 0))) {
    days += 30;
    --months;
  } else if (months < 0 && (days > 0 || (days == 0 && nanos > 0))) {
    days -= 30;
    ++months;
  }
  if (days > 0 && nanos < 0) {
    nanos += kNanosPerDay;
    --days;
  } else if (days < 0 && nanos > 0) {
    nanos -= kNanosPerDay;
    ++days;
  }
  return Store<int64_t>(months, days, nanos, out);
}

}  // namespace icebound::expr
