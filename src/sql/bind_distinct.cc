// SPDX-License-Identifier: Apache-2.0
//
// SELECT DISTINCT groups by all output columns. SELECT DISTINCT ON (x) groups by x and keeps, of each group, the first row in
// ORDER BY's order:
//
//     SELECT DISTINCT ON (x) a FROM t ORDER BY x, y
//       Project: a, x, y  ->  Aggregate: groups=[x] aggregates=[first(a ORDER BY y, a)]  ->  Sort: x  ->  Project: a
//
// Every first() has the same order with all output columns at its end: they agree on the row, and which of equal rows it is does
// not depend on the run.
#include <algorithm>

#include "sql/binder.h"

namespace icebound::sql {

using expr::ExprPtr;
using plan::PlanPtr;

arrow::Result<PlanPtr> Binder::DistinctRows(PlanPtr plan, int offset) {
  plan = TypeUntypedColumns(std::move(plan));
  for (const auto& field : plan->schema()->fields()) ARROW_RETURN_NOT_OK(CheckGroupable(*field->type(), offset));
  std::vector<ExprPtr> columns = ColumnsOf(*plan);
  std::vector<std::string> names = plan->schema()->field_names();
  return std::make_shared<plan::AggregateNode>(std::move(plan), std::move(columns), std::vector<expr::AggregateCall>(),
                                               std::move(names));
}

arrow::Result<PlanPtr> Binder::BindDistinct(const Node& select, QueryCore* core) {
  if (!select["distinctClause"].items().front().is_empty_object()) return BindDistinctOn(select, core);
  SortPlan sort;
  for (const Node& sort_by : select["sortClause"].items()) {
    const Node item = sort_by["node"];
    ARROW_ASSIGN_OR_RAISE(const std::optional<int> output, OutputColumn(item, core->names, core->exprs, "ORDER BY"));
    int column = output.value_or(-1);
    if (!output) {
      ARROW_ASSIGN_OR_RAISE(column, ProjectedColumn(item, core, &sort.hidden));
    }
    const size_t index = static_cast<size_t>(column);
    if (index >= core->exprs.size()) {
      return context_.Invalid(item.FirstLocation(), "for SELECT DISTINCT, ORDER BY expressions must appear in select list");
    }
    const arrow::Field field(core->names[index], core->exprs[index]->type());
    ARROW_ASSIGN_OR_RAISE(sort.keys.emplace_back(), KeyOf(sort_by, column, field));
  }
  ARROW_ASSIGN_OR_RAISE(PlanPtr plan, DistinctRows(ProjectOutput(core, {}), select["targetList"].FirstLocation()));
  if (sort.keys.empty()) return plan;
  return std::make_shared<plan::SortNode>(std::move(plan), std::move(sort.keys), std::nullopt);
}

arrow::Result<PlanPtr> Binder::BindDistinctOn(const Node& select, QueryCore* core) {
  ARROW_ASSIGN_OR_RAISE(SortPlan sort, BindOrderBy(select, core));
  std::vector<int> on;
  for (const Node& item : select["distinctClause"].items()) {
    ARROW_ASSIGN_OR_RAISE(const std::optional<int> output, OutputColumn(item, core->names, core->exprs, "DISTINCT ON"));
    int column = output.value_or(-1);
    if (!output) {
      ARROW_ASSIGN_OR_RAISE(column, ProjectedColumn(item, core, &sort.hidden));
    }
    if (std::find(on.begin(), on.end(), column) == on.end()) on.push_back(column);
  }
  const auto column_of = [](const plan::SortKey& key) { return static_cast<const expr::ColumnExpr&>(*key.expr).index(); };
  const auto is_on = [&](const plan::SortKey& key) { return std::find(on.begin(), on.end(), column_of(key)) != on.end(); };
  const size_t leading = static_cast<size_t>(std::find_if_not(sort.keys.begin(), sort.keys.end(), is_on) - sort.keys.begin());
  const bool covered = std::all_of(on.begin(), on.end(), [&](int column) {
    return std::any_of(sort.keys.begin(), sort.keys.begin() + static_cast<ptrdiff_t>(leading),
                       [&](const plan::SortKey& key) { return column_of(key) == column; });
  });
  if (leading < sort.keys.size() && !covered) {
    return context_.Invalid(select["distinctClause"].FirstLocation(),
                            "SELECT DISTINCT ON expressions must match initial ORDER BY expressions");
  }

  const size_t visible = core->exprs.size();
  PlanPtr plan = TypeUntypedColumns(ProjectOutput(core, std::move(sort.hidden)));
  const std::vector<ExprPtr> columns = ColumnsOf(*plan);
  std::vector<expr::AggregateOrder> order;
  for (size_t i = leading; i < sort.keys.size(); ++i) {
    order.push_back({columns[static_cast<size_t>(column_of(sort.keys[i]))], sort.keys[i].descending, sort.keys[i].nulls_first});
  }
  for (size_t i = 0; i < visible; ++i) {
    ARROW_RETURN_NOT_OK(CheckGroupable(*columns[i]->type(), select["targetList"].FirstLocation()));
    if (std::find(on.begin(), on.end(), static_cast<int>(i)) == on.end()) order.push_back({columns[i], false, false});
  }
  std::vector<ExprPtr> groups;
  std::vector<std::string> names;
  std::vector<int> new_index(columns.size(), -1);
  for (const int column : on) {
    new_index[static_cast<size_t>(column)] = static_cast<int>(groups.size());
    groups.push_back(columns[static_cast<size_t>(column)]);
    ARROW_RETURN_NOT_OK(CheckGroupable(*groups.back()->type(), select["distinctClause"].FirstLocation()));
    names.push_back(plan->schema()->field(column)->name());
  }
  std::vector<expr::AggregateCall> calls;
  for (size_t i = 0; i < visible; ++i) {
    if (new_index[i] >= 0) continue;
    new_index[i] = static_cast<int>(groups.size() + calls.size());
    ARROW_ASSIGN_OR_RAISE(expr::AggregateCall call, expr::MakeAggregate("first", {columns[i]}, /*star=*/false, {}));
    call.order_by = order;
    calls.push_back(std::move(call));
    names.push_back(core->names[i]);
  }
  plan = std::make_shared<plan::AggregateNode>(std::move(plan), std::move(groups), std::move(calls), std::move(names));
  // One row of each group is left: the keys that make the groups decide its place.
  std::vector<plan::SortKey> keys;
  for (size_t i = 0; i < leading; ++i) {
    const int column = new_index[static_cast<size_t>(column_of(sort.keys[i]))];
    keys.push_back({expr::MakeColumn(column, *plan->schema()->field(column)), sort.keys[i].descending, sort.keys[i].nulls_first});
  }
  if (!keys.empty()) plan = std::make_shared<plan::SortNode>(std::move(plan), std::move(keys), std::nullopt);
  std::vector<ExprPtr> outputs;
  for (size_t i = 0; i < visible; ++i) outputs.push_back(expr::MakeColumn(new_index[i], *plan->schema()->field(new_index[i])));
  return std::make_shared<plan::ProjectNode>(std::move(plan), std::move(outputs), core->names);
}

}  // namespace icebound::sql
