// SPDX-License-Identifier: Apache-2.0
//
// For the tests of this folder: plans over tables that exist as schemas only, written from the bottom up.
#pragma once

#include <arrow/scalar.h>

#include <memory>
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
  explicit FakeSource(bool exact) : exact_(exact) {
    schema_ = arrow::schema({arrow::field("a", arrow::int32()), arrow::field("b", arrow::int32()),
                             arrow::field("c", arrow::int32()), arrow::field("d", arrow::int32())});
  }
  const std::shared_ptr<arrow::Schema>& schema() const override { return schema_; }
  std::string Describe() const override { return "fake"; }
  bool AppliesFiltersExactly() const override { return exact_; }
  arrow::Result<std::unique_ptr<runtime::StreamSource>> Scan(const plan::ScanRequest&, runtime::QueryContext*) const override {
    return MakeError(ErrorKind::kInternal, "a fake table has no rows");
  }

 private:
  std::shared_ptr<arrow::Schema> schema_;
  const bool exact_;
};

/// All four columns of a table whose scan drops every filtered row (`exact`) or may let some through (`hints`).
inline plan::PlanPtr Scan(bool exact) {
  plan::ScanRequest request;
  request.projection = {0, 1, 2, 3};
  return std::make_shared<plan::ScanNode>(std::make_shared<FakeSource>(exact), exact ? "exact" : "hints", std::move(request));
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
  return (*optimized)->schema()->Equals(*plan->schema()) ? plan::ExplainText(**optimized) : "the schema changed";
}

}  // namespace icebound::optimizer
