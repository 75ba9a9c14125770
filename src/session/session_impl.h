// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "icebound/session.h"
#include "session/session_metrics.h"
#include "session/statement.h"
#include "session/table_catalog.h"
#include "sql/statement.h"

namespace icebound {

/// The session behind the public face: resources, the table catalog, and the road from text to a planned statement. Thread safety
/// as Session says.
class SessionImpl final : public Session, public std::enable_shared_from_this<SessionImpl> {
 public:
  static arrow::Result<std::shared_ptr<SessionImpl>> Make(const BoundedSessionConfig& config);
  ~SessionImpl() override;

  arrow::Status RegisterParquet(std::string name, const std::string& path_or_glob_or_dir,
                                const ParquetReadOptions& options) override;
  arrow::Status RegisterCsv(std::string name, const std::string& path_or_glob_or_dir, const CsvReadOptions& options) override;
  arrow::Status RegisterArrow(std::string name, std::shared_ptr<arrow::RecordBatchReader> reader) override;
  arrow::Status AttachCatalog(const std::string& name, const std::map<std::string, std::string>& properties) override;
  arrow::Result<TableDescription> DescribeTable(const std::string& table) override;
  arrow::Status SetProperty(const std::string& key, const std::string& value) override;
  arrow::Result<std::unique_ptr<Result>> Sql(std::string_view text, const QueryParameters& parameters) override {
    return SqlInScript({}, {std::string(text), 0}, parameters);
  }
  arrow::Result<std::unique_ptr<Result>> SqlInScript(std::string_view script, const ScriptStatement& part,
                                                     const QueryParameters& parameters) override;
  arrow::Result<std::vector<ScriptStatement>> SplitStatements(std::string_view text) const override;
  arrow::Result<std::string> Explain(std::string_view text, bool analyze) override;
  QueryMetrics metrics() const override { return metrics_.Snapshot(); }
  void Cancel() override { resources_.cancellation.Cancel(); }
  void CancelAll() override { resources_.cancellation.CancelAll(); }

  TableCatalog& catalog() { return catalog_; }

  /// For tests: every breaker of later statements spills after each batch it takes.
  void ForceSpill(bool force_spill) { resources_.force_spill = force_spill; }

 private:
  SessionImpl() : catalog_(resources_), metrics_(resources_) {}

  /// Without a script, the statement is the whole text.
  arrow::Result<sql::BoundStatement> Bind(std::string_view script, const ScriptStatement& part, const QueryParameters& parameters,
                                          plan::TableResolver& tables, Statement* statement);
  /// A query of our own, over tables that are nobody else's.
  arrow::Result<std::shared_ptr<arrow::RecordBatchReader>> RunOver(const std::string& text, plan::TableResolver& tables);
  /// Text that shows the plan of `bound`, or with analyze runs it and adds what its operators did.
  arrow::Result<std::string> ExplainBound(const sql::BoundStatement& bound, bool analyze, Statement* statement);
  arrow::Status DefineViews(const sql::BoundStatement& bound, int64_t plan_bytes);
  std::unique_ptr<Statement> NewStatement();

  SessionResources resources_;
  TableCatalog catalog_;
  SessionMetrics metrics_;
};

}  // namespace icebound
