// SPDX-License-Identifier: Apache-2.0
//
// Projections that follow one another become one, unless that would compute an expression twice; one that only passes its input
// on goes away, also when the scan below can give the columns in that order itself.
#include <algorithm>
#include <set>

#include "optimizer/plan_rewrite.h"
#include "optimizer/rules.h"

namespace icebound::optimizer {

using expr::ExprKind;
using expr::ExprPtr;
using plan::PlanKind;
using plan::PlanPtr;

namespace {

const plan::ProjectNode& AsProject(const PlanPtr& plan) { return static_cast<const plan::ProjectNode&>(*plan); }

void CountColumns(const expr::Expr& expr, std::vector<int>* counts) {
  if (expr.kind() == ExprKind::kColumn) ++(*counts)[static_cast<size_t>(static_cast<const expr::ColumnExpr&>(expr).index())];
  for (const ExprPtr& child : expr.children()) CountColumns(*child, counts);
}

/// True when putting the inner expressions into the outer ones computes nothing twice.
bool CanMerge(const plan::ProjectNode& outer, const plan::ProjectNode& inner) {
  std::vector<int> counts(inner.exprs().size(), 0);
  for (const ExprPtr& expr : outer.exprs()) CountColumns(*expr, &counts);
  for (size_t i = 0; i < counts.size(); ++i) {
    const ExprKind kind = inner.exprs()[i]->kind();
    if (counts[i] > 1 && kind != ExprKind::kColumn && kind != ExprKind::kLiteral) return false;
    // A volatile value may be an argument that is not evaluated for every row (CASE): leave it where it is.
    if (counts[i] > 0 && IsVolatile(*inner.exprs()[i])) return false;
  }
  return true;
}

bool IsIdentity(const plan::ProjectNode& project) {
  const arrow::Schema& input = *project.child()->schema();
  if (static_cast<int>(project.exprs().size()) != input.num_fields()) return false;
  for (int i = 0; i < input.num_fields(); ++i) {
    const ExprPtr& expr = project.exprs()[static_cast<size_t>(i)];
    if (expr->kind() != ExprKind::kColumn || static_cast<const expr::ColumnExpr&>(*expr).index() != i) return false;
    if (project.schema()->field(i)->name() != input.field(i)->name()) return false;
  }
  return true;
}

/// Project over Scan that only picks and reorders columns: the scan's own projection can do it. nullptr when it cannot.
arrow::Result<PlanPtr> IntoScan(const plan::ProjectNode& project, const plan::ScanNode& scan) {
  plan::ScanRequest request = scan.request();
  std::vector<int> new_position(request.projection.size(), -1);
  request.projection.clear();
  for (size_t i = 0; i < project.exprs().size(); ++i) {
    if (project.exprs()[i]->kind() != ExprKind::kColumn) return nullptr;
    const auto& column = static_cast<const expr::ColumnExpr&>(*project.exprs()[i]);
    const auto index = static_cast<size_t>(column.index());
    const bool renamed = project.schema()->field(static_cast<int>(i))->name() != scan.schema()->field(column.index())->name();
    if (renamed || new_position[index] >= 0) return nullptr;
    new_position[index] = static_cast<int>(i);
    request.projection.push_back(scan.request().projection[index]);
  }
  for (ExprPtr& filter : request.filters) {
    for (int used : expr::ReferencedColumns(*filter)) {
      if (new_position[static_cast<size_t>(used)] < 0) return nullptr;
    }
    ARROW_ASSIGN_OR_RAISE(filter, expr::RemapColumns(filter, new_position));
  }
  return std::make_shared<plan::ScanNode>(scan.source(), scan.table_name(), std::move(request));
}

/// Literals over rows without columns (SELECT 1) are a row of values.
PlanPtr IntoValues(const plan::ProjectNode& project, const plan::ValuesNode& values) {
  if (values.schema()->num_fields() > 0) return nullptr;
  const bool literals = std::all_of(project.exprs().begin(), project.exprs().end(),
                                    [](const ExprPtr& expr) { return expr->kind() == ExprKind::kLiteral; });
  if (!literals || project.exprs().empty()) return nullptr;
  return std::make_shared<plan::ValuesNode>(project.schema(),
                                            std::vector<std::vector<ExprPtr>>(values.rows().size(), project.exprs()));
}

arrow::Result<PlanPtr> MergeNode(const PlanPtr& plan) {
  if (plan->kind() != PlanKind::kProject) return plan;
  const plan::ProjectNode& project = AsProject(plan);
  const PlanPtr& child = project.child();
  if (IsIdentity(project)) return child;
  if (child->kind() == PlanKind::kProject && CanMerge(project, AsProject(child))) {
    std::vector<ExprPtr> exprs;
    for (const ExprPtr& expr : project.exprs()) {
      ARROW_ASSIGN_OR_RAISE(exprs.emplace_back(), SubstituteColumns(expr, AsProject(child).exprs()));
    }
    return MergeNode(std::make_shared<plan::ProjectNode>(child->child(), std::move(exprs), project.schema()->field_names()));
  }
  PlanPtr merged;
  if (child->kind() == PlanKind::kScan) {
    ARROW_ASSIGN_OR_RAISE(merged, IntoScan(project, static_cast<const plan::ScanNode&>(*child)));
  } else if (child->kind() == PlanKind::kValues) {
    merged = IntoValues(project, static_cast<const plan::ValuesNode&>(*child));
  }
  return merged ? merged : plan;
}

}  // namespace

arrow::Result<PlanPtr> MergeProjections(const PlanPtr& plan, const OptimizerOptions&) { return RewriteBottomUp(plan, MergeNode); }

}  // namespace icebound::optimizer
