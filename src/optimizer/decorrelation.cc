// SPDX-License-Identifier: Apache-2.0
//
// Apply to Join. An Apply evaluates its right child anew for each left row; joins do the same for all rows at once. Inner Applies
// go first, so that a right child holds none; a reference two levels up is a constant until the outer Apply is looked at. Then,
// in this order:
//
//   1. A right child without left references: a Join of the same type.
//   2. One row computed from the left row alone or from an aggregate without groups: the aggregate is grouped by what its
//      conditions compare with the left row, and joined to it; where a group is missing, count is 0 and everything else NULL, and
//      what is computed from the aggregates is computed there:
//
//          x > (SELECT coalesce(sum(y), 0) FROM t WHERE t.k = left.k)
//          Left join on left.k = k with Aggregate: groups=[k] aggregates=[sum(y)], and coalesce(sum, 0) above it
//
//   3. Conditions that compare with the left row move up and become the join's (decorrelation_pull.cc).
//   4. The subquery is evaluated for all distinct values that it refers to, and joined on them (decorrelation_domain.cc).
//
// IN over NULLs asks two questions of every left row, whether something is equal and whether something may be; a mark answers
// one:
//
//     CASE WHEN mark(a = b) THEN true WHEN mark((a = b) IS NULL) THEN NULL ELSE false END
//
// In a WHERE where NULL counts as false one is enough, mark(a = b), and so it is below a NOT: NOT mark((a = b) IS NOT FALSE).
//
// Source: T. Neumann, A. Kemper: Unnesting Arbitrary Queries. BTW 2015.
#include "optimizer/decorrelation.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "optimizer/plan_rewrite.h"
#include "optimizer/rules.h"

namespace icebound::optimizer {

using expr::ExprKind;
using expr::ExprPtr;
using expr::JoinType;
using plan::PlanKind;
using plan::PlanPtr;

namespace {

/// What a mark that may be NULL is asked for.
enum class Truth { kExact, kNullIsFalse, kNullIsTrue };

bool IsLeftReference(const expr::Expr& expr) {
  return expr.kind() == ExprKind::kOuterColumn && static_cast<const expr::OuterColumnExpr&>(expr).levels_up() == 0;
}

/// Everything in the plan one level nearer: references to the left child become left references.
arrow::Result<PlanPtr> WithNearerLevels(const PlanPtr& plan) {
  const auto nearer = [](const ExprPtr& expr) {
    return expr::Transform(expr, [](const ExprPtr& node) -> arrow::Result<ExprPtr> {
      if (node->kind() != ExprKind::kOuterColumn) return node;
      const auto& outer = static_cast<const expr::OuterColumnExpr&>(*node);
      return std::make_shared<expr::OuterColumnExpr>(outer.levels_up() - 1, outer.index(), outer.name(), outer.type(),
                                                     outer.position());
    });
  };
  return RewriteBottomUp(plan, [&](const PlanPtr& node) { return RewriteExpressions(node, nearer); });
}

ExprPtr Boolean(bool value) { return expr::MakeLiteral(std::make_shared<arrow::BooleanScalar>(value)); }
ExprPtr NullBoolean() { return expr::MakeLiteral(arrow::MakeNullScalar(arrow::boolean())); }

bool NeverNull(const expr::Expr& expr, const arrow::Schema& schema) {
  return expr.kind() == ExprKind::kColumn && !schema.field(static_cast<const expr::ColumnExpr&>(expr).index())->nullable();
}

/// One Apply, whose right child holds no other.
class Unnesting {
 public:
  Unnesting(PlanPtr left, PlanPtr right, JoinType type, const expr::JoinCondition& condition, Truth truth)
      : left_(std::move(left)),
        right_(std::move(right)),
        type_(type),
        condition_(condition),
        truth_(truth),
        left_columns_(left_->schema()->num_fields()) {}

