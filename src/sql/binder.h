// SPDX-License-Identifier: Apache-2.0
//
// Queries: the parser's SelectStmt to a logical plan. Every query becomes, from the bottom up,
//
//     FROM                       Scan, subquery, Values or one row without columns; joins, lateral ones as Apply
//     WHERE                      Filter
//     GROUP BY, aggregates       Aggregate, whose output is the groups, then the aggregates
//     HAVING                     Filter
//     select list                Project: the output columns, then hidden ones that only ORDER BY needs
//     DISTINCT                   Aggregate over the output columns
//     ORDER BY                   Sort on columns of that projection
//     hidden columns dropped     Project
//     LIMIT / OFFSET             Limit
//
// which the optimizer then reshapes. A subquery in an expression is an Apply below the step that uses it; it adds a column to the
// rows there, behind all that names can reach. Files: bind_from.cc (FROM, WITH), bind_join.cc (JOIN), bind_select.cc (the select
// list), bind_aggregate.cc (GROUP BY), bind_distinct.cc (DISTINCT), bind_order.cc (ORDER BY, LIMIT), bind_set.cc (UNION and its
// kind, VALUES), bind_copy.cc (COPY), bind_view.cc (views).
#pragma once

#include <arrow/result.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "expr/expr.h"
#include "plan/logical_plan.h"
#include "sql/aggregation.h"
#include "sql/bind_context.h"
#include "sql/expr_binder.h"
#include "sql/scope.h"

namespace icebound::sql {

/// A query named by WITH: bound once where it is defined, its plan shared by every use.
struct CommonTable {
  plan::PlanPtr plan;
  int64_t plan_nodes = 0;
  std::vector<BindContext::OneShotScan> one_shot_scans;
  /// Set when the query uses columns of queries around it: the depth at which its plan may stand.
  std::optional<int> bound_depth;
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
  const Scope* outer = nullptr;    ///< of the query around a correlated subquery
  const Scope* lateral = nullptr;  ///< what LATERAL items of this FROM clause see when that is more; as deep as `outer`
};

/// Binds queries of one statement. Not thread safe.
class Binder {
 public:
  explicit Binder(BindContext& context) : context_(context) {}

  /// Any SelectStmt; the plan's schema has the output columns. NULL and other untyped columns become text.
  arrow::Result<plan::PlanPtr> BindQuery(const Node& select, const QueryEnvironment& environment);

  /// COPY (query) TO 'file' and COPY table TO 'file'.
  arrow::Result<plan::PlanPtr> BindCopy(const Node& copy);

  /// CREATE [OR REPLACE] VIEW: the view's query, and its name.
  arrow::Result<plan::PlanPtr> BindCreateView(const Node& view, std::vector<std::string>* name);
  /// DROP VIEW: the names of the views that exist. `begin` is where the statement does.
  arrow::Result<std::vector<std::vector<std::string>>> BindDropView(const Node& drop, int begin);

 private:
  /// A bound FROM clause.
  struct FromClause {
    plan::PlanPtr plan;
    std::unique_ptr<Scope> scope;
  };
  /// A part of it, a table or a join: the plan of its rows and the names in it.
  struct FromItem {
    plan::PlanPtr plan;
    std::vector<ScopeTable> tables;
  };
  /// One item of the select list; stars are expanded.
  struct Target {
    Node value;                       ///< the expression; for a star the star itself
    std::optional<ScopeColumn> star;  ///< the column, when it comes from a star
    std::string name;                 ///< as PostgreSQL would call it
    bool has_alias = false;
  };
  /// A SELECT before ORDER BY: what it reads and its output columns, expressions over `from`.
  struct QueryCore {
    const CommonTableScope* common_tables = nullptr;
    FromClause from;
    std::unique_ptr<Aggregation> aggregation;  ///< null: none
    std::vector<Target> targets;
    std::vector<expr::ExprPtr> exprs;
    std::vector<std::string> names;
  };
  struct SortPlan {
    std::vector<plan::SortKey> keys;    ///< over the columns of the projection, hidden ones included
    std::vector<expr::ExprPtr> hidden;  ///< expressions to append to the projection
  };
  struct SortDirection {
    bool descending = false;
    bool nulls_first = false;
  };
  /// What a join's parts are called in the tree, and what they became.
  struct JoinSides {
    FromItem left;
    FromItem right;
    expr::JoinType type = expr::JoinType::kInner;
    bool lateral = false;  ///< the right side uses columns of the left
    int offset = -1;       ///< of the right side
  };

