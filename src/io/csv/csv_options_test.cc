// SPDX-License-Identifier: Apache-2.0
#include "io/csv/csv_options.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace icebound::io {
namespace {

using Options = std::vector<std::pair<std::string, std::string>>;

TEST(CsvOptions, ReadsEveryOption) {
  const Options options = {
      {"delimiter", "\\t"}, {"quote", "'"},           {"escape", "\\"},
      {"header", "off"},    {"columns", "a, b,c"},    {"null_string", "NA"},
      {"null_string", ""},  {"sample_bytes", "1MiB"}, {"types", "a = decimal(10, 2),b=Double, c=timestamptz"}};
  const CsvReadOptions parsed = ParseCsvOptions(options).ValueOrDie();
  EXPECT_EQ(parsed.delimiter, '\t');
  EXPECT_EQ(parsed.quote, '\'');
  EXPECT_EQ(parsed.escape, '\\');
  EXPECT_FALSE(parsed.header);
  EXPECT_EQ(parsed.columns, (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(parsed.null_strings, (std::vector<std::string>{"NA", ""}));
  EXPECT_EQ(parsed.sample_bytes, 1 << 20);
  ASSERT_EQ(parsed.types.size(), 3);
  EXPECT_EQ(parsed.types.at("a")->ToString(), "decimal128(10, 2)");
  EXPECT_EQ(parsed.types.at("b")->ToString(), "double");
  EXPECT_EQ(parsed.types.at("c")->ToString(), "timestamp[us, tz=UTC]");
  EXPECT_EQ(ParseCsvOptions(Options{{"quote", "none"}}).ValueOrDie().quote, std::nullopt);
  EXPECT_EQ(ParseCsvOptions(Options{}).ValueOrDie().null_strings, (std::vector<std::string>{""}));
}

TEST(CsvOptions, RefusesWhatIsNone) {
  const Options wrong = {{"delimiter", "::"},  {"delimeter", ";"},           {"header", "maybe"},    {"types", "a"},
                         {"types", "a=money"}, {"types", "a=decimal(50,2)"}, {"sample_bytes", "-1"}, {"sample_bytes", "many"}};
  for (const auto& option : wrong) {
    const arrow::Status status = ParseCsvOptions(Options{option}).status();
    EXPECT_EQ(GetErrorKind(status), ErrorKind::kInvalidInput) << option.first << " " << status.ToString();
  }
}

}  // namespace
}  // namespace icebound::io
