// SPDX-License-Identifier: Apache-2.0
#include "iceberg/puffin/deletion_vector.h"

#include <arrow/io/memory.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <random>
#include <set>

#include "icebound/error.h"
#include "memory/memory_testing.h"

namespace icebound::iceberg::puffin {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string Unhex(std::string_view hex) {
  std::string bytes;
  for (size_t i = 0; i < hex.size(); i += 2) bytes += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  return bytes;
}
std::span<const uint8_t> AsBytes(std::string_view text) { return {reinterpret_cast<const uint8_t*>(text.data()), text.size()}; }

/// CRC-32 as the standard defines it, a bit at a time.
uint32_t SlowCrc(std::string_view bytes) {
  uint32_t crc = 0xffffffff;
  for (const char c : bytes) {
    crc ^= static_cast<uint8_t>(c);
    for (int i = 0; i < 8; ++i) crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320 : 0);
  }
  return ~crc;
}
std::string BigEndian(uint32_t value) {
  return {static_cast<char>(value >> 24), static_cast<char>(value >> 16), static_cast<char>(value >> 8),
          static_cast<char>(value)};
}
/// A blob around a vector's bytes.
std::string Blob(const std::string& vector) {
  const std::string body = Unhex("d1d33964") + vector;
  return BigEndian(static_cast<uint32_t>(body.size())) + body + BigEndian(SlowCrc(body));
}

class DeletionVectorTest : public testing::Test {
 protected:
  DeletionVectorTest() : ledger_(memory::MakeLedger(int64_t{64} << 20)), consumer_(ledger_->AddConsumer("deletes")) {}

  arrow::Result<DeletionVector> Parse(std::string_view blob) { return DeletionVector::Parse(AsBytes(blob), consumer_.get()); }
  std::string Error(std::string_view blob) {
    const auto vector = Parse(blob);
    EXPECT_EQ(GetErrorKind(vector.status()), ErrorKind::kCorruptData) << vector.status().ToString();
    return vector.status().message();
  }
  DeletionVector Of(const std::vector<int64_t>& positions) {
    DeletionVector vector(consumer_.get());
    EXPECT_TRUE(vector.Add(positions).ok());
    return vector;
  }
  static std::vector<int64_t> All(const DeletionVector& vector) {
    std::vector<int64_t> all;
    std::vector<int64_t> piece(97);
    for (int64_t from = 0;;) {
      const int64_t count = vector.Positions(from, piece);
      all.insert(all.end(), piece.begin(), piece.begin() + count);
      if (count < static_cast<int64_t>(piece.size())) return all;
      from = piece.back() + 1;
    }
  }

  memory::MemoryLedgerPtr ledger_;
  std::unique_ptr<memory::MemoryConsumer> consumer_;
};

// Key 0: one array container {1, 5}; key 3: one run container, 10 to 12.
const char kVector[] =
    "0200000000000000"
    "00000000"
    "3a300000"
    "01000000"
    "00000100"
    "10000000"
    "01000500"
    "03000000"
    "3b300000"
    "01"
    "00000200"
    "0100"
    "0a000200";

TEST_F(DeletionVectorTest, ReadsTheBytesOfTheFormat) {
  const auto vector = Parse(Blob(Unhex(kVector)));
  ASSERT_TRUE(vector.ok()) << vector.status().ToString();
  const int64_t high = int64_t{3} << 32;
  EXPECT_THAT(All(*vector), ElementsAre(1, 5, high + 10, high + 11, high + 12));
  EXPECT_EQ(vector->cardinality(), 5);
  EXPECT_TRUE(vector->Contains(high + 11));
  EXPECT_FALSE(vector->Contains(11));
  EXPECT_FALSE(vector->Contains(-1));
}

TEST_F(DeletionVectorTest, WritesTheBytesOfTheFormat) {
  EXPECT_EQ((*Of({5, 1, 1}).Serialize())->ToString(), Blob(Unhex("0100000000000000"
                                                                 "00000000"
                                                                 "3a300000"
                                                                 "01000000"
                                                                 "00000100"
                                                                 "10000000"
                                                                 "01000500")));
  EXPECT_EQ((*Of({10, 11, 12, 13, 14}).Serialize())->ToString(), Blob(Unhex("0100000000000000"
                                                                            "00000000"
                                                                            "3b300000"
                                                                            "01"
                                                                            "00000400"
                                                                            "0100"
                                                                            "0a000400")));
  EXPECT_EQ((*Of({}).Serialize())->ToString(), Blob(Unhex("0000000000000000")));
}

