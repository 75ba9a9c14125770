// SPDX-License-Identifier: Apache-2.0
//
// Whole documents: what a reader of each format gets back.
#include "io/format/batch_format.h"

#include <arrow/api.h>
#include <arrow/compute/api.h>
#include <arrow/csv/api.h>
#include <arrow/io/memory.h>
#include <arrow/ipc/reader.h>
#include <arrow/json/from_string.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "io/output_testing.h"

namespace icebound::io {
namespace {

std::shared_ptr<arrow::Array> ArrayOf(const std::shared_ptr<arrow::DataType>& type, const std::string& json) {
  return arrow::json::ArrayFromJSONString(type, json).ValueOrDie();
}

std::shared_ptr<arrow::RecordBatch> BatchOf(const arrow::FieldVector& fields, const arrow::ArrayVector& columns) {
  return arrow::RecordBatch::Make(arrow::schema(fields), columns.empty() ? 0 : columns[0]->length(), columns);
}

arrow::Result<std::string> Document(const std::string& format, const CopyOptions& options,
                                    const std::vector<std::shared_ptr<arrow::RecordBatch>>& batches,
                                    const std::shared_ptr<arrow::Schema>& schema, bool is_file = true) {
  ARROW_ASSIGN_OR_RAISE(auto stream, arrow::io::BufferOutputStream::Create());
  FormatTarget target;
  target.out = stream.get();
  target.schema = schema;
  target.pool = arrow::default_memory_pool();
  target.is_file = is_file;
  ARROW_ASSIGN_OR_RAISE(auto writer, MakeBatchFormat(format, options, target));
  ARROW_RETURN_NOT_OK(writer->Begin());
  for (const auto& batch : batches) ARROW_RETURN_NOT_OK(writer->Write(*batch));
  ARROW_RETURN_NOT_OK(writer->End());
  ARROW_ASSIGN_OR_RAISE(auto buffer, stream->Finish());
  return buffer->ToString();
}

std::string DocumentOf(const std::string& format, const std::shared_ptr<arrow::RecordBatch>& batch,
                       const CopyOptions& options = {}) {
  const auto document = Document(format, options, {batch}, batch->schema());
  EXPECT_TRUE(document.ok()) << document.status().ToString();
  return document.ValueOr("");
}

TEST(Csv, QuotesWhatNeedsIt) {
  auto batch = BatchOf({arrow::field("plain", arrow::utf8()), arrow::field("with, comma", arrow::int32())},
                       {ArrayOf(arrow::utf8(), R"(["a", "", null, "a,b", "say \"hi\"", "two\nlines", " space "])"),
                        ArrayOf(arrow::int32(), "[1, null, 3, 4, 5, 6, 7]")});
  EXPECT_EQ(DocumentOf("csv", batch),
            "plain,\"with, comma\"\n"
            "a,1\n"
            "\"\",\n"
            ",3\n"
            "\"a,b\",4\n"
            "\"say \"\"hi\"\"\",5\n"
            "\"two\nlines\",6\n"
            " space ,7\n");
}

TEST(Csv, Options) {
  auto batch = BatchOf({arrow::field("a", arrow::utf8()), arrow::field("b", arrow::utf8())},
                       {ArrayOf(arrow::utf8(), R"(["x;y", null, "NULL"])"), ArrayOf(arrow::utf8(), R"(["x,y", "", "z"])")});
  EXPECT_EQ(DocumentOf("csv", batch, {{"delimiter", ";"}, {"header", "false"}, {"null", "NULL"}}),
            "\"x;y\";x,y\nNULL;\n\"NULL\";z\n");
  EXPECT_EQ(DocumentOf("csv", batch, {{"delimiter", "\\t"}}).substr(0, 4), "a\tb\n");
  const auto fails = [&](const CopyOptions& options) { return Document("csv", options, {}, batch->schema()).status(); };
  ASSERT_FAILS(ErrorKind::kInvalidInput, "did you mean \"delimiter\"", fails({{"delimeter", ";"}}));
  ASSERT_FAILS(ErrorKind::kInvalidInput, "one character", fails({{"delimiter", ";;"}}));
  ASSERT_FAILS(ErrorKind::kInvalidInput, "one character", fails({{"delimiter", "\""}}));
  ASSERT_FAILS(ErrorKind::kInvalidInput, "option null", fails({{"null", "a,b"}}));
  ASSERT_FAILS(ErrorKind::kInvalidInput, "true or false", fails({{"header", "maybe"}}));
}

TEST(Csv, NestedValuesAreQuotedJson) {
  auto batch = BatchOf({arrow::field("l", arrow::list(arrow::utf8()))},
                       {ArrayOf(arrow::list(arrow::utf8()), R"([["a", "b\"c"], null, []])")});
  EXPECT_EQ(DocumentOf("csv", batch), "l\n\"[\"\"a\"\",\"\"b\\\"\"c\"\"]\"\n\n\"[]\"\n");
}

TEST(Csv, ArrowsReaderGetsTheRowsBack) {
  auto batch = BatchOf({arrow::field("i", arrow::int64()), arrow::field("d", arrow::float64()), arrow::field("s", arrow::utf8()),
                        arrow::field("t", arrow::date32()), arrow::field("b", arrow::boolean())},
                       {ArrayOf(arrow::int64(), "[1, null, -3]"), ArrayOf(arrow::float64(), "[0.1, 1e-300, null]"),
                        ArrayOf(arrow::utf8(), R"(["x", "line\nend", "q\"q"])"), ArrayOf(arrow::date32(), "[0, 19753, null]"),
                        ArrayOf(arrow::boolean(), "[true, false, null]")});
  const std::string text = DocumentOf("csv", batch);
  auto parse = arrow::csv::ParseOptions::Defaults();
  parse.newlines_in_values = true;
  auto convert = arrow::csv::ConvertOptions::Defaults();
  for (const auto& field : batch->schema()->fields()) convert.column_types[field->name()] = field->type();
  auto reader = arrow::csv::TableReader::Make(arrow::io::default_io_context(),
                                              std::make_shared<arrow::io::BufferReader>(arrow::Buffer::FromString(text)),
                                              arrow::csv::ReadOptions::Defaults(), parse, convert)
                    .ValueOrDie();
  auto table = reader->Read().ValueOrDie();
  EXPECT_TRUE(table->CombineChunksToBatch().ValueOrDie()->Equals(*batch)) << table->ToString();
}

