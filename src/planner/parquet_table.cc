// SPDX-License-Identifier: Apache-2.0
#include "planner/parquet_table.h"

#include "io/parquet_table.h"

namespace icebound::planner {
namespace {

/// Thread safe: immutable.
class ParquetTableSource final : public plan::TableSource {
 public:
  explicit ParquetTableSource(std::shared_ptr<io::ParquetTable> table) : table_(std::move(table)) {}

  const std::shared_ptr<arrow::Schema>& schema() const override { return table_->schema(); }
  plan::TableStatistics statistics() const override { return {.rows = table_->rows(), .bytes = table_->total_bytes()}; }
  std::string Describe() const override { return table_->Describe(); }
  arrow::Result<std::unique_ptr<runtime::StreamSource>> Scan(const plan::ScanRequest& request,
                                                             runtime::QueryContext* context) const override {
    return table_->Scan(
        {.projection = request.projection, .filters = request.filters, .limit = request.limit, .ordered = request.ordered},
        context);
  }

 private:
  const std::shared_ptr<io::ParquetTable> table_;
};

}  // namespace

arrow::Result<std::shared_ptr<plan::TableSource>> OpenParquetTable(const std::string& path, io::FileSystems* file_systems,
                                                                   memory::MemoryLedger* ledger) {
  ARROW_ASSIGN_OR_RAISE(auto table, io::ParquetTable::Open(file_systems, path, ledger));
  return std::make_shared<ParquetTableSource>(std::move(table));
}

}  // namespace icebound::planner
