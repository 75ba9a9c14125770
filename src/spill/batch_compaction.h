// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <arrow/array.h>
#include <arrow/memory_pool.h>
#include <arrow/result.h>

#include <cstdint>
#include <memory>

namespace icebound::spill {

/// Gives `column` without what it drags along beyond its rows and IPC would write: far larger buffers behind views, and entries
/// of dictionaries of more than `small_dictionary_bytes` that no row uses when there are more entries than rows. Returns the
/// column itself when there is nothing to gain, or when Arrow has no builder for its (nested) type. Extension arrays must come as
/// their storage.
arrow::Result<std::shared_ptr<arrow::Array>> CompactColumn(const std::shared_ptr<arrow::Array>& column,
                                                           int64_t small_dictionary_bytes, arrow::MemoryPool* pool);

}  // namespace icebound::spill
