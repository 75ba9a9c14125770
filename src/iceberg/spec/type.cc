// SPDX-License-Identifier: Apache-2.0
#include "iceberg/spec/type.h"

#include <array>
#include <charconv>

#include "base/error.h"

namespace icebound::iceberg {
namespace {

struct WordRow {
  TypeId id;
  std::string_view word;
};
/// Types that are one word.
constexpr std::array kWords = {
    WordRow{TypeId::kUnknown, "unknown"},
    WordRow{TypeId::kBoolean, "boolean"},
    WordRow{TypeId::kInt, "int"},
    WordRow{TypeId::kLong, "long"},
    WordRow{TypeId::kFloat, "float"},
    WordRow{TypeId::kDouble, "double"},
    WordRow{TypeId::kDate, "date"},
    WordRow{TypeId::kTime, "time"},
    WordRow{TypeId::kTimestamp, "timestamp"},
    WordRow{TypeId::kTimestampTz, "timestamptz"},
    WordRow{TypeId::kTimestampNs, "timestamp_ns"},
    WordRow{TypeId::kTimestampTzNs, "timestamptz_ns"},
    WordRow{TypeId::kString, "string"},
    WordRow{TypeId::kUuid, "uuid"},
    WordRow{TypeId::kBinary, "binary"},
    WordRow{TypeId::kVariant, "variant"},
    WordRow{TypeId::kGeometry, "geometry"},
    WordRow{TypeId::kGeography, "geography"},
};

std::string_view WordOf(TypeId id) {
  for (const WordRow& row : kWords) {
    if (row.id == id) return row.word;
  }
  return "";
}

std::string_view Trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

/// The part of `word` between `open` and `close`, when it is `name`, blanks, brackets.
std::optional<std::string_view> Parameters(std::string_view word, std::string_view name, char open, char close) {
  if (!word.starts_with(name)) return std::nullopt;
  const std::string_view rest = Trim(word.substr(name.size()));
  if (rest.size() < 2 || rest.front() != open || rest.back() != close) return std::nullopt;
  return Trim(rest.substr(1, rest.size() - 2));
}

std::optional<int32_t> Number(std::string_view text) {
  text = Trim(text);
  int32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

arrow::Status UnknownWord(std::string_view word) {
  return MakeError(ErrorKind::kUnsupported, "type '{}' is none of Iceberg's format versions 1 to 3", word);
}

std::string FieldText(const Field& field) {
  return fmt::format("{}: {}: {} {}", field.id, field.name, field.required ? "required" : "optional", field.type->ToString());
}

}  // namespace

bool Field::operator==(const Field& other) const {
  return id == other.id && name == other.name && required == other.required && *type == *other.type && doc == other.doc &&
         initial_default == other.initial_default && write_default == other.write_default;
}

const TypePtr& Type::Of(TypeId id) {
  static const std::vector<TypePtr> types = [] {
    std::vector<TypePtr> made;
    for (int i = 0; i <= static_cast<int>(TypeId::kMap); ++i) made.emplace_back(new Type(static_cast<TypeId>(i)));
    return made;
  }();
  return types[static_cast<size_t>(id)];
}

arrow::Result<TypePtr> Type::Decimal(int32_t precision, int32_t scale) {
  if (precision < 1 || precision > 38) {
    return MakeError(ErrorKind::kCorruptData, "decimal({},{}): the precision must be 1 to 38", precision, scale);
  }
  return TypePtr(new Type(TypeId::kDecimal, precision, scale));
}

arrow::Result<TypePtr> Type::Fixed(int32_t length_bytes) {
  if (length_bytes < 0) return MakeError(ErrorKind::kCorruptData, "fixed[{}]: the length must not be negative", length_bytes);
  return TypePtr(new Type(TypeId::kFixed, length_bytes));
}

TypePtr Type::Geometry(std::string crs) {
  auto type = std::shared_ptr<Type>(new Type(TypeId::kGeometry));
  type->crs_ = std::move(crs);
  return type;
}

TypePtr Type::Geography(std::string crs, std::string algorithm) {
  auto type = std::shared_ptr<Type>(new Type(TypeId::kGeography));
  type->crs_ = std::move(crs);
  type->algorithm_ = std::move(algorithm);
  return type;
}

TypePtr Type::Struct(std::vector<Field> fields, std::string unknown_members) {
  auto type = std::shared_ptr<Type>(new Type(TypeId::kStruct));
  type->fields_ = std::move(fields);
  type->unknown_members_ = std::move(unknown_members);
  return type;
}

TypePtr Type::List(Field element, std::string unknown_members) {
  auto type = std::shared_ptr<Type>(new Type(TypeId::kList));
  element.name = "element";
  type->fields_.push_back(std::move(element));
  type->unknown_members_ = std::move(unknown_members);
  return type;
}

TypePtr Type::Map(Field key, Field value, std::string unknown_members) {
  auto type = std::shared_ptr<Type>(new Type(TypeId::kMap));
  key.name = "key";
  key.required = true;
  value.name = "value";
  type->fields_.reserve(2);
  type->fields_.push_back(std::move(key));
  type->fields_.push_back(std::move(value));
  type->unknown_members_ = std::move(unknown_members);
  return type;
}

arrow::Result<TypePtr> Type::Parse(std::string_view word) {
  // Words in capitals are read, as the reference implementation does.
  std::string lower(word);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  for (const WordRow& row : kWords) {
    if (row.word == lower) return Of(row.id);
  }
  if (const auto inside = Parameters(word, "decimal", '(', ')')) {
    const size_t comma = inside->find(',');
    if (comma == std::string_view::npos) return UnknownWord(word);
    const auto precision = Number(inside->substr(0, comma));
    const auto scale = Number(inside->substr(comma + 1));
    if (!precision || !scale) return UnknownWord(word);
    return Decimal(*precision, *scale);
  }
  if (const auto inside = Parameters(word, "fixed", '[', ']')) {
    const auto length_bytes = Number(*inside);
    if (!length_bytes) return UnknownWord(word);
    return Fixed(*length_bytes);
  }
  if (const auto inside = Parameters(word, "geometry", '(', ')')) return Geometry(std::string(*inside));
  if (const auto inside = Parameters(word, "geography", '(', ')')) {
    const size_t comma = inside->rfind(',');
    if (comma == std::string_view::npos) return Geography(std::string(*inside), "");
    return Geography(std::string(Trim(inside->substr(0, comma))), std::string(Trim(inside->substr(comma + 1))));
  }
  return UnknownWord(word);
}

std::string Type::ToString() const {
  switch (id_) {
    case TypeId::kDecimal:
      return fmt::format("decimal({}, {})", first_, second_);
    case TypeId::kFixed:
      return fmt::format("fixed[{}]", first_);
    case TypeId::kGeometry:
      return crs_.empty() ? "geometry" : fmt::format("geometry({})", crs_);
    case TypeId::kGeography:
      if (crs_.empty()) return "geography";
      return algorithm_.empty() ? fmt::format("geography({})", crs_) : fmt::format("geography({}, {})", crs_, algorithm_);
    case TypeId::kStruct: {
      std::string text = "struct<";
      for (const Field& field : fields_) text += (text.back() == '<' ? "" : ", ") + FieldText(field);
      return text + ">";
    }
    case TypeId::kList:
      return fmt::format("list<{}>", element().type->ToString());
    case TypeId::kMap:
      return fmt::format("map<{}, {}>", key().type->ToString(), value().type->ToString());
    default:
      return std::string(WordOf(id_));
  }
}

int Type::min_format_version() const {
  switch (id_) {
    case TypeId::kUnknown:
    case TypeId::kTimestampNs:
    case TypeId::kTimestampTzNs:
    case TypeId::kGeometry:
    case TypeId::kGeography:
    case TypeId::kVariant:
      return 3;
    default:
      return 1;
  }
}

bool Type::operator==(const Type& other) const {
  return this == &other || (id_ == other.id_ && first_ == other.first_ && second_ == other.second_ && crs_ == other.crs_ &&
                            algorithm_ == other.algorithm_ && fields_ == other.fields_);
}

bool CanPromote(const Type& from, const Type& to, int format_version) {
  switch (from.id()) {
    case TypeId::kUnknown:
      return format_version >= 3;
    case TypeId::kInt:
      return to.id() == TypeId::kLong;
    case TypeId::kFloat:
      return to.id() == TypeId::kDouble;
    case TypeId::kDate:
      return format_version >= 3 && (to.id() == TypeId::kTimestamp || to.id() == TypeId::kTimestampNs);
    case TypeId::kDecimal:
      return to.id() == TypeId::kDecimal && to.scale() == from.scale() && to.precision() > from.precision();
    default:
      return false;
  }
}

}  // namespace icebound::iceberg
