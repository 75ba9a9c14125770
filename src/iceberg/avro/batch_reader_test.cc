// SPDX-License-Identifier: Apache-2.0
#include "iceberg/avro/batch_reader.h"

#include <arrow/extension/uuid.h>
#include <arrow/json/from_string.h>
#include <arrow/util/key_value_metadata.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "iceberg/avro/avro_bytes_test.h"
#include "icebound/error.h"

namespace icebound::iceberg::avro {
namespace {

using test::Block;
using test::Bytes;
using test::FileOf;
using test::Header;
using test::TestMemory;
using testing::ElementsAre;
using testing::HasSubstr;

std::shared_ptr<arrow::Field> Column(const std::string& name, int32_t id, std::shared_ptr<arrow::DataType> type,
                                     bool nullable = true) {
  return arrow::field(name, std::move(type), nullable, arrow::key_value_metadata({"PARQUET:field_id"}, {std::to_string(id)}));
}

class AvroBatchReaderTest : public testing::Test {
 protected:
  AvroBatchReaderTest() { options_.file.consumer = memory_.consumer.get(); }

  arrow::Result<std::shared_ptr<arrow::StructArray>> ReadAll(const std::string& file, const arrow::FieldVector& columns) {
    ARROW_ASSIGN_OR_RAISE(auto reader, BatchReader::Open(FileOf(file), "d.avro", arrow::schema(columns), options_));
    missing_ = reader->missing_columns();
    batch_rows_.clear();
    arrow::ArrayVector batches;
    for (;;) {
      ARROW_ASSIGN_OR_RAISE(const auto batch, reader->Next());
      if (batch == nullptr) break;
      ARROW_RETURN_NOT_OK(batch->ValidateFull());
      batch_rows_.push_back(batch->num_rows());
      ARROW_ASSIGN_OR_RAISE(batches.emplace_back(), batch->ToStructArray());
    }
    if (batches.empty()) return nullptr;
    ARROW_ASSIGN_OR_RAISE(const auto all, arrow::Concatenate(batches));
    return std::static_pointer_cast<arrow::StructArray>(all);
  }

  /// Reads one column of one stored type, and compares with values in JSON.
  void ExpectColumn(std::string_view stored_type, const Bytes& values, int64_t rows, std::shared_ptr<arrow::DataType> type,
                    std::string_view json) {
    SCOPED_TRACE(std::string(stored_type) + " as " + type->ToString());
    const auto read = ReadAll(FileOfColumn(stored_type, values, rows), {Column("x", 1, type)});
    ASSERT_TRUE(read.ok()) << read.status().ToString();
    const auto expected = arrow::json::ArrayFromJSONString(type, json);
    ASSERT_TRUE(expected.ok()) << expected.status().ToString();
    EXPECT_TRUE((*read)->field(0)->Equals(*expected)) << (*read)->field(0)->ToString();
  }
  static std::string FileOfColumn(std::string_view stored_type, const Bytes& values, int64_t rows) {
    return Header(R"({"type":"record","name":"r","fields":[{"name":"old_name","field-id":1,"type":)" + std::string(stored_type) +
                  "}]}") +
           Block(rows, values.text());
  }
  std::string Error(const std::string& file, const arrow::FieldVector& columns, ErrorKind kind) {
    const auto read = ReadAll(file, columns);
    EXPECT_EQ(GetErrorKind(read.status()), kind) << read.status().ToString();
    return read.status().message();
  }

