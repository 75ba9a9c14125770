// SPDX-License-Identifier: Apache-2.0
#include "session/table_catalog.h"

#include <algorithm>
#include <cctype>

#include <fmt/ranges.h>

#include "base/error.h"
#include "bridge/iceberg_relations.h"
#include "io/csv/csv_options.h"
#include "io/csv/csv_table.h"
#include "planner/csv_table.h"
#include "planner/parquet_table.h"
#include "planner/series_table.h"

namespace icebound {
namespace {

std::string LowerCase(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

std::string DottedName(const std::vector<std::string>& parts) { return fmt::format("{}", fmt::join(parts, ".")); }

}  // namespace

arrow::Status TableCatalog::Register(std::string name, std::shared_ptr<plan::TableSource> table) {
  if (name.empty()) return MakeError(ErrorKind::kInvalidInput, "a table needs a name");
  std::lock_guard lock(mutex_);
  tables_[std::move(name)] = std::move(table);
  return arrow::Status::OK();
}

void TableCatalog::SetProperty(const std::string& key, const std::string& value) {
  std::lock_guard lock(mutex_);
  properties_[key] = value;
  properties_changed_ = true;
}

io::FileSystems* TableCatalog::file_systems() {
  std::lock_guard lock(mutex_);
  if (properties_changed_) {
    file_systems_.push_back(std::make_unique<io::FileSystems>(properties_, resources_.ledger->pool()));
    properties_changed_ = false;
  }
  return file_systems_.back().get();
}

arrow::Result<std::shared_ptr<plan::TableSource>> TableCatalog::OpenParquet(const std::string& path,
                                                                            const ParquetReadOptions& options) {
  return planner::OpenParquetTable(path, options, file_systems(), resources_.ledger.get());
}

arrow::Result<std::shared_ptr<plan::TableSource>> TableCatalog::OpenCsv(const std::string& path, const CsvReadOptions& options) {
  return planner::OpenCsvTable(path, options, file_systems(), resources_.ledger.get());
}

bridge::Catalogs& TableCatalog::catalogs() {
  std::call_once(catalogs_made_, [this] {
    catalogs_ = std::make_unique<bridge::Catalogs>(resources_.ledger.get(), [this] { return file_systems(); });
    has_catalogs_ = true;
  });
  return *catalogs_;
}

void TableCatalog::ForgetIcebergTables() {
  if (has_catalogs_) catalogs_->ForgetLoaded();
}

arrow::Status TableCatalog::AttachCatalog(const std::string& name, const std::map<std::string, std::string>& properties) {
  return catalogs().Attach(name, iceberg::StringPairs(properties.begin(), properties.end()));
}

std::shared_ptr<plan::TableSource> TableCatalog::FindRegistered(const std::string& name) const {
  std::lock_guard lock(mutex_);
  if (const auto found = tables_.find(name); found != tables_.end()) return found->second;
  // SQL folds unquoted names to lower case; the host program registered what it liked.
  for (const auto& [known, table] : tables_) {
    if (LowerCase(known) == name) return table;
  }
  return nullptr;
}

arrow::Result<plan::ResolvedTable> TableCatalog::ResolveName(const std::vector<std::string>& parts) {
  const std::string name = DottedName(parts);
  if (auto table = FindRegistered(name)) return table;
  // Tables of catalogs have a namespace.
  if (parts.size() < 2) return MakeError(ErrorKind::kNotFound, "relation \"{}\" does not exist", name);
  ARROW_ASSIGN_OR_RAISE(const bridge::NamedTable table, catalogs().LoadName(parts));
  plan::IcebergPart at_fault = plan::IcebergPart::kTable;
  return bridge::ReadIceberg(table, {}, resources_.ledger.get(), &at_fault);
}

arrow::Result<plan::ResolvedTable> TableCatalog::ResolveIceberg(const plan::IcebergReference& reference,
                                                                plan::IcebergPart* at_fault) {
  *at_fault = plan::IcebergPart::kTable;
  ARROW_ASSIGN_OR_RAISE(const bridge::NamedTable table, catalogs().LoadText(reference.table));
  return bridge::ReadIceberg(table, reference, resources_.ledger.get(), at_fault);
}

arrow::Status TableCatalog::SetView(const std::vector<std::string>& parts, plan::PlanPtr plan, int64_t plan_bytes) {
  std::lock_guard lock(mutex_);
  if (view_consumer_ == nullptr) view_consumer_ = resources_.ledger->AddConsumer("views");
  View view{std::move(plan), memory::Reservation(view_consumer_.get())};
  ARROW_RETURN_NOT_OK(view.heap.ResizeTo(plan_bytes));
  views_[DottedName(parts)] = std::move(view);
  return arrow::Status::OK();
}

void TableCatalog::DropView(const std::vector<std::string>& parts) {
  std::lock_guard lock(mutex_);
  views_.erase(DottedName(parts));
}

plan::PlanPtr TableCatalog::ResolveView(const std::vector<std::string>& parts) {
  std::lock_guard lock(mutex_);
  const auto found = views_.find(DottedName(parts));
  return found != views_.end() ? found->second.plan : nullptr;
}

arrow::Result<std::shared_ptr<plan::TableSource>> TableCatalog::ResolveCsv(
    const std::string& path, const std::vector<std::pair<std::string, std::string>>& options) {
  ARROW_ASSIGN_OR_RAISE(const CsvReadOptions parsed, io::ParseCsvOptions(options));
  return OpenCsv(path, parsed);
}

arrow::Result<std::shared_ptr<plan::TableSource>> TableCatalog::ResolveSeries(const plan::SeriesBounds& bounds) {
  return planner::MakeSeriesTable(bounds);
}

arrow::Result<std::shared_ptr<plan::TableSource>> TableCatalog::ResolvePath(const std::string& path) {
  return io::IsCsvPath(path) ? OpenCsv(path, {}) : OpenParquet(path, {});
}

std::vector<std::string> TableCatalog::TableNames() const {
  std::lock_guard lock(mutex_);
  std::vector<std::string> names;
  for (const auto& [name, table] : tables_) names.push_back(name);
  for (const auto& [name, view] : views_) names.push_back(name);
  return names;
}

}  // namespace icebound
