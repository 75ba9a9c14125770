// SPDX-License-Identifier: Apache-2.0
//
// Packed rows: what goes in comes out, for every type, and the bytes are those of the header.
#include "row/row_codec.h"

#include <arrow/json/from_string.h>
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

using Bytes = std::vector<uint8_t>;

std::shared_ptr<Array> FromJson(const std::shared_ptr<arrow::DataType>& type, std::string_view json) {
  return arrow::json::ArrayFromJSONString(type, json).ValueOrDie();
}

std::unique_ptr<RowCodec> MakeCodec(arrow::FieldVector fields) {
  return RowCodec::Make(arrow::schema(std::move(fields))).ValueOrDie();
}

/// Each row in memory of exactly its size, so that a sanitizer sees any overrun.
std::vector<Bytes> EncodeRows(const RowCodec& codec, const arrow::RecordBatch& batch, int64_t first_row, int64_t count) {
  std::vector<uint32_t> sizes(static_cast<size_t>(count), 0);
  const auto added = codec.AddSizes(batch, first_row, sizes);
  EXPECT_TRUE(added.ok()) << added.ToString();
  std::vector<Bytes> rows;
  std::vector<uint8_t*> pointers;
  for (const uint32_t size : sizes) {
    EXPECT_GE(size, static_cast<uint32_t>(codec.fixed_bytes()));
    rows.emplace_back(size, 0xAA);
    pointers.push_back(rows.back().data());
  }
  const auto encoded = codec.Encode(batch, first_row, pointers);
  EXPECT_TRUE(encoded.ok()) << encoded.ToString();
  for (const Bytes& row : rows) EXPECT_EQ(codec.RowSize(row.data()), row.size());
  return rows;
}

std::vector<Bytes> EncodeRows(const RowCodec& codec, const arrow::RecordBatch& batch) {
  return EncodeRows(codec, batch, 0, batch.num_rows());
}

std::vector<const uint8_t*> Pointers(const std::vector<Bytes>& rows) {
  std::vector<const uint8_t*> pointers;
  for (const Bytes& row : rows) pointers.push_back(row.data());
  return pointers;
}

std::shared_ptr<arrow::RecordBatch> Decode(const RowCodec& codec, const std::vector<Bytes>& rows) {
  auto batch = codec.Decode(Pointers(rows), arrow::default_memory_pool()).ValueOrDie();
  EXPECT_TRUE(batch->ValidateFull().ok()) << batch->ValidateFull().ToString();
  EXPECT_TRUE(batch->schema()->Equals(*codec.output_schema(), /*check_metadata=*/true));
  return batch;
}

bool SameValues(const Array& a, const Array& b) {
  return a.Equals(b, arrow::EqualOptions::Defaults().nans_equal(true).signed_zeros_equal(false));
}

std::shared_ptr<arrow::RecordBatch> OneColumn(const std::shared_ptr<Array>& array, bool nullable = true) {
  return arrow::RecordBatch::Make(arrow::schema({arrow::field("c", array->type(), nullable)}), array->length(), {array});
}

class RowCodecTypeTest : public testing::TestWithParam<NamedType> {};

TEST_P(RowCodecTypeTest, RoundTrips) {
  Random random(1);
  for (const double null_probability : {0.0, 0.2, 1.0}) {
    const auto array = RandomArray(GetParam().type, 700, null_probability, random)->Slice(9);
    const auto batch = OneColumn(array);
    const auto codec = RowCodec::Make(batch->schema()).ValueOrDie();
    const auto rows = EncodeRows(*codec, *batch);
    const auto decoded = Decode(*codec, rows);
    EXPECT_TRUE(SameValues(*decoded->column(0), *Plain(array))) << decoded->column(0)->ToString() << Plain(array)->ToString();
    EXPECT_TRUE(decoded->column(0)->type()->Equals(*Plain(array)->type(), /*check_metadata=*/true));
    if (codec->fixed_width()) {
      for (const Bytes& row : rows) ASSERT_EQ(row.size(), static_cast<size_t>(*codec->fixed_width()));
    }
  }
}

