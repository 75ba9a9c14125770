// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "exec/operator.h"
#include "expr/evaluate.h"

namespace icebound::exec {

/// VALUES, and SELECT without FROM: constant rows, computed as they are pulled. One stream.
class ValuesOperator final : public Operator {
 public:
  ValuesOperator(QueryContext* context, std::vector<std::vector<expr::ExprPtr>> rows, std::shared_ptr<arrow::Schema> schema);

  arrow::Status Prepare() override { return arrow::Status::OK(); }
  int max_streams() const override { return 1; }
  arrow::Result<std::unique_ptr<BatchStream>> OpenStream() override;

 private:
  const std::vector<std::vector<expr::ExprPtr>> rows_;
  const std::unique_ptr<memory::MemoryConsumer> consumer_;
};

}  // namespace icebound::exec
