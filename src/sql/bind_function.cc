// SPDX-License-Identifier: Apache-2.0
//
// Function calls, also those that SQL spells with keywords, and the names that PostgreSQL gives columns without an alias.
#include <algorithm>
#include <array>

#include "expr/aggregate.h"
#include "expr/functions.h"
#include "sql/aggregation.h"
#include "sql/expr_binder.h"
#include "sql/nearest_name.h"

namespace icebound::sql {

using expr::ExprPtr;

namespace {

// Names that are aggregate or window functions in PostgreSQL and not here, so that they are told apart from typing errors.
constexpr std::array<std::string_view, 22> kOtherAggregates = {
    "bit_and",    "bit_or",          "bit_xor",   "corr",       "covar_pop",       "covar_samp",
    "json_agg",   "json_object_agg", "jsonb_agg", "mode",       "percentile_cont", "percentile_disc",
    "range_agg",  "regr_avgx",       "regr_avgy", "regr_count", "regr_intercept",  "regr_r2",
    "regr_slope", "regr_sxx",        "regr_sxy",  "regr_syy"};
constexpr std::array<std::string_view, 11> kWindowFunctions = {"row_number",  "rank",       "dense_rank", "percent_rank",
                                                               "cume_dist",   "ntile",      "lag",        "lead",
                                                               "first_value", "last_value", "nth_value"};

template <typename Names>
bool Contains(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// How strongly PostgreSQL holds to a name: a CASE takes its ELSE's name only when that is a column or function.
enum class NameStrength { kNone, kWeak, kStrong };

NameStrength FindName(const Node& node, std::string* name) {
  const std::string_view type = node.type();
  auto strong = [&](std::string_view text) {
    *name = text;
    return NameStrength::kStrong;
  };
  auto weak = [&](std::string_view text) {
    *name = text;
    return NameStrength::kWeak;
  };
  if (type == "ColumnRef") {
    const Node last = node["fields"].items().back();
    return last.Is("String") ? strong(last.Text("sval")) : NameStrength::kNone;
  }
  if (type == "A_Indirection") {
    for (const Node& step : node["indirection"].items()) {
      if (step.Is("String")) *name = step.Text("sval");
    }
    return name->empty() ? FindName(node["arg"], name) : NameStrength::kStrong;
  }
  if (type == "FuncCall") return strong(node["funcname"].items().back().Text("sval"));
  if (type == "A_Expr" && node.Text("kind") == "AEXPR_NULLIF") return strong("nullif");
  if (type == "CoalesceExpr") return strong("coalesce");
  if (type == "MinMaxExpr") return strong(node.Text("op") == "IS_GREATEST" ? "greatest" : "least");
  if (type == "SQLValueFunction") {
    std::string op(node.Text("op").substr(6));  // after "SVFOP_"
    if (op.ends_with("_N")) op.resize(op.size() - 2);
    std::transform(op.begin(), op.end(), op.begin(), [](char c) { return c == '_' ? c : static_cast<char>(c - 'A' + 'a'); });
    return strong(op);
  }
  if (type == "SubLink") {
    if (node.Text("subLinkType") == "EXISTS_SUBLINK") return strong("exists");
    if (node.Text("subLinkType") != "EXPR_SUBLINK") return NameStrength::kNone;
    Node select = node["subselect"];
    while (select["larg"]) select = select["larg"];
    const std::vector<Node> targets = select["targetList"].items();
    if (targets.empty()) return NameStrength::kNone;
    return targets.front()["name"] ? strong(targets.front().Text("name")) : FindName(targets.front()["val"], name);
  }
  if (type == "CollateClause") return FindName(node["arg"], name);
  if (type == "TypeCast") {
    const NameStrength strength = FindName(node["arg"], name);
    return strength == NameStrength::kNone ? weak(InternalTypeName(node["typeName"])) : strength;
  }
  if (type == "CaseExpr") {
    std::string otherwise;
    if (node["defresult"] && FindName(node["defresult"], &otherwise) == NameStrength::kStrong) return strong(otherwise);
    return weak("case");
  }
  return NameStrength::kNone;
}

}  // namespace

std::string DefaultColumnName(const Node& expression) {
  std::string name;
  return FindName(expression, &name) == NameStrength::kNone ? "?column?" : name;
}

arrow::Result<ExprPtr> ExprBinder::BindFunction(const Node& node) {
  const int offset = node.location();
  std::vector<std::string> parts = NameParts(node["funcname"]);
  const std::string name = parts.back();
  if (node["over"]) return context_.Unsupported(offset, "window functions");
  const std::string_view clause = Contains(kWindowFunctions, name) ? "window functions" : "aggregate functions";
  if (Contains(kOtherAggregates, name) || Contains(kWindowFunctions, name)) {
    return context_.Unsupported(offset, fmt::format("{} ({})", clause, name));
  }
  if (parts.size() > 2 || (parts.size() == 2 && parts.front() != "pg_catalog")) {
    return context_.Invalid(offset, "schema \"{}\" of function {} does not exist", parts.front(), name);
  }
  if (expr::IsAggregateName(name)) return BindAggregateColumn(node, name);
  if (expr::FunctionRegistry::Get().Find(name) == nullptr) {
    // The registry has no aggregates to suggest.
    std::vector<std::string> names;
    for (const std::string_view aggregate : expr::AggregateNames()) names.emplace_back(aggregate);
    const std::string suggestion = SuggestionText(name, names);
    if (!suggestion.empty()) return context_.Invalid(offset, "function {} does not exist{}", name, suggestion);
  }
  for (const std::string_view field : {"agg_order", "agg_filter", "agg_within_group", "agg_star", "agg_distinct"}) {
    if (node[field]) return context_.Invalid(offset, "{} is not an aggregate function", name);
  }
  if (node.Flag("func_variadic")) return context_.Unsupported(offset, "VARIADIC arguments");
  ARROW_RETURN_NOT_OK(context_.OnlyFields(node, {"funcname", "args", "funcformat", "location"}));
  if (name == "similar_to_escape" || name == "like_escape") return context_.Unsupported(offset, "SIMILAR TO");
  const std::vector<Node> nodes = node["args"].items();
  for (const Node& argument : nodes) {
    if (argument.Is("NamedArgExpr")) return context_.Unsupported(argument.location(), "named arguments of functions");
  }
  ARROW_ASSIGN_OR_RAISE(auto arguments, BindList(nodes));
  return Call(name, std::move(arguments), offset);
}

arrow::Result<ExprPtr> ExprBinder::BindAggregateColumn(const Node& node, std::string_view name) {
  const int offset = node.location();
  if (place_.aggregation != nullptr) {
    if (ExprPtr column = place_.aggregation->CallColumn(node)) return column;
    return MakeError(ErrorKind::kInternal, "the aggregate {} was not found before", name);
  }
  if (place_.clause == Clause::kAggregate) return context_.Invalid(offset, "aggregate function calls cannot be nested");
  return context_.Invalid(offset, "aggregate functions are not allowed in {}", ClauseName(place_.clause));
}

arrow::Result<ExprPtr> ExprBinder::BindSqlValueFunction(const Node& node) {
  ARROW_RETURN_NOT_OK(context_.OnlyFields(node, {"op", "typmod", "location"}));
  const std::string_view op = node.Text("op");
  const int offset = node.location();
  if (op == "SVFOP_CURRENT_DATE") return Call("current_date", {}, offset);
  if (op == "SVFOP_CURRENT_TIME") return Call("current_time", {}, offset);
  if (op == "SVFOP_CURRENT_TIMESTAMP") return Call("current_timestamp", {}, offset);
  if (op == "SVFOP_LOCALTIMESTAMP") return Call("localtimestamp", {}, offset);
  return context_.Unsupported(offset,
                              fmt::format("{}{}", DefaultColumnName(node), op.ends_with("_N") ? " with a precision" : ""));
}

}  // namespace icebound::sql