TEST(Json, IsOneDocument) {
  auto type = arrow::struct_({arrow::field("x", arrow::int32())});
  auto batch = BatchOf({arrow::field("id", arrow::int64()), arrow::field("na\"me", arrow::utf8()), arrow::field("s", type),
                        arrow::field("f", arrow::float64()), arrow::field("d", arrow::decimal128(9, 2))},
                       {ArrayOf(arrow::int64(), "[1, null]"), ArrayOf(arrow::utf8(), R"(["a\tb\u0000", null])"),
                        ArrayOf(type, R"([{"x": 1}, null])"), ArrayOf(arrow::float64(), "[NaN, 2.5]"),
                        ArrayOf(arrow::decimal128(9, 2), R"(["1.50", null])")});
  const auto document = Document("json", {}, {batch, batch->Slice(1)}, batch->schema()).ValueOrDie();
  const auto parsed = nlohmann::json::parse(document);
  ASSERT_EQ(parsed.size(), 3u);
  EXPECT_EQ(parsed[0], nlohmann::json::parse(R"({"id": 1, "na\"me": "a\tb\u0000", "s": {"x": 1}, "f": "NaN", "d": "1.50"})"));
  EXPECT_EQ(parsed[1], nlohmann::json::parse(R"({"id": null, "na\"me": null, "s": null, "f": 2.5, "d": null})"));
  EXPECT_EQ(parsed[2], parsed[1]);
  EXPECT_EQ(nlohmann::json::parse(Document("json", {}, {}, batch->schema()).ValueOrDie()), nlohmann::json::array());
}

TEST(Json, LinesAreDocumentsOfTheirOwn) {
  auto batch = BatchOf({arrow::field("a", arrow::int64())}, {ArrayOf(arrow::int64(), "[1, 2, null]")});
  EXPECT_EQ(DocumentOf("jsonl", batch), "{\"a\":1}\n{\"a\":2}\n{\"a\":null}\n");
  EXPECT_EQ(Document("jsonl", {}, {}, batch->schema()).ValueOrDie(), "");
}

TEST(Json, LargeCellsPassThrough) {
  const std::string text = std::string(300'000, 'x') + "\"" + std::string(300'000, 'y');
  arrow::StringBuilder builder;
  ASSERT_STATUS_OK(builder.Append(text));
  auto batch = BatchOf({arrow::field("a", arrow::utf8())}, {builder.Finish().ValueOrDie()});
  EXPECT_EQ(nlohmann::json::parse(DocumentOf("jsonl", batch))["a"].get<std::string>(), text);
}

