// SPDX-License-Identifier: Apache-2.0
#include "optimizer/join_graph.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <optional>

#include "optimizer/plan_rewrite.h"

namespace icebound::optimizer {

using expr::ExprKind;
using expr::ExprPtr;
using expr::JoinType;
using plan::PlanKind;
using plan::PlanPtr;

namespace {

bool IsRegionJoin(const plan::JoinNode& join) {
  using enum JoinType;
  const bool reorders =
      join.type() == kInner || join.type() == kLeftSemi || join.type() == kLeftAnti || join.type() == kLeftAntiNulls;
  return reorders && (join.condition().residual == nullptr || !IsVolatile(*join.condition().residual));
}

bool PicksColumns(const plan::ProjectNode& project) {
  return std::all_of(project.exprs().begin(), project.exprs().end(),
                     [](const ExprPtr& expr) { return expr->kind() == ExprKind::kColumn; });
}

class GraphMaker {
 public:
  GraphMaker(CardinalityEstimator* estimator, const std::function<arrow::Result<PlanPtr>(const PlanPtr&)>& reorder)
      : estimator_(estimator), reorder_(reorder) {}

  arrow::Result<std::optional<JoinGraph>> Make(const PlanPtr& plan) {
    ARROW_ASSIGN_OR_RAISE(graph_.outputs, Flatten(plan));
    if (graph_.relations.size() > kRelationsMax) return std::nullopt;
    ARROW_RETURN_NOT_OK(SortConditions());
    ARROW_RETURN_NOT_OK(FilterRelations());
    for (Relation& relation : graph_.relations) {
      ARROW_ASSIGN_OR_RAISE(relation.estimate, estimator_->Estimate(relation.plan));
      relation.row_bytes = relation.estimate.RowBytes();
    }
    EstimateClasses();
    FindSharedClasses();
    EstimateConditions();
    return std::move(graph_);
  }

 private:
  struct Pooled {
    ExprPtr expr;
    RelationSet needs;
  };

  RelationSet RelationsOf(const expr::Expr& expr) const {
    RelationSet set = 0;
    for (const int column : expr::ReferencedColumns(expr)) {
      if (column < columns_) set |= SetOf(static_cast<size_t>(relation_of_column_[static_cast<size_t>(column)]));
    }
    return set;
  }

  /// The region's column for each column of the plan.
  arrow::Result<std::vector<int>> Flatten(const PlanPtr& plan) {
    if (!IsJoinRegion(*plan)) return AddRelation(plan);
    if (plan->kind() == PlanKind::kFilter) {
      ARROW_ASSIGN_OR_RAISE(std::vector<int> columns, Flatten(plan->child()));
      ARROW_RETURN_NOT_OK(AddConjuncts(static_cast<const plan::FilterNode&>(*plan).predicate(), columns));
      return columns;
    }
    if (plan->kind() == PlanKind::kProject) {
      ARROW_ASSIGN_OR_RAISE(const std::vector<int> below, Flatten(plan->child()));
      std::vector<int> columns;
      for (const ExprPtr& expr : static_cast<const plan::ProjectNode&>(*plan).exprs()) {
        columns.push_back(below[static_cast<size_t>(static_cast<const expr::ColumnExpr&>(*expr).index())]);
      }
      return columns;
    }
    const auto& join = static_cast<const plan::JoinNode&>(*plan);
    ARROW_ASSIGN_OR_RAISE(std::vector<int> columns, Flatten(join.left()));
    if (join.type() != JoinType::kInner) {
      ARROW_RETURN_NOT_OK(AddSemiJoin(join, columns));
      return columns;
    }
    ARROW_ASSIGN_OR_RAISE(const std::vector<int> right, Flatten(join.right()));
    const auto left_columns = static_cast<int>(columns.size());
    columns.insert(columns.end(), right.begin(), right.end());
    for (const expr::JoinKey& key : join.condition().keys) {
      ARROW_ASSIGN_OR_RAISE(const ExprPtr comparison, ComparisonOf(key, left_columns));
      ARROW_RETURN_NOT_OK(AddConjuncts(comparison, columns));
    }
    if (join.condition().residual != nullptr) ARROW_RETURN_NOT_OK(AddConjuncts(join.condition().residual, columns));
    return columns;
  }

