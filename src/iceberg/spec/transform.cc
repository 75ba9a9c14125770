// SPDX-License-Identifier: Apache-2.0
#include "iceberg/spec/transform.h"

#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "iceberg/spec/iso_time.h"
#include "iceberg/spec/murmur3.h"
#include "iceberg/spec/single_value.h"

namespace icebound::iceberg {
namespace {

struct WordRow {
  TransformKind kind;
  std::string_view word;
};
constexpr std::array kWords = {
    WordRow{TransformKind::kIdentity, "identity"}, WordRow{TransformKind::kBucket, "bucket"},
    WordRow{TransformKind::kTruncate, "truncate"}, WordRow{TransformKind::kYear, "year"},
    WordRow{TransformKind::kMonth, "month"},       WordRow{TransformKind::kDay, "day"},
    WordRow{TransformKind::kHour, "hour"},         WordRow{TransformKind::kVoid, "void"},
};

constexpr int64_t kMicrosPerHour = int64_t{3'600'000'000};

bool TakesParameter(TransformKind kind) { return kind == TransformKind::kBucket || kind == TransformKind::kTruncate; }

bool IsNanos(const Type& type) { return type.id() == TypeId::kTimestampNs || type.id() == TypeId::kTimestampTzNs; }

bool IsTimestamp(const Type& type) {
  return type.id() == TypeId::kTimestamp || type.id() == TypeId::kTimestampTz || IsNanos(type);
}

bool CanBucket(const Type& type) {
  switch (type.id()) {
    case TypeId::kInt:
    case TypeId::kLong:
    case TypeId::kDecimal:
    case TypeId::kDate:
    case TypeId::kTime:
    case TypeId::kString:
    case TypeId::kUuid:
    case TypeId::kFixed:
    case TypeId::kBinary:
      return true;
    default:
      return IsTimestamp(type);
  }
}

bool CanTruncate(const Type& type) {
  switch (type.id()) {
    case TypeId::kInt:
    case TypeId::kLong:
    case TypeId::kDecimal:
    case TypeId::kString:
    case TypeId::kBinary:
      return true;
    default:
      return false;
  }
}

std::string LongBytes(int64_t value) {
  std::string bytes;
  for (int shift = 0; shift < 64; shift += 8) bytes.push_back(static_cast<char>(static_cast<uint64_t>(value) >> shift));
  return bytes;
}

/// Every NaN is one NaN, and both zeros are one zero.
int64_t CanonicalBits(double value) {
  if (std::isnan(value)) return int64_t{0x7ff8000000000000};
  return std::bit_cast<int64_t>(value == 0 ? 0.0 : value);
}

int64_t Micros(const Type& type, int64_t timestamp) { return IsNanos(type) ? FloorDivide(timestamp, 1000) : timestamp; }

/// Wraps like the integers it is taken from: at the lowest values, the multiple of the width below them does not exist.
template <typename T>
T TruncateNumber(T value, int32_t width) {
  const int64_t remainder = FloorModulo(value, width);
  return static_cast<T>(static_cast<uint64_t>(static_cast<int64_t>(value)) - static_cast<uint64_t>(remainder));
}

arrow::Result<Literal> TruncateDecimal(const arrow::Decimal128& unscaled, int32_t width) {
  const arrow::Decimal128 divisor(width);
  ARROW_ASSIGN_OR_RAISE(const auto divided, unscaled.Divide(divisor));
  arrow::Decimal128 remainder = divided.second;
  if (remainder < 0) remainder += divisor;
  return Literal(arrow::Decimal128(unscaled - remainder));
}

arrow::Result<Literal> TruncateLiteral(const Type& type, const Literal& value, int32_t width) {
  switch (type.id()) {
    case TypeId::kInt:
      return Literal(TruncateNumber(std::get<int32_t>(value), width));
    case TypeId::kLong:
      return Literal(TruncateNumber(std::get<int64_t>(value), width));
    case TypeId::kDecimal:
      return TruncateDecimal(std::get<arrow::Decimal128>(value), width);
    default:
      return TruncateLowerBound(type, value, width);  // a prefix
  }
}

/// Days since 1970 of a date or a timestamp.
int64_t Days(const Type& type, const Literal& value) {
  if (type.id() == TypeId::kDate) return std::get<int32_t>(value);
  return FloorDivide(std::get<int64_t>(value), IsNanos(type) ? kNanosPerDay : kMicrosPerDay);
}

arrow::Result<Literal> TimeUnits(TransformKind kind, const Type& type, const Literal& value) {
  int64_t units = 0;
  if (kind == TransformKind::kHour) {
    units = FloorDivide(Micros(type, std::get<int64_t>(value)), kMicrosPerHour);
  } else {
    units = Days(type, value);
    if (kind != TransformKind::kDay) {
      const YearMonthDay date = CalendarDate(units);
      units = kind == TransformKind::kYear ? date.year - 1970 : (date.year - 1970) * 12 + date.month - 1;
    }
  }
  if (units != static_cast<int32_t>(units)) {
    return MakeError(ErrorKind::kExecution, "the hour of timestamp {} does not fit a partition value of 32 bits",
                     LiteralText(type, value));
  }
  return Literal(static_cast<int32_t>(units));
}

}  // namespace

arrow::Result<Transform> Transform::Bucket(int32_t count) {
  if (count < 1) return MakeError(ErrorKind::kInvalidInput, "bucket[{}]: the number of buckets must be positive", count);
  return Transform(TransformKind::kBucket, count, "");
}

arrow::Result<Transform> Transform::Truncate(int32_t width) {
  if (width < 1) return MakeError(ErrorKind::kInvalidInput, "truncate[{}]: the width must be positive", width);
  return Transform(TransformKind::kTruncate, width, "");
}

arrow::Result<Transform> Transform::Parse(std::string_view word) {
  std::string lower(word);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  for (const WordRow& row : kWords) {
    if (!TakesParameter(row.kind)) {
      if (lower == row.word) return Of(row.kind);
      continue;
    }
    if (!lower.starts_with(row.word) || lower.size() < row.word.size() + 3 || lower[row.word.size()] != '[') continue;
    int32_t number = 0;
    const char* const last = lower.data() + lower.size() - 1;
    const auto [end, error] = std::from_chars(lower.data() + row.word.size() + 1, last, number);
    if (error != std::errc{} || end != last || *last != ']') continue;
    if (number < 1) return MakeError(ErrorKind::kCorruptData, "transform '{}': the number must be positive", word);
    return Transform(row.kind, number, "");
  }
  return Transform(TransformKind::kUnknown, 0, std::string(word));
}

std::string Transform::ToString() const {
  if (kind_ == TransformKind::kUnknown) return word_;
  const std::string_view word = kWords[static_cast<size_t>(kind_)].word;
  return TakesParameter(kind_) ? fmt::format("{}[{}]", word, parameter_) : std::string(word);
}

arrow::Status Transform::CheckSource(const Type& source) const {
  const auto allowed = [&] {
    switch (kind_) {
      case TransformKind::kIdentity:
        return source.is_primitive() && source.id() != TypeId::kGeometry && source.id() != TypeId::kGeography;
      case TransformKind::kBucket:
        return CanBucket(source);
      case TransformKind::kTruncate:
        return CanTruncate(source);
      case TransformKind::kYear:
      case TransformKind::kMonth:
      case TransformKind::kDay:
        return source.id() == TypeId::kDate || IsTimestamp(source);
      case TransformKind::kHour:
        return IsTimestamp(source);
      case TransformKind::kVoid:
        return true;
      case TransformKind::kUnknown:
        return false;
    }
    return false;
  };
  if (allowed()) return arrow::Status::OK();
  return MakeError(ErrorKind::kInvalidInput, "transform {} does not take a column of type {}", ToString(), source.ToString());
}

TypePtr Transform::ResultType(const TypePtr& source) const {
  switch (kind_) {
    case TransformKind::kBucket:
    case TransformKind::kYear:
    case TransformKind::kMonth:
    case TransformKind::kHour:
      return Type::Of(TypeId::kInt);
    case TransformKind::kDay:
      return Type::Of(TypeId::kDate);
    case TransformKind::kUnknown:
      return Type::Of(TypeId::kString);
    default:
      return source;
  }
}

arrow::Result<Literal> Transform::Apply(const Type& source, const Literal& value) const {
  ARROW_RETURN_NOT_OK(CheckSource(source));
  if (!Holds(source, value)) {
    return MakeError(ErrorKind::kInternal, "a value is not held as values of {} are", source.ToString());
  }
  if (IsNull(value) || kind_ == TransformKind::kVoid) return Literal();
  switch (kind_) {
    case TransformKind::kBucket: {
      ARROW_ASSIGN_OR_RAISE(const int32_t hash, BucketHash(source, value));
      return Literal((hash & std::numeric_limits<int32_t>::max()) % parameter_);
    }
    case TransformKind::kTruncate:
      return TruncateLiteral(source, value, parameter_);
    case TransformKind::kYear:
    case TransformKind::kMonth:
    case TransformKind::kDay:
    case TransformKind::kHour:
      return TimeUnits(kind_, source, value);
    default:
      return value;
  }
}

std::string Transform::ValueText(const Type& result_type, const Literal& partition_value) const {
  const auto* units = std::get_if<int32_t>(&partition_value);
  if (units == nullptr) return LiteralText(result_type, partition_value);
  std::string text;
  switch (kind_) {
    case TransformKind::kYear:
      return fmt::format("{:04}", 1970 + int64_t{*units});
    case TransformKind::kMonth:
      return fmt::format("{:04}-{:02}", 1970 + FloorDivide(*units, 12), FloorModulo(*units, 12) + 1);
    case TransformKind::kDay:
      AppendIsoDate(*units, &text);
      return text;
    case TransformKind::kHour:
      AppendIsoDate(FloorDivide(*units, 24), &text);
      return fmt::format("{}-{:02}", text, FloorModulo(*units, 24));
    default:
      return LiteralText(result_type, partition_value);
  }
}

arrow::Result<int32_t> BucketHash(const Type& type, const Literal& value) {
  if (IsNull(value) || !Holds(type, value)) {
    return MakeError(ErrorKind::kInternal, "no hash of a value that is null or not of type {}", type.ToString());
  }
  return std::visit(
      [&]<typename T>(const T& held) -> int32_t {
        if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, int32_t>) {
          return Murmur3(LongBytes(held));
        } else if constexpr (std::is_same_v<T, int64_t>) {
          return Murmur3(LongBytes(Micros(type, held)));
        } else if constexpr (std::is_floating_point_v<T>) {
          return Murmur3(LongBytes(CanonicalBits(held)));
        } else if constexpr (std::is_same_v<T, arrow::Decimal128>) {
          return Murmur3(MinimalBigEndian(held));
        } else if constexpr (std::is_same_v<T, std::string>) {
          return Murmur3(held);
        } else {
          return 0;
        }
      },
      value);
}

}  // namespace icebound::iceberg