  TestMemory memory_;
  BatchReaderOptions options_;
  std::vector<int> missing_;
  std::vector<int64_t> batch_rows_;
};

TEST_F(AvroBatchReaderTest, EveryStoredTypeAsEveryTypeItMayBecome) {
  using arrow::TimeUnit;
  const Bytes longs = Bytes().Long(1).Long(-1).Long(1500);
  ExpectColumn(R"("boolean")", Bytes().Raw({"\x01\x00", 2}), 2, arrow::boolean(), "[true, false]");
  ExpectColumn(R"("int")", longs, 3, arrow::int32(), "[1, -1, 1500]");
  ExpectColumn(R"("int")", longs, 3, arrow::int64(), "[1, -1, 1500]");
  ExpectColumn(R"("long")", longs, 3, arrow::int64(), "[1, -1, 1500]");
  ExpectColumn(R"("float")", Bytes().Float(1.5F), 1, arrow::float32(), "[1.5]");
  ExpectColumn(R"("float")", Bytes().Float(1.5F), 1, arrow::float64(), "[1.5]");
  ExpectColumn(R"("double")", Bytes().Float(-2.5), 1, arrow::float64(), "[-2.5]");
  ExpectColumn(R"("string")", Bytes().Text("").Text("caf\xC3\xA9"), 2, arrow::utf8(), "[\"\", \"caf\xC3\xA9\"]");
  ExpectColumn(R"("bytes")", Bytes().Text("a"), 1, arrow::large_binary(), R"(["a"])");
  ExpectColumn(R"({"type":"fixed","name":"f","size":2})", Bytes().Raw("abcd"), 2, arrow::fixed_size_binary(2), R"(["ab", "cd"])");
  ExpectColumn(R"({"type":"enum","name":"e","symbols":["A","B"]})", Bytes().Long(1).Long(0), 2, arrow::utf8(), R"(["B", "A"])");
  ExpectColumn(R"({"type":"int","logicalType":"date"})", Bytes().Long(-1).Long(1), 2, arrow::date32(), "[-1, 1]");
  ExpectColumn(R"({"type":"int","logicalType":"date"})", Bytes().Long(-1), 1, arrow::timestamp(TimeUnit::MICRO),
               "[-86400000000]");
  ExpectColumn(R"({"type":"int","logicalType":"time-millis"})", Bytes().Long(86399999), 1, arrow::time64(TimeUnit::MICRO),
               "[86399999000]");
  ExpectColumn(R"({"type":"long","logicalType":"time-micros"})", Bytes().Long(0).Long(1500), 2, arrow::time64(TimeUnit::MICRO),
               "[0, 1500]");
  ExpectColumn(R"({"type":"long","logicalType":"timestamp-millis"})", longs, 3, arrow::timestamp(TimeUnit::MICRO, "UTC"),
               "[1000, -1000, 1500000]");
  ExpectColumn(R"({"type":"long","logicalType":"timestamp-micros","adjust-to-utc":true})", longs, 3,
               arrow::timestamp(TimeUnit::NANO, "UTC"), "[1000, -1000, 1500000]");
  ExpectColumn(R"({"type":"long","logicalType":"timestamp-nanos"})", longs, 3, arrow::timestamp(TimeUnit::NANO), "[1, -1, 1500]");
  ExpectColumn(R"({"type":"long","logicalType":"timestamp-nanos"})", longs, 3, arrow::timestamp(TimeUnit::MICRO), "[0, -1, 1]");
  ExpectColumn(R"("null")", Bytes(), 2, arrow::int64(), "[null, null]");
  ExpectColumn(R"(["null", "long"])", Bytes().Long(1).Long(5).Long(0), 2, arrow::int64(), "[5, null]");
  ExpectColumn(R"(["string", "null"])", Bytes().Long(0).Text("x").Long(1), 2, arrow::utf8(), R"(["x", null])");
}

TEST_F(AvroBatchReaderTest, TextOfEveryLengthOfCharacter) {
  // One to four bytes each, at every offset of a long string.
  const std::string four = "a\xC3\xA9\xE6\xBC\xA2\xF0\x9F\x98\x80";
  for (size_t begin = 0; begin < 20; ++begin) {
    std::string text(begin, 'x');
    for (int i = 0; i < 10; ++i) text += four;
    ExpectColumn(R"("string")", Bytes().Text(text), 1, arrow::utf8(), "[\"" + text + "\"]");
  }
}

TEST_F(AvroBatchReaderTest, DecimalsOfAnyLength) {
  const std::string fixed5 = R"({"type":"fixed","name":"f","size":5,"logicalType":"decimal","precision":9,"scale":2})";
  const std::string fixed20 = R"({"type":"fixed","name":"f","size":20,"logicalType":"decimal","precision":38,"scale":2})";
  const std::string bytes = R"({"type":"bytes","logicalType":"decimal","precision":9,"scale":2})";
  const Bytes five = Bytes().Raw({"\x00\x00\x00\x04\xD2", 5}).Raw("\xff\xff\xff\xff\x80");
  ExpectColumn(fixed5, five, 2, arrow::decimal128(9, 2), R"(["12.34", "-1.28"])");
  ExpectColumn(fixed5, five, 2, arrow::decimal128(20, 2), R"(["12.34", "-1.28"])");
  ExpectColumn(fixed5, five, 2, arrow::decimal64(18, 2), R"(["12.34", "-1.28"])");
  ExpectColumn(fixed20, Bytes().Raw(std::string(19, '\0') + "\x05").Raw(std::string(19, '\xff') + "\x80"), 2,
               arrow::decimal128(38, 2), R"(["0.05", "-1.28"])");
  ExpectColumn(bytes, Bytes().Text("\x80").Text({"\x00\x80", 2}).Text("\xff\x7f"), 3, arrow::decimal128(9, 2),
               R"(["-1.28", "1.28", "-1.29"])");
  EXPECT_THAT(Error(FileOfColumn(bytes, Bytes().Text(""), 1), {Column("x", 1, arrow::decimal128(9, 2))}, ErrorKind::kCorruptData),
              HasSubstr("decimal of 0 bytes"));
  EXPECT_THAT(Error(FileOfColumn(bytes, Bytes().Text("\x7f\xff\xff\xff\xff"), 1), {Column("x", 1, arrow::decimal128(9, 2))},
                    ErrorKind::kCorruptData),
              HasSubstr("more than 9 digits"));
  EXPECT_THAT(Error(FileOfColumn(bytes, Bytes(), 0), {Column("x", 1, arrow::decimal128(9, 3))}, ErrorKind::kUnsupported),
              HasSubstr("cannot be read as"));
}

TEST_F(AvroBatchReaderTest, NestedColumnsOfAnyShape) {
  const std::string schema = R"({"type":"record","name":"r","fields":[
    {"name":"skipped","field-id":9,"type":{"type":"map","values":["null","string"],"key-id":91,"value-id":92}},
    {"name":"s","field-id":1,"type":["null",{"type":"record","name":"r1","fields":[
      {"name":"b","field-id":12,"type":["null","long"]}, {"name":"gone","field-id":13,"type":"string"},
      {"name":"a","field-id":11,"type":"int"}]}]},
    {"name":"l","field-id":2,"type":{"type":"array","items":["null","int"],"element-id":21}},
    {"name":"m","field-id":3,"type":{"type":"map","values":"float","key-id":31,"value-id":32}},
    {"name":"k","field-id":4,"type":{"type":"array","logicalType":"map","items":{"type":"record","name":"k5","fields":[
      {"name":"key","field-id":41,"type":"int"},
      {"name":"value","field-id":42,"type":["null",{"type":"array","items":"string","element-id":43}]}]}}}]})";
  Bytes rows;
  rows.Long(1).Text("q").Long(1).Text("w").Long(0);
  rows.Long(1).Long(1).Long(8).Text("xyz").Long(3);
  rows.Long(2).Long(1).Long(5).Long(0).Long(0);
  rows.Long(-1).Long(6).Text("k").Float(0.5F).Long(0);
  rows.Long(1).Long(7).Long(1).Long(2).Text("a").Text("b").Long(0).Long(1).Long(8).Long(0).Long(0);
  rows.Long(0).Long(0).Long(0).Long(0).Long(0);
  const arrow::FieldVector columns = {
      Column("k", 4,
             std::make_shared<arrow::MapType>(Column("key", 41, arrow::int64(), false),
                                              Column("value", 42, arrow::list(Column("element", 43, arrow::utf8()))))),
      Column(
          "s", 1,
          arrow::struct_({Column("a", 11, arrow::int64()), Column("later", 14, arrow::utf8()), Column("b", 12, arrow::int64())})),
      Column("l", 2, arrow::large_list(Column("element", 21, arrow::int32()))),
      Column("m", 3,
             std::make_shared<arrow::MapType>(Column("key", 31, arrow::utf8(), false), Column("value", 32, arrow::float64()))),
  };
  options_.defaults[14] = arrow::MakeScalar("dflt");
  const auto read = ReadAll(Header(schema) + Block(2, rows.text()), columns).ValueOrDie();
  const auto expected = arrow::json::ArrayFromJSONString(arrow::struct_(columns), R"([
    {"k": [[7, ["a", "b"]], [8, null]], "s": {"a": 3, "later": "dflt", "b": 8}, "l": [5, null], "m": [["k", 0.5]]},
    {"k": [], "s": null, "l": [], "m": []}])")
                            .ValueOrDie();
  EXPECT_TRUE(read->Equals(*expected)) << read->ToString();
  EXPECT_TRUE(missing_.empty());
}

