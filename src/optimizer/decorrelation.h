// SPDX-License-Identifier: Apache-2.0
//
// The parts of decorrelation (decorrelation.cc tells how they work together).
//
// Inside, a reference to the left child of the Apply at hand is an OuterColumnExpr with levels_up 0, a "left reference"; those
// with 1 and more belong to queries around it and count as constants until their turn comes.
#pragma once

#include <arrow/result.h>

#include <functional>
#include <optional>
#include <vector>

#include "expr/expr.h"
#include "optimizer/join_conditions.h"
#include "plan/logical_plan.h"

namespace icebound::optimizer {

bool HasLeftReference(const expr::Expr& expr);
bool HasLeftReference(const plan::LogicalPlan& plan);

/// Any expression, in the plan or below, for which `test` is true.
bool AnyExpression(const plan::LogicalPlan& plan, const std::function<bool(const expr::Expr&)>& test);

/// A subquery without its left references: for a left row, its rows are those of `plan` that meet the conditions, and its columns
/// the outputs. Outputs and conditions are over the columns of `plan` and left references.
struct Pulled {
  plan::PlanPtr plan;
  std::vector<expr::ExprPtr> outputs;
  Conjuncts conditions;
};

/// Moves left references upwards out of `plan`; nothing when an operator is in their way.
arrow::Result<std::optional<Pulled>> PullLeftReferences(const plan::PlanPtr& plan);

/// Groups by the inner sides of the conditions, which are equalities, in front of `groups`' own: what an aggregate over `input`
/// needs so that the conditions can be met above it. Nothing when some condition is no equality.
struct PulledGroups {
  std::vector<expr::ExprPtr> groups;  ///< to be appended to the aggregate's own, over input.plan
  Conjuncts conditions;               ///< over the aggregate's output, where the groups start at `first_group`
};
arrow::Result<std::optional<PulledGroups>> GroupByConditions(const Pulled& input, int first_group);

/// The general way: evaluates `plan` for all distinct values of the columns of `left` that it refers to.
arrow::Result<Pulled> EvaluateOverDomain(const plan::PlanPtr& plan, const plan::PlanPtr& left);

/// kUnsupported when running the plan twice might give different rows; `why` says what needs that.
arrow::Status CheckRepeatable(const plan::LogicalPlan& plan, std::string_view why);

/// MakeColumn for all columns of the plan.
std::vector<expr::ExprPtr> ColumnsOf(const plan::LogicalPlan& plan);

/// count over no rows is 0, where all others are NULL: the aggregate `call` read through an outer join as `column`.
arrow::Result<expr::ExprPtr> OverMissingGroup(const expr::AggregateCall& call, expr::ExprPtr column);

}  // namespace icebound::optimizer
