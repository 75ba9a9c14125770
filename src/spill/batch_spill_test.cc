// SPDX-License-Identifier: Apache-2.0
//
// Batches of every Arrow type, whole and sliced, come back equal; and what a batch drags along stays behind.
#include "spill/batch_spill.h"

#include <arrow/extension_type.h>
#include <arrow/json/from_string.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "base/injection.h"
#include "icebound/error.h"
#include "spill/disk_manager.h"
#include "spill/spill_testing.h"

namespace icebound::spill {
namespace {

using ::testing::HasSubstr;

/// An extension type that nobody registers.
class TemperatureType : public arrow::ExtensionType {
 public:
  explicit TemperatureType(std::shared_ptr<arrow::DataType> storage = arrow::int16()) : ExtensionType(std::move(storage)) {}
  std::string extension_name() const override { return "icebound.test.temperature"; }
  bool ExtensionEquals(const ExtensionType& other) const override { return other.extension_name() == extension_name(); }
  std::shared_ptr<arrow::Array> MakeArray(std::shared_ptr<arrow::ArrayData> data) const override {
    return std::make_shared<arrow::ExtensionArray>(std::move(data));
  }
  arrow::Result<std::shared_ptr<arrow::DataType>> Deserialize(std::shared_ptr<arrow::DataType>,
                                                              const std::string&) const override {
    return arrow::Status::NotImplemented("never called: not registered");
  }
  std::string Serialize() const override { return ""; }
};

struct Column {
  std::shared_ptr<arrow::DataType> type;
  std::string json;  // five values
};

std::vector<Column> EveryType() {
  const std::string ints = "[1, null, 3, -4, 5]", unsigned_ints = "[1, null, 3, 4, 255]",
                    floats = "[1.5, null, -0.0, 2.25, 1e30]";
  const std::string decimals = R"(["1.25", null, "-3.00", "99.99", "0.00"])";
  const std::string texts = R"(["a", null, "", "a string that does not fit a view", "b"])";
  const std::string lists = "[[1, 2], null, [], [3, null], [4]]";
  return {
      {arrow::null(), "[null, null, null, null, null]"},
      {arrow::boolean(), "[true, null, false, true, true]"},
      {arrow::int8(), ints},
      {arrow::int16(), ints},
      {arrow::int32(), ints},
      {arrow::int64(), ints},
      {arrow::uint8(), unsigned_ints},
      {arrow::uint16(), unsigned_ints},
      {arrow::uint32(), unsigned_ints},
      {arrow::uint64(), unsigned_ints},
      {arrow::float16(), "[1.5, null, -0.0, 2.25, 3]"},
      {arrow::float32(), floats},
      {arrow::float64(), floats},
      {arrow::decimal32(7, 2), decimals},
      {arrow::decimal64(12, 2), decimals},
      {arrow::decimal128(38, 2), decimals},
      {arrow::decimal256(76, 2), decimals},
      {arrow::date32(), ints},
      {arrow::date64(), "[86400000, null, 0, -86400000, 172800000]"},
      {arrow::time32(arrow::TimeUnit::MILLI), unsigned_ints},
      {arrow::time64(arrow::TimeUnit::NANO), unsigned_ints},
      {arrow::timestamp(arrow::TimeUnit::MICRO), ints},
      {arrow::timestamp(arrow::TimeUnit::NANO, "UTC"), ints},
      {arrow::duration(arrow::TimeUnit::SECOND), ints},
      {arrow::month_interval(), ints},
      {arrow::day_time_interval(), "[[1, 2], null, [3, 4], [-5, 6], [7, 8]]"},
      {arrow::month_day_nano_interval(), "[[1, 2, 3], null, [4, 5, 6], [-7, 8, 9], [0, 0, 1]]"},
      {arrow::utf8(), texts},
      {arrow::large_utf8(), texts},
      {arrow::binary(), texts},
      {arrow::large_binary(), texts},
      {arrow::utf8_view(), texts},
      {arrow::binary_view(), texts},
      {arrow::fixed_size_binary(3), R"(["abc", null, "def", "ghi", "jkl"])"},
      {arrow::list(arrow::int32()), lists},
      {arrow::large_list(arrow::int64()), lists},
      {arrow::list_view(arrow::int32()), lists},
      {arrow::large_list_view(arrow::int32()), lists},
      {arrow::fixed_size_list(arrow::int16(), 2), "[[1, 2], null, [3, 4], [5, null], [6, 7]]"},
      {arrow::list(arrow::list(arrow::utf8())), R"([[["a"], null], null, [], [["b", null], []], [["c"]]])"},
      {arrow::map(arrow::utf8(), arrow::int32()), R"([[["a", 1]], null, [], [["b", null], ["c", 2]], [["d", 3]]])"},
      {arrow::struct_({arrow::field("x", arrow::int32()), arrow::field("y", arrow::utf8_view())}),
       R"([{"x": 1, "y": "a"}, null, {"x": null, "y": "b"}, {"x": 4, "y": "a text longer than a view"}, {"x": 5, "y": null}])"},
      {arrow::sparse_union({arrow::field("i", arrow::int32()), arrow::field("s", arrow::utf8())}),
       R"([[0, 1], [1, "a"], [0, null], [1, null], [1, "b"]])"},
      {arrow::dense_union({arrow::field("i", arrow::int32()), arrow::field("s", arrow::utf8())}),
       R"([[0, 1], [1, "a"], [0, null], [1, null], [1, "b"]])"},
      {arrow::dictionary(arrow::int8(), arrow::utf8()), texts},
      {arrow::dictionary(arrow::uint32(), arrow::large_utf8(), /*ordered=*/true), texts},
      {arrow::dictionary(arrow::int32(), arrow::decimal128(9, 2)), decimals},
      {arrow::list(arrow::dictionary(arrow::int16(), arrow::utf8())), R"([["a", "b"], null, [], ["a", null], ["c"]])"},
  };
}

/// `copies` copies of the five rows of every type, with a run-end encoded, a nested dictionary and two extension columns.
std::shared_ptr<arrow::RecordBatch> EveryTypeBatch(int copies) {
  std::vector<std::shared_ptr<arrow::Field>> fields;
  std::vector<std::shared_ptr<arrow::Array>> columns;
  const auto add = [&](std::shared_ptr<arrow::Array> five) {
    std::vector<std::shared_ptr<arrow::Array>> parts(static_cast<size_t>(copies), five);
    auto column = copies == 1 ? five : arrow::Concatenate(parts).ValueOrDie();
    fields.push_back(arrow::field("c" + std::to_string(fields.size()), column->type()));
    columns.push_back(std::move(column));
  };
  for (const Column& column : EveryType()) add(arrow::json::ArrayFromJSONString(column.type, column.json).ValueOrDie());
  const auto from_json = [](const std::shared_ptr<arrow::DataType>& type, const char* json) {
    return arrow::json::ArrayFromJSONString(type, json).ValueOrDie();
  };
  add(arrow::RunEndEncodedArray::Make(5, from_json(arrow::int32(), "[2, 3, 5]"), from_json(arrow::utf8(), R"(["x", null, "y"])"))
          .ValueOrDie());
  const auto temperatures =
      arrow::ExtensionType::WrapArray(std::make_shared<TemperatureType>(), from_json(arrow::int16(), "[1, null, 3, 4, 5]"));
  add(temperatures);
  add(arrow::StructArray::Make({temperatures}, {arrow::field("t", temperatures->type())}).ValueOrDie());
  const auto inner =
      arrow::json::DictArrayFromJSONString(arrow::dictionary(arrow::int8(), arrow::utf8()), "[0, 1, 0]", R"(["p", "q"])")
          .ValueOrDie();
  const auto structs = arrow::StructArray::Make({inner}, {arrow::field("d", inner->type())}).ValueOrDie();
  add(arrow::DictionaryArray::FromArrays(arrow::dictionary(arrow::int8(), structs->type()),
                                         from_json(arrow::int8(), "[0, 2, null, 1, 1]"), structs)
          .ValueOrDie());
  const int64_t rows = columns[0]->length();
  return arrow::RecordBatch::Make(arrow::schema(fields), rows, columns);
}

class BatchSpillTest : public ::testing::Test {
 protected:
  void SetUp() override {
    DiskManagerOptions options;
    options.directory = directory_.path();
    ASSERT_OK_AND_ASSIGN(disk_, DiskManager::Make(options));
  }

