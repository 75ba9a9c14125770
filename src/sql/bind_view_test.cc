// SPDX-License-Identifier: Apache-2.0
//
// Views, generate_series and parameters: what comes into a statement from outside its text.
#include <gtest/gtest.h>

#include "sql/expect_error_test.h"

namespace icebound::sql {
namespace {

arrow::Result<BoundStatement> BindWith(FakeTables& tables, std::string_view text,
                                       std::vector<std::shared_ptr<arrow::Scalar>> parameters = {}) {
  BindOptions options;
  options.pool = arrow::default_memory_pool();
  options.parameters = std::move(parameters);
  return BindStatement(text, tables, options);
}

std::string FirstLine(const arrow::Status& status) { return status.message().substr(0, status.message().find('\n')); }

TEST(BindView, CreateGivesNameAndQuery) {
  FakeTables tables = TestTables();
  for (const char* text : {"CREATE VIEW x AS SELECT k, s FROM l", "CREATE OR REPLACE TEMP VIEW x AS SELECT k, s FROM l",
                           "CREATE TEMPORARY VIEW x (k, s) AS SELECT k, s FROM l"}) {
    const auto bound = BindWith(tables, text);
    ASSERT_TRUE(bound.ok()) << bound.status().ToString();
    EXPECT_EQ(bound->kind, StatementKind::kCreateView);
    EXPECT_EQ(bound->views, (std::vector<std::vector<std::string>>{{"x"}}));
    EXPECT_EQ(bound->plan->schema()->field_names(), (std::vector<std::string>{"k", "s"}));
  }
  EXPECT_EQ(ColumnsOrError("CREATE VIEW x (q) AS SELECT k, s FROM l"), "q integer, s text");
  EXPECT_EQ(BindWith(tables, "CREATE VIEW db.x AS SELECT 1")->views.front(), (std::vector<std::string>{"db", "x"}));
}

TEST(BindView, ViewsAreTables) {
  FakeTables tables = TestTables();
  tables.views["x"] = BindWith(tables, "CREATE VIEW x AS SELECT k AS q FROM l WHERE v > 1").ValueOrDie().plan;
  EXPECT_EQ(plan::ExplainText(*BindWith(tables, "SELECT x.q FROM x WHERE q = 2").ValueOrDie().plan),
            "Project: q\n  Filter: q = 2\n    Project: k AS q\n      Filter: v > 1\n        Scan: l columns=[k, v, s]\n");
  EXPECT_EQ(FirstLine(BindWith(tables, "CREATE VIEW x AS SELECT 1").status()), "relation \"x\" already exists");
  EXPECT_TRUE(BindWith(tables, "CREATE OR REPLACE VIEW x AS SELECT 1").ok());
  // A WITH query of that name is meant first.
  EXPECT_EQ(BindWith(tables, "WITH x AS (SELECT 1 AS one) TABLE x").ValueOrDie().plan->schema()->field_names().front(), "one");
  tables.views["once"] = BindWith(tables, "CREATE VIEW once AS TABLE stream").ValueOrDie().plan;
  EXPECT_TRUE(BindWith(tables, "TABLE once").ok());
  EXPECT_EQ(FirstLine(BindWith(tables, "SELECT 1 FROM once, stream s").status()),
            "\"stream\" is a stream that can be read only once, and this statement reads it twice");
}

TEST(BindView, ViewsIntoViewsAreNotEndless) {
  FakeTables tables = TestTables();
  tables.views["x0"] = BindWith(tables, "CREATE VIEW x0 AS TABLE ns.v").ValueOrDie().plan;
  arrow::Status status;
  int depth = 1;
  for (; status.ok() && depth < 2000; ++depth) {
    const std::string name = "x" + std::to_string(depth);
    const auto bound = BindWith(tables, "CREATE VIEW " + name + " AS SELECT * FROM x" + std::to_string(depth - 1));
    if (bound.ok()) tables.views[name] = bound->plan;
    status = bound.status();
  }
  EXPECT_GT(depth, 100);
  EXPECT_EQ(FirstLine(status), "the statement is nested too deeply: more than 500 levels");
}

TEST(BindView, DropNamesTheViewsThatExist) {
  FakeTables tables = TestTables();
  tables.views["x"] = tables.views["y"] = BindWith(tables, "SELECT 1").ValueOrDie().plan;
  const auto bound = BindWith(tables, "DROP VIEW IF EXISTS x, nowhere, y, x CASCADE");
  ASSERT_TRUE(bound.ok()) << bound.status().ToString();
  EXPECT_EQ(bound->kind, StatementKind::kDropView);
  EXPECT_EQ(bound->views, (std::vector<std::vector<std::string>>{{"x"}, {"y"}}));
  EXPECT_EQ(BindWith(tables, "DROP VIEW x, \"Nowhere\"").status().message(),
            "view \"Nowhere\" does not exist\nLINE 1, COLUMN 14: DROP VIEW x, \"Nowhere\"\n                                ^");
}

TEST(BindView, Errors) {
  ExpectInvalid("CREATE VIEW »l AS SELECT 1", "relation \"l\" already exists");
  ExpectInvalid("CREATE OR REPLACE VIEW »l AS SELECT 1", "\"l\" is not a view");
  ExpectInvalid("CREATE VIEW »x AS SELECT 1 AS a, 2 AS a", "column \"a\" specified more than once");
  ExpectInvalid("CREATE VIEW »x (a, b) AS SELECT 1", "CREATE VIEW specifies more column names than columns");
  ExpectInvalid("CREATE VIEW x AS SELECT »nothing FROM l", "column \"nothing\" does not exist");
  ExpectUnsupported("CREATE VIEW x AS SELECT 1 »WITH CHECK OPTION", "WITH CHECK OPTION");
  ExpectUnsupported("CREATE VIEW x WITH (»security_barrier) AS SELECT 1", "options of views");
  ExpectInvalid("DROP VIEW »l", "\"l\" is not a view");
  ExpectError("DROP VIEW »nowhere", ErrorKind::kNotFound, "view \"nowhere\" does not exist");
}

TEST(BindCsv, PathAndOptionsAreConstants) {
  FakeTables tables = TestTables();
  tables.AddPath("x.csv", {arrow::field("a", arrow::int64())});
  const auto bound = BindWith(tables,
                              "SELECT t.a FROM read_csv('x.csv', delimiter => ';', header => false, null_string => 'NA', "
                              "null_string => '', sample_bytes => 1000) t");
  ASSERT_TRUE(bound.ok()) << bound.status().ToString();
  EXPECT_EQ(tables.last_csv, "x.csv; delimiter=;; header=false; null_string=NA; null_string=; sample_bytes=1000");
  EXPECT_TRUE(BindWith(tables, "SELECT read_csv.a FROM read_csv('x.csv')").ok());
  ExpectInvalid("SELECT 1 FROM »read_csv()", "read_csv takes a path as a string");
  ExpectInvalid("SELECT 1 FROM read_csv('a', »'b')", "read_csv takes one path, and then options: name => value");
  ExpectUnsupported("SELECT 1 FROM read_csv(»lower('A'))",
                    "anything but text, whole numbers, true and false as arguments of read_csv");
}

/// "start, stop, step" of the series and its type, or the error.
std::string Series(const std::string& call) {
  FakeTables tables = TestTables();
  const auto bound = BindWith(tables, "SELECT * FROM " + call);
  if (!bound.ok()) return FirstLine(bound.status());
  const plan::SeriesBounds& series = tables.last_series;
  return fmt::format("{}, {}, {} {}", series.start->ToString(), series.stop->ToString(), series.step->ToString(),
                     expr::SqlTypeName(*series.start->type));
}

TEST(BindSeries, BoundsAreConstants) {
  EXPECT_EQ(Series("generate_series(1, 10)"), "1, 10, 1 integer");
  EXPECT_EQ(Series("generate_series(1, 5000000000, 2) AS g"), "1, 5000000000, 2 bigint");
  EXPECT_EQ(Series("generate_series(10, 2 * 3 - 5, -1)"), "10, 1, -1 integer");
  EXPECT_EQ(Series("generate_series(NULL, 3)"), "null, 3, 1 integer");
  EXPECT_EQ(Series("LATERAL generate_series(1::smallint, '7')"), "1, 7, 1 integer");
  EXPECT_EQ(Series("generate_series(timestamp '2020-01-01', '2020-02-01', '1 day')"),
            "2020-01-01 00:00:00.000000, 2020-02-01 00:00:00.000000, 0M1d0ns timestamp without time zone");
  EXPECT_EQ(Series("generate_series(date '2020-01-01', date '2020-02-01', interval '1' month)"),
            "2020-01-01 00:00:00.000000Z, 2020-02-01 00:00:00.000000Z, 1M0d0ns timestamp with time zone");
}

TEST(BindSeries, TheAliasNamesTheColumn) {
  EXPECT_EQ(ColumnsOrError("SELECT * FROM generate_series(1, 2)"), "generate_series integer");
  EXPECT_EQ(ColumnsOrError("SELECT g, g.g FROM generate_series(1, 2) g"), "g integer, g integer");
  EXPECT_EQ(ColumnsOrError("SELECT g.i FROM generate_series(1, 2) AS g(i)"), "i integer");
}

TEST(BindSeries, Errors) {
  ExpectInvalid("SELECT 1 FROM »generate_series(1)", "generate_series takes start, stop and an optional step");
  ExpectInvalid("SELECT 1 FROM »generate_series(date '2020-01-01', date '2020-01-02')",
                "generate_series of timestamps takes start, stop and step");
  ExpectUnsupported("SELECT 1 FROM »generate_series(1.5, 2)", "generate_series of anything but integers and timestamps");
  ExpectUnsupported("SELECT 1 FROM l, generate_series(1, »l.k)", "columns as arguments of functions in FROM");
  ExpectUnsupported("SELECT 1 FROM generate_series(1, »(SELECT 2))", "subqueries in functions in FROM");
  ExpectUnsupported("SELECT 1 FROM generate_series(1, (random() * 10)»::int)",
                    "volatile functions as arguments of functions in FROM");
  ExpectInvalid("SELECT 1 FROM generate_series(1, »count(*))", "aggregate functions are not allowed in functions in FROM");
  ExpectInvalid("SELECT 1 FROM generate_series(1, »'x')", "invalid input syntax for type integer: \"x\"");
}

TEST(BindParameters, AreConstants) {
  FakeTables tables = TestTables();
  const auto plan_of = [&](std::string_view text) {
    const auto bound = BindWith(tables, text,
                                {std::make_shared<arrow::Int64Scalar>(7), std::make_shared<arrow::StringScalar>("2020-02-03"),
                                 std::make_shared<arrow::NullScalar>(), std::make_shared<arrow::LargeStringScalar>("x")});
    return bound.ok() ? plan::ExplainText(*bound->plan) : bound.status().message();
  };
  EXPECT_EQ(plan_of("SELECT $1 AS a, $4 AS b FROM l WHERE k < $1 LIMIT $1"),
            "Limit: 7\n  Project: 7 AS a, 'x' AS b\n    Filter: k < 7\n      Scan: l columns=[k, v, s]\n");
  EXPECT_EQ(plan_of("SELECT a FROM t WHERE d < $2 AND s = $2 AND a = $3").substr(0, 85),
            "Project: a\n  Filter: d < DATE '2020-02-03' AND s = '2020-02-03' AND a = NULL\n    Scan");
  EXPECT_EQ(plan_of("SELECT $1 + $5"),
            "there is no parameter $5\nLINE 1, COLUMN 13: SELECT $1 + $5\n                               ^");
  ExpectInvalid("SELECT »$1", "there is no parameter $1");
}

TEST(BindSetOperations, PlansAndTypes) {
  EXPECT_EQ(
      PlanOrError("SELECT k FROM l UNION SELECT a FROM ns.v"),
      "Aggregate: groups=[k]\n  UnionAll\n    Project: k\n      Scan: l columns=[k, v, s]\n    Project: a\n      Scan: ns.v "
      "columns=[a]\n");
  EXPECT_EQ(
      PlanOrError("SELECT k FROM l INTERSECT SELECT a FROM ns.v ORDER BY k LIMIT 1"),
      "Limit: 1\n  Sort: k ASC NULLS LAST\n    Intersect\n      Project: k\n        Scan: l columns=[k, v, s]\n      Project: "
      "a\n        Scan: ns.v columns=[a]\n");
  const auto first_words = [](std::string_view text) {
    const std::string plan = PlanOrError(text);
    return plan.substr(0, plan.find('\n'));
  };
  EXPECT_EQ(first_words("TABLE ns.v INTERSECT ALL TABLE ns.v"), "IntersectAll");
  EXPECT_EQ(first_words("TABLE ns.v EXCEPT TABLE ns.v"), "Except");
  EXPECT_EQ(first_words("TABLE ns.v EXCEPT ALL TABLE ns.v"), "ExceptAll");
  EXPECT_EQ(ColumnsOrError("SELECT k FROM l EXCEPT SELECT k FROM r"), "k bigint");
  EXPECT_EQ(ColumnsOrError("SELECT NULL AS x INTERSECT SELECT NULL"), "x text");
}

TEST(BindSetOperations, UnionsAreOneListWhereThatIsTheSame) {
  const auto unions = [](std::string_view text) {
    const std::string plan = PlanOrError(text);
    int count = 0;
    for (size_t at = plan.find("UnionAll"); at != std::string::npos; at = plan.find("UnionAll", at + 1)) ++count;
    return fmt::format("{} {}", count, plan.substr(0, plan.find(':')));
  };
  EXPECT_EQ(unions("SELECT 1 UNION SELECT 2 UNION SELECT 3"), "1 Aggregate");
  EXPECT_EQ(unions("SELECT 1 UNION ALL SELECT 2 UNION SELECT 3"), "1 Aggregate");
  EXPECT_EQ(unions("SELECT 1 UNION SELECT 2 UNION ALL SELECT 3").substr(0, 1), "2") << "UNION ALL keeps what the other drops";
  EXPECT_EQ(unions("(SELECT 1 UNION SELECT 2 LIMIT 1) UNION SELECT 3"), "2 Aggregate");
}

TEST(BindSetOperations, Errors) {
  ExpectInvalid("SELECT 1 UNION SELECT »1, 2", "each UNION query must have the same number of columns");
  ExpectInvalid("SELECT 1 INTERSECT SELECT »1, 2", "each INTERSECT query must have the same number of columns");
  ExpectInvalid("SELECT k FROM l EXCEPT ALL SELECT »s FROM l", "EXCEPT types integer and text cannot be matched");
}

}  // namespace
}  // namespace icebound::sql
