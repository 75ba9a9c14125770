// SPDX-License-Identifier: Apache-2.0
#include "iceberg/puffin/puffin_file.h"

#include <arrow/io/memory.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "iceberg/puffin/frame_codec.h"
#include "icebound/error.h"
#include "memory/memory_testing.h"

namespace icebound::iceberg::puffin {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string LittleEndian32(uint32_t value) { return {reinterpret_cast<const char*>(&value), sizeof(value)}; }
std::span<const uint8_t> AsBytes(std::string_view text) { return {reinterpret_cast<const uint8_t*>(text.data()), text.size()}; }

/// A file put together by hand.
std::string FileOf(std::string_view blobs, std::string_view payload, uint32_t flags = 0) {
  return "PFA1" + std::string(blobs) + "PFA1" + std::string(payload) + LittleEndian32(static_cast<uint32_t>(payload.size())) +
         LittleEndian32(flags) + "PFA1";
}

class PuffinFileTest : public testing::Test {
 protected:
  PuffinFileTest() : ledger_(memory::MakeLedger(int64_t{64} << 20)), consumer_(ledger_->AddConsumer("puffin")) {}

  arrow::Result<std::unique_ptr<PuffinReader>> Open(std::string file) {
    return PuffinReader::Open(std::make_shared<arrow::io::BufferReader>(arrow::Buffer::FromString(std::move(file))), "f.puffin",
                              consumer_.get());
  }
  std::string Error(std::string file, ErrorKind kind = ErrorKind::kCorruptData) {
    const auto reader = Open(std::move(file));
    EXPECT_EQ(GetErrorKind(reader.status()), kind) << reader.status().ToString();
    return reader.status().message();
  }

  memory::MemoryLedgerPtr ledger_;
  std::unique_ptr<memory::MemoryConsumer> consumer_;
};

TEST_F(PuffinFileTest, ReadsTheBytesOfTheFormat) {
  const auto reader = Open(FileOf("hello", R"({"blobs": [{"type": "some-blob", "fields": [1, 2], "snapshot-id": 7,
      "sequence-number": 8, "offset": 4, "length": 5, "unknown": {"x": 1}, "properties": {"k": "v"}}],
      "properties": {"created-by": "test"}})"))
                          .ValueOrDie();
  ASSERT_EQ(reader->blobs().size(), 1U);
  const BlobMetadata& blob = reader->blobs()[0];
  EXPECT_EQ(blob.type, "some-blob");
  EXPECT_THAT(blob.fields, ElementsAre(1, 2));
  EXPECT_EQ(blob.snapshot_id, 7);
  EXPECT_EQ(blob.sequence_number, 8);
  EXPECT_EQ(blob.property("k"), "v");
  EXPECT_EQ(blob.property("q"), std::nullopt);
  EXPECT_EQ(reader->properties(), (Properties{{"created-by", "test"}}));
  EXPECT_EQ((*reader->ReadBlob(blob))->ToString(), "hello");
  EXPECT_TRUE(Open(FileOf("", R"({"blobs":[]})")).ok());
}

TEST_F(PuffinFileTest, WhatIsWrittenReadsTheSame) {
  for (const BlobCodec footer : {BlobCodec::kNone, BlobCodec::kLz4}) {
    const auto output = arrow::io::BufferOutputStream::Create().ValueOrDie();
    auto writer = PuffinWriter::Open(output.get(), "f.puffin", consumer_.get()).ValueOrDie();
    std::vector<std::string> payloads;
    for (const BlobCodec codec : {BlobCodec::kNone, BlobCodec::kLz4, BlobCodec::kZstd}) {
      payloads.push_back(std::string(100000, static_cast<char>('a' + static_cast<int>(codec))) + "tail");
      BlobMetadata metadata;
      metadata.type = "t";
      metadata.properties = {{"referenced-data-file", "s3://b/\"x\".parquet"}};
      const auto written = writer->Append(metadata, AsBytes(payloads.back()), codec).ValueOrDie();
      EXPECT_EQ(written.length < 100004, codec != BlobCodec::kNone);
    }
    ASSERT_TRUE(writer->Finish({{"created-by", "icebound"}}, footer).ok());
    const std::string file = (*output->Finish())->ToString();
    EXPECT_EQ(writer->written_bytes(), static_cast<int64_t>(file.size()));
    const auto reader = Open(file).ValueOrDie();
    ASSERT_EQ(reader->blobs().size(), payloads.size());
    for (size_t i = 0; i < payloads.size(); ++i) {
      EXPECT_EQ((*reader->ReadBlob(reader->blobs()[i]))->ToString(), payloads[i]);
      EXPECT_EQ(reader->blobs()[i].property("referenced-data-file"), "s3://b/\"x\".parquet");
    }
  }
  EXPECT_EQ(consumer_->reserved_bytes(), 0);
}

