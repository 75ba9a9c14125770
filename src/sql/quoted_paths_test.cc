// SPDX-License-Identifier: Apache-2.0
#include "sql/quoted_paths.h"

#include <gtest/gtest.h>

namespace icebound::sql {
namespace {

RewrittenText Rewrite(std::string_view text) {
  const SourceText source(text);
  auto tokens = ScanTokens(source);
  EXPECT_TRUE(tokens.ok()) << tokens.status().ToString();
  auto edits = FindRewrites(source, *tokens);
  EXPECT_TRUE(edits.ok()) << edits.status().ToString();
  return RewrittenText(text, std::move(edits).MoveValueUnsafe());
}

std::string Rewritten(std::string_view text) { return Rewrite(text).text(); }

TEST(QuotedPaths, StandWhereTablesStand) {
  EXPECT_EQ(Rewritten("SELECT * FROM 'a.parquet'"), "SELECT * FROM icebound_path('a.parquet')");
  EXPECT_EQ(Rewritten("select * from 'a' t join 'b' on x = 'c'"),
            "select * from icebound_path('a') t join icebound_path('b') on x = 'c'");
  EXPECT_EQ(Rewritten("SELECT 'x', 'y' FROM 'a', t, 'b' AS u"),
            "SELECT 'x', 'y' FROM icebound_path('a'), t, icebound_path('b') AS u");
  EXPECT_EQ(Rewritten("SELECT 1 FROM ('a' JOIN 'b' ON true)"),
            "SELECT 1 FROM (icebound_path('a') JOIN icebound_path('b') ON true)");
  EXPECT_EQ(Rewritten("SELECT 1 FROM t LEFT JOIN 'b' USING (x)"), "SELECT 1 FROM t LEFT JOIN icebound_path('b') USING (x)");
  EXPECT_EQ(Rewritten("SELECT (SELECT 1 FROM 'a') FROM 'b'"),
            "SELECT (SELECT 1 FROM icebound_path('a')) FROM icebound_path('b')");
  EXPECT_EQ(Rewritten("COPY (SELECT * FROM 'a') TO 'b' (FORMAT parquet, X 'y')"),
            "COPY (SELECT * FROM icebound_path('a')) TO 'b' (FORMAT parquet, X 'y')");
  EXPECT_EQ(Rewritten("WITH q AS (SELECT * FROM 'a') SELECT * FROM q UNION ALL SELECT 'x', 'y' FROM 'b' WHERE z IN ('c', 'd')"),
            "WITH q AS (SELECT * FROM icebound_path('a')) SELECT * FROM q UNION ALL SELECT 'x', 'y' FROM icebound_path('b') "
            "WHERE z IN ('c', 'd')");
}

TEST(QuotedPaths, AllFormsOfStrings) {
  EXPECT_EQ(Rewritten("SELECT 1 FROM 'it''s'"), "SELECT 1 FROM icebound_path('it''s')");
  EXPECT_EQ(Rewritten("SELECT 1 FROM E'a\\'b'"), "SELECT 1 FROM icebound_path(E'a\\'b')");
  EXPECT_EQ(Rewritten("SELECT 1 FROM $$a'b$$"), "SELECT 1 FROM icebound_path($$a'b$$)");
  EXPECT_EQ(Rewritten("SELECT 1 FROM 'a'\n'b'"), "SELECT 1 FROM icebound_path('a'\n'b')");
  EXPECT_EQ(Rewritten("SELECT 1 FROM /* 'x' */ 'a' -- FROM 'y'"), "SELECT 1 FROM /* 'x' */ icebound_path('a') -- FROM 'y'");
}

TEST(QuotedPaths, OtherStringsStay) {
  for (const char* text : {
           "SELECT EXTRACT(year FROM '2020-01-01')",
           "SELECT SUBSTRING('abc' FROM '2')",
           "SELECT TRIM(BOTH 'x' FROM 'y')",
           "SELECT a IS DISTINCT FROM 'x', a IS NOT DISTINCT FROM 'y' FROM t",
           "SELECT OVERLAY('abc' PLACING 'x' FROM 1)",
           "COPY t FROM 'file'",
           "SELECT * FROM f('a', 'b')",
           "SELECT * FROM (VALUES ('a', 'b'), ('c', 'd')) v",
           "SELECT * FROM t WHERE a = 'x' ORDER BY 'y', 'z'",
           "SELECT * FROM t AS u(a, b) GROUP BY a, 'x' HAVING 'y' = 'z' LIMIT '1'",
           "SELECT \"from\" 'x'",
           "SELECT ' FROM ''a'' '",
       }) {
    EXPECT_EQ(Rewritten(text), text);
  }
}

TEST(QuotedPaths, PositionsMapBack) {
  const std::string_view text = "SELECT * FROM 'a' x, 'bb' y WHERE z";
  const RewrittenText rewritten = Rewrite(text);
  for (const char* piece : {"SELECT", "* FROM", " x,", " y WHERE", "z"}) {
    EXPECT_EQ(rewritten.ToOriginal(static_cast<int>(rewritten.text().find(piece))), static_cast<int>(text.find(piece))) << piece;
  }
  EXPECT_EQ(rewritten.ToOriginal(static_cast<int>(rewritten.text().find("icebound_path('bb"))),
            static_cast<int>(text.find("'bb'")));
  EXPECT_EQ(rewritten.ToOriginal(static_cast<int>(rewritten.text().size())), static_cast<int>(text.size()));
}

TEST(LongIdentifiers, GetPlaceholdersThatMapBack) {
  const std::string name(64, 'x');
  const std::string quoted = "\"" + std::string(70, 'Y') + "\"\"z\"";
  const RewrittenText rewritten = Rewrite("SELECT " + name + ", " + quoted + " FROM T" + std::string(63, 't'));
  const std::string& text = rewritten.text();
  EXPECT_EQ(text.find(name), std::string::npos);
  const std::string first = text.substr(7, text.find(',') - 7);
  EXPECT_LE(first.size(), 63u);
  EXPECT_EQ(rewritten.RestoreName(first), name);
  const size_t second = text.find(',') + 2;
  EXPECT_EQ(rewritten.RestoreName(text.substr(second, text.find(" FROM") - second)), fmt::format("{}\"z", std::string(70, 'Y')));
  EXPECT_EQ(rewritten.RestoreName(text.substr(text.find("FROM ") + 5)), "t" + std::string(63, 't')) << "folded to lower case";
  EXPECT_EQ(rewritten.RestoreName("other"), "other");
}

TEST(NamesOfManyParts, BecomeThree) {
  const std::string_view text = "SELECT a.b.c.d.e FROM a.b.c.d.e x JOIN p.q.r USING (k), f.g.h.i(1)";
  const RewrittenText rewritten = Rewrite(text);
  const std::string& parsed = rewritten.text();
  EXPECT_TRUE(parsed.starts_with("SELECT a.b.c.d.e FROM icebound_name_")) << parsed;
  EXPECT_TRUE(parsed.ends_with(".d.e x JOIN p.q.r USING (k), f.g.h.i(1)")) << parsed;
  const size_t begin = parsed.find("icebound_name_");
  const std::string placeholder = parsed.substr(begin, parsed.find(".d.e x") - begin);
  EXPECT_EQ(SplitLevels(rewritten.RestoreName(placeholder)), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(rewritten.ToOriginal(static_cast<int>(parsed.find("JOIN"))), static_cast<int>(text.find("JOIN")));
}

TEST(LongIdentifiers, SixtyThreeBytesStay) {
  const std::string text = "SELECT " + std::string(63, 'x') + ", \"" + std::string(63, 'Y') + "\"";
  EXPECT_EQ(Rewritten(text), text);
}

TEST(LongIdentifiers, PlaceholdersAvoidTheTextsOwnNames) {
  const std::string text = "SELECT icebound_name_0, " + std::string(64, 'x');
  const RewrittenText rewritten = Rewrite(text);
  EXPECT_EQ(rewritten.RestoreName("icebound_name_0"), "icebound_name_0");
}

TEST(LongIdentifiers, UnicodeEscapesAreRefused) {
  const std::string text = "SELECT U&\"" + std::string(64, 'x') + "\"";
  const SourceText source(text);
  const auto edits = FindRewrites(source, ScanTokens(source).ValueOrDie());
  ASSERT_FALSE(edits.ok());
  EXPECT_EQ(GetErrorKind(edits.status()), ErrorKind::kUnsupported);
}

}  // namespace
}  // namespace icebound::sql
