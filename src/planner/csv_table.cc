// SPDX-License-Identifier: Apache-2.0
#include "planner/csv_table.h"

#include "io/csv/csv_table.h"

namespace icebound::planner {
namespace {

/// Thread safe.
class CsvTableSource final : public plan::TableSource {
 public:
  explicit CsvTableSource(std::shared_ptr<io::CsvTable> table) : table_(std::move(table)) {}

  const std::shared_ptr<arrow::Schema>& schema() const override { return table_->schema(); }
  plan::TableStatistics statistics() const override { return {.rows = table_->rows(), .bytes = table_->total_bytes()}; }
  std::string Describe() const override { return table_->Describe(); }
  arrow::Result<std::unique_ptr<runtime::StreamSource>> Scan(const plan::ScanRequest& request,
                                                             runtime::QueryContext* context) const override {
    // Filters stay in the plan, and a limit below them is no number of rows that are enough.
    const std::optional<int64_t> limit = request.filters.empty() ? request.limit : std::nullopt;
    return table_->Scan({.projection = request.projection, .limit = limit, .ordered = request.ordered}, context);
  }

 private:
  const std::shared_ptr<io::CsvTable> table_;
};

}  // namespace

arrow::Result<std::shared_ptr<plan::TableSource>> OpenCsvTable(const std::string& path, const CsvReadOptions& options,
                                                               io::FileSystems* file_systems, memory::MemoryLedger* ledger) {
  ARROW_ASSIGN_OR_RAISE(auto table, io::CsvTable::Open(file_systems, path, ledger, options));
  return std::make_shared<CsvTableSource>(std::move(table));
}

}  // namespace icebound::planner
