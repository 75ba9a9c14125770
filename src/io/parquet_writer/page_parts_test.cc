// SPDX-License-Identifier: Apache-2.0
#include "io/parquet_writer/page_parts.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace icebound::io {
namespace {

std::vector<uint8_t> Bytes(size_t size, int seed, bool compressible) {
  std::mt19937 random(seed);
  std::vector<uint8_t> bytes(size);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(compressible ? "abcabcd"[random() % 7] : random());
  return bytes;
}

class PagePartsTest : public ::testing::TestWithParam<arrow::Compression::type> {};

TEST_P(PagePartsTest, ReadAsOneByAnyReader) {
  const auto codec = arrow::util::Codec::Create(GetParam()).ValueOrDie();
  int seed = 0;
  for (const size_t head_bytes : {0, 1, 4, 7, 60, 61, 255, 256}) {
    for (const size_t rest_bytes : {1, 100, 127, 128, 65'536, 3'000'000}) {
      for (const bool compressible : {false, true}) {
        const std::vector<uint8_t> head = Bytes(head_bytes, ++seed, false), rest = Bytes(rest_bytes, ++seed, compressible);
        PageHeader header;
        header.value_count = 1;
        const auto page = CompressInParts(&header, head, rest, codec.get(), arrow::default_memory_pool()).ValueOrDie();
        const int64_t header_bytes = PageHeaderBytes(header).size();
        ASSERT_EQ(page.size(), header_bytes + header.compressed_bytes);
        std::vector<uint8_t> whole(head);
        whole.insert(whole.end(), rest.begin(), rest.end());
        ASSERT_EQ(header.uncompressed_bytes, static_cast<int32_t>(whole.size()));
        std::vector<uint8_t> read(whole.size());
        const auto read_bytes = codec->Decompress(header.compressed_bytes, page.data() + header_bytes,
                                                  static_cast<int64_t>(read.size()), read.data());
        ASSERT_TRUE(read_bytes.ok()) << read_bytes.status().ToString();
        ASSERT_EQ(*read_bytes, static_cast<int64_t>(whole.size()));
        ASSERT_EQ(read, whole) << head_bytes << " and " << rest_bytes;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Codecs, PagePartsTest, ::testing::Values(arrow::Compression::SNAPPY, arrow::Compression::ZSTD),
                         [](const auto& info) { return arrow::util::Codec::GetCodecAsString(info.param); });

TEST(PageParts, NotEveryCodecCan) {
  const auto codec = [](arrow::Compression::type type, int level) {
    return arrow::util::Codec::Create(type, level).ValueOrDie();
  };
  constexpr int kDefault = arrow::util::kUseDefaultCompressionLevel;
  EXPECT_TRUE(CanCompressInParts(*codec(arrow::Compression::SNAPPY, kDefault), 256));
  EXPECT_FALSE(CanCompressInParts(*codec(arrow::Compression::SNAPPY, kDefault), 257));
  EXPECT_TRUE(CanCompressInParts(*codec(arrow::Compression::ZSTD, 3), 1000));
  EXPECT_FALSE(CanCompressInParts(*codec(arrow::Compression::ZSTD, 4), 4));
}

}  // namespace
}  // namespace icebound::io
