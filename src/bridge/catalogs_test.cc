// SPDX-License-Identifier: Apache-2.0
#include "bridge/catalogs.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "base/error.h"
#include "iceberg/catalog/catalog_testing.h"
#include "iceberg/catalog/make_catalog.h"
#include "memory/memory_testing.h"

namespace icebound::bridge {
namespace {

using iceberg::KindOf;

/// A catalog of directories, and a session's catalogs that know it as "Main". The configuration of whoever runs the tests is not
/// looked at: home is the directory.
class CatalogsTest : public ::testing::Test {
 protected:
  CatalogsTest() : ledger_(memory::MakeLedger(64 * memory::kMiB)) {
    setenv("HOME", directory_.path().c_str(), 1);
    setenv("PYICEBERG_HOME", directory_.path().c_str(), 1);
    properties_ = {{"type", "hadoop"}, {"warehouse", directory_ / "warehouse"}};
    std::filesystem::create_directories(directory_ / "warehouse");
    theirs_ = iceberg::MakeCatalog("theirs", properties_, iceberg::LocalContext()).ValueOrDie();
    file_systems_ = std::make_unique<io::FileSystems>(io::StorageProperties{{"s3.endpoint", "http://session"}}, ledger_->pool());
    catalogs_ = std::make_unique<Catalogs>(ledger_.get(), [this] { return file_systems_.get(); });
  }

  void MakeTable(const iceberg::Namespace& levels, const std::string& name) {
    for (size_t depth = 1; depth <= levels.size(); ++depth) {
      const iceberg::Namespace parent(levels.begin(), levels.begin() + static_cast<ptrdiff_t>(depth));
      if (theirs_->NamespaceExists(parent).ValueOrDie()) continue;
      ASSERT_TRUE(theirs_->CreateNamespace(parent, {}).ok());
    }
    const iceberg::TableIdentifier identifier{levels, name};
    const std::string location = theirs_->NewTableLocation(identifier).ValueOrDie();
    const auto made = theirs_->CreateTable(identifier, iceberg::SmallTable(location));
    ASSERT_TRUE(made.ok()) << made.status().message();
  }

  /// The table and its metadata table, or the error.
  std::string Named(const std::vector<std::string>& parts) {
    const auto table = catalogs_->LoadName(parts);
    if (!table.ok()) return std::string(ToString(KindOf(table.status()))) + ": " + table.status().message();
    return table->loaded.identifier.ToString() + (table->metadata_table.empty() ? "" : " -> " + table->metadata_table);
  }

