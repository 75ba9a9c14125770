// SPDX-License-Identifier: Apache-2.0
//
// Random arrays of any type the encoders take, for tests: nulls, ties, extremes, NaN and -0, empty strings and zero bytes, nesting, slices.
// Every array passes ValidateFull.
#pragma once

#include <arrow/api.h>
#include <arrow/compute/api.h>
#include <arrow/extension/uuid.h>
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

inline int64_t Uniform(Random& random, int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(random); }
inline bool OneIn(Random& random, int64_t n) { return Uniform(random, 1, n) == 1; }

/// A type and how to call it in a test's name.
struct NamedType {
  std::string name;
  std::shared_ptr<arrow::DataType> type;
};

inline std::vector<NamedType> TestTypes() {
  using namespace arrow;  // NOLINT: two dozen factories
  const auto dict_string = dictionary(int16(), utf8());
  std::vector<std::shared_ptr<DataType>> types{
      null(), boolean(), int8(), int16(), int32(), int64(), uint8(), uint16(), uint32(), uint64(), float16(), float32(), float64(),
      date32(), date64(), time32(TimeUnit::SECOND), time32(TimeUnit::MILLI), time64(TimeUnit::MICRO), time64(TimeUnit::NANO),
      timestamp(TimeUnit::SECOND), timestamp(TimeUnit::MILLI, "UTC"), timestamp(TimeUnit::MICRO), timestamp(TimeUnit::NANO, "Asia/Tokyo"),
      duration(TimeUnit::SECOND), duration(TimeUnit::NANO), month_interval(), day_time_interval(), month_day_nano_interval(),
      decimal32(5, 1), decimal64(7, 2), decimal64(18, 3), decimal128(4, 2), decimal128(15, 2), decimal128(18, 0), decimal128(38, 10),
      decimal256(9, 0), decimal256(18, 4), decimal256(38, 4), decimal256(76, 20),
      utf8(), binary(), large_utf8(), large_binary(), utf8_view(), binary_view(),
      fixed_size_binary(0), fixed_size_binary(1), fixed_size_binary(5), fixed_size_binary(16), fixed_size_binary(33), extension::uuid(),
      dict_string, dictionary(uint8(), int64()), dictionary(int32(), decimal128(15, 2)), dictionary(int64(), utf8_view()),
      dictionary(uint32(), float64()), dictionary(int8(), boolean()), dictionary(int32(), fixed_size_binary(3)),
      list(int32()), list(utf8()), list(boolean()), large_list(decimal128(15, 2)), list_view(int16()), large_list_view(utf8()),
      fixed_size_list(int64(), 3), fixed_size_list(utf8_view(), 2), fixed_size_list(float32(), 0), list(dict_string), list(null()),
      list(dictionary(int8(), int32())), list(fixed_size_binary(3)), list(list(int8())), list(extension::uuid()),
      struct_({field("a", int32()), field("b", utf8())}),
      struct_({field("a", int32(), false), field("b", list(utf8_view()), false), field("c", dictionary(int8(), utf8()), false)}),
      struct_(FieldVector{}), list(struct_({field("x", float64()), field("y", list(date32()))})), map(utf8(), int64()),
      map(int32(), struct_({field("z", binary())})), list(month_day_nano_interval()), list(large_utf8()),
      struct_({field("f", fixed_size_list(struct_({field("g", boolean())}), 2))})};
  std::vector<NamedType> named;
  for (auto& type : types) {
    std::string name;
    for (const char c : type->ToString()) {
      if (std::isalnum(static_cast<unsigned char>(c))) name += c;
    }
    named.push_back({fmt::format("{}_{}", named.size(), name.substr(0, 40)), std::move(type)});
  }
  return named;
}

