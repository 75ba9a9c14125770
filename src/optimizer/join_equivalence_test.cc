// SPDX-License-Identifier: Apache-2.0
//
// Random plans of joins, aggregates, set operations and correlated subqueries, run by a naive interpreter before and after the
// rules: the rows must be the same, whichever rules are off. Order does not count.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "optimizer/plan_interpreter_test.h"

namespace icebound::optimizer {
namespace {

using expr::ExprPtr;
using expr::JoinType;
using plan::PlanPtr;

constexpr int kColumns = 4;  // of every plan made here: a, b, c, d, all integers

/// `levels`, below: how many queries are around a plan, whose columns it may use.
class RandomQueries {
 public:
  explicit RandomQueries(uint32_t seed) : random_(seed) {}

  PlanPtr Make(int depth, int levels = 0) {
    if (depth == 0) return Leaf(levels);
    switch (Below(12)) {
      case 0:
      case 1: {
        const PlanPtr child = Make(depth - 1, levels);
        return Filter(child,
                      Coin() ? Predicate(child, levels) : Call("and", {Predicate(child, levels), Predicate(child, levels)}));
      }
      case 2:
        return FourColumns(Make(depth - 1, levels), levels);
      case 3:
        return Coin() ? Union({Make(depth - 1, levels), Make(Below(depth), levels)}) : RandomSetOperation(depth, levels);
      case 4:
      case 5:
        return RandomAggregate(Make(depth - 1, levels), levels);
      case 6:
      case 7:
      case 8:
        return RandomJoin(depth, levels);
      default:
        return RandomApply(depth, levels);
    }
  }

 private:
  int Below(int limit) { return std::uniform_int_distribution<int>(0, limit - 1)(random_); }
  bool Coin() { return Below(2) == 0; }

  PlanPtr Leaf(int levels) {
    if (levels > 0 && Below(6) == 0) {
      std::vector<std::vector<ExprPtr>> rows(static_cast<size_t>(1 + Below(2)));
      for (auto& row : rows) {
        for (int i = 0; i < kColumns; ++i) row.push_back(Coin() ? Outer(levels) : Number(Below(4)));
      }
      return std::make_shared<plan::ValuesNode>(FakeSource(true).schema(), std::move(rows));
    }
    plan::ScanRequest request;
    request.projection = {0, 1, 2, 3};
    request.ordered = true;
    return std::make_shared<plan::ScanNode>(std::make_shared<FakeSource>(Coin()), Below(4) == 0 ? "t" : "s", std::move(request));
  }

  ExprPtr AnyColumn(const PlanPtr& plan) {
    int index = 0;
    do {
      index = Below(plan->schema()->num_fields());
    } while (plan->schema()->field(index)->type()->id() == arrow::Type::BOOL);
    const auto& field = *plan->schema()->field(index);
    const ExprPtr column = expr::MakeColumn(index, field);
    return expr::MakeCast(column, arrow::int32()).ValueOrDie();
  }
  ExprPtr Outer(int levels) {
    const int index = Below(kColumns);
    return std::make_shared<expr::OuterColumnExpr>(1 + Below(levels), index, std::string(1, static_cast<char>('a' + index)),
                                                   arrow::int32());
  }
  ExprPtr Value(const PlanPtr& plan, int levels) {
    if (levels > 0 && Below(4) == 0) return Outer(levels);
    switch (Below(6)) {
      case 0:
        return Call("+", {AnyColumn(plan), Number(Below(3))});
      case 1:
        return Call("coalesce", {AnyColumn(plan), Number(Below(3))});
      case 2:
        return Number(Below(4));
      default:
        return AnyColumn(plan);
    }
  }
  ExprPtr Comparison(const PlanPtr& plan, int levels) {
    static constexpr const char* kNames[] = {"=", "=", "=", "<", "<>", "is_not_distinct_from"};
    return Call(kNames[Below(6)], {Value(plan, levels), Value(plan, levels)});
  }
  ExprPtr Predicate(const PlanPtr& plan, int levels) {
    switch (Below(8)) {
      case 0:
        return Call(Coin() ? "is_not_null" : "is_null", {AnyColumn(plan)});
      case 1:
        return Call("not", {Comparison(plan, levels)});
      case 2: {
        const ExprPtr common = Comparison(plan, levels);
        return Call("or", {Call("and", {common, Comparison(plan, levels)}), Call("and", {Comparison(plan, levels), common})});
      }
      case 3:
        return Call("or", {Call("and", {Comparison(plan, levels), Comparison(plan, levels)}), Comparison(plan, levels)});
      default:
        return Comparison(plan, levels);
    }
  }

