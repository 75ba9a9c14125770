// SPDX-License-Identifier: Apache-2.0
//
// A catalog in a SQLite file, with the tables of PyIceberg's SqlCatalog (and Java's JdbcCatalog), so that all open the same file:
//
//   iceberg_tables                 catalog_name, table_namespace, table_name -> metadata_location, previous_metadata_location,
//                                  iceberg_type (the later schema, "v1": 'TABLE' or NULL are tables, anything else is none)
//   iceberg_namespace_properties   catalog_name, namespace, property_key -> property_value; a namespace exists when it has a
//                                  property or a table, or one below it does
//
// The swap is UPDATE ... SET metadata_location = new WHERE metadata_location = old: of two writers one finds no row.
//
// Properties: uri (sqlite:////absolute.db, sqlite:///relative.db, sqlite:///:memory:), warehouse, init_catalog_tables,
// schema_version; as PyIceberg names them.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "iceberg/catalog/catalog.h"
#include "iceberg/catalog/metadata_store.h"
#include "iceberg/catalog/sqlite_database.h"

namespace icebound::iceberg {

/// The file that a sqlite URI names. kUnsupported for other databases and for URIs with parameters.
arrow::Result<std::string> SqlitePathOfUri(const std::string& uri);

class SqlCatalog final : public Catalog {
 public:
  static arrow::Result<std::unique_ptr<SqlCatalog>> Open(std::string name, const StringPairs& properties, CatalogContext context);

  arrow::Result<std::vector<Namespace>> ListNamespaces(const Namespace& parent) override;
  arrow::Result<bool> NamespaceExists(const Namespace& levels) override;
  arrow::Result<StringPairs> NamespaceProperties(const Namespace& levels) override;
  arrow::Status CreateNamespace(const Namespace& levels, const StringPairs& properties) override;
  arrow::Status DropNamespace(const Namespace& levels) override;
  arrow::Result<std::vector<TableIdentifier>> ListTables(const Namespace& levels) override;
  arrow::Result<LoadedTable> LoadTable(const TableIdentifier& identifier) override;
  arrow::Result<std::string> NewTableLocation(const TableIdentifier& identifier) override;
  arrow::Result<LoadedTable> CreateTable(const TableIdentifier& identifier, TableMetadata metadata) override;
  arrow::Status DropTable(const TableIdentifier& identifier) override;
  arrow::Status RenameTable(const TableIdentifier& from, const TableIdentifier& to) override;
  arrow::Result<LoadedTable> CommitTable(const LoadedTable& base, TableMetadata updated) override;

 private:
  SqlCatalog(std::string name, std::string warehouse, CatalogContext context, std::unique_ptr<SqliteDatabase> database,
             std::shared_ptr<MetadataCharge> charge)
      : Catalog(std::move(name)),
        warehouse_(std::move(warehouse)),
        store_(std::move(context)),
        charge_(std::move(charge)),
        database_(std::move(database)) {}

  arrow::Status Prepare(bool create_tables, bool upgrade);
  /// With mutex_ held.
  arrow::Result<bool> HasNamespace(const std::string& key);
  arrow::Status RequireNamespace(const Namespace& levels, std::string* key);
  arrow::Result<std::optional<std::string>> MetadataLocation(const TableIdentifier& identifier);
  arrow::Status Insert(const LoadedTable& table);
  arrow::Status Swap(const LoadedTable& base, const std::string& new_location);
  arrow::Status NotFound(const TableIdentifier& identifier) const;

  const std::string warehouse_;
  const MetadataStore store_;
  const std::shared_ptr<MetadataCharge> charge_;
  bool has_type_column_ = false;  // constant after Open
  std::mutex mutex_;
  const std::unique_ptr<SqliteDatabase> database_;  // guarded by mutex_
};

}  // namespace icebound::iceberg
