// SPDX-License-Identifier: Apache-2.0
#include "exec/scan/scan_operator.h"

#include "runtime/operator_timer.h"

namespace icebound::exec {
namespace {

class ScanStream final : public BatchStream {
 public:
  ScanStream(std::unique_ptr<BatchStream> input, const runtime::CancellationToken& cancellation,
             runtime::OperatorMetrics& metrics)
      : input_(std::move(input)), cancellation_(cancellation), metrics_(metrics) {}

  arrow::Result<std::shared_ptr<arrow::RecordBatch>> Next() override {
    ARROW_RETURN_NOT_OK(cancellation_.Check());
    runtime::OperatorTimer timer(metrics_);
    ARROW_ASSIGN_OR_RAISE(auto batch, input_->Next());
    if (batch != nullptr) metrics_.rows.fetch_add(batch->num_rows(), std::memory_order_relaxed);
    return batch;
  }

 private:
  const std::unique_ptr<BatchStream> input_;
  const runtime::CancellationToken& cancellation_;
  runtime::OperatorMetrics& metrics_;
};

}  // namespace

ScanOperator::ScanOperator(QueryContext* context, std::string name, std::unique_ptr<runtime::StreamSource> source)
    : Operator(context, std::move(name), source->schema()), source_(std::move(source)) {}

ScanOperator::~ScanOperator() { mutable_metrics().peak_bytes = source_->peak_bytes(); }

arrow::Result<std::unique_ptr<BatchStream>> ScanOperator::OpenStream() {
  ARROW_ASSIGN_OR_RAISE(auto stream, source_->OpenStream());
  return std::make_unique<ScanStream>(std::move(stream), context()->cancellation, mutable_metrics());
}

}  // namespace icebound::exec
