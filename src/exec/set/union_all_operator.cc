// SPDX-License-Identifier: Apache-2.0
#include "exec/set/union_all_operator.h"

#include <algorithm>

#include "runtime/operator_timer.h"

namespace icebound::exec {
namespace {

class UnionAllStream final : public BatchStream {
 public:
  UnionAllStream(UnionAllOperator* parent, runtime::OperatorMetrics& metrics) : parent_(parent), metrics_(metrics) {}

  arrow::Result<std::shared_ptr<arrow::RecordBatch>> Next() override {
    runtime::OperatorTimer timer(metrics_);
    while (true) {
      if (input_ == nullptr) {
        if (next_child_ == parent_->child_count()) return nullptr;
        ARROW_ASSIGN_OR_RAISE(input_, parent_->OpenChildStream(next_child_++));
        continue;
      }
      ARROW_ASSIGN_OR_RAISE(auto batch, input_->Next());
      if (batch == nullptr) {
        input_.reset();
        continue;
      }
      metrics_.rows.fetch_add(batch->num_rows(), std::memory_order_relaxed);
      return arrow::RecordBatch::Make(parent_->schema(), batch->num_rows(), batch->column_data());
    }
  }

 private:
  UnionAllOperator* const parent_;
  runtime::OperatorMetrics& metrics_;
  std::unique_ptr<BatchStream> input_;
  size_t next_child_ = 0;
};

}  // namespace

UnionAllOperator::UnionAllOperator(QueryContext* context, std::vector<std::unique_ptr<Operator>> children,
                                   std::shared_ptr<arrow::Schema> schema)
    : Operator(context, "union all", std::move(schema)), children_(std::move(children)), opened_(children_.size(), 0) {}

arrow::Status UnionAllOperator::Prepare() {
  for (const auto& child : children_) ARROW_RETURN_NOT_OK(child->Prepare());
  return arrow::Status::OK();
}

int UnionAllOperator::max_streams() const {
  int streams = 1;
  for (const auto& child : children_) streams = std::max(streams, child->max_streams());
  return streams;
}

arrow::Result<std::unique_ptr<BatchStream>> UnionAllOperator::OpenStream() {
  return std::make_unique<UnionAllStream>(this, mutable_metrics());
}

arrow::Result<std::unique_ptr<BatchStream>> UnionAllOperator::OpenChildStream(size_t index) {
  Operator& child = *children_[index];
  {
    std::lock_guard lock(mutex_);
    if (opened_[index] == child.max_streams()) return nullptr;
    ++opened_[index];
  }
  return child.OpenStream();
}

}  // namespace icebound::exec
