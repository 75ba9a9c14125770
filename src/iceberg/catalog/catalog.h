// SPDX-License-Identifier: Apache-2.0
//
// Catalogs: which metadata file a table's name means now, and the one atomic step that changes it.
//
// A table is a metadata file (iceberg/spec/table_metadata.h); files never change. A commit is therefore
//
//     stage    the new metadata becomes a file under a name that nobody knows yet, made durable
//     swap     if the catalog still names the file that the change was made from, it names the new one from now on
//
// and it ends in one of four ways:
//
//   outcome     error kind         the table is            staged file       what the caller does
//   committed   (ok)               the new one             is the table
//   conflict    kCommitConflict    unchanged by us         deleted           load, validate and try again
//   unknown     kCommitUnknown     the old or the new one  kept              look later; delete nothing that was written
//   not done    any other kind     unchanged by us         deleted           by the kind
//
// "Unknown" is what remains when the swap's answer was lost and looking for it failed too (commit_lookup.h). A process that is
// killed between the two steps leaves the old table, and a file that nothing names: orphan removal finds it.
//
//   sql_catalog.h           rows of a SQLite file, the same that PyIceberg's SqlCatalog reads and writes; in memory, too
//   directory_catalog.h     directories below a warehouse: v1.metadata.json, v2... and version-hint.text
//   rest/rest_catalog.h     the REST protocol: a server keeps metadata files and swaps
//   path_catalog.h          a table by the path of its directory or (read only) of one metadata file
//   pyiceberg_config.h      .pyiceberg.yaml and PYICEBERG_* variables
//   make_catalog.h          from a name and properties to one of these
#pragma once

#include <arrow/result.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "iceberg/spec/snapshot.h"
#include "iceberg/spec/table_metadata.h"

namespace icebound::iceberg {

/// The levels of a namespace, outermost first.
using Namespace = std::vector<std::string>;

/// "a.b", or "" for none.
std::string NamespaceText(const Namespace& levels);

/// The namespace as PyIceberg stores it: levels without blanks around them, joined by dots. kInvalidInput when there is no
/// level or an empty one.
arrow::Result<std::string> NamespaceKey(const Namespace& levels);

/// The levels of such a text.
Namespace SplitNamespace(std::string_view text);

struct TableIdentifier {
  Namespace levels;
  std::string name;

  /// "a.b.t": all but the last part is the namespace. kInvalidInput for an empty part.
  static arrow::Result<TableIdentifier> Parse(std::string_view text);
  std::string ToString() const;
  bool operator==(const TableIdentifier&) const = default;
};

/// A table as it was when it was loaded. A value; the metadata is shared, immutable, and charged while somebody holds it.
struct LoadedTable {
  TableIdentifier identifier;
  std::string metadata_location;
  std::shared_ptr<const TableMetadata> metadata;
  int64_t text_bytes = 0;  ///< of the metadata's JSON
  /// Why no commit to it is possible ("it is one metadata file, outside any catalog"); empty when it is.
  std::string read_only_reason;
  /// What the catalog says about reaching the table's files (s3.endpoint, vended s3.access-key-id and s3.session-token, ...):
  /// over what was configured. Secrets, some of them for an hour: never in a message, never kept longer than the table.
  StringPairs storage_properties;
};

/// Thread safe, as every implementation is. Locations are written and kept verbatim: nothing is decoded or normalised.
class Catalog {
 public:
  explicit Catalog(std::string name) : name_(std::move(name)) {}
  virtual ~Catalog() = default;
  Catalog(const Catalog&) = delete;
  Catalog& operator=(const Catalog&) = delete;

  const std::string& name() const { return name_; }

  /// The namespaces right below `parent` (an empty one: the top), in order. kNotFound when there is no such namespace.
  virtual arrow::Result<std::vector<Namespace>> ListNamespaces(const Namespace& parent) = 0;
  virtual arrow::Result<bool> NamespaceExists(const Namespace& levels) = 0;
  virtual arrow::Result<StringPairs> NamespaceProperties(const Namespace& levels) = 0;
  /// kInvalidInput when it exists.
  virtual arrow::Status CreateNamespace(const Namespace& levels, const StringPairs& properties) = 0;
  /// kInvalidInput when something is in it.
  virtual arrow::Status DropNamespace(const Namespace& levels) = 0;

  /// The tables of one namespace (not of those below it), in order.
  virtual arrow::Result<std::vector<TableIdentifier>> ListTables(const Namespace& levels) = 0;
  /// kNotFound when there is no such table.
  virtual arrow::Result<LoadedTable> LoadTable(const TableIdentifier& identifier) = 0;

  /// Where a new table goes when nobody says.
  virtual arrow::Result<std::string> NewTableLocation(const TableIdentifier& identifier) = 0;
  /// Makes a table of `metadata`, whose `location` is its directory. kInvalidInput when there is one of that name.
  virtual arrow::Result<LoadedTable> CreateTable(const TableIdentifier& identifier, TableMetadata metadata) = 0;
  /// Forgets the table. Its files stay, except where the directory is the table (directory_catalog.h).
  virtual arrow::Status DropTable(const TableIdentifier& identifier) = 0;
  virtual arrow::Status RenameTable(const TableIdentifier& from, const TableIdentifier& to) = 0;

  /// Makes `updated` the metadata of `base.identifier` if the table is still what `base` says: the same metadata file, which
  /// implies the same uuid. `updated` is a changed copy of *base.metadata, with its own last_updated_ms; the entry in its
  /// metadata-log about the file it follows is the catalog's doing. See above for how it ends; the result is the table as
  /// committed.
  virtual arrow::Result<LoadedTable> CommitTable(const LoadedTable& base, TableMetadata updated) = 0;

 private:
  const std::string name_;
};

}  // namespace icebound::iceberg
