// SPDX-License-Identifier: Apache-2.0
#include "iceberg/spec/json_value.h"

#include <arrow/array/builder_base.h>
#include <arrow/builder.h>

#include <charconv>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "iceberg/spec/arrow_schema.h"
#include "iceberg/spec/iso_time.h"

namespace icebound::iceberg {
namespace {

arrow::Status NotAValue(const Type& type, std::string_view json) {
  return MakeError(ErrorKind::kCorruptData, "{} is no value of type {}", json.substr(0, 60), type.ToString());
}

std::optional<int> HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return std::nullopt;
}

std::optional<std::string> BytesFromHex(std::string_view hex) {
  if (hex.size() % 2 != 0) return std::nullopt;
  std::string bytes;
  for (size_t i = 0; i < hex.size(); i += 2) {
    const auto high = HexDigit(hex[i]);
    const auto low = HexDigit(hex[i + 1]);
    if (!high || !low) return std::nullopt;
    bytes.push_back(static_cast<char>(*high * 16 + *low));
  }
  return bytes;
}

std::string HexFromBytes(std::string_view bytes) {
  std::string hex;
  for (const char c : bytes) fmt::format_to(std::back_inserter(hex), "{:02x}", static_cast<unsigned char>(c));
  return hex;
}

std::optional<std::string> BytesFromUuid(const std::string& text) {
  if (text.size() != 36 || text[8] != '-' || text[13] != '-' || text[18] != '-' || text[23] != '-') return std::nullopt;
  std::string hex;
  for (const char c : text) {
    if (c != '-') hex.push_back(c);
  }
  return hex.size() == 32 ? BytesFromHex(hex) : std::nullopt;
}

template <typename Float>
arrow::Result<Literal> FloatFromJson(const Type& type, std::string_view json) {
  Float number = 0;
  const auto [end, error] = std::from_chars(json.data(), json.data() + json.size(), number);
  if (error != std::errc{} || end != json.data() + json.size() || !std::isfinite(number)) return NotAValue(type, json);
  return Literal(number);
}

arrow::Result<Literal> DecimalFromText(const Type& type, const std::string& text) {
  arrow::Decimal128 value;
  int32_t precision = 0;
  int32_t scale = 0;
  if (!arrow::Decimal128::FromString(text, &value, &precision, &scale).ok()) return NotAValue(type, text);
  const auto rescaled = scale == type.scale() ? arrow::Result<arrow::Decimal128>(value) : value.Rescale(scale, type.scale());
  if (!rescaled.ok() || !rescaled->FitsInPrecision(type.precision())) return NotAValue(type, text);
  return Literal(*rescaled);
}

arrow::Result<Literal> IntFromJson(const Type& type, std::string_view json) {
  ARROW_ASSIGN_OR_RAISE(const int64_t number, DecodeJsonInt64(json));
  if (type.id() == TypeId::kLong) return Literal(number);
  if (number != static_cast<int32_t>(number)) return NotAValue(type, json);
  return Literal(static_cast<int32_t>(number));
}

template <typename T>
arrow::Result<Literal> AsLiteral(arrow::Result<T> value) {
  ARROW_RETURN_NOT_OK(value.status());
  return Literal(*std::move(value));
}

/// Types whose JSON is a string.
arrow::Result<Literal> LiteralFromText(const Type& type, std::string text) {
  switch (type.id()) {
    case TypeId::kDecimal:
      return DecimalFromText(type, text);
    case TypeId::kDate:
      return AsLiteral(ParseIsoDate(text));
    case TypeId::kTime:
      return AsLiteral(ParseIsoTime(text));
    case TypeId::kTimestamp:
    case TypeId::kTimestampTz:
      return AsLiteral(ParseIsoTimestamp(text, TimePrecision::kMicros, type.id() == TypeId::kTimestampTz));
    case TypeId::kTimestampNs:
    case TypeId::kTimestampTzNs:
      return AsLiteral(ParseIsoTimestamp(text, TimePrecision::kNanos, type.id() == TypeId::kTimestampTzNs));
    case TypeId::kString:
      return Literal(std::move(text));
    default: {
      auto bytes = type.id() == TypeId::kUuid ? BytesFromUuid(text) : BytesFromHex(text);
      const bool right_size = bytes && (type.id() != TypeId::kFixed || bytes->size() == static_cast<size_t>(type.length_bytes()));
      if (!right_size) return NotAValue(type, text);
      return Literal(*std::move(bytes));
    }
  }
}

template <typename Float>
arrow::Status WriteFloat(Float number, JsonWriter* writer) {
  if (!std::isfinite(number)) return MakeError(ErrorKind::kInvalidInput, "{} cannot be written as JSON", number);
  std::string text = fmt::format("{}", number);
  // Some readers take a number without a point for a whole number, and no whole number for a float.
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  writer->Raw(text);
  return arrow::Status::OK();
}

/// Calls `visit` with the members of a struct value, by field: the text of each, or nullopt.
template <typename Visit>
arrow::Status ForEachStructField(const Type& type, std::string_view json, Visit visit) {
  ARROW_ASSIGN_OR_RAISE(JsonObject object, JsonObject::Make(json));
  for (const Field& field : type.fields()) ARROW_RETURN_NOT_OK(visit(field, object.Find(std::to_string(field.id))));
  return arrow::Status::OK();
}

struct MapText {
  JsonElements keys;
  JsonElements values;
};
arrow::Result<MapText> ParseMap(const Type& type, std::string_view json) {
  ARROW_ASSIGN_OR_RAISE(JsonObject object, JsonObject::Make(json));
  ARROW_ASSIGN_OR_RAISE(const std::string_view keys_text, object.Get("keys"));
  ARROW_ASSIGN_OR_RAISE(const std::string_view values_text, object.Get("values"));
  ARROW_ASSIGN_OR_RAISE(JsonElements keys, JsonElements::Make(keys_text));
  ARROW_ASSIGN_OR_RAISE(JsonElements values, JsonElements::Make(values_text));
  if (keys.count() != values.count()) return NotAValue(type, json);
  return MapText{keys, values};
}

arrow::Result<std::shared_ptr<arrow::Array>> ArrayOf(const Type& type, JsonElements elements, DefaultKind kind,
                                                     arrow::MemoryPool* pool) {
  std::unique_ptr<arrow::ArrayBuilder> builder;
  ARROW_RETURN_NOT_OK(arrow::MakeBuilder(pool, ToArrowType(type), &builder));
  std::string_view element;
  while (elements.Next(&element)) {
    ARROW_ASSIGN_OR_RAISE(const auto scalar, ScalarFromJson(type, element, kind, pool));
    ARROW_RETURN_NOT_OK(builder->AppendScalar(*scalar));
  }
  return builder->Finish();
}

arrow::Result<std::shared_ptr<arrow::Scalar>> StructFromJson(const Type& type, std::string_view json, DefaultKind kind,
                                                             arrow::MemoryPool* pool) {
  arrow::ScalarVector values;
  ARROW_RETURN_NOT_OK(ForEachStructField(type, json, [&](const Field& field, std::optional<std::string_view> text) {
    auto value = text ? ScalarFromJson(*field.type, *text, kind, pool) : DefaultValue(field, kind, pool);
    ARROW_RETURN_NOT_OK(value.status());
    values.push_back(*std::move(value));
    return arrow::Status::OK();
  }));
  return std::make_shared<arrow::StructScalar>(std::move(values), ToArrowType(type));
}

}  // namespace

