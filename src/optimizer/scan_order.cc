// SPDX-License-Identifier: Apache-2.0
//
// A query without ORDER BY gives the rows in the order of its table, and a LIMIT takes the first of them: the same rows for every
// limit and number of threads. A sort, a join, a set operation or an aggregate above makes the order of the scan meaningless, and
// the scan may then run on all threads; but an aggregate like array_agg without its own ORDER BY takes the rows as they come.
#include "optimizer/plan_rewrite.h"
#include "optimizer/rules.h"

namespace icebound::optimizer {

using plan::PlanKind;
using plan::PlanPtr;

namespace {

arrow::Result<PlanPtr> Mark(const PlanPtr& plan, bool order_matters) {
  if (plan->kind() == PlanKind::kScan) {
    const auto& scan = static_cast<const plan::ScanNode&>(*plan);
    if (scan.request().ordered == order_matters) return plan;
    plan::ScanRequest request = scan.request();
    request.ordered = order_matters;
    return std::make_shared<plan::ScanNode>(scan.source(), scan.table_name(), std::move(request));
  }
  switch (plan->kind()) {
    case PlanKind::kSort:
    case PlanKind::kJoin:
    case PlanKind::kApply:
    case PlanKind::kSetOperation:
      order_matters = false;
      break;
    case PlanKind::kAggregate:
      order_matters = IsOrderSensitive(static_cast<const plan::AggregateNode&>(*plan));
      break;
    // Which rows a limit lets through depends on their order, whoever is above.
    case PlanKind::kLimit:
      order_matters = true;
      break;
    default:
      break;
  }
  return RewriteChildren(plan, [&](const PlanPtr& child) { return Mark(child, order_matters); });
}

}  // namespace

arrow::Result<PlanPtr> OrderScans(const PlanPtr& plan, const OptimizerOptions&) { return Mark(plan, /*order_matters=*/true); }

}  // namespace icebound::optimizer
