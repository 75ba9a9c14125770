// SPDX-License-Identifier: Apache-2.0
//
// Compares single rows of two arrays of any type, nested ones included, in PostgreSQL's order: within lists and structs NULL
// equals NULL and comes last, a list that is a prefix of another comes first.
#pragma once

#include <arrow/array.h>
#include <arrow/datum.h>
#include <arrow/result.h>

#include <memory>

#include "expr/date_time_text.h"
#include "expr/number_text.h"

namespace icebound::expr {

/// Compares rows of the two arrays it was made for, which must outlive it. Thread safe: immutable.
class RowComparer {
 public:
  virtual ~RowComparer() = default;
  /// Both arrays have one logical type (integers and decimals of any width and scale may differ only at the top). kUnsupported
  /// for maps and unions.
  static arrow::Result<std::unique_ptr<RowComparer>> Make(const arrow::Array& left, const arrow::Array& right);

  /// Negative, zero or positive.
  virtual int Compare(int64_t left_row, int64_t right_row) const = 0;
};

/// An interval's length with months of 30 days and days of 24 hours, in nanoseconds: what intervals are ordered by.
Int128 IntervalSpan(const Interval& interval);

/// A scalar spread over `num_rows`, or the array itself.
arrow::Result<std::shared_ptr<arrow::Array>> ToArray(const arrow::Datum& datum, int64_t num_rows, arrow::MemoryPool* pool);

}  // namespace icebound::expr
