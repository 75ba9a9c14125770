// SPDX-License-Identifier: Apache-2.0
//
// Columns found by field id: what a file has under another name, in another place, of a narrower type, or not at all. Expected
// rows are written by hand.
#include "io/column_mapping.h"

#include <arrow/util/key_value_metadata.h>
#include <gtest/gtest.h>

#include <set>

#include "io/parquet_scan.h"
#include "io/parquet_testing.h"

namespace icebound::io {
namespace {

using testing::ArrayOf;
using testing::Directory;
using testing::Engine;
using testing::WriteFile;

std::shared_ptr<arrow::Field> Id(int id, const std::string& name, std::shared_ptr<arrow::DataType> type) {
  return arrow::field(name, std::move(type), true, arrow::key_value_metadata({"PARQUET:field_id"}, {std::to_string(id)}));
}

std::shared_ptr<arrow::Field> NoId(const std::string& name, std::shared_ptr<arrow::DataType> type) {
  return arrow::field(name, std::move(type));
}

/// Some positions of a file.
class Positions final : public ExcludedRows {
 public:
  explicit Positions(std::set<int64_t> rows) : rows_(std::move(rows)) {}
  int64_t Count(int64_t rows) const override { return std::distance(rows_.begin(), rows_.lower_bound(rows)); }
  int64_t Clear(int64_t first_row, int64_t rows, uint8_t* bitmap) const override {
    int64_t count = 0;
    for (auto row = rows_.lower_bound(first_row); row != rows_.end() && *row < first_row + rows; ++row, ++count) {
      arrow::bit_util::ClearBit(bitmap, *row - first_row);
    }
    return count;
  }

 private:
  const std::set<int64_t> rows_;
};

struct TestFile {
  std::string path;
  FieldIdMapping mapping;
  std::shared_ptr<const ExcludedRows> excluded;
};

class TestFiles final : public ScanFileSource {
 public:
  TestFiles(std::vector<TestFile> files, std::shared_ptr<arrow::Schema> wanted, Engine* engine)
      : files_(std::move(files)), wanted_(std::move(wanted)), engine_(engine) {}

  arrow::Result<std::shared_ptr<ScanFile>> Next(memory::MemoryConsumer* consumer) override {
    const size_t index = next_.fetch_add(1);
    if (index >= files_.size()) return nullptr;
    const TestFile& file = files_[index];
    ARROW_ASSIGN_OR_RAISE(const Location place, engine_->file_systems->Resolve(file.path));
    ARROW_ASSIGN_OR_RAISE(auto input, InputFile::Open(place, place.path, nullptr, nullptr));
    auto opened = std::make_shared<ScanFile>();
    ARROW_ASSIGN_OR_RAISE(opened->footer, ParquetFooter::Read(std::move(input), consumer));
    ARROW_ASSIGN_OR_RAISE(opened->columns, MatchByFieldId(*wanted_, *opened->footer->schema(), file.path, file.mapping));
    opened->excluded = file.excluded;
    return opened;
  }

