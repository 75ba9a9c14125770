// SPDX-License-Identifier: Apache-2.0
//
// Queries whose rows come from several places: UNION, INTERSECT, EXCEPT and VALUES. Their columns get the type that all branches
// (or rows) convert to. UNION without ALL is a UnionAll below an Aggregate that groups by all columns.
#include <algorithm>

#include "expr/type_rules.h"
#include "sql/binder.h"
#include "sql/expr_binder.h"

namespace icebound::sql {

using plan::PlanPtr;

namespace {

/// A branch with nothing around it.
bool IsBare(const Node& select) {
  return select.Text("limitOption") == "LIMIT_OPTION_DEFAULT" && !select["sortClause"] && !select["limitCount"] &&
         !select["limitOffset"] && !select["withClause"];
}

/// A branch that is itself a union is the same list of branches, unless it drops duplicates that the outer one keeps.
bool MergesInto(const Node& branch, bool outer_all) {
  return branch.Text("op") == "SETOP_UNION" && (branch.Flag("all") || !outer_all) && IsBare(branch);
}

/// A string literal takes the type of the other rows: VALUES (date '2020-01-01'), ('2020-01-02').
std::shared_ptr<arrow::DataType> TypeForUnification(const expr::Expr& expr) {
  const bool untyped = expr.kind() == expr::ExprKind::kLiteral && expr.type()->id() == arrow::Type::STRING;
  return untyped ? arrow::null() : expr.type();
}

/// The same of a branch's column: SELECT 1 UNION SELECT '2'. A column that is text by its strings alone stays text.
std::shared_ptr<arrow::DataType> TypeForUnification(const plan::LogicalPlan& branch, int column) {
  if (branch.kind() != plan::PlanKind::kProject) return branch.schema()->field(column)->type();
  return TypeForUnification(*static_cast<const plan::ProjectNode&>(branch).exprs()[static_cast<size_t>(column)]);
}

/// Columns of nothing but NULL stay untyped: whatever is around them decides.
arrow::Result<std::shared_ptr<arrow::DataType>> CommonTypeOrNull(const std::vector<std::shared_ptr<arrow::DataType>>& types) {
  const bool untyped = std::all_of(types.begin(), types.end(), [](const auto& type) { return type->id() == arrow::Type::NA; });
  return untyped ? arrow::null() : expr::CommonType(types);
}

}  // namespace

arrow::Result<PlanPtr> Binder::BindValues(const Node& select, const QueryEnvironment& environment) {
  const Scope scope(environment.outer);
  ExprBinder binder(context_, *this, {scope, Clause::kValues});
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

arrow::Result<std::vector<Node>> Binder::SetBranches(const Node& select) {
  const bool all = select.Flag("all");
  if (select.Text("op") != "SETOP_UNION") return std::vector<Node>{select["larg"], select["rarg"]};
  // The tree leans left, one level for every branch: walked with a loop, since there may be thousands.
  std::vector<Node> branches;
  Node left = select;
  do {
    branches.push_back(left["rarg"]);
    left = left["larg"];
    if (left.Text("op") == "SETOP_UNION") ARROW_RETURN_NOT_OK(CheckSupportedClauses(left));
  } while (MergesInto(left, all));
  branches.push_back(left);
  std::reverse(branches.begin(), branches.end());
  return branches;
}

arrow::Result<PlanPtr> Binder::BindSetOperation(const Node& select, const QueryEnvironment& environment) {
  const std::string_view op = select.Text("op");
  const bool all = select.Flag("all");
  const std::string_view name = op == "SETOP_UNION" ? "UNION" : op == "SETOP_INTERSECT" ? "INTERSECT" : "EXCEPT";
  ARROW_ASSIGN_OR_RAISE(const std::vector<Node> nodes, SetBranches(select));
  std::vector<PlanPtr> branches;
  std::vector<int> offsets;
  for (const Node& node : nodes) {
    offsets.push_back(node.FirstLocation());
    ARROW_ASSIGN_OR_RAISE(branches.emplace_back(), BindQueryBody(node, environment));
    if (branches.back()->schema()->num_fields() != branches.front()->schema()->num_fields()) {
      return context_.Invalid(offsets.back(), "each {} query must have the same number of columns", name);
    }
  }
  ARROW_RETURN_NOT_OK(UnifyBranches(name, &branches, offsets));
  if (op == "SETOP_UNION") {
    PlanPtr rows = std::make_shared<plan::UnionAllNode>(std::move(branches));
    return all ? arrow::Result<PlanPtr>(std::move(rows)) : DistinctRows(std::move(rows), offsets.front());
  }
  for (PlanPtr& branch : branches) branch = TypeUntypedColumns(std::move(branch));
  for (const auto& field : branches[0]->schema()->fields()) ARROW_RETURN_NOT_OK(CheckGroupable(*field->type(), offsets[0]));
  using plan::SetOperation;
  const SetOperation operation = op == "SETOP_INTERSECT" ? (all ? SetOperation::kIntersectAll : SetOperation::kIntersect)
                                                         : (all ? SetOperation::kExceptAll : SetOperation::kExcept);
  return std::make_shared<plan::SetOperationNode>(std::move(branches[0]), std::move(branches[1]), operation);
}

arrow::Status Binder::UnifyBranches(std::string_view operation, std::vector<PlanPtr>* branch_list,
                                    const std::vector<int>& offsets) {
  std::vector<PlanPtr>& branches = *branch_list;
  const int columns = branches.front()->schema()->num_fields();
  std::vector<std::shared_ptr<arrow::DataType>> common;
  for (int i = 0; i < columns; ++i) {
    std::vector<std::shared_ptr<arrow::DataType>> types;
    for (const PlanPtr& branch : branches) types.push_back(TypeForUnification(*branch, i));
    auto type = CommonTypeOrNull(types);
    if (type.ok() && (*type)->id() == arrow::Type::NA) {
      for (const PlanPtr& branch : branches) {
        if (branch->schema()->field(i)->type()->id() == arrow::Type::STRING) type = arrow::utf8();
      }
    }
    // The first branch that does not go with the ones before it is the place to look at.
    size_t culprit = 1;
    while (!type.ok() && culprit < types.size() - 1 &&
           expr::CommonType({types.begin(), types.begin() + static_cast<ptrdiff_t>(culprit) + 1}).ok()) {
      ++culprit;
    }
    if (!type.ok())
      return context_.Invalid(offsets[std::min(culprit, offsets.size() - 1)], "{} {}", operation, type.status().message());
    common.push_back(std::move(type).MoveValueUnsafe());
  }
  for (size_t b = 0; b < branches.size(); ++b) {
    std::vector<expr::ExprPtr> exprs = ColumnsOf(*branches[b]);
    bool changed = false;
    for (int i = 0; i < columns; ++i) {
      expr::ExprPtr& expr = exprs[static_cast<size_t>(i)];
      if (expr->type()->Equals(*common[static_cast<size_t>(i)])) continue;
      ARROW_ASSIGN_OR_RAISE(
          expr, context_.Position(expr::MakeCast(std::move(expr), common[static_cast<size_t>(i)], {offsets[b]}), offsets[b]));
      changed = true;
    }
    if (!changed) continue;
    std::vector<std::string> names = branches[b]->schema()->field_names();
    branches[b] = std::make_shared<plan::ProjectNode>(std::move(branches[b]), std::move(exprs), std::move(names));
  }
  return arrow::Status::OK();
}

}  // namespace icebound::sql
