// SPDX-License-Identifier: Apache-2.0
//
// The compact values of row_codec.h: lists, maps and structs as bytes inside a packed row, a value at a time.
#pragma once

#include <arrow/array/data.h>
#include <arrow/buffer_builder.h>
#include <arrow/memory_pool.h>
#include <arrow/result.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "row/type_shape.h"

namespace icebound::row {

/// Bytes of the valid value at `position` (as in RowBlock) of any layout.
uint64_t CompactValueSize(const TypeShape& shape, const arrow::ArrayData& array, int64_t position);

/// Writes the value and returns its end. Clears *fits when a decimal inside has more digits than its packed integer holds.
uint8_t* WriteCompactValue(const TypeShape& shape, const arrow::ArrayData& array, int64_t position, uint8_t* out, bool* fits);

/// Collects compact values to an array, the tree of builders following the tree of the type. Not thread safe.
class CompactBuilder {
 public:
  /// `shape` must outlive this; a dictionary is built as its values.
  static arrow::Result<std::unique_ptr<CompactBuilder>> Make(const TypeShape& shape, arrow::MemoryPool* pool);

  /// Appends the value at `from` and returns its end. Fails with kInternal when 32-bit offsets would overflow.
  arrow::Result<const uint8_t*> Append(const uint8_t* from);
  arrow::Status AppendNull();

  /// Data of the shape's output type. Call once.
  arrow::Result<std::shared_ptr<arrow::ArrayData>> Finish();

 private:
  CompactBuilder(const TypeShape& shape, arrow::MemoryPool* pool);

  /// What stands at a place that a null above hides: a null, or an empty value where the type has no nulls.
  arrow::Status AppendHidden();
  arrow::Status AppendDefault();
  arrow::Status AppendValidity(bool is_valid);
  arrow::Status AppendSlot(const void* slot, int64_t bytes) { return slots_.Append(slot, bytes); }
  arrow::Result<const uint8_t*> AppendText(const uint8_t* from);
  arrow::Result<const uint8_t*> AppendList(const uint8_t* from);
  arrow::Result<const uint8_t*> AppendStruct(const uint8_t* from);
  /// Appends `count` items whose null bits are at `nulls`; the values follow at `from`.
  arrow::Result<const uint8_t*> AppendItems(const uint8_t* nulls, int64_t count, const uint8_t* from);
  arrow::Status AppendFixed(const uint8_t* packed);
  arrow::Status AppendOffsets(int64_t begin, int64_t count);
  arrow::Status OffsetOverflow() const;

  const TypeShape& shape_;
  arrow::MemoryPool* const pool_;
  int64_t length_ = 0;
  int64_t null_count_ = 0;
  arrow::TypedBufferBuilder<bool> validity_;
  arrow::TypedBufferBuilder<bool> bits_;  ///< values of bools
  arrow::BufferBuilder slots_;            ///< values, offsets or views
  arrow::BufferBuilder sizes_;            ///< list views
  arrow::BufferBuilder text_;
  std::vector<std::unique_ptr<CompactBuilder>> children_;
};

}  // namespace icebound::row
