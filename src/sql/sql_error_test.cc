// SPDX-License-Identifier: Apache-2.0
#include "sql/sql_error.h"

#include <gtest/gtest.h>

namespace icebound::sql {
namespace {

TEST(LocateOffset, CountsLinesAndCharacters) {
  const std::string_view text = "SELECT é,\n  ü\nFROM t";
  const auto at = [&](std::string_view piece) { return LocateOffset(text, text.find(piece)); };
  EXPECT_EQ(at("SELECT").line, 1);
  EXPECT_EQ(at("SELECT").column, 1);
  EXPECT_EQ(at(",").column, 9);  // é is one character of two bytes
  EXPECT_EQ(at("ü").line, 2);
  EXPECT_EQ(at("ü").column, 3);
  EXPECT_EQ(LocateOffset(text, text.size()).line, 3);
  EXPECT_EQ(LocateOffset(text, 10'000).column, 7) << "past the end is the end";
}

TEST(RenderCaret, StandsBelowItsCharacter) {
  EXPECT_EQ(RenderCaret("SELECT x", 7), "LINE 1, COLUMN 8: SELECT x\n                         ^");
  EXPECT_EQ(RenderCaret("SELECT a,\n  bb\nFROM t", 12), "LINE 2, COLUMN 3:   bb\n                    ^");
  EXPECT_EQ(RenderCaret("", 0), "LINE 1, COLUMN 1: \n                  ^");
  EXPECT_EQ(RenderCaret("SELECT", 6), "LINE 1, COLUMN 7: SELECT\n                        ^") << "one past the end";
}

TEST(RenderCaret, TabsAndCarriageReturnsDoNotShiftIt) {
  EXPECT_EQ(RenderCaret("\tSELECT\tx\r\nFROM t", 8), "LINE 1, COLUMN 9:  SELECT x\n                          ^");
}

TEST(RenderCaret, CountsCharactersNotBytes) {
  EXPECT_EQ(RenderCaret("SELECT 'äöü', x", std::string_view("SELECT 'äöü', x").find("x")),
            "LINE 1, COLUMN 15: SELECT 'äöü', x\n                                 ^");
}

TEST(RenderCaret, CutsLongLinesAroundIt) {
  const std::string text = fmt::format("{}X{}", std::string(300, 'a'), std::string(300, 'b'));
  const std::string rendered = RenderCaret(text, 300);
  const size_t newline = rendered.find('\n');
  EXPECT_LE(newline, 110u);
  EXPECT_EQ(rendered[rendered.find('^') - newline - 1], 'X') << rendered;
  EXPECT_TRUE(rendered.starts_with("LINE 1, COLUMN 301: ...")) << rendered;
  EXPECT_EQ(rendered.substr(newline - 3, 3), "...");
  // Multi-byte characters are not cut in the middle: 76 of 200 are shown, each of two bytes.
  std::string umlauts;
  for (int i = 0; i < 200; ++i) umlauts += "ü";
  const std::string shown = RenderCaret(umlauts, umlauts.size());
  EXPECT_EQ(shown.find('\n'), std::string_view("LINE 1, COLUMN 201: ...").size() + 2 * 76);
}

TEST(SourceText, ShowsLinesOfTheWholeText) {
  const std::string_view whole = "SELECT 1;\nSELECT x";
  const SourceText source(whole, 10, whole.substr(10));
  const arrow::Status status = source.Error(ErrorKind::kInvalidInput, 7, "no x");
  EXPECT_EQ(status.message(), "no x\nLINE 2, COLUMN 8: SELECT x\n                         ^");
  EXPECT_EQ(GetErrorKind(status), ErrorKind::kInvalidInput);
}

TEST(StatementLines, ShowWhatTheWholeTextShowed) {
  const std::string whole = "SELECT 1;\n  SELECT 2; SELECT x\n  / y FROM t; SELECT 4\n;SELECT 5";
  const size_t begin = whole.find("SELECT x");
  const SourceText source(whole, begin, std::string_view(whole).substr(begin, whole.find(" FROM t") + 7 - begin));
  const StatementLines lines(source);
  EXPECT_EQ(lines.bytes(), static_cast<int64_t>(std::string_view("  SELECT 2; SELECT x\n  / y FROM t; SELECT 4").size()));
  for (int offset = 0; offset <= static_cast<int>(source.statement().size()); ++offset) {
    const arrow::Status error = MakeError(ErrorKind::kExecution, "wrong");
    EXPECT_EQ(lines.Position(AtTextOffset(error, offset)).message(), source.Position(error, offset).message()) << offset;
  }
  EXPECT_EQ(lines.Position(MakeError(ErrorKind::kExecution, "wrong")).message(), "wrong");
  EXPECT_TRUE(lines.Position(arrow::Status::OK()).ok());
}

TEST(SourceText, AddsAPositionOnce) {
  const SourceText source("SELECT x");
  const arrow::Status first = source.Position(MakeError(ErrorKind::kNotFound, "gone"), 7);
  EXPECT_EQ(GetErrorKind(first), ErrorKind::kNotFound);
  EXPECT_EQ(source.Position(first, 0).message(), first.message());
  EXPECT_EQ(source.Position(MakeError(ErrorKind::kNotFound, "gone"), -1).message(), "gone");
  EXPECT_TRUE(source.Position(arrow::Status::OK(), 3).ok());
}

}  // namespace
}  // namespace icebound::sql
