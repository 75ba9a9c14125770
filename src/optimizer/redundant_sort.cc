// SPDX-License-Identifier: Apache-2.0
//
// The order of a sort is gone when its rows are sorted again, unless something in between (LIMIT, a top-k sort) chose rows by
// that order.
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
    case PlanKind::kCopy:
      return plan;
  }
  return plan;
}

}  // namespace

arrow::Result<PlanPtr> DropRedundantSorts(const PlanPtr& plan, const OptimizerOptions&) {
  return RewriteBottomUp(plan, [](const PlanPtr& node) -> arrow::Result<PlanPtr> {
    return node->kind() == PlanKind::kSort ? RewriteChildren(node, WithoutSorts) : node;
  });
}

}  // namespace icebound::optimizer
