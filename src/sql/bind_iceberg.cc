// SPDX-License-Identifier: Apache-2.0
//
// FROM iceberg('table', option => value, ...): an Iceberg table by name, directory or metadata file, a version of it, or one of
// its metadata tables. Values are constants of any kind that their types can be made of.
#include <arrow/scalar.h>

#include "sql/binder.h"
#include "sql/nearest_name.h"

namespace icebound::sql {

using plan::PlanPtr;

namespace {

/// Where the argument of each part of a reference stands; -1: there is none.
struct PartOffsets {
  int table = -1;
  int version = -1;
  int metadata_table = -1;

  int Of(plan::IcebergPart part) const {
    if (part == plan::IcebergPart::kVersion && version >= 0) return version;
    if (part == plan::IcebergPart::kMetadataTable && metadata_table >= 0) return metadata_table;
    return table;
  }
};

const std::vector<std::string>& OptionNames() {
  static const std::vector<std::string> names = {"snapshot_id", "as_of", "ref", "metadata_table"};
  return names;
}

int64_t Int64Of(const arrow::Scalar& scalar) {
  return scalar.type->id() == arrow::Type::TIMESTAMP ? static_cast<const arrow::TimestampScalar&>(scalar).value
                                                     : static_cast<const arrow::Int64Scalar&>(scalar).value;
}

std::string TextOf(const arrow::Scalar& scalar) { return static_cast<const arrow::StringScalar&>(scalar).value->ToString(); }

}  // namespace

arrow::Status Binder::BindIcebergOption(const Node& argument, plan::IcebergReference* reference) {
  const int at = argument.FirstLocation();
  ARROW_RETURN_NOT_OK(context_.OnlyFields(argument, {"arg", "name", "argnumber", "location"}));
  argument.Integer("argnumber");
  const std::string name(argument.Text("name"));
  const Scope no_columns;
  ExprBinder binder(context_, *this, {no_columns, Clause::kTableFunction});
  const auto value_of = [&](const std::shared_ptr<arrow::DataType>& type) -> arrow::Result<std::shared_ptr<arrow::Scalar>> {
    ARROW_ASSIGN_OR_RAISE(auto value, binder.BindConstantValue(argument["arg"], type));
    if (value == nullptr) return context_.Invalid(at, "{} of iceberg must not be NULL", name);
    return value;
  };
  if (name == "metadata_table") {
    if (!reference->metadata_table.empty()) return context_.Invalid(at, "{} stands here twice", name);
    ARROW_ASSIGN_OR_RAISE(const auto value, value_of(arrow::utf8()));
    reference->metadata_table = TextOf(*value);
    if (reference->metadata_table.empty()) return context_.Invalid(at, "the name of the metadata table is empty");
    return arrow::Status::OK();
  }
  if (name != "snapshot_id" && name != "as_of" && name != "ref") {
    return context_.Invalid(at, "iceberg has no option \"{}\"{}", name, SuggestionText(name, OptionNames()));
  }
  if (reference->names_version()) {
    return context_.Invalid(at, "one of snapshot_id, as_of and ref says which version is meant, not several");
  }
  if (name == "snapshot_id") {
    ARROW_ASSIGN_OR_RAISE(const auto value, value_of(arrow::int64()));
    reference->snapshot_id = Int64Of(*value);
  } else if (name == "as_of") {
    ARROW_ASSIGN_OR_RAISE(const auto value, value_of(arrow::timestamp(arrow::TimeUnit::MICRO, "UTC")));
    reference->as_of_us = Int64Of(*value);
  } else {
    ARROW_ASSIGN_OR_RAISE(const auto value, value_of(arrow::utf8()));
    reference->ref = TextOf(*value);
  }
  return arrow::Status::OK();
}

arrow::Result<Binder::FromItem> Binder::BindIceberg(const Node& function, const Node& alias, int offset) {
  ARROW_RETURN_NOT_OK(context_.OnlyFields(function, {"funcname", "args", "funcformat", "location"}));
  plan::IcebergReference reference;
  PartOffsets offsets;
  for (const Node& argument : function["args"].items()) {
    const int at = argument.FirstLocation();
    if (argument.Is("NamedArgExpr")) {
      const bool had_version = reference.names_version();
      ARROW_RETURN_NOT_OK(BindIcebergOption(argument, &reference));
      (had_version != reference.names_version() ? offsets.version : offsets.metadata_table) = at;
    } else if (offsets.table >= 0) {
      return context_.Invalid(at, "iceberg takes one table, and then options: name => value");
    } else {
      const Node text = argument.Is("A_Const") ? argument["sval"] : argument;
      if (!argument.Is("A_Const") || !text) return context_.Invalid(at, "iceberg takes a table as a string");
      reference.table = std::string(text.Text("sval"));
      offsets.table = at;
    }
  }
  if (offsets.table < 0 || reference.table.empty()) {
    return context_.Invalid(offset,
                            "iceberg takes a table as a string: 'catalog.namespace.name', a directory or a metadata file");
  }
  plan::IcebergPart at_fault = plan::IcebergPart::kTable;
  auto resolved = context_.tables().ResolveIceberg(reference, &at_fault);
  if (!resolved.ok()) return context_.Position(resolved.status(), offsets.Of(at_fault));
  const int hidden_columns = resolved->hidden_columns;
  ARROW_ASSIGN_OR_RAISE(PlanPtr plan, PlanOf(std::move(resolved).MoveValueUnsafe(), reference.table, offset));
  return Aliased(std::move(plan), {{"iceberg"}, {}}, alias, offset, hidden_columns);
}

}  // namespace icebound::sql
