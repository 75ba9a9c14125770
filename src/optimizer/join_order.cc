// SPDX-License-Identifier: Apache-2.0
//
// The order of joins. For every region of inner, semi and anti joins (join_graph.h):
//
//   up to 10 relations   dynamic programming over all sets of relations: the cheapest way to join a set is the cheapest pair of
//                        its parts, bushy trees included
//   more                 greedy: again and again the pair whose join costs least
//
// A join costs its input and output rows; the side it keeps counts twice, and by its bytes. Without a key it costs all pairs.
// Semi and anti joins are applied where that is cheapest: early when they are selective, late when their left side shrinks
// first. Costs come from statistics and constants alone: the memory limit does not change a plan.
//
// Sources: G. Moerkotte, T. Neumann: Dynamic Programming Strikes Back, SIGMOD 2008 (semi joins as edges with a direction);
// L. Fegaras: A New Heuristic for Optimizing Large Queries, DEXA 1998.
#include <algorithm>
#include <bit>
#include <limits>
#include <map>

#include "optimizer/decorrelation.h"
#include "optimizer/join_graph.h"
#include "optimizer/plan_rewrite.h"
#include "optimizer/rules.h"

namespace icebound::optimizer {

using expr::ExprPtr;
using plan::PlanPtr;

namespace {

constexpr size_t kExhaustiveRelationsMax = 10;  // 3^10 pairs of sets
constexpr double kBuildRowCost = 2;
constexpr double kBuildByteCost = 1.0 / 64;  // a row of 128 bytes counts as much again
constexpr double kPairCost = 0.5;            // of a nested loop
constexpr double kCrossCost = 1000;          // no cross product for a handful of rows that may be more

struct Step {
  RelationSet left = 0;  // empty: a relation itself
  RelationSet right = 0;
  double cost = std::numeric_limits<double>::infinity();
};

class JoinOrder {
 public:
  explicit JoinOrder(const JoinGraph& graph) : graph_(graph), count_(graph.relations.size()) {}

  /// Decides the order; steps_ holds a way to join all relations.
  void Search() {
    for (size_t i = 0; i < count_; ++i) steps_[SetOf(i)].cost = 0;
    if (count_ <= kExhaustiveRelationsMax) {
      SearchAll();
    } else {
      SearchGreedily();
    }
  }

  RelationSet all() const { return count_ == 64 ? ~RelationSet{0} : (RelationSet{1} << count_) - 1; }

  /// A plan and where it has the region's columns.
  struct Built {
    PlanPtr plan;
    std::map<int, int> position;
  };

  arrow::Result<Built> Build(RelationSet set) const {
    const Step& step = steps_.at(set);
    if (step.left == 0) return BuildRelation(static_cast<size_t>(std::countr_zero(set)));
    ARROW_ASSIGN_OR_RAISE(Built left, Build(step.left));
    const Relation* filter = FilterOf(step.right);
    return filter != nullptr ? BuildFilter(std::move(left), *filter, set, step.left) : BuildJoin(std::move(left), step, set);
  }

 private:
  double Rows(RelationSet set) {
    const auto [found, is_new] = rows_.try_emplace(set, 0);
    if (is_new) found->second = graph_.Rows(set);
    return found->second;
  }

  /// The semi or anti join that the set is nothing but; nullptr for other sets.
  const Relation* FilterOf(RelationSet set) const {
    if (std::popcount(set) != 1) return nullptr;
    const Relation& relation = graph_.relations[static_cast<size_t>(std::countr_zero(set))];
    return relation.is_inner() ? nullptr : &relation;
  }

  bool HasKey(RelationSet left, RelationSet right) const {
    for (const auto& members : graph_.classes) {
      bool in_left = false, in_right = false;
      for (const ClassMember& member : members) {
        in_left = in_left || Contains(left, static_cast<size_t>(member.relation));
        in_right = in_right || Contains(right, static_cast<size_t>(member.relation));
      }
      if (in_left && in_right) return true;
    }
    // IS NOT DISTINCT FROM, and equalities over more than two relations.
    return std::any_of(graph_.conditions.begin(), graph_.conditions.end(), [&](const GraphCondition& condition) {
      if ((condition.needs & left) == 0 || (condition.needs & right) == 0 || (condition.needs & ~(left | right)) != 0)
        return false;
      if (condition.expr->kind() != expr::ExprKind::kCall) return false;
      const std::string_view name = static_cast<const expr::CallExpr&>(*condition.expr).name();
      return name == "=" || name == "is_not_distinct_from";
    });
  }

