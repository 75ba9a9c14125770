// SPDX-License-Identifier: Apache-2.0
#include "iceberg/avro/schema.h"

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <unordered_map>

#include "base/error.h"
#include "iceberg/avro/schema_names.h"

namespace icebound::iceberg::avro {

namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kFarMoreThanABlock = int64_t{1} << 62;

int64_t SaturatingAdd(int64_t a, int64_t b) { return std::min(a + b, kFarMoreThanABlock); }

/// Writes nodes as JSON; a named type in full where it first stands, by its name later.
class JsonWriter {
 public:
  Json Write(const Node& node) {
    switch (node.type) {
      case Type::kUnion: {
        Json branches = Json::array();
        for (const Node* branch : node.branches) branches.push_back(Write(*branch));
        return branches;
      }
      case Type::kRecord:
      case Type::kEnum:
      case Type::kFixed:
        return WriteNamed(node);
      case Type::kArray:
      case Type::kMap:
        return WriteCollection(node);
      default:
        break;
    }
    if (node.logical == LogicalType::kNone) return std::string(TypeName(node.type));
    Json json = {{"type", std::string(TypeName(node.type))}};
    AddLogicalType(node, &json);
    return json;
  }

 private:
  Json WriteNamed(const Node& node) {
    if (!defined_.insert(&node).second) return node.name;
    Json json = {{"type", std::string(TypeName(node.type))}, {"name", node.name}};
    if (node.type == Type::kFixed) json["size"] = node.fixed_bytes;
    if (node.type == Type::kEnum) json["symbols"] = node.symbols;
    if (node.type == Type::kRecord) {
      Json fields = Json::array();
      for (const Field& field : node.fields) fields.push_back(WriteField(field));
      json["fields"] = std::move(fields);
    }
    AddLogicalType(node, &json);
    return json;
  }

  Json WriteField(const Field& field) {
    Json json = {{"name", field.name}, {"type", Write(*field.type)}};
    if (!field.default_json.empty()) json["default"] = Json::parse(field.default_json, nullptr, /*allow_exceptions=*/false);
    if (field.id != kNoId) json["field-id"] = field.id;
    if (!field.original_name.empty()) json["iceberg-field-name"] = field.original_name;
    return json;
  }

  Json WriteCollection(const Node& node) {
    if (node.type == Type::kMap) {
      Json json = {{"type", "map"}, {"values", Write(*node.element)}};
      if (node.key_id != kNoId) json["key-id"] = node.key_id;
      if (node.value_id != kNoId) json["value-id"] = node.value_id;
      return json;
    }
    Json json = {{"type", "array"}, {"items", Write(*node.element)}};
    if (node.element_id != kNoId) json["element-id"] = node.element_id;
    AddLogicalType(node, &json);
    return json;
  }

  static void AddLogicalType(const Node& node, Json* json) {
    if (node.logical == LogicalType::kNone) return;
    (*json)["logicalType"] = LogicalTypeName(node);
    if (node.logical == LogicalType::kDecimal) {
      (*json)["precision"] = node.precision;
      (*json)["scale"] = node.scale;
    }
    if (IsTimestamp(node.logical)) (*json)["adjust-to-utc"] = node.adjust_to_utc;
  }

  std::set<const Node*> defined_;
};

}  // namespace

const Field* Node::FindField(int32_t id) const {
  const auto it = std::find_if(fields.begin(), fields.end(), [id](const Field& field) { return field.id == id; });
  return it == fields.end() ? nullptr : &*it;
}

const Node* Node::NonNull() const {
  if (type != Type::kUnion) return this;
  const Node* found = nullptr;
  for (const Node* branch : branches) {
    if (branch->type == Type::kNull) continue;
    if (found != nullptr) return nullptr;
    found = branch;
  }
  return found;
}

bool Node::is_nullable() const {
  if (type != Type::kUnion) return type == Type::kNull;
  return std::any_of(branches.begin(), branches.end(), [](const Node* branch) { return branch->type == Type::kNull; });
}

std::string ToString(const Node& node) {
  if (node.type == Type::kUnion) {
    constexpr size_t kShown = 8;
    std::string text = "[";
    for (size_t i = 0; i < node.branches.size(); ++i) {
      if (i > 0) text += ", ";
      if (i == kShown) return text + "...]";
      const Node* branch = node.branches[i];
      text += branch->type == Type::kUnion ? "union" : ToString(*branch);
    }
    return text + "]";
  }
  std::string text(TypeName(node.type));
  if (!node.name.empty()) text += " " + node.name;
  if (node.logical != LogicalType::kNone) text += " (" + LogicalTypeName(node) + ")";
  return text;
}

std::string Schema::ToJson() const { return JsonWriter().Write(*root_).dump(-1, ' ', false, Json::error_handler_t::replace); }

arrow::Status Schema::Complete() {
  // Depth first. A node that is being looked at when it is met again is part of a cycle, and counts as 0 there: min_bytes stays a
  // lower bound. Named types refer to earlier ones or to those around them, so the depth here is that of the text.
  enum class State : uint8_t { kBegun, kDone };
  std::unordered_map<const Node*, State> states;
  const std::function<int64_t(Node*)> visit = [&](Node* node) -> int64_t {
    const auto [it, is_new] = states.emplace(node, State::kBegun);
    if (!is_new) {
      if (it->second == State::kBegun) is_recursive_ = true;
      return node->min_bytes;
    }
    const auto below = [&](const Node* child) { return visit(const_cast<Node*>(child)); };
    int64_t bytes = FixedMinBytes(*node);
    bool is_empty = bytes == 0;
    if (node->type == Type::kRecord) {
      for (const Field& field : node->fields) {
        bytes = SaturatingAdd(bytes, below(field.type));
        is_empty = is_empty && field.type->is_empty;
      }
    } else if (node->type == Type::kUnion) {
      int64_t least = kFarMoreThanABlock;
      for (const Node* branch : node->branches) least = std::min(least, below(branch));
      bytes = SaturatingAdd(1, least);
    } else if (node->element != nullptr) {
      below(node->element);
    }
    node->min_bytes = bytes;
    node->is_empty = is_empty;
    states[node] = State::kDone;
    return bytes;
  };
  visit(const_cast<Node*>(root_));
  return arrow::Status::OK();
}

}  // namespace icebound::iceberg::avro
