// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <arrow/compute/exec.h>
#include <arrow/datum.h>
#include <arrow/record_batch.h>

#include <cstdint>

#include "expr/expr.h"

namespace icebound::expr {

/// Registers Arrow's compute kernels, once in a process; the session calls it before anything is evaluated. Thread safe.
arrow::Status InitializeExpressions();

class PartValues;  // shared_parts.h

/// What evaluation needs beside the batch. One a thread (ExecContext is not shared).
struct EvalContext {
  arrow::MemoryPool* pool;
  int64_t statement_time_us = 0;  ///< now(), the same for the whole statement; UTC
  PartValues* parts = nullptr;    ///< null, or what this batch's expressions have in common: for one batch only
};

/// The value of `expr` for every row of `batch`: an array of batch.num_rows(), or a scalar when it is constant. Data errors
/// (overflow, division by zero, bad cast) are ErrorKind::kExecution with PostgreSQL's words.
arrow::Result<arrow::Datum> Evaluate(const Expr& expr, const arrow::RecordBatch& batch, const EvalContext& context);

/// As Evaluate, with scalars broadcast to an array.
arrow::Result<std::shared_ptr<arrow::Array>> EvaluateToArray(const Expr& expr, const arrow::RecordBatch& batch,
                                                             const EvalContext& context);

/// The rows for which `predicate` is true (not false, not null). Conjuncts are evaluated one after another on the survivors.
/// nullptr when none is left; the batch itself when all are.
arrow::Result<std::shared_ptr<arrow::RecordBatch>> Filter(const Expr& predicate, const std::shared_ptr<arrow::RecordBatch>& batch,
                                                          const EvalContext& context);

/// As Filter, but the positions of those rows (int32, ascending); nullptr when all are.
arrow::Result<std::shared_ptr<arrow::Array>> SelectRows(const Expr& predicate, const arrow::RecordBatch& batch,
                                                        const EvalContext& context);

/// The value of a constant expression (constant folding).
arrow::Result<std::shared_ptr<arrow::Scalar>> EvaluateConstant(const Expr& expr, const EvalContext& context);

}  // namespace icebound::expr
