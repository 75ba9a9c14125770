// SPDX-License-Identifier: Apache-2.0
//
// What each rule makes of joins, aggregates and subqueries. That the rows stay the same is for join_equivalence_test.cc.
#include <gtest/gtest.h>

#include "optimizer/plan_builder_test.h"

namespace icebound::optimizer {
namespace {

using expr::JoinType;
using plan::PlanPtr;

const std::string kScan = "Scan: exact columns=[a, b, c, d]";  // NOLINT

expr::ExprPtr Equal(expr::ExprPtr left, expr::ExprPtr right) { return Call("=", {std::move(left), std::move(right)}); }
expr::ExprPtr Less(expr::ExprPtr left, int32_t right) { return Call("<", {std::move(left), Number(right)}); }

// --- decorrelation ------------------------------------------------------------------------------------------------------------

/// All rules off: decorrelation alone.
std::string Decorrelated(const PlanPtr& plan) { return After("no rule", plan); }

PlanPtr Correlated(const std::string& inner, const std::string& outer) {
  const PlanPtr scan = Exact();
  return Filter(scan, Call("and", {Equal(Column(scan, inner), Outer(outer)), Less(Column(scan, "d"), 5)}));
}

TEST(Decorrelation, EqualitiesBecomeKeys) {
  EXPECT_EQ(Decorrelated(Apply(Exact(), Correlated("b", "a"), JoinType::kLeftMark)),
            "LeftMarkJoin: on [a = b]\n"
            "  " +
                kScan +
                "\n"
                "  Filter: d < 5\n"
                "    " +
                kScan + "\n");
}

TEST(Decorrelation, WithoutReferencesItIsAJoin) {
  EXPECT_EQ(Decorrelated(Apply(Exact(), Exact(), JoinType::kLeftMarkNulls, {{"a", "b"}})),
            "LeftMarkNullsJoin: on [a = b]\n  " + kScan + "\n  " + kScan + "\n");
}

TEST(Decorrelation, GroupsWhatAnAggregateCompares) {
  const PlanPtr sum = Aggregate(Correlated("b", "a"), {}, {{"sum", "c"}, {"count", ""}});
  EXPECT_EQ(Decorrelated(Apply(Exact(), Pick(sum, {"sum"}), JoinType::kLeftSingle)),
            "Project: a, b, c, d, sum\n"
            "  LeftJoin: on [a = b]\n"
            "    " +
                kScan +
                "\n"
                "    Aggregate: groups=[b] aggregates=[sum(c), count(*)]\n"
                "      Filter: d < 5\n"
                "        " +
                kScan + "\n");
}

TEST(Decorrelation, ComputesAboveMissingGroups) {
  const PlanPtr aggregate = Aggregate(Correlated("b", "a"), {}, {{"count", ""}});
  const PlanPtr subquery = Project(aggregate, {Call("+", {Column(aggregate, "count"), Outer("c")})}, {"x"});
  const std::string text = Decorrelated(Apply(Exact(), subquery, JoinType::kLeftSingle));
  EXPECT_NE(text.find("coalesce(count, 0) + CAST(c AS bigint) AS x"), std::string::npos) << text;
}

TEST(Decorrelation, InWithNullsAsksTwice) {
  const std::string text = Decorrelated(Apply(Exact(), Correlated("b", "a"), JoinType::kLeftMarkNulls, {{"c", "c"}}));
  EXPECT_EQ(text.substr(0, text.find("    LeftMarkJoin: on [a = b, c = c]\n")),
            "Project: a, b, c, d, CASE WHEN mark THEN true WHEN mark THEN NULL ELSE false END AS mark\n"
            "  LeftMarkJoin: on [a = b] where c = c IS NULL\n");
}

TEST(Decorrelation, InWhereAsksOnce) {
  const PlanPtr apply = Apply(Exact(), Correlated("b", "a"), JoinType::kLeftMarkNulls, {{"c", "c"}});
  const std::string positive = Decorrelated(Filter(apply, ColumnAt(apply, 4)));
  EXPECT_EQ(positive.substr(0, positive.find("    Scan")), "Filter: mark\n  LeftMarkJoin: on [a = b, c = c]\n");
  const std::string negative = Decorrelated(Filter(apply, Call("not", {ColumnAt(apply, 4)})));
  EXPECT_EQ(negative.substr(0, negative.find("    Scan")),
            "Filter: NOT mark\n  LeftMarkJoin: on [a = b] where c = c IS NOT FALSE\n");
}

TEST(Decorrelation, ReachesTwoLevelsUp) {
  const PlanPtr scan = Exact();
  const PlanPtr inner =
      Filter(scan, Call("and", {Equal(Column(scan, "a"), Outer("b", 1)), Equal(Column(scan, "c"), Outer("d", 2))}));
  const PlanPtr middle = Apply(Exact(), inner, JoinType::kLeftSemi);
  EXPECT_EQ(Decorrelated(Apply(Exact(), middle, JoinType::kLeftSemi)).find("outer("), std::string::npos);
}

TEST(Decorrelation, OtherShapesGoOverTheDomain) {
  const PlanPtr scan = Exact();
  const PlanPtr both = Union({Correlated("b", "a"), scan});
  const std::string text = Decorrelated(Apply(Exact(), both, JoinType::kLeftMark));
  EXPECT_NE(text.find("LeftMarkJoin: on [a IS NOT DISTINCT FROM a]"), std::string::npos) << text;
  EXPECT_NE(text.find("Aggregate: groups=[a]"), std::string::npos) << text;
}

TEST(Decorrelation, SaysWhatItCannotDo) {
  EXPECT_NE(Decorrelated(Apply(Exact(), Limit(Correlated("b", "a"), 2), JoinType::kLeft)).find("LIMIT of more than one row"),
            std::string::npos);
  EXPECT_NE(Decorrelated(Apply(Exact(), Limit(Correlated("b", "a"), 1, 1), JoinType::kLeft)).find("OFFSET"), std::string::npos);
}

// --- semi_join ----------------------------------------------------------------------------------------------------------------

std::string FirstLines(const std::string& text, int count) {
  size_t end = 0;
  for (int i = 0; i < count; ++i) end = text.find('\n', end) + 1;
  return text.substr(0, end);
}

TEST(SemiJoin, MarksInWhere) {
  for (const bool nulls : {false, true}) {
    const PlanPtr join = Join(Exact(), Exact(), nulls ? JoinType::kLeftMarkNulls : JoinType::kLeftMark, {{"a", "b"}});
    EXPECT_EQ(FirstLines(After("semi_join", Filter(join, ColumnAt(join, 4))), 2),
              "Project: a, b, c, d, true AS mark\n  LeftSemiJoin: on [a = b]\n");
    EXPECT_EQ(FirstLines(After("semi_join", Filter(join, Call("not", {ColumnAt(join, 4)}))), 2),
              std::string("Project: a, b, c, d, false AS mark\n  LeftAnti") + (nulls ? "Nulls" : "") + "Join: on [a = b]\n");
    const expr::ExprPtr other = Call("or", {ColumnAt(join, 4), Less(ColumnAt(join, 0), 3)});
    EXPECT_EQ(FirstLines(After("semi_join", Filter(join, other)), 1), "Filter: mark OR a < 3\n");
  }
}

TEST(SemiJoin, SingleIsLeftWhereKeysAreUnique) {
  const PlanPtr grouped = Aggregate(Exact(), {"b"}, {{"sum", "c"}});
  EXPECT_EQ(FirstLines(After("semi_join", Join(Exact(), grouped, JoinType::kLeftSingle, {{"a", "b"}})), 1),
            "LeftJoin: on [a = b]\n");
  EXPECT_EQ(FirstLines(After("semi_join", Join(Exact(), Exact(), JoinType::kLeftSingle, {{"a", "b"}})), 1),
            "LeftSingleJoin: on [a = b]\n");
  EXPECT_EQ(FirstLines(After("semi_join", Join(Exact(), Aggregate(Exact(), {}, {{"count", ""}}), JoinType::kLeftSingle, {})), 1),
            "InnerJoin\n");
}

TEST(SemiJoin, OuterJoinsWhoseNullsAreRejected) {
  const auto over = [](JoinType type, int column) {
    const PlanPtr join = Join(Exact(), Exact(), type, {{"a", "b"}});
    const std::string text = After("semi_join", Filter(join, Less(ColumnAt(join, column), 3)));
    return text.substr(text.find('\n') + 3, text.find("Join") - text.find('\n') - 3);
  };
  EXPECT_EQ(over(JoinType::kLeft, 5), "Inner");
  EXPECT_EQ(over(JoinType::kLeft, 0), "Left");
  EXPECT_EQ(over(JoinType::kRight, 0), "Inner");
  EXPECT_EQ(over(JoinType::kRight, 5), "Right");
  EXPECT_EQ(over(JoinType::kFull, 0), "Left");
  EXPECT_EQ(over(JoinType::kFull, 5), "Right");
  const PlanPtr join = Join(Exact(), Exact(), JoinType::kLeft, {{"a", "b"}});
  EXPECT_EQ(FirstLines(After("semi_join", Filter(join, Less(Call("coalesce", {ColumnAt(join, 5), Number(0)}), 3))), 2),
            "Filter: coalesce(b, 0) < 3\n  LeftJoin: on [a = b]\n");
  // A key of a join above rejects them, too.
  EXPECT_EQ(
      After("semi_join", Join(Exact(), Project(join, {ColumnAt(join, 5)}, {"x"}), JoinType::kInner, {{"a", "x"}})).find("Left"),
      std::string::npos);
}

// --- filter_pushdown ----------------------------------------------------------------------------------------------------------

TEST(JoinFilters, BecomeKeysResidualsAndFiltersOfASide) {
  const PlanPtr join = Join(Exact(), Exact(), JoinType::kInner, {});
  const PlanPtr plan = Filter(join, Call("and", {Equal(ColumnAt(join, 0), ColumnAt(join, 5)), Less(ColumnAt(join, 1), 3),
                                                 Less(ColumnAt(join, 6), 4), Call("<", {ColumnAt(join, 2), ColumnAt(join, 7)})}));
  EXPECT_EQ(After("filter_pushdown", plan),
            "InnerJoin: on [a = b] where c < d\n  " + kScan + " filters=[b < 3]\n  " + kScan + " filters=[c < 4]\n");
}

TEST(JoinFilters, AreCopiedOverKeys) {
  const PlanPtr join = Join(Exact(), Exact(), JoinType::kInner, {{"a", "b"}});
  EXPECT_EQ(After("filter_pushdown", Filter(join, Equal(ColumnAt(join, 0), Number(3)))),
            "InnerJoin: on [a = b]\n  " + kScan + " filters=[a = 3]\n  " + kScan + " filters=[b = 3]\n");
  // A NULL on the right side decides NOT IN: nothing may go there.
  const PlanPtr anti = Join(Exact(), Exact(), JoinType::kLeftAntiNulls, {{"a", "b"}});
  EXPECT_EQ(After("filter_pushdown", Filter(anti, Equal(ColumnAt(anti, 0), Number(3)))),
            "LeftAntiNullsJoin: on [a = b]\n  " + kScan + " filters=[a = 3]\n  " + kScan + "\n");
}

TEST(JoinFilters, StayAboveTheNullsOfOuterJoins) {
  const PlanPtr left = Join(Exact(), Exact(), JoinType::kLeft, {{"a", "b"}}, nullptr);
  EXPECT_EQ(After("filter_pushdown", Filter(left, Call("and", {Less(ColumnAt(left, 0), 1), Less(ColumnAt(left, 6), 2)}))),
            "Filter: c < 2\n  LeftJoin: on [a = b]\n    " + kScan + " filters=[a < 1]\n    " + kScan + " filters=[b < 1]\n");
  const PlanPtr full = Join(Exact(), Exact(), JoinType::kFull, {{"a", "b"}});
  EXPECT_EQ(FirstLines(After("filter_pushdown", Filter(full, Less(ColumnAt(full, 0), 1))), 2),
            "Filter: a < 1\n  FullJoin: on [a = b]\n");
  const PlanPtr both = Join(Exact(), Exact(), JoinType::kInner, {});
  const PlanPtr on = Join(Exact(), Exact(), JoinType::kLeft, {{"a", "b"}},
                          Call("and", {Less(ColumnAt(both, 0), 1), Less(ColumnAt(both, 6), 2)}));
  EXPECT_EQ(After("filter_pushdown", on), "LeftJoin: on [a = b] where a < 1\n  " + kScan + "\n  " + kScan + " filters=[c < 2]\n");
}

TEST(JoinFilters, CommonFactorsAndImpliedOrs) {
  const PlanPtr join = Join(Exact(), Exact(), JoinType::kInner, {});
  const auto is = [&](int column, int value) { return Equal(ColumnAt(join, column), Number(value)); };
  const expr::ExprPtr key = Equal(ColumnAt(join, 0), ColumnAt(join, 4));
  const PlanPtr plan = Filter(join, Call("or", {Call("and", {key, is(1, 1), is(5, 2)}), Call("and", {is(1, 2), key, is(5, 1)})}));
  EXPECT_EQ(After("filter_pushdown", plan), "InnerJoin: on [a = a] where b = 1 AND b = 2 OR b = 2 AND b = 1\n  " + kScan +
                                                " filters=[b = 1 OR b = 2]\n  " + kScan + " filters=[b = 2 OR b = 1]\n");
}

TEST(JoinFilters, OverGroupsGoBelowAggregates) {
  const PlanPtr grouped = Aggregate(Exact(), {"b"}, {{"sum", "c"}});
  EXPECT_EQ(
      After("filter_pushdown", Filter(grouped, Call("and", {Less(Column(grouped, "b"), 1), Less(Column(grouped, "sum"), 9)}))),
      "Filter: sum < 9\n  Aggregate: groups=[b] aggregates=[sum(c)]\n    " + kScan + " filters=[b < 1]\n");
  const PlanPtr all = Aggregate(Exact(), {}, {{"count", ""}});
  const std::string kept = After("filter_pushdown", Filter(all, Call("is_null", {Call("+", {Number(1), Number(2)})})));
  EXPECT_EQ(FirstLines(kept, 2), "Filter: 1 + 2 IS NULL\n  Aggregate: aggregates=[count(*)]\n");
}

TEST(JoinFilters, GuardsStayBeforeWhatTheyGuard) {
  const PlanPtr join = Join(Exact(), Exact(), JoinType::kInner, {{"a", "a"}});
  const expr::ExprPtr guard = Call("<>", {ColumnAt(join, 1), ColumnAt(join, 5)});
  const expr::ExprPtr guarded = Call(">", {Call("/", {Number(1), Call("-", {ColumnAt(join, 1), Number(2)})}), Number(0)});
  EXPECT_EQ(FirstLines(After("filter_pushdown", Filter(join, Call("and", {guard, guarded}))), 1),
            "InnerJoin: on [a = a] where b <> b AND 1 / (b - 2) > 0\n");
}

// --- column_pruning -----------------------------------------------------------------------------------------------------------

TEST(JoinColumns, SidesKeepWhatIsUsed) {
  const PlanPtr scan = Exact();
  const PlanPtr join = Join(Filter(scan, Less(Column(scan, "d"), 1)), Exact(), JoinType::kInner, {{"a", "b"}});
  EXPECT_EQ(After("column_pruning", Project(join, {ColumnAt(join, 1), ColumnAt(join, 6)}, {"x", "y"})),
            "Project: b AS x, c AS y\n"
            "  InnerJoin: on [a = b]\n"
            "    Project: a, b\n"
            "      Filter: d < 1\n"
            "        Scan: exact columns=[a, b, d]\n"
            "    Scan: exact columns=[b, c]\n");
}

TEST(JoinColumns, WhatNobodyReadsIsNotComputed) {
  const PlanPtr mark = Join(Exact(), Exact(), JoinType::kLeftMark, {{"a", "b"}});
  EXPECT_EQ(After("column_pruning", Pick(mark, {"c"})), "Project: c\n  Scan: exact columns=[c]\n");
  const PlanPtr grouped = Aggregate(Exact(), {"b"}, {{"sum", "c"}, {"sum", "d"}});
  EXPECT_EQ(After("column_pruning", Project(grouped, {ColumnAt(grouped, 2)}, {"x"})),
            "Project: sum AS x\n  Aggregate: groups=[b] aggregates=[sum(d)]\n    Scan: exact columns=[b, d]\n");
  const PlanPtr left = Join(Exact(), grouped, JoinType::kLeft, {{"a", "b"}});
  EXPECT_EQ(After("column_pruning", Pick(left, {"c"})), "Project: c\n  Scan: exact columns=[c]\n");
  const PlanPtr all = Aggregate(Exact(), {}, {{"count", ""}});
  EXPECT_EQ(After("column_pruning", Project(all, {Number(1)}, {"x"})), "Project: 1 AS x\n  Values: 1 row\n");
}

// --- join_order, build_side ---------------------------------------------------------------------------------------------------

TEST(JoinOrder, StartsWithTheSmallTables) {
  // big joins middle and small by its own columns; the query wrote the cross product of the two others first.
  const PlanPtr small = Table("small", 10), middle = Table("middle", 1000), big = Table("big", 1'000'000);
  const PlanPtr cross = Join(small, middle, JoinType::kInner, {});
  const PlanPtr join = std::make_shared<plan::JoinNode>(
      cross, big, JoinType::kInner,
      expr::JoinCondition{{{ColumnAt(cross, 0), ColumnAt(big, 1), false}, {ColumnAt(cross, 4), ColumnAt(big, 2), false}},
                          nullptr});
  EXPECT_EQ(After("join_order", join),
            "Project: a, b, c, d, a, b, c, d, a, b, c, d\n"
            "  InnerJoin: on [a = c]\n"
            "    Scan: middle columns=[a, b, c, d]\n"
            "    InnerJoin: on [b = a]\n"
            "      Scan: big columns=[a, b, c, d]\n"
            "      Scan: small columns=[a, b, c, d]\n");
}

TEST(JoinOrder, UsesKeysThatFollowFromOthers) {
  // first.a = second.b and second.b = third.a: first and third meet on a.
  const PlanPtr first = Table("first", 10), second = Table("second", 1'000'000), third = Table("third", 20);
  const PlanPtr one = Join(first, second, JoinType::kInner, {{"a", "b"}});
  const PlanPtr two = std::make_shared<plan::JoinNode>(
      one, third, JoinType::kInner, expr::JoinCondition{{{ColumnAt(one, 5), ColumnAt(third, 0), false}}, nullptr});
  const std::string text = After("join_order", two);
  EXPECT_NE(text.find("InnerJoin: on [a = a]"), std::string::npos) << text;
}

TEST(JoinOrder, SemiJoinsComeWhereTheyAreCheap) {
  // A semi join that keeps little goes below a join that only adds rows.
  const PlanPtr orders = Table("orders", 100'000), lines = Table("lines", 400'000);
  const PlanPtr wanted = Table("wanted", 10);
  const PlanPtr join = Join(lines, orders, JoinType::kInner, {{"b", "a"}});
  const PlanPtr semi = std::make_shared<plan::JoinNode>(
      join, wanted, JoinType::kLeftSemi, expr::JoinCondition{{{ColumnAt(join, 4), ColumnAt(wanted, 0), false}}, nullptr});
  EXPECT_EQ(After("join_order", semi),
            "InnerJoin: on [b = a]\n"
            "  Scan: lines columns=[a, b, c, d]\n"
            "  LeftSemiJoin: on [a = a]\n"
            "    Scan: orders columns=[a, b, c, d]\n"
            "    Scan: wanted columns=[a, b, c, d]\n");
}

TEST(JoinOrder, ManyRelationsAreOrderedGreedily) {
  PlanPtr plan = Table("t0", 1000);
  for (int i = 1; i < 14; ++i) {
    const PlanPtr next = Table("t" + std::to_string(i), 1000 + 10 * i);
    plan = std::make_shared<plan::JoinNode>(
        plan, next, JoinType::kInner, expr::JoinCondition{{{ColumnAt(plan, 4 * (i - 1)), ColumnAt(next, 0), false}}, nullptr});
  }
  const std::string text = After("join_order", plan);
  EXPECT_EQ(text.find("InnerJoin\n"), std::string::npos) << "a cross product:\n" << text;
  EXPECT_EQ(text, After("join_order", plan));
}

TEST(BuildSide, IsTheSmallerOne) {
  const PlanPtr small = Table("small", 10), big = Table("big", 1000);
  EXPECT_EQ(FirstLines(After("build_side", Join(small, big, JoinType::kLeftAnti, {{"a", "a"}})), 1),
            "LeftAntiJoin: on [a = a] build=left\n");
  EXPECT_EQ(FirstLines(After("build_side", Join(big, small, JoinType::kLeftAnti, {{"a", "a"}})), 1),
            "LeftAntiJoin: on [a = a]\n");
}

TEST(SemiJoinReduction, AsksTheFilteredTableFirst) {
  const PlanPtr part = Table("part", 1000), lines = Table("lines", 1'000'000);
  const PlanPtr chosen = Filter(part, Equal(Column(part, "b"), Number(1)));
  const PlanPtr join = Join(Aggregate(lines, {"b"}, {{"sum", "c"}}), chosen, JoinType::kInner, {{"b", "a"}});
  EXPECT_EQ(After("semi_join_reduction", join),
            "InnerJoin: on [b = a]\n"
            "  Aggregate: groups=[b] aggregates=[sum(c)]\n"
            "    LeftSemiJoin: on [b = a]\n"
            "      Scan: lines columns=[a, b, c, d]\n"
            "      Project: a\n"
            "        Filter: b = 1\n"
            "          Scan: part columns=[a, b, c, d]\n"
            "  Filter: b = 1\n"
            "    Scan: part columns=[a, b, c, d]\n");
  const PlanPtr all = Join(Aggregate(lines, {"b"}, {{"sum", "c"}}), part, JoinType::kInner, {{"b", "a"}});
  EXPECT_EQ(After("semi_join_reduction", all).find("Semi"), std::string::npos) << "all of the table";
}

// --- the others ---------------------------------------------------------------------------------------------------------------

TEST(JoinSorts, NobodySeesTheOrderBelowJoinsAndAggregates) {
  EXPECT_EQ(After("redundant_sort", Join(Sort(Exact(), "a"), Sort(Exact(), "b"), JoinType::kInner, {{"a", "b"}})),
            "InnerJoin: on [a = b]\n  " + kScan + "\n  " + kScan + "\n");
  EXPECT_EQ(After("redundant_sort", Aggregate(Sort(Exact(), "a"), {"b"}, {{"sum", "c"}})).find("Sort"), std::string::npos);
  EXPECT_NE(After("redundant_sort", Aggregate(Sort(Exact(), "a"), {"b"}, {{"array_agg", "c"}})).find("Sort"), std::string::npos);
}

TEST(JoinSorts, ScansBelowJoinsNeedNoOrder) {
  EXPECT_EQ(
      After("scan_order", Join(Exact(), Aggregate(Exact(), {"b"}, {{"array_agg", "c"}}), JoinType::kLeft, {{"a", "b"}})),
      "LeftJoin: on [a = b]\n  " + kScan + "\n  Aggregate: groups=[b] aggregates=[array_agg(c)]\n    " + kScan + " ordered\n");
}

TEST(JoinLimits, ReachTheSideWhoseRowsAllComeOut) {
  EXPECT_EQ(After("limit_pushdown", Limit(Join(Exact(), Exact(), JoinType::kLeft, {{"a", "b"}}), 3)),
            "Limit: 3\n  LeftJoin: on [a = b]\n    Limit: 3\n      " + kScan + " limit=3\n    " + kScan + "\n");
  EXPECT_EQ(After("limit_pushdown", Limit(Join(Exact(), Exact(), JoinType::kInner, {{"a", "b"}}), 3)),
            "Limit: 3\n  InnerJoin: on [a = b]\n    " + kScan + "\n    " + kScan + "\n");
}

TEST(JoinConstants, EmptyInputsEmptyTheJoin) {
  const PlanPtr none = Filter(Exact(), Boolean(false));
  EXPECT_EQ(After("constant_folding", Join(Exact(), none, JoinType::kInner, {{"a", "b"}})), "Values: 0 rows\n");
  EXPECT_EQ(FirstLines(After("constant_folding", Join(Exact(), none, JoinType::kLeft, {{"a", "b"}})), 1),
            "LeftJoin: on [a = b]\n");
  EXPECT_EQ(After("constant_folding", Aggregate(none, {"b"}, {{"sum", "c"}})), "Values: 0 rows\n");
  EXPECT_EQ(FirstLines(After("constant_folding", Aggregate(none, {}, {{"sum", "c"}})), 1), "Aggregate: aggregates=[sum(c)]\n");
}

TEST(JoinConstants, DatesAreComparedAsDates) {
  const auto schema = arrow::schema({arrow::field("day", arrow::date32())});
  const PlanPtr dates = std::make_shared<plan::ValuesNode>(
      schema, std::vector<std::vector<expr::ExprPtr>>{{expr::MakeLiteral(std::make_shared<arrow::Date32Scalar>(10))}});
  const auto type = arrow::timestamp(arrow::TimeUnit::MICRO);
  const auto text = [&](std::string_view name, int64_t microseconds) {
    const expr::ExprPtr cast = expr::MakeCast(Column(dates, "day"), type).ValueOrDie();
    const expr::ExprPtr instant = expr::MakeLiteral(std::make_shared<arrow::TimestampScalar>(microseconds, type));
    const std::string plan = After("constant_folding", Filter(dates, Call(name, {cast, instant})));
    return plan.substr(0, plan.find('\n'));
  };
  constexpr int64_t kDay = 86'400'000'000;
  EXPECT_EQ(text("<", 2 * kDay), "Filter: day < DATE '1970-01-03'");
  EXPECT_EQ(text("<", 2 * kDay + 1), "Filter: day < DATE '1970-01-04'");
  EXPECT_EQ(text("<=", 2 * kDay + 1), "Filter: day <= DATE '1970-01-03'");
  EXPECT_EQ(text(">", -1), "Filter: day > DATE '1969-12-31'");
  EXPECT_EQ(text(">=", 1), "Filter: day >= DATE '1970-01-02'");
  EXPECT_EQ(text("=", kDay), "Filter: day = DATE '1970-01-02'");
  EXPECT_NE(text("=", kDay + 1).find("CAST"), std::string::npos);
}

}  // namespace
}  // namespace icebound::optimizer
