// SPDX-License-Identifier: Apache-2.0
//
// A table schema: a struct with an id, an index of all fields in it by field id, and the fields that identify a row.
//
// Reading is permissive and writing strict: what Parse accepts can be read by field id without ambiguity (ids are unique), while
// CheckWritable holds a new schema to everything the specification asks of the format version it is meant for.
#pragma once

#include <arrow/result.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "iceberg/spec/json_text.h"
#include "iceberg/spec/type.h"

namespace icebound::iceberg {

/// Immutable, thread safe.
class Schema {
 public:
  static arrow::Result<std::shared_ptr<const Schema>> Make(int32_t schema_id, TypePtr struct_type,
                                                           std::vector<int32_t> identifier_field_ids = {},
                                                           bool writes_identifiers = false);

  /// From the JSON object of a schema (CheckJson has seen it). A schema without an id gets 0, as v1 tables mean it.
  static arrow::Result<std::shared_ptr<const Schema>> Parse(std::string_view json);
  void Write(JsonWriter* writer) const;

  int32_t schema_id() const { return schema_id_; }
  const TypePtr& type() const { return type_; }
  const std::vector<Field>& fields() const { return type_->fields(); }
  const std::vector<int32_t>& identifier_field_ids() const { return identifier_field_ids_; }
  int32_t highest_field_id() const { return index_.empty() ? 0 : index_.back().id; }

  /// At any depth; null when there is none. Valid as long as the schema.
  const Field* FindField(int32_t id) const;

  /// A field by its full name: parts joined by dots, "element", "key" and "value" for what lists and maps hold. A name that has
  /// dots itself is found too.
  const Field* FindField(std::string_view full_name, bool case_sensitive = true) const;

  /// "address.street" for the field with this id; empty when there is none.
  std::string FullName(int32_t id) const;

  /// The field that holds the field with this id; null at the top.
  const Field* Parent(int32_t id) const;

  /// ErrorKind::kInvalidInput, with the column's name, when a table of this version must not get this schema.
  arrow::Status CheckWritable(int format_version) const;

  /// The same fields, whatever the schema ids are.
  bool SameFields(const Schema& other) const;

 private:
  struct Entry {
    int32_t id;
    int32_t parent_id;  ///< -1 at the top
    const Field* field;
  };

  Schema(int32_t schema_id, TypePtr type) : schema_id_(schema_id), type_(std::move(type)) {}
  arrow::Status BuildIndex();
  void AddToIndex(const Type& type, int32_t parent_id);
  const Entry* Find(int32_t id) const;
  arrow::Status CheckIdentifier(int32_t id) const;

  const int32_t schema_id_;
  const TypePtr type_;
  std::vector<int32_t> identifier_field_ids_;
  bool writes_identifiers_ = false;  ///< the member stands in the text even when the list is empty
  std::vector<Entry> index_;         ///< by id
};

/// Types in JSON, also outside of schemas. `depth` counts nesting, which is bounded.
arrow::Result<TypePtr> ParseTypeJson(std::string_view json, int depth = 0);
void WriteTypeJson(const Type& type, JsonWriter* writer);

}  // namespace icebound::iceberg