 private:
  const std::vector<TestFile> files_;
  const std::shared_ptr<arrow::Schema> wanted_;
  Engine* const engine_;
  std::atomic<size_t> next_{0};
};

arrow::Result<std::shared_ptr<arrow::Table>> Read(std::vector<TestFile> files, const arrow::FieldVector& wanted, Engine* engine,
                                                  std::vector<expr::ExprPtr> filters = {}) {
  ParquetScanOptions options{.name = "test", .schema = arrow::schema(wanted), .filters = std::move(filters), .ordered = true};
  options.files = std::make_unique<TestFiles>(std::move(files), options.schema, engine);
  ARROW_ASSIGN_OR_RAISE(const auto source, ParquetScan::Make(std::move(options), engine->context.get()));
  ARROW_ASSIGN_OR_RAISE(const auto stream, source->OpenStream());
  std::vector<std::shared_ptr<arrow::RecordBatch>> batches;
  for (;;) {
    ARROW_ASSIGN_OR_RAISE(auto batch, stream->Next());
    if (batch == nullptr) break;
    ARROW_RETURN_NOT_OK(batch->ValidateFull());
    arrow::ArrayVector columns;
    for (const auto& column : batch->columns()) {
      ARROW_ASSIGN_OR_RAISE(columns.emplace_back(), arrow::Concatenate({column}, arrow::default_memory_pool()));
    }
    batches.push_back(arrow::RecordBatch::Make(batch->schema(), batch->num_rows(), std::move(columns)));
  }
  ARROW_ASSIGN_OR_RAISE(const auto table, arrow::Table::FromRecordBatches(arrow::schema(wanted), batches));
  return table->CombineChunks();
}

std::shared_ptr<arrow::Table> TableOf(const arrow::FieldVector& fields, const std::string& json) {
  const auto rows = ArrayOf(arrow::struct_(fields), json);
  return arrow::Table::FromChunkedStructArray(std::make_shared<arrow::ChunkedArray>(rows)).ValueOrDie();
}

void ExpectRows(const arrow::Result<std::shared_ptr<arrow::Table>>& actual, const arrow::FieldVector& fields,
                const std::string& json) {
  ASSERT_TRUE(actual.ok()) << actual.status().ToString();
  const auto expected = TableOf(fields, json);
  ASSERT_TRUE((*actual)->Equals(*expected)) << (*actual)->ToString() << "expected " << expected->ToString();
}

void Write(const std::string& path, const arrow::FieldVector& fields, const std::string& json, int64_t row_group_rows = 100) {
  WriteFile(path, *arrow::Table::Make(arrow::schema(fields), TableOf(fields, json)->columns()),
            {.row_group_rows = row_group_rows});
}

TEST(ColumnMapping, ColumnsGoByIdNotByNameOrPlace) {
  Directory directory;
  Engine engine;
  Write(directory / "f", {Id(2, "a", arrow::utf8()), Id(1, "b", arrow::int64())}, R"([{"a": "x", "b": 1}, {"a": null, "b": 2}])");
  const arrow::FieldVector wanted = {Id(1, "a", arrow::int64()), Id(2, "b", arrow::utf8()), Id(3, "c", arrow::int64())};
  ExpectRows(Read({{directory / "f"}}, wanted, &engine), wanted,
             R"([{"a": 1, "b": "x", "c": null}, {"a": 2, "b": null, "c": null}])");
}

TEST(ColumnMapping, AColumnThatWasDroppedAndAddedAgainStaysEmpty) {
  Directory directory;
  Engine engine;
  Write(directory / "f", {Id(1, "a", arrow::int64()), Id(2, "b", arrow::int64())}, R"([{"a": 1, "b": 5}])");
  const arrow::FieldVector wanted = {Id(1, "a", arrow::int64()), Id(3, "b", arrow::int64())};
  ExpectRows(Read({{directory / "f"}}, wanted, &engine), wanted, R"([{"a": 1, "b": null}])");
}

TEST(ColumnMapping, TheOrderOfWhatStandsInForAColumn) {
  Directory directory;
  Engine engine;
  Write(directory / "with", {Id(1, "a", arrow::int64()), Id(2, "p", arrow::int64())}, R"([{"a": 1, "p": 2}])");
  Write(directory / "without", {Id(1, "a", arrow::int64()), NoId("p", arrow::int64())}, R"([{"a": 1, "p": 3}])");
  const FieldIdByName names = [](std::span<const std::string_view> path) -> std::optional<int32_t> {
    return path.size() == 1 && path[0] == "p" ? std::optional(2) : std::nullopt;
  };
  const ScalarsById defaults = {{2, arrow::MakeScalar(int64_t{40})}, {4, arrow::MakeScalar(int64_t{50})}};
  const FieldIdMapping all{.defaults = &defaults, .names = &names, .constants = {{2, arrow::MakeScalar(int64_t{30})}}};
  const FieldIdMapping no_constant{.defaults = &defaults, .names = &names};
  const FieldIdMapping no_names{.defaults = &defaults};
  const arrow::FieldVector wanted = {Id(2, "p", arrow::int64()), Id(4, "d", arrow::int64()), Id(5, "n", arrow::int64())};
  ExpectRows(Read({{directory / "with", all},
                   {directory / "without", all},
                   {directory / "without", no_constant},
                   {directory / "without", no_names},
                   {directory / "without"}},
                  wanted, &engine),
             wanted,
             R"([{"p": 2, "d": 50, "n": null}, {"p": 30, "d": 50, "n": null}, {"p": 3, "d": 50, "n": null},
                 {"p": 40, "d": 50, "n": null}, {"p": null, "d": null, "n": null}])");
}

TEST(ColumnMapping, TypesArePromoted) {
  Directory directory;
  Engine engine;
  const auto us = arrow::timestamp(arrow::TimeUnit::MICRO), ns = arrow::timestamp(arrow::TimeUnit::NANO);
  Write(directory / "f",
        {Id(1, "i", arrow::int32()), Id(2, "f", arrow::float32()), Id(3, "d", arrow::decimal128(4, 2)),
         Id(4, "day", arrow::date32()), Id(5, "ms", arrow::timestamp(arrow::TimeUnit::MILLI)), Id(6, "t", arrow::binary())},
        R"([{"i": -7, "f": 1.5, "d": "-12.34", "day": -1, "ms": -1, "t": "x"}, {"i": null, "f": null, "d": null, "day": null,
             "ms": null, "t": null}])");
  const arrow::FieldVector wanted = {Id(1, "i", arrow::int64()),
                                     Id(2, "f", arrow::float64()),
                                     Id(3, "d", arrow::decimal128(9, 2)),
                                     Id(4, "day", ns),
                                     Id(5, "ms", us),
                                     Id(6, "t", arrow::utf8())};
  ExpectRows(Read({{directory / "f"}}, wanted, &engine), wanted,
             R"([{"i": -7, "f": 1.5, "d": "-12.34", "day": -86400000000000, "ms": -1000, "t": "x"},
                 {"i": null, "f": null, "d": null, "day": null, "ms": null, "t": null}])");
}

