// SPDX-License-Identifier: Apache-2.0
#include "row/hash.h"

#include <arrow/util/float16.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "row/column_block.h"
#include "row/sort_key_order.h"

namespace icebound::row {

using arrow::ArrayData;
using arrow::Type;

namespace {

/// What a null adds instead of its value: no better and no worse than any other word.
constexpr uint64_t kNullWord = 0x9E3779B97F4A7C15ULL;

/// Told apart from the items of a list, so that [[1], [2]] and [[1, 2]] differ by more than the order of words.
constexpr uint64_t kListSalt = 0xD6E8FEB86659FD93ULL;

/// What the digest mixes in before the second sum.
constexpr uint64_t kDigestSalt = 0xA0761D6478BD642FULL;

uint64_t WordOfDouble(double value) {
  if (std::isnan(value)) return 0x7FF8'0000'0000'0000ULL;
  if (value == 0) return 0;
  return LoadAs<uint64_t>(&value);
}

/// A little-endian integer of several words: the lowest one, preceded by the others when they are more than its sign.
template <int32_t kWords>
uint64_t WordOfWide(const uint8_t* value) {
  const auto lowest = LoadAs<int64_t>(value);
  uint64_t high = 0;
  bool is_wide = false;
  for (int32_t word = kWords - 1; word > 0; --word) {
    const auto bits = LoadAs<uint64_t>(value + word * 8);
    is_wide |= bits != static_cast<uint64_t>(lowest >> 63);
    high = Mix(high + bits);
  }
  return static_cast<uint64_t>(lowest) + (is_wide ? Mix(high) : 0);
}

template <typename Value>
void WordsOfIntegers(const uint8_t* values, int32_t count, uint64_t* words) {
  for (int32_t i = 0; i < count; ++i) words[i] = static_cast<uint64_t>(LoadAs<Value>(values + i * sizeof(Value)));
}

void WordsOfSigned(int32_t width, const uint8_t* values, int32_t count, uint64_t* words) {
  switch (width) {
    case 1:
      return WordsOfIntegers<int8_t>(values, count, words);
    case 2:
      return WordsOfIntegers<int16_t>(values, count, words);
    case 4:
      return WordsOfIntegers<int32_t>(values, count, words);
    case 8:
      return WordsOfIntegers<int64_t>(values, count, words);
    case 16:
      for (int32_t i = 0; i < count; ++i) words[i] = WordOfWide<2>(values + i * 16);
      return;
    default:
      for (int32_t i = 0; i < count; ++i) words[i] = WordOfWide<4>(values + i * 32);
  }
}

void WordsOfUnsigned(int32_t width, const uint8_t* values, int32_t count, uint64_t* words) {
  switch (width) {
    case 1:
      return WordsOfIntegers<uint8_t>(values, count, words);
    case 2:
      return WordsOfIntegers<uint16_t>(values, count, words);
    case 4:
      return WordsOfIntegers<uint32_t>(values, count, words);
    default:
      return WordsOfIntegers<uint64_t>(values, count, words);
  }
}

/// Words of `count` packed values of a fixed layout that is not kBytes.
void WordsOfFixed(Order order, int32_t width, const uint8_t* values, int32_t count, uint64_t* words) {
  switch (order) {
    case Order::kUnsigned:
      return WordsOfUnsigned(width, values, count, words);
    case Order::kSigned:
      return WordsOfSigned(width, values, count, words);
    case Order::kHalfFloat:
      for (int32_t i = 0; i < count; ++i) {
        words[i] = WordOfDouble(arrow::util::Float16::FromBits(LoadAs<uint16_t>(values + i * 2)).ToDouble());
      }
      return;
    case Order::kFloat:
      for (int32_t i = 0; i < count; ++i) words[i] = WordOfDouble(static_cast<double>(LoadAs<float>(values + i * 4)));
      return;
    case Order::kDouble:
      for (int32_t i = 0; i < count; ++i) words[i] = WordOfDouble(LoadAs<double>(values + i * 8));
      return;
    case Order::kDayTime:
    case Order::kMonthDayNano: {
      // Equal intervals have equal keys, which have the width of an integer; only the order of its bytes is another.
      uint8_t key[kWidestValueBytes];
      uint8_t length[kWidestValueBytes];
      for (int32_t i = 0; i < count; ++i) {
        OrderValues(order, width, /*invert=*/false, values + i * width, 1, key);
        RestoreValues(Order::kSigned, width, /*invert=*/false, key, 1, length);
        WordsOfSigned(width, length, 1, words + i);
      }
      return;
    }
  }
}

uint64_t WordOfBytes(std::string_view bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

std::string_view FixedBytes(const TypeShape& shape, const ArrayData& array, int64_t position) {
  if (shape.value_bytes == 0) return {};
  const uint8_t* value = array.buffers[1]->data() + (array.offset + position) * shape.value_bytes;
  return {reinterpret_cast<const char*>(value), static_cast<size_t>(shape.value_bytes)};
}

/// Values of a fixed-width block that is not kBytes, packed.
const uint8_t* PackBlock(const TypeShape& shape, const ColumnView& view, const RowBlock& block, uint8_t* scratch, bool* fits) {
  const uint8_t* values = GatherFixed(shape, view, block, scratch);
  if (shape.value_bytes == shape.packed_bytes) return values;
  *fits &= NarrowDecimals(shape, values, block, scratch);
  return scratch;
}

uint64_t WordOfValue(const TypeShape& shape, const ArrayData& array, int64_t position, bool* fits) {
  const auto add_item = [fits](uint64_t hash, const TypeShape& item, const ArrayData& items, int64_t at) {
    const NestedValue value = ResolveNested(item, items, at);
    return Mix(hash + (value.array == nullptr ? kNullWord : WordOfValue(*value.shape, *value.array, value.position, fits)));
  };
  if (shape.layout == Layout::kBytes) return WordOfBytes(FixedBytes(shape, array, position));
  if (shape.is_fixed()) {
    ColumnView view;
    view.values = &array;
    RowBlock block;
    block.Fill(view, position, 1);
    uint8_t scratch[kWidestValueBytes];
    uint64_t word = 0;
    WordsOfFixed(OrderOf(shape), shape.packed_bytes, PackBlock(shape, view, block, scratch, fits), 1, &word);
    return word;
  }
  if (shape.is_string()) {
    return VisitStrings(shape.layout, array, [position](const auto& strings) { return WordOfBytes(strings(position)); });
  }
  uint64_t hash = kListSalt;
  if (shape.layout == Layout::kStruct) {
    for (size_t child = 0; child < shape.children.size(); ++child) {
      hash = add_item(hash, shape.children[child], *array.child_data[child], array.offset + position);
    }
    return hash;
  }
  const ItemRange items = ListItems(shape, array, position);
  for (int64_t i = 0; i < items.count; ++i) hash = add_item(hash, shape.children[0], *array.child_data[0], items.begin + i);
  return Mix(hash + static_cast<uint64_t>(items.count));
}

}  // namespace

class RowHasher::Column {
 public:
  static arrow::Result<Column> Make(const std::shared_ptr<arrow::DataType>& type, size_t position) {
    Column column;
    column.context_ = fmt::format("hash column {}", position + 1);
    ARROW_ASSIGN_OR_RAISE(column.shape_, TypeShape::Make(type, column.context_));
    column.declared_type_ = type;
    column.storage_type_ = &ValueStorageOf(*type);
    column.order_ = OrderOf(column.shape_);
    return column;
  }

