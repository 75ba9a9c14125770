// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "exec/operator.h"
#include "expr/expr.h"

namespace icebound::planner {

/// Puts a projection over `child` that computes those of `exprs` that may give values much wider than their input, and replaces
/// them by its columns (after the child's own, which keep their numbers). A projection bounds its batches by the bytes it made;
/// an operator that evaluates such an expression over a whole batch could not. `child` as it is when there is none.
arrow::Result<std::unique_ptr<exec::Operator>> ProjectWideningExprs(runtime::QueryContext* context,
                                                                    std::unique_ptr<exec::Operator> child,
                                                                    const std::vector<expr::ExprPtr*>& exprs);

}  // namespace icebound::planner