  std::shared_ptr<SpillFile> WriteBatches(const std::vector<std::shared_ptr<arrow::RecordBatch>>& batches) {
    auto file = disk_->CreateFile("batches").ValueOrDie();
    auto writer = BatchSpillWriter::Make(file, batches[0]->schema(), &pool_).ValueOrDie();
    for (const auto& batch : batches) {
      EXPECT_OK(writer->Write(*batch));
      EXPECT_EQ(pool_.bytes_allocated(), 0) << "Write keeps memory";
    }
    EXPECT_OK(writer->Finish());
    return file;
  }

  std::vector<std::shared_ptr<arrow::RecordBatch>> ReadBatches(const std::shared_ptr<SpillFile>& file,
                                                               const std::shared_ptr<arrow::Schema>& schema,
                                                               bool consume = false) {
    auto reader = BatchSpillReader::Open(file, schema, &pool_, consume).ValueOrDie();
    std::vector<std::shared_ptr<arrow::RecordBatch>> batches;
    while (true) {
      auto batch = reader->Next();
      EXPECT_OK(batch.status());
      if (!batch.ok() || *batch == nullptr) break;
      EXPECT_OK((*batch)->ValidateFull());
      batches.push_back(*batch);
    }
    EXPECT_EQ(reader->Next().ValueOrDie(), nullptr);
    return batches;
  }