  arrow::Result<std::vector<int>> AddRelation(const PlanPtr& plan) {
    ARROW_ASSIGN_OR_RAISE(PlanPtr reordered, RewriteChildren(plan, reorder_));
    Relation relation;
    relation.plan = std::move(reordered);
    relation.first_column = columns_;
    std::vector<int> columns(static_cast<size_t>(plan->schema()->num_fields()));
    std::iota(columns.begin(), columns.end(), columns_);
    columns_ += static_cast<int>(columns.size());
    relation_of_column_.insert(relation_of_column_.end(), columns.size(), static_cast<int>(graph_.relations.size()));
    graph_.relations.push_back(std::move(relation));
    return columns;
  }

  arrow::Status AddSemiJoin(const plan::JoinNode& join, const std::vector<int>& columns) {
    Relation relation;
    ARROW_ASSIGN_OR_RAISE(relation.plan, reorder_(join.right()));
    relation.first_column = -1;
    relation.type = join.type();
    relation.condition = join.condition();
    for (expr::JoinKey& key : relation.condition.keys) {
      ARROW_ASSIGN_OR_RAISE(key.left, expr::RemapColumns(key.left, columns));
      relation.needs |= RelationsOf(*key.left);
    }
    if (relation.condition.residual != nullptr) {
      relation.residual_columns = columns_;
      std::vector<int> both = columns;
      for (int i = 0; i < join.right()->schema()->num_fields(); ++i) both.push_back(columns_ + i);
      ARROW_ASSIGN_OR_RAISE(relation.condition.residual, expr::RemapColumns(relation.condition.residual, both));
      relation.needs |= RelationsOf(*relation.condition.residual);
    }
    // A subquery that refers to nothing filters all rows or none: as it stands, above everything below it.
    if (relation.needs == 0) {
      for (size_t i = 0; i < graph_.relations.size(); ++i) {
        if (graph_.relations[i].is_inner()) relation.needs |= SetOf(i);
      }
    }
    graph_.relations.push_back(std::move(relation));
    return arrow::Status::OK();
  }

  arrow::Status AddConjuncts(const ExprPtr& predicate, const std::vector<int>& columns) {
    ARROW_ASSIGN_OR_RAISE(const ExprPtr over_region, expr::RemapColumns(predicate, columns));
    for (const ExprPtr& conjunct : expr::SplitConjunction(over_region)) {
      RelationSet needs = RelationsOf(*conjunct);
      // One that may fail comes no earlier than what may guard it.
      for (const Pooled& earlier : pool_) {
        if (IsGuardedBy(conjunct, {earlier.expr})) needs |= earlier.needs;
      }
      pool_.push_back({conjunct, needs});
    }
    return arrow::Status::OK();
  }

  /// Equalities between two relations go to classes, what one relation can decide to it, the rest to the conditions.
  arrow::Status SortConditions() {
    for (const Pooled& pooled : pool_) {
      const RelationSet needs = pooled.needs;
      if (std::popcount(needs) == 1 && needs == RelationsOf(*pooled.expr)) {
        local_.emplace_back(std::countr_zero(needs), pooled.expr);
        continue;
      }
      if (std::popcount(needs) == 2 && needs == RelationsOf(*pooled.expr) && AddToClasses(pooled.expr, needs)) continue;
      graph_.conditions.push_back({pooled.expr, needs, 1});
    }
    std::erase_if(graph_.classes, [](const auto& members) { return members.empty(); });
    return arrow::Status::OK();
  }

