// SPDX-License-Identifier: Apache-2.0
//
// Top-down: every node is told which of its columns are wanted and gives a plan that has at least these, with a map from the old
// column numbers to the new ones. Where columns too many would cost (below a Sort, which keeps and spills them) or where the
// numbers must agree (branches of UnionAll, the result, COPY), a projection makes them exact; likewise below a Join, which
// keeps and spills its rows, too. A mark that nobody reads is not made, nor a left join whose right columns nobody reads and that
// cannot double a row; and an aggregate that nobody reads is not computed.
#include <algorithm>
#include <numeric>

#include "optimizer/plan_properties.h"
#include "optimizer/plan_rewrite.h"
#include "optimizer/rules.h"

namespace icebound::optimizer {

using expr::ExprPtr;
using plan::PlanKind;
using plan::PlanPtr;

namespace {

/// wanted[i]: somebody uses column i.
using Wanted = std::vector<bool>;

struct Pruned {
  PlanPtr plan;
  std::vector<int> position;  ///< of each old column; -1 when it is gone
};

arrow::Result<Pruned> Prune(const PlanPtr& plan, const Wanted& wanted);

void Want(const expr::Expr& expr, Wanted* wanted) {
  for (int column : expr::ReferencedColumns(expr)) (*wanted)[static_cast<size_t>(column)] = true;
}

size_t ColumnCount(const plan::LogicalPlan& plan) { return static_cast<size_t>(plan.schema()->num_fields()); }

/// Numbers the wanted columns from 0.
std::vector<int> Renumber(const Wanted& wanted) {
  std::vector<int> position(wanted.size(), -1);
  int next = 0;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i]) position[i] = next++;
  }
  return position;
}

/// Exactly the wanted columns, in their old order.
arrow::Result<Pruned> PruneExactly(const PlanPtr& plan, const Wanted& wanted) {
  ARROW_ASSIGN_OR_RAISE(Pruned pruned, Prune(plan, wanted));
  const std::vector<int> exact = Renumber(wanted);
  const auto wanted_count = static_cast<size_t>(std::count(wanted.begin(), wanted.end(), true));
  bool same = ColumnCount(*pruned.plan) == wanted_count;
  for (size_t i = 0; i < wanted.size(); ++i) same = same && (!wanted[i] || pruned.position[i] == exact[i]);
  if (same) return pruned;
  std::vector<ExprPtr> exprs;
  std::vector<std::string> names;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (!wanted[i]) continue;
    const auto& field = *pruned.plan->schema()->field(pruned.position[i]);
    exprs.push_back(expr::MakeColumn(pruned.position[i], field));
    names.push_back(field.name());
  }
  return Pruned{std::make_shared<plan::ProjectNode>(pruned.plan, std::move(exprs), std::move(names)), exact};
}

arrow::Result<Pruned> PruneScan(const plan::ScanNode& scan, Wanted wanted) {
  plan::ScanRequest request = scan.request();
  for (const ExprPtr& filter : request.filters) Want(*filter, &wanted);
  Pruned pruned{nullptr, Renumber(wanted)};
  std::vector<int> projection;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i]) projection.push_back(request.projection[i]);
  }
  request.projection = std::move(projection);
  for (ExprPtr& filter : request.filters) {
    ARROW_ASSIGN_OR_RAISE(filter, expr::RemapColumns(filter, pruned.position));
  }
  pruned.plan = std::make_shared<plan::ScanNode>(scan.source(), scan.table_name(), std::move(request));
  return pruned;
}

arrow::Result<Pruned> PruneFilter(const plan::FilterNode& filter, const Wanted& wanted) {
  Wanted below = wanted;
  Want(*filter.predicate(), &below);
  ARROW_ASSIGN_OR_RAISE(Pruned pruned, Prune(filter.child(), below));
  ARROW_ASSIGN_OR_RAISE(ExprPtr predicate, expr::RemapColumns(filter.predicate(), pruned.position));
  pruned.plan = std::make_shared<plan::FilterNode>(std::move(pruned.plan), std::move(predicate));
  return pruned;
}

arrow::Result<Pruned> PruneProject(const plan::ProjectNode& project, const Wanted& wanted) {
  Wanted below(ColumnCount(*project.child()), false);
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i]) Want(*project.exprs()[i], &below);
  }
  ARROW_ASSIGN_OR_RAISE(const Pruned child, Prune(project.child(), below));
  std::vector<ExprPtr> exprs;
  std::vector<std::string> names;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (!wanted[i]) continue;
    ARROW_ASSIGN_OR_RAISE(exprs.emplace_back(), expr::RemapColumns(project.exprs()[i], child.position));
    names.push_back(project.schema()->field(static_cast<int>(i))->name());
  }
  return Pruned{std::make_shared<plan::ProjectNode>(child.plan, std::move(exprs), std::move(names)), Renumber(wanted)};
}

