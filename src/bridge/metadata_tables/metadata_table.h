// SPDX-License-Identifier: Apache-2.0
//
// What a table knows of itself, as tables: the columns and types of Spark's metadata tables.
//
//   of the whole table     snapshots              one row a snapshot
//                          history                one row each time the current snapshot changed
//                          refs                   branches and tags
//                          metadata_log_entries   the metadata files so far
//   of one snapshot        manifests
//                          files                  live data and delete files; data_files and delete_files are one kind of them
//                          entries                all files with what was done to them, deleted ones included
//                          partitions             live files added up by partition
//
// Those of the whole table come from its metadata, which is in memory already. The others are read from manifests while their
// rows are asked for: one manifest at a time, in batches bounded by rows and bytes. partitions is a plan, a GROUP BY over the
// live files, which spills as any does.
//
// The partition of a file is a struct of all fields that any spec of the table has, by field id; there is none in a table that
// was never partitioned. readable_metrics is left out.
#pragma once

#include <arrow/result.h>

#include <memory>
#include <string>
#include <string_view>

#include "bridge/catalogs.h"
#include "bridge/table_version.h"
#include "plan/table_source.h"

namespace icebound::bridge {

bool IsMetadataTable(std::string_view name);
/// kNotFound, with the nearest name.
arrow::Status CheckMetadataTable(std::string_view name, const std::string& table);
/// True when its rows are of one snapshot, so that a version may be asked for.
bool IsOfOneSnapshot(std::string_view metadata_table);

/// `name` is one of those above. `pool` evaluates the constants of the query that a metadata table may be.
arrow::Result<plan::ResolvedTable> MakeMetadataTable(const NamedTable& table, const TableVersion& version, std::string_view name,
                                                     arrow::MemoryPool* pool);

}  // namespace icebound::bridge
