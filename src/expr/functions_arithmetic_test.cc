// SPDX-License-Identifier: Apache-2.0
#include "expr/test_cases.h"

namespace icebound::expr {
namespace {

TEST(Arithmetic, Integers) {
  CheckCases({
      {"(+ 1 2)", "3"},
      {"(- 1 2)", "-1"},
      {"(* -3 7)", "-21"},
      {"(/ 7 2)", "3"},
      {"(/ -7 2)", "-3"},
      {"(% 7 -3)", "1"},
      {"(% -7 3)", "-1"},
      {"(mod -7 3)", "-1"},
      {"(negate 5)", "-5"},
      {"(+ 2147483647 1)", "error: integer out of range"},
      {"(- -2147483648 1)", "error: integer out of range"},
      {"(* 65536 65536)", "error: integer out of range"},
      {"(negate -2147483648)", "error: integer out of range"},
      {"(/ -2147483648 -1)", "error: integer out of range"},
      {"(% -2147483648 -1)", "0"},
      {"(+ 2147483647 bigint'1')", "2147483648"},
      {"(+ 9223372036854775807 1)", "error: bigint out of range"},
      {"(* 9223372036854775807 2)", "error: bigint out of range"},
      {"(/ bigint'-9223372036854775808' -1)", "error: bigint out of range"},
      {"(+ smallint'32767' smallint'1')", "error: smallint out of range"},
      {"(* smallint'200' smallint'200')", "error: smallint out of range"},
      {"(+ smallint'32767' 1)", "32768"},
      {"(/ 1 0)", "error: division by zero"},
      {"(% 1 0)", "error: division by zero"},
      {"(/ bigint'1' 0)", "error: division by zero"},
      {"(+ null 1)", "NULL"},
      {"(+ '2' 1)", "3"},
      {"(+ 1 'x')", "error: invalid input syntax for type integer: \"x\""},
  });
}

TEST(Arithmetic, FloatingPoint) {
  CheckCases({
      {"(+ 0.1e0 0.2e0)", "0.30000000000000004"},
      {"(* 1.5e0 2)", "3"},
      {"(/ 1e0 3)", "0.3333333333333333"},
      {"(/ 1e0 0)", "error: division by zero"},
      {"(/ double'NaN' 0e0)", "NaN"},
      {"(* 1e300 1e300)", "error: value out of range: overflow"},
      {"(* 1e-300 1e-300)", "error: value out of range: underflow"},
      {"(* 0e0 1e300)", "0"},
      {"(+ double'Infinity' 1)", "Infinity"},
      {"(- double'Infinity' double'Infinity')", "NaN"},
      {"(/ 1e0 double'Infinity')", "0"},
      {"(+ real'0.1' real'0.2')", "0.3"},
      {"(* real'3e38' real'10')", "error: value out of range: overflow"},
      {"(+ real'0.5' 1.5e0)", "2"},
      {"(negate 1.5e0)", "-1.5"},
      {"(% 5e0 2e0)", "error: operator does not exist: double precision % double precision"},
  });
}

TEST(Arithmetic, Decimals) {
  CheckCases({
      {"(+ 1.5 2)", "3.5"},
      {"(+ 1.25 2.5)", "3.75"},
      {"(- 1 0.05)", "0.95"},
      {"(* 1.5 1.5)", "2.25"},
      {"(* -0.01 0.01)", "-0.0001"},
      {"(% 5.5 2)", "1.5"},
      {"(% -5.5 2.25)", "-1.00"},
      {"(/ 1.0 0)", "error: division by zero"},
      {"(/ 1 0.0)", "error: division by zero"},
      {"(% 1.0 0)", "error: division by zero"},
      {"(negate 1.5)", "-1.5"},
      {"(+ 99999999999999999999999999999999999999. 1)", "error: numeric field overflow"},
      {"(* 12345678901234567890.5 2)", "24691357802469135781.0"},
      {"(+ 0.5 0.5e0)", "1"},
      {"(* 1.5 null)", "NULL"},
      {"(* '1.25' 2.0)", "2.500"},
      {"(* 123456789012.123456 123456789012.123456)", "15241578753183966898832.546185383936"},
  });
}

/// Division has 16 decimals at least (PostgreSQL's scale depends on the value), rounded half away from zero.
TEST(Arithmetic, DecimalDivision) {
  CheckCases({
      {"(/ 1.0 3)", "0.3333333333333333"},
      {"(/ 2.0 3)", "0.6666666666666667"},
      {"(/ -2 3.0)", "-0.6666666666666667"},
      {"(/ 10.0 4)", "2.5000000000000000"},
      {"(/ 0.00000000000000000001 3)", "0.00000000000000000000"},
      {"(/ 99999999999999999999999999999999999999. 1)", "error: numeric field overflow"},
      {"(/ 12345678901234567890123. 7.0)", "1763668414462081127160.4285714285714286"},
      {"(/ 1234567890123456789012345. 0.1)", "error: numeric field overflow"},
      {"(/ 1234567890123456789012. 7.0)", "176366841446208112716.0000000000000000"},
      {"(/ 1234567890123456789012. 7.1)", "173882801425838984367.8873239436619718"},
  });
}

TEST(Arithmetic, DecimalTypes) {
  const auto schema = arrow::schema({arrow::field("a", arrow::decimal128(15, 2)), arrow::field("b", arrow::decimal128(10, 4)),
                                     arrow::field("c", arrow::decimal128(38, 10)), arrow::field("d", arrow::decimal128(38, 20)),
                                     arrow::field("e", arrow::decimal128(20, 18)), arrow::field("i", arrow::int32())});
  const auto type_of = [&](const char* text) { return SqlTypeName(*ParseTest(text, schema.get()).ValueOrDie()->type()); };
  EXPECT_EQ(type_of("(+ $0 $1)"), "numeric(18,4)");
  EXPECT_EQ(type_of("(* $0 (- 1 $0))"), "numeric(31,4)");
  EXPECT_EQ(type_of("(/ $0 $0)"), "numeric(31,16)");
  EXPECT_EQ(type_of("(% $0 $1)"), "numeric(10,4)");
  EXPECT_EQ(type_of("(* $2 $2)"), "numeric(38,20)");
  EXPECT_EQ(type_of("(* $3 $3)"), "numeric(38,20)");
  EXPECT_EQ(type_of("(* $4 $4)"), "numeric(38,34)");
  EXPECT_EQ(type_of("(+ $2 1)"), "numeric(38,10)");
  EXPECT_EQ(type_of("(* 2 $0)"), "numeric(16,2)");
  EXPECT_EQ(type_of("(* $5 $0)"), "numeric(25,2)");
}

/// A narrow column keeps its results narrow while 18 digits are enough.
TEST(Arithmetic, NarrowDecimals) {
  const auto schema = arrow::schema({arrow::field("a", arrow::decimal64(15, 2)), arrow::field("b", arrow::decimal128(15, 2))});
  EXPECT_EQ(ParseTest("(- 1 $0)", schema.get()).ValueOrDie()->type()->id(), arrow::Type::DECIMAL64);
  EXPECT_EQ(ParseTest("(* $0 (- 1 $0))", schema.get()).ValueOrDie()->type()->id(), arrow::Type::DECIMAL128);
  EXPECT_EQ(ParseTest("(- $1 $0)", schema.get()).ValueOrDie()->type()->id(), arrow::Type::DECIMAL128);
}

TEST(Arithmetic, WordsForMissingOperators) {
  CheckCases({
      {"(+ text'a' 1)", "error: operator does not exist: text + integer"},
      {"(- true 1)", "error: operator does not exist: boolean - integer"},
      {"(negate text'a')", "error: operator does not exist: - text"},
      {"(foo bigint'1' 'x')", "error: function foo(bigint, unknown) does not exist"},
      {"(uper 'x')", "error: function uper(unknown) does not exist"},
      {"(lower 1)", "error: function lower(integer) does not exist"},
      {"(+ date'2020-01-01' '1 day')", "error: operator is not unique: date + unknown"},
  });
}

TEST(Arithmetic, Advice) {
  EXPECT_EQ(RunTest("(uper 'x')"), "error: function uper(unknown) does not exist; did you mean \"upper\"?");
  EXPECT_EQ(RunTest("(lower 1)"),
            "error: function lower(integer) does not exist; no candidate matches the argument types, explicit casts may help");
}

}  // namespace
}  // namespace icebound::expr
