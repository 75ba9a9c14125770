// SPDX-License-Identifier: Apache-2.0
//
// For the tests of this folder: runs a plan in the most literal way, a row after another, with what the plan's comments say and
// nothing else. An Apply puts each left row's values into its right child and runs that. Values are integers, booleans (0 and 1)
// or NULL. Scans are as unhelpful as the contract allows: hints are ignored, a limit is taken at its word, and a scan that need
// not keep the order gives the rows backwards.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <stdexcept>
#include <vector>

#include "expr/evaluate.h"
#include "optimizer/plan_builder_test.h"
#include "optimizer/plan_rewrite.h"

namespace icebound::optimizer {

using Value = std::optional<int64_t>;
using Row = std::vector<Value>;
using Rows = std::vector<Row>;

constexpr size_t kRowsMax = 250;  // more is not worth the time

/// What the engine would report while running: a scalar subquery with two rows. And too many rows for a test.
class RunError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Of table "t" column a is a permutation, so that sorting by it has one answer; the others repeat and have NULLs. "s" is small
/// and has NULLs everywhere.
inline const Rows& TableRows(const std::string& table) {
  static const Rows large = [] {
    Rows made;
    for (int i = 0; i < 23; ++i)
      made.push_back({(i * 7) % 23, i % 4, i % 5 == 0 ? Value() : Value(i % 3), i % 6 == 1 ? Value() : Value(-i)});
    return made;
  }();
  static const Rows small = {{1, 0, 2, Value()}, {2, 1, Value(), -3}, {Value(), 1, 0, 1}, {3, Value(), 1, 0}, {1, 0, 2, Value()}};
  return table == "s" ? small : large;
}

inline Value ValueOf(const arrow::Array& array, int64_t i) {
  if (array.IsNull(i)) return std::nullopt;
  switch (array.type_id()) {
    case arrow::Type::BOOL:
      return static_cast<const arrow::BooleanArray&>(array).Value(i) ? 1 : 0;
    case arrow::Type::INT32:
      return static_cast<const arrow::Int32Array&>(array).Value(i);
    default:
      return static_cast<const arrow::Int64Array&>(array).Value(i);
  }
}

inline std::shared_ptr<arrow::Scalar> ScalarOf(const Value& value, const std::shared_ptr<arrow::DataType>& type) {
  if (!value) return arrow::MakeNullScalar(type);
  return arrow::MakeScalar(*value)->CastTo(type).ValueOrDie();
}

template <typename Builder>
std::shared_ptr<arrow::Array> ToArray(const Rows& rows, size_t column) {
  Builder builder;
  for (const Row& row : rows) {
    const Value& value = row[column];
    EXPECT_TRUE((value ? builder.Append(static_cast<typename Builder::value_type>(*value)) : builder.AppendNull()).ok());
  }
  return builder.Finish().ValueOrDie();
}

inline std::shared_ptr<arrow::RecordBatch> ToBatch(const Rows& rows, const arrow::FieldVector& fields) {
  arrow::ArrayVector columns;
  for (size_t column = 0; column < fields.size(); ++column) {
    const arrow::Type::type type = fields[column]->type()->id();
    columns.push_back(type == arrow::Type::BOOL    ? ToArray<arrow::BooleanBuilder>(rows, column)
                      : type == arrow::Type::INT32 ? ToArray<arrow::Int32Builder>(rows, column)
                                                   : ToArray<arrow::Int64Builder>(rows, column));
  }
  return arrow::RecordBatch::Make(arrow::schema(fields), static_cast<int64_t>(rows.size()), std::move(columns));
}

/// The value of an expression for every row.
inline std::vector<Value> Values(const expr::Expr& expr, const Rows& rows, const arrow::FieldVector& fields) {
  if (rows.empty()) return {};
  if (expr.kind() == expr::ExprKind::kColumn) {
    std::vector<Value> values;
    for (const Row& row : rows) values.push_back(row[static_cast<size_t>(static_cast<const expr::ColumnExpr&>(expr).index())]);
    return values;
  }
  const auto evaluated = expr::EvaluateToArray(expr, *ToBatch(rows, fields), {arrow::default_memory_pool(), 0});
  if (!evaluated.ok()) throw RunError(evaluated.status().ToString());
  const auto& array = *evaluated;
  std::vector<Value> values;
  for (int64_t i = 0; i < array->length(); ++i) values.push_back(ValueOf(*array, i));
  return values;
}

class Interpreter {
 public:
  Rows Run(const plan::LogicalPlan& plan) const {
    switch (plan.kind()) {
      case plan::PlanKind::kScan:
        return RunScan(static_cast<const plan::ScanNode&>(plan));
      case plan::PlanKind::kFilter:
        return Filtered(Run(*plan.child()), *static_cast<const plan::FilterNode&>(plan).predicate(), plan.schema()->fields());
      case plan::PlanKind::kProject:
        return RunProject(static_cast<const plan::ProjectNode&>(plan));
      case plan::PlanKind::kSort:
        return RunSort(static_cast<const plan::SortNode&>(plan));
      case plan::PlanKind::kLimit:
        return RunLimit(static_cast<const plan::LimitNode&>(plan));
      case plan::PlanKind::kUnionAll: {
        Rows rows;
        for (const plan::PlanPtr& child : plan.children()) {
          for (Row& row : Run(*child)) rows.push_back(std::move(row));
        }
        return rows;
      }
      case plan::PlanKind::kValues: {
        Rows rows;
        for (const auto& exprs : static_cast<const plan::ValuesNode&>(plan).rows()) {
          Row& row = rows.emplace_back();
          for (const auto& expr : exprs) row.push_back(optimizer::Values(*expr, {{}}, {}).front());
        }
        return rows;
      }
      case plan::PlanKind::kAggregate:
        return RunAggregate(static_cast<const plan::AggregateNode&>(plan));
      case plan::PlanKind::kJoin: {
        const auto& join = static_cast<const plan::JoinNode&>(plan);
        const Rows right = Run(*join.right());
        return Joined(join, Run(*join.left()), join.type(), join.condition(), [&](const Row&) { return right; });
      }
      case plan::PlanKind::kApply: {
        const auto& apply = static_cast<const plan::ApplyNode&>(plan);
        return Joined(apply, Run(*apply.left()), apply.type(), apply.condition(),
                      [&](const Row& row) { return Run(*WithOuterRow(apply.right(), row, 1)); });
      }
      case plan::PlanKind::kSetOperation:
        return RunSetOperation(static_cast<const plan::SetOperationNode&>(plan));
      case plan::PlanKind::kCopy:
        break;
    }
    ADD_FAILURE() << "unexpected node";
    return {};
  }

