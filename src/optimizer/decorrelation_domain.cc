// SPDX-License-Identifier: Apache-2.0
//
// The general way out of a correlated subquery (Neumann and Kemper). The *domain* is what the subquery can be asked: the distinct
// values of the left columns that it refers to. Pushed down to the references, each operator then works for all domain values at
// once, and hands up its own columns followed by the domain's:
//
//   no references    the cross product with the domain
//   Filter, Project  references are domain columns
//   Values           the domain's rows times the rows of values
//   Aggregate        groups by the domain, too; without groups of its own, values without rows get count 0 or NULL
//   Sort             stays; its LIMIT 1 is first(... ORDER BY ...) of each domain value; others would need a rank: unsupported
//   Join             the side that is kept carries the domain; where both sides do, they join on it
//   UnionAll, SetOperation    branch by branch: the domain is part of the rows
//
// Joins and filters above the cross products become keys when filters are pushed down.
#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "optimizer/decorrelation.h"
#include "optimizer/plan_rewrite.h"

namespace icebound::optimizer {

using expr::ExprKind;
using expr::ExprPtr;
using expr::JoinType;
using plan::PlanKind;
using plan::PlanPtr;

namespace {

int Width(const plan::LogicalPlan& plan) { return plan.schema()->num_fields(); }

/// Whether ORDER BY can compare values of the type.
bool HasOrder(const arrow::DataType& type) {
  if (type.id() == arrow::Type::MAP) return false;
  return std::all_of(type.fields().begin(), type.fields().end(), [](const auto& field) { return HasOrder(*field->type()); });
}

class DomainPlan {
 public:
  DomainPlan(const plan::LogicalPlan& plan, PlanPtr left) : left_(std::move(left)) {
    AnyExpression(plan, [&](const expr::Expr& expr) {
      if (expr.kind() == ExprKind::kOuterColumn) Note(static_cast<const expr::OuterColumnExpr&>(expr));
      return false;
    });
    std::vector<ExprPtr> groups;
    std::vector<std::string> names;
    for (const int column : columns_) {
      groups.push_back(expr::MakeColumn(column, *left_->schema()->field(column)));
      names.push_back(left_->schema()->field(column)->name());
    }
    domain_ =
        std::make_shared<plan::AggregateNode>(left_, std::move(groups), std::vector<expr::AggregateCall>(), std::move(names));
  }

  arrow::Result<Pulled> Evaluate(const PlanPtr& plan) {
    ARROW_RETURN_NOT_OK(CheckRepeatable(*left_, "a correlated subquery of this shape"));
    ARROW_ASSIGN_OR_RAISE(PlanPtr pushed, Push(plan));
    const int width = Width(*plan);
    Pulled pulled{pushed, ColumnsOf(*pushed), {}};
    pulled.outputs.resize(static_cast<size_t>(width));
    for (size_t i = 0; i < columns_.size(); ++i) {
      const ExprPtr& reference = references_[i];
      ARROW_ASSIGN_OR_RAISE(ExprPtr value, DomainColumn(*pushed, width, i));
      ARROW_ASSIGN_OR_RAISE(pulled.conditions.emplace_back(),
                            expr::MakeCall("is_not_distinct_from", {std::move(value), reference}));
    }
    return pulled;
  }

 private:
  void Note(const expr::OuterColumnExpr& outer) {
    if (outer.levels_up() != 0 || std::find(columns_.begin(), columns_.end(), outer.index()) != columns_.end()) return;
    columns_.push_back(outer.index());
    references_.push_back(
        std::make_shared<expr::OuterColumnExpr>(0, outer.index(), outer.name(), outer.type(), outer.position()));
  }

  int DomainWidth() const { return static_cast<int>(columns_.size()); }

  /// Domain column i of a plan whose domain columns start at `first`, as the type that references have.
  arrow::Result<ExprPtr> DomainColumn(const plan::LogicalPlan& plan, int first, size_t i) const {
    const int index = first + static_cast<int>(i);
    return expr::MakeCast(expr::MakeColumn(index, *plan.schema()->field(index)), references_[i]->type());
  }

