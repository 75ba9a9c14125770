// SPDX-License-Identifier: Apache-2.0
//
// What is wrong, and where the caret stands.
#include <gtest/gtest.h>

#include "sql/expect_error_test.h"

namespace icebound::sql {
namespace {

TEST(BinderError, LooksLikePostgres) {
  const auto bound = BindText("SELECT a\nFROM t\nWHERE\tlength_ > 1");
  EXPECT_EQ(bound.status().message(),
            "column \"length_\" does not exist\nLINE 3, COLUMN 7: WHERE length_ > 1\n                        ^");
  EXPECT_TRUE(bound.status().IsInvalid());
}

TEST(BinderError, UnknownColumnsAndTables) {
  ExpectInvalid("SELECT »l_shipdat FROM 'dir/lineitem.parquet'",
                "column \"l_shipdat\" does not exist; did you mean \"l_shipdate\"?");
  ExpectInvalid("SELECT a,\n  »zzz FROM t", "column \"zzz\" does not exist");
  ExpectInvalid("SELECT 1 FROM t WHERE »l_x = 1", "column \"l_x\" does not exist");
  ExpectInvalid("SELECT »x.a FROM t", "missing FROM-clause entry for table \"x\"");
  ExpectInvalid("SELECT »tt.* FROM 'dir/lineitem.parquet' ttt",
                "missing FROM-clause entry for table \"tt\"; did you mean \"ttt\"?");
  ExpectInvalid("SELECT »q.l_orderky FROM 'dir/*.parquet' q", "column q.l_orderky does not exist; did you mean \"l_orderkey\"?");
  ExpectInvalid("SELECT »lineitem.l_orderkey FROM 'dir/lineitem.parquet' q", "missing FROM-clause entry for table \"lineitem\"");
  ExpectInvalid("SELECT »\"MIXED\" FROM u", "column \"MIXED\" does not exist; did you mean \"Mixed\"?");
  ExpectInvalid("SELECT »a", "column \"a\" does not exist");
  ExpectInvalid("SELECT »* ", "SELECT * with no tables specified is not valid");
  ExpectError("SELECT * FROM »strem", ErrorKind::kNotFound, "table \"strem\" does not exist; did you mean \"stream\"?");
  ExpectError("SELECT * FROM »'nowhere.parquet'", ErrorKind::kNotFound, "no file matches 'nowhere.parquet'");
  ExpectError("WITH abcde AS (SELECT 1) SELECT * FROM »abcd", ErrorKind::kNotFound,
              "table \"abcd\" does not exist; did you mean \"abcde\"?");
  ExpectError("COPY »nowhere TO 'x'", ErrorKind::kNotFound, "table \"nowhere\" does not exist");
  ExpectInvalid("SELECT * FROM »''", "the path of the table is empty");
}

TEST(BinderError, AmbiguousNames) {
  ExpectInvalid("SELECT »a FROM (SELECT a, b AS a FROM t) x", "column reference \"a\" is ambiguous");
  ExpectInvalid("SELECT »a FROM (SELECT 1 AS \"A\", 2 AS \"A\")", "column reference \"a\" is ambiguous");
  ExpectInvalid("SELECT a AS x, b AS x FROM t ORDER BY »x", "ORDER BY \"x\" is ambiguous");
  ExpectInvalid("WITH x AS (SELECT 1), »x AS (SELECT 2) SELECT 1", "WITH query name \"x\" specified more than once");
}

TEST(BinderError, OrderBy) {
  ExpectInvalid("SELECT a FROM t ORDER BY »2", "ORDER BY position 2 is not in select list");
  ExpectInvalid("SELECT a FROM t ORDER BY »0", "ORDER BY position 0 is not in select list");
  ExpectInvalid("SELECT a FROM t ORDER BY »'a'", "non-integer constant in ORDER BY");
  ExpectInvalid("SELECT a AS x FROM t ORDER BY »x + 1", "column \"x\" does not exist");
  ExpectInvalid("SELECT a FROM t UNION ALL SELECT a FROM t ORDER BY »b", "column \"b\" does not exist");
  ExpectInvalid("SELECT a FROM t UNION ALL SELECT a FROM t ORDER BY »a + 1",
                "ORDER BY of a UNION or VALUES takes the names and positions of output columns, no expressions");
  ExpectInvalid("VALUES (1) ORDER BY »2", "ORDER BY position 2 is not in select list");
}

TEST(BinderError, Limits) {
  ExpectInvalid("SELECT a FROM t LIMIT »-1", "LIMIT must not be negative");
  ExpectInvalid("SELECT a FROM t OFFSET »-1", "OFFSET must not be negative");
  ExpectInvalid("SELECT a FROM t LIMIT »a", "argument of LIMIT must not contain variables");
  ExpectInvalid("SELECT a FROM t LIMIT »random()", "argument of LIMIT must not contain volatile functions");
  ExpectInvalid("SELECT a FROM t LIMIT »1 / 0", "division by zero");
  ExpectInvalid("SELECT a FROM t LIMIT »'x'", "invalid input syntax for type bigint: \"x\"");
}

TEST(BinderError, Types) {
  ExpectInvalid("SELECT a FROM t WHERE »a", "argument of WHERE must be type boolean, not type integer");
  ExpectInvalid("SELECT a FROM t WHERE ok AND »s", "argument of AND must be type boolean, not type text");
  ExpectInvalid("SELECT a FROM t WHERE NOT »a", "argument of NOT must be type boolean, not type integer");
  ExpectInvalid("SELECT CASE WHEN »a THEN 1 END FROM t", "argument of CASE/WHEN must be type boolean, not type integer");
  ExpectInvalid("SELECT »a IS TRUE FROM t", "argument of IS TRUE must be type boolean, not type integer");
  ExpectInvalid("SELECT a »+ s FROM t",
                "operator does not exist: integer + text; no candidate matches the argument types, explicit casts may help");
  ExpectInvalid("SELECT a FROM t WHERE d < »'tomorow'", "invalid input syntax for type date: \"tomorow\"");
  ExpectInvalid("SELECT date »'2020-02-30'", "date/time field value out of range: \"2020-02-30\"");
  ExpectInvalid("SELECT »'abc'::integer", "invalid input syntax for type integer: \"abc\"");
  ExpectInvalid("SELECT interval »'1 fortnight'", "invalid input syntax for type interval: \"1 fortnight\"");
  ExpectInvalid("SELECT »'1x'::numeric", "invalid input syntax for type numeric: \"1x\"");
  ExpectInvalid("SELECT a::»intt FROM t", "type \"intt\" does not exist; did you mean \"int\"?");
  ExpectInvalid("SELECT a::»numeric(40) FROM t", "NUMERIC precision 40 must be between 1 and 38");
  ExpectInvalid("SELECT a::»numeric(4,5) FROM t", "NUMERIC scale 5 must be between 0 and precision 4");
  ExpectInvalid("SELECT a::»int4(3) FROM t", "type modifier is not allowed for type \"int4\"");
  ExpectInvalid("SELECT a »COLLATE \"C\" FROM t", "collations are not supported by type integer");
  ExpectInvalid("SELECT »p.z FROM t", "the struct has no field \"z\"");
  ExpectInvalid("SELECT a FROM t UNION ALL SELECT »s FROM t", "UNION types integer and text cannot be matched");
  ExpectInvalid("SELECT a, b FROM t UNION ALL SELECT »a FROM t", "each UNION query must have the same number of columns");
  ExpectInvalid("VALUES (1, 2), (»3)", "VALUES lists must all be the same length");
  ExpectInvalid("SELECT * FROM »ns.v AS x(a, b)", "table \"x\" has 1 columns available but 2 columns specified");
  ExpectInvalid("SELECT »12345678901234567890123456789012345678.5",
                "number has more than 38 digits; write it with an exponent to get double precision");
  ExpectInvalid("SELECT »1e400", "\"1e400\" is out of range for type double precision");
  ExpectInvalid("SELECT »0xFFFFFFFFFFFFFFFFFF", "integer 0xFFFFFFFFFFFFFFFFFF is out of range for bigint");
}

TEST(BinderError, UnknownFunctionsSuggestTheNearest) {
  ExpectInvalid("SELECT »lenght(s) FROM t", "function lenght(text) does not exist; did you mean \"length\"?");
  ExpectInvalid("SELECT a FROM t WHERE »foo.bar(a)", "schema \"foo\" of function bar does not exist");
}

TEST(BinderError, OneShotTablesAreReadOnce) {
  ExpectInvalid("SELECT a FROM stream UNION ALL SELECT a FROM »stream",
                "\"stream\" is a stream that can be read only once, and this statement reads it twice");
  ExpectInvalid("WITH q AS (SELECT * FROM stream) SELECT * FROM q UNION ALL SELECT * FROM »q",
                "\"stream\" is a stream that can be read only once, and this statement reads it twice");
}

TEST(BinderError, Syntax) {
  ExpectInvalid("SELECT a FROM t WHERE»", "syntax error at end of input");
  ExpectInvalid("SELECT a FROM 'x' »'y'", "syntax error at or near \"'y'\"");
  ExpectInvalid("SELECT a FROM t WHERE é = 1 +»", "syntax error at end of input");
  ExpectInvalid("SELECT »'abc", "unterminated quoted string at or near \"'abc\"");
  ExpectInvalid("SELECT 1 »/* abc", "unterminated /* comment at or near \"/* abc\"");
  ExpectInvalid("SELECT 1; »SELECT 2", "only one statement can be given at a time");
  ExpectInvalid("»FROM t", "syntax error at or near \"FROM\"");
  ExpectInvalid("SELECT a FROM t FETCH FIRST 3 ROWS »WITH TIES", "WITH TIES cannot be specified without ORDER BY clause");
  ExpectInvalid("", "the SQL text has no statement");
  ExpectInvalid(" ; -- nothing\n;", "the SQL text has no statement");
  ExpectInvalid("SELECT 1\nWHERE 'a\xff'", "the SQL text is not valid UTF-8 in line 2, column 9: byte 0xff");
  ExpectInvalid(std::string("SELECT 1\0 + 1", 13), "the SQL text has a NUL character in line 1, column 9");
}

TEST(BinderError, CopyOptions) {
  ExpectInvalid("COPY t TO 'x' (FORMAT parquet, »format csv)", "COPY option \"format\" is given twice");
  ExpectInvalid("COPY »t (nothing) TO 'x'", "column \"nothing\" does not exist");
}

TEST(BinderError, DeepAndLongTextsAreErrors) {
  std::string deep = "SELECT ";
  for (int i = 0; i < 3000; ++i) deep += "abs(";
  EXPECT_NE(PlanOrError(deep + "1" + std::string(3000, ')')).find("nested too deeply"), std::string::npos);
  EXPECT_NE(PlanOrError("SELECT " + std::string(100'000, '(') + "1" + std::string(100'000, ')')).find("nested too deeply"),
            std::string::npos);
  // What is accepted must not be near the end of the stack.
  std::string allowed = "SELECT ";
  for (int i = 0; i < 450; ++i) allowed += "abs(";
  EXPECT_TRUE(BindText(allowed + "a" + std::string(450, ')') + " FROM t").ok());
  std::string sum = "SELECT 1";
  for (int i = 0; i < 50'000; ++i) sum += "+1";
  EXPECT_NE(PlanOrError(sum).find("nested too deeply"), std::string::npos);
  std::string queries = "SELECT 1";
  for (int i = 0; i < 2000; ++i) queries = "SELECT * FROM (" + queries + ") q";
  EXPECT_NE(PlanOrError(queries).find("nested too deeply"), std::string::npos);
  EXPECT_NE(PlanOrError("SELECT '" + std::string(1 << 20, 'x') + "'").find("the statement is too long"), std::string::npos);
}

TEST(BinderError, ViewsIntoViewsDoNotGrowWithoutEnd) {
  std::string text = "WITH x0 AS (SELECT a FROM t)";
  for (int i = 1; i < 40; ++i) {
    const std::string before = "x" + std::to_string(i - 1);
    text += ", x" + std::to_string(i) + " AS (SELECT * FROM " + before + " UNION ALL SELECT * FROM " + before + ")";
  }
  EXPECT_NE(PlanOrError(text + " SELECT * FROM x39").find("the statement is too large"), std::string::npos);
}

TEST(BinderError, WideStatementsAreFine) {
  std::string ors = "SELECT a FROM t WHERE a = 0";
  for (int i = 1; i < 5000; ++i) ors += " OR a = " + std::to_string(i);
  EXPECT_TRUE(BindText(ors).ok());
  std::string unions = "SELECT 1";
  for (int i = 1; i < 1000; ++i) unions += " UNION ALL SELECT " + std::to_string(i);
  EXPECT_TRUE(BindText(unions).ok()) << PlanOrError(unions).substr(0, 200);
}

}  // namespace
}  // namespace icebound::sql
