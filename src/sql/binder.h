// SPDX-License-Identifier: Apache-2.0
//
// Queries: the parser's SelectStmt to a logical plan. Every query becomes, from the bottom up,
//
//     FROM                       Scan, subquery, Values or one row without columns
//     WHERE                      Filter
//     select list                Project: the output columns, then hidden ones that only ORDER BY needs
//     ORDER BY                   Sort on columns of that projection
//     hidden columns dropped     Project
//     LIMIT / OFFSET             Limit
//
// which the optimizer then reshapes. Files: bind_from.cc (FROM, WITH), bind_select.cc (the select list), bind_order.cc (ORDER BY,
// LIMIT), bind_set.cc (UNION ALL, VALUES), bind_copy.cc (COPY, EXPLAIN).
#pragma once

#include <arrow/result.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "expr/expr.h"
#include "plan/logical_plan.h"
#include "sql/bind_context.h"
#include "sql/scope.h"

namespace icebound::sql {

/// A query named by WITH: bound once where it is defined, its plan shared by every use.
struct CommonTable {
  plan::PlanPtr plan;
  int64_t plan_nodes = 0;
  std::vector<BindContext::OneShotScan> one_shot_scans;
};

/// The WITH names that a query sees; the innermost scope wins.
class CommonTableScope {
 public:
  explicit CommonTableScope(const CommonTableScope* parent) : parent_(parent) {}
  bool Add(std::string name, CommonTable table) { return tables_.emplace(std::move(name), std::move(table)).second; }
  const CommonTable* Find(const std::string& name) const;
  /// All visible names, for suggestions.
  void AppendNames(std::vector<std::string>* names) const;

 private:
  const CommonTableScope* const parent_;
  std::map<std::string, CommonTable> tables_;
};

/// What surrounds a query.
struct QueryEnvironment {
  const CommonTableScope* common_tables = nullptr;
  const Scope* outer = nullptr;  ///< of the query around a correlated subquery
};

/// Binds queries of one statement. Not thread safe.
class Binder {
 public:
  explicit Binder(BindContext& context) : context_(context) {}

  /// Any SelectStmt; the plan's schema has the output columns. NULL and other untyped columns become text.
  arrow::Result<plan::PlanPtr> BindQuery(const Node& select, const QueryEnvironment& environment);

  /// COPY (query) TO 'file' and COPY table TO 'file'.
  arrow::Result<plan::PlanPtr> BindCopy(const Node& copy);

 private:
  /// A bound FROM clause.
  struct FromClause {
    plan::PlanPtr plan;
    std::unique_ptr<Scope> scope;
  };
  /// One table of it: the plan of its rows and the names it has.
  struct FromItem {
    plan::PlanPtr plan;
    ScopeTable table;
  };
  /// A SELECT before ORDER BY: what it reads and its output columns, expressions over `from`.
  struct QueryCore {
    FromClause from;
    std::vector<expr::ExprPtr> exprs;
    std::vector<std::string> names;
  };
  struct SortPlan {
    std::vector<plan::SortKey> keys;    ///< over the columns of the projection, hidden ones included
    std::vector<expr::ExprPtr> hidden;  ///< expressions to append to the projection
  };

  // bind_from.cc
  arrow::Status BindWith(const Node& with, const QueryEnvironment& environment, CommonTableScope* scope);
  arrow::Result<FromClause> BindFrom(const Node& select, const QueryEnvironment& environment);
  arrow::Result<FromItem> BindFromItem(const Node& node, const QueryEnvironment& environment);
  arrow::Result<FromItem> BindTableName(const Node& node, const QueryEnvironment& environment);
  arrow::Result<FromItem> BindTableFunction(const Node& node);
  arrow::Result<FromItem> BindSubquery(const Node& node, const QueryEnvironment& environment);
  arrow::Result<plan::PlanPtr> ScanOf(std::shared_ptr<plan::TableSource> source, const std::string& name, int offset);
  arrow::Result<FromItem> Aliased(FromItem item, const Node& alias, int offset);
  arrow::Status UnknownTable(const arrow::Status& status, const std::vector<std::string>& parts,
                             const QueryEnvironment& environment, int offset);

  // bind_select.cc
  arrow::Result<plan::PlanPtr> BindQueryBody(const Node& select, const QueryEnvironment& environment);
  arrow::Result<plan::PlanPtr> BindPlainSelect(const Node& select, const QueryEnvironment& environment);
  arrow::Status CheckSupportedClauses(const Node& select);
  arrow::Status BindTargets(const Node& select, QueryCore* core);
  arrow::Status ExpandStar(const Node& column_ref, QueryCore* core);
  plan::PlanPtr TypeUntypedColumns(plan::PlanPtr plan);

  // bind_order.cc
  arrow::Result<SortPlan> BindOrderBy(const Node& select, const QueryCore& core);
  arrow::Result<plan::PlanPtr> SortOutput(const Node& select, plan::PlanPtr plan);
  arrow::Result<std::optional<int>> OutputColumn(const Node& item, const std::vector<std::string>& names,
                                                 const std::vector<expr::ExprPtr>& exprs);
  arrow::Result<plan::SortKey> KeyOf(const Node& sort_by, int column, const arrow::Field& field);
  arrow::Result<plan::PlanPtr> ApplyLimit(const Node& select, plan::PlanPtr plan);
  arrow::Result<std::optional<int64_t>> BindRowCount(const Node& node, std::string_view clause);

  // bind_set.cc
  arrow::Result<plan::PlanPtr> BindValues(const Node& select);
  arrow::Result<plan::PlanPtr> BindSetOperation(const Node& select, const QueryEnvironment& environment);
  arrow::Result<std::vector<Node>> UnionBranches(const Node& select);
  arrow::Result<plan::PlanPtr> UnifyAndUnion(std::vector<plan::PlanPtr> branches, const std::vector<int>& offsets);

  // bind_copy.cc
  arrow::Result<plan::PlanPtr> BindCopySource(const Node& copy);
  arrow::Result<std::map<std::string, std::string>> BindCopyOptions(const Node& copy);

  BindContext& context_;
};

/// The columns of `plan` as expressions.
std::vector<expr::ExprPtr> ColumnsOf(const plan::LogicalPlan& plan);

}  // namespace icebound::sql
