// SPDX-License-Identifier: Apache-2.0
//
// JSON text to nodes. The text is walked twice: once by eye (MeasureJson: depth, and a count of all there is, from which the
// memory is reserved), then by the JSON library, whose tree is gone when Parse returns.
#include <fmt/format.h>

#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "iceberg/avro/schema.h"
#include "iceberg/avro/schema_names.h"

namespace icebound::iceberg::avro {

using Json = nlohmann::ordered_json;

namespace {

struct JsonMeasure {
  int64_t values = 1;      ///< at most this many
  int64_t containers = 0;  ///< objects and arrays
  int depth = 0;
};

JsonMeasure MeasureJson(std::string_view text) {
  JsonMeasure measure;
  int depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
      continue;
    }
    if (c == '"') in_string = true;
    if (c == ',' || c == ':') ++measure.values;
    if (c == '{' || c == '[') {
      ++measure.values;
      ++measure.containers;
      measure.depth = std::max(measure.depth, ++depth);
    }
    if (c == '}' || c == ']') --depth;
  }
  return measure;
}

// A JSON value is 16 bytes, stands with its key (a string of 32) in a vector that may be half empty, and allocates what it holds.
constexpr int64_t kJsonValueBytes = 2 * (16 + 32) + 64;

template <typename... Args>
arrow::Status Bad(fmt::format_string<Args...> format, Args&&... args) {
  return ErrorStatus(ErrorKind::kCorruptData, fmt::format(format, std::forward<Args>(args)...));
}

/// What an object says under `key`, or null.
const Json* Find(const Json& object, const char* key) {
  const auto it = object.find(key);
  return it == object.end() ? nullptr : &*it;
}

std::string Text(const Json& object, const char* key) {
  const Json* value = Find(object, key);
  return value != nullptr && value->is_string() ? value->get<std::string>() : std::string();
}

arrow::Result<int32_t> Number(const Json& object, const char* key, int32_t absent) {
  const Json* value = Find(object, key);
  if (value == nullptr) return absent;
  if (!value->is_number_integer()) return Bad("\"{}\" is not a whole number", key);
  const int64_t number = value->is_number_unsigned()
                             ? static_cast<int64_t>(std::min<uint64_t>(value->get<uint64_t>(), uint64_t{1} << 40))
                             : value->get<int64_t>();
  if (number != static_cast<int32_t>(number)) return Bad("\"{}\" does not fit in 32 bits: {}", key, number);
  return static_cast<int32_t>(number);
}

}  // namespace

/// Builds one schema. Names are looked up with the namespace they stand in, as Avro says.
class SchemaParser {
 public:
  explicit SchemaParser(Schema* schema) : schema_(schema) {}

  arrow::Result<const Node*> ParseType(const Json& json, const std::string& space) {
    if (json.is_string()) return ParseName(json.get_ref<const std::string&>(), space);
    if (json.is_array()) return ParseUnion(json, space);
    if (!json.is_object()) return Bad("a type is neither a name, nor an object, nor an array");
    const Json* type = Find(json, "type");
    if (type == nullptr) return Bad("an object has no \"type\"");
    if (!type->is_string()) return ParseType(*type, space);
    const auto& word = type->get_ref<const std::string&>();
    if (word == "record" || word == "error") return ParseRecord(json, space);
    if (word == "enum") return ParseEnum(json, space);
    if (word == "fixed") return ParseFixed(json, space);
    if (word == "array") return ParseArray(json, space);
    if (word == "map") return ParseMap(json, space);
    const auto primitive = PrimitiveByName(word);
    if (!primitive || Find(json, "logicalType") == nullptr) return ParseName(word, space);
    Node* node = Add(*primitive);
    ARROW_RETURN_NOT_OK(ParseLogicalType(json, node));
    return node;
  }

 private:
  Node* Add(Type type) {
    Node& node = schema_->nodes_.emplace_back();
    node.type = type;
    return &node;
  }

  arrow::Result<const Node*> ParseName(const std::string& name, const std::string& space) {
    if (const auto primitive = PrimitiveByName(name)) {
      const Node*& shared = primitives_[*primitive];
      if (shared == nullptr) shared = Add(*primitive);
      return shared;
    }
    if (name.find('.') == std::string::npos && !space.empty()) {
      if (const auto it = named_.find(space + "." + name); it != named_.end()) return it->second;
    }
    if (const auto it = named_.find(name); it != named_.end()) return it->second;
    return Bad("no type of the name \"{}\" is defined before it is used", name);
  }

