// SPDX-License-Identifier: Apache-2.0
//
// GROUP BY, HAVING, aggregates, DISTINCT: what they become and what is wrong with them.
#include <gtest/gtest.h>

#include "sql/expect_error_test.h"

namespace icebound::sql {
namespace {

const std::string kScanL = "Scan: l columns=[k, v, s]\n";

TEST(BindAggregate, GroupsHavingAndOrder) {
  EXPECT_EQ(PlanOrError("SELECT v + 1 AS x, sum(k), count(*) FILTER (WHERE s = 'a') FROM l WHERE k > 0 GROUP BY v + 1 "
                        "HAVING sum(k) > 3 ORDER BY x, min(s) DESC"),
            "Project: x, sum, count\n"
            "  Sort: x ASC NULLS LAST, min(s) DESC NULLS FIRST\n"
            "    Project: v + 1 AS x, sum(k) AS sum, count(*) FILTER (WHERE s = 'a') AS count, min(s)\n"
            "      Filter: sum(k) > 3\n"
            "        Aggregate: groups=[v + 1] aggregates=[sum(k), count(*) FILTER (WHERE s = 'a'), min(s)]\n"
            "          Filter: k > 0\n"
            "            " +
                kScanL);
}

TEST(BindAggregate, NoGroupsIsOneRow) {
  EXPECT_EQ(PlanOrError("SELECT count(*) AS n FROM l"),
            "Project: count(*) AS n\n  Aggregate: aggregates=[count(*)]\n    " + kScanL);
  EXPECT_EQ(PlanOrError("SELECT 1 AS x FROM l HAVING count(*) > 1"),
            "Project: 1 AS x\n  Filter: count(*) > 1\n    Aggregate: aggregates=[count(*)]\n      " + kScanL);
  EXPECT_EQ(
      PlanOrError("SELECT 1 AS x FROM l ORDER BY max(k)"),
      "Project: x\n  Sort: max(k) ASC NULLS LAST\n    Project: 1 AS x, max(k)\n      Aggregate: aggregates=[max(k)]\n        " +
          kScanL);
}

/// The first line of the plan that begins with "Aggregate:".
std::string AggregateLine(std::string_view text) {
  const std::string plan = PlanOrError(text);
  const size_t begin = plan.find("Aggregate:");
  return begin == std::string::npos ? plan : plan.substr(begin, plan.find('\n', begin) - begin);
}

TEST(BindAggregate, GroupItemsArePositionsColumnsNamesAndExpressions) {
  EXPECT_EQ(AggregateLine("SELECT v, k + 1 FROM l GROUP BY 2, 1"), "Aggregate: groups=[k + 1, v]");
  EXPECT_EQ(AggregateLine("SELECT *, k * 2 FROM l GROUP BY 1, 2, 3, 4"), "Aggregate: groups=[k, v, s, k * 2]");
  EXPECT_EQ(AggregateLine("SELECT k + 1 AS x FROM l GROUP BY x"), "Aggregate: groups=[k + 1]");
  EXPECT_EQ(AggregateLine("SELECT k + 1 AS v FROM l GROUP BY v, k"), "Aggregate: groups=[v, k]")
      << "a column of FROM is meant before a select item's name";
  EXPECT_EQ(AggregateLine("SELECT upper(s) FROM l GROUP BY upper"), "Aggregate: groups=[upper(s)]");
  EXPECT_EQ(AggregateLine("SELECT k AS x, k AS x FROM l GROUP BY x"), "Aggregate: groups=[k]");
  EXPECT_EQ(AggregateLine("SELECT \"X\" FROM (SELECT k AS \"X\" FROM l) q GROUP BY x"), "Aggregate: groups=[X]");
  EXPECT_EQ(AggregateLine("SELECT l.* FROM l GROUP BY l.k, l.v, s, s"), "Aggregate: groups=[k, v, s]");
  EXPECT_EQ(ColumnsOrError("SELECT NULL AS x, 'a' AS y, count(*) FROM l GROUP BY x, 2"), "x text, y text, count bigint");
  EXPECT_EQ(ColumnsOrError("SELECT (p).x, p.y FROM t GROUP BY (p).x, p.y"), "x integer, y text");
}

TEST(BindAggregate, PartsOfExpressionsAreGroups) {
  EXPECT_EQ(PlanOrError("SELECT (v + 1) * 2 AS x, v + 1 + count(*) AS y FROM l GROUP BY v + 1"),
            "Project: v + 1 * 2 AS x, v + 1 + count(*) AS y\n  Aggregate: groups=[v + 1] aggregates=[count(*)]\n    " + kScanL);
  EXPECT_EQ(ColumnsOrError("SELECT CASE WHEN k > 1 THEN v ELSE sum(k) END FROM l GROUP BY k, v"), "sum bigint");
  EXPECT_EQ(ColumnsOrError("SELECT v::text || 'x' FROM l GROUP BY v"), "?column? text");
}

TEST(BindAggregate, CallsAreComputedOnce) {
  EXPECT_EQ(AggregateLine("SELECT sum(k), sum(k) + 1 FROM l HAVING sum(k) > 0 ORDER BY sum(k)"),
            "Aggregate: aggregates=[sum(k)]");
  EXPECT_EQ(AggregateLine("SELECT sum(k), sum(DISTINCT k) FROM l"), "Aggregate: aggregates=[sum(k), sum(DISTINCT k)]");
}

TEST(BindAggregate, OrderAndDistinctStayWhereTheyMatter) {
  EXPECT_EQ(AggregateLine("SELECT array_agg(DISTINCT k ORDER BY k DESC), sum(k ORDER BY v), max(DISTINCT k) FROM l"),
            "Aggregate: aggregates=[array_agg(DISTINCT k ORDER BY k DESC), sum(k), max(k)]");
}

TEST(BindAggregate, Distinct) {
  EXPECT_EQ(
      PlanOrError("SELECT DISTINCT k, s AS x FROM l ORDER BY x, 1 LIMIT 2"),
      "Limit: 2\n  Sort: x ASC NULLS LAST, k ASC NULLS LAST\n    Aggregate: groups=[k, x]\n      Project: k, s AS x\n        " +
          kScanL);
  EXPECT_EQ(PlanOrError("SELECT DISTINCT count(*) AS n FROM l GROUP BY k ORDER BY count(*)"),
            "Sort: n ASC NULLS LAST\n  Aggregate: groups=[n]\n    Project: count(*) AS n\n      Aggregate: groups=[k] "
            "aggregates=[count(*)]\n        " +
                kScanL);
  EXPECT_EQ(ColumnsOrError("SELECT DISTINCT NULL AS x FROM l"), "x text");
}

TEST(BindAggregate, DistinctOnTakesTheFirstRow) {
  EXPECT_EQ(PlanOrError("SELECT DISTINCT ON (v) s, k FROM l ORDER BY v DESC, k"),
            "Project: s, k\n"
            "  Sort: v DESC NULLS FIRST\n"
            "    Aggregate: groups=[v] aggregates=[first(s ORDER BY k, s, k), first(k ORDER BY k, s, k)]\n"
            "      Project: s, k, v\n"
            "        " +
                kScanL);
  EXPECT_EQ(PlanOrError("SELECT DISTINCT ON (k) k FROM l"),
            "Project: k\n  Aggregate: groups=[k]\n    Project: k\n      " + kScanL);
  ExpectInvalid("SELECT DISTINCT ON (»k) k FROM l ORDER BY v",
                "SELECT DISTINCT ON expressions must match initial ORDER BY expressions");
  ExpectInvalid("SELECT DISTINCT ON (»3) k FROM l", "DISTINCT ON position 3 is not in select list");
}

TEST(BindAggregate, Errors) {
  const auto ungrouped = [](std::string_view column) {
    return fmt::format("column \"{}\" must appear in the GROUP BY clause or be used in an aggregate function", column);
  };
  ExpectInvalid("SELECT s, »v FROM l GROUP BY s", ungrouped("l.v"));
  ExpectInvalid("SELECT »x.v FROM l x GROUP BY k", ungrouped("x.v"));
  ExpectInvalid("SELECT »* FROM l GROUP BY k, s", ungrouped("l.v"));
  ExpectInvalid("SELECT count(*) FROM l HAVING »k > 1", ungrouped("l.k"));
  ExpectInvalid("SELECT count(*) FROM l ORDER BY »k", ungrouped("l.k"));
  ExpectInvalid("SELECT count(*), »k + 1 FROM l GROUP BY k + 2", ungrouped("l.k"));
  ExpectInvalid("SELECT k FROM l WHERE »sum(v) > 1", "aggregate functions are not allowed in WHERE");
  ExpectInvalid("SELECT k FROM l GROUP BY »sum(v)", "aggregate functions are not allowed in GROUP BY");
  ExpectInvalid("SELECT k, »sum(v) FROM l GROUP BY 2", "aggregate functions are not allowed in GROUP BY");
  ExpectInvalid("SELECT k FROM l JOIN r ON »sum(l.v) > 1", "aggregate functions are not allowed in JOIN conditions");
  ExpectInvalid("SELECT k FROM l LIMIT »sum(1)", "aggregate functions are not allowed in LIMIT");
  ExpectInvalid("VALUES (»sum(1))", "aggregate functions are not allowed in VALUES");
  ExpectInvalid("SELECT count(*) FILTER (WHERE »max(k) > 1) FROM l", "aggregate functions are not allowed in FILTER");
  ExpectInvalid("SELECT count(*) FILTER (WHERE »k) FROM l", "argument of FILTER must be type boolean, not type integer");
  ExpectInvalid("SELECT 1 FROM l HAVING »1", "argument of HAVING must be type boolean, not type integer");
  ExpectInvalid("SELECT sum(»max(k)) FROM l", "aggregate function calls cannot be nested");
  ExpectInvalid("SELECT »count() FROM l", "count(*) must be used to call a parameterless aggregate function");
  ExpectInvalid("SELECT »conut(*) FROM l", "function conut does not exist; did you mean \"count\"?");
  ExpectInvalid("SELECT »string_ag(s, ',') FROM l", "function string_ag does not exist; did you mean \"string_agg\"?");
  ExpectInvalid("SELECT k FROM l GROUP BY »2", "GROUP BY position 2 is not in select list");
  ExpectInvalid("SELECT k FROM l GROUP BY »'x'", "non-integer constant in GROUP BY");
  ExpectInvalid("SELECT k AS x, v AS x FROM l GROUP BY »x", "GROUP BY \"x\" is ambiguous");
  ExpectInvalid("SELECT k FROM l GROUP BY »nothing", "column \"nothing\" does not exist");
  ExpectInvalid("SELECT DISTINCT k FROM l ORDER BY »v", "for SELECT DISTINCT, ORDER BY expressions must appear in select list");
  ExpectInvalid("SELECT array_agg(DISTINCT k ORDER BY »v) FROM l",
                "in an aggregate with DISTINCT, ORDER BY expressions must appear in argument list");
}

}  // namespace
}  // namespace icebound::sql
