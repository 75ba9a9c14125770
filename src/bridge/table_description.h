// SPDX-License-Identifier: Apache-2.0
//
// Describes a table: what its metadata says, and what its manifests add up to. The sums are SQL over metadata tables, so that a
// table of a million files in as many partitions is described within the limit.
//
// What a table needs is judged by the rules of Spark's procedures with their default options:
//
//   compact                    rewrite_data_files: of the files outside 75 % to 180 % of the target size, or of whose rows 30 %
//                              are deleted by deletes about that file alone, a partition is rewritten when it has five, or two
//                              that are more than a target file together, or more than the largest size, or one with that many
//                              deletes. Files of other specs than the current are one partition
//   rewrite-position-deletes   rewrite_position_delete_files: the same by size, for files of position deletes
//   resolve-deletes            there are equality deletes; or position delete files in a table of format version 3
//   expire-snapshots           expire_snapshots with the table's properties history.expire.*, and those of its branches and tags
//   rewrite-manifests          commit.manifest.min-count-to-merge or more manifests that are smaller than half of
//                              commit.manifest.target-size-bytes
#pragma once

#include <arrow/record_batch.h>
#include <arrow/result.h>

#include <functional>
#include <memory>
#include <string>

#include "bridge/catalogs.h"
#include "icebound/table.h"
#include "plan/table_source.h"

namespace icebound::bridge {

/// Runs one query over the tables of a resolver.
using QueryRunner =
    std::function<arrow::Result<std::shared_ptr<arrow::RecordBatchReader>>(const std::string& text, plan::TableResolver& tables)>;

/// `now_ms` is the time by which snapshots are old.
arrow::Result<TableDescription> DescribeTable(const NamedTable& table, int64_t now_ms, memory::MemoryLedger* ledger,
                                              const QueryRunner& run);

/// The snapshots that expiring would remove, as expire-snapshots above says. Pure.
int64_t CountExpiredSnapshots(const iceberg::TableMetadata& metadata, int64_t now_ms);

}  // namespace icebound::bridge
