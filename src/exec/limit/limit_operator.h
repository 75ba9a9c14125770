// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>

#include "exec/operator.h"

namespace icebound::exec {

/// OFFSET and LIMIT: skips `offset` rows, passes `limit` rows and then stops pulling. One stream, in its child's order.
class LimitOperator final : public Operator {
 public:
  LimitOperator(QueryContext* context, std::unique_ptr<Operator> child, std::optional<int64_t> limit, int64_t offset);

  arrow::Status Prepare() override;
  std::optional<int64_t> RowsToCome() const override;
  int max_streams() const override { return 1; }
  arrow::Result<std::unique_ptr<BatchStream>> OpenStream() override;

 private:
  const std::unique_ptr<Operator> child_;
  const std::optional<int64_t> limit_;
  const int64_t offset_;
};

}  // namespace icebound::exec
