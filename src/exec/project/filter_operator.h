// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "exec/operator.h"
#include "expr/evaluate.h"

namespace icebound::exec {

/// Keeps the rows for which the predicate is true. Streaming: as many streams as its child.
class FilterOperator final : public Operator {
 public:
  FilterOperator(QueryContext* context, std::unique_ptr<Operator> child, expr::ExprPtr predicate);
  ~FilterOperator() override;

  arrow::Status Prepare() override { return child_->Prepare(); }
  int max_streams() const override { return child_->max_streams(); }
  arrow::Result<std::unique_ptr<BatchStream>> OpenStream() override;

 private:
  const std::unique_ptr<Operator> child_;
  const expr::ExprPtr predicate_;
  const std::unique_ptr<memory::MemoryConsumer> consumer_;
};

}  // namespace icebound::exec
