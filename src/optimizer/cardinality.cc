// SPDX-License-Identifier: Apache-2.0
#include "optimizer/cardinality.h"

#include <arrow/util/decimal.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "expr/type_rules.h"

namespace icebound::optimizer {

using expr::ExprKind;
using expr::ExprPtr;
using plan::PlanKind;
using plan::PlanPtr;

namespace {

// Where nothing is known. A table that tells no rows is a registered stream: neither tiny nor huge.
constexpr double kUnknownRows = 100'000;
constexpr double kUnknownShare = 1.0 / 3;      // of rows that a condition keeps
constexpr double kUnknownEqualShare = 0.05;    // of rows that a comparison with = keeps
constexpr double kComparedColumnsShare = 0.5;  // a < b
constexpr double kPrefixShare = 0.02;          // LIKE 'abc%'
constexpr double kPatternShare = 0.06;         // LIKE '%abc%'
constexpr double kUnknownDistinctShare = 0.1;  // of rows, for text without statistics
constexpr double kTextBytes = 24;

double TypeBytes(const arrow::DataType& type) {
  if (arrow::is_fixed_width(type.id())) return std::max(1, type.bit_width() / 8);
  return kTextBytes;
}

/// Distinct values among `rows` of `total` rows with `distinct` values in all.
double SampledDistinct(double distinct, double rows, double total) {
  if (total <= 0 || rows >= total || distinct <= 1) return std::max(1.0, std::min(distinct, rows));
  const double kept = distinct * (1 - std::pow(1 - rows / total, total / distinct));
  return std::clamp(kept, 1.0, std::max(1.0, rows));
}

int ColumnOf(const expr::Expr& expr) {
  if (expr.kind() == ExprKind::kCast) return ColumnOf(*expr.children().front());
  return expr.kind() == ExprKind::kColumn ? static_cast<const expr::ColumnExpr&>(expr).index() : -1;
}

const arrow::Scalar* ValueOf(const expr::Expr& expr) {
  return expr.kind() == ExprKind::kLiteral ? static_cast<const expr::LiteralExpr&>(expr).value().get() : nullptr;
}

std::string_view NameOf(const expr::Expr& expr) {
  return expr.kind() == ExprKind::kCall ? static_cast<const expr::CallExpr&>(expr).name() : std::string_view();
}

/// `column op value`, however it was written.
struct Comparison {
  int column;
  std::string_view operation;
  std::optional<double> point;
};

std::optional<Comparison> AsComparison(const expr::Expr& expr) {
  const std::string_view name = NameOf(expr);
  static constexpr std::pair<std::string_view, std::string_view> kMirrored[] = {
      {"=", "="}, {"<", ">"}, {"<=", ">="}, {">", "<"}, {">=", "<="}};
  const auto* found =
      std::find_if(std::begin(kMirrored), std::end(kMirrored), [&](const auto& pair) { return pair.first == name; });
  if (found == std::end(kMirrored)) return std::nullopt;
  const expr::Expr& left = *expr.children()[0];
  const expr::Expr& right = *expr.children()[1];
  if (ColumnOf(left) >= 0 && ValueOf(right) != nullptr) return Comparison{ColumnOf(left), name, PointOf(*ValueOf(right))};
  if (ColumnOf(right) >= 0 && ValueOf(left) != nullptr)
    return Comparison{ColumnOf(right), found->second, PointOf(*ValueOf(left))};
  return std::nullopt;
}

/// The column after a comparison with a constant.
void Narrow(const Comparison& comparison, ColumnEstimate* column) {
  if (comparison.operation == "=") {
    column->distinct = column->domain = 1;
    column->min = column->max = comparison.point;
    return;
  }
  if (!comparison.point || !column->min || !column->max) return;
  const double width = *column->max - *column->min + (column->is_whole ? 1 : 0);
  const double open = column->is_whole ? 1 : 0;  // x < 5 is x <= 4
  if (comparison.operation == "<") column->max = std::min(*column->max, *comparison.point - open);
  if (comparison.operation == "<=") column->max = std::min(*column->max, *comparison.point);
  if (comparison.operation == ">") column->min = std::max(*column->min, *comparison.point + open);
  if (comparison.operation == ">=") column->min = std::max(*column->min, *comparison.point);
  const double left = *column->max - *column->min + (column->is_whole ? 1 : 0);
  const double share = width <= 0 ? 1 : std::clamp(left / width, 0.0, 1.0);
  column->distinct = std::max(1.0, column->distinct * share);
  column->domain = std::max(1.0, column->domain * share);
}

/// The share of the old column's values that lie in the new one's range.
double RangeShare(const ColumnEstimate& before, const ColumnEstimate& after) {
  const double step = before.is_whole ? 1 : 0;
  const double width = *before.max - *before.min + step;
  const double left = *after.max - *after.min + step;
  if (width <= 0) return left < 0 ? 0 : 1;
  return std::clamp(left / width, 0.0, 1.0);
}

/// The share of sums beyond a value. Sums of several values spread about their mean; how much is anyone's guess.
double SumShare(double mean, std::string_view operation, double point) {
  constexpr double kRelativeDeviation = 0.6;
  constexpr double kShareMin = 1e-3;
  const double above = 0.5 * std::erfc((point / mean - 1) / kRelativeDeviation / std::sqrt(2.0));
  return std::clamp(operation == ">" || operation == ">=" ? above : 1 - above, kShareMin, 1.0);
}

/// What is known of an aggregate over groups of so many rows.
ColumnEstimate EstimateAggregate(const expr::AggregateCall& call, const PlanEstimate& input, double groups) {
  using enum expr::AggregateKind;
  ColumnEstimate estimate{.distinct = groups, .domain = groups, .value_bytes = TypeBytes(*call.type)};
  const double group_rows = input.rows / groups;
  if (call.kind == kCount || call.kind == kCountStar) estimate.mean = std::max(1.0, group_rows);
  if (call.arguments.empty()) return estimate;
  const ColumnEstimate argument = EstimateExpression(*call.arguments.front(), input);
  if (!argument.min || !argument.max) return estimate;
  const double middle = (*argument.min + *argument.max) / 2;
  if (call.kind == kSum && middle > 0) estimate.mean = group_rows * middle;
  if (call.kind == kMin || call.kind == kMax || call.kind == kAvg) {
    estimate.min = argument.min;
    estimate.max = argument.max;
  }
  return estimate;
}

double LikeShare(const expr::Expr& like) {
  const arrow::Scalar* pattern = ValueOf(*like.children()[1]);
  if (pattern == nullptr || !arrow::is_base_binary_like(pattern->type->id()) || !pattern->is_valid) return kPatternShare;
  const std::string text = pattern->ToString();
  return text.empty() || text.front() == '%' || text.front() == '_' ? kPatternShare : kPrefixShare;
}

double EqualShare(const expr::Expr& left, const expr::Expr& right, const PlanEstimate& input) {
  const int left_column = ColumnOf(left), right_column = ColumnOf(right);
  const auto distinct = [&](int column) { return column < 0 ? 0.0 : input.columns[static_cast<size_t>(column)].distinct; };
  const double most = std::max(distinct(left_column), distinct(right_column));
  return most > 0 ? 1 / most : kUnknownEqualShare;
}

}  // namespace

double PlanEstimate::RowBytes() const {
  double bytes = 0;
  for (const ColumnEstimate& column : columns) bytes += column.value_bytes;
  return std::max(1.0, bytes);
}

std::optional<double> PointOf(const arrow::Scalar& value) {
  if (!value.is_valid) return std::nullopt;
  constexpr double kDayMilliseconds = 86'400'000;
  switch (value.type->id()) {
    case arrow::Type::DATE32:
      return static_cast<const arrow::Date32Scalar&>(value).value;
    case arrow::Type::DATE64:
      return static_cast<double>(static_cast<const arrow::Date64Scalar&>(value).value) / kDayMilliseconds;
    case arrow::Type::TIMESTAMP: {
      const auto unit = static_cast<const arrow::TimestampType&>(*value.type).unit();
      const double per_second = std::pow(1000.0, static_cast<int>(unit));
      return static_cast<double>(static_cast<const arrow::TimestampScalar&>(value).value) / per_second / 86'400;
    }
    case arrow::Type::DECIMAL128:
      return static_cast<const arrow::Decimal128Scalar&>(value).value.ToDouble(
          static_cast<const arrow::DecimalType&>(*value.type).scale());
    default:
      break;
  }
  if (!arrow::is_integer(value.type->id()) && !arrow::is_floating(value.type->id())) return std::nullopt;
  const auto number = value.CastTo(arrow::float64());
  if (!number.ok() || !std::isfinite(static_cast<const arrow::DoubleScalar&>(**number).value)) return std::nullopt;
  return static_cast<const arrow::DoubleScalar&>(**number).value;
}

double Selectivity(const expr::Expr& predicate, const PlanEstimate& input) {
  if (const auto comparison = AsComparison(predicate)) {
    const ColumnEstimate& before = input.columns[static_cast<size_t>(comparison->column)];
    if (comparison->operation == "=") return (1 - before.null_fraction) / before.distinct;
    if (comparison->point && before.mean) return SumShare(*before.mean, comparison->operation, *comparison->point);
    if (!comparison->point || !before.min || !before.max) return kUnknownShare;
    ColumnEstimate after = before;
    Narrow(*comparison, &after);
    return (1 - before.null_fraction) * RangeShare(before, after);
  }
  if (const arrow::Scalar* value = ValueOf(predicate)) {
    return value->is_valid && value->type->id() == arrow::Type::BOOL && static_cast<const arrow::BooleanScalar&>(*value).value
               ? 1
               : 0;
  }
  const std::string_view name = NameOf(predicate);
  const auto& children = predicate.children();
  if (name == "and") return Filtered(input, expr::SplitConjunction(expr::MakeAnd(children))).rows / std::max(1e-9, input.rows);
  if (name == "or") {
    double none = 1;
    for (const ExprPtr& child : children) none *= 1 - Selectivity(*child, input);
    return 1 - none;
  }
  if (name == "not") return 1 - Selectivity(*children[0], input);
  if (name == "=" || name == "is_not_distinct_from") return EqualShare(*children[0], *children[1], input);
  if (name == "<>") return 1 - EqualShare(*children[0], *children[1], input);
  if (name == "in" || name == "not_in") {
    const int column = ColumnOf(*children[0]);
    const double distinct = column < 0 ? 1 / kUnknownEqualShare : input.columns[static_cast<size_t>(column)].distinct;
    const double share = std::min(1.0, static_cast<double>(children.size() - 1) / distinct);
    return name == "in" ? share : 1 - share;
  }
  if (name == "like" || name == "ilike") return LikeShare(predicate);
  if (name == "not_like" || name == "not_ilike") return 1 - LikeShare(predicate);
  if (name == "is_null" || name == "is_not_null") {
    const int column = ColumnOf(*children[0]);
    const double nulls = column < 0 ? kUnknownEqualShare : input.columns[static_cast<size_t>(column)].null_fraction;
    return name == "is_null" ? nulls : 1 - nulls;
  }
  if (name == "<" || name == "<=" || name == ">" || name == ">=") {
    return ColumnOf(*children[0]) >= 0 && ColumnOf(*children[1]) >= 0 ? kComparedColumnsShare : kUnknownShare;
  }
  return kUnknownShare;
}

PlanEstimate Filtered(PlanEstimate input, const Conjuncts& conjuncts) {
  // Bounds of one column belong together: x >= 1 AND x < 2.
  std::vector<ColumnEstimate> narrowed = input.columns;
  double share = 1;
  for (const ExprPtr& conjunct : conjuncts) {
    const auto comparison = AsComparison(*conjunct);
    if (comparison) {
      ColumnEstimate& column = narrowed[static_cast<size_t>(comparison->column)];
      const bool bounded = comparison->operation != "=" && comparison->point && column.min && column.max;
      Narrow(*comparison, &column);
      if (bounded) continue;
    }
    share *= Selectivity(*conjunct, input);
  }
  for (size_t i = 0; i < narrowed.size(); ++i) {
    const ColumnEstimate& before = input.columns[i];
    if (!before.min || !before.max || !narrowed[i].min || !narrowed[i].max) continue;
    const bool changed = narrowed[i].min != before.min || narrowed[i].max != before.max;
    // Equality has been counted.
    const bool is_point = changed && narrowed[i].distinct == 1 && narrowed[i].min == narrowed[i].max;
    if (changed && !is_point) share *= (1 - before.null_fraction) * RangeShare(before, narrowed[i]);
  }
  const double total = input.rows;
  input.rows = std::max(std::min(1.0, total), total * std::clamp(share, 0.0, 1.0));
  for (ColumnEstimate& column : narrowed) column.distinct = SampledDistinct(column.distinct, input.rows, total);
  input.columns = std::move(narrowed);
  return input;
}

ColumnEstimate EstimateExpression(const expr::Expr& expr, const PlanEstimate& input) {
  if (expr.kind() == ExprKind::kColumn)
    return input.columns[static_cast<size_t>(static_cast<const expr::ColumnExpr&>(expr).index())];
  ColumnEstimate estimate;
  estimate.value_bytes = TypeBytes(*expr.type());
  for (const int column : expr::ReferencedColumns(expr)) {
    const ColumnEstimate& used = input.columns[static_cast<size_t>(column)];
    estimate.distinct = std::min(std::max(1.0, input.rows), estimate.distinct * used.distinct);
    estimate.domain = std::min(std::max(1.0, input.base_rows), estimate.domain * used.domain);
  }
  // Parts of a date are few.
  const std::string_view name = NameOf(expr);
  if (name == "extract" || name == "date_part") {
    estimate.distinct = std::min(estimate.distinct, 12.0);
    estimate.domain = std::min(estimate.domain, 12.0);
  }
  if (expr.kind() == ExprKind::kCast) {
    const int column = ColumnOf(expr);
    if (column >= 0) {
      const double bytes = estimate.value_bytes;
      estimate = input.columns[static_cast<size_t>(column)];
      estimate.value_bytes = bytes;
    }
  }
  return estimate;
}

double MatchedShare(const PlanEstimate& left, const PlanEstimate& right, const expr::JoinCondition& condition) {
  double share = right.rows < 1 ? right.rows : 1;
  double right_values = 1, left_values = 1;
  for (const expr::JoinKey& key : condition.keys) {
    left_values *= EstimateExpression(*key.left, left).domain;
    right_values *= EstimateExpression(*key.right, right).distinct;
  }
  if (!condition.keys.empty()) {
    left_values = std::min(left_values, std::max(1.0, left.base_rows));
    right_values = std::min(right_values, std::max(1.0, right.rows));
    share *= std::min(1.0, right_values / left_values);
  }
  return share;
}

arrow::Result<PlanEstimate> CardinalityEstimator::Estimate(const PlanPtr& plan) {
  if (const auto found = known_.find(plan); found != known_.end()) return found->second;
  ARROW_ASSIGN_OR_RAISE(PlanEstimate estimate, Make(plan));
  known_.emplace(plan, estimate);
  return estimate;
}

arrow::Result<PlanEstimate> CardinalityEstimator::OfScan(const plan::ScanNode& scan) {
  const plan::TableSource* table = scan.source().get();
  if (!tables_.contains(table)) {
    ARROW_ASSIGN_OR_RAISE(tables_[table], table->column_statistics());
  }
  const std::vector<plan::ColumnStatistics>& columns = tables_[table];
  PlanEstimate estimate;
  estimate.rows = estimate.base_rows = static_cast<double>(table->statistics().rows.value_or(static_cast<int64_t>(kUnknownRows)));
  const double rows = std::max(1.0, estimate.rows);
  for (const int index : scan.request().projection) {
    const arrow::DataType& type = *expr::LogicalType(table->schema()->field(index)->type());
    ColumnEstimate& column = estimate.columns.emplace_back();
    column.value_bytes = TypeBytes(type);
    column.is_whole = arrow::is_integer(type.id()) || type.id() == arrow::Type::DATE32;
    column.distinct = type.id() == arrow::Type::BOOL ? 2 : arrow::is_integer(type.id()) ? rows : rows * kUnknownDistinctShare;
    if (static_cast<size_t>(index) < columns.size()) {
      const plan::ColumnStatistics& known = columns[static_cast<size_t>(index)];
      if (known.min != nullptr) column.min = PointOf(*known.min);
      if (known.max != nullptr) column.max = PointOf(*known.max);
      if (known.distinct_count) column.distinct = *known.distinct_count;
      if (known.null_count) column.null_fraction = std::min(1.0, static_cast<double>(*known.null_count) / rows);
      if (known.value_bytes) column.value_bytes = *known.value_bytes;
      if (column.is_whole && column.min && column.max) {
        const double range = *column.max - *column.min + 1;
        column.distinct = std::min(known.distinct_count ? *known.distinct_count : rows, range);
      }
    }
    column.distinct = std::clamp(column.distinct, 1.0, rows);
    column.domain = column.distinct;
  }
  // A source that only takes hints has the Filter above it.
  if (table->AppliesFiltersExactly()) estimate = Filtered(std::move(estimate), scan.request().filters);
  return estimate;
}

arrow::Result<PlanEstimate> CardinalityEstimator::OfJoin(const plan::JoinNode& join) {
  using enum expr::JoinType;
  ARROW_ASSIGN_OR_RAISE(const PlanEstimate left, Estimate(join.left()));
  ARROW_ASSIGN_OR_RAISE(const PlanEstimate right, Estimate(join.right()));
  PlanEstimate both = left;
  both.columns.insert(both.columns.end(), right.columns.begin(), right.columns.end());
  double one_in = 1;
  for (const expr::JoinKey& key : join.condition().keys) {
    one_in *= std::max(EstimateExpression(*key.left, left).domain, EstimateExpression(*key.right, right).domain);
  }
  // Several keys together have no more values than the smaller table has rows.
  if (join.condition().keys.size() > 1) one_in = std::min(one_in, std::max(1.0, std::min(left.base_rows, right.base_rows)));
  both.rows = left.rows * right.rows / one_in;
  if (join.condition().residual != nullptr) both = Filtered(std::move(both), expr::SplitConjunction(join.condition().residual));
  double share = MatchedShare(left, right, join.condition());
  if (join.condition().residual != nullptr) share *= 1 - kUnknownEqualShare;

  PlanEstimate estimate = expr::HasRightColumns(join.type()) ? both : left;
  if (join.type() == kLeft || join.type() == kFull) estimate.rows = std::max(estimate.rows, left.rows);
  if (join.type() == kRight || join.type() == kFull) estimate.rows = std::max(estimate.rows, right.rows);
  if (join.type() == kLeftSingle) estimate.rows = left.rows;
  if (join.type() == kLeftSemi) estimate.rows = left.rows * share;
  if (join.type() == kLeftAnti || join.type() == kLeftAntiNulls)
    estimate.rows = left.rows * std::max(kUnknownEqualShare, 1 - share);
  estimate.rows = std::max(estimate.rows, std::min(1.0, std::min(left.rows, right.rows)));
  if (expr::HasRightColumns(join.type())) estimate.base_rows = std::max({estimate.rows, left.base_rows, right.base_rows});
  if (join.type() == kLeftMark || join.type() == kLeftMarkNulls)
    estimate.columns.push_back({.distinct = 2, .domain = 2, .value_bytes = 1});
  for (ColumnEstimate& column : estimate.columns)
    column.distinct = std::clamp(column.distinct, 1.0, std::max(1.0, estimate.rows));
  return estimate;
}

arrow::Result<PlanEstimate> CardinalityEstimator::OfChildren(const PlanPtr& plan) {
  ARROW_ASSIGN_OR_RAISE(PlanEstimate estimate, Estimate(plan->child()));
  if (plan->kind() != PlanKind::kUnionAll) return estimate;
  for (size_t i = 1; i < plan->children().size(); ++i) {
    ARROW_ASSIGN_OR_RAISE(const PlanEstimate more, Estimate(plan->children()[i]));
    estimate.rows += more.rows;
    estimate.base_rows += more.base_rows;
    for (size_t c = 0; c < estimate.columns.size(); ++c) {
      estimate.columns[c].distinct = std::max(estimate.columns[c].distinct, more.columns[c].distinct);
      estimate.columns[c].domain = std::max(estimate.columns[c].domain, more.columns[c].domain);
      estimate.columns[c].min = estimate.columns[c].max = std::nullopt;
    }
  }
  return estimate;
}

arrow::Result<PlanEstimate> CardinalityEstimator::Make(const PlanPtr& plan) {
  switch (plan->kind()) {
    case PlanKind::kScan:
      return OfScan(static_cast<const plan::ScanNode&>(*plan));
    case PlanKind::kJoin:
      return OfJoin(static_cast<const plan::JoinNode&>(*plan));
    case PlanKind::kFilter: {
      ARROW_ASSIGN_OR_RAISE(PlanEstimate input, Estimate(plan->child()));
      return Filtered(std::move(input), expr::SplitConjunction(static_cast<const plan::FilterNode&>(*plan).predicate()));
    }
    case PlanKind::kProject: {
      ARROW_ASSIGN_OR_RAISE(const PlanEstimate input, Estimate(plan->child()));
      PlanEstimate estimate{input.rows, input.base_rows, {}};
      for (const ExprPtr& expr : static_cast<const plan::ProjectNode&>(*plan).exprs()) {
        estimate.columns.push_back(EstimateExpression(*expr, input));
      }
      return estimate;
    }
    case PlanKind::kAggregate: {
      const auto& aggregate = static_cast<const plan::AggregateNode&>(*plan);
      ARROW_ASSIGN_OR_RAISE(const PlanEstimate input, Estimate(plan->child()));
      PlanEstimate estimate{1, 1, {}};
      for (const ExprPtr& group : aggregate.groups()) {
        estimate.columns.push_back(EstimateExpression(*group, input));
        estimate.rows *= estimate.columns.back().distinct;
      }
      estimate.rows = aggregate.groups().empty() ? 1 : std::min(estimate.rows, input.rows);
      estimate.base_rows = estimate.rows;
      for (const expr::AggregateCall& call : aggregate.aggregates()) {
        estimate.columns.push_back(EstimateAggregate(call, input, std::max(1.0, estimate.rows)));
      }
      return estimate;
    }
    case PlanKind::kValues: {
      const auto& values = static_cast<const plan::ValuesNode&>(*plan);
      const double rows = static_cast<double>(values.rows().size());
      PlanEstimate estimate{rows, rows, {}};
      for (const auto& field : values.schema()->fields()) {
        const double distinct = std::max(1.0, rows);
        estimate.columns.push_back({.distinct = distinct, .domain = distinct, .value_bytes = TypeBytes(*field->type())});
      }
      return estimate;
    }
    case PlanKind::kLimit: {
      ARROW_ASSIGN_OR_RAISE(PlanEstimate estimate, OfChildren(plan));
      const auto& limit = static_cast<const plan::LimitNode&>(*plan).limit();
      if (limit) estimate.rows = std::min(estimate.rows, static_cast<double>(*limit));
      return estimate;
    }
    case PlanKind::kSort: {
      ARROW_ASSIGN_OR_RAISE(PlanEstimate estimate, OfChildren(plan));
      const auto& fetch = static_cast<const plan::SortNode&>(*plan).fetch();
      if (fetch) estimate.rows = std::min(estimate.rows, static_cast<double>(*fetch));
      return estimate;
    }
    case PlanKind::kUnionAll:
    case PlanKind::kSetOperation:
      return OfChildren(plan);
    case PlanKind::kApply:
    case PlanKind::kCopy: {
      PlanEstimate estimate{kUnknownRows, kUnknownRows, {}};
      estimate.columns.resize(static_cast<size_t>(plan->schema()->num_fields()));
      return estimate;
    }
  }
  return PlanEstimate{};
}

}  // namespace icebound::optimizer
