// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "icebound/result.h"
#include "session/session_impl.h"
#include "session/statement.h"

namespace icebound {

/// Result over one planned statement. Not thread safe; keeps the session alive.
class QueryResult final : public Result {
 public:
  QueryResult(std::shared_ptr<SessionImpl> session, std::unique_ptr<Statement> statement, ResultKind kind);
  ~QueryResult() override;

  const std::shared_ptr<arrow::Schema>& schema() const override { return schema_; }
  ResultKind kind() const override { return kind_; }
  arrow::Status Prepare() override;
  arrow::Result<std::shared_ptr<arrow::RecordBatchReader>> ToReader() override;
  arrow::Result<std::shared_ptr<arrow::Table>> ToTable() override;
  arrow::Result<int64_t> WriteParquet(const std::string& path, const ParquetWriteOptions& options) override;
  arrow::Result<int64_t> WriteFile(const std::string& path, const std::map<std::string, std::string>& options) override;
  arrow::Result<int64_t> WriteStream(arrow::io::OutputStream* out, const std::string& format) override;
  QueryMetrics metrics() const override { return metrics_->Snapshot(); }

 private:
  /// The statement, which can be taken once.
  arrow::Result<std::unique_ptr<Statement>> Take();
  /// Pulls every row into the sink that `make_sink` gives; all or nothing.
  arrow::Result<int64_t> WriteTo(const std::function<arrow::Result<std::unique_ptr<runtime::BatchSink>>(Statement&)>& make_sink);

  const std::shared_ptr<SessionImpl> session_;
  const std::shared_ptr<arrow::Schema> schema_;
  const ResultKind kind_;
  const std::shared_ptr<StatementMetrics> metrics_;
  std::unique_ptr<Statement> statement_;
};

}  // namespace icebound
