// SPDX-License-Identifier: Apache-2.0
//
// A catalog that is a directory: namespaces are directories below the warehouse, and a directory with table metadata in it is a
// table (table_directories.h). Table a.b.t is <warehouse>/a/b/t. There is nothing to rename a table in, for its files name each
// other by path.
#pragma once

#include <string>
#include <vector>

#include "iceberg/catalog/table_directories.h"

namespace icebound::iceberg {

class DirectoryCatalog final : public Catalog {
 public:
  DirectoryCatalog(std::string name, std::string warehouse, CatalogContext context, bool single_writer)
      : Catalog(std::move(name)), warehouse_(std::move(warehouse)), tables_(std::move(context), single_writer) {}

  arrow::Result<std::vector<Namespace>> ListNamespaces(const Namespace& parent) override;
  arrow::Result<bool> NamespaceExists(const Namespace& levels) override;
  /// None: a directory has no properties.
  arrow::Result<StringPairs> NamespaceProperties(const Namespace& levels) override;
  /// kUnsupported with properties.
  arrow::Status CreateNamespace(const Namespace& levels, const StringPairs& properties) override;
  arrow::Status DropNamespace(const Namespace& levels) override;
  arrow::Result<std::vector<TableIdentifier>> ListTables(const Namespace& levels) override;
  arrow::Result<LoadedTable> LoadTable(const TableIdentifier& identifier) override;
  arrow::Result<std::string> NewTableLocation(const TableIdentifier& identifier) override;
  arrow::Result<LoadedTable> CreateTable(const TableIdentifier& identifier, TableMetadata metadata) override;
  /// Deletes the table's directory and all that is in it.
  arrow::Status DropTable(const TableIdentifier& identifier) override;
  arrow::Status RenameTable(const TableIdentifier& from, const TableIdentifier& to) override;
  arrow::Result<LoadedTable> CommitTable(const LoadedTable& base, TableMetadata updated) override;

 private:
  arrow::Result<std::string> DirectoryOf(const Namespace& levels) const;
  arrow::Result<std::string> DirectoryOf(const TableIdentifier& identifier) const;
  arrow::Status RequireNamespace(const Namespace& levels, std::string* directory) const;
  /// The directories right below one that are tables, or that are not, in order.
  arrow::Result<std::vector<std::string>> Children(const std::string& directory, bool tables) const;

  const std::string warehouse_;
  const TableDirectories tables_;
};

}  // namespace icebound::iceberg