  arrow::Result<PlanPtr> Run() {
    ARROW_ASSIGN_OR_RAISE(right_, WithNearerLevels(right_));
    StripForExistence();
    if (!HasLeftReference(*right_)) return std::make_shared<plan::JoinNode>(left_, right_, type_, condition_);
    if (type_ == JoinType::kRight || type_ == JoinType::kFull) {
      return MakeError(ErrorKind::kUnsupported, "not supported yet: a {} join with a right side that refers to the left one",
                       type_ == JoinType::kRight ? "RIGHT" : "FULL");
    }
    ARROW_ASSIGN_OR_RAISE(PlanPtr plan, FromOneRow());
    if (plan != nullptr) return plan;
    ARROW_ASSIGN_OR_RAISE(std::optional<Pulled> pulled, PullLeftReferences(right_));
    if (!pulled) {
      ARROW_ASSIGN_OR_RAISE(pulled, EvaluateOverDomain(right_, left_));
    }
    return JoinWith(*pulled);
  }

 private:
  /// Whether there is a row does not depend on duplicates, order or a LIMIT.
  void StripForExistence() {
    if (type_ != JoinType::kLeftMark && type_ != JoinType::kLeftSemi && type_ != JoinType::kLeftAnti &&
        type_ != JoinType::kLeftMarkNulls) {
      return;
    }
    const bool any_row = condition_.keys.empty() && condition_.residual == nullptr;
    while (true) {
      if (right_->kind() == PlanKind::kSort && !static_cast<const plan::SortNode&>(*right_).fetch()) {
        right_ = right_->child();
      } else if (right_->kind() == PlanKind::kLimit && any_row) {
        const auto& limit = static_cast<const plan::LimitNode&>(*right_);
        if (limit.offset() > 0 || limit.limit().value_or(1) == 0) return;
        right_ = right_->child();
      } else if (right_->kind() == PlanKind::kProject && any_row) {
        const auto& exprs = static_cast<const plan::ProjectNode&>(*right_).exprs();
        if (std::any_of(exprs.begin(), exprs.end(), [](const ExprPtr& expr) { return IsVolatile(*expr); })) return;
        right_ = right_->child();
      } else if (right_->kind() == PlanKind::kAggregate) {
        const auto& aggregate = static_cast<const plan::AggregateNode&>(*right_);
        if (aggregate.groups().empty() || !(any_row || aggregate.aggregates().empty())) return;
        right_ =
            any_row ? aggregate.child()
                    : std::make_shared<plan::ProjectNode>(aggregate.child(), aggregate.groups(), right_->schema()->field_names());
      } else {
        return;
      }
    }
  }

  /// Left references become columns of the left child, columns move behind them.
  arrow::Result<ExprPtr> OverBoth(const ExprPtr& expr) const {
    ARROW_ASSIGN_OR_RAISE(ExprPtr shifted, ShiftColumns(expr, left_columns_));
    return expr::Transform(shifted, [&](const ExprPtr& node) -> arrow::Result<ExprPtr> {
      if (!IsLeftReference(*node)) return node;
      const auto& outer = static_cast<const expr::OuterColumnExpr&>(*node);
      ExprPtr column = expr::MakeColumn(outer.index(), *left_->schema()->field(outer.index()), outer.position());
      return expr::MakeCast(std::move(column), outer.type());
    });
  }

  /// `expr` over L then R, with R's columns replaced by `outputs`, which are over both already.
  arrow::Result<ExprPtr> WithOutputs(const ExprPtr& expr, const std::vector<ExprPtr>& outputs) const {
    std::vector<ExprPtr> values = ColumnsOf(*left_);
    values.insert(values.end(), outputs.begin(), outputs.end());
    return SubstituteColumns(expr, values);
  }

  /// The Apply's own condition over the outputs: keys as comparisons.
  arrow::Result<Conjuncts> OwnConjuncts(const std::vector<ExprPtr>& outputs) const {
    Conjuncts conjuncts;
    for (const expr::JoinKey& key : condition_.keys) {
      ARROW_ASSIGN_OR_RAISE(const ExprPtr comparison, ComparisonOf(key, left_columns_));
      ARROW_ASSIGN_OR_RAISE(conjuncts.emplace_back(), WithOutputs(comparison, outputs));
    }
    if (condition_.residual == nullptr) return conjuncts;
    ARROW_ASSIGN_OR_RAISE(const ExprPtr residual, WithOutputs(condition_.residual, outputs));
    const Conjuncts more = expr::SplitConjunction(residual);
    conjuncts.insert(conjuncts.end(), more.begin(), more.end());
    return conjuncts;
  }

