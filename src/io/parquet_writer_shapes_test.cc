// SPDX-License-Identifier: Apache-2.0
//
// The Parquet writer against Arrow's reader: distributions of values, row groups, files, staging. What was written comes back,
// and what the file says about itself (statistics, page index, offsets) agrees with its rows.
#include "io/parquet_writer.h"

#include "io/parquet_writer_testing.h"

namespace icebound::io {
namespace {

using namespace testing;  // NOLINT: the tests' own vocabulary

TEST(ParquetWriter, EveryShapeComesBackAndIsDescribed) {
  Directory directory;
  Engine engine(256, 2);
  const auto table = ShapesTable(50'000, 1);
  for (int64_t row_group_rows : {7000, 122'880}) {
    for (int threads : {1, 3}) {
      WriteSettings settings;
      settings.options.row_group_rows = row_group_rows;
      settings.resources.threads = threads;
      settings.batch_rows = 1777;
      const auto counts = WriteTable(*table, directory / "t.parquet", &engine, settings);
      ASSERT_TRUE(counts.ok()) << counts.status().ToString();
      EXPECT_EQ(counts->row_groups, (table->num_rows() + row_group_rows - 1) / row_group_rows);
      ExpectSameTable(*table, *ReadBack(directory / "t.parquet"));
      EXPECT_GT(CheckMetadata(directory / "t.parquet"), table->num_columns());
    }
  }
}

TEST(ParquetWriter, NestedColumnsComeBack) {
  Directory directory;
  Engine engine;
  const auto table = NestedTable(20'000, 2);
  WriteSettings settings;
  settings.options.row_group_rows = 6000;
  settings.resources.threads = 2;
  ASSERT_STATUS_OK(WriteTable(*table, directory / "t.parquet", &engine, settings).status());
  ExpectSameTable(*table, *ReadBack(directory / "t.parquet"));
  CheckMetadata(directory / "t.parquet");
}

TEST(ParquetWriter, LongStringsHaveCutBounds) {
  Directory directory;
  Engine engine;
  arrow::StringBuilder builder;
  for (const std::string& text : {std::string(500, 'b') + "end", std::string(70, 'b'), std::string(1000, 'b'),
                                  std::string("\xc3\xa9") + std::string(400, 'z')}) {
    ASSERT_STATUS_OK(builder.Append(text));
  }
  arrow::BinaryBuilder bytes;
  for (const std::string& text :
       {std::string(500, '\xff'), std::string(500, '\x01'), std::string(10, 'x'), std::string(10, 'x')}) {
    ASSERT_STATUS_OK(bytes.Append(text));
  }
  auto table = arrow::Table::Make(arrow::schema({arrow::field("text", arrow::utf8()), arrow::field("bytes", arrow::binary())}),
                                  {builder.Finish().ValueOrDie(), bytes.Finish().ValueOrDie()});
  ASSERT_STATUS_OK(WriteTable(*table, directory / "t.parquet", &engine).status());
  ExpectSameTable(*table, *ReadBack(directory / "t.parquet"));
  CheckMetadata(directory / "t.parquet");
  auto reader = parquet::ParquetFileReader::OpenFile(directory / "t.parquet");
  auto statistics = reader->metadata()->RowGroup(0)->ColumnChunk(0)->encoded_statistics();
  EXPECT_LE(statistics->max().size(), 64u);
  EXPECT_FALSE(statistics->is_max_value_exact.value());
  EXPECT_EQ(statistics->max().substr(0, 2), "\xc3\xa9");
  EXPECT_EQ(statistics->max().back(), '{');  // z raised by one
  EXPECT_EQ(statistics->min(), std::string(64, 'b'));
  EXPECT_FALSE(statistics->is_min_value_exact.value());
  EXPECT_FALSE(reader->metadata()->RowGroup(0)->ColumnChunk(1)->encoded_statistics()->has_max);  // 0xff cannot be raised
}

TEST(ParquetWriter, StagedRowGroupsHoldTheSameRows) {
  Directory directory;
  Engine engine(256, 2);
  const auto table = ShapesTable(100'000, 3);
  WriteSettings whole;
  whole.options.row_group_rows = 100'000;
  whole.resources.budget_bytes = 200 * kMiB;
  ASSERT_STATUS_OK(WriteTable(*table, directory / "whole.parquet", &engine, whole).status());
  EXPECT_EQ(engine.disk->written_bytes(), 0);
  for (int threads : {1, 2}) {
    WriteSettings staged = whole;
    staged.resources.budget_bytes = 8 * kMiB;
    staged.resources.threads = threads;
    const int64_t spilled_before = engine.disk->written_bytes();
    const auto counts = WriteTable(*table, directory / "staged.parquet", &engine, staged);
    ASSERT_TRUE(counts.ok()) << counts.status().ToString();
    EXPECT_EQ(counts->row_groups, 1);
    const int64_t spilled = engine.disk->written_bytes() - spilled_before;
    EXPECT_GT(spilled, counts->bytes / 2);
    EXPECT_LT(spilled, counts->bytes * 11 / 10);
    EXPECT_EQ(engine.disk->used_bytes(), 0);
    ExpectSameTable(*table, *ReadBack(directory / "staged.parquet"));
    EXPECT_GT(CheckMetadata(directory / "staged.parquet"), CheckMetadata(directory / "whole.parquet"));
  }
}

TEST(ParquetWriter, StagedNestedColumns) {
  Directory directory;
  Engine engine(64, 2);
  const auto table = NestedTable(60'000, 4);
  WriteSettings staged;
  staged.options.row_group_rows = 60'000;
  staged.resources.budget_bytes = 200 << 10;
  ASSERT_STATUS_OK(WriteTable(*table, directory / "t.parquet", &engine, staged).status());
  EXPECT_GT(engine.disk->written_bytes(), 0);
  ExpectSameTable(*table, *ReadBack(directory / "t.parquet"));
  CheckMetadata(directory / "t.parquet");
}

TEST(ParquetWriter, WithoutARequestLargeRowGroupsEndEarly) {
  Directory directory;
  Engine engine;
  std::mt19937_64 random(5);
  arrow::StringBuilder builder;
  for (int i = 0; i < 20'000; ++i) {
    std::string text(500, ' ');
    for (char& c : text) c = static_cast<char>('a' + random() % 26);
    ASSERT_STATUS_OK(builder.Append(text));
  }
  const auto table = OneColumn(builder.Finish().ValueOrDie());
  WriteSettings settings;
  settings.resources.budget_bytes = 2 * kMiB;
  const auto counts = WriteTable(*table, directory / "t.parquet", &engine, settings);
  ASSERT_TRUE(counts.ok()) << counts.status().ToString();
  EXPECT_GT(counts->row_groups, 3);
  EXPECT_EQ(engine.disk->written_bytes(), 0);
  ExpectSameTable(*table, *ReadBack(directory / "t.parquet"));
  CheckMetadata(directory / "t.parquet");
}

TEST(ParquetWriter, RowGroupsOfATargetSize) {
  Directory directory;
  Engine engine(256, 2);
  const auto table = ShapesTable(150'000, 6);
  WriteSettings settings;
  settings.options.row_group_bytes = 4 * kMiB;
  settings.options.row_group_rows = 1'000'000;
  const auto counts = WriteTable(*table, directory / "t.parquet", &engine, settings);
  ASSERT_TRUE(counts.ok()) << counts.status().ToString();
  ASSERT_GT(counts->row_groups, 4);
  auto reader = parquet::ParquetFileReader::OpenFile(directory / "t.parquet");
  for (int group = 0; group + 1 < reader->metadata()->num_row_groups(); ++group) {
    const int64_t bytes = reader->metadata()->RowGroup(group)->total_compressed_size();
    EXPECT_NEAR(static_cast<double>(bytes), 4.0 * kMiB, 0.5 * kMiB) << group;
  }
  ExpectSameTable(*table, *ReadBack(directory / "t.parquet"));
}

TEST(ParquetWriter, TheSameFileForEveryTiming) {
  Directory directory;
  Engine engine(256, 4);
  const auto table = ShapesTable(60'000, 7);
  WriteSettings settings;
  settings.options.row_group_bytes = 2 * kMiB;
  settings.resources.threads = 4;
  std::string first;
  for (int i = 0; i < 5; ++i) {
    ASSERT_STATUS_OK(WriteTable(*table, directory / "t.parquet", &engine, settings).status());
    const std::string content = FileContent(directory / "t.parquet");
    if (i == 0) first = content;
    EXPECT_TRUE(content == first) << "attempt " << i;
  }
}

TEST(ParquetWriter, FilesOfATargetSize) {
  Directory directory;
  Engine engine(256, 2);
  const auto table = ShapesTable(150'000, 8);
  WriteSettings settings;
  settings.options.file_size_bytes = 8 * kMiB;
  const auto counts = WriteTable(*table, directory / "parts", &engine, settings);
  ASSERT_TRUE(counts.ok()) << counts.status().ToString();
  const auto names = Names(directory / "parts");
  ASSERT_GT(names.size(), 2u);
  EXPECT_EQ(counts->files, static_cast<int64_t>(names.size()));
  std::vector<std::shared_ptr<arrow::Table>> tables;
  for (size_t i = 0; i < names.size(); ++i) {
    EXPECT_EQ(names[i], fmt::format("part-{:05}.parquet", i));
    const std::string path = directory / ("parts/" + names[i]);
    const double bytes = static_cast<double>(std::filesystem::file_size(path));
    if (i + 1 < names.size()) {
      EXPECT_NEAR(bytes, 8.0 * kMiB, 1.0 * kMiB) << names[i];
    }
    tables.push_back(ReadBack(path));
    CheckMetadata(path);
  }
  ExpectSameTable(*table, *arrow::ConcatenateTables(tables).ValueOrDie());
  EXPECT_EQ(Names(directory.path()), std::vector<std::string>{"parts"});
}

TEST(ParquetWriter, ManyTinyRowGroups) {
  Directory directory;
  Engine engine;
  arrow::Int64Builder builder;
  for (int64_t i = 0; i < 40'000; ++i) ASSERT_STATUS_OK(builder.Append(i * i));
  const auto table = OneColumn(builder.Finish().ValueOrDie());
  WriteSettings settings;
  settings.options.row_group_rows = 1;
  settings.batch_rows = 1000;
  const auto counts = WriteTable(*table, directory / "t.parquet", &engine, settings);
  ASSERT_TRUE(counts.ok()) << counts.status().ToString();
  EXPECT_EQ(counts->row_groups, 40'000);
  EXPECT_GT(engine.disk->written_bytes(), 0);  // the footer did not wait in memory
  ExpectSameTable(*table, *ReadBack(directory / "t.parquet"));
}

}  // namespace
}  // namespace icebound::io
