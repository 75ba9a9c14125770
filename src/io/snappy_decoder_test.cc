// SPDX-License-Identifier: Apache-2.0
//
// Against Arrow's codec: what it compresses comes back, what is damaged is either refused or decoded as it decodes it, and no
// byte beside the text changes.
#include "io/snappy_decoder.h"

#include <arrow/util/compression.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace icebound::io {
namespace {

constexpr uint8_t kUntouched = 0xA5;

using Random = std::mt19937_64;

std::unique_ptr<arrow::util::Codec> ArrowCodec() { return arrow::util::Codec::Create(arrow::Compression::SNAPPY).ValueOrDie(); }

std::vector<uint8_t> Compress(const std::vector<uint8_t>& text) {
  const auto codec = ArrowCodec();
  std::vector<uint8_t> block(static_cast<size_t>(codec->MaxCompressedLen(static_cast<int64_t>(text.size()), text.data())));
  block.resize(static_cast<size_t>(
      codec->Compress(static_cast<int64_t>(text.size()), text.data(), static_cast<int64_t>(block.size()), block.data())
          .ValueOrDie()));
  return block;
}

/// The text, or nothing when it is refused. Looks after the bytes beside it.
std::optional<std::vector<uint8_t>> Decode(const std::vector<uint8_t>& block) {
  const auto opened = OpenSnappyBlock(block);
  if (!opened.has_value()) return std::nullopt;
  constexpr int64_t kGuardBytes = 100;
  std::vector<uint8_t> room(static_cast<size_t>(opened->text_bytes + 2 * kGuardBytes), kUntouched);
  const bool decoded = DecodeSnappy(*opened, room.data() + kGuardBytes);
  const auto is_untouched = [](uint8_t byte) { return byte == kUntouched; };
  EXPECT_TRUE(std::all_of(room.begin(), room.begin() + kGuardBytes, is_untouched));
  EXPECT_TRUE(std::all_of(room.end() - kGuardBytes, room.end(), is_untouched));
  if (!decoded) return std::nullopt;
  return std::vector<uint8_t>(room.begin() + kGuardBytes, room.end() - kGuardBytes);
}

/// Noise, repeated patterns of any length, numbers with zeros before them, and long runs.
std::vector<uint8_t> RandomText(size_t bytes, Random& random) {
  std::vector<uint8_t> text;
  while (text.size() < bytes) {
    switch (random() % 5) {
      case 0:
        for (size_t i = random() % 100; i > 0; --i) text.push_back(static_cast<uint8_t>(random()));
        break;
      case 1: {
        std::vector<uint8_t> pattern(1 + random() % 40);
        for (uint8_t& byte : pattern) byte = static_cast<uint8_t>(random());
        for (size_t i = random() % 20; i > 0; --i) text.insert(text.end(), pattern.begin(), pattern.end());
        break;
      }
      case 2:
        for (size_t i = random() % 60; i > 0; --i) {
          const uint64_t number = random() % 1000000;
          const auto* bytes_of = reinterpret_cast<const uint8_t*>(&number);
          text.insert(text.end(), bytes_of, bytes_of + 8);
        }
        break;
      case 3:
        text.insert(text.end(), random() % 300, static_cast<uint8_t>(random()));
        break;
      default:
        if (!text.empty()) {
          const size_t from = random() % text.size();
          const std::vector<uint8_t> again(text.begin() + static_cast<int64_t>(from), text.end());
          text.insert(text.end(), again.begin(), again.begin() + static_cast<int64_t>(std::min<size_t>(again.size(), 200)));
        }
    }
  }
  text.resize(bytes);
  return text;
}

TEST(SnappyDecoder, GivesBackWhatWasCompressed) {
  Random random(1);
  for (int trial = 0; trial < 2000; ++trial) {
    const std::vector<uint8_t> text = RandomText(random() % (trial % 50 == 0 ? 200000 : 700), random);
    const auto decoded = Decode(Compress(text));
    ASSERT_TRUE(decoded.has_value()) << text.size();
    ASSERT_EQ(*decoded, text);
  }
}

// Elements that the compressor does not make: copies of every length from every distance, with 1, 2 and 4 bytes for it.
TEST(SnappyDecoder, CopiesAnyLengthFromAnyDistance) {
  for (uint32_t distance = 1; distance <= 70; ++distance) {
    for (uint32_t bytes = 1; bytes <= 64; ++bytes) {
      for (const int kind : {1, 2, 3}) {
        if (kind == 1 && (bytes < 4 || bytes > 11)) continue;
        for (const size_t behind : {size_t{0}, size_t{30}, size_t{100}}) {
          std::vector<uint8_t> elements;
          std::vector<uint8_t> text;
          const auto literal = [&](size_t count) {
            for (size_t at = 0; at < count; at += 60) {
              const size_t part = std::min<size_t>(60, count - at);
              elements.push_back(static_cast<uint8_t>((part - 1) << 2));
              for (size_t i = 0; i < part; ++i) {
                text.push_back(static_cast<uint8_t>(text.size() * 37 + 11));
                elements.push_back(text.back());
              }
            }
          };
          literal(80);
          if (kind == 1) {
            elements.push_back(static_cast<uint8_t>(1 | (bytes - 4) << 2 | (distance >> 8) << 5));
            elements.push_back(static_cast<uint8_t>(distance));
          } else {
            elements.push_back(static_cast<uint8_t>(kind | (bytes - 1) << 2));
            for (int i = 0; i < (kind == 2 ? 2 : 4); ++i) elements.push_back(static_cast<uint8_t>(distance >> (8 * i)));
          }
          for (uint32_t i = 0; i < bytes; ++i) text.push_back(text[text.size() - distance]);
          literal(behind);
          std::vector<uint8_t> block{static_cast<uint8_t>(text.size() % 128 | 0x80), static_cast<uint8_t>(text.size() / 128)};
          block.insert(block.end(), elements.begin(), elements.end());
          ASSERT_EQ(Decode(block), text) << distance << " " << bytes << " " << kind << " " << behind;
        }
      }
    }
  }
}

TEST(SnappyDecoder, DamagedBlocksAreRefusedOrDecodedAlike) {
  Random random(2);
  const auto codec = ArrowCodec();
  int refused = 0;
  for (int trial = 0; trial < 5000; ++trial) {
    std::vector<uint8_t> block = Compress(RandomText(random() % 600, random));
    for (size_t changes = 1 + random() % 3; changes > 0; --changes) {
      if (random() % 4 == 0) {
        block.resize(random() % (block.size() + 1));
      } else if (!block.empty()) {
        block[random() % block.size()] = static_cast<uint8_t>(random());
      }
    }
    const auto decoded = Decode(block);
    if (!decoded.has_value()) {
      ++refused;
      continue;
    }
    std::vector<uint8_t> expected(decoded->size());
    const auto bytes = codec->Decompress(static_cast<int64_t>(block.size()), block.data(), static_cast<int64_t>(expected.size()),
                                         expected.data());
    ASSERT_TRUE(bytes.ok()) << bytes.status().ToString();
    ASSERT_EQ(*decoded, expected);
  }
  EXPECT_GT(refused, 500);
  EXPECT_FALSE(OpenSnappyBlock({}).has_value());
}

TEST(SnappyDecoder, AFewBytesAreNoLongText) {
  const std::vector<uint8_t> block{0xFF, 0xFF, 0xFF, 0x7F, 0x00, 'a'};  // claims 256 MiB
  EXPECT_FALSE(OpenSnappyBlock(block).has_value());
  const std::vector<uint8_t> wide{0xFF, 0xFF, 0xFF, 0xFF, 0x7F, 0x00};  // more than 32 bits
  EXPECT_FALSE(OpenSnappyBlock(wide).has_value());
}

}  // namespace
}  // namespace icebound::io
