// SPDX-License-Identifier: Apache-2.0
#include "io/format/batch_format.h"

#include <arrow/ipc/writer.h>

#include "base/error.h"
#include "expr/evaluate.h"
#include "expr/expr.h"

namespace icebound::io {
namespace {

/// The Arrow IPC file format by Arrow's own writer.
class IpcFormat final : public BatchFormat {
 public:
  explicit IpcFormat(FormatTarget target) : target_(std::move(target)) {}

  arrow::Status Begin() override {
    arrow::ipc::IpcWriteOptions options;
    options.memory_pool = target_.pool;
    options.use_threads = false;
    ARROW_ASSIGN_OR_RAISE(writer_, arrow::ipc::MakeFileWriter(target_.out, target_.schema, options));
    return arrow::Status::OK();
  }
  arrow::Status Write(const arrow::RecordBatch& batch) override { return writer_->WriteRecordBatch(batch); }
  arrow::Status End() override { return writer_->Close(); }

 private:
  const FormatTarget target_;
  std::shared_ptr<arrow::ipc::RecordBatchWriter> writer_;
};

/// Arrow's notation, for values that have no SQL text of ours.
arrow::Result<std::shared_ptr<arrow::StringArray>> ArrowText(const arrow::Array& column, arrow::MemoryPool* pool) {
  arrow::StringBuilder builder(pool);
  for (int64_t row = 0; row < column.length(); ++row) {
    ARROW_ASSIGN_OR_RAISE(const auto value, column.GetScalar(row));
    ARROW_RETURN_NOT_OK(value->is_valid ? builder.Append(value->ToString()) : builder.AppendNull());
  }
  std::shared_ptr<arrow::StringArray> text;
  ARROW_RETURN_NOT_OK(builder.Finish(&text));
  return text;
}

}  // namespace

arrow::Result<std::unique_ptr<BatchFormat>> MakeIpcFormat(const CopyOptions& options, FormatTarget target) {
  ARROW_RETURN_NOT_OK(CheckOptionNames(options, std::vector<std::string_view>{"format"}, "arrow"));
  return std::make_unique<IpcFormat>(std::move(target));
}

arrow::Result<std::vector<std::shared_ptr<arrow::StringArray>>> ColumnsAsText(const arrow::RecordBatch& batch,
                                                                              arrow::MemoryPool* pool) {
  std::vector<std::shared_ptr<arrow::StringArray>> columns;
  const expr::EvalContext eval{.pool = pool};
  for (int i = 0; i < batch.num_columns(); ++i) {
    if (arrow::is_nested(batch.column(i)->type_id())) {
      ARROW_ASSIGN_OR_RAISE(auto text, ArrowText(*batch.column(i), pool));
      columns.push_back(std::move(text));
      continue;
    }
    ARROW_ASSIGN_OR_RAISE(const auto cast, expr::MakeCast(expr::MakeColumn(i, *batch.schema()->field(i)), arrow::utf8()));
    ARROW_ASSIGN_OR_RAISE(auto text, expr::EvaluateToArray(*cast, batch, eval));
    columns.push_back(std::static_pointer_cast<arrow::StringArray>(std::move(text)));
  }
  return columns;
}

arrow::Result<std::unique_ptr<BatchFormat>> MakeBatchFormat(std::string_view format, const CopyOptions& options,
                                                            FormatTarget target) {
  if (format == "csv") return MakeCsvFormat(options, std::move(target));
  if (format == "json") return MakeJsonFormat(options, std::move(target), /*lines=*/false);
  if (format == "jsonl") return MakeJsonFormat(options, std::move(target), /*lines=*/true);
  if (format == "arrow") return MakeIpcFormat(options, std::move(target));
  if (format == "table") return MakeTableFormat(options, std::move(target));
  return MakeError(ErrorKind::kInvalidInput, "unknown output format \"{}\": known are parquet, csv, json, jsonl and arrow",
                   format);
}

}  // namespace icebound::io
