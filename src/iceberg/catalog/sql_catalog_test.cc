// SPDX-License-Identifier: Apache-2.0
//
// What PyIceberg makes of the same file is in tests/interop.
#include "iceberg/catalog/sql_catalog.h"

#include <gmock/gmock.h>
#include <sqlite3.h>

#include <thread>

#include "base/injection.h"
#include "iceberg/catalog/catalog_testing.h"
#include "iceberg/catalog/make_catalog.h"

namespace icebound::iceberg {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class SqlCatalogTest : public testing::Test {
 protected:
  SqlCatalogTest() { Reopen(); }

  std::unique_ptr<Catalog> Open() {
    auto catalog = MakeCatalog("test", {{"uri", "sqlite:///" + (directory_ / "catalog.db")}, {"warehouse", directory_ / "w/"}},
                               LocalContext(memory_));
    EXPECT_TRUE(catalog.ok()) << catalog.status().ToString();
    return std::move(*catalog);
  }
  void Reopen() { catalog_ = Open(); }

  LoadedTable CreateSmall() {
    EXPECT_TRUE(catalog_->CreateNamespace({"a", "b"}, {}).ok());
    auto table = catalog_->CreateTable(id_, SmallTable(*catalog_->NewTableLocation(id_)));
    EXPECT_TRUE(table.ok()) << table.status().ToString();
    return *table;
  }
  std::vector<std::string> MetadataFiles() const { return FilesWith(directory_ / "w", "metadata.json"); }

