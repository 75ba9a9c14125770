// SPDX-License-Identifier: Apache-2.0
//
// The rules, each in the file of its name. A rule takes a whole plan and gives an equivalent one; it may rely on nothing that
// another rule did.
#pragma once

#include <arrow/result.h>

#include "optimizer/optimizer.h"
#include "plan/logical_plan.h"

namespace icebound::optimizer {

/// Not a rule to switch off: a plan with an ApplyNode cannot run.
arrow::Result<plan::PlanPtr> Decorrelate(const plan::PlanPtr& plan, const OptimizerOptions& options);

arrow::Result<plan::PlanPtr> FoldConstants(const plan::PlanPtr& plan, const OptimizerOptions& options);
arrow::Result<plan::PlanPtr> DropRedundantSorts(const plan::PlanPtr& plan, const OptimizerOptions& options);
arrow::Result<plan::PlanPtr> MergeProjections(const plan::PlanPtr& plan, const OptimizerOptions& options);
arrow::Result<plan::PlanPtr> PushFilters(const plan::PlanPtr& plan, const OptimizerOptions& options);
arrow::Result<plan::PlanPtr> SimplifyJoins(const plan::PlanPtr& plan, const OptimizerOptions& options);
arrow::Result<plan::PlanPtr> PushLimits(const plan::PlanPtr& plan, const OptimizerOptions& options);
arrow::Result<plan::PlanPtr> PruneColumns(const plan::PlanPtr& plan, const OptimizerOptions& options);
arrow::Result<plan::PlanPtr> OrderJoins(const plan::PlanPtr& plan, const OptimizerOptions& options);
arrow::Result<plan::PlanPtr> ReduceAggregateInputs(const plan::PlanPtr& plan, const OptimizerOptions& options);
arrow::Result<plan::PlanPtr> ChooseBuildSides(const plan::PlanPtr& plan, const OptimizerOptions& options);
arrow::Result<plan::PlanPtr> OrderScans(const plan::PlanPtr& plan, const OptimizerOptions& options);

}  // namespace icebound::optimizer
