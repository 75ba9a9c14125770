// SPDX-License-Identifier: Apache-2.0
//
// Which names a part of a statement may use. A scope holds the tables of one FROM clause; its parent is the scope of the query
// around it, so that a subquery sees outer columns.
//
// Names follow PostgreSQL: the parser has folded unquoted names to lower case. A name that matches no column exactly is taken for
// a column that differs in case only, when there is just one and the name has no capitals (so it can have been written without
// quotes): files have names like "L_ShipDate" that nobody wants to quote.
#pragma once

#include <arrow/result.h>
#include <arrow/type.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace icebound::sql {

/// One table of a FROM clause: its columns stand at [first_column, first_column + columns.size()) of the plan below.
struct ScopeTable {
  std::vector<std::string>
      qualifier;               ///< {"t"} for an alias, {"schema", "t"} for a plain name; any suffix of it qualifies a column
  arrow::FieldVector columns;  ///< renamed already when the alias lists columns
  int first_column = 0;
};

struct ResolvedColumn {
  int levels_up = 0;  ///< 0: this scope; 1: the query around it; ...
  int index = 0;      ///< column of that scope's plan
  std::shared_ptr<arrow::Field> field;
  size_t parts_used = 0;  ///< how many of the name's parts were taken; the rest are struct fields
};

/// Built while FROM is bound, read only afterwards. Not thread safe while built.
class Scope {
 public:
  explicit Scope(const Scope* parent = nullptr) : parent_(parent) {}

  /// Fails when the name is taken ("table name "t" specified more than once"): the message has no position.
  arrow::Status AddTable(ScopeTable table);
  const std::vector<ScopeTable>& tables() const { return tables_; }

  /// Finds `c`, `t.c`, `s.t.c`, or the same followed by struct fields. Errors (kNotFound kinds are kInvalidInput here: a wrong
  /// statement) have no position.
  arrow::Result<ResolvedColumn> ResolveColumn(const std::vector<std::string>& parts) const;

  /// The table that `parts` qualify, for `t.*`.
  arrow::Result<const ScopeTable*> ResolveTable(const std::vector<std::string>& parts) const;

 private:
  struct Match {
    const ScopeTable* table = nullptr;
    int column = 0;
    size_t parts_used = 0;
    int count = 0;
  };

  Match FindHere(const std::vector<std::string>& parts) const;
  const ScopeTable* FindTable(const std::vector<std::string>& parts) const;
  arrow::Status NotFound(const std::vector<std::string>& parts) const;
  std::vector<std::string> ColumnNames() const;
  std::vector<std::string> TableNames() const;

  const Scope* const parent_;
  std::vector<ScopeTable> tables_;
};

/// True when `name` means `column`: equal, or (when `fold`) equal but for ASCII case.
bool NameMatches(std::string_view name, std::string_view column, bool fold);

/// True for names without ASCII capitals: they may have been written without quotes.
bool MayBeUnquoted(std::string_view name);

}  // namespace icebound::sql
