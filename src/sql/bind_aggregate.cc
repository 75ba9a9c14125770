// SPDX-License-Identifier: Apache-2.0
//
// GROUP BY, HAVING and the calls of aggregate functions. A GROUP BY item is, in PostgreSQL's order: the position of a select
// item, a column of FROM, the name of a select item, any other expression over FROM.
#include <algorithm>

#include "expr/type_rules.h"
#include "sql/aggregation.h"
#include "sql/binder.h"
#include "sql/expr_binder.h"

namespace icebound::sql {

using expr::ExprPtr;

namespace {

std::string_view GroupingSetName(std::string_view kind) {
  if (kind == "GROUPING_SET_ROLLUP") return "ROLLUP";
  if (kind == "GROUPING_SET_CUBE") return "CUBE";
  if (kind == "GROUPING_SET_EMPTY") return "GROUP BY ()";
  return "GROUPING SETS";
}

bool TakesOrder(expr::AggregateKind kind) {
  using enum expr::AggregateKind;
  return kind == kFirst || kind == kLast || kind == kArrayAgg || kind == kStringAgg;
}

/// True when a value that comes again changes nothing.
bool IgnoresDuplicates(expr::AggregateKind kind) {
  using enum expr::AggregateKind;
  return kind == kMin || kind == kMax || kind == kBoolAnd || kind == kBoolOr || kind == kAnyValue;
}

bool HasOuterColumn(const expr::Expr& expr) {
  if (expr.kind() == expr::ExprKind::kOuterColumn) return true;
  return std::any_of(expr.children().begin(), expr.children().end(), [](const auto& child) { return HasOuterColumn(*child); });
}

/// Untyped NULL takes a type at last: it becomes a column.
arrow::Result<ExprPtr> Typed(ExprPtr expr) {
  return expr->type()->id() == arrow::Type::NA ? expr::CoerceTo(std::move(expr), arrow::utf8()) : arrow::Result<ExprPtr>(expr);
}

}  // namespace

arrow::Status Binder::CheckGroupable(const arrow::DataType& type, int offset) const {
  if (IsOrderable(type)) return arrow::Status::OK();
  return context_.Invalid(offset, "could not identify an equality operator for type {}", expr::SqlTypeName(type));
}

arrow::Status Binder::BindAggregation(const Node& select, QueryCore* core) {
  std::vector<Node> calls;
  for (const std::string_view field : {"targetList", "distinctClause", "havingClause", "sortClause"}) {
    AppendAggregateCalls(select[field], &calls);
  }
  const Node having = select["havingClause"];
  if (!select["groupClause"] && !having && calls.empty()) return arrow::Status::OK();
  auto aggregation = std::make_unique<Aggregation>(context_, *core->from.scope);
  ARROW_RETURN_NOT_OK(BindGroupBy(select, core, aggregation.get()));
  for (const Node& call : calls) {
    ARROW_ASSIGN_OR_RAISE(auto bound, BindAggregateCall(call, core));
    aggregation->AddCall(call.id(), std::move(bound));
  }
  core->from.plan = aggregation->MakeNode(core->from.plan);
  core->aggregation = std::move(aggregation);
  if (!having) return arrow::Status::OK();
  ExprBinder binder(context_, *this, PlaceOf(core, Clause::kHaving));
  ARROW_ASSIGN_OR_RAISE(ExprPtr predicate, binder.BindCondition(having, "HAVING"));
  ARROW_ASSIGN_OR_RAISE(predicate, core->aggregation->Finish(predicate));
  core->from.plan = std::make_shared<plan::FilterNode>(core->from.plan, std::move(predicate));
  return arrow::Status::OK();
}

arrow::Status Binder::BindGroupBy(const Node& select, QueryCore* core, Aggregation* aggregation) {
  if (select.Flag("groupDistinct")) {
    return context_.Unsupported(context_.KeywordBefore(select["groupClause"].FirstLocation(), "distinct"), "GROUP BY DISTINCT");
  }
  ExprBinder binder(context_, *this, PlaceOf(core, Clause::kGroupBy));
  for (const Node& item : select["groupClause"].items()) {
    if (item.Is("GroupingSet")) return context_.Unsupported(item.location(), GroupingSetName(item.Text("kind")));
    const int offset = item.FirstLocation();
    ARROW_ASSIGN_OR_RAISE(const std::optional<size_t> target, GroupTarget(item, core));
    ExprPtr group;
    if (target) {
      ARROW_ASSIGN_OR_RAISE(group, BindTarget(core->targets[*target], &binder));
    } else {
      ARROW_ASSIGN_OR_RAISE(group, binder.Bind(item));
    }
    ARROW_ASSIGN_OR_RAISE(group, Typed(std::move(group)));
    ARROW_RETURN_NOT_OK(CheckGroupable(*group->type(), offset));
    const int index = aggregation->AddGroup(std::move(group));
    if (target) aggregation->SetGroupOfTarget(*target, index);
  }
  return arrow::Status::OK();
}

arrow::Result<std::optional<size_t>> Binder::GroupTarget(const Node& item, QueryCore* core) {
  const int offset = item.FirstLocation();
  if (item.Is("A_Const")) {
    if (!item["ival"]) return context_.Invalid(offset, "non-integer constant in GROUP BY");
    const int64_t position = item["ival"].Integer("ival");
    if (position < 1 || position > static_cast<int64_t>(core->targets.size())) {
      return context_.Invalid(offset, "GROUP BY position {} is not in select list", position);
    }
    return static_cast<size_t>(position) - 1;
  }
  const std::vector<std::string> parts = item.Is("ColumnRef") ? NameParts(item["fields"]) : std::vector<std::string>();
  if (parts.size() != 1 || item["fields"].items().front().Is("A_Star")) return std::nullopt;
  if (core->from.scope->HasColumn(parts.front())) return std::nullopt;
  ExprBinder binder(context_, *this, PlaceOf(core, Clause::kGroupBy));
  for (const bool fold : {false, true}) {
    if (fold && !MayBeUnquoted(parts.front())) break;
    std::optional<size_t> found;
    for (size_t i = 0; i < core->targets.size(); ++i) {
      if (!NameMatches(parts.front(), core->targets[i].name, fold)) continue;
      if (found) {
        ARROW_ASSIGN_OR_RAISE(const ExprPtr first, BindTarget(core->targets[*found], &binder));
        ARROW_ASSIGN_OR_RAISE(const ExprPtr second, BindTarget(core->targets[i], &binder));
        if (!expr::Equals(*first, *second)) return context_.Invalid(offset, "GROUP BY \"{}\" is ambiguous", parts.front());
      }
      if (!found) found = i;
    }
    if (found) return found;
  }
  return std::nullopt;
}

arrow::Result<expr::AggregateCall> Binder::BindAggregateCall(const Node& node, QueryCore* core) {
  ARROW_RETURN_NOT_OK(context_.OnlyFields(node, {"funcname", "args", "agg_order", "agg_filter", "agg_within_group", "agg_star",
                                                 "agg_distinct", "func_variadic", "funcformat", "location"}));
  const int offset = node.location();
  const std::string name = NameParts(node["funcname"]).back();
  if (node.Flag("agg_within_group")) return context_.Unsupported(context_.KeywordAfter(offset, "within"), "WITHIN GROUP");
  if (node.Flag("func_variadic")) return context_.Unsupported(offset, "VARIADIC arguments");
  const std::vector<Node> nodes = node["args"].items();
  for (const Node& argument : nodes) {
    if (argument.Is("NamedArgExpr")) return context_.Unsupported(argument.location(), "named arguments of functions");
  }
  const bool star = node.Flag("agg_star");
  if (!star && nodes.empty()) {
    return context_.Invalid(offset, "{}(*) must be used to call a parameterless aggregate function", name);
  }
  ExprBinder binder(context_, *this, PlaceOf(core, Clause::kAggregate));
  ARROW_ASSIGN_OR_RAISE(std::vector<ExprPtr> arguments, binder.BindList(nodes));
  ARROW_ASSIGN_OR_RAISE(expr::AggregateCall call,
                        context_.Position(expr::MakeAggregate(name, arguments, star, expr::TextPosition{offset}), offset));
  call.distinct = node.Flag("agg_distinct");
  if (call.distinct) {
    for (const ExprPtr& argument : call.arguments) ARROW_RETURN_NOT_OK(CheckGroupable(*argument->type(), offset));
  }
  ARROW_RETURN_NOT_OK(BindAggregateOrder(node, arguments, &binder, &call));
  if (const Node filter = node["agg_filter"]) {
    ExprBinder condition(context_, *this, PlaceOf(core, Clause::kFilter));
    ARROW_ASSIGN_OR_RAISE(call.filter, condition.BindCondition(filter, "FILTER"));
  }
  // PostgreSQL computes such an aggregate in the query whose columns it has.
  const bool outer = std::any_of(arguments.begin(), arguments.end(), [](const ExprPtr& e) { return HasOuterColumn(*e); });
  const bool inner =
      std::any_of(arguments.begin(), arguments.end(), [](const ExprPtr& e) { return !expr::ReferencedColumns(*e).empty(); });
  if (outer && !inner) return context_.Unsupported(offset, "an aggregate over columns of an outer query");
  // What cannot change the result must not cost anything either.
  if (!TakesOrder(call.kind)) call.order_by.clear();
  if (IgnoresDuplicates(call.kind)) call.distinct = false;
  return call;
}

arrow::Status Binder::BindAggregateOrder(const Node& node, const std::vector<ExprPtr>& arguments, ExprBinder* binder,
                                         expr::AggregateCall* call) {
  for (const Node& sort_by : node["agg_order"].items()) {
    const int offset = sort_by.FirstLocation();
    expr::AggregateOrder& order = call->order_by.emplace_back();
    ARROW_ASSIGN_OR_RAISE(order.expr, binder->Bind(sort_by["node"]));
    ARROW_ASSIGN_OR_RAISE(const SortDirection direction, BindSortDirection(sort_by));
    order.descending = direction.descending;
    order.nulls_first = direction.nulls_first;
    const bool is_argument =
        std::any_of(arguments.begin(), arguments.end(), [&](const ExprPtr& a) { return expr::Equals(*a, *order.expr); });
    if (call->distinct && !is_argument) {
      return context_.Invalid(offset, "in an aggregate with DISTINCT, ORDER BY expressions must appear in argument list");
    }
  }
  return arrow::Status::OK();
}

}  // namespace icebound::sql
