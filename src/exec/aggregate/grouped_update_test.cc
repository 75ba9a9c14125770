// SPDX-License-Identifier: Apache-2.0
//
// Updates by group against updates row by row, and codes of keys against the keys.
#include "exec/aggregate/grouped_update.h"

#include <arrow/api.h>
#include <arrow/compute/api.h>
#include <arrow/json/from_string.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "exec/aggregate/key_codes.h"
#include "row/arrays_for_test.h"

namespace icebound::exec::aggregate {
namespace {

using row::test::OneIn;
using row::test::Random;
using row::test::RandomInteger;
using row::test::Uniform;

constexpr uint32_t kOffset = 5;
constexpr size_t kRowBytes = 48;

/// A slice of rows in random groups.
struct Slice {
  std::vector<uint8_t> valid;
  std::vector<int64_t> ints;
  std::vector<Int128> wides;
  std::vector<double> doubles;
  std::vector<uint16_t> numbers;

  /// `bits`: how large values are.
  Slice(int32_t count, int32_t groups, int bits, Random& random) {
    for (int32_t i = 0; i < count; ++i) {
      valid.push_back(OneIn(random, 4) ? 0 : 1);
      const int64_t bound = INT64_MAX >> (64 - bits);
      ints.push_back(OneIn(random, 8) ? (OneIn(random, 2) ? bound : -bound - 1) : Uniform(random, -bound - 1, bound));
      wides.push_back(OneIn(random, 50) && bits > 60 ? static_cast<Int128>(RandomInteger(random)) << 60 : ints.back());
      doubles.push_back(static_cast<double>(Uniform(random, -1000, 1000)) / 7);
      numbers.push_back(static_cast<uint16_t>(Uniform(random, 0, groups - 1)));
    }
  }
  SliceValues Values(bool with_nulls) const {
    SliceValues values;
    values.valid = with_nulls ? valid.data() : nullptr;
    values.ints = ints.data();
    values.wides = reinterpret_cast<const uint8_t*>(wides.data());
    values.doubles = doubles.data();
    return values;
  }
};

/// Rows of groups with states that have seen something, or nothing.
struct Rows {
  std::vector<std::vector<uint8_t>> bytes;
  std::vector<uint8_t*> places;

