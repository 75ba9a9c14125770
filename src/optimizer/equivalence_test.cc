// SPDX-License-Identifier: Apache-2.0
//
// Random plans, run by a naive interpreter before and after the rules: the rows must be the same. The interpreter's scans are
// as unhelpful as the contract allows: hints are ignored, a limit is taken at its word, and a scan that need not keep the order
// gives the rows backwards.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "expr/evaluate.h"
#include "optimizer/plan_builder_test.h"

namespace icebound::optimizer {
namespace {

using plan::PlanKind;
using plan::PlanPtr;
using Row = std::vector<std::optional<int>>;
using Rows = std::vector<Row>;

/// Column a is a permutation, so that sorting by it has one answer; the others repeat and have NULLs.
const Rows& TableRows() {
  static const Rows rows = [] {
    Rows made;
    for (int i = 0; i < 23; ++i)
      made.push_back({(i * 7) % 23, i % 4, i % 5 == 0 ? std::optional<int>() : i % 3, i % 6 == 1 ? std::optional<int>() : -i});
    return made;
  }();
  return rows;
}

std::shared_ptr<arrow::RecordBatch> ToBatch(const Rows& rows, const std::shared_ptr<arrow::Schema>& schema) {
  arrow::ArrayVector columns;
  for (int column = 0; column < schema->num_fields(); ++column) {
    arrow::Int32Builder builder;
    for (const Row& row : rows) {
      const auto& value = row[static_cast<size_t>(column)];
      EXPECT_TRUE((value ? builder.Append(*value) : builder.AppendNull()).ok());
    }
    columns.push_back(builder.Finish().ValueOrDie());
  }
  return arrow::RecordBatch::Make(schema, static_cast<int64_t>(rows.size()), std::move(columns));
}

/// The value of an int or boolean expression for every row.
std::vector<std::optional<int>> Values(const expr::Expr& expr, const Rows& rows, const std::shared_ptr<arrow::Schema>& schema) {
  const auto array = expr::EvaluateToArray(expr, *ToBatch(rows, schema), {arrow::default_memory_pool(), 0}).ValueOrDie();
  std::vector<std::optional<int>> values;
  for (int64_t i = 0; i < array->length(); ++i) {
    if (array->IsNull(i)) {
      values.push_back(std::nullopt);
    } else if (array->type_id() == arrow::Type::BOOL) {
      values.push_back(static_cast<const arrow::BooleanArray&>(*array).Value(i) ? 1 : 0);
    } else {
      values.push_back(static_cast<const arrow::Int32Array&>(*array).Value(i));
    }
  }
  return values;
}

Rows Filtered(Rows rows, const expr::Expr& predicate, const std::shared_ptr<arrow::Schema>& schema) {
  const auto keep = Values(predicate, rows, schema);
  Rows kept;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (keep[i] == 1) kept.push_back(std::move(rows[i]));
  }
  return kept;
}

Rows Run(const plan::LogicalPlan& plan);

Rows RunScan(const plan::ScanNode& scan) {
  Rows rows;
  for (const Row& row : TableRows()) {
    Row projected;
    for (int column : scan.request().projection) projected.push_back(row[static_cast<size_t>(column)]);
    rows.push_back(std::move(projected));
  }
  if (scan.source()->AppliesFiltersExactly()) {
    for (const auto& filter : scan.request().filters) rows = Filtered(std::move(rows), *filter, scan.schema());
  }
  if (!scan.request().ordered) std::reverse(rows.begin(), rows.end());
  if (scan.request().limit && static_cast<int64_t>(rows.size()) > *scan.request().limit) {
    rows.resize(static_cast<size_t>(*scan.request().limit));
  }
  return rows;
}

Rows RunProject(const plan::ProjectNode& project) {
  const Rows input = Run(*project.child());
  Rows rows(input.size());
  for (const auto& expr : project.exprs()) {
    const auto values = Values(*expr, input, project.child()->schema());
    for (size_t i = 0; i < rows.size(); ++i) rows[i].push_back(values[i]);
  }
  return rows;
}

Rows RunSort(const plan::SortNode& sort) {
  const Rows input = Run(*sort.child());
  std::vector<std::pair<std::optional<int>, Row>> keyed;
  const auto keys = Values(*sort.keys().front().expr, input, sort.schema());
  for (size_t i = 0; i < input.size(); ++i) keyed.emplace_back(keys[i], input[i]);
  const plan::SortKey& key = sort.keys().front();
  std::stable_sort(keyed.begin(), keyed.end(), [&](const auto& left, const auto& right) {
    if (left.first.has_value() != right.first.has_value()) return left.first.has_value() != key.nulls_first;
    return key.descending ? left.first > right.first : left.first < right.first;
  });
  if (sort.fetch() && static_cast<int64_t>(keyed.size()) > *sort.fetch()) keyed.resize(static_cast<size_t>(*sort.fetch()));
  Rows rows;
  for (auto& entry : keyed) rows.push_back(std::move(entry.second));
  return rows;
}

Rows Run(const plan::LogicalPlan& plan) {
  switch (plan.kind()) {
    case PlanKind::kScan:
      return RunScan(static_cast<const plan::ScanNode&>(plan));
    case PlanKind::kFilter:
      return Filtered(Run(*plan.child()), *static_cast<const plan::FilterNode&>(plan).predicate(), plan.child()->schema());
    case PlanKind::kProject:
      return RunProject(static_cast<const plan::ProjectNode&>(plan));
    case PlanKind::kSort:
      return RunSort(static_cast<const plan::SortNode&>(plan));
    case PlanKind::kLimit: {
      const auto& limit = static_cast<const plan::LimitNode&>(plan);
      Rows rows = Run(*plan.child());
      rows.erase(rows.begin(), rows.begin() + std::min<ptrdiff_t>(limit.offset(), static_cast<ptrdiff_t>(rows.size())));
      if (limit.limit() && static_cast<int64_t>(rows.size()) > *limit.limit()) rows.resize(static_cast<size_t>(*limit.limit()));
      return rows;
    }
    case PlanKind::kUnionAll: {
      Rows rows;
      for (const PlanPtr& child : plan.children()) {
        for (Row& row : Run(*child)) rows.push_back(std::move(row));
      }
      return rows;
    }
    case PlanKind::kValues: {
      EXPECT_TRUE(static_cast<const plan::ValuesNode&>(plan).rows().empty());
      return {};
    }
    case PlanKind::kCopy:
      break;
  }
  ADD_FAILURE() << "unexpected node";
  return {};
}

enum class Shape {
  kBags,       ///< everything but LIMIT: rows are compared without order
  kSequences,  ///< everything but Sort: rows are compared with their order
  kTopK,       ///< one table, sorts by the permutation in column a: with order, too
};

class RandomPlans {
 public:
  RandomPlans(Shape shape, uint32_t seed) : shape_(shape), random_(seed) {}

