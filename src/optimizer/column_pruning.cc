// SPDX-License-Identifier: Apache-2.0
//
// Top-down: every node is told which of its columns are wanted and gives a plan that has at least these, with a map from the old
// column numbers to the new ones. Where columns too many would cost (below a Sort, which keeps and spills them) or where the
// numbers must agree (branches of UnionAll, the result, COPY), a projection makes them exact.
#include <algorithm>
#include <numeric>

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
    case PlanKind::kCopy: {
      ARROW_ASSIGN_OR_RAISE(Pruned source, PruneExactly(plan->child(), Wanted(ColumnCount(*plan->child()), true)));
      return Pruned{plan->WithChildren({std::move(source.plan)}), {0}};
    }
  }
  std::vector<int> all(ColumnCount(*plan));
  std::iota(all.begin(), all.end(), 0);
  return Pruned{plan, std::move(all)};
}

}  // namespace

arrow::Result<PlanPtr> PruneColumns(const PlanPtr& plan, const OptimizerOptions&) {
  ARROW_ASSIGN_OR_RAISE(Pruned pruned, PruneExactly(plan, Wanted(ColumnCount(*plan), true)));
  return std::move(pruned.plan);
}

}  // namespace icebound::optimizer
