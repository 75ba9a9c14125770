// SPDX-License-Identifier: Apache-2.0
//
// ORDER BY, LIMIT, OFFSET, FETCH. An ORDER BY item is, in this order: the position of an output column, the name of one, an
// expression over the input that equals an output column's, any other expression over the input (which becomes a hidden column).
#include <algorithm>

#include "expr/type_rules.h"
#include "sql/binder.h"
#include "sql/expr_binder.h"

namespace icebound::sql {

using plan::PlanPtr;

bool IsOrderable(const arrow::DataType& type) {
  if (type.id() == arrow::Type::MAP) return false;
  return std::all_of(type.fields().begin(), type.fields().end(), [](const auto& field) { return IsOrderable(*field->type()); });
}

arrow::Result<Binder::SortDirection> Binder::BindSortDirection(const Node& sort_by) {
  const int offset = sort_by.FirstLocation();
  // Every type has an order here, also those that PostgreSQL does not have: a map goes by its entries, as they are stored.
  if (sort_by["useOp"]) return context_.Unsupported(offset, "ORDER BY ... USING");
  ARROW_RETURN_NOT_OK(context_.OnlyFields(sort_by, {"node", "sortby_dir", "sortby_nulls", "location"}));
  SortDirection direction;
  direction.descending = sort_by.Text("sortby_dir") == "SORTBY_DESC";
  const std::string_view nulls = sort_by.Text("sortby_nulls");
  direction.nulls_first = nulls == "SORTBY_NULLS_FIRST" || (nulls != "SORTBY_NULLS_LAST" && direction.descending);
  return direction;
}

arrow::Result<plan::SortKey> Binder::KeyOf(const Node& sort_by, int column, const arrow::Field& field) {
  ARROW_ASSIGN_OR_RAISE(const SortDirection direction, BindSortDirection(sort_by));
  return plan::SortKey{expr::MakeColumn(column, field, {sort_by.FirstLocation()}), direction.descending, direction.nulls_first};
}

arrow::Result<std::optional<int>> Binder::OutputColumn(const Node& item, const std::vector<std::string>& names,
                                                       const std::vector<expr::ExprPtr>& exprs, std::string_view clause) {
  const int offset = item.FirstLocation();
  if (item.Is("A_Const")) {
    if (!item["ival"]) return context_.Invalid(offset, "non-integer constant in {}", clause);
    const int64_t position = item["ival"].Integer("ival");
    if (position < 1 || position > static_cast<int64_t>(names.size())) {
      return context_.Invalid(offset, "{} position {} is not in select list", clause, position);
    }
    return static_cast<int>(position) - 1;
  }
  const std::vector<std::string> parts = item.Is("ColumnRef") ? NameParts(item["fields"]) : std::vector<std::string>();
  if (parts.size() != 1 || item["fields"].items().front().Is("A_Star")) return std::nullopt;
  for (const bool fold : {false, true}) {
    if (fold && !MayBeUnquoted(parts.front())) break;
    std::optional<int> found;
    for (size_t i = 0; i < names.size(); ++i) {
      if (!NameMatches(parts.front(), names[i], fold)) continue;
      const bool same = found && expr::Equals(*exprs[static_cast<size_t>(*found)], *exprs[i]);
      if (found && !same) return context_.Invalid(offset, "{} \"{}\" is ambiguous", clause, parts.front());
      if (!found) found = static_cast<int>(i);
    }
    if (found) return found;
  }
  return std::nullopt;
}

arrow::Result<int> Binder::ProjectedColumn(const Node& item, QueryCore* core, std::vector<expr::ExprPtr>* hidden) {
  ExprBinder binder(context_, *this, PlaceOf(core, Clause::kOrderBy));
  ARROW_ASSIGN_OR_RAISE(expr::ExprPtr bound, binder.Bind(item));
  if (core->aggregation) {
    ARROW_ASSIGN_OR_RAISE(bound, core->aggregation->Finish(bound));
  }
  std::vector<expr::ExprPtr> available = core->exprs;
  available.insert(available.end(), hidden->begin(), hidden->end());
  const auto same =
      std::find_if(available.begin(), available.end(), [&](const auto& expr) { return expr::Equals(*expr, *bound); });
  if (same != available.end() && expr::IsDeterministic(*bound)) return static_cast<int>(same - available.begin());
  hidden->push_back(std::move(bound));
  return static_cast<int>(available.size());
}

arrow::Result<Binder::SortPlan> Binder::BindOrderBy(const Node& select, QueryCore* core) {
  SortPlan sort;
  for (const Node& sort_by : select["sortClause"].items()) {
    const Node item = sort_by["node"];
    ARROW_ASSIGN_OR_RAISE(const std::optional<int> output, OutputColumn(item, core->names, core->exprs, "ORDER BY"));
    int column = output.value_or(-1);
    if (!output) {
      ARROW_ASSIGN_OR_RAISE(column, ProjectedColumn(item, core, &sort.hidden));
    }
    const size_t index = static_cast<size_t>(column);
    const bool visible = index < core->exprs.size();
    const expr::Expr& expr = visible ? *core->exprs[index] : *sort.hidden[index - core->exprs.size()];
    const arrow::Field field(visible ? core->names[index] : expr.ToString(), expr.type());
    ARROW_ASSIGN_OR_RAISE(sort.keys.emplace_back(), KeyOf(sort_by, column, field));
  }
  return sort;
}

arrow::Result<PlanPtr> Binder::SortOutput(const Node& select, PlanPtr plan) {
  const std::vector<std::string> names = plan->schema()->field_names();
  const std::vector<expr::ExprPtr> columns = ColumnsOf(*plan);
  std::vector<plan::SortKey> keys;
  for (const Node& sort_by : select["sortClause"].items()) {
    const Node item = sort_by["node"];
    ARROW_ASSIGN_OR_RAISE(const std::optional<int> column, OutputColumn(item, names, columns, "ORDER BY"));
    if (!column) {
      const std::vector<std::string> parts = item.Is("ColumnRef") ? NameParts(item["fields"]) : std::vector<std::string>();
      if (parts.size() == 1) {
        Scope outputs;
        ARROW_RETURN_NOT_OK(outputs.AddTable(MakeScopeTable({}, plan->schema()->fields())));
        return context_.Position(outputs.ResolveColumn(parts).status(), item.FirstLocation());
      }
      return context_.Invalid(item.FirstLocation(),
                              "ORDER BY of a UNION or VALUES takes the names and positions of output columns, no expressions");
    }
    ARROW_ASSIGN_OR_RAISE(keys.emplace_back(), KeyOf(sort_by, *column, *plan->schema()->field(*column)));
  }
  if (keys.empty()) return plan;
  return std::make_shared<plan::SortNode>(std::move(plan), std::move(keys), std::nullopt);
}

arrow::Result<PlanPtr> Binder::ApplyLimit(const Node& select, PlanPtr plan) {
  const std::string_view option = select.Text("limitOption");
  if (option == "LIMIT_OPTION_WITH_TIES") {
    return context_.Unsupported(context_.KeywordAfter(select["limitCount"].FirstLocation(), "ties"), "WITH TIES");
  }
  ARROW_ASSIGN_OR_RAISE(const auto limit, BindRowCount(select["limitCount"], "LIMIT"));
  ARROW_ASSIGN_OR_RAISE(const auto offset, BindRowCount(select["limitOffset"], "OFFSET"));
  if (!limit && offset.value_or(0) == 0) return plan;
  return std::make_shared<plan::LimitNode>(std::move(plan), limit, offset.value_or(0));
}

arrow::Result<std::optional<int64_t>> Binder::BindRowCount(const Node& node, std::string_view clause) {
  if (!node) return std::nullopt;
  const Scope no_columns;
  ExprBinder binder(context_, *this, {no_columns, Clause::kLimit});
  ARROW_ASSIGN_OR_RAISE(const auto value, binder.BindConstantValue(node, arrow::int64()));
  if (!value) return std::nullopt;  // LIMIT ALL, LIMIT NULL
  const int64_t rows = static_cast<const arrow::Int64Scalar&>(*value).value;
  if (rows < 0) return context_.Invalid(node.FirstLocation(), "{} must not be negative", clause);
  return rows;
}

}  // namespace icebound::sql
