// SPDX-License-Identifier: Apache-2.0
//
// For the tests of this folder: plans over tables that exist as schemas only, written from the bottom up.
#pragma once

#include <arrow/scalar.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "expr/expr.h"
#include "optimizer/optimizer.h"
#include "plan/logical_plan.h"
#include "runtime/batch_stream.h"

namespace icebound::optimizer {

class FakeSource final : public plan::TableSource {
 public:
  /// Without `rows` it tells nothing of itself; with it, column a is a key and the others repeat each value ten times.
  explicit FakeSource(bool exact, std::optional<int64_t> rows = std::nullopt) : exact_(exact), rows_(rows) {
    schema_ = arrow::schema({arrow::field("a", arrow::int32()), arrow::field("b", arrow::int32()),
                             arrow::field("c", arrow::int32()), arrow::field("d", arrow::int32())});
  }
  const std::shared_ptr<arrow::Schema>& schema() const override { return schema_; }
  std::string Describe() const override { return "fake"; }
  bool AppliesFiltersExactly() const override { return exact_; }
  plan::TableStatistics statistics() const override { return {.rows = rows_}; }
  arrow::Result<std::vector<plan::ColumnStatistics>> column_statistics() const override {
    if (!rows_) return std::vector<plan::ColumnStatistics>();
    std::vector<plan::ColumnStatistics> columns(4);
    for (size_t i = 0; i < columns.size(); ++i) columns[i].distinct_count = static_cast<double>(*rows_) / (i == 0 ? 1 : 10);
    return columns;
  }
  arrow::Result<std::unique_ptr<runtime::StreamSource>> Scan(const plan::ScanRequest&, runtime::QueryContext*) const override {
    return MakeError(ErrorKind::kInternal, "a fake table has no rows");
  }

