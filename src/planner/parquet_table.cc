// SPDX-License-Identifier: Apache-2.0
#include "planner/parquet_table.h"

#include <mutex>
#include <optional>
#include <vector>

#include "io/parquet_table.h"

namespace icebound::planner {
namespace {

/// Thread safe.
class ParquetTableSource final : public plan::TableSource {
 public:
  explicit ParquetTableSource(std::shared_ptr<io::ParquetTable> table) : table_(std::move(table)) {}

  const std::shared_ptr<arrow::Schema>& schema() const override { return table_->schema(); }
  plan::TableStatistics statistics() const override { return {.rows = table_->rows(), .bytes = table_->total_bytes()}; }
  arrow::Result<std::vector<plan::ColumnStatistics>> column_statistics() const override {
    std::lock_guard lock(mutex_);
    if (column_statistics_) return *column_statistics_;
    std::vector<plan::ColumnStatistics> statistics;
    ARROW_ASSIGN_OR_RAISE(const std::vector<io::ParquetColumnStatistics> columns, table_->ReadStatistics());
    for (const io::ParquetColumnStatistics& column : columns) {
      statistics.push_back({.min = column.min,
                            .max = column.max,
                            .null_count = column.null_count,
                            .distinct_count = column.distinct_count,
                            .value_bytes = column.value_bytes});
    }
    column_statistics_ = statistics;
    return statistics;
  }
  std::string Describe() const override { return table_->Describe(); }
  bool AppliesFiltersExactly() const override { return true; }
  arrow::Result<std::unique_ptr<runtime::StreamSource>> Scan(const plan::ScanRequest& request,
                                                             runtime::QueryContext* context) const override {
    io::ParquetScanRequest scan{
        .projection = request.projection, .filters = request.filters, .limit = request.limit, .ordered = request.ordered};
    for (const plan::ScanProbeFilter& probe : request.probe_filters) scan.probe_filters.push_back({probe.filter, probe.columns});
    return table_->Scan(std::move(scan), context);
  }

 private:
  const std::shared_ptr<io::ParquetTable> table_;
  mutable std::mutex mutex_;
  mutable std::optional<std::vector<plan::ColumnStatistics>> column_statistics_;  // guarded by mutex_; read when first asked for
};

}  // namespace

arrow::Result<std::shared_ptr<plan::TableSource>> OpenParquetTable(const std::string& path, const ParquetReadOptions& options,
                                                                   io::FileSystems* file_systems, memory::MemoryLedger* ledger) {
  ARROW_ASSIGN_OR_RAISE(auto table, io::ParquetTable::Open(file_systems, path, ledger,
                                                           {.expected_schema = options.expected_schema,
                                                            .check_all_files = options.check_all_files}));
  return std::make_shared<ParquetTableSource>(std::move(table));
}

}  // namespace icebound::planner
