// SPDX-License-Identifier: Apache-2.0
#include "row/sort_key.h"

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "row/column_block.h"
#include "row/column_output.h"
#include "row/sort_key_nested.h"
#include "row/sort_key_order.h"
#include "row/sort_key_string.h"

namespace icebound::row {

namespace {

constexpr uint8_t kNullFirst = 0x00;
constexpr uint8_t kNotNull = 0x01;
constexpr uint8_t kNullLast = 0x02;

/// Above this a dictionary's bytes are not searched for zeros at once: most of them may not occur in the batch.
constexpr int64_t kLargeDictionaryBytes = int64_t{64} << 10;

void InvertBytes(uint8_t* begin, const uint8_t* end) {
  for (; begin < end; ++begin) *begin = static_cast<uint8_t>(~*begin);
}

template <typename Offset>
bool OffsetStringsHaveNoZero(const arrow::ArrayData& array, int64_t first, int64_t count) {
  const uint8_t* offsets = array.buffers[1]->data() + array.offset * sizeof(Offset);
  const auto begin = LoadAs<Offset>(offsets + first * sizeof(Offset));
  const auto end = LoadAs<Offset>(offsets + (first + count) * sizeof(Offset));
  return begin == end || std::memchr(array.buffers[2]->data() + begin, 0, static_cast<size_t>(end - begin)) == nullptr;
}

/// Adds `more` to a length and collects overflow in the upper half of `overflow`.
inline void AddLength(uint32_t* length, uint64_t more, uint64_t* overflow) {
  const uint64_t sum = *length + more;
  *length = static_cast<uint32_t>(sum);
  *overflow |= sum;
}

}  // namespace

/// A column of the batch at hand.
struct KeyInput {
  ColumnView view;
  bool no_zero_bytes = false;  ///< strings: none of the rows to encode has a zero byte
};

/// How one field is written and read.
class SortKeyEncoder::Column {
 public:
  static arrow::Result<Column> Make(const SortField& field, int position);

  /// Bytes of the field, marker included, when every value takes the same.
  std::optional<int32_t> fixed_bytes() const {
    if (shape_.layout == Layout::kNull) return 0;
    return shape_.is_fixed() ? std::optional(marker_bytes_ + shape_.packed_bytes) : std::nullopt;
  }
  bool can_decode() const {
    if (shape_.layout == Layout::kNull || shape_.layout == Layout::kBytes || shape_.is_string()) return true;
    return shape_.is_fixed() && IsReversible(order_);
  }
  const TypeShape& shape() const { return shape_; }

  arrow::Result<KeyInput> Open(const arrow::Array& array, int64_t first_row, int64_t count) const;
  arrow::Status CheckNulls(const RowBlock& block) const;

  /// Adds the lengths of a block of a field without fixed_bytes.
  arrow::Status AddLengths(const KeyInput& input, const RowBlock& block, uint32_t* lengths) const;

  /// Writes at cursors[i] + offset, and leaves the cursors alone.
  arrow::Status EncodeFixed(const KeyInput& input, const RowBlock& block, int32_t offset, uint8_t* const* cursors) const;
  /// Writes at cursors[i] + offset, and moves the cursors to the end of what was written.
  arrow::Status EncodeVariable(const KeyInput& input, const RowBlock& block, int32_t offset, uint8_t** cursors) const;

  arrow::Status DecodeFixed(const uint8_t* const* cursors, int32_t offset, int64_t first_row, int32_t count,
                            ColumnOutput* output) const;
  arrow::Status DecodeStrings(const uint8_t** cursors, int32_t offset, int64_t first_row, int32_t count,
                              ColumnOutput* output) const;
  void SkipVariable(const uint8_t** cursors, int32_t offset, int32_t count) const;

