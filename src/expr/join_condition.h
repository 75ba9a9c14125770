// SPDX-License-Identifier: Apache-2.0
//
// What a join does, as data over its two inputs: shared by the plan, which carries it, and the operators, which run it.
#pragma once

#include <string_view>
#include <vector>

#include "expr/expr.h"

namespace icebound::expr {

/// Which rows come out. L and R are the columns of the left and right input.
enum class JoinType {
  kInner,          ///< L R, for every pair that matches; without keys and residual: the cross product
  kLeft,           ///< and every left row without a match, with NULLs for R
  kRight,          ///< and every right row without a match, with NULLs for L
  kFull,           ///< both
  kLeftSemi,       ///< L of the left rows with a match, once
  kLeftAnti,       ///< L of the left rows without a match
  kLeftAntiNulls,  ///< NOT IN: one key, no residual. L of the left rows for which `key NOT IN (right keys)` is true: none when a
                   ///< right key is NULL; of left rows with a NULL key only when the right side is empty
  kLeftMark,       ///< L and a boolean column: has a match (never NULL)
  kLeftMarkNulls,  ///< IN: one key, no residual. L and `key IN (right keys)`: true, false or NULL
  kLeftSingle,     ///< as kLeft, but two matches of one left row are the kExecution error "more than one row returned by a
                   ///< subquery used as an expression"
};

std::string_view JoinTypeName(JoinType type);

/// True when the output has the right side's columns.
bool HasRightColumns(JoinType type);

/// left = right, or left IS NOT DISTINCT FROM right. Each expression is over its own side's columns, counted from 0; both have
/// the same type.
struct JoinKey {
  ExprPtr left;
  ExprPtr right;
  bool null_safe = false;
};

/// Two rows match when all keys are equal and the residual is true.
struct JoinCondition {
  std::vector<JoinKey> keys;
  ExprPtr residual;       ///< over L then R; null: none
  TextPosition position;  ///< of the subquery that a kLeftSingle or Apply stands for
};

}  // namespace icebound::expr
