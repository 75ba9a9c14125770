// SPDX-License-Identifier: Apache-2.0
//
// The catalogs of a session, and the way from what a statement calls a table to the table.
//
//   a.b.t        a is a catalog that was attached or that PyIceberg's configuration has: table b.t of it
//                otherwise table a.b.t of the default catalog: the first attached, else the configuration's default
//   a.b.t.files  when there is no such table, a metadata table (metadata_tables/metadata_table.h) of a.b.t
//   a path       anything with a slash, or that ends in .json or .json.gz: a table's directory, or one of its metadata files
//
// A table is loaded once a statement, however often it is named: every part of a statement sees one version of it.
#pragma once

#include <arrow/result.h>

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "iceberg/catalog/catalog.h"
#include "iceberg/catalog/catalog_context.h"
#include "iceberg/catalog/pyiceberg_config.h"
#include "io/file_systems.h"
#include "memory/memory_ledger.h"

namespace icebound::bridge {

/// A table that a name or path meant. A value; what it points to lives as long as the Catalogs.
struct NamedTable {
  std::string name;  ///< for messages: as it was written
  iceberg::LoadedTable loaded;
  iceberg::LocationResolver resolve;        ///< for its files
  io::FileSystems* file_systems = nullptr;  ///< the same, of the catalog that it is in
  iceberg::Catalog* catalog = nullptr;      ///< that loaded it, and can commit to it
  std::string metadata_table;               ///< the suffix of the name; empty for none
};

/// Thread safe.
class Catalogs {
 public:
  /// `file_systems` gives those of the session, for tables named by path. The ledger outlives this object.
  Catalogs(memory::MemoryLedger* ledger, std::function<io::FileSystems*()> file_systems);
  ~Catalogs();

  /// Opens a catalog: `properties` go before those that the configuration has for that name. kInvalidInput when one of that name
  /// is attached.
  arrow::Status Attach(const std::string& name, const iceberg::StringPairs& properties);

  /// A name of at least two parts. kNotFound tells the nearest name.
  arrow::Result<NamedTable> LoadName(const std::vector<std::string>& parts);
  /// A name or a path, as iceberg('...') takes it. What can be both is a name when such a table exists.
  arrow::Result<NamedTable> LoadText(const std::string& text);

  /// Tables loaded so far are forgotten; those who hold them keep them.
  void ForgetLoaded();

 private:
  struct Attached;

  arrow::Result<NamedTable> LoadFrom(Attached& attached, const std::vector<std::string>& parts, const std::string& name);
  arrow::Result<NamedTable> LoadFromPath(const std::string& path);
  arrow::Result<Attached*> OpenCatalog(const std::string& name, const iceberg::StringPairs& properties);
  /// Null when neither an attached catalog nor a configured one has the name.
  arrow::Result<Attached*> FindCatalog(const std::string& name);
  arrow::Result<Attached*> DefaultCatalog();
  arrow::Result<const iceberg::PyIcebergConfig*> Config();
  /// For a name that no catalog could have.
  arrow::Status NoCatalog(const std::vector<std::string>& parts, const std::string& name);
  arrow::Status Unknown(Attached& attached, const std::vector<std::string>& parts, const std::string& name,
                        const arrow::Status& status);
  arrow::Result<std::vector<std::string>> CatalogNames();

  memory::MemoryLedger* const ledger_;
  const std::function<io::FileSystems*()> file_systems_;
  const std::shared_ptr<iceberg::MetadataMemory> memory_;
  const std::unique_ptr<iceberg::Catalog> paths_;
  std::mutex mutex_;                                 // held while a table is loaded
  std::optional<iceberg::PyIcebergConfig> config_;   // guarded by mutex_; read when first needed
  std::vector<std::unique_ptr<Attached>> attached_;  // guarded by mutex_; in the order of opening
  Attached* default_ = nullptr;                      // guarded by mutex_
  std::map<std::string, NamedTable> loaded_;         // guarded by mutex_: by catalog and name, for one statement
};

}  // namespace icebound::bridge
