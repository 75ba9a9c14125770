// SPDX-License-Identifier: Apache-2.0
#include "bridge/iceberg_relations.h"

#include "base/error.h"
#include "bridge/iceberg_table.h"
#include "bridge/metadata_tables/metadata_table.h"
#include "bridge/table_version.h"

namespace icebound::bridge {

arrow::Result<plan::ResolvedTable> ReadIceberg(const NamedTable& table, const plan::IcebergReference& reference,
                                               memory::MemoryLedger* ledger, plan::IcebergPart* at_fault) {
  *at_fault = plan::IcebergPart::kMetadataTable;
  if (!table.metadata_table.empty() && !reference.metadata_table.empty()) {
    return MakeError(ErrorKind::kInvalidInput, "\"{}\" is a metadata table already, and has no metadata table \"{}\"",
                     table.metadata_table, reference.metadata_table);
  }
  const std::string& metadata_table = reference.metadata_table.empty() ? table.metadata_table : reference.metadata_table;
  if (!metadata_table.empty()) ARROW_RETURN_NOT_OK(CheckMetadataTable(metadata_table, table.name));
  *at_fault = plan::IcebergPart::kVersion;
  if (!metadata_table.empty() && !IsOfOneSnapshot(metadata_table) && reference.names_version()) {
    return MakeError(ErrorKind::kInvalidInput, "\"{}\" is about the whole table: it has no versions", metadata_table);
  }
  ARROW_ASSIGN_OR_RAISE(const TableVersion version, SelectVersion(*table.loaded.metadata, reference));
  *at_fault = plan::IcebergPart::kTable;
  if (!metadata_table.empty()) return MakeMetadataTable(table, version, metadata_table, ledger->pool());
  return OpenIcebergTable(table.loaded, version.snapshot, *version.schema, table.name, table.file_systems, ledger);
}

}  // namespace icebound::bridge
