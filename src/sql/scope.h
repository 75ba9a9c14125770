// SPDX-License-Identifier: Apache-2.0
//
// Which names a part of a statement may use. A scope holds the tables of one FROM clause; its parent is the scope of the query
// around it, so that a subquery sees outer columns. Each step to a parent crosses one plan::ApplyNode: levels_up below is the
// level of an expr::OuterColumnExpr.
//
// Names follow PostgreSQL: the parser has folded unquoted names to lower case. A name that matches no column exactly is taken for
// a column that differs in case only, when there is just one and the name has no capitals (so it can have been written without
// quotes): files have names like "L_ShipDate" that nobody wants to quote.
#pragma once

#include <arrow/result.h>
#include <arrow/type.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace icebound::sql {

/// One column that a name may mean.
struct ScopeColumn {
  std::shared_ptr<arrow::Field> field;  ///< renamed already when the alias lists columns
  int index = 0;                        ///< in the plan below
  bool qualified_only = false;          ///< merged by USING: reached as t.x, but neither as x nor by *
  bool hidden = false;                  ///< reached as x and t.x, but neither by * nor by NATURAL
};

/// One table of a FROM clause, or the columns that USING merged.
struct ScopeTable {
  std::vector<std::string>
      qualifier;  ///< {"t"} for an alias, {"schema", "t"} for a plain name; any suffix of it qualifies a column
  std::vector<ScopeColumn> columns;
};

/// Columns [first_column, first_column + fields.size()) of the plan below.
ScopeTable MakeScopeTable(std::vector<std::string> qualifier, const arrow::FieldVector& fields, int first_column = 0);

struct ResolvedColumn {
  int levels_up = 0;  ///< 0: this scope; 1: the query around it; ...
  int depth = 0;      ///< Scope::depth() of the scope that has the column
  int index = 0;      ///< column of that scope's plan
  std::shared_ptr<arrow::Field> field;
  size_t parts_used = 0;  ///< how many of the name's parts were taken; the rest are struct fields
};

/// Built while FROM is bound, read only afterwards. Not thread safe while built.
class Scope {
 public:
  /// How a scope stands to its parent.
  enum class Parent {
    kQuery,   ///< the query around this one
    kSibling  ///< tables further left in the same FROM clause, seen by LATERAL: a name that both have is ambiguous
  };
  /// What a column that Restrict leaves out is.
  enum class Restriction {
    kUngrouped,  ///< a column of a query with aggregates that is not grouped
    kOtherSide   ///< a column of the other side of an outer join
  };

  explicit Scope(const Scope* parent = nullptr, Parent kind = Parent::kQuery)
      : parent_(parent), parent_kind_(kind), depth_(parent ? parent->depth_ + 1 : 0) {}

  /// Fails when the name is taken ("table name "t" specified more than once"): the message has no position.
  arrow::Status AddTable(ScopeTable table);
  const std::vector<ScopeTable>& tables() const { return tables_; }
  /// Number of ancestors.
  int depth() const { return depth_; }

  /// From now on column i is column new_index[i] of the plan; those with -1 are an error.
  void Restrict(std::vector<int> new_index, Restriction why);
  /// True for the error of a column that Restriction::kOtherSide leaves out.
  static bool IsOtherSideError(const arrow::Status& status);

  /// Finds `c`, `t.c`, `s.t.c`, or the same followed by struct fields. Errors (kNotFound kinds are kInvalidInput here: a wrong
  /// statement) have no position.
  arrow::Result<ResolvedColumn> ResolveColumn(const std::vector<std::string>& parts) const;

  /// The table that `parts` qualify, for `t.*`.
  arrow::Result<const ScopeTable*> ResolveTable(const std::vector<std::string>& parts) const;

  /// True when a column of this scope itself has the name; it may be ambiguous.
  bool HasColumn(const std::string& name) const { return FindHere({name}, /*qualified=*/false).count > 0; }

  /// `t.c` for the column of the plan with this index, for messages; `fallback` when no table has it.
  std::string QualifiedName(int index, const std::string& fallback) const;

 private:
  struct Match {
    const ScopeColumn* column = nullptr;
    size_t parts_used = 0;
    int count = 0;
  };

  /// `qualified`: the name begins with a table's; else with a column's.
  Match FindHere(const std::vector<std::string>& parts, bool qualified) const;
  /// True when a table further left, seen by LATERAL, has the name, too.
  bool SiblingsHave(const std::vector<std::string>& parts, bool qualified) const;
  const ScopeTable* FindTable(const std::vector<std::string>& parts) const;
  arrow::Status NotFound(const std::vector<std::string>& parts) const;
  arrow::Status RestrictedError(const ScopeColumn& column) const;
  std::vector<std::string> ColumnNames() const;
  std::vector<std::string> TableNames() const;

  const Scope* parent_;
  Parent parent_kind_;
  int depth_;
  std::vector<ScopeTable> tables_;
  std::optional<std::vector<int>> new_index_;
  Restriction restriction_ = Restriction::kUngrouped;
};

/// True when `name` means `column`: equal, or (when `fold`) equal but for ASCII case.
bool NameMatches(std::string_view name, std::string_view column, bool fold);

/// True for names without ASCII capitals: they may have been written without quotes.
bool MayBeUnquoted(std::string_view name);

}  // namespace icebound::sql
