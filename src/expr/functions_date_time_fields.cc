// SPDX-License-Identifier: Apache-2.0
//
// extract (numeric) and date_part (double precision) of dates, timestamps, times and intervals. The field is a literal: EXTRACT
// has it as a keyword, and the result's scale depends on it (seconds have six decimals, years none).
#include <arrow/util/checked_cast.h>

#include <optional>

#include "base/error.h"
#include "expr/date_time_math.h"
#include "expr/decimal_block.h"
#include "expr/elementwise.h"
#include "expr/resolve.h"

namespace icebound::expr {

using arrow::Datum;
using arrow::internal::checked_cast;

namespace {

using enum TypeClass;
using enum DateTimeField;

/// A field's value times 10^scale of the field; and the shape of its numeric.
struct FieldShape {
  int precision;
  int scale;
};

FieldShape ShapeOf(DateTimeField field, TypeClass type) {
  if (type == kDate && field == kEpoch) return {15, 0};
  switch (field) {
    case kSecond:
      return {8, 6};  // 59.999999
    case kMilliseconds:
      return {8, 3};  // 59999.999
    case kMicroseconds:
      return {8, 0};
    case kEpoch:
      return {20, 6};
    default:
      return {10, 0};
  }
}

/// Years before Christ are negative and there is no year 0: 1 BC is -1.
int64_t DisplayYear(int64_t year) { return year > 0 ? year : year - 1; }
int64_t PeriodOfYear(int64_t year, int64_t period) {
  return year > 0 ? (year + period - 1) / period : -((period - year) / period);
}

/// Fields of a date (days since 1970); nullopt for those a date does not have.
std::optional<int64_t> DateField(int64_t days, DateTimeField field) {
  switch (field) {
    case kDayOfWeek:
      return DayOfWeek(days);
    case kIsoDayOfWeek:
      return DayOfWeek(days) == 0 ? 7 : DayOfWeek(days);
    case kWeek:
      return IsoWeekOf(days).week;
    case kIsoYear:
      return DisplayYear(IsoWeekOf(days).year);
    case kJulian:
      return days + 2440588;
    default:
      break;
  }
  const CivilDate date = CivilFromDays(days);
  switch (field) {
    case kDay:
      return date.day;
    case kMonth:
      return date.month;
    case kQuarter:
      return (date.month - 1) / 3 + 1;
    case kYear:
      return DisplayYear(date.year);
    case kDecade:
      return FloorDivide(date.year, 10);
    case kCentury:
      return PeriodOfYear(date.year, 100);
    case kMillennium:
      return PeriodOfYear(date.year, 1000);
    case kDayOfYear:
      return days - DaysFromCivil(date.year, 1, 1) + 1;
    default:
      return std::nullopt;
  }
}

/// Fields of a time of day in microseconds.
std::optional<int64_t> ClockField(int64_t micros, DateTimeField field) {
  switch (field) {
    case kHour:
      return micros / kMicrosPerHour;
    case kMinute:
      return micros / kMicrosPerMinute % 60;
    case kSecond:
    case kMilliseconds:
    case kMicroseconds:
      return micros % kMicrosPerMinute;  // The scale of the field makes the difference.
    default:
      return std::nullopt;
  }
}

std::optional<Int128> TimestampField(int64_t micros, DateTimeField field, bool zoned) {
  if (field == kEpoch) return micros;
  if (zoned && (field == kTimezone || field == kTimezoneHour || field == kTimezoneMinute)) return 0;
  if (field == kJulian) return std::nullopt;  // Its fraction of a day has no decimal form.
  if (const auto clock = ClockField(FloorModulo(micros, kMicrosPerDay), field)) return *clock;
  const auto date = DateField(FloorDivide(micros, kMicrosPerDay), field);
  return date ? std::optional<Int128>(*date) : std::nullopt;
}

std::optional<Int128> DayField(int64_t days, DateTimeField field) {
  if (field == kEpoch) return static_cast<Int128>(days) * (kMicrosPerDay / kMicrosPerSecond);
  const auto date = DateField(days, field);
  return date ? std::optional<Int128>(*date) : std::nullopt;
}

std::optional<Int128> TimeField(int64_t micros, DateTimeField field) {
  if (field == kEpoch) return micros;
  const auto clock = ClockField(micros, field);
  return clock ? std::optional<Int128>(*clock) : std::nullopt;
}

/// A year has 365.25 days in an interval's epoch, a month 30.
std::optional<Int128> IntervalField(const Interval& interval, DateTimeField field) {
  const int64_t micros = interval.nanoseconds / kNanosPerMicro;
  const int64_t years = interval.months / 12;
  switch (field) {
    case kEpoch:
      return static_cast<Int128>(years) * (kMicrosPerDay / 4 * 1461) +
             (static_cast<Int128>(interval.months % 12) * 30 + interval.days) * kMicrosPerDay + micros;
    case kYear:
      return years;
    case kDecade:
      return years / 10;
    case kCentury:
      return years / 100;
    case kMillennium:
      return years / 1000;
    case kQuarter:
      return interval.months % 12 / 3 + 1;
    case kMonth:
      return interval.months % 12;
    case kDay:
      return interval.days;
    default: {
      const auto clock = ClockField(micros, field);
      return clock ? std::optional<Int128>(*clock) : std::nullopt;
    }
  }
}

/// The fields that a type has, found by trying one value.
bool HasField(TypeClass type, DateTimeField field) {
  switch (type) {
    case kDate:
      return DayField(0, field).has_value();
    case kTime:
      return TimeField(0, field).has_value();
    case kInterval:
      return IntervalField(Interval{}, field).has_value();
    default:
      return TimestampField(0, field, type == kTimestampTz).has_value();
  }
}

std::string_view FieldText(const Expr& literal) {
  return checked_cast<const arrow::StringScalar&>(*checked_cast<const LiteralExpr&>(literal).value()).view();
}

/// The field, checked when the call was made.
class PreparedField final : public PreparedCall {
 public:
  explicit PreparedField(DateTimeField field) : field_(field) {}
  DateTimeField field() const { return field_; }

