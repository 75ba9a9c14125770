// SPDX-License-Identifier: Apache-2.0
#include "exec/write/copy_operator.h"

#include "runtime/operator_timer.h"

namespace icebound::exec {
namespace {

class CountStream final : public BatchStream {
 public:
  CountStream(std::shared_ptr<arrow::Schema> schema, int64_t count, arrow::MemoryPool* pool)
      : schema_(std::move(schema)), count_(count), pool_(pool) {}

  arrow::Result<std::shared_ptr<arrow::RecordBatch>> Next() override {
    if (done_) return nullptr;
    done_ = true;
    arrow::Int64Builder builder(pool_);
    ARROW_RETURN_NOT_OK(builder.Append(count_));
    ARROW_ASSIGN_OR_RAISE(auto array, builder.Finish());
    return arrow::RecordBatch::Make(schema_, 1, {std::move(array)});
  }

 private:
  const std::shared_ptr<arrow::Schema> schema_;
  const int64_t count_;
  arrow::MemoryPool* const pool_;
  bool done_ = false;
};

}  // namespace

CopyOperator::CopyOperator(QueryContext* context, std::unique_ptr<Operator> child, std::unique_ptr<runtime::BatchSink> sink,
                           std::shared_ptr<arrow::Schema> schema)
    : Operator(context, "copy", std::move(schema)), child_(std::move(child)), sink_(std::move(sink)) {}

arrow::Status CopyOperator::Prepare() {
  arrow::Status status = WriteAll();
  if (!status.ok()) sink_->Abort();
  sink_.reset();
  child_.reset();
  return status;
}

arrow::Status CopyOperator::WriteAll() {
  ARROW_RETURN_NOT_OK(child_->Prepare());
  context()->metrics.output_rows_total = child_->RowsToCome().value_or(0);
  ARROW_ASSIGN_OR_RAISE(auto stream, child_->OpenStream());
  runtime::OperatorTimer timer(mutable_metrics());
  while (true) {
    ARROW_RETURN_NOT_OK(context()->cancellation.Check());
    ARROW_ASSIGN_OR_RAISE(auto batch, stream->Next());
    if (batch == nullptr) break;
    ARROW_RETURN_NOT_OK(sink_->Write(batch));
    rows_written_ += batch->num_rows();
    mutable_metrics().rows.store(rows_written_, std::memory_order_relaxed);
    context()->metrics.output_rows.store(rows_written_, std::memory_order_relaxed);
  }
  stream.reset();
  return sink_->Finish();
}

arrow::Result<std::unique_ptr<BatchStream>> CopyOperator::OpenStream() {
  return std::make_unique<CountStream>(schema(), rows_written_, context()->ledger.pool());
}

}  // namespace icebound::exec