  /// The left columns of `joined` and then `outputs` (of which there are none for a mark), named as the Apply's columns.
  PlanPtr Project(PlanPtr joined, const std::vector<ExprPtr>& outputs) const {
    std::vector<ExprPtr> exprs = ColumnsOf(*left_);
    exprs.insert(exprs.end(), outputs.begin(), outputs.end());
    std::vector<std::string> names = plan::JoinSchema(*left_->schema(), *right_->schema(), type_)->field_names();
    return std::make_shared<plan::ProjectNode>(std::move(joined), std::move(exprs), std::move(names));
  }

  // --- one row ---------------------------------------------------------------------------------------------------------------

  struct OneRow {
    PlanPtr joined;                ///< the left rows, each once, with what the outputs need
    std::vector<ExprPtr> outputs;  ///< the subquery's columns over `joined`
    Conjuncts filters;             ///< over `joined`: there is a row only when they are true
  };

  /// nullptr when the right child is something else.
  arrow::Result<PlanPtr> FromOneRow() {
    ARROW_ASSIGN_OR_RAISE(std::optional<OneRow> row, MakeOneRow(right_));
    if (!row) return nullptr;
    ARROW_ASSIGN_OR_RAISE(Conjuncts own, OwnConjuncts(row->outputs));
    const bool filtered = !row->filters.empty();
    Conjuncts all = row->filters;
    all.insert(all.end(), own.begin(), own.end());
    const ExprPtr matches = expr::MakeAnd(std::move(all));
    const bool always = filtered || !own.empty() ? false : true;
    switch (type_) {
      case JoinType::kInner:
        return Project(always ? row->joined : std::make_shared<plan::FilterNode>(row->joined, matches), row->outputs);
      case JoinType::kLeft:
      case JoinType::kLeftSingle: {
        std::vector<ExprPtr> outputs = row->outputs;
        for (ExprPtr& output : outputs) {
          if (always) break;
          ARROW_ASSIGN_OR_RAISE(output, expr::MakeCase({matches}, {output}, nullptr));
        }
        return Project(row->joined, outputs);
      }
      case JoinType::kLeftSemi:
        return Project(std::make_shared<plan::FilterNode>(row->joined, matches), {});
      case JoinType::kLeftAnti: {
        ARROW_ASSIGN_OR_RAISE(ExprPtr missing, expr::MakeCall("is_not_true", {matches}));
        return Project(std::make_shared<plan::FilterNode>(row->joined, std::move(missing)), {});
      }
      case JoinType::kLeftMark: {
        ARROW_ASSIGN_OR_RAISE(ExprPtr mark, expr::MakeCall("is_true", {matches}));
        return Project(row->joined, {always ? Boolean(true) : std::move(mark)});
      }
      case JoinType::kLeftMarkNulls: {
        ExprPtr mark = expr::MakeAnd(std::move(own));
        if (filtered) {
          ARROW_ASSIGN_OR_RAISE(mark, expr::MakeCase({expr::MakeAnd(row->filters)}, {mark}, Boolean(false)));
        }
        return Project(row->joined, {std::move(mark)});
      }
      case JoinType::kRight:
      case JoinType::kFull:
      case JoinType::kLeftAntiNulls:
        return nullptr;
    }
    return nullptr;
  }