  PlanPtr Make(int depth) {
    if (depth == 0) return OrderedScan();
    const PlanPtr child = Make(depth - 1);
    switch (Below(8)) {
      case 0:
        return Filter(child, Predicate(child));
      case 1:
        return Filter(child, Call("and", {Predicate(child), Predicate(child)}));
      case 2:
      case 3:
        return RandomProject(child);
      case 4:
        return shape_ == Shape::kTopK ? RandomSort(child) : Union({child, Make(depth - 1)});
      case 5:
        return shape_ == Shape::kSequences ? RandomLimit(child) : RandomSort(child);
      default:
        return shape_ == Shape::kBags ? RandomSort(child) : RandomLimit(child);
    }
  }

 private:
  int Below(int limit) { return std::uniform_int_distribution<int>(0, limit - 1)(random_); }
  bool Coin() { return Below(2) == 0; }

  /// Before optimization a scan gives the table's own order.
  PlanPtr OrderedScan() {
    plan::ScanRequest request;
    request.projection = {0, 1, 2, 3};
    request.ordered = true;
    return std::make_shared<plan::ScanNode>(std::make_shared<FakeSource>(Coin()), "t", std::move(request));
  }
  expr::ExprPtr AnyColumn(const PlanPtr& plan) {
    const int index = Below(4);
    return expr::MakeColumn(index, *plan->schema()->field(index));
  }
  expr::ExprPtr Value(const PlanPtr& plan) {
    switch (Below(4)) {
      case 0:
        return Call("+", {Number(Below(5)), Number(Below(5))});
      case 1:
        return Call("+", {AnyColumn(plan), Number(Below(5))});
      default:
        return AnyColumn(plan);
    }
  }
  expr::ExprPtr Predicate(const PlanPtr& plan) {
    if (Below(6) == 0) return Boolean(Coin());
    if (Below(4) == 0) return Call("is_not_null", {AnyColumn(plan)});
    return Call(Coin() ? "<" : "<>", {Value(plan), Value(plan)});
  }
  PlanPtr RandomProject(const PlanPtr& child) {
    const expr::ExprPtr first = shape_ == Shape::kTopK ? expr::MakeColumn(0, *child->schema()->field(0)) : Value(child);
    return Project(child, {first, Value(child), Value(child), AnyColumn(child)}, {"a", "b", "c", "d"});
  }
  PlanPtr RandomSort(const PlanPtr& child) {
    const expr::ExprPtr key = shape_ == Shape::kTopK ? expr::MakeColumn(0, *child->schema()->field(0)) : Value(child);
    return std::make_shared<plan::SortNode>(child, std::vector<plan::SortKey>{{key, Coin(), Coin()}}, std::nullopt);
  }
  PlanPtr RandomLimit(const PlanPtr& child) {
    const std::optional<int64_t> limit = Below(4) == 0 ? std::optional<int64_t>() : Below(20);
    return Limit(child, limit, Below(4));
  }

