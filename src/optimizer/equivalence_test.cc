// SPDX-License-Identifier: Apache-2.0
//
// Random plans over one table, run by a naive interpreter before and after the rules: the rows must be the same.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "optimizer/plan_interpreter_test.h"

namespace icebound::optimizer {
namespace {

using plan::PlanPtr;

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
  Rows expected = RunPlan(*plan), actual = RunPlan(**optimized);
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
