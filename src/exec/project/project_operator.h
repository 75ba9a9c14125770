// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "exec/operator.h"
#include "expr/evaluate.h"

namespace icebound::exec {

/// Computes one column an expression. Streaming: as many streams as its child. Columns that are only renamed or reordered are
/// shared, not copied.
class ProjectOperator final : public Operator {
 public:
  /// `schema` names the outputs; its types are those of `exprs`.
  ProjectOperator(QueryContext* context, std::unique_ptr<Operator> child, std::vector<expr::ExprPtr> exprs,
                  std::shared_ptr<arrow::Schema> schema);
  ~ProjectOperator() override;

  arrow::Status Prepare() override { return child_->Prepare(); }
  std::optional<int64_t> RowsToCome() const override { return child_->RowsToCome(); }
  int max_streams() const override { return child_->max_streams(); }
  arrow::Result<std::unique_ptr<BatchStream>> OpenStream() override;

 private:
  const std::unique_ptr<Operator> child_;
  const std::vector<expr::ExprPtr> exprs_;
  const std::unique_ptr<memory::MemoryConsumer> consumer_;
};

}  // namespace icebound::exec
