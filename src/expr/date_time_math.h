// SPDX-License-Identifier: Apache-2.0
//
// Arithmetic of timestamps and intervals. A timestamp counts microseconds or nanoseconds ("units") of UTC.
#pragma once

#include <arrow/type.h>

#include <cmath>
#include <cstdint>

#include "expr/calendar.h"
#include "expr/date_time_text.h"
#include "expr/number_text.h"

namespace icebound::expr {

bool IsNanosecondType(const arrow::DataType& type);
inline int64_t UnitsPerDay(bool nanoseconds) { return nanoseconds ? kNanosPerDay : kMicrosPerDay; }

/// The day `months` later, on the month's last day when it has none of that number.
int64_t AddMonths(int64_t days, int64_t months);

/// timestamp + interval: months first, then days, then time. False when the result is out of range.
bool AddInterval(int64_t value, const Interval& interval, bool nanoseconds, int64_t* out);

/// False when a field is out of range.
bool NegateInterval(const Interval& interval, Interval* out);
bool SumIntervals(const Interval& left, const Interval& right, Interval* out);
/// Fractions of months go to days of 1/30 month, fractions of days to time.
bool MultiplyInterval(const Interval& interval, double factor, Interval* out);
bool DivideInterval(const Interval& interval, double divisor, Interval* out);

/// The difference of two instants in nanoseconds, as days and time.
bool DifferenceAsInterval(Int128 nanos, Interval* out);

/// The symbolic difference in years, months, days and time between two timestamps (in microseconds).
Interval Age(int64_t later_us, int64_t earlier_us);

/// 30 days to a month (days), 24 hours to a day (hours).
bool JustifyHours(const Interval& interval, Interval* out);
bool JustifyDays(const Interval& interval, Interval* out);
bool JustifyInterval(const Interval& interval, Interval* out);

}  // namespace icebound::expr
