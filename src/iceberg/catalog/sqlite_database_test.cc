// SPDX-License-Identifier: Apache-2.0
#include "iceberg/catalog/sqlite_database.h"

#include <gmock/gmock.h>

#include <fstream>

#include "iceberg/catalog/catalog_testing.h"

namespace icebound::iceberg {
namespace {

using testing::HasSubstr;

class SqliteDatabaseTest : public testing::Test {
 protected:
  SqliteDatabaseTest() : ours_(Open()), other_(Open()) {
    EXPECT_TRUE(ours_->Run("CREATE TABLE t (x TEXT PRIMARY KEY)").ok());
    EXPECT_TRUE(ours_->Run("INSERT INTO t VALUES (?1)", {"old"}).ok());
  }
  std::unique_ptr<SqliteDatabase> Open() {
    auto database = SqliteDatabase::Open(directory_ / "d.db", /*create=*/true, /*busy_timeout_ms=*/20);
    EXPECT_TRUE(database.ok()) << database.status().ToString();
    return std::move(*database);
  }
  arrow::Status Update(const std::string& value) {
    return ours_->Transact([&] { return ours_->Run("UPDATE t SET x = ?1", {value}); });
  }
  std::string Value(SqliteDatabase& database) { return *(*database.Query("SELECT x FROM t"))[0][0]; }

  TemporaryDirectory directory_;
  const std::unique_ptr<SqliteDatabase> ours_;
  const std::unique_ptr<SqliteDatabase> other_;
};

TEST_F(SqliteDatabaseTest, AWriterInTheWayIsAConflict) {
  ASSERT_TRUE(other_->Run("BEGIN IMMEDIATE").ok());
  EXPECT_EQ(KindOf(Update("new")), ErrorKind::kCommitConflict);
  ASSERT_TRUE(other_->Run("ROLLBACK").ok());
  EXPECT_EQ(Value(*other_), "old");
  EXPECT_TRUE(Update("new").ok());
  EXPECT_EQ(Value(*other_), "new");
}

TEST_F(SqliteDatabaseTest, AReaderThatStopsTheCommitIsAConflictAndNothingChanged) {
  arrow::Status updated;
  ASSERT_TRUE(other_
                  ->Run("SELECT x FROM t", {},
                        [&](const SqliteDatabase::Row&) {
                          updated = Update("new");
                          return arrow::Status::OK();
                        })
                  .ok());
  EXPECT_EQ(KindOf(updated), ErrorKind::kCommitConflict) << updated.ToString();
  EXPECT_EQ(Value(*other_), "old");
  EXPECT_EQ(Value(*ours_), "old");
  EXPECT_TRUE(Update("new").ok());
  EXPECT_EQ(Value(*other_), "new");
}

TEST_F(SqliteDatabaseTest, AFailureInsideRollsBack) {
  const arrow::Status failed = ours_->Transact([&]() -> arrow::Status {
    ARROW_RETURN_NOT_OK(ours_->Run("UPDATE t SET x = 'new'"));
    return ours_->Run("INSERT INTO t VALUES ('new')");
  });
  EXPECT_EQ(KindOf(failed), ErrorKind::kInvalidInput);
  EXPECT_THAT(failed.message(), HasSubstr("d.db"));
  EXPECT_EQ(Value(*other_), "old");
}

TEST_F(SqliteDatabaseTest, FilesThatAreNoDatabases) {
  std::ofstream(directory_ / "text.db") << std::string(5000, 'x');
  auto database = SqliteDatabase::Open(directory_ / "text.db", /*create=*/false);
  const arrow::Status status = database.ok() ? (*database)->Query("SELECT * FROM t").status() : database.status();
  EXPECT_EQ(KindOf(status), ErrorKind::kCorruptData) << status.ToString();
  EXPECT_EQ(KindOf(SqliteDatabase::Open(directory_ / "none.db", /*create=*/false).status()), ErrorKind::kNotFound);
  EXPECT_FALSE(std::filesystem::exists(directory_ / "none.db"));
}

}  // namespace
}  // namespace icebound::iceberg