 private:
  static Rows Filtered(Rows rows, const expr::Expr& predicate, const arrow::FieldVector& fields) {
    const auto keep = optimizer::Values(predicate, rows, fields);
    Rows kept;
    for (size_t i = 0; i < rows.size(); ++i) {
      if (keep[i] == 1) kept.push_back(std::move(rows[i]));
    }
    return kept;
  }

  Rows RunScan(const plan::ScanNode& scan) const {
    Rows rows;
    for (const Row& row : TableRows(scan.table_name())) {
      Row projected;
      for (int column : scan.request().projection) projected.push_back(row[static_cast<size_t>(column)]);
      rows.push_back(std::move(projected));
    }
    if (scan.source()->AppliesFiltersExactly()) {
      for (const auto& filter : scan.request().filters) rows = Filtered(std::move(rows), *filter, scan.schema()->fields());
    }
    if (!scan.request().ordered) std::reverse(rows.begin(), rows.end());
    if (scan.request().limit && static_cast<int64_t>(rows.size()) > *scan.request().limit) {
      rows.resize(static_cast<size_t>(*scan.request().limit));
    }
    return rows;
  }

  Rows RunProject(const plan::ProjectNode& project) const {
    const Rows input = Run(*project.child());
    Rows rows(input.size());
    for (const auto& expr : project.exprs()) {
      const auto values = optimizer::Values(*expr, input, project.child()->schema()->fields());
      for (size_t i = 0; i < rows.size(); ++i) rows[i].push_back(values[i]);
    }
    return rows;
  }

  /// Numbers of rows in the order of the keys, equal ones as they come.
  template <typename Keys>
  static std::vector<size_t> Ordered(const Rows& rows, std::vector<size_t> numbers, const Keys& keys,
                                     const arrow::FieldVector& fields) {
    std::vector<std::vector<Value>> columns;
    for (const auto& key : keys) columns.push_back(optimizer::Values(*key.expr, rows, fields));
    std::stable_sort(numbers.begin(), numbers.end(), [&](size_t left, size_t right) {
      for (size_t k = 0; k < columns.size(); ++k) {
        const Value& a = columns[k][left];
        const Value& b = columns[k][right];
        if (a == b) continue;
        if (a.has_value() != b.has_value()) return a.has_value() != keys[k].nulls_first;
        return keys[k].descending ? a > b : a < b;
      }
      return false;
    });
    return numbers;
  }

