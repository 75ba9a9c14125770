// SPDX-License-Identifier: Apache-2.0
#include "row/column_block.h"

#include <arrow/array/array_dict.h>
#include <arrow/type.h>
#include <arrow/util/bit_util.h>

#include <algorithm>

#include "base/error.h"

namespace icebound::row {

using arrow::ArrayData;
using arrow::Type;

static_assert(ARROW_LITTLE_ENDIAN, "packed rows and keys are written with little-endian loads");

void UnpackBits(const uint8_t* bits, int64_t first, int32_t count, uint8_t* bytes) {
  int32_t i = 0;
  // Up to the next byte of bits, then eight at a time: spread the byte to eight, keep a different bit of each, make it 0 or 1.
  for (; i < count && ((first + i) & 7) != 0; ++i) bytes[i] = BitIsSet(bits, first + i);
  for (const uint8_t* byte = bits + ((first + i) >> 3); i + 8 <= count; i += 8, ++byte) {
    const uint64_t spread = (*byte * 0x0101010101010101ULL) & 0x8040201008040201ULL;
    StoreAs<uint64_t>(bytes + i, ((spread + 0x7F7F7F7F7F7F7F7FULL) >> 7) & 0x0101010101010101ULL);
  }
  for (; i < count; ++i) bytes[i] = BitIsSet(bits, first + i);
}

void PackBits(const uint8_t* bytes, int32_t count, uint8_t* bits, int64_t first) {
  int32_t i = 0;
  for (; i < count && ((first + i) & 7) != 0; ++i) arrow::bit_util::SetBitTo(bits, first + i, bytes[i] != 0);
  for (uint8_t* byte = bits + ((first + i) >> 3); i + 8 <= count; i += 8, ++byte) {
    // The multiplication gathers the lowest bits of eight bytes in the topmost byte.
    *byte = static_cast<uint8_t>((LoadAs<uint64_t>(bytes + i) * 0x0102040810204080ULL) >> 56);
  }
  for (; i < count; ++i) arrow::bit_util::SetBitTo(bits, first + i, bytes[i] != 0);
}

arrow::Result<ColumnView> ColumnView::Make(const arrow::Array& column, const arrow::DataType& expected) {
  ColumnView view;
  view.values = column.data().get();
  const arrow::DataType* storage = &StorageOf(*column.type());
  if (storage->id() == Type::DICTIONARY && expected.id() != Type::DICTIONARY) {
    view.indices = view.values;
    view.index_id = static_cast<const arrow::DictionaryType&>(*storage).index_type()->id();
    view.values = view.indices->dictionary.get();
    storage = &StorageOf(*view.values->type);
  }
  if (storage != &expected && !storage->Equals(expected, /*check_metadata=*/false)) {
    return MakeError(ErrorKind::kInternal, "a column of type {} was given where {} was declared", column.type()->ToString(),
                     expected.ToString());
  }
  if (storage->id() == Type::NA) {
    view.may_have_nulls = true;
  } else {
    view.may_have_nulls = view.values->GetNullCount() != 0 || (view.indices != nullptr && view.indices->GetNullCount() != 0);
  }
  return view;
}

namespace {

template <typename Index>
void LoadIndices(const uint8_t* indices, int32_t count, int64_t* positions) {
  for (int32_t i = 0; i < count; ++i) positions[i] = static_cast<int64_t>(LoadAs<Index>(indices + i * sizeof(Index)));
}

void LoadIndicesOf(Type::type id, const uint8_t* indices, int64_t first, int32_t count, int64_t* positions) {
  switch (id) {
    case Type::INT8:
      return LoadIndices<int8_t>(indices + first, count, positions);
    case Type::UINT8:
      return LoadIndices<uint8_t>(indices + first, count, positions);
    case Type::INT16:
      return LoadIndices<int16_t>(indices + first * 2, count, positions);
    case Type::UINT16:
      return LoadIndices<uint16_t>(indices + first * 2, count, positions);
    case Type::INT32:
      return LoadIndices<int32_t>(indices + first * 4, count, positions);
    case Type::UINT32:
      return LoadIndices<uint32_t>(indices + first * 4, count, positions);
    default:
      return LoadIndices<int64_t>(indices + first * 8, count, positions);
  }
}

bool HasZero(const uint8_t* bytes, int32_t count) { return std::memchr(bytes, 0, static_cast<size_t>(count)) != nullptr; }

/// Fills validity of `count` values from `first`. False when all are valid (then nothing is written).
bool LoadValidity(const ArrayData& array, int64_t first, int32_t count, uint8_t* valid) {
  if (array.type->id() == Type::NA) {
    std::memset(valid, 0, static_cast<size_t>(count));
    return count > 0;
  }
  if (array.buffers[0] == nullptr) return false;
  UnpackBits(array.buffers[0]->data(), array.offset + first, count, valid);
  return HasZero(valid, count);
}

}  // namespace

void RowBlock::Fill(const ColumnView& view, int64_t first_row, int32_t row_count) {
  count = row_count;
  is_mapped = view.indices != nullptr;
  first_position = first_row;
  has_nulls = false;
  if (!is_mapped) {
    if (view.may_have_nulls) has_nulls = LoadValidity(*view.values, first_row, count, valid);
    return;
  }
  LoadIndicesOf(view.index_id, view.indices->buffers[1]->data(), view.indices->offset + first_row, count, position);
  if (!view.may_have_nulls) return;
  has_nulls = LoadValidity(*view.indices, first_row, count, valid);
  if (!has_nulls) std::memset(valid, 1, static_cast<size_t>(count));
  if (view.values->GetNullCount() != 0) {
    for (int32_t i = 0; i < count; ++i) {
      if (valid[i]) valid[i] = IsValidAt(*view.values, position[i]);
    }
    has_nulls = HasZero(valid, count);
  }
  if (has_nulls) {
    for (int32_t i = 0; i < count; ++i) position[i] = valid[i] ? position[i] : 0;
  }
}

namespace {

template <int32_t kWidth>
void GatherWidth(const uint8_t* values, const RowBlock& block, uint8_t* out) {
  struct Value {
    uint8_t bytes[kWidth];
  };
  for (int32_t i = 0; i < block.count; ++i) {
    if (block.has_nulls && !block.valid[i]) continue;
    StoreAs(out + i * kWidth, LoadAs<Value>(values + block.position[i] * kWidth));
  }
}

void GatherBools(const ArrayData& values, const RowBlock& block, uint8_t* out) {
  const uint8_t* bits = values.buffers[1]->data();
  if (!block.is_mapped) return UnpackBits(bits, values.offset + block.first_position, block.count, out);
  for (int32_t i = 0; i < block.count; ++i) {
    if (block.has_nulls && !block.valid[i]) continue;
    out[i] = BitIsSet(bits, values.offset + block.position[i]);
  }
}

}  // namespace

const uint8_t* GatherFixed(const TypeShape& shape, const ColumnView& view, const RowBlock& block, uint8_t* scratch) {
  const ArrayData& array = *view.values;
  if (array.buffers[1] == nullptr || array.buffers[1]->data() == nullptr) return scratch;  // no value at all, hence only nulls
  if (shape.layout == Layout::kBool) {
    GatherBools(array, block, scratch);
    return scratch;
  }
  const int64_t width = shape.value_bytes;
  const uint8_t* values = array.buffers[1]->data() + array.offset * width;
  if (!block.is_mapped) return values + block.first_position * width;
  switch (width) {
    case 1:
      GatherWidth<1>(values, block, scratch);
      break;
    case 2:
      GatherWidth<2>(values, block, scratch);
      break;
    case 4:
      GatherWidth<4>(values, block, scratch);
      break;
    case 8:
      GatherWidth<8>(values, block, scratch);
      break;
    case 16:
      GatherWidth<16>(values, block, scratch);
      break;
    default:
      GatherWidth<32>(values, block, scratch);
  }
  return scratch;
}

namespace {

template <int32_t kWidth>
void ZeroNullsOfWidth(const RowBlock& block, uint8_t* values) {
  for (int32_t i = 0; i < block.count; ++i) {
    if (!block.valid[i]) std::memset(values + i * kWidth, 0, kWidth);
  }
}

template <int32_t kWidth>
void Scatter(const uint8_t* values, int32_t count, uint8_t* const* rows, int32_t offset) {
  for (int32_t i = 0; i < count; ++i) std::memcpy(rows[i] + offset, values + i * kWidth, kWidth);
}

template <int32_t kWidth>
void Collect(const uint8_t* const* rows, int32_t offset, int32_t count, uint8_t* values) {
  for (int32_t i = 0; i < count; ++i) std::memcpy(values + i * kWidth, rows[i] + offset, kWidth);
}

}  // namespace

void ZeroNulls(const RowBlock& block, int32_t width, uint8_t* values) {
  if (!block.has_nulls) return;
  switch (width) {
    case 1:
      return ZeroNullsOfWidth<1>(block, values);
    case 2:
      return ZeroNullsOfWidth<2>(block, values);
    case 4:
      return ZeroNullsOfWidth<4>(block, values);
    case 8:
      return ZeroNullsOfWidth<8>(block, values);
    case 16:
      return ZeroNullsOfWidth<16>(block, values);
    default:
      return ZeroNullsOfWidth<32>(block, values);
  }
}

void ScatterFixed(int32_t width, const uint8_t* values, int32_t count, uint8_t* const* rows, int32_t offset) {
  switch (width) {
    case 0:
      return;
    case 1:
      return Scatter<1>(values, count, rows, offset);
    case 2:
      return Scatter<2>(values, count, rows, offset);
    case 4:
      return Scatter<4>(values, count, rows, offset);
    case 8:
      return Scatter<8>(values, count, rows, offset);
    case 16:
      return Scatter<16>(values, count, rows, offset);
    case 32:
      return Scatter<32>(values, count, rows, offset);
    default:
      for (int32_t i = 0; i < count; ++i) std::memcpy(rows[i] + offset, values + static_cast<int64_t>(i) * width, width);
  }
}

void CollectFixed(int32_t width, const uint8_t* const* rows, int32_t offset, int32_t count, uint8_t* values) {
  switch (width) {
    case 0:
      return;
    case 1:
      return Collect<1>(rows, offset, count, values);
    case 2:
      return Collect<2>(rows, offset, count, values);
    case 4:
      return Collect<4>(rows, offset, count, values);
    case 8:
      return Collect<8>(rows, offset, count, values);
    case 16:
      return Collect<16>(rows, offset, count, values);
    case 32:
      return Collect<32>(rows, offset, count, values);
    default:
      for (int32_t i = 0; i < count; ++i) std::memcpy(values + static_cast<int64_t>(i) * width, rows[i] + offset, width);
  }
}

namespace {

/// Two's complement integers as little-endian 64-bit words, the last one signed: enough to narrow and widen any decimal.
template <int32_t kBytes>
struct Words {
  static constexpr int32_t kCount = (kBytes + 7) / 8;
  int64_t words[kCount];

