// SPDX-License-Identifier: Apache-2.0
//
// Everything the grammar takes and the binder does not is an error that says what and where (marked by »): no clause may be
// ignored.
#include <gtest/gtest.h>

#include "sql/fake_tables_test.h"
#include "sql/sql_error.h"

namespace icebound::sql {
namespace {

constexpr std::string_view kMark = "»";

struct Case {
  std::string marked;
  std::string_view what;
};

void ExpectUnsupported(const Case& test) {
  std::string text = test.marked;
  const size_t at = text.find(kMark);
  ASSERT_NE(at, std::string::npos) << text;
  text.erase(at, kMark.size());
  const auto bound = BindText(text);
  ASSERT_FALSE(bound.ok()) << text << "\n" << plan::ExplainText(*bound->plan);
  EXPECT_EQ(GetErrorKind(bound.status()), ErrorKind::kUnsupported) << bound.status().message();
  EXPECT_EQ(bound.status().message(), "not supported yet: " + std::string(test.what) + "\n" + RenderCaret(text, at)) << text;
}

TEST(Unsupported, ClausesOfSelect) {
  for (const Case& test : std::vector<Case>{
           {"SELECT »DISTINCT a FROM t", "DISTINCT"},
           {"SELECT »DISTINCT ON (a) a, b FROM t", "DISTINCT"},
           {"SELECT a FROM t »GROUP BY a", "GROUP BY"},
           {"SELECT a FROM t »GROUP BY ROLLUP (a)", "GROUP BY"},
           {"SELECT 1 FROM t »HAVING true", "HAVING"},
           {"SELECT a FROM t »WINDOW w AS (PARTITION BY a)", "WINDOW"},
           {"SELECT a »INTO x FROM t", "SELECT INTO"},
           {"SELECT a FROM t »FOR UPDATE", "FOR UPDATE and FOR SHARE"},
           {"SELECT a FROM t ORDER BY a FETCH FIRST 1 ROW WITH »TIES", "WITH TIES"},
           {"SELECT a FROM t ORDER BY »a USING <", "ORDER BY ... USING"},
           {"SELECT a FROM t »UNION SELECT a FROM t", "UNION without ALL"},
           {"SELECT a FROM t »INTERSECT SELECT a FROM t", "INTERSECT"},
           {"SELECT a FROM t »EXCEPT ALL SELECT a FROM t", "EXCEPT"},
           {"»WITH RECURSIVE x AS (SELECT 1) SELECT * FROM x", "WITH RECURSIVE"},
           {"WITH »x AS MATERIALIZED (SELECT 1) SELECT * FROM x", "WITH ... AS MATERIALIZED"},
           {"WITH »x AS (DELETE FROM t RETURNING a) SELECT * FROM x", "WITH queries that change data"},
       }) {
    ExpectUnsupported(test);
  }
}

TEST(Unsupported, ThingsInFrom) {
  for (const Case& test : std::vector<Case>{
           {"SELECT 1 FROM t, »u", "several tables in FROM (joins)"},
           {"SELECT 1 FROM t »JOIN u ON true", "joins"},
           {"SELECT 1 FROM t LEFT »JOIN u ON true", "joins"},
           {"SELECT 1 FROM t CROSS »JOIN u", "joins"},
           {"SELECT 1 FROM t NATURAL »JOIN u", "joins"},
           {"SELECT 1 FROM 'dir/*.parquet' »JOIN 'dir/lineitem.parquet' USING (l_orderkey)", "joins"},
           {"SELECT 1 FROM ONLY »t", "FROM ONLY"},
           {"SELECT 1 FROM t »TABLESAMPLE SYSTEM (10)", "TABLESAMPLE"},
           {"SELECT 1 FROM »generate_series(1, 2)", "the table function generate_series"},
           {"SELECT 1 FROM »generate_series(1, 2) WITH ORDINALITY", "WITH ORDINALITY"},
           {"SELECT 1 FROM ROWS FROM (»f(1), g(2))", "ROWS FROM"},
           {"SELECT 1 FROM »f(1) AS x(a int)", "column definitions after a table function"},
           {"SELECT 1 FROM »LATERAL (SELECT 1) x", "LATERAL"},
           {"SELECT 1 FROM LATERAL »f(1)", "LATERAL"},
       }) {
    ExpectUnsupported(test);
  }
}

TEST(Unsupported, Expressions) {
  for (const Case& test : std::vector<Case>{
           {"SELECT »sum(a) FROM t", "aggregate functions (sum)"},
           {"SELECT »count(*) FROM t", "aggregate functions (count)"},
           {"SELECT »sum(a) OVER () FROM t", "window functions"},
           {"SELECT »abs(a) OVER () FROM t", "window functions"},
           {"SELECT »row_number() FROM t", "aggregate and window functions (row_number)"},
           {"SELECT »(SELECT 1)", "subqueries in expressions"},
           {"SELECT 1 WHERE »EXISTS (SELECT 1)", "subqueries in expressions"},
           {"SELECT a FROM t WHERE a »IN (SELECT 1)", "subqueries in expressions"},
           {"SELECT a FROM t WHERE a = »$1", "parameters ($1)"},
           {"SELECT »ARRAY[1, 2]", "ARRAY[...]"},
           {"SELECT »ROW(1, 2)", "row values"},
           {"SELECT a FROM t WHERE »(a, b) = (1, 2)", "row values"},
           {"SELECT a »= ANY ('{1}') FROM t", "ANY (list)"},
           {"SELECT a »= ALL ('{1}') FROM t", "ALL (list)"},
           {"SELECT s »SIMILAR TO 'x' FROM t", "SIMILAR TO"},
           {"SELECT s »COLLATE \"de_DE\" FROM t", "collation \"de_DE\"; text is compared by its bytes (\"C\")"},
           {"SELECT »t FROM t", "a whole row as a value (\"t\" is a table); name a column or write t.*"},
           {"SELECT (»p).* FROM t", "the expansion of a struct with \"*\""},
           {"SELECT (»s)[1:2] FROM t", "list slices [a:b]"},
           {"SELECT »x'1f'", "bit strings; bytes are written as '\\x1f'::bytea"},
           {"SELECT a::»int[] FROM t", "casts to lists (int4[])"},
           {"SELECT s::»char(3) FROM t", "type char(n); varchar(n) or text hold strings"},
           {"SELECT s::»json FROM t", "type json"},
           {"SELECT f::»numeric FROM t",
            "a cast from double precision to numeric without precision and scale; write numeric(38, 10)"},
           {"SELECT s::»timestamp(3) FROM t", "timestamp(3); there are 6 and 9 (nanoseconds)"},
           {"SELECT s::»time(3) FROM t", "time with a precision"},
           {"SELECT »interval(3) '1 day'", "intervals with a precision"},
           {"SELECT »localtime", "localtime"},
           {"SELECT »current_timestamp(3)", "current_timestamp with a precision"},
           {"SELECT »current_user", "current_user"},
           {"SELECT abs(»x => 1)", "named arguments of functions"},
           {"SELECT »concat(VARIADIC s) FROM t", "VARIADIC arguments"},
           {"SELECT »CASE random() WHEN 0.5 THEN 1 END", "CASE over a volatile function"},
           {"VALUES (»DEFAULT)", "DEFAULT"},
       }) {
    ExpectUnsupported(test);
  }
}

TEST(Unsupported, AggregateSyntaxOnPlainFunctions) {
  for (const char* text : {"SELECT abs(DISTINCT a) FROM t", "SELECT abs(*) FROM t", "SELECT abs(a ORDER BY a) FROM t",
                           "SELECT abs(a) FILTER (WHERE ok) FROM t", "SELECT abs(a) WITHIN GROUP (ORDER BY a) FROM t"}) {
    EXPECT_NE(PlanOrError(text).find("abs is not an aggregate function"), std::string::npos) << text << "\n" << PlanOrError(text);
  }
}

TEST(Unsupported, Statements) {
  for (const Case& test : std::vector<Case>{
           {"»INSERT INTO t VALUES (1)", "INSERT"},
           {"»UPDATE t SET a = 1", "UPDATE"},
           {"»DELETE FROM t", "DELETE"},
           {"»MERGE INTO t USING u ON true WHEN MATCHED THEN DELETE", "MERGE"},
           {"»CREATE TABLE x (a int)", "CREATE TABLE"},
           {"»CREATE TABLE x AS SELECT 1", "CREATE TABLE AS"},
           {"»CREATE VIEW x AS SELECT 1", "CREATE VIEW"},
           {"»DROP TABLE t", "DROP"},
           {"»ALTER TABLE t ADD a int", "ALTER TABLE"},
           {"»TRUNCATE t", "TRUNCATE"},
           {"»SET x = 1", "SET"},
           {"»SHOW x", "SHOW"},
           {"»BEGIN", "transactions"},
           {"»PREPARE x AS SELECT 1", "PREPARE"},
           {"»VACUUM", "this statement"},
           {"»EXPLAIN INSERT INTO t VALUES (1)", "INSERT"},
           {"COPY t »FROM 'x'", "COPY ... FROM"},
           {"COPY t TO »STDOUT", "COPY ... TO STDOUT"},
           {"COPY t TO »PROGRAM 'cat'", "COPY ... TO PROGRAM"},
           {"COPY (DELETE FROM »t RETURNING a) TO 'x'", "COPY of a statement that changes data"},
           {"COPY t TO 'x' (»FORCE_QUOTE *)", "this value of the COPY option force_quote"},
           {"EXPLAIN (»VERBOSE) SELECT 1", "EXPLAIN option verbose"},
           {"EXPLAIN (ANALYZE, »FORMAT json) SELECT 1", "EXPLAIN option format"},
       }) {
    ExpectUnsupported(test);
  }
}

}  // namespace
}  // namespace icebound::sql
