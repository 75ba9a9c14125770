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

#include <cstdint>
#include <optional>
#include <string>

#include "iceberg/catalog/catalog.h"
#include "io/file_systems.h"
#include "memory/memory_ledger.h"
#include "plan/logical_plan.h"

namespace icebound::bridge {

/// Which snapshot is read; at most one of these. None: the current one.
struct SnapshotChoice {
  std::optional<int64_t> snapshot_id;
  std::optional<int64_t> as_of_ms;  ///< the one that was current then, UTC milliseconds since the epoch
  std::optional<std::string> ref;   ///< a branch or a tag
};

/// The snapshot that `choice` means; null when the table has none. kNotFound naming what there is not, kInvalidInput for two
/// choices at once.
arrow::Result<const iceberg::Snapshot*> ChooseSnapshot(const iceberg::TableMetadata& metadata, const SnapshotChoice& choice);

/// The table's rows as of a snapshot, with the columns of its schema: for plan::TableResolver::ResolveView. `name` is what
/// EXPLAIN calls it. Reads the manifest list and the manifests of deletes. `file_systems` and `ledger` must outlive the plan.
arrow::Result<plan::PlanPtr> OpenIcebergTable(const iceberg::LoadedTable& table, const SnapshotChoice& choice,
                                              const std::string& name, io::FileSystems* file_systems,
                                              memory::MemoryLedger* ledger);

}  // namespace icebound::bridge