  /// Infinite when the two cannot be joined in this direction.
  double CostOf(RelationSet left, RelationSet right) {
    const Relation* filter = FilterOf(right);
    if (FilterOf(left) != nullptr || (filter != nullptr && (filter->needs & ~left) != 0)) {
      return std::numeric_limits<double>::infinity();
    }
    const double left_rows = Rows(left);
    const double right_rows = filter != nullptr ? filter->estimate.rows : Rows(right);
    const double left_bytes = left_rows * graph_.RowBytes(left);
    const double right_bytes = filter != nullptr ? right_rows * filter->row_bytes : right_rows * graph_.RowBytes(right);
    const bool builds_left = left_bytes < right_bytes;
    const double build_rows = builds_left ? left_rows : right_rows;
    double cost = left_rows + right_rows + Rows(left | right);
    cost += build_rows * (kBuildRowCost - 1) + std::min(left_bytes, right_bytes) * kBuildByteCost;
    const bool keyed = filter != nullptr ? !filter->condition.keys.empty() : HasKey(left, right);
    if (!keyed) cost += std::max(1.0, left_rows) * std::max(1.0, right_rows) * kPairCost + kCrossCost;
    return cost;
  }

  void Consider(RelationSet left, RelationSet right) {
    const auto left_step = steps_.find(left);
    const auto right_step = steps_.find(right);
    if (left_step == steps_.end() || right_step == steps_.end()) return;
    const double cost = left_step->second.cost + right_step->second.cost + CostOf(left, right);
    if (!(cost < std::numeric_limits<double>::infinity())) return;
    Step& step = steps_[left | right];
    if (cost < step.cost) step = {left, right, cost};
  }

  void SearchAll() {
    for (RelationSet set = 1; set <= all(); ++set) {
      if (std::popcount(set) < 2) continue;
      for (RelationSet left = (set - 1) & set; left != 0; left = (left - 1) & set) {
        const RelationSet right = set & ~left;
        // Two sets of inner relations cost the same both ways.
        if (left < right && FilterOf(left) == nullptr && FilterOf(right) == nullptr) continue;
        Consider(left, right);
      }
    }
  }

  void SearchGreedily() {
    std::vector<RelationSet> parts;
    for (size_t i = 0; i < count_; ++i) parts.push_back(SetOf(i));
    while (parts.size() > 1) {
      size_t best_left = 0, best_right = 0;
      double best = std::numeric_limits<double>::infinity();
      for (size_t i = 0; i < parts.size(); ++i) {
        for (size_t j = 0; j < parts.size(); ++j) {
          if (i == j) continue;
          const double cost = CostOf(parts[i], parts[j]);
          if (cost < best) best = cost, best_left = i, best_right = j;
        }
      }
      Consider(parts[best_left], parts[best_right]);
      parts[best_left] |= parts[best_right];
      parts.erase(parts.begin() + static_cast<ptrdiff_t>(best_right));
    }
  }

  // --- the plan --------------------------------------------------------------------------------------------------------------

  arrow::Result<Built> BuildRelation(size_t index) const {
    const Relation& relation = graph_.relations[index];
    Built built{relation.plan, {}};
    for (int i = 0; i < relation.plan->schema()->num_fields(); ++i) built.position[relation.first_column + i] = i;
    return built;
  }

  /// An expression over the region's columns over those of a plan.
  static arrow::Result<ExprPtr> Place(const ExprPtr& expr, const std::map<int, int>& position) {
    return expr::Transform(expr, [&](const ExprPtr& node) -> arrow::Result<ExprPtr> {
      if (node->kind() != expr::ExprKind::kColumn) return node;
      const auto& column = static_cast<const expr::ColumnExpr&>(*node);
      return std::make_shared<expr::ColumnExpr>(position.at(column.index()), column.name(), column.type(), column.position());
    });
  }

  /// Conditions that can be met in `set` and could be in none of its parts.
  arrow::Result<Conjuncts> ConditionsOf(RelationSet set, RelationSet left, RelationSet right,
                                        const std::map<int, int>& position) const {
    Conjuncts conjuncts;
    for (const GraphCondition& condition : graph_.conditions) {
      const bool here = condition.needs != 0 && (condition.needs & ~set) == 0 && (condition.needs & ~left) != 0 &&
                        (condition.needs & ~right) != 0;
      if (!here) continue;
      ARROW_ASSIGN_OR_RAISE(conjuncts.emplace_back(), Place(condition.expr, position));
    }
    return conjuncts;
  }

  const ClassMember* MemberIn(const std::vector<ClassMember>& members, RelationSet set) const {
    for (const ClassMember& member : members) {
      if (Contains(set, static_cast<size_t>(member.relation))) return &member;
    }
    return nullptr;
  }