  /// References become domain columns of `plan`.
  arrow::Result<ExprPtr> OverDomain(const ExprPtr& expr, const plan::LogicalPlan& plan, int first) const {
    return expr::Transform(expr, [&](const ExprPtr& node) -> arrow::Result<ExprPtr> {
      if (node->kind() != ExprKind::kOuterColumn) return node;
      const auto& outer = static_cast<const expr::OuterColumnExpr&>(*node);
      if (outer.levels_up() != 0) return node;
      const auto found = std::find(columns_.begin(), columns_.end(), outer.index());
      return DomainColumn(plan, first, static_cast<size_t>(found - columns_.begin()));
    });
  }

  /// The columns [first, first + count) of `plan`, then its domain columns from `domain` on.
  PlanPtr Pick(const PlanPtr& plan, int first, int count, int domain) const {
    const std::vector<ExprPtr> all = ColumnsOf(*plan);
    std::vector<ExprPtr> exprs(all.begin() + first, all.begin() + first + count);
    exprs.insert(exprs.end(), all.begin() + domain, all.begin() + domain + DomainWidth());
    return Named(plan, std::move(exprs));
  }

  PlanPtr Named(const PlanPtr& plan, std::vector<ExprPtr> exprs) const {
    std::vector<std::string> names;
    for (const ExprPtr& expr : exprs) names.push_back(expr->ToString());
    return std::make_shared<plan::ProjectNode>(plan, std::move(exprs), std::move(names));
  }

  PlanPtr Cross(const PlanPtr& plan) const {
    return std::make_shared<plan::JoinNode>(plan, domain_, JoinType::kInner, expr::JoinCondition{});
  }

  arrow::Result<PlanPtr> Push(const PlanPtr& plan) const {
    if (!HasLeftReference(*plan)) return Cross(plan);
    switch (plan->kind()) {
      case PlanKind::kFilter: {
        ARROW_ASSIGN_OR_RAISE(PlanPtr child, Push(plan->child()));
        const ExprPtr& predicate = static_cast<const plan::FilterNode&>(*plan).predicate();
        ARROW_ASSIGN_OR_RAISE(ExprPtr over_domain, OverDomain(predicate, *child, Width(*plan)));
        return std::make_shared<plan::FilterNode>(std::move(child), std::move(over_domain));
      }
      case PlanKind::kProject:
        return PushProject(static_cast<const plan::ProjectNode&>(*plan));
      case PlanKind::kValues:
        return PushValues(static_cast<const plan::ValuesNode&>(*plan));
      case PlanKind::kAggregate:
        return PushAggregate(static_cast<const plan::AggregateNode&>(*plan));
      case PlanKind::kSort: {
        const auto& sort = static_cast<const plan::SortNode&>(*plan);
        if (sort.fetch()) return PushLimit(sort.child(), sort.keys(), *sort.fetch(), 0);
        ARROW_ASSIGN_OR_RAISE(PlanPtr child, Push(sort.child()));
        ARROW_ASSIGN_OR_RAISE(std::vector<plan::SortKey> keys, OverDomain(sort.keys(), *child, Width(sort)));
        return std::make_shared<plan::SortNode>(std::move(child), std::move(keys), std::nullopt);
      }
      case PlanKind::kLimit:
        return PushLimit(static_cast<const plan::LimitNode&>(*plan));
      case PlanKind::kJoin:
        return PushJoin(static_cast<const plan::JoinNode&>(*plan));
      case PlanKind::kUnionAll:
      case PlanKind::kSetOperation:
        return RewriteChildren(plan, [&](const PlanPtr& child) { return Push(child); });
      case PlanKind::kScan:
      case PlanKind::kApply:
      case PlanKind::kCopy:
        return MakeError(ErrorKind::kInternal, "no way to evaluate for each row: {}", plan->Describe());
    }
    return MakeError(ErrorKind::kInternal, "no way to evaluate for each row: {}", plan->Describe());
  }

  arrow::Result<std::vector<plan::SortKey>> OverDomain(std::vector<plan::SortKey> keys, const plan::LogicalPlan& plan,
                                                       int first) const {
    for (plan::SortKey& key : keys) {
      ARROW_ASSIGN_OR_RAISE(key.expr, OverDomain(key.expr, plan, first));
    }
    return keys;
  }

