// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "exec/operator.h"
#include "exec/sort/external_sorter.h"
#include "expr/expr.h"

namespace icebound::exec {

/// One ORDER BY term.
struct SortKeySpec {
  expr::ExprPtr expr;
  bool descending = false;
  bool nulls_first = false;
};

/// ORDER BY, and ORDER BY ... LIMIT when `fetch_rows` is given: a breaker over sort::ExternalSorter. It drains its
/// child on all threads in Prepare, and gives one ordered stream, once. Columns of dictionary type come out as their
/// values.
class SortOperator final : public Operator {
 public:
  /// `fetch_rows`: only so many rows of the order are wanted (LIMIT plus OFFSET).
  static arrow::Result<std::unique_ptr<SortOperator>> Make(QueryContext* context, std::unique_ptr<Operator> child,
                                                           std::vector<SortKeySpec> keys,
                                                           std::optional<int64_t> fetch_rows = std::nullopt);
  ~SortOperator() override;

  arrow::Status Prepare() override;
  std::optional<int64_t> RowsToCome() const override;
  int max_streams() const override { return 1; }
  arrow::Result<std::unique_ptr<BatchStream>> OpenStream() override;

 private:
  /// What the sorter takes: the child's columns, then those of keys that are not plain columns.
  struct Input {
    std::vector<sort::SortColumn> keys;
    std::vector<expr::ExprPtr> computed;
    std::shared_ptr<arrow::Schema> schema;
  };

  SortOperator(QueryContext* context, std::unique_ptr<Operator> child, Input input, std::shared_ptr<arrow::Schema> schema,
               std::optional<int64_t> fetch_rows);
  static Input MakeInput(const arrow::Schema& child, const std::vector<SortKeySpec>& keys);
  arrow::Status Consume(int worker, BatchStream* stream);
  arrow::Result<std::shared_ptr<arrow::RecordBatch>> AddComputedKeys(const std::shared_ptr<arrow::RecordBatch>& batch) const;

  std::unique_ptr<Operator> child_;  // gone once drained
  const Input input_;
  const std::optional<int64_t> fetch_rows_;
  const std::unique_ptr<memory::MemoryConsumer> key_consumer_;  // of computed keys
  std::unique_ptr<sort::ExternalSorter> sorter_;
  std::atomic<int64_t> rows_taken_{0};
};

}  // namespace icebound::exec
