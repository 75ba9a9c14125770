// SPDX-License-Identifier: Apache-2.0
#include "iceberg/avro/record_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "iceberg/avro/avro_bytes_test.h"
#include "iceberg/avro/record_reader.h"
#include "icebound/error.h"

namespace icebound::iceberg::avro {
namespace {

using test::Bytes;
using test::TestMemory;
using testing::HasSubstr;

class AvroRecordWriterTest : public testing::Test {
 protected:
  AvroRecordWriterTest() : output_(arrow::io::BufferOutputStream::Create().ValueOrDie()) {
    options_.consumer = memory_.consumer.get();
    options_.codec = Codec::kNull;
    options_.sync_marker.emplace();
    std::copy(test::kSync.begin(), test::kSync.end(), options_.sync_marker->begin());
  }
  std::unique_ptr<RecordWriter> Open(std::string_view schema) {
    return RecordWriter::Open(output_.get(), "w.avro", Schema::Parse(schema, memory_.consumer.get()).ValueOrDie(), options_)
        .ValueOrDie();
  }
  std::string Finish(RecordWriter* writer) {
    EXPECT_TRUE(writer->Finish().ok());
    const std::string text = (*output_->Finish())->ToString();
    EXPECT_EQ(writer->written_bytes(), static_cast<int64_t>(text.size()));
    return text;
  }