/// An integer that is often small, sometimes extreme.
inline int64_t RandomInteger(Random& random) {
  switch (Uniform(random, 0, 5)) {
    case 0:
      return static_cast<int64_t>(random());
    case 1:
      return std::vector<int64_t>{INT64_MIN, INT64_MAX, INT32_MIN, INT32_MAX, INT16_MIN, INT16_MAX, -128, 127, -1, 0}[Uniform(random, 0, 9)];
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
  for (int64_t i = 0; i < digits; ++i) text += digits == precision && OneIn(random, 2) ? '9' : static_cast<char>('0' + Uniform(random, 0, 9));
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

inline std::shared_ptr<arrow::Array> RandomArray(const std::shared_ptr<arrow::DataType>& type, int64_t rows, double null_probability, Random& random);

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
      const auto ms = OneIn(random, 2) ? static_cast<int32_t>(Uniform(random, -2, 2) * 86'400'000) : static_cast<int32_t>(random());
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
      for (int32_t i = 0; i < width; ++i) out[i] = OneIn(random, 3) ? static_cast<uint8_t>(random()) : static_cast<uint8_t>(Uniform(random, 0, 1));
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
std::shared_ptr<arrow::Array> RandomStrings(const std::shared_ptr<arrow::DataType>& type, bool is_text, int64_t rows, double null_probability, Random& random) {
  Builder builder(type, arrow::default_memory_pool());
  std::vector<std::string> earlier{""};
  for (int64_t i = 0; i < rows; ++i) {
    if (std::uniform_real_distribution<>(0, 1)(random) < null_probability) {
      EXPECT_TRUE(builder.AppendNull().ok());
    } else {
      // Ties, and strings that differ only by what is appended.
      std::string text = OneIn(random, 4) ? earlier[Uniform(random, 0, static_cast<int64_t>(earlier.size()) - 1)] : RandomBytes(is_text, random);
      if (OneIn(random, 4)) text += RandomBytes(is_text, random);
      EXPECT_TRUE(builder.Append(text).ok());
      earlier.push_back(std::move(text));
    }
  }
  return builder.Finish().ValueOrDie();
}

template <typename Offset>
std::shared_ptr<arrow::ArrayData> RandomList(const std::shared_ptr<arrow::DataType>& type, bool is_view, int64_t rows, double null_probability, Random& random) {
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

inline std::shared_ptr<arrow::ArrayData> RandomNested(const std::shared_ptr<arrow::DataType>& type, int64_t rows, double null_probability, Random& random) {
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
  const int64_t per_row = type->id() == Type::FIXED_SIZE_LIST ? static_cast<const arrow::FixedSizeListType&>(*type).list_size() : 1;
  auto data = arrow::ArrayData::Make(type, rows, {RandomValidity(rows, null_probability, random)}, arrow::kUnknownNullCount);
  for (const auto& field : type->fields()) {
    // Children may be sliced on their own.
    const auto child = RandomArray(field->type(), rows * per_row + 3, field->nullable() ? 0.2 : 0, random);
    data->child_data.push_back(child->Slice(3)->data());
  }
  return data;
}

inline std::shared_ptr<arrow::Array> RandomArray(const std::shared_ptr<arrow::DataType>& type, int64_t rows, double null_probability, Random& random) {
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
      data = arrow::ArrayData::Make(type, rows, {RandomValidity(rows, null_probability, random), nullptr}, arrow::kUnknownNullCount);
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
      data = arrow::ArrayData::Make(type, rows, {RandomValidity(rows, null_probability, random), std::move(bits)}, arrow::kUnknownNullCount);
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
      data = arrow::ArrayData::Make(type, rows, {RandomValidity(rows, null_probability, random), std::move(values)}, arrow::kUnknownNullCount);
  }
  auto array = arrow::MakeArray(data);
  const auto valid = array->ValidateFull();
  EXPECT_TRUE(valid.ok()) << valid.ToString();
  return array;
}

/// The same values with dictionaries resolved at every depth: what the decoders should give.
inline std::shared_ptr<arrow::Array> Plain(const std::shared_ptr<arrow::Array>& array) {
  if (array->type_id() == arrow::Type::DICTIONARY) {
    const auto& dictionary = static_cast<const arrow::DictionaryArray&>(*array);
    std::unique_ptr<arrow::ArrayBuilder> builder = arrow::MakeBuilder(dictionary.dictionary()->type()).ValueOrDie();
    for (int64_t i = 0; i < array->length(); ++i) {
      const bool is_null = dictionary.IsNull(i) || dictionary.dictionary()->IsNull(dictionary.GetValueIndex(i));
      const arrow::ArraySpan values(*dictionary.dictionary()->data());
      EXPECT_TRUE((is_null ? builder->AppendNull() : builder->AppendArraySlice(values, dictionary.GetValueIndex(i), 1)).ok());
    }
    return builder->Finish().ValueOrDie();
  }
  if (array->data()->child_data.empty() || array->type_id() == arrow::Type::EXTENSION) return array;
  auto data = array->data()->Copy();
  arrow::FieldVector fields;
  for (size_t child = 0; child < data->child_data.size(); ++child) {
    data->child_data[child] = Plain(arrow::MakeArray(data->child_data[child]))->data();
    fields.push_back(data->type->field(static_cast<int>(child))->WithType(data->child_data[child]->type));
  }
  switch (data->type->id()) {
    case arrow::Type::LIST:
      data->type = arrow::list(fields[0]);
      break;
    case arrow::Type::STRUCT:
      data->type = arrow::struct_(fields);
      break;
    default:
      break;  // the test types have nested dictionaries only below these two
  }
  return arrow::MakeArray(data);
}

}  // namespace icebound::row::test