  arrow::Result<PlanPtr> PushProject(const plan::ProjectNode& project) const {
    ARROW_ASSIGN_OR_RAISE(PlanPtr child, Push(project.child()));
    const int child_width = Width(*project.child());
    std::vector<ExprPtr> exprs = ColumnsOf(*child);
    exprs.erase(exprs.begin(), exprs.begin() + child_width);
    std::vector<ExprPtr> own;
    for (const ExprPtr& expr : project.exprs()) {
      ARROW_ASSIGN_OR_RAISE(own.emplace_back(), OverDomain(expr, *child, child_width));
    }
    exprs.insert(exprs.begin(), own.begin(), own.end());
    std::vector<std::string> names = project.schema()->field_names();
    for (int i = 0; i < DomainWidth(); ++i) names.push_back(domain_->schema()->field(i)->name());
    return std::make_shared<plan::ProjectNode>(std::move(child), std::move(exprs), std::move(names));
  }

  /// Each domain row with the numbers of the rows, from which CASE chooses the values.
  arrow::Result<PlanPtr> PushValues(const plan::ValuesNode& values) const {
    std::vector<std::vector<ExprPtr>> numbers;
    for (size_t row = 0; row < values.rows().size(); ++row) {
      numbers.push_back({expr::MakeLiteral(std::make_shared<arrow::Int32Scalar>(static_cast<int32_t>(row)))});
    }
    const PlanPtr child = Cross(std::make_shared<plan::ValuesNode>(
        arrow::schema({arrow::field("row", arrow::int32(), /*nullable=*/false)}), std::move(numbers)));
    std::vector<ExprPtr> exprs;
    for (int column = 0; column < Width(values); ++column) {
      std::vector<ExprPtr> conditions, choices;
      for (size_t row = 0; row < values.rows().size(); ++row) {
        const ExprPtr number = expr::MakeLiteral(std::make_shared<arrow::Int32Scalar>(static_cast<int32_t>(row)));
        ARROW_ASSIGN_OR_RAISE(conditions.emplace_back(),
                              expr::MakeCall("=", {expr::MakeColumn(0, *child->schema()->field(0)), number}));
        ARROW_ASSIGN_OR_RAISE(choices.emplace_back(), OverDomain(values.rows()[row][static_cast<size_t>(column)], *child, 1));
      }
      if (choices.size() == 1) {
        exprs.push_back(choices.front());
      } else {
        ARROW_ASSIGN_OR_RAISE(exprs.emplace_back(), expr::MakeCase(std::move(conditions), std::move(choices), nullptr));
      }
    }
    std::vector<std::string> names = values.schema()->field_names();
    for (int i = 0; i < DomainWidth(); ++i) {
      exprs.push_back(expr::MakeColumn(1 + i, *child->schema()->field(1 + i)));
      names.push_back(exprs.back()->ToString());
    }
    return std::make_shared<plan::ProjectNode>(child, std::move(exprs), std::move(names));
  }

