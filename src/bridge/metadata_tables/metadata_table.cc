// SPDX-License-Identifier: Apache-2.0
#include "bridge/metadata_tables/metadata_table.h"

#include <algorithm>

#include "base/error.h"
#include "bridge/metadata_tables/manifest_tables.h"
#include "bridge/metadata_tables/partitions_query.h"
#include "bridge/metadata_tables/snapshot_tables.h"
#include "sql/nearest_name.h"

namespace icebound::bridge {
namespace {

const std::vector<std::string>& Names() {
  static const std::vector<std::string> names = {"snapshots", "history", "refs",       "metadata_log_entries", "manifests",
                                                 "files",     "entries", "data_files", "delete_files",         "partitions"};
  return names;
}

constexpr size_t kFirstOfOneSnapshot = 4;

}  // namespace

bool IsMetadataTable(std::string_view name) { return std::find(Names().begin(), Names().end(), name) != Names().end(); }

bool IsOfOneSnapshot(std::string_view metadata_table) {
  return std::find(Names().begin() + kFirstOfOneSnapshot, Names().end(), metadata_table) != Names().end();
}

arrow::Status CheckMetadataTable(std::string_view name, const std::string& table) {
  if (IsMetadataTable(name)) return arrow::Status::OK();
  return MakeError(ErrorKind::kNotFound, "table \"{}\" has no metadata table \"{}\"{}", table, name,
                   sql::SuggestionText(name, Names()));
}

arrow::Result<plan::ResolvedTable> MakeMetadataTable(const NamedTable& table, const TableVersion& version, std::string_view name,
                                                     arrow::MemoryPool* pool) {
  if (name == "snapshots") return MakeSnapshotsTable(table);
  if (name == "history") return MakeHistoryTable(table);
  if (name == "refs") return MakeRefsTable(table);
  if (name == "metadata_log_entries") return MakeMetadataLogTable(table);
  if (name == "manifests") return MakeManifestsTable(table, version);
  if (name == "files") return MakeFilesTable(table, version, FileKinds::kAll);
  if (name == "data_files") return MakeFilesTable(table, version, FileKinds::kData);
  if (name == "delete_files") return MakeFilesTable(table, version, FileKinds::kDeletes);
  if (name == "entries") return MakeEntriesTable(table, version);
  if (name == "partitions") return MakePartitionsQuery(table, version, pool);
  return MakeError(ErrorKind::kInternal, "no metadata table {}", name);
}

}  // namespace icebound::bridge