  /// Adds a type under its full name, and gives the namespace of what stands inside it.
  arrow::Result<Node*> AddNamed(Type type, const Json& json, const std::string& space, std::string* inner_space) {
    std::string name = Text(json, "name");
    if (name.empty()) return Bad("a type \"{}\" has no name", TypeName(type));
    const Json* own_space = Find(json, "namespace");
    *inner_space = own_space != nullptr && own_space->is_string() ? own_space->get<std::string>() : space;
    if (const auto dot = name.rfind('.'); dot != std::string::npos) {
      *inner_space = name.substr(0, dot);
    } else if (!inner_space->empty()) {
      name = *inner_space + "." + name;
    }
    Node* node = Add(type);
    if (!named_.emplace(name, node).second) return Bad("the name \"{}\" is defined twice", name);
    node->name = std::move(name);
    return node;
  }

  arrow::Result<const Node*> ParseUnion(const Json& json, const std::string& space) {
    if (json.empty()) return Bad("a union has no types");
    Node* node = Add(Type::kUnion);
    node->branches.reserve(json.size());
    for (const Json& branch : json) {
      ARROW_ASSIGN_OR_RAISE(const Node* type, ParseType(branch, space));
      if (type->type == Type::kUnion) return Bad("a union stands directly inside a union");
      node->branches.push_back(type);
    }
    return node;
  }

  arrow::Result<const Node*> ParseRecord(const Json& json, const std::string& space) {
    std::string inner;
    ARROW_ASSIGN_OR_RAISE(Node * node, AddNamed(Type::kRecord, json, space, &inner));
    const Json* fields = Find(json, "fields");
    if (fields == nullptr || !fields->is_array()) return Bad("record \"{}\" has no fields", node->name);
    node->fields.reserve(fields->size());
    for (const Json& field : *fields) {
      auto parsed = ParseField(field, inner);
      if (!parsed.ok()) return WithContext(parsed.status(), ErrorKind::kCorruptData, fmt::format("field \"{}\"", NameOf(field)));
      node->fields.push_back(std::move(parsed).ValueUnsafe());
    }
    return node;
  }

  static std::string NameOf(const Json& field) { return field.is_object() ? Text(field, "name") : std::string(); }

  arrow::Result<Field> ParseField(const Json& json, const std::string& space) {
    Field field;
    field.name = NameOf(json);
    if (field.name.empty()) return Bad("a field has no name");
    const Json* type = Find(json, "type");
    if (type == nullptr) return Bad("there is no type");
    ARROW_ASSIGN_OR_RAISE(field.type, ParseType(*type, space));
    ARROW_ASSIGN_OR_RAISE(field.id, Number(json, "field-id", kNoId));
    if (const Json* value = Find(json, "default")) field.default_json = value->dump();
    field.original_name = Text(json, "iceberg-field-name");
    return field;
  }

  arrow::Result<const Node*> ParseEnum(const Json& json, const std::string& space) {
    std::string inner;
    ARROW_ASSIGN_OR_RAISE(Node * node, AddNamed(Type::kEnum, json, space, &inner));
    const Json* symbols = Find(json, "symbols");
    if (symbols == nullptr || !symbols->is_array()) return Bad("enum \"{}\" has no symbols", node->name);
    node->symbols.reserve(symbols->size());
    for (const Json& symbol : *symbols) {
      if (!symbol.is_string()) return Bad("a symbol of enum \"{}\" is not a string", node->name);
      node->symbols.push_back(symbol.get<std::string>());
    }
    return node;
  }

  arrow::Result<const Node*> ParseFixed(const Json& json, const std::string& space) {
    std::string inner;
    ARROW_ASSIGN_OR_RAISE(Node * node, AddNamed(Type::kFixed, json, space, &inner));
    ARROW_ASSIGN_OR_RAISE(node->fixed_bytes, Number(json, "size", -1));
    if (node->fixed_bytes < 0) return Bad("fixed \"{}\" has no size", node->name);
    ARROW_RETURN_NOT_OK(ParseLogicalType(json, node));
    return node;
  }

  arrow::Result<const Node*> ParseArray(const Json& json, const std::string& space) {
    const Json* items = Find(json, "items");
    if (items == nullptr) return Bad("an array has no \"items\"");
    Node* node = Add(Type::kArray);
    ARROW_ASSIGN_OR_RAISE(node->element, ParseType(*items, space));
    ARROW_ASSIGN_OR_RAISE(node->element_id, Number(json, "element-id", kNoId));
    const Node& element = *node->element;
    if (Text(json, "logicalType") == "map" && element.type == Type::kRecord && element.fields.size() == 2) {
      node->logical = LogicalType::kMap;
      node->key_id = element.fields[0].id;
      node->value_id = element.fields[1].id;
    }
    return node;
  }

