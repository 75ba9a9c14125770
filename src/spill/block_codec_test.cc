// SPDX-License-Identifier: Apache-2.0
#include "spill/block_codec.h"

#include <gtest/gtest.h>

#include <random>

#include "icebound/error.h"
#include "spill/block_checksum.h"
#include "spill/block_index.h"
#include "spill/spill_testing.h"

namespace icebound::spill {
namespace {

TEST(BlockHeadTest, RoundTripsAndRefusesWhatCannotBeAHead) {
  BlockHead head;
  head.codec = BlockCodec::kLz4;
  head.rows = 4'000'000'000u;
  head.raw_bytes = 70000;
  head.stored_bytes = 12345;
  head.checksum = 0x0123456789abcdef;
  std::array<uint8_t, kBlockHeadBytes> bytes;
  EncodeHead(head, bytes.data());
  ASSERT_OK_AND_ASSIGN(const BlockHead back, DecodeHead(bytes.data()));
  EXPECT_EQ(back.codec, head.codec);
  EXPECT_EQ(back.rows, head.rows);
  EXPECT_EQ(back.raw_bytes, head.raw_bytes);
  EXPECT_EQ(back.stored_bytes, head.stored_bytes);
  EXPECT_EQ(back.checksum, head.checksum);

  const auto refused = [](BlockHead bad) {
    std::array<uint8_t, kBlockHeadBytes> encoded;
    EncodeHead(bad, encoded.data());
    return GetErrorKind(DecodeHead(encoded.data()).status()) == ErrorKind::kCorruptData;
  };
  BlockHead bad = head;
  bad.codec = static_cast<BlockCodec>(2);
  EXPECT_TRUE(refused(bad));
  bad = head;
  bad.raw_bytes = kMaxBlockBytes + 1;
  EXPECT_TRUE(refused(bad));
  bad = head;
  bad.stored_bytes = 2 * kMaxBlockBytes + 1;
  EXPECT_TRUE(refused(bad));
  bad = head;
  bad.codec = BlockCodec::kNone;  // stored must be raw then
  EXPECT_TRUE(refused(bad));
  bytes[0] ^= 1;
  EXPECT_EQ(GetErrorKind(DecodeHead(bytes.data()).status()), ErrorKind::kCorruptData);
}

TEST(BlockChecksumTest, DependsOnEveryByteTheHeadAndThePlaceButNotOnThePieces) {
  std::mt19937_64 random(5);
  const auto bytes = MakeBytes(1000, Content::kRandom, random);
  const BlockHead head{BlockCodec::kNone, 1, 1000, 1000, 0};
  const auto sum = [](const std::vector<uint8_t>& data, size_t cut, const BlockHead& with, int64_t offset) {
    BlockChecksum checksum(offset);
    checksum.Update(std::span<const uint8_t>(data).first(cut));
    checksum.Update(std::span<const uint8_t>(data).subspan(cut));
    return checksum.Finish(with);
  };
  const uint64_t expected = sum(bytes, 0, head, 4096);
  EXPECT_EQ(sum(bytes, 333, head, 4096), expected);
  EXPECT_NE(sum(bytes, 0, head, 8192), expected);
  BlockHead other = head;
  other.checksum = 99;  // takes no part
  EXPECT_EQ(sum(bytes, 0, other, 4096), expected);
  other.rows = 2;
  EXPECT_NE(sum(bytes, 0, other, 4096), expected);
  for (size_t i = 0; i < bytes.size(); ++i) {
    auto changed = bytes;
    changed[i] ^= 0x40;
    ASSERT_NE(sum(changed, 0, head, 4096), expected) << i;
  }
}

TEST(PieceTest, PiecesRoundTripInOneGoAndCutAnywhere) {
  std::mt19937_64 random(6);
  for (int round = 0; round < 200; ++round) {
    std::vector<uint8_t> raw, stored;
    const int pieces = 1 + static_cast<int>(random() % 4);
    for (int i = 0; i < pieces; ++i) {
      const auto piece = MakeBytes(1 + static_cast<int64_t>(random() % 3000), static_cast<Content>(random() % 4), random);
      std::vector<uint8_t> out(static_cast<size_t>(EncodedPieceBytesMax(static_cast<int64_t>(piece.size()))));
      out.resize(static_cast<size_t>(EncodePiece(piece, out)));
      EXPECT_LE(out.size(), piece.size() + kPieceHeadBytes);
      raw.insert(raw.end(), piece.begin(), piece.end());
      stored.insert(stored.end(), out.begin(), out.end());
    }
    const size_t cut = random() % (stored.size() + 1);
    std::vector<uint8_t> out(raw.size());
    ASSERT_OK_AND_ASSIGN(const DecodedPieces first, DecodePieces(std::span<const uint8_t>(stored).first(cut), out));
    EXPECT_LE(first.stored_bytes, static_cast<int64_t>(cut));
    ASSERT_OK_AND_ASSIGN(const DecodedPieces rest, DecodePieces(std::span<const uint8_t>(stored).subspan(first.stored_bytes),
                                                                std::span(out).subspan(first.raw_bytes)));
    EXPECT_EQ(first.stored_bytes + rest.stored_bytes, static_cast<int64_t>(stored.size()));
    EXPECT_EQ(out, raw);
  }
}

TEST(PieceTest, GarbageIsAnErrorAndNeverLeavesTheOutput) {
  // ASan sees what goes beyond; here it only has to end.
  std::mt19937_64 random(7);
  int refused = 0;
  for (int round = 0; round < 5000; ++round) {
    const auto raw = MakeBytes(500, Content::kText, random);
    std::vector<uint8_t> stored(static_cast<size_t>(EncodedPieceBytesMax(500)));
    stored.resize(static_cast<size_t>(EncodePiece(raw, stored)));
    for (int i = 0; i < 3; ++i) stored[random() % stored.size()] = static_cast<uint8_t>(random());
    std::vector<uint8_t> out(500);
    refused += DecodePieces(stored, out).ok() ? 0 : 1;
  }
  EXPECT_GT(refused, 0);
}

TEST(PieceCursorTest, PiecesAreThePartsInOrderForAllCuts) {
  std::mt19937_64 random(8);
  std::vector<uint8_t> gather(kGatherBytes);
  for (int round = 0; round < 100; ++round) {
    std::vector<std::vector<uint8_t>> parts(random() % 30);
    std::vector<uint8_t> expected;
    for (auto& part : parts) {
      const int64_t sizes[] = {0,
                               1,
                               static_cast<int64_t>(random() % 200),
                               static_cast<int64_t>(random() % (2 * kGatherBytes)),
                               kGatherBytes,
                               static_cast<int64_t>(random() % (2 * kPieceBytes))};
      part = MakeBytes(sizes[random() % 6], Content::kText, random);
      expected.insert(expected.end(), part.begin(), part.end());
    }
    const std::vector<std::span<const uint8_t>> spans(parts.begin(), parts.end());
    PieceCursor cursor(spans, gather);
    std::vector<uint8_t> seen;
    size_t pieces = 0;
    for (auto piece = cursor.Next(); !piece.empty(); piece = cursor.Next()) {
      ASSERT_LE(static_cast<int64_t>(piece.size()), kPieceBytes);
      seen.insert(seen.end(), piece.begin(), piece.end());
      ++pieces;
    }
    EXPECT_EQ(seen, expected);
    // No flood of tiny pieces: short parts are gathered; each long part may end with a short piece and have one before it.
    EXPECT_LE(pieces, 1 + 2 * expected.size() / kGatherBytes + parts.size() / 2);
  }
}

TEST(CompressionGaugeTest, PausesWhileItDoesNotPayAndLooksAgain) {
  constexpr int64_t kBlock = CompressionGauge::kWindowBytes / 4;
  CompressionGauge gauge;
  const auto feed = [&](int64_t bytes, double ratio) {
    int64_t compressed = 0;
    for (int64_t done = 0; done < bytes; done += kBlock) {
      if (gauge.ShouldCompress()) {
        compressed += kBlock;
        gauge.AddCompressed(kBlock, static_cast<int64_t>(ratio * kBlock));
      } else {
        gauge.AddPlain(kBlock);
      }
    }
    return compressed;
  };
  EXPECT_EQ(feed(int64_t{64} << 20, 0.5), int64_t{64} << 20) << "pays: every block";
  EXPECT_EQ(feed(int64_t{64} << 20, 0.87), int64_t{64} << 20) << "13 % still pay";
  const int64_t useless = int64_t{4} << 30;
  EXPECT_LE(feed(useless, 0.95), 12 * CompressionGauge::kWindowBytes) << "does not pay: a window now and then";
  EXPECT_FALSE(gauge.ShouldCompress());
  // The next look finds compressible data, and compression stays on.
  EXPECT_GE(feed(2 * CompressionGauge::kLastPauseBytes, 0.4), CompressionGauge::kLastPauseBytes);
  EXPECT_TRUE(gauge.ShouldCompress());
}

TEST(BlockIndexTest, FindsAPositionNearEveryBlockInAFixedSize) {
  for (const int64_t blocks : {1, 2, 127, 128, 129, 1000, 100'000}) {
    BlockIndex index;
    for (int64_t i = 0; i < blocks; ++i) index.Add(i, 10 * i);
    int64_t farthest = 0;
    for (int64_t i = 0; i <= blocks; ++i) {
      const BlockIndex::Position position = index.Floor(i);
      ASSERT_LE(position.block, i);
      ASSERT_EQ(position.offset, 10 * position.block);
      farthest = std::max(farthest, i - position.block);
    }
    EXPECT_LE(farthest, std::max<int64_t>(1, 4 * blocks / static_cast<int64_t>(BlockIndex::kEntriesMax)));
  }
  EXPECT_EQ(BlockIndex().Floor(0).offset, 0);
}

}  // namespace
}  // namespace icebound::spill
