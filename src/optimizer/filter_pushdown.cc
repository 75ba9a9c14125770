// SPDX-License-Identifier: Apache-2.0
//
// Conjuncts sink towards the scans as far as rows and their meaning allow:
//
//   through Project        when the conjunct, written over the projection's input, computes nothing volatile
//   through Sort           always, but not through a top-k: it would choose other rows
//   through Aggregate      when it is over groups only
//   through UnionAll, SetOperation    into every branch
//   into and through Join  as its type allows, see JoinSides below
//   into Scan              as hints in ScanRequest.filters; the Filter above goes away only when the source promises to apply
//                          them exactly
//   never past Limit
//
// At a Join, conjuncts over both sides become keys where they are equalities, and its residual otherwise; a condition on one of
// two columns that a key makes equal is copied to the other; and what all branches of an OR say of one side goes there
// (disjunctions.h).
//
// Conjuncts keep their order, inner ones before outer ones: in `WHERE b <> 0 AND a / b > 1` the first guards the second. One that
// may fail does not leave behind an earlier one over the same columns.
#include <algorithm>
#include <iterator>

#include "expr/type_rules.h"
#include "optimizer/disjunctions.h"
#include "optimizer/join_conditions.h"
#include "optimizer/plan_rewrite.h"
#include "optimizer/rules.h"

