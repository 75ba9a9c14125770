// SPDX-License-Identifier: Apache-2.0
//
// How many rows a plan gives, about: from the tables' row counts and what their files say of columns, and constants everyone uses
// where nothing is known. Two numbers of distinct values are kept for a column: how many are left in the rows at hand, and how
// many there were before unrelated filters (its domain). A join on keys keeps one pair in max(domain left, domain right), so
// that filters on one table do not change what is said of the other.
#pragma once

#include <arrow/result.h>

#include <map>
#include <optional>
#include <vector>

#include "expr/expr.h"
#include "expr/join_condition.h"
#include "optimizer/join_conditions.h"
#include "plan/logical_plan.h"

namespace icebound::optimizer {

struct ColumnEstimate {
  double distinct = 1;
  double domain = 1;
  std::optional<double> min;  ///< numbers; days for dates and timestamps
  std::optional<double> max;
  bool is_whole = false;       ///< only whole numbers lie between
  std::optional<double> mean;  ///< of a sum or a count, which have no bounds
  double null_fraction = 0;
  double value_bytes = 8;  ///< in memory
};

struct PlanEstimate {
  double rows = 0;
  double base_rows = 0;  ///< before filters: no key of the relation has more values
  std::vector<ColumnEstimate> columns;

  double RowBytes() const;
  double Bytes() const { return rows * RowBytes(); }
};

/// Keeps estimates by plan node, which must live as long. Not thread safe.
class CardinalityEstimator {
 public:
  arrow::Result<PlanEstimate> Estimate(const plan::PlanPtr& plan);

 private:
  arrow::Result<PlanEstimate> Make(const plan::PlanPtr& plan);
  arrow::Result<PlanEstimate> OfScan(const plan::ScanNode& scan);
  arrow::Result<PlanEstimate> OfJoin(const plan::JoinNode& join);
  arrow::Result<PlanEstimate> OfChildren(const plan::PlanPtr& plan);

  std::map<plan::PlanPtr, PlanEstimate> known_;
  std::map<const plan::TableSource*, std::vector<plan::ColumnStatistics>> tables_;
};

/// The input after a filter.
PlanEstimate Filtered(PlanEstimate input, const Conjuncts& conjuncts);

/// The share of rows for which the predicate is true.
double Selectivity(const expr::Expr& predicate, const PlanEstimate& input);

/// A computed value.
ColumnEstimate EstimateExpression(const expr::Expr& expr, const PlanEstimate& input);

/// The share of left rows that find a match by these keys.
double MatchedShare(const PlanEstimate& left, const PlanEstimate& right, const expr::JoinCondition& condition);

/// The value as a point on a line; nothing for text and the like.
std::optional<double> PointOf(const arrow::Scalar& value);

}  // namespace icebound::optimizer