  PlanPtr FourColumns(const PlanPtr& child, int levels) {
    std::vector<ExprPtr> exprs;
    for (int i = 0; i < kColumns; ++i) exprs.push_back(Below(3) == 0 ? Value(child, levels) : AnyColumn(child));
    return Project(child, std::move(exprs), {"a", "b", "c", "d"});
  }

  PlanPtr RandomSetOperation(int depth, int levels) {
    using enum plan::SetOperation;
    static constexpr plan::SetOperation kAll[] = {kIntersect, kIntersectAll, kExcept, kExceptAll};
    PlanPtr left = Make(depth - 1, levels);
    return std::make_shared<plan::SetOperationNode>(std::move(left), Make(Below(depth), levels), kAll[Below(4)]);
  }

  PlanPtr Aggregate(const PlanPtr& child, int groups, int levels) {
    std::vector<ExprPtr> exprs;
    std::vector<std::string> names;
    for (int i = 0; i < groups; ++i) {
      exprs.push_back(Below(4) == 0 ? Value(child, levels) : AnyColumn(child));
      names.push_back("g" + std::to_string(i));
    }
    static constexpr const char* kNames[] = {"count", "sum", "min", "max", "count"};
    std::vector<expr::AggregateCall> calls;
    for (int i = Below(3); i >= 0; --i) {
      const int name = Below(5);
      const bool star = name == 4;
      calls.push_back(
          expr::MakeAggregate(kNames[name], star ? std::vector<ExprPtr>() : std::vector<ExprPtr>{Value(child, levels)}, star, {})
              .ValueOrDie());
      calls.back().distinct = !star && Below(4) == 0;
      if (Below(5) == 0) calls.back().filter = Predicate(child, levels);
      names.push_back("x" + std::to_string(calls.size()));
    }
    if (groups > 0 && Below(3) == 0) {  // DISTINCT
      calls.clear();
      names.resize(exprs.size());
    }
    return std::make_shared<plan::AggregateNode>(child, std::move(exprs), std::move(calls), std::move(names));
  }
  PlanPtr RandomAggregate(const PlanPtr& child, int levels) {
    PlanPtr plan = Aggregate(child, Below(3), levels);
    if (Coin()) plan = Filter(plan, Predicate(plan, levels));
    return FourColumns(plan, levels);
  }

  /// What join operators take: keys over one side each, and nothing but a key where NULLs are asked for.
  expr::JoinCondition Condition(const PlanPtr& left, const PlanPtr& right, JoinType type, int levels) {
    expr::JoinCondition condition;
    const bool nulls = type == JoinType::kLeftAntiNulls || type == JoinType::kLeftMarkNulls;
    for (int i = nulls ? 1 : Below(3); i > 0; --i) {
      condition.keys.push_back({Value(left, levels), Value(right, levels), !nulls && Below(6) == 0});
    }
    if (nulls || Coin()) return condition;
    const PlanPtr both = std::make_shared<plan::JoinNode>(left, right, JoinType::kInner, expr::JoinCondition{});
    condition.residual = Predicate(both, levels);
    return condition;
  }

  /// A filter that likes marks, and four columns.
  PlanPtr Above(PlanPtr plan, int levels) {
    const auto& last = plan->schema()->fields().back();
    ExprPtr mark;
    if (last->type()->id() == arrow::Type::BOOL) mark = expr::MakeColumn(plan->schema()->num_fields() - 1, *last);
    if (mark != nullptr) {
      switch (Below(4)) {
        case 0:
          plan = Filter(plan, Call("and", {Predicate(plan, levels), mark}));
          break;
        case 1:
          plan = Filter(plan, Call("not", {mark}));
          break;
        case 2:
          plan = Filter(plan, Call("or", {mark, Predicate(plan, levels)}));
          break;
        default: {
          ExprPtr number = expr::MakeCase({mark, Call("is_null", {mark})}, {Number(1), Number(7)}, Number(0)).ValueOrDie();
          return Project(plan, {std::move(number), AnyColumn(plan), AnyColumn(plan), AnyColumn(plan)}, {"a", "b", "c", "d"});
        }
      }
    } else if (Coin()) {
      plan = Filter(plan, Predicate(plan, levels));
    }
    return FourColumns(plan, levels);
  }

  PlanPtr RandomJoin(int depth, int levels) {
    using enum JoinType;
    static constexpr JoinType kTypes[] = {kInner,    kInner,    kInner,         kLeft,     kRight,         kFull,
                                          kLeftSemi, kLeftAnti, kLeftAntiNulls, kLeftMark, kLeftMarkNulls, kLeftSingle};
    const JoinType type = kTypes[Below(12)];
    const PlanPtr left = Make(depth - 1, levels);
    PlanPtr right = Make(Below(depth), levels);
    if (type == kLeftSingle) right = OneRow(right, levels);
    expr::JoinCondition condition = Condition(left, right, type, levels);
    return Above(std::make_shared<plan::JoinNode>(left, right, type, std::move(condition)), levels);
  }