  arrow::Status Combine(const arrow::Array& array, int64_t first_row, std::span<uint64_t> hashes) const {
    if (first_row < 0 || static_cast<int64_t>(hashes.size()) > array.length() - first_row) {
      return MakeError(ErrorKind::kInternal, "{}: rows {} to {} of a column of {} rows", context_, first_row,
                       first_row + static_cast<int64_t>(hashes.size()), array.length());
    }
    ARROW_ASSIGN_OR_RAISE(const ColumnView view, ColumnView::Make(array, *storage_type_));
    RowBlock block;
    uint64_t words[kBlockRows];
    bool fits = true;
    for (size_t first = 0; first < hashes.size(); first += kBlockRows) {
      const auto count = static_cast<int32_t>(std::min<size_t>(kBlockRows, hashes.size() - first));
      block.Fill(view, first_row + static_cast<int64_t>(first), count);
      WordsOfBlock(view, block, words, &fits);
      uint64_t* block_hashes = hashes.data() + first;
      for (int32_t i = 0; block.has_nulls && i < count; ++i) words[i] = block.valid[i] ? words[i] : kNullWord;
      for (int32_t i = 0; i < count; ++i) block_hashes[i] = Mix(block_hashes[i] + words[i]);
    }
    return fits ? arrow::Status::OK() : DecimalTooWide(*shape_.output_type, context_);
  }

