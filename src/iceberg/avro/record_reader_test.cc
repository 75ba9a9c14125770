// SPDX-License-Identifier: Apache-2.0
#include "iceberg/avro/record_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

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

constexpr char kSchema[] = R"({"type": "record", "name": "entry", "fields": [
    {"name": "status", "type": "int", "field-id": 0},
    {"name": "snapshot", "type": ["null", "long"], "default": null, "field-id": 1},
    {"name": "file", "field-id": 2, "type": {"type": "record", "name": "r2", "fields": [
        {"name": "path", "type": "string", "field-id": 100},
        {"name": "ratio", "type": "float", "field-id": 101},
        {"name": "offsets", "field-id": 132, "type": ["null", {"type": "array", "items": "long", "element-id": 133}]},
        {"name": "counts", "field-id": 109, "type": {"type": "array", "logicalType": "map", "items":
            {"type": "record", "name": "k119_v120", "fields": [{"name": "key", "type": "int", "field-id": 119},
                                                              {"name": "value", "type": "long", "field-id": 120}]}}},
        {"name": "tags", "field-id": 7, "type": {"type": "map", "values": "bytes", "key-id": 8, "value-id": 9}}]}}]})";

struct Entry {
  int32_t status = -1;
  std::optional<int64_t> snapshot = -1;
  std::string path;
  double ratio = 0;
  std::optional<std::vector<int64_t>> offsets;
  std::map<int32_t, int64_t> counts;
  std::map<std::string, std::string> tags;
  int32_t later = 42;  // of a field that the file does not have
};

arrow::Status ReadEntry(ValueReader& record, Entry* entry) {
  return record.ReadRecord([&](const Field& field, ValueReader& value) -> arrow::Status {
    switch (field.id) {
      case 0:
        return value.Read(&entry->status);
      case 1:
        return value.Read(&entry->snapshot);
      case 2:
        return ReadEntry(value, entry);
      case 100:
        return value.Read(&entry->path);
      case 101:
        return value.Read(&entry->ratio);
      case 109:
        return value.Read(&entry->counts);
      case 132:
        return value.Read(&entry->offsets);
      case 7:
        return value.Read(&entry->tags);
      case 9999:
        return value.Read(&entry->later);
      default:
        return arrow::Status::OK();
    }
  });
}

std::string Entries() {
  Bytes bytes;
  bytes.Long(1).Long(1).Long(77).Text("s3://b/one").Float(0.5F);
  bytes.Long(1).Long(2).Long(4).Long(1000).Long(0);  // offsets [4, 1000]
  bytes.Long(-2).Long(4).Long(3).Long(30).Long(5).Long(-50).Long(1).Long(9).Long(9).Long(
      0);         // counts, two blocks, one with its size
  bytes.Long(0);  // tags
  bytes.Long(2).Long(0).Text("").Float(-1.25F).Long(0).Long(0).Long(1).Text("k").Text("v").Long(0);
  return bytes.text();
}

class AvroRecordReaderTest : public testing::Test {
 protected:
  ReaderOptions Options() {
    ReaderOptions options;
    options.consumer = memory_.consumer.get();
    return options;
  }
  arrow::Result<std::vector<Entry>> Read(std::string file) {
    ARROW_ASSIGN_OR_RAISE(auto reader, RecordReader::Open(FileOf(std::move(file)), "m.avro", Options()));
    std::vector<Entry> entries;
    for (;;) {
      Entry entry;
      ARROW_ASSIGN_OR_RAISE(const bool more, reader->Next([&](ValueReader& record) { return ReadEntry(record, &entry); }));
      if (!more) return entries;
      entries.push_back(entry);
    }
  }
  /// The failure of reading `file`, and that it goes on failing or ends.
  std::string Error(std::string file, ErrorKind kind = ErrorKind::kCorruptData) {
    const auto entries = Read(std::move(file));
    EXPECT_FALSE(entries.ok());
    if (entries.ok()) return "";
    EXPECT_EQ(GetErrorKind(entries.status()), kind) << entries.status().ToString();
    return entries.status().message();
  }

