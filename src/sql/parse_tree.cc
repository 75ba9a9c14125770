// SPDX-License-Identifier: Apache-2.0
#include "sql/parse_tree.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "base/error.h"

namespace icebound::sql {

/// Receives nlohmann's parse events (which need no recursion, however deep the text).
class ParseTreeBuilder {
 public:
  using number_integer_t = nlohmann::json::number_integer_t;
  using number_unsigned_t = nlohmann::json::number_unsigned_t;
  using number_float_t = nlohmann::json::number_float_t;
  using string_t = nlohmann::json::string_t;
  using binary_t = nlohmann::json::binary_t;

  ParseTreeBuilder(ParseTree* tree, const ParseTree::Options& options) : tree_(tree), options_(options) {
    tree_->keys_.emplace_back();
  }

  bool null() { return Add(ParseTree::Kind::kNull, 0); }
  bool boolean(bool value) { return Add(ParseTree::Kind::kInteger, value ? 1 : 0); }
  bool number_integer(number_integer_t value) { return Add(ParseTree::Kind::kInteger, Mapped(value)); }
  bool number_unsigned(number_unsigned_t value) { return Add(ParseTree::Kind::kInteger, Mapped(static_cast<int64_t>(value))); }
  bool number_float(number_float_t, const string_t&) { return false; }  // the tree has none: floats come as text
  bool binary(binary_t&) { return false; }
  bool string(string_t& value) {
    const std::string text = options_.map_text ? options_.map_text(value) : value;
    if (!Add(ParseTree::Kind::kString, static_cast<int64_t>(tree_->texts_.size()))) return false;
    tree_->entries_.back().length = static_cast<uint32_t>(text.size());
    tree_->texts_ += text;
    return true;
  }
  bool start_object(size_t) { return Open(ParseTree::Kind::kObject); }
  bool start_array(size_t) { return Open(ParseTree::Kind::kList); }
  bool end_object() {
    const uint32_t index = Close();
    ParseTree::Entry& entry = tree_->entries_[index];
    const uint32_t first = index + 1;
    if (first >= entry.end) return true;
    const ParseTree::Entry& only = tree_->entries_[first];
    const char initial = tree_->keys_[only.key].empty() ? '\0' : tree_->keys_[only.key].front();
    entry.typed = only.end == entry.end && only.kind == ParseTree::Kind::kObject && initial >= 'A' && initial <= 'Z';
    return true;
  }
  bool end_array() {
    Close();
    return true;
  }
  bool key(string_t& name) {
    auto [found, added] = key_ids_.try_emplace(name, static_cast<uint16_t>(tree_->keys_.size()));
    if (added) tree_->keys_.push_back(name);
    key_ = found->second;
    return tree_->keys_.size() < std::numeric_limits<uint16_t>::max();
  }
  bool parse_error(size_t, const std::string&, const nlohmann::detail::exception&) { return false; }

 private:
  int64_t Mapped(int64_t value) const {
    const bool is_location = options_.map_location && value >= 0 && tree_->keys_[key_] == "location";
    return is_location ? options_.map_location(static_cast<int>(value)) : value;
  }

  bool Add(ParseTree::Kind kind, int64_t value) {
    if (tree_->entries_.size() >= std::numeric_limits<uint32_t>::max()) return false;
    ParseTree::Entry entry;
    entry.kind = kind;
    entry.key = std::exchange(key_, static_cast<uint16_t>(0));
    entry.value = value;
    entry.end = static_cast<uint32_t>(tree_->entries_.size()) + 1;
    tree_->entries_.push_back(entry);
    return true;
  }

  bool Open(ParseTree::Kind kind) {
    if (!Add(kind, 0)) return false;
    open_.push_back(static_cast<uint32_t>(tree_->entries_.size()) - 1);
    return true;
  }

  uint32_t Close() {
    const uint32_t index = open_.back();
    open_.pop_back();
    tree_->entries_[index].end = static_cast<uint32_t>(tree_->entries_.size());
    return index;
  }

