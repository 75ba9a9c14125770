// SPDX-License-Identifier: Apache-2.0
#include "sql/join_keys.h"

#include <numeric>
#include <vector>

#include "expr/type_rules.h"

namespace icebound::sql {

using expr::ExprPtr;

namespace {

enum class Side { kNone, kLeft, kRight, kBoth };

Side SideOf(const expr::Expr& expr, int left_columns) {
  const std::vector<int> columns = expr::ReferencedColumns(expr);
  if (columns.empty()) return Side::kNone;
  if (columns.back() < left_columns) return Side::kLeft;
  return columns.front() >= left_columns ? Side::kRight : Side::kBoth;
}

/// The expression as `type`; nothing when that could fail and the expression itself could not.
std::optional<ExprPtr> Converted(const ExprPtr& expr, const expr::TypePtr& type) {
  const auto cast = expr::MakeCast(expr, type);
  if (!cast.ok() || (expr::CanFail(**cast) && !expr::CanFail(*expr))) return std::nullopt;
  return *cast;
}

std::optional<expr::JoinKey> KeyOf(const ExprPtr& conjunct, int left_columns) {
  if (conjunct->kind() != expr::ExprKind::kCall || !expr::IsDeterministic(*conjunct)) return std::nullopt;
  const std::string_view name = static_cast<const expr::CallExpr&>(*conjunct).name();
  const bool null_safe = name == "is_not_distinct_from";
  if (name != "=" && !null_safe) return std::nullopt;
  ExprPtr left = conjunct->children()[0];
  ExprPtr right = conjunct->children()[1];
  if (SideOf(*left, left_columns) == Side::kRight) std::swap(left, right);
  if (SideOf(*left, left_columns) != Side::kLeft || SideOf(*right, left_columns) != Side::kRight) return std::nullopt;
  std::vector<int> mapping(static_cast<size_t>(expr::ReferencedColumns(*right).back()) + 1, -1);
  std::iota(mapping.begin() + left_columns, mapping.end(), 0);
  auto own = expr::RemapColumns(right, mapping);
  return own.ok() ? MakeJoinKey(std::move(left), std::move(own).MoveValueUnsafe(), null_safe) : std::nullopt;
}

}  // namespace

std::optional<expr::JoinKey> MakeJoinKey(ExprPtr left, ExprPtr right, bool null_safe) {
  if (!left->type()->Equals(*right->type())) {
    const auto common = expr::CommonType({expr::LogicalType(left->type()), expr::LogicalType(right->type())});
    if (!common.ok()) return std::nullopt;
    auto left_converted = Converted(left, *common);
    auto right_converted = Converted(right, *common);
    if (!left_converted || !right_converted) return std::nullopt;
    left = std::move(*left_converted);
    right = std::move(*right_converted);
  }
  return expr::JoinKey{std::move(left), std::move(right), null_safe};
}

expr::JoinCondition SplitJoinCondition(const ExprPtr& condition, int left_columns) {
  expr::JoinCondition split;
  std::vector<ExprPtr> rest;
  for (const ExprPtr& conjunct : expr::SplitConjunction(condition)) {
    if (auto key = KeyOf(conjunct, left_columns)) {
      split.keys.push_back(std::move(*key));
    } else {
      rest.push_back(conjunct);
    }
  }
  if (!rest.empty()) split.residual = expr::MakeAnd(std::move(rest));
  return split;
}

}  // namespace icebound::sql
