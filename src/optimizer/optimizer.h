// SPDX-License-Identifier: Apache-2.0
//
// Logical plan to a better logical plan. First of all, subqueries become joins (decorrelation.cc): no plan runs before. Then the
// rules run in a fixed order (RuleNames gives it), each over the whole plan; every rule is one file and leaves a plan with the
// same columns and the same rows, so that any of them can be switched off:
//
//   constant_folding    computes constant expressions, simplifies AND/OR, drops filters that are always true, empties plans that
//                       can have no rows
//   redundant_sort      drops an ORDER BY whose order nobody sees
//   merge_projections   joins neighbouring projections, drops those that change nothing; once more, for what pruning left
//   filter_pushdown     moves filters towards the scans and into them, through joins and aggregates; finds join keys
//   semi_join           marks in WHERE become semi and anti joins, outer joins inner ones where NULLs are rejected; filters again
//   join_order          the order of inner, semi and anti joins, from statistics; filters once more, for copies over new keys
//   semi_join_reduction an aggregate joined on its groups computes those that a filtered table on the other side asks for
//   build_side          which side a join keeps, from statistics
//   limit_pushdown      LIMIT below projections, into sorts (top-k) and scans
//   column_pruning      columns that nobody uses are not read, joined, sorted or spilled
//   scan_order          marks the scans whose order the result shows
#pragma once

#include <arrow/memory_pool.h>
#include <arrow/result.h>

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "plan/logical_plan.h"

namespace icebound::optimizer {

struct OptimizerOptions {
  arrow::MemoryPool* pool = nullptr;  ///< required: constant folding evaluates expressions
  int64_t statement_time_us = 0;      ///< now(), as when running
  std::set<std::string, std::less<>> disabled_rules;

  /// Points an error at the SQL text; without it errors have no position.
  std::function<arrow::Status(const arrow::Status& error, expr::TextPosition position)> point_at;
};

/// The names of the rules in the order they run; a rule that runs twice is named once.
std::vector<std::string_view> RuleNames();

/// Applies the rules. Unknown names in disabled_rules are kInvalidInput.
arrow::Result<plan::PlanPtr> Optimize(plan::PlanPtr plan, const OptimizerOptions& options);

}  // namespace icebound::optimizer