  Rows RunSort(const plan::SortNode& sort) const {
    const Rows input = Run(*sort.child());
    std::vector<size_t> numbers(input.size());
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = i;
    numbers = Ordered(input, std::move(numbers), sort.keys(), sort.schema()->fields());
    if (sort.fetch() && static_cast<int64_t>(numbers.size()) > *sort.fetch()) numbers.resize(static_cast<size_t>(*sort.fetch()));
    Rows rows;
    for (const size_t number : numbers) rows.push_back(input[number]);
    return rows;
  }

  Rows RunLimit(const plan::LimitNode& limit) const {
    Rows rows = Run(*limit.child());
    rows.erase(rows.begin(), rows.begin() + std::min<ptrdiff_t>(limit.offset(), static_cast<ptrdiff_t>(rows.size())));
    if (limit.limit() && static_cast<int64_t>(rows.size()) > *limit.limit()) rows.resize(static_cast<size_t>(*limit.limit()));
    return rows;
  }

  Rows RunAggregate(const plan::AggregateNode& aggregate) const {
    const Rows input = Run(*aggregate.child());
    const arrow::FieldVector& fields = aggregate.child()->schema()->fields();
    Rows keys(input.size());
    for (const auto& group : aggregate.groups()) {
      const auto values = optimizer::Values(*group, input, fields);
      for (size_t i = 0; i < input.size(); ++i) keys[i].push_back(values[i]);
    }
    std::map<Row, std::vector<size_t>> members;
    if (aggregate.groups().empty()) members[{}] = {};
    for (size_t i = 0; i < input.size(); ++i) members[keys[i]].push_back(i);
    Rows rows;
    for (const auto& [key, numbers] : members) {
      Row row = key;
      for (const expr::AggregateCall& call : aggregate.aggregates()) row.push_back(Compute(call, input, numbers, fields));
      rows.push_back(std::move(row));
    }
    return rows;
  }

  static Value Compute(const expr::AggregateCall& call, const Rows& input, std::vector<size_t> numbers,
                       const arrow::FieldVector& fields) {
    using enum expr::AggregateKind;
    if (call.filter != nullptr) {
      const auto keep = optimizer::Values(*call.filter, input, fields);
      std::erase_if(numbers, [&](size_t number) { return keep[number] != 1; });
    }
    if (call.kind == kCountStar) return static_cast<int64_t>(numbers.size());
    numbers = Ordered(input, std::move(numbers), call.order_by, fields);
    const auto values = optimizer::Values(*call.arguments.front(), input, fields);
    if (call.kind == kFirst) return numbers.empty() ? Value() : values[numbers.front()];
    std::vector<int64_t> present;
    for (const size_t number : numbers) {
      if (values[number]) present.push_back(*values[number]);
    }
    if (call.distinct) {
      std::sort(present.begin(), present.end());
      present.erase(std::unique(present.begin(), present.end()), present.end());
    }
    if (call.kind == kCount) return static_cast<int64_t>(present.size());
    if (present.empty()) return std::nullopt;
    if (call.kind == kMin || call.kind == kBoolAnd) return *std::min_element(present.begin(), present.end());
    if (call.kind == kMax || call.kind == kBoolOr) return *std::max_element(present.begin(), present.end());
    EXPECT_TRUE(call.kind == kSum) << call.ToString();
    int64_t sum = 0;
    for (const int64_t value : present) sum += value;
    return sum;
  }

  static plan::PlanPtr WithOuterRow(const plan::PlanPtr& plan, const Row& row, int level) {
    const auto put = [&](const expr::ExprPtr& expr) {
      return expr::Transform(expr, [&](const expr::ExprPtr& node) -> arrow::Result<expr::ExprPtr> {
        if (node->kind() != expr::ExprKind::kOuterColumn) return node;
        const auto& outer = static_cast<const expr::OuterColumnExpr&>(*node);
        if (outer.levels_up() == level) {
          return expr::MakeLiteral(ScalarOf(row[static_cast<size_t>(outer.index())], outer.type()));
        }
        return outer.levels_up() < level
                   ? node
                   : std::make_shared<expr::OuterColumnExpr>(outer.levels_up() - 1, outer.index(), outer.name(), outer.type());
      });
    };
    std::vector<plan::PlanPtr> children;
    for (size_t i = 0; i < plan->children().size(); ++i) {
      const bool deeper = plan->kind() == plan::PlanKind::kApply && i == 1;
      children.push_back(WithOuterRow(plan->children()[i], row, level + (deeper ? 1 : 0)));
    }
    return RewriteExpressions(plan->WithChildren(std::move(children)), put).ValueOrDie();
  }