arrow::Result<Pruned> PruneSort(const plan::SortNode& sort, const Wanted& wanted) {
  Wanted below = wanted;
  for (const plan::SortKey& key : sort.keys()) Want(*key.expr, &below);
  ARROW_ASSIGN_OR_RAISE(Pruned pruned, PruneExactly(sort.child(), below));
  std::vector<plan::SortKey> keys = sort.keys();
  for (plan::SortKey& key : keys) {
    ARROW_ASSIGN_OR_RAISE(key.expr, expr::RemapColumns(key.expr, pruned.position));
  }
  pruned.plan = std::make_shared<plan::SortNode>(std::move(pruned.plan), std::move(keys), sort.fetch());
  return pruned;
}

arrow::Result<Pruned> PruneUnion(const plan::UnionAllNode& node, const Wanted& wanted) {
  std::vector<PlanPtr> children;
  for (const PlanPtr& child : node.children()) {
    ARROW_ASSIGN_OR_RAISE(Pruned pruned, PruneExactly(child, wanted));
    children.push_back(std::move(pruned.plan));
  }
  return Pruned{std::make_shared<plan::UnionAllNode>(std::move(children)), Renumber(wanted)};
}

arrow::Result<Pruned> PruneAggregate(const plan::AggregateNode& aggregate, const Wanted& wanted) {
  const size_t group_count = aggregate.groups().size();
  const arrow::Schema& schema = *aggregate.schema();
  Wanted below(ColumnCount(*aggregate.child()), false);
  Wanted kept = wanted;
  std::vector<std::string> names;
  for (size_t i = 0; i < group_count; ++i) {
    kept[i] = true;
    Want(*aggregate.groups()[i], &below);
    names.push_back(schema.field(static_cast<int>(i))->name());
  }
  std::vector<expr::AggregateCall> calls;
  for (size_t i = group_count; i < kept.size(); ++i) {
    if (!kept[i]) continue;
    calls.push_back(aggregate.aggregates()[i - group_count]);
    names.push_back(schema.field(static_cast<int>(i))->name());
    ARROW_RETURN_NOT_OK(expr::TransformAggregate(calls.back(), [&](const ExprPtr& expr) -> arrow::Result<ExprPtr> {
                          Want(*expr, &below);
                          return expr;
                        }).status());
  }
  // Without groups it gives one row whatever it computes.
  if (calls.empty() && group_count == 0) {
    return Pruned{std::make_shared<plan::ValuesNode>(arrow::schema(arrow::FieldVector{}), std::vector<std::vector<ExprPtr>>(1)),
                  Renumber(kept)};
  }
  ARROW_ASSIGN_OR_RAISE(const Pruned child, Prune(aggregate.child(), below));
  const auto remap = [&](const ExprPtr& expr) { return expr::RemapColumns(expr, child.position); };
  std::vector<ExprPtr> groups = aggregate.groups();
  for (ExprPtr& group : groups) {
    ARROW_ASSIGN_OR_RAISE(group, remap(group));
  }
  for (expr::AggregateCall& call : calls) {
    ARROW_ASSIGN_OR_RAISE(call, expr::TransformAggregate(call, remap));
  }
  return Pruned{std::make_shared<plan::AggregateNode>(child.plan, std::move(groups), std::move(calls), std::move(names)),
                Renumber(kept)};
}

bool IsMark(expr::JoinType type) { return type == expr::JoinType::kLeftMark || type == expr::JoinType::kLeftMarkNulls; }

