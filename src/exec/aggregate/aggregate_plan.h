// SPDX-License-Identifier: Apache-2.0
//
// From aggregate calls to states: which states a group has, what feeds them, and how results are made of them.
//
//   call                                    states                     fed by
//   count(*), count(x)                      kCount                     the input
//   sum(x), avg(x)                          a sum (and kCount)         the input
//   min, max, bool_and, bool_or             an extreme                 the input
//   first, last, any_value                  kFirstBytes, kLastBytes    the input
//   first, last with ORDER BY               kMinBytes, kMaxBytes of    the input
//                                           sort key and value
//   count, sum, avg, stddev, variance       as without DISTINCT        the groups of (keys, x): a distinct source
//   with DISTINCT
//   array_agg, string_agg                   kFirstBytes                values gathered by sorting: an ordered source
//
// Equal states are kept once: sum(x) and avg(x) share theirs.
#pragma once

#include <arrow/result.h>

#include <memory>
#include <vector>

#include "exec/aggregate/argument_columns.h"
#include "exec/aggregate/ordered_values.h"
#include "exec/aggregate/result_columns.h"
#include "exec/aggregate/state.h"
#include "expr/aggregate.h"
#include "expr/expr.h"

namespace icebound::exec::aggregate {

/// Arguments over one kind of batch, and the states that each feeds.
struct ArgumentPlan {
  std::vector<ArgumentSpec> specs;
  std::vector<std::vector<int>> states;  ///< by argument

  /// Adds a state to what the argument feeds.
  void Feed(const ArgumentSpec& spec, int state);
};

/// Calls over the distinct values of the same expressions under the same filter.
struct DistinctPlan {
  std::vector<expr::ExprPtr> values;       ///< over the input
  expr::ExprPtr filter;                    ///< null: all rows
  std::vector<expr::AggregateCall> calls;  ///< whose argument is column i of `values`
  ArgumentPlan arguments;                  ///< over the batches of this source: keys, then values
};

/// array_agg and string_agg of one order.
struct OrderedPlan {
  OrderedCalls calls;
  expr::ExprPtr filter;
  ArgumentPlan arguments;  ///< over the batches of this source: keys, then values
};

struct AggregatePlan {
  std::vector<StateKind> states;
  ArgumentPlan input;
  std::vector<DistinctPlan> distinct;
  std::vector<OrderedPlan> ordered;
  std::vector<ResultPlan> results;  ///< one a call, then one a key that comes as a sort key
};

/// `key_count` columns come before the values in the batches of sources. `sort_keys` are the group expressions whose values are
/// kept as states (key_columns.h). `input` says which columns have no nulls.
arrow::Result<AggregatePlan> PlanAggregates(const arrow::Schema& input, const std::vector<expr::AggregateCall>& calls,
                                            const std::vector<expr::ExprPtr>& sort_keys, int key_count);

/// The expression in the logical type of its own type (expr/type_rules.h).
expr::ExprPtr AsLogical(const expr::ExprPtr& expr);

}  // namespace icebound::exec::aggregate
