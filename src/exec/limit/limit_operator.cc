// SPDX-License-Identifier: Apache-2.0
#include "exec/limit/limit_operator.h"

#include <algorithm>
#include <limits>

#include "runtime/operator_timer.h"

namespace icebound::exec {
namespace {

class LimitStream final : public BatchStream {
 public:
  LimitStream(std::unique_ptr<BatchStream> input, int64_t rows_to_skip, int64_t rows_to_pass, runtime::OperatorMetrics& metrics)
      : input_(std::move(input)), rows_to_skip_(rows_to_skip), rows_to_pass_(rows_to_pass), metrics_(metrics) {}

  arrow::Result<std::shared_ptr<arrow::RecordBatch>> Next() override {
    runtime::OperatorTimer timer(metrics_);
    while (rows_to_pass_ > 0) {
      ARROW_ASSIGN_OR_RAISE(auto batch, input_->Next());
      if (batch == nullptr) break;
      const int64_t skipped = std::min(rows_to_skip_, batch->num_rows());
      rows_to_skip_ -= skipped;
      const int64_t passed = std::min(rows_to_pass_, batch->num_rows() - skipped);
      if (passed == 0) continue;
      rows_to_pass_ -= passed;
      if (rows_to_pass_ == 0) input_.reset();  // frees the memory below as early as possible
      metrics_.rows.fetch_add(passed, std::memory_order_relaxed);
      return passed == batch->num_rows() ? batch : batch->Slice(skipped, passed);
    }
    input_.reset();
    rows_to_pass_ = 0;
    return nullptr;
  }

 private:
  std::unique_ptr<BatchStream> input_;
  int64_t rows_to_skip_;
  int64_t rows_to_pass_;
  runtime::OperatorMetrics& metrics_;
};

class EmptyStream final : public BatchStream {
 public:
  arrow::Result<std::shared_ptr<arrow::RecordBatch>> Next() override { return nullptr; }
};

}  // namespace

LimitOperator::LimitOperator(QueryContext* context, std::unique_ptr<Operator> child, std::optional<int64_t> limit, int64_t offset)
    : Operator(context, "limit", child->schema()), child_(std::move(child)), limit_(limit), offset_(offset) {}

arrow::Status LimitOperator::Prepare() {
  // LIMIT 0 asks for the schema alone: nothing below needs to run.
  return limit_ == 0 ? arrow::Status::OK() : child_->Prepare();
}

std::optional<int64_t> LimitOperator::RowsToCome() const {
  if (limit_ == 0) return 0;
  const std::optional<int64_t> rows = child_->RowsToCome();
  if (!rows) return std::nullopt;
  return std::min(std::max<int64_t>(*rows - offset_, 0), limit_.value_or(std::numeric_limits<int64_t>::max()));
}

arrow::Result<std::unique_ptr<BatchStream>> LimitOperator::OpenStream() {
  if (limit_ == 0) return std::make_unique<EmptyStream>();
  ARROW_ASSIGN_OR_RAISE(auto input, child_->OpenStream());
  return std::make_unique<LimitStream>(std::move(input), offset_, limit_.value_or(std::numeric_limits<int64_t>::max()),
                                       mutable_metrics());
}

}  // namespace icebound::exec
