// SPDX-License-Identifier: Apache-2.0
#include "io/format/value_text.h"

#include <arrow/api.h>
#include <arrow/compute/api.h>
#include <arrow/extension/bool8.h>
#include <arrow/extension/uuid.h>
#include <arrow/json/from_string.h>
#include <gtest/gtest.h>

#include "io/output_testing.h"

namespace icebound::io {
namespace {

std::shared_ptr<arrow::Array> ArrayOf(const std::shared_ptr<arrow::DataType>& type, const std::string& json) {
  return arrow::json::ArrayFromJSONString(type, json).ValueOrDie();
}

std::string Text(const arrow::Array& array, int64_t row, TextStyle style) {
  ValueText values;
  TextString out;
  const arrow::Status status = values.Append(array, row, style, &out);
  return status.ok() ? std::string(out.view()) : status.ToString();
}

struct TextCase {
  std::shared_ptr<arrow::DataType> type;
  std::string input;  // JSON of one value
  std::string sql;
  std::string json;
};

TEST(ValueText, EveryType) {
  using namespace arrow;  // NOLINT: a list of types
  const std::vector<TextCase> cases = {
      {boolean(), "true", "true", "true"},
      {int8(), "-128", "-128", "-128"},
      {int16(), "7", "7", "7"},
      {int32(), "-2147483648", "-2147483648", "-2147483648"},
      {int64(), "-9223372036854775808", "-9223372036854775808", "-9223372036854775808"},
      {uint8(), "255", "255", "255"},
      {uint32(), "4294967295", "4294967295", "4294967295"},
      {uint64(), "18446744073709551615", "18446744073709551615", "18446744073709551615"},
      {float16(), "1.5", "1.5", "1.5"},
      {float32(), "0.1", "0.1", "0.1"},
      {float64(), "0.1", "0.1", "0.1"},
      {float64(), "1e300", "1e+300", "1e+300"},
      {float64(), "NaN", "NaN", "\"NaN\""},
      {float64(), "Inf", "Infinity", "\"Infinity\""},
      {float32(), "-Inf", "-Infinity", "\"-Infinity\""},
      {decimal32(5, 2), "\"-1.50\"", "-1.50", "\"-1.50\""},
      {decimal64(15, 3), "\"0.001\"", "0.001", "\"0.001\""},
      {decimal128(38, 2), "\"-999999999999999999999999999999999999.99\"", "-999999999999999999999999999999999999.99",
       "\"-999999999999999999999999999999999999.99\""},
      {decimal256(60, 1), "\"12345678901234567890123456789012345678901234567890.5\"",
       "12345678901234567890123456789012345678901234567890.5", "\"12345678901234567890123456789012345678901234567890.5\""},
      {utf8(), R"("a\"b\\c\n\u0001é")", "a\"b\\c\n\x01é", R"("a\"b\\c\n\u0001é")"},
      {large_utf8(), "\"x\"", "x", "\"x\""},
      {utf8_view(), "\"a longer text than fits inline\"", "a longer text than fits inline", "\"a longer text than fits inline\""},
      {binary(), "\"\\u0000ab\"", "\\x006162", "\"AGFi\""},
      {fixed_size_binary(2), "\"ab\"", "\\x6162", "\"YWI=\""},
      {date32(), "19753", "2024-01-31", "\"2024-01-31\""},
      {date32(), "-719893", "0002-01-01 BC", "\"-000001-01-01\""},
      {date32(), "2932897", "10000-01-01", "\"+010000-01-01\""},
      {date64(), "1706659200000", "2024-01-31", "\"2024-01-31\""},
      {time32(TimeUnit::SECOND), "36000", "10:00:00", "\"10:00:00\""},
      {time32(TimeUnit::MILLI), "36000500", "10:00:00.5", "\"10:00:00.5\""},
      {time64(TimeUnit::MICRO), "36000000001", "10:00:00.000001", "\"10:00:00.000001\""},
      {time64(TimeUnit::NANO), "1", "00:00:00.000000001", "\"00:00:00.000000001\""},
      {timestamp(TimeUnit::SECOND), "1706695200", "2024-01-31 10:00:00", "\"2024-01-31T10:00:00\""},
      {timestamp(TimeUnit::MILLI, "UTC"), "1706695200250", "2024-01-31 10:00:00.25+00", "\"2024-01-31T10:00:00.25Z\""},
      {timestamp(TimeUnit::MICRO, "Europe/Berlin"), "-1", "1969-12-31 23:59:59.999999+00", "\"1969-12-31T23:59:59.999999Z\""},
      {timestamp(TimeUnit::NANO), "1", "1970-01-01 00:00:00.000000001", "\"1970-01-01T00:00:00.000000001\""},
      {duration(TimeUnit::SECOND), "93784", "1 day 02:03:04", "\"PT26H3M4S\""},
      {duration(TimeUnit::MILLI), "-1500", "-00:00:01.5", "\"PT-1.5S\""},
      {duration(TimeUnit::NANO), "-500000000", "-00:00:00.5", "\"PT-0.5S\""},
      {month_interval(), "14", "1 year 2 mons", "\"P1Y2M\""},
      {day_time_interval(), "[3, 4000]", "3 days 00:00:04", "\"P3DT4S\""},
      {month_day_nano_interval(), "[14, 3, 3723500000000]", "1 year 2 mons 3 days 01:02:03.5", "\"P1Y2M3DT1H2M3.5S\""},
      {month_day_nano_interval(), "[0, 0, 0]", "00:00:00", "\"PT0S\""},
      {list(int32()), "[1, null, 3]", "[1,null,3]", "[1,null,3]"},
      {large_list(utf8()), R"(["a"])", R"(["a"])", R"(["a"])"},
      {fixed_size_list(float64(), 2), "[0.5, 1.5]", "[0.5,1.5]", "[0.5,1.5]"},
      {list_view(int32()), "[1, 2]", "[1,2]", "[1,2]"},
      {struct_({field("a \"b\"", int32()), field("d", date32())}), R"({"a \"b\"": 1, "d": 0})",
       R"({"a \"b\"":1,"d":"1970-01-01"})", R"({"a \"b\"":1,"d":"1970-01-01"})"},
      {map(utf8(), int32()), R"([["k", 1], ["l", null]])", R"([{"key":"k","value":1},{"key":"l","value":null}])",
       R"([{"key":"k","value":1},{"key":"l","value":null}])"},
      {dictionary(int8(), utf8()), "\"x\"", "x", "\"x\""},
      {dense_union({field("i", int32()), field("s", utf8())}), R"([1, "x"])", "x", "\"x\""},
      {sparse_union({field("i", int32()), field("s", utf8())}), "[0, 5]", "5", "5"},
  };
  for (const TextCase& test : cases) {
    SCOPED_TRACE(test.type->ToString() + " " + test.input);
    auto array = ArrayOf(test.type, "[" + test.input + "]");
    EXPECT_EQ(Text(*array, 0, TextStyle::kSql), test.sql);
    EXPECT_EQ(Text(*array, 0, TextStyle::kJson), test.json);
    EXPECT_FALSE(ValueText::IsNull(*array, 0));
    if (arrow::is_union(test.type->id())) continue;
    auto null = ArrayOf(test.type, "[null, " + test.input + "]");
    EXPECT_EQ(Text(*null, 0, TextStyle::kSql), "");
    EXPECT_EQ(Text(*null, 0, TextStyle::kJson), "null");
    EXPECT_TRUE(ValueText::IsNull(*null, 0));
    EXPECT_EQ(Text(*null->Slice(1), 0, TextStyle::kJson), test.json);
  }
}

