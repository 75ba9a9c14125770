// SPDX-License-Identifier: Apache-2.0
//
// Equality deletes as joins of the plan: see iceberg_table.h for the picture.
//
// A group of delete files with the same key columns is one table: its keys, the sequence number of each file and, unless the
// deletes are about every partition, the partition scope. Where a key may stand in files of several commits, only its highest
// sequence number counts: an aggregate finds it, so that the join sees every key once.
//
//   data row goes  when  key IS NOT DISTINCT FROM key  (NULL equals NULL, NaN equals NaN)
//                  and   scope = scope                 (unless global)
//                  and   delete sequence number > data sequence number
//
// Keys go by field id. One that the schema no longer has is found in the schemas before it, and read from the data files as one
// more column; where a data file is older than the column, its initial default or NULL stands there. A key inside a struct is a
// field of that struct; NULL where the struct is.
#pragma once

#include <arrow/result.h>

#include <memory>
#include <vector>

#include "bridge/data_table.h"
#include "bridge/snapshot_read.h"
#include "iceberg/scan/table_scan.h"
#include "plan/logical_plan.h"

namespace icebound::bridge {

/// Key columns of the scan's groups that the schema read with does not have, for MakeDataColumns: whole columns of the top.
/// kCorruptData for an id that no schema of the table ever had.
arrow::Result<std::vector<iceberg::Field>> DroppedKeyColumns(const SnapshotRead& read, const iceberg::TableScan& scan);

/// `data`, which has the columns of a data table, without the rows that the deletes of `scan` are about.
arrow::Result<plan::PlanPtr> WithoutDeletedRows(plan::PlanPtr data, const DataColumns& columns,
                                                std::shared_ptr<const SnapshotRead> read,
                                                std::shared_ptr<const iceberg::TableScan> scan);

}  // namespace icebound::bridge