namespace icebound::optimizer {

using expr::ExprPtr;
using plan::PlanKind;
using plan::PlanPtr;

namespace {

PlanPtr FilteredBy(PlanPtr plan, Conjuncts conjuncts) {
  if (conjuncts.empty()) return plan;
  return std::make_shared<plan::FilterNode>(std::move(plan), expr::MakeAnd(std::move(conjuncts)));
}

arrow::Result<PlanPtr> Push(const PlanPtr& plan, Conjuncts conjuncts);

arrow::Result<PlanPtr> PushIntoScan(const PlanPtr& plan, const Conjuncts& conjuncts) {
  const auto& scan = static_cast<const plan::ScanNode&>(*plan);
  plan::ScanRequest request = scan.request();
  Conjuncts pushed, kept;
  for (const ExprPtr& conjunct : conjuncts) {
    // One that may fail must not overtake one that stays: it may be guarded by it.
    // One without columns says nothing of the table: a scan of no columns only counts rows.
    const bool may_go = expr::IsDeterministic(*conjunct) && !expr::ReferencedColumns(*conjunct).empty() &&
                        (kept.empty() || !expr::CanFail(*conjunct));
    (may_go ? pushed : kept).push_back(conjunct);
  }
  if (pushed.empty()) return FilteredBy(plan, std::move(kept));
  AppendNew(pushed, &request.filters);
  PlanPtr filtered = std::make_shared<plan::ScanNode>(scan.source(), scan.table_name(), std::move(request));
  return FilteredBy(std::move(filtered), scan.source()->AppliesFiltersExactly() ? std::move(kept) : conjuncts);
}

arrow::Result<PlanPtr> PushThroughProject(const PlanPtr& plan, const Conjuncts& conjuncts) {
  const auto& project = static_cast<const plan::ProjectNode&>(*plan);
  Conjuncts below, above;
  for (const ExprPtr& conjunct : conjuncts) {
    ARROW_ASSIGN_OR_RAISE(ExprPtr over_input, SubstituteColumns(conjunct, project.exprs()));
    // Once one stays, all after it do: an earlier conjunct may guard a later one.
    if (above.empty() && !IsVolatile(*over_input)) {
      below.push_back(std::move(over_input));
    } else {
      above.push_back(conjunct);
    }
  }
  ARROW_ASSIGN_OR_RAISE(PlanPtr child, Push(project.child(), std::move(below)));
  return FilteredBy(child == project.child() ? plan : project.WithChildren({std::move(child)}), std::move(above));
}

arrow::Result<PlanPtr> PushBelow(const PlanPtr& plan, const Conjuncts& conjuncts) {
  return RewriteChildren(plan, [&](const PlanPtr& child) { return Push(child, conjuncts); });
}

arrow::Result<PlanPtr> PushNothingBelow(const PlanPtr& plan, Conjuncts conjuncts) {
  ARROW_ASSIGN_OR_RAISE(PlanPtr below, PushBelow(plan, {}));
  return FilteredBy(std::move(below), std::move(conjuncts));
}

arrow::Result<PlanPtr> PushThroughAggregate(const PlanPtr& plan, const Conjuncts& conjuncts) {
  const auto& aggregate = static_cast<const plan::AggregateNode&>(*plan);
  const auto group_count = static_cast<int>(aggregate.groups().size());
  Conjuncts below, above;
  for (const ExprPtr& conjunct : conjuncts) {
    // Below an aggregate without groups even a condition without columns would not have its meaning.
    const bool over_groups = SideOf(*conjunct, group_count) == Side::kLeft;
    ExprPtr over_input;
    if (over_groups) {
      ARROW_ASSIGN_OR_RAISE(over_input, SubstituteColumns(conjunct, aggregate.groups()));
    }
    if (over_groups && !IsVolatile(*over_input) && !IsGuardedBy(conjunct, above)) {
      below.push_back(std::move(over_input));
    } else {
      above.push_back(conjunct);
    }
  }
  ARROW_ASSIGN_OR_RAISE(PlanPtr child, Push(aggregate.child(), std::move(below)));
  return FilteredBy(child == aggregate.child() ? plan : aggregate.WithChildren({std::move(child)}), std::move(above));
}

// --- joins ------------------------------------------------------------------------------------------------------------------

/// Where conjuncts may go at a join of a type. "Above" are those over its output, "on" those of its own condition.
struct JoinSides {
  bool above_to_left = false;
  bool above_to_right = false;
  bool on_to_left = false;
  bool on_to_right = false;
  bool above_is_on = false;  ///< a condition over the output is the same as one in the join
  /// A row with another value than all rows of the other side leaves no trace: a condition on one key column may be copied.
  bool left_to_right = false;
  bool right_to_left = false;
};

JoinSides SidesOf(expr::JoinType type) {
  using enum expr::JoinType;
  switch (type) {
    case kInner:
      return {.on_to_left = true, .on_to_right = true, .above_is_on = true, .left_to_right = true, .right_to_left = true};
    case kLeft:
    case kLeftSingle:
    case kLeftAnti:
    case kLeftMark:
      return {.above_to_left = true, .on_to_right = true, .left_to_right = true};
    case kRight:
      return {.above_to_right = true, .on_to_left = true, .right_to_left = true};
    case kFull:
      return {};
    case kLeftSemi:
      return {.above_to_left = true, .on_to_left = true, .on_to_right = true, .left_to_right = true, .right_to_left = true};
    // A right row with a NULL key counts for every left row.
    case kLeftAntiNulls:
    case kLeftMarkNulls:
      return {.above_to_left = true};
  }
  return {};
}

/// What has been decided at one join; all over L then R.
struct JoinConjuncts {
  Conjuncts left;
  Conjuncts right;
  Conjuncts on;
  Conjuncts above;
};

/// Puts each conjunct to the side it is about, when it may go there, and appends it to `rest` otherwise.
arrow::Status Distribute(const Conjuncts& conjuncts, int left_columns, bool to_left, bool to_right, JoinConjuncts* decided,
                         Conjuncts* rest) {
  for (const ExprPtr& conjunct : conjuncts) {
    const Side side = SideOf(*conjunct, left_columns);
    const bool stays = IsVolatile(*conjunct) || IsGuardedBy(conjunct, *rest);
    if (side == Side::kLeft && to_left && !stays) {
      AppendNew({conjunct}, &decided->left);
      continue;
    }
    if (side == Side::kRight && to_right && !stays) {
      AppendNew({conjunct}, &decided->right);
      continue;
    }
    rest->push_back(conjunct);
    if (side != Side::kBoth) continue;
    if (to_left) {
      ARROW_ASSIGN_OR_RAISE(ExprPtr implied, ImpliedBy(conjunct, [&](int column) { return column < left_columns; }));
      if (implied != nullptr) AppendNew({std::move(implied)}, &decided->left);
    }
    if (to_right) {
      ARROW_ASSIGN_OR_RAISE(ExprPtr implied, ImpliedBy(conjunct, [&](int column) { return column >= left_columns; }));
      if (implied != nullptr) AppendNew({std::move(implied)}, &decided->right);
    }
  }
  return arrow::Status::OK();
}

/// Values that are equal are the same to every function: not so 0.0 and -0.0.
bool IsSameWhenEqual(const arrow::DataType& type) { return !arrow::is_floating(type.id()) && !arrow::is_nested(type.id()); }

/// Conjuncts in `from` over the one column `column` only, over `other` instead.
arrow::Status CopyOver(const Conjuncts& from, const expr::Expr& column, const ExprPtr& other, Conjuncts* to) {
  const int index = static_cast<const expr::ColumnExpr&>(column).index();
  Conjuncts copies;
  for (const ExprPtr& conjunct : from) {
    if (expr::ReferencedColumns(*conjunct) != std::vector<int>{index}) continue;
    if (!expr::IsDeterministic(*conjunct) || expr::CanFail(*conjunct)) continue;
    ARROW_ASSIGN_OR_RAISE(copies.emplace_back(), expr::Transform(conjunct, [&](const ExprPtr& node) -> arrow::Result<ExprPtr> {
                            return node->kind() == expr::ExprKind::kColumn ? other : node;
                          }));
  }
  AppendNew(copies, to);
  return arrow::Status::OK();
}

arrow::Status CopyOverKeys(const expr::JoinCondition& condition, int left_columns, const JoinSides& sides,
                           JoinConjuncts* decided) {
  const Conjuncts left = decided->left;
  const Conjuncts right = decided->right;
  for (const expr::JoinKey& key : condition.keys) {
    const bool columns = key.left->kind() == expr::ExprKind::kColumn && key.right->kind() == expr::ExprKind::kColumn;
    if (!columns || key.null_safe || !IsSameWhenEqual(*key.left->type())) continue;
    ARROW_ASSIGN_OR_RAISE(const ExprPtr right_column, ShiftColumns(key.right, left_columns));
    if (sides.left_to_right) ARROW_RETURN_NOT_OK(CopyOver(left, *key.left, right_column, &decided->right));
    if (sides.right_to_left) ARROW_RETURN_NOT_OK(CopyOver(right, *right_column, key.left, &decided->left));
  }
  return arrow::Status::OK();
}

arrow::Result<PlanPtr> PushIntoJoin(const PlanPtr& plan, const Conjuncts& conjuncts) {
  const auto& join = static_cast<const plan::JoinNode&>(*plan);
  const int left_columns = join.left()->schema()->num_fields();
  const JoinSides sides = SidesOf(join.type());
  JoinConjuncts decided;
  Conjuncts on;
  if (join.condition().residual != nullptr) {
    ARROW_ASSIGN_OR_RAISE(on, SplitWithCommonFactors(join.condition().residual));
  }
  if (sides.above_is_on) {
    for (const ExprPtr& conjunct : conjuncts) {
      if (IsVolatile(*conjunct) || IsGuardedBy(conjunct, decided.above)) {
        decided.above.push_back(conjunct);
      } else {
        AppendNew({conjunct}, &on);
      }
    }
  } else {
    // A mark is a column of neither side; "right" in the output of a join without right columns is nothing else.
    ARROW_RETURN_NOT_OK(Distribute(conjuncts, left_columns, sides.above_to_left, sides.above_to_right, &decided, &decided.above));
  }
  ARROW_RETURN_NOT_OK(Distribute(on, left_columns, sides.on_to_left, sides.on_to_right, &decided, &decided.on));

  expr::JoinCondition condition = join.condition();
  condition.residual = nullptr;
  AddToCondition(decided.on, left_columns, &condition);
  ARROW_RETURN_NOT_OK(CopyOverKeys(condition, left_columns, sides, &decided));
  for (ExprPtr& conjunct : decided.right) {
    ARROW_ASSIGN_OR_RAISE(conjunct, ShiftColumns(conjunct, -left_columns));
  }
  ARROW_ASSIGN_OR_RAISE(PlanPtr left, Push(join.left(), std::move(decided.left)));
  ARROW_ASSIGN_OR_RAISE(PlanPtr right, Push(join.right(), std::move(decided.right)));
  const bool same_condition = condition.keys.size() == join.condition().keys.size() &&
                              (condition.residual == nullptr) == (join.condition().residual == nullptr) &&
                              (condition.residual == nullptr || expr::Equals(*condition.residual, *join.condition().residual));
  if (same_condition && left == join.left() && right == join.right()) return FilteredBy(plan, std::move(decided.above));
  return FilteredBy(
      std::make_shared<plan::JoinNode>(std::move(left), std::move(right), join.type(), std::move(condition), join.build_left()),
      std::move(decided.above));
}

bool AnyVolatile(const Conjuncts& conjuncts) {
  return std::any_of(conjuncts.begin(), conjuncts.end(), [](const ExprPtr& expr) { return IsVolatile(*expr); });
}

/// `conjuncts` apply to the output of `plan`.
arrow::Result<PlanPtr> Push(const PlanPtr& plan, Conjuncts conjuncts) {
  switch (plan->kind()) {
    case PlanKind::kFilter: {
      ARROW_ASSIGN_OR_RAISE(Conjuncts all, SplitWithCommonFactors(static_cast<const plan::FilterNode&>(*plan).predicate()));
      AppendNew(conjuncts, &all);
      return Push(plan->child(), std::move(all));
    }
    case PlanKind::kScan:
      return PushIntoScan(plan, conjuncts);
    case PlanKind::kProject:
      return PushThroughProject(plan, conjuncts);
    case PlanKind::kSort:
      if (static_cast<const plan::SortNode&>(*plan).fetch()) return PushNothingBelow(plan, std::move(conjuncts));
      return PushBelow(plan, conjuncts);
    case PlanKind::kUnionAll:
      if (AnyVolatile(conjuncts)) return PushNothingBelow(plan, std::move(conjuncts));
      return PushBelow(plan, conjuncts);
    case PlanKind::kSetOperation:
      // The other branch has rows that never come out: nothing may fail for them.
      if (AnyVolatile(conjuncts) ||
          std::any_of(conjuncts.begin(), conjuncts.end(), [](const ExprPtr& expr) { return expr::CanFail(*expr); })) {
        return PushNothingBelow(plan, std::move(conjuncts));
      }
      return PushBelow(plan, conjuncts);
    case PlanKind::kAggregate:
      return PushThroughAggregate(plan, conjuncts);
    case PlanKind::kJoin:
      return PushIntoJoin(plan, conjuncts);
    case PlanKind::kLimit:
    case PlanKind::kValues:
    case PlanKind::kApply:
    case PlanKind::kCopy:
      return PushNothingBelow(plan, std::move(conjuncts));
  }
  return PushNothingBelow(plan, std::move(conjuncts));
}

}  // namespace

arrow::Result<PlanPtr> PushFilters(const PlanPtr& plan, const OptimizerOptions&) { return Push(plan, {}); }

}  // namespace icebound::optimizer
