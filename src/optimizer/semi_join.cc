// SPDX-License-Identifier: Apache-2.0
//
// Joins become the plainest ones that give the same rows:
//
//   Filter on a mark        EXISTS and IN in WHERE: a semi join; below NOT: an anti join, which knows NULLs for NOT IN
//   LeftSingle              a left join, when no left row can have two matches
//   Left, Right, Full       keep no unmatched rows of a side when a condition above is never true for the NULLs they would get:
//                           a Filter, or a key or residual of a join on the way
//   Left without condition  over a single row (an aggregate without groups): an inner join
//
// Column numbers stay: a mark that a semi join has decided is a constant in a projection above it.
#include <algorithm>

#include "optimizer/decorrelation.h"
#include "optimizer/join_conditions.h"
#include "optimizer/plan_properties.h"
#include "optimizer/plan_rewrite.h"
#include "optimizer/rules.h"

namespace icebound::optimizer {

using expr::ExprKind;
using expr::ExprPtr;
using expr::JoinType;
using plan::PlanKind;
using plan::PlanPtr;

namespace {

/// rejected[i]: a row with NULL in column i leaves no trace above.
using Rejected = std::vector<bool>;

arrow::Result<PlanPtr> Rewrite(const PlanPtr& plan, const Rejected& rejected);

size_t ColumnCount(const plan::LogicalPlan& plan) { return static_cast<size_t>(plan.schema()->num_fields()); }

void RejectBy(const expr::Expr& predicate, Rejected* rejected) {
  for (const int column : expr::ReferencedColumns(predicate)) {
    if (RejectsNull(predicate, column)) (*rejected)[static_cast<size_t>(column)] = true;
  }
}

/// The columns of the child whose NULLs make a rejected column NULL.
void RejectThrough(const expr::Expr& expr, Rejected* below) {
  for (const int column : expr::ReferencedColumns(expr)) {
    if (IsNullWithColumn(expr, column)) (*below)[static_cast<size_t>(column)] = true;
  }
}

bool AnyIn(const Rejected& rejected, size_t first, size_t last) {
  return std::any_of(rejected.begin() + static_cast<ptrdiff_t>(first), rejected.begin() + static_cast<ptrdiff_t>(last),
                     [](bool is) { return is; });
}

// --- marks ------------------------------------------------------------------------------------------------------------------

bool IsColumn(const expr::Expr& expr, int column) {
  return expr.kind() == ExprKind::kColumn && static_cast<const expr::ColumnExpr&>(expr).index() == column;
}

bool IsNegated(const expr::Expr& expr, int column) {
  return expr.kind() == ExprKind::kCall && static_cast<const expr::CallExpr&>(expr).name() == "not" &&
         IsColumn(*expr.children().front(), column);
}

/// The filter over a join that decides its mark; nullptr when it does not.
arrow::Result<PlanPtr> DecideMark(const plan::FilterNode& filter) {
  if (filter.child()->kind() != PlanKind::kJoin) return nullptr;
  const auto& join = static_cast<const plan::JoinNode&>(*filter.child());
  if (join.type() != JoinType::kLeftMark && join.type() != JoinType::kLeftMarkNulls) return nullptr;
  const int mark = join.schema()->num_fields() - 1;
  const Conjuncts conjuncts = expr::SplitConjunction(filter.predicate());
  const auto decides = [mark](const ExprPtr& conjunct) { return IsColumn(*conjunct, mark) || IsNegated(*conjunct, mark); };
  const auto found = std::find_if(conjuncts.begin(), conjuncts.end(), decides);
  if (found == conjuncts.end()) return nullptr;
  const bool wanted = IsColumn(**found, mark);
  const JoinType unwanted_type = join.type() == JoinType::kLeftMark ? JoinType::kLeftAnti : JoinType::kLeftAntiNulls;
  PlanPtr joined = std::make_shared<plan::JoinNode>(join.left(), join.right(), wanted ? JoinType::kLeftSemi : unwanted_type,
                                                    join.condition(), join.build_left());
  std::vector<ExprPtr> values = ColumnsOf(*join.left());
  values.push_back(expr::MakeLiteral(std::make_shared<arrow::BooleanScalar>(wanted)));
  Conjuncts rest;
  for (const ExprPtr& conjunct : conjuncts) {
    if (conjunct == *found) continue;
    ARROW_ASSIGN_OR_RAISE(rest.emplace_back(), SubstituteColumns(conjunct, values));
  }
  if (!rest.empty()) joined = std::make_shared<plan::FilterNode>(std::move(joined), expr::MakeAnd(std::move(rest)));
  return std::make_shared<plan::ProjectNode>(std::move(joined), std::move(values), join.schema()->field_names());
}

// --- outer joins ------------------------------------------------------------------------------------------------------------

JoinType Plainest(const plan::JoinNode& join, const Rejected& rejected) {
  const size_t left_columns = ColumnCount(*join.left());
  const expr::JoinCondition& condition = join.condition();
  if (join.type() == JoinType::kLeft || join.type() == JoinType::kLeftSingle) {
    const bool single = join.type() == JoinType::kLeftSingle && !MatchesAtMostOne(*join.right(), condition.keys);
    const bool unmatched_go = AnyIn(rejected, left_columns, rejected.size());
    const bool always_matches = condition.keys.empty() && condition.residual == nullptr && GivesOneRow(*join.right());
    if (single) return JoinType::kLeftSingle;
    return unmatched_go || always_matches ? JoinType::kInner : JoinType::kLeft;
  }
  if (join.type() == JoinType::kRight) return AnyIn(rejected, 0, left_columns) ? JoinType::kInner : JoinType::kRight;
  if (join.type() == JoinType::kFull) {
    // A rejected left column: right rows without a match go.
    const bool right_alone_go = AnyIn(rejected, 0, left_columns);
    const bool left_alone_go = AnyIn(rejected, left_columns, rejected.size());
    if (right_alone_go) return left_alone_go ? JoinType::kInner : JoinType::kLeft;
    return left_alone_go ? JoinType::kRight : JoinType::kFull;
  }
  return join.type();
}

arrow::Result<PlanPtr> RewriteJoin(const PlanPtr& plan, const Rejected& rejected) {
  using enum JoinType;
  const auto& join = static_cast<const plan::JoinNode&>(*plan);
  const JoinType type = Plainest(join, rejected);
  const size_t left_columns = ColumnCount(*join.left());
  Rejected left(left_columns, false), right(ColumnCount(*join.right()), false);
  // What is rejected above may be dropped below, but not where an unmatched row of the other side would come of it.
  const bool left_rows_only = type != kRight && type != kFull;
  if (left_rows_only) std::copy_n(rejected.begin(), left_columns, left.begin());
  if (type == kRight || type == kInner)
    std::copy(rejected.begin() + static_cast<ptrdiff_t>(left_columns), rejected.end(), right.begin());
  // And rows that match nothing, of a side whose unmatched rows do not come out.
  const bool left_must_match = type == kInner || type == kRight || type == kLeftSemi;
  const bool right_must_match = type != kRight && type != kFull && type != kLeftAntiNulls && type != kLeftMarkNulls;
  for (const expr::JoinKey& key : join.condition().keys) {
    if (key.null_safe) continue;
    if (left_must_match) RejectThrough(*key.left, &left);
    if (right_must_match) RejectThrough(*key.right, &right);
  }
  if (join.condition().residual != nullptr) {
    Rejected both(left_columns + right.size(), false);
    for (const ExprPtr& conjunct : expr::SplitConjunction(join.condition().residual)) RejectBy(*conjunct, &both);
    for (size_t i = 0; i < both.size(); ++i) {
      if (!both[i]) continue;
      if (i < left_columns && left_must_match) left[i] = true;
      if (i >= left_columns && right_must_match) right[i - left_columns] = true;
    }
  }
  ARROW_ASSIGN_OR_RAISE(PlanPtr new_left, Rewrite(join.left(), left));
  ARROW_ASSIGN_OR_RAISE(PlanPtr new_right, Rewrite(join.right(), right));
  if (type == join.type() && new_left == join.left() && new_right == join.right()) return plan;
  return std::make_shared<plan::JoinNode>(std::move(new_left), std::move(new_right), type, join.condition(), join.build_left());
}

arrow::Result<PlanPtr> Rewrite(const PlanPtr& plan, const Rejected& rejected) {
  const auto with = [](const Rejected& below) { return [below](const PlanPtr& child) { return Rewrite(child, below); }; };
  switch (plan->kind()) {
    case PlanKind::kFilter: {
      const auto& filter = static_cast<const plan::FilterNode&>(*plan);
      ARROW_ASSIGN_OR_RAISE(const PlanPtr decided, DecideMark(filter));
      if (decided != nullptr) return Rewrite(decided, rejected);
      Rejected below = rejected;
      for (const ExprPtr& conjunct : expr::SplitConjunction(filter.predicate())) RejectBy(*conjunct, &below);
      return RewriteChildren(plan, with(below));
    }
    case PlanKind::kProject: {
      Rejected below(ColumnCount(*plan->child()), false);
      const auto& exprs = static_cast<const plan::ProjectNode&>(*plan).exprs();
      for (size_t i = 0; i < exprs.size(); ++i) {
        if (rejected[i]) RejectThrough(*exprs[i], &below);
      }
      return RewriteChildren(plan, with(below));
    }
    case PlanKind::kAggregate: {
      Rejected below(ColumnCount(*plan->child()), false);
      const auto& groups = static_cast<const plan::AggregateNode&>(*plan).groups();
      for (size_t i = 0; i < groups.size(); ++i) {
        if (rejected[i]) RejectThrough(*groups[i], &below);
      }
      return RewriteChildren(plan, with(below));
    }
    case PlanKind::kJoin:
      return RewriteJoin(plan, rejected);
    case PlanKind::kUnionAll:
      return RewriteChildren(plan, with(rejected));
    case PlanKind::kSort:
      // A top-k chooses among all rows.
      if (!static_cast<const plan::SortNode&>(*plan).fetch()) return RewriteChildren(plan, with(rejected));
      break;
    case PlanKind::kScan:
    case PlanKind::kLimit:
    case PlanKind::kValues:
    case PlanKind::kApply:
    case PlanKind::kSetOperation:
    case PlanKind::kCopy:
      break;
  }
  return RewriteChildren(plan, [](const PlanPtr& child) { return Rewrite(child, Rejected(ColumnCount(*child), false)); });
}

}  // namespace

arrow::Result<PlanPtr> SimplifyJoins(const PlanPtr& plan, const OptimizerOptions&) {
  return Rewrite(plan, Rejected(ColumnCount(*plan), false));
}

}  // namespace icebound::optimizer
