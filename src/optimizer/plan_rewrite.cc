// SPDX-License-Identifier: Apache-2.0
#include "optimizer/plan_rewrite.h"

#include <algorithm>

#include "expr/functions.h"

namespace icebound::optimizer {

using expr::ExprPtr;
using plan::PlanKind;
using plan::PlanPtr;

namespace {

using ExprRewrite = std::function<arrow::Result<ExprPtr>(const ExprPtr&)>;

/// Rewrites a list in place; true when something changed.
arrow::Result<bool> RewriteList(std::vector<ExprPtr>* exprs, const ExprRewrite& rewrite) {
  bool changed = false;
  for (ExprPtr& expr : *exprs) {
    ARROW_ASSIGN_OR_RAISE(ExprPtr rewritten, rewrite(expr));
    changed = changed || rewritten != expr;
    expr = std::move(rewritten);
  }
  return changed;
}

arrow::Result<PlanPtr> RewriteScan(const plan::ScanNode& scan, const PlanPtr& plan, const ExprRewrite& rewrite) {
  plan::ScanRequest request = scan.request();
  ARROW_ASSIGN_OR_RAISE(const bool changed, RewriteList(&request.filters, rewrite));
  return changed ? std::make_shared<plan::ScanNode>(scan.source(), scan.table_name(), std::move(request)) : plan;
}

arrow::Result<PlanPtr> RewriteSort(const plan::SortNode& sort, const PlanPtr& plan, const ExprRewrite& rewrite) {
  std::vector<plan::SortKey> keys = sort.keys();
  bool changed = false;
  for (plan::SortKey& key : keys) {
    ARROW_ASSIGN_OR_RAISE(ExprPtr rewritten, rewrite(key.expr));
    changed = changed || rewritten != key.expr;
    key.expr = std::move(rewritten);
  }
  return changed ? std::make_shared<plan::SortNode>(sort.child(), std::move(keys), sort.fetch()) : plan;
}

arrow::Result<PlanPtr> RewriteValues(const plan::ValuesNode& values, const PlanPtr& plan, const ExprRewrite& rewrite) {
  std::vector<std::vector<ExprPtr>> rows = values.rows();
  bool changed = false;
  for (std::vector<ExprPtr>& row : rows) {
    ARROW_ASSIGN_OR_RAISE(const bool row_changed, RewriteList(&row, rewrite));
    changed = changed || row_changed;
  }
  return changed ? std::make_shared<plan::ValuesNode>(values.schema(), std::move(rows)) : plan;
}

arrow::Result<PlanPtr> RewriteAggregate(const plan::AggregateNode& aggregate, const PlanPtr& plan, const ExprRewrite& rewrite) {
  std::vector<ExprPtr> groups = aggregate.groups();
  ARROW_ASSIGN_OR_RAISE(bool changed, RewriteList(&groups, rewrite));
  const ExprRewrite watched = [&](const ExprPtr& expr) -> arrow::Result<ExprPtr> {
    ARROW_ASSIGN_OR_RAISE(ExprPtr rewritten, rewrite(expr));
    changed = changed || rewritten != expr;
    return rewritten;
  };
  std::vector<expr::AggregateCall> calls;
  for (const expr::AggregateCall& call : aggregate.aggregates()) {
    ARROW_ASSIGN_OR_RAISE(calls.emplace_back(), expr::TransformAggregate(call, watched));
  }
  if (!changed) return plan;
  return std::make_shared<plan::AggregateNode>(aggregate.child(), std::move(groups), std::move(calls),
                                               aggregate.schema()->field_names());
}

/// True when something changed.
arrow::Result<bool> RewriteCondition(expr::JoinCondition* condition, const ExprRewrite& rewrite) {
  bool changed = false;
  const auto apply = [&](ExprPtr* expr) -> arrow::Status {
    ARROW_ASSIGN_OR_RAISE(ExprPtr rewritten, rewrite(*expr));
    changed = changed || rewritten != *expr;
    *expr = std::move(rewritten);
    return arrow::Status::OK();
  };
  for (expr::JoinKey& key : condition->keys) {
    ARROW_RETURN_NOT_OK(apply(&key.left));
    ARROW_RETURN_NOT_OK(apply(&key.right));
  }
  if (condition->residual != nullptr) ARROW_RETURN_NOT_OK(apply(&condition->residual));
  return changed;
}

}  // namespace

arrow::Result<PlanPtr> RewriteChildren(const PlanPtr& plan, const PlanRewrite& rewrite) {
  std::vector<PlanPtr> children = plan->children();
  bool changed = false;
  for (PlanPtr& child : children) {
    ARROW_ASSIGN_OR_RAISE(PlanPtr rewritten, rewrite(child));
    changed = changed || rewritten != child;
    child = std::move(rewritten);
  }
  return changed ? plan->WithChildren(std::move(children)) : plan;
}

arrow::Result<PlanPtr> RewriteBottomUp(const PlanPtr& plan, const PlanRewrite& rewrite) {
  ARROW_ASSIGN_OR_RAISE(PlanPtr rebuilt,
                        RewriteChildren(plan, [&](const PlanPtr& child) { return RewriteBottomUp(child, rewrite); }));
  return rewrite(rebuilt);
}

arrow::Result<PlanPtr> RewriteExpressions(const PlanPtr& plan, const ExprRewrite& rewrite) {
  switch (plan->kind()) {
    case PlanKind::kScan:
      return RewriteScan(static_cast<const plan::ScanNode&>(*plan), plan, rewrite);
    case PlanKind::kFilter: {
      const auto& filter = static_cast<const plan::FilterNode&>(*plan);
      ARROW_ASSIGN_OR_RAISE(ExprPtr predicate, rewrite(filter.predicate()));
      return predicate == filter.predicate() ? plan : std::make_shared<plan::FilterNode>(filter.child(), std::move(predicate));
    }
    case PlanKind::kProject: {
      std::vector<ExprPtr> exprs = static_cast<const plan::ProjectNode&>(*plan).exprs();
      ARROW_ASSIGN_OR_RAISE(const bool changed, RewriteList(&exprs, rewrite));
      return changed ? std::make_shared<plan::ProjectNode>(plan->child(), std::move(exprs), plan->schema()->field_names()) : plan;
    }
    case PlanKind::kSort:
      return RewriteSort(static_cast<const plan::SortNode&>(*plan), plan, rewrite);
    case PlanKind::kValues:
      return RewriteValues(static_cast<const plan::ValuesNode&>(*plan), plan, rewrite);
    case PlanKind::kAggregate:
      return RewriteAggregate(static_cast<const plan::AggregateNode&>(*plan), plan, rewrite);
    case PlanKind::kJoin: {
      const auto& join = static_cast<const plan::JoinNode&>(*plan);
      expr::JoinCondition condition = join.condition();
      ARROW_ASSIGN_OR_RAISE(const bool changed, RewriteCondition(&condition, rewrite));
      if (!changed) return plan;
      return std::make_shared<plan::JoinNode>(join.left(), join.right(), join.type(), std::move(condition), join.build_left());
    }
    case PlanKind::kApply: {
      const auto& apply = static_cast<const plan::ApplyNode&>(*plan);
      expr::JoinCondition condition = apply.condition();
      ARROW_ASSIGN_OR_RAISE(const bool changed, RewriteCondition(&condition, rewrite));
      if (!changed) return plan;
      return std::make_shared<plan::ApplyNode>(apply.left(), apply.right(), apply.type(), std::move(condition));
    }
    case PlanKind::kLimit:
    case PlanKind::kUnionAll:
    case PlanKind::kSetOperation:
    case PlanKind::kCopy:
      return plan;
  }
  return plan;
}

arrow::Result<PlanPtr> WithoutPositions(const PlanPtr& plan) {
  return RewriteBottomUp(plan, [](const PlanPtr& node) -> arrow::Result<PlanPtr> {
    ARROW_ASSIGN_OR_RAISE(PlanPtr bare, RewriteExpressions(node, [](const ExprPtr& expr) -> arrow::Result<ExprPtr> {
                            return expr::WithoutPositions(expr);
                          }));
    if (bare->kind() == PlanKind::kAggregate) {
      const auto& aggregate = static_cast<const plan::AggregateNode&>(*bare);
      std::vector<expr::AggregateCall> calls = aggregate.aggregates();
      for (expr::AggregateCall& call : calls) call.position = {};
      return std::make_shared<plan::AggregateNode>(aggregate.child(), aggregate.groups(), std::move(calls),
                                                   aggregate.schema()->field_names());
    }
    if (bare->kind() == PlanKind::kApply) {
      const auto& apply = static_cast<const plan::ApplyNode&>(*bare);
      expr::JoinCondition condition = apply.condition();
      condition.position = {};
      return std::make_shared<plan::ApplyNode>(apply.left(), apply.right(), apply.type(), std::move(condition));
    }
    return bare;
  });
}

arrow::Result<ExprPtr> SubstituteColumns(const ExprPtr& expr, const std::vector<ExprPtr>& values) {
  return expr::Transform(expr, [&](const ExprPtr& node) -> arrow::Result<ExprPtr> {
    if (node->kind() != expr::ExprKind::kColumn) return node;
    return values[static_cast<size_t>(static_cast<const expr::ColumnExpr&>(*node).index())];
  });
}

PlanPtr EmptyPlan(std::shared_ptr<arrow::Schema> schema) {
  return std::make_shared<plan::ValuesNode>(std::move(schema), std::vector<std::vector<ExprPtr>>());
}

bool IsVolatile(const expr::Expr& expr) {
  if (expr.kind() == expr::ExprKind::kCall &&
      static_cast<const expr::CallExpr&>(expr).function().volatility == expr::Volatility::kVolatile) {
    return true;
  }
  return std::any_of(expr.children().begin(), expr.children().end(), [](const ExprPtr& child) { return IsVolatile(*child); });
}

bool IsOrderSensitive(const plan::AggregateNode& aggregate) {
  using enum expr::AggregateKind;
  const auto& calls = aggregate.aggregates();
  return std::any_of(calls.begin(), calls.end(), [](const expr::AggregateCall& call) {
    return call.order_by.empty() &&
           (call.kind == kFirst || call.kind == kLast || call.kind == kArrayAgg || call.kind == kStringAgg);
  });
}

}  // namespace icebound::optimizer
