// SPDX-License-Identifier: Apache-2.0
//
// How many bytes a batch holds, and batches cut so that none holds too many.
#pragma once

#include <arrow/array/data.h>
#include <arrow/record_batch.h>

#include <cstdint>
#include <deque>
#include <memory>

namespace icebound::io {

/// Bytes of all buffers of `data` and its children, in full even when it is a slice.
int64_t HeldBytes(const arrow::ArrayData& data);

/// Appends `batch` to `out`, in slices of at most about `limit_bytes` each (by the lengths of its strings and lists, row by row)
/// when it is larger by half; a row that is wider alone is a slice alone. Slices share the batch's buffers.
void SplitByBytes(std::shared_ptr<arrow::RecordBatch> batch, int64_t limit_bytes,
                  std::deque<std::shared_ptr<arrow::RecordBatch>>* out);

}  // namespace icebound::io
