// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "sql/fake_tables_test.h"

namespace icebound::sql {
namespace {

/// Binds against tables that remember the reference.
std::string BindReference(std::string_view text, FakeTables* tables) {
  BindOptions options;
  options.pool = arrow::default_memory_pool();
  options.statement_time_us = 1'000'000;
  const auto bound = BindStatement(text, *tables, options);
  return bound.ok() ? "" : bound.status().message();
}

TEST(IcebergFunction, TakesATableAndAVersionOfIt) {
  FakeTables tables = TestTables();
  EXPECT_EQ(BindReference("SELECT a FROM iceberg('t')", &tables), "");
  EXPECT_EQ(tables.last_iceberg.table, "t");
  EXPECT_FALSE(tables.last_iceberg.names_version());
  EXPECT_EQ(BindReference("SELECT i.a FROM iceberg('t', snapshot_id => 9223372036854775807) i", &tables), "");
  EXPECT_EQ(tables.last_iceberg.snapshot_id, INT64_MAX);
  EXPECT_EQ(BindReference("SELECT iceberg.a FROM iceberg('t', ref => 'audit', metadata_table => 'files')", &tables), "");
  EXPECT_EQ(tables.last_iceberg.ref, "audit");
  EXPECT_EQ(tables.last_iceberg.metadata_table, "files");
}

TEST(IcebergFunction, TakesTimesAsConstantsOfAnyKind) {
  FakeTables tables = TestTables();
  for (const char* time : {"'1970-01-02 00:00:00'", "'1970-01-02T02:00:00+02:00'", "DATE '1970-01-02'",
                           "TIMESTAMP '1970-01-01' + INTERVAL '1 day'", "now() + INTERVAL '86399 seconds'"}) {
    EXPECT_EQ(BindReference(fmt::format("SELECT a FROM iceberg('t', as_of => {})", time), &tables), "") << time;
    EXPECT_EQ(tables.last_iceberg.as_of_us, int64_t{86400} * 1'000'000) << time;
  }
}

TEST(IcebergFunction, ComplainsWhereTheArgumentStands) {
  const auto expect_error = [](std::string_view text, std::string_view message, std::string_view at) {
    FakeTables tables = TestTables();
    const std::string error = BindReference(text, &tables);
    EXPECT_TRUE(error.starts_with(message)) << error;
    EXPECT_NE(error.find(fmt::format("COLUMN {}:", text.find(at) + 1)), std::string::npos) << error;
  };
  expect_error("SELECT * FROM iceberg()", "iceberg takes a table as a string", "iceberg");
  expect_error("SELECT * FROM iceberg('t', 'u')", "iceberg takes one table", "'u'");
  expect_error("SELECT * FROM iceberg(1)", "iceberg takes a table as a string", "1)");
  expect_error("SELECT * FROM iceberg('t', snapshotid => 1)",
               "iceberg has no option \"snapshotid\"; did you mean \"snapshot_id\"?", "snapshotid");
  expect_error("SELECT * FROM iceberg('t', snapshot_id => 1, ref => 'x')", "one of snapshot_id, as_of and ref", "ref");
  expect_error("SELECT * FROM iceberg('t', snapshot_id => NULL)", "snapshot_id of iceberg must not be NULL", "snapshot_id");
  expect_error("SELECT * FROM iceberg('t', snapshot_id => 'x1')", "invalid input syntax", "'x1'");
  expect_error("SELECT * FROM iceberg('t', as_of => 'yesterdy')", "invalid input syntax", "'yesterdy'");
  expect_error("SELECT * FROM iceberg('t', metadata_table => 'files', metadata_table => 'refs')",
               "metadata_table stands here twice", "metadata_table => 'refs'");
  expect_error("SELECT * FROM iceberg('nope')", "table \"nope\" does not exist", "'nope'");
}

TEST(IcebergFunction, ErrorsOfTheTableStandAtTheArgumentTheyAreAbout) {
  const std::string text = "SELECT * FROM iceberg('t', metadata_table => 'files', ref => 'x')";
  for (const auto& [part, at] :
       {std::pair(plan::IcebergPart::kVersion, "ref"), {plan::IcebergPart::kMetadataTable, "metadata"}}) {
    FakeTables tables = TestTables();
    tables.iceberg_fault = part;
    const std::string error = BindReference(text, &tables);
    EXPECT_NE(error.find(fmt::format("COLUMN {}:", text.find(at) + 1)), std::string::npos) << error;
  }
}

TEST(NamesOfManyParts, ReachTheResolverWhole) {
  EXPECT_EQ(ColumnsOrError("SELECT a FROM c.n.m.w.files"), "a integer");
  EXPECT_EQ(ColumnsOrError("SELECT x.a FROM C . \"n\".M.w.Files x WHERE x.a > 1"), "a integer");
  EXPECT_EQ(ColumnsOrError("SELECT 1 AS one FROM ns.v JOIN c.n.m.w.files f ON f.a = v.a, (SELECT * FROM c.n.m.w.files) g"),
            "one integer");
}

TEST(NamesOfManyParts, AreShownWholeInErrors) {
  EXPECT_EQ(PlanOrError("SELECT *\nFROM c.n.m.\"W\".files"),
            "not found: table \"c.n.m.W.files\" does not exist; did you mean \"c.n.m.w.files\"?\n"
            "LINE 2, COLUMN 6: FROM c.n.m.\"W\".files\n"
            "                       ^");
}

}  // namespace
}  // namespace icebound::sql
