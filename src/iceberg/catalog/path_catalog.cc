// SPDX-License-Identifier: Apache-2.0
#include "iceberg/catalog/path_catalog.h"

#include "base/error.h"

namespace icebound::iceberg {

arrow::Status PathCatalog::Unsupported(std::string_view what) {
  return MakeError(ErrorKind::kUnsupported, "cannot {} where tables are named by path: that takes a catalog", what);
}

arrow::Result<LoadedTable> PathCatalog::LoadTable(const TableIdentifier& identifier) {
  ARROW_ASSIGN_OR_RAISE(const auto type, tables_.store().TypeOf(identifier.name));
  if (type != arrow::fs::FileType::File) return tables_.Load(identifier, identifier.name);
  ARROW_ASSIGN_OR_RAISE(LoadedTable table, tables_.store().Load(identifier, identifier.name));
  table.read_only_reason = "it is named by one metadata file: name its directory, or the table in its catalog";
  return table;
}

arrow::Result<LoadedTable> PathCatalog::CreateTable(const TableIdentifier& identifier, TableMetadata metadata) {
  if (metadata.location != identifier.name) {
    return MakeError(ErrorKind::kInvalidInput, "a table in {} cannot have the location {}", identifier.name, metadata.location);
  }
  return tables_.Create(identifier, std::move(metadata));
}

arrow::Status PathCatalog::DropTable(const TableIdentifier& identifier) { return tables_.Drop(identifier, identifier.name); }

arrow::Result<LoadedTable> PathCatalog::CommitTable(const LoadedTable& base, TableMetadata updated) {
  return tables_.Commit(base, std::move(updated));
}

}  // namespace icebound::iceberg
