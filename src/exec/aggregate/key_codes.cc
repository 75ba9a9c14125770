// SPDX-License-Identifier: Apache-2.0
#include "exec/aggregate/key_codes.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <optional>

#include "exec/aggregate/state.h"
#include "row/column_block.h"
#include "row/hash.h"

namespace icebound::exec::aggregate {
namespace {

using arrow::ArrayData;
using arrow::Type;

/// Rows after which a column that has too many values is given up.
constexpr int64_t kLookRows = 256;

/// Calls visit(values) with the column's integers (the indices of a dictionary) in their own width. False for other types.
template <typename Visit>
bool VisitIntegers(const ArrayData& data, Visit visit) {
  const arrow::DataType* type = data.type.get();
  if (type->id() == Type::DICTIONARY) type = static_cast<const arrow::DictionaryType&>(*type).index_type().get();
  switch (type->id()) {
    case Type::INT8:
      return visit(data.GetValues<int8_t>(1));
    case Type::UINT8:
      return visit(data.GetValues<uint8_t>(1));
    case Type::INT16:
      return visit(data.GetValues<int16_t>(1));
    case Type::UINT16:
      return visit(data.GetValues<uint16_t>(1));
    case Type::INT32:
    case Type::DATE32:
    case Type::DECIMAL32:
      return visit(data.GetValues<int32_t>(1));
    case Type::UINT32:
      return visit(data.GetValues<uint32_t>(1));
    case Type::INT64:
    case Type::DECIMAL64:
      return visit(data.GetValues<int64_t>(1));
    default:
      return false;
  }
}

std::optional<row::Layout> TextLayout(const arrow::DataType& type) {
  switch (type.id()) {
    case Type::STRING:
    case Type::BINARY:
      return row::Layout::kString;
    case Type::LARGE_STRING:
    case Type::LARGE_BINARY:
      return row::Layout::kLargeString;
    case Type::STRING_VIEW:
    case Type::BINARY_VIEW:
      return row::Layout::kStringView;
    default:
      return std::nullopt;
  }
}

bool IsValid(const ArrayData& data, int64_t row) { return row::BitIsSet(data.buffers[0]->data(), data.offset + row); }

/// The least value and how many codes there are from it to the greatest. False when they are more than kCodesMax.
template <typename Value>
bool FindRange(const ArrayData& data, const Value* values, bool has_nulls, int64_t* least_value, int64_t* codes) {
  auto least = std::numeric_limits<Value>::max();
  auto greatest = std::numeric_limits<Value>::min();
  for (int64_t first = 0; first < data.length; first += kLookRows) {
    const int64_t end = std::min(data.length, first + kLookRows);
    for (int64_t i = first; i < end; ++i) {
      if (has_nulls && !IsValid(data, i)) continue;
      least = std::min(least, values[i]);
      greatest = std::max(greatest, values[i]);
    }
    if (least > greatest) continue;  // only nulls so far
    const uint64_t range = static_cast<uint64_t>(greatest) - static_cast<uint64_t>(least);
    if (range >= static_cast<uint64_t>(KeyCodes::kCodesMax)) return false;
  }
  *least_value = least > greatest ? 0 : static_cast<int64_t>(least);
  *codes = least > greatest ? 0 : static_cast<int64_t>(greatest) - *least_value + 1;
  return true;
}

}  // namespace

int ShortTexts::NumberOf(std::string_view text) {
  using row::LoadAs;
  const size_t bytes = text.size();
  if (bytes > kBytesMax) return kNone;
  const char* begin = text.data();
  uint64_t head = 0;
  uint64_t tail = 0;
  if (bytes >= 8) {
    head = LoadAs<uint64_t>(begin);
    tail = LoadAs<uint64_t>(begin + bytes - 8);
  } else if (bytes >= 4) {
    head = LoadAs<uint32_t>(begin);
    tail = LoadAs<uint32_t>(begin + bytes - 4);
  } else if (bytes > 0) {
    head = LoadAs<uint8_t>(begin);
    tail = static_cast<uint64_t>(LoadAs<uint8_t>(begin + bytes / 2)) << 8 | LoadAs<uint8_t>(begin + bytes - 1);
  }
  for (size_t at = row::Mix(head + std::rotl(tail, 29) + bytes) % kSlots;; at = (at + 1) % kSlots) {
    Slot& slot = slots_[at];
    if (slot.head == head && slot.tail == tail && slot.bytes == bytes && slot.number != kNone) return slot.number;
    if (slot.number != kNone) continue;
    if (count_ == kMax) return kNone;
    slot = {head, tail, static_cast<uint32_t>(bytes), count_};
    return count_++;
  }
}

/// Codes of a column of text. When there are too many texts, those that are known are forgotten, for the next batch.
bool KeyCodes::LoadTexts(const Column& column, int64_t first, int32_t count, ShortTexts* texts, uint16_t* codes) {
  const ArrayData& data = *column.data;
  const bool all = row::VisitStrings(column.text_layout, data, [&](const auto& strings) {
    for (int32_t i = 0; i < count; ++i) {
      if (column.has_nulls && !IsValid(data, first + i)) continue;
      const int number = texts->NumberOf(strings(first + i));
      if (number == ShortTexts::kNone) return false;
      codes[i] = static_cast<uint16_t>(number);
    }
    return true;
  });
  if (!all) texts->Clear();
  return all;
}

bool KeyCodes::OpenColumn(const arrow::Array& array, Column* column) {
  const ArrayData& data = *array.data();
  column->data = &data;
  column->has_nulls = array.null_count() > 0;
  int64_t codes = 0;
  if (data.type->id() == Type::DICTIONARY) {
    codes = data.dictionary->length;
  } else if (data.type->id() == Type::BOOL) {
    codes = 2;
  } else if (const std::optional<row::Layout> layout = TextLayout(*data.type)) {
    column->text_layout = *layout;
    codes = ShortTexts::kMax;
  } else {
    const bool has_range = VisitIntegers(
        data, [&](const auto* values) { return FindRange(data, values, column->has_nulls, &column->least, &codes); });
    if (!has_range) return false;
  }
  column->null_code = static_cast<int32_t>(std::min<int64_t>(codes, kCodesMax));
  return codes < kCodesMax;
}

bool KeyCodes::Open(const arrow::ArrayVector& columns) {
  columns_.assign(columns.size(), Column());
  texts_.resize(columns.size());
  int64_t codes = 1;
  for (size_t c = 0; c < columns.size(); ++c) {
    if (!OpenColumn(*columns[c], &columns_[c])) return false;
    codes *= columns_[c].null_code + 1;
    if (codes > kCodesMax) return false;
  }
  code_count_ = static_cast<int32_t>(codes);
  return true;
}

bool KeyCodes::Load(int64_t first, int32_t count, uint16_t* codes) {
  std::fill_n(codes, count, 0);
  for (size_t c = 0; c < columns_.size(); ++c) {
    const Column& column = columns_[c];
    const ArrayData& data = *column.data;
    const auto radix = static_cast<uint32_t>(column.null_code + 1);
    uint16_t column_codes[kSliceRows];
    if (column.text_layout != row::Layout::kNull) {
      if (!LoadTexts(column, first, count, &texts_[c], column_codes)) return false;
    } else if (data.type->id() == Type::BOOL) {
      const uint8_t* bits = data.buffers[1]->data();
      for (int32_t i = 0; i < count; ++i) column_codes[i] = row::BitIsSet(bits, data.offset + first + i) ? 1 : 0;
    } else {
      VisitIntegers(data, [&](const auto* values) {
        for (int32_t i = 0; i < count; ++i) {
          column_codes[i] = static_cast<uint16_t>(static_cast<uint64_t>(values[first + i]) - static_cast<uint64_t>(column.least));
        }
        return true;
      });
    }
    for (int32_t i = 0; column.has_nulls && i < count; ++i) {
      if (!IsValid(data, first + i)) column_codes[i] = static_cast<uint16_t>(column.null_code);
    }
    for (int32_t i = 0; i < count; ++i) codes[i] = static_cast<uint16_t>(codes[i] * radix + column_codes[i]);
  }
  return true;
}

}  // namespace icebound::exec::aggregate
