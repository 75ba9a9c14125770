// SPDX-License-Identifier: Apache-2.0
//
// Pruning must never lose a row that a filter accepts, and must leave out what it can. The oracle evaluates the filter on every
// row of the written table.
#include "io/parquet_pruning.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <set>

#include "expr/evaluate.h"
#include "io/parquet_testing.h"

namespace icebound::io {
namespace {

using expr::ExprPtr;
using testing::ArrayOf;
using testing::Collect;
using testing::Directory;
using testing::Engine;
using testing::WriteFile;

ExprPtr Column(const arrow::Table& table, int index) { return expr::MakeColumn(index, *table.field(index)); }

ExprPtr Call(std::string_view name, std::vector<ExprPtr> arguments) {
  auto call = expr::MakeCall(name, std::move(arguments));
  EXPECT_TRUE(call.ok()) << call.status().ToString();
  return call.ValueOr(nullptr);
}

/// The ids (column 0) of the rows that satisfy `filter`.
std::set<int64_t> MatchingIds(const arrow::Table& table, const expr::Expr& filter) {
  std::set<int64_t> ids;
  auto whole = table.CombineChunksToBatch().ValueOrDie();
  auto matching = expr::Filter(filter, whole, {.pool = arrow::default_memory_pool()});
  EXPECT_TRUE(matching.ok()) << matching.status().ToString() << " for " << filter.ToString();
  if (!matching.ok() || *matching == nullptr) return ids;
  const auto& column = static_cast<const arrow::Int64Array&>(*(*matching)->column(0));
  for (int64_t i = 0; i < column.length(); ++i) ids.insert(column.Value(i));
  return ids;
}

/// Scans with filters; checks that every delivered row is the written one, and returns the table of what came.
std::shared_ptr<arrow::Table> ScanWith(const std::string& path, std::vector<ExprPtr> filters, const arrow::Table& written,
                                       Engine* engine) {
  auto table = engine->Open(path).ValueOrDie();
  ParquetScanRequest request = testing::WholeTable(*table);
  request.filters = std::move(filters);
  auto batches = Collect(*table, std::move(request), engine);
  EXPECT_TRUE(batches.ok()) << batches.status().ToString();
  if (!batches.ok()) return nullptr;
  auto read = arrow::Table::FromRecordBatches(table->schema(), *batches).ValueOrDie()->CombineChunks().ValueOrDie();
  const auto all = written.CombineChunks().ValueOrDie();
  for (int64_t row = 0; row < read->num_rows(); ++row) {
    const int64_t id = static_cast<const arrow::Int64Array&>(*read->column(0)->chunk(0)).Value(row);
    for (int c = 0; c < read->num_columns(); ++c) {
      const auto got = read->column(c)->GetScalar(row).ValueOrDie();
      const auto expected = all->column(c)->GetScalar(id).ValueOrDie();
      EXPECT_TRUE(got->Equals(*expected, arrow::EqualOptions::Defaults().nans_equal(true))) << "row " << id << " column " << c;
      if (!got->Equals(*expected, arrow::EqualOptions::Defaults().nans_equal(true))) return read;
    }
  }
  return read;
}

TEST(ParquetPruning, SkipsRowGroupsAndPagesOfASortedColumn) {
  Directory directory;
  constexpr int64_t kRows = 100000;
  arrow::Int64Builder ids;
  arrow::StringBuilder texts;
  for (int64_t i = 0; i < kRows; ++i) ASSERT_TRUE(ids.Append(i).ok() && texts.Append(fmt::format("text of row {}", i)).ok());
  const auto table = arrow::Table::Make(arrow::schema({arrow::field("id", arrow::int64()), arrow::field("t", arrow::utf8())}),
                                        {ids.Finish().ValueOrDie(), texts.Finish().ValueOrDie()});
  for (const bool page_index : {true, false}) {
    WriteFile(directory / "t.parquet", *table,
              {.row_group_rows = 10000, .adjust = [&](parquet::WriterProperties::Builder* builder) {
                 builder->data_pagesize(4096)->disable_dictionary()->max_rows_per_page(500);
                 if (!page_index) builder->disable_write_page_index();
               }});
    Engine engine;
    const ExprPtr low = Call(">=", {Column(*table, 0), expr::MakeLiteral(arrow::MakeScalar(int64_t{34200}))});
    const ExprPtr high = Call("<", {Column(*table, 0), expr::MakeLiteral(arrow::MakeScalar(int64_t{35300}))});
    const auto read = ScanWith(directory / "t.parquet", {low, high}, *table, &engine);
    ASSERT_NE(read, nullptr);
    // Rows 34200 to 35299 lie in one row group of ten, and there in three or four pages of 500 rows.
    EXPECT_EQ(read->num_rows(), 1100);
    EXPECT_EQ(engine.metrics.input_rows, page_index ? 1500 : 10000);
    EXPECT_EQ(engine.metrics.input_rows_total, engine.metrics.input_rows);
    const int64_t file_bytes = static_cast<int64_t>(std::filesystem::file_size(directory / "t.parquet"));
    EXPECT_LT(engine.metrics.input_bytes, page_index ? file_bytes / 8 : file_bytes / 5);
  }
}

TEST(ParquetPruning, NothingMatchesNothingIsRead) {
  Directory directory;
  const auto table =
      arrow::Table::Make(arrow::schema({arrow::field("id", arrow::int64())}), {ArrayOf(arrow::int64(), "[0, 1, 2]")});
  WriteFile(directory / "t.parquet", *table);
  Engine engine;
  const auto read = ScanWith(directory / "t.parquet",
                             {Call(">", {Column(*table, 0), expr::MakeLiteral(arrow::MakeScalar(int64_t{2}))})}, *table, &engine);
  EXPECT_EQ(read->num_rows(), 0);
}

TEST(ParquetPruning, BoundsOfAllTypesAreDecoded) {
  struct Case {
    std::shared_ptr<arrow::DataType> type;
    std::string low, high;  // JSON of one value each; the file holds low..high, the filter asks beyond
    std::string beyond;
  };
  const std::vector<Case> cases = {
      {arrow::int8(), "-5", "5", "6"},
      {arrow::int32(), "-5", "5", "6"},
      {arrow::uint8(), "1", "200", "201"},
      {arrow::uint32(), "1", "4000000000", "4000000001"},
      {arrow::uint64(), "1", "18446744073709551614", "18446744073709551615"},
      {arrow::decimal128(9, 2), "\"-1.50\"", "\"2.50\"", "\"2.51\""},
      {arrow::decimal128(18, 2), "\"-1.50\"", "\"2.50\"", "\"2.51\""},
      {arrow::decimal128(38, 2), "\"-1.50\"", "\"123456789012345678901234567890.50\"", "\"123456789012345678901234567890.51\""},
      {arrow::date32(), "-10", "10", "11"},
      {arrow::timestamp(arrow::TimeUnit::MILLI), "-10", "10", "11"},
      {arrow::timestamp(arrow::TimeUnit::MICRO, "UTC"), "-10", "10", "11"},
      {arrow::timestamp(arrow::TimeUnit::NANO), "-10", "10", "11"},
      {arrow::time64(arrow::TimeUnit::MICRO), "5", "10", "11"},
      {arrow::utf8(), "\"b\"", "\"caf\\u00e9\"", "\"d\""},
      {arrow::binary(), "\"b\"", "\"cc\"", "\"d\""},
  };
  for (const Case& test : cases) {
    SCOPED_TRACE(test.type->ToString());
    Directory directory;
    const auto values = ArrayOf(test.type, fmt::format("[{}, null, {}]", test.low, test.high));
    const auto table = arrow::Table::Make(arrow::schema({arrow::field("id", arrow::int64()), arrow::field("c", test.type)}),
                                          {ArrayOf(arrow::int64(), "[0, 1, 2]"), values});
    WriteFile(directory / "t.parquet", *table);
    const auto beyond = ArrayOf(test.type, fmt::format("[{}]", test.beyond))->GetScalar(0).ValueOrDie();
    const auto high = ArrayOf(test.type, fmt::format("[{}]", test.high))->GetScalar(0).ValueOrDie();
    Engine engine;
    EXPECT_EQ(ScanWith(directory / "t.parquet", {Call(">=", {Column(*table, 1), expr::MakeLiteral(beyond)})}, *table, &engine)
                  ->num_rows(),
              0);
    EXPECT_EQ(engine.metrics.input_rows, 0);
    EXPECT_EQ(ScanWith(directory / "t.parquet", {Call(">=", {Column(*table, 1), expr::MakeLiteral(high)})}, *table, &engine)
                  ->num_rows(),
              1);
    EXPECT_EQ(engine.metrics.input_rows, 3);
  }
}

TEST(ParquetPruning, BoundsOfFloatsExcludeWhatLiesBelow) {
  // Above the maximum there may be NaN, which sorts as the largest value: only the minimum prunes.
  for (const auto& type : {arrow::float32(), arrow::float64()}) {
    Directory directory;
    const auto table = arrow::Table::Make(arrow::schema({arrow::field("id", arrow::int64()), arrow::field("c", type)}),
                                          {ArrayOf(arrow::int64(), "[0, 1, 2]"), ArrayOf(type, "[-1.5, null, 2.5]")});
    WriteFile(directory / "t.parquet", *table);
    const auto low = ArrayOf(type, "[-1.5]")->GetScalar(0).ValueOrDie();
    Engine engine;
    EXPECT_EQ(
        ScanWith(directory / "t.parquet", {Call("<", {Column(*table, 1), expr::MakeLiteral(low)})}, *table, &engine)->num_rows(),
        0);
    EXPECT_EQ(engine.metrics.input_rows, 0);
    EXPECT_EQ(
        ScanWith(directory / "t.parquet", {Call("<=", {Column(*table, 1), expr::MakeLiteral(low)})}, *table, &engine)->num_rows(),
        1);
    EXPECT_EQ(engine.metrics.input_rows, 3);
  }
}

TEST(ParquetPruning, NanAndZeroAreNeverPrunedAway) {
  Directory directory;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  arrow::DoubleBuilder builder;
  ASSERT_TRUE(builder.AppendValues({1.0, nan, 2.0, -0.0, 0.0}).ok());
  const auto table = arrow::Table::Make(arrow::schema({arrow::field("id", arrow::int64()), arrow::field("d", arrow::float64())}),
                                        {ArrayOf(arrow::int64(), "[0, 1, 2, 3, 4]"), builder.Finish().ValueOrDie()});
  WriteFile(directory / "t.parquet", *table, {.row_group_rows = 1});
  for (const char* op : {"=", "<", ">", "<=", ">=", "<>"}) {
    for (const double value : {0.0, -0.0, nan, 1.0, 1e300}) {
      SCOPED_TRACE(fmt::format("d {} {}", op, value));
      const ExprPtr filter = Call(op, {Column(*table, 1), expr::MakeLiteral(arrow::MakeScalar(value))});
      Engine engine;
      const auto read = ScanWith(directory / "t.parquet", {filter}, *table, &engine);
      EXPECT_EQ(MatchingIds(*read, *filter), MatchingIds(*table, *filter));
    }
  }
}

/// A table whose columns are clustered, so that pages differ, with nulls, NaN, long common prefixes (truncated bounds) and
/// decimals.
std::shared_ptr<arrow::Table> ClusteredTable(std::mt19937_64* random, int64_t rows) {
  arrow::Int64Builder ids;
  arrow::Int32Builder ints;
  arrow::DoubleBuilder doubles;
  arrow::StringBuilder texts;
  arrow::Decimal128Builder decimals(arrow::decimal128(12, 2));
  arrow::Date32Builder dates;
  arrow::UInt32Builder unsigneds;
  const std::string prefix((*random)() % 2 == 0 ? 0 : 80, 'p');
  int64_t walk = 0;
  for (int64_t i = 0; i < rows; ++i) {
    walk += static_cast<int64_t>((*random)() % 7) - 3;
    if ((*random)() % 400 == 0) walk = static_cast<int64_t>((*random)() % 2000) - 1000;
    const bool is_null = (*random)() % 13 == 0 || (i / 700) % 5 == 4;
    EXPECT_TRUE(ids.Append(i).ok());
    EXPECT_TRUE((is_null ? ints.AppendNull() : ints.Append(static_cast<int32_t>(walk))).ok());
    EXPECT_TRUE((is_null ? doubles.AppendNull()
                         : doubles.Append((*random)() % 50 == 0 ? std::numeric_limits<double>::quiet_NaN()
                                                                : static_cast<double>(walk) / 4))
                    .ok());
    EXPECT_TRUE((is_null ? texts.AppendNull() : texts.Append(fmt::format("{}{:06}", prefix, walk + 100000))).ok());
    EXPECT_TRUE((is_null ? decimals.AppendNull() : decimals.Append(arrow::Decimal128(walk * 25))).ok());
    EXPECT_TRUE((is_null ? dates.AppendNull() : dates.Append(static_cast<int32_t>(walk))).ok());
    EXPECT_TRUE(unsigneds.Append(static_cast<uint32_t>(walk)).ok());
  }
  arrow::ArrayVector arrays;
  for (arrow::ArrayBuilder* builder :
       std::initializer_list<arrow::ArrayBuilder*>{&ids, &ints, &doubles, &texts, &decimals, &dates, &unsigneds}) {
    arrays.push_back(builder->Finish().ValueOrDie());
  }
  arrow::FieldVector fields;
  const std::vector<std::string> names = {"id", "i", "d", "s", "m", "t", "u"};
  for (size_t c = 0; c < names.size(); ++c) fields.push_back(arrow::field(names[c], arrays[c]->type()));
  return arrow::Table::Make(arrow::schema(fields), arrays);
}

ExprPtr RandomFilter(const arrow::Table& table, std::mt19937_64* random, int depth) {
  const uint64_t kind = (*random)() % (depth > 0 ? 8 : 6);
  if (kind >= 6)
    return Call(kind == 6 ? "and" : "or", {RandomFilter(table, random, depth - 1), RandomFilter(table, random, depth - 1)});
  const int column = static_cast<int>((*random)() % static_cast<uint64_t>(table.num_columns()));
  if (kind == 5) return Call((*random)() % 2 == 0 ? "is_null" : "is_not_null", {Column(table, column)});
  // The literal is a value of the column: sometimes one that is there, so that bounds are touched exactly.
  std::shared_ptr<arrow::Scalar> value;
  do {
    value =
        table.column(column)->GetScalar(static_cast<int64_t>((*random)() % static_cast<uint64_t>(table.num_rows()))).ValueOrDie();
  } while (!value->is_valid);
  const char* ops[] = {"=", "<", "<=", ">", ">="};
  return Call(ops[kind], {Column(table, column), expr::MakeLiteral(value)});
}

TEST(ParquetPruning, RandomFiltersLoseNoRow) {
  std::mt19937_64 random(20240607);
  int64_t pruned_scans = 0;
  for (int round = 0; round < 12; ++round) {
    Directory directory;
    const auto table = ClusteredTable(&random, 6000);
    WriteFile(directory / "t.parquet", *table,
              {.row_group_rows = static_cast<int64_t>(500 + random() % 4000),
               .adjust = [&](parquet::WriterProperties::Builder* builder) {
                 builder->data_pagesize(static_cast<int64_t>(200 + random() % 4000))->write_batch_size(64);
                 builder->data_page_version(random() % 2 == 0 ? parquet::ParquetDataPageVersion::V1
                                                              : parquet::ParquetDataPageVersion::V2);
                 if (random() % 2 == 0) builder->disable_dictionary();
                 if (random() % 4 == 0) builder->disable_write_page_index();
               }});
    for (int i = 0; i < 25; ++i) {
      std::vector<ExprPtr> filters;
      for (uint64_t k = 1 + random() % 2; k > 0; --k) filters.push_back(RandomFilter(*table, &random, 2));
      const ExprPtr all = expr::MakeAnd(filters);
      SCOPED_TRACE(fmt::format("round {} filter {}", round, all->ToString()));
      Engine engine;
      engine.context->batch_rows = 300;
      const auto read = ScanWith(directory / "t.parquet", filters, *table, &engine);
      ASSERT_NE(read, nullptr);
      ASSERT_EQ(MatchingIds(*read, *all), MatchingIds(*table, *all));
      pruned_scans += read->num_rows() < table->num_rows();
      if (HasFailure()) return;
    }
  }
  EXPECT_GT(pruned_scans, 100);  // of 300: or the test shows nothing
}

TEST(ParquetPruning, BoundsOfANarrowerFileAreWidened) {
  Directory directory;
  WriteFile(directory / "1.parquet",
            *arrow::Table::Make(arrow::schema({arrow::field("id", arrow::int64())}), {ArrayOf(arrow::int64(), "[0, 1]")}));
  const auto narrow =
      arrow::Table::Make(arrow::schema({arrow::field("id", arrow::int32())}), {ArrayOf(arrow::int32(), "[2, 3]")});
  WriteFile(directory / "2.parquet", *narrow);
  Engine engine;
  auto table = engine.Open(directory.path()).ValueOrDie();
  ParquetScanRequest request = testing::WholeTable(*table);
  request.filters = {
      Call(">", {expr::MakeColumn(0, *table->schema()->field(0)), expr::MakeLiteral(arrow::MakeScalar(int64_t{1}))})};
  const auto batches = Collect(*table, std::move(request), &engine).ValueOrDie();
  ASSERT_EQ(batches.size(), 1);
  EXPECT_TRUE(batches[0]->column(0)->Equals(*ArrayOf(arrow::int64(), "[2, 3]")));
}

TEST(RowRangesTest, IntersectAndOverlap) {
  const RowRanges a = {{0, 10}, {20, 30}, {40, 50}};
  EXPECT_EQ(Intersect(a, {{5, 25}, {28, 45}}), (RowRanges{{5, 10}, {20, 25}, {28, 30}, {40, 45}}));
  EXPECT_EQ(Intersect(a, {}), RowRanges{});
  EXPECT_EQ(Intersect(a, {{10, 20}}), RowRanges{});
  EXPECT_TRUE(Overlaps(a, 9, 12));
  EXPECT_FALSE(Overlaps(a, 10, 20));
  EXPECT_TRUE(Overlaps(a, 0, 100));
  EXPECT_FALSE(Overlaps(a, 50, 60));
  EXPECT_FALSE(Overlaps(a, 25, 25));
  EXPECT_EQ(CountRows(a), 30);
}

}  // namespace
}  // namespace icebound::io
