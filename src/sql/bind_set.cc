// SPDX-License-Identifier: Apache-2.0
//
// Queries whose rows come from several places: UNION ALL and VALUES. Their columns get the type that all branches (or rows)
// convert to.
#include <algorithm>

#include "expr/type_rules.h"
#include "sql/binder.h"
#include "sql/expr_binder.h"

namespace icebound::sql {

using plan::PlanPtr;

namespace {

bool IsUnionAll(const Node& select) { return select.Text("op") == "SETOP_UNION" && select.Flag("all"); }

/// A branch that is itself a UNION ALL with nothing around it is the same list of branches.
bool IsBareUnionAll(const Node& select) {
  return IsUnionAll(select) && select.Text("limitOption") == "LIMIT_OPTION_DEFAULT" && !select["sortClause"] &&
         !select["limitCount"] && !select["limitOffset"] && !select["withClause"];
}

/// A string literal takes the type of the other rows: VALUES (date '2020-01-01'), ('2020-01-02').
std::shared_ptr<arrow::DataType> TypeForUnification(const expr::Expr& expr) {
  const bool untyped = expr.kind() == expr::ExprKind::kLiteral && expr.type()->id() == arrow::Type::STRING;
  return untyped ? arrow::null() : expr.type();
}

/// Columns of nothing but NULL stay untyped: whatever is around them decides.
arrow::Result<std::shared_ptr<arrow::DataType>> CommonTypeOrNull(const std::vector<std::shared_ptr<arrow::DataType>>& types) {
  const bool untyped = std::all_of(types.begin(), types.end(), [](const auto& type) { return type->id() == arrow::Type::NA; });
  return untyped ? arrow::null() : expr::CommonType(types);
}

}  // namespace

arrow::Result<PlanPtr> Binder::BindValues(const Node& select) {
  const Scope no_columns;
  ExprBinder binder(context_, no_columns, Clause::kValues);
  std::vector<std::vector<expr::ExprPtr>> rows;
  for (const Node& list : select["valuesLists"].items()) {
    const std::vector<Node> items = list["items"].items();
    if (!rows.empty() && rows.front().size() != items.size()) {
      return context_.Invalid(list.FirstLocation(), "VALUES lists must all be the same length");
    }
    ARROW_ASSIGN_OR_RAISE(rows.emplace_back(), binder.BindList(items));
  }
  const int offset = select["valuesLists"].FirstLocation();
  arrow::FieldVector fields;
  for (size_t column = 0; column < rows.front().size(); ++column) {
    std::vector<std::shared_ptr<arrow::DataType>> types;
    for (const auto& row : rows) types.push_back(TypeForUnification(*row[column]));
    auto common = CommonTypeOrNull(types);
    if (!common.ok()) return context_.Invalid(offset, "VALUES {}", common.status().message());
    const bool strings =
        std::any_of(rows.begin(), rows.end(), [&](const auto& row) { return row[column]->type()->id() == arrow::Type::STRING; });
    auto type = (*common)->id() == arrow::Type::NA && strings ? arrow::utf8() : *common;
    for (auto& row : rows) {
      const int at = row[column]->position().offset;
      ARROW_ASSIGN_OR_RAISE(row[column], context_.Position(expr::MakeCast(row[column], type, {at}), at >= 0 ? at : offset));
    }
    fields.push_back(arrow::field("column" + std::to_string(column + 1), std::move(type)));
  }
  return std::make_shared<plan::ValuesNode>(arrow::schema(std::move(fields)), std::move(rows));
}

arrow::Result<std::vector<Node>> Binder::UnionBranches(const Node& select) {
  // The tree leans left, one level for every branch: walked with a loop, since there may be thousands.
  std::vector<Node> branches;
  Node left = select;
  do {
    branches.push_back(left["rarg"]);
    left = left["larg"];
    if (left.Text("op") == "SETOP_UNION") ARROW_RETURN_NOT_OK(CheckSupportedClauses(left));
  } while (IsBareUnionAll(left));
  branches.push_back(left);
  std::reverse(branches.begin(), branches.end());
  return branches;
}

arrow::Result<PlanPtr> Binder::BindSetOperation(const Node& select, const QueryEnvironment& environment) {
  const std::string_view op = select.Text("op");
  const int right = select["rarg"].FirstLocation();
  if (op == "SETOP_INTERSECT") return context_.Unsupported(context_.KeywordBefore(right, "intersect"), "INTERSECT");
  if (op == "SETOP_EXCEPT") return context_.Unsupported(context_.KeywordBefore(right, "except"), "EXCEPT");
  if (!IsUnionAll(select)) return context_.Unsupported(context_.KeywordBefore(right, "union"), "UNION without ALL");
  ARROW_ASSIGN_OR_RAISE(const std::vector<Node> nodes, UnionBranches(select));
  std::vector<PlanPtr> branches;
  std::vector<int> offsets;
  for (const Node& node : nodes) {
    offsets.push_back(node.FirstLocation());
    ARROW_ASSIGN_OR_RAISE(branches.emplace_back(), BindQueryBody(node, environment));
    if (branches.back()->schema()->num_fields() != branches.front()->schema()->num_fields()) {
      return context_.Invalid(offsets.back(), "each UNION query must have the same number of columns");
    }
  }
  return UnifyAndUnion(std::move(branches), offsets);
}

arrow::Result<PlanPtr> Binder::UnifyAndUnion(std::vector<PlanPtr> branches, const std::vector<int>& offsets) {
  const int columns = branches.front()->schema()->num_fields();
  std::vector<std::shared_ptr<arrow::DataType>> common;
  for (int i = 0; i < columns; ++i) {
    std::vector<std::shared_ptr<arrow::DataType>> types;
    for (const PlanPtr& branch : branches) types.push_back(branch->schema()->field(i)->type());
    auto type = CommonTypeOrNull(types);
    // The first branch that does not go with the ones before it is the place to look at.
    size_t culprit = 1;
    while (!type.ok() && culprit < types.size() - 1 &&
           expr::CommonType({types.begin(), types.begin() + static_cast<ptrdiff_t>(culprit) + 1}).ok()) {
      ++culprit;
    }
    if (!type.ok()) return context_.Invalid(offsets[std::min(culprit, offsets.size() - 1)], "UNION {}", type.status().message());
    common.push_back(std::move(type).MoveValueUnsafe());
  }
  for (size_t b = 0; b < branches.size(); ++b) {
    std::vector<expr::ExprPtr> exprs = ColumnsOf(*branches[b]);
    bool changed = false;
    for (int i = 0; i < columns; ++i) {
      expr::ExprPtr& expr = exprs[static_cast<size_t>(i)];
      if (expr->type()->Equals(*common[static_cast<size_t>(i)])) continue;
      ARROW_ASSIGN_OR_RAISE(expr, context_.Position(expr::MakeCast(std::move(expr), common[static_cast<size_t>(i)]), offsets[b]));
      changed = true;
    }
    if (!changed) continue;
    std::vector<std::string> names = branches[b]->schema()->field_names();
    branches[b] = std::make_shared<plan::ProjectNode>(std::move(branches[b]), std::move(exprs), std::move(names));
  }
  return std::make_shared<plan::UnionAllNode>(std::move(branches));
}

}  // namespace icebound::sql
