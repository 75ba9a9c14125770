// SPDX-License-Identifier: Apache-2.0
#include "iceberg/spec/partition_spec.h"

#include <algorithm>

#include "base/error.h"
#include "iceberg/spec/source_ids.h"

namespace icebound::iceberg {
namespace {

arrow::Result<PartitionField> ParseField(std::string_view json, int32_t next_field_id) {
  ARROW_ASSIGN_OR_RAISE(JsonObject object, JsonObject::Make(json));
  PartitionField field;
  ARROW_ASSIGN_OR_RAISE(field.name, object.GetString("name"));
  ARROW_ASSIGN_OR_RAISE(const std::string word, object.GetString("transform"));
  ARROW_ASSIGN_OR_RAISE(field.transform, Transform::Parse(word));
  ARROW_ASSIGN_OR_RAISE(field.source_ids, ParseSourceIds(&object));
  ARROW_ASSIGN_OR_RAISE(const auto field_id, object.FindInt32("field-id"));
  field.field_id = field_id.value_or(next_field_id);
  field.unknown_members = object.UnknownMembers();
  return field;
}

arrow::Result<std::vector<PartitionField>> ParseFieldList(std::string_view json) {
  ARROW_ASSIGN_OR_RAISE(JsonElements elements, JsonElements::Make(json));
  std::vector<PartitionField> fields;
  std::string_view element;
  while (elements.Next(&element)) {
    ARROW_ASSIGN_OR_RAISE(PartitionField field,
                          ParseField(element, kFirstPartitionFieldId + static_cast<int32_t>(fields.size())));
    fields.push_back(std::move(field));
  }
  return fields;
}

/// As java.net.URLEncoder does in UTF-8.
void AppendUrlEncoded(std::string_view text, std::string* out) {
  for (const char c : text) {
    const bool kept = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' ||
                      c == '*' || c == '_';
    if (kept) {
      out->push_back(c);
    } else if (c == ' ') {
      out->push_back('+');
    } else {
      fmt::format_to(std::back_inserter(*out), "%{:02X}", static_cast<unsigned char>(c));
    }
  }
}

arrow::Status Refused(const PartitionField& field, const std::string& why) {
  return MakeError(ErrorKind::kInvalidInput, "partition field '{}' {}", field.name, why);
}

/// Whether a column gives the same partition values when it becomes `to`. A date is held as days and hashed as days, a timestamp
/// is not; of a transform that is not known nothing can be said.
bool KeepsValues(const Transform& transform, const Type& from, const Type& to) {
  switch (transform.kind()) {
    case TransformKind::kVoid:
    case TransformKind::kYear:
    case TransformKind::kMonth:
    case TransformKind::kDay:
      return true;
    case TransformKind::kUnknown:
      return false;
    default:
      return from.id() != TypeId::kDate || to.id() == TypeId::kDate;
  }
}

arrow::Status CheckSource(const Schema& schema, const PartitionField& field) {
  if (field.transform.kind() == TransformKind::kVoid) return arrow::Status::OK();
  if (!field.transform.is_known()) return Refused(field, "has a transform nobody here can write: " + field.transform.ToString());
  const Field* source = schema.FindField(field.source_id());
  if (source == nullptr) return Refused(field, fmt::format("is of column id {}, which does not exist", field.source_id()));
  for (const Field* around = schema.Parent(source->id); around != nullptr; around = schema.Parent(around->id)) {
    if (around->type->id() != TypeId::kStruct) return Refused(field, "is of a column inside a list or a map");
  }
  const arrow::Status taken = field.transform.CheckSource(*source->type);
  return taken.ok() ? taken : Refused(field, "is wrong: " + taken.message());
}

}  // namespace

arrow::Result<PartitionSpec> PartitionSpec::Parse(std::string_view json) {
  ARROW_ASSIGN_OR_RAISE(JsonObject object, JsonObject::Make(json));
  PartitionSpec spec;
  ARROW_ASSIGN_OR_RAISE(spec.spec_id, object.GetInt32("spec-id"));
  ARROW_ASSIGN_OR_RAISE(const std::string_view fields, object.Get("fields"));
  auto parsed = ParseFieldList(fields);
  if (!parsed.ok()) {
    return WithContext(parsed.status(), ErrorKind::kCorruptData, fmt::format("partition spec {}", spec.spec_id));
  }
  spec.fields = *std::move(parsed);
  spec.unknown_members = object.UnknownMembers();
  return spec;
}

arrow::Result<PartitionSpec> PartitionSpec::ParseFields(std::string_view json, int32_t spec_id) {
  PartitionSpec spec;
  spec.spec_id = spec_id;
  ARROW_ASSIGN_OR_RAISE(spec.fields, ParseFieldList(json));
  return spec;
}

void PartitionSpec::WriteFields(JsonWriter* writer) const {
  writer->BeginArray();
  for (const PartitionField& field : fields) {
    writer->BeginObject();
    WriteSourceIds(field.source_ids, writer);
    writer->IntMember("field-id", field.field_id);
    writer->StringMember("name", field.name);
    writer->StringMember("transform", field.transform.ToString());
    writer->Members(field.unknown_members);
    writer->EndObject();
  }
  writer->EndArray();
}

void PartitionSpec::Write(JsonWriter* writer) const {
  writer->BeginObject();
  writer->IntMember("spec-id", spec_id);
  writer->Key("fields");
  WriteFields(writer);
  writer->Members(unknown_members);
  writer->EndObject();
}

bool PartitionSpec::is_unpartitioned() const {
  return std::all_of(fields.begin(), fields.end(),
                     [](const PartitionField& field) { return field.transform.kind() == TransformKind::kVoid; });
}

bool PartitionSpec::is_writable() const {
  return std::all_of(fields.begin(), fields.end(), [](const PartitionField& field) { return field.transform.is_known(); });
}

int32_t PartitionSpec::highest_field_id() const {
  int32_t highest = kFirstPartitionFieldId - 1;
  for (const PartitionField& field : fields) highest = std::max(highest, field.field_id);
  return highest;
}

TypePtr PartitionSpec::TupleType(const std::function<TypePtr(int32_t)>& source_type) const {
  std::vector<Field> tuple;
  tuple.reserve(fields.size());
  for (const PartitionField& field : fields) {
    TypePtr source = source_type(field.source_id());
    if (source == nullptr) source = Type::Of(TypeId::kUnknown);
    tuple.push_back({.id = field.field_id, .name = field.name, .required = false, .type = field.transform.ResultType(source)});
  }
  return Type::Struct(std::move(tuple));
}

TypePtr PartitionSpec::TupleType(const Schema& schema) const {
  return TupleType([&](int32_t source_id) -> TypePtr {
    const Field* source = schema.FindField(source_id);
    return source == nullptr ? nullptr : source->type;
  });
}

arrow::Status PartitionSpec::CheckWritable(const Schema& schema) const {
  for (size_t i = 0; i < fields.size(); ++i) {
    const PartitionField& field = fields[i];
    ARROW_RETURN_NOT_OK(CheckSource(schema, field));
    for (size_t j = 0; j < i; ++j) {
      if (fields[j].name == field.name) return Refused(field, "stands twice in one spec");
    }
    const Field* column = schema.FindField(field.name);
    const bool is_own_column =
        field.transform.kind() == TransformKind::kIdentity || field.transform.kind() == TransformKind::kVoid;
    if (column != nullptr && !(is_own_column && column->id == field.source_id())) {
      return Refused(field, "has the name of a column that it is not the identity of: choose another");
    }
  }
  return arrow::Status::OK();
}

bool PartitionSpec::IsEquivalent(const PartitionSpec& other) const {
  return std::equal(fields.begin(), fields.end(), other.fields.begin(), other.fields.end(),
                    [](const PartitionField& left, const PartitionField& right) {
                      return left.source_ids == right.source_ids && left.transform == right.transform && left.name == right.name;
                    });
}

arrow::Status PartitionSpec::CheckPromotion(int32_t source_id, const Type& from, const Type& to) const {
  for (const PartitionField& field : fields) {
    const bool is_source = std::count(field.source_ids.begin(), field.source_ids.end(), source_id) > 0;
    if (is_source && !KeepsValues(field.transform, from, to)) {
      return Refused(
          field, fmt::format("would change its values when its column becomes {} instead of {}", to.ToString(), from.ToString()));
    }
  }
  return arrow::Status::OK();
}

std::string PartitionSpec::Path(const Type& tuple_type, std::span<const Literal> tuple) const {
  std::string path;
  for (size_t i = 0; i < fields.size(); ++i) {
    if (i > 0) path.push_back('/');
    AppendUrlEncoded(fields[i].name, &path);
    path.push_back('=');
    AppendUrlEncoded(fields[i].transform.ValueText(*tuple_type.fields()[i].type, tuple[i]), &path);
  }
  return path;
}

}  // namespace icebound::iceberg
