// SPDX-License-Identifier: Apache-2.0
//
// What all parts of one hash join share.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "exec/join/join_rules.h"
#include "exec/join/join_side.h"
#include "exec/sort/sort_budget.h"
#include "expr/expr.h"
#include "memory/memory_ledger.h"
#include "runtime/metrics.h"
#include "runtime/query_context.h"

namespace icebound::exec::join {

/// Constant while streams run, but for what is atomic.
struct JoinPlan {
  explicit JoinPlan(JoinRules rules) : rules(rules) {}

  const JoinSide& side(int side) const { return *sides[static_cast<size_t>(side)]; }

  runtime::QueryContext* context = nullptr;
  runtime::OperatorMetrics* metrics = nullptr;
  memory::MemoryConsumer* consumer = nullptr;
  sort::SortBudget* budget = nullptr;
  const JoinRules rules;
  std::array<std::unique_ptr<JoinSide>, 2> sides;  // left, right
  std::vector<bool> null_safe;                     // of the keys, in the order of the sides
  expr::ExprPtr residual;                          // over L R; null: none
  expr::TextPosition position;                     // of the subquery that the join stands for
  std::shared_ptr<arrow::Schema> pair_schema;      // L R
  std::shared_ptr<arrow::Schema> output_schema;
  int build_side = 1;
  bool is_keyless = false;  // every row of one side may match every row of the other

  // Of the whole right side, for NOT IN and IN; complete once both inputs have been read.
  std::atomic<bool> right_has_rows{false};
  std::atomic<bool> right_has_null_key{false};
};

}  // namespace icebound::exec::join
