// SPDX-License-Identifier: Apache-2.0
//
// A LIMIT tells the plan below how many rows are enough:
//
//   Limit over Limit      become one
//   Limit over Project    changes places with it
//   Limit over Sort       the sort becomes a top-k of limit + offset rows
//   Limit over UnionAll   every branch needs at most limit + offset rows
//   Limit over Join       of a type that gives at least a row for each left row: so many left rows are enough
//   Limit over Scan       as a hint in the request
//   LIMIT 0               nothing is read
//
// The Limit itself stays above: only it cuts exactly and skips the offset.
#include <algorithm>
#include <limits>

#include "optimizer/plan_rewrite.h"
#include "optimizer/rules.h"

namespace icebound::optimizer {

using plan::PlanKind;
using plan::PlanPtr;

namespace {

const plan::LimitNode& AsLimit(const PlanPtr& plan) { return static_cast<const plan::LimitNode&>(*plan); }

int64_t SaturatingAdd(int64_t a, int64_t b) {
  return a > std::numeric_limits<int64_t>::max() - b ? std::numeric_limits<int64_t>::max() : a + b;
}

PlanPtr MergeLimits(const plan::LimitNode& outer, const plan::LimitNode& inner) {
  std::optional<int64_t> limit = outer.limit();
  if (inner.limit()) {
    const int64_t left = std::max<int64_t>(0, *inner.limit() - outer.offset());
    limit = std::min(limit.value_or(left), left);
  }
  return std::make_shared<plan::LimitNode>(inner.child(), limit, SaturatingAdd(inner.offset(), outer.offset()));
}

/// True when every left row comes out at least once.
bool KeepsLeftRows(expr::JoinType type) {
  using enum expr::JoinType;
  return type == kLeft || type == kLeftSingle || type == kLeftMark || type == kLeftMarkNulls;
}

/// `plan`, cut off after `rows` rows, or after a few more when it says so itself.
arrow::Result<PlanPtr> Limited(const PlanPtr& plan, int64_t rows);

/// `plan`, which may give its first `rows` rows only.
arrow::Result<PlanPtr> WithHint(const PlanPtr& plan, int64_t rows) {
  switch (plan->kind()) {
    case PlanKind::kSort: {
      const auto& sort = static_cast<const plan::SortNode&>(*plan);
      const int64_t fetch = std::min(rows, sort.fetch().value_or(rows));
      return std::make_shared<plan::SortNode>(sort.child(), sort.keys(), fetch);
    }
    case PlanKind::kScan: {
      const auto& scan = static_cast<const plan::ScanNode&>(*plan);
      // Rows that the source counts must be rows that the plan keeps.
      if (!scan.request().filters.empty() && !scan.source()->AppliesFiltersExactly()) return plan;
      plan::ScanRequest request = scan.request();
      request.limit = std::min(rows, request.limit.value_or(rows));
      return std::make_shared<plan::ScanNode>(scan.source(), scan.table_name(), std::move(request));
    }
    case PlanKind::kProject:
      return RewriteChildren(plan, [&](const PlanPtr& child) { return WithHint(child, rows); });
    case PlanKind::kUnionAll:
      return RewriteChildren(plan, [&](const PlanPtr& child) { return Limited(child, rows); });
    case PlanKind::kJoin: {
      const auto& join = static_cast<const plan::JoinNode&>(*plan);
      if (!KeepsLeftRows(join.type())) return plan;
      ARROW_ASSIGN_OR_RAISE(PlanPtr left, Limited(join.left(), rows));
      return plan->WithChildren({std::move(left), join.right()});
    }
    case PlanKind::kLimit: {
      const plan::LimitNode& limit = AsLimit(plan);
      return std::make_shared<plan::LimitNode>(limit.child(), std::min(rows, limit.limit().value_or(rows)), limit.offset());
    }
    case PlanKind::kFilter:
    case PlanKind::kValues:
    case PlanKind::kAggregate:
    case PlanKind::kApply:
    case PlanKind::kSetOperation:
    case PlanKind::kCopy:
      return plan;
  }
  return plan;
}

arrow::Result<PlanPtr> Limited(const PlanPtr& plan, int64_t rows) {
  ARROW_ASSIGN_OR_RAISE(PlanPtr hinted, WithHint(plan, rows));
  const bool limits_itself =
      hinted->kind() == PlanKind::kLimit || hinted->kind() == PlanKind::kUnionAll || hinted->kind() == PlanKind::kValues;
  if (limits_itself) return hinted;
  return std::make_shared<plan::LimitNode>(std::move(hinted), rows, 0);
}

arrow::Result<PlanPtr> PushNode(const PlanPtr& plan) {
  if (plan->kind() != PlanKind::kLimit) return plan;
  const plan::LimitNode& limit = AsLimit(plan);
  if (limit.limit() == 0) return EmptyPlan(plan->schema());
  const PlanPtr& child = limit.child();
  if (child->kind() == PlanKind::kLimit) return PushNode(MergeLimits(limit, AsLimit(child)));
  if (child->kind() == PlanKind::kProject) {
    ARROW_ASSIGN_OR_RAISE(PlanPtr below,
                          PushNode(std::make_shared<plan::LimitNode>(child->child(), limit.limit(), limit.offset())));
    return child->WithChildren({std::move(below)});
  }
  if (!limit.limit()) return plan;
  ARROW_ASSIGN_OR_RAISE(PlanPtr hinted, WithHint(child, SaturatingAdd(*limit.limit(), limit.offset())));
  return plan->WithChildren({std::move(hinted)});
}

}  // namespace

arrow::Result<PlanPtr> PushLimits(const PlanPtr& plan, const OptimizerOptions&) { return RewriteBottomUp(plan, PushNode); }

}  // namespace icebound::optimizer
