// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "exec/operator.h"

namespace icebound::exec {

/// COPY ... TO: writes every row of its child to a sink in Prepare(), all or nothing, and then gives one row: how many there
/// were.
class CopyOperator final : public Operator {
 public:
  /// `schema` has the one column of the answer, `count`.
  CopyOperator(QueryContext* context, std::unique_ptr<Operator> child, std::unique_ptr<runtime::BatchSink> sink,
               std::shared_ptr<arrow::Schema> schema);

  arrow::Status Prepare() override;
  int max_streams() const override { return 1; }
  arrow::Result<std::unique_ptr<BatchStream>> OpenStream() override;

  int64_t rows_written() const { return rows_written_; }

 private:
  arrow::Status WriteAll();

  std::unique_ptr<Operator> child_;
  std::unique_ptr<runtime::BatchSink> sink_;
  int64_t rows_written_ = 0;
};

}  // namespace icebound::exec
