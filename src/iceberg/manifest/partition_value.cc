// SPDX-License-Identifier: Apache-2.0
#include "iceberg/manifest/partition_value.h"

#include <limits>

#include "base/error.h"
#include "iceberg/spec/json_value.h"
#include "iceberg/spec/single_value.h"

namespace icebound::iceberg {
namespace {

template <typename T>
arrow::Result<Literal> ReadAs(avro::ValueReader& value) {
  T held{};
  ARROW_RETURN_NOT_OK(value.Read(&held));
  return Literal(std::move(held));
}

arrow::Status DoesNotFit(const avro::Node& node, const Type& type) {
  return MakeError(ErrorKind::kCorruptData, "a partition value of type {} stands as Avro {}", type.ToString(),
                   avro::ToString(node));
}

/// A number of thousandths less, as milliseconds are in Avro.
arrow::Result<Literal> ReadMillis(avro::ValueReader& value) {
  int64_t millis = 0;
  ARROW_RETURN_NOT_OK(value.Read(&millis));
  int64_t micros = 0;
  if (__builtin_mul_overflow(millis, int64_t{1000}, &micros)) {
    return MakeError(ErrorKind::kCorruptData, "{} milliseconds do not fit 64 bits of microseconds", millis);
  }
  return Literal(micros);
}

arrow::Result<Literal> ReadText(avro::ValueReader& value, const Type& type) {
  const avro::Node& node = value.type();
  std::string text;
  ARROW_RETURN_NOT_OK(value.Read(&text));
  if (type.id() == TypeId::kDecimal || node.logical == avro::LogicalType::kDecimal) {
    ARROW_ASSIGN_OR_RAISE(const TypePtr decimal, Type::Decimal(38, type.id() == TypeId::kDecimal ? type.scale() : node.scale));
    return DecodeSingleValue(*decimal, text);
  }
  if (type.id() == TypeId::kUuid && node.type == avro::Type::kString) {
    std::string json;
    JsonWriter(&json).String(text);
    return LiteralFromJson(type, json);
  }
  return Literal(std::move(text));
}

/// The value as the Avro type alone says.
arrow::Result<Literal> ReadAsWritten(avro::ValueReader& value, const Type& type) {
  const avro::Node& node = value.type();
  switch (node.type) {
    case avro::Type::kBoolean:
      return ReadAs<bool>(value);
    case avro::Type::kInt:
      if (node.logical == avro::LogicalType::kTimeMillis) return ReadMillis(value);
      return ReadAs<int32_t>(value);
    case avro::Type::kLong:
      if (node.logical == avro::LogicalType::kTimestampMillis) return ReadMillis(value);
      return ReadAs<int64_t>(value);
    case avro::Type::kFloat:
      return ReadAs<float>(value);
    case avro::Type::kDouble:
      return ReadAs<double>(value);
    case avro::Type::kBytes:
    case avro::Type::kString:
    case avro::Type::kFixed:
      return ReadText(value, type);
    default:
      return DoesNotFit(node, type);
  }
}

}  // namespace

arrow::Result<Literal> ReadPartitionValue(avro::ValueReader& value, const Type& type) {
  if (value.is_null()) return Literal();
  const avro::Node& node = value.type();
  ARROW_ASSIGN_OR_RAISE(Literal held, ReadAsWritten(value, type));
  if (type.id() == TypeId::kUnknown || Holds(type, held)) return held;
  if (const auto* narrow = std::get_if<int32_t>(&held); narrow != nullptr && type.id() == TypeId::kLong) {
    return Literal(int64_t{*narrow});
  }
  if (const auto* narrow = std::get_if<float>(&held); narrow != nullptr && type.id() == TypeId::kDouble) {
    return Literal(static_cast<double>(*narrow));
  }
  if (const auto* wide = std::get_if<int64_t>(&held); wide != nullptr && *wide == static_cast<int32_t>(*wide)) {
    // Some writers keep years, months and days as longs.
    if (type.id() == TypeId::kInt || type.id() == TypeId::kDate) return Literal(static_cast<int32_t>(*wide));
  }
  return DoesNotFit(node, type);
}

}  // namespace icebound::iceberg
