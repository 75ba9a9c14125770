// SPDX-License-Identifier: Apache-2.0
//
// Expressions as SQL text, for EXPLAIN and default column names.
#pragma once

#include <arrow/scalar.h>

#include <string>

#include "expr/expr.h"

namespace icebound::expr {

/// 24, 'text', DATE '1998-09-02', NULL
std::string LiteralToSql(const arrow::Scalar& value);
/// l_quantity < 24 AND NOT (a OR b); substring(s, 1, 2)
std::string CallToSql(const CallExpr& call);

}  // namespace icebound::expr