  arrow::Result<const Node*> ParseMap(const Json& json, const std::string& space) {
    const Json* values = Find(json, "values");
    if (values == nullptr) return Bad("a map has no \"values\"");
    Node* node = Add(Type::kMap);
    ARROW_ASSIGN_OR_RAISE(node->element, ParseType(*values, space));
    ARROW_ASSIGN_OR_RAISE(node->key_id, Number(json, "key-id", kNoId));
    ARROW_ASSIGN_OR_RAISE(node->value_id, Number(json, "value-id", kNoId));
    return node;
  }

  static arrow::Status ParseLogicalType(const Json& json, Node* node) {
    std::string word = Text(json, "logicalType");
    const Type type = node->type;
    if (word == "decimal" && (type == Type::kBytes || type == Type::kFixed)) {
      ARROW_ASSIGN_OR_RAISE(const int32_t precision, Number(json, "precision", 0));
      ARROW_ASSIGN_OR_RAISE(const int32_t scale, Number(json, "scale", 0));
      if (precision < 1 || scale < 0 || scale > precision) return arrow::Status::OK();
      node->logical = LogicalType::kDecimal;
      node->precision = precision;
      node->scale = scale;
    } else if (word == "uuid" && (type == Type::kString || (type == Type::kFixed && node->fixed_bytes == 16))) {
      node->logical = LogicalType::kUuid;
    } else if (type == Type::kInt && word == "date") {
      node->logical = LogicalType::kDate;
    } else if (type == Type::kInt && word == "time-millis") {
      node->logical = LogicalType::kTimeMillis;
    } else if (type == Type::kLong && word == "time-micros") {
      node->logical = LogicalType::kTimeMicros;
    } else if (type == Type::kLong) {
      const bool local = word.rfind("local-", 0) == 0;
      if (local) word = word.substr(6);
      if (word == "timestamp-millis") node->logical = LogicalType::kTimestampMillis;
      if (word == "timestamp-micros") node->logical = LogicalType::kTimestampMicros;
      if (word == "timestamp-nanos") node->logical = LogicalType::kTimestampNanos;
      const Json* zoned = Find(json, "adjust-to-utc");
      node->adjust_to_utc = !local && zoned != nullptr && zoned->is_boolean() && zoned->get<bool>();
    }
    return arrow::Status::OK();
  }

  Schema* const schema_;
  std::map<Type, const Node*> primitives_;
  std::map<std::string, const Node*> named_;
};

arrow::Result<std::shared_ptr<const Schema>> Schema::Parse(std::string_view json, memory::MemoryConsumer* consumer) {
  const auto text_bytes = static_cast<int64_t>(json.size());
  if (text_bytes > kMaxSchemaBytes) return Bad("the schema is larger than {} bytes: {}", kMaxSchemaBytes, text_bytes);
  const JsonMeasure measure = MeasureJson(json);
  if (measure.depth > kMaxSchemaDepth)
    return Bad("the schema is nested deeper than {} levels: {}", kMaxSchemaDepth, measure.depth);

  memory::Reservation tree(consumer);
  ARROW_RETURN_NOT_OK(tree.ResizeTo(measure.values * kJsonValueBytes + 2 * text_bytes));
  std::shared_ptr<Schema> schema(new Schema());
  schema->reservation_ = memory::Reservation(consumer);
  // A node or a field is a container of the text; names and symbols are its strings.
  const auto graph_bytes = measure.containers * static_cast<int64_t>(sizeof(Node) + sizeof(Field) + 128) + measure.values * 48;
  ARROW_RETURN_NOT_OK(schema->reservation_.ResizeTo(graph_bytes + 2 * text_bytes + 16 * static_cast<int64_t>(sizeof(Node))));

  const Json document = Json::parse(json, nullptr, /*allow_exceptions=*/false);
  if (document.is_discarded()) return Bad("the schema is not JSON");
  auto root = SchemaParser(schema.get()).ParseType(document, "");
  if (!root.ok()) return WithContext(root.status(), ErrorKind::kCorruptData, "schema");
  schema->root_ = *root;
  ARROW_RETURN_NOT_OK(schema->Complete());
  return schema;
}

}  // namespace icebound::iceberg::avro
