// SPDX-License-Identifier: Apache-2.0
//
// What bound statements mean: their plans are run by a naive interpreter and held against answers computed here, or written down
// from the standard's rules.
#include <gtest/gtest.h>

#include <optional>

#include "sql/naive_plan_test.h"

namespace icebound::sql {
namespace {

using Truth3 = std::optional<bool>;
using Value = std::optional<int>;

std::string Text(const Value& value) { return value ? std::to_string(*value) : "NULL"; }
std::string Text(const Truth3& truth) { return truth ? (*truth ? "true" : "false") : "null"; }

Truth3 Not(Truth3 a) { return a ? Truth3(!*a) : a; }
Truth3 And(Truth3 a, Truth3 b) {
  if ((a && !*a) || (b && !*b)) return false;
  return a && b ? Truth3(true) : std::nullopt;
}
Truth3 Or(Truth3 a, Truth3 b) { return Not(And(Not(a), Not(b))); }

Truth3 Compare(const std::string& operation, const Value& a, const Value& b) {
  if (!a || !b) return std::nullopt;
  if (operation == "=") return *a == *b;
  if (operation == "<>") return *a != *b;
  return operation == "<" ? *a < *b : *a >= *b;
}

Truth3 Quantified(const std::string& operation, bool all, const Value& left, const std::vector<Value>& right) {
  Truth3 result = all;
  for (const Value& value : right) {
    const Truth3 one = Compare(operation, left, value);
    result = all ? And(result, one) : Or(result, one);
  }
  return result;
}

/// A subquery with these values; with an impossible row when there are none.
std::string Subquery(const std::vector<Value>& values) {
  std::string rows;
  for (const Value& value : values) rows += (rows.empty() ? "(" : ", (") + Text(value) + ")";
  if (rows.empty()) return "(SELECT y FROM (VALUES (1)) v(y) WHERE false)";
  return "(SELECT y::int FROM (VALUES " + rows + ") v(y))";
}

const std::vector<std::vector<Value>> kRights = {
    {}, {1}, {2}, {std::nullopt}, {1, 2}, {3, 2}, {1, std::nullopt}, {3, std::nullopt}, {1, 1, 2, 2}, {1, 2, std::nullopt}};

TEST(Meaning, QuantifiersFollowThreeValuedLogic) {
  for (const std::string operation : {"=", "<>", "<", ">="}) {
    for (const bool all : {false, true}) {
      for (const Value& left : {Value(1), Value(2), Value()}) {
        for (const auto& right : kRights) {
          const std::string test = Text(left) + "::int " + operation + (all ? " ALL " : " ANY ") + Subquery(right);
          const Truth3 truth = Quantified(operation, all, left, right);
          ASSERT_EQ(NaivePlan::Run("SELECT " + test + " AS x FROM (VALUES (1)) t(z)"), Text(truth)) << test;
          ASSERT_EQ(NaivePlan::Run("SELECT NOT (" + test + ") AS x FROM (VALUES (1)) t(z)"), Text(Not(truth))) << test;
          // Where NULL counts as false, below NOT as well.
          ASSERT_EQ(NaivePlan::Run("SELECT z FROM (VALUES (1)) t(z) WHERE " + test), truth == true ? "1" : "") << test;
          ASSERT_EQ(NaivePlan::Run("SELECT z FROM (VALUES (1)) t(z) WHERE NOT (" + test + ")"), truth == false ? "1" : "")
              << test;
          ASSERT_EQ(NaivePlan::Run("SELECT z FROM (VALUES (1)) t(z) WHERE NOT (NOT (z = 1 AND " + test + ") OR z = 2)"),
                    truth == true ? "1" : "")
              << test;
          ASSERT_EQ(NaivePlan::Run("SELECT z FROM (VALUES (1)) t(z) WHERE (" + test + ") IS NULL"), truth ? "" : "1") << test;
        }
      }
    }
  }
}

TEST(Meaning, RowsInFollowThreeValuedLogic) {
  const std::vector<Value> values = {1, 2, std::nullopt};
  const auto pair = [](const Value& a, const Value& b) { return "(" + Text(a) + ", " + Text(b) + ")"; };
  for (const Value& a : values) {
    for (const Value& b : values) {
      for (const Value& x : values) {
        for (const Value& y : values) {
          // Two rows: (x, y) and (1, 3).
          const Truth3 truth = Or(And(Compare("=", a, x), Compare("=", b, y)), And(Compare("=", a, 1), Compare("=", b, 3)));
          const std::string rows = "(SELECT p::int, q::int FROM (VALUES " + pair(x, y) + ", (1, 3)) v(p, q))";
          const std::string left = "(" + Text(a) + "::int, " + Text(b) + "::int)";
          const std::string from = " FROM (VALUES (1)) t(z)";
          ASSERT_EQ(NaivePlan::Run("SELECT " + left + " IN " + rows + " AS x" + from), Text(truth)) << left << rows;
          ASSERT_EQ(NaivePlan::Run("SELECT " + left + " <> ALL " + rows + " AS x" + from), Text(Not(truth))) << left << rows;
          ASSERT_EQ(NaivePlan::Run("SELECT z" + from + " WHERE " + left + " IN " + rows), truth == true ? "1" : "");
          ASSERT_EQ(NaivePlan::Run("SELECT z" + from + " WHERE " + left + " NOT IN " + rows), truth == false ? "1" : "");
          const std::string list = "(" + pair(x, y) + ", (1, 3))";
          ASSERT_EQ(NaivePlan::Run("SELECT " + left + " IN " + list + " AS x" + from), Text(truth)) << left << list;
        }
      }
    }
  }
}

// l(k, v) and r(k, w) for the tests below.
const std::string kL = "(VALUES (1, 10), (2, 20), (2, 21), (NULL, 30)) l(k, v)";
const std::string kR = "(VALUES (2, 200), (3, 300), (NULL, 400)) r(k, w)";

TEST(Meaning, Joins) {
  EXPECT_EQ(NaivePlan::Run("SELECT * FROM " + kL + " JOIN " + kR + " ON l.k = r.k"), "2,20,2,200 2,21,2,200");
  EXPECT_EQ(NaivePlan::Run("SELECT * FROM " + kL + " JOIN " + kR + " USING (k)"), "2,20,200 2,21,200");
  EXPECT_EQ(NaivePlan::Run("SELECT * FROM " + kL + " LEFT JOIN " + kR + " USING (k)"),
            "1,10,null 2,20,200 2,21,200 null,30,null");
  EXPECT_EQ(NaivePlan::Run("SELECT * FROM " + kL + " RIGHT JOIN " + kR + " USING (k)"),
            "2,20,200 2,21,200 3,null,300 null,null,400");
  EXPECT_EQ(NaivePlan::Run("SELECT * FROM " + kL + " NATURAL FULL JOIN " + kR),
            "1,10,null 2,20,200 2,21,200 3,null,300 null,30,null null,null,400");
  EXPECT_EQ(NaivePlan::Run("SELECT k, l.k, r.k FROM " + kL + " FULL JOIN " + kR + " USING (k) WHERE v IS NULL OR w IS NULL"),
            "1,1,null 3,null,3 null,null,null null,null,null");
  EXPECT_EQ(NaivePlan::Run("SELECT v, w FROM " + kL + " JOIN " + kR + " ON l.k IS NOT DISTINCT FROM r.k AND w > 200"), "30,400");
  EXPECT_EQ(NaivePlan::Run("SELECT v, w FROM " + kL + " LEFT JOIN " + kR + " ON l.k = r.k AND v > 20"),
            "10,null 20,null 21,200 30,null");
  EXPECT_EQ(NaivePlan::Run("SELECT j.c, x FROM (" + kL + " CROSS JOIN (VALUES (7)) s(x)) AS j(c)"), "1,7 2,7 2,7 null,7");
}

TEST(Meaning, SubqueriesInOnOfOuterJoins) {
  EXPECT_EQ(
      NaivePlan::Run("SELECT v, w FROM " + kL + " LEFT JOIN " + kR +
                     " ON l.k = r.k AND v IN (VALUES (20), (30)) AND EXISTS (SELECT 1 FROM (VALUES (200)) z(z) WHERE z = w)"),
      "10,null 20,200 21,null 30,null");
  EXPECT_EQ(NaivePlan::Run("SELECT v, w FROM " + kL + " FULL JOIN " + kR +
                           " ON l.k = r.k AND v > (SELECT max(q) FROM (VALUES (20)) z(q))"),
            "10,null 20,null 21,200 30,null null,300 null,400");
}

TEST(Meaning, CorrelatedSubqueries) {
  EXPECT_EQ(NaivePlan::Run("SELECT v, (SELECT count(*) FROM " + kR + " WHERE r.k = l.k) FROM " + kL), "10,0 20,1 21,1 30,0");
  EXPECT_EQ(NaivePlan::Run("SELECT v, (SELECT max(w) FROM " + kR + " WHERE r.k > l.k) FROM " + kL),
            "10,300 20,300 21,300 30,null");
  EXPECT_EQ(NaivePlan::Run("SELECT v FROM " + kL + " WHERE EXISTS (SELECT 1 FROM " + kR +
                           " WHERE r.k = l.k AND w < "
                           "(SELECT max(q) FROM (VALUES (199), (201)) z(q) WHERE q > l.v AND q > r.k))"),
            "20 21")
      << "columns two levels out";
  EXPECT_EQ(NaivePlan::Run("SELECT v FROM " + kL + " WHERE NOT EXISTS (SELECT 1 FROM " + kR + " WHERE r.k = l.k)"), "10 30");
  EXPECT_EQ(NaivePlan::Run("SELECT (SELECT v FROM " + kL + " WHERE k = 2)"),
            "more than one row returned by a subquery used as an expression");
  EXPECT_EQ(NaivePlan::Run("SELECT k, count(*), (SELECT max(w) FROM " + kR + " WHERE r.k = l.k) FROM " + kL + " GROUP BY k"),
            "1,1,null 2,2,200 null,1,null");
  EXPECT_EQ(
      NaivePlan::Run("SELECT k FROM " + kL + " GROUP BY k HAVING count(*) > ALL (SELECT 1 FROM " + kR + " WHERE r.k = l.k)"),
      "1 2 null");
}

TEST(Meaning, Lateral) {
  EXPECT_EQ(NaivePlan::Run("SELECT v, n FROM " + kL + ", LATERAL (SELECT count(*) AS n FROM " + kR + " WHERE r.k >= l.k) q"),
            "10,2 20,2 21,2 30,0");
  EXPECT_EQ(
      NaivePlan::Run("SELECT v, w FROM " + kL + " LEFT JOIN LATERAL (SELECT w FROM " + kR + " WHERE r.k = l.k) q ON w > 100"),
      "10,null 20,200 21,200 30,null");
  EXPECT_EQ(NaivePlan::Run("SELECT v, w, s FROM " + kL + ", (" + kR + " JOIN LATERAL (SELECT l.v + r.w AS s) q ON s < 230)"),
            "10,200,210 20,200,220 21,200,221");
}

TEST(Meaning, Distinct) {
  EXPECT_EQ(NaivePlan::Run("SELECT DISTINCT k FROM " + kL + " ORDER BY k"), "1 2 null");
  EXPECT_EQ(NaivePlan::Run("SELECT k FROM " + kL + " GROUP BY 1 HAVING count(*) > 1"), "2");
}

}  // namespace
}  // namespace icebound::sql
