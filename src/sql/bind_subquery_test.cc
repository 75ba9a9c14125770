// SPDX-License-Identifier: Apache-2.0
//
// Subqueries in expressions: which Apply they become, where it stands, and errors.
#include <gtest/gtest.h>

#include "sql/expect_error_test.h"

namespace icebound::sql {
namespace {

const std::string kL = "Scan: l columns=[k, v, s]\n";
const std::string kR = "Scan: r columns=[k, v, w]\n";
const std::string kV = "Scan: ns.v columns=[a]\n";

/// The plan without its scans, one line each after another.
std::string Steps(std::string_view text) {
  const std::string plan = PlanOrError(text);
  std::string steps;
  for (size_t begin = 0; begin < plan.size();) {
    const size_t end = plan.find('\n', begin);
    std::string line = plan.substr(begin, end - begin);
    line.erase(0, line.find_first_not_of(' '));
    if (!line.starts_with("Scan:")) steps += (steps.empty() ? "" : "; ") + line;
    begin = end == std::string::npos ? plan.size() : end + 1;
  }
  return steps;
}

TEST(BindSubquery, ScalarsAreColumnsOfAnApply) {
  EXPECT_EQ(PlanOrError("SELECT k, (SELECT max(v) FROM r WHERE r.k = l.k) AS m FROM l"),
            "Project: k, max AS m\n"
            "  LeftSingleApply\n"
            "    " +
                kL +
                "    Project: max(v) AS max\n"
                "      Aggregate: aggregates=[max(v)]\n"
                "        Filter: k = outer(k)\n"
                "          " +
                kR);
  EXPECT_EQ(
      Steps("SELECT (SELECT 1) + (SELECT 2) AS x"),
      "Project: ?column? + ?column? AS x; LeftSingleApply; LeftSingleApply; Values: 1 row; Project: 1 AS ?column?; Values: 1 "
      "row; Project: 2 AS ?column?; Values: 1 row");
  EXPECT_EQ(ColumnsOrError("SELECT (SELECT NULL), (SELECT a FROM ns.v), ((SELECT p FROM t)).y"),
            "?column? text, a integer, y text");
  EXPECT_EQ(
      ColumnsOrError(
          "SELECT EXISTS (SELECT 1), (TABLE ns.v), (SELECT 1 AS x UNION SELECT 2), (SELECT count(*))::int, 1 IN (SELECT 1)"),
      "exists boolean, a integer, x integer, count integer, ?column? boolean");
}

TEST(BindSubquery, ExistsIsAMark) {
  EXPECT_EQ(PlanOrError("SELECT k FROM l WHERE EXISTS (SELECT * FROM r WHERE r.v = l.k) AND NOT EXISTS (TABLE ns.v)"),
            "Project: k\n"
            "  Filter: mark AND NOT mark\n"
            "    LeftMarkApply\n"
            "      LeftMarkApply\n"
            "        " +
                kL + "        Project: k, v, w\n          Filter: v = outer(k)\n            " + kR +
                "      Project: a\n        " + kV);
}

TEST(BindSubquery, InIsAMarkWithNulls) {
  EXPECT_EQ(
      Steps("SELECT k FROM l WHERE k IN (TABLE ns.v) AND v NOT IN (TABLE ns.v)"),
      "Project: k; Filter: mark AND NOT mark; LeftMarkNullsApply: on [v = CAST(a AS bigint)]; LeftMarkNullsApply: on [k = a]; "
      "Project: a; Project: a");
  EXPECT_EQ(Steps("SELECT k = ANY (TABLE ns.v) AS x, k <> ALL (TABLE ns.v) AS y FROM l"),
            "Project: mark AS x, NOT mark AS y; LeftMarkNullsApply: on [k = a]; LeftMarkNullsApply: on [k = a]; Project: a; "
            "Project: a");
  EXPECT_EQ(Steps("SELECT 'x' IN (SELECT s FROM l) AS x"),
            "Project: mark AS x; LeftMarkNullsApply: on ['x' = s]; Values: 1 row; Project: s");
  EXPECT_EQ(Steps("SELECT k FROM l WHERE (SELECT max(a) FROM ns.v) IN (SELECT v FROM r)"),
            "Project: k; Filter: mark; LeftMarkNullsApply: on [max = v]; LeftSingleApply; Project: max(a) AS max; Aggregate: "
            "aggregates=[max(a)]; Project: v")
      << "the left side's subquery stands below";
}

TEST(BindSubquery, QuantifiersNeedOneMarkWhereNullCountsAsFalse) {
  EXPECT_EQ(Steps("SELECT k FROM l WHERE v > ANY (TABLE ns.v)"),
            "Project: k; Filter: mark; LeftMarkApply: where v > a; Project: a");
  EXPECT_EQ(Steps("SELECT k FROM l WHERE v > ALL (TABLE ns.v)"),
            "Project: k; Filter: NOT mark; LeftMarkApply: where v > a IS NOT TRUE; Project: a");
  EXPECT_EQ(Steps("SELECT k FROM l WHERE NOT v > ANY (TABLE ns.v)"),
            "Project: k; Filter: NOT mark; LeftMarkApply: where v > a IS NOT FALSE; Project: a");
  EXPECT_EQ(Steps("SELECT k FROM l WHERE NOT v > ALL (TABLE ns.v) OR k = 1"),
            "Project: k; Filter: NOT NOT mark OR k = 1; LeftMarkApply: where NOT v > a; Project: a");
  EXPECT_EQ(Steps("SELECT CASE WHEN v > ANY (TABLE ns.v) THEN 1 END AS x FROM l"),
            "Project: CASE WHEN mark THEN 1 ELSE NULL END AS x; LeftMarkApply: where v > a; Project: a");
}

TEST(BindSubquery, QuantifiersTellNullFromFalseElsewhere) {
  EXPECT_EQ(Steps("SELECT v > ANY (TABLE ns.v) AS x FROM l"),
            "Project: CASE WHEN mark THEN true WHEN mark THEN NULL ELSE false END AS x; LeftMarkApply: where v > a "
            "IS NOT FALSE; LeftMarkApply: where v > a; Project: a; Project: a");
  EXPECT_EQ(Steps("SELECT (v > ALL (TABLE ns.v)) IS NULL AS x FROM l"),
            "Project: CASE WHEN mark THEN false WHEN mark THEN NULL ELSE true END IS NULL AS x; LeftMarkApply: where v > a "
            "IS NOT TRUE; LeftMarkApply: where NOT v > a; Project: a; Project: a");
  EXPECT_EQ(Steps("SELECT k < ANY (SELECT k FROM r) AS x FROM l"), "Project: mark AS x; LeftMarkApply: where k < k; Project: k")
      << "columns that are never NULL need one mark";
  ExpectInvalid("SELECT 1 »> ANY (TABLE stream)",
                "\"stream\" is a stream that can be read only once, and this statement reads it twice");
}

TEST(BindSubquery, Rows) {
  EXPECT_EQ(Steps("SELECT s FROM l WHERE (k, v) IN (SELECT v, k FROM r)"),
            "Project: s; Filter: mark; LeftMarkApply: on [k = v, v = k]; Project: v, k");
  EXPECT_EQ(Steps("SELECT s FROM l WHERE (k, v) NOT IN (SELECT v, k FROM r)"),
            "Project: s; Filter: NOT mark; LeftMarkApply: where (k = v AND v = k) IS NOT FALSE; Project: v, k");
  EXPECT_EQ(
      Steps("SELECT (k, v) <> ALL (SELECT v, k FROM r) AS x FROM l"),
      "Project: CASE WHEN mark THEN false WHEN mark THEN NULL ELSE true END AS x; LeftMarkApply: where (k <> v OR v <> k) IS NOT "
      "TRUE; LeftMarkApply: where NOT (k <> v OR v <> k); Project: v, k; Project: v, k");
  EXPECT_EQ(PlanOrError("SELECT s FROM l WHERE (k, s) IN ((1, 'a'), (2, 'b')) AND (k, v) <> (3, 4) AND ROW(k, s) = ROW(5, 'c')"),
            "Project: s\n  Filter: (k = 1 AND s = 'a' OR k = 2 AND s = 'b') AND (k <> 3 OR v <> 4) AND (k = 5 AND s = "
            "'c')\n    " +
                kL);
}

TEST(BindSubquery, OuterColumnsCountLevels) {
  const auto bound = BindText(
      "SELECT k FROM l WHERE EXISTS (SELECT 1 FROM r WHERE r.k = l.v AND r.v = (SELECT max(a) FROM ns.v WHERE v.a < l.k AND v.a "
      "> "
      "r.v))");
  ASSERT_TRUE(bound.ok()) << bound.status().ToString();
  std::vector<std::string> found;
  const auto collect = [&](const auto& self, const plan::LogicalPlan& plan) -> void {
    if (plan.kind() == plan::PlanKind::kFilter) {
      const auto walk = [&](const auto& again, const expr::Expr& e) -> void {
        if (e.kind() == expr::ExprKind::kOuterColumn) {
          const auto& column = static_cast<const expr::OuterColumnExpr&>(e);
          found.push_back(fmt::format("{}:{}#{}", column.name(), column.levels_up(), column.index()));
        }
        for (const auto& child : e.children()) again(again, *child);
      };
      walk(walk, *static_cast<const plan::FilterNode&>(plan).predicate());
    }
    for (const auto& child : plan.children()) self(self, *child);
  };
  collect(collect, *bound->plan);
  EXPECT_EQ(found, (std::vector<std::string>{"v:1#1", "k:2#0", "v:1#1"}));
}

TEST(BindSubquery, ATableFurtherOutIsMeantBeforeAStructField) {
  EXPECT_EQ(Steps("SELECT 1 AS x FROM ns.v WHERE EXISTS (SELECT 1 FROM l WHERE v = v.a)"),
            "Project: 1 AS x; Filter: mark; LeftMarkApply; Project: 1 AS ?column?; Filter: v = outer(a)");
}

TEST(BindSubquery, StandWhereTheyAreUsed) {
  EXPECT_EQ(
      PlanOrError("SELECT k, (SELECT count(*) FROM r WHERE r.k = l.k) AS c, sum(v) FROM l GROUP BY k HAVING sum(v) > (SELECT 1) "
                  "ORDER BY (SELECT 2)"),
      "Project: k, c, sum\n"
      "  Sort: ?column? ASC NULLS LAST\n"
      "    Project: k, count AS c, sum(v) AS sum, ?column?\n"
      "      LeftSingleApply\n"
      "        LeftSingleApply\n"
      "          Filter: sum(v) > ?column?\n"
      "            LeftSingleApply\n"
      "              Aggregate: groups=[k] aggregates=[sum(v)]\n"
      "                " +
          kL +
          "              Project: 1 AS ?column?\n"
          "                Values: 1 row\n"
          "          Project: count(*) AS count\n"
          "            Aggregate: aggregates=[count(*)]\n"
          "              Filter: k = outer(k)\n"
          "                " +
          kR +
          "        Project: 2 AS ?column?\n"
          "          Values: 1 row\n");
  EXPECT_EQ(Steps("SELECT (SELECT 1) AS x, sum((SELECT max(a) FROM ns.v WHERE a = l.v)) AS y FROM l GROUP BY x"),
            "Project: ?column? AS x, sum(max) AS y; Aggregate: groups=[?column?] aggregates=[sum(max)]; LeftSingleApply; "
            "LeftSingleApply; Project: 1 AS ?column?; Values: 1 row; Project: max(a) AS max; Aggregate: aggregates=[max(a)]; "
            "Filter: a = outer(v)")
      << "below the aggregate for groups and arguments";
  EXPECT_EQ(Steps("SELECT sum(v) IN (TABLE ns.v) AS x FROM l GROUP BY k"),
            "Project: mark AS x; LeftMarkNullsApply: on [sum(v) = CAST(a AS numeric(38,0))]; Aggregate: groups=[k] "
            "aggregates=[sum(v)]; "
            "Project: a");
}

TEST(BindSubquery, GroupedColumnsAreSeenByTheirPlace) {
  const auto bound = BindText("SELECT (SELECT max(w) FROM r WHERE r.k = l.v) FROM l GROUP BY s, v");
  ASSERT_TRUE(bound.ok()) << bound.status().ToString();
  const plan::LogicalPlan* node = bound->plan->child()->children()[1].get();
  while (node->kind() != plan::PlanKind::kFilter) node = node->child().get();
  const auto& predicate = *static_cast<const plan::FilterNode&>(*node).predicate();
  EXPECT_EQ(static_cast<const expr::OuterColumnExpr&>(*predicate.children()[1]).index(), 1);
}

TEST(BindSubquery, WithQueriesMayBeCorrelated) {
  EXPECT_EQ(Steps("SELECT k FROM l WHERE EXISTS (WITH w AS (SELECT a FROM ns.v WHERE a = l.k) SELECT * FROM w)"),
            "Project: k; Filter: mark; LeftMarkApply; Project: a; Project: a; Filter: a = outer(k)");
  EXPECT_EQ(Steps("WITH w AS (SELECT a FROM ns.v) SELECT k FROM l WHERE k IN (SELECT a FROM w)"),
            "Project: k; Filter: mark; LeftMarkNullsApply: on [k = a]; Project: a; Project: a");
}

TEST(BindSubquery, Errors) {
  ExpectInvalid("SELECT »(SELECT 1, 2)", "subquery must return only one column");
  ExpectInvalid("SELECT k »IN (SELECT 1, 2) FROM l", "subquery has too many columns");
  ExpectInvalid("SELECT (k, v) »IN (SELECT 1) FROM l", "subquery has too few columns");
  ExpectInvalid("SELECT k »IN (SELECT s FROM l) FROM l",
                "operator does not exist: integer = text; no candidate matches the argument types, explicit casts may help");
  ExpectInvalid("SELECT k »+ ANY (SELECT 1) FROM l", "op ANY/ALL (subquery) requires operator to yield boolean");
  ExpectInvalid("SELECT (SELECT w FROM r WHERE r.v = »l.v) FROM l GROUP BY k",
                "subquery uses ungrouped column \"l.v\" from outer query");
  ExpectInvalid("SELECT (SELECT »x FROM r) FROM l", "column \"x\" does not exist");
  ExpectInvalid("SELECT (SELECT k FROM ns.v) FROM l, »l", "table name \"l\" specified more than once");
  ExpectInvalid("SELECT (SELECT »k FROM ns.v) FROM l, r", "column reference \"k\" is ambiguous");
  ExpectInvalid("SELECT (k, v) »= (1, 2, 3) FROM l", "unequal number of entries in row expressions");
}

}  // namespace
}  // namespace icebound::sql
