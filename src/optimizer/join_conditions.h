// SPDX-License-Identifier: Apache-2.0
//
// Conditions over two inputs: conjuncts over the columns of L then R, which side each needs, and which of them are join keys.
#pragma once

#include <arrow/result.h>

#include <optional>
#include <vector>

#include "expr/expr.h"
#include "expr/join_condition.h"

namespace icebound::optimizer {

using Conjuncts = std::vector<expr::ExprPtr>;

/// Whose columns an expression over L then R uses.
enum class Side { kNone, kLeft, kRight, kBoth };
Side SideOf(const expr::Expr& expr, int left_columns);

/// Column i becomes column i + shift.
arrow::Result<expr::ExprPtr> ShiftColumns(const expr::ExprPtr& expr, int shift);

/// left = right as a key of one type; nothing when the types cannot be compared as keys without a cast that may fail.
std::optional<expr::JoinKey> MakeJoinKey(expr::ExprPtr left, expr::ExprPtr right, bool null_safe);

/// The conjunct, over L then R, as a key; nothing when it is none.
std::optional<expr::JoinKey> KeyOfConjunct(const expr::ExprPtr& conjunct, int left_columns);

/// True when `conjunct` may raise an error and one of `earlier` may keep rows from it: they share a column.
bool IsGuardedBy(const expr::ExprPtr& conjunct, const Conjuncts& earlier);

/// Adds the keys that are among the conjuncts to the condition, and the others to its residual.
void AddToCondition(const Conjuncts& conjuncts, int left_columns, expr::JoinCondition* condition);

/// The key as a comparison over L then R.
arrow::Result<expr::ExprPtr> ComparisonOf(const expr::JoinKey& key, int left_columns);

/// Appends what is not there yet; conjuncts whose value differs from call to call are never the same.
void AppendNew(const Conjuncts& more, Conjuncts* conjuncts);

}  // namespace icebound::optimizer