  /// A column that USING or NATURAL merges.
  struct UsingName {
    std::string name;
    int offset = -1;
  };

  /// Where an expression of the query stands.
  ExprPlace PlaceOf(QueryCore* core, Clause clause) {
    return {*core->from.scope, clause, core->common_tables, &core->from.plan, core->aggregation.get()};
  }

  // bind_from.cc
  arrow::Status BindWith(const Node& with, const QueryEnvironment& environment, CommonTableScope* scope);
  arrow::Result<CommonTable> BindCommonTable(const Node& common, const QueryEnvironment& environment);
  arrow::Result<FromClause> BindFrom(const Node& select, const QueryEnvironment& environment);
  arrow::Result<FromItem> BindFromItem(const Node& node, const QueryEnvironment& environment);
  arrow::Result<FromItem> BindTableName(const Node& node, const QueryEnvironment& environment);
  arrow::Result<std::optional<plan::PlanPtr>> BindNamedQuery(const std::vector<std::string>& parts,
                                                             const QueryEnvironment& environment, int offset);
  arrow::Result<FromItem> BindTableFunction(const Node& node);
  arrow::Result<FromItem> BindPath(const Node& function, const Node& alias, int offset);
  arrow::Result<FromItem> BindCsv(const Node& function, const Node& alias, int offset);
  arrow::Result<FromItem> BindIceberg(const Node& function, const Node& alias, int offset);
  arrow::Status BindIcebergOption(const Node& argument, plan::IcebergReference* reference);
  arrow::Result<FromItem> BindSeries(const Node& function, const Node& alias, int offset);
  arrow::Result<plan::SeriesBounds> BindSeriesBounds(const Node& function, int offset);
  arrow::Result<FromItem> BindSubquery(const Node& node, const QueryEnvironment& environment);
  /// Scans a table; a query counts as one more use of its tables.
  arrow::Result<plan::PlanPtr> PlanOf(plan::ResolvedTable table, const std::string& name, int offset);
  arrow::Result<plan::PlanPtr> ScanOf(std::shared_ptr<plan::TableSource> source, const std::string& name, int offset);
  arrow::Result<FromItem> Aliased(plan::PlanPtr plan, ScopeTable table, const Node& alias, int offset, int hidden_columns = 0);
  arrow::Status UnknownTable(const arrow::Status& status, const std::vector<std::string>& parts,
                             const QueryEnvironment& environment, int offset);
  arrow::Status AddTables(const FromItem& item, Scope* scope, int offset);

  // bind_join.cc
  arrow::Result<FromItem> BindJoin(const Node& node, const QueryEnvironment& environment);
  arrow::Result<FromItem> BindRightSide(const Node& node, const FromItem& left, const QueryEnvironment& environment);
  arrow::Result<FromItem> JoinOn(JoinSides sides, const Node& condition, const QueryEnvironment& environment);
  arrow::Result<FromItem> JoinOnSubqueries(JoinSides sides, const Node& condition, const QueryEnvironment& environment);
  /// A conjunct with subqueries over one side of an outer join, which it extends; `left` tells which.
  arrow::Result<expr::ExprPtr> BindOneSided(const Node& conjunct, std::string_view construct, JoinSides* sides,
                                            const QueryEnvironment& environment, bool* left);
  arrow::Result<FromItem> JoinUsing(JoinSides sides, const std::vector<UsingName>& names, const Node& alias);
  arrow::Result<std::vector<UsingName>> UsingNames(const Node& join);
  arrow::Result<std::vector<UsingName>> NaturalNames(const JoinSides& sides, int offset);
  arrow::Result<ScopeColumn*> ColumnForUsing(FromItem* side, const std::string& name, std::string_view side_name, int offset);
  arrow::Status CheckWidth(const JoinSides& sides);
  FromItem Combine(JoinSides sides, expr::JoinCondition condition);

