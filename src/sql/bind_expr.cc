// SPDX-License-Identifier: Apache-2.0
//
// Expressions: dispatch over the parser's node types, columns, operators, CASE.
#include <algorithm>
#include <array>
#include <utility>

#include "expr/evaluate.h"
#include "expr/functions.h"
#include "expr/type_rules.h"
#include "sql/expr_binder.h"

namespace icebound::sql {

using expr::ExprPtr;

namespace {

/// Nodes that the grammar takes and this binder does not; anything in neither list is reported by its type's name.
struct UnsupportedNode {
  std::string_view type;
  std::string_view what;
};
constexpr std::array kUnsupportedNodes = {
    UnsupportedNode{"A_ArrayExpr", "ARRAY[...]"},
    UnsupportedNode{"RowExpr", "row values"},
    UnsupportedNode{"GroupingFunc", "GROUPING"},
    UnsupportedNode{"SetToDefault", "DEFAULT"},
    UnsupportedNode{"XmlExpr", "XML functions"},
    UnsupportedNode{"XmlSerialize", "XML functions"},
    UnsupportedNode{"CurrentOfExpr", "WHERE CURRENT OF"},
    UnsupportedNode{"MultiAssignRef", "multiple assignment"},
    UnsupportedNode{"MergeSupportFunc", "MERGE functions"},
    UnsupportedNode{"JsonFuncExpr", "SQL/JSON functions"},
    UnsupportedNode{"JsonIsPredicate", "IS JSON"},
};

bool IsVolatile(const expr::Expr& expr) {
  if (expr.kind() == expr::ExprKind::kCall &&
      static_cast<const expr::CallExpr&>(expr).function().volatility == expr::Volatility::kVolatile) {
    return true;
  }
  return std::any_of(expr.children().begin(), expr.children().end(), [](const ExprPtr& child) { return IsVolatile(*child); });
}

std::string_view BooleanTestName(std::string_view test) {
  if (test == "IS_TRUE") return "is_true";
  if (test == "IS_NOT_TRUE") return "is_not_true";
  if (test == "IS_FALSE") return "is_false";
  if (test == "IS_NOT_FALSE") return "is_not_false";
  if (test == "IS_UNKNOWN") return "is_unknown";
  return "is_not_unknown";
}

/// Operators that PostgreSQL spells differently from MakeCall.
std::string_view CallName(std::string_view sql_operator) {
  if (sql_operator == "!=") return "<>";
  if (sql_operator == "~~") return "like";
  if (sql_operator == "!~~") return "not_like";
  if (sql_operator == "~~*") return "ilike";
  if (sql_operator == "!~~*") return "not_ilike";
  return sql_operator;
}

}  // namespace

std::string_view ClauseName(Clause clause) {
  switch (clause) {
    case Clause::kSelectList:
      return "the select list";
    case Clause::kWhere:
      return "WHERE";
    case Clause::kOrderBy:
      return "ORDER BY";
    case Clause::kValues:
      return "VALUES";
    case Clause::kLimit:
      return "LIMIT";
    case Clause::kGroupBy:
      return "GROUP BY";
    case Clause::kHaving:
      return "HAVING";
    case Clause::kJoinOn:
      return "JOIN conditions";
    case Clause::kAggregate:
      return "the arguments of aggregate functions";
    case Clause::kFilter:
      return "FILTER";
    case Clause::kTableFunction:
      return "functions in FROM";
  }
  return "";
}

arrow::Result<ExprPtr> ExprBinder::Bind(const Node& node) { return BindAs(node, Truth::kExact); }

arrow::Result<ExprPtr> ExprBinder::BindAs(const Node& node, Truth truth) {
  BindContext::Nesting nesting(context_);
  ARROW_RETURN_NOT_OK(context_.CheckDepth(node.location()));
  const Truth around = std::exchange(truth_, truth);
  auto bound = BindNode(node);
  truth_ = around;
  return bound;
}

arrow::Result<ExprPtr> ExprBinder::BindNode(const Node& node) {
  const std::string_view type = node.type();
  if (type == "ColumnRef") return BindColumnRef(node);
  if (type == "A_Const") return BindConstant(node);
  if (type == "A_Expr") return BindOperator(node);
  if (type == "BoolExpr") return BindBoolExpr(node);
  if (type == "FuncCall") return BindFunction(node);
  if (type == "TypeCast") return BindTypeCast(node);
  if (type == "CaseExpr") return BindCase(node);
  if (type == "CoalesceExpr") {
    ARROW_RETURN_NOT_OK(context_.OnlyFields(node, {"args", "location"}));
    ARROW_ASSIGN_OR_RAISE(auto arguments, BindList(node["args"].items()));
    return Call("coalesce", std::move(arguments), node.location());
  }
  if (type == "MinMaxExpr") return BindMinMax(node);
  if (type == "NullTest") return BindNullTest(node);
  if (type == "BooleanTest") return BindBooleanTest(node);
  if (type == "SQLValueFunction") return BindSqlValueFunction(node);
  if (type == "A_Indirection") return BindIndirection(node);
  if (type == "SubLink") return BindSubLink(node);
  if (type == "ParamRef") return BindParameter(node);
  if (type == "CollateClause") return BindCollate(node);
  const auto known =
      std::find_if(kUnsupportedNodes.begin(), kUnsupportedNodes.end(), [&](const auto& entry) { return entry.type == type; });
  const int offset = node.location() >= 0 ? node.location() : node.FirstLocation();
  return context_.Unsupported(offset, known != kUnsupportedNodes.end() ? known->what : type.empty() ? "this expression" : type);
}

arrow::Result<ExprPtr> ExprBinder::BindCondition(const Node& node, std::string_view construct, Truth truth) {
  ARROW_ASSIGN_OR_RAISE(ExprPtr condition, BindAs(node, truth));
  const arrow::Type::type id = condition->type()->id();
  if (id == arrow::Type::BOOL) return condition;
  const bool untyped = id == arrow::Type::NA || (condition->kind() == expr::ExprKind::kLiteral && id == arrow::Type::STRING);
  const int offset = node.FirstLocation();
  if (!untyped) {
    return context_.Invalid(offset, "argument of {} must be type boolean, not type {}", construct,
                            expr::SqlTypeName(*condition->type()));
  }
  ARROW_ASSIGN_OR_RAISE(condition, context_.Position(expr::MakeCast(condition, arrow::boolean(), {offset}), offset));
  return FoldLiteral(std::move(condition), offset);
}

arrow::Result<std::vector<ExprPtr>> ExprBinder::BindList(const std::vector<Node>& nodes) {
  std::vector<ExprPtr> bound;
  bound.reserve(nodes.size());
  for (const Node& node : nodes) {
    ARROW_ASSIGN_OR_RAISE(bound.emplace_back(), Bind(node));
  }
  return bound;
}

arrow::Result<std::shared_ptr<arrow::Scalar>> ExprBinder::BindConstantValue(const Node& node,
                                                                            const std::shared_ptr<arrow::DataType>& type) {
  ARROW_ASSIGN_OR_RAISE(ExprPtr value, Bind(node));
  const int offset = node.FirstLocation();
  ARROW_ASSIGN_OR_RAISE(value, context_.Position(expr::MakeCast(std::move(value), type, {offset}), offset));
  if (!expr::IsConstant(*value))
    return context_.Invalid(offset, "argument of {} must not contain volatile functions", ClauseName(place_.clause));
  const expr::EvalContext evaluation{context_.options().pool, context_.options().statement_time_us};
  ARROW_ASSIGN_OR_RAISE(auto scalar, context_.Position(expr::EvaluateConstant(*value, evaluation), offset));
  return scalar->is_valid ? scalar : nullptr;
}

arrow::Result<ExprPtr> ExprBinder::Call(std::string_view name, std::vector<ExprPtr> arguments, int offset) {
  auto call = expr::MakeCall(name, arguments, {offset});
  if (call.ok()) return call;
  // A string that its context cannot read (date_column < 'tomorow') is the place to look at, rather than the operator.
  const std::string& message = call.status().message();
  for (const ExprPtr& argument : arguments) {
    if (argument->kind() != expr::ExprKind::kLiteral || argument->type()->id() != arrow::Type::STRING) continue;
    const auto& literal = *static_cast<const expr::LiteralExpr&>(*argument).value();
    if (literal.is_valid && message.ends_with(fmt::format("\"{}\"", literal.ToString()))) offset = argument->position().offset;
  }
  return context_.Position(call.status(), offset);
}

// --- columns ----------------------------------------------------------------------------------------------------------------

arrow::Result<ExprPtr> ExprBinder::BindColumnRef(const Node& node) {
  ARROW_RETURN_NOT_OK(context_.OnlyFields(node, {"fields", "location"}));
  const int offset = node.location();
  const std::vector<Node> fields = node["fields"].items();
  if (fields.back().Is("A_Star")) return context_.Invalid(offset, "\"*\" is not allowed here");
  const std::vector<std::string> parts = NameParts(node["fields"]);
  if (place_.clause == Clause::kLimit) return context_.Invalid(offset, "argument of LIMIT must not contain variables");
  if (place_.clause == Clause::kTableFunction) return context_.Unsupported(offset, "columns as arguments of functions in FROM");
  ARROW_ASSIGN_OR_RAISE(const ResolvedColumn column, context_.Position(place_.scope.ResolveColumn(parts), offset));
  ExprPtr value = expr::MakeColumn(column.index, *column.field, {offset});
  if (column.levels_up > 0) {
    if (place_.clause == Clause::kValues) return context_.Unsupported(offset, "columns of an outer query in VALUES");
    context_.NoteOuterReference(column.depth);
    value = std::make_shared<expr::OuterColumnExpr>(column.levels_up, column.index, column.field->name(), column.field->type(),
                                                    expr::TextPosition{offset});
  }
  return BindStructFields(std::move(value), {parts.begin() + static_cast<ptrdiff_t>(column.parts_used), parts.end()}, offset);
}

arrow::Result<ExprPtr> ExprBinder::BindStructFields(ExprPtr value, const std::vector<std::string>& fields, int offset) {
  for (const std::string& field : fields) {
    const auto& type = *value->type();
    if (type.id() != arrow::Type::STRUCT) {
      return context_.Invalid(offset, "column \"{}\" cannot be taken from type {}, which is no struct", field,
                              expr::SqlTypeName(type));
    }
    ExprPtr name = expr::MakeLiteral(std::make_shared<arrow::StringScalar>(field), {offset});
    ARROW_ASSIGN_OR_RAISE(value, Call("field", {std::move(value), std::move(name)}, offset));
  }
  return value;
}

arrow::Result<ExprPtr> ExprBinder::BindIndirection(const Node& node) {
  ARROW_RETURN_NOT_OK(context_.OnlyFields(node, {"arg", "indirection"}));
  ARROW_ASSIGN_OR_RAISE(ExprPtr value, Bind(node["arg"]));
  const int offset = node.FirstLocation();
  for (const Node& step : node["indirection"].items()) {
    if (step.Is("String")) {
      ARROW_ASSIGN_OR_RAISE(value, BindStructFields(std::move(value), {std::string(step.Text("sval"))}, offset));
      continue;
    }
    if (!step.Is("A_Indices")) return context_.Unsupported(offset, "the expansion of a struct with \"*\"");
    if (step.Flag("is_slice")) return context_.Unsupported(offset, "list slices [a:b]");
    ARROW_RETURN_NOT_OK(context_.OnlyFields(step, {"uidx"}));
    ARROW_ASSIGN_OR_RAISE(ExprPtr index, Bind(step["uidx"]));
    ARROW_ASSIGN_OR_RAISE(value, Call("subscript", {std::move(value), std::move(index)}, offset));
  }
  return value;
}

// --- operators --------------------------------------------------------------------------------------------------------------

arrow::Result<ExprPtr> ExprBinder::BindBoolExpr(const Node& node) {
  ARROW_RETURN_NOT_OK(context_.OnlyFields(node, {"boolop", "args", "location"}));
  const std::string_view op = node.Text("boolop");
  const std::string_view name = op == "AND_EXPR" ? "and" : op == "OR_EXPR" ? "or" : "not";
  const std::string_view construct = op == "AND_EXPR" ? "AND" : op == "OR_EXPR" ? "OR" : "NOT";
  // AND and OR never turn true because an argument is NULL instead of false; NOT turns the two around.
  const Truth flipped = truth_ == Truth::kNullIsFalse  ? Truth::kNullIsTrue
                        : truth_ == Truth::kNullIsTrue ? Truth::kNullIsFalse
                                                       : Truth::kExact;
  const Truth truth = op == "NOT_EXPR" ? flipped : truth_;
  std::vector<ExprPtr> arguments;
  for (const Node& argument : node["args"].items()) {
    ARROW_ASSIGN_OR_RAISE(arguments.emplace_back(), BindCondition(argument, construct, truth));
  }
  return Call(name, std::move(arguments), node.location());
}

arrow::Result<ExprPtr> ExprBinder::BindOperator(const Node& node) {
  ARROW_RETURN_NOT_OK(
      context_.OnlyFields(node, {"kind", "name", "lexpr", "rexpr", "rexpr_list_start", "rexpr_list_end", "location"}));
  const std::string_view kind = node.Text("kind");
  const int offset = node.location();
  const std::vector<std::string> sql_name = NameParts(node["name"]);
  if (kind == "AEXPR_OP") return BindPlainOperator(node);
  if (kind == "AEXPR_IN") return BindIn(node);
  if (kind == "AEXPR_LIKE" || kind == "AEXPR_ILIKE") {
    return BindLike(node, CallName(sql_name.back()));
  }
  if (kind.find("BETWEEN") != std::string_view::npos) return BindBetween(node);
  if (kind == "AEXPR_OP_ANY") return context_.Unsupported(offset, "ANY (list)");
  if (kind == "AEXPR_OP_ALL") return context_.Unsupported(offset, "ALL (list)");
  if (kind == "AEXPR_SIMILAR") return context_.Unsupported(offset, "SIMILAR TO");
  const std::string_view name = kind == "AEXPR_DISTINCT"       ? "is_distinct_from"
                                : kind == "AEXPR_NOT_DISTINCT" ? "is_not_distinct_from"
                                : kind == "AEXPR_NULLIF"       ? "nullif"
                                                               : "";
  if (name.empty()) return context_.Unsupported(offset, fmt::format("this operator ({})", kind));
  ARROW_ASSIGN_OR_RAISE(auto arguments, BindList({node["lexpr"], node["rexpr"]}));
  return Call(name, std::move(arguments), offset);
}

arrow::Result<ExprPtr> ExprBinder::BindPlainOperator(const Node& node) {
  const int offset = node.location();
  std::vector<std::string> parts = NameParts(node["name"]);
  if (parts.size() == 2 && parts.front() == "pg_catalog") parts.erase(parts.begin());
  if (parts.size() != 1) return context_.Unsupported(offset, "operators with a schema");
  const std::string_view name = CallName(parts.front());
  if (node["lexpr"].Is("RowExpr") && node["rexpr"].Is("RowExpr")) return BindRowComparison(node, name);
  if (node["lexpr"]) {
    ARROW_ASSIGN_OR_RAISE(auto arguments, BindList({node["lexpr"], node["rexpr"]}));
    return Call(name, std::move(arguments), offset);
  }
  ARROW_ASSIGN_OR_RAISE(ExprPtr argument, Bind(node["rexpr"]));
  if (name == "-") return Call("negate", {std::move(argument)}, offset);
  if (name == "+" && (expr::IsNumeric(expr::ClassOf(*argument->type())) || argument->type()->id() == arrow::Type::NA)) {
    return argument;
  }
  return context_.Invalid(offset, "operator does not exist: {} {}", name, expr::SqlTypeName(*argument->type()));
}

arrow::Result<ExprPtr> ExprBinder::BindIn(const Node& node) {
  const std::string_view name = node["name"].items().front().Text("sval") == "=" ? "in" : "not_in";
  if (!node["rexpr"].Is("List")) return context_.Unsupported(node.location(), "IN without a list of values");
  if (node["lexpr"].Is("RowExpr")) return BindRowIn(node);
  std::vector<Node> nodes = node["rexpr"]["items"].items();
  nodes.insert(nodes.begin(), node["lexpr"]);
  ARROW_ASSIGN_OR_RAISE(auto arguments, BindList(nodes));
  return Call(name, std::move(arguments), node.location());
}

arrow::Result<ExprPtr> ExprBinder::BindBetween(const Node& node) {
  const std::string_view kind = node.Text("kind");
  const int offset = node.location();
  std::vector<Node> nodes = node["rexpr"]["items"].items();
  nodes.insert(nodes.begin(), node["lexpr"]);
  ARROW_ASSIGN_OR_RAISE(const auto bound, BindList(nodes));
  auto within = [&](const ExprPtr& low, const ExprPtr& high) -> ExprResult {
    ARROW_ASSIGN_OR_RAISE(ExprPtr above, Call(">=", {bound[0], low}, offset));
    ARROW_ASSIGN_OR_RAISE(ExprPtr below, Call("<=", {bound[0], high}, offset));
    return Call("and", {std::move(above), std::move(below)}, offset);
  };
  ARROW_ASSIGN_OR_RAISE(ExprPtr result, within(bound[1], bound[2]));
  if (kind.ends_with("_SYM")) {
    ARROW_ASSIGN_OR_RAISE(ExprPtr swapped, within(bound[2], bound[1]));
    ARROW_ASSIGN_OR_RAISE(result, Call("or", {std::move(result), std::move(swapped)}, offset));
  }
  return kind.starts_with("AEXPR_NOT") ? Call("not", {std::move(result)}, offset) : result;
}

arrow::Result<ExprPtr> ExprBinder::BindLike(const Node& node, std::string_view name) {
  std::vector<Node> nodes = {node["lexpr"]};
  const Node pattern = node["rexpr"];
  const std::vector<std::string> function_name =
      pattern.Is("FuncCall") ? NameParts(pattern["funcname"]) : std::vector<std::string>();
  const bool has_escape = !function_name.empty() && function_name.back() == "like_escape";
  if (has_escape) {
    for (const Node& argument : pattern["args"].items()) nodes.push_back(argument);
  } else {
    nodes.push_back(pattern);
  }
  ARROW_ASSIGN_OR_RAISE(auto arguments, BindList(nodes));
  return Call(name, std::move(arguments), node.location());
}

arrow::Result<ExprPtr> ExprBinder::BindCase(const Node& node) {
  ARROW_RETURN_NOT_OK(context_.OnlyFields(node, {"arg", "args", "defresult", "location"}));
  const int offset = node.location();
  ExprPtr subject;
  if (node["arg"]) {
    ARROW_ASSIGN_OR_RAISE(subject, Bind(node["arg"]));
    // The subject becomes a part of every comparison, so random() would be drawn for each.
    if (IsVolatile(*subject)) return context_.Unsupported(offset, "CASE over a volatile function");
  }
  std::vector<ExprPtr> conditions;
  std::vector<ExprPtr> values;
  for (const Node& when : node["args"].items()) {
    ARROW_RETURN_NOT_OK(context_.OnlyFields(when, {"expr", "result", "location"}));
    if (subject) {
      ARROW_ASSIGN_OR_RAISE(ExprPtr compared, Bind(when["expr"]));
      ARROW_ASSIGN_OR_RAISE(conditions.emplace_back(), Call("=", {subject, std::move(compared)}, when["expr"].FirstLocation()));
    } else {
      ARROW_ASSIGN_OR_RAISE(conditions.emplace_back(), BindCondition(when["expr"], "CASE/WHEN"));
    }
    ARROW_ASSIGN_OR_RAISE(values.emplace_back(), Bind(when["result"]));
  }
  ExprPtr otherwise;
  if (node["defresult"]) {
    ARROW_ASSIGN_OR_RAISE(otherwise, Bind(node["defresult"]));
  }
  return context_.Position(expr::MakeCase(std::move(conditions), std::move(values), std::move(otherwise), {offset}), offset);
}

arrow::Result<ExprPtr> ExprBinder::BindMinMax(const Node& node) {
  ARROW_RETURN_NOT_OK(context_.OnlyFields(node, {"op", "args", "location"}));
  ARROW_ASSIGN_OR_RAISE(auto arguments, BindList(node["args"].items()));
  return Call(node.Text("op") == "IS_GREATEST" ? "greatest" : "least", std::move(arguments), node.location());
}

arrow::Result<ExprPtr> ExprBinder::BindNullTest(const Node& node) {
  ARROW_RETURN_NOT_OK(context_.OnlyFields(node, {"arg", "nulltesttype", "location"}));
  ARROW_ASSIGN_OR_RAISE(ExprPtr argument, Bind(node["arg"]));
  return Call(node.Text("nulltesttype") == "IS_NULL" ? "is_null" : "is_not_null", {std::move(argument)}, node.location());
}

arrow::Result<ExprPtr> ExprBinder::BindBooleanTest(const Node& node) {
  ARROW_RETURN_NOT_OK(context_.OnlyFields(node, {"arg", "booltesttype", "location"}));
  const std::string_view name = BooleanTestName(node.Text("booltesttype"));
  std::string construct(name);
  std::transform(construct.begin(), construct.end(), construct.begin(),
                 [](char c) { return c == '_' ? ' ' : static_cast<char>(c - 'a' + 'A'); });
  ARROW_ASSIGN_OR_RAISE(ExprPtr argument, BindCondition(node["arg"], construct, Truth::kExact));
  return Call(name, {std::move(argument)}, node.location());
}

arrow::Result<ExprPtr> ExprBinder::BindCollate(const Node& node) {
  ARROW_RETURN_NOT_OK(context_.OnlyFields(node, {"arg", "collname", "location"}));
  ARROW_ASSIGN_OR_RAISE(ExprPtr argument, Bind(node["arg"]));
  const int offset = node.location();
  if (expr::ClassOf(*argument->type()) != expr::TypeClass::kText) {
    return context_.Invalid(offset, "collations are not supported by type {}", expr::SqlTypeName(*argument->type()));
  }
  // Text is compared by its bytes here, which is what these two say.
  const std::string collation = NameParts(node["collname"]).back();
  if (collation == "C" || collation == "POSIX") return argument;
  return context_.Unsupported(offset, fmt::format("collation \"{}\"; text is compared by its bytes (\"C\")", collation));
}

}  // namespace icebound::sql
