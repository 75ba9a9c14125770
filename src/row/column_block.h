// SPDX-License-Identifier: Apache-2.0
//
// How the encoders read columns: a block of rows at a time, with extension types and dictionaries seen through.
//
//   ColumnView   once a batch and column: where the values are, and the indices when the column is a dictionary
//   RowBlock     once a block and column: which of up to 256 rows are valid, and where their values are
//   visitors     loops over a block with the four cases (dictionary or not, nulls or not) compiled apart
//
// 256 rows of 150 bytes are 38 KiB: the destination rows of a block stay in the first two cache levels while every column writes
// its part, and all scratch fits the stack.
#pragma once

#include <arrow/array.h>
#include <arrow/result.h>

#include <cstdint>
#include <cstring>
#include <string_view>

#include "row/copy_bytes.h"
#include "row/type_shape.h"

namespace icebound::row {

constexpr int32_t kBlockRows = 256;

/// Widest packed value: a decimal256.
constexpr int32_t kWidestValueBytes = 32;

inline bool BitIsSet(const uint8_t* bits, int64_t i) { return (bits[i >> 3] >> (i & 7)) & 1; }

/// Turns `count` bits from position `first` into bytes of 0 or 1.
void UnpackBits(const uint8_t* bits, int64_t first, int32_t count, uint8_t* bytes);

/// Sets `count` bits from position `first` to bytes of 0 or 1. Bits outside the range keep their value.
void PackBits(const uint8_t* bytes, int32_t count, uint8_t* bits, int64_t first);

/// A column of a batch, borrowed: valid as long as the batch.
struct ColumnView {
  const arrow::ArrayData* values = nullptr;   ///< layout as the shape says
  const arrow::ArrayData* indices = nullptr;  ///< null for a plain column
  arrow::Type::type index_id = arrow::Type::NA;
  bool may_have_nulls = false;

  /// Fails with kInternal when the column's values are not of the storage type `expected` (ValueStorageOf the declared type).
  static arrow::Result<ColumnView> Make(const arrow::Array& column, const arrow::DataType& expected);
};

/// Up to kBlockRows rows of a column. A position counts from the start of `values` without its own offset, as in
/// Array::Value(position).
struct RowBlock {
  int32_t count = 0;
  bool has_nulls = false;  ///< at least one row of this block is null
  bool is_mapped = false;  ///< positions come from `position`; otherwise row i is at first_position + i
  int64_t first_position = 0;
  uint8_t valid[kBlockRows];     ///< 1 or 0; set only when has_nulls
  int64_t position[kBlockRows];  ///< set only when is_mapped; 0 for null rows

  void Fill(const ColumnView& view, int64_t first_row, int32_t row_count);

  bool IsValid(int32_t i) const { return !has_nulls || valid[i] != 0; }
  int64_t PositionOf(int32_t i) const { return is_mapped ? position[i] : first_position + i; }
};

/// Stands behind the parameters of a lambda whose body belongs into the loop that calls it. Left alone, -O2 makes a call a row
/// of it.
#define ICEBOUND_ROW_INLINE __attribute__((always_inline))

/// Calls visit(i, position) for valid rows and visit_null(i) for the others, in order.
template <typename Visit, typename VisitNull>
inline void VisitRows(const RowBlock& block, Visit&& visit, VisitNull&& visit_null) {
  const int32_t count = block.count;
  const int64_t first = block.first_position;
  if (!block.has_nulls && !block.is_mapped) {
    for (int32_t i = 0; i < count; ++i) visit(i, first + i);
  } else if (!block.has_nulls) {
    for (int32_t i = 0; i < count; ++i) visit(i, block.position[i]);
  } else if (!block.is_mapped) {
    for (int32_t i = 0; i < count; ++i) {
      if (block.valid[i]) {
        visit(i, first + i);
      } else {
        visit_null(i);
      }
    }
  } else {
    for (int32_t i = 0; i < count; ++i) {
      if (block.valid[i]) {
        visit(i, block.position[i]);
      } else {
        visit_null(i);
      }
    }
  }
}

/// Makes the values of a fixed-width block lie one after the other, `value_bytes` each (bools: a byte each). Returns where they
/// are: in the column's own buffer when possible, else in `scratch`, which holds kBlockRows values. Values of null rows are
/// unspecified. Not for kBytes.
const uint8_t* GatherFixed(const TypeShape& shape, const ColumnView& view, const RowBlock& block, uint8_t* scratch);

/// Makes null rows of a gathered block 00.
void ZeroNulls(const RowBlock& block, int32_t width, uint8_t* values);

/// Writes value i at rows[i] + offset, and reads it back from there; any width.
void ScatterFixed(int32_t width, const uint8_t* values, int32_t count, uint8_t* const* rows, int32_t offset);
void CollectFixed(int32_t width, const uint8_t* const* rows, int32_t offset, int32_t count, uint8_t* values);

/// Narrows decimals of `value_bytes` to integers of `packed_bytes`. False when a valid value does not fit. Null rows become
/// unspecified. `values` and `packed` may be the same.
bool NarrowDecimals(const TypeShape& shape, const uint8_t* values, const RowBlock& block, uint8_t* packed);

/// The opposite: sign-extends `count` packed integers to Arrow's width.
void WidenDecimals(const TypeShape& shape, const uint8_t* packed, int32_t count, uint8_t* values);

/// The error of a decimal column for which NarrowDecimals said no.
arrow::Status DecimalTooWide(const arrow::DataType& type, std::string_view context);

/// Bytes of strings with offsets. `position` as in RowBlock.
template <typename Offset>
struct OffsetStrings {
  const uint8_t* offsets;
  const uint8_t* data;

