// SPDX-License-Identifier: Apache-2.0
#include "bridge/iceberg_table.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "bridge/data_table.h"
#include "bridge/equality_deletes.h"
#include "bridge/snapshot_read.h"
#include "iceberg/scan/table_scan.h"

namespace icebound::bridge {
namespace {

plan::PlanPtr ScanOf(std::shared_ptr<plan::TableSource> table, const std::string& name) {
  plan::ScanRequest request;
  request.projection.resize(static_cast<size_t>(table->schema()->num_fields()));
  std::iota(request.projection.begin(), request.projection.end(), 0);
  return std::make_shared<plan::ScanNode>(std::move(table), name, std::move(request));
}

/// The table's own columns, and behind them those that no table has, unless it has one of that name.
plan::PlanPtr TableColumns(plan::PlanPtr data, const DataColumns& columns) {
  std::vector<expr::ExprPtr> exprs;
  std::vector<std::string> names;
  for (int i = 0; i < columns.sequence; ++i) {
    const arrow::Field& field = *data->schema()->field(i);
    if (i >= columns.table_columns && std::find(names.begin(), names.end(), field.name()) != names.end()) continue;
    exprs.push_back(expr::MakeColumn(i, field));
    names.push_back(field.name());
  }
  return std::make_shared<plan::ProjectNode>(std::move(data), std::move(exprs), std::move(names));
}

plan::ResolvedTable Resolved(plan::PlanPtr plan, const DataColumns& columns) {
  const int hidden = plan->schema()->num_fields() - columns.table_columns;
  return {std::move(plan), hidden};
}

/// The delete index of a snapshot, with the consumer that it is charged to.
struct OpenedScan {
  std::unique_ptr<memory::MemoryConsumer> consumer;
  std::unique_ptr<iceberg::TableScan> scan;
};

arrow::Result<std::shared_ptr<const iceberg::TableScan>> OpenScan(const SnapshotRead& read) {
  auto opened = std::make_shared<OpenedScan>();
  opened->consumer = read.ledger->AddConsumer("deletes of " + read.name);
  ARROW_ASSIGN_OR_RAISE(
      opened->scan,
      iceberg::TableScan::Open(
          {.table = read.metadata, .snapshot = read.snapshot, .open = read.open, .consumer = opened->consumer.get()}));
  const iceberg::TableScan* scan = opened->scan.get();
  return std::shared_ptr<const iceberg::TableScan>(std::move(opened), scan);
}

}  // namespace

arrow::Result<plan::ResolvedTable> OpenIcebergTable(const iceberg::LoadedTable& table, const iceberg::Snapshot* snapshot,
                                                    const iceberg::Schema& schema, const std::string& name,
                                                    io::FileSystems* file_systems, memory::MemoryLedger* ledger) {
  ARROW_ASSIGN_OR_RAISE(const std::shared_ptr<const SnapshotRead> read,
                        MakeSnapshotRead(table, snapshot, schema, name, file_systems, ledger));
  ARROW_ASSIGN_OR_RAISE(const std::shared_ptr<const iceberg::TableScan> deletes, OpenScan(*read));
  if (deletes->equality_groups().empty()) {
    const DataColumns columns = MakeDataColumns(*read, {});
    return Resolved(TableColumns(ScanOf(MakeDataTable(read, columns, DataFiles::kAll), name), columns), columns);
  }
  ARROW_ASSIGN_OR_RAISE(const std::vector<iceberg::Field> dropped, DroppedKeyColumns(*read, *deletes));
  const DataColumns columns = MakeDataColumns(*read, dropped);
  plan::PlanPtr deleted = ScanOf(MakeDataTable(read, columns, DataFiles::kWithEqualityDeletes, deletes), name);
  ARROW_ASSIGN_OR_RAISE(deleted, WithoutDeletedRows(std::move(deleted), columns, read, deletes));
  plan::PlanPtr whole = ScanOf(MakeDataTable(read, columns, DataFiles::kWithoutEqualityDeletes, deletes), name);
  std::vector<plan::PlanPtr> branches = {TableColumns(std::move(whole), columns), TableColumns(std::move(deleted), columns)};
  return Resolved(std::make_shared<plan::UnionAllNode>(std::move(branches)), columns);
}

}  // namespace icebound::bridge