  arrow::Result<PlanPtr> PushAggregate(const plan::AggregateNode& aggregate) const {
    ARROW_ASSIGN_OR_RAISE(PlanPtr child, Push(aggregate.child()));
    const int child_width = Width(*aggregate.child());
    const auto over_domain = [&](const ExprPtr& expr) { return OverDomain(expr, *child, child_width); };
    std::vector<ExprPtr> groups;
    for (const ExprPtr& group : aggregate.groups()) {
      ARROW_ASSIGN_OR_RAISE(groups.emplace_back(), over_domain(group));
    }
    std::vector<expr::AggregateCall> calls;
    for (const expr::AggregateCall& call : aggregate.aggregates()) {
      ARROW_ASSIGN_OR_RAISE(calls.emplace_back(), expr::TransformAggregate(call, over_domain));
    }
    const auto own_groups = static_cast<int>(groups.size());
    const auto call_count = static_cast<int>(calls.size());
    const PlanPtr grouped = Grouped(child, child_width, std::move(groups), std::move(calls));
    const int domain_at = own_groups;  // in `grouped`
    if (own_groups > 0) {
      std::vector<ExprPtr> exprs = ColumnsOf(*grouped);
      std::rotate(exprs.begin() + domain_at, exprs.begin() + domain_at + DomainWidth(), exprs.end());
      return Named(grouped, std::move(exprs));
    }
    // Domain values without rows are in the domain only.
    expr::JoinCondition condition;
    for (int i = 0; i < DomainWidth(); ++i) {
      condition.keys.push_back({expr::MakeColumn(i, *domain_->schema()->field(i)),
                                expr::MakeColumn(i, *grouped->schema()->field(i)), /*null_safe=*/true});
    }
    const PlanPtr joined = std::make_shared<plan::JoinNode>(domain_, grouped, JoinType::kLeft, std::move(condition));
    std::vector<ExprPtr> exprs;
    for (int i = 0; i < call_count; ++i) {
      const int index = 2 * DomainWidth() + i;
      ARROW_ASSIGN_OR_RAISE(exprs.emplace_back(), OverMissingGroup(aggregate.aggregates()[static_cast<size_t>(i)],
                                                                   expr::MakeColumn(index, *joined->schema()->field(index))));
    }
    const std::vector<ExprPtr> all = ColumnsOf(*joined);
    exprs.insert(exprs.end(), all.begin(), all.begin() + DomainWidth());
    return Named(joined, std::move(exprs));
  }

  /// Groups by `groups` and the domain: the groups, the domain columns, the calls.
  PlanPtr Grouped(const PlanPtr& child, int domain_at, std::vector<ExprPtr> groups,
                  std::vector<expr::AggregateCall> calls) const {
    for (int i = 0; i < DomainWidth(); ++i)
      groups.push_back(expr::MakeColumn(domain_at + i, *child->schema()->field(domain_at + i)));
    std::vector<std::string> names;
    for (const ExprPtr& group : groups) names.push_back(group->ToString());
    for (const expr::AggregateCall& call : calls) names.push_back(call.ToString());
    return std::make_shared<plan::AggregateNode>(child, std::move(groups), std::move(calls), std::move(names));
  }

  arrow::Result<PlanPtr> PushLimit(const plan::LimitNode& limit) const {
    if (!limit.limit() && limit.offset() == 0) return Push(limit.child());
    // The projection that drops hidden sort columns stands between.
    if (limit.child()->kind() == PlanKind::kProject) {
      return Push(limit.child()->WithChildren({limit.WithChildren({limit.child()->child()})}));
    }
    if (limit.child()->kind() == PlanKind::kSort && !static_cast<const plan::SortNode&>(*limit.child()).fetch()) {
      const auto& sort = static_cast<const plan::SortNode&>(*limit.child());
      return PushLimit(sort.child(), sort.keys(), limit.limit(), limit.offset());
    }
    return PushLimit(limit.child(), {}, limit.limit(), limit.offset());
  }

  arrow::Result<PlanPtr> PushLimit(const PlanPtr& input, const std::vector<plan::SortKey>& sort_keys,
                                   const std::optional<int64_t>& limit, int64_t offset) const {
    ARROW_ASSIGN_OR_RAISE(const PlanPtr child, Push(input));
    if (limit == 0) return EmptyPlan(child->schema());
    if (limit != 1 || offset > 0) {
      return MakeError(ErrorKind::kUnsupported, "not supported yet: {} in a correlated subquery",
                       offset > 0 ? "OFFSET" : "LIMIT of more than one row");
    }
    const int width = Width(*input);
    ARROW_ASSIGN_OR_RAISE(const std::vector<plan::SortKey> keys, OverDomain(sort_keys, *child, width));
    std::vector<expr::AggregateOrder> order;
    for (const plan::SortKey& key : keys) order.push_back({key.expr, key.descending, key.nulls_first});
    // All columns of one row must come from the same one, whichever of equal ones that is.
    std::vector<ExprPtr> columns = ColumnsOf(*child);
    columns.resize(static_cast<size_t>(width));
    for (const ExprPtr& column : columns) {
      if (HasOrder(*column->type())) order.push_back({column, false, false});
    }
    std::vector<expr::AggregateCall> calls;
    for (const ExprPtr& column : columns) {
      ARROW_ASSIGN_OR_RAISE(calls.emplace_back(), expr::MakeAggregate("first", {column}, /*star=*/false, {}));
      calls.back().order_by = order;
    }
    const PlanPtr grouped = Grouped(child, width, {}, std::move(calls));
    return Pick(grouped, DomainWidth(), width, 0);
  }

