// SPDX-License-Identifier: Apache-2.0
//
// Subqueries in expressions. Each becomes an Apply on top of the rows that the expression is evaluated over; the expression then
// refers to the column that the Apply added.
//
//   (SELECT x ...)            Single: x, or NULL when there is no row; two rows are an error when it runs
//   EXISTS (...)              Mark
//   a IN (SELECT x ...)       MarkNulls on a = x; also a = ANY (...), and a <> ALL (...) as its NOT
//   c ANY (...), rows in IN   Mark where c, for a comparison c of the left values with the row
//
// c ANY is true when c is true for some row, else NULL when c is NULL for some row, else false. A Mark only tells whether there
// is a row, so both questions need one:
//
//     CASE WHEN mark(c) THEN true WHEN mark(c IS NOT FALSE) THEN NULL ELSE false END
//
// c ALL is NOT (NOT c) ANY, so
//
//     CASE WHEN mark(NOT c) THEN false WHEN mark(c IS NOT TRUE) THEN NULL ELSE true END
//
// Where NULL counts as false, as at the top of WHERE, one of the two is enough: mark(c), or NOT mark(c IS NOT TRUE); and where it
// counts as true, below a NOT there: mark(c IS NOT FALSE), or NOT mark(NOT c). The same when nothing compared can be NULL.
#include <algorithm>

#include "sql/binder.h"
#include "sql/join_keys.h"

