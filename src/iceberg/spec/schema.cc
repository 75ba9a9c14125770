// SPDX-License-Identifier: Apache-2.0
#include "iceberg/spec/schema.h"

#include <algorithm>

#include "base/error.h"
#include "iceberg/spec/json_value.h"

namespace icebound::iceberg {
namespace {

bool SameName(std::string_view left, std::string_view right, bool case_sensitive) {
  if (case_sensitive) return left == right;
  return std::equal(left.begin(), left.end(), right.begin(), right.end(), [](char a, char b) {
    const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
    return lower(a) == lower(b);
  });
}

const Field* FindByName(const Type& type, std::string_view name, bool case_sensitive) {
  for (const Field& field : type.fields()) {
    if (SameName(field.name, name, case_sensitive)) return &field;
  }
  for (const Field& field : type.fields()) {
    const size_t size = field.name.size();
    if (name.size() <= size + 1 || name[size] != '.' || !SameName(field.name, name.substr(0, size), case_sensitive)) continue;
    if (const Field* found = FindByName(*field.type, name.substr(size + 1), case_sensitive)) return found;
  }
  return nullptr;
}

arrow::Status Refused(const std::string& name, std::string_view why) {
  return MakeError(ErrorKind::kInvalidInput, "column '{}' {}", name, why);
}

bool DefaultsToNull(const Type& type) {
  switch (type.id()) {
    case TypeId::kUnknown:
    case TypeId::kVariant:
    case TypeId::kGeometry:
    case TypeId::kGeography:
      return true;
    default:
      return false;
  }
}

arrow::Status CheckDefault(const Field& field, const std::optional<std::string>& text, const std::string& name) {
  if (!text) return arrow::Status::OK();
  if (DefaultsToNull(*field.type)) return Refused(name, "must have no default but null: its type is " + field.type->ToString());
  if (field.type->id() == TypeId::kStruct) {
    ARROW_ASSIGN_OR_RAISE(const JsonObject value, JsonObject::Make(*text));
    if (!value.members().empty()) return Refused(name, "is a struct: its default is null or {}, its fields have their own");
    return arrow::Status::OK();
  }
  const arrow::Status read = CheckJsonValue(*field.type, *text);
  return read.ok() ? read : Refused(name, "has a default that is no value of its type: " + read.message());
}

arrow::Status CheckFieldWritable(const Field& field, const std::string& name, int format_version) {
  if (field.id > kMaxColumnId) return Refused(name, "has an id that is reserved for metadata columns");
  if (field.type->min_format_version() > format_version) {
    return Refused(name, fmt::format("is of type {}, which tables of format version {} do not have", field.type->ToString(),
                                     format_version));
  }
  if (field.type->id() == TypeId::kUnknown && field.required) return Refused(name, "is of type unknown and must be optional");
  if (format_version < 3 && field.initial_default) {
    return Refused(name, fmt::format("has an initial default, which format version {} does not know", format_version));
  }
  ARROW_RETURN_NOT_OK(CheckDefault(field, field.initial_default, name));
  return CheckDefault(field, field.write_default, name);
}

arrow::Status CheckTypeWritable(const Type& type, const std::string& prefix, int format_version) {
  std::vector<std::string_view> names;
  names.reserve(type.fields().size());
  for (const Field& field : type.fields()) {
    const std::string name = prefix + field.name;
    ARROW_RETURN_NOT_OK(CheckFieldWritable(field, name, format_version));
    ARROW_RETURN_NOT_OK(CheckTypeWritable(*field.type, name + ".", format_version));
    names.push_back(field.name);
  }
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice != names.end()) return Refused(prefix + std::string(*twice), "stands twice in one struct");
  return arrow::Status::OK();
}

}  // namespace

arrow::Result<std::shared_ptr<const Schema>> Schema::Make(int32_t schema_id, TypePtr struct_type,
                                                          std::vector<int32_t> identifier_field_ids, bool writes_identifiers) {
  auto schema = std::shared_ptr<Schema>(new Schema(schema_id, std::move(struct_type)));
  schema->identifier_field_ids_ = std::move(identifier_field_ids);
  schema->writes_identifiers_ = writes_identifiers || !schema->identifier_field_ids_.empty();
  ARROW_RETURN_NOT_OK(schema->BuildIndex());
  return schema;
}