TEST(ColumnMapping, OtherTypesAreRefused) {
  Directory directory;
  Engine engine;
  Write(directory / "f", {Id(1, "i", arrow::int64())}, R"([{"i": 1}])");
  const std::vector<std::shared_ptr<arrow::DataType>> types = {arrow::int32(), arrow::utf8(),
                                                               arrow::struct_({Id(2, "x", arrow::int64())})};
  for (const auto& type : types) {
    const auto read = Read({{directory / "f"}}, {Id(1, "i", type)}, &engine);
    EXPECT_EQ(GetErrorKind(read.status()), ErrorKind::kUnsupported) << read.status().ToString();
    EXPECT_NE(read.status().message().find(directory / "f"), std::string::npos) << read.status().ToString();
  }
}

TEST(ColumnMapping, TwoColumnsOfOneIdAreRefused) {
  Directory directory;
  Engine engine;
  Write(directory / "f", {Id(1, "a", arrow::int64()), Id(1, "b", arrow::int64())}, R"([{"a": 1, "b": 2}])");
  const auto read = Read({{directory / "f"}}, {Id(1, "a", arrow::int64())}, &engine);
  EXPECT_EQ(GetErrorKind(read.status()), ErrorKind::kCorruptData) << read.status().ToString();
}

TEST(ColumnMapping, ARequiredColumnMustBeSomewhere) {
  Directory directory;
  Engine engine;
  Write(directory / "f", {Id(1, "a", arrow::int64())}, R"([{"a": 1}])");
  const auto read = Read({{directory / "f", {.required = {2}}}}, {Id(2, "b", arrow::int64())}, &engine);
  EXPECT_EQ(GetErrorKind(read.status()), ErrorKind::kCorruptData) << read.status().ToString();
}

