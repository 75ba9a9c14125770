// SPDX-License-Identifier: Apache-2.0
#include "expr/join_condition.h"

namespace icebound::expr {

std::string_view JoinTypeName(JoinType type) {
  switch (type) {
    case JoinType::kInner:
      return "Inner";
    case JoinType::kLeft:
      return "Left";
    case JoinType::kRight:
      return "Right";
    case JoinType::kFull:
      return "Full";
    case JoinType::kLeftSemi:
      return "LeftSemi";
    case JoinType::kLeftAnti:
      return "LeftAnti";
    case JoinType::kLeftAntiNulls:
      return "LeftAntiNulls";
    case JoinType::kLeftMark:
      return "LeftMark";
    case JoinType::kLeftMarkNulls:
      return "LeftMarkNulls";
    case JoinType::kLeftSingle:
      return "LeftSingle";
  }
  return "?";
}

bool HasRightColumns(JoinType type) {
  switch (type) {
    case JoinType::kInner:
    case JoinType::kLeft:
    case JoinType::kRight:
    case JoinType::kFull:
    case JoinType::kLeftSingle:
      return true;
    case JoinType::kLeftSemi:
    case JoinType::kLeftAnti:
    case JoinType::kLeftAntiNulls:
    case JoinType::kLeftMark:
    case JoinType::kLeftMarkNulls:
      return false;
  }
  return true;
}

}  // namespace icebound::expr
