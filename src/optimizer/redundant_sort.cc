// SPDX-License-Identifier: Apache-2.0
//
// The order of a sort is gone when its rows are sorted again, grouped, joined or compared as sets, unless something in between
// (LIMIT, a top-k sort) chose rows by that order, or an aggregate without its own ORDER BY reads it: array_agg over a sorted
// subquery.
#include "optimizer/plan_rewrite.h"
#include "optimizer/rules.h"

namespace icebound::optimizer {

using plan::PlanKind;
using plan::PlanPtr;

namespace {

/// Drops sorts from a plan whose order nobody sees.
arrow::Result<PlanPtr> WithoutSorts(const PlanPtr& plan) {
  switch (plan->kind()) {
    case PlanKind::kSort:
      if (static_cast<const plan::SortNode&>(*plan).fetch()) return plan;
      return WithoutSorts(plan->child());
    case PlanKind::kFilter:
    case PlanKind::kProject:
    case PlanKind::kUnionAll:
      return RewriteChildren(plan, WithoutSorts);
    case PlanKind::kScan:
    case PlanKind::kLimit:
    case PlanKind::kValues:
    case PlanKind::kAggregate:
    case PlanKind::kJoin:
    case PlanKind::kApply:
    case PlanKind::kSetOperation:
    case PlanKind::kCopy:
      return plan;
  }
  return plan;
}

/// True when the node looks at its input's rows in any order.
bool IgnoresOrder(const plan::LogicalPlan& plan) {
  switch (plan.kind()) {
    case PlanKind::kSort:
    case PlanKind::kJoin:
    case PlanKind::kSetOperation:
      return true;
    case PlanKind::kAggregate:
      return !IsOrderSensitive(static_cast<const plan::AggregateNode&>(plan));
    default:
      return false;
  }
}

}  // namespace

arrow::Result<PlanPtr> DropRedundantSorts(const PlanPtr& plan, const OptimizerOptions&) {
  return RewriteBottomUp(plan, [](const PlanPtr& node) -> arrow::Result<PlanPtr> {
    return IgnoresOrder(*node) ? RewriteChildren(node, WithoutSorts) : node;
  });
}

}  // namespace icebound::optimizer
