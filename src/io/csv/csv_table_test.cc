// SPDX-License-Identifier: Apache-2.0
#include "io/csv/csv_table.h"

#include <gtest/gtest.h>

#include <fstream>

#include "io/parquet_testing.h"

namespace icebound::io {
namespace {

using testing::Directory;
using testing::Engine;

class CsvTableTest : public ::testing::Test {
 protected:
  void Write(const std::string& name, std::string_view text) {
    std::ofstream(directory_ / name, std::ios::binary | std::ios::trunc) << text;
  }

  arrow::Result<std::shared_ptr<CsvTable>> Open(const std::string& name, const CsvReadOptions& options = {}) {
    return CsvTable::Open(engine_.file_systems.get(), directory_ / name, engine_.ledger.get(), options);
  }

  /// The rows of every stream in turn, as text; NULL is "null".
  arrow::Result<std::string> Read(const CsvTable& table, std::vector<int> projection, bool ordered = true,
                                  std::optional<int64_t> limit = std::nullopt) {
    ARROW_ASSIGN_OR_RAISE(auto source, table.Scan({.projection = std::move(projection), .limit = limit, .ordered = ordered},
                                                  engine_.context.get()));
    ARROW_ASSIGN_OR_RAISE(auto stream, source->OpenStream());
    std::string text;
    while (true) {
      ARROW_ASSIGN_OR_RAISE(auto batch, stream->Next());
      if (batch == nullptr) return text;
      ARROW_RETURN_NOT_OK(batch->ValidateFull());
      for (int64_t row = 0; row < batch->num_rows(); ++row) {
        for (int i = 0; i < batch->num_columns(); ++i) {
          ARROW_ASSIGN_OR_RAISE(const auto value, batch->column(i)->GetScalar(row));
          text += (i > 0 ? "|" : "") + value->ToString();
        }
        text += ";";
      }
    }
  }

  arrow::Result<std::string> ReadAll(const std::string& name, const CsvReadOptions& options = {}) {
    ARROW_ASSIGN_OR_RAISE(const auto table, Open(name, options));
    std::vector<int> projection;
    for (int i = 0; i < table->schema()->num_fields(); ++i) projection.push_back(i);
    return Read(*table, projection);
  }

  void ExpectError(const arrow::Status& status, ErrorKind kind, std::string_view text) {
    EXPECT_EQ(GetErrorKind(status), kind) << status.ToString();
    EXPECT_NE(status.message().find(text), std::string::npos) << status.message();
  }

