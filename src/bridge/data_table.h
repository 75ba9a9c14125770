// SPDX-License-Identifier: Apache-2.0
//
// The data files of a snapshot as a table source, position deletes applied; and what joins with equality deletes need beside the
// table's columns.
#pragma once

#include <arrow/type.h>

#include <map>
#include <memory>
#include <vector>

#include "bridge/snapshot_read.h"
#include "iceberg/scan/table_scan.h"
#include "plan/table_source.h"

namespace icebound::bridge {

/// Which of the data files.
enum class DataFiles { kAll, kWithEqualityDeletes, kWithoutEqualityDeletes };

/// The columns of a DataTable: first the table's, then `_file`, `_pos`, in v3 the row lineage, and then
struct DataColumns {
  std::shared_ptr<arrow::Schema> schema;
  int table_columns = 0;
  int sequence = -1;              ///< data sequence number of the file, int64
  int scope = -1;                 ///< partition scope of the file, binary
  std::map<int32_t, int> extras;  ///< by field id: columns that the schema does not have (any more)
};

/// `extras` are fields that equality deletes are about and the schema read with does not have.
DataColumns MakeDataColumns(const SnapshotRead& read, const std::vector<iceberg::Field>& extras);

/// Filters prune files, row groups and pages, and drop rows exactly. `deletes` is a scan of the snapshot without a filter, whose
/// deletes serve here too; files are divided by it. With kAll it may be null: then the deletes that the filter needs are read.
std::shared_ptr<plan::TableSource> MakeDataTable(std::shared_ptr<const SnapshotRead> read, DataColumns columns, DataFiles which,
                                                 std::shared_ptr<const iceberg::TableScan> deletes = nullptr);

}  // namespace icebound::bridge
