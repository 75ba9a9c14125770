// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <arrow/memory_pool.h>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "bridge/catalogs.h"
#include "icebound/source_options.h"
#include "io/file_systems.h"
#include "plan/logical_plan.h"
#include "plan/table_source.h"
#include "session/statement.h"

namespace icebound {

/// The tables and views of one session by name, its Iceberg catalogs, and the file systems behind paths. Thread safe.
class TableCatalog final : public plan::TableResolver {
 public:
  explicit TableCatalog(const SessionResources& resources) : resources_(resources) {}

  arrow::Status AttachCatalog(const std::string& name, const std::map<std::string, std::string>& properties);

  /// As iceberg('...') takes it.
  arrow::Result<bridge::NamedTable> LoadIceberg(const std::string& table) { return catalogs().LoadText(table); }

  /// Iceberg tables stay as they are from here to the end of a statement's binding.
  class StatementView {
   public:
    explicit StatementView(TableCatalog* catalog) : catalog_(catalog) { catalog_->ForgetIcebergTables(); }
    ~StatementView() { catalog_->ForgetIcebergTables(); }
    StatementView(const StatementView&) = delete;
    StatementView& operator=(const StatementView&) = delete;

   private:
    TableCatalog* const catalog_;
  };

  /// Adds or replaces a name. kInvalidInput for an empty one.
  arrow::Status Register(std::string name, std::shared_ptr<plan::TableSource> table);
  void SetProperty(const std::string& key, const std::string& value);

  /// The file systems with the properties set so far; valid as long as the catalog.
  io::FileSystems* file_systems();

  arrow::Result<std::shared_ptr<plan::TableSource>> OpenParquet(const std::string& path, const ParquetReadOptions& options);
  arrow::Result<std::shared_ptr<plan::TableSource>> OpenCsv(const std::string& path, const CsvReadOptions& options);

  /// Adds or replaces, or forgets, a view. Its plan takes `plan_bytes` of heap, which are charged as long as it is there.
  arrow::Status SetView(const std::vector<std::string>& parts, plan::PlanPtr plan, int64_t plan_bytes);
  void DropView(const std::vector<std::string>& parts);

  arrow::Result<plan::ResolvedTable> ResolveName(const std::vector<std::string>& parts) override;
  arrow::Result<plan::ResolvedTable> ResolveIceberg(const plan::IcebergReference& reference,
                                                    plan::IcebergPart* at_fault) override;
  plan::PlanPtr ResolveView(const std::vector<std::string>& parts) override;
  arrow::Result<std::shared_ptr<plan::TableSource>> ResolveCsv(
      const std::string& path, const std::vector<std::pair<std::string, std::string>>& options) override;
  arrow::Result<std::shared_ptr<plan::TableSource>> ResolveSeries(const plan::SeriesBounds& bounds) override;
  arrow::Result<std::shared_ptr<plan::TableSource>> ResolvePath(const std::string& path) override;
  std::vector<std::string> TableNames() const override;

 private:
  void ForgetIcebergTables();
  /// Made when first needed: sessions over files alone never read PyIceberg's configuration.
  bridge::Catalogs& catalogs();
  std::shared_ptr<plan::TableSource> FindRegistered(const std::string& name) const;

  struct View {
    plan::PlanPtr plan;
    memory::Reservation heap;
  };

  const SessionResources& resources_;
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<plan::TableSource>> tables_;  // guarded by mutex_
  std::unique_ptr<memory::MemoryConsumer> view_consumer_;             // guarded by mutex_; made for the first view
  std::map<std::string, View> views_;                                 // guarded by mutex_
  io::StorageProperties properties_;                                  // guarded by mutex_
  bool properties_changed_ = true;                                    // guarded by mutex_
  // All that were ever made: tables opened through an earlier one keep using it. Guarded by mutex_.
  std::vector<std::unique_ptr<io::FileSystems>> file_systems_;
  std::once_flag catalogs_made_;
  std::atomic<bool> has_catalogs_{false};
  std::unique_ptr<bridge::Catalogs> catalogs_;  // constant once made
};

}  // namespace icebound
