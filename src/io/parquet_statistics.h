// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <arrow/scalar.h>

#include <cstdint>
#include <memory>
#include <optional>

namespace icebound::io {

/// What footers say of one column of a table, from a sample of its row groups. For estimates only.
struct ParquetColumnStatistics {
  std::shared_ptr<arrow::Scalar> min;  ///< null when unknown, as for nested columns
  std::shared_ptr<arrow::Scalar> max;
  std::optional<int64_t> null_count;     ///< of the whole table
  std::optional<double> distinct_count;  ///< of the whole table
  std::optional<double> value_bytes;     ///< of a value in memory, on average; for text
};

}  // namespace icebound::io