  arrow::Result<std::optional<OneRow>> MakeOneRow(const PlanPtr& plan) {
    switch (plan->kind()) {
      case PlanKind::kValues: {
        const auto& rows = static_cast<const plan::ValuesNode&>(*plan).rows();
        if (rows.size() != 1) return std::nullopt;
        OneRow row{left_, {}, {}};
        for (const ExprPtr& value : rows.front()) {
          ARROW_ASSIGN_OR_RAISE(row.outputs.emplace_back(), OverBoth(value));
        }
        return row;
      }
      case PlanKind::kAggregate:
        return FromAggregate(static_cast<const plan::AggregateNode&>(*plan));
      case PlanKind::kFilter: {
        ARROW_ASSIGN_OR_RAISE(std::optional<OneRow> row, MakeOneRow(plan->child()));
        if (!row) return std::nullopt;
        ARROW_ASSIGN_OR_RAISE(ExprPtr filter, OverRow(static_cast<const plan::FilterNode&>(*plan).predicate(), *row));
        row->filters.push_back(std::move(filter));
        return row;
      }
      case PlanKind::kProject: {
        ARROW_ASSIGN_OR_RAISE(std::optional<OneRow> row, MakeOneRow(plan->child()));
        if (!row) return std::nullopt;
        std::vector<ExprPtr> outputs;
        for (const ExprPtr& expr : static_cast<const plan::ProjectNode&>(*plan).exprs()) {
          if (IsVolatile(*expr)) return std::nullopt;
          ARROW_ASSIGN_OR_RAISE(outputs.emplace_back(), OverRow(expr, *row));
        }
        row->outputs = std::move(outputs);
        return row;
      }
      case PlanKind::kSort:
        return static_cast<const plan::SortNode&>(*plan).fetch().value_or(1) == 0 ? std::nullopt : MakeOneRow(plan->child());
      case PlanKind::kLimit: {
        const auto& limit = static_cast<const plan::LimitNode&>(*plan);
        if (limit.offset() > 0 || limit.limit().value_or(1) == 0) return std::nullopt;
        return MakeOneRow(plan->child());
      }
      default:
        return std::nullopt;
    }
  }

  /// An expression over the columns of a node above the row, and left references.
  arrow::Result<ExprPtr> OverRow(const ExprPtr& expr, const OneRow& row) const {
    return expr::Transform(expr, [&](const ExprPtr& node) -> arrow::Result<ExprPtr> {
      if (node->kind() == ExprKind::kColumn) {
        return row.outputs[static_cast<size_t>(static_cast<const expr::ColumnExpr&>(*node).index())];
      }
      return IsLeftReference(*node) ? OverBoth(node) : node;
    });
  }

  arrow::Result<std::optional<OneRow>> FromAggregate(const plan::AggregateNode& aggregate) {
    if (!aggregate.groups().empty()) return std::nullopt;
    ARROW_ASSIGN_OR_RAISE(std::optional<Pulled> pulled, PullLeftReferences(aggregate.child()));
    if (!pulled) return std::nullopt;
    std::vector<expr::AggregateCall> calls;
    bool refers = false;
    for (const expr::AggregateCall& call : aggregate.aggregates()) {
      ARROW_ASSIGN_OR_RAISE(calls.emplace_back(),
                            expr::TransformAggregate(call, [&](const ExprPtr& expr) -> arrow::Result<ExprPtr> {
                              ARROW_ASSIGN_OR_RAISE(ExprPtr over_plan, SubstituteColumns(expr, pulled->outputs));
                              refers = refers || HasLeftReference(*over_plan);
                              return over_plan;
                            }));
    }
    if (refers) return std::nullopt;
    ARROW_ASSIGN_OR_RAISE(std::optional<PulledGroups> by, GroupByConditions(*pulled, 0));
    if (!by) return std::nullopt;
    const size_t group_count = by->groups.size();
    std::vector<std::string> names;
    for (const ExprPtr& group : by->groups) names.push_back(group->ToString());
    for (const auto& field : aggregate.schema()->fields()) names.push_back(field->name());
    auto grouped = std::make_shared<plan::AggregateNode>(pulled->plan, std::move(by->groups), std::move(calls), std::move(names));
    Conjuncts conjuncts;
    for (const ExprPtr& condition : by->conditions) {
      ARROW_ASSIGN_OR_RAISE(conjuncts.emplace_back(), OverBoth(condition));
    }
    expr::JoinCondition condition;
    AddToCondition(conjuncts, left_columns_, &condition);
    OneRow row{std::make_shared<plan::JoinNode>(left_, grouped, JoinType::kLeft, std::move(condition)), {}, {}};
    for (size_t i = 0; i < aggregate.aggregates().size(); ++i) {
      const int index = left_columns_ + static_cast<int>(group_count + i);
      ARROW_ASSIGN_OR_RAISE(
          row.outputs.emplace_back(),
          OverMissingGroup(aggregate.aggregates()[i], expr::MakeColumn(index, *row.joined->schema()->field(index))));
    }
    return row;
  }

