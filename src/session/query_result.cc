// SPDX-License-Identifier: Apache-2.0
#include "session/query_result.h"

#include <arrow/array/concatenate.h>
#include <arrow/memory_pool.h>

#include "base/error.h"
#include "io/make_sink.h"
#include "io/parquet_writer.h"
#include "io/stream_sink.h"

namespace icebound {
namespace {

/// The rows as Arrow's reader; the batches belong to the session, which it keeps alive.
class StatementReader final : public arrow::RecordBatchReader {
 public:
  StatementReader(std::shared_ptr<SessionImpl> session, std::shared_ptr<arrow::Schema> schema,
                  std::unique_ptr<Statement> statement)
      : session_(std::move(session)), schema_(std::move(schema)), statement_(std::move(statement)) {}
  ~StatementReader() override { statement_->Close(); }

  std::shared_ptr<arrow::Schema> schema() const override { return schema_; }
  arrow::Status ReadNext(std::shared_ptr<arrow::RecordBatch>* batch) override {
    ARROW_ASSIGN_OR_RAISE(*batch, statement_->Next());
    return arrow::Status::OK();
  }
  arrow::Status Close() override {
    statement_->Close();
    return arrow::Status::OK();
  }

 private:
  const std::shared_ptr<SessionImpl> session_;  // declared before statement_: freed after it
  const std::shared_ptr<arrow::Schema> schema_;
  const std::unique_ptr<Statement> statement_;
};

/// A copy of `batch` in memory that is not the session's.
arrow::Result<std::shared_ptr<arrow::RecordBatch>> CopyOutside(const arrow::RecordBatch& batch, arrow::MemoryPool* pool) {
  arrow::ArrayVector columns;
  for (const auto& column : batch.columns()) {
    // Concatenate returns a lone array as it is; with an empty slice of itself beside it, it must copy.
    ARROW_ASSIGN_OR_RAISE(auto copy, arrow::Concatenate({column, column->Slice(0, 0)}, pool));
    columns.push_back(std::move(copy));
  }
  return arrow::RecordBatch::Make(batch.schema(), batch.num_rows(), std::move(columns));
}

}  // namespace

QueryResult::QueryResult(std::shared_ptr<SessionImpl> session, std::unique_ptr<Statement> statement, ResultKind kind)
    : session_(std::move(session)),
      schema_(statement->root()->schema()),
      kind_(kind),
      metrics_(statement->shared_metrics()),
      statement_(std::move(statement)) {}

QueryResult::~QueryResult() {
  if (statement_ != nullptr) statement_->Close();
}

arrow::Result<std::unique_ptr<Statement>> QueryResult::Take() {
  if (statement_ == nullptr)
    return MakeError(ErrorKind::kInvalidInput, "this result has already been read: run the statement again");
  return std::move(statement_);
}

arrow::Status QueryResult::Prepare() {
  if (statement_ == nullptr)
    return MakeError(ErrorKind::kInvalidInput, "this result has already been read: run the statement again");
  return statement_->Prepare();
}

arrow::Result<std::shared_ptr<arrow::RecordBatchReader>> QueryResult::ToReader() {
  ARROW_ASSIGN_OR_RAISE(auto statement, Take());
  return std::make_shared<StatementReader>(session_, schema_, std::move(statement));
}

arrow::Result<std::shared_ptr<arrow::Table>> QueryResult::ToTable() {
  ARROW_ASSIGN_OR_RAISE(auto statement, Take());
  arrow::RecordBatchVector batches;
  // The caller asked for all rows outside the limit.
  arrow::MemoryPool* const outside = arrow::system_memory_pool();
  while (true) {
    ARROW_ASSIGN_OR_RAISE(const auto batch, statement->Next());
    if (batch == nullptr) break;
    ARROW_ASSIGN_OR_RAISE(auto copy, CopyOutside(*batch, outside));
    batches.push_back(std::move(copy));
  }
  return arrow::Table::FromRecordBatches(schema_, batches);
}

arrow::Result<int64_t> QueryResult::WriteTo(
    const std::function<arrow::Result<std::unique_ptr<runtime::BatchSink>>(Statement&)>& make_sink) {
  ARROW_ASSIGN_OR_RAISE(auto statement, Take());
  // A sink that goes without Finish leaves nothing behind.
  ARROW_ASSIGN_OR_RAISE(auto sink, make_sink(*statement));
  int64_t rows = 0;
  while (true) {
    ARROW_ASSIGN_OR_RAISE(const auto batch, statement->Next());
    if (batch == nullptr) break;
    ARROW_RETURN_NOT_OK(sink->Write(batch));
    rows += batch->num_rows();
  }
  ARROW_RETURN_NOT_OK(sink->Finish());
  return rows;
}

arrow::Result<int64_t> QueryResult::WriteParquet(const std::string& path, const ParquetWriteOptions& options) {
  return WriteTo([&](Statement& statement) -> arrow::Result<std::unique_ptr<runtime::BatchSink>> {
    return io::ParquetWriter::Make(options, schema_, path, session_->catalog().file_systems(), statement.mutable_context());
  });
}

arrow::Result<int64_t> QueryResult::WriteFile(const std::string& path, const std::map<std::string, std::string>& options) {
  return WriteTo([&](Statement& statement) {
    return io::MakeSink(path, options, schema_, session_->catalog().file_systems(), statement.mutable_context());
  });
}

arrow::Result<int64_t> QueryResult::WriteStream(arrow::io::OutputStream* out, const std::string& format) {
  if (schema_->num_fields() == 0) {  // CREATE VIEW answers with nothing, not with an empty table
    ARROW_RETURN_NOT_OK(Take());
    return 0;
  }
  return WriteTo([&](Statement& statement) { return io::MakeStreamSink(out, format, schema_, statement.mutable_context()); });
}

}  // namespace icebound
