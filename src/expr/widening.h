// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "expr/expr.h"

namespace icebound::expr {

/// True when some node of `expr` may give values much wider than all it reads: repeat, ||, lpad, replace and their kind, and long
/// literals. Who evaluates such an expression must do so in slices of a batch, as one batch of 8192 rows of repeat(x, 1000000)
/// has no bound.
bool MayWiden(const Expr& expr);

}  // namespace icebound::expr
