// SPDX-License-Identifier: Apache-2.0
//
// Random arrays of any type the encoders take, for tests: nulls, ties, extremes, NaN and -0, empty strings and zero bytes,
// nesting, slices. Every array passes ValidateFull.
#pragma once

#include <arrow/api.h>
#include <arrow/util/bit_util.h>
#include <arrow/util/decimal.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace icebound::row::test {

using Random = std::mt19937_64;

inline int64_t Uniform(Random& random, int64_t low, int64_t high) {
  return std::uniform_int_distribution<int64_t>(low, high)(random);
}
inline bool OneIn(Random& random, int64_t n) { return Uniform(random, 1, n) == 1; }

/// An integer that is often small, sometimes extreme.
inline int64_t RandomInteger(Random& random) {
  switch (Uniform(random, 0, 5)) {
    case 0:
      return static_cast<int64_t>(random());
    case 1:
      return std::vector<int64_t>{
          INT64_MIN, INT64_MAX, INT32_MIN, INT32_MAX, INT16_MIN, INT16_MAX, -128, 127, -1, 0}[Uniform(random, 0, 9)];
    default:
      return Uniform(random, -3, 3);
  }
}

template <typename Float>
Float RandomFloat(Random& random) {
  using Limits = std::numeric_limits<Float>;
  const std::vector<Float> special{0,
                                   -Float{0},
                                   Limits::quiet_NaN(),
                                   -Limits::quiet_NaN(),
                                   Limits::infinity(),
                                   -Limits::infinity(),
                                   Limits::denorm_min(),
                                   -Limits::denorm_min(),
                                   Limits::max(),
                                   Limits::lowest()};
  if (OneIn(random, 2)) return special[Uniform(random, 0, static_cast<int64_t>(special.size()) - 1)];
  return static_cast<Float>(Uniform(random, -1000, 1000)) / 8;
}

inline arrow::Decimal256 RandomDecimal(int32_t precision, Random& random) {
  const int64_t digits = OneIn(random, 4) ? precision : Uniform(random, 1, precision);
  std::string text = OneIn(random, 2) ? "-" : "";
  for (int64_t i = 0; i < digits; ++i)
    text += digits == precision && OneIn(random, 2) ? '9' : static_cast<char>('0' + Uniform(random, 0, 9));
  return arrow::Decimal256::FromString(text).ValueOrDie();
}

/// Text is valid UTF-8 with zero bytes; binary has FF as well.
inline std::string RandomBytes(bool is_text, Random& random) {
  static const std::vector<std::string> kPieces{std::string(1, '\0'), "\x01", "a", "b", "\x7F", "\xC3\xA9"};
  const int64_t longest = OneIn(random, 20) ? 200 : (OneIn(random, 2) ? 3 : 40);
  const int64_t pieces = Uniform(random, 0, longest);
  const bool no_zeros = OneIn(random, 2);
  std::string bytes;
  for (int64_t i = 0; i < pieces; ++i) {
    if (!is_text && OneIn(random, 4)) {
      bytes += OneIn(random, 2) ? '\xFF' : '\xFE';
    } else {
      bytes += kPieces[static_cast<size_t>(Uniform(random, no_zeros ? 1 : 0, 5))];
    }
  }
  return bytes;
}

inline std::shared_ptr<arrow::Array> RandomArray(const std::shared_ptr<arrow::DataType>& type, int64_t rows,
                                                 double null_probability, Random& random);

