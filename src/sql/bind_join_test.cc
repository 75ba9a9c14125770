// SPDX-License-Identifier: Apache-2.0
//
// Joins: plans, names, and errors.
#include <gtest/gtest.h>

#include "sql/expect_error_test.h"

namespace icebound::sql {
namespace {

const std::string kL = "Scan: l columns=[k, v, s]\n";
const std::string kR = "Scan: r columns=[k, v, w]\n";

/// The line of the join, and what is above it.
std::string JoinLine(std::string_view text) {
  const std::string plan = PlanOrError(text);
  const size_t begin = plan.find("Join");
  if (begin == std::string::npos) return plan;
  const size_t line = plan.rfind(' ', begin) + 1;
  return plan.substr(line, plan.find('\n', begin) - line);
}

TEST(BindJoin, ListsAreCrossJoins) {
  EXPECT_EQ(PlanOrError("SELECT s, w FROM l, r WHERE l.k = r.k"),
            "Project: s, w\n  Filter: k = k\n    InnerJoin\n      " + kL + "      " + kR);
  EXPECT_EQ(PlanOrError("SELECT s FROM l CROSS JOIN r"), "Project: s\n  InnerJoin\n    " + kL + "    " + kR);
  EXPECT_EQ(PlanOrError("SELECT s, a, w FROM l, ns.v, r"),
            "Project: s, a, w\n  InnerJoin\n    InnerJoin\n      " + kL + "      Scan: ns.v columns=[a]\n    " + kR);
}

TEST(BindJoin, EqualitiesOfOnBecomeKeys) {
  EXPECT_EQ(JoinLine("SELECT s FROM l JOIN r ON l.k = r.k"), "InnerJoin: on [CAST(k AS bigint) = k]");
  EXPECT_EQ(JoinLine("SELECT s FROM l JOIN r ON r.v = l.v AND l.s < w AND s = w"),
            "InnerJoin: on [v = CAST(v AS bigint), s = w] where s < w");
  EXPECT_EQ(JoinLine("SELECT s FROM l LEFT JOIN r ON l.k = r.k AND l.v > 3"), "LeftJoin: on [CAST(k AS bigint) = k] where v > 3");
  EXPECT_EQ(JoinLine("SELECT s FROM l RIGHT JOIN r ON l.s IS NOT DISTINCT FROM r.w"), "RightJoin: on [s IS NOT DISTINCT FROM w]");
  EXPECT_EQ(JoinLine("SELECT s FROM l FULL OUTER JOIN r ON l.k + r.k = 3"), "FullJoin: where CAST(k AS bigint) + k = 3");
  EXPECT_EQ(JoinLine("SELECT s FROM l JOIN r ON l.k + l.v = r.k - 1"), "InnerJoin: on [CAST(k AS bigint) + v = k - 1]");
  EXPECT_EQ(JoinLine("SELECT s FROM l JOIN r ON l.k = r.k OR l.v = 1"), "InnerJoin: where k = k OR v = 1");
  EXPECT_EQ(JoinLine("SELECT s FROM l JOIN r ON true"), "InnerJoin");
  EXPECT_EQ(JoinLine("SELECT s FROM l JOIN r ON random() = l.v AND l.v = random()"),
            "InnerJoin: where random() = CAST(v AS double precision) AND CAST(v AS double precision) = random()");
}

TEST(BindJoin, UsingMergesColumns) {
  EXPECT_EQ(PlanOrError("SELECT * FROM l JOIN r USING (k)"),
            "Project: k, v, s, v, w\n  Project: k, v, s, k, v, w, CAST(k AS bigint) AS k\n    InnerJoin: on [CAST(k AS bigint) = "
            "k]\n      " +
                kL + "      " + kR);
  EXPECT_EQ(ColumnsOrError("SELECT k, l.k, r.k FROM l JOIN r USING (k)"), "k bigint, k integer, k bigint");
  EXPECT_EQ(PlanOrError("SELECT a FROM ns.v x JOIN ns.v y USING (a)"),
            "Project: a\n  InnerJoin: on [a = a]\n    Scan: ns.v columns=[a]\n    Scan: ns.v columns=[a]\n");
  EXPECT_EQ(ColumnsOrError("SELECT * FROM l JOIN r USING (k, v)"), "k bigint, v bigint, s text, w text");
  EXPECT_EQ(ColumnsOrError("SELECT l.* FROM l JOIN r USING (k, v)"), "k integer, v bigint, s text");
  EXPECT_EQ(ColumnsOrError("SELECT j.k, j.* FROM l JOIN r USING (k) AS j"), "k bigint, k bigint");
  EXPECT_EQ(ColumnsOrError("SELECT * FROM l JOIN r USING (v) JOIN (SELECT 1 AS v, 2 AS z) q USING (v)"),
            "v bigint, k integer, s text, k bigint, w text, z integer");
  EXPECT_EQ(ColumnsOrError("SELECT Mixed FROM u x JOIN u y USING (MIXED)"), "Mixed integer");
}

TEST(BindJoin, MergedColumnsOfOuterJoinsComeFromTheSideThatHasThem) {
  EXPECT_EQ(PlanOrError("SELECT a FROM ns.v x LEFT JOIN t USING (a) WHERE x.a = a").substr(0, 27),
            "Project: a\n  Filter: a = a\n");
  EXPECT_NE(PlanOrError("SELECT a FROM ns.v x FULL JOIN ns.v y USING (a)").find("coalesce(a, a) AS a"), std::string::npos);
  FakeTables tables = TestTables();
  BindOptions options;
  options.pool = arrow::default_memory_pool();
  for (const auto& [join, index] :
       std::vector<std::pair<std::string, int>>{{"LEFT", 0}, {"RIGHT", 1}, {"INNER", 0}, {"FULL", 2}}) {
    const auto bound = BindStatement("SELECT a FROM ns.v x " + join + " JOIN ns.v y USING (a)", tables, options).ValueOrDie();
    const auto& project = static_cast<const plan::ProjectNode&>(*bound.plan);
    EXPECT_EQ(static_cast<const expr::ColumnExpr&>(*project.exprs().front()).index(), index) << join;
  }
}

TEST(BindJoin, NaturalTakesCommonNames) {
  EXPECT_EQ(ColumnsOrError("SELECT * FROM l NATURAL JOIN r"), "k bigint, v bigint, s text, w text");
  EXPECT_EQ(JoinLine("SELECT * FROM l NATURAL LEFT JOIN r"), "LeftJoin: on [CAST(k AS bigint) = k, v = CAST(v AS bigint)]");
  EXPECT_EQ(JoinLine("SELECT * FROM l NATURAL JOIN u"), "InnerJoin") << "without common names it is a cross join";
}

TEST(BindJoin, ParenthesesAndAliases) {
  EXPECT_EQ(PlanOrError("SELECT s FROM l JOIN (r JOIN ns.v ON r.v = a) ON l.k = a"),
            "Project: s\n  InnerJoin: on [k = a]\n    " + kL + "    InnerJoin: on [v = a]\n      " + kR +
                "      Scan: ns.v columns=[a]\n");
  EXPECT_EQ(ColumnsOrError("SELECT j.* FROM (l JOIN r USING (k)) AS j"), "k bigint, v bigint, s text, v integer, w text");
  EXPECT_EQ(ColumnsOrError("SELECT j.p, q, w FROM (l JOIN r USING (k)) AS j(p, q)"), "p bigint, q bigint, w text");
  EXPECT_EQ(ColumnsOrError("SELECT x.s FROM l x JOIN l y ON x.k = y.k JOIN l z ON y.k = z.k"), "s text");
}

TEST(BindJoin, LateralSeesWhatStandsBefore) {
  EXPECT_EQ(PlanOrError("SELECT q.w FROM l, LATERAL (SELECT w FROM r WHERE r.v = l.k) q"),
            "Project: w\n  InnerApply\n    " + kL + "    Project: w\n      Filter: v = outer(k)\n        " + kR);
  EXPECT_EQ(PlanOrError("SELECT q.w FROM l LEFT JOIN LATERAL (SELECT w, k FROM r WHERE r.v = l.k) q ON q.k = l.v"),
            "Project: w\n  LeftApply: on [v = k]\n    " + kL + "    Project: w, k\n      Filter: v = outer(k)\n        " + kR);
  // Two applies: the inner one's names come first.
  const auto bound = BindText("SELECT 1 FROM l, (ns.v JOIN LATERAL (SELECT l.k + v.a AS x) q ON true)");
  ASSERT_TRUE(bound.ok()) << bound.status().ToString();
  EXPECT_NE(plan::ExplainText(*bound->plan).find("Project: outer(k) + outer(a) AS x"), std::string::npos);
  EXPECT_EQ(ColumnsOrError("SELECT q.* FROM LATERAL (SELECT 1 AS one) q"), "one integer");
}

TEST(BindJoin, SubqueriesInOn) {
  EXPECT_EQ(PlanOrError("SELECT s FROM l JOIN r ON l.k = r.k AND EXISTS (SELECT 1 FROM ns.v WHERE a = l.v + r.v)"),
            "Project: s\n  Filter: mark\n    LeftMarkApply\n      InnerJoin: on [CAST(k AS bigint) = k]\n        " + kL +
                "        " + kR +
                "      Project: 1 AS ?column?\n        Filter: a = outer(v) + CAST(outer(v) AS bigint)\n          Scan: "
                "ns.v columns=[a]\n");
  EXPECT_EQ(PlanOrError("SELECT s FROM l LEFT JOIN r ON l.v IN (TABLE ns.v) AND l.k = r.k AND r.v IN (TABLE ns.v)"),
            "Project: s\n"
            "  LeftJoin: on [CAST(k AS bigint) = k] where mark AND mark\n"
            "    LeftMarkNullsApply: on [v = CAST(a AS bigint)]\n"
            "      " +
                kL +
                "      Project: a\n        Scan: ns.v columns=[a]\n"
                "    LeftMarkNullsApply: on [v = a]\n"
                "      " +
                kR + "      Project: a\n        Scan: ns.v columns=[a]\n");
  EXPECT_EQ(ColumnsOrError("SELECT * FROM l LEFT JOIN r ON l.v IN (TABLE ns.v) AND r.k = 1"),
            "k integer, v bigint, s text, k bigint, v integer, w text")
      << "columns of the right side are found behind the left side's mark";
}

TEST(BindJoin, OneShotTablesMayBeJoined) {
  EXPECT_EQ(ColumnsOrError("SELECT s, a FROM l JOIN stream ON k = a"), "s text, a integer");
  ExpectInvalid("SELECT 1 FROM stream x, »stream y",
                "\"stream\" is a stream that can be read only once, and this statement reads it twice");
}

TEST(BindJoin, ManyTablesAreAnError) {
  const auto list = [](int tables) {
    std::string text = "SELECT 1 FROM ns.v t0";
    for (int i = 1; i < tables; ++i) text += ", ns.v t" + std::to_string(i);
    return text;
  };
  EXPECT_TRUE(BindText(list(400)).ok());
  EXPECT_NE(PlanOrError(list(5000)).find("the statement is too large: its joins have more than 100000 columns"),
            std::string::npos);
  std::string exists = "SELECT 1 FROM t WHERE EXISTS (TABLE ns.v)";
  for (int i = 0; i < 2000; ++i) exists += " AND EXISTS (TABLE ns.v)";
  EXPECT_NE(PlanOrError(exists).find("the statement is too large"), std::string::npos);
}

TEST(BindJoin, Errors) {
  ExpectInvalid("SELECT »k FROM l, r", "column reference \"k\" is ambiguous");
  ExpectInvalid("SELECT s FROM l JOIN r ON »k = 1", "column reference \"k\" is ambiguous");
  ExpectInvalid("SELECT s FROM l, »l", "table name \"l\" specified more than once");
  ExpectInvalid("SELECT s FROM l JOIN »l ON true", "table name \"l\" specified more than once");
  ExpectInvalid("SELECT j.k FROM (l CROSS JOIN »l) j", "table name \"l\" specified more than once");
  ExpectInvalid("SELECT s FROM l JOIN r ON »l.k", "argument of JOIN/ON must be type boolean, not type integer");
  ExpectInvalid("SELECT s FROM l JOIN r ON l.k »= r.w",
                "operator does not exist: integer = text; no candidate matches the argument types, explicit casts may help");
  ExpectInvalid("SELECT s FROM l JOIN r USING (»x)", "column \"x\" specified in USING clause does not exist in left table");
  ExpectInvalid("SELECT s FROM l JOIN r USING (»s)", "column \"s\" specified in USING clause does not exist in right table");
  ExpectInvalid("SELECT s FROM l JOIN r USING (k, »k)", "column name \"k\" appears more than once in USING clause");
  ExpectInvalid("SELECT 1 FROM (l CROSS JOIN ns.v) JOIN (SELECT '1' AS k) q USING (»k)",
                "JOIN/USING types integer and text cannot be matched");
  ExpectInvalid("SELECT 1 FROM l x CROSS JOIN l y »NATURAL JOIN r",
                "common column name \"k\" appears more than once in left table");
  ExpectInvalid("SELECT s FROM ns.v z, l JOIN r ON l.k = »z.a", "missing FROM-clause entry for table \"z\"");
  ExpectInvalid("SELECT »l.s FROM (l JOIN r USING (k)) AS j", "missing FROM-clause entry for table \"l\"");
  ExpectInvalid("SELECT 1 FROM l JOIN r USING (k) AS j»(a)", "syntax error at or near \"(\"");
  ExpectInvalid("SELECT 1 FROM (»l JOIN r USING (k)) AS j(a, b, c, d, e, f)",
                "join expression \"j\" has 5 columns available but 6 columns specified");
  ExpectInvalid("SELECT 1 FROM l, (SELECT »l.k) q", "missing FROM-clause entry for table \"l\"");
  ExpectInvalid("SELECT 1 FROM l RIGHT JOIN LATERAL (SELECT »l.k) q ON true", "missing FROM-clause entry for table \"l\"");
  ExpectInvalid("SELECT 1 FROM l x, (l y JOIN LATERAL (SELECT »s) q ON true)", "column reference \"s\" is ambiguous");
}

}  // namespace
}  // namespace icebound::sql
