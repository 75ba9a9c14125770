// SPDX-License-Identifier: Apache-2.0
//
// What a join type asks of the rows of each side, so that the algorithms need not know the types: either side can be the one that
// is kept, and a pair of spilled partitions can swap roles.
#pragma once

#include <array>
#include <cstdint>

#include "expr/join_condition.h"

namespace icebound::exec::join {

constexpr int kLeftSide = 0;
constexpr int kRightSide = 1;

/// What comes out for a row of one side once all its matches are known, beside the pairs.
enum class RowFate : uint8_t {
  kNothing,
  kWithNullsIfUnmatched,  ///< the row, and NULLs for the other side
  kIfMatched,             ///< the row alone, once
  kIfUnmatched,           ///< the row alone
  kWithMark,              ///< the row and the mark
};

/// Immutable.
struct JoinRules {
  explicit JoinRules(expr::JoinType type) : type(type) {
    using expr::JoinType;
    emits_pairs = expr::HasRightColumns(type);
    switch (type) {
      case JoinType::kInner:
        break;
      case JoinType::kLeft:
      case JoinType::kLeftSingle:
        fates[kLeftSide] = RowFate::kWithNullsIfUnmatched;
        break;
      case JoinType::kRight:
        fates[kRightSide] = RowFate::kWithNullsIfUnmatched;
        break;
      case JoinType::kFull:
        fates = {RowFate::kWithNullsIfUnmatched, RowFate::kWithNullsIfUnmatched};
        break;
      case JoinType::kLeftSemi:
        fates[kLeftSide] = RowFate::kIfMatched;
        break;
      case JoinType::kLeftAnti:
      case JoinType::kLeftAntiNulls:
        fates[kLeftSide] = RowFate::kIfUnmatched;
        break;
      case JoinType::kLeftMark:
      case JoinType::kLeftMarkNulls:
        fates[kLeftSide] = RowFate::kWithMark;
        break;
    }
    is_single = type == JoinType::kLeftSingle;
    knows_nulls = type == JoinType::kLeftAntiNulls || type == JoinType::kLeftMarkNulls;
  }

  /// Whether matches of a row of this side must be remembered.
  bool HasFate(int side) const { return fates[static_cast<size_t>(side)] != RowFate::kNothing; }
  RowFate fate(int side) const { return fates[static_cast<size_t>(side)]; }

  /// Whether a row of this side without a match leaves no trace, so that filters may drop it.
  bool DropsUnmatched(int side) const { return fate(side) == RowFate::kNothing || fate(side) == RowFate::kIfMatched; }

  expr::JoinType type;
  bool emits_pairs = false;
  bool is_single = false;    ///< a second match of a left row is an error
  bool knows_nulls = false;  ///< NOT IN and IN: what NULL keys mean depends on the whole right side
  std::array<RowFate, 2> fates = {RowFate::kNothing, RowFate::kNothing};
};

}  // namespace icebound::exec::join
