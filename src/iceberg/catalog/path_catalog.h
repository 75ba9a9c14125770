// SPDX-License-Identifier: Apache-2.0
//
// Tables by path: of a table directory, or of one metadata file. An identifier has no namespace, and the path for its name.
#pragma once

#include <string>
#include <vector>

#include "iceberg/catalog/table_directories.h"

namespace icebound::iceberg {

/// Nothing can be listed or renamed here. A table that was named by a metadata file can only be read: it never changes.
class PathCatalog final : public Catalog {
 public:
  PathCatalog(CatalogContext context, bool single_writer) : Catalog("path"), tables_(std::move(context), single_writer) {}

  arrow::Result<std::vector<Namespace>> ListNamespaces(const Namespace&) override { return Unsupported("list namespaces"); }
  arrow::Result<bool> NamespaceExists(const Namespace& levels) override { return levels.empty(); }
  arrow::Result<StringPairs> NamespaceProperties(const Namespace&) override { return Unsupported("look at namespaces"); }
  arrow::Status CreateNamespace(const Namespace&, const StringPairs&) override { return Unsupported("create a namespace"); }
  arrow::Status DropNamespace(const Namespace&) override { return Unsupported("drop a namespace"); }
  arrow::Result<std::vector<TableIdentifier>> ListTables(const Namespace&) override { return Unsupported("list tables"); }
  arrow::Result<LoadedTable> LoadTable(const TableIdentifier& identifier) override;
  arrow::Result<std::string> NewTableLocation(const TableIdentifier& identifier) override { return identifier.name; }
  arrow::Result<LoadedTable> CreateTable(const TableIdentifier& identifier, TableMetadata metadata) override;
  arrow::Status DropTable(const TableIdentifier& identifier) override;
  arrow::Status RenameTable(const TableIdentifier&, const TableIdentifier&) override { return Unsupported("rename a table"); }
  arrow::Result<LoadedTable> CommitTable(const LoadedTable& base, TableMetadata updated) override;

 private:
  static arrow::Status Unsupported(std::string_view what);

  const TableDirectories tables_;
};

}  // namespace icebound::iceberg
