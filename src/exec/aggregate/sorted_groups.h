// SPDX-License-Identifier: Apache-2.0
//
// The last resort: stored rows that no hash divides are sorted by the bytes of their keys, and neighbours are merged. It always
// ends, with memory for a few rows beside the sorter's.
#pragma once

#include <arrow/result.h>

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "exec/aggregate/group_store.h"
#include "exec/aggregate/partition_files.h"
#include "exec/sort/external_sorter.h"

namespace icebound::exec::aggregate {

/// Not thread safe.
class SortedGroups {
 public:
  static arrow::Result<std::unique_ptr<SortedGroups>> Make(runtime::QueryContext* context, const GroupLayout* layout,
                                                           sort::SortBudget* budget, int64_t chunk_bytes,
                                                           arrow::MemoryPool* pool);

  /// Rows in their stored form, one behind the other.
  arrow::Status Append(const uint8_t* rows, int64_t count);
  arrow::Status Finish();

  /// The next groups; empty at the end.
  arrow::Status Next(std::vector<const uint8_t*>* rows, int64_t rows_max, int64_t bytes_max);

  const runtime::OperatorMetrics& metrics() const { return metrics_; }

 private:
  SortedGroups(runtime::QueryContext* context, const GroupLayout* layout, sort::SortBudget* budget, int64_t chunk_bytes,
               arrow::MemoryPool* pool);
  arrow::Result<std::shared_ptr<arrow::RecordBatch>> ToBatch(const uint8_t* rows, int64_t count) const;
  arrow::Result<bool> NextSortedRow(std::string_view* key, std::string_view* rest);
  arrow::Status Begin(std::string_view key, std::string_view rest);
  arrow::Status MergeCurrent(std::string_view rest);

  runtime::QueryContext* const context_;
  const GroupLayout& layout_;
  sort::SortBudget* const budget_;
  arrow::MemoryPool* const pool_;
  runtime::OperatorMetrics metrics_;
  std::unique_ptr<sort::ExternalSorter> sorter_;
  std::unique_ptr<runtime::BatchStream> stream_;
  std::shared_ptr<arrow::RecordBatch> batch_;  // being read
  int64_t batch_row_ = 0;
  bool has_next_ = false;  // key_ and rest_ are the row after the current group
  std::string_view key_;
  std::string_view rest_;
  std::unique_ptr<GroupStore> store_;  // of the groups being given out
  std::unique_ptr<PartitionFiles> no_files_;
  int64_t chunk_bytes_;
  uint8_t* current_ = nullptr;
  sort::MappedPages scratch_;
};

}  // namespace icebound::exec::aggregate