  TestMemory memory_;
};

TEST_F(AvroRecordReaderTest, FillsPlainStructsById) {
  const auto entries = Read(Header(kSchema) + Block(2, Entries())).ValueOrDie();
  ASSERT_EQ(entries.size(), 2U);
  EXPECT_EQ(entries[0].status, 1);
  EXPECT_EQ(entries[0].snapshot, 77);
  EXPECT_EQ(entries[0].path, "s3://b/one");
  EXPECT_EQ(entries[0].ratio, 0.5);
  EXPECT_THAT(*entries[0].offsets, ElementsAre(4, 1000));
  EXPECT_EQ(entries[0].counts, (std::map<int32_t, int64_t>{{3, 30}, {5, -50}, {9, 9}}));
  EXPECT_EQ(entries[0].later, 42);
  EXPECT_EQ(entries[1].snapshot, std::nullopt);
  EXPECT_EQ(entries[1].ratio, -1.25);
  EXPECT_EQ(entries[1].offsets, std::nullopt);
  EXPECT_EQ(entries[1].tags, (std::map<std::string, std::string>{{"k", "v"}}));
}

TEST_F(AvroRecordReaderTest, WhatIsNotReadIsSkipped) {
  auto reader = RecordReader::Open(FileOf(Header(kSchema) + Block(2, Entries())), "m.avro", Options()).ValueOrDie();
  std::vector<int64_t> statuses;
  const auto read = [&](ValueReader& record) {
    return record.ReadRecord([&](const Field& field, ValueReader& value) {
      return field.id == 0 ? value.Read(&statuses.emplace_back()) : arrow::Status::OK();
    });
  };
  EXPECT_TRUE(*reader->Next(read));
  EXPECT_TRUE(*reader->Next([](ValueReader&) { return arrow::Status::OK(); }));
  EXPECT_FALSE(*reader->Next(read));
  EXPECT_FALSE(*reader->Next(read));
  EXPECT_THAT(statuses, ElementsAre(1));
}

TEST_F(AvroRecordReaderTest, MetadataAndEmptyFiles) {
  auto reader =
      RecordReader::Open(FileOf(Header(kSchema, "null", {{"format-version", "2"}, {"schema", ""}})), "m.avro", Options())
          .ValueOrDie();
  EXPECT_EQ(reader->metadata("format-version"), "2");
  EXPECT_EQ(reader->metadata("schema"), "");
  EXPECT_EQ(reader->metadata("nope"), std::nullopt);
  EXPECT_FALSE(*reader->Next([](ValueReader&) { return arrow::Status::OK(); }));
  // Blocks of nothing.
  EXPECT_EQ(Read(Header(kSchema) + Block(0, "") + Block(2, Entries()) + Block(0, ""))->size(), 2U);
}

TEST_F(AvroRecordReaderTest, HeadersOfAnySize) {
  for (const size_t bytes : {size_t{0}, size_t{300} << 10, size_t{5} << 20}) {
    const std::string file = Header(kSchema, "null", {{"schema", std::string(bytes, 'x')}}) + Block(2, Entries());
    EXPECT_EQ(Read(file).ValueOrDie().size(), 2U) << bytes;
  }
}

TEST_F(AvroRecordReaderTest, EverySplitReadsItsBlocksOnce) {
  std::string file = Header(kSchema);
  for (int i = 0; i < 20; ++i) file += Block(2, Entries());
  const auto size = static_cast<int64_t>(file.size());
  for (const int64_t step : {int64_t{1}, int64_t{37}, int64_t{100}, int64_t{1000}, size}) {
    int64_t records = 0;
    for (int64_t begin = 0; begin < size; begin += step) {
      ReaderOptions options = Options();
      options.begin_offset = begin;
      options.end_offset = begin + step;
      auto reader = RecordReader::Open(FileOf(file), "m.avro", options).ValueOrDie();
      while (*reader->Next([](ValueReader&) { return arrow::Status::OK(); })) ++records;
    }
    EXPECT_EQ(records, 40) << step;
  }
}

