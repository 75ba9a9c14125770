// SPDX-License-Identifier: Apache-2.0
//
// Mutates valid statements. Whatever comes out, the binder must answer with a plan or with an error of a user's kind; and a
// clause added to a statement must be refused or change the plan: never ignored.
#include <gtest/gtest.h>

#include <random>

#include "sql/fake_tables_test.h"
#include "sql/parser.h"

namespace icebound::sql {
namespace {

const std::vector<std::string>& Corpus() {
  static const std::vector<std::string> statements = {
      "SELECT a, b AS x FROM t WHERE a < 5 AND ok ORDER BY b DESC NULLS LAST, a + 1 LIMIT 10 OFFSET 2",
      "SELECT * FROM 'dir/lineitem.parquet' AS l WHERE l.l_shipdate BETWEEN '1995-01-01' AND date '1996-01-01' ORDER BY 1, "
      "l_comment",
      "COPY (SELECT * FROM 'dir/*.parquet' ORDER BY l_orderkey) TO 'out.parquet' (FORMAT parquet, COMPRESSION zstd)",
      "SELECT q.x FROM (SELECT a, b FROM t WHERE a IS NOT NULL) AS q(x, y) WHERE y IN (1, 2, 3)",
      "SELECT a FROM t UNION ALL SELECT b FROM t UNION ALL (SELECT 1 LIMIT 1) ORDER BY a",
      "WITH w AS (SELECT a, s FROM t), v AS (SELECT a FROM w) SELECT v.a FROM v",
      "SELECT CASE WHEN a = 1 THEN 'one' WHEN a > 2 THEN s ELSE NULL END, a::bigint, CAST(b AS smallint) FROM t",
      "SELECT 1, 'x', 1.5, NULL, true, -a, NOT ok FROM t",
      "SELECT * FROM (VALUES (1, 'a'), (2, 'b')) v(id, name) WHERE id = 1",
      "EXPLAIN ANALYZE SELECT \"Mixed\" FROM u FETCH FIRST 3 ROWS ONLY",
      "COPY t (a, b) TO 'x.csv' WITH (FORMAT csv, HEADER)",
      "SELECT a IS DISTINCT FROM b, ok IS TRUE, (p).x FROM t",
      "TABLE ns.v",
      "SELECT a, array_agg(b) AS x FROM t WHERE ok GROUP BY a HAVING string_agg(s, ',') > 'x' ORDER BY array_agg(d) LIMIT 3",
      "SELECT l.s, w FROM l LEFT JOIN r ON l.k = r.k AND r.v > 1, ns.v WHERE v.a = l.v",
      "SELECT * FROM (l JOIN r USING (k)) AS j(x) RIGHT JOIN ns.v ON x = a",
      "SELECT k FROM l WHERE EXISTS (SELECT 1 FROM r WHERE r.k = l.k) AND v NOT IN (SELECT v FROM r) OR v > (SELECT 1)",
      "SELECT DISTINCT a FROM ns.v EXCEPT ALL SELECT k FROM l",
      "SELECT DISTINCT ON (k) k, v FROM l ORDER BY k, s",
      "SELECT v.a, q.k FROM ns.v, LATERAL (SELECT k FROM l WHERE l.v = v.a) q",
  };
  return statements;
}

/// Each changes what a statement means wherever the grammar lets it stand. (Words that may be a table's alias are left out: an
/// alias nobody uses changes nothing. So is LATERAL, which changes nothing where no table stands before it.)
const std::vector<std::string>& Fragments() {
  static const std::vector<std::string> fragments = {
      "DISTINCT",
      "WHERE a < 424242",
      "GROUP BY a",
      "HAVING 424242 > 1",
      "LIMIT 424242",
      "OFFSET 424242",
      "FOR UPDATE",
      "ORDER BY a DESC",
      "WINDOW w AS ()",
      "OVER ()",
      "FILTER (WHERE 424242 > 1)",
      "WITHIN GROUP (ORDER BY 424242)",
      "TABLESAMPLE SYSTEM (424242)",
      "WITH ORDINALITY",
      "WITH TIES",
      "ONLY",
      ", u",
      "JOIN u ON true",
      "NATURAL JOIN u",
      "UNION SELECT 424242",
      "UNION ALL SELECT 424242",
      "INTERSECT SELECT 1",
      "EXCEPT SELECT 1",
      "INTO x",
      "USING <",
      "COLLATE \"de_DE\"",
      "ESCAPE 'q'",
      "SYMMETRIC",
      "NULLS FIRST",
      "DESC",
      "NOT",
      "+ 424242",
      "|| 'x'",
      "AT TIME ZONE 'UTC'",
      "(FORMAT csv)",
      "WITH (X 424242)",
      "FROM stream",
      "TO 'y'",
      "ARRAY",
      "VARIADIC",
      "[1]",
      ".x",
      ".*",
      "= ANY (s)",
      "IS NULL",
      "ANALYZE",
      "VERBOSE",
      "RETURNING a",
      "ON CONFLICT DO NOTHING",
      "SKIP LOCKED",
      "WHERE CURRENT OF c",
      "CROSS JOIN u",
  };
  return fragments;
}

std::vector<std::string> TokensOf(const std::string& text) {
  std::vector<std::string> tokens;
  for (const Token& token : ScanTokens(SourceText(text)).ValueOrDie()) {
    tokens.push_back(text.substr(static_cast<size_t>(token.begin), static_cast<size_t>(token.end - token.begin)));
  }
  return tokens;
}

std::string Joined(const std::vector<std::string>& tokens) {
  std::string text;
  for (const std::string& token : tokens) text += token + " ";
  return text;
}

void ExpectPlanOrUserError(const std::string& text) {
  const auto bound = BindText(text);
  if (bound.ok()) return;
  const auto kind = GetErrorKind(bound.status());
  EXPECT_TRUE(kind == ErrorKind::kInvalidInput || kind == ErrorKind::kUnsupported || kind == ErrorKind::kNotFound)
      << text << "\n"
      << PlanOrError(text);
}

/// What a statement means, EXPLAIN and all; empty when it is refused.
std::string MeaningOf(const std::string& text) {
  const auto bound = BindText(text);
  if (!bound.ok()) return "";
  std::string meaning = fmt::format("{} {} {}\n", bound->explain, bound->analyze, plan::ExplainText(*bound->plan));
  return meaning + bound->plan->schema()->ToString();
}

TEST(Mutation, TheCorpusIsValid) {
  for (const std::string& statement : Corpus()) EXPECT_TRUE(BindText(statement).ok()) << PlanOrError(statement);
}

TEST(Mutation, AddedClausesAreRefusedOrChangeThePlan) {
  int refused = 0, changed = 0;
  std::vector<std::string> ignored;
  for (const std::string& statement : Corpus()) {
    const std::vector<std::string> tokens = TokensOf(statement);
    const std::string meaning = MeaningOf(Joined(tokens));
    for (const std::string& fragment : Fragments()) {
      for (size_t at = 0; at <= tokens.size(); ++at) {
        std::vector<std::string> mutated = tokens;
        mutated.insert(mutated.begin() + static_cast<ptrdiff_t>(at), fragment);
        const std::string text = Joined(mutated);
        const std::string new_meaning = MeaningOf(text);
        new_meaning.empty() ? ++refused : ++changed;
        if (new_meaning == meaning) ignored.push_back(text);
      }
    }
  }
  for (size_t i = 0; i < ignored.size() && i < 10; ++i) ADD_FAILURE() << "ignored: " << ignored[i];
  EXPECT_GT(refused, 1000);
  EXPECT_GT(changed, 100);
}

TEST(Mutation, ShuffledTokensNeverCrash) {
  std::mt19937 random(20260830);
  std::vector<std::string> pool;
  for (const std::string& statement : Corpus()) {
    for (std::string& token : TokensOf(statement)) pool.push_back(std::move(token));
  }
  pool.insert(pool.end(), Fragments().begin(), Fragments().end());
  const auto pick = [&](size_t size) { return std::uniform_int_distribution<size_t>(0, size - 1)(random); };
  for (int round = 0; round < 20'000; ++round) {
    std::vector<std::string> tokens = TokensOf(Corpus()[pick(Corpus().size())]);
    for (size_t changes = 1 + pick(3); changes > 0 && !tokens.empty(); --changes) {
      const size_t at = pick(tokens.size());
      switch (pick(4)) {
        case 0:
          tokens.erase(tokens.begin() + static_cast<ptrdiff_t>(at));
          break;
        case 1:
          tokens.insert(tokens.begin() + static_cast<ptrdiff_t>(at), pool[pick(pool.size())]);
          break;
        case 2:
          tokens[at] = pool[pick(pool.size())];
          break;
        default:
          std::swap(tokens[at], tokens[pick(tokens.size())]);
          break;
      }
    }
    ExpectPlanOrUserError(Joined(tokens));
  }
}

TEST(Mutation, DamagedBytesNeverCrash) {
  std::mt19937 random(1);
  const auto pick = [&](size_t size) { return std::uniform_int_distribution<size_t>(0, size - 1)(random); };
  for (int round = 0; round < 5'000; ++round) {
    std::string text = Corpus()[pick(Corpus().size())];
    for (size_t changes = 1 + pick(3); changes > 0; --changes) text[pick(text.size())] = static_cast<char>(pick(256));
    ExpectPlanOrUserError(text.substr(0, 1 + pick(text.size())));
  }
}

}  // namespace
}  // namespace icebound::sql