  // --- many rows -------------------------------------------------------------------------------------------------------------

  arrow::Result<PlanPtr> JoinWith(Pulled pulled) {
    // A literal or an expression over the left row is NULL where no row matches: a column tells.
    const bool may_miss = type_ == JoinType::kLeft || type_ == JoinType::kLeftSingle;
    const bool computed = std::any_of(pulled.outputs.begin(), pulled.outputs.end(),
                                      [](const ExprPtr& output) { return output->kind() != ExprKind::kColumn; });
    ExprPtr matched;
    if (may_miss && computed) {
      std::vector<ExprPtr> columns = ColumnsOf(*pulled.plan);
      std::vector<std::string> names = pulled.plan->schema()->field_names();
      columns.push_back(Boolean(true));
      names.emplace_back("matched");
      const int index = left_columns_ + static_cast<int>(columns.size()) - 1;
      ARROW_ASSIGN_OR_RAISE(
          matched, expr::MakeCall("is_not_null", {std::make_shared<expr::ColumnExpr>(index, "matched", arrow::boolean())}));
      pulled.plan = std::make_shared<plan::ProjectNode>(pulled.plan, std::move(columns), std::move(names));
    }
    std::vector<ExprPtr> outputs;
    for (const ExprPtr& output : pulled.outputs) {
      ARROW_ASSIGN_OR_RAISE(outputs.emplace_back(), OverBoth(output));
    }
    Conjuncts conjuncts;
    for (const ExprPtr& condition : pulled.conditions) {
      ARROW_ASSIGN_OR_RAISE(conjuncts.emplace_back(), OverBoth(condition));
    }
    ARROW_ASSIGN_OR_RAISE(const Conjuncts own, OwnConjuncts(outputs));
    if (type_ == JoinType::kLeftMarkNulls || type_ == JoinType::kLeftAntiNulls) {
      return JoinWithNulls(pulled.plan, std::move(conjuncts), expr::MakeAnd(own));
    }
    conjuncts.insert(conjuncts.end(), own.begin(), own.end());
    PlanPtr joined = Join(left_, pulled.plan, type_, conjuncts);
    if (!expr::HasRightColumns(type_)) return joined;
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (matched == nullptr || pulled.outputs[i]->kind() == ExprKind::kColumn) continue;
      ARROW_ASSIGN_OR_RAISE(outputs[i], expr::MakeCase({matched}, {outputs[i]}, nullptr));
    }
    return Project(std::move(joined), outputs);
  }

  PlanPtr Join(const PlanPtr& left, const PlanPtr& right, JoinType type, const Conjuncts& conjuncts) const {
    expr::JoinCondition condition;
    AddToCondition(conjuncts, left->schema()->num_fields(), &condition);
    condition.position = condition_.position;
    return std::make_shared<plan::JoinNode>(left, right, type, std::move(condition));
  }