  const Shape shape_;
  std::mt19937 random_;
};

void ExpectSameRows(Shape shape, const PlanPtr& plan, const OptimizerOptions& options) {
  const auto optimized = Optimize(plan, options);
  ASSERT_TRUE(optimized.ok()) << optimized.status().ToString() << "\n" << plan::ExplainText(*plan);
  EXPECT_TRUE((*optimized)->schema()->Equals(*plan->schema())) << plan::ExplainText(*plan) << plan::ExplainText(**optimized);
  Rows expected = Run(*plan), actual = Run(**optimized);
  if (shape == Shape::kBags) {
    std::sort(expected.begin(), expected.end());
    std::sort(actual.begin(), actual.end());
  }
  EXPECT_TRUE(expected == actual) << expected.size() << " rows became " << actual.size() << "\n"
                                  << plan::ExplainText(*plan) << "became\n"
                                  << plan::ExplainText(**optimized);
}

class Equivalence : public testing::TestWithParam<Shape> {};

TEST_P(Equivalence, RandomPlansKeepTheirRows) {
  OptimizerOptions options;
  options.pool = arrow::default_memory_pool();
  for (uint32_t seed = 0; seed < 1500 && !HasFailure(); ++seed) {
    const PlanPtr plan = RandomPlans(GetParam(), seed).Make(1 + static_cast<int>(seed % 5));
    ExpectSameRows(GetParam(), plan, options);
    // Every rule is right without any one of the others.
    OptimizerOptions without = options;
    const auto names = RuleNames();
    without.disabled_rules.emplace(names[seed % names.size()]);
    // Without scan_order the scans of the plan keep the order they have.
    ExpectSameRows(GetParam(), plan, without);
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, Equivalence, testing::Values(Shape::kBags, Shape::kSequences, Shape::kTopK));

}  // namespace
}  // namespace icebound::optimizer
