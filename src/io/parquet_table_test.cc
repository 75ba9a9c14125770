// SPDX-License-Identifier: Apache-2.0
//
// What a table of Parquet files checks when it is opened.
#include "io/parquet_table.h"

#include <gtest/gtest.h>

#include "io/parquet_testing.h"

namespace icebound::io {
namespace {

using testing::ArrayOf;
using testing::Directory;
using testing::Engine;

class ParquetTableTest : public ::testing::Test {
 protected:
  void Write(const std::string& name, const std::shared_ptr<arrow::Schema>& schema, const arrow::ArrayVector& columns) {
    testing::WriteFile(directory_ / name, *arrow::Table::Make(schema, columns));
  }
  arrow::Status Open(const std::string& name, const ParquetTableOptions& options) {
    return ParquetTable::Open(engine_.file_systems.get(), directory_ / name, engine_.ledger.get(), options).status();
  }
  void ExpectError(const arrow::Status& status, std::string_view text) {
    EXPECT_EQ(GetErrorKind(status), ErrorKind::kInvalidInput) << status.ToString();
    EXPECT_NE(status.message().find(text), std::string::npos) << status.message();
  }

  Directory directory_;
  Engine engine_;
};

TEST_F(ParquetTableTest, TheSchemaMayBeExpected) {
  const auto id = arrow::field("id", arrow::int64()), name = arrow::field("name", arrow::large_utf8());
  Write("a.parquet", arrow::schema({id, name}), {ArrayOf(arrow::int64(), "[1]"), ArrayOf(arrow::large_utf8(), "[\"x\"]")});
  EXPECT_TRUE(Open("a.parquet", {.expected_schema = arrow::schema({id, name})}).ok());
  EXPECT_TRUE(Open("a.parquet", {.expected_schema = arrow::schema({arrow::field("name", arrow::utf8()), id})}).ok());
  ExpectError(Open("a.parquet", {.expected_schema = arrow::schema({id})}), "column \"name\" (string) of ");
  ExpectError(Open("a.parquet", {.expected_schema = arrow::schema({id, name, arrow::field("age", arrow::int32())})}),
              "column \"age\" (int32) was expected, but ");
  ExpectError(Open("a.parquet", {.expected_schema = arrow::schema({arrow::field("id", arrow::int32()), name})}),
              "column \"id\" was expected to be int32, but is int64 in ");
}

TEST_F(ParquetTableTest, AllFilesMayBeCheckedAtOnce) {
  const auto a = arrow::schema({arrow::field("a", arrow::int64())}), b = arrow::schema({arrow::field("b", arrow::int64())});
  for (int i = 0; i < 30; ++i) {
    Write(fmt::format("{:02}.parquet", i), i == 20 ? b : a, {ArrayOf(arrow::int64(), "[1, 2]")});
  }
  EXPECT_TRUE(Open("", {}).ok());  // the first one speaks for a directory of so many
  ExpectError(Open("", {.check_all_files = true}), "20.parquet");
  std::filesystem::remove(directory_ / "20.parquet");
  const auto table =
      ParquetTable::Open(engine_.file_systems.get(), directory_.path(), engine_.ledger.get(), {.check_all_files = true})
          .ValueOrDie();
  EXPECT_EQ(table->rows(), 58);
  EXPECT_TRUE(table->rows_are_exact());
}

}  // namespace
}  // namespace icebound::io