  bool AddToClasses(const ExprPtr& conjunct, RelationSet needs) {
    // The relations are in the order of their columns.
    const int later = 63 - std::countl_zero(needs);
    const int first_column = graph_.relations[static_cast<size_t>(later)].first_column;
    auto key = KeyOfConjunct(conjunct, first_column);
    if (!key || key->null_safe) return false;
    auto right = ShiftColumns(key->right, first_column);
    if (!right.ok()) return false;
    const size_t left_class = ClassOf(std::countr_zero(needs), key->left);
    const size_t right_class = ClassOf(later, *right);
    if (left_class == right_class) return true;
    auto& into = graph_.classes[left_class];
    auto& from = graph_.classes[right_class];
    into.insert(into.end(), from.begin(), from.end());
    from.clear();
    return true;
  }

  /// The class that holds the expression; a new one when none does.
  size_t ClassOf(int relation, const ExprPtr& expr) {
    for (size_t i = 0; i < graph_.classes.size(); ++i) {
      for (const ClassMember& member : graph_.classes[i]) {
        if (expr::Equals(*member.expr, *expr)) return i;
      }
    }
    graph_.classes.push_back({{relation, expr, 1}});
    return graph_.classes.size() - 1;
  }

  /// Conditions over one relation, also those that follow from two members of a class in it.
  arrow::Status FilterRelations() {
    for (const auto& members : graph_.classes) {
      for (size_t i = 0; i < members.size(); ++i) {
        for (size_t j = i + 1; j < members.size(); ++j) {
          if (members[i].relation != members[j].relation) continue;
          ARROW_ASSIGN_OR_RAISE(ExprPtr equal, expr::MakeCall("=", {members[i].expr, members[j].expr}));
          local_.emplace_back(members[i].relation, std::move(equal));
        }
      }
    }
    for (size_t i = 0; i < graph_.relations.size(); ++i) {
      Relation& relation = graph_.relations[i];
      Conjuncts conjuncts;
      for (const auto& [at, conjunct] : local_) {
        if (at != static_cast<int>(i)) continue;
        ARROW_ASSIGN_OR_RAISE(const ExprPtr own, ShiftColumns(conjunct, -relation.first_column));
        AppendNew({own}, &conjuncts);
      }
      if (!conjuncts.empty()) {
        relation.plan = std::make_shared<plan::FilterNode>(relation.plan, expr::MakeAnd(std::move(conjuncts)));
      }
    }
    return arrow::Status::OK();
  }

  void EstimateClasses() {
    for (auto& members : graph_.classes) {
      for (ClassMember& member : members) {
        const Relation& relation = graph_.relations[static_cast<size_t>(member.relation)];
        const auto own = ShiftColumns(member.expr, -relation.first_column);
        member.domain = own.ok() ? EstimateExpression(**own, relation.estimate).domain : 1;
      }
    }
  }

  /// The widest domain of a relation's members of each class; 0 where it has none.
  std::vector<double> DomainsOf(size_t relation) const {
    std::vector<double> domains;
    for (const auto& members : graph_.classes) {
      double& domain = domains.emplace_back(0);
      for (const ClassMember& member : members) {
        if (member.relation == static_cast<int>(relation)) domain = std::max(domain, member.domain);
      }
    }
    return domains;
  }

  void FindSharedClasses() {
    const std::vector<Relation>& relations = graph_.relations;
    std::vector<std::vector<double>> domains;
    for (size_t i = 0; i < relations.size(); ++i) domains.push_back(DomainsOf(i));
    for (size_t a = 0; a < relations.size(); ++a) {
      for (size_t b = a + 1; b < relations.size(); ++b) {
        double product = 1;
        int shared = 0;
        for (size_t c = 0; c < graph_.classes.size(); ++c) {
          if (domains[a][c] == 0 || domains[b][c] == 0) continue;
          product *= std::max(domains[a][c], domains[b][c]);
          ++shared;
        }
        const double most = std::max(1.0, std::min(relations[a].estimate.base_rows, relations[b].estimate.base_rows));
        if (shared > 1 && product > most) graph_.shared_classes.push_back({SetOf(a) | SetOf(b), product / most});
      }
    }
  }