TEST(ColumnMapping, FieldsOfStructsListsAndMapsGoByIdToo) {
  Directory directory;
  Engine engine;
  const auto stored_item = arrow::struct_({Id(12, "old", arrow::int32()), Id(13, "gone", arrow::utf8())});
  Write(directory / "f",
        {Id(1, "s", arrow::struct_({Id(2, "a", arrow::int32()), Id(3, "b", arrow::utf8()), Id(4, "c", arrow::float32())})),
         Id(10, "l", arrow::list(Id(11, "element", stored_item))),
         Id(20, "m",
            std::make_shared<arrow::MapType>(Id(21, "key", arrow::utf8())->WithNullable(false),
                                             Id(22, "value", arrow::struct_({Id(23, "v", arrow::int32())}))))},
        R"([{"s": {"a": 1, "b": "x", "c": 0.5}, "l": [{"old": 1, "gone": "g"}, null], "m": [["k", {"v": 3}], ["n", null]]},
            {"s": null, "l": null, "m": null},
            {"s": {"a": null, "b": null, "c": null}, "l": [], "m": []}])",
        2);
  const ScalarsById defaults = {{5, arrow::MakeScalar(int64_t{9})}};
  const arrow::FieldVector wanted = {
      Id(10, "list",
         arrow::list(Id(11, "element", arrow::struct_({Id(14, "added", arrow::utf8()), Id(12, "renamed", arrow::int64())})))),
      Id(1, "s", arrow::struct_({Id(4, "c", arrow::float64()), Id(5, "new", arrow::int64()), Id(2, "b", arrow::int64())})),
      Id(20, "m",
         std::make_shared<arrow::MapType>(Id(21, "key", arrow::utf8())->WithNullable(false),
                                          Id(22, "value", arrow::struct_({Id(23, "w", arrow::int64())}))))};
  ExpectRows(Read({{directory / "f", {.defaults = &defaults}}}, wanted, &engine), wanted,
             R"([{"list": [{"added": null, "renamed": 1}, null], "s": {"c": 0.5, "new": 9, "b": 1},
                  "m": [["k", {"w": 3}], ["n", null]]},
                 {"list": null, "s": null, "m": null},
                 {"list": [], "s": {"c": null, "new": 9, "b": null}, "m": []}])");
}

TEST(ColumnMapping, PartsWithoutIdsGoByName) {
  Directory directory;
  Engine engine;
  const auto stored = arrow::struct_({NoId("value", arrow::binary()), NoId("metadata", arrow::binary())});
  Write(directory / "f", {Id(1, "v", stored)}, R"([{"v": {"value": "x", "metadata": "m"}}, {"v": null}])");
  const arrow::FieldVector wanted = {
      Id(1, "v", arrow::struct_({NoId("metadata", arrow::binary()), NoId("value", arrow::binary())}))};
  ExpectRows(Read({{directory / "f"}}, wanted, &engine), wanted, R"([{"v": {"metadata": "m", "value": "x"}}, {"v": null}])");
  const auto shredded =
      arrow::struct_({NoId("metadata", arrow::binary()), NoId("value", arrow::binary()), NoId("typed_value", arrow::int64())});
  Write(directory / "g", {Id(1, "v", shredded)}, R"([{"v": {"metadata": "m", "value": null, "typed_value": 1}}])");
  const auto refused = Read({{directory / "g"}}, wanted, &engine);
  EXPECT_EQ(GetErrorKind(refused.status()), ErrorKind::kUnsupported) << refused.status().ToString();
}

