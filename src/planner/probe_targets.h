// SPDX-License-Identifier: Apache-2.0
//
// Which scan a join's keys come from. A hash join drops rows of its probe side that match nothing; when their keys are columns of
// a scan below, the scan can drop them before it decodes the rest of them (runtime/probe_filter.h).
//
// A target goes down from the join as long as a row that is dropped below takes away nothing but rows that the join would have
// dropped: through filters, sorts without a fetch, unions, projections and groupings that pass the keys on, and joins, on a side
// whose rows only ever make rows with their own keys.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "expr/join_condition.h"
#include "plan/logical_plan.h"
#include "runtime/probe_filter.h"

namespace icebound::planner {

struct ProbeTarget {
  std::shared_ptr<runtime::ProbeFilter> filter;
  std::vector<int> columns;  ///< of the node it is for, a column a key
};

/// What becomes of targets on `node`'s rows in its child number `child`.
std::vector<ProbeTarget> TargetsBelow(const plan::LogicalPlan& node, size_t child, const std::vector<ProbeTarget>& targets);

/// The target that a join makes for its probe side; empty when a key is no column there.
std::vector<int> ProbeKeyColumns(const plan::JoinNode& join);

}  // namespace icebound::planner