  const TableIdentifier id_ = {{"a", "b"}, "t"};
  const std::shared_ptr<CountedMemory> memory_ = std::make_shared<CountedMemory>();
  TemporaryDirectory directory_;
  std::unique_ptr<Catalog> catalog_;
};

TEST_F(SqlCatalogTest, KeepsNamespacesAndTables) {
  CreateSmall();
  ASSERT_TRUE(catalog_->CreateNamespace({"a", "b2"}, {{"location", directory_ / "else/"}}).ok());
  EXPECT_EQ(KindOf(catalog_->CreateNamespace({"a"}, {})), ErrorKind::kInvalidInput);
  Reopen();
  EXPECT_THAT(*catalog_->ListNamespaces({}), ElementsAre(Namespace{"a"}));
  EXPECT_THAT(*catalog_->ListNamespaces({"a"}), ElementsAre(Namespace{"a", "b"}, Namespace{"a", "b2"}));
  EXPECT_THAT(*catalog_->ListTables({"a", "b"}), ElementsAre(id_));
  EXPECT_THAT(*catalog_->ListTables({"a"}), IsEmpty());
  EXPECT_EQ(KindOf(catalog_->ListTables({"c"}).status()), ErrorKind::kNotFound);
  EXPECT_EQ(*catalog_->NewTableLocation({{"a", "b2"}, "t"}), directory_ / "else/t");
  EXPECT_EQ(*catalog_->NewTableLocation({{"a", "b"}, "t"}), directory_ / "w/a.b/t");
  EXPECT_EQ(KindOf(catalog_->CreateTable(id_, SmallTable(directory_ / "w/x")).status()), ErrorKind::kInvalidInput);
  EXPECT_THAT(FilesWith(directory_ / "w/x", ""), IsEmpty());
  EXPECT_EQ(KindOf(catalog_->DropNamespace({"a", "b"})), ErrorKind::kInvalidInput);

  ASSERT_TRUE(catalog_->RenameTable(id_, {{"a", "b2"}, "u"}).ok());
  EXPECT_EQ(KindOf(catalog_->LoadTable(id_).status()), ErrorKind::kNotFound);
  ASSERT_TRUE(catalog_->LoadTable({{"a", "b2"}, "u"}).ok());
  ASSERT_TRUE(catalog_->DropTable({{"a", "b2"}, "u"}).ok());
  EXPECT_EQ(KindOf(catalog_->DropTable({{"a", "b2"}, "u"})), ErrorKind::kNotFound);
  EXPECT_THAT(MetadataFiles(), SizeIs(1));
  ASSERT_TRUE(catalog_->DropNamespace({"a", "b"}).ok());
  EXPECT_FALSE(*catalog_->NamespaceExists({"a", "b"}));
}

TEST_F(SqlCatalogTest, CommitsSwapAndKeepALog) {
  const LoadedTable first = CreateSmall();
  EXPECT_THAT(first.metadata_location, HasSubstr("/metadata/00000-"));
  const auto second = catalog_->CommitTable(first, WithProperty(*first.metadata, "p", "1"));
  ASSERT_TRUE(second.ok()) << second.status().ToString();
  EXPECT_THAT(second->metadata_location, HasSubstr("/metadata/00001-"));
  Reopen();
  const auto loaded = catalog_->LoadTable(id_);
  ASSERT_TRUE(loaded.ok());
  EXPECT_EQ(loaded->metadata_location, second->metadata_location);
  EXPECT_EQ(*loaded->metadata->FindProperty("p"), "1");
  ASSERT_THAT(loaded->metadata->metadata_log, SizeIs(1));
  EXPECT_EQ(loaded->metadata->metadata_log[0].metadata_file, first.metadata_location);
  EXPECT_EQ(loaded->metadata->metadata_log[0].timestamp_ms, first.metadata->last_updated_ms);

  // The loser of a race changes nothing and leaves nothing.
  const auto lost = catalog_->CommitTable(first, WithProperty(*first.metadata, "p", "2"));
  EXPECT_EQ(KindOf(lost.status()), ErrorKind::kCommitConflict);
  EXPECT_EQ(catalog_->LoadTable(id_)->metadata_location, second->metadata_location);
  EXPECT_THAT(MetadataFiles(), SizeIs(2));
}

TEST_F(SqlCatalogTest, CompressesAndForgetsOldMetadataAsPropertiesSay) {
  LoadedTable table = CreateSmall();
  TableMetadata changed = WithProperty(*table.metadata, "write.metadata.compression-codec", "gzip");
  changed = WithProperty(changed, "write.metadata.previous-versions-max", "2");
  changed = WithProperty(changed, "write.metadata.delete-after-commit.enabled", "true");
  table = *catalog_->CommitTable(table, changed);
  EXPECT_THAT(table.metadata_location, HasSubstr(".gz.metadata.json"));
  for (int i = 0; i < 4; ++i) table = *catalog_->CommitTable(table, WithProperty(*table.metadata, "p", std::to_string(i)));
  EXPECT_EQ(*catalog_->LoadTable(id_)->metadata->FindProperty("p"), "3");
  EXPECT_THAT(table.metadata->metadata_log, SizeIs(2));
  EXPECT_THAT(MetadataFiles(), SizeIs(3));
}

TEST_F(SqlCatalogTest, TheUuidOfATableStays) {
  const LoadedTable table = CreateSmall();
  TableMetadata changed = *table.metadata;
  changed.table_uuid = *NewUuid();
  EXPECT_THAT(catalog_->CommitTable(table, changed).status().message(), HasSubstr("uuid"));
  EXPECT_THAT(MetadataFiles(), SizeIs(1));
}

TEST_F(SqlCatalogTest, ALostAnswerIsLookedFor) {
  const LoadedTable first = CreateSmall();
  const auto lost = [] { return MakeError(ErrorKind::kIo, "the disk does not answer"); };
  std::string seen;
  {
    ScopedInjection after("catalog.sql_committed", ScopedInjection::FailOnHit(1, lost()));
    const auto committed = catalog_->CommitTable(first, WithProperty(*first.metadata, "p", "1"));
    ASSERT_TRUE(committed.ok()) << committed.status().ToString();
    seen = committed->metadata_location;
  }
  EXPECT_EQ(catalog_->LoadTable(id_)->metadata_location, seen);
  const LoadedTable second = *catalog_->LoadTable(id_);
  {
    ScopedInjection before("catalog.sql_commit", ScopedInjection::FailOnHit(1, lost()));
    EXPECT_EQ(KindOf(catalog_->CommitTable(second, WithProperty(*second.metadata, "p", "2")).status()), ErrorKind::kIo);
  }
  EXPECT_EQ(catalog_->LoadTable(id_)->metadata_location, seen);
  EXPECT_THAT(MetadataFiles(), SizeIs(2));
}

TEST_F(SqlCatalogTest, WhatCannotBeFoundOutIsUnknownAndDeletesNothing) {
  const LoadedTable first = CreateSmall();
  {
    const arrow::Status lost = MakeError(ErrorKind::kIo, "the disk does not answer");
    ScopedInjection after("catalog.sql_committed", ScopedInjection::FailOnHit(1, lost));
    ScopedInjection look("catalog.load", ScopedInjection::FailFromHit(1, lost));
    const auto unknown = catalog_->CommitTable(first, WithProperty(*first.metadata, "p", "1"));
    EXPECT_EQ(KindOf(unknown.status()), ErrorKind::kCommitUnknown);
    EXPECT_THAT(unknown.status().message(), HasSubstr("/metadata/00001-"));
  }
  const auto now = catalog_->LoadTable(id_);
  ASSERT_TRUE(now.ok()) << now.status().ToString();
  EXPECT_EQ(*now->metadata->FindProperty("p"), "1");
}

TEST_F(SqlCatalogTest, AFailureBeforeTheSwapLeavesTheOldTable) {
  const LoadedTable first = CreateSmall();
  for (const char* point : {"catalog.write", "catalog.sync_directory", "catalog.swap"}) {
    ScopedInjection failing(point, ScopedInjection::FailOnHit(1, MakeError(ErrorKind::kDiskLimit, "the disk is full")));
    EXPECT_EQ(KindOf(catalog_->CommitTable(first, WithProperty(*first.metadata, "p", "1")).status()), ErrorKind::kDiskLimit)
        << point;
    EXPECT_EQ(failing.hits(), 1) << point;
    EXPECT_THAT(MetadataFiles(), SizeIs(1)) << point;
  }
  EXPECT_EQ(catalog_->LoadTable(id_)->metadata_location, first.metadata_location);
}

TEST_F(SqlCatalogTest, OfManyThreadsOneWinsEachRound) {
  LoadedTable base = CreateSmall();
  for (int round = 0; round < 5; ++round) {
    std::atomic<int> committed = 0, conflicts = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&, i] {
        const auto own = Open();
        const auto done = own->CommitTable(base, WithProperty(*base.metadata, "p", fmt::format("{}.{}", round, i)));
        if (done.ok()) ++committed;
        if (!done.ok() && KindOf(done.status()) == ErrorKind::kCommitConflict) ++conflicts;
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(committed, 1);
    EXPECT_EQ(conflicts, 3);
    base = *catalog_->LoadTable(id_);
  }
  EXPECT_THAT(MetadataFiles(), SizeIs(6));
}

TEST_F(SqlCatalogTest, MemoryIsChargedWhileATableIsHeld) {
  const int64_t idle_bytes = memory_->held_bytes();
  EXPECT_GE(idle_bytes, kSqliteHeldBytes);
  {
    const LoadedTable table = CreateSmall();
    const int64_t one_bytes = memory_->held_bytes() - idle_bytes;
    EXPECT_GT(one_bytes, table.text_bytes / 2);
    memory_->set_limit_bytes(memory_->held_bytes() + 100);
    EXPECT_EQ(KindOf(catalog_->LoadTable(id_).status()), ErrorKind::kMemoryLimit);
    EXPECT_EQ(KindOf(catalog_->CommitTable(table, *table.metadata).status()), ErrorKind::kMemoryLimit);
    EXPECT_THAT(MetadataFiles(), SizeIs(1));
  }
  EXPECT_EQ(memory_->held_bytes(), idle_bytes);
}

TEST(SqlCatalogFiles, OldSchemasAreUsedAsTheyAre) {
  TemporaryDirectory directory;
  const std::string file = directory / "old.db";
  sqlite3* raw = nullptr;
  ASSERT_EQ(sqlite3_open(file.c_str(), &raw), SQLITE_OK);
  ASSERT_EQ(
      sqlite3_exec(raw,
                   "CREATE TABLE iceberg_tables (catalog_name TEXT NOT NULL, table_namespace TEXT NOT NULL, table_name TEXT "
                   "NOT NULL, metadata_location TEXT, previous_metadata_location TEXT, PRIMARY KEY (catalog_name, "
                   "table_namespace, table_name)); CREATE TABLE iceberg_namespace_properties (catalog_name TEXT NOT NULL, "
                   "namespace TEXT NOT NULL, property_key TEXT NOT NULL, property_value TEXT NOT NULL, PRIMARY KEY "
                   "(catalog_name, namespace, property_key)); INSERT INTO iceberg_namespace_properties VALUES "
                   "('c', 'n', 'exists', 'true'), ('other', 'm', 'exists', 'true')",
                   nullptr, nullptr, nullptr),
      SQLITE_OK);
  sqlite3_close(raw);
  const StringPairs properties = {{"uri", "sqlite:///" + file}, {"warehouse", directory / "w"}};
  auto old_catalog = std::move(*MakeCatalog("c", properties, LocalContext()));
  EXPECT_THAT(*old_catalog->ListNamespaces({}), ElementsAre(Namespace{"n"}));
  const TableIdentifier id = {{"n"}, "t"};
  const auto table = old_catalog->CreateTable(id, SmallTable(*old_catalog->NewTableLocation(id)));
  ASSERT_TRUE(table.ok()) << table.status().ToString();
  StringPairs upgrade = properties;
  upgrade.emplace_back("schema_version", "v1");
  auto new_catalog = std::move(*MakeCatalog("c", upgrade, LocalContext()));
  EXPECT_THAT(*new_catalog->ListTables({"n"}), ElementsAre(id));
  EXPECT_TRUE(new_catalog->CommitTable(*table, WithProperty(*table->metadata, "p", "1")).ok());
}

TEST(SqlCatalogFiles, ViewsAreNoTables) {
  TemporaryDirectory directory;
  const std::string file = directory / "c.db";
  auto catalog = std::move(*MakeCatalog("c", {{"uri", "sqlite:///" + file}}, LocalContext()));
  sqlite3* raw = nullptr;
  ASSERT_EQ(sqlite3_open(file.c_str(), &raw), SQLITE_OK);
  ASSERT_EQ(
      sqlite3_exec(raw, "INSERT INTO iceberg_tables VALUES ('c', 'n', 'v', 'x', NULL, 'VIEW'), ('c', 'n', 't', 'x', NULL, NULL)",
                   nullptr, nullptr, nullptr),
      SQLITE_OK);
  sqlite3_close(raw);
  EXPECT_THAT(*catalog->ListTables({"n"}), ElementsAre(TableIdentifier{{"n"}, "t"}));
  EXPECT_EQ(KindOf(catalog->LoadTable({{"n"}, "v"}).status()), ErrorKind::kNotFound);
  EXPECT_EQ(KindOf(catalog->DropTable({{"n"}, "v"})), ErrorKind::kNotFound);
}

TEST(SqlCatalogFiles, UrisAreSqlAlchemys) {
  EXPECT_EQ(*SqlitePathOfUri("sqlite:////abs/c.db"), "/abs/c.db");
  EXPECT_EQ(*SqlitePathOfUri("sqlite:///rel/c.db"), "rel/c.db");
  EXPECT_EQ(*SqlitePathOfUri("sqlite+pysqlite:///:memory:"), ":memory:");
  EXPECT_EQ(*SqlitePathOfUri("sqlite://"), ":memory:");
  EXPECT_EQ(KindOf(SqlitePathOfUri("postgresql://h/d").status()), ErrorKind::kUnsupported);
  EXPECT_EQ(KindOf(SqlitePathOfUri("sqlite:///c.db?timeout=1").status()), ErrorKind::kUnsupported);
  EXPECT_EQ(KindOf(SqlitePathOfUri("sqlite://host/c.db").status()), ErrorKind::kInvalidInput);
}

TEST(MakeCatalogs, ByTypeOrUri) {
  auto memory = MakeCatalog("m", {{"type", "in-memory"}}, LocalContext());
  ASSERT_TRUE(memory.ok()) << memory.status().ToString();
  EXPECT_TRUE((*memory)->CreateNamespace({"n"}, {}).ok());
  EXPECT_EQ(KindOf(MakeCatalog("m", {}, LocalContext()).status()), ErrorKind::kInvalidInput);
  EXPECT_EQ(KindOf(MakeCatalog("m", {{"uri", "thrift://h"}}, LocalContext()).status()), ErrorKind::kUnsupported);
  EXPECT_EQ(KindOf(MakeCatalog("m", {{"uri", "sqlite:////no/such/directory/c.db"}}, LocalContext()).status()), ErrorKind::kIo);
}

}  // namespace
}  // namespace icebound::iceberg
