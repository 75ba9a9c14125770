// SPDX-License-Identifier: Apache-2.0
//
// A query without ORDER BY gives the rows in the order of its table, and a LIMIT takes the first of them: the same rows for every
// limit and number of threads. A sort above makes the order of the scan meaningless, and the scan may then run on all threads.
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
  if (plan->kind() == PlanKind::kSort) order_matters = false;
  // Which rows a limit lets through depends on their order, whoever is above.
  if (plan->kind() == PlanKind::kLimit) order_matters = true;
  return RewriteChildren(plan, [&](const PlanPtr& child) { return Mark(child, order_matters); });
}

}  // namespace

arrow::Result<PlanPtr> OrderScans(const PlanPtr& plan, const OptimizerOptions&) { return Mark(plan, /*order_matters=*/true); }

}  // namespace icebound::optimizer