void Schema::AddToIndex(const Type& type, int32_t parent_id) {
  for (const Field& field : type.fields()) {
    index_.push_back({field.id, parent_id, &field});
    AddToIndex(*field.type, field.id);
  }
}

arrow::Status Schema::BuildIndex() {
  AddToIndex(*type_, -1);
  index_.shrink_to_fit();
  const auto by_id = [](const Entry& left, const Entry& right) { return left.id < right.id; };
  std::sort(index_.begin(), index_.end(), by_id);
  // Below zero is no field; the index itself says "none" so.
  if (!index_.empty() && index_.front().id < 0) {
    return MakeError(ErrorKind::kCorruptData, "schema {}: field id {} of '{}' is negative", schema_id_, index_.front().id,
                     index_.front().field->name);
  }
  const auto twice =
      std::adjacent_find(index_.begin(), index_.end(), [](const Entry& left, const Entry& right) { return left.id == right.id; });
  if (twice != index_.end()) {
    return MakeError(ErrorKind::kCorruptData, "schema {}: field id {} is given twice, to '{}' and '{}'", schema_id_, twice->id,
                     twice->field->name, std::next(twice)->field->name);
  }
  return arrow::Status::OK();
}

const Schema::Entry* Schema::Find(int32_t id) const {
  const auto found =
      std::lower_bound(index_.begin(), index_.end(), id, [](const Entry& entry, int32_t wanted) { return entry.id < wanted; });
  return found != index_.end() && found->id == id ? &*found : nullptr;
}

const Field* Schema::FindField(int32_t id) const {
  const Entry* entry = Find(id);
  return entry == nullptr ? nullptr : entry->field;
}

const Field* Schema::FindField(std::string_view full_name, bool case_sensitive) const {
  return FindByName(*type_, full_name, case_sensitive);
}

std::string Schema::FullName(int32_t id) const {
  std::string name;
  for (const Entry* entry = Find(id); entry != nullptr; entry = Find(entry->parent_id)) {
    name = name.empty() ? entry->field->name : entry->field->name + "." + name;
  }
  return name;
}

const Field* Schema::Parent(int32_t id) const {
  const Entry* entry = Find(id);
  return entry == nullptr ? nullptr : FindField(entry->parent_id);
}

arrow::Status Schema::CheckIdentifier(int32_t id) const {
  const Field* field = FindField(id);
  if (field == nullptr) return MakeError(ErrorKind::kInvalidInput, "identifier field id {} is no column", id);
  const std::string name = FullName(id);
  if (!field->type->is_primitive()) return Refused(name, "cannot identify rows: its type is " + field->type->ToString());
  if (!field->required) return Refused(name, "cannot identify rows: it is optional");
  if (field->type->id() == TypeId::kFloat || field->type->id() == TypeId::kDouble) {
    return Refused(name, "cannot identify rows: it is a floating-point number");
  }
  for (const Field* around = Parent(id); around != nullptr; around = Parent(around->id)) {
    if (around->type->id() != TypeId::kStruct) return Refused(name, "cannot identify rows: it is inside a list or a map");
    if (!around->required) return Refused(name, "cannot identify rows: '" + around->name + "' around it is optional");
  }
  return arrow::Status::OK();
}

arrow::Status Schema::CheckWritable(int format_version) const {
  ARROW_RETURN_NOT_OK(CheckTypeWritable(*type_, "", format_version));
  for (const int32_t id : identifier_field_ids_) ARROW_RETURN_NOT_OK(CheckIdentifier(id));
  return arrow::Status::OK();
}

bool Schema::SameFields(const Schema& other) const {
  return *type_ == *other.type_ && identifier_field_ids_ == other.identifier_field_ids_;
}

}  // namespace icebound::iceberg
