// SPDX-License-Identifier: Apache-2.0
//
// Keys against a comparator written from the SQL definition, value by value, that knows nothing of bytes.
#include "row/sort_key.h"

#include <arrow/json/from_string.h>
#include <arrow/util/float16.h>
#include <gmock/gmock.h>

#include "icebound/error.h"
#include "row/arrays_for_test.h"
#include "row/types_for_test.h"

namespace icebound::row {
namespace {

using arrow::Array;
using arrow::Type;
using test::NamedType;
using test::Plain;
using test::Random;
using test::RandomArray;

template <typename T>
int Sign(const T& a, const T& b) {
  return a < b ? -1 : (b < a ? 1 : 0);
}

int CompareFloats(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return Sign(std::isnan(a), std::isnan(b));
  return Sign(a, b);
}

int CompareItems(const Array& a, int64_t i, const Array& b, int64_t j);

int CompareLists(const Array& a, const Array& b) {
  for (int64_t i = 0; i < std::min(a.length(), b.length()); ++i) {
    if (const int order = CompareItems(a, i, b, i)) return order;
  }
  return Sign(a.length(), b.length());
}

template <typename Value>
int CompareAs(const Array& a, int64_t i, const Array& b, int64_t j) {
  return Sign(a.data()->GetValues<Value>(1)[i], b.data()->GetValues<Value>(1)[j]);
}

template <typename ArrayType>
int CompareStrings(const Array& a, int64_t i, const Array& b, int64_t j) {
  const std::string_view left = static_cast<const ArrayType&>(a).GetView(i);
  const std::string_view right = static_cast<const ArrayType&>(b).GetView(j);
  const int order = std::memcmp(left.data(), right.data(), std::min(left.size(), right.size()));
  return order != 0 ? Sign(order, 0) : Sign(left.size(), right.size());
}

template <typename ArrayType>
int CompareListsAs(const Array& a, int64_t i, const Array& b, int64_t j) {
  return CompareLists(*static_cast<const ArrayType&>(a).value_slice(i), *static_cast<const ArrayType&>(b).value_slice(j));
}

template <typename ArrayType, typename Decimal>
int CompareDecimals(const Array& a, int64_t i, const Array& b, int64_t j) {
  return Sign(Decimal(static_cast<const ArrayType&>(a).GetValue(i)), Decimal(static_cast<const ArrayType&>(b).GetValue(j)));
}

__int128 Nanoseconds(const arrow::MonthDayNanoIntervalType::MonthDayNanos& value) {
  return (static_cast<__int128>(value.months) * 30 + value.days) * 86'400'000'000'000 + value.nanoseconds;
}

int64_t Milliseconds(const arrow::DayTimeIntervalType::DayMilliseconds& value) {
  return int64_t{value.days} * 86'400'000 + value.milliseconds;
}

/// Order of two valid values of plain arrays, ascending.
int CompareValues(const Array& a, int64_t i, const Array& b, int64_t j) {
  switch (a.type_id()) {
    case Type::BOOL:
      return Sign(static_cast<const arrow::BooleanArray&>(a).Value(i), static_cast<const arrow::BooleanArray&>(b).Value(j));
    case Type::INT8:
      return CompareAs<int8_t>(a, i, b, j);
    case Type::INT16:
      return CompareAs<int16_t>(a, i, b, j);
    case Type::INT32:
    case Type::DATE32:
    case Type::TIME32:
    case Type::INTERVAL_MONTHS:
      return CompareAs<int32_t>(a, i, b, j);
    case Type::INT64:
    case Type::DATE64:
    case Type::TIME64:
    case Type::TIMESTAMP:
    case Type::DURATION:
      return CompareAs<int64_t>(a, i, b, j);
    case Type::UINT8:
      return CompareAs<uint8_t>(a, i, b, j);
    case Type::UINT16:
      return CompareAs<uint16_t>(a, i, b, j);
    case Type::UINT32:
      return CompareAs<uint32_t>(a, i, b, j);
    case Type::UINT64:
      return CompareAs<uint64_t>(a, i, b, j);
    case Type::HALF_FLOAT: {
      const auto value = [](const Array& array, int64_t at) {
        return arrow::util::Float16::FromBits(static_cast<const arrow::HalfFloatArray&>(array).Value(at)).ToDouble();
      };
      return CompareFloats(value(a, i), value(b, j));
    }
    case Type::FLOAT:
      return CompareFloats(static_cast<const arrow::FloatArray&>(a).Value(i), static_cast<const arrow::FloatArray&>(b).Value(j));
    case Type::DOUBLE:
      return CompareFloats(static_cast<const arrow::DoubleArray&>(a).Value(i),
                           static_cast<const arrow::DoubleArray&>(b).Value(j));
    case Type::INTERVAL_DAY_TIME:
      return Sign(Milliseconds(static_cast<const arrow::DayTimeIntervalArray&>(a).Value(i)),
                  Milliseconds(static_cast<const arrow::DayTimeIntervalArray&>(b).Value(j)));
    case Type::INTERVAL_MONTH_DAY_NANO:
      return Sign(Nanoseconds(static_cast<const arrow::MonthDayNanoIntervalArray&>(a).Value(i)),
                  Nanoseconds(static_cast<const arrow::MonthDayNanoIntervalArray&>(b).Value(j)));
    case Type::DECIMAL32:
      return CompareDecimals<arrow::Decimal32Array, arrow::Decimal32>(a, i, b, j);
    case Type::DECIMAL64:
      return CompareDecimals<arrow::Decimal64Array, arrow::Decimal64>(a, i, b, j);
    case Type::DECIMAL128:
      return CompareDecimals<arrow::Decimal128Array, arrow::Decimal128>(a, i, b, j);
    case Type::DECIMAL256:
      return CompareDecimals<arrow::Decimal256Array, arrow::Decimal256>(a, i, b, j);
    case Type::STRING:
    case Type::BINARY:
      return CompareStrings<arrow::BinaryArray>(a, i, b, j);
    case Type::LARGE_STRING:
    case Type::LARGE_BINARY:
      return CompareStrings<arrow::LargeBinaryArray>(a, i, b, j);
    case Type::STRING_VIEW:
    case Type::BINARY_VIEW:
      return CompareStrings<arrow::BinaryViewArray>(a, i, b, j);
    case Type::FIXED_SIZE_BINARY:
      return CompareStrings<arrow::FixedSizeBinaryArray>(a, i, b, j);
    case Type::EXTENSION:
      return CompareValues(*static_cast<const arrow::ExtensionArray&>(a).storage(), i,
                           *static_cast<const arrow::ExtensionArray&>(b).storage(), j);
    case Type::LIST:
    case Type::MAP:
      return CompareListsAs<arrow::ListArray>(a, i, b, j);
    case Type::LARGE_LIST:
      return CompareListsAs<arrow::LargeListArray>(a, i, b, j);
    case Type::LIST_VIEW:
      return CompareListsAs<arrow::ListViewArray>(a, i, b, j);
    case Type::LARGE_LIST_VIEW:
      return CompareListsAs<arrow::LargeListViewArray>(a, i, b, j);
    case Type::FIXED_SIZE_LIST:
      return CompareListsAs<arrow::FixedSizeListArray>(a, i, b, j);
    case Type::STRUCT:
      for (int child = 0; child < a.type()->num_fields(); ++child) {
        const auto& left = static_cast<const arrow::StructArray&>(a).field(child);
        const auto& right = static_cast<const arrow::StructArray&>(b).field(child);
        if (const int order = CompareItems(*left, i, *right, j)) return order;
      }
      return 0;
    default:
      ADD_FAILURE() << "no comparator for " << a.type()->ToString();
      return 0;
  }
}

/// Below the top level a null is the greatest.
int CompareItems(const Array& a, int64_t i, const Array& b, int64_t j) {
  if (a.IsNull(i) || b.IsNull(j)) return Sign(a.IsNull(i), b.IsNull(j));
  return CompareValues(a, i, b, j);
}

int CompareField(const SortField& field, const Array& column, int64_t i, int64_t j) {
  if (column.IsNull(i) || column.IsNull(j)) {
    const int order = Sign(column.IsNull(i), column.IsNull(j));
    return field.nulls_first ? -order : order;
  }
  const int order = CompareValues(column, i, column, j);
  return field.descending ? -order : order;
}

/// Encodes rows first_row .. first_row + rows, each key in memory of exactly its length, so that a sanitizer sees any overrun.
std::vector<std::vector<uint8_t>> EncodeKeys(const SortKeyEncoder& encoder, const arrow::ArrayVector& columns, int64_t first_row,
                                             int64_t rows) {
  std::vector<uint32_t> lengths(static_cast<size_t>(rows), 0);
  EXPECT_TRUE(encoder.AddLengths(columns, first_row, lengths).ok());
  std::vector<std::vector<uint8_t>> keys;
  std::vector<uint8_t*> cursors;
  for (const uint32_t length : lengths) {
    EXPECT_EQ(length, encoder.fixed_width() ? static_cast<uint32_t>(*encoder.fixed_width()) : length);
    keys.emplace_back(length, 0xAA);
    cursors.push_back(keys.back().data());
  }
  const auto status = encoder.Encode(columns, first_row, cursors);
  EXPECT_TRUE(status.ok()) << status.ToString();
  for (size_t i = 0; i < keys.size(); ++i) EXPECT_EQ(cursors[i], keys[i].data() + keys[i].size()) << "row " << i;
  return keys;
}

std::vector<std::vector<uint8_t>> EncodeKeys(const SortKeyEncoder& encoder, const arrow::ArrayVector& columns) {
  return EncodeKeys(encoder, columns, 0, columns[0]->length());
}

int CompareKeys(const std::vector<uint8_t>& a, const std::vector<uint8_t>& b) {
  const size_t common = std::min(a.size(), b.size());
  const int order = common == 0 ? 0 : std::memcmp(a.data(), b.data(), common);
  EXPECT_TRUE(order != 0 || a.size() == b.size()) << "one key is a prefix of another";
  return Sign(order, 0);
}

std::unique_ptr<SortKeyEncoder> MakeEncoder(std::vector<SortField> fields) {
  return SortKeyEncoder::Make(std::move(fields)).ValueOrDie();
}

std::vector<SortField> FourOrders(const std::shared_ptr<arrow::DataType>& type) {
  return {{type, true, false, false}, {type, true, false, true}, {type, true, true, false}, {type, true, true, true}};
}

std::string OrderName(const SortField& field) {
  return std::string(field.descending ? "DESC" : "ASC") + (field.nulls_first ? " NULLS FIRST" : " NULLS LAST");
}

class SortKeyTypeTest : public testing::TestWithParam<NamedType> {};

TEST_P(SortKeyTypeTest, MemcmpOrderIsTheSqlOrder) {
  Random random(42);
  const auto array = RandomArray(GetParam().type, 150, 0.15, random)->Slice(7, 120);
  const auto plain = Plain(array);
  for (const SortField& field : FourOrders(GetParam().type)) {
    SCOPED_TRACE(OrderName(field));
    const auto keys = EncodeKeys(*MakeEncoder({field}), {array});
    for (int64_t i = 0; i < array->length(); ++i) {
      for (int64_t j = 0; j <= i; ++j) {
        ASSERT_EQ(CompareKeys(keys[i], keys[j]), CompareField(field, *plain, i, j))
            << plain->GetScalar(i).ValueOrDie()->ToString() << " and " << plain->GetScalar(j).ValueOrDie()->ToString();
      }
    }
  }
}

TEST_P(SortKeyTypeTest, BlocksRowRangesAndSlicesDoNotMatter) {
  Random random(43);
  const auto array = RandomArray(GetParam().type, 900, 0.1, random);
  for (const SortField& field : FourOrders(GetParam().type)) {
    const auto encoder = MakeEncoder({field});
    const auto all = EncodeKeys(*encoder, {array});
    const auto range = EncodeKeys(*encoder, {array}, 13, 700);
    const auto slice = EncodeKeys(*encoder, {array->Slice(13, 700)});
    EXPECT_EQ(range, slice);
    for (size_t i = 0; i < range.size(); ++i) ASSERT_EQ(range[i], all[i + 13]) << "row " << i;
  }
}

TEST_P(SortKeyTypeTest, NotNullFieldsHaveNoMarker) {
  if (GetParam().type->id() == Type::NA) return;
  Random random(44);
  const auto array = RandomArray(GetParam().type, 300, 0, random);
  for (const SortField& field : FourOrders(GetParam().type)) {
    SortField not_null = field;
    not_null.nullable = false;
    const auto with = EncodeKeys(*MakeEncoder({field}), {array});
    const auto without = EncodeKeys(*MakeEncoder({not_null}), {array});
    for (size_t i = 0; i < with.size(); ++i) {
      ASSERT_EQ(with[i][0], 1);
      ASSERT_EQ(std::vector<uint8_t>(with[i].begin() + 1, with[i].end()), without[i]) << "row " << i;
    }
  }
}

TEST_P(SortKeyTypeTest, DecodesWhatItSaysItCan) {
  Random random(45);
  for (const double null_probability : {0.0, 0.2, 1.0}) {
    const auto array = RandomArray(GetParam().type, 700, null_probability, random)->Slice(5);
    for (const SortField& field : FourOrders(GetParam().type)) {
      SCOPED_TRACE(OrderName(field));
      const auto encoder = MakeEncoder({field});
      const auto keys = EncodeKeys(*encoder, {array});
      std::vector<const uint8_t*> cursors;
      for (const auto& key : keys) cursors.push_back(key.data());
      auto skipped = cursors;
      const auto columns = encoder->Decode(cursors, {}, arrow::default_memory_pool()).ValueOrDie();
      encoder->Skip(skipped);
      EXPECT_EQ(cursors, skipped);
      for (size_t i = 0; i < keys.size(); ++i) ASSERT_EQ(cursors[i], keys[i].data() + keys[i].size()) << "row " << i;
      ASSERT_EQ(columns[0] != nullptr, encoder->CanDecode(0));
      if (columns[0] == nullptr) continue;
      ASSERT_TRUE(columns[0]->ValidateFull().ok()) << columns[0]->ValidateFull().ToString();
      EXPECT_TRUE(columns[0]->type()->Equals(encoder->decoded_type(0)));
      EXPECT_TRUE(columns[0]->Equals(Plain(array))) << columns[0]->ToString() << Plain(array)->ToString();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, SortKeyTypeTest, testing::ValuesIn(test::TestTypes()),
                         [](const auto& info) { return info.param.name; });

TEST(SortKeyTest, OnlyLossyAndNestedTypesCannotBeDecoded) {
  for (const NamedType& named : test::TestTypes()) {
    const auto value_type = Plain(RandomArray(named.type, 1, 0, *std::make_unique<Random>(1)))->type();
    const bool lossy = arrow::is_floating(value_type->id()) || value_type->id() == Type::INTERVAL_DAY_TIME ||
                       value_type->id() == Type::INTERVAL_MONTH_DAY_NANO || arrow::is_nested(value_type->id());
    EXPECT_EQ(MakeEncoder({{named.type}})->CanDecode(0), !lossy) << named.type->ToString();
  }
}

TEST(SortKeyTest, SeveralFieldsCompareLexicographically) {
  Random random(46);
  const auto types = test::TestTypes();
  for (int round = 0; round < 60; ++round) {
    std::vector<SortField> fields;
    arrow::ArrayVector columns;
    arrow::ArrayVector plains;
    const int64_t rows = test::Uniform(random, 1, 400);
    for (int64_t f = test::Uniform(random, 1, 5); f > 0; --f) {
      const auto& type = types[static_cast<size_t>(test::Uniform(random, 0, static_cast<int64_t>(types.size()) - 1))].type;
      const bool nullable = type->id() == Type::NA || test::OneIn(random, 2);
      fields.push_back({type, nullable, test::OneIn(random, 2), test::OneIn(random, 2)});
      columns.push_back(RandomArray(type, rows, nullable ? 0.3 : 0, random));
      plains.push_back(Plain(columns.back()));
    }
    const auto encoder = MakeEncoder(fields);
    auto keys = EncodeKeys(*encoder, columns);
    for (int pair = 0; pair < 2000; ++pair) {
      const int64_t i = test::Uniform(random, 0, rows - 1);
      const int64_t j = test::Uniform(random, 0, rows - 1);
      int expected = 0;
      for (size_t f = 0; f < fields.size() && expected == 0; ++f) expected = CompareField(fields[f], *plains[f], i, j);
      ASSERT_EQ(CompareKeys(keys[i], keys[j]), expected);
    }

    std::vector<bool> wanted;
    for (size_t f = 0; f < fields.size(); ++f) wanted.push_back(test::OneIn(random, 2));
    std::vector<const uint8_t*> cursors;
    for (const auto& key : keys) cursors.push_back(key.data());
    const auto decoded = encoder->Decode(cursors, wanted, arrow::default_memory_pool()).ValueOrDie();
    for (size_t f = 0; f < fields.size(); ++f) {
      ASSERT_EQ(decoded[f] != nullptr, wanted[f] && encoder->CanDecode(static_cast<int>(f)));
      EXPECT_TRUE(decoded[f] == nullptr || decoded[f]->Equals(plains[f])) << fields[f].type->ToString();
    }
    for (size_t i = 0; i < keys.size(); ++i) ASSERT_EQ(cursors[i], keys[i].data() + keys[i].size());
  }
}

TEST(SortKeyTest, AgreesWithArrowsSort) {
  Random random(47);
  for (const NamedType& named : test::TestTypes()) {
    const Type::type id = named.type->id();
    // Arrow puts NaN last when descending too, and does not sort the other types named here.
    if (arrow::is_floating(id) || id == Type::DECIMAL32 || id == Type::DECIMAL64 || arrow::is_interval(id) || id == Type::NA ||
        id == Type::EXTENSION || id == Type::DICTIONARY || arrow::is_nested(id) || arrow::is_binary_view_like(id)) {
      continue;
    }
    const auto array = RandomArray(named.type, 500, 0.1, random);
    for (const SortField& field : FourOrders(named.type)) {
      const arrow::compute::ArraySortOptions options(
          field.descending ? arrow::compute::SortOrder::Descending : arrow::compute::SortOrder::Ascending,
          field.nulls_first ? arrow::compute::NullPlacement::AtStart : arrow::compute::NullPlacement::AtEnd);
      const auto result = arrow::compute::SortIndices(*array, options);
      ASSERT_TRUE(result.ok()) << named.type->ToString() << result.status().ToString();
      const auto& indices = static_cast<const arrow::UInt64Array&>(**result);
      const auto keys = EncodeKeys(*MakeEncoder({field}), {array});
      for (int64_t i = 1; i < array->length(); ++i) {
        ASSERT_LE(CompareKeys(keys[indices.Value(i - 1)], keys[indices.Value(i)]), 0)
            << named.type->ToString() << " " << OrderName(field);
      }
    }
  }
}

std::shared_ptr<Array> FromJson(const std::shared_ptr<arrow::DataType>& type, std::string_view json) {
  return arrow::json::ArrayFromJSONString(type, json).ValueOrDie();
}

using Bytes = std::vector<uint8_t>;

TEST(SortKeyTest, BytesAreTheOnesOfTheHeader) {
  const auto encoder = MakeEncoder({{arrow::date32(), false, false, false}, {arrow::utf8(), true, true, true}});
  const auto keys =
      EncodeKeys(*encoder, {FromJson(arrow::date32(), "[1, 1, -1]"), FromJson(arrow::utf8(), R"(["ab", null, ""])")});
  EXPECT_EQ(keys[0], (Bytes{0x80, 0, 0, 1, 1, 0x9E, 0x9D, 0xFF, 0xFF}));
  EXPECT_EQ(keys[1], (Bytes{0x80, 0, 0, 1, 0}));
  EXPECT_EQ(keys[2], (Bytes{0x7F, 0xFF, 0xFF, 0xFF, 1, 0xFF, 0xFF}));
  EXPECT_FALSE(encoder->fixed_width().has_value());

  const auto strings = EncodeKeys(*MakeEncoder({{arrow::utf8(), false}}), {FromJson(arrow::utf8(), R"(["ab", "a\u0000b", ""])")});
  EXPECT_EQ(strings, (std::vector<Bytes>{{0x61, 0x62, 0, 0}, {0x61, 0, 0xFF, 0x62, 0, 0}, {0, 0}}));

  const auto list = arrow::list(arrow::int32());
  EXPECT_EQ(EncodeKeys(*MakeEncoder({{list, false}}), {FromJson(list, "[[7, null]]")})[0], (Bytes{1, 0x80, 0, 0, 7, 2, 0}));
}

TEST(SortKeyTest, WidthsAreTheOnesOfTheHeader) {
  const auto width = [](std::vector<SortField> fields) { return MakeEncoder(std::move(fields))->fixed_width(); };
  EXPECT_EQ(width({{arrow::date32(), false}, {arrow::int64(), false}, {arrow::int32(), false}}), 16);
  EXPECT_EQ(width({{arrow::date32(), true}}), 5);
  EXPECT_EQ(width({{arrow::decimal128(15, 2), false}}), 8);
  EXPECT_EQ(width({{arrow::decimal128(9, 2), false}}), 4);
  EXPECT_EQ(width({{arrow::decimal256(38, 2), false}}), 16);
  EXPECT_EQ(width({{arrow::decimal256(39, 2), false}}), 32);
  EXPECT_EQ(width({{arrow::null(), true}}), 0);
  EXPECT_EQ(width({{arrow::dictionary(arrow::int8(), arrow::int16()), false}}), 2);
  EXPECT_EQ(width({{arrow::int8(), false}, {arrow::utf8(), false}}), std::nullopt);
  EXPECT_EQ(width({}), 0);
}

TEST(SortKeyTest, EqualValuesHaveEqualKeys) {
  const auto nan = std::numeric_limits<double>::quiet_NaN();
  arrow::DoubleBuilder builder;
  ASSERT_TRUE(builder.AppendValues(std::vector<double>{0.0, -0.0, nan, -nan, std::nan("7")}).ok());
  const auto keys = EncodeKeys(*MakeEncoder({{arrow::float64()}}), {builder.Finish().ValueOrDie()});
  EXPECT_EQ(keys[0], keys[1]);
  EXPECT_EQ(keys[2], keys[3]);
  EXPECT_EQ(keys[2], keys[4]);
}

TEST(SortKeyTest, DictionariesAndPlainColumnsGiveTheSameKeys) {
  Random random(48);
  // A dictionary too large to be searched for zero bytes at once, and small ones.
  for (const int64_t values : {int64_t{3}, int64_t{5000}}) {
    const auto dictionary = RandomArray(arrow::utf8(), values, 0.1, random);
    arrow::Int32Builder builder;
    for (int i = 0; i < 1000; ++i)
      ASSERT_TRUE((test::OneIn(random, 9) ? builder.AppendNull() : builder.Append(random() % values)).ok());
    const auto type = arrow::dictionary(arrow::int32(), arrow::utf8());
    const auto encoded = arrow::DictionaryArray::FromArrays(type, builder.Finish().ValueOrDie(), dictionary).ValueOrDie();
    for (const SortField& field : FourOrders(type)) {
      SortField plain_field = field;
      plain_field.type = arrow::utf8();
      const auto expected = EncodeKeys(*MakeEncoder({plain_field}), {Plain(encoded)});
      EXPECT_EQ(EncodeKeys(*MakeEncoder({field}), {encoded}), expected);
      EXPECT_EQ(EncodeKeys(*MakeEncoder({plain_field}), {encoded}), expected);
      EXPECT_EQ(EncodeKeys(*MakeEncoder({field}), {Plain(encoded)}), expected);
    }
  }
}

TEST(SortKeyTest, LengthsAreAddedAndRowsMayFollow) {
  const auto encoder = MakeEncoder({{arrow::utf8(), false}, {arrow::int16(), false}});
  const arrow::ArrayVector columns{FromJson(arrow::utf8(), R"(["x", "yz"])"), FromJson(arrow::int16(), "[1, 2]")};
  std::vector<uint32_t> lengths{100, 0};
  ASSERT_TRUE(encoder->AddLengths(columns, 0, lengths).ok());
  EXPECT_THAT(lengths, testing::ElementsAre(105, 6));
}

void ExpectError(const arrow::Status& status, ErrorKind kind, const std::string& text) {
  EXPECT_EQ(GetErrorKind(status), kind) << status.ToString();
  EXPECT_THAT(status.ToString(), testing::HasSubstr(text));
}

TEST(SortKeyTest, RefusesWhatItCannotEncode) {
  const auto union_type = arrow::sparse_union({arrow::field("a", arrow::int8())});
  ExpectError(SortKeyEncoder::Make({{arrow::int8()}, {union_type}}).status(), ErrorKind::kUnsupported, "sort key 2");
  ExpectError(SortKeyEncoder::Make({{arrow::list(arrow::run_end_encoded(arrow::int32(), arrow::utf8()))}}).status(),
              ErrorKind::kUnsupported, "run_end_encoded");

  const auto encoder = MakeEncoder({{arrow::int32(), false}});
  uint8_t space[64];
  std::vector<uint8_t*> cursors{space, space + 8};
  const auto ints = FromJson(arrow::int32(), "[1, null]");
  ExpectError(encoder->Encode({ints}, 0, cursors), ErrorKind::kInternal, "declared not null");
  ExpectError(encoder->Encode({FromJson(arrow::int64(), "[1, 2]")}, 0, cursors), ErrorKind::kInternal, "int64");
  ExpectError(encoder->Encode({ints, ints}, 0, cursors), ErrorKind::kInternal, "2 columns for 1 sort keys");
  ExpectError(encoder->Encode({ints}, 1, cursors), ErrorKind::kInternal, "rows 1 to 3 of a column of 2 rows");
  std::vector<uint32_t> lengths{0, 0};
  ExpectError(encoder->AddLengths({}, 0, lengths), ErrorKind::kInternal, "0 columns");
}

TEST(SortKeyTest, RefusesDecimalsBeyondTheirPrecision) {
  const auto type = arrow::decimal128(9, 0);
  arrow::Decimal128Builder builder(type);
  ASSERT_TRUE(builder.AppendNull().ok());
  ASSERT_TRUE(builder.Append(arrow::Decimal128(int64_t{1} << 40)).ok());
  const auto array = builder.Finish().ValueOrDie();
  uint8_t space[64];
  std::vector<uint8_t*> cursors{space, space + 8};
  ExpectError(MakeEncoder({{type}})->Encode({array}, 0, cursors), ErrorKind::kExecution, "decimal128(9, 0)");

  const auto list_type = arrow::list(type);
  auto list = FromJson(list_type, R"([null, [null, "1"]])")->data()->Copy();
  list->child_data[0] = array->data();
  cursors = {space, space + 8};
  ExpectError(MakeEncoder({{list_type}})->Encode({arrow::MakeArray(list)}, 0, cursors), ErrorKind::kExecution,
              "decimal128(9, 0)");
}

TEST(SortKeyTest, KeysBeyondFourGibibytesAreRefused) {
  const auto encoder = MakeEncoder({{arrow::utf8(), false}});
  std::vector<uint32_t> lengths{UINT32_MAX - 3};
  ExpectError(encoder->AddLengths({FromJson(arrow::utf8(), R"(["abcd"])")}, 0, lengths), ErrorKind::kMemoryLimit, "4 GiB");
}

TEST(SortKeyTest, DecodingMoreThanTwoGibibytesIsRefused) {
  const auto encoder = MakeEncoder({{arrow::utf8(), false}});
  const auto long_string = std::make_shared<arrow::StringArray>(1, arrow::Buffer::FromVector(std::vector<int32_t>{0, 1 << 26}),
                                                                arrow::Buffer::FromString(std::string(1 << 26, 'x')));
  const auto keys = EncodeKeys(*encoder, {long_string});
  std::vector<const uint8_t*> cursors(40, keys[0].data());
  ExpectError(encoder->Decode(cursors, {}, arrow::default_memory_pool()).status(), ErrorKind::kInternal, "2 GiB");
}

TEST(SortKeyTest, EmptyInputsAreFine) {
  const auto encoder = MakeEncoder({{arrow::utf8()}, {arrow::list(arrow::int8())}});
  std::vector<uint32_t> lengths;
  std::vector<uint8_t*> cursors;
  std::vector<const uint8_t*> keys;
  const arrow::ArrayVector columns{FromJson(arrow::utf8(), "[]"), FromJson(arrow::list(arrow::int8()), "[]")};
  EXPECT_TRUE(encoder->AddLengths(columns, 0, lengths).ok());
  EXPECT_TRUE(encoder->Encode(columns, 0, cursors).ok());
  const auto decoded = encoder->Decode(keys, {}, arrow::default_memory_pool()).ValueOrDie();
  EXPECT_EQ(decoded[0]->length(), 0);
  EXPECT_EQ(decoded[1], nullptr);
}

}  // namespace
}  // namespace icebound::row
