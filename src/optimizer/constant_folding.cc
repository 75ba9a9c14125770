// SPDX-License-Identifier: Apache-2.0
//
// Computes expressions over literals once, before any row is read. An expression that fails (1/0) stays as it is: it may stand in
// a branch that no row reaches, and if a row does, the error comes then. Functions that are fixed within a statement (now()) are
// folded, random() is not. Comparisons of dates as timestamps become comparisons of dates (date_comparison.h).
//
// A filter that is never true leaves no rows, and what can have none over such an input has none either.
#include <algorithm>

#include "expr/evaluate.h"
#include "optimizer/date_comparison.h"
#include "optimizer/plan_rewrite.h"
#include "optimizer/rules.h"

namespace icebound::optimizer {

using expr::ExprKind;
using expr::ExprPtr;
using plan::LogicalPlan;
using plan::PlanKind;
using plan::PlanPtr;

namespace {

// Bytes. A larger value is recomputed where it is needed rather than kept in the plan.
constexpr int64_t kLiteralBytesMax = 64 * 1024;

/// The boolean value of a literal: nothing for NULL and for everything else.
std::optional<bool> ConstantBoolean(const expr::Expr& expr) {
  if (expr.kind() != ExprKind::kLiteral || expr.type()->id() != arrow::Type::BOOL) return std::nullopt;
  const auto& scalar = static_cast<const arrow::BooleanScalar&>(*static_cast<const expr::LiteralExpr&>(expr).value());
  if (!scalar.is_valid) return std::nullopt;
  return scalar.value;
}

bool IsNullLiteral(const expr::Expr& expr) {
  return expr.kind() == ExprKind::kLiteral && !static_cast<const expr::LiteralExpr&>(expr).value()->is_valid;
}

int64_t LiteralBytes(const arrow::Scalar& scalar) {
  if (!scalar.is_valid) return 0;
  if (arrow::is_base_binary_like(scalar.type->id()) || arrow::is_binary_view_like(*scalar.type)) {
    return static_cast<const arrow::BaseBinaryScalar&>(scalar).value->size();
  }
  if (arrow::is_list_like(scalar.type->id())) {
    int64_t bytes = 0;
    for (const auto& buffer : static_cast<const arrow::BaseListScalar&>(scalar).value->data()->buffers)
      bytes += buffer ? buffer->size() : 0;
    return bytes;
  }
  return 0;
}

class Folder {
 public:
  explicit Folder(const OptimizerOptions& options) : evaluation_{options.pool, options.statement_time_us} {}

  arrow::Result<ExprPtr> Fold(const ExprPtr& expr) const {
    return expr::Transform(expr, [this](const ExprPtr& node) { return FoldNode(node); });
  }

 private:
  arrow::Result<ExprPtr> FoldNode(const ExprPtr& node) const {
    if (node->kind() == ExprKind::kColumn || node->kind() == ExprKind::kOuterColumn || node->kind() == ExprKind::kLiteral)
      return node;
    const auto& children = node->children();
    const bool over_literals =
        std::all_of(children.begin(), children.end(), [](const ExprPtr& child) { return child->kind() == ExprKind::kLiteral; });
    if (over_literals && !IsVolatile(*node)) return Evaluated(node);
    if (node->kind() != ExprKind::kCall) return node;
    const std::string_view name = static_cast<const expr::CallExpr&>(*node).name();
    if (name == "and") return Junction(node, name, /*neutral=*/true);
    if (name == "or") return Junction(node, name, /*neutral=*/false);
    return AsDateComparison(node);
  }

  ExprPtr Evaluated(const ExprPtr& node) const {
    const auto value = expr::EvaluateConstant(*node, evaluation_);
    const bool keep = value.ok() && (*value)->type->Equals(*node->type()) && LiteralBytes(**value) <= kLiteralBytesMax;
    return keep ? expr::MakeLiteral(*value, node->position()) : node;
  }

  /// AND drops operands that are true and is false as soon as one is; OR the other way round.
  arrow::Result<ExprPtr> Junction(const ExprPtr& node, std::string_view name, bool neutral) const {
    std::vector<ExprPtr> operands;
    for (const ExprPtr& child : node->children()) {
      const std::optional<bool> value = ConstantBoolean(*child);
      if (!value) operands.push_back(child);
      if (value && *value != neutral) return child;
    }
    if (operands.size() == node->children().size()) return node;
    if (operands.empty()) return expr::MakeLiteral(std::make_shared<arrow::BooleanScalar>(neutral));
    if (operands.size() == 1) return operands.front();
    return expr::MakeCall(name, std::move(operands), node->position());
  }

