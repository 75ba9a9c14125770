// SPDX-License-Identifier: Apache-2.0
//
// What statements become: plan texts, names and types of columns.
#include "sql/binder.h"

#include <gtest/gtest.h>

#include "sql/fake_tables_test.h"

namespace icebound::sql {
namespace {

constexpr char kScanV[] = "Scan: ns.v columns=[a]\n";
const std::string kScanT = "Scan: t columns=[a, b, s, d, f, ok, n, ts, p]\n";

TEST(Binder, SelectWhereOrderLimit) {
  EXPECT_EQ(PlanOrError("SELECT a, b AS x FROM t WHERE a < 5 AND ok ORDER BY b DESC, s LIMIT 10 OFFSET 2"),
            "Limit: 10 offset=2\n"
            "  Project: a, x\n"
            "    Sort: x DESC NULLS FIRST, s ASC NULLS LAST\n"
            "      Project: a, b AS x, s\n"
            "        Filter: a < 5 AND ok\n"
            "          " +
                kScanT);
}

TEST(Binder, StarsExpand) {
  EXPECT_EQ(PlanOrError("SELECT * FROM ns.v"), std::string("Project: a\n  ") + kScanV);
  EXPECT_EQ(PlanOrError("SELECT v.*, 1 AS one, v.a FROM ns.v"), std::string("Project: a, 1 AS one, a\n  ") + kScanV);
  EXPECT_EQ(PlanOrError("TABLE ns.v"), std::string("Project: a\n  ") + kScanV);
  EXPECT_EQ(ColumnsOrError("SELECT u.* FROM u"), "Mixed integer, CASE text");
}

TEST(Binder, OrderByFindsPositionsNamesAndExpressions) {
  const auto sort_line = [](std::string_view text) {
    const std::string plan = PlanOrError(text);
    const size_t begin = plan.find("Sort: ");
    return begin == std::string::npos ? plan : plan.substr(begin, plan.find('\n', begin) - begin);
  };
  EXPECT_EQ(sort_line("SELECT a, b FROM t ORDER BY 2"), "Sort: b ASC NULLS LAST");
  EXPECT_EQ(sort_line("SELECT a AS b, b AS c FROM t ORDER BY b"), "Sort: b ASC NULLS LAST") << "the output name wins";
  EXPECT_EQ(sort_line("SELECT a + 1 AS x FROM t ORDER BY a + 1 DESC NULLS LAST"), "Sort: x DESC NULLS LAST")
      << "an equal expression is reused";
  EXPECT_EQ(sort_line("SELECT a, a FROM t ORDER BY a NULLS FIRST"), "Sort: a ASC NULLS FIRST")
      << "the same column twice is not ambiguous";
  EXPECT_EQ(sort_line("SELECT a AS x FROM t ORDER BY a, a + 1, a + 1"),
            "Sort: x ASC NULLS LAST, a + 1 ASC NULLS LAST, a + 1 ASC NULLS LAST");
  EXPECT_EQ(sort_line("SELECT mixed AS x FROM u ORDER BY X"), "Sort: x ASC NULLS LAST");
  EXPECT_EQ(sort_line("SELECT s FROM t ORDER BY s COLLATE \"C\""), "Sort: s ASC NULLS LAST");
  // Hidden columns are dropped again.
  EXPECT_EQ(ColumnsOrError("SELECT a FROM t ORDER BY b, d"), "a integer");
}

TEST(Binder, OrderByOfUnionsAndValuesUsesTheOutput) {
  EXPECT_EQ(PlanOrError("SELECT a FROM ns.v UNION ALL SELECT a FROM ns.v ORDER BY a LIMIT 3"),
            "Limit: 3\n  Sort: a ASC NULLS LAST\n    UnionAll\n      Project: a\n        Scan: ns.v columns=[a]\n"
            "      Project: a\n        Scan: ns.v columns=[a]\n");
  EXPECT_EQ(PlanOrError("VALUES (2), (1) ORDER BY column1"), "Sort: column1 ASC NULLS LAST\n  Values: 2 rows: (2), (1)\n");
}

TEST(Binder, LimitsAreConstants) {
  EXPECT_EQ(PlanOrError("SELECT a FROM ns.v LIMIT ALL"), std::string("Project: a\n  ") + kScanV);
  EXPECT_EQ(PlanOrError("SELECT a FROM ns.v LIMIT NULL OFFSET 0"), std::string("Project: a\n  ") + kScanV);
  EXPECT_EQ(PlanOrError("SELECT a FROM ns.v LIMIT 2 * 3"), std::string("Limit: 6\n  Project: a\n    ") + kScanV);
  EXPECT_EQ(PlanOrError("SELECT a FROM ns.v OFFSET '4' ROWS FETCH NEXT 2 ROWS ONLY"),
            std::string("Limit: 2 offset=4\n  Project: a\n    ") + kScanV);
  EXPECT_EQ(PlanOrError("SELECT a FROM ns.v OFFSET 1"), std::string("Limit: all offset=1\n  Project: a\n    ") + kScanV);
  EXPECT_EQ(PlanOrError("SELECT a FROM ns.v LIMIT 0"), std::string("Limit: 0\n  Project: a\n    ") + kScanV);
}

TEST(Binder, TablesArePathsNamesAndSubqueries) {
  EXPECT_EQ(PlanOrError("SELECT l.l_orderkey FROM 'dir/*.parquet' AS l"),
            "Project: l_orderkey\n  Scan: dir/*.parquet columns=[l_orderkey, l_shipdate, l_comment]\n");
  EXPECT_EQ(ColumnsOrError("SELECT lineitem.l_shipdate FROM 'dir/lineitem.parquet'"), "l_shipdate date")
      << "a path has its file's name";
  EXPECT_EQ(ColumnsOrError("SELECT v.a, ns.v.a FROM ns.v"), "a integer, a integer");
  EXPECT_EQ(ColumnsOrError("SELECT q.x, b FROM (SELECT a, b FROM t) AS q(x)"), "x integer, b bigint");
  EXPECT_EQ(ColumnsOrError("SELECT * FROM (SELECT a FROM t)"), "a integer") << "a subquery needs no alias, as in PostgreSQL 16";
  EXPECT_EQ(ColumnsOrError("SELECT * FROM (VALUES (1, 'x'), (2, NULL)) v(id, name)"), "id integer, name text");
  EXPECT_EQ(ColumnsOrError("SELECT x.column1 FROM (VALUES (1)) x"), "column1 integer");
}

TEST(Binder, NoFromIsOneRow) {
  EXPECT_EQ(PlanOrError("SELECT 1 AS x, 'a' AS y"), "Project: 1 AS x, 'a' AS y\n  Values: 1 row\n");
  EXPECT_EQ(PlanOrError("SELECT 1 WHERE false"), "Project: 1 AS ?column?\n  Filter: false\n    Values: 1 row\n");
}

TEST(Binder, NamesIgnoreCaseWhenNothingMatchesExactly) {
  EXPECT_EQ(ColumnsOrError("SELECT mixed, MIXED, \"Mixed\" FROM u"), "Mixed integer, Mixed integer, Mixed integer")
      << "the file's spelling stays";
  EXPECT_EQ(ColumnsOrError("SELECT U.A AS X FROM (SELECT a, b FROM t) u"), "x integer");
  EXPECT_EQ(ColumnsOrError("SELECT \"CASE\" FROM u"), "CASE text");
  EXPECT_EQ(ColumnsOrError("SELECT a FROM (SELECT 1 AS \"A\", 'x' AS a)"), "a text") << "an exact match wins";
}

TEST(Binder, LongNamesKeepAllTheirBytes) {
  const std::string name(100, 'x');
  EXPECT_EQ(ColumnsOrError("SELECT a AS " + name + " FROM t"), name + " integer");
  EXPECT_EQ(ColumnsOrError("SELECT " + name + "y FROM (SELECT a AS " + name + "x, s AS " + name + "y FROM t)"), name + "y text");
}

TEST(Binder, DefaultNamesArePostgres) {
  EXPECT_EQ(ColumnsOrError(
                "SELECT a + 1, (a), -a, a::bigint, 1::bigint, CAST('1' AS smallint), date '2020-01-01', 'x', NULL, true FROM t"),
            "?column? integer, a integer, ?column? integer, a bigint, int8 bigint, int2 smallint, date date, ?column? text, "
            "?column? text, ?column? boolean");
  EXPECT_EQ(
      ColumnsOrError("SELECT CASE WHEN ok THEN 1 ELSE 2 END, CASE WHEN ok THEN 1 ELSE a END, a IS NULL, NOT ok, a IN (1) FROM t"),
      "case integer, a integer, ?column? boolean, ?column? boolean, ?column? boolean");
}

TEST(Binder, FunctionsNameTheirColumns) {
  EXPECT_EQ(
      ColumnsOrError("SELECT coalesce(a, 1), nullif(a, 1), greatest(a, b), least(a, 1), upper(s), extract(year FROM d), "
                     "substring(s FROM 2) FROM t"),
      "coalesce integer, nullif integer, greatest bigint, least integer, upper text, extract numeric(10,0), substring text");
  EXPECT_EQ(ColumnsOrError("SELECT current_date, current_timestamp, now()"),
            "current_date date, current_timestamp timestamp with time zone, now timestamp with time zone");
}

TEST(Binder, NumbersHaveTheSmallestType) {
  EXPECT_EQ(ColumnsOrError("SELECT 1 AS a, 2147483647 AS b, 2147483648 AS c, -2147483648 AS d, 9223372036854775807 AS e, "
                           "9223372036854775808 AS f"),
            "a integer, b integer, c bigint, d integer, e bigint, f numeric(19,0)");
  EXPECT_EQ(
      ColumnsOrError("SELECT 1.50 AS a, .5 AS b, 0.001 AS c, 1. AS d, 1e5 AS e, 1.5e-3 AS f, 0 AS g, 0.0 AS h, 1_000.5 AS i"),
      "a numeric(3,2), b numeric(1,1), c numeric(3,3), d numeric(1,0), e double precision, f double precision, g integer, h "
      "numeric(1,1), "
      "i numeric(5,1)");
  EXPECT_EQ(PlanOrError("SELECT 0x1F AS a, 0b101 AS b, 0xFFFFFFFFFF AS c, 007 AS d, -0.50 AS e"),
            "Project: 31 AS a, 5 AS b, 1099511627775 AS c, 7 AS d, -0.50 AS e\n  Values: 1 row\n");
}

TEST(Binder, TypedLiteralsAreValuesAtOnce) {
  EXPECT_EQ(PlanOrError("SELECT date '2020-02-29' AS a, '2020-01-01 10:00'::timestamp AS b, interval '1' month AS c, interval '3 "
                        "months 2 days' AS e, "
                        "'12.5'::numeric AS f, 'x'::text AS g, bool 't' AS h"),
            "Project: DATE '2020-02-29' AS a, TIMESTAMP '2020-01-01 10:00:00' AS b, INTERVAL '1 mon' AS c, INTERVAL '3 mons 2 "
            "days' AS e, 12.5 AS f, "
            "CAST('x' AS text) AS g, true AS h\n  Values: 1 row\n");
  EXPECT_EQ(PlanOrError("SELECT a FROM ns.v WHERE 'f'"), std::string("Project: a\n  Filter: false\n    ") + kScanV);
}

TEST(Binder, StringsTakeEscapes) {
  EXPECT_EQ(PlanOrError("SELECT 'it''s' AS a, E'x\\ty' AS b, $q$d'e$q$ AS c, U&'\\0061' AS d"),
            "Project: 'it''s' AS a, 'x\ty' AS b, 'd''e' AS c, 'a' AS d\n  Values: 1 row\n");
}

TEST(Binder, PredicatesHaveTheirSpellings) {
  const auto filter = [](std::string_view predicate) {
    const std::string plan = PlanOrError("SELECT 1 AS x FROM t WHERE " + std::string(predicate));
    const size_t begin = plan.find("Filter: ");
    return begin == std::string::npos ? plan : plan.substr(begin + 8, plan.find('\n', begin) - begin - 8);
  };
  EXPECT_EQ(filter("a BETWEEN 1 AND 2"), "a >= 1 AND a <= 2");
  EXPECT_EQ(filter("a NOT BETWEEN 1 AND 2"), "NOT (a >= 1 AND a <= 2)");
  EXPECT_EQ(filter("a BETWEEN SYMMETRIC 2 AND 1"), "a >= 2 AND a <= 1 OR a >= 1 AND a <= 2");
  EXPECT_EQ(filter("a IN (1, 2) AND a NOT IN (3)"), "a IN (1, 2) AND a NOT IN (3)");
  EXPECT_EQ(filter("a IS DISTINCT FROM 1 OR a IS NOT DISTINCT FROM NULL"), "a IS DISTINCT FROM 1 OR a IS NOT DISTINCT FROM NULL");
  EXPECT_EQ(filter("ok IS TRUE AND ok IS NOT FALSE AND ok IS UNKNOWN AND ok IS NOT UNKNOWN"),
            "ok IS TRUE AND ok IS NOT FALSE AND ok IS UNKNOWN AND ok IS NOT UNKNOWN");
  EXPECT_EQ(filter("s IS NULL AND d IS NOT NULL AND NOT ok"), "s IS NULL AND d IS NOT NULL AND NOT ok");
  EXPECT_EQ(filter("a != 1 AND a <> 2"), "a <> 1 AND a <> 2");
  EXPECT_EQ(filter("d < '1995-03-05'"), "d < DATE '1995-03-05'");
  EXPECT_EQ(filter("s LIKE 'x%' AND s NOT LIKE 'y!%' ESCAPE '!' AND s ILIKE 'Z' AND s !~~ 'q' AND s NOT ILIKE 'w'"),
            "s LIKE 'x%' AND s NOT LIKE 'y!%' ESCAPE '!' AND s ILIKE 'Z' AND s NOT LIKE 'q' AND s NOT ILIKE 'w'");
  EXPECT_EQ(filter("CASE a WHEN 1 THEN ok WHEN 2 THEN false END"), "CASE WHEN a = 1 THEN ok WHEN a = 2 THEN false ELSE NULL END");
  EXPECT_EQ(filter("(p).x = 1 AND t.p.y = 'z' AND p.x = 2"), "field(p, 'x') = 1 AND field(p, 'y') = 'z' AND field(p, 'x') = 2");
}

TEST(Binder, UnionAllUnifiesTypes) {
  EXPECT_EQ(ColumnsOrError("SELECT a FROM t UNION ALL SELECT b FROM t"), "a bigint");
  EXPECT_EQ(ColumnsOrError("SELECT 1 AS x UNION ALL SELECT 2.5 UNION ALL (SELECT 3 ORDER BY 1 LIMIT 1)"), "x numeric(11,1)");
  EXPECT_EQ(ColumnsOrError("SELECT NULL AS x UNION ALL SELECT 1"), "x integer");
  EXPECT_EQ(ColumnsOrError("SELECT NULL AS x UNION ALL SELECT NULL"), "x text");
  EXPECT_EQ(ColumnsOrError("VALUES (1, NULL, date '2020-01-01') UNION ALL VALUES (2, 'x', NULL)"),
            "column1 integer, column2 text, column3 date");
  EXPECT_EQ(PlanOrError("SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4").find("UnionAll", 1),
            std::string::npos)
      << "a chain is one node";
}

TEST(Binder, ValuesUnifyTypes) {
  EXPECT_EQ(ColumnsOrError("VALUES (1, 'a', NULL), (2.5, NULL, NULL)"), "column1 numeric(11,1), column2 text, column3 text");
  EXPECT_EQ(ColumnsOrError("VALUES (date '2020-01-01'), ('2020-01-02')"), "column1 date")
      << "a string takes the type of the others";
}

TEST(Binder, WithQueriesAreTables) {
  EXPECT_EQ(PlanOrError("WITH x AS (SELECT a FROM ns.v), y(z) AS (SELECT a + 1 FROM x) SELECT z FROM y WHERE z > 1"),
            "Project: z\n"
            "  Filter: z > 1\n"
            "    Project: ?column? AS z\n"
            "      Project: a + 1 AS ?column?\n"
            "        Project: a\n"
            "          Scan: ns.v columns=[a]\n");
  EXPECT_EQ(ColumnsOrError("WITH t AS (SELECT 'x' AS q) SELECT * FROM t"), "q text") << "a WITH name hides a table";
  EXPECT_EQ(ColumnsOrError("WITH x AS (SELECT 1 AS a) SELECT * FROM (WITH x AS (SELECT 'y' AS b) SELECT * FROM x)"), "b text");
  EXPECT_EQ(ColumnsOrError("WITH x AS (SELECT a FROM stream) SELECT * FROM x"), "a integer");
  EXPECT_EQ(ColumnsOrError("WITH x AS NOT MATERIALIZED (SELECT 1 AS a) TABLE x"), "a integer");
}

TEST(Binder, CopyTakesQueriesAndTables) {
  EXPECT_EQ(PlanOrError("COPY (SELECT a FROM ns.v ORDER BY a) TO 'out.parquet' (FORMAT parquet, COMPRESSION 'zstd', "
                        "ROW_GROUP_SIZE 1000, \"X\")"),
            "Copy: to 'out.parquet' (compression zstd, format parquet, row_group_size 1000, x true)\n"
            "  Sort: a ASC NULLS LAST\n    Project: a\n      Scan: ns.v columns=[a]\n");
  EXPECT_EQ(PlanOrError("COPY ns.v TO 'x.csv' WITH (FORMAT csv, HEADER false, NULL '', DELIMITER ';', LEVEL -1, RATIO 0.5)"),
            "Copy: to 'x.csv' (delimiter ;, format csv, header false, level -1, null , ratio 0.5)\n  Scan: ns.v columns=[a]\n");
  EXPECT_EQ(PlanOrError("COPY t (s, a) TO 'x'"), "Copy: to 'x'\n  Project: s, a\n    " + kScanT);
  EXPECT_EQ(PlanOrError("COPY (VALUES (1)) TO 'x' CSV HEADER"), "Copy: to 'x' (format csv, header true)\n  Values: 1 row: (1)\n");
  EXPECT_EQ(ColumnsOrError("COPY ns.v TO 'x'"), "count bigint");
}

}  // namespace
}  // namespace icebound::sql
