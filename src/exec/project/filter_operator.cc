// SPDX-License-Identifier: Apache-2.0
#include "exec/project/filter_operator.h"

#include "runtime/operator_timer.h"

namespace icebound::exec {
namespace {

class FilterStream final : public BatchStream {
 public:
  FilterStream(std::unique_ptr<BatchStream> input, const expr::Expr& predicate, expr::EvalContext eval,
               runtime::OperatorMetrics& metrics)
      : input_(std::move(input)), predicate_(predicate), eval_(eval), metrics_(metrics) {}

  arrow::Result<std::shared_ptr<arrow::RecordBatch>> Next() override {
    runtime::OperatorTimer timer(metrics_);
    while (true) {
      ARROW_ASSIGN_OR_RAISE(auto batch, input_->Next());
      if (batch == nullptr) return batch;
      ARROW_ASSIGN_OR_RAISE(batch, expr::Filter(predicate_, batch, eval_));
      if (batch == nullptr) continue;
      metrics_.rows.fetch_add(batch->num_rows(), std::memory_order_relaxed);
      return batch;
    }
  }

 private:
  const std::unique_ptr<BatchStream> input_;
  const expr::Expr& predicate_;
  const expr::EvalContext eval_;
  runtime::OperatorMetrics& metrics_;
};

}  // namespace

FilterOperator::FilterOperator(QueryContext* context, std::unique_ptr<Operator> child, expr::ExprPtr predicate)
    : Operator(context, "filter", child->schema()),
      child_(std::move(child)),
      predicate_(std::move(predicate)),
      consumer_(context->ledger.AddConsumer("filter")) {}

FilterOperator::~FilterOperator() { mutable_metrics().peak_bytes = consumer_->peak_bytes(); }

arrow::Result<std::unique_ptr<BatchStream>> FilterOperator::OpenStream() {
  ARROW_ASSIGN_OR_RAISE(auto input, child_->OpenStream());
  return std::make_unique<FilterStream>(std::move(input), *predicate_,
                                        expr::EvalContext{consumer_->pool(), context()->statement_time_us}, mutable_metrics());
}

}  // namespace icebound::exec
