// SPDX-License-Identifier: Apache-2.0
//
// SELECT: the select list and the order of the steps around it.
#include "sql/binder.h"
#include "sql/expr_binder.h"

namespace icebound::sql {

using plan::PlanPtr;

std::vector<expr::ExprPtr> ColumnsOf(const plan::LogicalPlan& plan) {
  std::vector<expr::ExprPtr> columns;
  for (int i = 0; i < plan.schema()->num_fields(); ++i) columns.push_back(expr::MakeColumn(i, *plan.schema()->field(i)));
  return columns;
}

arrow::Result<PlanPtr> Binder::BindQuery(const Node& select, const QueryEnvironment& environment) {
  ARROW_ASSIGN_OR_RAISE(PlanPtr plan, BindQueryBody(select, environment));
  return TypeUntypedColumns(std::move(plan));
}

PlanPtr Binder::TypeUntypedColumns(PlanPtr plan) {
  std::vector<expr::ExprPtr> columns = ColumnsOf(*plan);
  bool untyped = false;
  for (expr::ExprPtr& column : columns) {
    if (column->type()->id() != arrow::Type::NA) continue;
    untyped = true;
    column = expr::MakeLiteral(arrow::MakeNullScalar(arrow::utf8()));
  }
  if (!untyped) return plan;
  std::vector<std::string> names = plan->schema()->field_names();
  return std::make_shared<plan::ProjectNode>(std::move(plan), std::move(columns), std::move(names));
}

arrow::Result<PlanPtr> Binder::BindQueryBody(const Node& select, const QueryEnvironment& environment) {
  BindContext::Nesting nesting(context_);
  const int offset = select.FirstLocation();
  ARROW_RETURN_NOT_OK(context_.CheckDepth(offset));
  ARROW_RETURN_NOT_OK(context_.AddPlanNodes(1, offset));
  ARROW_RETURN_NOT_OK(CheckSupportedClauses(select));

  CommonTableScope common_tables(environment.common_tables);
  QueryEnvironment inner{&common_tables, environment.outer, nullptr};
  if (select["withClause"]) ARROW_RETURN_NOT_OK(BindWith(select["withClause"], inner, &common_tables));

  PlanPtr plan;
  const std::string_view operation = select.Text("op");
  if (select["valuesLists"]) {
    ARROW_ASSIGN_OR_RAISE(plan, BindValues(select, inner));
    ARROW_ASSIGN_OR_RAISE(plan, SortOutput(select, std::move(plan)));
  } else if (operation != "SETOP_NONE") {
    ARROW_ASSIGN_OR_RAISE(plan, BindSetOperation(select, inner));
    ARROW_ASSIGN_OR_RAISE(plan, SortOutput(select, std::move(plan)));
  } else {
    ARROW_ASSIGN_OR_RAISE(plan, BindPlainSelect(select, inner));
  }
  return ApplyLimit(select, std::move(plan));
}

arrow::Status Binder::CheckSupportedClauses(const Node& select) {
  const int body = select["targetList"].FirstLocation();
  if (const Node window = select["windowClause"]) {
    return context_.Unsupported(context_.KeywordBefore(window.FirstLocation(), "window"), "WINDOW");
  }
  if (const Node into = select["intoClause"]) {
    return context_.Unsupported(context_.KeywordBefore(into.FirstLocation(), "into"), "SELECT INTO");
  }
  if (select["lockingClause"]) return context_.Unsupported(context_.KeywordAfter(body, "for"), "FOR UPDATE and FOR SHARE");
  return context_.OnlyFields(select, {"distinctClause", "targetList", "fromClause", "whereClause", "groupClause", "groupDistinct",
                                      "havingClause", "valuesLists", "sortClause", "limitOffset", "limitCount", "limitOption",
                                      "withClause", "op", "all", "larg", "rarg"});
}

arrow::Result<PlanPtr> Binder::BindPlainSelect(const Node& select, const QueryEnvironment& environment) {
  QueryCore core;
  core.common_tables = environment.common_tables;
  ARROW_ASSIGN_OR_RAISE(core.from, BindFrom(select, environment));
  if (const Node where = select["whereClause"]) {
    ExprBinder binder(context_, *this, PlaceOf(&core, Clause::kWhere));
    ARROW_ASSIGN_OR_RAISE(auto predicate, binder.BindCondition(where, "WHERE"));
    core.from.plan = std::make_shared<plan::FilterNode>(core.from.plan, std::move(predicate));
  }
  ARROW_RETURN_NOT_OK(ExpandTargets(select, &core));
  ARROW_RETURN_NOT_OK(BindAggregation(select, &core));
  ARROW_RETURN_NOT_OK(BindTargets(&core));
  if (select["distinctClause"]) return BindDistinct(select, &core);

  ARROW_ASSIGN_OR_RAISE(SortPlan sort, BindOrderBy(select, &core));
  const size_t visible = core.exprs.size();
  const bool has_hidden = !sort.hidden.empty();
  PlanPtr plan = ProjectOutput(&core, std::move(sort.hidden));
  if (sort.keys.empty()) return plan;
  plan = std::make_shared<plan::SortNode>(std::move(plan), std::move(sort.keys), std::nullopt);
  if (!has_hidden) return plan;
  std::vector<expr::ExprPtr> outputs = ColumnsOf(*plan);
  outputs.resize(visible);
  return std::make_shared<plan::ProjectNode>(std::move(plan), std::move(outputs), core.names);
}

PlanPtr Binder::ProjectOutput(QueryCore* core, std::vector<expr::ExprPtr> hidden) {
  std::vector<expr::ExprPtr> exprs = core->exprs;
  std::vector<std::string> names = core->names;
  for (expr::ExprPtr& expr : hidden) {
    names.push_back(expr->ToString());
    exprs.push_back(std::move(expr));
  }
  return std::make_shared<plan::ProjectNode>(core->from.plan, std::move(exprs), std::move(names));
}

arrow::Status Binder::ExpandTargets(const Node& select, QueryCore* core) {
  for (const Node& target : select["targetList"].items()) {
    ARROW_RETURN_NOT_OK(context_.OnlyFields(target, {"name", "val", "location"}));
    const Node value = target["val"];
    const std::vector<Node> fields = value.Is("ColumnRef") ? value["fields"].items() : std::vector<Node>();
    if (!fields.empty() && fields.back().Is("A_Star")) {
      ARROW_RETURN_NOT_OK(ExpandStar(value, core));
      continue;
    }
    std::string name(target["name"].text());
    const bool has_alias = !name.empty();
    core->targets.push_back({value, std::nullopt, has_alias ? std::move(name) : DefaultColumnName(value), has_alias});
  }
  return arrow::Status::OK();
}

arrow::Status Binder::ExpandStar(const Node& column_ref, QueryCore* core) {
  const int offset = column_ref.location();
  std::vector<std::string> qualifier = NameParts(column_ref["fields"]);
  qualifier.pop_back();  // the star
  std::vector<const ScopeTable*> tables;
  if (qualifier.empty()) {
    for (const ScopeTable& table : core->from.scope->tables()) tables.push_back(&table);
    if (tables.empty()) return context_.Invalid(offset, "SELECT * with no tables specified is not valid");
  } else {
    ARROW_ASSIGN_OR_RAISE(tables.emplace_back(), context_.Position(core->from.scope->ResolveTable(qualifier), offset));
  }
  for (const ScopeTable* table : tables) {
    for (const ScopeColumn& column : table->columns) {
      if (column.hidden || (qualifier.empty() && column.qualified_only)) continue;
      core->targets.push_back({column_ref, column, column.field->name(), false});
    }
  }
  return arrow::Status::OK();
}

arrow::Result<expr::ExprPtr> Binder::BindTarget(const Target& target, ExprBinder* binder) {
  if (!target.star) return binder->Bind(target.value);
  return expr::MakeColumn(target.star->index, *target.star->field, {target.value.location()});
}

arrow::Status Binder::BindTargets(QueryCore* core) {
  ExprBinder binder(context_, *this, PlaceOf(core, Clause::kSelectList));
  for (size_t i = 0; i < core->targets.size(); ++i) {
    const Target& target = core->targets[i];
    expr::ExprPtr bound = core->aggregation ? core->aggregation->TargetColumn(i) : nullptr;
    const bool is_group = bound != nullptr;
    if (!is_group) {
      ARROW_ASSIGN_OR_RAISE(bound, BindTarget(target, &binder));
    }
    // A column keeps the file's spelling, even when it was found by ignoring case; a subquery gives its column's name.
    const std::string spelling =
        bound->kind() == expr::ExprKind::kColumn ? static_cast<const expr::ColumnExpr&>(*bound).name() : std::string();
    const bool same = !target.has_alias && ((target.value.Is("ColumnRef") && NameMatches(target.name, spelling, /*fold=*/true)) ||
                                            target.value.Text("subLinkType") == "EXPR_SUBLINK");
    core->names.push_back(same ? spelling : target.name);
    if (core->aggregation && !is_group) {
      ARROW_ASSIGN_OR_RAISE(bound, core->aggregation->Finish(bound));
    }
    core->exprs.push_back(std::move(bound));
  }
  return arrow::Status::OK();
}

}  // namespace icebound::sql
