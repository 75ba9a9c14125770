// SPDX-License-Identifier: Apache-2.0
//
// A region of a plan whose joins may take any order: inner joins, semi and anti joins (which filter the rows of what they refer
// to, wherever that is), and the filters and column-only projections between them. Everything else is a relation of the region.
//
// Columns are numbered through all inner relations. Equalities between relations make classes of equal expressions: joining two
// sets of relations that both have members of a class makes a key, whether or not the query wrote that very pair.
#pragma once

#include <arrow/result.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "expr/join_condition.h"
#include "optimizer/cardinality.h"
#include "plan/logical_plan.h"

namespace icebound::optimizer {

/// A set of relations, a bit each.
using RelationSet = uint64_t;
constexpr size_t kRelationsMax = 64;

/// The set of one relation; empty beyond the number a set can hold.
constexpr RelationSet SetOf(size_t relation) { return relation < kRelationsMax ? RelationSet{1} << relation : 0; }
constexpr bool Contains(RelationSet set, size_t relation) { return (set & SetOf(relation)) != 0; }

struct Relation {
  plan::PlanPtr plan;
  PlanEstimate estimate;
  int first_column = 0;  ///< of the region; -1 for the right side of a semi or anti join
  // Of a semi or anti join: left key sides and the left columns of the residual are the region's, and the residual's right
  // columns start at `residual_columns`.
  expr::JoinType type = expr::JoinType::kInner;
  expr::JoinCondition condition;
  int residual_columns = 0;
  RelationSet needs = 0;  ///< relations that its condition refers to
  double kept_share = 1;  ///< of the rows it filters
  double row_bytes = 1;   ///< as the estimate says

  bool is_inner() const { return type == expr::JoinType::kInner; }
};

struct ClassMember {
  int relation;
  expr::ExprPtr expr;  ///< over the region's columns
  double domain;
};

/// A condition that is no equality between two relations.
struct GraphCondition {
  expr::ExprPtr expr;  ///< over the region's columns
  RelationSet needs;
  double share;  ///< of rows it keeps
};

/// Two relations with several classes in common: their keys together have no more values than the smaller one has rows, so that
/// comparing class by class leaves too few rows, by this factor.
struct SharedClasses {
  RelationSet both;
  double factor;
};

struct JoinGraph {
  std::vector<Relation> relations;
  std::vector<std::vector<ClassMember>> classes;
  std::vector<SharedClasses> shared_classes;
  std::vector<GraphCondition> conditions;
  std::vector<int> outputs;  ///< columns of the region, for each column of the plan

  /// How many rows the join of these relations has, in whatever order.
  double Rows(RelationSet set) const;
  double RowBytes(RelationSet set) const;
};

/// True when the plan is such a region: a join on top, perhaps below filters and projections.
bool IsJoinRegion(const plan::LogicalPlan& plan);

/// `reorder` is applied to the relations. Conditions over one relation become its filter. Nothing when it has too many relations.
arrow::Result<std::optional<JoinGraph>> MakeJoinGraph(
    const plan::PlanPtr& plan, CardinalityEstimator* estimator,
    const std::function<arrow::Result<plan::PlanPtr>(const plan::PlanPtr&)>& reorder);

}  // namespace icebound::optimizer
