// SPDX-License-Identifier: Apache-2.0
//
// Against scripted answers. A real server and PyIceberg are in tests/interop.
#include "iceberg/catalog/rest/rest_catalog.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "iceberg/catalog/make_catalog.h"
#include "iceberg/catalog/rest/rest_testing.h"

namespace icebound::iceberg {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

const TableIdentifier kId = {{"a", "b c"}, "t/1"};
const std::string kTablePath = "/v1/namespaces/a%1Fb%20c/tables/t%2F1";

/// The same table with one snapshot more, which is current.
TableMetadata WithSnapshot(const TableMetadata& metadata, int64_t id) {
  TableMetadata changed = metadata;
  Snapshot snapshot;
  snapshot.snapshot_id = id;
  snapshot.sequence_number = id;
  snapshot.manifest_list = "s.avro";
  snapshot.SetSummary({{"operation", "append"}});
  changed.snapshots.push_back(snapshot);
  changed.current_snapshot_id = id;
  changed.refs = {{.name = std::string(kMainBranch), .snapshot_id = id, .is_branch = true}};
  return changed;
}

TableMetadata WithLog(TableMetadata metadata, const std::vector<std::string>& files) {
  for (const std::string& file : files) metadata.metadata_log.push_back({1, file, ""});
  return metadata;
}

TEST(RestCatalog, PagesAreReadToTheEnd) {
  ScriptedCatalog catalog({{"GET /v1/namespaces?parent=a%1Fb&pageToken=&pageSize=2",
                            {Answer(200, R"({"namespaces": [["a","b","z"],["a","b","y"]], "next-page-token": "x/1"})")}},
                           {"GET /v1/namespaces?parent=a%1Fb&pageToken=x%2F1&pageSize=2",
                            {Answer(200, R"({"namespaces": [["a","b","é."]], "next-page-token": null})")}}});
  EXPECT_THAT(*catalog.MustOpen({{"rest-page-size", "2"}})->ListNamespaces({"a", "b"}),
              ElementsAre(Namespace{"a", "b", "y"}, Namespace{"a", "b", "z"}, Namespace{"a", "b", "é."}));

  const std::string path = "GET /v1/namespaces/a/tables";
  ScriptedCatalog tables(
      {{path + "?pageToken=2", {Answer(200, R"({"identifiers": [{"namespace": ["a"], "name": "t"}]})")}},
       {path, {Answer(200, R"({"identifiers": [{"namespace": ["a"], "name": "u"}], "next-page-token": "2"})")}}});
  EXPECT_THAT(*tables.MustOpen()->ListTables({"a"}), ElementsAre(TableIdentifier{{"a"}, "t"}, TableIdentifier{{"a"}, "u"}));

  ScriptedCatalog loop({{path, {Answer(200, R"({"identifiers": [], "next-page-token": "2"})")}}});
  EXPECT_THAT(loop.MustOpen()->ListTables({"a"}).status().message(), HasSubstr("same page token"));
  ScriptedCatalog wrong({{path, {Answer(200, R"({"identifiers": [{"name": "t"}]})")}}});
  EXPECT_EQ(KindOf(wrong.MustOpen()->ListTables({"a"}).status()), ErrorKind::kCorruptData);
}

TEST(RestCatalog, NamespacesAreMadeFoundAndDropped) {
  ScriptedCatalog catalog(
      {{"POST /v1/namespaces", {Answer(200, "{}"), ErrorAnswer(409, "AlreadyExistsException", "a.b exists")}},
       {"GET /v1/namespaces/a.b", {Answer(200, R"({"namespace": ["a", "b"], "properties": {"location": "/l"}})"), Answer(404)}},
       {"DELETE /v1/namespaces/a.b", {Answer(204), ErrorAnswer(409, "NamespaceNotEmptyException", "not empty")}}});
  const auto rest = catalog.MustOpen({{"namespace-separator", "%2E"}});
  ASSERT_TRUE(rest->CreateNamespace({"a", "b"}, {{"owner", "me"}}).ok());
  EXPECT_EQ(json::parse(catalog.last().body), json::parse(R"({"namespace": ["a", "b"], "properties": {"owner": "me"}})"));
  const arrow::Status exists = rest->CreateNamespace({"a", "b"}, {});
  EXPECT_EQ(KindOf(exists), ErrorKind::kInvalidInput);
  EXPECT_THAT(exists.message(), AllOf(HasSubstr("POST /v1/namespaces"), HasSubstr("a.b exists")));
  EXPECT_TRUE(*rest->NamespaceExists({"a", "b"}));
  EXPECT_FALSE(*rest->NamespaceExists({"a", "b"}));
  EXPECT_TRUE(rest->DropNamespace({"a", "b"}).ok());
  EXPECT_EQ(KindOf(rest->DropNamespace({"a", "b"})), ErrorKind::kInvalidInput);
  EXPECT_EQ(KindOf(rest->NamespaceProperties({}).status()), ErrorKind::kInvalidInput);
  ScriptedCatalog heads({{"GET /v1/config", {Answer(200, R"({"endpoints": ["HEAD /v1/{prefix}/namespaces/{namespace}"]})")}},
                         {"HEAD /v1/namespaces/a", {Answer(204)}}});
  EXPECT_TRUE(*heads.MustOpen()->NamespaceExists({"a"}));
}

TEST(RestCatalog, ATableIsLoadedWithItsCredentials) {
  const TableMetadata metadata = SmallTable("s3://b/t");
  ScriptedCatalog catalog({{"GET " + kTablePath, {TableAnswer(metadata, "s3://b/t/m/1.json", R"(, "config":
      {"s3.endpoint": "http://e", "s3.access-key-id": "general"}, "storage-credentials": [
      {"prefix": "s3://b/", "config": {"s3.access-key-id": "bucket"}},
      {"prefix": "s3://b/t", "config": {"s3.access-key-id": "table", "s3.session-token": "hour"}},
      {"prefix": "s3://b/t2", "config": {"s3.access-key-id": "other"}}])")}}});
  const auto rest = catalog.MustOpen({{"s3.region", "eu"}, {"s3.endpoint", "http://own"}, {"credential-like", "no"}});
  const auto table = rest->LoadTable(kId);
  ASSERT_TRUE(table.ok()) << table.status().ToString();
  EXPECT_EQ(table->metadata_location, "s3://b/t/m/1.json");
  EXPECT_EQ(table->metadata->ToJson(), metadata.ToJson());
  EXPECT_THAT(
      table->storage_properties,
      testing::UnorderedElementsAre(testing::Pair("s3.region", "eu"), testing::Pair("s3.endpoint", "http://e"),
                                    testing::Pair("s3.access-key-id", "table"), testing::Pair("s3.session-token", "hour")));
  EXPECT_EQ(table->text_bytes, static_cast<int64_t>(metadata.ToJson().size()));
}

TEST(RestCatalog, ATableThatIsHeldIsAskedForByItsEtag) {
  const TableMetadata metadata = SmallTable("/t");
  ScriptedCatalog catalog({{"GET " + kTablePath,
                            {TableAnswer(metadata, "/t/1.json", "", "ETag: \"v1\"\r\n"), Answer(304),
                             TableAnswer(metadata, "/t/2.json", "", "ETag: \"v2\"\r\n")}}});
  const auto rest = catalog.MustOpen();
  std::optional<LoadedTable> first = *rest->LoadTable(kId);
  EXPECT_EQ(catalog.last().header("if-none-match"), "");
  const LoadedTable same = *rest->LoadTable(kId);
  EXPECT_EQ(catalog.last().header("if-none-match"), "\"v1\"");
  EXPECT_EQ(same.metadata, first->metadata);
  EXPECT_EQ(same.metadata_location, "/t/1.json");
  EXPECT_EQ(rest->LoadTable(kId)->metadata_location, "/t/2.json");
  ASSERT_TRUE(rest->LoadTable(kId).ok());
  EXPECT_EQ(catalog.last().header("if-none-match"), "") << "nobody holds the second";
}

TEST(RestCatalog, WhatIsNoTableIsSaid) {
  const std::string metadata = SmallTable("/t").ToJson();
  for (const std::string& answer :
       {Answer(200, R"({"metadata-location": "x"})"), Answer(200, R"({"metadata": {"format-version": 2}})"),
        Answer(200, R"({"metadata-location": 5, "metadata": )" + metadata + "}"), Answer(200, "<html>", "", "text/html"),
        Answer(200, R"({"metadata": )" + metadata + R"(, "config": {"s3.secret-access-key": {"s3cret": 1}}})"),
        Answer(200, R"({"metadata": )" + metadata + R"(, "config": {"s3.secret-access-key": "s3cret", }})")}) {
    ScriptedCatalog catalog({{"GET " + kTablePath, {answer}}});
    const arrow::Status failed = catalog.MustOpen()->LoadTable(kId).status();
    EXPECT_EQ(KindOf(failed), ErrorKind::kCorruptData) << failed.ToString();
    EXPECT_THAT(failed.message(), AllOf(HasSubstr("GET " + kTablePath), Not(HasSubstr("s3cret"))));
  }
  const std::string cut = TableAnswer(SmallTable("/t"), "/t/1.json");
  ScriptedCatalog truncated({{"GET " + kTablePath, {cut.substr(0, cut.size() - 10)}}});
  EXPECT_EQ(KindOf(truncated.MustOpen()->LoadTable(kId).status()), ErrorKind::kIo);
  ScriptedCatalog none({{"GET " + kTablePath, {ErrorAnswer(404, "NoSuchTableException", "Table does not exist: a.t")}}});
  const arrow::Status missing = none.MustOpen()->LoadTable(kId).status();
  EXPECT_EQ(KindOf(missing), ErrorKind::kNotFound);
  EXPECT_THAT(missing.message(), HasSubstr("NoSuchTableException: Table does not exist: a.t"));
}

TEST(RestCatalog, MetadataIsChargedWhileATableIsHeld) {
  ScriptedCatalog catalog({{"GET " + kTablePath, {TableAnswer(SmallTable("/t"), "/t/1.json")}}});
  const auto memory = std::make_shared<CountedMemory>();
  const auto rest = *catalog.Open({}, memory);
  const int64_t idle_bytes = memory->held_bytes();
  {
    const LoadedTable table = *rest->LoadTable(kId);
    EXPECT_GT(memory->held_bytes(), idle_bytes + table.text_bytes);
  }
  EXPECT_EQ(memory->held_bytes(), idle_bytes);
  memory->set_limit_bytes(idle_bytes + 100);
  EXPECT_EQ(KindOf(rest->LoadTable(kId).status()), ErrorKind::kMemoryLimit);
}

TEST(RestCatalog, TablesAreMadeByTheServer) {
  const TableMetadata made = SmallTable("/made");
  ScriptedCatalog catalog({{"POST /v1/namespaces/a/tables",
                            {TableAnswer(made, "/made/1.json"), ErrorAnswer(409, "AlreadyExistsException", "it is there"),
                             ErrorAnswer(503, "Busy", "busy")}}});
  const auto rest = catalog.MustOpen();
  const TableIdentifier id = {{"a"}, "t"};
  const auto table = rest->CreateTable(id, WithProperty(SmallTable("/wanted"), "p", "1"));
  ASSERT_TRUE(table.ok()) << table.status().ToString();
  EXPECT_EQ(table->metadata->table_uuid, made.table_uuid);
  const json asked = json::parse(catalog.last().body);
  EXPECT_EQ(asked["name"], "t");
  EXPECT_EQ(asked["location"], "/wanted");
  EXPECT_EQ(asked["stage-create"], false);
  EXPECT_EQ(asked["schema"]["fields"][0]["name"], "x");
  EXPECT_EQ(asked["properties"], json::parse(R"({"p": "1", "format-version": "2"})"));
  EXPECT_EQ(KindOf(rest->CreateTable(id, SmallTable("/x")).status()), ErrorKind::kInvalidInput);
  EXPECT_EQ(KindOf(rest->CreateTable(id, SmallTable("/x")).status()), ErrorKind::kCommitUnknown);
  EXPECT_EQ(catalog.count("POST"), 3);
}

TEST(RestCatalog, ATableWithRowsIsStagedAndCommittedWhole) {
  const TableMetadata metadata = WithSnapshot(SmallTable("/t"), 7);
  const std::string stage = "POST /v1/namespaces/a/tables ";
  const std::string commit = "POST /v1/namespaces/a/tables/t";
  const TableIdentifier id = {{"a"}, "t"};
  for (const std::string& answer : {TableAnswer(metadata, "/t/1.json"), Answer(502), kClose}) {
    ScriptedCatalog catalog(
        {{commit, {answer}},
         {"POST /v1/namespaces/a/tables", {TableAnswer(SmallTable("/t"), "", R"(, "config": {"token": "tbl"})")}},
         {"GET /v1/namespaces/a/tables/t", {TableAnswer(metadata, "/t/1.json")}}});
    const auto table = catalog.MustOpen()->CreateTable(id, metadata);
    ASSERT_TRUE(table.ok()) << table.status().ToString();
    EXPECT_EQ(table->metadata->table_uuid, metadata.table_uuid);
    const auto requests = catalog.server().requests();
    EXPECT_EQ(json::parse(requests[1].body)["stage-create"], true);
    EXPECT_EQ(json::parse(requests[2].body)["requirements"], json::parse(R"([{"type": "assert-create"}])"));
    EXPECT_EQ(requests[2].header("authorization"), "Bearer tbl");
    EXPECT_EQ(catalog.count(commit), 1);
  }
  ScriptedCatalog taken({{commit, {Answer(504)}},
                         {"POST /v1/namespaces/a/tables", {TableAnswer(SmallTable("/t"), "")}},
                         {"GET /v1/namespaces/a/tables/t", {TableAnswer(SmallTable("/t"), "/t/1.json")}}});
  EXPECT_EQ(KindOf(taken.MustOpen()->CreateTable(id, metadata).status()), ErrorKind::kInvalidInput);
}

TEST(RestCatalog, TheServerSaysWhereATableWouldBe) {
  ScriptedCatalog catalog({{"POST /v1/namespaces/a/tables", {TableAnswer(SmallTable("s3://w/a/t"), "")}}});
  EXPECT_EQ(*catalog.MustOpen()->NewTableLocation({{"a"}, "t"}), "s3://w/a/t");
  const json asked = json::parse(catalog.last().body);
  EXPECT_EQ(asked["stage-create"], true);
  EXPECT_FALSE(asked.contains("location"));
}

TEST(RestCatalog, TablesAreRenamedAndDropped) {
  ScriptedCatalog catalog(
      {{"POST /v1/tables/rename", {Answer(204), ErrorAnswer(404, "NoSuchTableException", "none"), kClose}},
       {"DELETE " + kTablePath, {Answer(204), Answer(500), ErrorAnswer(404, "NoSuchTableException", "none")}}});
  const auto rest = catalog.MustOpen();
  ASSERT_TRUE(rest->RenameTable(kId, {{"c"}, "u"}).ok());
  EXPECT_EQ(json::parse(catalog.last().body), json::parse(R"({"source": {"namespace": ["a", "b c"], "name": "t/1"},
                                                             "destination": {"namespace": ["c"], "name": "u"}})"));
  EXPECT_EQ(KindOf(rest->RenameTable(kId, {{"c"}, "u"})), ErrorKind::kNotFound);
  EXPECT_EQ(KindOf(rest->RenameTable(kId, {{"c"}, "u"})), ErrorKind::kCommitUnknown);
  ASSERT_TRUE(rest->DropTable(kId).ok());
  EXPECT_EQ(catalog.last().line(), "DELETE " + kTablePath + "?purgeRequested=false");
  EXPECT_EQ(KindOf(rest->DropTable(kId)), ErrorKind::kCommitUnknown);
  EXPECT_EQ(KindOf(rest->DropTable(kId)), ErrorKind::kNotFound);
}

class RestCommit : public testing::Test {
 protected:
  /// Commits snapshot 7 to a table that is "/t/1.json": `post` answers the commit, `get` loading afterwards.
  arrow::Result<LoadedTable> Commit(const std::string& post, const std::string& get) {
    catalog_ = std::make_unique<ScriptedCatalog>(std::vector<ScriptedCatalog::Rule>{
        {"POST " + kTablePath, {post}}, {"GET " + kTablePath, {TableAnswer(base_, "/t/1.json"), get}}});
    const auto rest = catalog_->MustOpen({{"rest.client.request-timeout-ms", post == kHang ? "2000" : "60000"}});
    const LoadedTable table = *rest->LoadTable(kId);
    auto committed = rest->CommitTable(table, after_);
    EXPECT_EQ(catalog_->count("POST"), 1) << "a commit is sent once";
    return committed;
  }

  const TableMetadata base_ = SmallTable("/t");
  const TableMetadata after_ = WithSnapshot(base_, 7);
  const std::string lost_ = ErrorAnswer(503, "Busy", "busy", "Retry-After: 0\r\n");
  std::unique_ptr<ScriptedCatalog> catalog_;
};

TEST_F(RestCommit, IsARequestWithRequirementsAndUpdates) {
  const auto committed = Commit(TableAnswer(WithLog(after_, {"/t/1.json"}), "/t/2.json"), kClose);
  ASSERT_TRUE(committed.ok()) << committed.status().ToString();
  EXPECT_EQ(committed->metadata_location, "/t/2.json");
  const json sent = json::parse(catalog_->last().body);
  EXPECT_EQ(sent["identifier"], json::parse(R"({"namespace": ["a", "b c"], "name": "t/1"})"));
  EXPECT_EQ(sent["requirements"].size(), 2);
  EXPECT_EQ(sent["updates"][0]["action"], "add-snapshot");
  EXPECT_EQ(catalog_->last().header("content-type"), "application/json");
}

TEST_F(RestCommit, AConflictIsOne) {
  const std::string conflict = ErrorAnswer(409, "CommitFailedException", "branch main has changed");
  const auto committed = Commit(conflict, TableAnswer(WithLog(WithSnapshot(base_, 9), {"/t/1.json"}), "/t/9.json"));
  EXPECT_EQ(KindOf(committed.status()), ErrorKind::kCommitConflict);
  EXPECT_THAT(committed.status().message(), AllOf(HasSubstr("POST " + kTablePath), HasSubstr("branch main has changed")));
  // What stands between us and the server sent it twice.
  EXPECT_TRUE(Commit(conflict, TableAnswer(WithLog(after_, {"/t/1.json"}), "/t/2.json")).ok());
}

TEST_F(RestCommit, AnAnswerThatWasLostIsLookedFor) {
  const std::string happened = TableAnswer(WithLog(after_, {"/t/1.json"}), "/t/2.json");
  const std::string other = TableAnswer(WithLog(WithSnapshot(base_, 9), {"/t/1.json"}), "/t/9.json");
  const std::string still = TableAnswer(base_, "/t/1.json");
  for (const std::string& answer : {ErrorAnswer(500, "Internal", "x"), Answer(502), lost_, Answer(504), kClose, kHang,
                                    Answer(200, "<html>", "", "text/html"), happened.substr(0, happened.size() - 5)}) {
    const auto found = Commit(answer, happened);
    ASSERT_TRUE(found.ok()) << found.status().ToString();
    EXPECT_EQ(found->metadata_location, "/t/2.json");
  }
  EXPECT_EQ(KindOf(Commit(lost_, other).status()), ErrorKind::kCommitConflict);
  const auto unknown = Commit(lost_, still);
  EXPECT_EQ(KindOf(unknown.status()), ErrorKind::kCommitUnknown);
  EXPECT_THAT(unknown.status().message(), AllOf(HasSubstr("snapshot 7"), HasSubstr("POST " + kTablePath), HasSubstr("503")));
  EXPECT_EQ(KindOf(Commit(lost_, Answer(500)).status()), ErrorKind::kCommitUnknown);
}

TEST_F(RestCommit, OtherRefusalsChangeNothing) {
  const std::string never = kClose;
  EXPECT_EQ(KindOf(Commit(ErrorAnswer(400, "BadRequest", "x"), never).status()), ErrorKind::kInvalidInput);
  EXPECT_EQ(KindOf(Commit(ErrorAnswer(403, "ForbiddenException", "x"), never).status()), ErrorKind::kInvalidInput);
  EXPECT_EQ(KindOf(Commit(ErrorAnswer(404, "NoSuchTableException", "x"), never).status()), ErrorKind::kNotFound);
  EXPECT_EQ(KindOf(Commit(ErrorAnswer(406, "Unsupported", "x"), never).status()), ErrorKind::kUnsupported);
  EXPECT_EQ(KindOf(Commit(ErrorAnswer(501, "Unsupported", "x"), never).status()), ErrorKind::kUnsupported);
}

TEST(RestCatalog, IsMadeByTypeOrUri) {
  ScriptedCatalog catalog({{"GET /v1/namespaces", {Answer(200, R"({"namespaces": [["a"]]})")}}});
  const auto made = MakeCatalog("r", {{"uri", catalog.server().url()}}, LocalContext());
  ASSERT_TRUE(made.ok()) << made.status().ToString();
  EXPECT_THAT(*(*made)->ListNamespaces({}), ElementsAre(Namespace{"a"}));
}

}  // namespace
}  // namespace icebound::iceberg
