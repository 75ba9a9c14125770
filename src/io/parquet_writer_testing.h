// SPDX-License-Identifier: Apache-2.0
//
// What the tests of the Parquet writer share: writing a table, reading it back with Arrow, checking what the file says about
// itself, tables of many shapes.
#pragma once

#include <arrow/compute/api.h>
#include <arrow/io/file.h>
#include <parquet/arrow/reader.h>
#include <parquet/file_reader.h>
#include <parquet/page_index.h>
#include <parquet/statistics.h>

#include <cmath>
#include <random>

#include "io/output_testing.h"
#include "io/parquet_testing.h"
#include "io/parquet_writer.h"

namespace icebound::io::testing {

using testing::Directory;
using testing::Engine;
using testing::FileContent;
using testing::Names;

constexpr int64_t kMiB = int64_t{1} << 20;

struct WriteSettings {
  ParquetWriteOptions options;
  ParquetWriterResources resources;
  int64_t batch_rows = 1000;
};

struct WriteCounts {
  int64_t row_groups = 0;
  int64_t bytes = 0;
  int64_t files = 0;
};

inline arrow::Result<WriteCounts> WriteTable(const arrow::Table& table, const std::string& path, Engine* engine,
                                             const WriteSettings& settings = {}) {
  ARROW_ASSIGN_OR_RAISE(auto writer, ParquetWriter::Make(settings.options, table.schema(), path, engine->file_systems.get(),
                                                         engine->context.get(), settings.resources));
  arrow::TableBatchReader batches(table);
  batches.set_chunksize(settings.batch_rows);
  while (true) {
    ARROW_ASSIGN_OR_RAISE(auto batch, batches.Next());
    if (batch == nullptr) break;
    ARROW_RETURN_NOT_OK(writer->Write(batch));
  }
  ARROW_RETURN_NOT_OK(writer->Finish());
  EXPECT_EQ(writer->rows_written(), table.num_rows());
  return WriteCounts{writer->row_groups_written(), writer->bytes_written(), writer->files_written()};
}

/// Arrow's reader without threads of its own: those of its libraries are not instrumented, and thread sanitizers suspect them.
inline std::unique_ptr<parquet::arrow::FileReader> OpenWithArrow(const std::string& path) {
  parquet::ArrowReaderProperties properties;
  properties.set_pre_buffer(false);
  properties.set_use_threads(false);
  parquet::arrow::FileReaderBuilder builder;
  EXPECT_TRUE(builder.Open(arrow::io::ReadableFile::Open(path).ValueOrDie()).ok());
  return builder.properties(properties)->Build().ValueOrDie();
}

inline std::shared_ptr<arrow::Table> ReadBack(const std::string& path) {
  auto table = OpenWithArrow(path)->ReadTable();
  EXPECT_TRUE(table.ok()) << table.status().ToString();
  return *table;
}

/// Dictionaries are decoded: chunks may number their entries differently.
inline std::shared_ptr<arrow::ChunkedArray> Decoded(const std::shared_ptr<arrow::ChunkedArray>& column) {
  if (column->type()->id() != arrow::Type::DICTIONARY) return column;
  return arrow::compute::Cast(column, arrow::binary(), arrow::compute::CastOptions::Unsafe()).ValueOrDie().chunked_array();
}

/// Equal with NaN = NaN and without regard to chunks; says which column differs.
inline void ExpectSameTable(const arrow::Table& expected, const arrow::Table& actual) {
  ASSERT_EQ(expected.num_rows(), actual.num_rows());
  ASSERT_EQ(expected.num_columns(), actual.num_columns());
  for (int i = 0; i < expected.num_columns(); ++i) {
    EXPECT_TRUE(actual.column(i)->type()->Equals(expected.column(i)->type()))
        << expected.field(i)->ToString() << " became " << actual.field(i)->ToString();
    EXPECT_TRUE(Decoded(expected.column(i))->Equals(*Decoded(actual.column(i)), arrow::EqualOptions::Defaults().nans_equal(true)))
        << expected.field(i)->ToString();
  }
}

inline std::shared_ptr<arrow::Table> OneColumn(const std::shared_ptr<arrow::Array>& array, bool nullable = true) {
  return arrow::Table::Make(arrow::schema({arrow::field("c", array->type(), nullable)}), {array});
}

/// Min and max as scalars, from values encoded as in statistics.
inline std::pair<std::shared_ptr<arrow::Scalar>, std::shared_ptr<arrow::Scalar>> DecodeBounds(
    const parquet::ColumnDescriptor* descriptor, const std::string& minimum, const std::string& maximum) {
  auto statistics = parquet::Statistics::Make(descriptor, minimum, maximum, 1, 0, 0, true, true, false);
  std::shared_ptr<arrow::Scalar> low;
  std::shared_ptr<arrow::Scalar> high;
  EXPECT_TRUE(parquet::arrow::StatisticsAsScalars(*statistics, &low, &high).ok());
  return {low, high};
}

/// low <= min(values) and max(values) <= high, or equal when `exact`.
inline void ExpectBounds(const std::shared_ptr<arrow::ChunkedArray>& values, std::shared_ptr<arrow::Scalar> low,
                         std::shared_ptr<arrow::Scalar> high, bool exact, const std::string& where) {
  auto min_max = arrow::compute::MinMax(values).ValueOrDie();
  const auto& pair = static_cast<const arrow::StructScalar&>(*min_max.scalar());
  if (!pair.value[0]->is_valid) return;
  const auto as_value = [&](const std::shared_ptr<arrow::Scalar>& scalar) {
    auto array = arrow::MakeArrayFromScalar(*scalar, 1).ValueOrDie();
    return arrow::compute::Cast(array, values->type()).ValueOrDie().make_array()->GetScalar(0).ValueOrDie();
  };
  low = as_value(low);
  high = as_value(high);
  const auto holds = [&](const char* compare, const std::shared_ptr<arrow::Scalar>& a, const std::shared_ptr<arrow::Scalar>& b) {
    return arrow::compute::CallFunction(compare, {a, b}).ValueOrDie().scalar_as<arrow::BooleanScalar>().value;
  };
  EXPECT_TRUE(holds(exact ? "equal" : "less_equal", low, pair.value[0]))
      << where << ": " << low->ToString() << " " << pair.value[0]->ToString();
  EXPECT_TRUE(holds(exact ? "equal" : "greater_equal", high, pair.value[1]))
      << where << ": " << high->ToString() << " " << pair.value[1]->ToString();
}

/// Types whose statistics Arrow can give as scalars and whose extremes it can compute.
inline bool IsComparable(const parquet::ColumnDescriptor& descriptor, const arrow::DataType& type) {
  if (descriptor.sort_order() == parquet::SortOrder::UNKNOWN) return false;
  switch (type.id()) {
    case arrow::Type::DICTIONARY:
    case arrow::Type::HALF_FLOAT:
    case arrow::Type::EXTENSION:
    case arrow::Type::FIXED_SIZE_BINARY:
    case arrow::Type::DECIMAL32:
    case arrow::Type::DECIMAL64:
    case arrow::Type::NA:
    case arrow::Type::DURATION:
      return false;
    default:
      return true;
  }
}

/// Checks that the pages of a chunk lie side by side from its first data page to its end.
inline void CheckOffsets(const std::vector<parquet::PageLocation>& pages, int64_t start, int64_t end, const std::string& where) {
  EXPECT_EQ(pages.front().offset, start) << where;
  EXPECT_EQ(pages.front().first_row_index, 0) << where;
  for (size_t page = 1; page < pages.size(); ++page) {
    EXPECT_EQ(pages[page].offset, pages[page - 1].offset + pages[page - 1].compressed_page_size) << where;
    EXPECT_GT(pages[page].first_row_index, pages[page - 1].first_row_index) << where;
  }
  EXPECT_EQ(pages.back().offset + pages.back().compressed_page_size, end) << where;
}

/// Checks the statistics of a flat chunk against its values.
inline void CheckStatistics(const parquet::ColumnChunkMetaData& chunk, const parquet::ColumnDescriptor& descriptor,
                            const std::shared_ptr<arrow::ChunkedArray>& values, const std::string& where) {
  EXPECT_EQ(chunk.num_values(), values->length()) << where;
  auto statistics = chunk.encoded_statistics();
  EXPECT_EQ(statistics->null_count, values->null_count()) << where;
  if (IsComparable(descriptor, *values->type()) && statistics->has_min && statistics->has_max) {
    const auto [low, high] = DecodeBounds(&descriptor, statistics->min(), statistics->max());
    ExpectBounds(values, low, high,
                 statistics->is_min_value_exact.value_or(true) && statistics->is_max_value_exact.value_or(true), where);
  }
  if (statistics->has_distinct_count) {
    auto unique = arrow::compute::Unique(values).ValueOrDie();
    EXPECT_EQ(statistics->distinct_count, unique->length() - (values->null_count() > 0)) << where;
  }
}

/// Checks the column index of a flat chunk against the values of its pages.
inline void CheckPageBounds(const parquet::ColumnIndex& index, const std::vector<parquet::PageLocation>& pages,
                            const parquet::ColumnDescriptor& descriptor, const std::shared_ptr<arrow::ChunkedArray>& values,
                            const std::string& where) {
  ASSERT_EQ(index.null_pages().size(), pages.size()) << where;
  for (size_t page = 0; page < pages.size(); ++page) {
    const std::string page_where = fmt::format("{} page {}", where, page);
    const int64_t first = pages[page].first_row_index;
    const int64_t end = page + 1 < pages.size() ? pages[page + 1].first_row_index : values->length();
    auto slice = values->Slice(first, end - first);
    EXPECT_EQ(index.null_counts()[page], slice->null_count()) << page_where;
    EXPECT_EQ(index.null_pages()[page], slice->null_count() == slice->length()) << page_where;
    if (index.null_pages()[page] || !IsComparable(descriptor, *values->type())) continue;
    const std::string& minimum = index.encoded_min_values()[page];
    const std::string& maximum = index.encoded_max_values()[page];
    const auto [low, high] = DecodeBounds(&descriptor, minimum, maximum);
    ExpectBounds(slice, low, high, /*exact=*/std::max(minimum.size(), maximum.size()) < 60, page_where);
  }
}

/// Checks the chunk and page metadata against the rows that Arrow's reader finds: all of it for flat columns, sizes and places
/// for nested ones. Returns the number of pages.
inline int64_t CheckMetadata(const std::string& path) {
  auto reader = parquet::ParquetFileReader::OpenFile(path);
  auto arrow_reader = OpenWithArrow(path);
  auto metadata = reader->metadata();
  EXPECT_EQ(metadata->created_by(), "icebound version 0.1.0");
  auto page_index = reader->GetPageIndexReader();
  int64_t page_count = 0;
  int64_t offset = 4;
  for (int group = 0; group < metadata->num_row_groups(); ++group) {
    auto row_group = metadata->RowGroup(group);
    auto rows = arrow_reader->ReadRowGroup(group).ValueOrDie();
    auto group_index = page_index->RowGroup(group);
    const int64_t group_offset = offset;
    int64_t uncompressed_bytes = 0;
    for (int column = 0; column < metadata->num_columns(); ++column) {
      auto chunk = row_group->ColumnChunk(column);
      const auto& descriptor = *metadata->schema()->Column(column);
      const std::string where = fmt::format("{} row group {}", descriptor.path()->ToDotString(), group);
      EXPECT_EQ(chunk->has_dictionary_page() ? chunk->dictionary_page_offset() : chunk->data_page_offset(), offset) << where;
      offset += chunk->total_compressed_size();
      uncompressed_bytes += chunk->total_uncompressed_size();
      const auto offset_index = group_index->GetOffsetIndex(column);
      const auto& pages = offset_index->page_locations();
      CheckOffsets(pages, chunk->data_page_offset(), offset, where);
      page_count += static_cast<int64_t>(pages.size());
      if (descriptor.schema_node()->parent()->parent() != nullptr) continue;  // nested
      const auto values = rows->GetColumnByName(descriptor.name());
      CheckStatistics(*chunk, descriptor, values, where);
      if (auto index = group_index->GetColumnIndex(column)) CheckPageBounds(*index, pages, descriptor, values, where);
    }
    EXPECT_EQ(row_group->file_offset(), group_offset);
    EXPECT_EQ(row_group->total_compressed_size(), offset - group_offset);
    EXPECT_EQ(row_group->total_byte_size(), uncompressed_bytes);
  }
  return page_count;
}

enum class Shape { kConstant, kFew, kMany, kSorted, kRuns, kMixed };

/// `rows` numbers of a shape.
inline std::vector<int64_t> Numbers(Shape shape, int64_t rows, std::mt19937_64* random) {
  std::vector<int64_t> numbers(static_cast<size_t>(rows));
  for (int64_t i = 0; i < rows; ++i) {
    auto& number = numbers[static_cast<size_t>(i)];
    switch (shape) {
      case Shape::kConstant:
        number = 42;
        break;
      case Shape::kFew:
        number = static_cast<int64_t>((*random)() % 20) - 10;
        break;
      case Shape::kMany:
        number = static_cast<int64_t>((*random)());
        break;
      case Shape::kSorted:
        number = i / 3;
        break;
      case Shape::kRuns:
        number = i / 100 % 7;
        break;
      case Shape::kMixed:  // a dictionary pays at first, and no longer does
        number = i < rows / 3 ? static_cast<int64_t>((*random)() % 5) : static_cast<int64_t>((*random)());
        break;
    }
  }
  return numbers;
}

inline std::shared_ptr<arrow::Array> WithNulls(const std::shared_ptr<arrow::Array>& array, int one_in, std::mt19937_64* random) {
  if (one_in == 0) return array;
  arrow::BooleanBuilder mask;
  for (int64_t i = 0; i < array->length(); ++i) {
    const bool is_null = (*random)() % static_cast<uint64_t>(one_in) == 0 || (i / 3000) % 5 == 4;  // whole pages of nulls, too
    EXPECT_TRUE(mask.Append(!is_null).ok());
  }
  auto null = arrow::MakeNullScalar(array->type());
  return arrow::compute::CallFunction("if_else", {mask.Finish().ValueOrDie(), array, null}).ValueOrDie().make_array();
}

/// A table with a column for every shape, several types and densities of nulls.
inline std::shared_ptr<arrow::Table> ShapesTable(int64_t rows, uint64_t seed) {
  std::mt19937_64 random(seed);
  arrow::FieldVector fields;
  arrow::ArrayVector columns;
  const auto add = [&](std::string name, std::shared_ptr<arrow::Array> array, int nulls_one_in) {
    columns.push_back(WithNulls(array, nulls_one_in, &random));
    fields.push_back(arrow::field(name + (nulls_one_in > 0 ? "_nulls" : ""), array->type(), nulls_one_in > 0));
  };
  for (Shape shape : {Shape::kConstant, Shape::kFew, Shape::kMany, Shape::kSorted, Shape::kRuns, Shape::kMixed}) {
    for (int nulls : {0, 3}) {
      const auto numbers = Numbers(shape, rows, &random);
      const std::string prefix = fmt::format("s{}", static_cast<int>(shape));
      arrow::Int64Builder int64s;
      arrow::Int32Builder int32s;
      arrow::UInt64Builder uint64s;
      arrow::DoubleBuilder doubles;
      arrow::StringBuilder strings;
      arrow::BooleanBuilder booleans;
      arrow::Decimal128Builder decimals(arrow::decimal128(38, 2));
      for (int64_t number : numbers) {
        EXPECT_TRUE(int64s.Append(number).ok());
        EXPECT_TRUE(int32s.Append(static_cast<int32_t>(number)).ok());
        EXPECT_TRUE(uint64s.Append(static_cast<uint64_t>(number)).ok());
        EXPECT_TRUE(doubles.Append(number % 11 == 0 ? std::nan("") : static_cast<double>(number) / 8).ok());
        EXPECT_TRUE(
            strings.Append(number % 13 == 0 ? "" : "text " + std::to_string(number) + std::string(number & 63, 'x')).ok());
        EXPECT_TRUE(booleans.Append(number % 2 == 0).ok());
        EXPECT_TRUE(decimals.Append(arrow::Decimal128(number)).ok());
      }
      add(prefix + "_int64", int64s.Finish().ValueOrDie(), nulls);
      add(prefix + "_int32", int32s.Finish().ValueOrDie(), nulls);
      add(prefix + "_uint64", uint64s.Finish().ValueOrDie(), nulls);
      add(prefix + "_double", doubles.Finish().ValueOrDie(), nulls);
      auto string_array = strings.Finish().ValueOrDie();
      add(prefix + "_string", string_array, nulls);
      if (shape != Shape::kMany) {
        auto dictionary = arrow::compute::DictionaryEncode(string_array).ValueOrDie().make_array();
        columns.push_back(dictionary);
        fields.push_back(arrow::field(prefix + fmt::format("_dictionary{}", nulls), dictionary->type()));
      }
      add(prefix + "_boolean", booleans.Finish().ValueOrDie(), nulls);
      add(prefix + "_decimal", decimals.Finish().ValueOrDie(), nulls);
    }
  }
  return arrow::Table::Make(arrow::schema(fields), columns);
}

/// Nested columns with long and empty lists.
inline std::shared_ptr<arrow::Table> NestedTable(int64_t rows, uint64_t seed) {
  std::mt19937_64 random(seed);
  auto value_builder = std::make_shared<arrow::StringBuilder>();
  arrow::ListBuilder lists(arrow::default_memory_pool(), value_builder);
  auto x_builder = std::make_shared<arrow::Int64Builder>();
  arrow::StructBuilder structs(arrow::struct_({arrow::field("x", arrow::int64())}), arrow::default_memory_pool(), {x_builder});
  for (int64_t i = 0; i < rows; ++i) {
    if (random() % 10 == 0) {
      EXPECT_TRUE(lists.AppendNull().ok());
    } else {
      EXPECT_TRUE(lists.Append().ok());
      const uint64_t length = random() % 50 == 0 ? 3000 : random() % 4;
      for (uint64_t j = 0; j < length; ++j) {
        EXPECT_TRUE(random() % 7 == 0 ? value_builder->AppendNull().ok()
                                      : value_builder->Append(std::to_string(random() % 1000)).ok());
      }
    }
    if (random() % 4 == 0) {
      EXPECT_TRUE(structs.AppendNull().ok());
    } else {
      EXPECT_TRUE(structs.Append().ok());
      EXPECT_TRUE(random() % 4 == 0 ? x_builder->AppendNull().ok() : x_builder->Append(i).ok());
    }
  }
  auto list_array = lists.Finish().ValueOrDie();
  auto struct_array = structs.Finish().ValueOrDie();
  return arrow::Table::Make(
      arrow::schema({arrow::field("lists", list_array->type()), arrow::field("structs", struct_array->type())}),
      {list_array, struct_array});
}

}  // namespace icebound::io::testing
