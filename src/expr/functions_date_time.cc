// SPDX-License-Identifier: Apache-2.0
//
// The clock, truncation, making and taking apart of dates and timestamps. The session's zone is UTC; now() is the start of the
// statement.
#include <arrow/compute/api_scalar.h>
#include <arrow/util/checked_cast.h>

#include <cmath>

#include "base/error.h"
#include "expr/cast.h"
#include "expr/date_time_math.h"
#include "expr/elementwise.h"
#include "expr/number_text.h"
#include "expr/resolve.h"
#include "expr/text_kernels.h"

namespace icebound::expr {

using arrow::Datum;
using arrow::internal::checked_cast;

namespace {

using enum TypeClass;
using enum DateTimeField;

TypePtr Timestamp() { return arrow::timestamp(arrow::TimeUnit::MICRO); }
TypePtr TimestampTz() { return arrow::timestamp(arrow::TimeUnit::MICRO, "UTC"); }
arrow::Result<TypePtr> TimestampResult(const std::vector<ExprPtr>&) { return Timestamp(); }
arrow::Result<TypePtr> TimestampTzResult(const std::vector<ExprPtr>&) { return TimestampTz(); }
arrow::Result<TypePtr> TimeResult(const std::vector<ExprPtr>&) { return arrow::time64(arrow::TimeUnit::MICRO); }
arrow::Result<TypePtr> SecondResult(const std::vector<ExprPtr>& arguments) { return LogicalType(arguments[1]->type()); }

// --- the clock ---------------------------------------------------------------------------------------------------------------

arrow::Result<Datum> Now(const KernelInput& input) {
  return Datum(std::make_shared<arrow::TimestampScalar>(input.context.statement_time_us, input.type));
}
arrow::Result<Datum> CurrentDate(const KernelInput& input) {
  return Datum(
      std::make_shared<arrow::Date32Scalar>(static_cast<int32_t>(FloorDivide(input.context.statement_time_us, kMicrosPerDay))));
}
arrow::Result<Datum> CurrentTime(const KernelInput& input) {
  return Datum(std::make_shared<arrow::Time64Scalar>(FloorModulo(input.context.statement_time_us, kMicrosPerDay), input.type));
}

// --- date_trunc --------------------------------------------------------------------------------------------------------------

/// The first day of the period a day lies in.
int64_t TruncateDays(int64_t days, DateTimeField field) {
  if (field == kWeek) return days - FloorModulo(days + 3, 7);
  const CivilDate date = CivilFromDays(days);
  // Centuries and millennia start in the year 1: 2001 begins one.
  const auto first_year_of = [&](int64_t period) { return FloorDivide(date.year - 1, period) * period + 1; };
  switch (field) {
    case kMonth:
      return DaysFromCivil(date.year, date.month, 1);
    case kQuarter:
      return DaysFromCivil(date.year, (date.month - 1) / 3 * 3 + 1, 1);
    case kYear:
      return DaysFromCivil(date.year, 1, 1);
    case kDecade:
      return DaysFromCivil(FloorDivide(date.year, 10) * 10, 1, 1);
    case kCentury:
      return DaysFromCivil(first_year_of(100), 1, 1);
    case kMillennium:
      return DaysFromCivil(first_year_of(1000), 1, 1);
    default:
      return days;
  }
}

/// Microseconds of the units up to a day; 0 for longer ones.
int64_t MicrosOf(DateTimeField field) {
  switch (field) {
    case kMicroseconds:
      return 1;
    case kMilliseconds:
      return 1000;
    case kSecond:
      return kMicrosPerSecond;
    case kMinute:
      return kMicrosPerMinute;
    case kHour:
      return kMicrosPerHour;
    case kDay:
      return kMicrosPerDay;
    default:
      return 0;
  }
}

bool CanTruncate(DateTimeField field) { return field <= kMillennium; }

int64_t TruncateTimestamp(int64_t value, DateTimeField field, bool nanoseconds) {
  const int64_t factor = nanoseconds ? kNanosPerMicro : 1;
  if (const int64_t micros = MicrosOf(field); micros > 0) return FloorDivide(value, micros * factor) * (micros * factor);
  const int64_t per_day = UnitsPerDay(nanoseconds);
  return TruncateDays(FloorDivide(value, per_day), field) * per_day;
}

Interval TruncateInterval(const Interval& interval, DateTimeField field) {
  if (const int64_t micros = MicrosOf(field); field == kDay || micros == 0) {
    const int months_of[] = {1, 3, 12, 120, 1200, 12000};
    if (field == kDay) return {interval.months, interval.days, 0};
    const int period = months_of[static_cast<int>(field) - static_cast<int>(kMonth)];
    return {interval.months / period * period, 0, 0};
  } else {
    const int64_t nanos = micros * kNanosPerMicro;
    return {interval.months, interval.days, interval.nanoseconds / nanos * nanos};
  }
}

arrow::Result<DateTimeField> TruncationField(std::string_view word, const arrow::DataType& type) {
  const auto field = FieldFromWord(word);
  if (!field || !CanTruncate(*field)) {
    return MakeError(ErrorKind::kExecution, "unit \"{}\" not recognized for type {}", word, SqlTypeName(type));
  }
  if (*field == kWeek && ClassOf(type) == TypeClass::kInterval) {
    return MakeError(ErrorKind::kExecution, "unit \"{}\" not supported for type {}", word, SqlTypeName(type));
  }
  return *field;
}

template <typename T, typename Truncate>
arrow::Result<Datum> MapTruncation(const KernelInput& input, Truncate truncate) {
  const BytesReader words(input.arguments[0]);
  const ValueReader<T> values(input.arguments[1]);
  if (input.arguments[0].is_scalar()) {
    ARROW_ASSIGN_OR_RAISE(const DateTimeField field, TruncationField(words[0], *input.type));
    return MapRows<T>(input, [&](int64_t row, T* out) {
      *out = truncate(values[row], field);
      return arrow::Status::OK();
    });
  }
  return MapRows<T>(input, [&](int64_t row, T* out) -> arrow::Status {
    ARROW_ASSIGN_OR_RAISE(const DateTimeField field, TruncationField(words[row], *input.type));
    *out = truncate(values[row], field);
    return arrow::Status::OK();
  });
}

arrow::Result<Datum> DateTrunc(const KernelInput& input) {
  if (ClassOf(*input.type) == TypeClass::kInterval) return MapTruncation<Interval>(input, TruncateInterval);
  const bool nanoseconds = IsNanosecondType(*input.type);
  return MapTruncation<int64_t>(
      input, [nanoseconds](int64_t value, DateTimeField field) { return TruncateTimestamp(value, field, nanoseconds); });
}

// --- making ------------------------------------------------------------------------------------------------------------------

arrow::Result<int64_t> DaysOfFields(int64_t year, int64_t month, int64_t day) {
  const bool valid = year != 0 && year >= -4713 && year <= 5'874'897 && month >= 1 && month <= 12 && day >= 1 &&
                     day <= DaysInMonth(year < 0 ? year + 1 : year, static_cast<int>(month));
  if (!valid) return MakeError(ErrorKind::kExecution, "date field value out of range: {}-{:02}-{:02}", year, month, day);
  return DaysFromCivil(year < 0 ? year + 1 : year, static_cast<int>(month), static_cast<int>(day));
}

arrow::Result<int64_t> MicrosOfFields(int64_t hour, int64_t minute, double second) {
  const bool valid = hour >= 0 && minute >= 0 && minute <= 59 && second >= 0 && second <= 60 &&
                     (hour < 24 || (hour == 24 && minute == 0 && second == 0));
  if (!valid) return MakeError(ErrorKind::kExecution, "time field value out of range: {}:{:02}:{:02g}", hour, minute, second);
  return hour * kMicrosPerHour + minute * kMicrosPerMinute + static_cast<int64_t>(std::rint(second * 1e6));
}

arrow::Result<Datum> MakeDate(const KernelInput& input) {
  const ValueReader<int32_t> year(input.arguments[0]), month(input.arguments[1]), day(input.arguments[2]);
  return MapRows<int32_t>(input, [&](int64_t row, int32_t* out) -> arrow::Status {
    ARROW_ASSIGN_OR_RAISE(const int64_t days, DaysOfFields(year[row], month[row], day[row]));
    *out = static_cast<int32_t>(days);
    return arrow::Status::OK();
  });
}

arrow::Result<Datum> MakeTime(const KernelInput& input) {
  const ValueReader<int32_t> hour(input.arguments[0]), minute(input.arguments[1]);
  const ValueReader<double> second(input.arguments[2]);
  return MapRows<int64_t>(
      input, [&](int64_t row, int64_t* out) { return MicrosOfFields(hour[row], minute[row], second[row]).Value(out); });
}

arrow::Result<Datum> MakeTimestamp(const KernelInput& input) {
  const ValueReader<int32_t> year(input.arguments[0]), month(input.arguments[1]), day(input.arguments[2]);
  const ValueReader<int32_t> hour(input.arguments[3]), minute(input.arguments[4]);
  const ValueReader<double> second(input.arguments[5]);
  return MapRows<int64_t>(input, [&](int64_t row, int64_t* out) -> arrow::Status {
    ARROW_ASSIGN_OR_RAISE(const int64_t days, DaysOfFields(year[row], month[row], day[row]));
    ARROW_ASSIGN_OR_RAISE(const int64_t micros, MicrosOfFields(hour[row], minute[row], second[row]));
    int64_t midnight = 0;
    if (__builtin_mul_overflow(days, kMicrosPerDay, &midnight) || __builtin_add_overflow(midnight, micros, out))
      return OutOfRange(*input.type);
    return arrow::Status::OK();
  });
}

/// make_interval(years, months, weeks, days, hours, minutes, seconds)
arrow::Result<Datum> MakeIntervalKernel(const KernelInput& input) {
  const auto read = [&](int i) { return std::make_unique<ValueReader<int32_t>>(input.arguments[i]); };
  const auto years = read(0), months = read(1), weeks = read(2), days = read(3), hours = read(4), minutes = read(5);
  const ValueReader<double> seconds(input.arguments[6]);
  return MapRows<Interval>(input, [&](int64_t row, Interval* out) -> arrow::Status {
    const int64_t all_months = int64_t{(*years)[row]} * 12 + (*months)[row];
    const int64_t all_days = int64_t{(*weeks)[row]} * 7 + (*days)[row];
    const double micros = std::rint(seconds[row] * 1e6);
    const Int128 nanos =
        (static_cast<Int128>((*hours)[row]) * kMicrosPerHour + static_cast<Int128>((*minutes)[row]) * kMicrosPerMinute +
         static_cast<Int128>(std::fabs(micros) < 9e15 ? micros : 9e18)) *
        kNanosPerMicro;
    *out = Interval{static_cast<int32_t>(all_months), static_cast<int32_t>(all_days), static_cast<int64_t>(nanos)};
    const bool fits = out->months == all_months && out->days == all_days && out->nanoseconds == nanos;
    return fits ? arrow::Status::OK() : OutOfRange(*input.type);
  });
}

/// Seconds since 1970 as a timestamp with time zone.
arrow::Result<Datum> ToTimestamp(const KernelInput& input) {
  const ValueReader<double> seconds(input.arguments[0]);
  return MapRows<int64_t>(input, [&](int64_t row, int64_t* out) -> arrow::Status {
    const double value = seconds[row];
    if (std::isnan(value)) return MakeError(ErrorKind::kExecution, "timestamp cannot be NaN");
    if (!(std::fabs(value) < 9.2e12)) {
      std::string text;
      AppendDouble(value, &text);
      return MakeError(ErrorKind::kExecution, "timestamp out of range: \"{}\"", text);
    }
    // The whole seconds first, so that the fraction keeps its digits.
    const double whole = std::floor(value);
    *out = static_cast<int64_t>(whole) * kMicrosPerSecond + static_cast<int64_t>(std::rint((value - whole) * 1e6));
    return arrow::Status::OK();
  });
}

arrow::Result<Datum> LastDay(const KernelInput& input) {
  return MapUnary<int32_t, int32_t>(input, [](int32_t days, int32_t* out) -> uint8_t {
    const CivilDate date = CivilFromDays(days);
    *out = static_cast<int32_t>(days + DaysInMonth(date.year, date.month) - date.day);
    return kNoFailure;
  });
}

// --- age, justify ------------------------------------------------------------------------------------------------------------

arrow::Result<Datum> AgeBetween(const KernelInput& input) {
  const ValueReader<int64_t> later(input.arguments[0]), earlier(input.arguments[1]);
  const int64_t later_divisor = IsNanosecondType(*input.arguments[0].type()) ? kNanosPerMicro : 1;
  const int64_t earlier_divisor = IsNanosecondType(*input.arguments[1].type()) ? kNanosPerMicro : 1;
  return MapRows<Interval>(input, [&](int64_t row, Interval* out) {
    *out = Age(FloorDivide(later[row], later_divisor), FloorDivide(earlier[row], earlier_divisor));
    return arrow::Status::OK();
  });
}

/// age(x) counts from midnight of the current date.
arrow::Result<Datum> AgeOfToday(const KernelInput& input) {
  const ValueReader<int64_t> earlier(input.arguments[0]);
  const int64_t divisor = IsNanosecondType(*input.arguments[0].type()) ? kNanosPerMicro : 1;
  const int64_t today = input.context.statement_time_us - FloorModulo(input.context.statement_time_us, kMicrosPerDay);
  return MapRows<Interval>(input, [&](int64_t row, Interval* out) {
    *out = Age(today, FloorDivide(earlier[row], divisor));
    return arrow::Status::OK();
  });
}

template <bool (*kJustify)(const Interval&, Interval*)>
arrow::Result<Datum> Justify(const KernelInput& input) {
  return MapUnary<Interval, Interval>(
      input, [](const Interval& interval, Interval* out) -> uint8_t { return kJustify(interval, out) ? kNoFailure : kOverflow; },
      [](uint8_t, const KernelInput& input) { return OutOfRange(*input.type); });
}

// --- AT TIME ZONE ------------------------------------------------------------------------------------------------------------

/// timezone(zone, timestamptz): the clock on the wall there. timezone(zone, timestamp): the instant that clock shows. The zone is
/// a constant.
arrow::Result<Datum> AtTimeZone(const KernelInput& input) {
  if (input.arguments[0].is_array() && input.num_rows > 1) {
    return MakeError(ErrorKind::kUnsupported, "a time zone that differs from row to row");
  }
  const std::string zone(BytesReader(input.arguments[0])[0]);
  Datum value = input.arguments[1];
  if (value.is_scalar()) {
    ARROW_ASSIGN_OR_RAISE(auto array, arrow::MakeArrayFromScalar(*value.scalar(), input.num_rows, input.context.pool));
    value = Datum(std::move(array));
  }
  const arrow::DataType& type = *value.type();
  const auto unit = checked_cast<const arrow::TimestampType&>(type).unit();
  arrow::Result<Datum> result;
  if (ClassOf(type) == kTimestampTz) {
    auto zoned = value.array()->Copy();
    zoned->type = arrow::timestamp(unit, zone);
    result = arrow::compute::LocalTimestamp(Datum(zoned), input.exec);
  } else {
    using Options = arrow::compute::AssumeTimezoneOptions;
    // A clock turned back shows an hour twice: PostgreSQL takes the second one. One that is skipped is moved on.
    const Options options(zone, Options::AMBIGUOUS_LATEST, Options::NONEXISTENT_EARLIEST);
    result = arrow::compute::AssumeTimezone(value, options, input.exec);
  }
  if (!result.ok()) {
    if (result.status().IsOutOfMemory()) return result.status();
    return MakeError(ErrorKind::kExecution, "time zone \"{}\" not recognized", zone);
  }
  auto data = result->array()->Copy();
  data->type = input.type;
  return data;
}

arrow::Result<TypePtr> OtherZoneResult(const std::vector<ExprPtr>& arguments) {
  const TypePtr logical = LogicalType(arguments[1]->type());
  const auto& type = checked_cast<const arrow::TimestampType&>(*logical);
  return type.timezone().empty() ? arrow::timestamp(type.unit(), "UTC") : arrow::timestamp(type.unit());
}

void AddClock(FunctionRegistry* registry, std::string_view name, ResultType result, Kernel kernel) {
  registry->Add({.name = name, .result_type = result, .kernel = kernel, .can_fail = false, .volatility = Volatility::kStable});
}

void Add(FunctionRegistry* registry, std::string_view name, std::vector<TypeClass> parameters, ResultType result, Kernel kernel) {
  registry->Add({.name = name, .parameters = std::move(parameters), .result_type = result, .kernel = kernel});
}

}  // namespace

void RegisterDateTime(FunctionRegistry* registry) {
  for (const std::string_view name : {"now", "current_timestamp", "transaction_timestamp", "statement_timestamp"}) {
    AddClock(registry, name, TimestampTzResult, Now);
  }
  AddClock(registry, "localtimestamp", TimestampResult, Now);
  AddClock(registry, "current_date", DateResult, CurrentDate);
  AddClock(registry, "current_time", TimeResult, CurrentTime);
  AddClock(registry, "localtime", TimeResult, CurrentTime);

  Add(registry, "date_trunc", {kText, kTimestamp}, SecondResult, DateTrunc);
  Add(registry, "date_trunc", {kText, kTimestampTz}, SecondResult, DateTrunc);
  Add(registry, "date_trunc", {kText, TypeClass::kInterval}, IntervalResult, DateTrunc);
  Add(registry, "make_date", {kInt32, kInt32, kInt32}, DateResult, MakeDate);
  Add(registry, "make_time", {kInt32, kInt32, kDouble}, TimeResult, MakeTime);
  Add(registry, "make_timestamp", {kInt32, kInt32, kInt32, kInt32, kInt32, kDouble}, TimestampResult, MakeTimestamp);
  Add(registry, "make_interval", {kInt32, kInt32, kInt32, kInt32, kInt32, kInt32, kDouble}, IntervalResult, MakeIntervalKernel);
  Add(registry, "to_timestamp", {kDouble}, TimestampTzResult, ToTimestamp);
  registry->Add({.name = "last_day", .parameters = {kDate}, .result_type = DateResult, .kernel = LastDay, .can_fail = false});
  for (const TypeClass timestamp : {kTimestamp, kTimestampTz}) {
    Add(registry, "age", {timestamp, timestamp}, IntervalResult, AgeBetween);
    registry->Add({.name = "age",
                   .parameters = {timestamp},
                   .result_type = IntervalResult,
                   .kernel = AgeOfToday,
                   .volatility = Volatility::kStable});
    Add(registry, "timezone", {kText, timestamp}, OtherZoneResult, AtTimeZone);
  }
  Add(registry, "justify_hours", {TypeClass::kInterval}, IntervalResult, Justify<JustifyHours>);
  Add(registry, "justify_days", {TypeClass::kInterval}, IntervalResult, Justify<JustifyDays>);
  Add(registry, "justify_interval", {TypeClass::kInterval}, IntervalResult, Justify<JustifyInterval>);
}

}  // namespace icebound::expr
