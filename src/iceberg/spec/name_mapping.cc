// SPDX-License-Identifier: Apache-2.0
#include "iceberg/spec/name_mapping.h"

#include <algorithm>

#include "base/error.h"

namespace icebound::iceberg {
namespace {

constexpr int kDepthMax = 200;

arrow::Result<std::vector<MappedField>> ParseFields(std::string_view json, int depth);

arrow::Result<MappedField> ParseField(std::string_view json, int depth) {
  ARROW_ASSIGN_OR_RAISE(JsonObject object, JsonObject::Make(json));
  MappedField field;
  ARROW_ASSIGN_OR_RAISE(const std::string_view names, object.Get("names"));
  ARROW_ASSIGN_OR_RAISE(JsonElements elements, JsonElements::Make(names));
  std::string_view element;
  while (elements.Next(&element)) {
    ARROW_ASSIGN_OR_RAISE(std::string name, DecodeJsonString(element));
    field.names.push_back(std::move(name));
  }
  ARROW_ASSIGN_OR_RAISE(field.field_id, object.FindInt32("field-id"));
  if (const auto inner = object.Find("fields")) {
    ARROW_ASSIGN_OR_RAISE(field.fields, ParseFields(*inner, depth + 1));
  }
  field.unknown_members = object.UnknownMembers();
  return field;
}

arrow::Result<std::vector<MappedField>> ParseFields(std::string_view json, int depth) {
  if (depth > kDepthMax) return MakeError(ErrorKind::kCorruptData, "a name mapping is nested deeper than {}", kDepthMax);
  ARROW_ASSIGN_OR_RAISE(JsonElements elements, JsonElements::Make(json));
  std::vector<MappedField> fields;
  std::string_view element;
  while (elements.Next(&element)) {
    ARROW_ASSIGN_OR_RAISE(MappedField field, ParseField(element, depth));
    for (const std::string& name : field.names) {
      if (FindMapped(fields, name) == nullptr) continue;
      return MakeError(ErrorKind::kCorruptData, "the name mapping has '{}' twice side by side", name);
    }
    fields.push_back(std::move(field));
  }
  return fields;
}

void WriteFields(const std::vector<MappedField>& fields, JsonWriter* writer) {
  writer->BeginArray();
  for (const MappedField& field : fields) {
    writer->BeginObject();
    if (field.field_id) writer->IntMember("field-id", *field.field_id);
    writer->Key("names");
    writer->BeginArray();
    for (const std::string& name : field.names) writer->String(name);
    writer->EndArray();
    if (!field.fields.empty()) {
      writer->Key("fields");
      WriteFields(field.fields, writer);
    }
    writer->Members(field.unknown_members);
    writer->EndObject();
  }
  writer->EndArray();
}

std::vector<MappedField> MapFields(const Type& type) {
  std::vector<MappedField> mapped;
  for (const Field& field : type.fields()) {
    mapped.push_back({.names = {field.name}, .field_id = field.id, .fields = MapFields(*field.type)});
  }
  return mapped;
}

}  // namespace

const MappedField* FindMapped(const std::vector<MappedField>& fields, std::string_view name) {
  for (const MappedField& field : fields) {
    if (std::find(field.names.begin(), field.names.end(), name) != field.names.end()) return &field;
  }
  return nullptr;
}

arrow::Result<NameMapping> NameMapping::Parse(std::string_view json) {
  const auto parse = [&]() -> arrow::Result<NameMapping> {
    ARROW_RETURN_NOT_OK(CheckJson(json));
    NameMapping mapping;
    ARROW_ASSIGN_OR_RAISE(mapping.fields, ParseFields(json, 0));
    return mapping;
  };
  auto mapping = parse();
  if (!mapping.ok()) return WithContext(mapping.status(), ErrorKind::kCorruptData, kNameMappingProperty);
  return mapping;
}

std::string NameMapping::ToJson() const {
  std::string json;
  JsonWriter writer(&json);
  WriteFields(fields, &writer);
  return json;
}

NameMapping NameMapping::Of(const Schema& schema) { return {MapFields(*schema.type())}; }

}  // namespace icebound::iceberg
