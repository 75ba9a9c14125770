// SPDX-License-Identifier: Apache-2.0
//
// What a partition value says of the column it was made from: the values that the transform takes to it.
//
//   identity     the value                      year, month,      the unit's first instant to the last before the next; a unit up
//   truncate[W]  whole numbers: v to v + W - 1  day, hour         to 1970 reaches back to the unit before, too: old writers
//                text, bytes: everything that                     rounded times before 1970 up (apache/iceberg 1680)
//                starts with v; v alone when    bucket, void,     nothing
//                it is shorter than W           unknown
//
// Every one of these transforms keeps the order, so the range of values from `lower` to `upper` is the range of columns from the
// start of lower's to the end of upper's. A range is never too small; what it cannot say (an end that does not fit the type, a
// value that may have wrapped around) it leaves open. So a filter needs no projection: it is evaluated over the range.
#pragma once

#include <arrow/scalar.h>

#include <memory>

#include "iceberg/spec/literal.h"
#include "iceberg/spec/transform.h"
#include "iceberg/spec/type.h"

namespace icebound::iceberg {

/// Inclusive; a bound that is absent is open.
struct ColumnRange {
  std::shared_ptr<arrow::Scalar> min;
  std::shared_ptr<arrow::Scalar> max;
};

/// The columns of type `column_type` whose partition values lie from `lower` to `upper`, both of type `value_type` and not null.
/// nullptr for a bound that is not known.
ColumnRange RangeOfPartition(const Transform& transform, const Type& column_type, const Type& value_type, const Literal* lower,
                             const Literal* upper);

/// A bound as the engine compares it; null when it has no order there.
std::shared_ptr<arrow::Scalar> BoundScalar(const Type& type, const Literal& value);

}  // namespace icebound::iceberg
