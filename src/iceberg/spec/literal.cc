// SPDX-License-Identifier: Apache-2.0
#include "iceberg/spec/literal.h"

#include <arrow/util/base64.h>
#include <arrow/util/checked_cast.h>

#include <cmath>

#include "base/error.h"
#include "iceberg/spec/arrow_schema.h"
#include "iceberg/spec/iso_time.h"

namespace icebound::iceberg {
namespace {

using arrow::internal::checked_cast;

size_t IndexOf(TypeId id) {
  switch (id) {
    case TypeId::kBoolean:
      return 1;
    case TypeId::kInt:
    case TypeId::kDate:
      return 2;
    case TypeId::kLong:
    case TypeId::kTime:
    case TypeId::kTimestamp:
    case TypeId::kTimestampTz:
    case TypeId::kTimestampNs:
    case TypeId::kTimestampTzNs:
      return 3;
    case TypeId::kFloat:
      return 4;
    case TypeId::kDouble:
      return 5;
    case TypeId::kDecimal:
      return 6;
    case TypeId::kString:
    case TypeId::kUuid:
    case TypeId::kFixed:
    case TypeId::kBinary:
    case TypeId::kGeometry:
    case TypeId::kGeography:
      return 7;
    default:
      return 0;
  }
}

template <typename Float>
std::weak_ordering CompareFloats(Float left, Float right) {
  if (std::isnan(left) || std::isnan(right)) return std::isnan(left) <=> std::isnan(right);
  if (left < right) return std::weak_ordering::less;
  if (left > right) return std::weak_ordering::greater;
  return std::signbit(right) <=> std::signbit(left);
}

arrow::Status NotOfType(const Type& type) {
  return MakeError(ErrorKind::kInternal, "a value is not held as values of type {} are", type.ToString());
}

std::string UuidText(const std::string& bytes) {
  std::string text;
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text.push_back('-');
    fmt::format_to(std::back_inserter(text), "{:02x}", static_cast<unsigned char>(bytes[i]));
  }
  return text;
}

/// Text of the types that are whole numbers or times inside.
std::string TimeText(const Type& type, const Literal& value) {
  std::string text;
  switch (type.id()) {
    case TypeId::kDate:
      AppendIsoDate(std::get<int32_t>(value), &text);
      break;
    case TypeId::kTime:
      AppendIsoTime(std::get<int64_t>(value), TimePrecision::kMicros, &text);
      break;
    case TypeId::kTimestamp:
    case TypeId::kTimestampTz:
      AppendIsoTimestamp(std::get<int64_t>(value), TimePrecision::kMicros, type.id() == TypeId::kTimestampTz, &text);
      break;
    default:
      AppendIsoTimestamp(std::get<int64_t>(value), TimePrecision::kNanos, type.id() == TypeId::kTimestampTzNs, &text);
      break;
  }
  return text;
}

arrow::Result<Literal> FromBinary(const Type& type, const arrow::Scalar& scalar) {
  const auto* binary = dynamic_cast<const arrow::BaseBinaryScalar*>(&scalar);
  if (binary == nullptr) return NotOfType(type);
  std::string bytes(binary->view());
  const size_t fixed_bytes = type.id() == TypeId::kUuid ? 16 : static_cast<size_t>(type.length_bytes());
  if ((type.id() == TypeId::kUuid || type.id() == TypeId::kFixed) && bytes.size() != fixed_bytes) return NotOfType(type);
  return Literal(std::move(bytes));
}

template <typename ArrowType>
const auto& ValueOf(const arrow::Scalar& scalar) {
  return checked_cast<const typename arrow::TypeTraits<ArrowType>::ScalarType&>(scalar).value;
}

}  // namespace

bool Holds(const Type& type, const Literal& value) { return IsNull(value) || value.index() == IndexOf(type.id()); }

std::weak_ordering CompareLiterals(const Literal& left, const Literal& right) {
  if (left.index() != right.index() || IsNull(left)) return left.index() <=> right.index();
  return std::visit(
      [&]<typename T>(const T& value) -> std::weak_ordering {
        const T& other = std::get<T>(right);
        if constexpr (std::is_floating_point_v<T>) {
          return CompareFloats(value, other);
        } else if constexpr (std::is_same_v<T, arrow::Decimal128>) {
          return value < other   ? std::weak_ordering::less
                 : other < value ? std::weak_ordering::greater
                                 : std::weak_ordering::equivalent;
        } else if constexpr (std::is_same_v<T, std::monostate>) {
          return std::weak_ordering::equivalent;
        } else {
          return value <=> other;  // std::string compares its characters as unsigned
        }
      },
      left);
}