  // --- joins -----------------------------------------------------------------------------------------------------------------

  arrow::Result<PlanPtr> PushJoin(const plan::JoinNode& join) const {
    const JoinType type = join.type();
    const bool right_refers = HasLeftReference(*join.right());
    const bool inner = type == JoinType::kInner;
    // The side whose rows come out by themselves carries the domain; the other one does when it must.
    const bool carry_left = type != JoinType::kRight && !(inner && !HasLeftReference(*join.left()) && right_refers);
    const bool carry_right = right_refers || type == JoinType::kRight || type == JoinType::kFull;
    const bool left_carries = carry_left || HasLeftReference(*join.left());
    PlanPtr left = join.left(), right = join.right();
    if (left_carries) {
      ARROW_ASSIGN_OR_RAISE(left, Push(left));
    }
    if (carry_right) {
      ARROW_ASSIGN_OR_RAISE(right, Push(right));
    }
    const int left_columns = Width(*join.left()), right_columns = Width(*join.right());
    const int new_left = Width(*left);
    const int domain_at = left_carries ? left_columns : new_left + right_columns;  // in L then R

    // Keys and residual over the sides as they are now.
    std::vector<int> moved(static_cast<size_t>(left_columns + right_columns));
    std::iota(moved.begin(), moved.begin() + left_columns, 0);
    std::iota(moved.begin() + left_columns, moved.end(), new_left);
    const auto both = plan::JoinSchema(*left->schema(), *right->schema(), JoinType::kInner);
    const plan::ValuesNode columns(both, {});  // a node to take columns from
    const auto place = [&](const ExprPtr& expr) -> arrow::Result<ExprPtr> {
      ARROW_ASSIGN_OR_RAISE(const ExprPtr remapped, expr::RemapColumns(expr, moved));
      return OverDomain(remapped, columns, domain_at);
    };
    Conjuncts conjuncts;
    if (left_carries && carry_right) {
      for (int i = 0; i < DomainWidth(); ++i) {
        const int at_left = left_columns + i, at_right = new_left + right_columns + i;
        ARROW_ASSIGN_OR_RAISE(conjuncts.emplace_back(),
                              expr::MakeCall("is_not_distinct_from", {expr::MakeColumn(at_left, *both->field(at_left)),
                                                                      expr::MakeColumn(at_right, *both->field(at_right))}));
      }
    }
    const size_t on_domain = conjuncts.size();
    for (const expr::JoinKey& key : join.condition().keys) {
      ARROW_ASSIGN_OR_RAISE(const ExprPtr comparison, ComparisonOf(key, left_columns));
      ARROW_ASSIGN_OR_RAISE(conjuncts.emplace_back(), place(comparison));
    }
    if (join.condition().residual != nullptr) {
      ARROW_ASSIGN_OR_RAISE(const ExprPtr residual, place(join.condition().residual));
      for (const ExprPtr& conjunct : expr::SplitConjunction(residual)) conjuncts.push_back(conjunct);
    }
    if (type == JoinType::kLeftAntiNulls || type == JoinType::kLeftMarkNulls) {
      return JoinWithNulls(type, left, right, conjuncts, on_domain, left_columns);
    }
    const PlanPtr joined = Join(left, right, type, conjuncts, join.condition().position);
    return PickJoined(joined, type, {left_columns, right_columns, new_left, domain_at, left_carries && carry_right});
  }

  PlanPtr Join(const PlanPtr& left, const PlanPtr& right, JoinType type, const Conjuncts& conjuncts,
               expr::TextPosition position = {}) const {
    expr::JoinCondition condition;
    condition.position = position;
    AddToCondition(conjuncts, Width(*left), &condition);
    return std::make_shared<plan::JoinNode>(left, right, type, std::move(condition));
  }

