// SPDX-License-Identifier: Apache-2.0
#include "iceberg/spec/arrow_schema.h"

#include <arrow/extension/parquet_variant.h>
#include <arrow/extension/uuid.h>
#include <arrow/util/checked_cast.h>
#include <arrow/util/key_value_metadata.h>

#include <charconv>

#include "base/error.h"

namespace icebound::iceberg {
namespace {

using arrow::internal::checked_cast;

std::shared_ptr<arrow::DataType> VariantType() {
  static const auto type =
      arrow::extension::variant(arrow::struct_({arrow::field("metadata", arrow::binary(), /*nullable=*/false),
                                                arrow::field("value", arrow::binary(), /*nullable=*/false)}));
  return type;
}

std::shared_ptr<arrow::DataType> NestedArrowType(const Type& type) {
  if (type.id() == TypeId::kList) return arrow::list(ToArrowField(type.element()));
  if (type.id() == TypeId::kMap) {
    return std::make_shared<arrow::MapType>(ToArrowField(type.key()), ToArrowField(type.value()));
  }
  arrow::FieldVector fields;
  for (const Field& field : type.fields()) fields.push_back(ToArrowField(field));
  return arrow::struct_(std::move(fields));
}

/// Turns Arrow's types into ours. Holds what names the column in an error.
class FromArrow {
 public:
  explicit FromArrow(const FromArrowOptions& options) : options_(options) {}

  /// Fields of a struct. New ids are given level by level, so all of a level have theirs before anything inside does.
  arrow::Result<std::vector<Field>> Fields(const arrow::FieldVector& arrow_fields, const std::string& prefix) {
    std::vector<Field> fields(arrow_fields.size());
    for (size_t i = 0; i < fields.size(); ++i) ARROW_RETURN_NOT_OK(Start(*arrow_fields[i], prefix, &fields[i]));
    for (size_t i = 0; i < fields.size(); ++i) {
      ARROW_ASSIGN_OR_RAISE(fields[i].type, TypeOf(*arrow_fields[i]->type(), prefix + arrow_fields[i]->name()));
      // A column of nulls alone has no other values that could be required.
      if (fields[i].type->id() == TypeId::kUnknown) fields[i].required = false;
    }
    return fields;
  }

 private:
  arrow::Status Start(const arrow::Field& arrow_field, const std::string& prefix, Field* field) {
    field->name = arrow_field.name();
    field->required = !arrow_field.nullable();
    if (options_.assign_ids) {
      field->id = ++last_id_;
      return arrow::Status::OK();
    }
    const auto text = arrow_field.metadata() ? arrow_field.metadata()->Get(kFieldIdKey) : arrow::Result<std::string>("");
    const std::string id = text.ok() ? *text : "";
    const auto [end, error] = std::from_chars(id.data(), id.data() + id.size(), field->id);
    if (id.empty() || error != std::errc{} || end != id.data() + id.size()) {
      return MakeError(ErrorKind::kInvalidInput, "column '{}{}' has no field id", prefix, field->name);
    }
    return arrow::Status::OK();
  }

  arrow::Result<TypePtr> TypeOf(const arrow::DataType& type, const std::string& name) {
    switch (type.id()) {
      case arrow::Type::STRUCT: {
        ARROW_ASSIGN_OR_RAISE(std::vector<Field> fields, Fields(type.fields(), name + "."));
        return Type::Struct(std::move(fields));
      }
      case arrow::Type::LIST:
      case arrow::Type::LARGE_LIST:
      case arrow::Type::FIXED_SIZE_LIST:
      case arrow::Type::LIST_VIEW:
      case arrow::Type::LARGE_LIST_VIEW: {
        ARROW_ASSIGN_OR_RAISE(std::vector<Field> inner, Fields({type.field(0)}, name + "."));
        return Type::List(std::move(inner[0]));
      }
      case arrow::Type::MAP: {
        const auto& map = checked_cast<const arrow::MapType&>(type);
        ARROW_ASSIGN_OR_RAISE(std::vector<Field> inner, Fields({map.key_field(), map.item_field()}, name + "."));
        return Type::Map(std::move(inner[0]), std::move(inner[1]));
      }
      case arrow::Type::DICTIONARY:
        return TypeOf(*checked_cast<const arrow::DictionaryType&>(type).value_type(), name);
      case arrow::Type::RUN_END_ENCODED:
        return TypeOf(*checked_cast<const arrow::RunEndEncodedType&>(type).value_type(), name);
      case arrow::Type::EXTENSION:
        return ExtensionTypeOf(checked_cast<const arrow::ExtensionType&>(type), name);
      default:
        return FlatTypeOf(type, name);
    }
  }

  arrow::Result<TypePtr> ExtensionTypeOf(const arrow::ExtensionType& type, const std::string& name) {
    if (type.extension_name() == "arrow.uuid") return Type::Of(TypeId::kUuid);
    if (type.extension_name() == "arrow.parquet.variant" && options_.format_version >= 3) return Type::Of(TypeId::kVariant);
    return TypeOf(*type.storage_type(), name);
  }

