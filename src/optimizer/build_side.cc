// SPDX-License-Identifier: Apache-2.0
//
// Every join keeps the side of fewer bytes in memory, or in spill files, and lets the other one pass by. The choice depends on
// the tables alone, so that every memory limit gives the same plan.
#include "optimizer/cardinality.h"
#include "optimizer/plan_rewrite.h"
#include "optimizer/rules.h"

namespace icebound::optimizer {

using plan::PlanPtr;

arrow::Result<PlanPtr> ChooseBuildSides(const PlanPtr& plan, const OptimizerOptions&) {
  CardinalityEstimator estimator;
  return RewriteBottomUp(plan, [&](const PlanPtr& node) -> arrow::Result<PlanPtr> {
    if (node->kind() != plan::PlanKind::kJoin) return node;
    const auto& join = static_cast<const plan::JoinNode&>(*node);
    ARROW_ASSIGN_OR_RAISE(const PlanEstimate left, estimator.Estimate(join.left()));
    ARROW_ASSIGN_OR_RAISE(const PlanEstimate right, estimator.Estimate(join.right()));
    const bool build_left = left.Bytes() < right.Bytes();
    if (build_left == join.build_left()) return node;
    return std::make_shared<plan::JoinNode>(join.left(), join.right(), join.type(), join.condition(), build_left);
  });
}

}  // namespace icebound::optimizer