bool IsNan(const Literal& value) {
  if (const auto* narrow = std::get_if<float>(&value)) return std::isnan(*narrow);
  if (const auto* wide = std::get_if<double>(&value)) return std::isnan(*wide);
  return false;
}

std::string LiteralText(const Type& type, const Literal& value) {
  if (IsNull(value) || !Holds(type, value)) return "null";
  switch (type.id()) {
    case TypeId::kBoolean:
      return std::get<bool>(value) ? "true" : "false";
    case TypeId::kInt:
      return std::to_string(std::get<int32_t>(value));
    case TypeId::kLong:
      return std::to_string(std::get<int64_t>(value));
    case TypeId::kFloat:
      return fmt::format("{}", std::get<float>(value));
    case TypeId::kDouble:
      return fmt::format("{}", std::get<double>(value));
    case TypeId::kDecimal:
      return std::get<arrow::Decimal128>(value).ToString(type.scale());
    case TypeId::kString:
      return std::get<std::string>(value);
    case TypeId::kUuid:
      return UuidText(std::get<std::string>(value));
    case TypeId::kFixed:
    case TypeId::kBinary:
    case TypeId::kGeometry:
    case TypeId::kGeography:
      return arrow::util::base64_encode(std::get<std::string>(value));
    default:
      return TimeText(type, value);
  }
}

arrow::Result<std::shared_ptr<arrow::Scalar>> LiteralToScalar(const Type& type, const Literal& value) {
  const std::shared_ptr<arrow::DataType> arrow_type = ToArrowType(type);
  if (IsNull(value)) return arrow::MakeNullScalar(arrow_type);
  if (!Holds(type, value)) return NotOfType(type);
  if (const auto* decimal = std::get_if<arrow::Decimal128>(&value)) {
    return std::make_shared<arrow::Decimal128Scalar>(*decimal, arrow_type);
  }
  if (const auto* text = std::get_if<std::string>(&value)) {
    std::shared_ptr<arrow::Buffer> buffer = arrow::Buffer::FromString(*text);
    if (arrow_type->id() == arrow::Type::EXTENSION) {
      const auto& extension = checked_cast<const arrow::ExtensionType&>(*arrow_type);
      ARROW_ASSIGN_OR_RAISE(auto storage, arrow::MakeScalar(extension.storage_type(), std::move(buffer)));
      return std::make_shared<arrow::ExtensionScalar>(std::move(storage), arrow_type);
    }
    return arrow::MakeScalar(arrow_type, std::move(buffer));
  }
  return std::visit(
      [&]<typename T>(const T& number) -> arrow::Result<std::shared_ptr<arrow::Scalar>> {
        if constexpr (std::is_arithmetic_v<T>) {
          return arrow::MakeScalar(arrow_type, number);
        } else {
          return NotOfType(type);
        }
      },
      value);
}

arrow::Result<Literal> LiteralFromScalar(const Type& type, const arrow::Scalar& scalar) {
  if (!scalar.is_valid) return Literal();
  if (scalar.type->id() == arrow::Type::EXTENSION) {
    return LiteralFromScalar(type, *checked_cast<const arrow::ExtensionScalar&>(scalar).value);
  }
  if (IndexOf(type.id()) == 7) return FromBinary(type, scalar);
  const std::shared_ptr<arrow::DataType> wanted = ToArrowType(type);
  if (!scalar.type->Equals(*wanted)) return NotOfType(type);
  switch (wanted->id()) {
    case arrow::Type::BOOL:
      return Literal(ValueOf<arrow::BooleanType>(scalar));
    case arrow::Type::INT32:
      return Literal(ValueOf<arrow::Int32Type>(scalar));
    case arrow::Type::INT64:
      return Literal(ValueOf<arrow::Int64Type>(scalar));
    case arrow::Type::FLOAT:
      return Literal(ValueOf<arrow::FloatType>(scalar));
    case arrow::Type::DOUBLE:
      return Literal(ValueOf<arrow::DoubleType>(scalar));
    case arrow::Type::DATE32:
      return Literal(ValueOf<arrow::Date32Type>(scalar));
    case arrow::Type::TIME64:
      return Literal(ValueOf<arrow::Time64Type>(scalar));
    case arrow::Type::TIMESTAMP:
      return Literal(ValueOf<arrow::TimestampType>(scalar));
    case arrow::Type::DECIMAL128:
      return Literal(ValueOf<arrow::Decimal128Type>(scalar));
    default:
      return NotOfType(type);
  }
}

}  // namespace icebound::iceberg
