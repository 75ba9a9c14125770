// SPDX-License-Identifier: Apache-2.0
//
// From what to how: turns an optimized logical plan into operators and chooses the algorithm of each. The only caller of operator
// constructors.
#pragma once

#include <arrow/result.h>

#include <memory>

#include "exec/operator.h"
#include "io/file_systems.h"
#include "plan/logical_plan.h"
#include "runtime/query_context.h"

namespace icebound::planner {

/// Builds the operators of `plan`. `context` and `file_systems` must outlive them. Opens scans and output files; runs nothing
/// yet.
arrow::Result<std::unique_ptr<exec::Operator>> PlanOperators(const plan::LogicalPlan& plan, runtime::QueryContext* context,
                                                             io::FileSystems* file_systems);

}  // namespace icebound::planner
