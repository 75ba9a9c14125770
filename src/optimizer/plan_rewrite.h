// SPDX-License-Identifier: Apache-2.0
//
// What several rules need to rewrite plans and their expressions.
#pragma once

#include <arrow/result.h>

#include <functional>
#include <vector>

#include "expr/expr.h"
#include "plan/logical_plan.h"

namespace icebound::optimizer {

using PlanRewrite = std::function<arrow::Result<plan::PlanPtr>(const plan::PlanPtr&)>;

/// The same node over rewritten children; the node itself when no child changed.
arrow::Result<plan::PlanPtr> RewriteChildren(const plan::PlanPtr& plan, const PlanRewrite& rewrite);

/// Applies `rewrite` to every node, children first.
arrow::Result<plan::PlanPtr> RewriteBottomUp(const plan::PlanPtr& plan, const PlanRewrite& rewrite);

/// The same node with every expression replaced; the types must stay. The node itself when nothing changed.
arrow::Result<plan::PlanPtr> RewriteExpressions(const plan::PlanPtr& plan,
                                                const std::function<arrow::Result<expr::ExprPtr>(const expr::ExprPtr&)>& rewrite);

/// The same plan as if a rule had made it: its errors point nowhere. For views, whose text is not that of the statement.
arrow::Result<plan::PlanPtr> WithoutPositions(const plan::PlanPtr& plan);

/// `expr` with column i replaced by values[i].
arrow::Result<expr::ExprPtr> SubstituteColumns(const expr::ExprPtr& expr, const std::vector<expr::ExprPtr>& values);

/// No rows, with these columns.
plan::PlanPtr EmptyPlan(std::shared_ptr<arrow::Schema> schema);

/// True when the expression calls a function whose value differs from row to row by itself: random().
bool IsVolatile(const expr::Expr& expr);

/// True when what the aggregates give depends on the order of the input's rows.
bool IsOrderSensitive(const plan::AggregateNode& aggregate);

}  // namespace icebound::optimizer
