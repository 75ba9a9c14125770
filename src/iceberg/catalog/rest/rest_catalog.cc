// SPDX-License-Identifier: Apache-2.0
#include "iceberg/catalog/rest/rest_catalog.h"

#include <algorithm>

#include "base/error.h"
#include "base/injection.h"
#include "iceberg/catalog/commit_lookup.h"
#include "iceberg/catalog/rest/late_library.h"

namespace icebound::iceberg {
namespace {

using std::chrono::steady_clock;

/// Vended credentials live for a quarter of an hour at least; a table is not answered from memory with older ones.
constexpr auto kRememberedFor = std::chrono::minutes(5);
constexpr size_t kRememberedMax = 64;

/// Properties of a catalog that say how files are reached.
constexpr std::string_view kStoragePrefixes[] = {"s3.", "gcs.", "gs.", "adls.", "abfs.", "client.", "hdfs.", "oss.", "hf."};

constexpr std::string_view kListNamespaces = "GET /v1/{prefix}/namespaces";
constexpr std::string_view kLoadNamespace = "GET /v1/{prefix}/namespaces/{namespace}";
constexpr std::string_view kNamespaceExists = "HEAD /v1/{prefix}/namespaces/{namespace}";
constexpr std::string_view kCreateNamespace = "POST /v1/{prefix}/namespaces";
constexpr std::string_view kDropNamespace = "DELETE /v1/{prefix}/namespaces/{namespace}";
constexpr std::string_view kListTables = "GET /v1/{prefix}/namespaces/{namespace}/tables";
constexpr std::string_view kCreateTable = "POST /v1/{prefix}/namespaces/{namespace}/tables";
constexpr std::string_view kLoadTable = "GET /v1/{prefix}/namespaces/{namespace}/tables/{table}";
constexpr std::string_view kCommitTable = "POST /v1/{prefix}/namespaces/{namespace}/tables/{table}";
constexpr std::string_view kDropTable = "DELETE /v1/{prefix}/namespaces/{namespace}/tables/{table}";
constexpr std::string_view kRenameTable = "POST /v1/{prefix}/tables/rename";

HttpRequest Reading(std::string method, std::string url) {
  return {.method = std::move(method), .url = std::move(url), .may_be_repeated = true};
}
HttpRequest Changing(std::string method, std::string url, std::string body = "") {
  return {.method = std::move(method), .url = std::move(url), .body = std::move(body)};
}

bool IsSuccess(const HttpResponse& response) { return response.status >= 200 && response.status < 300; }
bool MayHaveHappened(const HttpResponse& response) { return response.status >= 500 && response.status != 501; }

void WriteLevels(const Namespace& levels, JsonWriter* writer) {
  writer->Key("namespace");
  writer->BeginArray();
  for (const std::string& level : levels) writer->String(level);
  writer->EndArray();
}

void WriteIdentifier(const TableIdentifier& identifier, JsonWriter* writer) {
  writer->BeginObject();
  WriteLevels(identifier.levels, writer);
  writer->StringMember("name", identifier.name);
  writer->EndObject();
}

arrow::Result<Namespace> ParseLevels(std::string_view json) {
  ARROW_ASSIGN_OR_RAISE(JsonElements elements, JsonElements::Make(json));
  Namespace levels;
  std::string_view element;
  while (elements.Next(&element)) {
    ARROW_ASSIGN_OR_RAISE(std::string level, DecodeJsonString(element));
    levels.push_back(std::move(level));
  }
  return levels;
}

/// What a server needs to make a table.
std::string NewTableJson(const std::string& name, const TableMetadata& metadata, bool stage) {
  std::string json;
  JsonWriter writer(&json);
  writer.BeginObject();
  writer.StringMember("name", name);
  if (!metadata.location.empty()) writer.StringMember("location", metadata.location);
  writer.Key("schema");
  metadata.current_schema().Write(&writer);
  writer.Key("partition-spec");
  metadata.default_spec().Write(&writer);
  writer.Key("write-order");
  metadata.default_sort_order().Write(&writer);
  writer.BoolMember("stage-create", stage);
  StringPairs properties = metadata.properties;
  properties.emplace_back("format-version", std::to_string(metadata.format_version));
  writer.Key("properties");
  WriteStringPairs(properties, &writer);
  writer.EndObject();
  return json;
}

/// Of a table that is staged only to be told where it would be.
TableMetadata OneColumn() {
  TableMetadata metadata;
  Field field{.id = 1, .name = "x", .type = Type::Of(TypeId::kInt)};
  metadata.schemas = {*Schema::Make(0, Type::Struct({field}))};
  metadata.partition_specs.emplace_back();
  metadata.sort_orders.emplace_back();
  return metadata;
}

void Put(const StringPairs& more, StringPairs* pairs) {
  for (const auto& [name, value] : more) {
    std::erase_if(*pairs, [&](const auto& pair) { return pair.first == name; });
    pairs->emplace_back(name, value);
  }
}

}  // namespace

arrow::Result<std::unique_ptr<RestCatalog>> RestCatalog::Open(std::string name, StringPairs properties, CatalogContext context) {
  const std::string* uri = FindValue(properties, "uri");
  if (uri == nullptr) return MakeError(ErrorKind::kInvalidInput, "catalog {} has no property uri", name);
  const int64_t held_bytes = kHttpHeldBytes + (uri->starts_with("https:") ? kTlsHeldBytes : 0);
  ARROW_ASSIGN_OR_RAISE(auto charge, MetadataCharge::Make(context.memory, held_bytes));
  auto session = RestSession::Open(std::move(properties), *context.memory);
  if (!session.ok()) return WithContext(session.status(), ErrorKind::kIo, fmt::format("catalog {}", name));
  return std::unique_ptr<RestCatalog>(
      new RestCatalog(std::move(name), *std::move(session), std::move(charge), std::move(context)));
}

arrow::Status RestCatalog::Failed(const HttpRequest& request, const HttpResponse& response) const {
  const bool unknown = !request.may_be_repeated && MayHaveHappened(response);
  return session_->Error(request, response, unknown ? std::optional(ErrorKind::kCommitUnknown) : std::nullopt);
}

arrow::Result<std::string> RestCatalog::TablePath(const TableIdentifier& identifier) const {
  ARROW_RETURN_NOT_OK(NamespaceKey(identifier.levels).status());
  return fmt::format("namespaces/{}/tables/{}", session_->EncodeNamespace(identifier.levels), EncodeUrl(identifier.name));
}

arrow::Status RestCatalog::ForEachOfPages(std::string_view path, std::string_view query, std::string_view member,
                                          const std::function<arrow::Status(std::string_view)>& visit) const {
  const std::string* page_size = FindValue(properties(), "rest-page-size");
  if (page_size != nullptr && (page_size->empty() || page_size->find_first_not_of("0123456789") != std::string::npos)) {
    return MakeError(ErrorKind::kInvalidInput, "catalog property rest-page-size is no number: '{}'", *page_size);
  }
  std::optional<std::string> token;
  if (page_size != nullptr) token = "";
  while (true) {
    std::string url = session_->Url(path);
    const auto add = [&](std::string_view part) { url += (url.find('?') == std::string::npos ? "?" : "&") + std::string(part); };
    if (!query.empty()) add(query);
    if (token) add("pageToken=" + EncodeUrl(*token));
    if (page_size != nullptr) add("pageSize=" + *page_size);
    const HttpRequest request = Reading("GET", url);
    ARROW_ASSIGN_OR_RAISE(const HttpResponse response, session_->Send(request));
    if (!IsSuccess(response)) return Failed(request, response);
    ARROW_ASSIGN_OR_RAISE(JsonObject page, ReadAnswer(request, response));
    const auto list = page.Find(member);
    if (!list) return BadAnswer(request, response, fmt::format("has no '{}'", member));
    auto elements = JsonElements::Make(*list);
    if (!elements.ok()) return BadAnswer(request, response, fmt::format("has '{}' that are no list", member));
    std::string_view element;
    while (elements->Next(&element)) {
      if (!visit(element).ok()) return BadAnswer(request, response, fmt::format("has '{}' that cannot be read", member));
    }
    const auto next = page.FindString("next-page-token");
    if (!next.ok()) return BadAnswer(request, response, "has a next-page-token that is no text");
    if (!*next || (*next)->empty()) return arrow::Status::OK();
    if (token == *next) return BadAnswer(request, response, "gives the same page token again");
    token = **next;
  }
}

arrow::Result<std::vector<Namespace>> RestCatalog::ListNamespaces(const Namespace& parent) {
  ARROW_RETURN_NOT_OK(session_->Require(kListNamespaces));
  std::vector<Namespace> namespaces;
  const std::string query = parent.empty() ? "" : "parent=" + session_->EncodeNamespace(parent);
  ARROW_RETURN_NOT_OK(ForEachOfPages("namespaces", query, "namespaces", [&](std::string_view json) -> arrow::Status {
    ARROW_ASSIGN_OR_RAISE(Namespace levels, ParseLevels(json));
    namespaces.push_back(std::move(levels));
    return arrow::Status::OK();
  }));
  std::sort(namespaces.begin(), namespaces.end());
  return namespaces;
}

arrow::Result<bool> RestCatalog::NamespaceExists(const Namespace& levels) {
  ARROW_RETURN_NOT_OK(NamespaceKey(levels).status());
  const bool by_head = session_->Offers(kNamespaceExists);
  if (!by_head) ARROW_RETURN_NOT_OK(session_->Require(kLoadNamespace));
  const HttpRequest request = Reading(by_head ? "HEAD" : "GET", session_->Url("namespaces/" + session_->EncodeNamespace(levels)));
  ARROW_ASSIGN_OR_RAISE(const HttpResponse response, session_->Send(request));
  if (IsSuccess(response)) return true;
  if (response.status == 404) return false;
  return Failed(request, response);
}

arrow::Result<StringPairs> RestCatalog::NamespaceProperties(const Namespace& levels) {
  ARROW_RETURN_NOT_OK(NamespaceKey(levels).status());
  ARROW_RETURN_NOT_OK(session_->Require(kLoadNamespace));
  const HttpRequest request = Reading("GET", session_->Url("namespaces/" + session_->EncodeNamespace(levels)));
  ARROW_ASSIGN_OR_RAISE(const HttpResponse response, session_->Send(request));
  if (!IsSuccess(response)) return Failed(request, response);
  ARROW_ASSIGN_OR_RAISE(JsonObject answer, ReadAnswer(request, response));
  const auto json = answer.Find("properties");
  if (!json) return StringPairs();
  auto properties = ParseStringPairs(*json);
  if (!properties.ok()) return BadAnswer(request, response, "has properties that are no texts");
  return properties;
}

arrow::Status RestCatalog::CreateNamespace(const Namespace& levels, const StringPairs& properties) {
  ARROW_RETURN_NOT_OK(NamespaceKey(levels).status());
  ARROW_RETURN_NOT_OK(session_->Require(kCreateNamespace));
  std::string body;
  JsonWriter writer(&body);
  writer.BeginObject();
  WriteLevels(levels, &writer);
  writer.Key("properties");
  WriteStringPairs(properties, &writer);
  writer.EndObject();
  const HttpRequest request = Changing("POST", session_->Url("namespaces"), std::move(body));
  ARROW_ASSIGN_OR_RAISE(const HttpResponse response, session_->Send(request));
  return IsSuccess(response) ? arrow::Status::OK() : Failed(request, response);
}

arrow::Status RestCatalog::DropNamespace(const Namespace& levels) {
  ARROW_RETURN_NOT_OK(NamespaceKey(levels).status());
  ARROW_RETURN_NOT_OK(session_->Require(kDropNamespace));
  const HttpRequest request = Changing("DELETE", session_->Url("namespaces/" + session_->EncodeNamespace(levels)));
  ARROW_ASSIGN_OR_RAISE(const HttpResponse response, session_->Send(request));
  return IsSuccess(response) ? arrow::Status::OK() : Failed(request, response);
}

arrow::Result<std::vector<TableIdentifier>> RestCatalog::ListTables(const Namespace& levels) {
  ARROW_RETURN_NOT_OK(NamespaceKey(levels).status());
  ARROW_RETURN_NOT_OK(session_->Require(kListTables));
  std::vector<TableIdentifier> tables;
  const std::string path = fmt::format("namespaces/{}/tables", session_->EncodeNamespace(levels));
  ARROW_RETURN_NOT_OK(ForEachOfPages(path, "", "identifiers", [&](std::string_view json) -> arrow::Status {
    ARROW_ASSIGN_OR_RAISE(JsonObject entry, JsonObject::Make(json));
    TableIdentifier identifier;
    ARROW_ASSIGN_OR_RAISE(identifier.name, entry.GetString("name"));
    ARROW_ASSIGN_OR_RAISE(const std::string_view own_levels, entry.Get("namespace"));
    ARROW_ASSIGN_OR_RAISE(identifier.levels, ParseLevels(own_levels));
    tables.push_back(std::move(identifier));
    return arrow::Status::OK();
  }));
  std::sort(tables.begin(), tables.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return tables;
}

arrow::Result<StringPairs> RestCatalog::StorageProperties(JsonObject* answer, const std::string& location) const {
  StringPairs storage;
  for (const auto& [name, value] : properties()) {
    for (const std::string_view prefix : kStoragePrefixes) {
      if (name.starts_with(prefix)) storage.emplace_back(name, value);
    }
  }
  if (const auto config = answer->Find("config")) {
    ARROW_ASSIGN_OR_RAISE(const StringPairs pairs, ParseStringPairs(*config));
    Put(pairs, &storage);
  }
  const auto credentials = answer->Find("storage-credentials");
  if (!credentials) return storage;
  ARROW_ASSIGN_OR_RAISE(JsonElements elements, JsonElements::Make(*credentials));
  std::optional<size_t> best_prefix_bytes;
  std::string_view element, best;
  while (elements.Next(&element)) {
    ARROW_ASSIGN_OR_RAISE(JsonObject credential, JsonObject::Make(element));
    ARROW_ASSIGN_OR_RAISE(const std::string prefix, credential.GetString("prefix"));
    ARROW_ASSIGN_OR_RAISE(const std::string_view config, credential.Get("config"));
    if (!location.starts_with(prefix) || (best_prefix_bytes && prefix.size() <= *best_prefix_bytes)) continue;
    best_prefix_bytes = prefix.size();
    best = config;
  }
  if (!best_prefix_bytes) return storage;
  ARROW_ASSIGN_OR_RAISE(const StringPairs pairs, ParseStringPairs(best));
  Put(pairs, &storage);
  return storage;
}

arrow::Result<LoadedTable> RestCatalog::ReadTable(const HttpRequest& request, const HttpResponse& response,
                                                  const TableIdentifier& identifier) {
  ARROW_ASSIGN_OR_RAISE(JsonObject answer, ReadAnswer(request, response));
  const auto location = answer.FindString("metadata-location");
  if (!location.ok()) return BadAnswer(request, response, "has a metadata-location that is no text");
  const auto json = answer.Find("metadata");
  if (!json) return BadAnswer(request, response, "has no 'metadata'");
  auto table = store_.Parse(identifier, location->value_or(""), *json);
  if (!table.ok()) {
    return WithContext(table.status(), ErrorKind::kCorruptData,
                       fmt::format("the answer to {} {}", request.method, PathOfUrl(request.url)));
  }
  auto storage =
      StorageProperties(&answer, table->metadata_location.empty() ? table->metadata->location : table->metadata_location);
  if (!storage.ok()) return BadAnswer(request, response, "has a config or storage-credentials that are not of the protocol");
  table->storage_properties = *std::move(storage);
  Remember(*table, response.etag);
  return table;
}

void RestCatalog::Remember(const LoadedTable& table, const std::string& etag) {
  const std::lock_guard lock(mutex_);
  std::erase_if(remembered_, [](const auto& entry) { return entry.second.metadata.expired(); });
  remembered_.erase(table.identifier.ToString());
  if (etag.empty() || remembered_.size() >= kRememberedMax) return;
  Remembered entry{.metadata = table.metadata, .table = table, .etag = etag, .loaded_at = steady_clock::now()};
  entry.table.metadata.reset();
  remembered_.emplace(table.identifier.ToString(), std::move(entry));
}

std::optional<LoadedTable> RestCatalog::Recall(const TableIdentifier& identifier, std::string* etag) {
  const std::lock_guard lock(mutex_);
  const auto found = remembered_.find(identifier.ToString());
  if (found == remembered_.end() || !(found->second.table.identifier == identifier)) return std::nullopt;
  LoadedTable table = found->second.table;
  table.metadata = found->second.metadata.lock();
  if (table.metadata == nullptr || steady_clock::now() - found->second.loaded_at > kRememberedFor) return std::nullopt;
  *etag = found->second.etag;
  return table;
}

arrow::Result<LoadedTable> RestCatalog::LoadTable(const TableIdentifier& identifier) {
  ICEBOUND_INJECT("catalog.load");
  ARROW_RETURN_NOT_OK(session_->Require(kLoadTable));
  ARROW_ASSIGN_OR_RAISE(const std::string path, TablePath(identifier));
  HttpRequest request = Reading("GET", session_->Url(path));
  std::string etag;
  std::optional<LoadedTable> held = Recall(identifier, &etag);
  if (held) request.headers.emplace_back("If-None-Match", etag);
  ARROW_ASSIGN_OR_RAISE(const HttpResponse response, session_->Send(request));
  if (response.status == 304 && held) return *std::move(held);
  if (!IsSuccess(response)) return Failed(request, response);
  return ReadTable(request, response, identifier);
}

arrow::Result<LoadedTable> RestCatalog::RequestNewTable(const TableIdentifier& identifier, const TableMetadata& metadata,
                                                        bool stage) {
  ARROW_RETURN_NOT_OK(session_->Require(kCreateTable));
  ARROW_RETURN_NOT_OK(NamespaceKey(identifier.levels).status());
  HttpRequest request =
      Changing("POST", session_->Url(fmt::format("namespaces/{}/tables", session_->EncodeNamespace(identifier.levels))),
               NewTableJson(identifier.name, metadata, stage));
  request.may_be_repeated = stage;  // which makes nothing
  ARROW_ASSIGN_OR_RAISE(const HttpResponse response, session_->Send(request));
  if (!IsSuccess(response)) return Failed(request, response);
  auto table = ReadTable(request, response, identifier);
  if (table.ok() || stage) return table;
  return MakeError(ErrorKind::kCommitUnknown, "table {} was made, and what the server says of it cannot be read: {}",
                   identifier.ToString(), table.status().message());
}

arrow::Result<std::string> RestCatalog::NewTableLocation(const TableIdentifier& identifier) {
  ARROW_ASSIGN_OR_RAISE(const LoadedTable staged, RequestNewTable(identifier, OneColumn(), /*stage=*/true));
  return staged.metadata->location;
}

arrow::Result<LoadedTable> RestCatalog::CreateTable(const TableIdentifier& identifier, TableMetadata metadata) {
  if (metadata.snapshots.empty()) return RequestNewTable(identifier, metadata, /*stage=*/false);
  return CreateWhole(identifier, std::move(metadata));
}

arrow::Result<LoadedTable> RestCatalog::CreateWhole(const TableIdentifier& identifier, TableMetadata metadata) {
  ARROW_RETURN_NOT_OK(session_->Require(kCommitTable));
  ARROW_ASSIGN_OR_RAISE(const MetadataChanges changes, CompareMetadata(nullptr, metadata));
  ARROW_ASSIGN_OR_RAISE(const LoadedTable staged, RequestNewTable(identifier, metadata, /*stage=*/true));
  HttpRequest request;
  const auto response = SendCommit(identifier, changes, FindValue(staged.storage_properties, "token"), &request);
  arrow::Status failure = response.status();
  if (response.ok() && IsSuccess(*response)) {
    auto table = ReadTable(request, *response, identifier);
    if (table.ok()) return table;
    failure = MakeError(ErrorKind::kCommitUnknown, "{}", table.status().message());
  } else if (response.ok()) {
    failure = Failed(request, *response);
  }
  if (GetErrorKind(failure) != ErrorKind::kCommitUnknown) return failure;
  auto now = LoadTable(identifier);
  if (!now.ok()) return failure;
  if (now->metadata->table_uuid == metadata.table_uuid) return now;
  return MakeError(ErrorKind::kInvalidInput, "table {} exists already in catalog {}", identifier.ToString(), name());
}

arrow::Status RestCatalog::DropTable(const TableIdentifier& identifier) {
  ARROW_RETURN_NOT_OK(session_->Require(kDropTable));
  ARROW_ASSIGN_OR_RAISE(const std::string path, TablePath(identifier));
  const HttpRequest request = Changing("DELETE", session_->Url(path) + "?purgeRequested=false");
  ARROW_ASSIGN_OR_RAISE(const HttpResponse response, session_->Send(request));
  return IsSuccess(response) ? arrow::Status::OK() : Failed(request, response);
}

arrow::Status RestCatalog::RenameTable(const TableIdentifier& from, const TableIdentifier& to) {
  ARROW_RETURN_NOT_OK(session_->Require(kRenameTable));
  ARROW_RETURN_NOT_OK(NamespaceKey(from.levels).status());
  ARROW_RETURN_NOT_OK(NamespaceKey(to.levels).status());
  std::string body;
  JsonWriter writer(&body);
  writer.BeginObject();
  writer.Key("source");
  WriteIdentifier(from, &writer);
  writer.Key("destination");
  WriteIdentifier(to, &writer);
  writer.EndObject();
  const HttpRequest request = Changing("POST", session_->Url("tables/rename"), std::move(body));
  ARROW_ASSIGN_OR_RAISE(const HttpResponse response, session_->Send(request));
  return IsSuccess(response) ? arrow::Status::OK() : Failed(request, response);
}

arrow::Result<HttpResponse> RestCatalog::SendCommit(const TableIdentifier& identifier, const MetadataChanges& changes,
                                                    const std::string* token, HttpRequest* request) const {
  ARROW_ASSIGN_OR_RAISE(const std::string path, TablePath(identifier));
  std::string body;
  JsonWriter writer(&body);
  writer.BeginObject();
  writer.Key("identifier");
  WriteIdentifier(identifier, &writer);
  writer.RawMember("requirements", changes.requirements_json);
  writer.RawMember("updates", changes.updates_json);
  writer.EndObject();
  *request = Changing("POST", session_->Url(path), std::move(body));
  if (token != nullptr) request->headers.emplace_back("Authorization", "Bearer " + *token);
  ICEBOUND_INJECT("catalog.swap");
  return session_->Send(*request);
}

arrow::Result<LoadedTable> RestCatalog::CommitTable(const LoadedTable& base, TableMetadata updated) {
  ARROW_RETURN_NOT_OK(session_->Require(kCommitTable));
  // A request holds what is new, once as a list and once in its body: a snapshot or a schema, or the ids of what goes.
  ARROW_ASSIGN_OR_RAISE(const auto charge, MetadataCharge::Make(store_.context().memory, 256 << 10));
  ARROW_ASSIGN_OR_RAISE(const MetadataChanges changes, CompareMetadata(base.metadata.get(), updated));
  ARROW_RETURN_NOT_OK(charge->GrowTo(4 * static_cast<int64_t>(changes.updates_json.capacity())));
  HttpRequest request;
  const auto response = SendCommit(base.identifier, changes, FindValue(base.storage_properties, "token"), &request);
  arrow::Status failure = response.status();
  if (response.ok() && IsSuccess(*response)) {
    auto table = ReadTable(request, *response, base.identifier);
    if (table.ok()) {
      // Committing says nothing of storage, as a rule: what loading said still holds.
      StringPairs storage = base.storage_properties;
      Put(table->storage_properties, &storage);
      table->storage_properties = std::move(storage);
      return table;
    }
    failure = MakeError(ErrorKind::kCommitUnknown, "{}", table.status().message());
  } else if (response.ok() && response->status == 409) {
    if (!changes.new_snapshot_ids.empty()) {
      auto now = LoadTable(base.identifier);
      if (now.ok() && HasNewSnapshots(changes, *now->metadata)) return now;
    }
    return session_->Error(request, *response, ErrorKind::kCommitConflict);
  } else if (response.ok()) {
    failure = Failed(request, *response);
  }
  if (GetErrorKind(failure) != ErrorKind::kCommitUnknown) return failure;
  auto now = LoadTable(base.identifier);
  ARROW_RETURN_NOT_OK(JudgeUnnamedCommit(base, updated, changes, now, failure));
  return now;
}

}  // namespace icebound::iceberg
