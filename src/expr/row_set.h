// SPDX-License-Identifier: Apache-2.0
//
// The rows an expression is evaluated for: a batch, or some rows of it. Columns are gathered when they are asked for, once, so
// that a branch of CASE or a later conjunct of a filter costs only the columns it reads and the rows that reach it.
#pragma once

#include <arrow/compute/exec.h>
#include <arrow/datum.h>
#include <arrow/record_batch.h>
#include <arrow/result.h>

#include <memory>
#include <vector>

#include "expr/evaluate.h"
#include "expr/expr.h"

namespace icebound::expr {

/// One thread only. The batch must outlive it.
class RowSet {
 public:
  explicit RowSet(const arrow::RecordBatch& batch) : batch_(&batch), num_rows_(batch.num_rows()) {}

  /// The rows at these positions of this set (int32, ascending).
  arrow::Result<RowSet> Select(const std::shared_ptr<arrow::Array>& positions, arrow::compute::ExecContext* exec) const;

  int64_t num_rows() const { return num_rows_; }
  /// Whether these are all rows of the batch.
  bool is_whole() const { return rows_ == nullptr; }

  /// The column in its logical type; dictionary-encoded text and bytes stay so, with values in their logical type.
  arrow::Result<arrow::Datum> Column(const ColumnExpr& column, const EvalContext& context, arrow::compute::ExecContext* exec);

 private:
  RowSet(const arrow::RecordBatch* batch, std::shared_ptr<arrow::Array> rows)
      : batch_(batch), rows_(std::move(rows)), num_rows_(rows_->length()) {}

  const arrow::RecordBatch* batch_;
  std::shared_ptr<arrow::Array> rows_;  ///< nullptr: all
  int64_t num_rows_;
  std::vector<arrow::Datum> columns_;  ///< as handed out; empty slots have not been asked for
};

/// True for dictionary-encoded text or bytes.
bool IsTextDictionary(const arrow::Datum& datum);

/// Positions (int32) of the rows where a boolean value is true; `when_true` false: where it is not true (false or null).
arrow::Result<std::shared_ptr<arrow::Array>> PositionsWhere(const arrow::Datum& condition, int64_t num_rows, bool when_true,
                                                            arrow::MemoryPool* pool);

/// The same rows of every column of a batch; views are copied by way of plain text, for which there are kernels.
arrow::Result<std::shared_ptr<arrow::RecordBatch>> TakeRows(const arrow::RecordBatch& batch,
                                                            const std::shared_ptr<arrow::Array>& positions,
                                                            const EvalContext& context, arrow::compute::ExecContext* exec);

}  // namespace icebound::expr