/// Bytes of one random value in the type's buffer.
inline void RandomFixed(const arrow::DataType& type, uint8_t* out, Random& random) {
  using arrow::Type;
  const auto put = [out](auto value) { std::memcpy(out, &value, sizeof(value)); };
  const int32_t width = static_cast<const arrow::FixedWidthType&>(type).bit_width() / 8;
  constexpr int64_t kSecondsPerDay = 86'400;
  switch (type.id()) {
    case Type::HALF_FLOAT: {
      const std::vector<uint16_t> special{0x0000, 0x8000, 0x7E00, 0xFE01, 0x7C00, 0xFC00, 0x3C00, 0xBC00, 0x0001, 0x8001};
      return put(OneIn(random, 2) ? special[Uniform(random, 0, 9)] : static_cast<uint16_t>(random()));
    }
    case Type::FLOAT:
      return put(RandomFloat<float>(random));
    case Type::DOUBLE:
      return put(RandomFloat<double>(random));
    case Type::DATE64:
      return put(Uniform(random, -100, 100) * kSecondsPerDay * 1000);
    case Type::TIME32:
      return put(static_cast<int32_t>(Uniform(random, 0, OneIn(random, 2) ? 3 : kSecondsPerDay - 1)));
    case Type::TIME64:
      return put(Uniform(random, 0, OneIn(random, 2) ? 3 : kSecondsPerDay * 1'000'000 - 1));
    case Type::INTERVAL_DAY_TIME: {
      // 1 day and 0 ms ties with 0 days and 86'400'000 ms.
      put(OneIn(random, 2) ? static_cast<int32_t>(Uniform(random, -2, 2)) : static_cast<int32_t>(random()));
      const auto ms =
          OneIn(random, 2) ? static_cast<int32_t>(Uniform(random, -2, 2) * 86'400'000) : static_cast<int32_t>(random());
      std::memcpy(out + 4, &ms, 4);
      return;
    }
    case Type::INTERVAL_MONTH_DAY_NANO: {
      const auto months = static_cast<int32_t>(OneIn(random, 4) ? RandomInteger(random) : Uniform(random, -1, 1));
      const auto days = static_cast<int32_t>(OneIn(random, 4) ? RandomInteger(random) : Uniform(random, -1, 1) * 30);
      const int64_t nanos = OneIn(random, 4) ? RandomInteger(random) : Uniform(random, -1, 1) * 86'400'000'000'000;
      put(months);
      std::memcpy(out + 4, &days, 4);
      std::memcpy(out + 8, &nanos, 8);
      return;
    }
    case Type::DECIMAL32:
    case Type::DECIMAL64:
    case Type::DECIMAL128:
    case Type::DECIMAL256: {
      const auto value = RandomDecimal(static_cast<const arrow::DecimalType&>(type).precision(), random).little_endian_array();
      std::memcpy(out, value.data(), static_cast<size_t>(width));
      return;
    }
    case Type::FIXED_SIZE_BINARY:
      for (int32_t i = 0; i < width; ++i)
        out[i] = OneIn(random, 3) ? static_cast<uint8_t>(random()) : static_cast<uint8_t>(Uniform(random, 0, 1));
      return;
    default: {
      const int64_t value = RandomInteger(random);
      std::memcpy(out, &value, static_cast<size_t>(width));
    }
  }
}

inline std::shared_ptr<arrow::Buffer> RandomValidity(int64_t rows, double null_probability, Random& random) {
  if (null_probability == 0) return nullptr;
  auto bits = arrow::AllocateEmptyBitmap(rows).ValueOrDie();
  for (int64_t i = 0; i < rows; ++i) {
    arrow::bit_util::SetBitTo(bits->mutable_data(), i, std::uniform_real_distribution<>(0, 1)(random) >= null_probability);
  }
  return bits;
}

template <typename Builder>
std::shared_ptr<arrow::Array> RandomStrings(const std::shared_ptr<arrow::DataType>& type, bool is_text, int64_t rows,
                                            double null_probability, Random& random) {
  Builder builder(type, arrow::default_memory_pool());
  std::vector<std::string> earlier{""};
  for (int64_t i = 0; i < rows; ++i) {
    if (std::uniform_real_distribution<>(0, 1)(random) < null_probability) {
      EXPECT_TRUE(builder.AppendNull().ok());
    } else {
      // Ties, and strings that differ only by what is appended.
      std::string text =
          OneIn(random, 4) ? earlier[Uniform(random, 0, static_cast<int64_t>(earlier.size()) - 1)] : RandomBytes(is_text, random);
      if (OneIn(random, 4)) text += RandomBytes(is_text, random);
      EXPECT_TRUE(builder.Append(text).ok());
      earlier.push_back(std::move(text));
    }
  }
  return builder.Finish().ValueOrDie();
}

template <typename Offset>
std::shared_ptr<arrow::ArrayData> RandomList(const std::shared_ptr<arrow::DataType>& type, bool is_view, int64_t rows,
                                             double null_probability, Random& random) {
  auto offsets = arrow::AllocateBuffer((rows + 1) * sizeof(Offset)).ValueOrDie();
  auto sizes = arrow::AllocateBuffer(rows * sizeof(Offset)).ValueOrDie();
  auto* offset = reinterpret_cast<Offset*>(offsets->mutable_data());
  auto* size = reinterpret_cast<Offset*>(sizes->mutable_data());
  offset[0] = 0;
  for (int64_t i = 0; i < rows; ++i) {
    size[i] = static_cast<Offset>(OneIn(random, 50) ? Uniform(random, 200, 600) : Uniform(random, 0, 4));
    offset[i + 1] = offset[i] + size[i];
  }
  const auto& item = type->field(0);
  const auto child = RandomArray(item->type(), offset[rows] + 2, item->nullable() ? 0.2 : 0, random);
  arrow::BufferVector buffers{RandomValidity(rows, null_probability, random), std::move(offsets)};
  if (is_view) {
    // Views may overlap and lie in any order.
    for (int64_t i = 0; i < rows; ++i) {
      const int64_t other = Uniform(random, 0, rows - 1);
      std::swap(offset[i], offset[other]);
      std::swap(size[i], size[other]);
    }
    buffers.push_back(std::move(sizes));
  }
  return arrow::ArrayData::Make(type, rows, std::move(buffers), {child->data()}, arrow::kUnknownNullCount);
}

