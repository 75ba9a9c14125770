// SPDX-License-Identifier: Apache-2.0
#include "sql/statement.h"

#include <gtest/gtest.h>

#include "sql/fake_tables_test.h"

namespace icebound::sql {
namespace {

TEST(BindStatement, KnowsQueriesCopyAndExplain) {
  struct Case {
    const char* text;
    StatementKind kind;
    bool explain;
    bool analyze;
  };
  for (const Case& test : {
           Case{"SELECT 1", StatementKind::kQuery, false, false},
           Case{"  /* x */ VALUES (1) ;", StatementKind::kQuery, false, false},
           Case{"COPY t TO 'x'", StatementKind::kCopy, false, false},
           Case{"EXPLAIN SELECT 1", StatementKind::kQuery, true, false},
           Case{"EXPLAIN ANALYZE SELECT 1", StatementKind::kQuery, true, true},
           Case{"EXPLAIN (ANALYZE) SELECT 1", StatementKind::kQuery, true, true},
           Case{"EXPLAIN (ANALYZE off) SELECT 1", StatementKind::kQuery, true, false},
           Case{"EXPLAIN COPY t TO 'x'", StatementKind::kCopy, true, false},
           Case{"explain analyze COPY (SELECT 1) TO 'x'", StatementKind::kCopy, true, true},
           Case{"EXPLAIN (ANALYZE) COPY t TO 'x'", StatementKind::kCopy, true, true},
       }) {
    const auto bound = BindText(test.text);
    ASSERT_TRUE(bound.ok()) << test.text << "\n" << bound.status().ToString();
    EXPECT_EQ(bound->kind, test.kind) << test.text;
    EXPECT_EQ(bound->explain, test.explain) << test.text;
    EXPECT_EQ(bound->analyze, test.analyze) << test.text;
  }
}

TEST(BindStatement, PositionsAfterACutExplainAreRight) {
  EXPECT_EQ(PlanOrError("EXPLAIN COPY (SELECT zzz FROM t) TO 'x'"),
            "invalid input: column \"zzz\" does not exist\nLINE 1, COLUMN 22: EXPLAIN COPY (SELECT zzz FROM t) TO 'x'\n"
            "                                        ^");
}

TEST(BindStatement, ErrorsShowLinesOfTheWholeText) {
  const std::string_view whole = "SELECT 1;\n\nSELECT zzz\nFROM t;";
  const auto statements = SplitStatements(whole).ValueOrDie();
  ASSERT_EQ(statements.size(), 2u);
  FakeTables tables = TestTables();
  BindOptions options;
  options.pool = arrow::default_memory_pool();
  options.whole_text = whole;
  options.offset_in_whole = statements[1].offset;
  EXPECT_EQ(BindStatement(statements[1].text, tables, options).status().message(),
            "column \"zzz\" does not exist\nLINE 3, COLUMN 8: SELECT zzz\n                         ^");
}

TEST(BindStatement, LimitsTheTextsLength) {
  FakeTables tables = TestTables();
  BindOptions options;
  options.pool = arrow::default_memory_pool();
  options.statement_bytes_max = 8;
  EXPECT_TRUE(BindStatement("SELECT 1", tables, options).ok());
  EXPECT_EQ(BindStatement("SELECT 12", tables, options).status().message(), "the statement is too long: 9 bytes, at most 8");
}

TEST(BindStatement, NeedsAPool) {
  FakeTables tables = TestTables();
  EXPECT_EQ(GetErrorKind(BindStatement("SELECT 1", tables, {}).status()), ErrorKind::kInternal);
}

std::vector<std::string> Split(std::string_view text) {
  std::vector<std::string> texts;
  for (const StatementText& statement : SplitStatements(text).ValueOrDie()) {
    EXPECT_EQ(text.substr(statement.offset, statement.text.size()), statement.text);
    texts.push_back(statement.text);
  }
  return texts;
}

TEST(SplitStatements, SplitsAtSemicolonsOnly) {
  using Texts = std::vector<std::string>;
  EXPECT_EQ(Split("SELECT 1"), Texts{"SELECT 1"});
  EXPECT_EQ(Split(" SELECT 1 ; ;\n SELECT 'a;b', \"c;d\", $$;$$ /* ; */ -- ;\n FROM t; "),
            (Texts{"SELECT 1", "SELECT 'a;b', \"c;d\", $$;$$ /* ; */ -- ;\n FROM t"}));
  EXPECT_EQ(Split(""), Texts{});
  EXPECT_EQ(Split(" ; -- x\n ;"), Texts{});
  EXPECT_EQ(Split("-- first\nSELECT 1 -- last\n;SELECT 2"), (Texts{"SELECT 1", "SELECT 2"}))
      << "comments around a statement are left out";
}

TEST(SplitStatements, ReportsUnfinishedText) {
  const auto result = SplitStatements("SELECT 1; SELECT 'x");
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.status().message(),
            "unterminated quoted string at or near \"'x\"\nLINE 1, COLUMN 18: SELECT 1; SELECT 'x\n                              "
            "      ^");
  EXPECT_FALSE(SplitStatements("\xff").ok());
}

}  // namespace
}  // namespace icebound::sql
