// SPDX-License-Identifier: Apache-2.0
#include "sql/aggregation.h"

#include <algorithm>

namespace icebound::sql {

using expr::ExprPtr;

namespace {

std::string NameOf(const expr::Expr& group) {
  return group.kind() == expr::ExprKind::kColumn ? static_cast<const expr::ColumnExpr&>(group).name() : group.ToString();
}

bool IsDeterministic(const expr::AggregateCall& call) {
  return std::all_of(call.arguments.begin(), call.arguments.end(), [](const auto& e) { return expr::IsDeterministic(*e); }) &&
         (call.filter == nullptr || expr::IsDeterministic(*call.filter));
}

}  // namespace

int Aggregation::AddGroup(ExprPtr group) {
  const auto same = std::find_if(groups_.begin(), groups_.end(), [&](const auto& other) { return expr::Equals(*other, *group); });
  if (same != groups_.end() && expr::IsDeterministic(*group)) return static_cast<int>(same - groups_.begin());
  groups_.push_back(std::move(group));
  return static_cast<int>(groups_.size()) - 1;
}

void Aggregation::AddCall(uint32_t node_id, expr::AggregateCall call) {
  const auto same = std::find_if(calls_.begin(), calls_.end(), [&](const auto& other) { return expr::Equals(other, call); });
  const bool reuse = same != calls_.end() && IsDeterministic(call);
  call_of_node_[node_id] = static_cast<size_t>(same - calls_.begin());
  if (reuse) return;
  call_of_node_[node_id] = calls_.size();
  calls_.push_back(std::move(call));
}

plan::PlanPtr Aggregation::MakeNode(plan::PlanPtr rows) {
  std::vector<std::string> names;
  for (const ExprPtr& group : groups_) names.push_back(NameOf(*group));
  for (const expr::AggregateCall& call : calls_) names.push_back(call.ToString());
  // Subqueries see grouped columns under their place in the groups.
  std::vector<int> new_index(static_cast<size_t>(rows->schema()->num_fields()), -1);
  for (size_t i = groups_.size(); i-- > 0;) {
    if (groups_[i]->kind() != expr::ExprKind::kColumn) continue;
    new_index[static_cast<size_t>(static_cast<const expr::ColumnExpr&>(*groups_[i]).index())] = static_cast<int>(i);
  }
  outer_scope_.Restrict(std::move(new_index), Scope::Restriction::kUngrouped);
  auto node = std::make_shared<plan::AggregateNode>(std::move(rows), groups_, calls_, std::move(names));
  schema_ = node->schema();
  return node;
}

ExprPtr Aggregation::Marker(int index, const arrow::Field& field, expr::TextPosition position) {
  return expr::MakeColumn(-1 - index, field, position);
}

ExprPtr Aggregation::CallColumn(const Node& node) const {
  const auto found = call_of_node_.find(node.id());
  if (found == call_of_node_.end()) return nullptr;
  const int column = static_cast<int>(groups_.size() + found->second);
  return Marker(column, *schema_->field(column), {node.location()});
}

ExprPtr Aggregation::TargetColumn(size_t target) const {
  const auto found = group_of_target_.find(target);
  if (found == group_of_target_.end()) return nullptr;
  return expr::MakeColumn(found->second, *schema_->field(found->second), groups_[static_cast<size_t>(found->second)]->position());
}

arrow::Result<ExprPtr> Aggregation::Finish(const ExprPtr& expr) const {
  // Literals stay: functions prepare themselves for them.
  if (expr->kind() == expr::ExprKind::kLiteral) return expr;
  if (expr->kind() == expr::ExprKind::kColumn) {
    const auto& column = static_cast<const expr::ColumnExpr&>(*expr);
    if (column.index() < 0) {
      return std::make_shared<expr::ColumnExpr>(-1 - column.index(), column.name(), column.type(), column.position());
    }
  }
  for (size_t i = 0; i < groups_.size(); ++i) {
    if (!expr::Equals(*groups_[i], *expr)) continue;
    return expr::MakeColumn(static_cast<int>(i), *schema_->field(static_cast<int>(i)), expr->position());
  }
  if (expr->kind() == expr::ExprKind::kColumn) {
    const auto& column = static_cast<const expr::ColumnExpr&>(*expr);
    return context_.Invalid(column.position().offset,
                            "column \"{}\" must appear in the GROUP BY clause or be used in an aggregate function",
                            from_.QualifiedName(column.index(), column.name()));
  }
  std::vector<ExprPtr> children;
  for (const ExprPtr& child : expr->children()) {
    ARROW_ASSIGN_OR_RAISE(children.emplace_back(), Finish(child));
  }
  return children == expr->children() ? expr : expr->WithChildren(std::move(children));
}

void AppendAggregateCalls(const Node& node, std::vector<Node>* calls) {
  node.Visit([&](const Node& inner) {
    if (inner.Is("SelectStmt")) return false;
    if (!inner.Is("FuncCall") || inner["over"]) return true;
    const std::vector<std::string> parts = NameParts(inner["funcname"]);
    if (!expr::IsAggregateName(parts.back()) || (parts.size() > 1 && parts.front() != "pg_catalog")) return true;
    calls->push_back(inner);
    return false;
  });
}

}  // namespace icebound::sql