inline std::shared_ptr<arrow::ArrayData> RandomNested(const std::shared_ptr<arrow::DataType>& type, int64_t rows,
                                                      double null_probability, Random& random) {
  using arrow::Type;
  switch (type->id()) {
    case Type::LIST:
    case Type::MAP:
      return RandomList<int32_t>(type, false, rows, null_probability, random);
    case Type::LARGE_LIST:
      return RandomList<int64_t>(type, false, rows, null_probability, random);
    case Type::LIST_VIEW:
      return RandomList<int32_t>(type, true, rows, null_probability, random);
    case Type::LARGE_LIST_VIEW:
      return RandomList<int64_t>(type, true, rows, null_probability, random);
    default:
      break;
  }
  const int64_t per_row =
      type->id() == Type::FIXED_SIZE_LIST ? static_cast<const arrow::FixedSizeListType&>(*type).list_size() : 1;
  auto data = arrow::ArrayData::Make(type, rows, {RandomValidity(rows, null_probability, random)}, arrow::kUnknownNullCount);
  for (const auto& field : type->fields()) {
    // Children may be sliced on their own.
    const auto child = RandomArray(field->type(), rows * per_row + 3, field->nullable() ? 0.2 : 0, random);
    data->child_data.push_back(child->Slice(3)->data());
  }
  return data;
}

inline std::shared_ptr<arrow::Array> RandomArray(const std::shared_ptr<arrow::DataType>& type, int64_t rows,
                                                 double null_probability, Random& random) {
  using arrow::Type;
  std::shared_ptr<arrow::ArrayData> data;
  switch (type->id()) {
    case Type::NA:
      return std::make_shared<arrow::NullArray>(rows);
    case Type::EXTENSION: {
      const auto& extension = static_cast<const arrow::ExtensionType&>(*type);
      data = RandomArray(extension.storage_type(), rows, null_probability, random)->data()->Copy();
      data->type = type;
      break;
    }
    case Type::DICTIONARY: {
      const auto& dictionary_type = static_cast<const arrow::DictionaryType&>(*type);
      const int64_t size = Uniform(random, 1, 20);
      const bool has_null_values = null_probability > 0;
      data =
          arrow::ArrayData::Make(type, rows, {RandomValidity(rows, null_probability, random), nullptr}, arrow::kUnknownNullCount);
      data->dictionary = RandomArray(dictionary_type.value_type(), size + 2, has_null_values ? 0.1 : 0, random)->Slice(2)->data();
      const auto width = dictionary_type.index_type()->bit_width() / 8;
      auto indices = arrow::AllocateBuffer(rows * width).ValueOrDie();
      for (int64_t i = 0; i < rows; ++i) {
        const int64_t index = Uniform(random, 0, size - 1);
        std::memcpy(indices->mutable_data() + i * width, &index, static_cast<size_t>(width));
      }
      data->buffers[1] = std::move(indices);
      break;
    }
    case Type::STRING:
      return RandomStrings<arrow::StringBuilder>(type, true, rows, null_probability, random);
    case Type::BINARY:
      return RandomStrings<arrow::BinaryBuilder>(type, false, rows, null_probability, random);
    case Type::LARGE_STRING:
      return RandomStrings<arrow::LargeStringBuilder>(type, true, rows, null_probability, random);
    case Type::LARGE_BINARY:
      return RandomStrings<arrow::LargeBinaryBuilder>(type, false, rows, null_probability, random);
    case Type::STRING_VIEW:
      return RandomStrings<arrow::StringViewBuilder>(type, true, rows, null_probability, random);
    case Type::BINARY_VIEW:
      return RandomStrings<arrow::BinaryViewBuilder>(type, false, rows, null_probability, random);
    case Type::BOOL: {
      auto bits = arrow::AllocateEmptyBitmap(rows).ValueOrDie();
      for (int64_t i = 0; i < rows; ++i) arrow::bit_util::SetBitTo(bits->mutable_data(), i, OneIn(random, 2));
      data = arrow::ArrayData::Make(type, rows, {RandomValidity(rows, null_probability, random), std::move(bits)},
                                    arrow::kUnknownNullCount);
      break;
    }
    default:
      if (arrow::is_nested(type->id())) {
        data = RandomNested(type, rows, null_probability, random);
        break;
      }
      const int64_t width = static_cast<const arrow::FixedWidthType&>(*type).bit_width() / 8;
      auto values = arrow::AllocateBuffer(rows * width).ValueOrDie();
      for (int64_t i = 0; i < rows; ++i) RandomFixed(*type, values->mutable_data() + i * width, random);
      data = arrow::ArrayData::Make(type, rows, {RandomValidity(rows, null_probability, random), std::move(values)},
                                    arrow::kUnknownNullCount);
  }
  auto array = arrow::MakeArray(data);
  const auto valid = array->ValidateFull();
  EXPECT_TRUE(valid.ok()) << valid.ToString();
  return array;
}

}  // namespace icebound::row::test