  void EstimateConditions() {
    PlanEstimate all;
    for (const Relation& relation : graph_.relations) {
      if (!relation.is_inner()) continue;
      all.rows = std::max(all.rows, relation.estimate.rows);
      all.base_rows = std::max(all.base_rows, relation.estimate.base_rows);
      all.columns.insert(all.columns.end(), relation.estimate.columns.begin(), relation.estimate.columns.end());
    }
    for (GraphCondition& condition : graph_.conditions)
      condition.share = std::clamp(Selectivity(*condition.expr, all), 1e-6, 1.0);
    for (Relation& relation : graph_.relations) {
      if (relation.is_inner()) continue;
      double share = MatchedShare(all, relation.estimate, relation.condition);
      if (relation.condition.residual != nullptr) share *= 0.9;
      relation.kept_share =
          relation.type == JoinType::kLeftSemi ? std::clamp(share, 1e-6, 1.0) : std::clamp(1 - share, 0.05, 1.0);
    }
  }

  CardinalityEstimator* const estimator_;
  const std::function<arrow::Result<PlanPtr>(const PlanPtr&)>& reorder_;
  JoinGraph graph_;
  int columns_ = 0;
  std::vector<int> relation_of_column_;
  std::vector<Pooled> pool_;
  std::vector<std::pair<int, ExprPtr>> local_;  // relation, condition over the region's columns
};

}  // namespace

bool IsJoinRegion(const plan::LogicalPlan& plan) {
  switch (plan.kind()) {
    case PlanKind::kJoin:
      return IsRegionJoin(static_cast<const plan::JoinNode&>(plan));
    case PlanKind::kFilter:
      return !IsVolatile(*static_cast<const plan::FilterNode&>(plan).predicate()) && IsJoinRegion(*plan.child());
    case PlanKind::kProject:
      return PicksColumns(static_cast<const plan::ProjectNode&>(plan)) && IsJoinRegion(*plan.child());
    default:
      return false;
  }
}

arrow::Result<std::optional<JoinGraph>> MakeJoinGraph(const PlanPtr& plan, CardinalityEstimator* estimator,
                                                      const std::function<arrow::Result<PlanPtr>(const PlanPtr&)>& reorder) {
  return GraphMaker(estimator, reorder).Make(plan);
}

double JoinGraph::Rows(RelationSet set) const {
  double rows = 1;
  for (size_t i = 0; i < relations.size(); ++i) {
    if (!Contains(set, i)) continue;
    rows *= relations[i].is_inner() ? relations[i].estimate.rows : relations[i].kept_share;
  }
  // A class of k members makes k - 1 comparisons; the widest domains count.
  for (const auto& members : classes) {
    double product = 1, least = 0;
    for (const ClassMember& member : members) {
      if (!Contains(set, static_cast<size_t>(member.relation))) continue;
      product *= member.domain;
      least = least == 0 ? member.domain : std::min(least, member.domain);
    }
    if (least > 0) rows *= least / product;
  }
  for (const SharedClasses& shared : shared_classes) {
    if ((set & shared.both) == shared.both) rows *= shared.factor;
  }
  for (const GraphCondition& condition : conditions) {
    if (condition.needs != 0 && (condition.needs & set) == condition.needs) rows *= condition.share;
  }
  return std::max(rows, 1e-3);
}

double JoinGraph::RowBytes(RelationSet set) const {
  double bytes = 0;
  for (size_t i = 0; i < relations.size(); ++i) {
    if (Contains(set, i) && relations[i].is_inner()) bytes += relations[i].row_bytes;
  }
  return std::max(1.0, bytes);
}

}  // namespace icebound::optimizer