  arrow::Result<TypePtr> FlatTypeOf(const arrow::DataType& type, const std::string& name) {
    switch (type.id()) {
      case arrow::Type::NA:
        if (options_.format_version < 3) return Refused(type, name);
        return Type::Of(TypeId::kUnknown);
      case arrow::Type::BOOL:
        return Type::Of(TypeId::kBoolean);
      case arrow::Type::INT8:
      case arrow::Type::INT16:
      case arrow::Type::INT32:
      case arrow::Type::UINT8:
      case arrow::Type::UINT16:
        return Type::Of(TypeId::kInt);
      case arrow::Type::UINT32:
      case arrow::Type::INT64:
        return Type::Of(TypeId::kLong);
      case arrow::Type::HALF_FLOAT:
      case arrow::Type::FLOAT:
        return Type::Of(TypeId::kFloat);
      case arrow::Type::DOUBLE:
        return Type::Of(TypeId::kDouble);
      case arrow::Type::DECIMAL32:
      case arrow::Type::DECIMAL64:
      case arrow::Type::DECIMAL128:
      case arrow::Type::DECIMAL256: {
        const auto& decimal = checked_cast<const arrow::DecimalType&>(type);
        if (decimal.precision() > 38 || decimal.scale() < 0) return Refused(type, name);
        return Type::Decimal(decimal.precision(), decimal.scale());
      }
      case arrow::Type::DATE32:
      case arrow::Type::DATE64:
        return Type::Of(TypeId::kDate);
      case arrow::Type::TIME32:
        return Type::Of(TypeId::kTime);
      case arrow::Type::TIME64:
        if (checked_cast<const arrow::Time64Type&>(type).unit() == arrow::TimeUnit::NANO && !options_.nanos_as_micros) {
          return Refused(type, name);
        }
        return Type::Of(TypeId::kTime);
      case arrow::Type::TIMESTAMP:
        return TimestampOf(checked_cast<const arrow::TimestampType&>(type), name);
      case arrow::Type::STRING:
      case arrow::Type::LARGE_STRING:
      case arrow::Type::STRING_VIEW:
        return Type::Of(TypeId::kString);
      case arrow::Type::BINARY:
      case arrow::Type::LARGE_BINARY:
      case arrow::Type::BINARY_VIEW:
        return Type::Of(TypeId::kBinary);
      case arrow::Type::FIXED_SIZE_BINARY:
        return Type::Fixed(checked_cast<const arrow::FixedSizeBinaryType&>(type).byte_width());
      default:
        return Refused(type, name);
    }
  }

  arrow::Result<TypePtr> TimestampOf(const arrow::TimestampType& type, const std::string& name) {
    const bool zoned = !type.timezone().empty();
    if (type.unit() == arrow::TimeUnit::NANO && !options_.nanos_as_micros) {
      if (options_.format_version < 3) return Refused(type, name);
      return Type::Of(zoned ? TypeId::kTimestampTzNs : TypeId::kTimestampNs);
    }
    return Type::Of(zoned ? TypeId::kTimestampTz : TypeId::kTimestamp);
  }

  arrow::Status Refused(const arrow::DataType& type, const std::string& name) const {
    return MakeError(ErrorKind::kInvalidInput,
                     "column '{}' is of type {}, which a table of format version {} cannot hold: cast it", name, type.ToString(),
                     options_.format_version);
  }

  const FromArrowOptions options_;
  int32_t last_id_ = 0;
};

}  // namespace

std::shared_ptr<arrow::DataType> ToArrowType(const Type& type) {
  switch (type.id()) {
    case TypeId::kUnknown:
      return arrow::null();
    case TypeId::kBoolean:
      return arrow::boolean();
    case TypeId::kInt:
      return arrow::int32();
    case TypeId::kLong:
      return arrow::int64();
    case TypeId::kFloat:
      return arrow::float32();
    case TypeId::kDouble:
      return arrow::float64();
    case TypeId::kDecimal:
      return arrow::decimal128(type.precision(), type.scale());
    case TypeId::kDate:
      return arrow::date32();
    case TypeId::kTime:
      return arrow::time64(arrow::TimeUnit::MICRO);
    case TypeId::kTimestamp:
      return arrow::timestamp(arrow::TimeUnit::MICRO);
    case TypeId::kTimestampTz:
      return arrow::timestamp(arrow::TimeUnit::MICRO, "UTC");
    case TypeId::kTimestampNs:
      return arrow::timestamp(arrow::TimeUnit::NANO);
    case TypeId::kTimestampTzNs:
      return arrow::timestamp(arrow::TimeUnit::NANO, "UTC");
    case TypeId::kString:
      return arrow::utf8();
    case TypeId::kUuid:
      return arrow::extension::uuid();
    case TypeId::kFixed:
      return arrow::fixed_size_binary(type.length_bytes());
    case TypeId::kBinary:
    case TypeId::kGeometry:
    case TypeId::kGeography:
      return arrow::binary();
    case TypeId::kVariant:
      return VariantType();
    case TypeId::kStruct:
    case TypeId::kList:
    case TypeId::kMap:
      break;
  }
  return NestedArrowType(type);
}

std::shared_ptr<arrow::Field> ToArrowField(const Field& field) {
  return arrow::field(field.name, ToArrowType(*field.type), !field.required,
                      arrow::key_value_metadata({kFieldIdKey}, {std::to_string(field.id)}));
}

std::shared_ptr<arrow::Schema> ToArrowSchema(const Schema& schema) {
  arrow::FieldVector fields;
  for (const Field& field : schema.fields()) fields.push_back(ToArrowField(field));
  return arrow::schema(std::move(fields));
}

arrow::Result<std::shared_ptr<const Schema>> FromArrowSchema(const arrow::Schema& schema, const FromArrowOptions& options) {
  FromArrow from(options);
  ARROW_ASSIGN_OR_RAISE(std::vector<Field> fields, from.Fields(schema.fields(), ""));
  return Schema::Make(options.schema_id, Type::Struct(std::move(fields)));
}

}  // namespace icebound::iceberg
