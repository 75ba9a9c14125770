// SPDX-License-Identifier: Apache-2.0
//
// An Iceberg table as a table of a query.
//
// What comes out is a plan, as of a view, not a TableSource: equality deletes are joins, and the engine's own operators run them,
// so that they spill, are pushed through and show in EXPLAIN like any other join.
//
//     Project: the table's columns
//       UnionAll                                      (one branch alone when all files are of one kind)
//         Scan: files that no equality delete is about
//         Join: anti, key IS NOT DISTINCT FROM key [and scope = scope], delete sequence > data sequence
//           Scan: the other files, with hidden columns (sequence number, partition scope, keys that were dropped)
//           Aggregate: max(sequence) by key [and scope]
//             Scan: the files of one EqualityDeleteGroup
//
// Position deletes and deletion vectors are no joins: the scan leaves the rows out before it decodes them.
#pragma once

#include <arrow/result.h>

#include <string>

#include "iceberg/catalog/catalog.h"
#include "io/file_systems.h"
#include "memory/memory_ledger.h"
#include "plan/logical_plan.h"

namespace icebound::bridge {

/// The rows of a snapshot (null: of a table without one, which has none) with the columns of `schema`; both are of the table's
/// metadata. `name` is what EXPLAIN and messages call it. Reads the manifest list and the manifests of deletes. The file systems
/// and the ledger must outlive the plan.
/// Hidden columns are `_file` and `_pos`, and in v3 `_row_id` and `_last_updated_sequence_number`.
arrow::Result<plan::ResolvedTable> OpenIcebergTable(const iceberg::LoadedTable& table, const iceberg::Snapshot* snapshot,
                                                    const iceberg::Schema& schema, const std::string& name,
                                                    io::FileSystems* file_systems, memory::MemoryLedger* ledger);

}  // namespace icebound::bridge