  /// `comparison` and `conjuncts` are over L then R.
  arrow::Result<PlanPtr> JoinWithNulls(const PlanPtr& right, Conjuncts conjuncts, const ExprPtr& comparison) const {
    const auto with = [&](const ExprPtr& more) {
      Conjuncts all = conjuncts;
      all.push_back(more);
      return all;
    };
    ARROW_ASSIGN_OR_RAISE(const ExprPtr maybe, expr::MakeCall("is_not_false", {comparison}));
    if (type_ == JoinType::kLeftAntiNulls) return Join(left_, right, JoinType::kLeftAnti, with(maybe));
    if (truth_ == Truth::kNullIsTrue) return Join(left_, right, JoinType::kLeftMark, with(maybe));
    const arrow::Schema both = *plan::JoinSchema(*left_->schema(), *right->schema(), JoinType::kInner);
    const auto& operands = comparison->children();
    const bool no_nulls =
        std::all_of(operands.begin(), operands.end(), [&](const ExprPtr& value) { return NeverNull(*value, both); });
    const PlanPtr equal = Join(left_, right, JoinType::kLeftMark, with(comparison));
    if (truth_ == Truth::kNullIsFalse || no_nulls) return equal;

    ARROW_RETURN_NOT_OK(CheckRepeatable(*right, "IN with NULLs over a correlated subquery"));
    // The first mark stands between L and R now.
    std::vector<int> moved(static_cast<size_t>(both.num_fields()));
    std::iota(moved.begin(), moved.begin() + left_columns_, 0);
    std::iota(moved.begin() + left_columns_, moved.end(), left_columns_ + 1);
    ARROW_ASSIGN_OR_RAISE(const ExprPtr unknown, expr::MakeCall("is_null", {comparison}));
    Conjuncts open = with(unknown);
    for (ExprPtr& conjunct : open) {
      ARROW_ASSIGN_OR_RAISE(conjunct, expr::RemapColumns(conjunct, moved));
    }
    PlanPtr joined = Join(equal, right, JoinType::kLeftMark, open);
    const auto mark = [&](int index) { return expr::MakeColumn(index, *joined->schema()->field(index)); };
    ARROW_ASSIGN_OR_RAISE(ExprPtr result, expr::MakeCase({mark(left_columns_), mark(left_columns_ + 1)},
                                                         {Boolean(true), NullBoolean()}, Boolean(false)));
    return Project(std::move(joined), {std::move(result)});
  }

  const PlanPtr left_;
  PlanPtr right_;
  const JoinType type_;
  const expr::JoinCondition& condition_;
  const Truth truth_;
  const int left_columns_;
};

/// What the conjuncts of the filter above ask of the mark in column `mark`.
Truth TruthOf(const Conjuncts& filter, int mark) {
  const auto is_mark = [mark](const expr::Expr& expr) {
    return expr.kind() == ExprKind::kColumn && static_cast<const expr::ColumnExpr&>(expr).index() == mark;
  };
  for (const ExprPtr& conjunct : filter) {
    // Where the filter has one of these, rows with NULL do not pass, whatever else reads the mark.
    if (is_mark(*conjunct)) return Truth::kNullIsFalse;
    const bool negated = conjunct->kind() == ExprKind::kCall && static_cast<const expr::CallExpr&>(*conjunct).name() == "not";
    if (negated && is_mark(*conjunct->children().front())) return Truth::kNullIsTrue;
  }
  return Truth::kExact;
}

/// `filter` holds the conjuncts right above, when there is nothing but Applies between.
arrow::Result<PlanPtr> Rewrite(const PlanPtr& plan, const Conjuncts& filter, const OptimizerOptions& options) {
  if (plan->kind() == PlanKind::kFilter) {
    const Conjuncts conjuncts = expr::SplitConjunction(static_cast<const plan::FilterNode&>(*plan).predicate());
    return RewriteChildren(plan, [&](const PlanPtr& child) { return Rewrite(child, conjuncts, options); });
  }
  if (plan->kind() != PlanKind::kApply) {
    return RewriteChildren(plan, [&](const PlanPtr& child) { return Rewrite(child, {}, options); });
  }
  const auto& apply = static_cast<const plan::ApplyNode&>(*plan);
  ARROW_ASSIGN_OR_RAISE(PlanPtr left, Rewrite(apply.left(), filter, options));
  ARROW_ASSIGN_OR_RAISE(PlanPtr right, Rewrite(apply.right(), {}, options));
  const Truth truth =
      apply.type() == JoinType::kLeftMarkNulls ? TruthOf(filter, plan->schema()->num_fields() - 1) : Truth::kExact;
  auto joined = Unnesting(std::move(left), std::move(right), apply.type(), apply.condition(), truth).Run();
  if (!joined.ok() && options.point_at) return options.point_at(joined.status(), apply.condition().position);
  return joined;
}

}  // namespace

