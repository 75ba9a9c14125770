// SPDX-License-Identifier: Apache-2.0
//
// How many rows of a batch to evaluate at once when the values may be far wider than what they are computed from.
//
//   1. Begin with few rows; what they gave says how many make a full slice.
//   2. A slice may be at most four times as long as the one before: one narrow slice says little of the next.
//   3. When a slice does not fit into memory, half of it is tried, down to one row; a row that does not fit alone is the error.
//      Later slices stay as short for a while: to ask again for what was refused costs more than short slices do.
#pragma once

#include <arrow/record_batch.h>
#include <arrow/result.h>

#include <algorithm>
#include <cstdint>
#include <memory>

#include "icebound/error.h"

namespace icebound::exec {

/// One a stream; not thread safe.
class SliceSizer {
 public:
  /// Takes the first rows off `rest`, which is null when nothing is left, and gives `evaluate(slice)`: a batch, or null for no
  /// rows. `bytes_of(batch)` says how wide its values are.
  template <typename Evaluate, typename BytesOf>
  arrow::Result<std::shared_ptr<arrow::RecordBatch>> Next(std::shared_ptr<arrow::RecordBatch>* rest, const Evaluate& evaluate,
                                                          const BytesOf& bytes_of) {
    while (true) {
      const int64_t rows = NextRows((*rest)->num_rows());
      arrow::Result<std::shared_ptr<arrow::RecordBatch>> batch = evaluate((*rest)->Slice(0, rows));
      if (!batch.ok()) {
        if (TryHalf(batch.status(), rows)) continue;
        return batch;
      }
      Observe(rows, bytes_of(*batch));
      *rest = rows == (*rest)->num_rows() ? nullptr : (*rest)->Slice(rows);
      return batch;
    }
  }

 private:
  /// Bytes a slice's values should have: what a batch is bounded by.
  static constexpr int64_t kTargetBytes = 1 << 20;

  /// Rows of the next slice, of `left` there are; at least one.
  int64_t NextRows(int64_t left) const { return std::min(left, rows_); }

  /// `rows` gave values of `bytes`.
  void Observe(int64_t rows, int64_t bytes) {
    if (++slices_since_refusal_ % kPatienceSlices == 0) fitting_rows_ = std::min(fitting_rows_ * 2, kMostRows);
    const int64_t wanted = bytes == 0 ? kMostRows : kTargetBytes * rows / bytes;
    rows_ = std::clamp(wanted, int64_t{1}, std::min(std::max(rows, int64_t{1}) * 4, fitting_rows_));
  }

  /// Whether to try again after `status`, with half of `rows`.
  bool TryHalf(const arrow::Status& status, int64_t rows) {
    if (rows <= 1 || GetErrorKind(status) != ErrorKind::kMemoryLimit) return false;
    rows_ = fitting_rows_ = rows / 2;
    slices_since_refusal_ = 0;
    return true;
  }

  static constexpr int64_t kMostRows = int64_t{1} << 30;
  static constexpr int64_t kPatienceSlices = 64;

  int64_t rows_ = 64;
  int64_t fitting_rows_ = kMostRows;  // longer slices were refused not long ago
  int64_t slices_since_refusal_ = 0;
};

}  // namespace icebound::exec