TEST_F(AvroBatchReaderTest, RenamedAndReaddedColumnsGoById) {
  const std::string file = Header(R"({"type":"record","name":"r","fields":[{"name":"a","type":"int","field-id":1},)"
                                  R"({"name":"b","type":"int","field-id":2}]})") +
                           Block(1, Bytes().Long(10).Long(20).text());
  // "a" was dropped and added again as 3; "b" was renamed.
  options_.defaults[5] = arrow::MakeScalar(int64_t{7});
  const auto read =
      ReadAll(file, {Column("a", 3, arrow::int32()), Column("c", 2, arrow::int32()), Column("d", 5, arrow::int64())})
          .ValueOrDie();
  EXPECT_TRUE(read->field(0)->Equals(*arrow::json::ArrayFromJSONString(arrow::int32(), "[null]").ValueOrDie()));
  EXPECT_TRUE(read->field(1)->Equals(*arrow::json::ArrayFromJSONString(arrow::int32(), "[20]").ValueOrDie()));
  EXPECT_TRUE(read->field(2)->Equals(*arrow::json::ArrayFromJSONString(arrow::int64(), "[7]").ValueOrDie()));
  EXPECT_THAT(missing_, ElementsAre(0, 2));
}

TEST_F(AvroBatchReaderTest, NamesServeOnlyColumnsWithoutIds) {
  const std::string file = Header(R"({"type":"record","name":"r","fields":[{"name":"a","type":"int","field-id":1},
      {"name":"s","type":{"type":"record","name":"q","fields":[{"name":"b","type":{"type":"array","items":"int"}}]}}]})") +
                           Block(1, Bytes().Long(10).Long(1).Long(20).Long(0).text());
  const arrow::FieldVector columns = {
      Column("x", 7, arrow::int32()),
      Column("s", 2, arrow::struct_({Column("z", 3, arrow::list(Column("element", 4, arrow::int32())))}))};
  options_.ids_by_name = [](std::span<const std::string_view> path) -> std::optional<int32_t> {
    if (path.size() == 1 && path[0] == "a") return 7;
    if (path.size() == 1 && path[0] == "s") return 2;
    if (path.size() == 2 && path[0] == "s" && path[1] == "b") return 3;
    return std::nullopt;
  };
  const auto read = ReadAll(file, columns).ValueOrDie();
  const auto expected =
      arrow::json::ArrayFromJSONString(arrow::struct_(columns), R"([{"x": null, "s": {"z": [20]}}])").ValueOrDie();
  EXPECT_TRUE(read->Equals(*expected)) << read->ToString();
}

