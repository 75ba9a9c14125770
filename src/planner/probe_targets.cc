// SPDX-License-Identifier: Apache-2.0
#include "planner/probe_targets.h"

#include <optional>

namespace icebound::planner {
namespace {

/// The column that an expression is; nothing when it is more than that.
std::optional<int> ColumnOf(const expr::Expr& expr) {
  if (expr.kind() != expr::ExprKind::kColumn) return std::nullopt;
  return static_cast<const expr::ColumnExpr&>(expr).index();
}

/// Of columns that are among `exprs`, the columns that these are.
std::optional<std::vector<int>> Through(const std::vector<expr::ExprPtr>& exprs, const std::vector<int>& columns) {
  std::vector<int> below;
  for (const int column : columns) {
    if (static_cast<size_t>(column) >= exprs.size()) return std::nullopt;
    const std::optional<int> found = ColumnOf(*exprs[static_cast<size_t>(column)]);
    if (!found.has_value()) return std::nullopt;
    below.push_back(*found);
  }
  return below;
}

/// Whether a row of that side makes no rows but with its own columns, and its absence makes none without.
bool MayDrop(expr::JoinType type, bool is_left) {
  switch (type) {
    case expr::JoinType::kInner:
      return true;
    case expr::JoinType::kLeft:
    case expr::JoinType::kLeftSemi:
    case expr::JoinType::kLeftAnti:
    case expr::JoinType::kLeftMark:
      return is_left;
    case expr::JoinType::kRight:
      return !is_left;
    default:
      return false;  // some say what the whole side is, or fail for a row
  }
}

std::optional<std::vector<int>> ThroughJoin(const plan::JoinNode& join, bool to_left, const std::vector<int>& columns) {
  if (!MayDrop(join.type(), to_left)) return std::nullopt;
  const int left_width = join.left()->schema()->num_fields();
  const int width = left_width + (expr::HasRightColumns(join.type()) ? join.right()->schema()->num_fields() : 0);
  std::vector<int> below;
  for (const int column : columns) {
    if ((column < left_width) != to_left || column >= width) return std::nullopt;
    below.push_back(to_left ? column : column - left_width);
  }
  return below;
}

std::optional<std::vector<int>> ColumnsBelow(const plan::LogicalPlan& node, size_t child, const std::vector<int>& columns) {
  switch (node.kind()) {
    case plan::PlanKind::kFilter:
    case plan::PlanKind::kUnionAll:
      return columns;
    case plan::PlanKind::kSort:
      if (static_cast<const plan::SortNode&>(node).fetch().has_value()) return std::nullopt;
      return columns;
    case plan::PlanKind::kProject:
      return Through(static_cast<const plan::ProjectNode&>(node).exprs(), columns);
    case plan::PlanKind::kAggregate:
      return Through(static_cast<const plan::AggregateNode&>(node).groups(), columns);
    case plan::PlanKind::kJoin:
      return ThroughJoin(static_cast<const plan::JoinNode&>(node), child == 0, columns);
    default:
      return std::nullopt;
  }
}

}  // namespace

std::vector<ProbeTarget> TargetsBelow(const plan::LogicalPlan& node, size_t child, const std::vector<ProbeTarget>& targets) {
  std::vector<ProbeTarget> below;
  for (const ProbeTarget& target : targets) {
    std::optional<std::vector<int>> columns = ColumnsBelow(node, child, target.columns);
    if (columns.has_value()) below.push_back({target.filter, std::move(*columns)});
  }
  return below;
}

std::vector<int> ProbeKeyColumns(const plan::JoinNode& join) {
  std::vector<int> columns;
  for (const expr::JoinKey& key : join.condition().keys) {
    const std::optional<int> column = ColumnOf(join.build_left() ? *key.right : *key.left);
    if (!column.has_value()) return {};
    columns.push_back(*column);
  }
  return columns;
}

}  // namespace icebound::planner
