// SPDX-License-Identifier: Apache-2.0
//
// The date and time overloads of + - * / and unary minus. Months are added first, keeping the day or the month's last one; then
// days; then time.
#include "base/error.h"
#include "expr/cast.h"
#include "expr/date_time_math.h"
#include "expr/elementwise.h"
#include "expr/resolve.h"

namespace icebound::expr {

using arrow::Datum;

namespace {

using enum TypeClass;

uint8_t Check(bool fits) { return fits ? kNoFailure : kOverflow; }

arrow::Status OutOfRangeFailure(uint8_t failure, const KernelInput& input) {
  if (failure & kDivisionByZero) return MakeError(ErrorKind::kExecution, "division by zero");
  return OutOfRange(*input.type);
}

/// The arguments in the other order.
template <Kernel kKernel>
arrow::Result<Datum> Swapped(const KernelInput& input) {
  const Datum swapped[2] = {input.arguments[1], input.arguments[0]};
  KernelInput other{swapped, input.type, input.num_rows, input.context, input.call, input.exec};
  return kKernel(other);
}

template <bool kSubtract>
arrow::Result<Datum> DatePlusDays(const KernelInput& input) {
  return MapBinary<int32_t, int32_t, int32_t>(
      input,
      [](int32_t date, int32_t days, int32_t* out) {
        return Check(!(kSubtract ? __builtin_sub_overflow(date, days, out) : __builtin_add_overflow(date, days, out)));
      },
      OutOfRangeFailure);
}

arrow::Result<Datum> DateMinusDate(const KernelInput& input) {
  return MapBinary<int32_t, int32_t, int32_t>(
      input, [](int32_t left, int32_t right, int32_t* out) { return Check(!__builtin_sub_overflow(left, right, out)); },
      OutOfRangeFailure);
}

bool AddOrSubtract(int64_t value, const Interval& interval, bool subtract, bool nanoseconds, int64_t* out) {
  if (!subtract) return AddInterval(value, interval, nanoseconds, out);
  Interval negated;
  return NegateInterval(interval, &negated) && AddInterval(value, negated, nanoseconds, out);
}

template <bool kSubtract>
arrow::Result<Datum> DatePlusInterval(const KernelInput& input) {
  return MapBinary<int64_t, int32_t, Interval>(
      input,
      [](int32_t date, const Interval& interval, int64_t* out) {
        int64_t midnight = 0;
        *out = 0;
        return Check(!__builtin_mul_overflow(int64_t{date}, kMicrosPerDay, &midnight) &&
                     AddOrSubtract(midnight, interval, kSubtract, false, out));
      },
      OutOfRangeFailure);
}

arrow::Result<Datum> DatePlusTime(const KernelInput& input) {
  return MapBinary<int64_t, int32_t, int64_t>(
      input,
      [](int32_t date, int64_t time, int64_t* out) {
        int64_t midnight = 0;
        *out = 0;
        return Check(!__builtin_mul_overflow(int64_t{date}, kMicrosPerDay, &midnight) &&
                     !__builtin_add_overflow(midnight, time, out));
      },
      OutOfRangeFailure);
}

template <bool kSubtract>
arrow::Result<Datum> TimestampPlusInterval(const KernelInput& input) {
  const bool nanoseconds = IsNanosecondType(*input.type);
  return MapBinary<int64_t, int64_t, Interval>(
      input,
      [nanoseconds](int64_t value, const Interval& interval, int64_t* out) {
        *out = 0;
        return Check(AddOrSubtract(value, interval, kSubtract, nanoseconds, out));
      },
      OutOfRangeFailure);
}

arrow::Result<Datum> TimestampMinusTimestamp(const KernelInput& input) {
  const Int128 left_factor = IsNanosecondType(*input.arguments[0].type()) ? 1 : kNanosPerMicro;
  const Int128 right_factor = IsNanosecondType(*input.arguments[1].type()) ? 1 : kNanosPerMicro;
  return MapBinary<Interval, int64_t, int64_t>(
      input,
      [=](int64_t left, int64_t right, Interval* out) {
        return Check(DifferenceAsInterval(left * left_factor - right * right_factor, out));
      },
      OutOfRangeFailure);
}

/// A time of day goes round at midnight.
template <bool kSubtract>
arrow::Result<Datum> TimePlusInterval(const KernelInput& input) {
  return MapBinary<int64_t, int64_t, Interval>(input, [](int64_t time, const Interval& interval, int64_t* out) -> uint8_t {
    const int64_t added = FloorModulo(interval.nanoseconds / kNanosPerMicro, kMicrosPerDay);
    *out = FloorModulo(kSubtract ? time - added : time + added, kMicrosPerDay);
    return kNoFailure;
  });
}

arrow::Result<Datum> TimeMinusTime(const KernelInput& input) {
  return MapBinary<Interval, int64_t, int64_t>(input, [](int64_t left, int64_t right, Interval* out) -> uint8_t {
    *out = Interval{0, 0, (left - right) * kNanosPerMicro};
    return kNoFailure;
  });
}

template <bool kSubtract>
arrow::Result<Datum> IntervalPlusInterval(const KernelInput& input) {
  return MapBinary<Interval, Interval, Interval>(
      input,
      [](const Interval& left, const Interval& right, Interval* out) {
        if (!kSubtract) return Check(SumIntervals(left, right, out));
        Interval negated;
        *out = Interval{};
        return Check(NegateInterval(right, &negated) && SumIntervals(left, negated, out));
      },
      OutOfRangeFailure);
}

arrow::Result<Datum> IntervalTimes(const KernelInput& input) {
  return MapBinary<Interval, Interval, double>(
      input,
      [](const Interval& interval, double factor, Interval* out) { return Check(MultiplyInterval(interval, factor, out)); },
      OutOfRangeFailure);
}

arrow::Result<Datum> IntervalDivided(const KernelInput& input) {
  return MapBinary<Interval, Interval, double>(
      input,
      [](const Interval& interval, double divisor, Interval* out) -> uint8_t {
        *out = Interval{};
        if (divisor == 0) return kDivisionByZero;
        return Check(DivideInterval(interval, divisor, out));
      },
      OutOfRangeFailure);
}

arrow::Result<Datum> IntervalNegated(const KernelInput& input) {
  return MapUnary<Interval, Interval>(
      input, [](const Interval& interval, Interval* out) { return Check(NegateInterval(interval, out)); }, OutOfRangeFailure);
}

arrow::Result<TypePtr> TimestampResult(const std::vector<ExprPtr>&) { return arrow::timestamp(arrow::TimeUnit::MICRO); }
arrow::Result<TypePtr> SecondResult(const std::vector<ExprPtr>& arguments) { return LogicalType(arguments[1]->type()); }

void Add(FunctionRegistry* registry, std::string_view name, TypeClass left, TypeClass right, ResultType result, Kernel kernel) {
  registry->Add({.name = name, .parameters = {left, right}, .result_type = result, .kernel = kernel});
}

}  // namespace

void RegisterIntervalArithmetic(FunctionRegistry* registry) {
  Add(registry, "+", kDate, kInt32, DateResult, DatePlusDays<false>);
  Add(registry, "+", kInt32, kDate, DateResult, Swapped<DatePlusDays<false>>);
  Add(registry, "-", kDate, kInt32, DateResult, DatePlusDays<true>);
  Add(registry, "-", kDate, kDate, Int32Result, DateMinusDate);
  Add(registry, "+", kDate, kInterval, TimestampResult, DatePlusInterval<false>);
  Add(registry, "+", kInterval, kDate, TimestampResult, Swapped<DatePlusInterval<false>>);
  Add(registry, "-", kDate, kInterval, TimestampResult, DatePlusInterval<true>);
  Add(registry, "+", kDate, kTime, TimestampResult, DatePlusTime);
  Add(registry, "+", kTime, kDate, TimestampResult, Swapped<DatePlusTime>);
  for (const TypeClass timestamp : {kTimestamp, kTimestampTz}) {
    Add(registry, "+", timestamp, kInterval, FirstResult, TimestampPlusInterval<false>);
    Add(registry, "+", kInterval, timestamp, SecondResult, Swapped<TimestampPlusInterval<false>>);
    Add(registry, "-", timestamp, kInterval, FirstResult, TimestampPlusInterval<true>);
    Add(registry, "-", timestamp, timestamp, IntervalResult, TimestampMinusTimestamp);
  }
  Add(registry, "+", kTime, kInterval, FirstResult, TimePlusInterval<false>);
  Add(registry, "+", kInterval, kTime, SecondResult, Swapped<TimePlusInterval<false>>);
  Add(registry, "-", kTime, kInterval, FirstResult, TimePlusInterval<true>);
  Add(registry, "-", kTime, kTime, IntervalResult, TimeMinusTime);
  Add(registry, "+", kInterval, kInterval, IntervalResult, IntervalPlusInterval<false>);
  Add(registry, "-", kInterval, kInterval, IntervalResult, IntervalPlusInterval<true>);
  Add(registry, "*", kInterval, kDouble, IntervalResult, IntervalTimes);
  Add(registry, "*", kDouble, kInterval, IntervalResult, Swapped<IntervalTimes>);
  Add(registry, "/", kInterval, kDouble, IntervalResult, IntervalDivided);
  registry->Add({.name = "negate", .parameters = {kInterval}, .result_type = IntervalResult, .kernel = IntervalNegated});
}

}  // namespace icebound::expr
