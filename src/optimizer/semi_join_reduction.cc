// SPDX-License-Identifier: Apache-2.0
//
// An aggregate that is joined on its groups computes many groups that meet nobody: the average quantity of every part, where the
// query looks at a thousand. When the other side's key comes from a small filtered table, that table is asked first:
//
//     Inner join on l_partkey = p_partkey          Inner join on l_partkey = p_partkey
//       Aggregate: groups=[l_partkey]                Aggregate: groups=[l_partkey]
//         Scan: lineitem                    =>         Semi join on l_partkey = p_partkey
//       Filter: p_brand = 'Brand#23'                     Scan: lineitem
//         Scan: part                                     Filter: p_brand = 'Brand#23'
//                                                          Scan: part
//                                                    Filter: p_brand = 'Brand#23'
//                                                      Scan: part
//
// The table is read twice; that must be little beside what the aggregate reads, and few rows must be left of that.
// Source: P. Seshadri et al.: Cost-Based Optimization for Magic. SIGMOD 1996.
#include <algorithm>

#include "optimizer/cardinality.h"
#include "optimizer/decorrelation.h"
#include "optimizer/plan_rewrite.h"
#include "optimizer/rules.h"

namespace icebound::optimizer {

using expr::ExprKind;
using expr::ExprPtr;
using expr::JoinType;
using plan::PlanKind;
using plan::PlanPtr;

namespace {

constexpr double kMatchedShareMax = 0.2;  // of the aggregate's input
constexpr double kTableShareMax = 0.5;    // rows of the table, of those that the aggregate's input comes from

/// A column of a plan.
struct Place {
  PlanPtr plan;
  int column;
};

int ColumnOf(const expr::Expr& expr) {
  return expr.kind() == ExprKind::kColumn ? static_cast<const expr::ColumnExpr&>(expr).index() : -1;
}

/// True for one table with filters and projections over it.
bool IsFilteredTable(const plan::LogicalPlan& plan, bool filtered = false) {
  if (plan.kind() == PlanKind::kScan) return filtered || !static_cast<const plan::ScanNode&>(plan).request().filters.empty();
  if (plan.kind() == PlanKind::kFilter) return IsFilteredTable(*plan.child(), true);
  return plan.kind() == PlanKind::kProject && IsFilteredTable(*plan.child(), filtered);
}

/// Filtered tables that hold every value of `column` that the plan gives, and perhaps more.
void AppendSources(const PlanPtr& plan, int column, std::vector<Place>* sources) {
  if (column < 0) return;
  if (IsFilteredTable(*plan)) {
    sources->push_back({plan, column});
    return;
  }
  switch (plan->kind()) {
    case PlanKind::kProject:
      return AppendSources(plan->child(),
                           ColumnOf(*static_cast<const plan::ProjectNode&>(*plan).exprs()[static_cast<size_t>(column)]), sources);
    case PlanKind::kFilter:
    case PlanKind::kSort:
    case PlanKind::kLimit:
      return AppendSources(plan->child(), column, sources);
    case PlanKind::kJoin: {
      const auto& join = static_cast<const plan::JoinNode&>(*plan);
      const int left_columns = join.left()->schema()->num_fields();
      const bool in_left = column < left_columns;
      const bool inner = join.type() == JoinType::kInner;
      if (join.type() == JoinType::kRight || join.type() == JoinType::kFull || (!in_left && !inner)) return;
      const int own = in_left ? column : column - left_columns;
      AppendSources(in_left ? join.left() : join.right(), own, sources);
      if (!inner && join.type() != JoinType::kLeftSemi) return;
      for (const expr::JoinKey& key : join.condition().keys) {
        const bool is_key = ColumnOf(in_left ? *key.left : *key.right) == own && !key.null_safe;
        if (is_key) AppendSources(in_left ? join.right() : join.left(), ColumnOf(in_left ? *key.right : *key.left), sources);
      }
      return;
    }
    default:
      return;
  }
}

class Reduction {
 public:
  arrow::Result<PlanPtr> Apply(const PlanPtr& plan) {
    return RewriteBottomUp(plan, [this](const PlanPtr& node) -> arrow::Result<PlanPtr> {
      if (node->kind() != PlanKind::kJoin) return node;
      ARROW_ASSIGN_OR_RAISE(const PlanPtr reduced, ReduceSide(node, 0));
      return ReduceSide(reduced, 1);
    });
  }

