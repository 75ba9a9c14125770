// SPDX-License-Identifier: Apache-2.0
//
// An Avro schema as a graph of nodes, with the attributes Iceberg adds to it.
//
//   {"type": "record", "name": "manifest_entry", "fields": [
//      {"name": "status", "type": "int", "field-id": 0},
//      {"name": "snapshot_id", "type": ["null", "long"], "default": null, "field-id": 1},
//      {"name": "counts", "field-id": 2, "type": {"type": "array", "logicalType": "map",
//          "items": {"type": "record", "name": "k3_v4", "fields": [
//              {"name": "key", "type": "int", "field-id": 3}, {"name": "value", "type": "long", "field-id": 4}]}}}]}
//
//   field-id            on a record's field
//   element-id          on an array
//   key-id, value-id    on a map; a map whose keys are not strings is an array of (key, value) records, whose fields carry the
// ids
//   iceberg-field-name  the name before it was changed into one that Avro allows
//
// Schemas come from strangers. Before the text is parsed its values and its depth are counted: the first is what is reserved, the
// second is bounded (kMaxSchemaDepth). A name may refer to a record around it, so the graph may have cycles: whoever walks it
// along data bounds the depth (kMaxValueDepth), whoever walks it alone asks Schema::is_recursive().
#pragma once

#include <arrow/result.h>
#include <arrow/status.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "memory/memory_ledger.h"

namespace icebound::iceberg::avro {

enum class Type : uint8_t {
  kNull,
  kBoolean,
  kInt,
  kLong,
  kFloat,
  kDouble,
  kBytes,
  kString,
  kFixed,
  kEnum,
  kRecord,
  kArray,
  kMap,
  kUnion,
};

/// Logical types that change what a value means. One that is unknown, or that does not fit the type below it, is none.
enum class LogicalType : uint8_t {
  kNone,
  kDecimal,          ///< bytes or fixed, big-endian two's complement
  kUuid,             ///< fixed(16), or a string
  kDate,             ///< int
  kTimeMillis,       ///< int
  kTimeMicros,       ///< long
  kTimestampMillis,  ///< long; adjust_to_utc says whether zoned
  kTimestampMicros,
  kTimestampNanos,
  kMap,  ///< array of records of two fields, key and value
};

constexpr int32_t kNoId = -1;
constexpr int kMaxSchemaDepth = 256;                    ///< brackets inside brackets of the JSON text
constexpr int64_t kMaxSchemaBytes = int64_t{16} << 20;  ///< a schema of 10,000 columns is about 1 MiB
constexpr int kMaxValueDepth = 128;                     ///< records, arrays and maps inside one another, in data

struct Node;

struct Field {
  std::string name;
  int32_t id = kNoId;
  const Node* type = nullptr;
  std::string default_json;   ///< as JSON text; empty for none
  std::string original_name;  ///< iceberg-field-name; empty when `name` is it
};

/// One type. Plain data; what does not apply to `type` is empty.
struct Node {
  Type type = Type::kNull;
  LogicalType logical = LogicalType::kNone;
  bool adjust_to_utc = false;         ///< timestamps: instants, not local times
  int32_t precision = 0;              ///< decimals
  int32_t scale = 0;                  ///< decimals
  int32_t fixed_bytes = 0;            ///< kFixed
  std::string name;                   ///< kRecord, kEnum, kFixed: with the namespace
  std::vector<Field> fields;          ///< kRecord
  std::vector<std::string> symbols;   ///< kEnum
  std::vector<const Node*> branches;  ///< kUnion
  const Node* element = nullptr;      ///< kArray: its elements; kMap: its values
  int32_t element_id = kNoId;         ///< kArray
  int32_t key_id = kNoId;             ///< kMap, and kArray of logical type kMap
  int32_t value_id = kNoId;           ///< kMap, and kArray of logical type kMap
  int64_t min_bytes = 0;              ///< no value takes less
  bool is_empty = false;              ///< no value takes any bytes: null, records of nothing

  /// The field with this id, or null.
  const Field* FindField(int32_t id) const;
  /// For a union of null and one other type, that type; for a type that is no union, itself; else null.
  const Node* NonNull() const;
  bool is_nullable() const;  ///< null, or a union with null
  /// kArray, kMap: what an element or entry takes at least.
  int64_t min_item_bytes() const { return element->min_bytes + (type == Type::kMap ? 1 : 0); }
};

/// "long", "record r2", "[null, string]": for messages.
std::string ToString(const Node& node);

/// Immutable, so thread safe. The consumer it was made with must outlive it.
class Schema {
 public:
  /// Parses JSON text. Failures are kCorruptData and say what is wrong, by the field's path; the caller adds which file.
  static arrow::Result<std::shared_ptr<const Schema>> Parse(std::string_view json, memory::MemoryConsumer* consumer);

  const Node& root() const { return *root_; }
  bool is_recursive() const { return is_recursive_; }

  /// The schema as JSON text, in Avro's own order of attributes. Named types are defined where they first stand.
  std::string ToJson() const;

 private:
  friend class SchemaBuilder;
  friend class SchemaParser;
  Schema() = default;
  /// Computes min_bytes and is_recursive_, and looks through the whole graph once.
  arrow::Status Complete();

  std::deque<Node> nodes_;  // addresses stay
  const Node* root_ = nullptr;
  bool is_recursive_ = false;
  memory::Reservation reservation_;
};

/// Makes the schema of a file to be written. Nodes are bounded by the table's own schema and are charged by Finish.
///
///   SchemaBuilder schema(consumer);
///   schema.Finish(schema.Record("manifest_entry", {schema.Required("status", 0, schema.Primitive(Type::kInt)),
///                                                  schema.Optional("snapshot_id", 1, schema.Primitive(Type::kLong))}));
///
/// Not thread safe; nodes belong to the builder until Finish.
class SchemaBuilder {
 public:
  explicit SchemaBuilder(memory::MemoryConsumer* consumer);
  ~SchemaBuilder();

  const Node* Primitive(Type type);
  const Node* Date();
  const Node* TimeMicros();
  const Node* Timestamp(LogicalType unit, bool adjust_to_utc);
  const Node* Uuid();
  const Node* Decimal(int32_t precision, int32_t scale);  ///< in a fixed type of the fewest bytes, as Iceberg writes it
  const Node* Fixed(int32_t bytes);
  const Node* Record(std::string name, std::vector<Field> fields);
  const Node* Array(int32_t element_id, const Node* element);
  /// An Avro map when the keys are strings, else an array of key-value records.
  const Node* Map(int32_t key_id, const Node* key, int32_t value_id, const Node* value);
  const Node* Nullable(const Node* type);  ///< [null, type]; a nullable type stays as it is

  /// Names that Avro does not allow are changed as Iceberg does: "1 a" becomes "_1_x20a".
  Field Required(std::string_view name, int32_t id, const Node* type);
  Field Optional(std::string_view name, int32_t id, const Node* type);  ///< Nullable, with default null

  arrow::Result<std::shared_ptr<const Schema>> Finish(const Node* root);

 private:
  Node* Add(Type type, LogicalType logical = LogicalType::kNone);
  /// The fixed type of this name, when there is one: a name is defined once.
  const Node* FindNamed(std::string_view name) const;

  memory::MemoryConsumer* consumer_;
  std::shared_ptr<Schema> schema_;
};

}  // namespace icebound::iceberg::avro
