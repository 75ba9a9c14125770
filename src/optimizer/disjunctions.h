// SPDX-License-Identifier: Apache-2.0
//
// What can be said outside an OR:
//
//   (a AND b) OR (a AND c)                              a AND (b OR c)
//   (n1 = 'A' AND n2 = 'B') OR (n1 = 'B' AND n2 = 'A')  implies n1 = 'A' OR n1 = 'B', which only needs the table of n1
#pragma once

#include <arrow/result.h>

#include <functional>
#include <vector>

#include "expr/expr.h"

namespace icebound::optimizer {

/// The conjuncts of `predicate`, with those that all branches of an OR have in front of what is left of it.
arrow::Result<std::vector<expr::ExprPtr>> SplitWithCommonFactors(const expr::ExprPtr& predicate);

/// The most that `predicate` says of the columns for which `includes` is true; nullptr for nothing. Never fails when evaluated.
arrow::Result<expr::ExprPtr> ImpliedBy(const expr::ExprPtr& predicate, const std::function<bool(int column)>& includes);

}  // namespace icebound::optimizer