TEST_F(DeletionVectorTest, EveryDamageIsFound) {
  const std::string good = Blob(Unhex(kVector));
  for (size_t i = 0; i < good.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ (1 << bit));
      EXPECT_FALSE(Parse(bad).ok()) << i;
    }
    EXPECT_FALSE(Parse(good.substr(0, i)).ok()) << i;
  }
  EXPECT_THAT(Error(good + "x"), HasSubstr("says that it has"));
  EXPECT_THAT(Error("short"), HasSubstr("the least is 20"));
}

TEST_F(DeletionVectorTest, BadVectorsWithGoodChecksumsAreFound) {
  EXPECT_THAT(Error(Blob(Unhex("ffffffffffffff7f"))), HasSubstr("do not fit"));
  EXPECT_THAT(Error(Blob(Unhex("0100000000000000"))), HasSubstr("do not fit"));
  EXPECT_THAT(Error(Blob(Unhex("0000000000000000") + "xy")), HasSubstr("behind the last bitmap"));
  const std::string bitmap =
      "3a300000"
      "01000000"
      "00000100"
      "10000000"
      "01000500";
  EXPECT_THAT(Error(Blob(Unhex("0100000000000000"
                               "00000080" +
                               bitmap))),
              HasSubstr("negative"));
  EXPECT_THAT(Error(Blob(Unhex("0200000000000000"
                               "05000000" +
                               bitmap + "05000000" + bitmap))),
              HasSubstr("do not rise"));
  // Two values that do not rise, a cookie of nothing, a container beyond the end.
  EXPECT_THAT(Error(Blob(Unhex("0100000000000000"
                               "00000000"
                               "3a300000"
                               "01000000"
                               "00000100"
                               "10000000"
                               "05000100"))),
              HasSubstr("contradicts itself"));
  EXPECT_THAT(Error(Blob(Unhex("0100000000000000"
                               "00000000"
                               "42300000"
                               "01000000"))),
              HasSubstr("begins with"));
  EXPECT_THAT(Error(Blob(Unhex("0100000000000000"
                               "00000000"
                               "3a300000"
                               "ffffff00"
                               "00000100"))),
              HasSubstr("containers"));
  EXPECT_THAT(Error(Blob(Unhex("0100000000000000"
                               "00000000"
                               "3a300000"
                               "01000000"
                               "0000ff0f"
                               "10000000"
                               "01000500"))),
              HasSubstr("cut short"));
}

TEST_F(DeletionVectorTest, MutatedVectorsNeverCrash) {
  std::mt19937 random(5);
  std::vector<int64_t> positions;
  for (int i = 0; i < 20000; ++i) positions.push_back(i % 3 == 0 ? i : static_cast<int64_t>(random() % 400000));
  positions.push_back(int64_t{7} << 33);
  const std::string good = (*Of(positions).Serialize())->ToString();
  const std::string vector = good.substr(8, good.size() - 12);
  int accepted = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string bad = vector;
    for (int i = 0; i <= round % 4; ++i) bad[random() % (round % 2 == 0 ? 64 : bad.size())] = static_cast<char>(random());
    if (round % 5 == 0) bad.resize(random() % bad.size());
    const auto parsed = Parse(Blob(bad));
    if (!parsed.ok()) continue;
    ++accepted;
    EXPECT_EQ(static_cast<int64_t>(All(*parsed).size()), parsed->cardinality());
  }
  EXPECT_GT(accepted, 0);
}

