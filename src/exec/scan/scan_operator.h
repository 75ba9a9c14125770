// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "exec/operator.h"

namespace icebound::exec {

/// Reads a table: hands out the streams of a StreamSource (a Parquet scan, a registered reader) as an operator's own, counted and
/// timed, with the source's peak as its own.
class ScanOperator final : public Operator {
 public:
  ScanOperator(QueryContext* context, std::string name, std::unique_ptr<runtime::StreamSource> source);
  ~ScanOperator() override;

  arrow::Status Prepare() override { return arrow::Status::OK(); }
  int max_streams() const override { return source_->max_streams(); }
  arrow::Result<std::unique_ptr<BatchStream>> OpenStream() override;
  int64_t peak_bytes() const override { return source_->peak_bytes(); }

 private:
  const std::unique_ptr<runtime::StreamSource> source_;
};

}  // namespace icebound::exec
