// SPDX-License-Identifier: Apache-2.0
#include "optimizer/optimizer.h"

#include <gtest/gtest.h>

#include "optimizer/plan_builder_test.h"

namespace icebound::optimizer {
namespace {

using plan::PlanPtr;

TEST(Optimizer, RulesHaveNamesAndCanBeOff) {
  EXPECT_EQ(RuleNames(), (std::vector<std::string_view>{"constant_folding", "redundant_sort", "merge_projections",
                                                        "filter_pushdown", "semi_join", "column_pruning", "join_order",
                                                        "semi_join_reduction", "limit_pushdown", "build_side", "scan_order"}));
  OptimizerOptions options;
  options.pool = arrow::default_memory_pool();
  const PlanPtr plan = Filter(Exact(), Boolean(true));
  EXPECT_EQ(Optimize(plan, options).ValueOrDie()->kind(), plan::PlanKind::kScan);
  for (std::string_view name : RuleNames()) options.disabled_rules.emplace(name);
  EXPECT_EQ(Optimize(plan, options).ValueOrDie(), plan);
  options.disabled_rules = {"no_such_rule"};
  EXPECT_EQ(Optimize(plan, options).status().message(), "there is no optimizer rule \"no_such_rule\"");
  EXPECT_EQ(GetErrorKind(Optimize(plan, {}).status()), ErrorKind::kInternal) << "no pool";
}

TEST(Optimizer, AllRulesTogether) {
  // SELECT a, b + 1 FROM t WHERE c = 2 ORDER BY a LIMIT 10 OFFSET 5, as the binder makes it.
  const PlanPtr scan = Exact();
  const PlanPtr filtered = Filter(scan, Call("=", {Column(scan, "c"), Call("+", {Number(1), Number(1)})}));
  const PlanPtr project = Project(filtered, {Column(scan, "a"), Call("+", {Column(scan, "b"), Number(1)})}, {"a", "x"});
  EXPECT_EQ(After("", Limit(Sort(project, "a"), 10, 5)),
            "Limit: 10 offset=5\n"
            "  Sort: a ASC NULLS LAST fetch=15\n"
            "    Project: a, b + 1 AS x\n"
            "      Scan: exact columns=[a, b, c] filters=[c = 2]\n");
}

TEST(Optimizer, FiltersStayAboveSourcesThatOnlyTakeHints) {
  const PlanPtr scan = Hints();
  EXPECT_EQ(After("", Pick(Filter(scan, Call("<", {Column(scan, "b"), Number(7)})), {"a"})),
            "Project: a\n  Filter: b < 7\n    Scan: hints columns=[a, b] filters=[b < 7] ordered\n");
}

// --- constant_folding
// -----------------------------------------------------------------------------------------------------------

TEST(ConstantFolding, ComputesOverLiterals) {
  const PlanPtr scan = Exact();
  EXPECT_EQ(After("constant_folding", Project(scan,
                                              {Call("+", {Number(1), Call("*", {Number(2), Number(3)})}),
                                               Call("+", {Column(scan, "a"), Call("-", {Number(5), Number(2)})})},
                                              {"x", "y"})),
            "Project: 7 AS x, a + 3 AS y\n  Scan: exact columns=[a, b, c, d]\n");
}

TEST(ConstantFolding, LeavesFailingAndVolatileExpressions) {
  const PlanPtr scan = Exact();
  EXPECT_EQ(After("constant_folding", Project(scan, {Call("/", {Number(1), Number(0)}), Call("random", {})}, {"x", "y"})),
            "Project: 1 / 0 AS x, random() AS y\n  Scan: exact columns=[a, b, c, d]\n");
}

TEST(ConstantFolding, FixesTheTimeOfTheStatement) {
  OptimizerOptions options;
  options.pool = arrow::default_memory_pool();
  options.statement_time_us = 86'400'000'000;
  const auto plan = Optimize(Project(OneRow(), {Call("now", {})}, {"x"}), options).ValueOrDie();
  EXPECT_NE(plan::ExplainText(*plan).find("1970-01-02 00:00:00"), std::string::npos) << plan::ExplainText(*plan);
}

TEST(ConstantFolding, SimplifiesConditions) {
  const PlanPtr scan = Exact();
  const auto less = [&](const char* name) { return Call("<", {Column(scan, name), Number(1)}); };
  const auto after = [&](expr::ExprPtr predicate) { return After("constant_folding", Filter(scan, std::move(predicate))); };
  const std::string all_columns = "Scan: exact columns=[a, b, c, d]\n";
  EXPECT_EQ(after(Call("and", {Boolean(true), less("a")})), "Filter: a < 1\n  " + all_columns);
  EXPECT_EQ(after(Call("or", {less("a"), Boolean(false), less("b")})), "Filter: a < 1 OR b < 1\n  " + all_columns);
  EXPECT_EQ(after(Call("or", {less("a"), Boolean(true)})), all_columns);
  EXPECT_EQ(after(Boolean(true)), all_columns);
  EXPECT_EQ(after(Call("and", {less("a"), Boolean(false)})), "Values: 0 rows\n");
  EXPECT_EQ(after(expr::MakeLiteral(arrow::MakeNullScalar(arrow::boolean()))), "Values: 0 rows\n");
  EXPECT_EQ(after(Call("<", {Number(2), Number(1)})), "Values: 0 rows\n");
  // NULL is not false where the value itself is wanted.
  const expr::ExprPtr null = expr::MakeLiteral(arrow::MakeNullScalar(arrow::boolean()));
  EXPECT_EQ(After("constant_folding", Project(scan, {Call("and", {less("a"), null})}, {"x"})),
            "Project: a < 1 AND NULL AS x\n  " + all_columns);
}

// --- redundant_sort
// -------------------------------------------------------------------------------------------------------------

TEST(RedundantSort, DropsSortsBelowSorts) {
  const PlanPtr inner = Filter(Sort(Exact(), "b"), Boolean(true));
  EXPECT_EQ(After("redundant_sort", Sort(inner, "a")),
            "Sort: a ASC NULLS LAST\n  Filter: true\n    Scan: exact columns=[a, b, c, d]\n");
}

TEST(RedundantSort, KeepsSortsThatChooseRows) {
  const std::string top_k = After("redundant_sort", Sort(Sort(Exact(), "b", 5), "a"));
  EXPECT_NE(top_k.find("Sort: b"), std::string::npos) << top_k;
  const std::string limited = After("redundant_sort", Sort(Limit(Sort(Exact(), "b"), 5), "a"));
  EXPECT_NE(limited.find("Sort: b"), std::string::npos) << limited;
}

// --- merge_projections
// ----------------------------------------------------------------------------------------------------------

TEST(MergeProjections, JoinsNeighbours) {
  const PlanPtr scan = Exact();
  const PlanPtr inner = Project(scan, {Call("+", {Column(scan, "a"), Number(1)}), Column(scan, "b")}, {"x", "y"});
  EXPECT_EQ(
      After("merge_projections", Project(inner, {Column(inner, "y"), Call("*", {Column(inner, "x"), Number(2)})}, {"y", "z"})),
      "Project: b AS y, (a + 1) * 2 AS z\n  Scan: exact columns=[a, b, c, d]\n");
}

TEST(MergeProjections, ComputesNothingTwice) {
  const PlanPtr scan = Exact();
  const PlanPtr inner = Project(scan, {Call("+", {Column(scan, "a"), Number(1)}), Call("random", {})}, {"x", "r"});
  const std::string twice =
      After("merge_projections", Project(inner, {Column(inner, "x"), Call("-", {Column(inner, "x"), Number(2)})}, {"x", "y"}));
  EXPECT_NE(twice.find("a + 1 AS x"), std::string::npos) << twice;
  EXPECT_NE(twice.find("x - 2 AS y"), std::string::npos) << twice;
  const std::string random = After("merge_projections", Project(inner, {Column(inner, "r")}, {"q"}));
  EXPECT_NE(random.find("Project: r AS q"), std::string::npos) << random;
}

TEST(MergeProjections, DropsWhatChangesNothing) {
  const PlanPtr sort = Sort(Exact(), "a");
  EXPECT_EQ(After("merge_projections", Pick(sort, {"a", "b", "c", "d"})),
            "Sort: a ASC NULLS LAST\n  Scan: exact columns=[a, b, c, d]\n");
  EXPECT_NE(After("merge_projections", Project(sort, {Column(sort, "a"), Column(sort, "b"), Column(sort, "c"), Column(sort, "d")},
                                               {"a", "b", "c", "renamed"}))
                .find("renamed"),
            std::string::npos);
}

TEST(MergeProjections, PicksColumnsInTheScan) {
  EXPECT_EQ(After("merge_projections", Pick(Exact(), {"c", "a"})), "Scan: exact columns=[c, a]\n");
  const PlanPtr scan = Exact();
  EXPECT_EQ(After("merge_projections", Project(scan, {Column(scan, "a"), Column(scan, "a")}, {"a", "a"})),
            "Project: a, a\n  Scan: exact columns=[a, b, c, d]\n")
      << "a scan gives each column once";
  // A filter in the scan keeps its column, so the projection must stay.
  EXPECT_EQ(After("", Pick(Filter(scan, Call("<", {Column(scan, "b"), Number(1)})), {"c", "a"})),
            "Project: c, a\n  Scan: exact columns=[a, b, c] filters=[b < 1] ordered\n");
  EXPECT_EQ(After("", Pick(Filter(scan, Call("<", {Column(scan, "a"), Number(1)})), {"c", "a"})),
            "Scan: exact columns=[c, a] filters=[a < 1] ordered\n");
}

TEST(MergeProjections, LiteralsOverOneRowAreValues) {
  EXPECT_EQ(After("merge_projections", Project(OneRow(), {Number(1), Boolean(true)}, {"x", "y"})), "Values: 1 row: (1, true)\n");
  EXPECT_EQ(After("merge_projections", Project(OneRow(), {Call("random", {})}, {"x"})),
            "Project: random() AS x\n  Values: 1 row\n");
}

// --- filter_pushdown
// ------------------------------------------------------------------------------------------------------------

TEST(FilterPushdown, SinksThroughProjectSortAndUnion) {
  const PlanPtr scan = Exact();
  const PlanPtr project = Project(scan, {Call("+", {Column(scan, "a"), Number(1)}), Column(scan, "b")}, {"x", "y"});
  const PlanPtr plan =
      Filter(Sort(Union({project, project}), "y"),
             Call("and", {Call("<", {Column(project, "x"), Number(5)}), Call("=", {Column(project, "y"), Number(6)})}));
  EXPECT_EQ(After("filter_pushdown", plan),
            "Sort: y ASC NULLS LAST\n"
            "  UnionAll\n"
            "    Project: a + 1 AS x, b AS y\n"
            "      Scan: exact columns=[a, b, c, d] filters=[a + 1 < 5, b = 6]\n"
            "    Project: a + 1 AS x, b AS y\n"
            "      Scan: exact columns=[a, b, c, d] filters=[a + 1 < 5, b = 6]\n");
}

TEST(FilterPushdown, StopsAboveLimitsAndTopK) {
  const PlanPtr scan = Exact();
  const expr::ExprPtr predicate = Call("<", {Column(scan, "a"), Number(5)});
  EXPECT_EQ(After("filter_pushdown", Filter(Limit(scan, 3), predicate)),
            "Filter: a < 5\n  Limit: 3\n    Scan: exact columns=[a, b, c, d]\n");
  EXPECT_EQ(After("filter_pushdown", Filter(Sort(scan, "a", 3), predicate)),
            "Filter: a < 5\n  Sort: a ASC NULLS LAST fetch=3\n    Scan: exact columns=[a, b, c, d]\n");
}

TEST(FilterPushdown, KeepsTheOrderOfGuards) {
  const PlanPtr scan = Exact();
  const expr::ExprPtr guard = Call("<>", {Column(scan, "b"), Number(0)});
  const expr::ExprPtr guarded = Call(">", {Call("/", {Column(scan, "a"), Column(scan, "b")}), Number(1)});
  EXPECT_EQ(After("filter_pushdown", Filter(Filter(scan, guard), guarded)),
            "Scan: exact columns=[a, b, c, d] filters=[b <> 0, a / b > 1]\n");
}

TEST(FilterPushdown, VolatileConditionsStay) {
  const PlanPtr scan = Exact();
  const expr::ExprPtr sampled = Call("<", {Call("random", {}), expr::MakeLiteral(std::make_shared<arrow::DoubleScalar>(0.5))});
  EXPECT_EQ(After("filter_pushdown", Filter(scan, Call("and", {sampled, Call("<", {Column(scan, "a"), Number(5)})}))),
            "Filter: random() < 0.5\n  Scan: exact columns=[a, b, c, d] filters=[a < 5]\n");
  const expr::ExprPtr may_fail = Call(">", {Call("/", {Column(scan, "a"), Column(scan, "b")}), Number(1)});
  EXPECT_EQ(After("filter_pushdown", Filter(scan, Call("and", {sampled, may_fail}))),
            "Filter: random() < 0.5 AND a / b > 1\n  Scan: exact columns=[a, b, c, d]\n");
  EXPECT_EQ(After("filter_pushdown", Filter(Union({scan, scan}), sampled)),
            "Filter: random() < 0.5\n  UnionAll\n    Scan: exact columns=[a, b, c, d]\n    Scan: exact columns=[a, b, c, d]\n");
  const PlanPtr project = Project(scan, {Call("random", {}), Column(scan, "a")}, {"r", "a"});
  const expr::ExprPtr over_random =
      Call("<", {Column(project, "r"), expr::MakeLiteral(std::make_shared<arrow::DoubleScalar>(0.5))});
  EXPECT_EQ(After("filter_pushdown", Filter(project, over_random)),
            "Filter: r < 0.5\n  Project: random() AS r, a\n    Scan: exact columns=[a, b, c, d]\n")
      << "random() must not be drawn twice";
}

// --- limit_pushdown
// -------------------------------------------------------------------------------------------------------------

TEST(LimitPushdown, MakesTopK) {
  EXPECT_EQ(After("limit_pushdown", Limit(Sort(Exact(), "a"), 10, 5)),
            "Limit: 10 offset=5\n  Sort: a ASC NULLS LAST fetch=15\n    Scan: exact columns=[a, b, c, d]\n");
  EXPECT_EQ(After("limit_pushdown", Limit(Sort(Exact(), "a"), std::nullopt, 5)),
            "Limit: all offset=5\n  Sort: a ASC NULLS LAST\n    Scan: exact columns=[a, b, c, d]\n");
  EXPECT_EQ(After("limit_pushdown", Limit(Sort(Exact(), "a"), INT64_MAX, 5)),
            "Limit: 9223372036854775807 offset=5\n  Sort: a ASC NULLS LAST fetch=9223372036854775807\n    Scan: exact "
            "columns=[a, b, c, d]\n");
}

TEST(LimitPushdown, SinksBelowProjectionsIntoScans) {
  EXPECT_EQ(After("limit_pushdown", Limit(Pick(Exact(), {"b"}), 3, 1)),
            "Project: b\n  Limit: 3 offset=1\n    Scan: exact columns=[a, b, c, d] limit=4\n");
  const PlanPtr scan = Exact();
  EXPECT_EQ(After("limit_pushdown", Limit(Filter(scan, Call("<", {Column(scan, "a"), Number(1)})), 3)),
            "Limit: 3\n  Filter: a < 1\n    Scan: exact columns=[a, b, c, d]\n");
}

TEST(LimitPushdown, IntoFilteredScansOnlyWhenTheyFilterExactly) {
  for (const bool exact : {true, false}) {
    const PlanPtr scan = Scan(exact);
    const std::string text = After("", Limit(Filter(scan, Call("<", {Column(scan, "a"), Number(1)})), 3));
    EXPECT_EQ(text.find("limit=3") != std::string::npos, exact) << text;
  }
}

TEST(LimitPushdown, ReachesTheBranchesOfUnions) {
  EXPECT_EQ(After("limit_pushdown", Limit(Union({Exact(), Sort(Exact(), "a")}), 2, 1)),
            "Limit: 2 offset=1\n"
            "  UnionAll\n"
            "    Limit: 3\n"
            "      Scan: exact columns=[a, b, c, d] limit=3\n"
            "    Limit: 3\n"
            "      Sort: a ASC NULLS LAST fetch=3\n"
            "        Scan: exact columns=[a, b, c, d]\n");
}

TEST(LimitPushdown, MergesLimits) {
  EXPECT_EQ(After("limit_pushdown", Limit(Limit(Exact(), 10, 2), 20, 3)),
            "Limit: 7 offset=5\n  Scan: exact columns=[a, b, c, d] limit=12\n");
  EXPECT_EQ(After("limit_pushdown", Limit(Limit(Exact(), 10), 4)), "Limit: 4\n  Scan: exact columns=[a, b, c, d] limit=4\n");
  EXPECT_EQ(After("limit_pushdown", Limit(Limit(Exact(), 3), std::nullopt, 5)), "Values: 0 rows\n");
}

TEST(LimitPushdown, LimitZeroReadsNothing) {
  EXPECT_EQ(After("limit_pushdown", Limit(Sort(Exact(), "a"), 0)), "Values: 0 rows\n");
  EXPECT_EQ(After("limit_pushdown", Copy(Limit(Exact(), 0))), "Copy: to 'out'\n  Values: 0 rows\n");
}

// --- column_pruning
// -------------------------------------------------------------------------------------------------------------

TEST(ColumnPruning, ReadsWhatIsUsed) {
  const PlanPtr scan = Exact();
  const PlanPtr filtered = Filter(scan, Call("<", {Column(scan, "d"), Number(1)}));
  EXPECT_EQ(After("column_pruning", Project(filtered, {Call("+", {Column(scan, "b"), Number(1)})}, {"x"})),
            "Project: b + 1 AS x\n  Filter: d < 1\n    Scan: exact columns=[b, d]\n");
}

TEST(ColumnPruning, SortsKeepOnlyWhatIsNeeded) {
  const PlanPtr scan = Exact();
  const PlanPtr filtered = Filter(scan, Call("<", {Column(scan, "d"), Number(1)}));
  EXPECT_EQ(After("column_pruning", Pick(Sort(filtered, "b"), {"a"})),
            "Project: a\n"
            "  Sort: b ASC NULLS LAST\n"
            "    Project: a, b\n"
            "      Filter: d < 1\n"
            "        Scan: exact columns=[a, b, d]\n");
}

TEST(ColumnPruning, BranchesOfUnionsAgree) {
  const PlanPtr scan = Exact();
  const PlanPtr filtered = Filter(scan, Call("<", {Column(scan, "d"), Number(1)}));
  EXPECT_EQ(After("column_pruning", Pick(Union({filtered, scan}), {"c"})),
            "Project: c\n"
            "  UnionAll\n"
            "    Project: c\n"
            "      Filter: d < 1\n"
            "        Scan: exact columns=[c, d]\n"
            "    Scan: exact columns=[c]\n");
}

TEST(ColumnPruning, KeepsAllColumnsOfTheResultAndOfCopy) {
  EXPECT_EQ(After("column_pruning", Exact()), "Scan: exact columns=[a, b, c, d]\n");
  EXPECT_EQ(After("column_pruning", Copy(Limit(Exact(), 2))),
            "Copy: to 'out'\n  Limit: 2\n    Scan: exact columns=[a, b, c, d]\n");
}

TEST(ColumnPruning, MayReadNoColumnAtAll) {
  EXPECT_EQ(After("column_pruning", Project(Exact(), {Number(1)}, {"x"})), "Project: 1 AS x\n  Scan: exact columns=[]\n");
}

// --- scan_order
// -----------------------------------------------------------------------------------------------------------------

TEST(ScanOrder, IsKeptUnlessASortIsAbove) {
  const std::string columns = "Scan: exact columns=[a, b, c, d]";
  EXPECT_EQ(After("scan_order", Exact()), columns + " ordered\n");
  EXPECT_EQ(After("scan_order", Copy(Union({Exact(), Sort(Exact(), "a")}))),
            "Copy: to 'out'\n  UnionAll\n    " + columns + " ordered\n    Sort: a ASC NULLS LAST\n      " + columns + "\n");
  EXPECT_EQ(After("scan_order", Sort(Limit(Exact(), 5), "a")),
            "Sort: a ASC NULLS LAST\n  Limit: 5\n    " + columns + " ordered\n")
      << "which five rows must not depend on threads";
}

}  // namespace
}  // namespace icebound::optimizer
