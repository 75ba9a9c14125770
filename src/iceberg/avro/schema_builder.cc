// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>

#include "base/error.h"
#include "iceberg/avro/schema.h"
#include "iceberg/avro/schema_names.h"

namespace icebound::iceberg::avro {

namespace {

/// Bytes of the smallest two's complement number that holds every value of this many digits.
int32_t DecimalBytes(int32_t precision) {
  // 10^p values each side of zero need p * log2(10) bits and a sign.
  return static_cast<int32_t>(std::ceil((precision * std::log2(10.0) + 1) / 8));
}

}  // namespace

SchemaBuilder::SchemaBuilder(memory::MemoryConsumer* consumer) : consumer_(consumer), schema_(new Schema()) {}

SchemaBuilder::~SchemaBuilder() = default;

Node* SchemaBuilder::Add(Type type, LogicalType logical) {
  Node& node = schema_->nodes_.emplace_back();
  node.type = type;
  node.logical = logical;
  return &node;
}

const Node* SchemaBuilder::Primitive(Type type) { return Add(type); }
const Node* SchemaBuilder::Date() { return Add(Type::kInt, LogicalType::kDate); }
const Node* SchemaBuilder::TimeMicros() { return Add(Type::kLong, LogicalType::kTimeMicros); }

const Node* SchemaBuilder::Timestamp(LogicalType unit, bool adjust_to_utc) {
  Node* node = Add(Type::kLong, unit);
  node->adjust_to_utc = adjust_to_utc;
  return node;
}

const Node* SchemaBuilder::FindNamed(std::string_view name) const {
  for (const Node& node : schema_->nodes_) {
    if (node.name == name) return &node;
  }
  return nullptr;
}

const Node* SchemaBuilder::Uuid() {
  if (const Node* known = FindNamed("uuid_fixed")) return known;
  Node* node = Add(Type::kFixed, LogicalType::kUuid);
  node->name = "uuid_fixed";
  node->fixed_bytes = 16;
  return node;
}

const Node* SchemaBuilder::Decimal(int32_t precision, int32_t scale) {
  std::string name = fmt::format("decimal_{}_{}", precision, scale);
  if (const Node* known = FindNamed(name)) return known;
  Node* node = Add(Type::kFixed, LogicalType::kDecimal);
  node->name = std::move(name);
  node->fixed_bytes = DecimalBytes(precision);
  node->precision = precision;
  node->scale = scale;
  return node;
}

const Node* SchemaBuilder::Fixed(int32_t bytes) {
  std::string name = fmt::format("fixed_{}", bytes);
  if (const Node* known = FindNamed(name)) return known;
  Node* node = Add(Type::kFixed);
  node->name = std::move(name);
  node->fixed_bytes = bytes;
  return node;
}

const Node* SchemaBuilder::Record(std::string name, std::vector<Field> fields) {
  Node* node = Add(Type::kRecord);
  node->name = std::move(name);
  node->fields = std::move(fields);
  return node;
}

const Node* SchemaBuilder::Array(int32_t element_id, const Node* element) {
  Node* node = Add(Type::kArray);
  node->element = element;
  node->element_id = element_id;
  return node;
}

const Node* SchemaBuilder::Map(int32_t key_id, const Node* key, int32_t value_id, const Node* value) {
  Node* node = Add(Type::kMap);
  node->key_id = key_id;
  node->value_id = value_id;
  if (key->type == Type::kString) {
    node->element = value;
    return node;
  }
  node->type = Type::kArray;
  node->logical = LogicalType::kMap;
  node->element =
      Record(fmt::format("k{}_v{}", key_id, value_id), {Required("key", key_id, key), Required("value", value_id, value)});
  return node;
}

const Node* SchemaBuilder::Nullable(const Node* type) {
  if (type->is_nullable()) return type;
  Node* node = Add(Type::kUnion);
  node->branches = {Primitive(Type::kNull), type};
  return node;
}

Field SchemaBuilder::Required(std::string_view name, int32_t id, const Node* type) {
  Field field;
  field.name = AvroName(name);
  if (field.name != name) field.original_name = std::string(name);
  field.id = id;
  field.type = type;
  return field;
}

Field SchemaBuilder::Optional(std::string_view name, int32_t id, const Node* type) {
  Field field = Required(name, id, Nullable(type));
  field.default_json = "null";
  return field;
}

arrow::Result<std::shared_ptr<const Schema>> SchemaBuilder::Finish(const Node* root) {
  int64_t bytes = static_cast<int64_t>(schema_->nodes_.size() * (sizeof(Node) + 64));
  for (const Node& node : schema_->nodes_) bytes += static_cast<int64_t>(node.fields.capacity() * (sizeof(Field) + 64));
  schema_->reservation_ = memory::Reservation(consumer_);
  ARROW_RETURN_NOT_OK(schema_->reservation_.ResizeTo(bytes));
  schema_->root_ = root;
  ARROW_RETURN_NOT_OK(schema_->Complete());
  return std::exchange(schema_, nullptr);
}

}  // namespace icebound::iceberg::avro
