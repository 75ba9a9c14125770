// SPDX-License-Identifier: Apache-2.0
#include "exec/project/project_operator.h"

#include <algorithm>

#include "exec/project/slice_sizer.h"
#include "expr/widening.h"
#include "runtime/operator_timer.h"

namespace icebound::exec {
namespace {

/// Bytes of what was computed; columns that are only passed on are not.
int64_t ComputedBytes(const std::vector<expr::ExprPtr>& exprs, const std::vector<std::shared_ptr<arrow::Array>>& columns) {
  int64_t bytes = 0;
  for (size_t i = 0; i < columns.size(); ++i) {
    if (exprs[i]->kind() == expr::ExprKind::kColumn) continue;
    for (const auto& buffer : columns[i]->data()->buffers) {
      if (buffer != nullptr) bytes += buffer->size();
    }
  }
  return bytes;
}

class ProjectStream final : public BatchStream {
 public:
  ProjectStream(std::unique_ptr<BatchStream> input, const std::vector<expr::ExprPtr>& exprs,
                std::shared_ptr<arrow::Schema> schema, expr::EvalContext eval, runtime::OperatorMetrics& metrics)
      : input_(std::move(input)),
        exprs_(exprs),
        sliced_(std::any_of(exprs.begin(), exprs.end(), [](const expr::ExprPtr& expr) { return expr::MayWiden(*expr); })),
        schema_(std::move(schema)),
        eval_(eval),
        metrics_(metrics) {}

  arrow::Result<std::shared_ptr<arrow::RecordBatch>> Next() override {
    runtime::OperatorTimer timer(metrics_);
    if (rest_ == nullptr) {
      ARROW_ASSIGN_OR_RAISE(rest_, input_->Next());
      if (rest_ == nullptr) return rest_;
    }
    ARROW_ASSIGN_OR_RAISE(auto batch, sliced_ ? ProjectSlice() : Project(*std::exchange(rest_, nullptr)));
    metrics_.rows.fetch_add(batch->num_rows(), std::memory_order_relaxed);
    return batch;
  }

 private:
  arrow::Result<std::shared_ptr<arrow::RecordBatch>> Project(const arrow::RecordBatch& rows) const {
    std::vector<std::shared_ptr<arrow::Array>> columns;
    columns.reserve(exprs_.size());
    for (const expr::ExprPtr& expr : exprs_) {
      ARROW_ASSIGN_OR_RAISE(auto column, expr::EvaluateToArray(*expr, rows, eval_));
      columns.push_back(std::move(column));
    }
    return arrow::RecordBatch::Make(schema_, rows.num_rows(), std::move(columns));
  }

  /// The first rows of `rest_`, as many as their values allow.
  arrow::Result<std::shared_ptr<arrow::RecordBatch>> ProjectSlice() {
    return sizer_.Next(
        &rest_, [&](const auto& rows) { return Project(*rows); },
        [&](const auto& batch) { return ComputedBytes(exprs_, batch->columns()); });
  }

  const std::unique_ptr<BatchStream> input_;
  const std::vector<expr::ExprPtr>& exprs_;
  const bool sliced_;  // whether values may be much wider than the input's
  const std::shared_ptr<arrow::Schema> schema_;
  const expr::EvalContext eval_;
  runtime::OperatorMetrics& metrics_;
  std::shared_ptr<arrow::RecordBatch> rest_;  // rows of the input's last batch that are still to be projected
  SliceSizer sizer_;
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