 private:
  std::shared_ptr<arrow::Schema> schema_;
  const bool exact_;
  const std::optional<int64_t> rows_;
};

/// All four columns of a table whose scan drops every filtered row (`exact`) or may let some through (`hints`).
inline plan::PlanPtr Scan(bool exact) {
  plan::ScanRequest request;
  request.projection = {0, 1, 2, 3};
  return std::make_shared<plan::ScanNode>(std::make_shared<FakeSource>(exact), exact ? "exact" : "hints", std::move(request));
}
/// A table of so many rows.
inline plan::PlanPtr Table(const std::string& name, int64_t rows) {
  plan::ScanRequest request;
  request.projection = {0, 1, 2, 3};
  return std::make_shared<plan::ScanNode>(std::make_shared<FakeSource>(true, rows), name, std::move(request));
}
inline plan::PlanPtr Exact() { return Scan(true); }
inline plan::PlanPtr Hints() { return Scan(false); }

inline expr::ExprPtr Column(const plan::PlanPtr& plan, const std::string& name) {
  const int index = plan->schema()->GetFieldIndex(name);
  return expr::MakeColumn(index, *plan->schema()->field(index));
}
inline expr::ExprPtr Number(int32_t value) { return expr::MakeLiteral(std::make_shared<arrow::Int32Scalar>(value)); }
inline expr::ExprPtr Boolean(bool value) { return expr::MakeLiteral(std::make_shared<arrow::BooleanScalar>(value)); }
inline expr::ExprPtr Call(std::string_view name, std::vector<expr::ExprPtr> arguments) {
  return expr::MakeCall(name, std::move(arguments)).ValueOrDie();
}

inline plan::PlanPtr Filter(plan::PlanPtr child, expr::ExprPtr predicate) {
  return std::make_shared<plan::FilterNode>(std::move(child), std::move(predicate));
}
inline plan::PlanPtr Project(plan::PlanPtr child, std::vector<expr::ExprPtr> exprs, std::vector<std::string> names) {
  return std::make_shared<plan::ProjectNode>(std::move(child), std::move(exprs), std::move(names));
}
/// Only these columns.
inline plan::PlanPtr Pick(const plan::PlanPtr& child, const std::vector<std::string>& names) {
  std::vector<expr::ExprPtr> exprs;
  for (const std::string& name : names) exprs.push_back(Column(child, name));
  return Project(child, std::move(exprs), names);
}
inline plan::PlanPtr Sort(const plan::PlanPtr& child, const std::string& name, std::optional<int64_t> fetch = std::nullopt) {
  return std::make_shared<plan::SortNode>(child, std::vector<plan::SortKey>{{Column(child, name), false, false}}, fetch);
}
inline plan::PlanPtr Limit(plan::PlanPtr child, std::optional<int64_t> limit, int64_t offset = 0) {
  return std::make_shared<plan::LimitNode>(std::move(child), limit, offset);
}
inline plan::PlanPtr Union(std::vector<plan::PlanPtr> children) {
  return std::make_shared<plan::UnionAllNode>(std::move(children));
}
inline plan::PlanPtr Copy(plan::PlanPtr child) {
  return std::make_shared<plan::CopyNode>(std::move(child), "out", std::map<std::string, std::string>());
}
/// Pairs of column names that are equal.
using Keys = std::vector<std::pair<std::string, std::string>>;
inline expr::JoinCondition On(const plan::PlanPtr& left, const plan::PlanPtr& right, const Keys& keys,
                              expr::ExprPtr residual = nullptr) {
  expr::JoinCondition condition;
  for (const auto& [left_name, right_name] : keys) {
    condition.keys.push_back({Column(left, left_name), Column(right, right_name), false});
  }
  condition.residual = std::move(residual);
  return condition;
}
inline plan::PlanPtr Join(const plan::PlanPtr& left, const plan::PlanPtr& right, expr::JoinType type, const Keys& keys,
                          expr::ExprPtr residual = nullptr) {
  return std::make_shared<plan::JoinNode>(left, right, type, On(left, right, keys, std::move(residual)));
}
inline plan::PlanPtr Apply(const plan::PlanPtr& left, const plan::PlanPtr& right, expr::JoinType type, const Keys& keys = {}) {
  return std::make_shared<plan::ApplyNode>(left, right, type, On(left, right, keys));
}
/// Column `index` of a join or any other plan, by its number.
inline expr::ExprPtr ColumnAt(const plan::PlanPtr& plan, int index) {
  return expr::MakeColumn(index, *plan->schema()->field(index));
}
inline expr::ExprPtr Outer(const std::string& name, int levels_up = 1) {
  return std::make_shared<expr::OuterColumnExpr>(levels_up, name[0] - 'a', name, arrow::int32());
}
/// `calls` are names of aggregates and of their columns ("" for count(*)).
inline plan::PlanPtr Aggregate(const plan::PlanPtr& child, const std::vector<std::string>& groups, const Keys& calls) {
  std::vector<expr::ExprPtr> exprs;
  std::vector<std::string> names = groups;
  for (const std::string& group : groups) exprs.push_back(Column(child, group));
  std::vector<expr::AggregateCall> made;
  for (const auto& [name, column] : calls) {
    std::vector<expr::ExprPtr> arguments;
    if (!column.empty()) arguments.push_back(Column(child, column));
    made.push_back(expr::MakeAggregate(name, std::move(arguments), column.empty(), {}).ValueOrDie());
    names.push_back(name);
  }
  return std::make_shared<plan::AggregateNode>(child, std::move(exprs), std::move(made), std::move(names));
}
inline plan::PlanPtr OneRow() {
  return std::make_shared<plan::ValuesNode>(arrow::schema(arrow::FieldVector{}), std::vector<std::vector<expr::ExprPtr>>(1));
}

/// The plan after one rule (all others off); "" for `rule` runs all.
inline std::string After(std::string_view rule, const plan::PlanPtr& plan) {
  OptimizerOptions options;
  options.pool = arrow::default_memory_pool();
  if (!rule.empty()) {
    for (std::string_view name : RuleNames()) {
      if (name != rule) options.disabled_rules.emplace(name);
    }
  }
  const auto optimized = Optimize(plan, options);
  if (!optimized.ok()) return optimized.status().ToString();
  // A plainer join may know better which columns are never null.
  const bool same = (*optimized)->schema()->field_names() == plan->schema()->field_names();
  return same ? plan::ExplainText(**optimized) : "the schema changed";
}

}  // namespace icebound::optimizer