  ParseTree* const tree_;
  const ParseTree::Options& options_;
  std::unordered_map<std::string, uint16_t> key_ids_;
  std::vector<uint32_t> open_;
  uint16_t key_ = 0;
};

arrow::Result<ParseTree> ParseTree::FromJson(std::string_view json, const Options& options) {
  ParseTree tree;
  ParseTreeBuilder builder(&tree, options);
  const bool parsed = nlohmann::json::sax_parse(json.begin(), json.end(), &builder);
  if (!parsed || tree.entries_.empty()) {
    return MakeError(ErrorKind::kInternal, "the parser's tree cannot be read ({} bytes of JSON)", json.size());
  }
  tree.entries_.shrink_to_fit();
  tree.read_.assign(tree.entries_.size(), false);
  return tree;
}

std::optional<ParseTree::Unread> ParseTree::FirstUnread(std::span<const std::string_view> ignored) const {
  std::vector<uint32_t> around;  // the containers of entry i
  for (uint32_t i = 0; i < entries_.size(); ++i) {
    while (!around.empty() && entries_[around.back()].end <= i) around.pop_back();
    const bool leaf = entries_[i].end == i + 1;
    if (!leaf) {
      around.push_back(i);
      continue;
    }
    // {"A_Star": {}}: the inner object of a typed node is read with the node.
    const bool inner = !around.empty() && entries_[around.back()].typed && around.back() + 1 == i;
    const bool skip = inner || read_[i] || std::find(ignored.begin(), ignored.end(), keys_[entries_[i].key]) != ignored.end();
    if (skip) continue;
    Unread unread{keys_[entries_[i].key], "", -1};
    for (auto owner = around.rbegin(); owner != around.rend(); ++owner) {
      const Node node(this, *owner);
      if (unread.owner.empty()) unread.owner = node.type();
      if (unread.location < 0) unread.location = node.FirstLocation();
    }
    return unread;
  }
  return std::nullopt;
}

std::string_view Node::type() const {
  if (!tree_ || !tree_->entries_[index_].typed) return {};
  return tree_->keys_[tree_->entries_[index_ + 1].key];
}

bool Node::is_list() const { return tree_ && tree_->entries_[index_].kind == ParseTree::Kind::kList; }

bool Node::is_empty_object() const {
  if (!tree_) return false;
  const ParseTree::Entry& entry = tree_->entries_[index_];
  return entry.kind == ParseTree::Kind::kObject && entry.end == index_ + 1;
}

Node Node::operator[](std::string_view name) const {
  if (!tree_) return {};
  const uint32_t end = tree_->entries_[index_].end;
  for (uint32_t i = tree_->FirstField(index_); i < end; i = tree_->entries_[i].end) {
    if (tree_->keys_[tree_->entries_[i].key] != name) continue;
    tree_->read_[i] = true;
    return Node(tree_, i);
  }
  return {};
}

std::vector<Node> Node::items() const {
  std::vector<Node> nodes;
  if (!tree_) return nodes;
  const uint32_t end = tree_->entries_[index_].end;
  for (uint32_t i = tree_->FirstField(index_); i < end; i = tree_->entries_[i].end) {
    tree_->read_[i] = true;
    nodes.push_back(Node(tree_, i));
  }
  return nodes;
}

std::vector<std::string_view> Node::field_names() const {
  std::vector<std::string_view> names;
  if (!tree_) return names;
  const uint32_t end = tree_->entries_[index_].end;
  for (uint32_t i = tree_->FirstField(index_); i < end; i = tree_->entries_[i].end)
    names.push_back(tree_->keys_[tree_->entries_[i].key]);
  return names;
}

std::string_view Node::text() const {
  if (!tree_) return {};
  const ParseTree::Entry& entry = tree_->entries_[index_];
  if (entry.kind != ParseTree::Kind::kString) return {};
  return std::string_view(tree_->texts_).substr(static_cast<size_t>(entry.value), entry.length);
}

int64_t Node::integer() const {
  if (!tree_) return 0;
  const ParseTree::Entry& entry = tree_->entries_[index_];
  return entry.kind == ParseTree::Kind::kInteger ? entry.value : 0;
}

int Node::location() const {
  // The parser leaves fields of value 0 out, so a location of 0 and none look alike; nothing we ask for stands at the statement's
  // first byte.
  const Node field = (*this)["location"];
  return field ? static_cast<int>(field.integer()) : -1;
}

int Node::FirstLocation() const {
  return ExtremeLocation([](int64_t a, int64_t b) { return std::min(a, b); });
}

int Node::LastLocation() const {
  return ExtremeLocation([](int64_t a, int64_t b) { return std::max(a, b); });
}

template <typename Choose>
int Node::ExtremeLocation(Choose choose) const {
  if (!tree_) return -1;
  int64_t chosen = -1;
  for (uint32_t i = index_; i < tree_->entries_[index_].end; ++i) {
    const ParseTree::Entry& entry = tree_->entries_[i];
    if (entry.kind != ParseTree::Kind::kInteger || entry.value < 0 || tree_->keys_[entry.key] != "location") continue;
    chosen = chosen < 0 ? entry.value : choose(chosen, entry.value);
  }
  return static_cast<int>(chosen);
}

void Node::Visit(const std::function<bool(const Node&)>& enter) const {
  if (!tree_) return;
  for (uint32_t i = index_; i < tree_->entries_[index_].end;) {
    const bool skip = tree_->entries_[i].typed && !enter(Node(tree_, i));
    i = skip ? tree_->entries_[i].end : i + 1;
  }
}

}  // namespace icebound::sql
