// SPDX-License-Identifier: Apache-2.0
//
// CAST by PostgreSQL's rules: what does not fit is an error ("integer out of range", "numeric field overflow", "invalid input
// syntax for type date"), decimals round half away from zero, floating point to integer rounds half to even. All functions are
// pure.
#pragma once

#include <arrow/array.h>
#include <arrow/compute/exec.h>
#include <arrow/datum.h>
#include <arrow/result.h>

#include <memory>
#include <string_view>

#include "expr/functions.h"

namespace icebound::expr {

/// `value` as `type`; both may be of any shape (dictionary, view, large ...).
arrow::Result<arrow::Datum> CastDatum(const arrow::Datum& value, const TypePtr& type, int64_t num_rows,
                                      const EvalContext& context, arrow::compute::ExecContext* exec);

/// An array in the logical type of its own type: dictionaries and views decoded, narrow integers widened.
arrow::Result<arrow::Datum> ToLogical(const arrow::Datum& value, const EvalContext& context, arrow::compute::ExecContext* exec);

/// The value of a string literal in the type its context wants, without any memory pool; strings and bytes own their bytes.
arrow::Result<std::shared_ptr<arrow::Scalar>> ScalarFromText(std::string_view text, const TypePtr& type);

/// A literal integer, decimal or date in another type when that is exact and needs no pool; nullptr otherwise.
std::shared_ptr<arrow::Scalar> WidenScalar(const arrow::Scalar& scalar, const TypePtr& type);

/// Cast kernels by family; the input has one argument in its logical type, and `type` is logical, too.
arrow::Result<arrow::Datum> CastToNumber(const KernelInput& input);
arrow::Result<arrow::Datum> CastToDecimal(const KernelInput& input);
arrow::Result<arrow::Datum> CastToTemporal(const KernelInput& input);
arrow::Result<arrow::Datum> CastToText(const KernelInput& input);
arrow::Result<arrow::Datum> CastFromText(const KernelInput& input);

/// "smallint out of range" and its like, for the type.
arrow::Status OutOfRange(const arrow::DataType& type);

}  // namespace icebound::expr
