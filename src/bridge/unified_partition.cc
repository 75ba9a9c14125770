// SPDX-License-Identifier: Apache-2.0
#include "bridge/unified_partition.h"

#include <arrow/array/builder_binary.h>
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "iceberg/spec/arrow_schema.h"

namespace icebound::bridge {
namespace {

using iceberg::PartitionField;
using iceberg::PartitionSpec;
using iceberg::TransformKind;
using iceberg::TypeId;
using iceberg::TypePtr;

/// Of one field in the unified struct.
struct Candidate {
  std::string name;
  TypePtr type;
  bool is_void = false;
};

std::shared_ptr<arrow::DataType> ArrowTypeOf(const iceberg::Type& type) {
  // A column that nobody knows any more has values all the same: as text.
  const bool as_text = type.id() == TypeId::kUuid || type.id() == TypeId::kUnknown;
  return as_text ? arrow::utf8() : iceberg::ToArrowType(type);
}

}  // namespace

UnifiedPartition::UnifiedPartition(const iceberg::TableMetadata& metadata) {
  std::map<int32_t, Candidate> candidates;
  std::vector<const PartitionSpec*> specs;
  for (const PartitionSpec& spec : metadata.partition_specs) specs.push_back(&spec);
  // The newest spec has the word, except that a void transform says only that the field was dropped.
  std::sort(specs.begin(), specs.end(), [](const auto* left, const auto* right) { return left->spec_id > right->spec_id; });
  for (const PartitionSpec* spec : specs) {
    const TypePtr tuple = metadata.TupleType(*spec);
    for (size_t i = 0; i < spec->fields.size(); ++i) {
      const PartitionField& field = spec->fields[i];
      const bool is_void = field.transform.kind() == TransformKind::kVoid;
      const auto [place, is_new] =
          candidates.try_emplace(field.field_id, Candidate{field.name, tuple->fields()[i].type, is_void});
      if (!is_new && place->second.is_void && !is_void) place->second = {place->second.name, tuple->fields()[i].type, false};
    }
  }
  std::map<std::string, int> uses;
  for (const auto& [field_id, candidate] : candidates) ++uses[candidate.name];
  arrow::FieldVector arrow_fields;
  for (const auto& [field_id, candidate] : candidates) {
    std::string name = uses[candidate.name] > 1 ? fmt::format("{}_{}", candidate.name, field_id) : candidate.name;
    fields_.push_back({field_id, candidate.type});
    arrow_fields.push_back(arrow::field(std::move(name), ArrowTypeOf(*candidate.type)));
  }
  type_ = arrow::struct_(std::move(arrow_fields));
  for (const PartitionSpec* spec : specs) {
    const TypePtr tuple = metadata.TupleType(*spec);
    std::vector<Place>& places = by_spec_[spec->spec_id];
    for (const Field& field : fields_) {
      Place place;
      for (size_t i = 0; i < spec->fields.size(); ++i) {
        if (spec->fields[i].field_id == field.field_id) place = {static_cast<int>(i), tuple->fields()[i].type};
      }
      places.push_back(std::move(place));
    }
  }
}

arrow::Status UnifiedPartition::Append(const iceberg::DataFile& file, arrow::StructBuilder* builder) const {
  const auto spec = by_spec_.find(file.spec_id);
  if (spec == by_spec_.end()) {
    return MakeError(ErrorKind::kCorruptData, "file {} has partition spec {}, which the table does not have", file.file_path,
                     file.spec_id);
  }
  ARROW_RETURN_NOT_OK(builder->Append());
  for (size_t i = 0; i < fields_.size(); ++i) {
    arrow::ArrayBuilder* const child = builder->field_builder(static_cast<int>(i));
    const Place& place = spec->second[i];
    const iceberg::Literal* value = place.index < 0 ? nullptr : &file.partition[static_cast<size_t>(place.index)];
    if (value == nullptr || iceberg::IsNull(*value)) {
      ARROW_RETURN_NOT_OK(child->AppendNull());
    } else if (fields_[i].type->id() == TypeId::kUuid || fields_[i].type->id() == TypeId::kUnknown) {
      ARROW_RETURN_NOT_OK(static_cast<arrow::StringBuilder*>(child)->Append(iceberg::LiteralText(*place.type, *value)));
    } else {
      // Specs may give one field two types when ids were used twice, as v1 writers did: then the value has no place.
      ARROW_ASSIGN_OR_RAISE(const auto scalar, iceberg::LiteralToScalar(*place.type, *value));
      const bool fits = scalar->type->Equals(*child->type());
      ARROW_RETURN_NOT_OK(fits ? child->AppendScalar(*scalar) : child->AppendNull());
    }
  }
  return arrow::Status::OK();
}

}  // namespace icebound::bridge