bool AnyExpression(const plan::LogicalPlan& plan, const std::function<bool(const expr::Expr&)>& test) {
  bool found = false;
  const auto look = [&](const auto& self, const ExprPtr& expr) -> void {
    found = found || test(*expr);
    for (const ExprPtr& child : expr->children()) {
      if (!found) self(self, child);
    }
  };
  // Rewriting to the same is how all expressions of a node are reached.
  const PlanPtr alias(&plan, [](const plan::LogicalPlan*) {});
  const auto visited = RewriteExpressions(alias, [&](const ExprPtr& expr) -> arrow::Result<ExprPtr> {
    look(look, expr);
    return expr;
  });
  return found || !visited.ok() || std::any_of(plan.children().begin(), plan.children().end(), [&](const PlanPtr& child) {
           return AnyExpression(*child, test);
         });
}

bool HasLeftReference(const expr::Expr& expr) {
  return IsLeftReference(expr) || std::any_of(expr.children().begin(), expr.children().end(),
                                              [](const ExprPtr& child) { return HasLeftReference(*child); });
}

bool HasLeftReference(const plan::LogicalPlan& plan) {
  return AnyExpression(plan, [](const expr::Expr& expr) { return IsLeftReference(expr); });
}

std::vector<ExprPtr> ColumnsOf(const plan::LogicalPlan& plan) {
  std::vector<ExprPtr> columns;
  for (int i = 0; i < plan.schema()->num_fields(); ++i) columns.push_back(expr::MakeColumn(i, *plan.schema()->field(i)));
  return columns;
}

arrow::Result<ExprPtr> OverMissingGroup(const expr::AggregateCall& call, ExprPtr column) {
  if (call.kind != expr::AggregateKind::kCount && call.kind != expr::AggregateKind::kCountStar) return column;
  return expr::MakeCall("coalesce", {std::move(column), expr::MakeLiteral(std::make_shared<arrow::Int64Scalar>(0))});
}

arrow::Status CheckRepeatable(const plan::LogicalPlan& plan, std::string_view why) {
  using enum expr::AggregateKind;
  if (AnyExpression(plan, [](const expr::Expr& expr) { return expr.kind() == ExprKind::kCall && IsVolatile(expr); })) {
    return MakeError(ErrorKind::kUnsupported, "not supported yet: {}, where random() must give the same values twice", why);
  }
  if (plan.kind() == PlanKind::kScan) {
    const auto& scan = static_cast<const plan::ScanNode&>(plan);
    if (!scan.source()->CanScanAgain()) {
      return MakeError(ErrorKind::kUnsupported, "not supported yet: {}, which reads \"{}\" twice: it can be read only once", why,
                       scan.table_name());
    }
  }
  if (plan.kind() == PlanKind::kAggregate) {
    for (const expr::AggregateCall& call : static_cast<const plan::AggregateNode&>(plan).aggregates()) {
      const bool any_order = call.order_by.empty() && (call.kind == kFirst || call.kind == kLast || call.kind == kAnyValue ||
                                                       call.kind == kArrayAgg || call.kind == kStringAgg);
      // Sums of floats depend on their order in the last digits.
      if (any_order || (arrow::is_floating(call.type->id()) && call.kind != kMin && call.kind != kMax)) {
        return MakeError(ErrorKind::kUnsupported, "not supported yet: {}, where an aggregate must give the same values twice: {}",
                         why, call.ToString());
      }
    }
  }
  for (const PlanPtr& child : plan.children()) ARROW_RETURN_NOT_OK(CheckRepeatable(*child, why));
  return arrow::Status::OK();
}

arrow::Result<PlanPtr> Decorrelate(const PlanPtr& plan, const OptimizerOptions& options) { return Rewrite(plan, {}, options); }

}  // namespace icebound::optimizer