 private:
  void WordsOfBlock(const ColumnView& view, const RowBlock& block, uint64_t* words, bool* fits) const {
    const auto skip_null = [](int32_t) {};
    const ArrayData& values = *view.values;
    if (shape_.layout == Layout::kNull) return;
    if (shape_.is_string()) {
      VisitStrings(shape_.layout, values, [&](const auto& strings) {
        VisitRows(
            block, [&](int32_t i, int64_t at) ICEBOUND_ROW_INLINE { words[i] = WordOfBytes(strings(at)); }, skip_null);
      });
    } else if (shape_.is_fixed() && shape_.layout != Layout::kBytes) {
      uint8_t scratch[kBlockRows * kWidestValueBytes];
      WordsOfFixed(order_, shape_.packed_bytes, PackBlock(shape_, view, block, scratch, fits), block.count, words);
    } else {
      VisitRows(
          block, [&](int32_t i, int64_t at) { words[i] = WordOfValue(shape_, values, at, fits); }, skip_null);
    }
  }

  TypeShape shape_;
  std::shared_ptr<arrow::DataType> declared_type_;
  const arrow::DataType* storage_type_ = nullptr;  ///< owned by declared_type_
  std::string context_;
  Order order_ = Order::kUnsigned;
};

RowHasher::RowHasher() = default;
RowHasher::~RowHasher() = default;

arrow::Result<std::unique_ptr<RowHasher>> RowHasher::Make(const std::vector<std::shared_ptr<arrow::DataType>>& types,
                                                          uint64_t seed) {
  std::unique_ptr<RowHasher> hasher(new RowHasher());
  for (size_t c = 0; c < types.size(); ++c) {
    ARROW_ASSIGN_OR_RAISE(Column column, Column::Make(types[c], c));
    hasher->columns_.push_back(std::move(column));
  }
  hasher->start_ = Mix(seed + kNullWord);
  return hasher;
}

arrow::Status RowHasher::Hash(const arrow::ArrayVector& columns, int64_t first_row, std::span<uint64_t> hashes) const {
  if (columns.size() != columns_.size())
    return MakeError(ErrorKind::kInternal, "{} columns for {} to hash", columns.size(), columns_.size());
  std::fill(hashes.begin(), hashes.end(), start_);
  for (size_t c = 0; c < columns.size(); ++c) ARROW_RETURN_NOT_OK(columns_[c].Combine(*columns[c], first_row, hashes));
  return arrow::Status::OK();
}

void RowSetDigest::Add(std::span<const uint64_t> hashes) {
  rows += hashes.size();
  for (const uint64_t hash : hashes) {
    sum += hash;
    mixed_sum += Mix(hash ^ kDigestSalt);
  }
}

void RowSetDigest::Merge(const RowSetDigest& other) {
  rows += other.rows;
  sum += other.sum;
  mixed_sum += other.mixed_sum;
}

}  // namespace icebound::row