  // bind_select.cc
  arrow::Result<plan::PlanPtr> BindQueryBody(const Node& select, const QueryEnvironment& environment);
  arrow::Result<plan::PlanPtr> BindPlainSelect(const Node& select, const QueryEnvironment& environment);
  arrow::Status CheckSupportedClauses(const Node& select);
  arrow::Status ExpandTargets(const Node& select, QueryCore* core);
  arrow::Status ExpandStar(const Node& column_ref, QueryCore* core);
  arrow::Status BindTargets(QueryCore* core);
  arrow::Result<expr::ExprPtr> BindTarget(const Target& target, ExprBinder* binder);
  plan::PlanPtr ProjectOutput(QueryCore* core, std::vector<expr::ExprPtr> hidden);
  plan::PlanPtr TypeUntypedColumns(plan::PlanPtr plan);

  // bind_aggregate.cc
  arrow::Status BindAggregation(const Node& select, QueryCore* core);
  arrow::Status BindGroupBy(const Node& select, QueryCore* core, Aggregation* aggregation);
  arrow::Result<std::optional<size_t>> GroupTarget(const Node& item, QueryCore* core);
  arrow::Result<expr::AggregateCall> BindAggregateCall(const Node& node, QueryCore* core);
  arrow::Status BindAggregateOrder(const Node& node, const std::vector<expr::ExprPtr>& arguments, ExprBinder* binder,
                                   expr::AggregateCall* call);
  arrow::Status CheckGroupable(const arrow::DataType& type, int offset) const;

  // bind_distinct.cc
  arrow::Result<plan::PlanPtr> DistinctRows(plan::PlanPtr plan, int offset);
  arrow::Result<plan::PlanPtr> BindDistinct(const Node& select, QueryCore* core);
  arrow::Result<plan::PlanPtr> BindDistinctOn(const Node& select, QueryCore* core);

  // bind_order.cc
  arrow::Result<SortPlan> BindOrderBy(const Node& select, QueryCore* core);
  arrow::Result<int> ProjectedColumn(const Node& item, QueryCore* core, std::vector<expr::ExprPtr>* hidden);
  arrow::Result<plan::PlanPtr> SortOutput(const Node& select, plan::PlanPtr plan);
  arrow::Result<std::optional<int>> OutputColumn(const Node& item, const std::vector<std::string>& names,
                                                 const std::vector<expr::ExprPtr>& exprs, std::string_view clause);
  arrow::Result<plan::SortKey> KeyOf(const Node& sort_by, int column, const arrow::Field& field);
  arrow::Result<SortDirection> BindSortDirection(const Node& sort_by);
  arrow::Result<plan::PlanPtr> ApplyLimit(const Node& select, plan::PlanPtr plan);
  arrow::Result<std::optional<int64_t>> BindRowCount(const Node& node, std::string_view clause);

  // bind_set.cc
  arrow::Result<plan::PlanPtr> BindValues(const Node& select, const QueryEnvironment& environment);
  arrow::Result<plan::PlanPtr> BindSetOperation(const Node& select, const QueryEnvironment& environment);
  arrow::Result<std::vector<Node>> SetBranches(const Node& select);
  arrow::Status UnifyBranches(std::string_view operation, std::vector<plan::PlanPtr>* branches, const std::vector<int>& offsets);

  // bind_copy.cc
  arrow::Result<plan::PlanPtr> BindCopySource(const Node& copy);
  arrow::Result<std::map<std::string, std::string>> BindCopyOptions(const Node& copy);

  BindContext& context_;
};

/// Maps have no order (and no equality) in SQL, also inside lists and structs.
bool IsOrderable(const arrow::DataType& type);

/// True when the part of FROM has a LATERAL item of its own.
bool HasLateral(const Node& from_item);

/// The columns of `plan` as expressions.
std::vector<expr::ExprPtr> ColumnsOf(const plan::LogicalPlan& plan);

}  // namespace icebound::sql