  explicit OffsetStrings(const arrow::ArrayData& array)
      : offsets(array.buffers[1] ? array.buffers[1]->data() + array.offset * sizeof(Offset) : nullptr),
        data(array.buffers[2] ? array.buffers[2]->data() : nullptr) {}

  std::string_view operator()(int64_t position) const {
    const Offset begin = LoadAs<Offset>(offsets + position * sizeof(Offset));
    const Offset end = LoadAs<Offset>(offsets + (position + 1) * sizeof(Offset));
    return {reinterpret_cast<const char*>(data) + begin, static_cast<size_t>(end - begin)};
  }
  uint64_t Length(int64_t position) const {
    return static_cast<uint64_t>(LoadAs<Offset>(offsets + (position + 1) * sizeof(Offset)) -
                                 LoadAs<Offset>(offsets + position * sizeof(Offset)));
  }
};

/// A 16-byte view: length, then either up to 12 bytes in place, or a 4-byte prefix, a buffer number and an offset into it.
constexpr int32_t kViewBytes = 16;
constexpr int32_t kInlineViewBytes = 12;

struct ViewStrings {
  const uint8_t* views;
  const std::shared_ptr<arrow::Buffer>* buffers;

  explicit ViewStrings(const arrow::ArrayData& array)
      : views(array.buffers[1] ? array.buffers[1]->data() + array.offset * kViewBytes : nullptr),
        buffers(array.buffers.data() + 2) {}

  std::string_view operator()(int64_t position) const {
    const uint8_t* view = views + position * kViewBytes;
    const int32_t length = LoadAs<int32_t>(view);
    if (length <= kInlineViewBytes) return {reinterpret_cast<const char*>(view) + 4, static_cast<size_t>(length)};
    const uint8_t* data = buffers[LoadAs<int32_t>(view + 8)]->data() + LoadAs<int32_t>(view + 12);
    return {reinterpret_cast<const char*>(data), static_cast<size_t>(length)};
  }
  uint64_t Length(int64_t position) const { return LoadAs<uint32_t>(views + position * kViewBytes); }
};

/// Calls visit(strings) with the accessor of the layout, so that the caller's loop is compiled for each.
template <typename Visit>
inline auto VisitStrings(Layout layout, const arrow::ArrayData& array, Visit&& visit) {
  switch (layout) {
    case Layout::kString:
      return visit(OffsetStrings<int32_t>(array));
    case Layout::kLargeString:
      return visit(OffsetStrings<int64_t>(array));
    default:
      return visit(ViewStrings(array));
  }
}

/// Items of the list at `position`, as positions in the child.
struct ItemRange {
  int64_t begin;
  int64_t count;
};
ItemRange ListItems(const TypeShape& shape, const arrow::ArrayData& list, int64_t position);

/// Validity of one value, without looking into a dictionary.
inline bool IsValidAt(const arrow::ArrayData& array, int64_t position) {
  if (array.type->id() == arrow::Type::NA) return false;
  return array.buffers[0] == nullptr || BitIsSet(array.buffers[0]->data(), array.offset + position);
}

/// One value below the top level, dictionaries seen through.
struct NestedValue {
  const TypeShape* shape;
  const arrow::ArrayData* array;  ///< null when the value is null
  int64_t position;
};
NestedValue ResolveNested(const TypeShape& shape, const arrow::ArrayData& array, int64_t position);

}  // namespace icebound::row
