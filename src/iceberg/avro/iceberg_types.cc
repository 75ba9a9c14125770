// SPDX-License-Identifier: Apache-2.0
#include "iceberg/avro/iceberg_types.h"

#include <fmt/format.h>

namespace icebound::iceberg::avro {

namespace {

/// `id` is that of the field of this type.
const Node* TypeOf(const iceberg::Type& type, int32_t id, SchemaBuilder* builder) {
  switch (type.id()) {
    case TypeId::kUnknown:
      return builder->Primitive(Type::kNull);
    case TypeId::kBoolean:
      return builder->Primitive(Type::kBoolean);
    case TypeId::kInt:
      return builder->Primitive(Type::kInt);
    case TypeId::kLong:
      return builder->Primitive(Type::kLong);
    case TypeId::kFloat:
      return builder->Primitive(Type::kFloat);
    case TypeId::kDouble:
      return builder->Primitive(Type::kDouble);
    case TypeId::kDecimal:
      return builder->Decimal(type.precision(), type.scale());
    case TypeId::kDate:
      return builder->Date();
    case TypeId::kTime:
      return builder->TimeMicros();
    case TypeId::kTimestamp:
    case TypeId::kTimestampTz:
      return builder->Timestamp(LogicalType::kTimestampMicros, type.id() == TypeId::kTimestampTz);
    case TypeId::kTimestampNs:
    case TypeId::kTimestampTzNs:
      return builder->Timestamp(LogicalType::kTimestampNanos, type.id() == TypeId::kTimestampTzNs);
    case TypeId::kString:
      return builder->Primitive(Type::kString);
    case TypeId::kUuid:
      return builder->Uuid();
    case TypeId::kFixed:
      return builder->Fixed(type.length_bytes());
    case TypeId::kBinary:
    case TypeId::kGeometry:
    case TypeId::kGeography:
      return builder->Primitive(Type::kBytes);
    case TypeId::kVariant:
      return builder->Record(fmt::format("r{}", id), {builder->Required("metadata", kNoId, builder->Primitive(Type::kBytes)),
                                                      builder->Required("value", kNoId, builder->Primitive(Type::kBytes))});
    case TypeId::kStruct:
      return RecordOf(fmt::format("r{}", id), type.fields(), builder);
    case TypeId::kList:
      return builder->Array(type.element().id, FieldOf(type.element(), builder).type);
    case TypeId::kMap:
      return builder->Map(type.key().id, TypeOf(*type.key().type, type.key().id, builder), type.value().id,
                          FieldOf(type.value(), builder).type);
  }
  return builder->Primitive(Type::kNull);
}

}  // namespace

Field FieldOf(const iceberg::Field& field, SchemaBuilder* builder) {
  const Node* type = TypeOf(*field.type, field.id, builder);
  return field.required ? builder->Required(field.name, field.id, type) : builder->Optional(field.name, field.id, type);
}

const Node* RecordOf(std::string name, const std::vector<iceberg::Field>& fields, SchemaBuilder* builder) {
  std::vector<Field> record;
  record.reserve(fields.size());
  for (const iceberg::Field& field : fields) record.push_back(FieldOf(field, builder));
  return builder->Record(std::move(name), std::move(record));
}

}  // namespace icebound::iceberg::avro