arrow::Result<Literal> LiteralFromJson(const Type& type, std::string_view json) {
  if (json == "null") return Literal();
  switch (type.id()) {
    case TypeId::kBoolean:
      return AsLiteral(DecodeJsonBool(json));
    case TypeId::kInt:
    case TypeId::kLong:
      return IntFromJson(type, json);
    case TypeId::kFloat:
      return FloatFromJson<float>(type, json);
    case TypeId::kDouble:
      return FloatFromJson<double>(type, json);
    case TypeId::kUnknown:
    case TypeId::kGeometry:
    case TypeId::kGeography:
    case TypeId::kVariant:
      return MakeError(ErrorKind::kUnsupported, "a value of type {} other than null", type.ToString());
    case TypeId::kStruct:
    case TypeId::kList:
    case TypeId::kMap:
      return MakeError(ErrorKind::kInternal, "a value of type {} is no single literal", type.ToString());
    default: {
      ARROW_ASSIGN_OR_RAISE(std::string text, DecodeJsonString(json));
      return LiteralFromText(type, std::move(text));
    }
  }
}

arrow::Status WriteLiteralJson(const Type& type, const Literal& value, JsonWriter* writer) {
  if (!Holds(type, value)) return MakeError(ErrorKind::kInternal, "a value is not held as values of {} are", type.ToString());
  if (IsNull(value)) {
    writer->Raw("null");
    return arrow::Status::OK();
  }
  switch (type.id()) {
    case TypeId::kBoolean:
    case TypeId::kInt:
    case TypeId::kLong:
      writer->Raw(LiteralText(type, value));
      return arrow::Status::OK();
    case TypeId::kFloat:
      return WriteFloat(std::get<float>(value), writer);
    case TypeId::kDouble:
      return WriteFloat(std::get<double>(value), writer);
    case TypeId::kFixed:
    case TypeId::kBinary:
      writer->String(HexFromBytes(std::get<std::string>(value)));
      return arrow::Status::OK();
    case TypeId::kGeometry:
    case TypeId::kGeography:
      return MakeError(ErrorKind::kUnsupported, "a value of type {} other than null", type.ToString());
    default:
      writer->String(LiteralText(type, value));
      return arrow::Status::OK();
  }
}

