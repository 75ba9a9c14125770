// SPDX-License-Identifier: Apache-2.0
#include "exec/project/filter_operator.h"

#include "exec/project/slice_sizer.h"
#include "expr/widening.h"
#include "runtime/operator_timer.h"

namespace icebound::exec {
namespace {

class FilterStream final : public BatchStream {
 public:
  FilterStream(std::unique_ptr<BatchStream> input, const expr::Expr& predicate, expr::EvalContext eval,
               runtime::OperatorMetrics& metrics)
      : input_(std::move(input)), predicate_(predicate), sliced_(expr::MayWiden(predicate)), eval_(eval), metrics_(metrics) {}

  arrow::Result<std::shared_ptr<arrow::RecordBatch>> Next() override {
    runtime::OperatorTimer timer(metrics_);
    while (true) {
      if (rest_ == nullptr) {
        ARROW_ASSIGN_OR_RAISE(rest_, input_->Next());
        if (rest_ == nullptr) return rest_;
      }
      ARROW_ASSIGN_OR_RAISE(auto batch, sliced_ ? FilterSlice() : expr::Filter(predicate_, std::exchange(rest_, nullptr), eval_));
      if (batch == nullptr) continue;
      metrics_.rows.fetch_add(batch->num_rows(), std::memory_order_relaxed);
      return batch;
    }
  }

 private:
  /// The first rows of `rest_`, fewer when the values that the predicate makes on its way do not fit.
  arrow::Result<std::shared_ptr<arrow::RecordBatch>> FilterSlice() {
    return sizer_.Next(
        &rest_, [&](const auto& rows) { return expr::Filter(predicate_, rows, eval_); }, [](const auto&) { return int64_t{0}; });
  }

  const std::unique_ptr<BatchStream> input_;
  const expr::Expr& predicate_;
  const bool sliced_;  // whether evaluation may need far more than the batch
  const expr::EvalContext eval_;
  runtime::OperatorMetrics& metrics_;
  std::shared_ptr<arrow::RecordBatch> rest_;  // rows of the input's last batch that are still to be filtered
  SliceSizer sizer_;
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
