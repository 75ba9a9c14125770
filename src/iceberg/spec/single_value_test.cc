// SPDX-License-Identifier: Apache-2.0
//
// Bytes are written out by hand from the specification's Appendix D, or are those of public bug reports.
#include "iceberg/spec/single_value.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/error.h"
#include "iceberg/spec/iso_time.h"
#include "iceberg/spec/json_value.h"

namespace icebound::iceberg {
namespace {

TypePtr TypeOf(std::string_view word) { return Type::Parse(word).ValueOrDie(); }
Literal Value(std::string_view word, std::string_view json) { return LiteralFromJson(*TypeOf(word), json).ValueOrDie(); }

std::string Hex(std::string_view bytes) {
  std::string hex;
  for (const char c : bytes) fmt::format_to(std::back_inserter(hex), "{:02x}", static_cast<unsigned char>(c));
  return hex;
}

std::string Bytes(std::string_view hex) { return std::get<std::string>(Value("binary", "\"" + std::string(hex) + "\"")); }

struct Case {
  const char* type;
  const char* json;
  const char* hex;
};

TEST(SingleValue, BytesAreThoseOfTheSpecification) {
  const Case cases[] = {
      {"boolean", "true", "01"},
      {"boolean", "false", "00"},
      {"int", "34", "22000000"},
      {"int", "-1", "ffffffff"},
      {"long", "34", "2200000000000000"},
      {"long", "-2", "feffffffffffffff"},
      {"float", "1.0", "0000803f"},
      {"double", "-0.5", "000000000000e0bf"},
      {"date", "\"2017-11-16\"", "4e440000"},
      {"time", "\"00:00:00.000256\"", "0001000000000000"},
      {"timestamp", "\"1969-12-31T23:59:59.999999\"", "ffffffffffffffff"},
      {"timestamptz", "\"1970-01-01T00:00:00.000001+00:00\"", "0100000000000000"},
      {"timestamp_ns", "\"1970-01-01T00:00:00.000000001\"", "0100000000000000"},
      {"string", "\"ab\\u00e9\"", "6162c3a9"},
      {"string", "\"\"", ""},
      {"uuid", "\"f79c3e09-677c-4bbd-a479-3f349cb785e7\"", "f79c3e09677c4bbda4793f349cb785e7"},
      {"fixed[3]", "\"000102\"", "000102"},
      {"binary", "\"ff00\"", "ff00"},
  };
  for (const Case& c : cases) {
    const Literal value = Value(c.type, c.json);
    EXPECT_EQ(Hex(EncodeSingleValue(*TypeOf(c.type), value).ValueOrDie()), c.hex) << c.type;
    EXPECT_EQ(DecodeSingleValue(*TypeOf(c.type), Bytes(c.hex)).ValueOrDie(), value) << c.type;
  }
  EXPECT_EQ(DecodeSingleValue(*TypeOf("boolean"), "\x02").ValueOrDie(), Literal(true));
}

TEST(SingleValue, Rule14DecimalsAreMinimalBigEndianTwosComplement) {
  const Case cases[] = {
      {"decimal(7,2)", "\"-9969.53\"", "f0c9a7"},
      {"decimal(7,2)", "\"12.50\"", "04e2"},
      {"decimal(7,2)", "\"0.00\"", "00"},
      {"decimal(7,2)", "\"-0.01\"", "ff"},
      {"decimal(7,2)", "\"1.27\"", "7f"},
      {"decimal(7,2)", "\"1.28\"", "0080"},
      {"decimal(7,2)", "\"-1.28\"", "80"},
      {"decimal(7,2)", "\"-1.29\"", "ff7f"},
      {"decimal(7,2)", "\"327.68\"", "008000"},
      {"decimal(7,2)", "\"-327.69\"", "ff7fff"},
      {"decimal(38,0)", "\"99999999999999999999999999999999999999\"", "4b3b4ca85a86c47a098a223fffffffff"},
      {"decimal(38,0)", "\"-99999999999999999999999999999999999999\"", "b4c4b357a5793b85f675ddc000000001"},
  };
  for (const Case& c : cases) {
    const Literal value = Value(c.type, c.json);
    EXPECT_EQ(Hex(EncodeSingleValue(*TypeOf(c.type), value).ValueOrDie()), c.hex) << c.json;
    EXPECT_EQ(DecodeSingleValue(*TypeOf(c.type), Bytes(c.hex)).ValueOrDie(), value) << c.json;
    // Padded to its fixed length, and beyond 16 bytes, as careless writers do.
    const std::string pad(20, c.json[1] == '-' ? '\xff' : '\0');
    EXPECT_EQ(DecodeSingleValue(*TypeOf(c.type), pad + Bytes(c.hex)).ValueOrDie(), value) << c.json;
  }
  EXPECT_FALSE(DecodeSingleValue(*TypeOf("decimal(38,0)"), "").ok());
  EXPECT_FALSE(DecodeSingleValue(*TypeOf("decimal(38,0)"), std::string(17, '\x01')).ok());
}

TEST(SingleValue, Rule12BoundsOfPromotedColumnsKeepTheirOldBytes) {
  EXPECT_EQ(DecodeSingleValue(*TypeOf("long"), Bytes("feffffff")).ValueOrDie(), Literal(int64_t{-2}));
  EXPECT_EQ(DecodeSingleValue(*TypeOf("double"), Bytes("cdcccc3d")).ValueOrDie(), Literal(static_cast<double>(0.1f)));
  EXPECT_EQ(DecodeSingleValue(*TypeOf("timestamp"), Bytes("ffffffff")).ValueOrDie(), Literal(-kMicrosPerDay));
  EXPECT_EQ(DecodeSingleValue(*TypeOf("timestamp_ns"), Bytes("02000000")).ValueOrDie(), Literal(2 * kNanosPerDay));
  EXPECT_EQ(DecodeSingleValue(*TypeOf("decimal(38,2)"), Bytes("ff7f")).ValueOrDie(), Value("decimal(38,2)", "\"-1.29\""));
  // A date may not have become a timestamp with a zone, and no day of 32 bits may be lost in nanoseconds.
  EXPECT_FALSE(DecodeSingleValue(*TypeOf("timestamptz"), Bytes("ffffffff")).ok());
  EXPECT_FALSE(DecodeSingleValue(*TypeOf("timestamp_ns"), Bytes("ffffff7f")).ok());
  EXPECT_EQ(DecodeBound(*TypeOf("timestamp_ns"), Bytes("ffffff7f")), std::nullopt);
  EXPECT_EQ(DecodeBound(*TypeOf("timestamp"), Bytes("ffffff7f")), std::nullopt);
}

TEST(SingleValue, Rule12PromotionsAreThoseOfTheSpecification) {
  const auto can = [](const char* from, const char* to, int version) { return CanPromote(*TypeOf(from), *TypeOf(to), version); };
  EXPECT_TRUE(can("int", "long", 1));
  EXPECT_TRUE(can("float", "double", 1));
  EXPECT_TRUE(can("decimal(9,2)", "decimal(10,2)", 1));
  EXPECT_FALSE(can("decimal(9,2)", "decimal(9,2)", 3));
  EXPECT_FALSE(can("decimal(9,2)", "decimal(10,3)", 3));
  EXPECT_FALSE(can("date", "timestamp", 2));
  EXPECT_TRUE(can("date", "timestamp", 3));
  EXPECT_TRUE(can("date", "timestamp_ns", 3));
  EXPECT_FALSE(can("date", "timestamptz", 3));
  EXPECT_TRUE(can("unknown", "string", 3));
  EXPECT_FALSE(can("long", "int", 3));
  EXPECT_FALSE(can("int", "string", 3));
}

TEST(SingleValue, Rule13StringBoundsAreCutByCodePoints) {
  const auto type = TypeOf("string");
  const std::string letters(15, 'A');
  const auto lower = [&](const std::string& text) { return std::get<std::string>(TruncateLowerBound(*type, text, 16)); };
  const auto upper = [&](const std::string& text) -> std::optional<std::string> {
    const auto bound = TruncateUpperBound(*type, text, 16);
    if (!bound) return std::nullopt;
    return std::get<std::string>(*bound);
  };
  const std::string bullet = "\xe2\x80\xa2";
  EXPECT_EQ(lower(letters + bullet), letters + bullet);
  EXPECT_EQ(upper(letters + bullet), letters + bullet);
  EXPECT_EQ(lower(letters + bullet + "tail"), letters + bullet);
  EXPECT_EQ(upper(letters + bullet + "tail"), letters + "\xe2\x80\xa3");
  // The character after U+D7FF is no surrogate but U+E000.
  EXPECT_EQ(upper(letters + "\xed\x9f\xbf" + "tail"), letters + "\xee\x80\x80");
  // The highest character cannot be increased; the one before it can.
  EXPECT_EQ(upper(letters + "\xf4\x8f\xbf\xbf" + "tail"), std::string(14, 'A') + "B");
  std::string highest;
  for (int i = 0; i < 17; ++i) highest += "\xf4\x8f\xbf\xbf";
  EXPECT_EQ(upper(highest), std::nullopt);
  // A character that needs one byte more when it is increased.
  EXPECT_EQ(upper(letters + "\x7f" + "x"), letters + "\xc2\x80");
  EXPECT_EQ(upper(letters + "\xef\xbf\xbf" + "x"), letters + "\xf0\x90\x80\x80");
}

TEST(SingleValue, Rule13BinaryBoundsAreCutByBytes) {
  const auto type = TypeOf("binary");
  EXPECT_EQ(TruncateLowerBound(*type, Literal("\x01\xff\xff"), 2), Literal("\x01\xff"));
  EXPECT_EQ(TruncateUpperBound(*type, Literal("\x01\xff\xff"), 2), Literal("\x02"));
  EXPECT_EQ(TruncateUpperBound(*type, Literal("\xff\xff\xff"), 2), std::nullopt);
  EXPECT_EQ(TruncateUpperBound(*type, Literal("\x01\x02"), 2), Literal("\x01\x02"));
  EXPECT_EQ(TruncateUpperBound(*TypeOf("long"), Literal(int64_t{7}), 2), Literal(int64_t{7}));
}

TEST(SingleValue, Rule15NanIsNoBoundAndMinusZeroComesFirst) {
  for (const char* type : {"float", "double"}) {
    const bool narrow = std::string_view(type) == "float";
    const Literal nan = narrow ? Literal(std::nanf("")) : Literal(std::nan(""));
    const std::string bytes = EncodeSingleValue(*TypeOf(type), nan).ValueOrDie();
    EXPECT_EQ(DecodeBound(*TypeOf(type), bytes), std::nullopt);
    EXPECT_TRUE(IsNan(DecodeSingleValue(*TypeOf(type), bytes).ValueOrDie()));
  }
  EXPECT_TRUE(CompareLiterals(Literal(-0.0), Literal(0.0)) < 0);
  EXPECT_TRUE(CompareLiterals(Literal(0.0f), Literal(-0.0f)) > 0);
  EXPECT_TRUE(CompareLiterals(Literal(std::numeric_limits<double>::infinity()), Literal(std::nan(""))) < 0);
  EXPECT_TRUE(CompareLiterals(Literal(), Literal(-std::numeric_limits<double>::infinity())) < 0);
  EXPECT_TRUE(SameLiteral(Literal(std::nan("1")), Literal(-std::nan("2"))));
  EXPECT_FALSE(SameLiteral(Literal(0.0), Literal(-0.0)));
  EXPECT_EQ(DecodeBound(*TypeOf("double"), Bytes("0000000000000080")), Literal(-0.0));
}

TEST(SingleValue, BoundsThatSayNothingAreNone) {
  EXPECT_EQ(DecodeBound(*TypeOf("int"), Bytes("0102")), std::nullopt);
  EXPECT_EQ(DecodeBound(*TypeOf("geometry"), std::string(16, '\0')), std::nullopt);
  EXPECT_EQ(DecodeBound(*TypeOf("variant"), "x"), std::nullopt);
  EXPECT_EQ(DecodeBound(*TypeOf("uuid"), "short"), std::nullopt);
  EXPECT_EQ(DecodeBound(*TypeOf("fixed[4]"), Bytes("0001")), Literal(Bytes("0001")));  // a prefix is a bound too
}

TEST(SingleValue, BytesAndTextCompareUnsigned) {
  EXPECT_TRUE(CompareLiterals(Literal("\x7f"), Literal("\x80")) < 0);
  EXPECT_TRUE(CompareLiterals(Literal("a"), Literal("\xf0\x9f\x92\xb0")) < 0);
  EXPECT_TRUE(CompareLiterals(Value("decimal(9,2)", "\"-1.00\""), Value("decimal(9,2)", "\"0.99\"")) < 0);
}

TEST(SingleValue, WrongKindsAreFaultsOfOurs) {
  EXPECT_EQ(GetErrorKind(EncodeSingleValue(*TypeOf("long"), Literal(int32_t{1})).status()), ErrorKind::kInternal);
  EXPECT_EQ(GetErrorKind(EncodeSingleValue(*TypeOf("long"), Literal()).status()), ErrorKind::kInternal);
  EXPECT_EQ(GetErrorKind(DecodeSingleValue(*TypeOf("int"), "abc").status()), ErrorKind::kCorruptData);
}

}  // namespace
}  // namespace icebound::iceberg
