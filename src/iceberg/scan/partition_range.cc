// SPDX-License-Identifier: Apache-2.0
#include "iceberg/scan/partition_range.h"

#include <limits>
#include <optional>

#include "iceberg/spec/iso_time.h"
#include "iceberg/spec/single_value.h"

namespace icebound::iceberg {
namespace {

using ScalarPtr = std::shared_ptr<arrow::Scalar>;

std::optional<int64_t> WholeNumber(const Literal& value) {
  if (const auto* narrow = std::get_if<int32_t>(&value)) return *narrow;
  if (const auto* wide = std::get_if<int64_t>(&value)) return *wide;
  return std::nullopt;
}

/// The first of the units since 1970 that are `units`, in what `type` counts; nullopt when that does not fit.
std::optional<int64_t> StartOfUnit(TransformKind kind, const Type& type, int64_t units) {
  int64_t days = units;
  if (kind == TransformKind::kYear) days = DayNumber({1970 + units, 1, 1});
  if (kind == TransformKind::kMonth) {
    days = DayNumber({1970 + FloorDivide(units, 12), static_cast<int>(FloorModulo(units, 12)) + 1, 1});
  }
  int64_t per_unit = 1;
  switch (type.id()) {
    case TypeId::kDate:
      if (kind == TransformKind::kHour || days != static_cast<int32_t>(days)) return std::nullopt;
      break;
    case TypeId::kTimestamp:
    case TypeId::kTimestampTz:
      per_unit = kMicrosPerDay;
      break;
    case TypeId::kTimestampNs:
    case TypeId::kTimestampTzNs:
      per_unit = kNanosPerDay;
      break;
    default:
      return std::nullopt;
  }
  if (kind == TransformKind::kHour) per_unit /= 24;
  int64_t start = 0;
  if (__builtin_mul_overflow(days, per_unit, &start)) return std::nullopt;
  return start;
}

ScalarPtr TimeScalar(const Type& type, std::optional<int64_t> value) {
  if (!value) return nullptr;
  if (type.id() == TypeId::kDate) return BoundScalar(type, Literal(static_cast<int32_t>(*value)));
  return BoundScalar(type, Literal(*value));
}

/// Numbers that wrapped around when they were made, because the multiple of the width or the hour does not fit, look like these.
bool MayHaveWrapped(const Transform& transform, const Literal& value) {
  const auto number = WholeNumber(value);
  if (!number) return false;
  if (transform.kind() == TransformKind::kHour) {
    constexpr int64_t kHoursOfNoCalendar = 1'500'000'000;  // the year 173000; from 245000 on they wrap
    return *number > kHoursOfNoCalendar || *number < -kHoursOfNoCalendar;
  }
  if (transform.kind() != TransformKind::kTruncate) return false;
  // A column that is long now may have been int when its partitions were made.
  constexpr int64_t kIntMax = std::numeric_limits<int32_t>::max();
  int64_t end = 0;
  if (__builtin_add_overflow(*number, int64_t{transform.parameter()} - 1, &end)) return true;
  return *number <= kIntMax && end > kIntMax;
}

ScalarPtr StartOf(const Transform& transform, const Type& column_type, const Type& value_type, const Literal& value) {
  switch (transform.kind()) {
    case TransformKind::kIdentity:
    case TransformKind::kTruncate:
      return BoundScalar(value_type, value);
    case TransformKind::kYear:
    case TransformKind::kMonth:
    case TransformKind::kDay:
    case TransformKind::kHour: {
      const auto units = WholeNumber(value);
      if (!units) return nullptr;
      return TimeScalar(column_type, StartOfUnit(transform.kind(), column_type, *units <= 0 ? *units - 1 : *units));
    }
    default:
      return nullptr;
  }
}

ScalarPtr EndOfTruncated(const Type& type, const Literal& value, int32_t width) {
  if (const auto number = WholeNumber(value)) {
    const int64_t end = *number + width - 1;  // does not overflow: it has not wrapped
    return BoundScalar(type, type.id() == TypeId::kInt ? Literal(static_cast<int32_t>(end)) : Literal(end));
  }
  if (const auto* unscaled = std::get_if<arrow::Decimal128>(&value)) {
    return BoundScalar(type, Literal(arrow::Decimal128(*unscaled + (width - 1))));
  }
  const auto* text = std::get_if<std::string>(&value);
  if (text == nullptr) return nullptr;
  // One character more is beyond the width exactly when the value is as long as the width.
  const std::string longer = *text + 'x';
  const auto end = TruncateUpperBound(type, Literal(longer), width);
  if (!end) return nullptr;
  return BoundScalar(type, *end == Literal(longer) ? value : *end);
}

ScalarPtr EndOf(const Transform& transform, const Type& column_type, const Type& value_type, const Literal& value) {
  switch (transform.kind()) {
    case TransformKind::kIdentity:
      return BoundScalar(value_type, value);
    case TransformKind::kTruncate:
      return EndOfTruncated(value_type, value, transform.parameter());
    case TransformKind::kYear:
    case TransformKind::kMonth:
    case TransformKind::kDay:
    case TransformKind::kHour: {
      const auto units = WholeNumber(value);
      if (!units) return nullptr;
      const auto next = StartOfUnit(transform.kind(), column_type, *units + 1);
      return TimeScalar(column_type, next ? std::optional<int64_t>(*next - 1) : std::nullopt);
    }
    default:
      return nullptr;
  }
}

}  // namespace

ScalarPtr BoundScalar(const Type& type, const Literal& value) {
  // A bound of a fixed may be a prefix of one.
  if (type.id() == TypeId::kFixed && std::holds_alternative<std::string>(value)) {
    return std::make_shared<arrow::BinaryScalar>(arrow::Buffer::FromString(std::get<std::string>(value)));
  }
  if (IsNull(value) || type.id() == TypeId::kUnknown || type.is_nested()) return nullptr;
  auto scalar = LiteralToScalar(type, value);
  return scalar.ok() ? *std::move(scalar) : nullptr;
}

ColumnRange RangeOfPartition(const Transform& transform, const Type& column_type, const Type& value_type, const Literal* lower,
                             const Literal* upper) {
  if ((lower != nullptr && MayHaveWrapped(transform, *lower)) || (upper != nullptr && MayHaveWrapped(transform, *upper)))
    return {};
  ColumnRange range;
  if (lower != nullptr) range.min = StartOf(transform, column_type, value_type, *lower);
  if (upper != nullptr) range.max = EndOf(transform, column_type, value_type, *upper);
  return range;
}

}  // namespace icebound::iceberg
