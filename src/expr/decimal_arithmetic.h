// SPDX-License-Identifier: Apache-2.0
//
// Arithmetic on numeric(p,s) within 38 digits. The result types, for operands (p1,s1) and (p2,s2) with i = p - s integer digits:
//
//   a + b, a - b   scale max(s1,s2), precision max(i1,i2) + scale + 1          exact
//   a * b          scale s1+s2, precision p1+p2                               exact; when that is more than 38 digits and the
//   scale more than 20, the
//                                                                             scale falls (to 20 at least) to make room, and the
//                                                                             product is rounded
//   a / b          scale max(16,s1,s2), precision i1 + s2 + scale             rounded half away from zero
//   a % b          scale max(s1,s2), precision min(i1,i2) + scale              exact, the sign of a
//
// Precision is capped at 38; a value that then does not fit is the error "numeric field overflow". Integers take part as decimals
// of 5, 10 or 19 digits, literals with the digits they are written with. While both operands have at most 18 digits the loops
// work on 64-bit integers.
#pragma once

#include "expr/functions.h"

namespace icebound::expr {

enum class DecimalOperation { kAdd, kSubtract, kMultiply, kDivide, kModulo };

TypePtr DecimalResultType(DecimalOperation operation, const std::vector<ExprPtr>& arguments);

/// Both arguments are decimals or integers.
arrow::Result<arrow::Datum> DecimalArithmetic(DecimalOperation operation, const KernelInput& input);

}  // namespace icebound::expr