  struct JoinedColumns {
    int left_columns;
    int right_columns;
    int new_left;
    int domain_at;
    bool both_carry;
  };

  /// L's columns, R's columns (or the mark), the domain's.
  arrow::Result<PlanPtr> PickJoined(const PlanPtr& joined, JoinType type, const JoinedColumns& at) const {
    const std::vector<ExprPtr> all = ColumnsOf(*joined);
    std::vector<ExprPtr> exprs(all.begin(), all.begin() + at.left_columns);
    if (expr::HasRightColumns(type)) {
      exprs.insert(exprs.end(), all.begin() + at.new_left, all.begin() + at.new_left + at.right_columns);
    } else if (type == JoinType::kLeftMark) {
      exprs.push_back(all.back());
    }
    const bool left_misses = type == JoinType::kRight || type == JoinType::kFull;
    for (int i = 0; i < DomainWidth(); ++i) {
      ExprPtr value = all[static_cast<size_t>(at.domain_at + i)];
      if (at.both_carry && left_misses) {
        ARROW_ASSIGN_OR_RAISE(value,
                              expr::MakeCall("coalesce", {value, all[static_cast<size_t>(at.new_left + at.right_columns + i)]}));
      }
      exprs.push_back(std::move(value));
    }
    return Named(joined, std::move(exprs));
  }

  /// IN and NOT IN inside the subquery, where the right rows differ from domain value to domain value: `conjuncts` has the
  /// comparison behind those `on_domain`.
  arrow::Result<PlanPtr> JoinWithNulls(JoinType type, const PlanPtr& left, const PlanPtr& right, Conjuncts conjuncts,
                                       size_t on_domain, int left_columns) const {
    const ExprPtr comparison = conjuncts[on_domain];
    const JoinedColumns at{left_columns, 0, 0, left_columns, false};
    if (type == JoinType::kLeftAntiNulls) {
      ARROW_ASSIGN_OR_RAISE(conjuncts[on_domain], expr::MakeCall("is_not_false", {comparison}));
      return PickJoined(Join(left, right, JoinType::kLeftAnti, conjuncts), JoinType::kLeftAnti, at);
    }
    ARROW_RETURN_NOT_OK(CheckRepeatable(*right, "IN with NULLs in a correlated subquery"));
    const PlanPtr equal = Join(left, right, JoinType::kLeftMark, conjuncts);
    std::vector<int> moved(static_cast<size_t>(Width(*left) + Width(*right)));
    std::iota(moved.begin(), moved.begin() + Width(*left), 0);
    std::iota(moved.begin() + Width(*left), moved.end(), Width(*left) + 1);
    ARROW_ASSIGN_OR_RAISE(conjuncts[on_domain], expr::MakeCall("is_null", {comparison}));
    for (ExprPtr& conjunct : conjuncts) {
      ARROW_ASSIGN_OR_RAISE(conjunct, expr::RemapColumns(conjunct, moved));
    }
    const PlanPtr joined = Join(equal, right, JoinType::kLeftMark, conjuncts);
    std::vector<ExprPtr> all = ColumnsOf(*joined);
    std::vector<ExprPtr> exprs(all.begin(), all.begin() + left_columns);
    ARROW_ASSIGN_OR_RAISE(exprs.emplace_back(), expr::MakeCase({all[all.size() - 2], all.back()},
                                                               {expr::MakeLiteral(std::make_shared<arrow::BooleanScalar>(true)),
                                                                expr::MakeLiteral(arrow::MakeNullScalar(arrow::boolean()))},
                                                               expr::MakeLiteral(std::make_shared<arrow::BooleanScalar>(false))));
    exprs.insert(exprs.end(), all.begin() + left_columns, all.begin() + left_columns + DomainWidth());
    return Named(joined, std::move(exprs));
  }

  const PlanPtr left_;
  std::vector<int> columns_;         // of left_
  std::vector<ExprPtr> references_;  // to each of them
  PlanPtr domain_;
};

}  // namespace

arrow::Result<Pulled> EvaluateOverDomain(const PlanPtr& plan, const PlanPtr& left) {
  return DomainPlan(*plan, left).Evaluate(plan);
}

}  // namespace icebound::optimizer