 private:
  /// Whether rows of this side that match nothing leave no trace.
  static bool DropsUnmatched(JoinType type, size_t side) {
    using enum JoinType;
    if (type == kInner || type == kLeftSemi) return true;
    return side == 1 && (type == kLeft || type == kLeftAnti || type == kLeftMark || type == kLeftSingle);
  }

  arrow::Result<PlanPtr> ReduceSide(const PlanPtr& plan, size_t side) {
    const auto& join = static_cast<const plan::JoinNode&>(*plan);
    if (!DropsUnmatched(join.type(), side)) return plan;
    for (const expr::JoinKey& key : join.condition().keys) {
      const int own = ColumnOf(side == 0 ? *key.left : *key.right);
      const int other = ColumnOf(side == 0 ? *key.right : *key.left);
      if (own < 0 || other < 0 || key.null_safe) continue;
      std::vector<Place> sources;
      AppendSources(plan->children()[1 - side], other, &sources);
      if (sources.empty()) continue;
      ARROW_ASSIGN_OR_RAISE(PlanPtr reduced, ReduceAggregate(plan->children()[side], own, sources));
      if (reduced == nullptr) continue;
      std::vector<PlanPtr> children = plan->children();
      children[side] = std::move(reduced);
      return plan->WithChildren(std::move(children));
    }
    return plan;
  }

  /// The plan with the input of its aggregate reduced; nullptr when there is none, or nothing to win.
  arrow::Result<PlanPtr> ReduceAggregate(const PlanPtr& plan, int column, const std::vector<Place>& sources) {
    if (plan->kind() == PlanKind::kFilter || plan->kind() == PlanKind::kProject) {
      const int below = plan->kind() == PlanKind::kFilter
                            ? column
                            : ColumnOf(*static_cast<const plan::ProjectNode&>(*plan).exprs()[static_cast<size_t>(column)]);
      if (below < 0) return nullptr;
      ARROW_ASSIGN_OR_RAISE(PlanPtr child, ReduceAggregate(plan->child(), below, sources));
      return child == nullptr ? nullptr : plan->WithChildren({std::move(child)});
    }
    if (plan->kind() != PlanKind::kAggregate) return nullptr;
    const auto& aggregate = static_cast<const plan::AggregateNode&>(*plan);
    const auto& groups = aggregate.groups();
    // A join gives its rows in no order.
    if (static_cast<size_t>(column) >= groups.size() || IsOrderSensitive(aggregate)) return nullptr;
    const ExprPtr& group = groups[static_cast<size_t>(column)];
    if (IsVolatile(*group)) return nullptr;
    ARROW_ASSIGN_OR_RAISE(const PlanEstimate input, estimator_.Estimate(plan->child()));
    PlanPtr best;
    double best_share = kMatchedShareMax;
    for (const Place& source : sources) {
      ARROW_ASSIGN_OR_RAISE(const PlanEstimate table, estimator_.Estimate(source.plan));
      const ExprPtr value = expr::MakeColumn(source.column, *source.plan->schema()->field(source.column));
      if (!value->type()->Equals(*group->type()) || !CheckRepeatable(*source.plan, "").ok()) continue;
      if (table.base_rows > kTableShareMax * input.base_rows) continue;
      const double share = MatchedShare(input, table, {{{group, value, false}}, nullptr});
      if (share >= best_share) continue;
      best_share = share;
      best = std::make_shared<plan::ProjectNode>(source.plan, std::vector<ExprPtr>{value},
                                                 std::vector<std::string>{value->ToString()});
    }
    if (best == nullptr) return nullptr;
    const ExprPtr value = expr::MakeColumn(0, *best->schema()->field(0));
    PlanPtr semi = std::make_shared<plan::JoinNode>(plan->child(), std::move(best), JoinType::kLeftSemi,
                                                    expr::JoinCondition{{{group, value, false}}, nullptr});
    return plan->WithChildren({std::move(semi)});
  }

  CardinalityEstimator estimator_;
};

}  // namespace

arrow::Result<PlanPtr> ReduceAggregateInputs(const PlanPtr& plan, const OptimizerOptions&) { return Reduction().Apply(plan); }

}  // namespace icebound::optimizer
