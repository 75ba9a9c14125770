// SPDX-License-Identifier: Apache-2.0
#include "optimizer/plan_properties.h"

#include <algorithm>

#include "expr/functions.h"

namespace icebound::optimizer {

using expr::ExprKind;
using expr::ExprPtr;
using plan::PlanKind;

namespace {

bool IsNullLiteral(const expr::Expr& expr) { return !static_cast<const expr::LiteralExpr&>(expr).value()->is_valid; }

bool IsFalseLiteral(const expr::Expr& expr) {
  const auto& value = *static_cast<const expr::LiteralExpr&>(expr).value();
  return value.type->id() == arrow::Type::BOOL && value.is_valid && !static_cast<const arrow::BooleanScalar&>(value).value;
}

template <typename Test>
bool AnyChild(const expr::Expr& expr, const Test& test) {
  return std::any_of(expr.children().begin(), expr.children().end(), [&](const ExprPtr& child) { return test(*child); });
}

template <typename Test>
bool AllChildren(const expr::Expr& expr, const Test& test) {
  return std::all_of(expr.children().begin(), expr.children().end(), [&](const ExprPtr& child) { return test(*child); });
}

/// The columns of the child that `included` columns of a projection pass on.
std::vector<bool> ThroughExpressions(const std::vector<ExprPtr>& exprs, const std::vector<bool>& included, int child_columns) {
  std::vector<bool> below(static_cast<size_t>(child_columns), false);
  for (size_t i = 0; i < exprs.size(); ++i) {
    if (!included[i] || exprs[i]->kind() != ExprKind::kColumn) continue;
    below[static_cast<size_t>(static_cast<const expr::ColumnExpr&>(*exprs[i]).index())] = true;
  }
  return below;
}

bool IsUniqueJoin(const plan::JoinNode& join, const std::vector<bool>& included) {
  using enum expr::JoinType;
  if (join.type() == kRight || join.type() == kFull) return false;
  const auto left_columns = static_cast<size_t>(join.left()->schema()->num_fields());
  const std::vector<bool> left(included.begin(), included.begin() + static_cast<ptrdiff_t>(left_columns));
  if (!IsUniqueOn(*join.left(), left)) return false;
  return join.type() == kLeftSingle || !expr::HasRightColumns(join.type()) ||
         MatchesAtMostOne(*join.right(), join.condition().keys);
}

}  // namespace

bool IsNullWithColumn(const expr::Expr& expr, int column) {
  const auto child_is_null = [column](const expr::Expr& child) { return IsNullWithColumn(child, column); };
  switch (expr.kind()) {
    case ExprKind::kColumn:
      return static_cast<const expr::ColumnExpr&>(expr).index() == column;
    case ExprKind::kLiteral:
      return IsNullLiteral(expr);
    case ExprKind::kCast:
      return AnyChild(expr, child_is_null);
    case ExprKind::kCall: {
      const expr::Function& function = static_cast<const expr::CallExpr&>(expr).function();
      if (function.name == "coalesce") return AllChildren(expr, child_is_null);
      if (function.name == "in" || function.name == "not_in") return child_is_null(*expr.children().front());
      return function.strict && AnyChild(expr, child_is_null);
    }
    case ExprKind::kCase:
    case ExprKind::kOuterColumn:
      return false;
  }
  return false;
}

bool RejectsNull(const expr::Expr& predicate, int column) {
  if (predicate.kind() == ExprKind::kLiteral) return IsNullLiteral(predicate) || IsFalseLiteral(predicate);
  if (predicate.kind() == ExprKind::kCall) {
    const std::string_view name = static_cast<const expr::CallExpr&>(predicate).name();
    const auto child_rejects = [column](const expr::Expr& child) { return RejectsNull(child, column); };
    if (name == "and") return AnyChild(predicate, child_rejects);
    if (name == "or") return AllChildren(predicate, child_rejects);
    if (name == "is_true") return child_rejects(*predicate.children().front());
    if (name == "is_not_null" || name == "is_not_unknown" || name == "is_false") {
      return IsNullWithColumn(*predicate.children().front(), column);
    }
  }
  return IsNullWithColumn(predicate, column);
}

bool IsUniqueOn(const plan::LogicalPlan& plan, const std::vector<bool>& included) {
  switch (plan.kind()) {
    case PlanKind::kAggregate: {
      const size_t groups = static_cast<const plan::AggregateNode&>(plan).groups().size();
      return std::all_of(included.begin(), included.begin() + static_cast<ptrdiff_t>(groups), [](bool in) { return in; });
    }
    case PlanKind::kProject: {
      const auto& exprs = static_cast<const plan::ProjectNode&>(plan).exprs();
      return IsUniqueOn(*plan.child(), ThroughExpressions(exprs, included, plan.child()->schema()->num_fields()));
    }
    case PlanKind::kLimit: {
      const auto& limit = static_cast<const plan::LimitNode&>(plan).limit();
      return (limit && *limit <= 1) || IsUniqueOn(*plan.child(), included);
    }
    case PlanKind::kFilter:
    case PlanKind::kSort:
      return IsUniqueOn(*plan.child(), included);
    case PlanKind::kValues:
      return static_cast<const plan::ValuesNode&>(plan).rows().size() <= 1;
    case PlanKind::kJoin:
      return IsUniqueJoin(static_cast<const plan::JoinNode&>(plan), included);
    case PlanKind::kSetOperation: {
      const plan::SetOperation operation = static_cast<const plan::SetOperationNode&>(plan).operation();
      const bool distinct = operation == plan::SetOperation::kIntersect || operation == plan::SetOperation::kExcept;
      return distinct && std::all_of(included.begin(), included.end(), [](bool in) { return in; });
    }
    case PlanKind::kScan:
    case PlanKind::kUnionAll:
    case PlanKind::kApply:
      return false;
    case PlanKind::kCopy:
      return true;
  }
  return false;
}

bool MatchesAtMostOne(const plan::LogicalPlan& right, const std::vector<expr::JoinKey>& keys) {
  std::vector<bool> included(static_cast<size_t>(right.schema()->num_fields()), false);
  for (const expr::JoinKey& key : keys) {
    if (key.right->kind() != ExprKind::kColumn) continue;
    included[static_cast<size_t>(static_cast<const expr::ColumnExpr&>(*key.right).index())] = true;
  }
  return IsUniqueOn(right, included);
}

bool GivesOneRow(const plan::LogicalPlan& plan) {
  switch (plan.kind()) {
    case PlanKind::kAggregate:
      return static_cast<const plan::AggregateNode&>(plan).groups().empty();
    case PlanKind::kValues:
      return static_cast<const plan::ValuesNode&>(plan).rows().size() == 1;
    case PlanKind::kProject:
      return GivesOneRow(*plan.child());
    case PlanKind::kSort:
      return static_cast<const plan::SortNode&>(plan).fetch().value_or(1) > 0 && GivesOneRow(*plan.child());
    case PlanKind::kJoin: {
      const auto& join = static_cast<const plan::JoinNode&>(plan);
      const bool cross = join.type() == expr::JoinType::kInner && join.condition().keys.empty() && !join.condition().residual;
      return cross && GivesOneRow(*join.left()) && GivesOneRow(*join.right());
    }
    default:
      return false;
  }
}

}  // namespace icebound::optimizer
