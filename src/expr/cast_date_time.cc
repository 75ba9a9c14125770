// SPDX-License-Identifier: Apache-2.0
//
// Casts among dates, times, timestamps and intervals. The session's zone is UTC, so timestamps with and without zone share their
// values.
#include <arrow/util/checked_cast.h>

#include "base/error.h"
#include "expr/calendar.h"
#include "expr/cast.h"
#include "expr/date_time_text.h"
#include "expr/elementwise.h"

namespace icebound::expr {

using arrow::Type;
using arrow::internal::checked_cast;

namespace {

bool IsNano(const arrow::DataType& type) {
  if (type.id() == Type::TIMESTAMP) return checked_cast<const arrow::TimestampType&>(type).unit() == arrow::TimeUnit::NANO;
  return type.id() == Type::TIME64 && checked_cast<const arrow::Time64Type&>(type).unit() == arrow::TimeUnit::NANO;
}

arrow::Status TemporalFailure(uint8_t, const KernelInput& input) {
  const TypeClass from = ClassOf(*input.arguments[0].type());
  if (from == TypeClass::kDate) return MakeError(ErrorKind::kExecution, "date out of range for timestamp");
  return OutOfRange(*input.type);
}

/// Between microseconds and nanoseconds. Timestamps round half away from zero; a time of day is cut, so that it stays within its
/// day.
arrow::Result<arrow::Datum> ChangeUnit(const KernelInput& input, bool from_nano, bool to_nano) {
  const int64_t half = input.type->id() == Type::TIME64 ? kNanosPerMicro : kNanosPerMicro / 2;
  return MapUnary<int64_t, int64_t>(
      input,
      [from_nano, to_nano, half](int64_t value, int64_t* out) -> uint8_t {
        if (from_nano == to_nano) {
          *out = value;
          return kNoFailure;
        }
        if (to_nano) return __builtin_mul_overflow(value, kNanosPerMicro, out) ? kOverflow : kNoFailure;
        const int64_t rest = value % kNanosPerMicro;
        *out = value / kNanosPerMicro + (rest >= half ? 1 : 0) - (rest <= -half ? 1 : 0);
        return kNoFailure;
      },
      TemporalFailure);
}

arrow::Result<arrow::Datum> ToTimestamp(const KernelInput& input) {
  const arrow::DataType& from = *input.arguments[0].type();
  if (from.id() == Type::TIMESTAMP) return ChangeUnit(input, IsNano(from), IsNano(*input.type));
  const int64_t per_day = IsNano(*input.type) ? kNanosPerDay : kMicrosPerDay;
  return MapUnary<int64_t, int32_t>(
      input,
      [per_day](int32_t days, int64_t* out) -> uint8_t {
        return __builtin_mul_overflow(int64_t{days}, per_day, out) ? kOverflow : kNoFailure;
      },
      TemporalFailure);
}

arrow::Result<arrow::Datum> ToDate(const KernelInput& input) {
  const int64_t per_day = IsNano(*input.arguments[0].type()) ? kNanosPerDay : kMicrosPerDay;
  return MapUnary<int32_t, int64_t>(
      input,
      [per_day](int64_t value, int32_t* out) -> uint8_t {
        const int64_t days = FloorDivide(value, per_day);
        *out = static_cast<int32_t>(days);
        return *out == days ? kNoFailure : kOverflow;
      },
      TemporalFailure);
}

arrow::Result<arrow::Datum> ToTime(const KernelInput& input) {
  const arrow::DataType& from = *input.arguments[0].type();
  const bool to_nano = IsNano(*input.type);
  if (from.id() == Type::TIME64) return ChangeUnit(input, IsNano(from), to_nano);
  const int64_t divisor = to_nano ? 1 : kNanosPerMicro;
  if (from.id() == Type::INTERVAL_MONTH_DAY_NANO) {
    return MapUnary<int64_t, Interval>(input, [divisor](const Interval& value, int64_t* out) -> uint8_t {
      *out = FloorModulo(value.nanoseconds, kNanosPerDay) / divisor;
      return kNoFailure;
    });
  }
  const bool from_nano = IsNano(from);
  return MapUnary<int64_t, int64_t>(input, [=](int64_t value, int64_t* out) -> uint8_t {
    const int64_t nanos = from_nano ? FloorModulo(value, kNanosPerDay) : FloorModulo(value, kMicrosPerDay) * kNanosPerMicro;
    *out = nanos / divisor;
    return kNoFailure;
  });
}

arrow::Result<arrow::Datum> TimeToInterval(const KernelInput& input) {
  const int64_t factor = IsNano(*input.arguments[0].type()) ? 1 : kNanosPerMicro;
  return MapUnary<Interval, int64_t>(input, [factor](int64_t value, Interval* out) -> uint8_t {
    *out = Interval{0, 0, value * factor};
    return kNoFailure;
  });
}

}  // namespace

arrow::Result<arrow::Datum> CastToTemporal(const KernelInput& input) {
  switch (ClassOf(*input.type)) {
    case TypeClass::kDate:
      return ToDate(input);
    case TypeClass::kTime:
      return ToTime(input);
    case TypeClass::kInterval:
      return TimeToInterval(input);
    default:
      return ToTimestamp(input);
  }
}

}  // namespace icebound::expr
