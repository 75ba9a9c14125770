// SPDX-License-Identifier: Apache-2.0
//
// Expected values are PostgreSQL's, except where a comment says otherwise.
#include "expr/test_cases.h"

namespace icebound::expr {
namespace {

TEST(Number, AbsAndSign) {
  CheckCases({
      {"(abs -5)", "5"},
      {"(abs -5.25)", "5.25"},
      {"(abs -2147483648)", "error: integer out of range"},
      {"(abs bigint'-5')", "5"},
      {"(abs -1.5e0)", "1.5"},
      {"(abs double'-Infinity')", "Infinity"},
      {"(sign -8.4)", "-1"},
      {"(sign 0)", "0"},
      {"(sign 5)", "1"},
      {"(sign -2e0)", "-1"},
  });
}

TEST(Number, Rounding) {
  CheckCases({
      {"(round 2.5)", "3"},
      {"(round -2.5)", "-3"},
      {"(round 2.49)", "2"},
      {"(round 2.5e0)", "2"},
      {"(round 3.5e0)", "4"},
      {"(round -2.5e0)", "-2"},
      {"(round 42.4382 2)", "42.44"},
      {"(round 42.4352 2)", "42.44"},
      {"(round -42.435 2)", "-42.44"},
      {"(round 1234.5 -2)", "1200"},
      {"(round 1250 -2)", "1300"},
      {"(round 1.5 3)", "1.500"},
      {"(round 5 2)", "5.00"},
      {"(round 99.99 1)", "100.0"},
      {"(round 2.5e0 1)", "error: function round(double precision, integer) does not exist"},
      {"(round 149 -2)", "100"},
      {"(round 150 -2)", "200"},
      {"(round -150 -2)", "-200"},
      {"(round 15 -3)", "0"},
      {"(trunc 42.8)", "42"},
      {"(trunc -42.8)", "-42"},
      {"(trunc 42.4382 2)", "42.43"},
      {"(trunc -42.4382 2)", "-42.43"},
      {"(trunc 1299.9 -2)", "1200"},
      {"(trunc 42.8e0)", "42"},
      {"(trunc -42.8e0)", "-42"},
      {"(ceil 42.2)", "43"},
      {"(ceil -42.8)", "-42"},
      {"(ceil 42)", "42"},
      {"(ceil 42.2e0)", "43"},
      {"(ceil -0.5e0)", "-0"},
      {"(ceiling 1.5)", "2"},
      {"(floor 42.8)", "42"},
      {"(floor -42.8)", "-43"},
      {"(floor -42.8e0)", "-43"},
      {"(round true)", "error: function round(boolean) does not exist"},
      {"(round null)", "NULL"},
  });
}

TEST(Number, RootsPowersLogarithms) {
  CheckCases({
      {"(sqrt 2e0)", "1.4142135623730951"},
      {"(sqrt 4)", "2"},
      {"(sqrt -1)", "error: cannot take square root of a negative number"},
      {"(sqrt 0)", "0"},
      {"(cbrt 27e0)", "3.0000000000000004"},
      {"(cbrt -27e0)", "-3.0000000000000004"},
      {"(exp 1e0)", "2.718281828459045"},
      {"(exp 1000e0)", "error: value out of range: overflow"},
      {"(exp 0)", "1"},
      {"(ln 2e0)", "0.6931471805599453"},
      {"(ln 0e0)", "error: cannot take logarithm of zero"},
      {"(ln -1e0)", "error: cannot take logarithm of a negative number"},
      {"(log 100e0)", "2"},
      {"(log 0e0)", "error: cannot take logarithm of zero"},
      {"(log10 1000e0)", "3"},
      {"(power 9 3)", "729"},
      {"(power 2e0 0.5e0)", "1.4142135623730951"},
      {"(power 0e0 -1e0)", "error: zero raised to a negative power is undefined"},
      {"(power -8e0 0.5e0)", "error: a negative number raised to a non-integer power yields a complex result"},
      {"(power -2e0 3e0)", "-8"},
      {"(power 10e0 400e0)", "error: value out of range: overflow"},
      {"(power 0 0)", "1"},
      {"(^ 2 10)", "1024"},
      {"(sqrt 2.25)", "1.5"},  // numeric, with 15 decimals, in PostgreSQL
      {"(power null 2)", "NULL"},
  });
}

TEST(Number, Integers) {
  CheckCases({
      {"(mod 9 4)", "1"},
      {"(mod -9 4)", "-1"},
      {"(mod 9.5 4)", "1.5"},
      {"(mod 9 0)", "error: division by zero"},
      {"(gcd 1071 462)", "21"},
      {"(gcd 0 0)", "0"},
      {"(gcd -12 18)", "6"},
      {"(gcd -2147483648 -2147483648)", "error: integer out of range"},
      {"(gcd bigint'1071' 462)", "21"},
      {"(lcm 1071 462)", "23562"},
      {"(lcm 0 5)", "0"},
      {"(lcm 2147483647 2)", "error: integer out of range"},
      {"(lcm 4 6)", "12"},
  });
}

TEST(Number, Trigonometry) {
  CheckCases({
      {"(sin 0)", "0"},
      {"(sin 1e0)", "0.8414709848078965"},
      {"(sin double'Infinity')", "error: input is out of range"},
      {"(cos 0)", "1"},
      {"(cos 1e0)", "0.5403023058681398"},
      {"(tan 1e0)", "1.5574077246549023"},
      {"(cot 1e0)", "0.6420926159343306"},
      {"(asin 1e0)", "1.5707963267948966"},
      {"(asin 2e0)", "error: input is out of range"},
      {"(acos 1e0)", "0"},
      {"(acos -1.5e0)", "error: input is out of range"},
      {"(atan 1e0)", "0.7853981633974483"},
      {"(atan2 1e0 -1e0)", "2.356194490192345"},
      {"(sinh 1e0)", "1.1752011936438014"},
      {"(cosh 1e0)", "1.5430806348152437"},
      {"(tanh 1e0)", "0.7615941559557649"},
      {"(degrees 0.5e0)", "28.64788975654116"},
      {"(radians 45e0)", "0.7853981633974483"},
      {"(pi)", "3.141592653589793"},
  });
}

TEST(Number, Buckets) {
  CheckCases({
      {"(width_bucket 5.35e0 0.024e0 10.06e0 5)", "3"},
      {"(width_bucket -1e0 0e0 10e0 5)", "0"},
      {"(width_bucket 10e0 0e0 10e0 5)", "6"},
      {"(width_bucket 3e0 10e0 0e0 5)", "4"},
      {"(width_bucket 10e0 0e0 10e0 0)", "error: count must be greater than zero"},
      {"(width_bucket 1e0 1e0 1e0 5)", "error: lower bound cannot equal upper bound"},
      {"(greatest 1.5 2)", "2.0"},
  });
}

}  // namespace
}  // namespace icebound::expr
