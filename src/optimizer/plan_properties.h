// SPDX-License-Identifier: Apache-2.0
//
// What plans and conditions promise whatever the data is.
#pragma once

#include <vector>

#include "expr/expr.h"
#include "expr/join_condition.h"
#include "plan/logical_plan.h"

namespace icebound::optimizer {

/// True when `expr` is NULL wherever column `column` is.
bool IsNullWithColumn(const expr::Expr& expr, int column);

/// True when `predicate` is false or NULL wherever column `column` is NULL.
bool RejectsNull(const expr::Expr& predicate, int column);

/// True when no two rows have the same values in the columns with included[i] (NULLs are alike).
bool IsUniqueOn(const plan::LogicalPlan& plan, const std::vector<bool>& included);

/// True when a left row matches at most one row of `right` by these keys.
bool MatchesAtMostOne(const plan::LogicalPlan& right, const std::vector<expr::JoinKey>& keys);

/// True when the plan always gives exactly one row.
bool GivesOneRow(const plan::LogicalPlan& plan);

}  // namespace icebound::optimizer
