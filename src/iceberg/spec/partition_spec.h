// SPDX-License-Identifier: Apache-2.0
//
// Partition specs: how a row becomes the tuple of values that its file is kept under, and where such a file lies.
#pragma once

#include <arrow/result.h>

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "iceberg/spec/json_text.h"
#include "iceberg/spec/literal.h"
#include "iceberg/spec/schema.h"
#include "iceberg/spec/transform.h"

namespace icebound::iceberg {

/// The id of the first partition field of a table; v1 files do not say ids, and count from here in every spec.
constexpr int32_t kFirstPartitionFieldId = 1000;

struct PartitionField {
  std::vector<int32_t> source_ids;  ///< one, but for transforms of several arguments
  int32_t field_id = 0;
  std::string name;
  Transform transform;
  std::string unknown_members;

  int32_t source_id() const { return source_ids.empty() ? 0 : source_ids[0]; }
};

/// A value.
struct PartitionSpec {
  int32_t spec_id = 0;
  std::vector<PartitionField> fields;
  std::string unknown_members;

  /// A full spec, an object.
  static arrow::Result<PartitionSpec> Parse(std::string_view json);
  /// Only its fields, as v1 metadata and manifests hold them.
  static arrow::Result<PartitionSpec> ParseFields(std::string_view json, int32_t spec_id);
  void Write(JsonWriter* writer) const;
  void WriteFields(JsonWriter* writer) const;

  /// No field, or none but void ones: what was dropped from a v1 table leaves those behind.
  bool is_unpartitioned() const;
  /// False when a transform is not known: such a spec must not be written with.
  bool is_writable() const;

  int32_t highest_field_id() const;

  /// The struct of its tuples, by partition field id; every field is optional. `source_type` gives the type of a column (of any
  /// schema the table had), or null when none is known: then the field is of type unknown, or what its transform says.
  TypePtr TupleType(const std::function<TypePtr(int32_t source_id)>& source_type) const;
  TypePtr TupleType(const Schema& schema) const;

  /// ErrorKind::kInvalidInput when `schema` cannot be partitioned so: a source that is missing, nested in a list or map, or of a
  /// type its transform does not take; two fields of one name; a name that is a column of another meaning.
  arrow::Status CheckWritable(const Schema& schema) const;

  /// The same sources, transforms and names in the same order, whatever the ids are.
  bool IsEquivalent(const PartitionSpec& other) const;

  /// ErrorKind::kInvalidInput when promoting column `source_id` to `to` would change the value of a field.
  arrow::Status CheckPromotion(int32_t source_id, const Type& from, const Type& to) const;

  /// "ts_day=2017-11-16/name=a%2Fb", as other writers lay files out: name and value encoded as for a URL form. Never parsed.
  /// `tuple_type` is TupleType's, `tuple` one value a field.
  std::string Path(const Type& tuple_type, std::span<const Literal> tuple) const;
};

}  // namespace icebound::iceberg