  iceberg::TemporaryDirectory directory_;
  memory::MemoryLedgerPtr ledger_;
  iceberg::StringPairs properties_;
  std::unique_ptr<iceberg::Catalog> theirs_;
  std::unique_ptr<io::FileSystems> file_systems_;
  std::unique_ptr<Catalogs> catalogs_;
};

TEST_F(CatalogsTest, NamesBeginWithACatalogOrWithANamespaceOfTheFirst) {
  MakeTable({"a", "b"}, "t");
  MakeTable({"Main"}, "files");
  ASSERT_TRUE(catalogs_->Attach("Main", properties_).ok());
  EXPECT_EQ(Named({"Main", "a", "b", "t"}), "a.b.t");
  EXPECT_EQ(Named({"main", "a", "b", "t"}), "a.b.t") << "SQL folds names";
  EXPECT_EQ(Named({"a", "b", "t"}), "a.b.t");
  EXPECT_EQ(Named({"a", "b", "t", "files"}), "a.b.t -> files");
  EXPECT_EQ(Named({"Main", "a", "b", "t", "partitions"}), "a.b.t -> partitions");
  EXPECT_EQ(Named({"Main", "files"}), "Main.files") << "of two parts, the first is a namespace";
  EXPECT_EQ(Named({"Main", "Main", "files", "files"}), "Main.files -> files");
}

TEST_F(CatalogsTest, UnknownNamesComeWithTheNearest) {
  MakeTable({"sales", "eu"}, "orders");
  EXPECT_EQ(Named({"sales", "orders"}), "not found: relation \"sales.orders\" does not exist");
  ASSERT_TRUE(catalogs_->Attach("prod", properties_).ok());
  EXPECT_EQ(Named({"sales", "eu", "order"}),
            "not found: there is no table \"order\" in namespace \"sales.eu\" of catalog prod; did you mean \"orders\"?");
  EXPECT_EQ(
      Named({"prod", "sales", "ue", "orders"}),
      "not found: relation \"prod.sales.ue.orders\" does not exist: there is no namespace \"sales.ue\" in catalog prod; did you "
      "mean \"eu\"?");
  EXPECT_EQ(
      Named({"prd", "sales", "eu", "orders"}),
      "not found: relation \"prd.sales.eu.orders\" does not exist: there is no namespace \"prd\" in catalog prod; did you mean "
      "\"prod\"?");
  EXPECT_EQ(Named({"sales", "eu", "orders", "fils"}),
            "not found: table \"sales.eu.orders\" has no metadata table \"fils\"; did you mean \"files\"?");
}

TEST_F(CatalogsTest, OneStatementSeesOneVersion) {
  MakeTable({"a"}, "t");
  ASSERT_TRUE(catalogs_->Attach("prod", properties_).ok());
  const NamedTable before = catalogs_->LoadName({"a", "t"}).ValueOrDie();
  const auto changed = iceberg::WithProperty(*before.loaded.metadata, "by", "them");
  ASSERT_TRUE(theirs_->CommitTable(theirs_->LoadTable(before.loaded.identifier).ValueOrDie(), changed).ok());
  EXPECT_EQ(catalogs_->LoadName({"prod", "a", "t", "files"})->loaded.metadata, before.loaded.metadata);
  EXPECT_EQ(catalogs_->LoadText("a.t")->loaded.metadata, before.loaded.metadata);
  catalogs_->ForgetLoaded();
  EXPECT_EQ(*catalogs_->LoadName({"a", "t"})->loaded.metadata->FindProperty("by"), "them");
  EXPECT_EQ(before.loaded.metadata->FindProperty("by"), nullptr) << "who holds a table keeps it";
}

TEST_F(CatalogsTest, MetadataIsChargedWhileItIsHeld) {
  MakeTable({"a"}, "t");
  ASSERT_TRUE(catalogs_->Attach("prod", properties_).ok());
  const int64_t without = ledger_->reserved_bytes();
  {
    const auto table = catalogs_->LoadName({"a", "t"});
    ASSERT_TRUE(table.ok());
    catalogs_->ForgetLoaded();
    EXPECT_GT(ledger_->reserved_bytes(), without);
  }
  ledger_->Trim();
  EXPECT_LE(ledger_->reserved_bytes(), without);
}

TEST_F(CatalogsTest, TextsArePathsOrNames) {
  MakeTable({"a"}, "t");
  ASSERT_TRUE(catalogs_->Attach("prod", properties_).ok());
  const std::string location = catalogs_->LoadText("a.t")->loaded.metadata->location;
  EXPECT_EQ(catalogs_->LoadText(location)->loaded.metadata->location, location);
  EXPECT_EQ(catalogs_->LoadText("file://" + location)->loaded.metadata->location, location);
  const std::string file = catalogs_->LoadText("prod.a.t")->loaded.metadata_location;
  EXPECT_FALSE(catalogs_->LoadText(file)->loaded.read_only_reason.empty());
  EXPECT_EQ(KindOf(catalogs_->LoadText("none.metadata.json").status()), ErrorKind::kNotFound);
  EXPECT_EQ(KindOf(catalogs_->LoadText("no/such/table").status()), ErrorKind::kNotFound);
  EXPECT_EQ(catalogs_->LoadText("a.u").status().message(), "there is no table \"u\" in namespace \"a\" of catalog prod");
}

TEST_F(CatalogsTest, StoragePropertiesOfTheCatalogGoBeforeTheSessions) {
  MakeTable({"a"}, "t");
  iceberg::StringPairs properties = properties_;
  properties.emplace_back("s3.region", "north");
  ASSERT_TRUE(catalogs_->Attach("plain", properties).ok());
  const io::StorageProperties seen = catalogs_->LoadName({"plain", "a", "t"})->file_systems->properties();
  EXPECT_EQ(seen.at("s3.endpoint"), "http://session");
  EXPECT_EQ(seen.at("s3.region"), "north");
  properties.emplace_back("s3.endpoint", "http://catalog");
  ASSERT_TRUE(catalogs_->Attach("own", properties).ok());
  EXPECT_EQ(catalogs_->LoadName({"own", "a", "t"})->file_systems->properties().at("s3.endpoint"), "http://catalog");
  EXPECT_EQ(catalogs_->LoadText(theirs_->NewTableLocation({{"a"}, "t"}).ValueOrDie())->file_systems, file_systems_.get());
}

TEST_F(CatalogsTest, CatalogsAreAttachedOnceAndMustBeKnown) {
  EXPECT_EQ(KindOf(catalogs_->Attach("", properties_)), ErrorKind::kInvalidInput);
  EXPECT_EQ(KindOf(catalogs_->Attach("nowhere", {})), ErrorKind::kNotFound);
  ASSERT_TRUE(catalogs_->Attach("prod", properties_).ok());
  EXPECT_EQ(KindOf(catalogs_->Attach("prod", properties_)), ErrorKind::kInvalidInput);
  EXPECT_EQ(KindOf(catalogs_->Attach("hive", {{"type", "hive"}, {"uri", "thrift://x"}})), ErrorKind::kUnsupported);
}

TEST_F(CatalogsTest, TablesThatLostTheirMetadataAreDamaged) {
  MakeTable({"a"}, "t");
  const std::string uri = "sqlite:///" + (directory_ / "catalog.db");
  const iceberg::StringPairs properties = {{"uri", uri}, {"warehouse", directory_ / "sql"}};
  auto sql = iceberg::MakeCatalog("sql", properties, iceberg::LocalContext()).ValueOrDie();
  ASSERT_TRUE(sql->CreateNamespace({"n"}, {}).ok());
  const auto table = sql->CreateTable({{"n"}, "t"}, iceberg::SmallTable(directory_ / "sql/n/t")).ValueOrDie();
  ASSERT_TRUE(catalogs_->Attach("sql", properties).ok());
  ASSERT_EQ(Named({"n", "t"}), "n.t");
  catalogs_->ForgetLoaded();
  std::filesystem::remove(table.metadata_location);
  EXPECT_EQ(Named({"n", "t"}), "corrupt data: table n.t: there is no file " + table.metadata_location);
}

}  // namespace
}  // namespace icebound::bridge