  PlanPtr RandomApply(int depth, int levels) {
    using enum JoinType;
    static constexpr JoinType kTypes[] = {kInner,         kLeft,          kLeftSemi,   kLeftAnti,   kLeftMark,
                                          kLeftMarkNulls, kLeftMarkNulls, kLeftSingle, kLeftSingle, kLeftSingle};
    const JoinType type = kTypes[Below(10)];
    const PlanPtr left = Make(Below(depth), levels);
    PlanPtr right = Make(depth - 1, levels + 1);
    if (Coin()) right = Filter(right, Call("=", {AnyColumn(right), Outer(levels + 1)}));
    // A subquery inside another may be evaluated for more rows than it is asked for: it must not fail.
    if (type == kLeftSingle && (levels > 0 || Below(4) > 0)) {
      right = OneRow(right, levels + 1);
      if (Below(4) == 0) right = Filter(right, Predicate(right, levels + 1));
    }
    expr::JoinCondition condition;
    if (type != kLeftSingle) condition = Condition(left, right, type, levels);
    return Above(std::make_shared<plan::ApplyNode>(left, right, type, std::move(condition)), levels);
  }

  PlanPtr OneRow(const PlanPtr& child, int levels) {
    return Below(3) == 0 ? LimitOne(child, levels) : FourColumns(Aggregate(child, 0, levels), levels);
  }

  PlanPtr LimitOne(const PlanPtr& child, int levels) {
    std::vector<plan::SortKey> keys = {{Value(child, levels), Coin(), Coin()}};
    for (int i = 0; i < kColumns; ++i) keys.push_back({expr::MakeColumn(i, *child->schema()->field(i)), false, false});
    return Limit(std::make_shared<plan::SortNode>(child, std::move(keys), std::nullopt), 1);
  }

  std::mt19937 random_;
};

Rows Sorted(Rows rows) {
  std::sort(rows.begin(), rows.end());
  return rows;
}

bool HasApply(const plan::LogicalPlan& plan) {
  return plan.kind() == plan::PlanKind::kApply ||
         std::any_of(plan.children().begin(), plan.children().end(), [](const PlanPtr& child) { return HasApply(*child); });
}

void ExpectSameRows(const PlanPtr& plan, const Rows& expected, const OptimizerOptions& options) {
  const auto optimized = Optimize(plan, options);
  ASSERT_TRUE(optimized.ok()) << optimized.status().ToString() << "\n" << plan::ExplainText(*plan);
  EXPECT_EQ((*optimized)->schema()->field_names(), plan->schema()->field_names());
  EXPECT_FALSE(HasApply(**optimized)) << plan::ExplainText(**optimized);
  Rows actual;
  try {
    actual = Sorted(RunPlan(**optimized));
  } catch (const RunError& error) {
    ADD_FAILURE() << error.what() << "\n" << plan::ExplainText(*plan) << "became\n" << plan::ExplainText(**optimized);
    return;
  }
  EXPECT_TRUE(expected == actual) << expected.size() << " rows became " << actual.size() << "\n"
                                  << plan::ExplainText(*plan) << "became\n"
                                  << plan::ExplainText(**optimized);
}

TEST(JoinEquivalence, RandomQueriesKeepTheirRows) {
  OptimizerOptions options;
  options.pool = arrow::default_memory_pool();
  const auto names = RuleNames();
  // Other plans: --gtest_shuffle --gtest_random_seed=N.
  const auto first = static_cast<uint32_t>(testing::UnitTest::GetInstance()->random_seed()) * 1000;
  int compared = 0;
  for (uint32_t seed = first; seed < first + 1000 && !HasFailure(); ++seed) {
    const PlanPtr plan = RandomQueries(seed).Make(1 + static_cast<int>(seed % 4));
    Rows expected;
    try {
      expected = Sorted(RunPlan(*plan));
    } catch (const RunError&) {
      continue;
    }
    ++compared;
    SCOPED_TRACE(seed);
    ExpectSameRows(plan, expected, options);
    // Every rule is right without any one of the others, and alone; decorrelation without all of them.
    OptimizerOptions without = options;
    without.disabled_rules.emplace(names[seed % names.size()]);
    ExpectSameRows(plan, expected, without);
    without.disabled_rules = {names.begin(), names.end()};
    ExpectSameRows(plan, expected, without);
    without.disabled_rules.erase(std::string(names[seed % names.size()]));
    ExpectSameRows(plan, expected, without);
  }
  EXPECT_GT(compared, 700);
}

}  // namespace
}  // namespace icebound::optimizer
