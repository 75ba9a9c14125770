// SPDX-License-Identifier: Apache-2.0
//
// Scans that filter first against the written table, filtered as a whole: the same rows in the same order, whatever the pages,
// encodings and NULLs.
#include "io/parquet_row_filter.h"

#include <arrow/compute/api.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "expr/evaluate.h"
#include "io/parquet_testing.h"

namespace icebound::io {
namespace {

using expr::ExprPtr;
using testing::ArrayOf;
using testing::Directory;
using testing::Engine;
using testing::WriteFile;

ExprPtr Column(const arrow::Table& table, const std::string& name) {
  const int index = table.schema()->GetFieldIndex(name);
  return expr::MakeColumn(index, *table.field(index));
}

ExprPtr Call(std::string_view name, std::vector<ExprPtr> arguments) {
  auto call = expr::MakeCall(name, std::move(arguments));
  EXPECT_TRUE(call.ok()) << call.status().ToString();
  return call.ValueOr(nullptr);
}

ExprPtr Literal(const std::shared_ptr<arrow::Scalar>& value) { return expr::MakeLiteral(value); }
ExprPtr Text(const std::string& text) { return Literal(arrow::MakeScalar(text)); }
ExprPtr Number(int64_t number) { return Literal(arrow::MakeScalar(number)); }

/// A column of each way to store values, with NULLs where `null_part` says so: few different values stay a dictionary, many give
/// it up half way.
std::shared_ptr<arrow::Table> RandomTable(int64_t rows, double null_part, std::mt19937_64* random) {
  arrow::Int64Builder id, many;
  arrow::Int32Builder few;
  arrow::Date32Builder day;
  arrow::Decimal128Builder price(arrow::decimal128(15, 2)), small(arrow::decimal128(7, 2)), wide(arrow::decimal128(30, 4));
  arrow::StringBuilder mode, text;
  arrow::BinaryBuilder bytes;
  arrow::DoubleBuilder number;
  arrow::BooleanBuilder flag;
  arrow::FixedSizeBinaryBuilder fixed(arrow::fixed_size_binary(5));
  arrow::ListBuilder list(arrow::default_memory_pool(), std::make_shared<arrow::Int32Builder>());
  const std::vector<std::string> modes = {"AIR", "MAIL", "SHIP", "", "a mode of more than sixteen bytes"};
  const auto is_null = [&] { return static_cast<double>((*random)() % 1000) < null_part * 1000; };
  arrow::Status status;
  for (int64_t i = 0; i < rows; ++i) {
    const auto value = static_cast<int64_t>((*random)() >> 1);
    status &= id.Append(i);
    status &= is_null() ? many.AppendNull() : many.Append(value % 1'000'000);
    status &= is_null() ? few.AppendNull() : few.Append(static_cast<int32_t>(value % 50) - 25);
    status &= is_null() ? day.AppendNull() : day.Append(static_cast<int32_t>(8000 + i / 7 % 400));
    status &= is_null() ? price.AppendNull() : price.Append(arrow::Decimal128(value % 2'000'000 - 1'000'000));
    status &= is_null() ? small.AppendNull() : small.Append(arrow::Decimal128(value % 100 - 50));
    status &= is_null() ? wide.AppendNull() : wide.Append(arrow::Decimal128(value % 5 - 2, static_cast<uint64_t>(value)));
    status &= is_null() ? mode.AppendNull() : mode.Append(modes[static_cast<size_t>(value) % modes.size()]);
    status &= is_null() ? text.AppendNull()
                        : text.Append(std::string(static_cast<size_t>(value % 40), 'x') + std::to_string(value % 9973));
    status &= is_null() ? bytes.AppendNull() : bytes.Append(std::to_string(value % 300));
    status &= is_null() ? number.AppendNull() : number.Append(static_cast<double>(value % 1000) / 8);
    status &= is_null() ? flag.AppendNull() : flag.Append(value % 3 == 0);
    status &= is_null() ? fixed.AppendNull() : fixed.Append(fmt::format("{:05}", value % 700));
    if (is_null()) {
      status &= list.AppendNull();
    } else {
      status &= list.Append();
      for (int64_t k = 0; k < value % 4; ++k)
        status &= static_cast<arrow::Int32Builder*>(list.value_builder())->Append(static_cast<int32_t>(k));
    }
  }
  EXPECT_TRUE(status.ok()) << status.ToString();
  const std::vector<std::pair<std::string, arrow::ArrayBuilder*>> columns = {
      {"id", &id},         {"many", &many}, {"few", &few},     {"day", &day},   {"price", &price},
      {"small", &small},   {"wide", &wide}, {"mode", &mode},   {"text", &text}, {"bytes", &bytes},
      {"number", &number}, {"flag", &flag}, {"fixed", &fixed}, {"list", &list}};
  arrow::FieldVector fields;
  arrow::ArrayVector arrays;
  for (const auto& [name, builder] : columns) {
    arrays.push_back(builder->Finish().ValueOrDie());
    fields.push_back(arrow::field(name, arrays.back()->type(), null_part > 0));
  }
  return arrow::Table::Make(arrow::schema(fields), arrays);
}

ExprPtr RandomConjunct(const arrow::Table& table, std::mt19937_64* random) {
  const auto column = [&](const std::string& name) { return Column(table, name); };
  const auto at = static_cast<int64_t>((*random)() % 1000);
  switch ((*random)() % 14) {
    case 0:
      return Call("in", {column("mode"), Text("AIR"), Text("SHIP")});
    case 1:
      return Call("<>", {column("mode"), Text("AIR")});
    case 2:
      return Call("like", {column("text"), Text("%x1%")});
    case 3:
      return Call("<", {column("day"), Literal(std::make_shared<arrow::Date32Scalar>(static_cast<int32_t>(8000 + at % 400)))});
    case 4:
      return Call(">=", {column("price"), Literal(std::make_shared<arrow::Decimal128Scalar>(
                                              arrow::Decimal128(at * 2000 - 1'000'000), arrow::decimal128(15, 2)))});
    case 5:
      return Call("<", {column("many"), Number(at * 1000)});
    case 6:
      return Call("<", {column("few"), column("small")});
    case 7:
      return Call("is_null", {column("few")});
    case 8:
      return Call("is_not_null", {column("text")});
    case 9:
      return Call("=", {column("flag"), Literal(arrow::MakeScalar(true))});
    case 10:
      return Call("=", {Call("cardinality", {column("list")}), Number(2)});
    case 11:
      return Call("or", {Call("=", {column("few"), Number(3)}), Call("is_null", {column("mode")})});
    case 12:
      return Call(">", {column("number"), Literal(arrow::MakeScalar(static_cast<double>(at) / 8))});
    default:
      return Call("<", {column("id"), Number(at * 20)});
  }
}

testing::WriteOptions RandomLayout(int64_t rows, std::mt19937_64* random) {
  testing::WriteOptions options;
  options.row_group_rows = static_cast<int64_t>(static_cast<uint64_t>(rows) / (1 + (*random)() % 4) + 1);
  const uint64_t seed = (*random)();
  options.adjust = [seed](parquet::WriterProperties::Builder* builder) {
    std::mt19937_64 choice(seed);
    builder->max_rows_per_page(static_cast<int64_t>(1 + choice() % 3000));
    builder->data_pagesize(static_cast<int64_t>(100 + choice() % 50000));
    builder->dictionary_pagesize_limit(static_cast<int64_t>(choice() % 20000));
    builder->compression(choice() % 2 == 0 ? arrow::Compression::SNAPPY : arrow::Compression::UNCOMPRESSED);
    if (choice() % 4 == 0) builder->disable_dictionary();
    if (choice() % 2 == 0) builder->disable_write_page_index();
    if (choice() % 2 == 0) builder->data_page_version(parquet::ParquetDataPageVersion::V2);
    if (choice() % 2 == 0) builder->enable_store_decimal_as_integer();
    if (choice() % 4 == 0) builder->disable_dictionary("text")->encoding("text", parquet::Encoding::DELTA_BYTE_ARRAY);
    if (choice() % 4 == 0) builder->disable_dictionary("many")->encoding("many", parquet::Encoding::DELTA_BINARY_PACKED);
  };
  return options;
}

std::shared_ptr<arrow::Table> Scan(const std::string& path, const ParquetScanRequest& request, Engine* engine) {
  auto table = engine->Open(path).ValueOrDie();
  auto batches = testing::Collect(*table, request, engine);
  EXPECT_TRUE(batches.ok()) << batches.status().ToString();
  if (!batches.ok()) return nullptr;
  for (const auto& batch : *batches) EXPECT_TRUE(batch->ValidateFull().ok()) << batch->ValidateFull().ToString();
  arrow::FieldVector fields;
  for (const int column : request.projection) fields.push_back(table->schema()->field(column));
  return arrow::Table::FromRecordBatches(arrow::schema(fields), *batches).ValueOrDie();
}

void ExpectSame(const arrow::Table& expected, const arrow::Table& actual) {
  ASSERT_EQ(expected.num_rows(), actual.num_rows());
  for (int i = 0; i < expected.num_columns(); ++i) {
    ASSERT_TRUE(expected.column(i)->Equals(*actual.column(i), arrow::EqualOptions::Defaults().nans_equal(true)))
        << expected.field(i)->ToString();
  }
}

TEST(ParquetRowFilter, GivesWhatFilteringTheWholeTableGives) {
  std::mt19937_64 random(11);
  for (int round = 0; round < 60; ++round) {
    SCOPED_TRACE(round);
    Directory directory;
    const auto rows = static_cast<int64_t>(1 + random() % 20000);
    const double null_part = std::array{0.0, 0.01, 0.3, 1.0}[random() % 4];
    const auto written = RandomTable(rows, null_part, &random);
    WriteFile(directory / "t.parquet", *written, RandomLayout(rows, &random));
    const auto whole = written->CombineChunksToBatch().ValueOrDie();
    Engine engine;
    for (int query = 0; query < 4; ++query) {
      std::vector<ExprPtr> filters;
      for (uint64_t i = random() % 4; i > 0; --i) filters.push_back(RandomConjunct(*written, &random));
      const ExprPtr predicate = expr::MakeAnd(filters);
      SCOPED_TRACE(predicate->ToString());
      auto expected = expr::Filter(*predicate, whole, {.pool = arrow::default_memory_pool()}).ValueOrDie();
      if (expected == nullptr) expected = whole->Slice(0, 0);
      const auto read = Scan(directory / "t.parquet",
                             {.projection = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13}, .filters = filters}, &engine);
      ASSERT_NE(read, nullptr);
      ExpectSame(*arrow::Table::FromRecordBatches({expected}).ValueOrDie(), *read);
      if (::testing::Test::HasFailure()) return;
    }
  }
}

TEST(ParquetRowFilter, GuardsStillGuard) {
  // 100 / few fails where few is 0, and the first conjunct keeps these rows from it, on dictionary pages as on plain ones.
  std::mt19937_64 random(12);
  Directory directory;
  const auto written = RandomTable(20000, 0.1, &random);
  for (const bool has_dictionary : {true, false}) {
    WriteFile(directory / "t.parquet", *written, {.adjust = [&](parquet::WriterProperties::Builder* builder) {
                if (!has_dictionary) builder->disable_dictionary();
              }});
    const ExprPtr guard = Call("<>", {Column(*written, "few"), Number(0)});
    const ExprPtr guarded = Call(">", {Call("/", {Number(100), Column(*written, "few")}), Number(7)});
    Engine engine;
    const auto read = Scan(directory / "t.parquet", {.projection = {0, 1, 2}, .filters = {guard, guarded}}, &engine);
    ASSERT_NE(read, nullptr);
    EXPECT_GT(read->num_rows(), 0);
    auto table = engine.Open(directory / "t.parquet").ValueOrDie();
    const auto failed = testing::Collect(*table, {.projection = {0, 1, 2}, .filters = {guarded}}, &engine);
    EXPECT_EQ(GetErrorKind(failed.status()), ErrorKind::kExecution) << failed.status().ToString();
  }
}

TEST(ParquetRowFilter, FewRowsOfManyComeInFewBatches) {
  std::mt19937_64 random(13);
  Directory directory;
  const auto written = RandomTable(100'000, 0, &random);
  WriteFile(directory / "t.parquet", *written);
  Engine engine;
  auto table = engine.Open(directory / "t.parquet").ValueOrDie();
  const ExprPtr filter = Call("=", {Column(*written, "few"), Number(3)});
  const auto batches = testing::Collect(*table, {.projection = {0, 1, 2}, .filters = {filter}}, &engine).ValueOrDie();
  int64_t rows = 0;
  for (const auto& batch : batches) rows += batch->num_rows();
  EXPECT_GT(rows, 1000);
  EXPECT_EQ(batches.size(), 1U);
  EXPECT_EQ(engine.metrics.input_rows, 100'000);
}

TEST(ParquetRowFilter, PagesWithoutPassingRowsAreNotDecompressed) {
  // The text's pages are damaged where no row passes: nobody looks.
  Directory directory;
  arrow::Int64Builder ids;
  arrow::StringBuilder texts;
  for (int64_t i = 0; i < 10000; ++i) ASSERT_TRUE(ids.Append(i % 100).ok() && texts.Append(fmt::format("{:08}", i)).ok());
  const auto written =
      arrow::Table::Make(arrow::schema({arrow::field("id", arrow::int64()), arrow::field("text", arrow::utf8())}),
                         {ids.Finish().ValueOrDie(), texts.Finish().ValueOrDie()});
  WriteFile(directory / "t.parquet", *written, {.adjust = [](parquet::WriterProperties::Builder* builder) {
              builder->disable_dictionary("text")->max_rows_per_page(50)->data_pagesize(1 << 20)->enable_page_checksum();
              builder->disable_write_page_index();
            }});
  std::fstream file(directory / "t.parquet", std::ios::in | std::ios::out | std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  // Row 50 begins the second page, and every second page has only rows that do not pass.
  const size_t at = bytes.find("00000060");
  ASSERT_NE(at, std::string::npos);
  file.seekp(static_cast<std::streamoff>(at));
  file << "DAMAGED!";
  file.close();
  Engine engine;
  const ExprPtr passes = Call("<", {Column(*written, "id"), Number(50)});
  const auto read = Scan(directory / "t.parquet", {.projection = {0, 1}, .filters = {passes}}, &engine);
  ASSERT_NE(read, nullptr);
  EXPECT_EQ(read->num_rows(), 5000);
  auto table = engine.Open(directory / "t.parquet").ValueOrDie();
  const auto failed = testing::Collect(*table, testing::WholeTable(*table), &engine);
  EXPECT_EQ(GetErrorKind(failed.status()), ErrorKind::kCorruptData) << failed.status().ToString();
}

/// Lets keys pass whose sum is a multiple of a number, and NULL never.
class Multiples final : public runtime::KeyTest {
 public:
  explicit Multiples(int64_t of) : of_(of) {}
  arrow::Status Test(const arrow::ArrayVector& keys, std::span<uint8_t> pass, arrow::MemoryPool*) const override {
    for (size_t i = 0; i < pass.size(); ++i) {
      int64_t sum = 0;
      for (const auto& key : keys) {
        if (key->IsNull(static_cast<int64_t>(i))) pass[i] = 0;
        sum += static_cast<const arrow::Int64Array&>(*key).Value(static_cast<int64_t>(i));
      }
      if (sum % of_ != 0) pass[i] = 0;
    }
    return arrow::Status::OK();
  }
  std::optional<runtime::KeyBounds> BoundsOf(size_t) const override { return std::nullopt; }

 private:
  const int64_t of_;
};

TEST(ParquetRowFilter, KeysOfJoinsAreTested) {
  std::mt19937_64 random(15);
  for (int round = 0; round < 20; ++round) {
    SCOPED_TRACE(round);
    Directory directory;
    const auto rows = static_cast<int64_t>(1 + random() % 20000);
    const auto written = RandomTable(rows, std::array{0.0, 0.1}[random() % 2], &random);
    WriteFile(directory / "t.parquet", *written, RandomLayout(rows, &random));
    const bool has_two_keys = random() % 2 == 0;
    const Multiples test(7);
    auto filter = std::make_shared<runtime::ProbeFilter>();
    ParquetScanRequest request{.projection = {0, 1, 8}};
    if (random() % 2 == 0) request.filters = {Call("like", {Column(*written, "text"), Text("%x1%")})};
    for (ExprPtr& conjunct : request.filters) conjunct = expr::RemapColumns(conjunct, {0, 1, 0, 0, 0, 0, 0, 0, 2}).ValueOrDie();
    request.probe_filters = {{filter, has_two_keys ? std::vector<int>{0, 1} : std::vector<int>{1}}};
    Engine engine;
    const auto all = Scan(directory / "t.parquet", request, &engine);  // nothing is published yet
    filter->Publish(&test);
    const auto read = Scan(directory / "t.parquet", request, &engine);
    filter->Withdraw();
    const auto again = Scan(directory / "t.parquet", request, &engine);
    ASSERT_NE(read, nullptr);
    ExpectSame(*all, *again);
    // The oracle: the rows that all scans give, tested one by one.
    const auto whole = all->CombineChunksToBatch().ValueOrDie();
    arrow::BooleanBuilder passes;
    for (int64_t i = 0; i < whole->num_rows(); ++i) {
      const auto& id = static_cast<const arrow::Int64Array&>(*whole->column(0));
      const auto& many = static_cast<const arrow::Int64Array&>(*whole->column(1));
      const int64_t sum = many.IsNull(i) ? 1 : many.Value(i) + (has_two_keys && !id.IsNull(i) ? id.Value(i) : 0);
      ASSERT_TRUE(passes.Append(!many.IsNull(i) && (!has_two_keys || !id.IsNull(i)) && sum % 7 == 0).ok());
    }
    const arrow::Datum expected = arrow::compute::Filter(whole, passes.Finish().ValueOrDie()).ValueOrDie();
    ExpectSame(*arrow::Table::FromRecordBatches({expected.record_batch()}).ValueOrDie(), *read);
  }
}

TEST(ParquetRowFilter, ATestThatLetsMostPassIsGivenUp) {
  class CountsRows final : public runtime::KeyTest {
   public:
    arrow::Status Test(const arrow::ArrayVector&, std::span<uint8_t> pass, arrow::MemoryPool*) const override {
      rows += static_cast<int64_t>(pass.size());
      return arrow::Status::OK();
    }
    std::optional<runtime::KeyBounds> BoundsOf(size_t) const override { return std::nullopt; }
    mutable int64_t rows = 0;
  };
  std::mt19937_64 random(16);
  Directory directory;
  const auto written = RandomTable(300'000, 0, &random);
  WriteFile(directory / "t.parquet", *written, {.adjust = [](auto* builder) { builder->disable_dictionary(); }});
  const CountsRows test;
  auto filter = std::make_shared<runtime::ProbeFilter>();
  filter->Publish(&test);
  Engine engine;
  const auto read = Scan(directory / "t.parquet", {.projection = {0, 1}, .probe_filters = {{filter, {0}}}}, &engine);
  EXPECT_EQ(read->num_rows(), 300'000);
  EXPECT_LT(test.rows, 100'000);
}

TEST(ParquetRowFilter, BoundsOfKeysLeaveRowGroupsOut) {
  class Between final : public runtime::KeyTest {
   public:
    arrow::Status Test(const arrow::ArrayVector&, std::span<uint8_t>, arrow::MemoryPool*) const override {
      return arrow::Status::OK();
    }
    std::optional<runtime::KeyBounds> BoundsOf(size_t) const override {
      return runtime::KeyBounds{.least = 3500, .greatest = 4200};
    }
  };
  std::mt19937_64 random(17);
  Directory directory;
  const auto written = RandomTable(20'000, 0, &random);
  WriteFile(directory / "t.parquet", *written,
            {.row_group_rows = 1000,
             .adjust = [](parquet::WriterProperties::Builder* builder) { builder->disable_write_page_index(); }});
  const Between test;
  auto filter = std::make_shared<runtime::ProbeFilter>();
  filter->Publish(&test);
  Engine engine;
  const auto read = Scan(directory / "t.parquet", {.projection = {0, 1}, .probe_filters = {{filter, {0}}}}, &engine);
  EXPECT_EQ(read->num_rows(), 2000);
  EXPECT_EQ(static_cast<const arrow::Int64Array&>(*read->column(0)->chunk(0)).Value(0), 3000);
}

TEST(ParquetRowFilter, ALimitCountsRowsThatPass) {
  std::mt19937_64 random(14);
  Directory directory;
  const auto written = RandomTable(20'000, 0, &random);
  WriteFile(directory / "t.parquet", *written, {.row_group_rows = 500});
  Engine engine;
  auto table = engine.Open(directory / "t.parquet").ValueOrDie();
  const ExprPtr filter = Call("=", {expr::MakeColumn(0, *written->schema()->GetFieldByName("few")), Number(3)});
  const auto batches = testing::Collect(*table, {.projection = {2}, .filters = {filter}, .limit = 30}, &engine).ValueOrDie();
  int64_t rows = 0;
  for (const auto& batch : batches) rows += batch->num_rows();
  EXPECT_GE(rows, 30);
  EXPECT_LT(engine.metrics.input_rows, 10'000);
}

}  // namespace
}  // namespace icebound::io