namespace icebound::sql {

using expr::ExprPtr;
using expr::JoinType;
using plan::PlanPtr;

namespace {

bool NeverNull(const expr::Expr& expr, const arrow::Schema& schema) {
  if (expr.kind() == expr::ExprKind::kLiteral) return static_cast<const expr::LiteralExpr&>(expr).value()->is_valid;
  return expr.kind() == expr::ExprKind::kColumn && !schema.field(static_cast<const expr::ColumnExpr&>(expr).index())->nullable();
}

ExprPtr Boolean(bool value, int offset) { return expr::MakeLiteral(std::make_shared<arrow::BooleanScalar>(value), {offset}); }

}  // namespace

arrow::Result<ExprPtr> ExprBinder::Apply(PlanPtr subquery, JoinType type, expr::JoinCondition condition, int offset) {
  ARROW_RETURN_NOT_OK(context_.AddPlanNodes(1, offset));
  ARROW_RETURN_NOT_OK(context_.AddJoinColumns((*place_.rows)->schema()->num_fields() + 1, offset));
  condition.position = {offset};
  *place_.rows = std::make_shared<plan::ApplyNode>(*place_.rows, std::move(subquery), type, std::move(condition));
  const arrow::Schema& schema = *(*place_.rows)->schema();
  const int column = schema.num_fields() - 1;
  if (place_.aggregation) return Aggregation::Marker(column, *schema.field(column), {offset});
  return expr::MakeColumn(column, *schema.field(column), {offset});
}

arrow::Result<ExprPtr> ExprBinder::Exists(const PlanPtr& subquery, ExprPtr condition, int offset) {
  return Apply(subquery, JoinType::kLeftMark, SplitJoinCondition(condition, (*place_.rows)->schema()->num_fields()), offset);
}

arrow::Result<ExprPtr> ExprBinder::BindSubLink(const Node& node) {
  ARROW_RETURN_NOT_OK(context_.OnlyFields(node, {"subLinkType", "testexpr", "operName", "subselect", "location"}));
  const int offset = node.location();
  const std::string_view kind = node.Text("subLinkType");
  if (!place_.rows) return context_.Unsupported(offset, fmt::format("subqueries in {}", ClauseName(place_.clause)));
  if (kind == "ARRAY_SUBLINK") return context_.Unsupported(offset, "ARRAY(SELECT ...)");
  if (kind == "MULTIEXPR_SUBLINK") return context_.Unsupported(offset, "multiple assignment");

  // The left side first: subqueries in it must stand below.
  const Truth truth = truth_;
  std::vector<ExprPtr> left;
  if (const Node test = node["testexpr"]) {
    ARROW_ASSIGN_OR_RAISE(left, test.Is("RowExpr") ? BindRow(test) : BindList({test}));
    if (place_.aggregation) {
      for (ExprPtr& value : left) {
        ARROW_ASSIGN_OR_RAISE(value, place_.aggregation->Finish(value));
      }
    }
  }
  const Scope& scope = place_.aggregation ? place_.aggregation->outer_scope() : place_.scope;
  ARROW_ASSIGN_OR_RAISE(PlanPtr subquery, binder_.BindQuery(node["subselect"], {place_.common_tables, &scope, nullptr}));
  if (kind == "EXISTS_SUBLINK") return Apply(std::move(subquery), JoinType::kLeftMark, {}, offset);
  const size_t columns = static_cast<size_t>(subquery->schema()->num_fields());
  if (kind == "EXPR_SUBLINK") {
    if (columns != 1) return context_.Invalid(offset, "subquery must return only one column");
    return Apply(std::move(subquery), JoinType::kLeftSingle, {}, offset);
  }
  if (columns > left.size()) return context_.Invalid(offset, "subquery has too many columns");
  if (columns < left.size()) return context_.Invalid(offset, "subquery has too few columns");
  std::vector<std::string> name = NameParts(node["operName"]);
  if (name.size() > 1 && name.front() != "pg_catalog") return context_.Unsupported(offset, "operators with a schema");
  if (name.empty()) name = {"="};
  if (name.back() == "!=") name.back() = "<>";
  const bool all = kind == "ALL_SUBLINK";
  if (left.size() == 1 && name.back() == (all ? "<>" : "=")) {
    ARROW_ASSIGN_OR_RAISE(ExprPtr in, BindInSubquery(subquery, left.front(), offset));
    if (in) return all ? Call("not", {std::move(in)}, offset) : ExprResult(std::move(in));
  }
  return BindQuantified({std::move(subquery), std::move(left), name.back(), all, truth, offset});
}

/// Null when the two sides cannot be compared by key.
arrow::Result<ExprPtr> ExprBinder::BindInSubquery(const PlanPtr& subquery, const ExprPtr& left, int offset) {
  const ExprPtr right = expr::MakeColumn(0, *subquery->schema()->field(0), {offset});
  ARROW_ASSIGN_OR_RAISE(const ExprPtr equal, Call("=", {left, right}, offset));
  auto key = MakeJoinKey(equal->children()[0], equal->children()[1], /*null_safe=*/false);
  if (!key) return nullptr;
  expr::JoinCondition condition;
  condition.keys.push_back(std::move(*key));
  return Apply(subquery, JoinType::kLeftMarkNulls, std::move(condition), offset);
}

arrow::Result<ExprPtr> ExprBinder::BindQuantified(const Quantified& test) {
  const int offset = test.offset;
  // The comparison over the rows as they are when the mark that uses it is made: left columns keep their places, the subquery's
  // come after them.
  const auto compare = [&](std::string_view around) -> ExprResult {
    const int first = (*place_.rows)->schema()->num_fields();
    std::vector<ExprPtr> right;
    for (int i = 0; i < test.subquery->schema()->num_fields(); ++i) {
      right.push_back(expr::MakeColumn(first + i, *test.subquery->schema()->field(i), {offset}));
    }
    ARROW_ASSIGN_OR_RAISE(ExprPtr compared, CompareRows(test.operation, test.left, right, offset));
    if (compared->type()->id() != arrow::Type::BOOL) {
      return context_.Invalid(offset, "op ANY/ALL (subquery) requires operator to yield boolean");
    }
    return around.empty() ? ExprResult(std::move(compared)) : Call(around, {std::move(compared)}, offset);
  };
  const auto mark = [&](std::string_view around) -> ExprResult {
    ARROW_ASSIGN_OR_RAISE(ExprPtr condition, compare(around));
    return Exists(test.subquery, std::move(condition), offset);
  };
  const arrow::Schema& rows = *(*place_.rows)->schema();
  const arrow::FieldVector& fields = test.subquery->schema()->fields();
  const bool exact_anyway =
      std::all_of(test.left.begin(), test.left.end(), [&](const ExprPtr& value) { return NeverNull(*value, rows); }) &&
      std::none_of(fields.begin(), fields.end(), [](const auto& field) { return field->nullable(); });
  const Truth truth = exact_anyway ? Truth::kNullIsFalse : test.truth;
  if (truth != Truth::kExact) {
    const bool null_is_false = truth == Truth::kNullIsFalse;
    if (!test.all) return mark(null_is_false ? "" : "is_not_false");
    ARROW_ASSIGN_OR_RAISE(ExprPtr counterexample, mark(null_is_false ? "is_not_true" : "not"));
    return Call("not", {std::move(counterexample)}, offset);
  }
  ARROW_ASSIGN_OR_RAISE(ExprPtr decided, mark(test.all ? "not" : ""));
  ARROW_RETURN_NOT_OK(context_.AddPlan(*test.subquery, offset));
  ARROW_ASSIGN_OR_RAISE(ExprPtr open, mark(test.all ? "is_not_true" : "is_not_false"));
  return context_.Position(
      expr::MakeCase({std::move(decided), std::move(open)},
                     {Boolean(!test.all, offset), expr::MakeLiteral(arrow::MakeNullScalar(arrow::boolean()))},
                     Boolean(test.all, offset), {offset}),
      offset);
}

}  // namespace icebound::sql