 private:
  template <bool kInvert>
  void EncodeStrings(const KeyInput& input, const RowBlock& block, int32_t offset, uint8_t** cursors) const;
  void EncodeBytes(const KeyInput& input, const RowBlock& block, int32_t offset, uint8_t* const* cursors) const;
  void WriteMarkers(const RowBlock& block, int32_t offset, uint8_t* const* cursors) const;
  /// Reads validity from the markers. False when no row is null; `valid` is then unspecified.
  bool ReadMarkers(const uint8_t* const* cursors, int32_t offset, int32_t count, uint8_t* valid) const;
  uint8_t mask() const { return is_descending_ ? 0xFF : 0; }

  TypeShape shape_;
  std::shared_ptr<arrow::DataType> declared_type_;
  const arrow::DataType* storage_type_ = nullptr;  ///< owned by declared_type_
  std::string context_;
  Order order_ = Order::kUnsigned;
  int32_t marker_bytes_ = 0;
  uint8_t null_marker_ = kNullLast;
  bool is_descending_ = false;
};

arrow::Result<SortKeyEncoder::Column> SortKeyEncoder::Column::Make(const SortField& field, int position) {
  Column column;
  column.context_ = fmt::format("sort key {}", position + 1);
  ARROW_ASSIGN_OR_RAISE(column.shape_, TypeShape::Make(field.type, column.context_));
  column.declared_type_ = field.type;
  column.storage_type_ = &ValueStorageOf(*field.type);
  column.order_ = OrderOf(column.shape_);
  column.marker_bytes_ = field.nullable && column.shape_.layout != Layout::kNull ? 1 : 0;
  column.null_marker_ = field.nulls_first ? kNullFirst : kNullLast;
  column.is_descending_ = field.descending;
  return column;
}

arrow::Result<KeyInput> SortKeyEncoder::Column::Open(const arrow::Array& array, int64_t first_row, int64_t count) const {
  if (first_row < 0 || count > array.length() - first_row) {
    return MakeError(ErrorKind::kInternal, "{}: rows {} to {} of a column of {} rows", context_, first_row, first_row + count,
                     array.length());
  }
  KeyInput input;
  ARROW_ASSIGN_OR_RAISE(input.view, ColumnView::Make(array, *storage_type_));
  const arrow::ArrayData& values = *input.view.values;
  if (input.view.indices != nullptr) {
    first_row = 0;
    count = values.length;
  }
  if (count == 0 || (shape_.layout != Layout::kString && shape_.layout != Layout::kLargeString)) return input;
  if (input.view.indices != nullptr && values.buffers[2] != nullptr && values.buffers[2]->size() > kLargeDictionaryBytes)
    return input;
  input.no_zero_bytes = shape_.layout == Layout::kString ? OffsetStringsHaveNoZero<int32_t>(values, first_row, count)
                                                         : OffsetStringsHaveNoZero<int64_t>(values, first_row, count);
  return input;
}

arrow::Status SortKeyEncoder::Column::CheckNulls(const RowBlock& block) const {
  if (!block.has_nulls || marker_bytes_ == 1 || shape_.layout == Layout::kNull) return arrow::Status::OK();
  return MakeError(ErrorKind::kInternal, "{}: a column declared not null holds a null", context_);
}

arrow::Status SortKeyEncoder::Column::AddLengths(const KeyInput& input, const RowBlock& block, uint32_t* lengths) const {
  uint64_t overflow = 0;
  const auto marker_bytes = static_cast<uint64_t>(marker_bytes_);
  const auto add_null = [&](int32_t i) ICEBOUND_ROW_INLINE { AddLength(&lengths[i], marker_bytes, &overflow); };
  const arrow::ArrayData& values = *input.view.values;
  if (shape_.is_string()) {
    const uint64_t extra = marker_bytes + kStringEndBytes;
    VisitStrings(shape_.layout, values, [&](const auto& strings) {
      if (input.no_zero_bytes) {
        const auto add = [&](int32_t i, int64_t at)
                             ICEBOUND_ROW_INLINE { AddLength(&lengths[i], strings.Length(at) + extra, &overflow); };
        VisitRows(block, add, add_null);
        return;
      }
      const auto add = [&](int32_t i, int64_t at) ICEBOUND_ROW_INLINE {
        const std::string_view text = strings(at);
        const uint64_t escapes = HasZeroByte(text.data(), text.size()) ? CountZeroBytes(text) : 0;
        AddLength(&lengths[i], text.size() + escapes + extra, &overflow);
      };
      VisitRows(block, add, add_null);
    });
  } else {
    const auto add = [&](int32_t i, int64_t at) {
      AddLength(&lengths[i], marker_bytes + NestedKeyLength(shape_, values, at), &overflow);
    };
    VisitRows(block, add, add_null);
  }
  if (overflow >> 32 == 0) return arrow::Status::OK();
  return MakeError(ErrorKind::kMemoryLimit, "{}: the sort key of one row passes 4 GiB", context_);
}

void SortKeyEncoder::Column::WriteMarkers(const RowBlock& block, int32_t offset, uint8_t* const* cursors) const {
  if (marker_bytes_ == 0) return;
  for (int32_t i = 0; i < block.count; ++i) cursors[i][offset] = kNotNull;
  if (!block.has_nulls) return;
  for (int32_t i = 0; i < block.count; ++i) {
    if (!block.valid[i]) cursors[i][offset] = null_marker_;
  }
}

void SortKeyEncoder::Column::EncodeBytes(const KeyInput& input, const RowBlock& block, int32_t offset,
                                         uint8_t* const* cursors) const {
  const auto width = static_cast<size_t>(shape_.value_bytes);
  if (width == 0) return;
  const arrow::ArrayData& array = *input.view.values;
  const uint8_t* values = array.buffers[1] ? array.buffers[1]->data() + array.offset * shape_.value_bytes : nullptr;
  const auto write = [&](int32_t i, int64_t at) {
    const uint8_t* value = values + at * shape_.value_bytes;
    if (is_descending_) {
      CopyBytes<CopyMode::kInverted>(cursors[i] + offset, value, width);
    } else {
      CopyBytes(cursors[i] + offset, value, width);
    }
  };
  VisitRows(block, write, [&](int32_t i) { std::memset(cursors[i] + offset, 0, width); });
}

arrow::Status SortKeyEncoder::Column::EncodeFixed(const KeyInput& input, const RowBlock& block, int32_t offset,
                                                  uint8_t* const* cursors) const {
  if (shape_.layout == Layout::kNull) return arrow::Status::OK();
  WriteMarkers(block, offset, cursors);
  offset += marker_bytes_;
  if (shape_.layout == Layout::kBytes) {
    EncodeBytes(input, block, offset, cursors);
    return arrow::Status::OK();
  }
  uint8_t gathered[kBlockRows * kWidestValueBytes];
  uint8_t ordered[kBlockRows * kWidestValueBytes];
  const uint8_t* values = GatherFixed(shape_, input.view, block, gathered);
  if (shape_.value_bytes != shape_.packed_bytes) {
    if (!NarrowDecimals(shape_, values, block, gathered)) return DecimalTooWide(*shape_.output_type, context_);
    values = gathered;
  }
  OrderValues(order_, shape_.packed_bytes, is_descending_, values, block.count, ordered);
  ZeroNulls(block, shape_.packed_bytes, ordered);
  ScatterFixed(shape_.packed_bytes, ordered, block.count, cursors, offset);
  return arrow::Status::OK();
}

template <bool kInvert>
void SortKeyEncoder::Column::EncodeStrings(const KeyInput& input, const RowBlock& block, int32_t offset,
                                           uint8_t** cursors) const {
  const bool no_zeros = input.no_zero_bytes;
  VisitStrings(shape_.layout, *input.view.values, [&](const auto& strings) {
    const auto write = [&](int32_t i, int64_t at)
                           ICEBOUND_ROW_INLINE { cursors[i] = WriteString<kInvert>(strings(at), no_zeros, cursors[i] + offset); };
    VisitRows(block, write, [&](int32_t i) ICEBOUND_ROW_INLINE { cursors[i] += offset; });
  });
}

arrow::Status SortKeyEncoder::Column::EncodeVariable(const KeyInput& input, const RowBlock& block, int32_t offset,
                                                     uint8_t** cursors) const {
  WriteMarkers(block, offset, cursors);
  offset += marker_bytes_;
  if (shape_.is_string()) {
    if (is_descending_) {
      EncodeStrings<true>(input, block, offset, cursors);
    } else {
      EncodeStrings<false>(input, block, offset, cursors);
    }
    return arrow::Status::OK();
  }
  bool fits = true;
  const auto write = [&](int32_t i, int64_t at) {
    uint8_t* begin = cursors[i] + offset;
    uint8_t* end = WriteNestedKey(shape_, *input.view.values, at, begin, &fits);
    if (is_descending_) InvertBytes(begin, end);
    cursors[i] = end;
  };
  VisitRows(block, write, [&](int32_t i) { cursors[i] += offset; });
  return fits ? arrow::Status::OK() : DecimalTooWide(*shape_.output_type, context_);
}

bool SortKeyEncoder::Column::ReadMarkers(const uint8_t* const* cursors, int32_t offset, int32_t count, uint8_t* valid) const {
  if (marker_bytes_ == 0) return false;
  bool has_nulls = false;
  for (int32_t i = 0; i < count; ++i) {
    valid[i] = cursors[i][offset] == kNotNull;
    has_nulls |= valid[i] == 0;
  }
  return has_nulls;
}

arrow::Status SortKeyEncoder::Column::DecodeFixed(const uint8_t* const* cursors, int32_t offset, int64_t first_row, int32_t count,
                                                  ColumnOutput* output) const {
  if (shape_.layout == Layout::kNull) return arrow::Status::OK();
  RowBlock block;
  block.count = count;
  block.has_nulls = ReadMarkers(cursors, offset, count, block.valid);
  if (block.has_nulls) ARROW_RETURN_NOT_OK(output->SetValidity(first_row, block.valid, count));
  offset += marker_bytes_;
  const int32_t width = shape_.packed_bytes;
  uint8_t scratch[kBlockRows * kWidestValueBytes];
  uint8_t* target = output->FixedTarget(first_row, scratch);
  if (shape_.layout == Layout::kBytes) {
    CollectFixed(width, cursors, offset, count, target);
    for (int32_t i = 0; is_descending_ && i < count; ++i) {
      uint8_t* value = target + static_cast<int64_t>(i) * width;
      if (block.IsValid(i)) InvertBytes(value, value + width);
    }
  } else {
    uint8_t ordered[kBlockRows * kWidestValueBytes];
    CollectFixed(width, cursors, offset, count, ordered);
    RestoreValues(order_, width, is_descending_, ordered, count, target);
    ZeroNulls(block, width, target);
  }
  output->CommitFixed(first_row, count, target);
  return arrow::Status::OK();
}

arrow::Status SortKeyEncoder::Column::DecodeStrings(const uint8_t** cursors, int32_t offset, int64_t first_row, int32_t count,
                                                    ColumnOutput* output) const {
  uint8_t valid[kBlockRows];
  const bool has_nulls = ReadMarkers(cursors, offset, count, valid);
  if (has_nulls) ARROW_RETURN_NOT_OK(output->SetValidity(first_row, valid, count));
  offset += marker_bytes_;

  uint32_t lengths[kBlockRows];
  bool has_escapes[kBlockRows];
  const uint8_t* begins[kBlockRows];
  uint64_t total_bytes = 0;
  for (int32_t i = 0; i < count; ++i) {
    begins[i] = cursors[i] + offset;
    WrittenString written{begins[i], 0, false};
    if (!has_nulls || valid[i]) written = MeasureString(begins[i], mask());
    lengths[i] = static_cast<uint32_t>(written.length);
    has_escapes[i] = written.has_escapes;
    cursors[i] = written.end;
    total_bytes += output->StringBytes(lengths[i]);
  }
  ARROW_RETURN_NOT_OK(output->ReserveStringBytes(total_bytes, first_row + count));
  output->WriteStrings([&](auto& sink) {
    for (int32_t i = 0; i < count; ++i) {
      uint8_t* place = sink.Place(first_row + i, lengths[i]);
      if (has_escapes[i]) {
        ReadStringWithZeros(begins[i], lengths[i], mask(), place);
      } else if (is_descending_) {
        CopyBytes<CopyMode::kInverted>(place, begins[i], lengths[i]);
      } else {
        CopyBytes(place, begins[i], lengths[i]);
      }
      sink.Seal(first_row + i, lengths[i], place);
    }
  });
  return arrow::Status::OK();
}

void SortKeyEncoder::Column::SkipVariable(const uint8_t** cursors, int32_t offset, int32_t count) const {
  for (int32_t i = 0; i < count; ++i) {
    const uint8_t* key = cursors[i] + offset;
    const bool is_null = marker_bytes_ == 1 && *key != kNotNull;
    key += marker_bytes_;
    cursors[i] = is_null ? key : SkipNestedKey(shape_, key, mask());
  }
}

SortKeyEncoder::SortKeyEncoder() = default;
SortKeyEncoder::~SortKeyEncoder() = default;

arrow::Result<std::unique_ptr<SortKeyEncoder>> SortKeyEncoder::Make(std::vector<SortField> fields) {
  std::unique_ptr<SortKeyEncoder> encoder(new SortKeyEncoder());
  int64_t width = 0;
  bool is_fixed = true;
  for (size_t f = 0; f < fields.size(); ++f) {
    ARROW_ASSIGN_OR_RAISE(Column column, Column::Make(fields[f], static_cast<int>(f)));
    is_fixed = is_fixed && column.fixed_bytes().has_value();
    width += column.fixed_bytes().value_or(0);
    encoder->columns_.push_back(std::move(column));
  }
  if (width > std::numeric_limits<int32_t>::max()) return MakeError(ErrorKind::kUnsupported, "a sort key of {} bytes", width);
  if (is_fixed) encoder->fixed_width_ = static_cast<int32_t>(width);
  encoder->fields_ = std::move(fields);
  return encoder;
}

bool SortKeyEncoder::CanDecode(int field) const { return columns_[static_cast<size_t>(field)].can_decode(); }

const std::shared_ptr<arrow::DataType>& SortKeyEncoder::decoded_type(int field) const {
  return columns_[static_cast<size_t>(field)].shape().output_type;
}

namespace {

/// Calls visit(first, count) for blocks of at most kBlockRows rows.
template <typename Visit>
arrow::Status VisitBlocks(size_t rows, Visit&& visit) {
  for (size_t first = 0; first < rows; first += kBlockRows) {
    ARROW_RETURN_NOT_OK(visit(first, static_cast<int32_t>(std::min<size_t>(kBlockRows, rows - first))));
  }
  return arrow::Status::OK();
}

}  // namespace

arrow::Status SortKeyEncoder::AddLengths(const arrow::ArrayVector& columns, int64_t first_row,
                                         std::span<uint32_t> lengths) const {
  if (columns.size() != columns_.size())
    return MakeError(ErrorKind::kInternal, "{} columns for {} sort keys", columns.size(), columns_.size());
  uint64_t fixed_bytes = 0;
  for (size_t c = 0; c < columns_.size(); ++c) {
    const Column& column = columns_[c];
    if (const auto bytes = column.fixed_bytes()) {
      fixed_bytes += static_cast<uint64_t>(*bytes);
      continue;
    }
    ARROW_ASSIGN_OR_RAISE(const KeyInput input, column.Open(*columns[c], first_row, static_cast<int64_t>(lengths.size())));
    ARROW_RETURN_NOT_OK(VisitBlocks(lengths.size(), [&](size_t first, int32_t count) {
      RowBlock block;
      block.Fill(input.view, first_row + static_cast<int64_t>(first), count);
      return column.AddLengths(input, block, lengths.data() + first);
    }));
  }
  uint64_t overflow = 0;
  for (uint32_t& length : lengths) AddLength(&length, fixed_bytes, &overflow);
  if (overflow >> 32 != 0) return MakeError(ErrorKind::kMemoryLimit, "the sort key of one row passes 4 GiB");
  return arrow::Status::OK();
}

arrow::Status SortKeyEncoder::Encode(const arrow::ArrayVector& columns, int64_t first_row, std::span<uint8_t*> cursors) const {
  if (columns.size() != columns_.size())
    return MakeError(ErrorKind::kInternal, "{} columns for {} sort keys", columns.size(), columns_.size());
  std::vector<KeyInput> inputs(columns.size());
  for (size_t c = 0; c < columns.size(); ++c) {
    ARROW_ASSIGN_OR_RAISE(inputs[c], columns_[c].Open(*columns[c], first_row, static_cast<int64_t>(cursors.size())));
  }
  RowBlock block;
  return VisitBlocks(cursors.size(), [&](size_t first, int32_t count) {
    uint8_t** const block_cursors = cursors.data() + first;
    int32_t offset = 0;  // bytes written past the cursors since they were last moved
    for (size_t c = 0; c < columns_.size(); ++c) {
      block.Fill(inputs[c].view, first_row + static_cast<int64_t>(first), count);
      ARROW_RETURN_NOT_OK(columns_[c].CheckNulls(block));
      if (const auto bytes = columns_[c].fixed_bytes()) {
        ARROW_RETURN_NOT_OK(columns_[c].EncodeFixed(inputs[c], block, offset, block_cursors));
        offset += *bytes;
      } else {
        ARROW_RETURN_NOT_OK(columns_[c].EncodeVariable(inputs[c], block, offset, block_cursors));
        offset = 0;
      }
    }
    for (int32_t i = 0; i < count; ++i) block_cursors[i] += offset;
    return arrow::Status::OK();
  });
}

arrow::Result<arrow::ArrayVector> SortKeyEncoder::Decode(std::span<const uint8_t*> cursors, const std::vector<bool>& wanted,
                                                         arrow::MemoryPool* pool) const {
  std::vector<std::optional<ColumnOutput>> outputs(columns_.size());
  for (size_t c = 0; c < columns_.size(); ++c) {
    if (!columns_[c].can_decode() || (!wanted.empty() && !wanted[c])) continue;
    ARROW_ASSIGN_OR_RAISE(outputs[c], ColumnOutput::Make(columns_[c].shape(), static_cast<int64_t>(cursors.size()), pool));
  }
  ARROW_RETURN_NOT_OK(VisitBlocks(cursors.size(), [&](size_t first, int32_t count) {
    const uint8_t** const block_cursors = cursors.data() + first;
    const auto first_row = static_cast<int64_t>(first);
    int32_t offset = 0;
    for (size_t c = 0; c < columns_.size(); ++c) {
      const auto bytes = columns_[c].fixed_bytes();
      if (bytes.has_value() && outputs[c]) {
        ARROW_RETURN_NOT_OK(columns_[c].DecodeFixed(block_cursors, offset, first_row, count, &*outputs[c]));
      } else if (!bytes.has_value() && outputs[c]) {
        ARROW_RETURN_NOT_OK(columns_[c].DecodeStrings(block_cursors, offset, first_row, count, &*outputs[c]));
      } else if (!bytes.has_value()) {
        columns_[c].SkipVariable(block_cursors, offset, count);
      }
      offset = bytes.has_value() ? offset + *bytes : 0;
    }
    for (int32_t i = 0; i < count; ++i) block_cursors[i] += offset;
    return arrow::Status::OK();
  }));
  arrow::ArrayVector arrays(columns_.size());
  for (size_t c = 0; c < columns_.size(); ++c) {
    if (!outputs[c]) continue;
    ARROW_ASSIGN_OR_RAISE(auto data, outputs[c]->Finish());
    arrays[c] = arrow::MakeArray(data);
  }
  return arrays;
}

void SortKeyEncoder::Skip(std::span<const uint8_t*> cursors) const {
  int32_t offset = 0;
  for (const Column& column : columns_) {
    if (const auto bytes = column.fixed_bytes()) {
      offset += *bytes;
      continue;
    }
    column.SkipVariable(cursors.data(), offset, static_cast<int32_t>(cursors.size()));
    offset = 0;
  }
  for (const uint8_t*& cursor : cursors) cursor += offset;
}

}  // namespace icebound::row