  static Row Concat(Row left, const Row& right) {
    left.insert(left.end(), right.begin(), right.end());
    return left;
  }

  /// Three-valued: which right rows match the left one.
  static std::vector<Value> Matches(const plan::LogicalPlan& node, const expr::JoinCondition& condition, const Row& left,
                                    const Rows& right) {
    const arrow::FieldVector& left_fields = node.children()[0]->schema()->fields();
    arrow::FieldVector both = left_fields;
    for (const auto& field : node.children()[1]->schema()->fields()) both.push_back(field);
    std::vector<Value> matches(right.size(), 1);
    for (const expr::JoinKey& key : condition.keys) {
      const Value value = optimizer::Values(*key.left, {left}, left_fields).front();
      const auto values = optimizer::Values(*key.right, right, node.children()[1]->schema()->fields());
      for (size_t i = 0; i < right.size(); ++i) {
        Value same = value == values[i] ? 1 : 0;
        if (!key.null_safe && (!value || !values[i])) same = std::nullopt;
        if (same == 0 || matches[i] == 1) matches[i] = same;
      }
    }
    if (condition.residual == nullptr) return matches;
    Rows pairs;
    for (const Row& row : right) pairs.push_back(Concat(left, row));
    const auto residual = optimizer::Values(*condition.residual, pairs, both);
    for (size_t i = 0; i < right.size(); ++i) {
      if (residual[i] != 1) matches[i] = 0;
    }
    return matches;
  }

  template <typename RightRows>
  Rows Joined(const plan::LogicalPlan& node, const Rows& left, expr::JoinType type, const expr::JoinCondition& condition,
              const RightRows& right_rows) const {
    using enum expr::JoinType;
    Rows rows;
    std::vector<bool> right_matched;
    Rows all_right;
    for (const Row& row : left) {
      const Rows right = right_rows(row);
      const auto matches = Matches(node, condition, row, right);
      const bool any = std::count(matches.begin(), matches.end(), Value(1)) > 0;
      const bool open = std::count(matches.begin(), matches.end(), Value()) > 0;
      right_matched.resize(right.size(), false);
      for (size_t i = 0; i < right.size() && expr::HasRightColumns(type); ++i) {
        if (matches[i] != 1) continue;
        rows.push_back(Concat(row, right[i]));
        right_matched[i] = true;
      }
      if (type == kLeftSingle && std::count(matches.begin(), matches.end(), Value(1)) > 1) throw RunError("two rows");
      const Row nulls(static_cast<size_t>(node.children()[1]->schema()->num_fields()));
      if (!any && (type == kLeft || type == kFull || type == kLeftSingle)) rows.push_back(Concat(row, nulls));
      if ((type == kLeftSemi && any) || (type == kLeftAnti && !any) || (type == kLeftAntiNulls && !any && !open))
        rows.push_back(row);
      if (type == kLeftMark) rows.push_back(Concat(row, {any ? 1 : 0}));
      if (type == kLeftMarkNulls) rows.push_back(Concat(row, {any ? Value(1) : open ? Value() : Value(0)}));
    }
    if (type == kRight || type == kFull) {
      const Rows right = right_rows({});
      right_matched.resize(right.size(), false);
      const Row nulls(static_cast<size_t>(node.children()[0]->schema()->num_fields()));
      for (size_t i = 0; i < right.size(); ++i) {
        if (!right_matched[i]) rows.push_back(Concat(nulls, right[i]));
      }
    }
    return rows;
  }

  Rows RunSetOperation(const plan::SetOperationNode& node) const {
    using enum plan::SetOperation;
    std::map<Row, std::pair<int64_t, int64_t>> counts;
    for (const Row& row : Run(*node.children()[0])) ++counts[row].first;
    for (const Row& row : Run(*node.children()[1])) ++counts[row].second;
    Rows rows;
    for (const auto& [row, count] : counts) {
      int64_t copies = 0;
      if (node.operation() == kIntersectAll) copies = std::min(count.first, count.second);
      if (node.operation() == kExceptAll) copies = std::max<int64_t>(0, count.first - count.second);
      if (node.operation() == kIntersect) copies = count.first > 0 && count.second > 0 ? 1 : 0;
      if (node.operation() == kExcept) copies = count.first > 0 && count.second == 0 ? 1 : 0;
      rows.insert(rows.end(), static_cast<size_t>(copies), row);
    }
    return rows;
  }
};

inline Rows RunPlan(const plan::LogicalPlan& plan) { return Interpreter().Run(plan); }

}  // namespace icebound::optimizer
