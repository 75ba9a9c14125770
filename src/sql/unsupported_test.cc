// SPDX-License-Identifier: Apache-2.0
//
// Everything the grammar takes and the binder does not is an error that says what and where (marked by »): no clause may be
// ignored.
#include <gtest/gtest.h>

#include "sql/expect_error_test.h"

namespace icebound::sql {
namespace {

struct Case {
  std::string marked;
  std::string_view what;
};

TEST(Unsupported, ClausesOfSelect) {
  for (const Case& test : std::vector<Case>{
           {"SELECT a FROM t GROUP BY »ROLLUP (a)", "ROLLUP"},
           {"SELECT a FROM t GROUP BY a, »CUBE (a)", "CUBE"},
           {"SELECT a FROM t GROUP BY »GROUPING SETS ((a))", "GROUPING SETS"},
           {"SELECT count(*) FROM t GROUP BY »()", "GROUP BY ()"},
           {"SELECT a FROM t GROUP BY »DISTINCT a", "GROUP BY DISTINCT"},
           {"SELECT a FROM t »WINDOW w AS (PARTITION BY a)", "WINDOW"},
           {"SELECT a »INTO x FROM t", "SELECT INTO"},
           {"SELECT a FROM t »FOR UPDATE", "FOR UPDATE and FOR SHARE"},
           {"SELECT a FROM t ORDER BY a FETCH FIRST 1 ROW WITH »TIES", "WITH TIES"},
           {"SELECT a FROM t ORDER BY »a USING <", "ORDER BY ... USING"},
           {"»WITH RECURSIVE x AS (SELECT 1) SELECT * FROM x", "WITH RECURSIVE"},
           {"WITH »x AS (DELETE FROM t RETURNING a) SELECT * FROM x", "WITH queries that change data"},
       }) {
    ExpectUnsupported(test.marked, test.what);
  }
}

TEST(Unsupported, ThingsInFrom) {
  for (const Case& test : std::vector<Case>{
           {"SELECT 1 FROM ONLY »t", "FROM ONLY"},
           {"SELECT 1 FROM t »TABLESAMPLE SYSTEM (10)", "TABLESAMPLE"},
           {"SELECT 1 FROM »unnest(1, 2)", "the table function unnest"},
           {"SELECT 1 FROM »generate_series(1, 2) WITH ORDINALITY", "WITH ORDINALITY"},
           {"SELECT 1 FROM ROWS FROM (»f(1), g(2))", "ROWS FROM"},
           {"SELECT 1 FROM »f(1) AS x(a int)", "column definitions after a table function"},
       }) {
    ExpectUnsupported(test.marked, test.what);
  }
}

TEST(Unsupported, Expressions) {
  for (const Case& test : std::vector<Case>{
           {"SELECT »corr(a, b) FROM t", "aggregate functions (corr)"},
           {"SELECT sum(a) »WITHIN GROUP (ORDER BY a) FROM t", "WITHIN GROUP"},
           {"SELECT »sum(VARIADIC s) FROM t", "VARIADIC arguments"},
           {"SELECT sum(»x => a) FROM t", "named arguments of functions"},
           {"SELECT »sum(a) OVER () FROM t", "window functions"},
           {"SELECT »abs(a) OVER () FROM t", "window functions"},
           {"SELECT »row_number() FROM t", "window functions (row_number)"},
           {"SELECT »ARRAY(SELECT 1)", "ARRAY(SELECT ...)"},
           {"SELECT a FROM t LIMIT »(SELECT 1)", "subqueries in LIMIT"},
           {"VALUES (»(SELECT 1))", "subqueries in VALUES"},
           {"SELECT a FROM t WHERE (a, b) »< ANY (SELECT 1, 2)", "comparisons of rows with <"},
           {"SELECT a FROM t WHERE a IN (SELECT x FROM (VALUES (»t.b)) v(x))", "columns of an outer query in VALUES"},
           {"SELECT (SELECT »sum(t.a) FROM ns.v) FROM t", "an aggregate over columns of an outer query"},
           {"SELECT 1 FROM ns.v LEFT JOIN t ON (SELECT v.a = »t.a)",
            "a subquery in ON of an outer join together with columns of both sides"},
           {"SELECT 1 FROM ns.v LEFT JOIN LATERAL (SELECT v.a AS b) q ON »q.b IN (SELECT 1)",
            "subqueries in ON of a LATERAL outer join"},
           {"SELECT 1 FROM t WHERE EXISTS (WITH w AS (SELECT t.a) SELECT 1 FROM ns.v WHERE EXISTS (SELECT 1 FROM »w))",
            "a WITH query that uses columns of an outer query, inside a further subquery"},
           {"SELECT »ARRAY[1, 2]", "ARRAY[...]"},
           {"SELECT »ROW(1, 2)", "row values"},
           {"SELECT a FROM t WHERE »(a, b) = 1", "row values"},
           {"SELECT a FROM t WHERE (a, b) »< (1, 2)", "comparisons of rows with <"},
           {"SELECT a FROM t WHERE (a, b) IN ((1, 2), »3)", "a comparison of a row with a single value"},
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
    ExpectUnsupported(test.marked, test.what);
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
           {"CREATE RECURSIVE VIEW x (a) AS SELECT »1", "WITH RECURSIVE"},
           {"»DROP MATERIALIZED VIEW x", "DROP"},
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
    ExpectUnsupported(test.marked, test.what);
  }
}

}  // namespace
}  // namespace icebound::sql
