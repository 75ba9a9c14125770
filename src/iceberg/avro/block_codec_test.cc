// SPDX-License-Identifier: Apache-2.0
#include "iceberg/avro/block_codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "iceberg/avro/avro_bytes_test.h"
#include "iceberg/avro/zstandard_frame.h"
#include "icebound/error.h"

namespace icebound::iceberg::avro {
namespace {

using test::TestMemory;
using testing::HasSubstr;

std::span<const uint8_t> AsBytes(std::string_view text) { return {reinterpret_cast<const uint8_t*>(text.data()), text.size()}; }
std::string AsText(std::span<const uint8_t> bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

std::string Unhex(std::string_view hex) {
  std::string bytes;
  for (size_t i = 0; i < hex.size(); i += 2) bytes += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  return bytes;
}

class AvroCodecTest : public testing::TestWithParam<Codec> {
 protected:
  arrow::Result<std::string> Decompress(Codec codec, std::string_view stored) {
    ARROW_ASSIGN_OR_RAISE(auto decompressor, BlockDecompressor::Make(codec, memory_.consumer.get()));
    ARROW_ASSIGN_OR_RAISE(const auto plain, decompressor->Decompress(AsBytes(stored)));
    return AsText(plain);
  }
  std::string Error(Codec codec, std::string_view stored, ErrorKind kind = ErrorKind::kCorruptData) {
    const auto plain = Decompress(codec, stored);
    EXPECT_EQ(GetErrorKind(plain.status()), kind) << plain.status().ToString();
    return plain.status().message();
  }

  TestMemory memory_;
};

INSTANTIATE_TEST_SUITE_P(All, AvroCodecTest, testing::Values(Codec::kNull, Codec::kDeflate, Codec::kSnappy, Codec::kZstandard),
                         [](const auto& test) { return std::string(ToString(test.param)); });

TEST_P(AvroCodecTest, WhatIsCompressedComesBack) {
  auto compressor = BlockCompressor::Make(GetParam(), std::nullopt, memory_.consumer.get()).ValueOrDie();
  auto decompressor = BlockDecompressor::Make(GetParam(), memory_.consumer.get()).ValueOrDie();
  std::mt19937 random(7);
  for (const size_t bytes : {0, 1, 100, 65536, 3000000, 5}) {
    std::string text(bytes, 'a');
    for (size_t i = 0; i < text.size() / 2; ++i) text[i] = static_cast<char>(random());
    const std::string stored = AsText(compressor->Compress(AsBytes(text)).ValueOrDie());
    EXPECT_EQ(AsText(decompressor->Decompress(AsBytes(stored)).ValueOrDie()), text);
  }
}

TEST_P(AvroCodecTest, DamageIsAnErrorOrOtherBytesButNeverMore) {
  std::string text;
  for (int i = 0; i < 2000; ++i) text += "row " + std::to_string(i);
  auto compressor = BlockCompressor::Make(GetParam(), std::nullopt, memory_.consumer.get()).ValueOrDie();
  const std::string stored = AsText(compressor->Compress(AsBytes(text)).ValueOrDie());
  auto decompressor = BlockDecompressor::Make(GetParam(), memory_.consumer.get()).ValueOrDie();
  std::mt19937 random(11);
  int failures = 0;
  for (int i = 0; i < 2000; ++i) {
    std::string bad = stored.substr(0, i % 3 == 0 ? random() % stored.size() : stored.size());
    if (!bad.empty())
      bad[random() % std::min<size_t>(bad.size(), 1 + random() % bad.size())] ^= static_cast<char>(1 << random() % 8);
    const auto plain = decompressor->Decompress(AsBytes(bad));
    failures += plain.ok() ? 0 : 1;
    if (GetParam() == Codec::kSnappy && plain.ok()) {
      EXPECT_EQ(AsText(*plain), text);
    }
  }
  EXPECT_GT(failures, GetParam() == Codec::kNull ? -1 : 800);
}

TEST_F(AvroCodecTest, NamesAreThoseOfTheFormat) {
  for (const char* name : {"null", "deflate", "snappy", "zstandard"}) EXPECT_EQ(ToString(CodecByName(name).ValueOrDie()), name);
  EXPECT_EQ(GetErrorKind(CodecByName("bzip2").status()), ErrorKind::kUnsupported);
}

TEST_F(AvroCodecTest, BytesOfOtherWriters) {
  // zlib.compress(b"hello hello hello hello")[2:-4], and [2:-1] as some writers cut it.
  EXPECT_EQ(*Decompress(Codec::kDeflate, Unhex("cb48cdc9c957c8402701")), "hello hello hello hello");
  EXPECT_EQ(*Decompress(Codec::kDeflate, Unhex("cb48cdc9c957c8402701680308")), "hello hello hello hello");
  EXPECT_THAT(Error(Codec::kDeflate, Unhex("cb48cdc9c957c8402701") + "12345"), HasSubstr("behind the deflate stream"));
  // snappy: 5 bytes, a literal; CRC-32 of "hello" is 3610a686.
  EXPECT_EQ(*Decompress(Codec::kSnappy, Unhex("051068656c6c6f3610a686")), "hello");
  EXPECT_THAT(Error(Codec::kSnappy, Unhex("051068656c6c6f3610a687")), HasSubstr("checksum is 3610a686, not 3610a687"));
}

TEST_F(AvroCodecTest, SizesThatCannotBeAreRefusedWithoutAllocating) {
  // 4 GiB out of six bytes.
  EXPECT_THAT(Error(Codec::kSnappy, Unhex("ffffffff0f00") + "crc4"), HasSubstr("cannot become"));
  // A single-segment frame of an empty raw block that says 2^40 bytes.
  EXPECT_THAT(Error(Codec::kZstandard, Unhex("28b52ffde00000000000010000010000")), HasSubstr("says that it becomes"));
  EXPECT_LT(memory_.consumer->peak_bytes(), 1 << 20);
}

TEST_F(AvroCodecTest, ABombIsRefusedByTheLedger) {
  TestMemory little(8 << 20);
  // zstandard: 1000 blocks of 4 bytes that repeat a byte 128 KiB times (125 MiB), without and with their size.
  std::string blocks;
  for (int i = 0; i < 1000; ++i)
    blocks += Unhex(i == 999 ? "030010"
                               "41"
                             : "020010"
                               "41");
  for (const std::string& header : {Unhex("28b52ffd0038"), Unhex("28b52ffd8038") + std::string("\x00\x00\xd0\x07", 4)}) {
    auto decompressor = BlockDecompressor::Make(Codec::kZstandard, little.consumer.get()).ValueOrDie();
    const auto plain = decompressor->Decompress(AsBytes(header + blocks));
    EXPECT_EQ(GetErrorKind(plain.status()), ErrorKind::kMemoryLimit) << plain.status().ToString();
  }
  // deflate: 100 MiB of zeros.
  auto compressor = BlockCompressor::Make(Codec::kDeflate, std::nullopt, memory_.consumer.get()).ValueOrDie();
  const std::string bomb = AsText(compressor->Compress(AsBytes(std::string(30 << 20, '\0'))).ValueOrDie());
  auto decompressor = BlockDecompressor::Make(Codec::kDeflate, little.consumer.get()).ValueOrDie();
  const auto plain = decompressor->Decompress(AsBytes(bomb));
  EXPECT_EQ(GetErrorKind(plain.status()), ErrorKind::kMemoryLimit) << plain.status().ToString();
  EXPECT_LE(little.consumer->peak_bytes(), 8 << 20);
}

TEST_F(AvroCodecTest, ZstandardStreamsWithoutSizes) {
  // One raw block of "abc" in a frame without a content size; twice; between skippable frames.
  const std::string frame = Unhex("28b52ffd0038190000") + "abc";
  EXPECT_EQ(*Decompress(Codec::kZstandard, frame), "abc");
  EXPECT_EQ(*Decompress(Codec::kZstandard, frame + frame), "abcabc");
  const auto size = MeasureZstandard(AsBytes(Unhex("502a4d1802000000") + "xx" + frame)).ValueOrDie();
  EXPECT_FALSE(size.is_exact);
  EXPECT_EQ(size.bytes, 3);
  EXPECT_EQ(size.window_bytes, 128 << 10);
  // A window of 2 GiB.
  EXPECT_THAT(Error(Codec::kZstandard, Unhex("28b52ffd00a8190000") + "abc", ErrorKind::kUnsupported), HasSubstr("window"));
}

}  // namespace
}  // namespace icebound::iceberg::avro