  void ExpectRoundTrip(const std::vector<std::shared_ptr<arrow::RecordBatch>>& batches) {
    auto file = WriteBatches(batches);
    const auto read = ReadBatches(file, batches[0]->schema());
    size_t next = 0;
    for (const auto& batch : batches) {
      if (batch->num_rows() == 0) continue;
      ASSERT_LT(next, read.size());
      EXPECT_TRUE(read[next]->schema()->Equals(*batch->schema(), /*check_metadata=*/true));
      for (int i = 0; i < batch->num_columns(); ++i) {
        EXPECT_TRUE(read[next]->column(i)->Equals(batch->column(i)))
            << "batch " << next << ", " << batch->column(i)->type()->ToString() << "\n"
            << read[next]->column(i)->ToString() << "\ninstead of\n"
            << batch->column(i)->ToString();
      }
      ++next;
    }
    EXPECT_EQ(next, read.size());
  }

  TemporaryDirectory directory_;
  std::unique_ptr<DiskManager> disk_;
  arrow::ProxyMemoryPool pool_{arrow::default_memory_pool()};
};

TEST_F(BatchSpillTest, EveryTypeComesBackWholeAndSliced) {
  const auto batch = EveryTypeBatch(1);
  ExpectRoundTrip({batch});
  ExpectRoundTrip(
      {batch, batch->Slice(1), batch->Slice(2, 2), batch->Slice(4, 1), batch->Slice(3, 0), batch->Slice(0, 3), batch});
  EXPECT_EQ(pool_.bytes_allocated(), 0);
}

TEST_F(BatchSpillTest, RowsWithoutColumnsAndNoBatchesAtAll) {
  const auto none = arrow::schema(arrow::FieldVector{});
  ExpectRoundTrip(
      {arrow::RecordBatch::Make(none, 7, arrow::ArrayVector{}), arrow::RecordBatch::Make(none, 1, arrow::ArrayVector{})});
  const auto dictionaries = arrow::schema({arrow::field("d", arrow::dictionary(arrow::int8(), arrow::utf8()))});
  ExpectRoundTrip({arrow::RecordBatch::MakeEmpty(dictionaries).ValueOrDie()});
}

TEST_F(BatchSpillTest, SchemaMetadataAndNullabilityComeBack) {
  const auto schema =
      arrow::schema({arrow::field("a", arrow::int32(), false, arrow::key_value_metadata({"PARQUET:field_id"}, {"7"}))},
                    arrow::key_value_metadata({"k"}, {"v"}));
  ExpectRoundTrip(
      {arrow::RecordBatch::Make(schema, 2, {arrow::json::ArrayFromJSONString(arrow::int32(), "[1, 2]").ValueOrDie()})});
}

TEST_F(BatchSpillTest, BatchesOverSixteenMiBAreSplitOverBlocks) {
  std::mt19937_64 random(3);
  std::vector<std::shared_ptr<arrow::RecordBatch>> batches;
  std::shared_ptr<arrow::Schema> schema = arrow::schema({arrow::field("a", arrow::binary()), arrow::field("b", arrow::int64())});
  for (const int64_t bytes :
       {int64_t{1000}, int64_t{20} << 20, int64_t{300} << 10, kBodyBlockBytes, (int64_t{40} << 20) + 12345}) {
    const auto value = MakeBytes(bytes, Content::kMixed, random);
    arrow::BinaryBuilder texts;
    arrow::Int64Builder numbers;
    ASSERT_OK(texts.Append(value.data(), static_cast<int32_t>(value.size())));
    ASSERT_OK(texts.Append("small"));
    ASSERT_OK(numbers.AppendValues({bytes, 2}));
    batches.push_back(arrow::RecordBatch::Make(schema, 2, {texts.Finish().ValueOrDie(), numbers.Finish().ValueOrDie()}));
  }
  ExpectRoundTrip(batches);
  auto file = WriteBatches(batches);
  EXPECT_LE(file->max_block_bytes(), kBodyBlockBytes);
  EXPECT_EQ(file->rows(), 10);
  // Reading holds one batch, not two, whatever its size.
  arrow::ProxyMemoryPool pool(arrow::default_memory_pool());
  ASSERT_OK_AND_ASSIGN(auto reader, BatchSpillReader::Open(file, schema, &pool, true));
  while (true) {
    ASSERT_OK_AND_ASSIGN(auto batch, reader->Next());
    if (batch == nullptr) break;
  }
  EXPECT_LE(pool.max_memory(), (int64_t{41} << 20));
  EXPECT_EQ(pool.bytes_allocated(), 0);
  EXPECT_EQ(disk_->used_bytes(), 0);
}

TEST_F(BatchSpillTest, AReadBatchPointsIntoItsBlockAndKeepsOnlyThat) {
  arrow::Int64Builder numbers;
  for (int64_t i = 0; i < 8192; ++i) ASSERT_OK(numbers.Append(i * 77));
  const auto column = numbers.Finish().ValueOrDie();
  const auto schema = arrow::schema({arrow::field("n", arrow::int64())});
  const auto batch = arrow::RecordBatch::Make(schema, 8192, {column});
  auto file = WriteBatches({batch, batch, batch});
  ASSERT_OK_AND_ASSIGN(auto reader, BatchSpillReader::Open(file, schema, &pool_, false));
  const int64_t before = pool_.bytes_allocated();
  ASSERT_OK_AND_ASSIGN(auto first, reader->Next());
  const int64_t one = pool_.bytes_allocated() - before;
  EXPECT_LT(one, 8192 * 8 + 1024);
  first.reset();
  EXPECT_LE(pool_.bytes_allocated(), before);
  ASSERT_OK_AND_ASSIGN(first, reader->Next());
  EXPECT_EQ(reinterpret_cast<uintptr_t>(first->column(0)->data()->buffers[1]->data()) % 64, 0u);
  EXPECT_LE(pool_.bytes_allocated(), before + one);
}

TEST_F(BatchSpillTest, ASliceDoesNotDragItsParent) {
  // Each slice is 1/1000 of its parent; written one by one they must cost about the parent once, for every type.
  const auto parent = EveryTypeBatch(2000);
  std::vector<std::shared_ptr<arrow::RecordBatch>> whole = {parent}, slices;
  for (int64_t row = 0; row < parent->num_rows(); row += 10) slices.push_back(parent->Slice(row, 10));
  for (int i = 0; i < parent->num_columns(); ++i) {
    const auto only = [&](const std::shared_ptr<arrow::RecordBatch>& batch) { return batch->SelectColumns({i}).ValueOrDie(); };
    std::vector<std::shared_ptr<arrow::RecordBatch>> parts;
    for (size_t slice = 0; slice < slices.size(); slice += 20) parts.push_back(only(slices[slice]));
    const int64_t parent_bytes = WriteBatches({only(parent)})->raw_bytes();
    const int64_t slices_bytes = WriteBatches(parts)->raw_bytes();
    // 5 % of the rows, and at most 1 KiB of metadata and padding a message.
    EXPECT_LT(slices_bytes, parent_bytes / 10 + static_cast<int64_t>(parts.size()) * 1024)
        << parent->column(i)->type()->ToString();
    ExpectRoundTrip(parts);
  }
}

std::shared_ptr<arrow::Array> Texts(int64_t count, int64_t length, const std::shared_ptr<arrow::DataType>& type = arrow::utf8()) {
  auto builder = arrow::MakeBuilder(type).ValueOrDie();
  for (int64_t i = 0; i < count; ++i) {
    std::string text = std::to_string(i);
    text.resize(static_cast<size_t>(length), '.');
    if (type->id() == arrow::Type::STRING_VIEW) {
      EXPECT_OK(static_cast<arrow::StringViewBuilder&>(*builder).Append(text));
    } else {
      EXPECT_OK(static_cast<arrow::StringBuilder&>(*builder).Append(text));
    }
  }
  return builder->Finish().ValueOrDie();
}

TEST_F(BatchSpillTest, ViewsLeaveTheBuffersOfOtherRowsBehind) {
  const auto views = Texts(10000, 100, arrow::utf8_view());
  const auto parent = arrow::RecordBatch::Make(arrow::schema({arrow::field("v", views->type())}), 10000, {views});
  std::vector<std::shared_ptr<arrow::RecordBatch>> slices;
  for (int64_t row = 0; row < 10000; row += 100) slices.push_back(parent->Slice(row, 100));
  ExpectRoundTrip(slices);
  EXPECT_LT(WriteBatches(slices)->raw_bytes(), 10000 * (100 + 16) * 1.1 + 100 * 512);
}

TEST_F(BatchSpillTest, ALargeDictionaryKeepsOnlyTheEntriesInUse) {
  const auto entries = Texts(50000, 20);
  const auto type = arrow::dictionary(arrow::int32(), arrow::utf8());
  std::vector<std::shared_ptr<arrow::RecordBatch>> batches;
  for (int32_t start = 0; start < 50000; start += 5000) {
    arrow::Int32Builder indices;
    for (int32_t i = 0; i < 100; ++i) ASSERT_OK(i == 7 ? indices.AppendNull() : indices.Append(start + i * 49));
    batches.push_back(arrow::RecordBatch::Make(
        arrow::schema({arrow::field("d", type)}), 100,
        {arrow::DictionaryArray::FromArrays(type, indices.Finish().ValueOrDie(), entries).ValueOrDie()}));
  }
  auto file = WriteBatches(batches);
  EXPECT_LT(file->raw_bytes(), static_cast<int64_t>(batches.size()) * (100 * (20 + 4 + 4) + 2048));
  const auto read = ReadBatches(file, batches[0]->schema());
  ASSERT_EQ(read.size(), batches.size());
  for (size_t i = 0; i < read.size(); ++i) {
    const auto& dictionary = static_cast<const arrow::DictionaryArray&>(*read[i]->column(0));
    EXPECT_TRUE(dictionary.type()->Equals(type));
    const auto& values = static_cast<const arrow::StringArray&>(*dictionary.dictionary());
    for (int64_t row = 0; row < 100; ++row) {
      ASSERT_EQ(dictionary.IsNull(row), row == 7);
      if (row != 7) {
        const std::string_view text = values.GetView(dictionary.GetValueIndex(row));
        EXPECT_EQ(text.substr(0, text.find('.')), std::to_string(i * 5000 + row * 49));
      }
    }
  }
}

TEST_F(BatchSpillTest, ADictionaryInsideAListIsCutDownToo) {
  const auto entries = Texts(50000, 20);
  const auto type = arrow::dictionary(arrow::int32(), arrow::utf8());
  const auto indices = arrow::json::ArrayFromJSONString(arrow::int32(), "[49999, 3, null, 3, 20000]").ValueOrDie();
  const auto values = arrow::DictionaryArray::FromArrays(type, indices, entries).ValueOrDie();
  const auto offsets = arrow::json::ArrayFromJSONString(arrow::int32(), "[0, 2, 2, 5]").ValueOrDie();
  const auto lists = arrow::ListArray::FromArrays(*offsets, *values).ValueOrDie();
  const auto batch = arrow::RecordBatch::Make(arrow::schema({arrow::field("l", lists->type())}), 3, {lists});
  auto file = WriteBatches({batch});
  EXPECT_LT(file->raw_bytes(), 4096);
  const auto read = ReadBatches(file, batch->schema());
  ASSERT_EQ(read.size(), 1u);
  const auto& back = static_cast<const arrow::ListArray&>(*read[0]->column(0));
  EXPECT_EQ(back.value_offset(3), 5);
  const auto& dictionary = static_cast<const arrow::DictionaryArray&>(*back.values());
  const auto& texts = static_cast<const arrow::StringArray&>(*dictionary.dictionary());
  const std::vector<std::string> expected = {"49999", "3", "", "3", "20000"};
  for (int64_t i = 0; i < 5; ++i) {
    ASSERT_EQ(dictionary.IsNull(i), i == 2);
    if (i == 2) continue;
    EXPECT_THAT(texts.GetString(dictionary.GetValueIndex(i)), ::testing::StartsWith(expected[i] + "."));
  }
}

TEST_F(BatchSpillTest, ADictionaryIsWrittenOnceWhileItStaysTheSame) {
  const auto type = arrow::dictionary(arrow::int32(), arrow::utf8());
  const auto schema = arrow::schema({arrow::field("d", type)});
  const auto indices = arrow::json::ArrayFromJSONString(arrow::int32(), "[0, 1, 2, 2]").ValueOrDie();
  const auto batch_with = [&](const std::shared_ptr<arrow::Array>& entries) {
    return arrow::RecordBatch::Make(schema, 4, {arrow::DictionaryArray::FromArrays(type, indices, entries).ValueOrDie()});
  };
  const auto first = Texts(3, 1000);
  // The same object, an equal one, another one, and the first again: three dictionaries, five batches.
  const std::vector<std::shared_ptr<arrow::RecordBatch>> batches = {
      batch_with(first), batch_with(first), batch_with(Texts(3, 1000)), batch_with(Texts(4, 900)), batch_with(first)};
  EXPECT_EQ(WriteBatches(batches)->blocks(), 5 + 3);
  ExpectRoundTrip(batches);
}

TEST_F(BatchSpillTest, AnotherSchemaIsRefusedAndTheFileGoesOn) {
  const auto one = EveryTypeBatch(1);
  auto file = disk_->CreateFile("batches").ValueOrDie();
  ASSERT_OK_AND_ASSIGN(auto writer, BatchSpillWriter::Make(file, one->schema(), &pool_));
  EXPECT_EQ(GetErrorKind(writer->Write(*one->SelectColumns({1, 2}).ValueOrDie())), ErrorKind::kInternal);
  EXPECT_OK(writer->Write(*one));
  EXPECT_OK(writer->Finish());
  EXPECT_EQ(ReadBatches(file, one->schema()).size(), 1u);
}

TEST_F(BatchSpillTest, ErrorsKeepTheirKindAndEndTheWriter) {
  const auto batch = EveryTypeBatch(1);
  auto file = disk_->CreateFile("batches").ValueOrDie();
  ASSERT_OK_AND_ASSIGN(auto writer, BatchSpillWriter::Make(file, batch->schema(), &pool_));
  ASSERT_OK(writer->Write(*batch));
  {
    ScopedInjection full("spill.write", ScopedInjection::FailOnHit(1, MakeError(ErrorKind::kDiskLimit, "disk full")));
    EXPECT_EQ(GetErrorKind(writer->Write(*batch)), ErrorKind::kDiskLimit);
  }
  EXPECT_EQ(GetErrorKind(writer->Write(*batch)), ErrorKind::kDiskLimit);
  EXPECT_EQ(GetErrorKind(writer->Finish()), ErrorKind::kDiskLimit);

  file = WriteBatches({batch});
  ScopedInjection broken("spill.read", ScopedInjection::FailFromHit(1, MakeError(ErrorKind::kIo, "gone")));
  const auto reader = BatchSpillReader::Open(file, batch->schema(), &pool_, false);
  EXPECT_EQ(GetErrorKind(reader.ok() ? (*reader)->Next().status() : reader.status()), ErrorKind::kIo);
}

TEST_F(BatchSpillTest, AFileOfOtherBlocksIsRefused) {
  auto file = disk_->CreateFile("rows").ValueOrDie();
  ASSERT_OK(file->Append(std::vector<uint8_t>(1000, 1), 1));
  ASSERT_OK(file->Finish());
  const auto schema = arrow::schema({arrow::field("a", arrow::int32())});
  const auto reader = BatchSpillReader::Open(file, schema, &pool_, false);
  const arrow::Status status = reader.ok() ? (*reader)->Next().status() : reader.status();
  EXPECT_EQ(GetErrorKind(status), ErrorKind::kInternal);
  EXPECT_THAT(status.message(), HasSubstr("no batch message"));
}

}  // namespace
}  // namespace icebound::spill
