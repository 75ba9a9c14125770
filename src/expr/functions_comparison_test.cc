// SPDX-License-Identifier: Apache-2.0
#include "expr/test_cases.h"

namespace icebound::expr {
namespace {

TEST(Comparison, Numbers) {
  CheckCases({
      {"(= 1 1)", "true"},
      {"(<> 1 1)", "false"},
      {"(< 1 2)", "true"},
      {"(> 1 2)", "false"},
      {"(<= 2 2)", "true"},
      {"(>= 1 2)", "false"},
      {"(= 1 bigint'1')", "true"},
      {"(< 2147483648 1)", "false"},
      {"(= smallint'5' 5)", "true"},
      {"(= 1 1.00)", "true"},
      {"(< 1.005 1.01)", "true"},
      {"(> 2 1.999999999999999999999999999999)", "true"},
      {"(= 0.1 0.1e0)", "true"},
      {"(= 1.5 1.5e0)", "true"},
      {"(< 12345678901234567890123456789012345678. 0.00000000000000000000000000000001)", "false"},
      {"(> 12345678901234567890123456789012345678. 0.00000000000000000000000000000001)", "true"},
      {"(< -12345678901234567890123456789012345678. 0.00000000000000000000000000000001)", "true"},
      {"(= 1 '1')", "true"},
      {"(= 1.5 '1.50')", "true"},
      {"(= 1 null)", "NULL"},
      {"(= null null)", "NULL"},
      {"(= 1 'a')", "error: invalid input syntax for type integer: \"a\""},
  });
}

TEST(Comparison, NotANumberIsGreatestAndEqualToItself) {
  CheckCases({
      {"(= double'NaN' double'NaN')", "true"},
      {"(<> double'NaN' double'NaN')", "false"},
      {"(> double'NaN' double'Infinity')", "true"},
      {"(< double'NaN' 1e0)", "false"},
      {"(<= double'NaN' double'NaN')", "true"},
      {"(>= 1e0 double'NaN')", "false"},
      {"(< 1e0 double'NaN')", "true"},
      {"(= 0e0 -0e0)", "true"},
      {"(< real'1' real'NaN')", "true"},
      {"(= real'0.1' 0.1e0)", "false"},
  });
}

TEST(Comparison, TextByBytes) {
  CheckCases({
      {"(= 'a' 'a')", "true"},
      {"(< 'B' 'a')", "true"},
      {"(< 'a' 'ab')", "true"},
      {"(> 'é' 'z')", "true"},
      {"(< '' 'a')", "true"},
      {"(= 'a' 'a ')", "false"},
      {"(< bytea'\\x01' bytea'\\x0102')", "true"},
      {"(> bytea'\\xff' bytea'\\x01')", "true"},
      {"(= bytea'\\x01' '\\x01')", "true"},
  });
}

TEST(Comparison, DatesTimesIntervals) {
  CheckCases({
      {"(<= date'1998-09-02' '1998-09-02')", "true"},
      {"(< '1998-09-01' date'1998-09-02')", "true"},
      {"(= date'2020-01-01' timestamp'2020-01-01 00:00:00')", "true"},
      {"(< date'2020-01-01' timestamp'2020-01-01 00:00:01')", "true"},
      {"(= timestamp'2020-01-01 00:00:00' timestamptz'2020-01-01 01:00:00+01')", "true"},
      {"(= (cast '2020-01-01 00:00:00.000001' timestamp_ns) timestamp'2020-01-01 00:00:00.000001')", "true"},
      {"(< timestamp'2020-01-01 00:00:00.000001' (cast '2020-01-01 00:00:00.000001001' timestamp_ns))", "true"},
      {"(< timestamp'0001-01-01' (cast '2020-01-01' timestamp_ns))", "true"},
      {"(< time'10:00' time'10:00:00.000001')", "true"},
      {"(= interval'1 month' interval'30 days')", "true"},
      {"(= interval'1 day' interval'24 hours')", "true"},
      {"(< interval'1 month' interval'31 days')", "true"},
      {"(= date'2020-01-01' 'nonsense')", "error: invalid input syntax for type date: \"nonsense\""},
      {"(= date'2020-01-01' 1)", "error: operator does not exist: date = integer"},
      {"(= true 'yes')", "true"},
      {"(< false true)", "true"},
      {"(= uuid'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11' 'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11')", "true"},
      {"(< uuid'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11' uuid'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a12')", "true"},
  });
}

TEST(Comparison, DistinctFrom) {
  CheckCases({
      {"(is_distinct_from 1 1)", "false"},
      {"(is_distinct_from 1 2)", "true"},
      {"(is_distinct_from 1 null)", "true"},
      {"(is_distinct_from null null)", "false"},
      {"(is_not_distinct_from null null)", "true"},
      {"(is_not_distinct_from 'a' null)", "false"},
      {"(is_not_distinct_from 'a' 'a')", "true"},
      {"(is_not_distinct_from 1.0 1)", "true"},
  });
}

TEST(Comparison, InList) {
  CheckCases({
      {"(in 1 1 2 3)", "true"},
      {"(in 4 1 2 3)", "false"},
      {"(in 4 1 2 null)", "NULL"},
      {"(in 1 1 2 null)", "true"},
      {"(in null 1 2)", "NULL"},
      {"(not_in 4 1 2 3)", "true"},
      {"(not_in 1 1 2 3)", "false"},
      {"(not_in 4 1 null)", "NULL"},
      {"(not_in 1 1 null)", "false"},
      {"(in 'b' 'a' 'b')", "true"},
      {"(in 'é' 'e' 'é' 'è')", "true"},
      {"(in 1 1.0 2.5)", "true"},
      {"(in 2.5 1 2.50)", "true"},
      {"(in 3 1.5 2.5)", "false"},
      {"(in date'1998-01-01' '1998-01-01' '1999-01-01')", "true"},
      {"(in double'NaN' 1e0 double'NaN')", "true"},
      {"(in -0e0 0e0 1e0)", "true"},
      {"(in 10 1 2 3 4 5 6 7 8 9 10 11)", "true"},
      {"(in 12 1 2 3 4 5 6 7 8 9 10 11)", "false"},
      {"(in true false)", "false"},
      {"(in interval'1 month' '30 days')", "true"},
      {"(in uuid'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11' 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11')", "true"},
      {"(in 1 (+ 0 1) 5)", "true"},
      {"(in 12345678901234567890123. 1 12345678901234567890123.)", "true"},
      {"(in 1 'a')", "error: invalid input syntax for type integer: \"a\""},
  });
}

// Lists of few texts are compared by their first bytes, longer ones are hashed: every length beside the edges of both.
TEST(Comparison, TextsInShortAndLongLists) {
  std::vector<std::string> texts;
  for (const int length : {0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17}) {
    for (int changed = -1; changed < length; changed += 3) {
      std::string text(static_cast<size_t>(length), 'a');
      if (changed >= 0) text[static_cast<size_t>(changed)] = 'b';
      texts.push_back(std::move(text));
    }
  }
  const auto quoted = [](const std::string& text) { return "'" + text + "'"; };
  for (const size_t items : {1, 3, 8, 9, 20}) {
    for (size_t first = 0; first + items <= texts.size(); first += 5) {
      std::string list;
      for (size_t i = first; i < first + items; ++i) list += " " + quoted(texts[i]);
      for (size_t t = 0; t < texts.size(); ++t) {
        const std::string expression = "(in " + quoted(texts[t]) + list + ")";
        EXPECT_EQ(RunTest(expression.c_str()), t >= first && t < first + items ? "true" : "false") << expression;
      }
    }
  }
}

TEST(Logic, ThreeValued) {
  CheckCases({
      {"(and true true)", "true"},
      {"(and true null)", "NULL"},
      {"(and false null)", "false"},
      {"(and null null)", "NULL"},
      {"(and null false)", "false"},
      {"(or false null)", "NULL"},
      {"(or true null)", "true"},
      {"(or null true)", "true"},
      {"(or false false)", "false"},
      {"(not true)", "false"},
      {"(not null)", "NULL"},
      {"(and true true true)", "true"},
      {"(or false false true)", "true"},
      {"(and true 'yes')", "true"},
      {"(is_true null)", "false"},
      {"(is_not_true null)", "true"},
      {"(is_false false)", "true"},
      {"(is_not_false null)", "true"},
      {"(is_unknown null)", "true"},
      {"(is_not_unknown true)", "true"},
      {"(is_null 1)", "false"},
      {"(is_null null)", "true"},
      {"(is_not_null 'x')", "true"},
      {"(is_true true)", "true"},
      {"(is_true false)", "false"},
      {"(and 1 true)", "error: argument of AND must be type boolean, not type integer"},
      {"(or true 'x')", "error: invalid input syntax for type boolean: \"x\""},
  });
}

TEST(Logic, ErrorsBehindDecidedOperandsAreNotRaised) {
  CheckCases({
      {"(and false (= (/ 1 0) 1))", "false"},
      {"(or true (= (/ 1 0) 1))", "true"},
      {"(and (= 1 2) (= (/ 1 0) 1))", "false"},
      {"(or (= 1 1) (= (/ 1 0) 1))", "true"},
      {"(and (= 1 1) (= (/ 1 0) 1))", "error: division by zero"},
  });
}

TEST(Conditional, CaseCoalesceNullif) {
  CheckCases({
      {"(case true 1 2)", "1"},
      {"(case false 1 2)", "2"},
      {"(case null 1 2)", "2"},
      {"(case false 1)", "NULL"},
      {"(case (= 1 0) (/ 1 0) 7)", "7"},
      {"(case (= 1 1) 7 (/ 1 0))", "7"},
      {"(case (= 1 2) 'a' (= 1 1) 'b' 'c')", "b"},
      {"(case true 1 2.5)", "1.0"},
      {"(case true null 2.5)", "NULL"},
      {"(case true '1' 2)", "1"},
      {"(case 1 2 3)", "error: argument of CASE/WHEN must be type boolean, not type integer"},
      {"(case true 1 date'2020-01-01')", "error: CASE types date and integer cannot be matched"},
      {"(coalesce null 1 2)", "1"},
      {"(coalesce null null)", "NULL"},
      {"(coalesce 1 (/ 1 0))", "1"},
      {"(coalesce 'a' 'b')", "a"},
      {"(coalesce null 1.5 2)", "1.5"},
      {"(coalesce 1 date'2020-01-01')", "error: COALESCE types integer and date cannot be matched"},
      {"(nullif 1 1)", "NULL"},
      {"(nullif 1 2)", "1"},
      {"(nullif 'a' 'b')", "a"},
      {"(nullif null 1)", "NULL"},
      {"(greatest 1 3 2)", "3"},
      {"(least 1 3 2)", "1"},
      {"(greatest 1 null 2)", "2"},
      {"(least null null)", "NULL"},
      {"(greatest 1 2.5)", "2.5"},
      {"(greatest 'a' 'B')", "a"},
      {"(greatest double'NaN' 1e0)", "NaN"},
      {"(least date'2020-01-01' '2019-01-01')", "2019-01-01"},
  });
}

}  // namespace
}  // namespace icebound::expr