TEST_F(AvroRecordReaderTest, ErrorsNameFileBlockAndByte) {
  const std::string header = Header(kSchema);
  const std::string bad = Bytes().Long(1).Long(7).Raw("0123456789").text();
  EXPECT_THAT(Error(header + Block(1, bad)),
              testing::StartsWith("m.avro, block at byte " + std::to_string(header.size()) +
                                  ", byte 2 of its data: field snapshot (id 1): a union of 2 types"));
  EXPECT_THAT(Error(header + Block(2, Entries()) + Block(1, bad)),
              HasSubstr("block at byte " + std::to_string(header.size() + Block(2, Entries()).size())));
}

TEST_F(AvroRecordReaderTest, DamageIsSaid) {
  const std::string header = Header(kSchema);
  EXPECT_THAT(Error(""), HasSubstr("not an Avro file"));
  EXPECT_THAT(Error("PAR1"), HasSubstr("not an Avro file"));
  EXPECT_THAT(Error(Header(kSchema, "lzma") + Block(0, ""), ErrorKind::kUnsupported), HasSubstr("lzma"));
  EXPECT_THAT(Error(Bytes().Raw({"Obj\x01", 4}).Long(0).Raw(test::kSync).text()), HasSubstr("no avro.schema"));
  EXPECT_THAT(Error(Header(R"({"type":"int)")), HasSubstr("not JSON"));
  // The sync marker, the count, the size.
  std::string file = header + Block(2, Entries());
  file.back() ^= 1;
  EXPECT_THAT(Error(file), HasSubstr("sync marker"));
  EXPECT_THAT(Error(header + Block(3, Entries())), HasSubstr("does not fit in the 0 bytes"));
  EXPECT_THAT(Error(header + Block(1, Entries())), HasSubstr("stand behind the block's last record"));
  EXPECT_THAT(Error(header + Block(-2, Entries())), HasSubstr("a block of -2 records"));
  EXPECT_THAT(Error(header + Bytes().Long(1).Long(-5).text()), HasSubstr("a block of -5 bytes"));
  EXPECT_THAT(Error(header + Bytes().Long(1).Long(int64_t{1} << 62).text()), HasSubstr("do not fit in the"));
  EXPECT_THAT(Error(header + Bytes().Raw(std::string(11, '\xff')).text()), HasSubstr("longer than 64 bits"));
}

TEST_F(AvroRecordReaderTest, EveryTruncationIsAnErrorOrABlockLess) {
  const std::string header = Header(kSchema);
  const std::string file = header + Block(2, Entries()) + Block(2, Entries());
  for (size_t size = 0; size < file.size(); ++size) {
    const auto entries = Read(file.substr(0, size));
    const bool is_whole = size == header.size() || size == header.size() + Block(2, Entries()).size();
    EXPECT_EQ(entries.ok(), is_whole) << size;
    if (!entries.ok()) {
      EXPECT_EQ(GetErrorKind(entries.status()), ErrorKind::kCorruptData) << entries.status().ToString();
    }
  }
}

TEST_F(AvroRecordReaderTest, ValuesOfTheWrongTypeAreSaid) {
  const std::string file = Header(R"({"type":"record","name":"r","fields":[{"name":"status","type":"string","field-id":0}]})") +
                           Block(1, Bytes().Text("x").text());
  EXPECT_THAT(Error(file), HasSubstr("field status (id 0): string instead of int"));
  const std::string null_file =
      Header(R"({"type":"record","name":"r","fields":[{"name":"status","type":["null","int"],"field-id":0}]})") +
      Block(1, Bytes().Long(0).text());
  EXPECT_THAT(Error(null_file), HasSubstr("null instead of int"));
  const std::string wide_file = Header(R"({"type":"record","name":"r","fields":[{"name":"status","type":"int","field-id":0}]})") +
                                Block(1, Bytes().Long(int64_t{1} << 40).text());
  EXPECT_THAT(Error(wide_file), HasSubstr("more than 32 bits"));
}

TEST_F(AvroRecordReaderTest, CountsWithoutBytesAreBounded) {
  const std::string nothing = R"({"type":"record","name":"r","fields":[{"name":"n","type":"null"}]})";
  EXPECT_THAT(Error(Header(nothing) + Block(int64_t{1} << 62, "")), HasSubstr("take no bytes"));
  std::string many = Header(nothing);
  for (int64_t left = kMaxItemsOfNothing; left >= 0; left -= kMaxItemsOfNothing / 16) many += Block(kMaxItemsOfNothing / 16, "");
  EXPECT_THAT(Error(many), HasSubstr("take no bytes"));
  const std::string array = R"({"type":"record","name":"r","fields":[{"name":"n","type":{"type":"array","items":"null"}}]})";
  EXPECT_THAT(Error(Header(array) + Block(1, Bytes().Long(int64_t{1} << 62).Long(0).text())), HasSubstr("take no bytes"));
  const std::string longs = R"({"type":"record","name":"r","fields":[{"name":"n","type":{"type":"array","items":"long"}}]})";
  EXPECT_THAT(Error(Header(longs) + Block(1, Bytes().Long(int64_t{1} << 62).Long(0).text())), HasSubstr("do not fit"));
  EXPECT_THAT(Error(Header(longs) + Block(1, Bytes().Long(std::numeric_limits<int64_t>::min()).text())), HasSubstr("negative"));
}

TEST_F(AvroRecordReaderTest, DeepAndDoublingTypesEnd) {
  // A record inside itself, and records that hold the one before twice: 2^60 nulls without a byte.
  EXPECT_THAT(Error(Header(R"({"type":"record","name":"r","fields":[{"name":"n","type":"r"}]})") + Block(1, "")),
              HasSubstr("nested deeper"));
  std::string fields = R"({"name":"f0","type":{"type":"record","name":"r0","fields":[{"name":"n","type":"null"}]}})";
  for (int i = 1; i < 60; ++i) {
    const std::string before = "\"r" + std::to_string(i - 1) + "\"";
    fields += R"(,{"name":"f)" + std::to_string(i) + R"(","type":{"type":"record","name":"r)" + std::to_string(i) +
              R"(","fields":[{"name":"a","type":)" + before + R"(},{"name":"b","type":)" + before + "}]}}";
  }
  EXPECT_EQ(Read(Header(R"({"type":"record","name":"r","fields":[)" + fields + "]}") + Block(1, ""))->size(), 1U);
}

