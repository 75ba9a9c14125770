// SPDX-License-Identifier: Apache-2.0
#include "row/sort_key_nested.h"

#include <algorithm>

#include "row/column_block.h"
#include "row/sort_key_order.h"
#include "row/sort_key_string.h"

namespace icebound::row {

using arrow::ArrayData;

namespace {

constexpr uint8_t kEnd = 0x00;
constexpr uint8_t kValue = 0x01;
constexpr uint8_t kNull = 0x02;

uint64_t ItemLength(const TypeShape& shape, const ArrayData& array, int64_t position) {
  const NestedValue value = ResolveNested(shape, array, position);
  return 1 + (value.array == nullptr ? 0 : NestedKeyLength(*value.shape, *value.array, value.position));
}

uint8_t* WriteItem(const TypeShape& shape, const ArrayData& array, int64_t position, uint8_t* out, bool* fits) {
  const NestedValue value = ResolveNested(shape, array, position);
  if (value.array == nullptr) {
    *out = kNull;
    return out + 1;
  }
  *out = kValue;
  return WriteNestedKey(*value.shape, *value.array, value.position, out + 1, fits);
}

/// Items of a list of fixed-width values: ordered a block at a time, then spread with their markers.
uint8_t* WriteFixedItems(const TypeShape& item, const ArrayData& array, ItemRange range, uint8_t* out, bool* fits) {
  ColumnView view;
  view.values = &array;
  view.may_have_nulls = array.buffers[0] != nullptr;
  const Order order = OrderOf(item);
  const int32_t width = item.packed_bytes;
  uint8_t gathered[kBlockRows * kWidestValueBytes];
  uint8_t ordered[kBlockRows * kWidestValueBytes];
  RowBlock block;
  for (int64_t done = 0; done < range.count; done += block.count) {
    block.Fill(view, range.begin + done, static_cast<int32_t>(std::min<int64_t>(kBlockRows, range.count - done)));
    const uint8_t* values = GatherFixed(item, view, block, gathered);
    if (item.value_bytes != width) {
      *fits &= NarrowDecimals(item, values, block, gathered);
      values = gathered;
    }
    OrderValues(order, width, /*invert=*/false, values, block.count, ordered);
    for (int32_t i = 0; i < block.count; ++i) {
      if (!block.IsValid(i)) {
        *out++ = kNull;
        continue;
      }
      *out++ = kValue;
      std::memcpy(out, ordered + i * width, static_cast<size_t>(width));
      out += width;
    }
  }
  return out;
}

bool IsBlockwise(const TypeShape& shape) { return shape.is_fixed() && shape.layout != Layout::kBytes; }

uint8_t* WriteItems(const TypeShape& item, const ArrayData& array, ItemRange range, uint8_t* out, bool* fits) {
  if (IsBlockwise(item)) return WriteFixedItems(item, array, range, out, fits);
  for (int64_t i = 0; i < range.count; ++i) out = WriteItem(item, array, range.begin + i, out, fits);
  return out;
}

uint64_t ItemsLength(const TypeShape& item, const ArrayData& array, ItemRange range) {
  if (item.is_fixed() && array.buffers[0] == nullptr) return static_cast<uint64_t>(range.count) * (1 + item.packed_bytes);
  uint64_t length = 0;
  for (int64_t i = 0; i < range.count; ++i) length += ItemLength(item, array, range.begin + i);
  return length;
}

}  // namespace

uint64_t NestedKeyLength(const TypeShape& shape, const ArrayData& array, int64_t position) {
  if (shape.is_fixed()) return static_cast<uint64_t>(shape.packed_bytes);
  if (shape.is_string()) {
    return VisitStrings(shape.layout, array, [position](const auto& strings) {
      const std::string_view text = strings(position);
      return text.size() + CountZeroBytes(text) + kStringEndBytes;
    });
  }
  if (shape.layout == Layout::kStruct) {
    uint64_t length = 0;
    for (size_t child = 0; child < shape.children.size(); ++child) {
      length += ItemLength(shape.children[child], *array.child_data[child], array.offset + position);
    }
    return length;
  }
  const uint64_t end_bytes = shape.layout == Layout::kFixedList ? 0 : 1;
  return ItemsLength(shape.children[0], *array.child_data[0], ListItems(shape, array, position)) + end_bytes;
}

uint8_t* WriteNestedKey(const TypeShape& shape, const ArrayData& array, int64_t position, uint8_t* out, bool* fits) {
  if (IsBlockwise(shape)) {
    uint8_t gathered[kWidestValueBytes];
    ColumnView view;
    view.values = &array;
    RowBlock block;
    block.Fill(view, position, 1);
    const uint8_t* value = GatherFixed(shape, view, block, gathered);
    if (shape.value_bytes != shape.packed_bytes) {
      *fits &= NarrowDecimals(shape, value, block, gathered);
      value = gathered;
    }
    OrderValues(OrderOf(shape), shape.packed_bytes, /*invert=*/false, value, 1, out);
    return out + shape.packed_bytes;
  }
  if (shape.layout == Layout::kBytes) {
    const int64_t width = shape.value_bytes;
    CopyBytes(out, array.buffers[1]->data() + (array.offset + position) * width, static_cast<size_t>(width));
    return out + width;
  }
  if (shape.is_string()) {
    return VisitStrings(shape.layout, array,
                        [&](const auto& strings) { return WriteString<false>(strings(position), /*no_zeros=*/false, out); });
  }
  if (shape.layout == Layout::kStruct) {
    for (size_t child = 0; child < shape.children.size(); ++child) {
      out = WriteItem(shape.children[child], *array.child_data[child], array.offset + position, out, fits);
    }
    return out;
  }
  out = WriteItems(shape.children[0], *array.child_data[0], ListItems(shape, array, position), out, fits);
  if (shape.layout == Layout::kFixedList) return out;
  *out = kEnd;
  return out + 1;
}

const uint8_t* SkipNestedKey(const TypeShape& shape, const uint8_t* key, uint8_t mask) {
  const auto skip_item = [mask](const TypeShape& item, const uint8_t* at) {
    const TypeShape& value = item.layout == Layout::kDictionary ? item.children[0] : item;
    return (*at ^ mask) == kNull ? at + 1 : SkipNestedKey(value, at + 1, mask);
  };
  if (shape.is_fixed()) return key + shape.packed_bytes;
  if (shape.is_string()) return MeasureString(key, mask).end;
  if (shape.layout == Layout::kStruct) {
    for (const TypeShape& child : shape.children) key = skip_item(child, key);
    return key;
  }
  if (shape.layout == Layout::kFixedList) {
    for (int32_t i = 0; i < shape.list_size; ++i) key = skip_item(shape.children[0], key);
    return key;
  }
  while ((*key ^ mask) != kEnd) key = skip_item(shape.children[0], key);
  return key + 1;
}

}  // namespace icebound::row