arrow::Result<Pruned> PruneJoin(const plan::JoinNode& join, const Wanted& wanted) {
  const size_t left_width = ColumnCount(*join.left());
  if (IsMark(join.type()) && !wanted.back()) {
    ARROW_ASSIGN_OR_RAISE(Pruned left, Prune(join.left(), Wanted(wanted.begin(), wanted.end() - 1)));
    left.position.push_back(-1);
    return left;
  }
  const bool reads_right =
      std::any_of(wanted.begin() + static_cast<ptrdiff_t>(left_width), wanted.end(), [](bool is) { return is; });
  if (join.type() == expr::JoinType::kLeft && !reads_right && MatchesAtMostOne(*join.right(), join.condition().keys)) {
    ARROW_ASSIGN_OR_RAISE(Pruned left,
                          Prune(join.left(), Wanted(wanted.begin(), wanted.begin() + static_cast<ptrdiff_t>(left_width))));
    left.position.resize(wanted.size(), -1);
    return left;
  }
  // Over L then R, also where R's columns do not come out.
  Wanted both(left_width + ColumnCount(*join.right()), false);
  const size_t passed = expr::HasRightColumns(join.type()) ? both.size() : left_width;
  std::copy_n(wanted.begin(), passed, both.begin());
  expr::JoinCondition condition = join.condition();
  if (condition.residual != nullptr) Want(*condition.residual, &both);
  Wanted left_wanted(both.begin(), both.begin() + static_cast<ptrdiff_t>(left_width));
  Wanted right_wanted(both.begin() + static_cast<ptrdiff_t>(left_width), both.end());
  for (const expr::JoinKey& key : condition.keys) {
    Want(*key.left, &left_wanted);
    Want(*key.right, &right_wanted);
  }
  ARROW_ASSIGN_OR_RAISE(Pruned left, PruneExactly(join.left(), left_wanted));
  ARROW_ASSIGN_OR_RAISE(Pruned right, PruneExactly(join.right(), right_wanted));
  for (expr::JoinKey& key : condition.keys) {
    ARROW_ASSIGN_OR_RAISE(key.left, expr::RemapColumns(key.left, left.position));
    ARROW_ASSIGN_OR_RAISE(key.right, expr::RemapColumns(key.right, right.position));
  }
  std::vector<int> position = left.position;
  const auto new_left_width = static_cast<int>(ColumnCount(*left.plan));
  for (const int column : right.position) position.push_back(column < 0 ? -1 : column + new_left_width);
  if (condition.residual != nullptr) {
    ARROW_ASSIGN_OR_RAISE(condition.residual, expr::RemapColumns(condition.residual, position));
  }
  position.resize(passed);
  if (IsMark(join.type())) position.push_back(new_left_width);
  return Pruned{std::make_shared<plan::JoinNode>(left.plan, right.plan, join.type(), std::move(condition), join.build_left()),
                std::move(position)};
}

/// Children that must keep all their columns.
arrow::Result<Pruned> PruneBelow(const PlanPtr& plan) {
  std::vector<PlanPtr> children;
  for (const PlanPtr& child : plan->children()) {
    ARROW_ASSIGN_OR_RAISE(Pruned pruned, PruneExactly(child, Wanted(ColumnCount(*child), true)));
    children.push_back(std::move(pruned.plan));
  }
  std::vector<int> all(ColumnCount(*plan));
  std::iota(all.begin(), all.end(), 0);
  return Pruned{plan->WithChildren(std::move(children)), std::move(all)};
}

Pruned PruneValues(const plan::ValuesNode& values, const Wanted& wanted) {
  arrow::FieldVector fields;
  std::vector<std::vector<ExprPtr>> rows(values.rows().size());
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (!wanted[i]) continue;
    fields.push_back(values.schema()->field(static_cast<int>(i)));
    for (size_t row = 0; row < rows.size(); ++row) rows[row].push_back(values.rows()[row][i]);
  }
  return {std::make_shared<plan::ValuesNode>(arrow::schema(std::move(fields)), std::move(rows)), Renumber(wanted)};
}

arrow::Result<Pruned> Prune(const PlanPtr& plan, const Wanted& wanted) {
  switch (plan->kind()) {
    case PlanKind::kScan:
      return PruneScan(static_cast<const plan::ScanNode&>(*plan), wanted);
    case PlanKind::kFilter:
      return PruneFilter(static_cast<const plan::FilterNode&>(*plan), wanted);
    case PlanKind::kProject:
      return PruneProject(static_cast<const plan::ProjectNode&>(*plan), wanted);
    case PlanKind::kSort:
      return PruneSort(static_cast<const plan::SortNode&>(*plan), wanted);
    case PlanKind::kUnionAll:
      return PruneUnion(static_cast<const plan::UnionAllNode&>(*plan), wanted);
    case PlanKind::kValues:
      return PruneValues(static_cast<const plan::ValuesNode&>(*plan), wanted);
    case PlanKind::kLimit: {
      ARROW_ASSIGN_OR_RAISE(Pruned pruned, Prune(plan->child(), wanted));
      pruned.plan = plan->WithChildren({std::move(pruned.plan)});
      return pruned;
    }
    case PlanKind::kAggregate:
      return PruneAggregate(static_cast<const plan::AggregateNode&>(*plan), wanted);
    case PlanKind::kJoin:
      return PruneJoin(static_cast<const plan::JoinNode&>(*plan), wanted);
    case PlanKind::kApply:
    case PlanKind::kSetOperation:
    case PlanKind::kCopy:
      return PruneBelow(plan);
  }
  return PruneBelow(plan);
}

}  // namespace

arrow::Result<PlanPtr> PruneColumns(const PlanPtr& plan, const OptimizerOptions&) {
  ARROW_ASSIGN_OR_RAISE(Pruned pruned, PruneExactly(plan, Wanted(ColumnCount(*plan), true)));
  return std::move(pruned.plan);
}

}  // namespace icebound::optimizer
