// SPDX-License-Identifier: Apache-2.0
#include "row/compact_value.h"

#include <arrow/util/bit_util.h>

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "row/column_block.h"

namespace icebound::row {

using arrow::ArrayData;
using arrow::Status;
using arrow::bit_util::BytesForBits;

namespace {

constexpr int64_t kCountBytes = 4;

/// Lists of these are copied a block of items at a time, nulls included.
bool IsBlockwise(const TypeShape& shape) { return shape.is_fixed() && shape.layout != Layout::kBytes; }

const TypeShape& ValueShape(const TypeShape& shape) { return shape.layout == Layout::kDictionary ? shape.children[0] : shape; }

uint64_t ItemsSize(const TypeShape& item, const ArrayData& array, ItemRange range) {
  const auto null_bytes = static_cast<uint64_t>(BytesForBits(range.count));
  const TypeShape& item_value = ValueShape(item);
  if (item_value.is_fixed()) return null_bytes + static_cast<uint64_t>(range.count) * item_value.packed_bytes;
  uint64_t size = null_bytes;
  for (int64_t i = 0; i < range.count; ++i) {
    const NestedValue value = ResolveNested(item, array, range.begin + i);
    if (value.array != nullptr) size += CompactValueSize(*value.shape, *value.array, value.position);
  }
  return size;
}

/// A block of fixed-width values, packed and with nulls as 00, wherever they ended up.
const uint8_t* PackBlock(const TypeShape& shape, const ColumnView& view, const RowBlock& block, uint8_t* scratch, bool* fits) {
  const uint8_t* values = GatherFixed(shape, view, block, scratch);
  if (shape.value_bytes != shape.packed_bytes) {
    *fits &= NarrowDecimals(shape, values, block, scratch);
    values = scratch;
  }
  if (!block.has_nulls) return values;
  if (values != scratch) std::memcpy(scratch, values, static_cast<size_t>(block.count) * shape.packed_bytes);
  ZeroNulls(block, shape.packed_bytes, scratch);
  return scratch;
}

uint8_t* WriteBlockwiseItems(const TypeShape& item, const ArrayData& array, ItemRange range, uint8_t* out, bool* fits) {
  ColumnView view;
  view.values = &array;
  view.may_have_nulls = array.buffers[0] != nullptr;
  uint8_t* nulls = out;
  out += BytesForBits(range.count);
  uint8_t scratch[kBlockRows * kWidestValueBytes];
  RowBlock block;
  for (int64_t done = 0; done < range.count; done += block.count) {
    block.Fill(view, range.begin + done, static_cast<int32_t>(std::min<int64_t>(kBlockRows, range.count - done)));
    const uint8_t* values = PackBlock(item, view, block, scratch, fits);
    const size_t bytes = static_cast<size_t>(block.count) * item.packed_bytes;
    std::memcpy(out, values, bytes);
    out += bytes;
    for (int32_t i = 0; block.has_nulls && i < block.count; ++i) {
      if (!block.valid[i]) nulls[(done + i) >> 3] |= static_cast<uint8_t>(1 << ((done + i) & 7));
    }
  }
  return out;
}

uint8_t* WriteItems(const TypeShape& item, const ArrayData& array, ItemRange range, uint8_t* out, bool* fits) {
  std::memset(out, 0, static_cast<size_t>(BytesForBits(range.count)));
  if (IsBlockwise(item)) return WriteBlockwiseItems(item, array, range, out, fits);
  const TypeShape& item_value = ValueShape(item);
  uint8_t* nulls = out;
  out += BytesForBits(range.count);
  for (int64_t i = 0; i < range.count; ++i) {
    const NestedValue value = ResolveNested(item, array, range.begin + i);
    if (value.array != nullptr) {
      out = WriteCompactValue(*value.shape, *value.array, value.position, out, fits);
      continue;
    }
    arrow::bit_util::SetBit(nulls, i);
    if (!item_value.is_fixed()) continue;
    std::memset(out, 0, static_cast<size_t>(item_value.packed_bytes));
    out += item_value.packed_bytes;
  }
  return out;
}

uint8_t* WriteStruct(const TypeShape& shape, const ArrayData& array, int64_t position, uint8_t* out, bool* fits) {
  uint8_t* nulls = out;
  const auto null_bytes = BytesForBits(static_cast<int64_t>(shape.children.size()));
  std::memset(nulls, 0, static_cast<size_t>(null_bytes));
  out += null_bytes;
  for (size_t child = 0; child < shape.children.size(); ++child) {
    const NestedValue value = ResolveNested(shape.children[child], *array.child_data[child], array.offset + position);
    if (value.array == nullptr) {
      arrow::bit_util::SetBit(nulls, static_cast<int64_t>(child));
    } else {
      out = WriteCompactValue(*value.shape, *value.array, value.position, out, fits);
    }
  }
  return out;
}

uint8_t* WriteFixed(const TypeShape& shape, const ArrayData& array, int64_t position, uint8_t* out, bool* fits) {
  if (shape.layout == Layout::kBytes) {
    const int64_t width = shape.value_bytes;
    CopyBytes(out, array.buffers[1]->data() + (array.offset + position) * width, static_cast<size_t>(width));
    return out + width;
  }
  ColumnView view;
  view.values = &array;
  RowBlock block;
  block.Fill(view, position, 1);
  uint8_t scratch[kWidestValueBytes];
  const uint8_t* value = PackBlock(shape, view, block, scratch, fits);
  std::memcpy(out, value, static_cast<size_t>(shape.packed_bytes));
  return out + shape.packed_bytes;
}

}  // namespace

uint64_t CompactValueSize(const TypeShape& shape, const ArrayData& array, int64_t position) {
  if (shape.is_fixed()) return static_cast<uint64_t>(shape.packed_bytes);
  if (shape.is_string()) {
    return VisitStrings(shape.layout, array, [position](const auto& strings) { return kCountBytes + strings.Length(position); });
  }
  if (shape.layout == Layout::kStruct) {
    auto size = static_cast<uint64_t>(BytesForBits(static_cast<int64_t>(shape.children.size())));
    for (size_t child = 0; child < shape.children.size(); ++child) {
      const NestedValue value = ResolveNested(shape.children[child], *array.child_data[child], array.offset + position);
      if (value.array != nullptr) size += CompactValueSize(*value.shape, *value.array, value.position);
    }
    return size;
  }
  const uint64_t count_bytes = shape.layout == Layout::kFixedList ? 0 : kCountBytes;
  return count_bytes + ItemsSize(shape.children[0], *array.child_data[0], ListItems(shape, array, position));
}

uint8_t* WriteCompactValue(const TypeShape& shape, const ArrayData& array, int64_t position, uint8_t* out, bool* fits) {
  if (shape.is_fixed()) return WriteFixed(shape, array, position, out, fits);
  if (shape.is_string()) {
    return VisitStrings(shape.layout, array, [&](const auto& strings) {
      const std::string_view text = strings(position);
      StoreAs<uint32_t>(out, static_cast<uint32_t>(text.size()));
      CopyBytes(out + kCountBytes, text.data(), text.size());
      return out + kCountBytes + text.size();
    });
  }
  if (shape.layout == Layout::kStruct) return WriteStruct(shape, array, position, out, fits);
  const ItemRange range = ListItems(shape, array, position);
  if (shape.layout != Layout::kFixedList) {
    StoreAs<uint32_t>(out, static_cast<uint32_t>(range.count));
    out += kCountBytes;
  }
  return WriteItems(shape.children[0], *array.child_data[0], range, out, fits);
}

CompactBuilder::CompactBuilder(const TypeShape& shape, arrow::MemoryPool* pool)
    : shape_(shape), pool_(pool), validity_(pool), bits_(pool), slots_(pool), sizes_(pool), text_(pool) {}

arrow::Result<std::unique_ptr<CompactBuilder>> CompactBuilder::Make(const TypeShape& shape, arrow::MemoryPool* pool) {
  if (shape.layout == Layout::kDictionary) return Make(shape.children[0], pool);
  std::unique_ptr<CompactBuilder> builder(new CompactBuilder(shape, pool));
  for (const TypeShape& child : shape.children) {
    ARROW_ASSIGN_OR_RAISE(auto child_builder, Make(child, pool));
    builder->children_.push_back(std::move(child_builder));
  }
  constexpr int64_t kZero = 0;
  if (shape.layout == Layout::kString || shape.layout == Layout::kList) ARROW_RETURN_NOT_OK(builder->AppendSlot(&kZero, 4));
  if (shape.layout == Layout::kLargeString || shape.layout == Layout::kLargeList)
    ARROW_RETURN_NOT_OK(builder->AppendSlot(&kZero, 8));
  return builder;
}

Status CompactBuilder::AppendValidity(bool is_valid) {
  ++length_;
  if (!is_valid) ++null_count_;
  return validity_.Append(is_valid);
}

Status CompactBuilder::OffsetOverflow() const {
  return MakeError(ErrorKind::kInternal, "a batch would pass the 2 GiB that values of type {} address",
                   shape_.output_type->ToString());
}

Status CompactBuilder::AppendOffsets(int64_t begin, int64_t count) {
  const int64_t end = begin + count;
  const bool is_large = shape_.layout == Layout::kLargeList || shape_.layout == Layout::kLargeListView;
  if (!is_large && end > std::numeric_limits<int32_t>::max()) return OffsetOverflow();
  const int64_t bytes = is_large ? 8 : 4;
  switch (shape_.layout) {
    case Layout::kList:
    case Layout::kLargeList:
      return AppendSlot(&end, bytes);  // little endian: the lower half is the 32-bit offset
    case Layout::kListView:
    case Layout::kLargeListView:
      ARROW_RETURN_NOT_OK(sizes_.Append(&count, bytes));
      return AppendSlot(&begin, bytes);
    default:
      return Status::OK();
  }
}

Status CompactBuilder::AppendNull() {
  ARROW_RETURN_NOT_OK(AppendValidity(false));
  return AppendDefault();
}

Status CompactBuilder::AppendHidden() {
  ARROW_RETURN_NOT_OK(AppendValidity(!shape_.nullable && shape_.layout != Layout::kNull));
  return AppendDefault();
}

Status CompactBuilder::AppendDefault() {
  static constexpr uint8_t kZeros[kWidestValueBytes] = {};
  switch (shape_.layout) {
    case Layout::kNull:
      return Status::OK();
    case Layout::kBool:
      return bits_.Append(false);
    case Layout::kBytes:
      return slots_.Append(shape_.value_bytes, uint8_t{0});
    case Layout::kFixed:
    case Layout::kDecimal:
      return AppendSlot(kZeros, shape_.value_bytes);
    case Layout::kString: {
      const auto end = static_cast<int32_t>(text_.length());
      return AppendSlot(&end, 4);
    }
    case Layout::kLargeString: {
      const int64_t end = text_.length();
      return AppendSlot(&end, 8);
    }
    case Layout::kStringView:
      return AppendSlot(kZeros, kViewBytes);
    case Layout::kStruct:
      for (auto& child : children_) ARROW_RETURN_NOT_OK(child->AppendHidden());
      return Status::OK();
    case Layout::kFixedList:
      for (int32_t i = 0; i < shape_.list_size; ++i) ARROW_RETURN_NOT_OK(children_[0]->AppendHidden());
      return Status::OK();
    default:
      return AppendOffsets(children_[0]->length_, 0);
  }
}

Status CompactBuilder::AppendFixed(const uint8_t* packed) {
  if (shape_.layout == Layout::kBool) return bits_.Append(*packed != 0);
  if (shape_.value_bytes == shape_.packed_bytes) return AppendSlot(packed, shape_.value_bytes);
  uint8_t wide[kWidestValueBytes];
  WidenDecimals(shape_, packed, 1, wide);
  return AppendSlot(wide, shape_.value_bytes);
}

arrow::Result<const uint8_t*> CompactBuilder::Append(const uint8_t* from) {
  ARROW_RETURN_NOT_OK(AppendValidity(true));
  if (shape_.is_fixed()) {
    ARROW_RETURN_NOT_OK(AppendFixed(from));
    return from + shape_.packed_bytes;
  }
  if (shape_.is_string()) return AppendText(from);
  return shape_.layout == Layout::kStruct ? AppendStruct(from) : AppendList(from);
}

arrow::Result<const uint8_t*> CompactBuilder::AppendText(const uint8_t* from) {
  const auto length = LoadAs<uint32_t>(from);
  const uint8_t* text = from + kCountBytes;
  const int64_t end = text_.length() + length;
  if (shape_.layout != Layout::kLargeString && end > std::numeric_limits<int32_t>::max()) return OffsetOverflow();
  if (shape_.layout == Layout::kStringView) {
    uint8_t view[kViewBytes] = {};
    StoreAs<uint32_t>(view, length);
    std::memcpy(view + 4, text, length > kInlineViewBytes ? 4 : length);
    if (length > kInlineViewBytes) {
      StoreAs<uint32_t>(view + 12, static_cast<uint32_t>(text_.length()));
      ARROW_RETURN_NOT_OK(text_.Append(text, length));
    }
    ARROW_RETURN_NOT_OK(AppendSlot(view, kViewBytes));
  } else {
    ARROW_RETURN_NOT_OK(text_.Append(text, length));
    ARROW_RETURN_NOT_OK(AppendSlot(&end, shape_.layout == Layout::kString ? 4 : 8));
  }
  return text + length;
}

arrow::Result<const uint8_t*> CompactBuilder::AppendList(const uint8_t* from) {
  int64_t count = shape_.list_size;
  if (shape_.layout != Layout::kFixedList) {
    count = LoadAs<uint32_t>(from);
    from += kCountBytes;
  }
  ARROW_RETURN_NOT_OK(AppendOffsets(children_[0]->length_, count));
  return children_[0]->AppendItems(from, count, from + BytesForBits(count));
}

arrow::Result<const uint8_t*> CompactBuilder::AppendItems(const uint8_t* nulls, int64_t count, const uint8_t* from) {
  if (!shape_.is_fixed()) {
    for (int64_t i = 0; i < count; ++i) {
      if (BitIsSet(nulls, i)) {
        ARROW_RETURN_NOT_OK(AppendNull());
      } else {
        ARROW_ASSIGN_OR_RAISE(from, Append(from));
      }
    }
    return from;
  }
  ARROW_RETURN_NOT_OK(validity_.Reserve(count));
  for (int64_t i = 0; i < count; ++i) {
    const bool is_null = BitIsSet(nulls, i);
    validity_.UnsafeAppend(!is_null);
    null_count_ += is_null ? 1 : 0;
  }
  length_ += count;
  if (shape_.layout != Layout::kBool && shape_.value_bytes == shape_.packed_bytes) {
    ARROW_RETURN_NOT_OK(AppendSlot(from, count * shape_.packed_bytes));
  } else {
    for (int64_t i = 0; i < count; ++i) ARROW_RETURN_NOT_OK(AppendFixed(from + i * shape_.packed_bytes));
  }
  return from + count * shape_.packed_bytes;
}

arrow::Result<const uint8_t*> CompactBuilder::AppendStruct(const uint8_t* from) {
  const uint8_t* nulls = from;
  from += BytesForBits(static_cast<int64_t>(children_.size()));
  for (size_t child = 0; child < children_.size(); ++child) {
    if (BitIsSet(nulls, static_cast<int64_t>(child))) {
      ARROW_RETURN_NOT_OK(children_[child]->AppendNull());
    } else {
      ARROW_ASSIGN_OR_RAISE(from, children_[child]->Append(from));
    }
  }
  return from;
}

arrow::Result<std::shared_ptr<ArrayData>> CompactBuilder::Finish() {
  std::shared_ptr<arrow::Buffer> validity;
  if (null_count_ > 0 && shape_.layout != Layout::kNull) {
    ARROW_ASSIGN_OR_RAISE(validity, validity_.Finish());
  }
  arrow::BufferVector buffers{std::move(validity)};
  if (shape_.layout == Layout::kBool) {
    ARROW_ASSIGN_OR_RAISE(auto bits, bits_.Finish());
    buffers.push_back(std::move(bits));
  } else if (shape_.layout != Layout::kNull && shape_.layout != Layout::kStruct && shape_.layout != Layout::kFixedList) {
    ARROW_ASSIGN_OR_RAISE(auto slots, slots_.Finish());
    buffers.push_back(std::move(slots));
  }
  if (shape_.layout == Layout::kListView || shape_.layout == Layout::kLargeListView) {
    ARROW_ASSIGN_OR_RAISE(auto sizes, sizes_.Finish());
    buffers.push_back(std::move(sizes));
  }
  if (shape_.is_string() && (shape_.layout != Layout::kStringView || text_.length() > 0)) {
    ARROW_ASSIGN_OR_RAISE(auto text, text_.Finish());
    buffers.push_back(std::move(text));
  }
  auto data =
      ArrayData::Make(shape_.output_type, length_, std::move(buffers), shape_.layout == Layout::kNull ? length_ : null_count_);
  for (auto& child : children_) {
    ARROW_ASSIGN_OR_RAISE(auto child_data, child->Finish());
    data->child_data.push_back(std::move(child_data));
  }
  return data;
}

}  // namespace icebound::row
