// SPDX-License-Identifier: Apache-2.0
#include "bridge/iceberg_table.h"

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

/// Only the table's own columns.
plan::PlanPtr TableColumns(plan::PlanPtr data, int count) {
  std::vector<expr::ExprPtr> exprs;
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) {
    exprs.push_back(expr::MakeColumn(i, *data->schema()->field(i)));
    names.push_back(data->schema()->field(i)->name());
  }
  return std::make_shared<plan::ProjectNode>(std::move(data), std::move(exprs), std::move(names));
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

arrow::Result<plan::PlanPtr> OpenIcebergTable(const iceberg::LoadedTable& table, const iceberg::Snapshot* snapshot,
                                              const iceberg::Schema& schema, const std::string& name,
                                              io::FileSystems* file_systems, memory::MemoryLedger* ledger) {
  ARROW_ASSIGN_OR_RAISE(const std::shared_ptr<const SnapshotRead> read,
                        MakeSnapshotRead(table, snapshot, schema, name, file_systems, ledger));
  ARROW_ASSIGN_OR_RAISE(const std::shared_ptr<const iceberg::TableScan> deletes, OpenScan(*read));
  if (deletes->equality_groups().empty()) {
    const DataColumns columns = MakeDataColumns(*read, {});
    return TableColumns(ScanOf(MakeDataTable(read, columns, DataFiles::kAll), name), columns.table_columns);
  }
  ARROW_ASSIGN_OR_RAISE(const std::vector<iceberg::Field> dropped, DroppedKeyColumns(*read, *deletes));
  const DataColumns columns = MakeDataColumns(*read, dropped);
  plan::PlanPtr deleted = ScanOf(MakeDataTable(read, columns, DataFiles::kWithEqualityDeletes), name);
  ARROW_ASSIGN_OR_RAISE(deleted, WithoutDeletedRows(std::move(deleted), columns, read, deletes));
  plan::PlanPtr whole = ScanOf(MakeDataTable(read, columns, DataFiles::kWithoutEqualityDeletes), name);
  return std::make_shared<plan::UnionAllNode>(std::vector<plan::PlanPtr>{
      TableColumns(std::move(whole), columns.table_columns), TableColumns(std::move(deleted), columns.table_columns)});
}

}  // namespace icebound::bridge
