// SPDX-License-Identifier: Apache-2.0
#include "exec/project/project_operator.h"

#include "runtime/operator_timer.h"

namespace icebound::exec {
namespace {

class ProjectStream final : public BatchStream {
 public:
  ProjectStream(std::unique_ptr<BatchStream> input, const std::vector<expr::ExprPtr>& exprs,
                std::shared_ptr<arrow::Schema> schema, expr::EvalContext eval, runtime::OperatorMetrics& metrics)
      : input_(std::move(input)), exprs_(exprs), schema_(std::move(schema)), eval_(eval), metrics_(metrics) {}

  arrow::Result<std::shared_ptr<arrow::RecordBatch>> Next() override {
    runtime::OperatorTimer timer(metrics_);
    ARROW_ASSIGN_OR_RAISE(auto batch, input_->Next());
    if (batch == nullptr) return batch;
    std::vector<std::shared_ptr<arrow::Array>> columns;
    columns.reserve(exprs_.size());
    for (const expr::ExprPtr& expr : exprs_) {
      ARROW_ASSIGN_OR_RAISE(auto column, expr::EvaluateToArray(*expr, *batch, eval_));
      columns.push_back(std::move(column));
    }
    metrics_.rows.fetch_add(batch->num_rows(), std::memory_order_relaxed);
    return arrow::RecordBatch::Make(schema_, batch->num_rows(), std::move(columns));
  }

 private:
  const std::unique_ptr<BatchStream> input_;
  const std::vector<expr::ExprPtr>& exprs_;
  const std::shared_ptr<arrow::Schema> schema_;
  const expr::EvalContext eval_;
  runtime::OperatorMetrics& metrics_;
};

}  // namespace

ProjectOperator::ProjectOperator(QueryContext* context, std::unique_ptr<Operator> child, std::vector<expr::ExprPtr> exprs,
                                 std::shared_ptr<arrow::Schema> schema)
    : Operator(context, "project", std::move(schema)),
      child_(std::move(child)),
      exprs_(std::move(exprs)),
      consumer_(context->ledger.AddConsumer("project")) {}

ProjectOperator::~ProjectOperator() { mutable_metrics().peak_bytes = consumer_->peak_bytes(); }

arrow::Result<std::unique_ptr<BatchStream>> ProjectOperator::OpenStream() {
  ARROW_ASSIGN_OR_RAISE(auto input, child_->OpenStream());
  return std::make_unique<ProjectStream>(std::move(input), exprs_, schema(),
                                         expr::EvalContext{consumer_->pool(), context()->statement_time_us}, mutable_metrics());
}

}  // namespace icebound::exec