arrow::Status CheckJsonValue(const Type& type, std::string_view json) {
  if (json == "null" || !type.is_nested()) return LiteralFromJson(type, json).status();
  if (type.id() == TypeId::kStruct) {
    return ForEachStructField(type, json, [](const Field& field, std::optional<std::string_view> text) {
      return text ? CheckJsonValue(*field.type, *text) : arrow::Status::OK();
    });
  }
  const auto check_all = [](const Type& element_type, JsonElements elements) {
    std::string_view element;
    while (elements.Next(&element)) ARROW_RETURN_NOT_OK(CheckJsonValue(element_type, element));
    return arrow::Status::OK();
  };
  if (type.id() == TypeId::kList) {
    ARROW_ASSIGN_OR_RAISE(const JsonElements elements, JsonElements::Make(json));
    return check_all(*type.element().type, elements);
  }
  ARROW_ASSIGN_OR_RAISE(const MapText map, ParseMap(type, json));
  ARROW_RETURN_NOT_OK(check_all(*type.key().type, map.keys));
  return check_all(*type.value().type, map.values);
}

arrow::Result<std::shared_ptr<arrow::Scalar>> ScalarFromJson(const Type& type, std::string_view json, DefaultKind kind,
                                                             arrow::MemoryPool* pool) {
  if (json == "null") return arrow::MakeNullScalar(ToArrowType(type));
  if (!type.is_nested()) {
    ARROW_ASSIGN_OR_RAISE(const Literal value, LiteralFromJson(type, json));
    return LiteralToScalar(type, value);
  }
  if (type.id() == TypeId::kStruct) return StructFromJson(type, json, kind, pool);
  if (type.id() == TypeId::kList) {
    ARROW_ASSIGN_OR_RAISE(const JsonElements elements, JsonElements::Make(json));
    ARROW_ASSIGN_OR_RAISE(auto values, ArrayOf(*type.element().type, elements, kind, pool));
    return std::make_shared<arrow::ListScalar>(std::move(values), ToArrowType(type));
  }
  ARROW_ASSIGN_OR_RAISE(const MapText map, ParseMap(type, json));
  ARROW_ASSIGN_OR_RAISE(auto keys, ArrayOf(*type.key().type, map.keys, kind, pool));
  ARROW_ASSIGN_OR_RAISE(auto values, ArrayOf(*type.value().type, map.values, kind, pool));
  const auto arrow_type = std::static_pointer_cast<arrow::MapType>(ToArrowType(type));
  const int64_t length = keys->length();
  auto entries = std::make_shared<arrow::StructArray>(arrow_type->value_type(), length,
                                                      arrow::ArrayVector{std::move(keys), std::move(values)});
  return std::make_shared<arrow::MapScalar>(std::move(entries), arrow_type);
}

arrow::Result<std::shared_ptr<arrow::Scalar>> DefaultValue(const Field& field, DefaultKind kind, arrow::MemoryPool* pool) {
  const auto& text = kind == DefaultKind::kInitial ? field.initial_default : field.write_default;
  if (!text) return arrow::MakeNullScalar(ToArrowType(*field.type));
  auto value = ScalarFromJson(*field.type, *text, kind, pool);
  if (!value.ok()) return WithContext(value.status(), ErrorKind::kCorruptData, fmt::format("default of column '{}'", field.name));
  return value;
}

}  // namespace icebound::iceberg