TEST_P(RowCodecTypeTest, NotNullColumnsHaveNoNullBit) {
  if (GetParam().type->id() == Type::NA) return;
  Random random(2);
  const auto array = RandomArray(GetParam().type, 300, 0, random);
  const auto nullable = OneColumn(array, true);
  const auto not_null = OneColumn(array, false);
  const auto with = EncodeRows(*RowCodec::Make(nullable->schema()).ValueOrDie(), *nullable);
  const auto codec = RowCodec::Make(not_null->schema()).ValueOrDie();
  const auto without = EncodeRows(*codec, *not_null);
  for (size_t i = 0; i < with.size(); ++i) {
    ASSERT_EQ(with[i][0], 0);
    ASSERT_EQ(Bytes(with[i].begin() + 1, with[i].end()), without[i]);
  }
  EXPECT_TRUE(SameValues(*Decode(*codec, without)->column(0), *Plain(array)));
}

TEST_P(RowCodecTypeTest, RowRangesAndSlicesDoNotMatter) {
  Random random(3);
  const auto batch = OneColumn(RandomArray(GetParam().type, 900, 0.1, random));
  const auto codec = RowCodec::Make(batch->schema()).ValueOrDie();
  const auto all = EncodeRows(*codec, *batch);
  const auto range = EncodeRows(*codec, *batch, 13, 700);
  EXPECT_EQ(range, EncodeRows(*codec, *batch->Slice(13, 700)));
  for (size_t i = 0; i < range.size(); ++i) ASSERT_EQ(range[i], all[i + 13]) << "row " << i;
}

