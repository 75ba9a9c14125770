// SPDX-License-Identifier: Apache-2.0
//
// The step from rows to groups in one query. Expressions above it (select list, HAVING, ORDER BY) are bound in two steps: first
// over the columns of FROM, as PostgreSQL reads them, where an aggregate or a subquery's value is a *marker*, a column with a
// negative index; then Finish turns every part that equals a group expression, and every marker, into a column of the aggregate's
// output. What is left of FROM then is the error "column ... must appear in the GROUP BY clause".
//
//     SELECT a + 1, sum(b) FROM t GROUP BY a + 1
//     bound:     a + 1          marker(-2)        over (a, b)
//     finished:  column 0       column 1          over Aggregate: groups=[a + 1] aggregates=[sum(b)]
#pragma once

#include <arrow/result.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "expr/aggregate.h"
#include "expr/expr.h"
#include "plan/logical_plan.h"
#include "sql/bind_context.h"
#include "sql/scope.h"

namespace icebound::sql {

/// Groups and calls first, then MakeNode once, then the rest. Not thread safe.
class Aggregation {
 public:
  Aggregation(const BindContext& context, const Scope& from) : context_(context), from_(from), outer_scope_(from) {}
  Aggregation(const Aggregation&) = delete;
  Aggregation& operator=(const Aggregation&) = delete;

  /// The group's column; an equal one that is there already is taken.
  int AddGroup(expr::ExprPtr group);
  /// `call` was bound from the node with this id.
  void AddCall(uint32_t node_id, expr::AggregateCall call);
  /// Item `target` of the select list is the group `group`.
  void SetGroupOfTarget(size_t target, int group) { group_of_target_[target] = group; }

  /// The node on top of `rows`.
  plan::PlanPtr MakeNode(plan::PlanPtr rows);

  /// The marker of the call that was bound from this node; null when there is none.
  expr::ExprPtr CallColumn(const Node& node) const;
  /// The group column that is item `target` of the select list; null when it is none.
  expr::ExprPtr TargetColumn(size_t target) const;
  /// A marker of column `index` of the rows above the aggregation.
  static expr::ExprPtr Marker(int index, const arrow::Field& field, expr::TextPosition position);
  /// The expression over the rows above the aggregation.
  arrow::Result<expr::ExprPtr> Finish(const expr::ExprPtr& expr) const;

  /// What subqueries above the aggregation see: the names of FROM, but grouped columns only.
  const Scope& outer_scope() const { return outer_scope_; }

 private:
  const BindContext& context_;
  const Scope& from_;
  Scope outer_scope_;
  std::vector<expr::ExprPtr> groups_;
  std::vector<expr::AggregateCall> calls_;
  std::map<uint32_t, size_t> call_of_node_;  ///< index in calls_
  std::map<size_t, int> group_of_target_;
  std::shared_ptr<arrow::Schema> schema_;  ///< of the node
};

/// The calls of aggregate functions in `node` that belong to its own query, outermost only.
void AppendAggregateCalls(const Node& node, std::vector<Node>* calls);

}  // namespace icebound::sql
