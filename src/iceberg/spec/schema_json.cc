// SPDX-License-Identifier: Apache-2.0
#include "base/error.h"
#include "iceberg/spec/schema.h"

namespace icebound::iceberg {
namespace {

/// No table nests deeper; a text that does would exhaust the stack.
constexpr int kDepthMax = 200;

arrow::Result<Field> ParseField(std::string_view json, int depth) {
  ARROW_ASSIGN_OR_RAISE(JsonObject object, JsonObject::Make(json));
  Field field;
  ARROW_ASSIGN_OR_RAISE(field.name, object.GetString("name"));
  const auto in_field = [&](const arrow::Status& status) {
    return WithContext(status, ErrorKind::kCorruptData, fmt::format("column '{}'", field.name));
  };
  const auto id = object.GetInt32("id");
  if (!id.ok()) return in_field(id.status());
  field.id = *id;
  const auto required = object.GetBool("required");
  if (!required.ok()) return in_field(required.status());
  field.required = *required;
  const auto type_json = object.Get("type");
  if (!type_json.ok()) return in_field(type_json.status());
  auto type = ParseTypeJson(*type_json, depth + 1);
  if (!type.ok()) return in_field(type.status());
  field.type = *std::move(type);
  auto doc = object.FindString("doc");
  if (!doc.ok()) return in_field(doc.status());
  field.doc = *std::move(doc);
  if (const auto value = object.Find("initial-default")) field.initial_default = CompactJson(*value);
  if (const auto value = object.Find("write-default")) field.write_default = CompactJson(*value);
  field.unknown_members = object.UnknownMembers();
  return field;
}

arrow::Result<std::vector<Field>> ParseFields(JsonObject* object, int depth) {
  ARROW_ASSIGN_OR_RAISE(const std::string_view json, object->Get("fields"));
  ARROW_ASSIGN_OR_RAISE(JsonElements elements, JsonElements::Make(json));
  std::vector<Field> fields;
  fields.reserve(static_cast<size_t>(elements.count()));
  std::string_view element;
  while (elements.Next(&element)) {
    ARROW_ASSIGN_OR_RAISE(Field field, ParseField(element, depth));
    fields.push_back(std::move(field));
  }
  return fields;
}

/// The element of a list, or key or value of a map: members "element-id", "element-required" and "element".
arrow::Result<Field> ParseInner(JsonObject* object, const std::string& name, bool has_required, int depth) {
  Field field;
  field.name = name;
  ARROW_ASSIGN_OR_RAISE(field.id, object->GetInt32(name + "-id"));
  field.required = true;
  if (has_required) {
    ARROW_ASSIGN_OR_RAISE(field.required, object->GetBool(name + "-required"));
  }
  ARROW_ASSIGN_OR_RAISE(const std::string_view json, object->Get(name));
  ARROW_ASSIGN_OR_RAISE(field.type, ParseTypeJson(json, depth + 1));
  return field;
}

void WriteField(const Field& field, JsonWriter* writer) {
  writer->BeginObject();
  writer->IntMember("id", field.id);
  writer->StringMember("name", field.name);
  writer->BoolMember("required", field.required);
  writer->Key("type");
  WriteTypeJson(*field.type, writer);
  if (field.doc) writer->StringMember("doc", *field.doc);
  if (field.initial_default) writer->RawMember("initial-default", *field.initial_default);
  if (field.write_default) writer->RawMember("write-default", *field.write_default);
  writer->Members(field.unknown_members);
  writer->EndObject();
}

void WriteInner(const Field& field, bool has_required, JsonWriter* writer) {
  writer->IntMember(field.name + "-id", field.id);
  writer->Key(field.name);
  WriteTypeJson(*field.type, writer);
  if (has_required) writer->BoolMember(field.name + "-required", field.required);
}

void WriteStructMembers(const Type& type, JsonWriter* writer) {
  writer->Key("fields");
  writer->BeginArray();
  for (const Field& field : type.fields()) WriteField(field, writer);
  writer->EndArray();
  writer->Members(type.unknown_members());
}

}  // namespace

arrow::Result<TypePtr> ParseTypeJson(std::string_view json, int depth) {
  if (depth > kDepthMax) return MakeError(ErrorKind::kCorruptData, "types are nested deeper than {}", kDepthMax);
  if (!json.empty() && json.front() == '"') {
    ARROW_ASSIGN_OR_RAISE(const std::string word, DecodeJsonString(json));
    return Type::Parse(word);
  }
  ARROW_ASSIGN_OR_RAISE(JsonObject object, JsonObject::Make(json));
  ARROW_ASSIGN_OR_RAISE(const std::string kind, object.GetString("type"));
  if (kind == "struct") {
    ARROW_ASSIGN_OR_RAISE(std::vector<Field> fields, ParseFields(&object, depth));
    return Type::Struct(std::move(fields), object.UnknownMembers());
  }
  if (kind == "list") {
    ARROW_ASSIGN_OR_RAISE(Field element, ParseInner(&object, "element", true, depth));
    return Type::List(std::move(element), object.UnknownMembers());
  }
  if (kind == "map") {
    ARROW_ASSIGN_OR_RAISE(Field key, ParseInner(&object, "key", false, depth));
    ARROW_ASSIGN_OR_RAISE(Field value, ParseInner(&object, "value", true, depth));
    return Type::Map(std::move(key), std::move(value), object.UnknownMembers());
  }
  return MakeError(ErrorKind::kUnsupported, "type '{}' is none of Iceberg's format versions 1 to 3", kind);
}

void WriteTypeJson(const Type& type, JsonWriter* writer) {
  if (!type.is_nested()) return writer->String(type.ToString());
  writer->BeginObject();
  if (type.id() == TypeId::kStruct) {
    writer->StringMember("type", "struct");
    WriteStructMembers(type, writer);
  } else if (type.id() == TypeId::kList) {
    writer->StringMember("type", "list");
    WriteInner(type.element(), true, writer);
    writer->Members(type.unknown_members());
  } else {
    writer->StringMember("type", "map");
    WriteInner(type.key(), false, writer);
    WriteInner(type.value(), true, writer);
    writer->Members(type.unknown_members());
  }
  writer->EndObject();
}

arrow::Result<std::shared_ptr<const Schema>> Schema::Parse(std::string_view json) {
  ARROW_ASSIGN_OR_RAISE(JsonObject object, JsonObject::Make(json));
  ARROW_ASSIGN_OR_RAISE(const auto schema_id, object.FindInt32("schema-id"));
  std::vector<int32_t> identifiers;
  const bool writes_identifiers = object.Find("identifier-field-ids").has_value();
  if (writes_identifiers) {
    ARROW_ASSIGN_OR_RAISE(identifiers, object.GetInt32List("identifier-field-ids"));
  }
  ARROW_ASSIGN_OR_RAISE(const std::string kind, object.GetString("type"));
  if (kind != "struct") return MakeError(ErrorKind::kCorruptData, "a schema must be of type struct, not '{}'", kind);
  auto fields = ParseFields(&object, 0);
  if (!fields.ok()) {
    return WithContext(fields.status(), ErrorKind::kCorruptData, fmt::format("schema {}", schema_id.value_or(0)));
  }
  return Make(schema_id.value_or(0), Type::Struct(*std::move(fields), object.UnknownMembers()), std::move(identifiers),
              writes_identifiers);
}

void Schema::Write(JsonWriter* writer) const {
  writer->BeginObject();
  writer->StringMember("type", "struct");
  writer->IntMember("schema-id", schema_id_);
  if (writes_identifiers_) writer->IntListMember("identifier-field-ids", identifier_field_ids_);
  WriteStructMembers(*type_, writer);
  writer->EndObject();
}

}  // namespace icebound::iceberg
