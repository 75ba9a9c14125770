// SPDX-License-Identifier: Apache-2.0
//
// Hashes are equal for what sort keys call equal (their test has its own oracle), differ otherwise, and spread.
#include "row/hash.h"

#include <arrow/json/from_string.h>
#include <gmock/gmock.h>

#include <bit>

#include "icebound/error.h"
#include "row/arrays_for_test.h"
#include "row/sort_key.h"
#include "row/types_for_test.h"

namespace icebound::row {
namespace {

using arrow::Array;
using test::NamedType;
using test::Plain;
using test::Random;
using test::RandomArray;

std::vector<uint64_t> Hash(const arrow::ArrayVector& columns, uint64_t seed = 0, int64_t first_row = 0, int64_t rows = -1) {
  std::vector<std::shared_ptr<arrow::DataType>> types;
  for (const auto& column : columns) types.push_back(column->type());
  std::vector<uint64_t> hashes(static_cast<size_t>(rows < 0 ? columns[0]->length() : rows));
  const auto status = RowHasher::Make(types, seed).ValueOrDie()->Hash(columns, first_row, hashes);
  EXPECT_TRUE(status.ok()) << status.ToString();
  return hashes;
}

std::shared_ptr<Array> FromJson(const std::shared_ptr<arrow::DataType>& type, std::string_view json) {
  return arrow::json::ArrayFromJSONString(type, json).ValueOrDie();
}

class HashTypeTest : public testing::TestWithParam<NamedType> {};

TEST_P(HashTypeTest, EqualExactlyWhenTheKeysAre) {
  Random random(7);
  const auto array = RandomArray(GetParam().type, 320, 0.1, random)->Slice(11);
  const auto hashes = Hash({array});
  const auto encoder = SortKeyEncoder::Make({{GetParam().type}}).ValueOrDie();
  std::vector<uint32_t> lengths(hashes.size(), 0);
  ASSERT_TRUE(encoder->AddLengths({array}, 0, lengths).ok());
  std::vector<std::vector<uint8_t>> keys;
  std::vector<uint8_t*> cursors;
  for (const uint32_t length : lengths) cursors.push_back(keys.emplace_back(length).data());
  ASSERT_TRUE(encoder->Encode({array}, 0, cursors).ok());
  for (size_t i = 0; i < keys.size(); ++i) {
    for (size_t j = 0; j < i; ++j) ASSERT_EQ(hashes[i] == hashes[j], keys[i] == keys[j]) << "rows " << i << " and " << j;
  }
}

TEST_P(HashTypeTest, RangesSlicesAndDictionariesDoNotMatter) {
  Random random(8);
  const auto array = RandomArray(GetParam().type, 900, 0.1, random);
  const auto all = Hash({array});
  const auto range = Hash({array}, 0, 13, 700);
  EXPECT_EQ(range, Hash({array->Slice(13, 700)}));
  EXPECT_EQ(range, std::vector<uint64_t>(all.begin() + 13, all.begin() + 713));
  EXPECT_EQ(all, Hash({Plain(array)}));
}

INSTANTIATE_TEST_SUITE_P(Types, HashTypeTest, testing::ValuesIn(test::TestTypes()),
                         [](const auto& info) { return info.param.name; });

TEST(HashTest, ValuesHashAlikeInEveryTypeThatCarriesThem) {
  const std::string integers = "[-7, 0, 127, null]";
  const auto expected = Hash({FromJson(arrow::int64(), integers)});
  for (const auto& type : {arrow::int8(), arrow::int16(), arrow::int32()}) EXPECT_EQ(Hash({FromJson(type, integers)}), expected);

  const std::string decimals = R"(["-7", "0", "127", null])";
  for (const auto& type : {arrow::decimal128(9, 0), arrow::decimal128(18, 0), arrow::decimal128(38, 0), arrow::decimal256(76, 0),
                           arrow::decimal64(5, 0)}) {
    EXPECT_EQ(Hash({FromJson(type, decimals)}), expected) << type->ToString();
  }
  const std::string large = R"(["-99999999999999999999999", "18446744073709551616", "36893488147419103232"])";
  EXPECT_EQ(Hash({FromJson(arrow::decimal128(38, 0), large)}).size(), 3);

  const std::string floats = "[1.5, -0.0, NaN, -Inf, null]";
  EXPECT_EQ(Hash({FromJson(arrow::float32(), floats)}), Hash({FromJson(arrow::float64(), floats)}));

  const std::string texts = R"(["", "a", "longer than twelve bytes", null])";
  const auto text_hashes = Hash({FromJson(arrow::utf8(), texts)});
  for (const auto& type : {arrow::large_utf8(), arrow::utf8_view(), arrow::binary(), arrow::binary_view()}) {
    EXPECT_EQ(Hash({FromJson(type, texts)}), text_hashes) << type->ToString();
  }
}

TEST(HashTest, ColumnOrderNullsAndSeedsMatter) {
  const auto one = FromJson(arrow::int64(), "[1]");
  const auto two = FromJson(arrow::int64(), "[2]");
  const auto null = FromJson(arrow::int64(), "[null]");
  const auto zero = FromJson(arrow::int64(), "[0]");
  EXPECT_NE(Hash({one, two}), Hash({two, one}));
  EXPECT_NE(Hash({one, null}), Hash({null, one}));
  EXPECT_NE(Hash({null}), Hash({zero}));
  EXPECT_NE(Hash({one}, 1), Hash({one}, 2));
  const auto nested = arrow::list(arrow::list(arrow::int64()));
  const auto lists = Hash({FromJson(nested, "[[[1], [2]], [[1, 2]], [[1, 2], []], [[], [1, 2]], [], [null], null]")});
  for (size_t i = 0; i < lists.size(); ++i) {
    for (size_t j = 0; j < i; ++j) EXPECT_NE(lists[i], lists[j]);
  }
}

TEST(HashTest, EveryInputBitFlipsAboutHalfOfTheOutput) {
  for (int bit = 0; bit < 64; ++bit) {
    int64_t flipped = 0;
    constexpr int kWords = 1000;
    for (uint64_t word = 0; word < kWords; ++word) flipped += std::popcount(Mix(word) ^ Mix(word ^ (uint64_t{1} << bit)));
    EXPECT_NEAR(static_cast<double>(flipped) / kWords, 32, 1.5) << "bit " << bit;
  }
}

TEST(HashTest, ConsecutiveKeysSpreadOverHighAndLowBits) {
  arrow::Int64Builder builder;
  constexpr int64_t kKeys = 1 << 16;
  constexpr int64_t kBuckets = 64;
  for (int64_t i = 0; i < kKeys; ++i) ASSERT_TRUE(builder.Append(i * 4).ok());
  const auto keys = builder.Finish().ValueOrDie();
  for (const int shift : {0, 58}) {
    std::vector<int64_t> counts(kBuckets, 0);
    for (const uint64_t hash : Hash({keys})) ++counts[(hash >> shift) % kBuckets];
    // 1024 a bucket, standard deviation 32: six of them either way.
    for (const int64_t count : counts) EXPECT_NEAR(static_cast<double>(count), kKeys / kBuckets, 192);
  }
}

TEST(HashTest, DigestIgnoresOrderAndNothingElse) {
  Random random(9);
  const auto hashes = Hash({RandomArray(arrow::utf8(), 1000, 0.1, random)});
  RowSetDigest whole;
  whole.Add(hashes);
  auto shuffled = hashes;
  std::shuffle(shuffled.begin(), shuffled.end(), random);
  RowSetDigest front;
  RowSetDigest back;
  front.Add(std::span(shuffled).first(300));
  back.Add(std::span(shuffled).subspan(300));
  front.Merge(back);
  EXPECT_EQ(front, whole);

  const auto digest_of = [](std::vector<uint64_t> some) {
    RowSetDigest digest;
    digest.Add(some);
    return digest;
  };
  auto changed = hashes;
  changed[5] ^= 1;
  EXPECT_NE(digest_of(changed), whole);
  changed = hashes;
  changed.pop_back();
  EXPECT_NE(digest_of(changed), whole);
  changed = hashes;
  changed[0] = changed[1];
  EXPECT_EQ(hashes[0] == hashes[1], digest_of(changed) == whole);
  // Two changes that cancel out in one sum do not in the other.
  changed = hashes;
  changed[3] += 1;
  changed[4] -= 1;
  EXPECT_EQ(digest_of(changed).sum, whole.sum);
  EXPECT_NE(digest_of(changed), whole);
}

void ExpectError(const arrow::Status& status, ErrorKind kind, const std::string& text) {
  EXPECT_EQ(GetErrorKind(status), kind) << status.ToString();
  EXPECT_THAT(status.ToString(), testing::HasSubstr(text));
}

TEST(HashTest, RefusesWhatItCannotHash) {
  ExpectError(RowHasher::Make({arrow::run_end_encoded(arrow::int32(), arrow::int8())}).status(), ErrorKind::kUnsupported,
              "hash column 1");
  const auto hasher = RowHasher::Make({arrow::int32()}).ValueOrDie();
  const auto ints = FromJson(arrow::int32(), "[1, 2]");
  std::vector<uint64_t> hashes(2);
  ExpectError(hasher->Hash({}, 0, hashes), ErrorKind::kInternal, "0 columns for 1");
  ExpectError(hasher->Hash({ints}, 1, hashes), ErrorKind::kInternal, "rows 1 to 3");
  ExpectError(hasher->Hash({FromJson(arrow::utf8(), R"(["a", "b"])")}, 0, hashes), ErrorKind::kInternal, "string");
  const auto type = arrow::decimal128(9, 0);
  arrow::Decimal128Builder builder(type);
  ASSERT_TRUE(builder.Append(arrow::Decimal128(int64_t{1} << 40)).ok());
  hashes.resize(1);
  ExpectError(RowHasher::Make({type}).ValueOrDie()->Hash({builder.Finish().ValueOrDie()}, 0, hashes), ErrorKind::kExecution,
              "decimal128(9, 0)");
}

}  // namespace
}  // namespace icebound::row
