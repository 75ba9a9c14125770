// SPDX-License-Identifier: Apache-2.0
//
// Records are made first and written as text; the lexer has to find them again, wherever the text is cut.
#include "io/csv/csv_lexer.h"

#include <gtest/gtest.h>

#include <optional>
#include <random>

namespace icebound::io {
namespace {

using Record = std::vector<std::string>;

struct Text {
  std::string bytes;
  std::vector<Record> records;
  std::vector<size_t> ends;  // of the records, in bytes
};

std::string Encode(const std::string& value, bool quote, char escape) {
  if (!quote) return value;
  std::string text = "\"";
  for (const char c : value) {
    if (c == '"' || (escape != '"' && c == escape)) text += escape;
    text += c;
  }
  return text + "\"";
}

/// Values over a few dangerous characters; what needs quotes has them, what does not has them sometimes.
Text MakeText(int seed, char escape) {
  std::mt19937 random(seed);
  const auto below = [&](int bound) { return static_cast<int>(random() % bound); };
  const char* const line_end = std::array{"\n", "\r\n", "\r"}[below(3)];
  Text text;
  const int columns = 2 + below(3);
  for (int i = 0; i < 60; ++i) {
    Record record;
    for (int column = 0; column < columns; ++column) {
      std::string value;
      const int length = below(10) == 0 ? below(200) : below(5);
      for (int at = 0; at < length; ++at) value += "ab,\"\r\n'\\;x"[below(10)];
      const bool needs_quotes = value.find_first_of(",\r\n") != std::string::npos || value.starts_with('"');
      if (column > 0) text.bytes += ',';
      text.bytes += Encode(value, needs_quotes || below(4) == 0, escape);
      record.push_back(std::move(value));
    }
    if (i < 59 || below(2) == 0) text.bytes += line_end;
    text.records.push_back(std::move(record));
    text.ends.push_back(text.bytes.size());
  }
  return text;
}

/// The records of text that ends with one.
std::vector<Record> ReadAll(const CsvDialect& dialect, std::string bytes) {
  const size_t size = bytes.size();
  bytes.resize(size + SpecialScanner::kPadding, '"');  // what follows must not matter
  CsvLexer lexer(dialect);
  lexer.Reset(bytes.data(), bytes.data() + size, /*is_file_end=*/true);
  std::vector<Record> records(1);
  CsvValue value;
  while (lexer.Next<true>(&value) == CsvLexer::Outcome::kValue) {
    records.back().emplace_back(value.begin, value.end);
    if (value.ends_record) records.emplace_back();
  }
  EXPECT_EQ(lexer.position(), bytes.data() + size);
  records.pop_back();
  return records;
}

class CsvLexerTest : public ::testing::TestWithParam<char> {
 protected:
  CsvDialect dialect() const {
    CsvDialect dialect;
    if (GetParam() != '"') dialect.escape = GetParam();
    return dialect;
  }
};

TEST_P(CsvLexerTest, FindsTheRecordsThatWereWritten) {
  for (int seed = 0; seed < 200; ++seed) {
    const Text text = MakeText(seed, GetParam());
    EXPECT_EQ(ReadAll(dialect(), text.bytes), text.records) << "seed " << seed << ":\n" << text.bytes;
  }
}

TEST_P(CsvLexerTest, CutsBehindTheLastWholeRecordWhereverTheTextIsCut) {
  for (int seed = 0; seed < 20; ++seed) {
    const Text text = MakeText(seed, GetParam());
    for (size_t size = 0; size < text.bytes.size(); ++size) {
      std::string part = text.bytes.substr(0, size);
      part.resize(size + SpecialScanner::kPadding, '\n');
      const char* const cut = FindEndOfRecords(dialect(), part.data(), part.data() + size);
      // A CR at the cut may be half of a line end: the record before it may wait.
      size_t expected = 0, certain = 0;
      for (const size_t end : text.ends) {
        if (end <= size) certain = expected, expected = end;
      }
      const size_t found = cut == nullptr ? 0 : static_cast<size_t>(cut - part.data());
      if (found != expected) {
        EXPECT_TRUE(found == certain && text.bytes[size - 1] == '\r') << "seed " << seed << " cut at " << size;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Escapes, CsvLexerTest, ::testing::Values('"', '\\'),
                         [](const auto& info) { return info.param == '"' ? "DoubledQuotes" : "Backslash"; });

TEST(CsvLexer, AQuoteInsideAPlainValueIsAQuote) {
  EXPECT_EQ(ReadAll({}, "5\" pipe,a\"\"b\n"), (std::vector<Record>{{"5\" pipe", "a\"\"b"}}));
}

TEST(CsvLexer, WithoutQuotesNothingIsQuoted) {
  const CsvDialect dialect{.delimiter = '|', .quote = std::nullopt};
  EXPECT_EQ(ReadAll(dialect, "\"a|b\"\n|\n"), (std::vector<Record>{{"\"a", "b\""}, {"", ""}}));
}

TEST(CsvLexer, TheLastValueMayBeEmptyAndTheLastLineOpen) {
  EXPECT_EQ(ReadAll({}, "a,b\nc,"), (std::vector<Record>{{"a", "b"}, {"c", ""}}));
  EXPECT_EQ(ReadAll({}, "a\n\n\"\""), (std::vector<Record>{{"a"}, {""}, {""}}));
}

TEST(CsvLexer, SaysWhatIsWrongWithQuotes) {
  const auto outcome = [](std::string bytes) {
    const size_t size = bytes.size();
    bytes.resize(size + SpecialScanner::kPadding);
    CsvLexer lexer(CsvDialect{});
    lexer.Reset(bytes.data(), bytes.data() + size, /*is_file_end=*/true);
    CsvValue value;
    return lexer.Next<true>(&value);
  };
  EXPECT_EQ(outcome("\"abc"), CsvLexer::Outcome::kOpenQuote);
  EXPECT_EQ(outcome("\"abc\"\""), CsvLexer::Outcome::kOpenQuote);
  EXPECT_EQ(outcome("\"abc\"d,e\n"), CsvLexer::Outcome::kBehindQuotes);
  EXPECT_EQ(outcome("\"abc\"d"), CsvLexer::Outcome::kBehindQuotes);
  EXPECT_EQ(outcome("\"abc\""), CsvLexer::Outcome::kValue);
}

TEST(CsvLexer, CountsLineEndsOfEveryKind) {
  const std::string text = "a\nb\r\nc\rd\r\r\n";
  EXPECT_EQ(CountLineEnds(text.data(), text.data() + text.size()), 5);
}

}  // namespace
}  // namespace icebound::io