TEST(ColumnMapping, RowNumbersCountThroughRowGroupsAndFilters) {
  Directory directory;
  Engine engine;
  std::string rows = "[";
  for (int i = 0; i < 1000; ++i) rows += fmt::format("{}{{\"a\": {}}}", i == 0 ? "" : ",", i % 10);
  Write(directory / "f", {Id(1, "a", arrow::int64())}, rows + "]", 64);
  const arrow::FieldVector wanted = {Id(1, "a", arrow::int64()), Id(8, "pos", arrow::int64()), Id(9, "file", arrow::utf8())};
  const auto file = [&](const std::string& name, int64_t first) {
    return TestFile{directory / "f", {.constants = {{9, arrow::MakeScalar(name)}}, .row_numbers = {{8, first}}}};
  };
  const auto equals = [&](int column, std::shared_ptr<arrow::Scalar> value) {
    return expr::MakeCall("=",
                          {expr::MakeColumn(column, *wanted[static_cast<size_t>(column)]), expr::MakeLiteral(std::move(value))})
        .ValueOrDie();
  };
  const auto read =
      Read({file("x", 0), file("y", 5000)}, wanted, &engine, {equals(0, arrow::MakeScalar(int64_t{7}))}).ValueOrDie();
  ASSERT_EQ(read->num_rows(), 200);
  const auto& positions = static_cast<const arrow::Int64Array&>(*read->column(1)->chunk(0));
  const auto& names = static_cast<const arrow::StringArray&>(*read->column(2)->chunk(0));
  for (int64_t i = 0; i < 200; ++i) {
    EXPECT_EQ(positions.Value(i), i % 100 * 10 + 7 + (i < 100 ? 0 : 5000));
    EXPECT_EQ(names.GetView(i), i < 100 ? "x" : "y");
  }
  // Filters over what no file has.
  ExpectRows(Read({file("x", 0), file("y", 5000)}, wanted, &engine,
                  {equals(2, arrow::MakeScalar("y")), equals(1, arrow::MakeScalar(int64_t{5123}))}),
             wanted, R"([{"a": 3, "pos": 5123, "file": "y"}])");
}

TEST(ColumnMapping, NullsOfAStoredColumnAreFilledWhereThatIsItsMeaning) {
  Directory directory;
  Engine engine;
  Write(directory / "f", {Id(1, "row", arrow::int64()), Id(2, "seq", arrow::int64())},
        R"([{"row": 77, "seq": null}, {"row": null, "seq": 3}, {"row": null, "seq": null}])", 2);
  const FieldIdMapping mapping{.constants = {{2, arrow::MakeScalar(int64_t{9})}}, .row_numbers = {{1, 1000}}, .filled = {1, 2}};
  const arrow::FieldVector wanted = {Id(1, "row", arrow::int64()), Id(2, "seq", arrow::int64())};
  ExpectRows(Read({{directory / "f", mapping}}, wanted, &engine), wanted,
             R"([{"row": 77, "seq": 9}, {"row": 1001, "seq": 3}, {"row": 1002, "seq": 9}])");
  const auto row = expr::MakeColumn(0, *wanted[0]);
  const auto filter = expr::MakeCall("=", {row, expr::MakeLiteral(arrow::MakeScalar(int64_t{1002}))}).ValueOrDie();
  ExpectRows(Read({{directory / "f", mapping}}, wanted, &engine, {filter}), wanted, R"([{"row": 1002, "seq": 9}])");
}

TEST(ColumnMapping, ExcludedRowsAreSeenByNoFilter) {
  Directory directory;
  Engine engine;
  Write(directory / "f", {Id(1, "a", arrow::int64()), Id(2, "b", arrow::utf8())},
        R"([{"a": 1, "b": "p"}, {"a": 0, "b": "q"}, {"a": 2, "b": "r"}, {"a": 4, "b": "s"}, {"a": 0, "b": "t"}])", 2);
  const arrow::FieldVector wanted = {Id(1, "a", arrow::int64()), Id(2, "b", arrow::utf8())};
  const TestFile file{directory / "f", {}, std::make_shared<Positions>(std::set<int64_t>{1, 4, 2, 99})};
  ExpectRows(Read({file}, wanted, &engine), wanted, R"([{"a": 1, "b": "p"}, {"a": 4, "b": "s"}])");
  // 8 / a would fail for the rows that are gone.
  const auto ratio =
      expr::MakeCall("/", {expr::MakeLiteral(arrow::MakeScalar(int64_t{8})), expr::MakeColumn(0, *wanted[0])}).ValueOrDie();
  const auto filter = expr::MakeCall("=", {ratio, expr::MakeLiteral(arrow::MakeScalar(int64_t{2}))}).ValueOrDie();
  ExpectRows(Read({file}, wanted, &engine, {filter}), wanted, R"([{"a": 4, "b": "s"}])");
  const auto counted = Read({file}, {}, &engine);
  ASSERT_TRUE(counted.ok()) << counted.status().ToString();
  EXPECT_EQ((*counted)->num_rows(), 2);
}

}  // namespace
}  // namespace icebound::io