TEST(ValueText, TypesThatStandForOthers) {
  auto bytes = ArrayOf(arrow::fixed_size_binary(16), "[\"0123456789abcdef\", null]");
  auto uuid = arrow::ExtensionType::WrapArray(arrow::extension::uuid(), bytes);
  EXPECT_EQ(Text(*uuid, 0, TextStyle::kSql), "30313233-3435-3637-3839-616263646566");
  EXPECT_EQ(Text(*uuid, 0, TextStyle::kJson), "\"30313233-3435-3637-3839-616263646566\"");
  EXPECT_EQ(Text(*uuid, 1, TextStyle::kJson), "null");
  auto bool8 = arrow::ExtensionType::WrapArray(arrow::extension::bool8(), ArrayOf(arrow::int8(), "[0, 5]"));
  EXPECT_EQ(Text(*bool8, 1, TextStyle::kJson), "true");
  auto runs = arrow::compute::RunEndEncode(ArrayOf(arrow::int32(), "[4, 4, null, 5, 5]")).ValueOrDie().make_array()->Slice(1);
  EXPECT_EQ(Text(*runs, 0, TextStyle::kJson), "4");
  EXPECT_EQ(Text(*runs, 1, TextStyle::kJson), "null");
  EXPECT_TRUE(ValueText::IsNull(*runs, 1));
  EXPECT_EQ(Text(*runs, 3, TextStyle::kJson), "5");
  EXPECT_EQ(Text(*arrow::MakeArrayOfNull(arrow::null(), 1).ValueOrDie(), 0, TextStyle::kJson), "null");
}

TEST(ValueText, NullsInsideADictionary) {
  auto dictionary =
      arrow::DictionaryArray::FromArrays(ArrayOf(arrow::int8(), "[0, 1, null]"), ArrayOf(arrow::utf8(), R"(["x", null])"))
          .ValueOrDie();
  EXPECT_FALSE(ValueText::IsNull(*dictionary, 0));
  EXPECT_TRUE(ValueText::IsNull(*dictionary, 1));
  EXPECT_TRUE(ValueText::IsNull(*dictionary, 2));
  EXPECT_EQ(Text(*dictionary, 1, TextStyle::kJson), "null");
}

TEST(ValueText, BinaryLongerThanOnePiece) {
  const std::string bytes(100'000, '\xff');
  arrow::BinaryBuilder builder;
  ASSERT_STATUS_OK(builder.Append(bytes));
  auto array = builder.Finish().ValueOrDie();
  const std::string json = Text(*array, 0, TextStyle::kJson);
  EXPECT_EQ(json.size(), 2 + (bytes.size() + 2) / 3 * 4);
  EXPECT_EQ(json.find('=', 1), json.size() - 3);  // padding at the end only
  EXPECT_EQ(Text(*array, 0, TextStyle::kSql).size(), 2 + 2 * bytes.size());
}

TEST(ValueText, BytesThatAreNotUtf8StayAValidDocument) {
  TextString out;
  ASSERT_STATUS_OK(AppendJsonString("a\xff\"b\xc3", &out));
  EXPECT_EQ(out.view(), R"("a\ufffd\"b\ufffd")");
}

TEST(ValueText, OutOfRangeIsAnError) {
  ValueText values;
  TextString out;
  auto late = ArrayOf(arrow::timestamp(arrow::TimeUnit::SECOND), "[9223372036854775807]");
  ASSERT_FAILS(ErrorKind::kExecution, "out of range", values.Append(*late, 0, TextStyle::kSql, &out));
}

}  // namespace
}  // namespace icebound::io