TEST_P(RowCodecTypeTest, ARowInABufferOfItsOwnIsTheSame) {
  Random random(4);
  const auto array = RandomArray(GetParam().type, 40, 0.3, random);
  const auto text = arrow::MakeArrayFromScalar(arrow::StringScalar(std::string(100'000, 'w')), 40).ValueOrDie();
  const auto schema =
      arrow::schema({arrow::field("a", array->type()), arrow::field("s", arrow::utf8()), arrow::field("b", array->type())});
  const auto batch = arrow::RecordBatch::Make(schema, 40, {array, text, array});
  const auto codec = RowCodec::Make(schema).ValueOrDie();
  const auto rows = EncodeRows(*codec, *batch);
  for (size_t i = 0; i < rows.size(); ++i) {
    std::shared_ptr<arrow::Buffer> owner = arrow::AllocateBuffer(static_cast<int64_t>(rows[i].size())).ValueOrDie();
    std::memcpy(owner->mutable_data(), rows[i].data(), rows[i].size());
    const auto decoded = codec->DecodeInPlace(owner->data(), owner, arrow::default_memory_pool()).ValueOrDie();
    ASSERT_TRUE(decoded->ValidateFull().ok()) << decoded->ValidateFull().ToString();
    const auto row = static_cast<int64_t>(i);
    for (const int column : {0, 2}) {
      EXPECT_TRUE(SameValues(*decoded->column(column), *Plain(array->Slice(row, 1)))) << decoded->column(column)->ToString();
    }
    EXPECT_TRUE(SameValues(*decoded->column(1), *text->Slice(row, 1)));
    // The long string is where the row is, and the batch alone keeps it.
    const uint8_t* const bytes = decoded->column(1)->data()->buffers[2]->data();
    EXPECT_TRUE(bytes >= owner->data() && bytes < owner->data() + owner->size());
    owner.reset();
    EXPECT_EQ(static_cast<const arrow::StringArray&>(*decoded->column(1)).GetView(0), std::string(100'000, 'w'));
  }
}

INSTANTIATE_TEST_SUITE_P(Types, RowCodecTypeTest, testing::ValuesIn(test::TestTypes()),
                         [](const auto& info) { return info.param.name; });

TEST(RowCodecTest, ManyColumnsRoundTripInAnyRowOrder) {
  Random random(4);
  const auto types = test::TestTypes();
  for (int round = 0; round < 30; ++round) {
    const int64_t rows = test::Uniform(random, 1, 600);
    arrow::FieldVector fields;
    arrow::ArrayVector columns;
    for (int64_t c = test::Uniform(random, 1, 40); c > 0; --c) {
      const auto& type = types[static_cast<size_t>(test::Uniform(random, 0, static_cast<int64_t>(types.size()) - 1))].type;
      const bool nullable = type->id() == Type::NA || test::OneIn(random, 2);
      fields.push_back(arrow::field(fmt::format("c{}", c), type, nullable));
      columns.push_back(RandomArray(type, rows, nullable ? 0.3 : 0, random));
    }
    const auto batch = arrow::RecordBatch::Make(arrow::schema(fields), rows, columns);
    const auto codec = RowCodec::Make(batch->schema()).ValueOrDie();
    const auto encoded = EncodeRows(*codec, *batch);

    arrow::Int64Builder order;
    std::vector<const uint8_t*> pointers;
    for (int64_t i = 0; i < rows; ++i) {
      const int64_t row = test::Uniform(random, 0, rows - 1);
      ASSERT_TRUE(order.Append(row).ok());
      pointers.push_back(encoded[static_cast<size_t>(row)].data());
    }
    const auto decoded = codec->Decode(pointers, arrow::default_memory_pool()).ValueOrDie();
    ASSERT_TRUE(decoded->ValidateFull().ok()) << decoded->ValidateFull().ToString();
    const auto indices = order.Finish().ValueOrDie();
    for (size_t c = 0; c < columns.size(); ++c) {
      const auto plain = Plain(columns[c]);
      for (int64_t i = 0; i < rows; ++i) {
        const int64_t row = static_cast<const arrow::Int64Array&>(*indices).Value(i);
        const auto options = arrow::EqualOptions::Defaults().nans_equal(true).signed_zeros_equal(false);
        ASSERT_TRUE(decoded->column(static_cast<int>(c))->RangeEquals(i, i + 1, row, plain, options))
            << fields[c]->ToString() << " row " << row;
      }
    }
  }
}

TEST(RowCodecTest, BytesAreTheOnesOfTheHeader) {
  const auto codec = MakeCodec({arrow::field("l_orderkey", arrow::int64(), false), arrow::field("l_comment", arrow::utf8()),
                                arrow::field("l_tax", arrow::decimal128(15, 2))});
  const auto batch = arrow::RecordBatch::Make(codec->output_schema(), 2,
                                              {FromJson(arrow::int64(), "[7, -1]"), FromJson(arrow::utf8(), R"(["ab", null])"),
                                               FromJson(arrow::decimal128(15, 2), R"(["0.05", null])")});
  const auto rows = EncodeRows(*codec, *batch);
  EXPECT_EQ(rows[0], (Bytes{0, 7, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 'a', 'b'}));
  EXPECT_EQ(rows[1], (Bytes{3, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(codec->fixed_bytes(), 21);
  EXPECT_FALSE(codec->fixed_width().has_value());

  const auto list = arrow::list(arrow::int16());
  const auto nested = OneColumn(FromJson(list, "[[258, null]]"), /*nullable=*/false);
  EXPECT_EQ(EncodeRows(*RowCodec::Make(nested->schema()).ValueOrDie(), *nested)[0],
            (Bytes{9, 0, 0, 0, 2, 0, 0, 0, 2, 2, 1, 0, 0}));
}

TEST(RowCodecTest, DecimalsTakeWhatTheirPrecisionNeeds) {
  const auto width = [](const std::shared_ptr<arrow::DataType>& type) {
    return *MakeCodec({arrow::field("d", type, false)})->fixed_width();
  };
  EXPECT_EQ(width(arrow::decimal128(9, 2)), 4);
  EXPECT_EQ(width(arrow::decimal128(10, 2)), 8);
  EXPECT_EQ(width(arrow::decimal128(18, 2)), 8);
  EXPECT_EQ(width(arrow::decimal128(19, 2)), 16);
  EXPECT_EQ(width(arrow::decimal256(38, 2)), 16);
  EXPECT_EQ(width(arrow::decimal256(39, 2)), 32);
  EXPECT_EQ(width(arrow::decimal64(9, 2)), 4);
}

TEST(RowCodecTest, PlainAndDictionaryColumnsGiveTheSameRows) {
  Random random(5);
  const auto type = arrow::dictionary(arrow::int16(), arrow::utf8());
  const auto encoded = RandomArray(type, 500, 0.2, random);
  const auto codec = MakeCodec({arrow::field("c", type)});
  EXPECT_TRUE(codec->output_schema()->field(0)->type()->Equals(arrow::utf8()));
  EXPECT_EQ(EncodeRows(*codec, *OneColumn(encoded)), EncodeRows(*codec, *OneColumn(Plain(encoded))));
}

TEST(RowCodecTest, NullStructsHideNoNullsInChildrenThatHaveNone) {
  const auto inner = arrow::struct_({arrow::field("i", arrow::int32(), false)});
  const auto type =
      arrow::struct_({arrow::field("a", arrow::utf8(), false), arrow::field("b", inner, false),
                      arrow::field("c", arrow::fixed_size_list(arrow::field("d", arrow::int8(), false), 2), false)});
  const auto array = FromJson(type, R"([null, {"a": "x", "b": {"i": 1}, "c": [1, 2]}, null])");
  const auto batch = OneColumn(array);
  const auto codec = RowCodec::Make(batch->schema()).ValueOrDie();
  const auto decoded = Decode(*codec, EncodeRows(*codec, *batch))->column(0);
  EXPECT_TRUE(SameValues(*decoded, *array));
  EXPECT_EQ(decoded->null_count(), 2);
  std::vector<std::shared_ptr<arrow::ArrayData>> below = decoded->data()->child_data;
  for (size_t i = 0; i < below.size(); ++i) {
    EXPECT_EQ(below[i]->GetNullCount(), 0) << below[i]->type->ToString();
    for (const auto& child : std::vector(below[i]->child_data)) below.push_back(child);
  }
  EXPECT_EQ(below.size(), 5);
}

TEST(RowCodecTest, SchemaMetadataSurvives) {
  const auto metadata = arrow::key_value_metadata({"k"}, {"v"});
  const auto field = arrow::field("c", arrow::int8(), true, arrow::key_value_metadata({"PARQUET:field_id"}, {"7"}));
  const auto schema = arrow::schema({field}, metadata);
  EXPECT_TRUE(RowCodec::Make(schema).ValueOrDie()->output_schema()->Equals(*schema, /*check_metadata=*/true));
}

TEST(RowCodecTest, NoColumnsAndNoRowsAreFine) {
  const auto codec = MakeCodec({});
  EXPECT_EQ(codec->fixed_width(), 0);
  const auto batch = arrow::RecordBatch::Make(arrow::schema({}), 3, arrow::ArrayVector{});
  EXPECT_EQ(Decode(*codec, EncodeRows(*codec, *batch))->num_rows(), 3);

  const auto strings = MakeCodec({arrow::field("a", arrow::utf8()), arrow::field("b", arrow::list(arrow::utf8_view()))});
  const auto none = Decode(*strings, {});
  EXPECT_EQ(none->num_rows(), 0);
}

void ExpectError(const arrow::Status& status, ErrorKind kind, const std::string& text) {
  EXPECT_EQ(GetErrorKind(status), kind) << status.ToString();
  EXPECT_THAT(status.ToString(), testing::HasSubstr(text));
}

TEST(RowCodecTest, RefusesWhatItCannotKeep) {
  const auto union_type = arrow::dense_union({arrow::field("a", arrow::int8())});
  ExpectError(RowCodec::Make(arrow::schema({arrow::field("u", arrow::list(union_type))})).status(), ErrorKind::kUnsupported,
              "column u");
  ExpectError(RowCodec::Make(arrow::schema({arrow::field("r", arrow::run_end_encoded(arrow::int32(), arrow::utf8()))})).status(),
              ErrorKind::kUnsupported, "column r");

  const auto codec = MakeCodec({arrow::field("x", arrow::int32(), false)});
  const auto with_null = OneColumn(FromJson(arrow::int32(), "[1, null]"));
  uint8_t space[64];
  std::vector<uint8_t*> rows{space, space + 8};
  std::vector<uint32_t> sizes(3);
  ExpectError(codec->Encode(*with_null, 0, rows), ErrorKind::kInternal, "column x");
  ExpectError(codec->Encode(*with_null, 1, rows), ErrorKind::kInternal, "rows 1 to 3");
  ExpectError(codec->AddSizes(*with_null, 0, sizes), ErrorKind::kInternal, "rows 0 to 3");
  ExpectError(codec->Encode(*OneColumn(FromJson(arrow::utf8(), R"(["a", "b"])")), 0, rows), ErrorKind::kInternal, "column x");
  ExpectError(codec->Encode(*arrow::RecordBatch::Make(arrow::schema({}), 2, arrow::ArrayVector{}), 0, rows), ErrorKind::kInternal,
              "0 columns");
}

TEST(RowCodecTest, RefusesDecimalsBeyondTheirPrecision) {
  const auto type = arrow::decimal256(18, 0);
  arrow::Decimal256Builder builder(type);
  ASSERT_TRUE(builder.Append(arrow::Decimal256("123456789012345678901")).ok());
  const auto array = builder.Finish().ValueOrDie();
  uint8_t space[64];
  std::vector<uint8_t*> rows{space};
  ExpectError(MakeCodec({arrow::field("d", type)})->Encode(*OneColumn(array), 0, rows), ErrorKind::kExecution, "column d");

  const auto nested = arrow::StructArray::Make({array}, {arrow::field("d", type)}).ValueOrDie();
  ExpectError(MakeCodec({arrow::field("s", nested->type())})->Encode(*OneColumn(nested), 0, rows), ErrorKind::kExecution,
              "column s");
}

TEST(RowCodecTest, SizesBeyondFourGibibytesAreRefused) {
  const auto batch = OneColumn(FromJson(arrow::utf8(), R"(["abcdefgh"])"));
  std::vector<uint32_t> sizes{UINT32_MAX - 8};
  ExpectError(RowCodec::Make(batch->schema()).ValueOrDie()->AddSizes(*batch, 0, sizes), ErrorKind::kMemoryLimit, "4 GiB");
}

TEST(RowCodecTest, DecodingMoreThanTwoGibibytesIsRefused) {
  constexpr int32_t kLong = 1 << 26;
  const auto text = arrow::Buffer::FromString(std::string(kLong, 'x'));
  const auto offsets = arrow::Buffer::FromVector(std::vector<int32_t>{0, kLong});
  const auto strings = std::make_shared<arrow::StringArray>(1, offsets, text);
  const auto batch = OneColumn(strings);
  const auto codec = RowCodec::Make(batch->schema()).ValueOrDie();
  const auto row = EncodeRows(*codec, *batch);
  // The same row forty times over: no memory is needed to find out that it is too much.
  const std::vector<const uint8_t*> rows(40, row[0].data());
  ExpectError(codec->Decode(rows, arrow::default_memory_pool()).status(), ErrorKind::kInternal, "2 GiB");
}

TEST(RowCodecTest, UnevenTextStaysWithinTwiceItsSize) {
  for (const bool long_first : {true, false}) {
    for (const auto& type : {arrow::utf8(), arrow::utf8_view(), arrow::large_utf8()}) {
      const auto builder = arrow::MakeBuilder(type).ValueOrDie();
      for (int i = 0; i < 3000; ++i) {
        const bool is_long = long_first ? i < 256 : i >= 2744;
        const auto scalar =
            arrow::MakeScalar(type, arrow::Buffer::FromString(std::string(is_long ? 20'000 : i % 20, 'x'))).ValueOrDie();
        ASSERT_TRUE(builder->AppendScalar(*scalar).ok());
      }
      const auto array = builder->Finish().ValueOrDie();
      const auto batch = OneColumn(array);
      const auto codec = RowCodec::Make(batch->schema()).ValueOrDie();
      const auto rows = EncodeRows(*codec, *batch);
      arrow::ProxyMemoryPool pool(arrow::default_memory_pool());
      const auto decoded = codec->Decode(Pointers(rows), &pool).ValueOrDie();
      EXPECT_TRUE(decoded->column(0)->Equals(array));
      constexpr int64_t kTextBytes = 256 * 20'000;
      EXPECT_LT(pool.bytes_allocated(), kTextBytes * 9 / 8 + (int64_t{200} << 10));
      // While a buffer grows the old and the new one may both be there.
      EXPECT_LT(pool.max_memory(), kTextBytes * 2 + (int64_t{600} << 10));
    }
  }
}

/// Fails the allocation of a given number, and counts what is held.
class FailingPool : public arrow::MemoryPool {
 public:
  explicit FailingPool(int64_t fail_at) : fail_at_(fail_at) {}

  arrow::Status Allocate(int64_t size, int64_t alignment, uint8_t** out) override {
    if (count_++ == fail_at_) return arrow::Status::OutOfMemory("on purpose");
    return base_->Allocate(size, alignment, out);
  }
  arrow::Status Reallocate(int64_t old_size, int64_t new_size, int64_t alignment, uint8_t** out) override {
    if (count_++ == fail_at_) return arrow::Status::OutOfMemory("on purpose");
    return base_->Reallocate(old_size, new_size, alignment, out);
  }
  void Free(uint8_t* buffer, int64_t size, int64_t alignment) override { base_->Free(buffer, size, alignment); }
  int64_t bytes_allocated() const override { return base_->bytes_allocated(); }
  int64_t total_bytes_allocated() const override { return base_->total_bytes_allocated(); }
  int64_t num_allocations() const override { return count_; }
  std::string backend_name() const override { return "failing"; }

 private:
  int64_t fail_at_;
  int64_t count_ = 0;
  std::unique_ptr<arrow::MemoryPool> base_ = arrow::MemoryPool::CreateDefault();
};

TEST(RowCodecTest, EveryRefusedAllocationIsAnErrorAndLeaksNothing) {
  Random random(6);
  const auto type = arrow::struct_({arrow::field("a", arrow::int32()), arrow::field("b", arrow::utf8())});
  arrow::FieldVector fields{arrow::field("i", arrow::int64()), arrow::field("s", arrow::utf8()),
                            arrow::field("v", arrow::utf8_view()), arrow::field("n", type), arrow::field("b", arrow::boolean())};
  arrow::ArrayVector columns;
  for (const auto& field : fields) columns.push_back(RandomArray(field->type(), 400, 0.2, random));
  const auto batch = arrow::RecordBatch::Make(arrow::schema(fields), 400, columns);
  const auto codec = RowCodec::Make(batch->schema()).ValueOrDie();
  const auto rows = EncodeRows(*codec, *batch);
  int64_t failures = 0;
  for (int64_t fail_at = 0;; ++fail_at) {
    FailingPool pool(fail_at);
    const auto decoded = codec->Decode(Pointers(rows), &pool);
    if (decoded.ok()) {
      EXPECT_GT(pool.bytes_allocated(), 0) << "the batch is not in the pool";
      break;
    }
    EXPECT_TRUE(decoded.status().IsOutOfMemory()) << decoded.status().ToString();
    EXPECT_EQ(pool.bytes_allocated(), 0);
    ++failures;
  }
  EXPECT_GT(failures, 10);
}

}  // namespace
}  // namespace icebound::row
