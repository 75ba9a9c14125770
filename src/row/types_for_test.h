// SPDX-License-Identifier: Apache-2.0
//
// The types that the tests of this folder run over, and dictionaries resolved without the code under test.
#pragma once

#include <arrow/api.h>
#include <arrow/extension/uuid.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cctype>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

namespace icebound::row::test {

/// A type and how to call it in a test's name.
struct NamedType {
  std::string name;
  std::shared_ptr<arrow::DataType> type;
};

/// For the names of tests in messages: not the bytes of the struct.
inline void PrintTo(const NamedType& type, std::ostream* out) { *out << type.name; }

inline std::vector<NamedType> TestTypes() {
  using namespace arrow;  // NOLINT: two dozen factories
  const auto dict_string = dictionary(int16(), utf8());
  std::vector<std::shared_ptr<DataType>> types{
      null(),
      boolean(),
      int8(),
      int16(),
      int32(),
      int64(),
      uint8(),
      uint16(),
      uint32(),
      uint64(),
      float16(),
      float32(),
      float64(),
      date32(),
      date64(),
      time32(TimeUnit::SECOND),
      time32(TimeUnit::MILLI),
      time64(TimeUnit::MICRO),
      time64(TimeUnit::NANO),
      timestamp(TimeUnit::SECOND),
      timestamp(TimeUnit::MILLI, "UTC"),
      timestamp(TimeUnit::MICRO),
      timestamp(TimeUnit::NANO, "Asia/Tokyo"),
      duration(TimeUnit::SECOND),
      duration(TimeUnit::NANO),
      month_interval(),
      day_time_interval(),
      month_day_nano_interval(),
      decimal32(5, 1),
      decimal64(7, 2),
      decimal64(18, 3),
      decimal128(4, 2),
      decimal128(15, 2),
      decimal128(18, 0),
      decimal128(38, 10),
      decimal256(9, 0),
      decimal256(18, 4),
      decimal256(38, 4),
      decimal256(76, 20),
      utf8(),
      binary(),
      large_utf8(),
      large_binary(),
      utf8_view(),
      binary_view(),
      fixed_size_binary(0),
      fixed_size_binary(1),
      fixed_size_binary(5),
      fixed_size_binary(16),
      fixed_size_binary(33),
      extension::uuid(),
      dict_string,
      dictionary(uint8(), int64()),
      dictionary(int32(), decimal128(15, 2)),
      dictionary(int64(), utf8_view()),
      dictionary(uint32(), float64()),
      dictionary(int8(), boolean()),
      dictionary(int32(), fixed_size_binary(3)),
      list(int32()),
      list(utf8()),
      list(boolean()),
      large_list(decimal128(15, 2)),
      list_view(int16()),
      large_list_view(utf8()),
      fixed_size_list(int64(), 3),
      fixed_size_list(utf8_view(), 2),
      fixed_size_list(float32(), 0),
      list(dict_string),
      list(null()),
      list(dictionary(int8(), int32())),
      list(fixed_size_binary(3)),
      list(list(int8())),
      list(extension::uuid()),
      struct_({field("a", int32()), field("b", utf8())}),
      struct_({field("a", int32(), false), field("b", list(utf8_view()), false), field("c", dictionary(int8(), utf8()), false)}),
      struct_(FieldVector{}),
      list(struct_({field("x", float64()), field("y", list(date32()))})),
      map(utf8(), int64()),
      map(int32(), struct_({field("z", binary())})),
      list(month_day_nano_interval()),
      list(large_utf8()),
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
