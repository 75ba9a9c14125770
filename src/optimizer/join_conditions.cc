// SPDX-License-Identifier: Apache-2.0
#include "optimizer/join_conditions.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "expr/type_rules.h"
#include "optimizer/plan_rewrite.h"

namespace icebound::optimizer {

using expr::ExprPtr;

namespace {

/// The expression as `type`; nothing when that could fail and the expression itself could not.
std::optional<ExprPtr> Converted(const ExprPtr& expr, const expr::TypePtr& type) {
  const auto cast = expr::MakeCast(expr, type);
  if (!cast.ok() || (expr::CanFail(**cast) && !expr::CanFail(*expr))) return std::nullopt;
  return *cast;
}

bool SharesColumn(const expr::Expr& left, const expr::Expr& right) {
  const std::vector<int> left_columns = expr::ReferencedColumns(left);
  const std::vector<int> right_columns = expr::ReferencedColumns(right);
  std::vector<int> shared;
  std::set_intersection(left_columns.begin(), left_columns.end(), right_columns.begin(), right_columns.end(),
                        std::back_inserter(shared));
  return !shared.empty();
}

}  // namespace

Side SideOf(const expr::Expr& expr, int left_columns) {
  const std::vector<int> columns = expr::ReferencedColumns(expr);
  if (columns.empty()) return Side::kNone;
  if (columns.back() < left_columns) return Side::kLeft;
  return columns.front() >= left_columns ? Side::kRight : Side::kBoth;
}

arrow::Result<ExprPtr> ShiftColumns(const ExprPtr& expr, int shift) {
  if (shift == 0) return expr;
  return expr::Transform(expr, [shift](const ExprPtr& node) -> arrow::Result<ExprPtr> {
    if (node->kind() != expr::ExprKind::kColumn) return node;
    const auto& column = static_cast<const expr::ColumnExpr&>(*node);
    return std::make_shared<expr::ColumnExpr>(column.index() + shift, column.name(), column.type(), column.position());
  });
}

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

std::optional<expr::JoinKey> KeyOfConjunct(const ExprPtr& conjunct, int left_columns) {
  if (conjunct->kind() != expr::ExprKind::kCall || !expr::IsDeterministic(*conjunct)) return std::nullopt;
  const std::string_view name = static_cast<const expr::CallExpr&>(*conjunct).name();
  const bool null_safe = name == "is_not_distinct_from";
  if (name != "=" && !null_safe) return std::nullopt;
  ExprPtr left = conjunct->children()[0];
  ExprPtr right = conjunct->children()[1];
  if (SideOf(*left, left_columns) == Side::kRight) std::swap(left, right);
  if (SideOf(*left, left_columns) != Side::kLeft || SideOf(*right, left_columns) != Side::kRight) return std::nullopt;
  auto own = ShiftColumns(right, -left_columns);
  return own.ok() ? MakeJoinKey(std::move(left), std::move(own).MoveValueUnsafe(), null_safe) : std::nullopt;
}

bool IsGuardedBy(const ExprPtr& conjunct, const Conjuncts& earlier) {
  return expr::CanFail(*conjunct) &&
         std::any_of(earlier.begin(), earlier.end(), [&](const ExprPtr& guard) { return SharesColumn(*guard, *conjunct); });
}

void AddToCondition(const Conjuncts& conjuncts, int left_columns, expr::JoinCondition* condition) {
  Conjuncts residual;
  if (condition->residual != nullptr) residual = expr::SplitConjunction(condition->residual);
  for (const ExprPtr& conjunct : conjuncts) {
    auto key = IsGuardedBy(conjunct, residual) ? std::nullopt : KeyOfConjunct(conjunct, left_columns);
    if (!key) {
      AppendNew({conjunct}, &residual);
      continue;
    }
    const bool known = std::any_of(condition->keys.begin(), condition->keys.end(), [&](const expr::JoinKey& other) {
      return other.null_safe == key->null_safe && expr::Equals(*other.left, *key->left) &&
             expr::Equals(*other.right, *key->right);
    });
    if (!known) condition->keys.push_back(std::move(*key));
  }
  condition->residual = residual.empty() ? nullptr : expr::MakeAnd(std::move(residual));
}

arrow::Result<ExprPtr> ComparisonOf(const expr::JoinKey& key, int left_columns) {
  ARROW_ASSIGN_OR_RAISE(ExprPtr right, ShiftColumns(key.right, left_columns));
  return expr::MakeCall(key.null_safe ? "is_not_distinct_from" : "=", {key.left, std::move(right)});
}

void AppendNew(const Conjuncts& more, Conjuncts* conjuncts) {
  for (const ExprPtr& conjunct : more) {
    const bool known = !IsVolatile(*conjunct) && std::any_of(conjuncts->begin(), conjuncts->end(), [&](const ExprPtr& other) {
      return expr::Equals(*other, *conjunct);
    });
    if (!known) conjuncts->push_back(conjunct);
  }
}

}  // namespace icebound::optimizer