TEST_F(AvroRecordReaderTest, HoldsOneBlockAndGivesItBack) {
  std::string file = Header(R"({"type":"record","name":"r","fields":[{"name":"path","type":"string","field-id":100}]})");
  for (int i = 0; i < 40; ++i) file += Block(1, Bytes().Text(std::string(1 << 20, 'x')).text());
  EXPECT_EQ(Read(file).ValueOrDie().size(), 40U);
  EXPECT_LT(memory_.consumer->peak_bytes(), 4 << 20);
  EXPECT_EQ(memory_.consumer->reserved_bytes(), 0);
}

TEST_F(AvroRecordReaderTest, ABlockBeyondTheMemoryIsRefused) {
  TestMemory little(1 << 20);
  ReaderOptions options;
  options.consumer = little.consumer.get();
  std::string file = Header(R"({"type":"record","name":"r","fields":[{"name":"path","type":"string","field-id":100}]})") +
                     Block(1, Bytes().Text(std::string(4 << 20, 'x')).text());
  auto reader = RecordReader::Open(FileOf(file), "m.avro", options).ValueOrDie();
  const auto more = reader->Next([](ValueReader&) { return arrow::Status::OK(); });
  EXPECT_EQ(GetErrorKind(more.status()), ErrorKind::kMemoryLimit) << more.status().ToString();
  EXPECT_THAT(more.status().message(), HasSubstr("m.avro"));
}

}  // namespace
}  // namespace icebound::iceberg::avro
