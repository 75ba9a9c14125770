// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "expr/join_condition.h"

namespace icebound::sql {

/// Two expressions, each over its own side, as a key of a join: both are brought to their common type. Nothing when they have
/// none, or when getting there could fail for a value, which comparing them cannot: the comparison is a residual then.
std::optional<expr::JoinKey> MakeJoinKey(expr::ExprPtr left, expr::ExprPtr right, bool null_safe);

/// A condition over the columns of both sides, the left side's `left_columns` first: its conjuncts that say that the sides are
/// equal (=, IS NOT DISTINCT FROM) become keys, the rest stays.
expr::JoinCondition SplitJoinCondition(const expr::ExprPtr& condition, int left_columns);

}  // namespace icebound::sql