  const expr::EvalContext evaluation_;
};

/// A filter that keeps all rows goes away; one that keeps none leaves an empty plan.
PlanPtr SimplifyFilter(const PlanPtr& plan) {
  if (plan->kind() != PlanKind::kFilter) return plan;
  std::vector<ExprPtr> conjuncts;
  const auto& filter = static_cast<const plan::FilterNode&>(*plan);
  for (const ExprPtr& conjunct : expr::SplitConjunction(filter.predicate())) {
    const std::optional<bool> value = ConstantBoolean(*conjunct);
    if (IsNullLiteral(*conjunct) || (value && !*value)) return EmptyPlan(plan->schema());
    if (!value) conjuncts.push_back(conjunct);
  }
  return conjuncts.empty() ? filter.child() : plan;
}

bool IsEmpty(const LogicalPlan& plan) {
  return plan.kind() == PlanKind::kValues && static_cast<const plan::ValuesNode&>(plan).rows().empty();
}

bool IsEmptyJoin(expr::JoinType type, const LogicalPlan& left, const LogicalPlan& right) {
  switch (type) {
    case expr::JoinType::kInner:
    case expr::JoinType::kLeftSemi:
      return IsEmpty(left) || IsEmpty(right);
    case expr::JoinType::kRight:
      return IsEmpty(right);
    case expr::JoinType::kFull:
      return IsEmpty(left) && IsEmpty(right);
    case expr::JoinType::kLeft:
    case expr::JoinType::kLeftAnti:
    case expr::JoinType::kLeftAntiNulls:
    case expr::JoinType::kLeftMark:
    case expr::JoinType::kLeftMarkNulls:
    case expr::JoinType::kLeftSingle:
      return IsEmpty(left);
  }
  return false;
}

/// Branches without rows go away.
PlanPtr SimplifyUnion(const PlanPtr& plan) {
  std::vector<PlanPtr> children;
  for (const PlanPtr& child : plan->children()) {
    if (!IsEmpty(*child)) children.push_back(child);
  }
  if (children.empty()) return EmptyPlan(plan->schema());
  // Names and nullability are those of all branches together.
  if (children.size() == plan->children().size() || children.size() == 1) return plan;
  PlanPtr smaller = plan->WithChildren(std::move(children));
  return smaller->schema()->Equals(*plan->schema()) ? smaller : plan;
}

PlanPtr SimplifyEmpty(const PlanPtr& plan) {
  switch (plan->kind()) {
    case PlanKind::kFilter:
    case PlanKind::kProject:
    case PlanKind::kSort:
    case PlanKind::kLimit:
      return IsEmpty(*plan->child()) ? EmptyPlan(plan->schema()) : plan;
    case PlanKind::kAggregate: {
      const bool grouped = !static_cast<const plan::AggregateNode&>(*plan).groups().empty();
      return grouped && IsEmpty(*plan->child()) ? EmptyPlan(plan->schema()) : plan;
    }
    case PlanKind::kJoin: {
      const auto& join = static_cast<const plan::JoinNode&>(*plan);
      return IsEmptyJoin(join.type(), *join.left(), *join.right()) ? EmptyPlan(plan->schema()) : plan;
    }
    case PlanKind::kUnionAll:
      return SimplifyUnion(plan);
    default:
      return plan;
  }
}

/// Conjuncts that are true say nothing; a residual that is never true stays for the operator.
PlanPtr SimplifyJoin(const PlanPtr& plan) {
  if (plan->kind() != PlanKind::kJoin) return plan;
  const auto& join = static_cast<const plan::JoinNode&>(*plan);
  if (join.condition().residual == nullptr || !expr::SplitConjunction(join.condition().residual).empty()) return plan;
  expr::JoinCondition condition = join.condition();
  condition.residual = nullptr;
  return std::make_shared<plan::JoinNode>(join.left(), join.right(), join.type(), std::move(condition), join.build_left());
}

}  // namespace

arrow::Result<PlanPtr> FoldConstants(const PlanPtr& plan, const OptimizerOptions& options) {
  const Folder folder(options);
  return RewriteBottomUp(plan, [&](const PlanPtr& node) -> arrow::Result<PlanPtr> {
    ARROW_ASSIGN_OR_RAISE(PlanPtr folded, RewriteExpressions(node, [&](const ExprPtr& expr) { return folder.Fold(expr); }));
    return SimplifyEmpty(SimplifyJoin(SimplifyFilter(folded)));
  });
}

}  // namespace icebound::optimizer