  TestMemory memory_;
  std::shared_ptr<arrow::io::BufferOutputStream> output_;
  WriterOptions options_;
};

constexpr char kSchema[] = R"({"type":"record","name":"r","fields":[{"name":"a","type":"int","field-id":1},)"
                           R"({"name":"b","type":["null","string"],"default":null,"field-id":2},)"
                           R"({"name":"c","type":{"type":"array","items":"long","element-id":4},"field-id":3},)"
                           R"({"name":"d","type":["null","double"],"field-id":5},)"
                           R"({"name":"e","type":{"type":"map","values":"bytes","key-id":7,"value-id":8},"field-id":6}]})";

TEST_F(AvroRecordWriterTest, WritesTheBytesOfTheFormat) {
  options_.metadata = {{"format-version", "2"}};
  auto writer = Open(kSchema);
  for (int64_t row = 0; row < 2; ++row) {
    const arrow::Status status = writer->Append([&](ValueWriter& record) {
      return record.WriteRecord([&](const Field& field, ValueWriter& value) -> arrow::Status {
        switch (field.id) {
          case 1:
            return value.Write(row);
          case 2:
            return value.Write(row == 0 ? std::optional<std::string>() : "text");
          case 3:
            return value.Write(row == 0 ? std::vector<int64_t>{} : std::vector<int64_t>{-1, 300});
          case 6:
            return value.Write(std::map<std::string, std::string>{{"k", "v"}});
          default:
            return arrow::Status::OK();
        }
      });
    });
    ASSERT_TRUE(status.ok()) << status.ToString();
  }
  EXPECT_EQ(writer->records(), 2);
  Bytes rows;
  rows.Long(0).Long(0).Long(0).Long(0).Long(1).Text("k").Text("v").Long(0);
  rows.Long(1).Long(1).Text("text").Long(2).Long(-1).Long(300).Long(0).Long(0).Long(1).Text("k").Text("v").Long(0);
  EXPECT_EQ(Finish(writer.get()), test::Header(kSchema, "null", {{"format-version", "2"}}) + test::Block(2, rows.text()));
}

TEST_F(AvroRecordWriterTest, BlocksAreBounded) {
  options_.block_bytes = 1000;
  auto writer = Open(R"({"type":"record","name":"r","fields":[{"name":"a","type":"string","field-id":1}]})");
  for (const size_t bytes : {400, 400, 400, 5000, 10}) {
    ASSERT_TRUE(writer
                    ->Append([&](ValueWriter& record) {
                      return record.WriteRecord(
                          [&](const Field&, ValueWriter& value) { return value.Write(std::string(bytes, 'x')); });
                    })
                    .ok());
  }
  EXPECT_GT(writer->expected_bytes(), writer->written_bytes());
  const std::string file = Finish(writer.get());
  std::vector<int64_t> blocks;
  for (size_t at = file.find(test::kSync); (at = file.find(test::kSync, at + 1)) != std::string::npos;)
    blocks.push_back(static_cast<int64_t>(at));
  EXPECT_EQ(blocks.size(), 3U);  // three of 400, one of 5000, the last
}

TEST_F(AvroRecordWriterTest, AFailedRecordLeavesNoTrace) {
  auto writer = Open(kSchema);
  const auto append = [&](bool good) {
    return writer->Append([&](ValueWriter& record) {
      return record.WriteRecord([&](const Field& field, ValueWriter& value) -> arrow::Status {
        if (field.id == 1) return value.Write(7);
        if (field.id == 3) return good ? value.Write(std::vector<int64_t>{}) : value.Write("text");
        if (field.id == 6) return value.Write(std::map<std::string, std::string>{});
        return arrow::Status::OK();
      });
    });
  };
  const arrow::Status failure = append(false);
  EXPECT_EQ(GetErrorKind(failure), ErrorKind::kInternal);
  EXPECT_THAT(failure.message(),
              HasSubstr("w.avro, record 0: field c (id 3): text or bytes is written where the schema says array"));
  EXPECT_TRUE(append(true).ok());
  const std::string row = Bytes().Long(7).Long(0).Long(0).Long(0).Long(0).text();
  EXPECT_EQ(Finish(writer.get()), test::Header(kSchema) + test::Block(1, row));
}

TEST_F(AvroRecordWriterTest, RequiredFieldsMustBeWritten) {
  auto writer = Open(R"({"type":"record","name":"r","fields":[{"name":"a","type":"int","field-id":1}]})");
  const auto leave = [](const Field&, ValueWriter&) { return arrow::Status::OK(); };
  const arrow::Status status = writer->Append([&](ValueWriter& record) { return record.WriteRecord(leave); });
  EXPECT_THAT(status.message(), HasSubstr("null is written where the schema says int"));
  const arrow::Status wide = writer->Append([&](ValueWriter& record) {
    return record.WriteRecord([](const Field&, ValueWriter& value) { return value.Write(int64_t{1} << 33); });
  });
  EXPECT_THAT(wide.message(), HasSubstr("long is written where the schema says int"));
  const arrow::Status twice = writer->Append([&](ValueWriter& record) {
    return record.WriteRecord([](const Field&, ValueWriter& value) -> arrow::Status {
      ARROW_RETURN_NOT_OK(value.Write(1));
      return value.Write(2);
    });
  });
  EXPECT_THAT(twice.message(), HasSubstr("written twice"));
}

TEST_F(AvroRecordWriterTest, AFailedOutputStopsTheWriter) {
  auto writer = Open(R"({"type":"record","name":"r","fields":[{"name":"a","type":"int","field-id":1}]})");
  ASSERT_TRUE(output_->Close().ok());
  const auto append = [&] {
    return writer->Append(
        [&](ValueWriter& record) { return record.WriteRecord([](const Field&, ValueWriter& value) { return value.Write(1); }); });
  };
  EXPECT_TRUE(append().ok());
  EXPECT_EQ(GetErrorKind(writer->Finish()), ErrorKind::kIo);
  EXPECT_EQ(GetErrorKind(append()), ErrorKind::kIo);
}

TEST_F(AvroRecordWriterTest, ManyRecordsComeBackWithEveryCodecInOneBlocksMemory) {
  for (const Codec codec : {Codec::kNull, Codec::kDeflate, Codec::kSnappy, Codec::kZstandard}) {
    output_ = arrow::io::BufferOutputStream::Create().ValueOrDie();
    options_.codec = codec;
    TestMemory bounded(6 << 20);
    options_.consumer = bounded.consumer.get();
    auto writer =
        RecordWriter::Open(output_.get(), "w.avro", Schema::Parse(kSchema, bounded.consumer.get()).ValueOrDie(), options_)
            .ValueOrDie();
    constexpr int64_t kRows = 50000;
    for (int64_t row = 0; row < kRows; ++row) {
      ASSERT_TRUE(writer
                      ->Append([&](ValueWriter& record) {
                        return record.WriteRecord([&](const Field& field, ValueWriter& value) -> arrow::Status {
                          if (field.id == 1) return value.Write(row);
                          if (field.id == 2) return row % 3 == 0 ? value.WriteNull() : value.Write("row " + std::to_string(row));
                          if (field.id == 5) return value.Write(static_cast<float>(row) / 4);
                          return field.id == 3 ? value.Write(std::vector<int64_t>{row, -row})
                                               : value.Write(std::map<std::string, std::string>{});
                        });
                      })
                      .ok());
    }
    const std::string file = Finish(writer.get());
    ReaderOptions options;
    options.consumer = bounded.consumer.get();
    auto reader = RecordReader::Open(test::FileOf(file), "w.avro", options).ValueOrDie();
    int64_t rows = 0;
    std::vector<int64_t> numbers;
    std::optional<std::string> text;
    std::optional<double> quarter;
    while (*reader->Next([&](ValueReader& record) {
      return record.ReadRecord([&](const Field& field, ValueReader& value) -> arrow::Status {
        if (field.id == 2) return value.Read(&text);
        if (field.id == 3) return value.Read(&numbers);
        if (field.id == 5) return value.Read(&quarter);
        return arrow::Status::OK();
      });
    })) {
      ASSERT_EQ(numbers, (std::vector<int64_t>{rows, -rows}));
      ASSERT_EQ(text, rows % 3 == 0 ? std::nullopt : std::optional<std::string>("row " + std::to_string(rows)));
      ASSERT_EQ(quarter, static_cast<double>(rows) / 4);
      ++rows;
    }
    EXPECT_EQ(rows, kRows);
  }
}

}  // namespace
}  // namespace icebound::iceberg::avro