TEST_F(DeletionVectorTest, HoldsWhatASetHolds) {
  std::mt19937_64 random(3);
  for (const int64_t range : {int64_t{1000}, int64_t{1} << 20, int64_t{1} << 34}) {
    std::set<int64_t> expected;
    std::vector<int64_t> positions;
    for (int i = 0; i < 30000; ++i) positions.push_back(static_cast<int64_t>(random() % static_cast<uint64_t>(range)));
    expected.insert(positions.begin(), positions.end());
    DeletionVector vector = Of(positions);
    EXPECT_EQ(All(vector), std::vector<int64_t>(expected.begin(), expected.end()));
    const auto again = Parse((*vector.Serialize())->ToString()).ValueOrDie();
    EXPECT_EQ(All(again), All(vector));
    // What a scan asks: rows of a batch, as bits.
    for (int64_t first = 0; first < std::min<int64_t>(range, 50000); first += 1001) {
      std::vector<uint8_t> bits(126, 0xff);
      const int64_t deleted = vector.ClearDeleted(first, 1001, bits.data());
      int64_t count = 0;
      for (int64_t i = 0; i < 1008; ++i) {
        const bool is_deleted = i < 1001 && expected.count(first + i) > 0;
        count += is_deleted ? 1 : 0;
        ASSERT_EQ((bits[static_cast<size_t>(i / 8)] >> (i % 8) & 1) == 0, is_deleted) << first + i;
      }
      EXPECT_EQ(deleted, count);
    }
  }
}

TEST_F(DeletionVectorTest, UnionHoldsBoth) {
  DeletionVector a = Of({1, 2, int64_t{5} << 32});
  const DeletionVector b = Of({2, 3, int64_t{4} << 32});
  ASSERT_TRUE(a.Union(b).ok());
  EXPECT_THAT(All(a), ElementsAre(1, 2, 3, int64_t{4} << 32, int64_t{5} << 32));
  EXPECT_THAT(All(b), ElementsAre(2, 3, int64_t{4} << 32));
}

TEST_F(DeletionVectorTest, MemoryIsReservedAndGivenBack) {
  // As spread as can be: a container each.
  std::vector<int64_t> positions;
  for (int64_t i = 0; i < 65536; ++i) positions.push_back(i << 16);
  {
    DeletionVector vector = Of(positions);
    EXPECT_GT(vector.reserved_bytes(), 65536 * 32);
    const std::string blob = (*vector.Serialize())->ToString();
    const DeletionVector other = Parse(blob).ValueOrDie();
    EXPECT_GT(other.reserved_bytes(), 65536 * 32);
    const DeletionVector moved = std::move(vector);
    EXPECT_EQ(moved.cardinality(), 65536);
  }
  EXPECT_EQ(consumer_->reserved_bytes(), 0);
  {
    // A small vector that is kept costs little, however it came to be.
    DeletionVector added = Of({1, 2, 3, 100});
    ASSERT_TRUE(added.Compact().ok());
    const DeletionVector parsed = Parse((*added.Serialize())->ToString()).ValueOrDie();
    EXPECT_LT(added.reserved_bytes(), 2048);
    EXPECT_LT(parsed.reserved_bytes(), 2048);
    std::vector<int64_t> run(1000000);
    std::iota(run.begin(), run.end(), 0);
    DeletionVector runs = Of(run);
    EXPECT_GT(runs.reserved_bytes(), 100000);
    ASSERT_TRUE(runs.Compact().ok());
    EXPECT_LT(runs.reserved_bytes(), 8192);
  }
  const auto other = ledger_->AddConsumer("other");
  ASSERT_TRUE(other->Reserve(ledger_->granted_bytes() - (2 << 20)).ok());
  DeletionVector vector(consumer_.get());
  EXPECT_EQ(GetErrorKind(vector.Add(positions)), ErrorKind::kMemoryLimit);
  other->Release(other->reserved_bytes());
}

TEST_F(DeletionVectorTest, ReadsARangeOfAFile) {
  const std::string blob = Blob(Unhex(kVector));
  arrow::io::BufferReader file(arrow::Buffer::FromString("PFA1" + blob + "tail"));
  const auto size = static_cast<int64_t>(blob.size());
  EXPECT_EQ(DeletionVector::Read(&file, "d.puffin", 4, size, consumer_.get())->cardinality(), 5);
  for (const auto& [offset, bytes] :
       std::vector<std::pair<int64_t, int64_t>>{{5, size}, {4, size - 1}, {4, size + 100}, {-1, 5}, {4, -1}, {1000, 5}}) {
    const auto read = DeletionVector::Read(&file, "d.puffin", offset, bytes, consumer_.get());
    EXPECT_EQ(GetErrorKind(read.status()), ErrorKind::kCorruptData) << read.status().ToString();
    EXPECT_THAT(read.status().message(), testing::StartsWith("d.puffin, deletion vector at byte " + std::to_string(offset)));
  }
}

}  // namespace
}  // namespace icebound::iceberg::puffin
