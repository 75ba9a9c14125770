// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <arrow/record_batch.h>

#include <atomic>
#include <memory>
#include <string>

#include "plan/table_source.h"

namespace icebound::planner {

/// A registered Arrow reader as a table: one stream, scanned once. Its batches are the caller's memory: they are passed on as
/// they come, cut to the session's batch size. Thread safe.
class ReaderTable final : public plan::TableSource {
 public:
  ReaderTable(std::string name, std::shared_ptr<arrow::RecordBatchReader> reader)
      : name_(std::move(name)), reader_(std::move(reader)), schema_(reader_->schema()) {}

  const std::shared_ptr<arrow::Schema>& schema() const override { return schema_; }
  std::string Describe() const override { return "arrow stream " + name_; }
  bool CanScanAgain() const override { return false; }
  arrow::Result<std::unique_ptr<runtime::StreamSource>> Scan(const plan::ScanRequest& request,
                                                             runtime::QueryContext* context) const override;

 private:
  const std::string name_;
  const std::shared_ptr<arrow::RecordBatchReader> reader_;
  const std::shared_ptr<arrow::Schema> schema_;
  mutable std::atomic<bool> scanned_{false};
};

}  // namespace icebound::planner
