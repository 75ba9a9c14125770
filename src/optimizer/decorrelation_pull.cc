// SPDX-License-Identifier: Apache-2.0
//
// The simple way out of a correlated subquery: conditions that compare with the left row move up, until they stand at the join
// that the Apply becomes. Columns that they need come along; expressions over the left row are computed above that join.
//
//   Filter       splits into conditions that move and those that stay
//   Project      keeps all its input's columns beside its own
//   Aggregate    over equalities `e = left`: groups by e, too, and the condition moves above it
//   Join         an inner one from both sides; others from the side whose rows they keep
//   Sort         stays, for aggregates that read its order
#include <algorithm>
#include <numeric>

#include "expr/type_rules.h"
#include "optimizer/decorrelation.h"
#include "optimizer/plan_rewrite.h"

namespace icebound::optimizer {

using expr::ExprPtr;
using plan::PlanKind;
using plan::PlanPtr;

namespace {

using MaybePulled = arrow::Result<std::optional<Pulled>>;

bool IsColumn(const expr::Expr& expr) { return expr.kind() == expr::ExprKind::kColumn; }

MaybePulled PullFilter(const plan::FilterNode& filter) {
  ARROW_ASSIGN_OR_RAISE(std::optional<Pulled> pulled, PullLeftReferences(filter.child()));
  if (!pulled) return std::nullopt;
  ARROW_ASSIGN_OR_RAISE(const ExprPtr predicate, SubstituteColumns(filter.predicate(), pulled->outputs));
  Conjuncts stay;
  for (const ExprPtr& conjunct : expr::SplitConjunction(predicate)) {
    (HasLeftReference(*conjunct) ? pulled->conditions : stay).push_back(conjunct);
  }
  if (!stay.empty()) pulled->plan = std::make_shared<plan::FilterNode>(pulled->plan, expr::MakeAnd(std::move(stay)));
  return pulled;
}

MaybePulled PullProject(const plan::ProjectNode& project) {
  ARROW_ASSIGN_OR_RAISE(std::optional<Pulled> pulled, PullLeftReferences(project.child()));
  if (!pulled) return std::nullopt;
  std::vector<ExprPtr> columns = ColumnsOf(*pulled->plan);
  std::vector<std::string> names = pulled->plan->schema()->field_names();
  const size_t passed = columns.size();
  std::vector<ExprPtr> outputs;
  for (size_t i = 0; i < project.exprs().size(); ++i) {
    ARROW_ASSIGN_OR_RAISE(ExprPtr output, SubstituteColumns(project.exprs()[i], pulled->outputs));
    const bool late = HasLeftReference(*output);
    if (late && IsVolatile(*output)) return std::nullopt;
    if (!late && !IsColumn(*output)) {
      names.push_back(project.schema()->field(static_cast<int>(i))->name());
      auto column = std::make_shared<expr::ColumnExpr>(static_cast<int>(columns.size()), names.back(), output->type());
      columns.push_back(std::move(output));
      output = std::move(column);
    }
    outputs.push_back(std::move(output));
  }
  if (columns.size() > passed) {
    pulled->plan = std::make_shared<plan::ProjectNode>(pulled->plan, std::move(columns), std::move(names));
  }
  pulled->outputs = std::move(outputs);
  return pulled;
}

MaybePulled PullSort(const plan::SortNode& sort) {
  if (sort.fetch()) return std::nullopt;
  ARROW_ASSIGN_OR_RAISE(std::optional<Pulled> pulled, PullLeftReferences(sort.child()));
  if (!pulled) return std::nullopt;
  std::vector<plan::SortKey> keys;
  for (plan::SortKey key : sort.keys()) {
    ARROW_ASSIGN_OR_RAISE(key.expr, SubstituteColumns(key.expr, pulled->outputs));
    if (!HasLeftReference(*key.expr)) {
      keys.push_back(std::move(key));
    } else if (!expr::ReferencedColumns(*key.expr).empty()) {
      return std::nullopt;
    }
  }
  if (!keys.empty()) pulled->plan = std::make_shared<plan::SortNode>(pulled->plan, std::move(keys), std::nullopt);
  return pulled;
}

/// GROUP BY and DISTINCT. One row over all input (no groups) also comes out where there is no input: not by this way.
MaybePulled PullAggregate(const plan::AggregateNode& aggregate) {
  if (aggregate.groups().empty()) return std::nullopt;
  ARROW_ASSIGN_OR_RAISE(std::optional<Pulled> pulled, PullLeftReferences(aggregate.child()));
  if (!pulled) return std::nullopt;
  bool refers = false;
  const auto substitute = [&](const ExprPtr& expr) -> arrow::Result<ExprPtr> {
    ARROW_ASSIGN_OR_RAISE(ExprPtr over_plan, SubstituteColumns(expr, pulled->outputs));
    refers = refers || HasLeftReference(*over_plan);
    return over_plan;
  };
  std::vector<ExprPtr> groups;
  for (const ExprPtr& group : aggregate.groups()) {
    ARROW_ASSIGN_OR_RAISE(groups.emplace_back(), substitute(group));
  }
  std::vector<expr::AggregateCall> calls;
  for (const expr::AggregateCall& call : aggregate.aggregates()) {
    ARROW_ASSIGN_OR_RAISE(calls.emplace_back(), expr::TransformAggregate(call, substitute));
  }
  if (refers) return std::nullopt;
  const auto own_groups = static_cast<int>(groups.size());
  ARROW_ASSIGN_OR_RAISE(std::optional<PulledGroups> more, GroupByConditions(*pulled, own_groups));
  if (!more) return std::nullopt;
  std::vector<std::string> names;
  for (int i = 0; i < own_groups; ++i) names.push_back(aggregate.schema()->field(i)->name());
  for (const ExprPtr& group : more->groups) names.push_back(group->ToString());
  for (int i = own_groups; i < aggregate.schema()->num_fields(); ++i) names.push_back(aggregate.schema()->field(i)->name());
  groups.insert(groups.end(), more->groups.begin(), more->groups.end());
  pulled->plan = std::make_shared<plan::AggregateNode>(pulled->plan, std::move(groups), std::move(calls), std::move(names));
  std::vector<ExprPtr> outputs = ColumnsOf(*pulled->plan);
  outputs.erase(outputs.begin() + own_groups, outputs.begin() + own_groups + static_cast<ptrdiff_t>(more->groups.size()));
  pulled->outputs = std::move(outputs);
  pulled->conditions = std::move(more->conditions);
  return pulled;
}

MaybePulled PullInnerJoin(const plan::JoinNode& join) {
  ARROW_ASSIGN_OR_RAISE(std::optional<Pulled> left, PullLeftReferences(join.left()));
  if (!left) return std::nullopt;
  ARROW_ASSIGN_OR_RAISE(std::optional<Pulled> right, PullLeftReferences(join.right()));
  if (!right) return std::nullopt;
  const int left_columns = left->plan->schema()->num_fields();
  Pulled both{nullptr, left->outputs, left->conditions};
  for (const ExprPtr& output : right->outputs) {
    ARROW_ASSIGN_OR_RAISE(both.outputs.emplace_back(), ShiftColumns(output, left_columns));
  }
  for (const ExprPtr& condition : right->conditions) {
    ARROW_ASSIGN_OR_RAISE(both.conditions.emplace_back(), ShiftColumns(condition, left_columns));
  }
  expr::JoinCondition condition;
  condition.position = join.condition().position;
  Conjuncts residual;
  const auto add = [&](const ExprPtr& conjunct) {
    (HasLeftReference(*conjunct) ? both.conditions : residual).push_back(conjunct);
  };
  for (expr::JoinKey key : join.condition().keys) {
    ARROW_ASSIGN_OR_RAISE(key.left, SubstituteColumns(key.left, left->outputs));
    ARROW_ASSIGN_OR_RAISE(key.right, SubstituteColumns(key.right, right->outputs));
    if (!HasLeftReference(*key.left) && !HasLeftReference(*key.right)) {
      condition.keys.push_back(std::move(key));
      continue;
    }
    ARROW_ASSIGN_OR_RAISE(const ExprPtr comparison, ComparisonOf(key, left_columns));
    add(comparison);
  }
  if (join.condition().residual != nullptr) {
    ARROW_ASSIGN_OR_RAISE(const ExprPtr over_both, SubstituteColumns(join.condition().residual, both.outputs));
    for (const ExprPtr& conjunct : expr::SplitConjunction(over_both)) add(conjunct);
  }
  if (!residual.empty()) condition.residual = expr::MakeAnd(std::move(residual));
  both.plan = std::make_shared<plan::JoinNode>(left->plan, right->plan, expr::JoinType::kInner, std::move(condition));
  return both;
}

/// A join that keeps the rows of one side, with left references on that side only. Its output is that side's columns before
/// (`side` 0) or after (`side` 1) the others.
MaybePulled PullKeptSide(const plan::JoinNode& join, size_t side) {
  if (HasLeftReference(*join.children()[1 - side])) return std::nullopt;
  ARROW_ASSIGN_OR_RAISE(std::optional<Pulled> kept, PullLeftReferences(join.children()[side]));
  if (!kept) return std::nullopt;
  // More rows would be looked at, and one of them may have two matches.
  if (join.type() == expr::JoinType::kLeftSingle && !kept->conditions.empty()) return std::nullopt;
  std::vector<PlanPtr> children = join.children();
  children[side] = kept->plan;
  const int shift = side == 0 ? 0 : join.left()->schema()->num_fields();
  const int new_left_columns = children[0]->schema()->num_fields();
  std::vector<ExprPtr> other;  // the other side's columns over L then R
  for (const ExprPtr& column : ColumnsOf(*children[1 - side])) {
    ARROW_ASSIGN_OR_RAISE(other.emplace_back(), ShiftColumns(column, side == 0 ? new_left_columns : 0));
  }
  for (ExprPtr& output : kept->outputs) {
    ARROW_ASSIGN_OR_RAISE(output, ShiftColumns(output, shift));
  }
  std::vector<ExprPtr> both = side == 0 ? kept->outputs : other;
  both.insert(both.end(), (side == 0 ? other : kept->outputs).begin(), (side == 0 ? other : kept->outputs).end());

  expr::JoinCondition condition = join.condition();
  for (expr::JoinKey& key : condition.keys) {
    ExprPtr& own = side == 0 ? key.left : key.right;
    ARROW_ASSIGN_OR_RAISE(own, ShiftColumns(own, shift));
    ARROW_ASSIGN_OR_RAISE(own, SubstituteColumns(own, both));
    if (HasLeftReference(*own) || HasLeftReference(side == 0 ? *key.right : *key.left)) return std::nullopt;
    ARROW_ASSIGN_OR_RAISE(own, ShiftColumns(own, -shift));
  }
  if (condition.residual != nullptr) {
    ARROW_ASSIGN_OR_RAISE(condition.residual, SubstituteColumns(condition.residual, both));
    if (HasLeftReference(*condition.residual)) return std::nullopt;
  }
  Pulled pulled;
  for (const ExprPtr& moved : kept->conditions) {
    ARROW_ASSIGN_OR_RAISE(pulled.conditions.emplace_back(), ShiftColumns(moved, shift));
  }
  pulled.plan = std::make_shared<plan::JoinNode>(children[0], children[1], join.type(), std::move(condition));
  if (expr::HasRightColumns(join.type())) {
    pulled.outputs = std::move(both);
  } else {
    pulled.outputs = std::move(kept->outputs);
    const int columns = pulled.plan->schema()->num_fields();
    if (columns > new_left_columns)
      pulled.outputs.push_back(expr::MakeColumn(columns - 1, *pulled.plan->schema()->field(columns - 1)));
  }
  return pulled;
}

MaybePulled PullJoin(const plan::JoinNode& join) {
  switch (join.type()) {
    case expr::JoinType::kInner:
      return PullInnerJoin(join);
    case expr::JoinType::kRight:
      return PullKeptSide(join, 1);
    case expr::JoinType::kFull:
      return std::nullopt;
    default:
      return PullKeptSide(join, 0);
  }
}

/// One row of expressions: no row of values is needed, only that there is one.
MaybePulled PullValues(const plan::ValuesNode& values) {
  if (values.rows().size() != 1) return std::nullopt;
  const std::vector<ExprPtr>& row = values.rows().front();
  if (std::any_of(row.begin(), row.end(), [](const ExprPtr& expr) { return IsVolatile(*expr); })) return std::nullopt;
  return Pulled{
      std::make_shared<plan::ValuesNode>(arrow::schema(arrow::FieldVector{}), std::vector<std::vector<ExprPtr>>(1)), row, {}};
}

}  // namespace

MaybePulled PullLeftReferences(const PlanPtr& plan) {
  if (!HasLeftReference(*plan)) return Pulled{plan, ColumnsOf(*plan), {}};
  switch (plan->kind()) {
    case PlanKind::kFilter:
      return PullFilter(static_cast<const plan::FilterNode&>(*plan));
    case PlanKind::kProject:
      return PullProject(static_cast<const plan::ProjectNode&>(*plan));
    case PlanKind::kSort:
      return PullSort(static_cast<const plan::SortNode&>(*plan));
    case PlanKind::kLimit: {
      const auto& limit = static_cast<const plan::LimitNode&>(*plan);
      if (limit.limit() || limit.offset() > 0) return std::nullopt;
      return PullLeftReferences(limit.child());
    }
    case PlanKind::kAggregate:
      return PullAggregate(static_cast<const plan::AggregateNode&>(*plan));
    case PlanKind::kJoin:
      return PullJoin(static_cast<const plan::JoinNode&>(*plan));
    case PlanKind::kValues:
      return PullValues(static_cast<const plan::ValuesNode&>(*plan));
    case PlanKind::kScan:
    case PlanKind::kUnionAll:
    case PlanKind::kSetOperation:
    case PlanKind::kApply:
    case PlanKind::kCopy:
      return std::nullopt;
  }
  return std::nullopt;
}

arrow::Result<std::optional<PulledGroups>> GroupByConditions(const Pulled& input, int first_group) {
  PulledGroups pulled;
  const auto is_left_only = [](const expr::Expr& expr) {
    return HasLeftReference(expr) && expr::ReferencedColumns(expr).empty();
  };
  for (const ExprPtr& condition : input.conditions) {
    // Says nothing of the input: true for all groups of a left row, or for none.
    if (expr::ReferencedColumns(*condition).empty() && !IsVolatile(*condition)) {
      pulled.conditions.push_back(condition);
      continue;
    }
    if (condition->kind() != expr::ExprKind::kCall || !expr::IsDeterministic(*condition)) return std::nullopt;
    const std::string_view name = static_cast<const expr::CallExpr&>(*condition).name();
    if (name != "=" && name != "is_not_distinct_from") return std::nullopt;
    ExprPtr inner = condition->children()[0];
    ExprPtr outer = condition->children()[1];
    if (is_left_only(*inner)) std::swap(inner, outer);
    if (!is_left_only(*outer) || HasLeftReference(*inner)) return std::nullopt;
    // Grouped as they are compared: values that are equal only as another type must be one group.
    auto key = MakeJoinKey(std::move(inner), std::move(outer), name != "=");
    if (!key) return std::nullopt;
    size_t group = 0;
    while (group < pulled.groups.size() && !expr::Equals(*pulled.groups[group], *key->left)) ++group;
    if (group == pulled.groups.size()) pulled.groups.push_back(key->left);
    ExprPtr column =
        std::make_shared<expr::ColumnExpr>(first_group + static_cast<int>(group), key->left->ToString(), key->left->type());
    ARROW_ASSIGN_OR_RAISE(pulled.conditions.emplace_back(), expr::MakeCall(name, {std::move(column), key->right}));
  }
  return pulled;
}

}  // namespace icebound::optimizer
