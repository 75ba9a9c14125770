// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <arrow/scalar.h>

#include <functional>
#include <memory>
#include <optional>

#include "expr/expr.h"

namespace icebound::expr {

/// What is known of one column in a row group, page or file. Absent = unknown. min/max are inclusive bounds (they may be
/// truncated: min rounded down, max up).
struct ColumnBounds {
  std::shared_ptr<arrow::Scalar> min;
  std::shared_ptr<arrow::Scalar> max;
  std::optional<int64_t> null_count;
  std::optional<int64_t> value_count;  ///< rows, nulls included
  bool may_contain_nan = true;         ///< floats: bounds say nothing of NaN
};

/// False only when `predicate` is certainly not true for any row with these bounds. Conservative: unknown functions keep the
/// rows.
bool MayMatch(const Expr& predicate, const std::function<ColumnBounds(int column)>& bounds);

}  // namespace icebound::expr