TEST_F(PuffinFileTest, DamageIsSaid) {
  EXPECT_THAT(Error(""), HasSubstr("not a Puffin file: 0 bytes"));
  EXPECT_THAT(Error(std::string(100, 'x')), HasSubstr("does not end with PFA1"));
  EXPECT_THAT(Error(FileOf("", "{}", 2), ErrorKind::kUnsupported), HasSubstr("flags"));
  EXPECT_THAT(Error(FileOf("", "{")), HasSubstr("f.puffin, footer"));
  EXPECT_THAT(Error(FileOf("", "{}")), HasSubstr("blobs"));
  EXPECT_THAT(Error("PFA1PFA1" + LittleEndian32(4000000000U) + LittleEndian32(0) + "PFA1"),
              HasSubstr("a payload of 4000000000 bytes"));
  EXPECT_THAT(Error("PFA1XXXX{}" + LittleEndian32(2) + LittleEndian32(0) + "PFA1"), HasSubstr("does not begin with PFA1"));
  const auto blob = [](const std::string& offset, const std::string& length) {
    return FileOf("hello", R"({"blobs":[{"type":"t","fields":[],"snapshot-id":1,"sequence-number":1,"offset":)" + offset +
                               R"(,"length":)" + length + "}]}");
  };
  for (const auto& [offset, length] : std::vector<std::pair<std::string, std::string>>{
           {"4", "6"}, {"3", "1"}, {"9", "1"}, {"4", "-1"}, {"9223372036854775807", "5"}, {"4", "9223372036854775807"}}) {
    EXPECT_THAT(Error(blob(offset, length)), HasSubstr("blob 0: " + length + " bytes at " + offset));
  }
  EXPECT_THAT(Error(FileOf("", "not a frame but long enough", 1)), HasSubstr("lz4: not a frame"));
}

TEST_F(PuffinFileTest, FramesThatLieAreRefused) {
  const auto error = [&](FrameKind kind, std::string_view frame) {
    const auto plain = DecompressFrame(kind, AsBytes(frame), consumer_.get());
    EXPECT_FALSE(plain.ok());
    return plain.status().message();
  };
  for (const FrameKind kind : {FrameKind::kLz4, FrameKind::kZstd}) {
    const std::string good = (*CompressFrame(kind, AsBytes(std::string(5000, 'x')), consumer_.get()))->ToString();
    EXPECT_EQ((*DecompressFrame(kind, AsBytes(good), consumer_.get()))->ToString(), std::string(5000, 'x'));
    for (size_t size = 0; size < good.size() - 1; ++size) error(kind, good.substr(0, size));
    std::mt19937 random(9);
    for (int i = 0; i < 2000; ++i) {
      std::string bad = good;
      bad[random() % bad.size()] = static_cast<char>(random());
      const auto plain = DecompressFrame(kind, AsBytes(bad), consumer_.get());
      if (plain.ok()) {
        EXPECT_EQ((*plain)->size(), 5000) << i;
      }
    }
  }
  std::string huge("\x04\x22\x4d\x18\x68\x40", 6);
  huge += std::string("\x00\x00\x00\x00\x00\x01\x00\x00", 8) + std::string(9, '\0');
  EXPECT_THAT(error(FrameKind::kLz4, huge), HasSubstr("cannot become"));
}

}  // namespace
}  // namespace icebound::iceberg::puffin
