// SPDX-License-Identifier: Apache-2.0
//
// The layout is that of Java's HadoopTables; its files are named here by hand.
#include "iceberg/catalog/directory_catalog.h"

#include <arrow/filesystem/mockfs.h>
#include <gmock/gmock.h>

#include <fstream>
#include <thread>

#include "base/injection.h"
#include "iceberg/catalog/catalog_testing.h"
#include "iceberg/catalog/path_catalog.h"

namespace icebound::iceberg {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class DirectoryCatalogTest : public testing::Test {
 protected:
  LoadedTable CreateSmall() {
    auto table = catalog_.CreateTable(id_, SmallTable(table_directory_));
    EXPECT_TRUE(table.ok()) << table.status().ToString();
    return *table;
  }
  void Write(const std::string& name, const std::string& text) {
    std::filesystem::create_directories(table_directory_ + "/metadata");
    std::ofstream(table_directory_ + "/metadata/" + name) << text;
  }
  std::string Hint() const {
    std::string text;
    std::ifstream(table_directory_ + "/metadata/version-hint.text") >> text;
    return text;
  }
  arrow::Result<LoadedTable> LoadByPath(const std::string& path) { return paths_.LoadTable({{}, path}); }

  TemporaryDirectory directory_;
  const TableIdentifier id_ = {{"n"}, "t"};
  const std::string table_directory_ = directory_ / "n/t";
  DirectoryCatalog catalog_{"c", directory_.path(), LocalContext(), /*single_writer=*/false};
  PathCatalog paths_{LocalContext(), /*single_writer=*/false};
};

TEST_F(DirectoryCatalogTest, VersionsFollowEachOther) {
  const LoadedTable first = CreateSmall();
  EXPECT_EQ(first.metadata_location, table_directory_ + "/metadata/v1.metadata.json");
  EXPECT_EQ(KindOf(catalog_.CreateTable(id_, SmallTable(table_directory_)).status()), ErrorKind::kInvalidInput);
  const auto second = catalog_.CommitTable(first, WithProperty(*first.metadata, "p", "1"));
  ASSERT_TRUE(second.ok()) << second.status().ToString();
  EXPECT_EQ(second->metadata_location, table_directory_ + "/metadata/v2.metadata.json");
  EXPECT_EQ(Hint(), "2");
  EXPECT_EQ(KindOf(catalog_.CommitTable(first, *first.metadata).status()), ErrorKind::kCommitConflict);
  EXPECT_EQ(*catalog_.LoadTable(id_)->metadata->FindProperty("p"), "1");
  EXPECT_THAT(FilesWith(table_directory_, "json"), ElementsAre("v1.metadata.json", "v2.metadata.json"));
}

TEST_F(DirectoryCatalogTest, HintsMayLagOrBeGone) {
  LoadedTable table = CreateSmall();
  for (int i = 0; i < 10; ++i) table = *catalog_.CommitTable(table, WithProperty(*table.metadata, "p", std::to_string(i)));
  for (const char* hint : {"1", "7\n", "11", "99", "", "nonsense"}) {
    Write("version-hint.text", hint);
    EXPECT_EQ(catalog_.LoadTable(id_)->metadata_location, table_directory_ + "/metadata/v11.metadata.json") << hint;
  }
  std::filesystem::remove(table_directory_ + "/metadata/version-hint.text");
  EXPECT_EQ(catalog_.LoadTable(id_)->metadata_location, table_directory_ + "/metadata/v11.metadata.json");
}

TEST_F(DirectoryCatalogTest, ACodecCountsFromTheNextVersionOn) {
  LoadedTable table = CreateSmall();
  table = *catalog_.CommitTable(table, WithProperty(*table.metadata, "write.metadata.compression-codec", "gzip"));
  EXPECT_THAT(table.metadata_location, HasSubstr("/v2.metadata.json"));
  table = *catalog_.CommitTable(table, WithProperty(*table.metadata, "write.metadata.compression-codec", "none"));
  EXPECT_THAT(table.metadata_location, HasSubstr("/v3.gz.metadata.json"));
  EXPECT_EQ(catalog_.LoadTable(id_)->metadata_location, table.metadata_location);
  table = *catalog_.CommitTable(table, WithProperty(*table.metadata, "p", "1"));
  EXPECT_THAT(table.metadata_location, HasSubstr("/v4.metadata.json"));
  EXPECT_EQ(*catalog_.LoadTable(id_)->metadata->FindProperty("p"), "1");
  std::filesystem::rename(table_directory_ + "/metadata/v4.metadata.json", table_directory_ + "/metadata/v4.gz.metadata.json");
  EXPECT_EQ(*catalog_.LoadTable(id_)->metadata->FindProperty("p"), "1") << "what is inside counts, not the name";
}

TEST_F(DirectoryCatalogTest, OfManyThreadsOneWinsEachRound) {
  LoadedTable base = CreateSmall();
  for (int round = 0; round < 20; ++round) {
    std::atomic<int> committed = 0, conflicts = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&, i] {
        const auto done = catalog_.CommitTable(base, WithProperty(*base.metadata, "p", std::to_string(i)));
        if (done.ok()) ++committed;
        if (!done.ok() && KindOf(done.status()) == ErrorKind::kCommitConflict) ++conflicts;
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(committed, 1);
    EXPECT_EQ(conflicts, 3);
    base = *catalog_.LoadTable(id_);
  }
  EXPECT_THAT(FilesWith(table_directory_, "staged"), IsEmpty());
  EXPECT_THAT(FilesWith(table_directory_, "json"), SizeIs(21));
}

TEST_F(DirectoryCatalogTest, FailuresBeforeTheSwapChangeNothing) {
  const LoadedTable first = CreateSmall();
  for (const char* point : {"catalog.write", "catalog.sync_directory", "catalog.swap"}) {
    ScopedInjection failing(point, ScopedInjection::FailOnHit(1, MakeError(ErrorKind::kDiskLimit, "the disk is full")));
    EXPECT_EQ(KindOf(catalog_.CommitTable(first, *first.metadata).status()), ErrorKind::kDiskLimit) << point;
    EXPECT_THAT(FilesWith(table_directory_, "json"), SizeIs(1)) << point;
  }
  // The second sync is that of the name: the commit is there, but not known to stay.
  ScopedInjection failing("catalog.sync_directory", ScopedInjection::FailOnHit(2, MakeError(ErrorKind::kIo, "lost")));
  EXPECT_EQ(KindOf(catalog_.CommitTable(first, *first.metadata).status()), ErrorKind::kCommitUnknown);
  EXPECT_THAT(catalog_.LoadTable(id_)->metadata_location, HasSubstr("/v2.metadata.json"));
}

TEST_F(DirectoryCatalogTest, ListsNamespacesAndTables) {
  CreateSmall();
  ASSERT_TRUE(catalog_.CreateNamespace({"n", "m"}, {}).ok());
  ASSERT_TRUE(catalog_.CreateNamespace({"k"}, {}).ok());
  EXPECT_THAT(*catalog_.ListNamespaces({}), ElementsAre(Namespace{"k"}, Namespace{"n"}));
  EXPECT_THAT(*catalog_.ListNamespaces({"n"}), ElementsAre(Namespace{"n", "m"}));
  EXPECT_THAT(*catalog_.ListTables({"n"}), ElementsAre(id_));
  EXPECT_EQ(KindOf(catalog_.ListTables({"nope"}).status()), ErrorKind::kNotFound);
  EXPECT_EQ(KindOf(catalog_.ListTables({".."}).status()), ErrorKind::kInvalidInput);
  EXPECT_EQ(KindOf(catalog_.DropNamespace({"n"})), ErrorKind::kInvalidInput);
  EXPECT_EQ(KindOf(catalog_.RenameTable(id_, {{"k"}, "t"})), ErrorKind::kUnsupported);
  ASSERT_TRUE(catalog_.DropTable(id_).ok());
  EXPECT_FALSE(std::filesystem::exists(table_directory_));
  EXPECT_EQ(KindOf(catalog_.LoadTable(id_).status()), ErrorKind::kNotFound);
  ASSERT_TRUE(catalog_.DropNamespace({"k"}).ok());
}

TEST_F(DirectoryCatalogTest, TheMetadataStaysInTheDirectory) {
  const LoadedTable table = CreateSmall();
  const auto moved = WithProperty(*table.metadata, "write.metadata.path", directory_ / "elsewhere");
  EXPECT_EQ(KindOf(catalog_.CommitTable(table, moved).status()), ErrorKind::kUnsupported);
  TableMetadata elsewhere = *table.metadata;
  elsewhere.location = directory_ / "elsewhere";
  EXPECT_EQ(KindOf(catalog_.CommitTable(table, elsewhere).status()), ErrorKind::kUnsupported);
}

TEST_F(DirectoryCatalogTest, TablesByPath) {
  const LoadedTable first = CreateSmall();
  const auto table = LoadByPath(table_directory_);
  ASSERT_TRUE(table.ok()) << table.status().ToString();
  ASSERT_TRUE(paths_.CommitTable(*table, WithProperty(*table->metadata, "p", "1")).ok());
  EXPECT_EQ(*LoadByPath("file://" + table_directory_)->metadata->FindProperty("p"), "1");
  const auto file = LoadByPath(first.metadata_location);
  ASSERT_TRUE(file.ok()) << file.status().ToString();
  EXPECT_EQ(file->metadata->FindProperty("p"), nullptr);
  EXPECT_EQ(KindOf(paths_.CommitTable(*file, *file->metadata).status()), ErrorKind::kUnsupported);
  EXPECT_EQ(KindOf(LoadByPath(directory_ / "nothing").status()), ErrorKind::kNotFound);
  EXPECT_EQ(KindOf(LoadByPath(directory_ / "n").status()), ErrorKind::kNotFound);
}

TEST_F(DirectoryCatalogTest, DirectoriesThatACatalogKeepsAreReadOnly) {
  const std::string json = SmallTable(table_directory_).ToJson();
  Write("00009-aaaaaaaa-0000-4000-8000-000000000000.metadata.json", json);
  Write("00010-bbbbbbbb-0000-4000-8000-000000000000.metadata.json", json);
  Write("staged-12345678-0000-4000-8000-000000000000.metadata.json", "cut sho");
  const auto table = LoadByPath(table_directory_);
  ASSERT_TRUE(table.ok()) << table.status().ToString();
  EXPECT_THAT(table->metadata_location, HasSubstr("/00010-bbbb"));
  EXPECT_EQ(KindOf(paths_.CommitTable(*table, *table->metadata).status()), ErrorKind::kUnsupported);
  EXPECT_EQ(KindOf(paths_.DropTable({{}, table_directory_})), ErrorKind::kUnsupported);
  Write("00010-cccccccc-0000-4000-8000-000000000000.metadata.json", json);
  EXPECT_EQ(KindOf(LoadByPath(table_directory_).status()), ErrorKind::kInvalidInput) << "two could be the newest";
  for (const char* suffix : {"", ".metadata.json"}) {
    Write("version-hint.text", std::string("00009-aaaaaaaa-0000-4000-8000-000000000000") + suffix);
    EXPECT_THAT(LoadByPath(table_directory_)->metadata_location, HasSubstr("/00009-aaaa")) << suffix;
  }
}

TEST(DirectoryCatalogElsewhere, StoresWithoutExclusiveCreationNeedTheUsersWord) {
  const auto store = std::make_shared<arrow::fs::internal::MockFileSystem>(arrow::fs::kNoTime);
  CatalogContext context = LocalContext();
  context.resolve = [&](const std::string& location) -> arrow::Result<StoredPath> {
    return StoredPath{store, location.substr(std::string("mock://").size())};
  };
  ASSERT_TRUE(store->CreateDir("w/n/t/metadata").ok());
  const TableIdentifier id = {{"n"}, "t"};
  DirectoryCatalog careful("c", "mock://w", context, /*single_writer=*/false);
  const auto refused = careful.CreateTable(id, SmallTable("mock://w/n/t"));
  EXPECT_EQ(KindOf(refused.status()), ErrorKind::kUnsupported);
  EXPECT_THAT(refused.status().message(), HasSubstr("single-writer"));

  DirectoryCatalog alone("c", "mock://w", context, /*single_writer=*/true);
  const auto table = alone.CreateTable(id, SmallTable("mock://w/n/t"));
  ASSERT_TRUE(table.ok()) << table.status().ToString();
  ASSERT_TRUE(alone.CommitTable(*table, WithProperty(*table->metadata, "p", "1")).ok());
  EXPECT_EQ(KindOf(alone.CommitTable(*table, *table->metadata).status()), ErrorKind::kCommitConflict);
  EXPECT_EQ(*careful.LoadTable(id)->metadata->FindProperty("p"), "1");
  ASSERT_TRUE(store->DeleteFile("w/n/t/metadata/version-hint.text").ok());
  EXPECT_EQ(*careful.LoadTable(id)->metadata->FindProperty("p"), "1");
}

}  // namespace
}  // namespace icebound::iceberg