  arrow::Result<Built> BuildJoin(Built left, const Step& step, RelationSet set) const {
    ARROW_ASSIGN_OR_RAISE(Built right, Build(step.right));
    RelationSet left_set = step.left, right_set = step.right;
    // The side to keep stands right.
    if (graph_.Rows(left_set) * graph_.RowBytes(left_set) < graph_.Rows(right_set) * graph_.RowBytes(right_set)) {
      std::swap(left, right);
      std::swap(left_set, right_set);
    }
    expr::JoinCondition condition;
    for (const auto& members : graph_.classes) {
      const ClassMember* in_left = MemberIn(members, left_set);
      const ClassMember* in_right = MemberIn(members, right_set);
      if (in_left == nullptr || in_right == nullptr) continue;
      expr::JoinKey& key = condition.keys.emplace_back();
      ARROW_ASSIGN_OR_RAISE(key.left, Place(in_left->expr, left.position));
      ARROW_ASSIGN_OR_RAISE(key.right, Place(in_right->expr, right.position));
    }
    const int left_columns = left.plan->schema()->num_fields();
    Built built{nullptr, std::move(left.position)};
    for (const auto& [column, position] : right.position) built.position[column] = position + left_columns;
    ARROW_ASSIGN_OR_RAISE(const Conjuncts conjuncts, ConditionsOf(set, left_set, right_set, built.position));
    AddToCondition(conjuncts, left_columns, &condition);
    built.plan = std::make_shared<plan::JoinNode>(left.plan, right.plan, expr::JoinType::kInner, std::move(condition));
    return built;
  }

  arrow::Result<Built> BuildFilter(Built left, const Relation& filter, RelationSet set, RelationSet left_set) const {
    expr::JoinCondition condition = filter.condition;
    for (expr::JoinKey& key : condition.keys) {
      ARROW_ASSIGN_OR_RAISE(key.left, Place(key.left, left.position));
    }
    if (condition.residual != nullptr) {
      std::map<int, int> both = left.position;
      // Its right columns may have the numbers of relations that came later, which it does not refer to.
      const int left_columns = left.plan->schema()->num_fields();
      for (int i = 0; i < filter.plan->schema()->num_fields(); ++i) both[filter.residual_columns + i] = left_columns + i;
      ARROW_ASSIGN_OR_RAISE(condition.residual, Place(condition.residual, both));
    }
    left.plan = std::make_shared<plan::JoinNode>(left.plan, filter.plan, filter.type, std::move(condition));
    return left;
  }

  const JoinGraph& graph_;
  const size_t count_;
  std::map<RelationSet, Step> steps_;
  std::map<RelationSet, double> rows_;
};

arrow::Result<PlanPtr> Reorder(const PlanPtr& plan, CardinalityEstimator* estimator) {
  const auto below = [estimator](const PlanPtr& child) { return Reorder(child, estimator); };
  if (!IsJoinRegion(*plan)) return RewriteChildren(plan, below);
  ARROW_ASSIGN_OR_RAISE(const std::optional<JoinGraph> graph, MakeJoinGraph(plan, estimator, below));
  if (!graph) return RewriteChildren(plan, below);
  JoinOrder order(*graph);
  order.Search();
  ARROW_ASSIGN_OR_RAISE(JoinOrder::Built built, order.Build(order.all()));
  Conjuncts always;  // conditions without columns
  for (const GraphCondition& condition : graph->conditions) {
    if (condition.needs == 0) always.push_back(condition.expr);
  }
  if (!always.empty()) built.plan = std::make_shared<plan::FilterNode>(built.plan, expr::MakeAnd(std::move(always)));
  const std::vector<ExprPtr> columns = ColumnsOf(*built.plan);
  std::vector<ExprPtr> outputs;
  bool same = graph->outputs.size() == columns.size() && built.plan->schema()->field_names() == plan->schema()->field_names();
  for (const int column : graph->outputs) {
    const int position = built.position.at(column);
    same = same && position == static_cast<int>(outputs.size());
    outputs.push_back(columns[static_cast<size_t>(position)]);
  }
  if (same) return built.plan;
  return std::make_shared<plan::ProjectNode>(std::move(built.plan), std::move(outputs), plan->schema()->field_names());
}

}  // namespace

arrow::Result<PlanPtr> OrderJoins(const PlanPtr& plan, const OptimizerOptions&) {
  CardinalityEstimator estimator;
  return Reorder(plan, &estimator);
}

}  // namespace icebound::optimizer
