// SPDX-License-Identifier: Apache-2.0
//
// JOIN in all its spellings. The rows of a join are the left side's columns, then the right side's; names of the right side move
// up by the width of the left. USING and NATURAL merge columns: the merged one stands first in `*` and is what the bare name
// means, while t.x still reaches its parts.
//
// LATERAL: a right side that may use columns of the left becomes an Apply. Its names are resolved one level up, in the scope of
// the left side; items in it without the word LATERAL get an empty scope instead, so that levels count the same.
//
// Subqueries in ON: an inner join filters its rows afterwards. An outer join must decide before it knows the match, so there the
// subquery is evaluated over the one side whose columns it is compared with.
#include <algorithm>
#include <numeric>

#include "expr/type_rules.h"
#include "sql/binder.h"
#include "sql/join_keys.h"

namespace icebound::sql {

using expr::ExprPtr;
using expr::JoinType;

namespace {

bool HasSubquery(const Node& node) {
  bool found = false;
  node.Visit([&](const Node& inner) {
    found = found || inner.Is("SubLink");
    return !found;
  });
  return found;
}

void AppendConjuncts(const Node& condition, std::vector<Node>* conjuncts) {
  if (condition.Is("BoolExpr") && condition.Text("boolop") == "AND_EXPR") {
    for (const Node& argument : condition["args"].items()) AppendConjuncts(argument, conjuncts);
  } else {
    conjuncts->push_back(condition);
  }
}

int Width(const plan::PlanPtr& plan) { return plan->schema()->num_fields(); }

/// Column i of a side of `width` columns is column i + shift.
std::vector<int> Shifted(int width, int shift) {
  std::vector<int> mapping(static_cast<size_t>(width));
  std::iota(mapping.begin(), mapping.end(), shift);
  return mapping;
}

JoinType TypeOf(std::string_view parsed) {
  if (parsed == "JOIN_LEFT") return JoinType::kLeft;
  if (parsed == "JOIN_RIGHT") return JoinType::kRight;
  return parsed == "JOIN_FULL" ? JoinType::kFull : JoinType::kInner;
}

/// Gives the merged columns, whose values are expressions over the join, their places: those of columns that are there already,
/// or new ones behind them.
void PlaceMerged(std::vector<ExprPtr> values, ScopeTable* merged, plan::PlanPtr* plan) {
  std::vector<ExprPtr> exprs = ColumnsOf(**plan);
  std::vector<std::string> names = (*plan)->schema()->field_names();
  const size_t plain = exprs.size();
  for (size_t i = 0; i < values.size(); ++i) {
    ScopeColumn& column = merged->columns[i];
    if (values[i]->kind() == expr::ExprKind::kColumn) {
      column.index = static_cast<const expr::ColumnExpr&>(*values[i]).index();
      continue;
    }
    column.index = static_cast<int>(exprs.size());
    names.push_back(column.field->name());
    exprs.push_back(std::move(values[i]));
  }
  if (exprs.size() > plain) *plan = std::make_shared<plan::ProjectNode>(*plan, std::move(exprs), std::move(names));
}

/// The tables of both sides over the rows of the join.
std::vector<ScopeTable> JoinedTables(std::vector<ScopeTable> left, const std::vector<ScopeTable>& right, int left_width) {
  for (ScopeTable table : right) {
    for (ScopeColumn& column : table.columns) column.index += left_width;
    left.push_back(std::move(table));
  }
  return left;
}

}  // namespace

bool HasLateral(const Node& from_item) {
  bool found = false;
  from_item.Visit([&](const Node& inner) {
    found = found || (inner.Is("RangeSubselect") && inner.Flag("lateral"));
    return !found && !inner.Is("SelectStmt");
  });
  return found;
}

arrow::Status Binder::CheckWidth(const JoinSides& sides) {
  return context_.AddJoinColumns(Width(sides.left.plan) + Width(sides.right.plan), sides.offset);
}

Binder::FromItem Binder::Combine(JoinSides sides, expr::JoinCondition condition) {
  FromItem joined;
  joined.tables = JoinedTables(std::move(sides.left.tables), sides.right.tables, Width(sides.left.plan));
  if (sides.lateral) {
    condition.position = {sides.offset};
    joined.plan = std::make_shared<plan::ApplyNode>(std::move(sides.left.plan), std::move(sides.right.plan), sides.type,
                                                    std::move(condition));
  } else {
    joined.plan = std::make_shared<plan::JoinNode>(std::move(sides.left.plan), std::move(sides.right.plan), sides.type,
                                                   std::move(condition));
  }
  return joined;
}

arrow::Result<Binder::FromItem> Binder::BindRightSide(const Node& node, const FromItem& left,
                                                      const QueryEnvironment& environment) {
  Scope siblings(environment.lateral ? environment.lateral : environment.outer,
                 environment.lateral ? Scope::Parent::kSibling : Scope::Parent::kQuery);
  ARROW_RETURN_NOT_OK(AddTables(left, &siblings, node.FirstLocation()));
  const Scope nothing(environment.outer);
  return BindFromItem(node, {environment.common_tables, &nothing, &siblings});
}

arrow::Result<Binder::FromItem> Binder::BindJoin(const Node& node, const QueryEnvironment& environment) {
  ARROW_RETURN_NOT_OK(context_.OnlyFields(
      node, {"jointype", "isNatural", "larg", "rarg", "usingClause", "join_using_alias", "quals", "alias", "rtindex"}));
  JoinSides sides;
  sides.type = TypeOf(node.Text("jointype"));
  const Node right = node["rarg"];
  sides.offset = right.FirstLocation();
  // The left side of RIGHT and FULL is not known when the right one is evaluated: its names are not visible there.
  sides.lateral = (sides.type == JoinType::kInner || sides.type == JoinType::kLeft) && HasLateral(right);
  ARROW_ASSIGN_OR_RAISE(sides.left, BindFromItem(node["larg"], environment));
  if (sides.lateral) {
    ARROW_ASSIGN_OR_RAISE(sides.right, BindRightSide(right, sides.left, environment));
  } else {
    ARROW_ASSIGN_OR_RAISE(sides.right, BindFromItem(right, environment));
  }
  ARROW_RETURN_NOT_OK(CheckWidth(sides));
  Scope both;
  ARROW_RETURN_NOT_OK(AddTables(sides.left, &both, sides.offset));
  ARROW_RETURN_NOT_OK(AddTables(sides.right, &both, sides.offset));

  FromItem joined;
  if (node.Flag("isNatural")) {
    const int offset = context_.KeywordBefore(sides.offset, "natural");
    ARROW_ASSIGN_OR_RAISE(const auto names, NaturalNames(sides, offset));
    ARROW_ASSIGN_OR_RAISE(joined, JoinUsing(std::move(sides), names, {}));
  } else if (node["usingClause"]) {
    ARROW_ASSIGN_OR_RAISE(const auto names, UsingNames(node));
    ARROW_ASSIGN_OR_RAISE(joined, JoinUsing(std::move(sides), names, node["join_using_alias"]));
  } else if (const Node condition = node["quals"]) {
    ARROW_ASSIGN_OR_RAISE(joined, HasSubquery(condition) ? JoinOnSubqueries(std::move(sides), condition, environment)
                                                         : JoinOn(std::move(sides), condition, environment));
  } else {
    joined = Combine(std::move(sides), {});
  }

  const Node alias = node["alias"];
  if (!alias) return joined;
  ARROW_RETURN_NOT_OK(context_.OnlyFields(alias, {"aliasname", "colnames"}));
  ScopeTable renamed{{std::string(alias.Text("aliasname"))}, {}};
  for (const ScopeTable& table : joined.tables) {
    std::copy_if(table.columns.begin(), table.columns.end(), std::back_inserter(renamed.columns),
                 [](const ScopeColumn& column) { return !column.qualified_only && !column.hidden; });
  }
  const std::vector<std::string> names = NameParts(alias["colnames"]);
  if (names.size() > renamed.columns.size()) {
    return context_.Invalid(node.FirstLocation(), "join expression \"{}\" has {} columns available but {} columns specified",
                            renamed.qualifier.front(), renamed.columns.size(), names.size());
  }
  for (size_t i = 0; i < names.size(); ++i) renamed.columns[i].field = renamed.columns[i].field->WithName(names[i]);
  joined.tables = {std::move(renamed)};
  return joined;
}

// --- ON ---------------------------------------------------------------------------------------------------------------------

arrow::Result<Binder::FromItem> Binder::JoinOn(JoinSides sides, const Node& condition, const QueryEnvironment& environment) {
  const int left_width = Width(sides.left.plan);
  Scope scope(environment.outer);
  ARROW_RETURN_NOT_OK(
      AddTables({nullptr, JoinedTables(sides.left.tables, sides.right.tables, left_width)}, &scope, sides.offset));
  ExprBinder binder(context_, *this, {scope, Clause::kJoinOn});
  ARROW_ASSIGN_OR_RAISE(const ExprPtr predicate, binder.BindCondition(condition, "JOIN/ON"));
  return Combine(std::move(sides), SplitJoinCondition(predicate, left_width));
}

arrow::Result<Binder::FromItem> Binder::JoinOnSubqueries(JoinSides sides, const Node& condition,
                                                         const QueryEnvironment& environment) {
  std::vector<Node> conjuncts;
  AppendConjuncts(condition, &conjuncts);
  const std::string_view construct = conjuncts.size() > 1 ? "AND" : "JOIN/ON";
  const bool inner = sides.type == JoinType::kInner;
  if (!inner && sides.lateral) return context_.Unsupported(condition.FirstLocation(), "subqueries in ON of a LATERAL outer join");
  std::vector<ExprPtr> on_left;
  std::vector<ExprPtr> on_right;
  for (const Node& conjunct : conjuncts) {
    if (inner || !HasSubquery(conjunct)) continue;
    bool left = false;
    ARROW_ASSIGN_OR_RAISE(ExprPtr predicate, BindOneSided(conjunct, construct, &sides, environment, &left));
    (left ? on_left : on_right).push_back(std::move(predicate));
  }

  const int left_width = Width(sides.left.plan);
  Scope scope(environment.outer);
  ARROW_RETURN_NOT_OK(
      AddTables({nullptr, JoinedTables(sides.left.tables, sides.right.tables, left_width)}, &scope, sides.offset));
  std::vector<ExprPtr> predicates = std::move(on_left);
  for (const ExprPtr& predicate : on_right) {
    ARROW_ASSIGN_OR_RAISE(predicates.emplace_back(), expr::RemapColumns(predicate, Shifted(Width(sides.right.plan), left_width)));
  }
  ExprBinder plain(context_, *this, {scope, Clause::kJoinOn});
  for (const Node& conjunct : conjuncts) {
    if (HasSubquery(conjunct)) continue;
    ARROW_ASSIGN_OR_RAISE(predicates.emplace_back(), plain.BindCondition(conjunct, construct));
  }
  FromItem joined = Combine(std::move(sides), SplitJoinCondition(expr::MakeAnd(std::move(predicates)), left_width));
  if (!inner) return joined;
  std::vector<ExprPtr> above;
  ExprBinder binder(context_, *this, {scope, Clause::kJoinOn, environment.common_tables, &joined.plan});
  for (const Node& conjunct : conjuncts) {
    if (!HasSubquery(conjunct)) continue;
    ARROW_ASSIGN_OR_RAISE(above.emplace_back(), binder.BindCondition(conjunct, construct));
  }
  joined.plan = std::make_shared<plan::FilterNode>(joined.plan, expr::MakeAnd(std::move(above)));
  return joined;
}

arrow::Result<ExprPtr> Binder::BindOneSided(const Node& conjunct, std::string_view construct, JoinSides* sides,
                                            const QueryEnvironment& environment, bool* left) {
  const int left_width = Width(sides->left.plan);
  const int right_width = Width(sides->right.plan);
  arrow::Result<ExprPtr> bound = ExprPtr();
  for (const bool try_left : {false, true}) {
    Scope scope(environment.outer);
    ARROW_RETURN_NOT_OK(
        AddTables({nullptr, JoinedTables(sides->left.tables, sides->right.tables, left_width)}, &scope, sides->offset));
    std::vector<int> new_index(static_cast<size_t>(left_width + right_width), -1);
    const auto begin = new_index.begin() + (try_left ? 0 : left_width);
    std::iota(begin, begin + (try_left ? left_width : right_width), 0);
    scope.Restrict(std::move(new_index), Scope::Restriction::kOtherSide);
    plan::PlanPtr& rows = try_left ? sides->left.plan : sides->right.plan;
    const plan::PlanPtr rows_before = rows;
    const size_t scans_before = context_.one_shot_scan_count();
    ExprBinder binder(context_, *this, {scope, Clause::kJoinOn, environment.common_tables, &rows});
    bound = binder.BindCondition(conjunct, construct);
    *left = try_left;
    if (bound.ok() || !Scope::IsOtherSideError(bound.status())) return bound;
    rows = rows_before;
    context_.TakeOneShotScans(scans_before);
  }
  return bound;
}

// --- USING, NATURAL ---------------------------------------------------------------------------------------------------------

arrow::Result<std::vector<Binder::UsingName>> Binder::UsingNames(const Node& join) {
  const int keyword = context_.KeywordAfter(join["rarg"].LastLocation(), "using");
  std::vector<UsingName> names;
  for (const std::string& name : NameParts(join["usingClause"])) {
    const int offset = context_.IdentifierAfter(names.empty() ? keyword : names.back().offset + 1, name);
    if (std::any_of(names.begin(), names.end(), [&](const UsingName& other) { return other.name == name; })) {
      return context_.Invalid(offset, "column name \"{}\" appears more than once in USING clause", name);
    }
    names.push_back({name, offset});
  }
  return names;
}

arrow::Result<std::vector<Binder::UsingName>> Binder::NaturalNames(const JoinSides& sides, int offset) {
  std::vector<UsingName> names;
  const auto on_right = [&](const std::string& name) {
    for (const ScopeTable& table : sides.right.tables) {
      for (const ScopeColumn& column : table.columns) {
        if (!column.qualified_only && !column.hidden && column.field->name() == name) return true;
      }
    }
    return false;
  };
  for (const ScopeTable& table : sides.left.tables) {
    for (const ScopeColumn& column : table.columns) {
      const std::string& name = column.field->name();
      if (column.qualified_only || column.hidden || !on_right(name)) continue;
      if (std::any_of(names.begin(), names.end(), [&](const UsingName& other) { return other.name == name; })) {
        return context_.Invalid(offset, "common column name \"{}\" appears more than once in left table", name);
      }
      names.push_back({name, offset});
    }
  }
  return names;
}

arrow::Result<ScopeColumn*> Binder::ColumnForUsing(FromItem* side, const std::string& name, std::string_view side_name,
                                                   int offset) {
  for (const bool fold : {false, true}) {
    if (fold && !MayBeUnquoted(name)) break;
    ScopeColumn* found = nullptr;
    for (ScopeTable& table : side->tables) {
      for (ScopeColumn& column : table.columns) {
        if (column.qualified_only || !NameMatches(name, column.field->name(), fold)) continue;
        if (found) {
          return context_.Invalid(offset, "common column name \"{}\" appears more than once in {} table", name, side_name);
        }
        found = &column;
      }
    }
    if (found) return found;
  }
  return context_.Invalid(offset, "column \"{}\" specified in USING clause does not exist in {} table", name, side_name);
}

arrow::Result<Binder::FromItem> Binder::JoinUsing(JoinSides sides, const std::vector<UsingName>& names, const Node& alias) {
  const int left_width = Width(sides.left.plan);
  const JoinType type = sides.type;
  ScopeTable merged;
  std::vector<ExprPtr> equal;
  std::vector<ExprPtr> values;
  for (const auto& [name, offset] : names) {
    ARROW_ASSIGN_OR_RAISE(ScopeColumn * left, ColumnForUsing(&sides.left, name, "left", offset));
    ARROW_ASSIGN_OR_RAISE(ScopeColumn * right, ColumnForUsing(&sides.right, name, "right", offset));
    const ExprPtr left_value = expr::MakeColumn(left->index, *left->field, {offset});
    const ExprPtr right_value = expr::MakeColumn(left_width + right->index, *right->field, {offset});
    const auto common = expr::CommonType({left->field->type(), right->field->type()});
    if (!common.ok()) {
      return context_.Invalid(offset, "JOIN/USING types {} and {} cannot be matched", expr::SqlTypeName(*left->field->type()),
                              expr::SqlTypeName(*right->field->type()));
    }
    ARROW_ASSIGN_OR_RAISE(equal.emplace_back(),
                          context_.Position(expr::MakeCall("=", {left_value, right_value}, {offset}), offset));
    ARROW_ASSIGN_OR_RAISE(ExprPtr left_common, context_.Position(expr::CoerceTo(left_value, *common), offset));
    ARROW_ASSIGN_OR_RAISE(ExprPtr right_common, context_.Position(expr::CoerceTo(right_value, *common), offset));
    if (type == JoinType::kFull) {
      ARROW_ASSIGN_OR_RAISE(values.emplace_back(),
                            context_.Position(expr::MakeCall("coalesce", {left_common, right_common}, {offset}), offset));
    } else {
      values.push_back(type == JoinType::kRight ? right_common : left_common);
    }
    left->qualified_only = true;
    right->qualified_only = true;
    merged.columns.push_back({left->field->WithType(values.back()->type()), -1, false});
  }
  FromItem joined = Combine(std::move(sides), SplitJoinCondition(expr::MakeAnd(std::move(equal)), left_width));
  if (names.empty()) return joined;
  PlaceMerged(std::move(values), &merged, &joined.plan);
  if (alias) {
    ARROW_RETURN_NOT_OK(context_.OnlyFields(alias, {"aliasname"}));
    merged.qualifier = {std::string(alias.Text("aliasname"))};
  }
  joined.tables.insert(joined.tables.begin(), std::move(merged));
  return joined;
}

}  // namespace icebound::sql
