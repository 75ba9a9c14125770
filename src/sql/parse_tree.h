// SPDX-License-Identifier: Apache-2.0
//
// The parser's tree of one statement. libpg_query hands it over as JSON; it is kept here as one array in pre-order, 24 bytes a
// value and its text in one string, because a statement with many literals must not cost a hundred times its own size outside the
// memory ledger.
//
// The tree remembers which values somebody asked for: what is left unread after binding is a clause that nobody handled, and
// must be refused rather than ignored (FirstUnread).
//
// A value is null, a boolean, an integer, a string, a list or an object. An object {"ColumnRef": {...}} is a *typed* node: its
// type() is "ColumnRef" and its fields are the inner ones. Absent fields read as nothing: a null Node, false, 0, "".
#pragma once

#include <arrow/result.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace icebound::sql {

class ParseTree;

/// A view of one value of a tree; valid as long as the tree is. Cheap to copy.
class Node {
 public:
  Node() = default;
  explicit operator bool() const { return tree_ != nullptr; }
  /// "ColumnRef", "A_Const", ...; empty for lists, scalars and untyped objects.
  std::string_view type() const;
  bool Is(std::string_view type_name) const { return type() == type_name; }
  bool is_list() const;
  /// An empty object stands for "no node" inside lists.
  bool is_empty_object() const;

  /// The field `name`, or a null node.
  Node operator[](std::string_view name) const;
  std::string_view Text(std::string_view name) const { return (*this)[name].text(); }
  int64_t Integer(std::string_view name) const { return (*this)[name].integer(); }
  bool Flag(std::string_view name) const { return (*this)[name].integer() != 0; }
  /// Elements of a list (or values of an object).
  std::vector<Node> items() const;
  std::vector<std::string_view> field_names() const;

  std::string_view text() const;
  int64_t integer() const;
  /// Byte offset in the statement as the user wrote it; -1 when this node carries none.
  int location() const;
  /// The smallest location in the whole subtree: where its text begins, nearly. -1 when there is none.
  int FirstLocation() const;
  /// The largest one.
  int LastLocation() const;

  /// Tells nodes of one tree apart.
  uint32_t id() const { return index_; }
  /// Calls `enter` for every typed node of the subtree, this one included, in the order of the text; below those for which it
  /// gives false nothing is visited. Visiting marks nothing as read.
  void Visit(const std::function<bool(const Node&)>& enter) const;

 private:
  friend class ParseTree;
  Node(const ParseTree* tree, uint32_t index) : tree_(tree), index_(index) {}

  template <typename Choose>
  int ExtremeLocation(Choose choose) const;

  const ParseTree* tree_ = nullptr;
  uint32_t index_ = 0;
};

/// Not thread safe: reading marks what was read.
class ParseTree {
 public:
  /// Rewrites while reading: `map_location` turns the parser's offsets into the user's, `map_text` restores names that were
  /// replaced before parsing.
  struct Options {
    std::function<int(int)> map_location;
    std::function<std::string(std::string_view)> map_text;
  };

  static arrow::Result<ParseTree> FromJson(std::string_view json, const Options& options);
  Node root() const { return Node(this, 0); }

  struct Unread {
    std::string name;   ///< of the field
    std::string owner;  ///< type of the node that has it, "" when untyped
    int location = -1;  ///< of that node, or the nearest one around it
  };
  /// The first field or list element without parts of its own that nobody looked up; fields named in `ignored` do not count.
  std::optional<Unread> FirstUnread(std::span<const std::string_view> ignored) const;

 private:
  friend class Node;
  friend class ParseTreeBuilder;
  enum class Kind : uint8_t { kNull, kInteger, kString, kList, kObject };

  struct Entry {
    Kind kind = Kind::kNull;
    bool typed = false;   ///< an object whose only field is an object named in capitals; the fields are one level down
    uint16_t key = 0;     ///< index in keys_; 0 = none
    uint32_t end = 0;     ///< index after the last entry of the subtree
    int64_t value = 0;    ///< integer, or offset in texts_
    uint32_t length = 0;  ///< of a string
  };

  uint32_t FirstField(uint32_t index) const { return index + (entries_[index].typed ? 2 : 1); }

  std::vector<Entry> entries_;
  std::vector<std::string> keys_;
  std::string texts_;
  mutable std::vector<bool> read_;  ///< one an entry: it was looked up by name or listed
};

}  // namespace icebound::sql
