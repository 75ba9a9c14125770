// SPDX-License-Identifier: Apache-2.0
//
// A catalog behind the Iceberg REST protocol. The server keeps the metadata files; here a commit is a request that says what
// must still be true and what to change (metadata_changes.h):
//
//   200             committed: the answer is the table
//   409             a requirement failed: conflict (unless the table has the snapshots of this commit: something between us and
//   the
//                   server sent the request twice)
//   500, 502, 503, 504, no answer, an answer that cannot be read
//                   looked into (commit_lookup.h): committed, conflict or unknown. The request is never sent again
//   other           not done
//
// The protocol compares less than the metadata file: of two commits that leave main where it is (properties, location), both
// can succeed from one base.
//
// CreateTable without snapshots asks the server to make the table, which gives it ids and a uuid of its own: the result says
// which. With snapshots, files have been written with the ids of `metadata`: the table is staged, then committed whole.
//
// LoadTable remembers the ETags of tables that somebody still holds, for some minutes, and asks only for what changed since.
//
// Properties: those of rest_session.h, rest_auth.h and http_client.h; uri, warehouse, prefix, rest-page-size,
// namespace-separator.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "iceberg/catalog/catalog.h"
#include "iceberg/catalog/metadata_changes.h"
#include "iceberg/catalog/metadata_store.h"
#include "iceberg/catalog/rest/rest_session.h"

namespace icebound::iceberg {

class RestCatalog final : public Catalog {
 public:
  static arrow::Result<std::unique_ptr<RestCatalog>> Open(std::string name, StringPairs properties, CatalogContext context);

  arrow::Result<std::vector<Namespace>> ListNamespaces(const Namespace& parent) override;
  arrow::Result<bool> NamespaceExists(const Namespace& levels) override;
  arrow::Result<StringPairs> NamespaceProperties(const Namespace& levels) override;
  arrow::Status CreateNamespace(const Namespace& levels, const StringPairs& properties) override;
  arrow::Status DropNamespace(const Namespace& levels) override;
  arrow::Result<std::vector<TableIdentifier>> ListTables(const Namespace& levels) override;
  arrow::Result<LoadedTable> LoadTable(const TableIdentifier& identifier) override;
  /// Asks by staging a table that is never made.
  arrow::Result<std::string> NewTableLocation(const TableIdentifier& identifier) override;
  arrow::Result<LoadedTable> CreateTable(const TableIdentifier& identifier, TableMetadata metadata) override;
  arrow::Status DropTable(const TableIdentifier& identifier) override;
  arrow::Status RenameTable(const TableIdentifier& from, const TableIdentifier& to) override;
  arrow::Result<LoadedTable> CommitTable(const LoadedTable& base, TableMetadata updated) override;

  /// The catalog's properties with what the server's configuration says.
  const StringPairs& properties() const { return session_->properties(); }

 private:
  /// A table that was loaded, for as long as somebody holds it.
  struct Remembered {
    std::weak_ptr<const TableMetadata> metadata;
    LoadedTable table;  ///< without its metadata
    std::string etag;
    std::chrono::steady_clock::time_point loaded_at;
  };

  RestCatalog(std::string name, std::unique_ptr<RestSession> session, std::shared_ptr<MetadataCharge> charge,
              CatalogContext context)
      : Catalog(std::move(name)), charge_(std::move(charge)), store_(std::move(context)), session_(std::move(session)) {}

  arrow::Result<std::string> TablePath(const TableIdentifier& identifier) const;
  arrow::Status ForEachOfPages(std::string_view path, std::string_view query, std::string_view member,
                               const std::function<arrow::Status(std::string_view)>& visit) const;
  /// The error that an answer is; 5xx to a request that may not be repeated is kCommitUnknown.
  arrow::Status Failed(const HttpRequest& request, const HttpResponse& response) const;
  arrow::Result<LoadedTable> ReadTable(const HttpRequest& request, const HttpResponse& response,
                                       const TableIdentifier& identifier);
  arrow::Result<LoadedTable> RequestNewTable(const TableIdentifier& identifier, const TableMetadata& metadata, bool stage);
  arrow::Result<LoadedTable> CreateWhole(const TableIdentifier& identifier, TableMetadata metadata);
  arrow::Result<HttpResponse> SendCommit(const TableIdentifier& identifier, const MetadataChanges& changes,
                                         const std::string* token, HttpRequest* request) const;
  arrow::Result<StringPairs> StorageProperties(JsonObject* answer, const std::string& location) const;
  void Remember(const LoadedTable& table, const std::string& etag);
  std::optional<LoadedTable> Recall(const TableIdentifier& identifier, std::string* etag);

  const std::shared_ptr<MetadataCharge> charge_;
  const MetadataStore store_;
  const std::unique_ptr<RestSession> session_;
  std::mutex mutex_;
  std::map<std::string, Remembered> remembered_;  // guarded by mutex_
};

}  // namespace icebound::iceberg
