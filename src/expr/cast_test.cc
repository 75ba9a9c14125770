// SPDX-License-Identifier: Apache-2.0
//
// Expected values are PostgreSQL's, except where a comment says otherwise.
#include "expr/cast.h"

#include "expr/test_cases.h"

namespace icebound::expr {
namespace {

TEST(Cast, ToIntegers) {
  CheckCases({
      {"(cast '12' integer)", "12"},
      {"(cast ' 12 ' integer)", "12"},
      {"(cast '+7' integer)", "7"},
      {"(cast '-2147483648' integer)", "-2147483648"},
      {"(cast '2147483648' integer)", "error: value \"2147483648\" is out of range for type integer"},
      {"(cast 'abc' integer)", "error: invalid input syntax for type integer: \"abc\""},
      {"(cast '' integer)", "error: invalid input syntax for type integer: \"\""},
      {"(cast '1.5' integer)", "error: invalid input syntax for type integer: \"1.5\""},
      {"(cast '12x' bigint)", "error: invalid input syntax for type bigint: \"12x\""},
      {"(cast '9223372036854775807' bigint)", "9223372036854775807"},
      {"(cast '9223372036854775808' bigint)", "error: value \"9223372036854775808\" is out of range for type bigint"},
      {"(cast '40000' smallint)", "error: value \"40000\" is out of range for type smallint"},
      {"(cast 40000 smallint)", "error: smallint out of range"},
      {"(cast 3000000000 integer)", "error: integer out of range"},
      {"(cast -40000 smallint)", "error: smallint out of range"},
      {"(cast 1.5 integer)", "2"},
      {"(cast 2.5 integer)", "3"},
      {"(cast -1.5 integer)", "-2"},
      {"(cast -2.5 integer)", "-3"},
      {"(cast 0.49999 integer)", "0"},
      {"(cast 3000000000.5 integer)", "error: integer out of range"},
      {"(cast 99999999999999999999. bigint)", "error: bigint out of range"},
      {"(cast 1.5e0 integer)", "2"},
      {"(cast 2.5e0 integer)", "2"},
      {"(cast 3.5e0 integer)", "4"},
      {"(cast -2.5e0 integer)", "-2"},
      {"(cast 2147483647.4e0 integer)", "2147483647"},
      {"(cast 2147483647.5e0 integer)", "error: integer out of range"},
      {"(cast -2147483648.5e0 integer)", "-2147483648"},
      {"(cast 1e19 bigint)", "error: bigint out of range"},
      {"(cast 9223372036854775807e0 bigint)", "error: bigint out of range"},
      {"(cast double'NaN' integer)", "error: integer out of range"},
      {"(cast double'Infinity' bigint)", "error: bigint out of range"},
      {"(cast true integer)", "1"},
      {"(cast null integer)", "NULL"},
      {"(cast date'2020-01-01' integer)", "error: cannot cast type date to integer"},
      {"(cast interval'1 day' integer)", "error: cannot cast type interval to integer"},
      {"(cast 12345678901234567890. integer)", "error: integer out of range"},
      {"(cast text'12' integer)", "12"},
      {"(cast '0x1F' integer)", "error: invalid input syntax for type integer: \"0x1F\""},
      {"(cast '1_000' integer)", "error: invalid input syntax for type integer: \"1_000\""},
  });
}

TEST(Cast, ToFloatingPoint) {
  CheckCases({
      {"(cast 1e40 real)", "error: value out of range: overflow"},
      {"(cast 1e-50 real)", "error: value out of range: underflow"},
      {"(cast 0.1e0 real)", "0.1"},
      {"(cast real'0.1' double)", "0.10000000149011612"},
      {"(cast 1 double)", "1"},
      {"(cast 9007199254740993 double)", "9.007199254740992e+15"},
      {"(cast 12345678901234567890.123456789 double)", "1.2345678901234567e+19"},
      {"(cast 0.1 double)", "0.1"},
      {"(cast 1.1 real)", "1.1"},
      {"(cast '1.5' double)", "1.5"},
      {"(cast 'inf' double)", "Infinity"},
      {"(cast '-Infinity' double)", "-Infinity"},
      {"(cast ' 1e5 ' double)", "100000"},
      {"(cast '1e400' double)", "error: \"1e400\" is out of range for type double precision"},
      {"(cast '1e40' real)", "error: \"1e40\" is out of range for type real"},
      {"(cast 'x' double)", "error: invalid input syntax for type double precision: \"x\""},
      {"(cast '1.5x' double)", "error: invalid input syntax for type double precision: \"1.5x\""},
  });
}

TEST(Cast, ToDecimals) {
  CheckCases({
      {"(cast 1 numeric(10,2))", "1.00"},
      {"(cast 123 numeric(4,2))", "error: numeric field overflow"},
      {"(cast 1.005 numeric(10,2))", "1.01"},
      {"(cast 1.015 numeric(10,2))", "1.02"},
      {"(cast -1.005 numeric(10,2))", "-1.01"},
      {"(cast -1.004 numeric(10,2))", "-1.00"},
      {"(cast 99.995 numeric(4,2))", "error: numeric field overflow"},
      {"(cast 99.994 numeric(4,2))", "99.99"},
      {"(cast 0.1e0 numeric(10,3))", "0.100"},
      {"(cast 1e20 numeric(10,2))", "error: numeric field overflow"},
      {"(cast 123456.789e0 numeric(10,2))", "123456.79"},
      {"(cast real'0.3' numeric(10,3))", "0.300"},
      {"(cast '1.5' numeric(10,2))", "1.50"},
      {"(cast '1.005' numeric(10,2))", "1.01"},
      {"(cast '1e3' numeric(10,2))", "1000.00"},
      {"(cast '1.5e-1' numeric(10,2))", "0.15"},
      {"(cast '.5' numeric(10,2))", "0.50"},
      {"(cast '5.' numeric(10,2))", "5.00"},
      {"(cast '1e' numeric(10,2))", "error: invalid input syntax for type numeric: \"1e\""},
      {"(cast 'abc' numeric(10,2))", "error: invalid input syntax for type numeric: \"abc\""},
      {"(cast '12345' numeric(4,2))", "error: numeric field overflow"},
      {"(cast '0.005' numeric(4,2))", "0.01"},
      {"(cast '-0.005' numeric(4,2))", "-0.01"},
      {"(cast true numeric(5,2))", "error: cannot cast type boolean to numeric"},
  });
}

TEST(Cast, ToBooleans) {
  CheckCases({
      {"(cast 0 boolean)", "false"},
      {"(cast 5 boolean)", "true"},
      {"(cast 'true' boolean)", "true"},
      {"(cast 'T' boolean)", "true"},
      {"(cast ' yes ' boolean)", "true"},
      {"(cast 'of' boolean)", "false"},
      {"(cast 'o' boolean)", "error: invalid input syntax for type boolean: \"o\""},
      {"(cast '1' boolean)", "true"},
      {"(cast 'maybe' boolean)", "error: invalid input syntax for type boolean: \"maybe\""},
  });
}

TEST(Cast, ToText) {
  CheckCases({
      {"(cast true text)", "true"},
      {"(cast false text)", "false"},
      {"(cast 1 text)", "1"},
      {"(cast -5 text)", "-5"},
      {"(cast 1.50 text)", "1.50"},
      {"(cast -0.05 text)", "-0.05"},
      {"(cast 0.1e0 text)", "0.1"},
      {"(cast 1e15 text)", "1e+15"},
      {"(cast 1e14 text)", "100000000000000"},
      {"(cast 123456789012345678e0 text)", "1.2345678901234568e+17"},
      {"(cast 0.0001e0 text)", "0.0001"},
      {"(cast 0.00001e0 text)", "1e-05"},
      {"(cast 1e100 text)", "1e+100"},
      {"(cast -0e0 text)", "-0"},
      {"(cast 1.1e0 text)", "1.1"},
      {"(cast double'NaN' text)", "NaN"},
      {"(cast double'-Infinity' text)", "-Infinity"},
      {"(cast real'1e6' text)", "1e+06"},
      {"(cast real'123456' text)", "123456"},
      {"(cast real'0.1' text)", "0.1"},
      {"(cast real'16777216' text)", "1.6777216e+07"},
      {"(cast 100000e0 text)", "100000"},
      {"(cast date'2020-01-31' text)", "2020-01-31"},
      {"(cast date'0001-01-01' text)", "0001-01-01"},
      {"(cast date'0044-03-15 BC' text)", "0044-03-15 BC"},
      {"(cast date'12345-01-01' text)", "12345-01-01"},
      {"(cast timestamp'2020-01-31 12:34:56' text)", "2020-01-31 12:34:56"},
      {"(cast timestamp'2020-01-31 12:34:56.100' text)", "2020-01-31 12:34:56.1"},
      {"(cast timestamptz'2020-01-31 12:34:56.000001+00' text)", "2020-01-31 12:34:56.000001+00"},
      {"(cast timestamp'0044-03-15 12:00:00 BC' text)", "0044-03-15 12:00:00 BC"},
      {"(cast time'04:05:06.7' text)", "04:05:06.7"},
      {"(cast interval'-1 month' text)", "-1 mons"},
      {"(cast interval'1 month -1 day' text)", "1 mon -1 days"},
      {"(cast interval'-1 day 2 hours' text)", "-1 days +02:00:00"},
      {"(cast interval'-00:00:01' text)", "-00:00:01"},
      {"(cast interval'0' text)", "00:00:00"},
      {"(cast interval'14 months' text)", "1 year 2 mons"},
      {"(cast interval'-14 months' text)", "-1 years -2 mons"},
      {"(cast interval'1 day -00:00:00.5' text)", "1 day -00:00:00.5"},
      {"(cast bytea'abc' text)", "\\x616263"},
      {"(cast uuid'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11' text)", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"},
      {"(cast null text)", "NULL"},
      {"(cast (+ 1 2) text)", "3"},
  });
}

TEST(Cast, ToDates) {
  CheckCases({
      {"(cast '2020-01-31' date)", "2020-01-31"},
      {"(cast '20200131' date)", "2020-01-31"},
      {"(cast '2020/01/31' date)", "2020-01-31"},
      {"(cast '2020-1-5' date)", "2020-01-05"},
      {"(cast 'January 8, 1999' date)", "1999-01-08"},
      {"(cast '8 Jan 1999' date)", "1999-01-08"},
      {"(cast 'Jan-08-1999' date)", "1999-01-08"},
      {"(cast '1999-Jan-08' date)", "1999-01-08"},
      {"(cast '08-Jan-99' date)", "1999-01-08"},
      {"(cast '1/8/1999' date)", "1999-01-08"},
      {"(cast '1/18/99' date)", "1999-01-18"},
      {"(cast '2020-02-30' date)", "error: date/time field value out of range: \"2020-02-30\""},
      {"(cast '2020-13-01' date)", "error: date/time field value out of range: \"2020-13-01\""},
      {"(cast '2019-02-29' date)", "error: date/time field value out of range: \"2019-02-29\""},
      {"(cast '2020-02-29' date)", "2020-02-29"},
      {"(cast '0000-01-01' date)", "error: date/time field value out of range: \"0000-01-01\""},
      {"(cast '0044-03-15 BC' date)", "0044-03-15 BC"},
      {"(cast '10000-01-01' date)", "10000-01-01"},
      {"(cast 'yesterdayx' date)", "error: invalid input syntax for type date: \"yesterdayx\""},
      {"(cast '' date)", "error: invalid input syntax for type date: \"\""},
      {"(cast '2020-01' date)", "error: invalid input syntax for type date: \"2020-01\""},
      {"(cast '2020-01-31 23:59:59' date)", "2020-01-31"},
      {"(cast 'epoch' date)", "1970-01-01"},
      {"(cast timestamp'2020-01-31 12:34:56' date)", "2020-01-31"},
      {"(cast timestamp'1969-12-31 23:59:59.999999' date)", "1969-12-31"},
      {"(cast timestamptz'2020-01-31 23:34:56-02' date)", "2020-02-01"},
      {"(cast 1 date)", "error: cannot cast type integer to date"},
      {"(cast time'10:00' date)", "error: cannot cast type time without time zone to date"},
      {"(cast text'abc' date)", "error: invalid input syntax for type date: \"abc\""},
  });
}

TEST(Cast, ToTimestamps) {
  CheckCases({
      {"(cast '2020-01-31 12:34:56' timestamp)", "2020-01-31 12:34:56"},
      {"(cast '2020-01-31T12:34:56.789' timestamp)", "2020-01-31 12:34:56.789"},
      {"(cast '2020-01-31 12:34' timestamp)", "2020-01-31 12:34:00"},
      {"(cast '2020-01-31 12:34:56.1234567' timestamp)", "2020-01-31 12:34:56.123457"},
      {"(cast '2020-01-31 12:34:56+02' timestamp)", "2020-01-31 12:34:56"},
      {"(cast '2020-01-31 12:34:56Z' timestamptz)", "2020-01-31 12:34:56+00"},
      {"(cast '2020-01-31 12:34:56+02' timestamptz)", "2020-01-31 10:34:56+00"},
      {"(cast '2020-01-31 12:34:56-05:30' timestamptz)", "2020-01-31 18:04:56+00"},
      {"(cast '2020-01-31 12:34:56 UTC' timestamptz)", "2020-01-31 12:34:56+00"},
      {"(cast '2020-01-31 12:34:56+0530' timestamptz)", "2020-01-31 07:04:56+00"},
      {"(cast '2020-01-31' timestamp)", "2020-01-31 00:00:00"},
      {"(cast '2020-01-31 24:00:00' timestamp)", "2020-02-01 00:00:00"},
      {"(cast '2020-01-31 25:00:00' timestamp)", "error: date/time field value out of range: \"2020-01-31 25:00:00\""},
      {"(cast '2020-01-31 12:60:00' timestamp)", "error: date/time field value out of range: \"2020-01-31 12:60:00\""},
      {"(cast '2020-01-31 12:34:60' timestamp)", "2020-01-31 12:35:00"},
      {"(cast '2020-01-31 12:34:56 PM' timestamp)", "2020-01-31 12:34:56"},
      {"(cast '2020-01-31 12:34:56 AM' timestamp)", "2020-01-31 00:34:56"},
      {"(cast '2020-01-31 1:30 pm' timestamp)", "2020-01-31 13:30:00"},
      {"(cast '2020-01-31 13:30 pm' timestamp)", "error: date/time field value out of range: \"2020-01-31 13:30 pm\""},
      {"(cast '20200131T123456' timestamp)", "2020-01-31 12:34:56"},
      {"(cast 'abc' timestamp)", "error: invalid input syntax for type timestamp: \"abc\""},
      {"(cast '2020-01-31 abc' timestamp)", "error: invalid input syntax for type timestamp: \"2020-01-31 abc\""},
      {"(cast '2020-01-31 12:00:00 Nowhere/City' timestamptz)", "error: time zone \"nowhere/city\" not recognized"},
      {"(cast date'2020-01-31' timestamp)", "2020-01-31 00:00:00"},
      {"(cast date'2020-01-31' timestamptz)", "2020-01-31 00:00:00+00"},
      {"(cast date'5000000-01-01' timestamp)", "error: date out of range for timestamp"},
      {"(cast timestamptz'2020-01-31 12:34:56+02' timestamp)", "2020-01-31 10:34:56"},
  });
}

TEST(Cast, ToTimes) {
  CheckCases({
      {"(cast timestamp'2020-01-31 12:34:56.5' time)", "12:34:56.5"},
      {"(cast timestamp'1969-12-31 23:59:59.5' time)", "23:59:59.5"},
      {"(cast '12:34' time)", "12:34:00"},
      {"(cast '12:34:56.789' time)", "12:34:56.789"},
      {"(cast '123456' time)", "12:34:56"},
      {"(cast '1234' time)", "12:34:00"},
      {"(cast '12:34 PM' time)", "12:34:00"},
      {"(cast '23:59:59.9999994' time)", "23:59:59.999999"},
      {"(cast '24:00' time)", "error: date/time field value out of range: \"24:00\""},  // 24:00:00 in PostgreSQL
      {"(cast '24:00:01' time)", "error: date/time field value out of range: \"24:00:01\""},
      {"(cast '25:00' time)", "error: date/time field value out of range: \"25:00\""},
      {"(cast 'noon' time)", "error: invalid input syntax for type time: \"noon\""},
      {"(cast interval'1 day 04:05:06' time)", "04:05:06"},
      {"(cast interval'-1 hour' time)", "23:00:00"},
  });
}

TEST(Cast, ToIntervals) {
  CheckCases({
      {"(cast time'04:05' interval)", "04:05:00"},
      {"(cast '1 year 2 months 3 days 04:05:06' interval)", "1 year 2 mons 3 days 04:05:06"},
      {"(cast '1-2' interval)", "1 year 2 mons"},
      {"(cast 'P1Y2M3DT4H5M6S' interval)", "1 year 2 mons 3 days 04:05:06"},
      {"(cast 'P1W' interval)", "7 days"},
      {"(cast 'PT1.5H' interval)", "01:30:00"},
      {"(cast '1.5 hours' interval)", "01:30:00"},
      {"(cast '1.5 days' interval)", "1 day 12:00:00"},
      {"(cast '1.5 months' interval)", "1 mon 15 days"},
      {"(cast '1.5 years' interval)", "1 year 6 mons"},
      {"(cast '0.5 weeks' interval)", "3 days 12:00:00"},
      {"(cast '90' interval)", "00:01:30"},
      {"(cast '-90' interval)", "-00:01:30"},
      {"(cast '1.25' interval)", "00:00:01.25"},
      {"(cast '1 day ago' interval)", "-1 days"},
      {"(cast '1 day -2 hours' interval)", "1 day -02:00:00"},
      {"(cast '-1 days +02:03' interval)", "-1 days +02:03:00"},
      {"(cast '@ 1 minute' interval)", "00:01:00"},
      {"(cast '1 second 2 seconds' interval)", "error: invalid input syntax for type interval: \"1 second 2 seconds\""},
      {"(cast '1 decade' interval)", "10 years"},
      {"(cast '1 century 3 mils' interval)", "3100 years"},
      {"(cast '2 weeks' interval)", "14 days"},
      {"(cast '100:20:30' interval)", "100:20:30"},
      {"(cast '1 mon 1 us' interval)", "1 mon 00:00:00.000001"},
      {"(cast '5 ms' interval)", "00:00:00.005"},
      {"(cast '1 fortnight' interval)", "error: invalid input syntax for type interval: \"1 fortnight\""},
      {"(cast '' interval)", "error: invalid input syntax for type interval: \"\""},
      {"(cast '12:70' interval)", "error: interval field value out of range: \"12:70\""},
      {"(cast '1 quarter' interval)", "error: invalid input syntax for type interval: \"1 quarter\""},
  });
}

TEST(Cast, ToBytesAndUuids) {
  CheckCases({
      {"(cast '\\x01ff' bytea)", "\\x01ff"},
      {"(cast '\\x0' bytea)", "error: invalid hexadecimal data: odd number of digits"},
      {"(cast '\\xzz' bytea)", "error: invalid hexadecimal digit: \"z\""},
      {"(cast 'ab\\\\c\\001' bytea)", "\\x61625c6301"},
      {"(cast 'ab\\9' bytea)", "error: invalid input syntax for type bytea"},
      {"(cast 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11' uuid)", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"},
      {"(cast '{A0EEBC999C0B4EF8BB6D6BB9BD380A11}' uuid)", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"},
      {"(cast 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a1' uuid)",
       "error: invalid input syntax for type uuid: \"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a1\""},
      {"(cast 'a0ee-bc99-9c0b-4ef8-bb6d-6bb9bd380a11' uuid)", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"},
      {"(cast 'xyz' uuid)", "error: invalid input syntax for type uuid: \"xyz\""},
      {"(cast 1 uuid)", "error: cannot cast type integer to uuid"},
  });
}

}  // namespace
}  // namespace icebound::expr