TEST_F(AvroBatchReaderTest, UuidsAndNoColumns) {
  const std::string stored = R"({"type":"fixed","name":"u","size":16,"logicalType":"uuid"})";
  const std::string file = FileOfColumn(stored, Bytes().Raw("0123456789abcdef"), 1);
  const auto read = ReadAll(file, {Column("u", 1, arrow::extension::uuid())}).ValueOrDie();
  EXPECT_EQ(read->field(0)->type()->id(), arrow::Type::EXTENSION);
  const auto& storage = static_cast<const arrow::ExtensionArray&>(*read->field(0)).storage();
  EXPECT_EQ(static_cast<const arrow::FixedSizeBinaryArray&>(*storage).GetView(0), "0123456789abcdef");
  auto reader = BatchReader::Open(FileOf(file), "d.avro", arrow::schema({}), options_).ValueOrDie();
  EXPECT_EQ((*reader->Next())->num_rows(), 1);
  EXPECT_EQ(*reader->Next(), nullptr);
}

TEST_F(AvroBatchReaderTest, WhatDoesNotFitIsSaidAtOpening) {
  const auto error = [&](std::string_view stored, std::shared_ptr<arrow::DataType> type) {
    return Error(FileOfColumn(stored, Bytes(), 0), {Column("x", 1, std::move(type))}, ErrorKind::kUnsupported);
  };
  EXPECT_THAT(error(R"("long")", arrow::int32()),
              HasSubstr("d.avro: column old_name: the file has long, which cannot be read as int32"));
  EXPECT_THAT(error(R"("double")", arrow::float32()), HasSubstr("cannot be read as float"));
  EXPECT_THAT(error(R"(["int", "string"])", arrow::int32()), HasSubstr("[int, string]"));
  EXPECT_THAT(
      error(R"({"type":"array","items":{"type":"record","name":"q","fields":[{"name":"y","type":"string","field-id":2}]}})",
            arrow::list(arrow::field("element", arrow::struct_({Column("y", 2, arrow::int32())})))),
      HasSubstr("column old_name.element.y: the file has string"));
  EXPECT_THAT(error(R"({"type":"fixed","name":"f","size":3})", arrow::fixed_size_binary(4)), HasSubstr("fixed f"));
}

