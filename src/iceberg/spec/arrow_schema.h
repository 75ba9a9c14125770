// SPDX-License-Identifier: Apache-2.0
//
// Iceberg's types as Arrow's and back.
//
//   unknown                          null                 boolean, int, long            bool, int32, int64
//   float, double                    float, double        decimal                       decimal128
//   date, time                       date32, time64[us]   timestamp, timestamptz        timestamp[us], timestamp[us, UTC]
//   timestamp_ns, timestamptz_ns     the same in ns       string                        utf8
//   uuid                             arrow.uuid           fixed                         fixed_size_binary
//   binary, geometry, geography      binary (WKB)         variant                       arrow.parquet.variant over two binaries
//   struct, list, map                struct, list, map
//
// Field ids travel as the metadata that Arrow's Parquet files use (PARQUET:field_id), at every depth. The other way, what Arrow
// has and Iceberg lacks becomes the next wider type; where there is none (uint64, decimals beyond 38 digits, intervals, unions)
// the column's name stands in the error.
#pragma once

#include <arrow/result.h>
#include <arrow/type.h>

#include <memory>

#include "iceberg/spec/schema.h"
#include "iceberg/spec/type.h"

namespace icebound::iceberg {

inline constexpr char kFieldIdKey[] = "PARQUET:field_id";

std::shared_ptr<arrow::DataType> ToArrowType(const Type& type);
std::shared_ptr<arrow::Field> ToArrowField(const Field& field);
std::shared_ptr<arrow::Schema> ToArrowSchema(const Schema& schema);

struct FromArrowOptions {
  int32_t schema_id = 0;
  int format_version = 2;  ///< below 3, nanoseconds (and what only version 3 has) are refused
  /// Take microseconds for nanoseconds: the caller will cut the values.
  bool nanos_as_micros = false;
  /// Number all fields anew, level by level from 1, as for a new table. Otherwise every field must carry its id.
  bool assign_ids = false;
};
arrow::Result<std::shared_ptr<const Schema>> FromArrowSchema(const arrow::Schema& schema, const FromArrowOptions& options);

}  // namespace icebound::iceberg
