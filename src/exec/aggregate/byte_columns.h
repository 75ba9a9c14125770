// SPDX-License-Identifier: Apache-2.0
//
// Rows as one column of byte strings each: packed rows, sort keys, or both.
#pragma once

#include <arrow/record_batch.h>
#include <arrow/result.h>

#include <memory>
#include <span>

#include "row/row_codec.h"
#include "row/sort_key.h"

namespace icebound::exec::aggregate {

/// What goes into the byte string of a row, in this order; at least one is there.
struct ByteColumnParts {
  const row::SortKeyEncoder* key_or_null = nullptr;
  arrow::ArrayVector key_columns;
  const row::RowCodec* codec_or_null = nullptr;
  std::shared_ptr<arrow::RecordBatch> packed;
  bool with_key_bytes = false;  ///< the width of the sort key, 4 bytes, at the end
};

/// A large_binary column of `rows` byte strings. All memory comes from `pool`.
arrow::Result<std::shared_ptr<arrow::Array>> MakeByteColumn(const ByteColumnParts& parts, int64_t rows,
                                                            const std::shared_ptr<arrow::Buffer>& validity_or_null,
                                                            arrow::MemoryPool* pool);

}  // namespace icebound::exec::aggregate
