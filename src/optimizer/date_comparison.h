// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "expr/expr.h"

namespace icebound::optimizer {

/// `CAST(date AS timestamp) < TIMESTAMP '1995-01-01'`, which PostgreSQL's rules make of `date < date '1994-01-01' + interval '1
/// year'`, as a comparison of dates: it costs less, cannot fail, and prunes row groups. Other expressions stay as they are.
expr::ExprPtr AsDateComparison(const expr::ExprPtr& expr);

}  // namespace icebound::optimizer