TEST(ArrowIpc, EveryTypeComesBack) {
  using namespace arrow;  // NOLINT: a list of types
  const std::vector<std::pair<std::shared_ptr<arrow::DataType>, std::string>> cases = {
      {boolean(), "[true, null]"},
      {int64(), "[1, null]"},
      {uint16(), "[1, null]"},
      {float16(), "[1.5, null]"},
      {float64(), "[1.5, null]"},
      {decimal128(10, 2), R"(["1.50", null])"},
      {decimal256(60, 2), R"(["1.50", null])"},
      {utf8(), R"(["a", null])"},
      {large_binary(), R"(["a", null])"},
      {fixed_size_binary(2), R"(["ab", null])"},
      {date32(), "[1, null]"},
      {date64(), "[86400000, null]"},
      {time32(TimeUnit::SECOND), "[1, null]"},
      {timestamp(TimeUnit::SECOND, "UTC"), "[1, null]"},
      {duration(TimeUnit::NANO), "[1, null]"},
      {month_day_nano_interval(), "[[1, 2, 3], null]"},
      {null(), "[null, null]"},
      {list(utf8()), R"([["a", null], null])"},
      {large_list(int32()), "[[1], null]"},
      {list_view(int32()), "[[1], null]"},
      {fixed_size_list(int32(), 2), "[[1, 2], null]"},
      {struct_({field("x", int32())}), R"([{"x": 1}, null])"},
      {map(utf8(), int32()), R"([[["a", 1]], null])"},
      {dense_union({field("x", int32())}), "[[0, 1], [0, null]]"},
  };
  for (const auto& [type, json] : cases) {
    SCOPED_TRACE(type->ToString());
    auto batch = BatchOf({field("c", type)}, {ArrayOf(type, json)});
    for (const char* compression : {"none", "lz4", "zstd"}) {
      const std::string file = DocumentOf("arrow", batch, {{"compression", compression}});
      auto reader =
          ipc::RecordBatchFileReader::Open(std::make_shared<arrow::io::BufferReader>(Buffer::FromString(file))).ValueOrDie();
      ASSERT_EQ(reader->num_record_batches(), 1);
      EXPECT_TRUE(reader->ReadRecordBatch(0).ValueOrDie()->Equals(*batch, true));
    }
  }
}

TEST(ArrowIpc, ViewsAndDictionariesBecomePlain) {
  auto first = ArrayOf(arrow::dictionary(arrow::int32(), arrow::utf8()), R"(["a", "b", null])");
  auto second = ArrayOf(arrow::dictionary(arrow::int32(), arrow::utf8()), R"(["c", "a", "c"])");
  auto views = ArrayOf(arrow::utf8_view(), R"(["x", null, "a longer text than fits inline"])");
  auto nested = ArrayOf(arrow::list(arrow::utf8_view()), R"([["x"], null, []])");
  const arrow::FieldVector fields = {arrow::field("d", first->type()), arrow::field("v", views->type()),
                                     arrow::field("n", nested->type())};
  for (bool is_file : {true, false}) {
    const std::string document =
        Document("arrow", {}, {BatchOf(fields, {first, views, nested}), BatchOf(fields, {second, views, nested})},
                 arrow::schema(fields), is_file)
            .ValueOrDie();
    auto input = std::make_shared<arrow::io::BufferReader>(arrow::Buffer::FromString(document));
    std::vector<std::shared_ptr<arrow::RecordBatch>> batches;
    if (is_file) {
      auto reader = arrow::ipc::RecordBatchFileReader::Open(input).ValueOrDie();
      for (int i = 0; i < reader->num_record_batches(); ++i) batches.push_back(reader->ReadRecordBatch(i).ValueOrDie());
    } else {
      batches = arrow::ipc::RecordBatchStreamReader::Open(input).ValueOrDie()->ToRecordBatches().ValueOrDie();
    }
    ASSERT_EQ(batches.size(), 2u);
    EXPECT_TRUE(batches[0]->column(0)->Equals(ArrayOf(arrow::utf8(), R"(["a", "b", null])")));
    EXPECT_TRUE(batches[1]->column(0)->Equals(ArrayOf(arrow::utf8(), R"(["c", "a", "c"])")));
    EXPECT_TRUE(batches[1]->column(1)->Equals(ArrayOf(arrow::utf8(), R"(["x", null, "a longer text than fits inline"])")));
    EXPECT_TRUE(batches[1]->column(2)->Equals(ArrayOf(arrow::list(arrow::utf8()), R"([["x"], null, []])")));
  }
}

TEST(Table, AlignsColumns) {
  auto batch = BatchOf({arrow::field("number", arrow::int64()), arrow::field("t", arrow::utf8())},
                       {ArrayOf(arrow::int64(), "[1, 1000, null]"), ArrayOf(arrow::utf8(), R"(["né", "two\nlines", ""])")});
  EXPECT_EQ(DocumentOf("table", batch),
            " number | t\n"
            "--------+------------\n"
            "      1 | né\n"
            "   1000 | two\\nlines\n"
            "   NULL | \n"
            "(3 rows)\n");
}

TEST(Formats, RefuseWhatTheyDoNotKnow) {
  auto schema = arrow::schema({arrow::field("a", arrow::int64())});
  ASSERT_FAILS(ErrorKind::kInvalidInput, "unknown output format \"xml\"", Document("xml", {}, {}, schema).status());
  ASSERT_FAILS(ErrorKind::kInvalidInput, "json has no option", Document("json", {{"header", "true"}}, {}, schema).status());
  ASSERT_FAILS(ErrorKind::kInvalidInput, "compression", Document("arrow", {{"compression", "lzo"}}, {}, schema).status());
}

}  // namespace
}  // namespace icebound::io
