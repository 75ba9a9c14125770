// SPDX-License-Identifier: Apache-2.0
#include "planner/reader_table.h"

#include <algorithm>

#include "base/error.h"
#include "runtime/batch_stream.h"
#include "runtime/query_context.h"

namespace icebound::planner {
namespace {

class ReaderStream final : public runtime::BatchStream {
 public:
  ReaderStream(std::shared_ptr<arrow::RecordBatchReader> reader, std::vector<int> projection,
               std::shared_ptr<arrow::Schema> schema, runtime::QueryContext* context)
      : reader_(std::move(reader)), projection_(std::move(projection)), schema_(std::move(schema)), context_(context) {}

  arrow::Result<std::shared_ptr<arrow::RecordBatch>> Next() override {
    while (current_ == nullptr || next_row_ == current_->num_rows()) {
      ARROW_RETURN_NOT_OK(reader_->ReadNext(&current_));
      if (current_ == nullptr) return nullptr;
      next_row_ = 0;
    }
    const int64_t rows = std::min(context_->batch_rows, current_->num_rows() - next_row_);
    arrow::ArrayVector columns;
    for (int index : projection_) columns.push_back(current_->column(index)->Slice(next_row_, rows));
    next_row_ += rows;
    context_->metrics.input_rows.fetch_add(rows, std::memory_order_relaxed);
    return arrow::RecordBatch::Make(schema_, rows, std::move(columns));
  }

 private:
  const std::shared_ptr<arrow::RecordBatchReader> reader_;
  const std::vector<int> projection_;
  const std::shared_ptr<arrow::Schema> schema_;
  runtime::QueryContext* const context_;
  std::shared_ptr<arrow::RecordBatch> current_;
  int64_t next_row_ = 0;
};

class ReaderSource final : public runtime::StreamSource {
 public:
  ReaderSource(std::shared_ptr<arrow::RecordBatchReader> reader, std::vector<int> projection,
               std::shared_ptr<arrow::Schema> schema, runtime::QueryContext* context)
      : reader_(std::move(reader)), projection_(std::move(projection)), schema_(std::move(schema)), context_(context) {}

  const std::shared_ptr<arrow::Schema>& schema() const override { return schema_; }
  int max_streams() const override { return 1; }
  arrow::Result<std::unique_ptr<runtime::BatchStream>> OpenStream() override {
    return std::make_unique<ReaderStream>(reader_, projection_, schema_, context_);
  }

 private:
  const std::shared_ptr<arrow::RecordBatchReader> reader_;
  const std::vector<int> projection_;
  const std::shared_ptr<arrow::Schema> schema_;
  runtime::QueryContext* const context_;
};

}  // namespace

arrow::Result<std::unique_ptr<runtime::StreamSource>> ReaderTable::Scan(const plan::ScanRequest& request,
                                                                        runtime::QueryContext* context) const {
  if (scanned_.exchange(true)) {
    return MakeError(ErrorKind::kInvalidInput, "the stream registered as \"{}\" has already been read: register it again", name_);
  }
  arrow::FieldVector fields;
  for (int index : request.projection) fields.push_back(schema_->field(index));
  return std::make_unique<ReaderSource>(reader_, request.projection, arrow::schema(std::move(fields)), context);
}

}  // namespace icebound::planner