  static Words Load(const uint8_t* source) {
    Words value;
    if constexpr (kBytes == 4) {
      value.words[0] = LoadAs<int32_t>(source);
    } else {
      std::memcpy(value.words, source, kBytes);
    }
    return value;
  }
};

template <int32_t kFrom, int32_t kTo>
bool Narrow(const uint8_t* values, const RowBlock& block, uint8_t* packed) {
  uint64_t lost = 0;
  for (int32_t i = 0; i < block.count; ++i) {
    const auto value = Words<kFrom>::Load(values + i * kFrom);
    constexpr int32_t kKept = Words<kTo>::kCount;
    uint64_t lost_here = 0;
    const int64_t kept_last = kTo == 4 ? static_cast<int32_t>(value.words[0]) : value.words[kKept - 1];
    if constexpr (kTo == 4) lost_here |= static_cast<uint64_t>(value.words[0] ^ kept_last);
    for (int32_t word = kKept; word < Words<kFrom>::kCount; ++word) {
      lost_here |= static_cast<uint64_t>(value.words[word] ^ (kept_last >> 63));
    }
    if constexpr (kTo == 4) {
      StoreAs(packed + i * kTo, static_cast<int32_t>(value.words[0]));
    } else {
      std::memcpy(packed + i * kTo, value.words, kTo);
    }
    if (block.has_nulls && !block.valid[i]) lost_here = 0;
    lost |= lost_here;
  }
  return lost == 0;
}

template <int32_t kFrom, int32_t kTo>
void Widen(const uint8_t* packed, int32_t count, uint8_t* values) {
  for (int32_t i = 0; i < count; ++i) {
    const auto value = Words<kFrom>::Load(packed + i * kFrom);
    Words<kTo> wide;
    for (int32_t word = 0; word < Words<kTo>::kCount; ++word) {
      wide.words[word] = word < Words<kFrom>::kCount ? value.words[word] : value.words[Words<kFrom>::kCount - 1] >> 63;
    }
    std::memcpy(values + i * kTo, wide.words, kTo);
  }
}

}  // namespace

bool NarrowDecimals(const TypeShape& shape, const uint8_t* values, const RowBlock& block, uint8_t* packed) {
  switch (shape.value_bytes * 100 + shape.packed_bytes) {
    case 804:
      return Narrow<8, 4>(values, block, packed);
    case 1604:
      return Narrow<16, 4>(values, block, packed);
    case 1608:
      return Narrow<16, 8>(values, block, packed);
    case 3204:
      return Narrow<32, 4>(values, block, packed);
    case 3208:
      return Narrow<32, 8>(values, block, packed);
    case 3216:
      return Narrow<32, 16>(values, block, packed);
    default:
      std::memmove(packed, values, static_cast<size_t>(block.count) * shape.packed_bytes);
      return true;
  }
}

void WidenDecimals(const TypeShape& shape, const uint8_t* packed, int32_t count, uint8_t* values) {
  switch (shape.value_bytes * 100 + shape.packed_bytes) {
    case 804:
      return Widen<4, 8>(packed, count, values);
    case 1604:
      return Widen<4, 16>(packed, count, values);
    case 1608:
      return Widen<8, 16>(packed, count, values);
    case 3204:
      return Widen<4, 32>(packed, count, values);
    case 3208:
      return Widen<8, 32>(packed, count, values);
    case 3216:
      return Widen<16, 32>(packed, count, values);
    default:
      std::memcpy(values, packed, static_cast<size_t>(count) * shape.packed_bytes);
  }
}

arrow::Status DecimalTooWide(const arrow::DataType& type, std::string_view context) {
  return MakeError(ErrorKind::kExecution, "{}: a value has more digits than its type {} allows", context, type.ToString());
}

ItemRange ListItems(const TypeShape& shape, const ArrayData& list, int64_t position) {
  const int64_t at = list.offset + position;
  if (shape.layout == Layout::kFixedList) return {at * shape.list_size, shape.list_size};
  const uint8_t* offsets = list.buffers[1]->data();
  switch (shape.layout) {
    case Layout::kList: {
      const int64_t begin = LoadAs<int32_t>(offsets + at * 4);
      return {begin, LoadAs<int32_t>(offsets + at * 4 + 4) - begin};
    }
    case Layout::kLargeList: {
      const int64_t begin = LoadAs<int64_t>(offsets + at * 8);
      return {begin, LoadAs<int64_t>(offsets + at * 8 + 8) - begin};
    }
    case Layout::kListView:
      return {LoadAs<int32_t>(offsets + at * 4), LoadAs<int32_t>(list.buffers[2]->data() + at * 4)};
    default:
      return {LoadAs<int64_t>(offsets + at * 8), LoadAs<int64_t>(list.buffers[2]->data() + at * 8)};
  }
}

NestedValue ResolveNested(const TypeShape& shape, const ArrayData& array, int64_t position) {
  if (!IsValidAt(array, position)) return {&shape, nullptr, 0};
  if (shape.layout != Layout::kDictionary) return {&shape, &array, position};
  const auto& type = static_cast<const arrow::DictionaryType&>(StorageOf(*array.type));
  int64_t at = 0;
  LoadIndicesOf(type.index_type()->id(), array.buffers[1]->data(), array.offset + position, 1, &at);
  const ArrayData& dictionary = *array.dictionary;
  return {&shape.children[0], IsValidAt(dictionary, at) ? &dictionary : nullptr, at};
}

}  // namespace icebound::row