TEST_F(AvroBatchReaderTest, BadValuesAreSaid) {
  EXPECT_THAT(Error(FileOfColumn(R"(["null","int"])", Bytes().Long(0), 1), {Column("x", 1, arrow::int32(), false)},
                    ErrorKind::kCorruptData),
              HasSubstr("byte 1 of its data: column old_name: null in a column that is required"));
  EXPECT_THAT(
      Error(FileOfColumn(R"("string")", Bytes().Text("\xff"), 1), {Column("x", 1, arrow::utf8())}, ErrorKind::kCorruptData),
      HasSubstr("not UTF-8"));
  for (const int64_t time : {int64_t{-1}, int64_t{86400000000}}) {
    EXPECT_THAT(Error(FileOfColumn(R"({"type":"long","logicalType":"time-micros"})", Bytes().Long(time), 1),
                      {Column("x", 1, arrow::time64(arrow::TimeUnit::MICRO))}, ErrorKind::kCorruptData),
                HasSubstr("not within a day"));
  }
  EXPECT_THAT(Error(FileOfColumn(R"({"type":"long","logicalType":"timestamp-millis"})", Bytes().Long(int64_t{1} << 62), 1),
                    {Column("x", 1, arrow::timestamp(arrow::TimeUnit::MICRO))}, ErrorKind::kExecution),
              HasSubstr("too far away"));
}

TEST_F(AvroBatchReaderTest, BatchesAreBoundedByRowsAndBytes) {
  Bytes rows;
  for (int i = 0; i < 1000; ++i) rows.Text(std::string(100, 'x'));
  const std::string file = FileOfColumn(R"("string")", rows, 1000);
  options_.max_rows = 400;
  ASSERT_TRUE(ReadAll(file, {Column("x", 1, arrow::utf8())}).ok());
  EXPECT_THAT(batch_rows_, ElementsAre(400, 400, 200));
  options_.max_bytes = 104 * 300;
  ASSERT_TRUE(ReadAll(file, {Column("x", 1, arrow::utf8())}).ok());
  EXPECT_THAT(batch_rows_, ElementsAre(300, 300, 300, 100));
  // A default of 1 MiB counts for every row.
  options_.max_bytes = 4 << 20;
  options_.defaults[2] = arrow::MakeScalar(std::string(1 << 20, 'd'));
  auto reader = BatchReader::Open(FileOf(file), "d.avro", arrow::schema({Column("x", 2, arrow::utf8())}), options_).ValueOrDie();
  for (int i = 0; i < 20; ++i) EXPECT_EQ((*reader->Next())->num_rows(), 4);
  EXPECT_LT(memory_.consumer->peak_bytes(), 16 << 20);
}

TEST_F(AvroBatchReaderTest, SplitsKnowTheirFirstRow) {
  std::string file = Header(R"({"type":"record","name":"r","fields":[{"name":"x","type":"int","field-id":1}]})");
  int next = 0;
  for (int block = 0; block < 10; ++block) {
    Bytes rows;
    for (int i = 0; i <= block; ++i) rows.Long(next++);
    file += Block(block + 1, rows.text());
  }
  for (int64_t begin = 0; begin < static_cast<int64_t>(file.size()); begin += 7) {
    options_.file.begin_offset = begin;
    auto reader =
        BatchReader::Open(FileOf(file), "d.avro", arrow::schema({Column("x", 1, arrow::int32())}), options_).ValueOrDie();
    const int64_t before = reader->RowsBefore().ValueOrDie();
    const auto batch = reader->Next().ValueOrDie();
    if (batch == nullptr) continue;
    EXPECT_EQ(static_cast<const arrow::Int32Array&>(*batch->column(0)).Value(0), before) << begin;
  }
}

TEST_F(AvroBatchReaderTest, EverythingIsChargedAndGivenBack) {
  Bytes rows;
  for (int i = 0; i < 20000; ++i) rows.Long(i);
  {
    auto reader = BatchReader::Open(FileOf(FileOfColumn(R"("long")", rows, 20000)), "d.avro",
                                    arrow::schema({Column("x", 1, arrow::int64())}), options_)
                      .ValueOrDie();
    const auto batch = reader->Next().ValueOrDie();
    EXPECT_EQ(batch->num_rows(), 8192);
    EXPECT_GE(memory_.consumer->reserved_bytes(), 8192 * 8);
  }
  EXPECT_EQ(memory_.consumer->reserved_bytes(), 0);
}

}  // namespace
}  // namespace icebound::iceberg::avro