  explicit Rows(int32_t groups) : bytes(static_cast<size_t>(groups), std::vector<uint8_t>(kRowBytes, 0)) {
    for (auto& row : bytes) places.push_back(row.data());
  }
};

TEST(GroupedUpdate, IsThatOfEveryRow) {
  Random random(1);
  int taken = 0;
  for (int trial = 0; trial < 400; ++trial) {
    const auto groups = static_cast<int32_t>(std::vector<int64_t>{1, 2, 4, 63, 64, 65, 1024}[Uniform(random, 0, 6)]);
    const auto count = static_cast<int32_t>(OneIn(random, 2) ? kSliceRows : Uniform(random, 1, kSliceRows));
    const bool one_group = groups == 1 && OneIn(random, 2);
    const auto bits = static_cast<int>(std::vector<int64_t>{4, 52, 53, 64}[Uniform(random, 0, 3)]);
    for (const StateKind kind : {StateKind::kCount, StateKind::kSumInt, StateKind::kSumWide, StateKind::kSumDouble}) {
      SCOPED_TRACE(fmt::format("kind {} groups {} rows {} bits {}", static_cast<int>(kind), groups, count, bits));
      Rows expected(groups);
      Rows actual(groups);
      for (int slices = 0; slices < 2; ++slices) {
        const Slice slice(count, groups, bits, random);
        const SliceValues values = slice.Values(OneIn(random, 2));
        std::vector<uint8_t*> rows;
        std::vector<uint8_t*> actual_rows;
        for (int32_t i = 0; i < count; ++i) {
          rows.push_back(expected.places[slice.numbers[static_cast<size_t>(i)]]);
          actual_rows.push_back(actual.places[slice.numbers[static_cast<size_t>(i)]]);
        }
        UpdateStates(kind, kOffset, rows.data(), count, values, nullptr);
        const SliceGroups by_group{count, one_group ? nullptr : slice.numbers.data(), groups, actual.places.data()};
        std::vector<int32_t> counts(static_cast<size_t>(groups));
        CountRows(by_group, counts.data());
        if (UpdateGroups(kind, kOffset, by_group, counts.data(), values)) {
          ++taken;
        } else {
          EXPECT_TRUE(bits > 52 || kind == StateKind::kSumDouble) << "small values take the short way";
          UpdateStates(kind, kOffset, actual_rows.data(), count, values, nullptr);
        }
      }
      EXPECT_EQ(actual.bytes, expected.bytes);
    }
  }
  EXPECT_GT(taken, 1000);
}

std::shared_ptr<arrow::Array> FromJson(const std::shared_ptr<arrow::DataType>& type, std::string_view json) {
  return arrow::json::ArrayFromJSONString(type, json).ValueOrDie();
}

/// The key of a row as text.
std::string KeyOf(const arrow::ArrayVector& columns, int64_t row) {
  std::string key;
  for (const auto& column : columns) {
    std::shared_ptr<arrow::Scalar> value = column->GetScalar(row).ValueOrDie();
    if (value->is_valid && value->type->id() == arrow::Type::DICTIONARY) {
      value = static_cast<const arrow::DictionaryScalar&>(*value).GetEncodedValue().ValueOrDie();
    }
    key += value->is_valid ? "v" + value->ToString() : "null";
    key += '|';
  }
  return key;
}

/// Texts of all lengths that fit, in each layout.
std::shared_ptr<arrow::Array> FewTexts(int64_t rows, bool nulls, Random& random) {
  std::vector<std::string> texts;
  const int64_t length = Uniform(random, 0, static_cast<int64_t>(ShortTexts::kBytesMax));
  for (int i = 0; i < 4; ++i) {
    texts.emplace_back(static_cast<size_t>(std::min<int64_t>(length + i % 2, ShortTexts::kBytesMax)), 'a');
    for (char& byte : texts.back()) byte = static_cast<char>(OneIn(random, 6) ? 0 : 'a');
  }
  arrow::StringBuilder builder;
  for (int64_t i = 0; i < rows + 3; ++i) {
    EXPECT_TRUE(
        (nulls && OneIn(random, 5) ? builder.AppendNull() : builder.Append(texts[static_cast<size_t>(Uniform(random, 0, 3))]))
            .ok());
  }
  const auto types =
      std::vector<std::shared_ptr<arrow::DataType>>{arrow::utf8(), arrow::large_utf8(), arrow::utf8_view(), arrow::binary()};
  const auto& type = types[static_cast<size_t>(Uniform(random, 0, 3))];
  return arrow::compute::Cast(*builder.Finish().ValueOrDie(), type).ValueOrDie()->Slice(3);
}

/// A column of few values, sliced, with or without nulls.
std::shared_ptr<arrow::Array> FewValues(int64_t rows, Random& random) {
  const std::vector<std::shared_ptr<arrow::DataType>> types{
      arrow::boolean(), arrow::int8(),   arrow::uint8(),         arrow::int16(),          arrow::uint16(), arrow::int32(),
      arrow::uint32(),  arrow::date32(), arrow::decimal32(7, 2), arrow::decimal64(15, 2), arrow::int64()};
  const bool nulls = OneIn(random, 2);
  if (OneIn(random, 3)) return FewTexts(rows, nulls, random);
  const auto kind = static_cast<size_t>(Uniform(random, 0, static_cast<int64_t>(types.size())));
  if (kind == types.size()) {
    arrow::Int16Builder indices;
    for (int64_t i = 0; i < rows + 3; ++i) {
      EXPECT_TRUE(
          (nulls && OneIn(random, 5) ? indices.AppendNull() : indices.Append(static_cast<int16_t>(Uniform(random, 0, 3)))).ok());
    }
    const auto values = FromJson(arrow::utf8(), R"(["A", "N", "a longer one than the others", "R"])");
    return arrow::DictionaryArray::FromArrays(indices.Finish().ValueOrDie(), values).ValueOrDie()->Slice(3);
  }
  // Values beside the ends of the type, which a difference must not overflow.
  const auto& type = types[kind];
  const int64_t width = type->id() == arrow::Type::BOOL ? 1 : static_cast<const arrow::FixedWidthType&>(*type).bit_width();
  const bool is_unsigned = arrow::is_unsigned_integer(type->id());
  auto buffer = arrow::AllocateBuffer((rows + 3) * 8).ValueOrDie();
  std::memset(buffer->mutable_data(), 0, static_cast<size_t>(buffer->size()));
  auto bits = arrow::AllocateBuffer(rows + 3).ValueOrDie();
  std::memset(bits->mutable_data(), 0, static_cast<size_t>(bits->size()));
  const int64_t least = is_unsigned || width == 1 ? 0 : (OneIn(random, 2) ? -3 : INT64_MIN >> (64 - width));
  for (int64_t i = 0; i < rows + 3; ++i) {
    const int64_t value = least + Uniform(random, 0, 3);
    if (width == 1) {
      arrow::bit_util::SetBitTo(buffer->mutable_data(), i, value % 2 == 1);
    } else {
      std::memcpy(buffer->mutable_data() + i * width / 8, &value, static_cast<size_t>(width / 8));
    }
    arrow::bit_util::SetBitTo(bits->mutable_data(), i, !(nulls && OneIn(random, 5)));
  }
  const std::shared_ptr<arrow::Buffer> validity = nulls ? std::move(bits) : nullptr;
  const auto data = arrow::ArrayData::Make(type, rows + 3, {validity, std::shared_ptr<arrow::Buffer>(std::move(buffer))});
  return arrow::MakeArray(data)->Slice(3);
}

TEST(KeyCodes, AreEqualWhereKeysAre) {
  Random random(2);
  for (int trial = 0; trial < 200; ++trial) {
    const int64_t rows = Uniform(random, 1, kSliceRows);
    arrow::ArrayVector columns;
    for (int64_t c = Uniform(random, 1, 2); c > 0; --c) columns.push_back(FewValues(rows, random));
    KeyCodes keys;
    ASSERT_TRUE(keys.Open(columns));
    const int64_t first = Uniform(random, 0, rows - 1);
    const auto count = static_cast<int32_t>(rows - first);
    std::vector<uint16_t> codes(static_cast<size_t>(count));
    ASSERT_TRUE(keys.Load(first, count, codes.data()));
    std::map<uint16_t, std::string> key_of_code;
    std::map<std::string, uint16_t> code_of_key;
    for (int32_t i = 0; i < count; ++i) {
      const uint16_t code = codes[static_cast<size_t>(i)];
      ASSERT_LT(code, keys.code_count());
      const std::string key = KeyOf(columns, first + i);
      EXPECT_EQ(key_of_code.emplace(code, key).first->second, key);
      EXPECT_EQ(code_of_key.emplace(key, code).first->second, code);
    }
  }
}

TEST(KeyCodes, ManyValuesHaveNone) {
  KeyCodes keys;
  EXPECT_FALSE(keys.Open({FromJson(arrow::int64(), "[0, 1023]")}));
  EXPECT_TRUE(keys.Open({FromJson(arrow::int64(), "[0, 1022]")}));
  EXPECT_FALSE(keys.Open({FromJson(arrow::int64(), "[-9223372036854775808, 9223372036854775807]")}));
  EXPECT_FALSE(keys.Open({FromJson(arrow::int64(), "[0, 40]"), FromJson(arrow::int64(), "[0, 40]")}));
  EXPECT_TRUE(keys.Open({FromJson(arrow::int64(), "[null, null]"), FromJson(arrow::int64(), "[0, 30]")}));
}

TEST(KeyCodes, ManyOrLongTextsHaveNone) {
  arrow::StringBuilder builder;
  for (int i = 0; i < 2 * ShortTexts::kMax; ++i) ASSERT_TRUE(builder.Append("text " + std::to_string(i)).ok());
  const arrow::ArrayVector many{builder.Finish().ValueOrDie()};
  const arrow::ArrayVector few{many[0]->Slice(ShortTexts::kMax)};
  uint16_t codes[kSliceRows];
  KeyCodes keys;
  ASSERT_TRUE(keys.Open(many));
  EXPECT_TRUE(keys.Load(0, ShortTexts::kMax, codes));
  EXPECT_FALSE(keys.Load(ShortTexts::kMax, ShortTexts::kMax, codes));
  ASSERT_TRUE(keys.Open(few)) << "another batch begins anew";
  EXPECT_TRUE(keys.Load(0, ShortTexts::kMax, codes));
  KeyCodes others;
  const arrow::ArrayVector sixteen{FromJson(arrow::utf8(), R"(["16 bytes are few"])")};
  ASSERT_TRUE(others.Open(sixteen));
  EXPECT_TRUE(others.Load(0, 1, codes));
  const arrow::ArrayVector seventeen{FromJson(arrow::utf8(), R"(["17 bytes are many"])")};
  ASSERT_TRUE(others.Open(seventeen));
  EXPECT_FALSE(others.Load(0, 1, codes));
}

}  // namespace
}  // namespace icebound::exec::aggregate
