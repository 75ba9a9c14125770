// SPDX-License-Identifier: Apache-2.0
//
// What a table knows of itself, as tables: the columns and types of Spark's metadata tables.
//
//   snapshots    one row a snapshot                     history     one row each time the current snapshot changed
//   refs         branches and tags                      metadata_log_entries   the metadata files so far
//   manifests    of one snapshot                        files       data and delete files of one snapshot; data_files,
//   entries      files of one snapshot with what was    delete_files: one kind of them
//                done to them, deleted ones included    partitions  files added up by partition
//
// Those on the left but refs' neighbours come from the table's metadata, which is in memory already; the others are read from
// manifests while the rows are asked for: one manifest at a time, in batches bounded by rows and bytes. partitions is a plan, a
// GROUP BY over entries, which spills as any does.
//
// The partition of a file is a struct of all fields that any spec of the table has, by field id; it is not there at all in a table
// that was never partitioned. readable_metrics is left out.
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
/// True when it has one row set a snapshot, so that a version may be asked for.
bool IsOfOneSnapshot(std::string_view metadata_table);

/// `name` is one of those above. `pool` evaluates the constants of the query that a metadata table may be.
arrow::Result<plan::ResolvedTable> MakeMetadataTable(const NamedTable& table, const TableVersion& version, std::string_view name,
                                                     arrow::MemoryPool* pool);

}  // namespace icebound::bridge
