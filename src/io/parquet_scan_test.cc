// SPDX-License-Identifier: Apache-2.0
//
// Scans against Arrow's own tables: what was written must come back, in bounded batches, whatever the layout of the files.
#include "io/parquet_table.h"

#include <arrow/compute/api.h>
#include <arrow/extension/uuid.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <random>
#include <thread>

#include "io/parquet_schema.h"
#include "io/parquet_testing.h"

namespace icebound::io {
namespace {

using testing::ArrayOf;
using testing::Collect;
using testing::Directory;
using testing::Engine;
using ::testing::HasSubstr;
using testing::ReadTable;
using testing::WholeTable;
using testing::WriteFile;

#define ASSERT_OK_VALUE(target, expression)                                 \
  auto target##_result = (expression);                                      \
  ASSERT_TRUE(target##_result.ok()) << target##_result.status().ToString(); \
  auto target = std::move(target##_result).ValueUnsafe()

std::shared_ptr<arrow::Table> TableOf(std::vector<std::pair<std::string, std::shared_ptr<arrow::Array>>> columns) {
  arrow::FieldVector fields;
  arrow::ArrayVector arrays;
  for (auto& [name, array] : columns) {
    fields.push_back(arrow::field(name, array->type()));
    arrays.push_back(array);
  }
  return arrow::Table::Make(arrow::schema(fields), arrays);
}

std::shared_ptr<arrow::Array> Sequence(int64_t begin, int64_t end) {
  arrow::Int64Builder builder;
  for (int64_t i = begin; i < end; ++i) EXPECT_TRUE(builder.Append(i).ok());
  return builder.Finish().ValueOrDie();
}

std::shared_ptr<arrow::Array> Strings(int64_t count, const std::function<std::string(int64_t)>& value) {
  arrow::StringBuilder builder;
  for (int64_t i = 0; i < count; ++i) EXPECT_TRUE(builder.Append(value(i)).ok());
  return builder.Finish().ValueOrDie();
}

void ExpectSameTable(const arrow::Table& expected, const arrow::Table& actual) {
  ASSERT_EQ(expected.num_columns(), actual.num_columns());
  ASSERT_EQ(expected.num_rows(), actual.num_rows());
  for (int i = 0; i < expected.num_columns(); ++i) {
    EXPECT_TRUE(
        expected.column(i)->Equals(*actual.column(i), arrow::EqualOptions::Defaults().nans_equal(true).signed_zeros_equal(false)))
        << expected.field(i)->ToString() << "\nexpected " << expected.column(i)->ToString() << "\nactual "
        << actual.column(i)->ToString();
  }
}

/// A column of every type that Arrow can write to Parquet: how it is written, and how the scan must deliver it.
struct TypeCase {
  std::string name;
  std::shared_ptr<arrow::Array> written;
  std::shared_ptr<arrow::Array> read;
};

std::vector<TypeCase> TypeCases() {
  std::vector<TypeCase> cases;
  const auto same = [&](const std::shared_ptr<arrow::DataType>& type, const std::string& json) {
    cases.push_back({type->ToString(), ArrayOf(type, json), ArrayOf(type, json)});
  };
  const auto becomes = [&](const std::shared_ptr<arrow::DataType>& from, const std::shared_ptr<arrow::DataType>& to,
                           const std::string& json) {
    cases.push_back({from->ToString(), ArrayOf(from, json), ArrayOf(to, json)});
  };
  same(arrow::boolean(), "[true, null, false, true]");
  same(arrow::int8(), "[-128, null, 127, 0]");
  same(arrow::int16(), "[-32768, null, 32767, 0]");
  same(arrow::int32(), "[-2147483648, null, 2147483647, 0]");
  same(arrow::int64(), "[-9223372036854775808, null, 9223372036854775807, 0]");
  same(arrow::uint8(), "[0, null, 255, 1]");
  same(arrow::uint16(), "[0, null, 65535, 1]");
  same(arrow::uint32(), "[0, null, 4294967295, 1]");
  same(arrow::uint64(), "[0, null, 18446744073709551615, 1]");
  same(arrow::float16(), "[1.5, null, -2, 0]");
  same(arrow::float32(), "[1.5, null, NaN, -Inf]");
  same(arrow::float64(), "[1.5, null, NaN, -0.0]");
  same(arrow::decimal128(5, 2), R"(["123.45", null, "-999.99", "0.00"])");
  same(arrow::decimal128(15, 2), R"(["123456789012.45", null, "-0.01", "0.00"])");
  same(arrow::decimal128(38, 10), R"(["1234567890123456789012345678.0123456789", null, "-0.0000000001", "0.0000000000"])");
  same(arrow::decimal256(60, 4), R"(["12345678901234567890123456789012345678901234567890.1234", null, "-1.0000", "0.0000"])");
  same(arrow::date32(), "[0, null, -719162, 2932896]");
  becomes(arrow::date64(), arrow::date32(), "[0, null, 0, 0]");
  same(arrow::time32(arrow::TimeUnit::MILLI), "[0, null, 86399999, 1]");
  same(arrow::time64(arrow::TimeUnit::MICRO), "[0, null, 86399999999, 1]");
  same(arrow::time64(arrow::TimeUnit::NANO), "[0, null, 86399999999999, 1]");
  same(arrow::timestamp(arrow::TimeUnit::MILLI), "[0, null, -1, 4102444800000]");
  same(arrow::timestamp(arrow::TimeUnit::MICRO), "[0, null, -1, 4102444800000000]");
  same(arrow::timestamp(arrow::TimeUnit::NANO), "[0, null, -1, 4102444800000000000]");
  same(arrow::timestamp(arrow::TimeUnit::MICRO, "UTC"), "[0, null, -1, 1]");
  same(arrow::timestamp(arrow::TimeUnit::MICRO, "Europe/Berlin"), "[0, null, -1, 1]");
  same(arrow::duration(arrow::TimeUnit::MICRO), "[0, null, -1, 1]");
  same(arrow::utf8(), R"(["", null, "häß", "x"])");
  same(arrow::binary(), R"(["", null, "abc", "x"])");
  same(arrow::fixed_size_binary(3), R"(["abc", null, "def", "xyz"])");
  becomes(arrow::large_utf8(), arrow::utf8(), R"(["", null, "häß", "x"])");
  becomes(arrow::large_binary(), arrow::binary(), R"(["", null, "abc", "x"])");
  becomes(arrow::utf8_view(), arrow::utf8(), R"(["", null, "a string that is longer than twelve bytes", "x"])");
  becomes(arrow::binary_view(), arrow::binary(), R"(["", null, "a string that is longer than twelve bytes", "x"])");
  becomes(arrow::dictionary(arrow::int32(), arrow::utf8()), arrow::utf8(), R"(["b", null, "a", "b"])");
  same(arrow::null(), "[null, null, null, null]");
  same(arrow::list(arrow::int32()), "[[1, 2], null, [], [null, 3]]");
  same(arrow::list(arrow::list(arrow::utf8())), R"([[["a"], []], null, [], [null, ["b", null]]])");
  becomes(arrow::large_list(arrow::utf8_view()), arrow::list(arrow::utf8()), R"([["a"], null, [], [null, "b"]])");
  same(arrow::fixed_size_list(arrow::int32(), 2), "[[1, 2], [3, 4], [5, null], [7, 8]]");
  same(arrow::struct_({arrow::field("a", arrow::int32()), arrow::field("b", arrow::utf8())}),
       R"([{"a": 1, "b": "x"}, null, {"a": null, "b": null}, {"a": 4, "b": ""}])");
  same(arrow::map(arrow::utf8(), arrow::int32()), R"([[["a", 1], ["b", null]], null, [], [["c", 3]]])");
  same(arrow::struct_({arrow::field("l", arrow::list(arrow::struct_({arrow::field("x", arrow::int64())})))}),
       R"([{"l": [{"x": 1}, null]}, null, {"l": []}, {"l": null}])");
  return cases;
}

TEST(ParquetScan, EveryTypeComesBackInPlainTypes) {
  for (const bool store_schema : {true, false}) {
    for (const TypeCase& type_case : TypeCases()) {
      SCOPED_TRACE(type_case.name + (store_schema ? " with stored schema" : ""));
      Directory directory;
      WriteFile(directory / "t.parquet", *TableOf({{"c", type_case.written}, {"id", Sequence(0, 4)}}),
                {.row_group_rows = 3, .store_schema = store_schema});
      Engine engine;
      ASSERT_OK_VALUE(table, ReadTable(directory / "t.parquet", &engine));
      std::shared_ptr<arrow::Array> expected = type_case.read;
      // What only the stored schema knows is lost without it.
      if (!store_schema && expected->type_id() == arrow::Type::DURATION) expected = expected->View(arrow::int64()).ValueOrDie();
      if (!store_schema && expected->type_id() == arrow::Type::TIMESTAMP &&
          !static_cast<const arrow::TimestampType&>(*expected->type()).timezone().empty()) {
        expected = expected->View(arrow::timestamp(arrow::TimeUnit::MICRO, "UTC")).ValueOrDie();
      }
      if (!store_schema && expected->type_id() == arrow::Type::FIXED_SIZE_LIST) {
        expected = arrow::compute::Cast(*expected, arrow::list(arrow::int32())).ValueOrDie();
      }
      const auto whole = arrow::Concatenate(table->column(0)->chunks()).ValueOrDie();
      ASSERT_TRUE(SameLayout(*whole->type(), *expected->type()))
          << whole->type()->ToString() << " for " << expected->type()->ToString();
      EXPECT_TRUE(arrow::MakeArray(Relabel(whole->data(), expected->type()))
                      ->Equals(*expected, arrow::EqualOptions::Defaults().nans_equal(true)))
          << whole->ToString() << "\nfor " << expected->ToString();
      EXPECT_TRUE(whole->ValidateFull().ok());
    }
  }
}

TEST(ParquetScan, ExtensionTypesBecomeTheirStorageAndKeepTheirName) {
  Directory directory;
  const auto storage = ArrayOf(arrow::fixed_size_binary(16), R"(["0123456789abcdef", null])");
  const auto uuids = arrow::ExtensionType::WrapArray(arrow::extension::uuid(), storage);
  WriteFile(directory / "t.parquet", *TableOf({{"u", uuids}}));
  Engine engine;
  ASSERT_OK_VALUE(table, ReadTable(directory / "t.parquet", &engine));
  EXPECT_TRUE(table->schema()->field(0)->type()->Equals(*arrow::fixed_size_binary(16)));
  ASSERT_TRUE(table->schema()->field(0)->HasMetadata());
  EXPECT_EQ(table->schema()->field(0)->metadata()->Get("ARROW:extension:name").ValueOrDie(), "arrow.uuid");
  EXPECT_TRUE(table->column(0)->chunk(0)->Equals(*storage));
}

TEST(ParquetScan, TimestampsOfInt96AreMicroseconds) {
  Directory directory;
  // Year 9999 has no place in 64 bits of nanoseconds.
  const auto times = ArrayOf(arrow::timestamp(arrow::TimeUnit::MICRO), "[253402300799999999, 0, null]");
  auto file = arrow::io::FileOutputStream::Open(directory / "t.parquet").ValueOrDie();
  const auto properties = parquet::ArrowWriterProperties::Builder().enable_deprecated_int96_timestamps()->build();
  ASSERT_TRUE(parquet::arrow::WriteTable(*TableOf({{"t", times}}), arrow::default_memory_pool(), file, 100,
                                         parquet::default_writer_properties(), properties)
                  .ok());
  ASSERT_TRUE(file->Close().ok());
  Engine engine;
  ASSERT_OK_VALUE(table, ReadTable(directory / "t.parquet", &engine));
  EXPECT_TRUE(table->column(0)->chunk(0)->Equals(*times)) << table->ToString();
}

/// Files that differ in codec, page version, page size and dictionaries must all give the same rows.
TEST(ParquetScan, EveryLayoutGivesTheSameRows) {
  std::mt19937_64 random(7);
  constexpr int64_t kRows = 20000;
  arrow::DoubleBuilder doubles;
  arrow::StringBuilder strings;
  arrow::ListBuilder lists(arrow::default_memory_pool(), std::make_shared<arrow::Int32Builder>());
  for (int64_t i = 0; i < kRows; ++i) {
    ASSERT_TRUE((random() % 10 == 0 ? doubles.AppendNull() : doubles.Append(static_cast<double>(random() % 1000))).ok());
    ASSERT_TRUE((random() % 7 == 0 ? strings.AppendNull()
                                   : strings.Append(std::string(random() % 30, static_cast<char>('a' + random() % 26))))
                    .ok());
    ASSERT_TRUE(lists.Append().ok());
    for (uint64_t k = random() % 4; k > 0; --k)
      ASSERT_TRUE(static_cast<arrow::Int32Builder*>(lists.value_builder())->Append(static_cast<int32_t>(random() % 100)).ok());
  }
  const auto table = TableOf({{"id", Sequence(0, kRows)},
                              {"d", doubles.Finish().ValueOrDie()},
                              {"s", strings.Finish().ValueOrDie()},
                              {"l", lists.Finish().ValueOrDie()}});
  for (const auto codec : {arrow::Compression::UNCOMPRESSED, arrow::Compression::SNAPPY, arrow::Compression::ZSTD,
                           arrow::Compression::GZIP, arrow::Compression::LZ4, arrow::Compression::BROTLI}) {
    for (const auto version : {parquet::ParquetDataPageVersion::V1, parquet::ParquetDataPageVersion::V2}) {
      for (const bool dictionary : {true, false}) {
        SCOPED_TRACE(
            fmt::format("codec {} version {} dictionary {}", static_cast<int>(codec), static_cast<int>(version), dictionary));
        Directory directory;
        WriteFile(directory / "t.parquet", *table,
                  {.row_group_rows = 7001, .adjust = [&](parquet::WriterProperties::Builder* builder) {
                     builder->compression(codec)->data_page_version(version)->data_pagesize(3000)->enable_page_checksum();
                     if (!dictionary) builder->disable_dictionary();
                   }});
        Engine engine;
        ASSERT_OK_VALUE(read, ReadTable(directory / "t.parquet", &engine));
        ExpectSameTable(*table, *read);
      }
    }
  }
}

TEST(ParquetScan, BatchesAreBoundedByRowsAndBytes) {
  Directory directory;
  constexpr int64_t kRows = 3000;
  // Widths from nothing to 100 KiB, one row of 3 MiB; without size statistics nothing says so beforehand.
  const auto wide = Strings(kRows, [](int64_t i) {
    return std::string(i == 1500 ? 3 << 20 : i % 100 == 0 ? 100 << 10 : i % 50, 'x');
  });
  const auto table = TableOf({{"id", Sequence(0, kRows)}, {"s", wide}});
  for (const auto level : {parquet::SizeStatisticsLevel::None, parquet::SizeStatisticsLevel::PageAndColumnChunk}) {
    WriteFile(directory / "t.parquet", *table,
              {.adjust = [&](auto* builder) { builder->set_size_statistics_level(level)->disable_dictionary(); }});
    Engine engine;
    engine.context->batch_rows = 512;
    ASSERT_OK_VALUE(opened, engine.Open(directory / "t.parquet"));
    ASSERT_OK_VALUE(batches, Collect(*opened, WholeTable(*opened), &engine));
    for (const auto& batch : batches) {
      EXPECT_LE(batch->num_rows(), 512);
      EXPECT_GT(batch->num_rows(), 0);
      const auto& column = static_cast<const arrow::StringArray&>(*batch->column(1));
      EXPECT_TRUE(column.total_values_length() <= (1 << 20) * 3 / 2 || batch->num_rows() == 1)
          << column.total_values_length() << " in " << batch->num_rows();
    }
    ExpectSameTable(*table, *arrow::Table::FromRecordBatches(opened->schema(), batches).ValueOrDie());
  }
}

// A megabyte a row, stored once in a dictionary: 3 GB of text in a file of a few kilobytes.
TEST(ParquetScan, DictionaryOfWideStringsStaysInTheLimit) {
  Directory directory;
  constexpr int64_t kRows = 3000;
  arrow::Int32Builder indices;
  for (int64_t i = 0; i < kRows; ++i) ASSERT_TRUE(indices.Append(static_cast<int32_t>(i % 2)).ok());
  const auto values = Strings(2, [](int64_t i) { return std::string(1 << 20, static_cast<char>('a' + i)); });
  const auto wide = arrow::DictionaryArray::FromArrays(indices.Finish().ValueOrDie(), values).ValueOrDie();
  WriteFile(directory / "t.parquet", *TableOf({{"s", wide}, {"id", Sequence(0, kRows)}}), {.adjust = [](auto* builder) {
              builder->dictionary_pagesize_limit(8 << 20)->set_size_statistics_level(parquet::SizeStatisticsLevel::None);
            }});
  ASSERT_LT(std::filesystem::file_size(directory / "t.parquet"), 4 << 20);
  Engine engine(32);
  ASSERT_OK_VALUE(table, engine.Open(directory / "t.parquet"));
  ASSERT_OK_VALUE(source, table->Scan(WholeTable(*table), engine.context.get()));
  ASSERT_OK_VALUE(stream, source->OpenStream());
  int64_t rows = 0;
  while (true) {
    ASSERT_OK_VALUE(batch, stream->Next());
    if (batch == nullptr) break;
    const auto& column = static_cast<const arrow::StringArray&>(*batch->column(0));
    for (int64_t i = 0; i < batch->num_rows(); ++i, ++rows) {
      ASSERT_EQ(column.GetView(i).size(), size_t{1} << 20);
      ASSERT_EQ(column.GetView(i)[7], static_cast<char>('a' + rows % 2));
      ASSERT_EQ(static_cast<const arrow::Int64Array&>(*batch->column(1)).Value(i), rows);
    }
  }
  EXPECT_EQ(rows, kRows);
  EXPECT_LE(engine.ledger->peak_bytes(), engine.ledger->granted_bytes());
}

TEST(ParquetScan, SmallDictionariesMayBeKept) {
  Directory directory;
  constexpr int64_t kRows = 50000;
  const auto colours = Strings(kRows, [](int64_t i) { return fmt::format("colour {}", i % 7); });
  const auto texts = Strings(kRows, [](int64_t i) { return fmt::format("a text of its own {}", i); });
  const auto table = TableOf({{"c", colours}, {"t", texts}, {"id", Sequence(0, kRows)}});
  WriteFile(directory / "1.parquet", *table, {.row_group_rows = 20000});
  // The second file has no dictionary: one is made.
  WriteFile(directory / "2.parquet", *table, {.adjust = [](auto* builder) { builder->disable_dictionary(); }});
  Engine engine;
  auto opened = ParquetTable::Open(engine.file_systems.get(), directory.path(), engine.ledger.get(), {.keep_dictionaries = true})
                    .ValueOrDie();
  EXPECT_TRUE(opened->schema()->field(0)->type()->Equals(*arrow::dictionary(arrow::int32(), arrow::utf8())));
  EXPECT_TRUE(opened->schema()->field(1)->type()->Equals(*arrow::utf8()));
  ASSERT_OK_VALUE(batches, Collect(*opened, WholeTable(*opened), &engine));
  int64_t row = 0;
  for (const auto& batch : batches) {
    ASSERT_TRUE(batch->ValidateFull().ok());
    const auto decoded = arrow::compute::Cast(*batch->column(0), arrow::utf8()).ValueOrDie();
    for (int64_t i = 0; i < batch->num_rows(); ++i, ++row) {
      ASSERT_EQ(static_cast<const arrow::StringArray&>(*decoded).GetView(i), fmt::format("colour {}", row % kRows % 7));
    }
  }
  EXPECT_EQ(row, 2 * kRows);
}

TEST(ParquetScan, ProjectionChoosesAndOrdersColumns) {
  Directory directory;
  WriteFile(directory / "t.parquet", *TableOf({{"a", Sequence(0, 10)}, {"b", Sequence(10, 20)}, {"c", Sequence(20, 30)}}),
            {.row_group_rows = 4});
  Engine engine;
  ASSERT_OK_VALUE(table, engine.Open(directory / "t.parquet"));
  ASSERT_OK_VALUE(batches, Collect(*table, {.projection = {2, 0}}, &engine));
  const auto read = arrow::Table::FromRecordBatches(batches.front()->schema(), batches).ValueOrDie();
  EXPECT_EQ(read->schema()->field_names(), (std::vector<std::string>{"c", "a"}));
  ExpectSameTable(*TableOf({{"c", Sequence(20, 30)}, {"a", Sequence(0, 10)}}), *read);
}

TEST(ParquetScan, NoColumnsAreCountedWithoutReadingThem) {
  Directory directory;
  WriteFile(directory / "t.parquet", *TableOf({{"a", Sequence(0, 100000)}}), {.row_group_rows = 30000});
  Engine engine;
  ASSERT_OK_VALUE(table, engine.Open(directory / "t.parquet"));
  ASSERT_OK_VALUE(batches, Collect(*table, {}, &engine));
  int64_t rows = 0;
  for (const auto& batch : batches) {
    EXPECT_EQ(batch->num_columns(), 0);
    EXPECT_LE(batch->num_rows(), engine.context->batch_rows);
    rows += batch->num_rows();
  }
  EXPECT_EQ(rows, 100000);
  EXPECT_LT(engine.metrics.input_bytes, 10000);
}

TEST(ParquetScan, StreamsShareTheRows) {
  Directory directory;
  constexpr int64_t kRows = 200000;
  WriteFile(directory / "a.parquet", *TableOf({{"id", Sequence(0, kRows)}}), {.row_group_rows = 3000});
  WriteFile(directory / "b.parquet", *TableOf({{"id", Sequence(kRows, 2 * kRows)}}), {.row_group_rows = 70000});
  Engine engine(256, 4);
  ASSERT_OK_VALUE(table, engine.Open(directory.path()));
  ASSERT_OK_VALUE(source, table->Scan(WholeTable(*table), engine.context.get()));
  ASSERT_EQ(source->max_streams(), 4);
  std::vector<int> seen(2 * kRows, 0);
  std::mutex mutex;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      auto stream = source->OpenStream().ValueOrDie();
      while (auto batch = stream->Next().ValueOrDie()) {
        std::lock_guard lock(mutex);
        for (int64_t r = 0; r < batch->num_rows(); ++r)
          ++seen[static_cast<size_t>(static_cast<const arrow::Int64Array&>(*batch->column(0)).Value(r))];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(std::all_of(seen.begin(), seen.end(), [](int count) { return count == 1; }));
  EXPECT_EQ(engine.metrics.input_rows, 2 * kRows);
  EXPECT_EQ(engine.metrics.input_rows_total, 2 * kRows);
  EXPECT_GE(engine.metrics.input_bytes, static_cast<int64_t>(std::filesystem::file_size(directory / "a.parquet") / 2));
}

TEST(ParquetScan, AFewLargeRowGroupsAreSharedByPages) {
  Directory directory;
  constexpr int64_t kRows = 500000;
  const auto table =
      TableOf({{"id", Sequence(0, kRows)}, {"s", Strings(kRows, [](int64_t i) { return std::to_string(i % 1000); })}});
  for (const bool page_index : {true, false}) {
    WriteFile(directory / "t.parquet", *table, {.row_group_rows = 400000, .adjust = [&](auto* builder) {
                                                  builder->disable_dictionary("id");
                                                  if (!page_index) builder->disable_write_page_index();
                                                }});
    Engine engine(256, 3);
    ASSERT_OK_VALUE(opened, engine.Open(directory / "t.parquet"));
    ASSERT_OK_VALUE(source, opened->Scan(WholeTable(*opened), engine.context.get()));
    EXPECT_EQ(source->max_streams(), page_index ? 3 : 2);
    std::vector<int> seen(kRows, 0);
    for (int i = 0; i < source->max_streams(); ++i) {
      ASSERT_OK_VALUE(stream, source->OpenStream());
      while (auto batch = stream->Next().ValueOrDie()) {
        const auto& ids = static_cast<const arrow::Int64Array&>(*batch->column(0));
        const auto& texts = static_cast<const arrow::StringArray&>(*batch->column(1));
        for (int64_t r = 0; r < batch->num_rows(); ++r) {
          ++seen[static_cast<size_t>(ids.Value(r))];
          ASSERT_EQ(texts.GetView(r), std::to_string(ids.Value(r) % 1000));
        }
      }
    }
    EXPECT_TRUE(std::all_of(seen.begin(), seen.end(), [](int count) { return count == 1; }));
    // Every row group is read about once: its pieces share no data page, only dictionaries.
    EXPECT_LT(engine.metrics.input_bytes, static_cast<int64_t>(std::filesystem::file_size(directory / "t.parquet")) * 3 / 2);
  }
}

TEST(ParquetScan, OneStreamKeepsTheOrderOfFilesAndRows) {
  Directory directory;
  WriteFile(directory / "10.parquet", *TableOf({{"id", Sequence(100, 200)}}), {.row_group_rows = 7});
  WriteFile(directory / "02.parquet", *TableOf({{"id", Sequence(0, 100)}}), {.row_group_rows = 11});
  Engine engine;
  ASSERT_OK_VALUE(read, ReadTable(directory / "*.parquet", &engine));
  ExpectSameTable(*TableOf({{"id", Sequence(0, 200)}}), *read);
}

TEST(ParquetScan, FilesMayOrderColumnsDifferentlyAndHaveNarrowerTypes) {
  Directory directory;
  WriteFile(directory / "1.parquet", *TableOf({{"a", ArrayOf(arrow::int64(), "[1]")},
                                               {"f", ArrayOf(arrow::float64(), "[0.5]")},
                                               {"d", ArrayOf(arrow::decimal128(20, 2), R"(["1.00"])")},
                                               {"l", ArrayOf(arrow::list(arrow::field("item", arrow::int32())), "[[1]]")},
                                               {"s", ArrayOf(arrow::utf8(), R"(["x"])")}}));
  WriteFile(directory / "2.parquet",
            *TableOf({{"s", ArrayOf(arrow::large_utf8(), R"(["y"])")},
                      {"l", ArrayOf(arrow::list(arrow::field("element", arrow::int32(), false)), "[[2, 3]]")},
                      {"d", ArrayOf(arrow::decimal128(9, 2), R"(["-2.50"])")},
                      {"f", ArrayOf(arrow::float32(), "[1.5]")},
                      {"a", ArrayOf(arrow::int32(), "[-7]")}}));
  Engine engine;
  ASSERT_OK_VALUE(read, ReadTable(directory.path(), &engine));
  ASSERT_TRUE(read->ValidateFull().ok());
  EXPECT_EQ(arrow::Concatenate(read->column(0)->chunks()).ValueOrDie()->ToString(),
            ArrayOf(arrow::int64(), "[1, -7]")->ToString());
  EXPECT_EQ(arrow::Concatenate(read->column(1)->chunks()).ValueOrDie()->ToString(),
            ArrayOf(arrow::float64(), "[0.5, 1.5]")->ToString());
  EXPECT_EQ(arrow::Concatenate(read->column(2)->chunks()).ValueOrDie()->ToString(),
            ArrayOf(arrow::decimal128(20, 2), R"(["1.00", "-2.50"])")->ToString());
  EXPECT_EQ(arrow::Concatenate(read->column(3)->chunks()).ValueOrDie()->ToString(),
            ArrayOf(arrow::list(arrow::int32()), "[[1], [2, 3]]")->ToString());
  EXPECT_EQ(arrow::Concatenate(read->column(4)->chunks()).ValueOrDie()->ToString(),
            ArrayOf(arrow::utf8(), R"(["x", "y"])")->ToString());
}

struct MismatchCase {
  std::shared_ptr<arrow::Table> second;
  std::vector<std::string> named;
};

TEST(ParquetScan, FilesWithOtherSchemasAreNamed) {
  const auto first = TableOf({{"a", ArrayOf(arrow::int32(), "[1]")}, {"b", ArrayOf(arrow::utf8(), R"(["x"])")}});
  const std::vector<MismatchCase> cases = {
      {TableOf({{"a", ArrayOf(arrow::int32(), "[1]")}}), {"\"b\"", "string"}},
      {TableOf({{"a", ArrayOf(arrow::int32(), "[1]")},
                {"b", ArrayOf(arrow::utf8(), R"(["x"])")},
                {"c", ArrayOf(arrow::int8(), "[1]")}}),
       {"\"c\"", "int8"}},
      {TableOf({{"a", ArrayOf(arrow::utf8(), R"(["1"])")}, {"b", ArrayOf(arrow::utf8(), R"(["x"])")}}),
       {"\"a\"", "int32", "string"}},
      {TableOf({{"a", ArrayOf(arrow::int64(), "[1]")}, {"b", ArrayOf(arrow::utf8(), R"(["x"])")}}), {"\"a\"", "int32", "int64"}},
      {TableOf({{"A", ArrayOf(arrow::int32(), "[1]")}, {"b", ArrayOf(arrow::utf8(), R"(["x"])")}}), {"\"a\""}},
  };
  for (const MismatchCase& mismatch : cases) {
    Directory directory;
    WriteFile(directory / "1.parquet", *first);
    WriteFile(directory / "2.parquet", *mismatch.second);
    Engine engine;
    const auto opened = engine.Open(directory / "*.parquet");
    ASSERT_FALSE(opened.ok());
    EXPECT_EQ(GetErrorKind(opened.status()), ErrorKind::kInvalidInput);
    EXPECT_THAT(opened.status().message(),
                ::testing::AllOf(HasSubstr(directory / "1.parquet"), HasSubstr(directory / "2.parquet")));
    for (const std::string& name : mismatch.named) EXPECT_THAT(opened.status().message(), HasSubstr(name));
  }
}

TEST(ParquetScan, SchemasOfManyFilesAreCheckedWhenTheyAreOpened) {
  Directory directory;
  for (int i = 0; i < 40; ++i) WriteFile(directory / fmt::format("{:03}.parquet", i), *TableOf({{"a", Sequence(i, i + 1)}}));
  WriteFile(directory / "030.parquet", *TableOf({{"a", ArrayOf(arrow::utf8(), R"(["1"])")}}));
  Engine engine;
  ASSERT_OK_VALUE(table, engine.Open(directory.path()));
  EXPECT_EQ(table->file_count(), 40);
  const auto batches = Collect(*table, WholeTable(*table), &engine);
  ASSERT_FALSE(batches.ok());
  EXPECT_THAT(batches.status().message(), HasSubstr("030.parquet"));
}

TEST(ParquetScan, EmptyTablesHaveASchemaAndNoRows) {
  Directory directory;
  const auto empty = TableOf({{"a", ArrayOf(arrow::int32(), "[]")}, {"l", ArrayOf(arrow::list(arrow::utf8()), "[]")}});
  WriteFile(directory / "1.parquet", *empty);
  Engine engine;
  ASSERT_OK_VALUE(table, engine.Open(directory / "1.parquet"));
  EXPECT_EQ(table->rows(), 0);
  ASSERT_OK_VALUE(read, ReadTable(directory / "1.parquet", &engine));
  EXPECT_EQ(read->num_rows(), 0);
  EXPECT_EQ(read->num_columns(), 2);
  // Among others an empty file adds nothing.
  WriteFile(directory / "2.parquet",
            *TableOf({{"a", ArrayOf(arrow::int32(), "[5]")}, {"l", ArrayOf(arrow::list(arrow::utf8()), "[[]]")}}));
  ASSERT_OK_VALUE(both, ReadTable(directory.path(), &engine));
  EXPECT_EQ(both->num_rows(), 1);
}

TEST(ParquetScan, RepeatedColumnNamesKeepTheirPlaces) {
  Directory directory;
  WriteFile(directory / "1.parquet", *TableOf({{"a", Sequence(0, 2)}, {"a", Sequence(10, 12)}}));
  WriteFile(directory / "2.parquet", *TableOf({{"a", Sequence(2, 3)}, {"a", Sequence(12, 13)}}));
  Engine engine;
  ASSERT_OK_VALUE(read, ReadTable(directory.path(), &engine));
  ExpectSameTable(*TableOf({{"a", Sequence(0, 3)}, {"a", Sequence(10, 13)}}), *read);
}

TEST(ParquetScan, ALimitStopsTheReading) {
  Directory directory;
  WriteFile(directory / "t.parquet", *TableOf({{"a", Sequence(0, 100000)}}), {.row_group_rows = 1000});
  Engine engine;
  ASSERT_OK_VALUE(table, engine.Open(directory / "t.parquet"));
  ASSERT_OK_VALUE(batches, Collect(*table, {.projection = {0}, .limit = 2500}, &engine));
  int64_t rows = 0;
  for (const auto& batch : batches) rows += batch->num_rows();
  EXPECT_GE(rows, 2500);
  EXPECT_LE(rows, 3000);
}

TEST(ParquetScan, CancellationStopsAStream) {
  Directory directory;
  WriteFile(directory / "t.parquet", *TableOf({{"a", Sequence(0, 100000)}}), {.row_group_rows = 1000});
  Engine engine;
  ASSERT_OK_VALUE(table, engine.Open(directory / "t.parquet"));
  ASSERT_OK_VALUE(source, table->Scan(WholeTable(*table), engine.context.get()));
  ASSERT_OK_VALUE(stream, source->OpenStream());
  ASSERT_TRUE(stream->Next().ok());
  engine.cancellation.Cancel();
  const auto next = stream->Next();
  EXPECT_EQ(GetErrorKind(next.status()), ErrorKind::kCancelled);
}

TEST(ParquetScan, StreamsFollowMemory) {
  Directory directory;
  arrow::FieldVector fields;
  std::vector<std::pair<std::string, std::shared_ptr<arrow::Array>>> columns;
  std::mt19937_64 random(1);
  for (int i = 0; i < 16; ++i) {
    columns.emplace_back(fmt::format("c{}", i),
                         Strings(40000, [&](int64_t) { return fmt::format("{}{}{}", random(), random(), random()); }));
  }
  WriteFile(directory / "t.parquet", *TableOf(columns),
            {.row_group_rows = 10000, .adjust = [](auto* builder) { builder->disable_dictionary(); }});
  Engine small(32, 8), large(2048, 8);
  ASSERT_OK_VALUE(small_table, small.Open(directory / "t.parquet"));
  ASSERT_OK_VALUE(large_table, large.Open(directory / "t.parquet"));
  ASSERT_OK_VALUE(small_source, small_table->Scan(WholeTable(*small_table), small.context.get()));
  ASSERT_OK_VALUE(large_source, large_table->Scan(WholeTable(*large_table), large.context.get()));
  ASSERT_OK_VALUE(one_column, small_table->Scan({.projection = {0}}, small.context.get()));
  EXPECT_EQ(small_source->max_streams(), 1);
  EXPECT_EQ(large_source->max_streams(), 4);  // four row groups
  EXPECT_EQ(one_column->max_streams(), 4);
}

TEST(ParquetScan, ManyColumnsFitInASmallLimit) {
  Directory directory;
  constexpr int kColumns = 2000;
  constexpr int64_t kRows = 3000;
  std::vector<std::pair<std::string, std::shared_ptr<arrow::Array>>> columns;
  for (int i = 0; i < kColumns; ++i) columns.emplace_back(fmt::format("column_{}", i), Sequence(i, i + kRows));
  const auto table = TableOf(columns);
  WriteFile(directory / "t.parquet", *table, {.row_group_rows = 1000});
  Engine engine(40);
  ASSERT_OK_VALUE(opened, engine.Open(directory / "t.parquet"));
  ASSERT_OK_VALUE(source, opened->Scan(WholeTable(*opened), engine.context.get()));
  ASSERT_OK_VALUE(stream, source->OpenStream());
  int64_t row = 0;
  while (true) {
    ASSERT_OK_VALUE(batch, stream->Next());
    if (batch == nullptr) break;
    for (int i = 0; i < kColumns; i += 97) {
      for (int64_t r = 0; r < batch->num_rows(); ++r)
        ASSERT_EQ(static_cast<const arrow::Int64Array&>(*batch->column(i)).Value(r), i + row + r);
    }
    row += batch->num_rows();
  }
  EXPECT_EQ(row, kRows);
}

TEST(ParquetScan, ManyRowGroupsCostNoMemory) {
  Directory directory;
  constexpr int64_t kRows = 20000;
  WriteFile(directory / "t.parquet",
            *TableOf({{"a", Sequence(0, kRows)}, {"b", Sequence(7, kRows + 7)}, {"c", Sequence(0, kRows)}}),
            {.row_group_rows = 1, .adjust = [](auto* builder) { builder->disable_dictionary()->disable_write_page_index(); }});
  Engine engine(32);
  ASSERT_OK_VALUE(table, engine.Open(directory / "t.parquet"));
  EXPECT_EQ(table->row_groups(), kRows);
  ASSERT_OK_VALUE(source, table->Scan(WholeTable(*table), engine.context.get()));
  ASSERT_OK_VALUE(stream, source->OpenStream());
  int64_t row = 0;
  while (true) {
    ASSERT_OK_VALUE(batch, stream->Next());
    if (batch == nullptr) break;
    ASSERT_EQ(static_cast<const arrow::Int64Array&>(*batch->column(1)).Value(0), row + 7);
    row += batch->num_rows();
  }
  EXPECT_EQ(row, kRows);
  // Built whole, the metadata of 60,000 column chunks takes more than 60 MiB.
  EXPECT_LT(engine.ledger->peak_bytes(), 6 << 20);
}

TEST(ParquetScan, MemoryIsReturnedWhenTheScanIsGone) {
  Directory directory;
  WriteFile(directory / "t.parquet",
            *TableOf({{"a", Sequence(0, 100000)}, {"s", Strings(100000, [](int64_t i) { return std::to_string(i); })}}));
  Engine engine;
  ASSERT_OK_VALUE(table, engine.Open(directory / "t.parquet"));
  engine.ledger->Trim();
  const int64_t before = engine.ledger->reserved_bytes();
  {
    ASSERT_OK_VALUE(source, table->Scan(WholeTable(*table), engine.context.get()));
    ASSERT_OK_VALUE(stream, source->OpenStream());
    ASSERT_OK_VALUE(batch, stream->Next());
    EXPECT_GT(engine.ledger->reserved_bytes(), before);
  }
  engine.ledger->Trim();
  EXPECT_LE(engine.ledger->reserved_bytes(), before);
}

}  // namespace
}  // namespace icebound::io