 private:
  const DateTimeField field_;
};

std::shared_ptr<const PreparedCall> PrepareField(const std::vector<ExprPtr>& arguments) {
  return std::make_shared<PreparedField>(*FieldFromWord(FieldText(*arguments[0])));
}

template <typename Out>
void StoreField(Int128 value, const FieldShape& shape, Out* out) {
  if constexpr (std::is_same_v<Out, double>) {
    *out = static_cast<double>(value) / static_cast<double>(PowerOfTen(shape.scale));
  } else {
    StoreDecimal(value, out);
  }
}

template <typename Out, typename T, typename FieldOf>
arrow::Result<Datum> MapField(const KernelInput& input, const FieldShape& shape, FieldOf field_of) {
  const Datum values[1] = {input.arguments[1]};
  const KernelInput unary{values, input.type, input.num_rows, input.context, input.call, input.exec};
  return MapUnary<Out, T>(unary, [&](const T& value, Out* out) -> uint8_t {
    StoreField(field_of(value), shape, out);
    return kNoFailure;
  });
}

template <typename Out>
arrow::Result<Datum> FieldsAs(const KernelInput& input, DateTimeField field) {
  const arrow::DataType& type = *input.arguments[1].type();
  const FieldShape shape = ShapeOf(field, ClassOf(type));
  switch (ClassOf(type)) {
    case kDate:
      return MapField<Out, int32_t>(input, shape, [field](int32_t days) { return *DayField(days, field); });
    case kTime:
      return MapField<Out, int64_t>(input, shape, [field](int64_t micros) { return *TimeField(micros, field); });
    case kInterval:
      return MapField<Out, Interval>(input, shape, [field](const Interval& value) { return *IntervalField(value, field); });
    default: {
      const int64_t divisor = IsNanosecondType(type) ? kNanosPerMicro : 1;
      const bool zoned = ClassOf(type) == kTimestampTz;
      return MapField<Out, int64_t>(input, shape,
                                    [=](int64_t value) { return *TimestampField(FloorDivide(value, divisor), field, zoned); });
    }
  }
}

arrow::Result<Datum> Fields(const KernelInput& input) {
  const DateTimeField field = checked_cast<const PreparedField&>(*input.call->prepared()).field();
  switch (input.type->id()) {
    case arrow::Type::DOUBLE:
      return FieldsAs<double>(input, field);
    case arrow::Type::DECIMAL64:
      return FieldsAs<int64_t>(input, field);
    default:
      return FieldsAs<Int128>(input, field);
  }
}

template <bool kNumeric>
arrow::Result<Resolution> ResolveField(const FunctionFamily& family, std::vector<ExprPtr> arguments) {
  if (arguments.size() != 2 || !IsUntypedLiteral(*arguments[0])) {
    if (arguments.size() != 2 || ClassOf(*arguments[0]->type()) != kText) return NoSuchCall(family.name, arguments);
    return MakeError(ErrorKind::kUnsupported, "{} needs its field as a literal", family.name);
  }
  if (!checked_cast<const LiteralExpr&>(*arguments[0]).value()->is_valid || arguments[0]->type()->id() == arrow::Type::NA) {
    return NoSuchCall(family.name, arguments);
  }
  if (IsUntypedLiteral(*arguments[1])) {
    return MakeError(ErrorKind::kInvalidInput, "function {}(unknown, unknown) is not unique; explicit casts may help",
                     family.name);
  }
  TypePtr type = LogicalType(arguments[1]->type());
  const TypeClass type_class = ClassOf(*type);
  if (!IsTemporal(type_class) && type_class != kTime && type_class != kInterval) return NoSuchCall(family.name, arguments);
  if (type_class == kTime) type = arrow::time64(arrow::TimeUnit::MICRO);
  ARROW_ASSIGN_OR_RAISE(arguments[1], CoerceTo(std::move(arguments[1]), type));
  const std::string_view word = FieldText(*arguments[0]);
  const auto field = FieldFromWord(word);
  if (!field) return MakeError(ErrorKind::kInvalidInput, "unit \"{}\" not recognized for type {}", word, SqlTypeName(*type));
  if (!HasField(type_class, *field)) {
    return MakeError(ErrorKind::kInvalidInput, "unit \"{}\" not supported for type {}", word, SqlTypeName(*type));
  }
  const FieldShape shape = ShapeOf(*field, type_class);
  return Resolution{family.overloads.front(), std::move(arguments),
                    kNumeric ? DecimalType(shape.precision, shape.scale, /*narrow=*/true) : arrow::float64()};
}

/// year(x) and its like are extract as bigint.
template <const char* kField>
arrow::Result<ExprPtr> RewriteField(std::vector<ExprPtr> arguments, TextPosition position) {
  if (arguments.size() != 1) return NoSuchCall(kField, arguments);
  arguments.insert(arguments.begin(), MakeLiteral(std::make_shared<arrow::StringScalar>(kField)));
  ARROW_ASSIGN_OR_RAISE(ExprPtr field, MakeCall("extract", std::move(arguments), position));
  return MakeCast(std::move(field), arrow::int64(), position);
}

constexpr char kYearName[] = "year", kQuarterName[] = "quarter", kMonthName[] = "month", kWeekName[] = "week", kDayName[] = "day",
               kHourName[] = "hour", kMinuteName[] = "minute";

}  // namespace

void RegisterDateTimeFields(FunctionRegistry* registry) {
  registry->Add({.name = "extract", .kernel = Fields, .can_fail = false, .prepare = PrepareField});
  registry->SetResolver("extract", ResolveField<true>);
  registry->Add({.name = "date_part", .kernel = Fields, .can_fail = false, .prepare = PrepareField});
  registry->SetResolver("date_part", ResolveField<false>);
  registry->AddRewriter("year", RewriteField<kYearName>);
  registry->AddRewriter("quarter", RewriteField<kQuarterName>);
  registry->AddRewriter("month", RewriteField<kMonthName>);
  registry->AddRewriter("week", RewriteField<kWeekName>);
  registry->AddRewriter("day", RewriteField<kDayName>);
  registry->AddRewriter("hour", RewriteField<kHourName>);
  registry->AddRewriter("minute", RewriteField<kMinuteName>);
}

}  // namespace icebound::expr