  Directory directory_;
  Engine engine_;
};

TEST_F(CsvTableTest, ReadsTypesNullsAndQuotes) {
  Write("a.csv", "i,s,d\n1,\"x, \"\"y\"\"\",2024-01-01\n,\"\",\n-3,\"two\nlines\",1999-12-31\n");
  const auto table = Open("a.csv").ValueOrDie();
  EXPECT_EQ(table->schema()->ToString(), "i: int64\ns: string\nd: date32[day]");
  EXPECT_EQ(*Read(*table, {0, 1, 2}), "1|x, \"y\"|2024-01-01;null||null;-3|two\nlines|1999-12-31;");
  EXPECT_EQ(*Read(*table, {2, 0}), "2024-01-01|1;null|null;1999-12-31|-3;");
  EXPECT_EQ(*Read(*table, {1, 1}), "x, \"y\"|x, \"y\";|;two\nlines|two\nlines;");
  EXPECT_EQ(*Read(*table, {}), ";;;");
}

TEST_F(CsvTableTest, ReadsMarksLineEndsAndTabs) {
  Write("mark.csv",
        "\xEF\xBB\xBF"
        "a,b\r\n1,2\r\n\r\n3,4");
  EXPECT_EQ(*ReadAll("mark.csv"), "1|2;3|4;");
  Write("old.csv", "a,b\r1,2\r3,4\r");
  EXPECT_EQ(*ReadAll("old.csv"), "1|2;3|4;");
  Write("t.tsv", "a\tb\n1,5\t2\n");
  EXPECT_EQ(*ReadAll("t.tsv"), "1,5|2;");
  Write("utf16.csv", std::string_view("\xFF\xFE"
                                      "a\0",
                                      4));
  ExpectError(Open("utf16.csv").status(), ErrorKind::kUnsupported, "UTF-16");
}

TEST_F(CsvTableTest, ObeysOptions) {
  Write("x.csv", "'a;b';1;NA\n-;2;3.5\n");
  CsvReadOptions options;
  options.delimiter = ';';
  options.quote = '\'';
  options.header = false;
  options.null_strings = {"NA", "-"};
  EXPECT_EQ(*ReadAll("x.csv", options), "a;b|1|null;null|2|3.5;");
  options.types = {{"column1", arrow::float32()}, {"column2", arrow::decimal128(5, 2)}};
  EXPECT_EQ(*ReadAll("x.csv", options), "a;b|1|null;null|2|3.50;");
  options.columns = {"name", "n", "d"};
  options.types.clear();
  EXPECT_EQ(Open("x.csv", options).ValueOrDie()->schema()->ToString(), "name: string\nn: int64\nd: double");
}

TEST_F(CsvTableTest, NamesWhatHasNoNameOrAnothers) {
  Write("n.csv", ",a,a,\n1,2,3,4\n");
  EXPECT_EQ(Open("n.csv").ValueOrDie()->schema()->ToString(), "column0: int64\na: int64\na_1: int64\ncolumn3: int64");
}

TEST_F(CsvTableTest, OneColumnMayHaveEmptyLines) {
  Write("one.csv", "a\n1\n\n\"\"\n2\n");
  EXPECT_EQ(*ReadAll("one.csv"), "1;null;null;2;");
}

TEST_F(CsvTableTest, FilesOfOneTableMatchByName) {
  Write("1.csv", "a,b\n1,x\n");
  Write("2.csv", "b,a\ny,2.5\n");
  Write("skipped.txt", "c\n1\n");
  EXPECT_EQ(*ReadAll(""), "1|x;2.5|y;");
  Write("3.csv", "a,c\n3,z\n");
  ExpectError(Open("*.csv").status(), ErrorKind::kInvalidInput, "3.csv has column \"c\", ");
  Write("3.csv", "a\n3\n");
  ExpectError(Open("*.csv").status(), ErrorKind::kInvalidInput, "1.csv has column \"b\", ");
}

TEST_F(CsvTableTest, ALaterFileIsMatchedWhenItIsOpened) {
  for (int i = 0; i < 20; ++i) Write(fmt::format("{:02}.csv", i), fmt::format("a\n{}\n", i));
  EXPECT_EQ(Open("*.csv").ValueOrDie()->file_count(), 20);
  Write("19.csv", "b\n19\n");
  const auto table = Open("*.csv").ValueOrDie();
  ExpectError(Read(*table, {0}).status(), ErrorKind::kInvalidInput, "19.csv has column \"b\"");
}

TEST_F(CsvTableTest, AValueThatDoesNotFitHasAFileALineAndAColumn) {
  std::string text = "id,price\n";
  for (int i = 0; i < 50'000; ++i) text += fmt::format("{},\"{}\n\"\n", i, i);  // two lines each
  text += "50000,much\n1,1\n";
  Write("late.csv", text);
  CsvReadOptions options;
  options.sample_bytes = 1000;
  const arrow::Status status = ReadAll("late.csv", options).status();
  ExpectError(status, ErrorKind::kExecution, "late.csv, line 100002, column \"price\": cannot read \"much\" as bigint");
}

TEST_F(CsvTableTest, RaggedRowsAndOpenQuotesAreErrorsWithALine) {
  Write("short.csv", "a,b\n1,2\n3\n");
  ExpectError(Open("short.csv").status(), ErrorKind::kCorruptData, "short.csv, line 3: 1 value where the table has 2 columns");
  Write("long.csv", "a,b\n1,2\n3,4,5\n");
  ExpectError(Open("long.csv").status(), ErrorKind::kCorruptData, "line 3: 3 values where the table has 2 columns");
  Write("open.csv", "a,b\n1,2\n3,\"4\n5,6\n");
  ExpectError(Open("open.csv").status(), ErrorKind::kCorruptData, "line 3: the file ends inside a quoted value");
  Write("behind.csv", "a,b\n1,\"2\"x\n");
  ExpectError(Open("behind.csv").status(), ErrorKind::kCorruptData, "line 2: value 2 goes on behind its closing quote");
  Write("bytes.csv", "a,b\n1,\xFF\n");
  ExpectError(ReadAll("bytes.csv").status(), ErrorKind::kCorruptData, "bytes.csv, line 2, column \"b\": the text is not UTF-8");
}

TEST_F(CsvTableTest, SaysWhatOptionsCannotBe) {
  Write("a.csv", "a\n1\n");
  CsvReadOptions options;
  options.types = {{"b", arrow::int64()}};
  ExpectError(Open("a.csv", options).status(), ErrorKind::kInvalidInput, "column \"b\"");
  options.types = {{"a", arrow::list(arrow::int64())}};
  ExpectError(Open("a.csv", options).status(), ErrorKind::kUnsupported, "column \"a\" of a CSV file cannot be read as list");
  options = {};
  options.delimiter = '"';
  ExpectError(Open("a.csv", options).status(), ErrorKind::kInvalidInput, "choose two characters");
  options = {};
  options.columns = {"x", "y"};
  ExpectError(Open("a.csv", options).status(), ErrorKind::kInvalidInput, "has 1 columns, but 2 were named");
  Write("empty.csv", "");
  ExpectError(Open("empty.csv").status(), ErrorKind::kInvalidInput, "empty.csv is empty");
  ExpectError(Open("none.csv").status(), ErrorKind::kNotFound, "does not exist");
}

TEST_F(CsvTableTest, AChangedFileIsSaidToBeChanged) {
  Write("c.csv", "a,b\n1,2\n");
  const auto table = Open("c.csv").ValueOrDie();
  Write("c.csv", "a,b\n1,2,3\n");
  ExpectError(Read(*table, {0, 1}).status(), ErrorKind::kCorruptData, "changed while it was read");
}

TEST_F(CsvTableTest, BlocksGrowForWideRowsAndNarrowAgain) {
  std::string text = "k,s\n";
  for (int i = 0; i < 40; ++i) text += fmt::format("{},\"{}\n\"\n", i, std::string(i % 10 == 0 ? 3 << 20 : 10, 'a' + i % 26));
  Write("wide.csv", text);
  const auto table = Open("wide.csv").ValueOrDie();
  auto source = table->Scan({.projection = {0, 1}, .ordered = true}, engine_.context.get()).ValueOrDie();
  auto stream = source->OpenStream().ValueOrDie();
  int64_t row = 0;
  while (const auto batch = stream->Next().ValueOrDie()) {
    for (int64_t i = 0; i < batch->num_rows(); ++i, ++row) {
      const auto& s = static_cast<const arrow::StringArray&>(*batch->column(1));
      EXPECT_EQ(static_cast<const arrow::Int64Array&>(*batch->column(0)).Value(i), row);
      EXPECT_EQ(s.GetView(i).size(), (row % 10 == 0 ? 3 << 20 : 10) + 1);
    }
  }
  EXPECT_EQ(row, 40);
}

TEST_F(CsvTableTest, ARowThatDoesNotFitSaysWhereItBegins) {
  Write("huge.csv", "a\nx\n\"" + std::string(90 << 20, 'y') + "\n");
  const arrow::Status status = ReadAll("huge.csv").status();
  ExpectError(status, ErrorKind::kMemoryLimit, "huge.csv, line 3");
  ExpectError(status, ErrorKind::kMemoryLimit, "or a quote is left open");
}

TEST_F(CsvTableTest, StreamsShareTheBlocks) {
  engine_.context->threads = 3;
  std::string text = "a,b\n";
  int64_t expected = 0;
  for (int i = 0; i < 400'000; ++i) text += fmt::format("{},\"{},\n\"\n", i, i % 7), expected += i;
  Write("many.csv", text);
  const auto table = Open("many.csv").ValueOrDie();
  auto source = table->Scan({.projection = {0}}, engine_.context.get()).ValueOrDie();
  ASSERT_EQ(source->max_streams(), 3);
  std::atomic<int64_t> sum{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      auto stream = source->OpenStream().ValueOrDie();
      while (const auto batch = stream->Next().ValueOrDie()) {
        for (int64_t row = 0; row < batch->num_rows(); ++row) {
          sum += static_cast<const arrow::Int64Array&>(*batch->column(0)).Value(row);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(sum, expected);
}

TEST_F(CsvTableTest, ALimitEndsTheScanEarly) {
  std::string text = "a\n";
  for (int i = 0; i < 1'000'000; ++i) text += "1234567\n";
  Write("long.csv", text);
  const auto table = Open("long.csv").ValueOrDie();
  engine_.metrics.input_bytes = 0;
  const std::string rows = *Read(*table, {0}, true, 5);
  EXPECT_GE(rows.size(), 5 * 8);
  EXPECT_LT(engine_.metrics.input_bytes, 3 << 20);
}

}  // namespace
}  // namespace icebound::io
