// SPDX-License-Identifier: Apache-2.0
#include "row/row_codec.h"

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "row/column_block.h"
#include "row/column_output.h"
#include "row/compact_value.h"

namespace icebound::row {

namespace {

constexpr int32_t kLengthBytes = 4;
constexpr int32_t kNoNullBit = -1;

}  // namespace

/// How one column is written and read.
class RowCodec::Column {
 public:
  static arrow::Result<Column> Make(const arrow::Field& field);

  void set_null_bit(int32_t null_bit) { null_bit_ = null_bit; }
  void set_slot_offset(int32_t slot_offset) { slot_offset_ = slot_offset; }

  const TypeShape& shape() const { return shape_; }
  bool is_variable() const { return shape_.is_string() || shape_.is_nested(); }
  int32_t slot_bytes() const { return is_variable() ? kLengthBytes : shape_.packed_bytes; }
  uint32_t VariableBytes(const uint8_t* row) const { return LoadAs<uint32_t>(row + slot_offset_); }

  arrow::Result<ColumnView> Open(const arrow::Array& array) const;
  arrow::Status AddSizes(const ColumnView& view, const RowBlock& block, uint32_t* sizes) const;
  /// `ends[i]` is where the variable bytes of row i go on; moved past what is written.
  arrow::Status Encode(const ColumnView& view, const RowBlock& block, uint8_t* const* rows, uint8_t** ends) const;

  /// Reads null bits of a block. False when no row is null; `valid` is then unspecified.
  bool ReadNulls(const uint8_t* const* rows, int32_t count, uint8_t* valid) const;
  bool IsNull(const uint8_t* row) const { return null_bit_ != kNoNullBit && BitIsSet(row, null_bit_); }
  void DecodeFixed(const uint8_t* const* rows, int64_t first_row, int32_t count, ColumnOutput* output) const {
    uint8_t scratch[kBlockRows * kWidestValueBytes];
    uint8_t* target = output->FixedTarget(first_row, scratch);
    CollectFixed(shape_.packed_bytes, rows, slot_offset_, count, target);
    output->CommitFixed(first_row, count, target);
  }
  uint64_t SumStringBytes(const uint8_t* const* rows, int32_t count, const ColumnOutput& output) const;
  void DecodeStrings(const uint8_t* const* rows, const uint8_t** ends, int64_t first_row, int32_t count,
                     ColumnOutput* output) const;
  arrow::Status DecodeNested(const uint8_t* const* rows, const uint8_t** ends, int32_t count, CompactBuilder* builder) const;

 private:
  arrow::Status EncodeFixed(const ColumnView& view, const RowBlock& block, uint8_t* const* rows) const;
  void EncodeBytes(const ColumnView& view, const RowBlock& block, uint8_t* const* rows) const;
  void EncodeStrings(const ColumnView& view, const RowBlock& block, uint8_t* const* rows, uint8_t** ends) const;
  arrow::Status EncodeNested(const ColumnView& view, const RowBlock& block, uint8_t* const* rows, uint8_t** ends) const;
  arrow::Status WriteNulls(const RowBlock& block, uint8_t* const* rows) const;

  TypeShape shape_;
  std::shared_ptr<arrow::DataType> declared_type_;
  const arrow::DataType* storage_type_ = nullptr;  ///< owned by declared_type_
  std::string context_;
  int32_t slot_offset_ = 0;
  int32_t null_bit_ = kNoNullBit;
};

arrow::Result<RowCodec::Column> RowCodec::Column::Make(const arrow::Field& field) {
  Column column;
  column.context_ = fmt::format("column {}", field.name());
  ARROW_ASSIGN_OR_RAISE(column.shape_, TypeShape::Make(field.type(), column.context_));
  column.declared_type_ = field.type();
  column.storage_type_ = &ValueStorageOf(*field.type());
  return column;
}

arrow::Result<ColumnView> RowCodec::Column::Open(const arrow::Array& array) const {
  auto view = ColumnView::Make(array, *storage_type_);
  return view.ok() ? view : WithContext(view.status(), ErrorKind::kInternal, context_);
}

arrow::Status RowCodec::Column::AddSizes(const ColumnView& view, const RowBlock& block, uint32_t* sizes) const {
  uint64_t overflow = 0;
  const auto add = [&](int32_t i, uint64_t more) ICEBOUND_ROW_INLINE {
    const uint64_t sum = sizes[i] + more;
    sizes[i] = static_cast<uint32_t>(sum);
    overflow |= sum;
  };
  const auto skip_null = [](int32_t) {};
  const arrow::ArrayData& values = *view.values;
  if (shape_.is_string()) {
    VisitStrings(shape_.layout, values, [&](const auto& strings) {
      VisitRows(
          block, [&](int32_t i, int64_t at) ICEBOUND_ROW_INLINE { add(i, strings.Length(at)); }, skip_null);
    });
  } else {
    VisitRows(
        block, [&](int32_t i, int64_t at) { add(i, CompactValueSize(shape_, values, at)); }, skip_null);
  }
  if (overflow >> 32 == 0) return arrow::Status::OK();
  return MakeError(ErrorKind::kMemoryLimit, "{}: one row passes 4 GiB", context_);
}

arrow::Status RowCodec::Column::WriteNulls(const RowBlock& block, uint8_t* const* rows) const {
  if (!block.has_nulls || shape_.layout == Layout::kNull) return arrow::Status::OK();
  if (null_bit_ == kNoNullBit) return MakeError(ErrorKind::kInternal, "{}: declared not null, yet it holds a null", context_);
  const int32_t byte = null_bit_ >> 3;
  const int32_t shift = null_bit_ & 7;
  for (int32_t i = 0; i < block.count; ++i) rows[i][byte] |= static_cast<uint8_t>((block.valid[i] ^ 1) << shift);
  return arrow::Status::OK();
}

void RowCodec::Column::EncodeBytes(const ColumnView& view, const RowBlock& block, uint8_t* const* rows) const {
  const auto width = static_cast<size_t>(shape_.value_bytes);
  if (width == 0) return;
  const arrow::ArrayData& array = *view.values;
  const uint8_t* values = array.buffers[1] ? array.buffers[1]->data() + array.offset * shape_.value_bytes : nullptr;
  VisitRows(
      block, [&](int32_t i, int64_t at) { CopyBytes(rows[i] + slot_offset_, values + at * shape_.value_bytes, width); },
      [&](int32_t i) { std::memset(rows[i] + slot_offset_, 0, width); });
}

arrow::Status RowCodec::Column::EncodeFixed(const ColumnView& view, const RowBlock& block, uint8_t* const* rows) const {
  uint8_t scratch[kBlockRows * kWidestValueBytes];
  const int32_t width = shape_.packed_bytes;
  const uint8_t* values = GatherFixed(shape_, view, block, scratch);
  if (shape_.value_bytes != width) {
    if (!NarrowDecimals(shape_, values, block, scratch)) return DecimalTooWide(*shape_.output_type, context_);
    values = scratch;
  }
  if (block.has_nulls) {
    if (values != scratch) std::memcpy(scratch, values, static_cast<size_t>(block.count) * width);
    ZeroNulls(block, width, scratch);
    values = scratch;
  }
  ScatterFixed(width, values, block.count, rows, slot_offset_);
  return arrow::Status::OK();
}

void RowCodec::Column::EncodeStrings(const ColumnView& view, const RowBlock& block, uint8_t* const* rows, uint8_t** ends) const {
  VisitStrings(shape_.layout, *view.values, [&](const auto& strings) {
    const auto write = [&](int32_t i, int64_t at) ICEBOUND_ROW_INLINE {
      const std::string_view text = strings(at);
      uint8_t* const end = ends[i];
      StoreAs<uint32_t>(rows[i] + slot_offset_, static_cast<uint32_t>(text.size()));
      CopyBytes(end, text.data(), text.size());
      ends[i] = end + text.size();
    };
    VisitRows(block, write, [&](int32_t i) { StoreAs<uint32_t>(rows[i] + slot_offset_, 0); });
  });
}

arrow::Status RowCodec::Column::EncodeNested(const ColumnView& view, const RowBlock& block, uint8_t* const* rows,
                                             uint8_t** ends) const {
  bool fits = true;
  const auto write = [&](int32_t i, int64_t at) {
    uint8_t* end = WriteCompactValue(shape_, *view.values, at, ends[i], &fits);
    StoreAs<uint32_t>(rows[i] + slot_offset_, static_cast<uint32_t>(end - ends[i]));
    ends[i] = end;
  };
  VisitRows(block, write, [&](int32_t i) { StoreAs<uint32_t>(rows[i] + slot_offset_, 0); });
  return fits ? arrow::Status::OK() : DecimalTooWide(*shape_.output_type, context_);
}

arrow::Status RowCodec::Column::Encode(const ColumnView& view, const RowBlock& block, uint8_t* const* rows,
                                       uint8_t** ends) const {
  ARROW_RETURN_NOT_OK(WriteNulls(block, rows));
  if (shape_.layout == Layout::kNull) return arrow::Status::OK();
  if (shape_.is_nested()) return EncodeNested(view, block, rows, ends);
  if (shape_.is_string()) {
    EncodeStrings(view, block, rows, ends);
  } else if (shape_.layout == Layout::kBytes) {
    EncodeBytes(view, block, rows);
  } else {
    return EncodeFixed(view, block, rows);
  }
  return arrow::Status::OK();
}

bool RowCodec::Column::ReadNulls(const uint8_t* const* rows, int32_t count, uint8_t* valid) const {
  if (null_bit_ == kNoNullBit) return false;
  const int32_t byte = null_bit_ >> 3;
  const auto bit = static_cast<uint8_t>(1 << (null_bit_ & 7));
  uint8_t any = 0;
  for (int32_t i = 0; i < count; ++i) any |= rows[i][byte];
  if ((any & bit) == 0) return false;
  for (int32_t i = 0; i < count; ++i) valid[i] = (rows[i][byte] & bit) == 0;
  return true;
}

uint64_t RowCodec::Column::SumStringBytes(const uint8_t* const* rows, int32_t count, const ColumnOutput& output) const {
  uint64_t bytes = 0;
  for (int32_t i = 0; i < count; ++i) bytes += output.StringBytes(VariableBytes(rows[i]));
  return bytes;
}

void RowCodec::Column::DecodeStrings(const uint8_t* const* rows, const uint8_t** ends, int64_t first_row, int32_t count,
                                     ColumnOutput* output) const {
  output->WriteStrings([&](auto& sink) {
    for (int32_t i = 0; i < count; ++i) {
      const uint32_t length = VariableBytes(rows[i]);
      sink.Append(first_row + i, ends[i], length);
      ends[i] += length;
    }
  });
}

arrow::Status RowCodec::Column::DecodeNested(const uint8_t* const* rows, const uint8_t** ends, int32_t count,
                                             CompactBuilder* builder) const {
  for (int32_t i = 0; i < count; ++i) {
    if (IsNull(rows[i])) {
      ARROW_RETURN_NOT_OK(builder->AppendNull());
    } else {
      ARROW_ASSIGN_OR_RAISE(ends[i], builder->Append(ends[i]));
    }
  }
  return arrow::Status::OK();
}

RowCodec::RowCodec() = default;
RowCodec::~RowCodec() = default;

arrow::Result<std::unique_ptr<RowCodec>> RowCodec::Make(const std::shared_ptr<arrow::Schema>& schema) {
  std::unique_ptr<RowCodec> codec(new RowCodec());
  arrow::FieldVector fields;
  int32_t null_bits = 0;
  for (const auto& field : schema->fields()) {
    ARROW_ASSIGN_OR_RAISE(Column column, Column::Make(*field));
    fields.push_back(field->WithType(column.shape().output_type));
    if (field->nullable() && column.shape().layout != Layout::kNull) column.set_null_bit(null_bits++);
    codec->columns_.push_back(std::move(column));
  }
  codec->null_bytes_ = (null_bits + 7) / 8;
  int64_t offset = codec->null_bytes_;
  for (Column& column : codec->columns_) {
    column.set_slot_offset(static_cast<int32_t>(offset));
    offset += column.slot_bytes();
    if (offset > std::numeric_limits<int32_t>::max())
      return MakeError(ErrorKind::kUnsupported, "rows of more than 2 GiB of fixed-width values");
  }
  codec->fixed_bytes_ = static_cast<int32_t>(offset);
  codec->output_schema_ = arrow::schema(std::move(fields), schema->metadata());
  return codec;
}

std::optional<int32_t> RowCodec::fixed_width() const {
  for (const Column& column : columns_) {
    if (column.is_variable()) return std::nullopt;
  }
  return fixed_bytes_;
}

uint32_t RowCodec::RowSize(const uint8_t* row) const {
  auto size = static_cast<uint32_t>(fixed_bytes_);
  for (const Column& column : columns_) {
    if (column.is_variable()) size += column.VariableBytes(row);
  }
  return size;
}

arrow::Status RowCodec::CheckBatch(const arrow::RecordBatch& batch, int64_t first_row, size_t rows) const {
  if (batch.num_columns() != static_cast<int>(columns_.size())) {
    return MakeError(ErrorKind::kInternal, "a batch of {} columns for rows of {}", batch.num_columns(), columns_.size());
  }
  if (first_row < 0 || static_cast<int64_t>(rows) > batch.num_rows() - first_row) {
    return MakeError(ErrorKind::kInternal, "rows {} to {} of a batch of {} rows", first_row,
                     first_row + static_cast<int64_t>(rows), batch.num_rows());
  }
  return arrow::Status::OK();
}

arrow::Status RowCodec::AddSizes(const arrow::RecordBatch& batch, int64_t first_row, std::span<uint32_t> sizes) const {
  ARROW_RETURN_NOT_OK(CheckBatch(batch, first_row, sizes.size()));
  for (uint32_t& size : sizes) size += static_cast<uint32_t>(fixed_bytes_);
  RowBlock block;
  for (size_t c = 0; c < columns_.size(); ++c) {
    const Column& column = columns_[c];
    if (!column.is_variable()) continue;
    const auto array = batch.column(static_cast<int>(c));
    ARROW_ASSIGN_OR_RAISE(const ColumnView view, column.Open(*array));
    for (size_t first = 0; first < sizes.size(); first += kBlockRows) {
      block.Fill(view, first_row + static_cast<int64_t>(first),
                 static_cast<int32_t>(std::min<size_t>(kBlockRows, sizes.size() - first)));
      ARROW_RETURN_NOT_OK(column.AddSizes(view, block, sizes.data() + first));
    }
  }
  return arrow::Status::OK();
}

arrow::Status RowCodec::Encode(const arrow::RecordBatch& batch, int64_t first_row, std::span<uint8_t* const> rows) const {
  ARROW_RETURN_NOT_OK(CheckBatch(batch, first_row, rows.size()));
  std::vector<ColumnView> views(columns_.size());
  for (size_t c = 0; c < columns_.size(); ++c) {
    ARROW_ASSIGN_OR_RAISE(views[c], columns_[c].Open(*batch.column(static_cast<int>(c))));
  }
  RowBlock block;
  uint8_t* ends[kBlockRows];
  for (size_t first = 0; first < rows.size(); first += kBlockRows) {
    const auto count = static_cast<int32_t>(std::min<size_t>(kBlockRows, rows.size() - first));
    uint8_t* const* block_rows = rows.data() + first;
    for (int32_t i = 0; i < count; ++i) {
      ends[i] = block_rows[i] + fixed_bytes_;
      for (int32_t byte = 0; byte < null_bytes_; ++byte) block_rows[i][byte] = 0;
    }
    for (size_t c = 0; c < columns_.size(); ++c) {
      block.Fill(views[c], first_row + static_cast<int64_t>(first), count);
      ARROW_RETURN_NOT_OK(columns_[c].Encode(views[c], block, block_rows, ends));
    }
  }
  return arrow::Status::OK();
}

/// The columns that Decode is filling.
class RowCodec::Output {
 public:
  static arrow::Result<Output> Make(const RowCodec& codec, int64_t rows, arrow::MemoryPool* pool);

  /// Long strings of the only row, which lies in `owner`, stay there.
  void Borrow(const std::shared_ptr<arrow::Buffer>& owner) { owner_ = owner; }

  /// Decodes a block: slots and null bits of all columns, then strings and nested values.
  arrow::Status Decode(const uint8_t* const* rows, int64_t first_row, int32_t count);
  arrow::Result<std::shared_ptr<arrow::RecordBatch>> Finish(int64_t rows);

 private:
  struct Target {
    std::optional<ColumnOutput> plain;
    std::unique_ptr<CompactBuilder> nested;
  };

  explicit Output(const RowCodec& codec) : codec_(codec), targets_(codec.columns_.size()) {}
  arrow::Status DecodeSlots(const Column& column, const uint8_t* const* rows, int64_t first_row, int32_t count,
                            ColumnOutput* output) const;
  bool IsBorrowed(const Column& column, const uint8_t* row) const {
    const Layout layout = column.shape().layout;
    return owner_ != nullptr && (layout == Layout::kString || layout == Layout::kLargeString) &&
           column.VariableBytes(row) >= kBorrowedBytesMin;
  }

  /// A copy of less is no worse than a share of the row.
  static constexpr uint32_t kBorrowedBytesMin = 64 << 10;

  const RowCodec& codec_;
  std::shared_ptr<arrow::Buffer> owner_;  // null: everything is copied
  std::vector<Target> targets_;
};

arrow::Result<RowCodec::Output> RowCodec::Output::Make(const RowCodec& codec, int64_t rows, arrow::MemoryPool* pool) {
  Output output(codec);
  for (size_t c = 0; c < codec.columns_.size(); ++c) {
    const TypeShape& shape = codec.columns_[c].shape();
    if (shape.is_nested()) {
      ARROW_ASSIGN_OR_RAISE(output.targets_[c].nested, CompactBuilder::Make(shape, pool));
    } else {
      ARROW_ASSIGN_OR_RAISE(output.targets_[c].plain, ColumnOutput::Make(shape, rows, pool));
    }
  }
  return output;
}

arrow::Status RowCodec::Output::DecodeSlots(const Column& column, const uint8_t* const* rows, int64_t first_row, int32_t count,
                                            ColumnOutput* output) const {
  if (column.shape().layout == Layout::kNull) return arrow::Status::OK();
  uint8_t valid[kBlockRows];
  if (column.ReadNulls(rows, count, valid)) ARROW_RETURN_NOT_OK(output->SetValidity(first_row, valid, count));
  if (IsBorrowed(column, rows[0])) return arrow::Status::OK();
  if (column.is_variable()) return output->ReserveStringBytes(column.SumStringBytes(rows, count, *output), first_row + count);
  column.DecodeFixed(rows, first_row, count, output);
  return arrow::Status::OK();
}

arrow::Status RowCodec::Output::Decode(const uint8_t* const* rows, int64_t first_row, int32_t count) {
  for (size_t c = 0; c < targets_.size(); ++c) {
    if (!targets_[c].plain) continue;
    ARROW_RETURN_NOT_OK(DecodeSlots(codec_.columns_[c], rows, first_row, count, &*targets_[c].plain));
  }
  const uint8_t* ends[kBlockRows];
  for (int32_t i = 0; i < count; ++i) ends[i] = rows[i] + codec_.fixed_bytes_;
  for (size_t c = 0; c < targets_.size(); ++c) {
    const Column& column = codec_.columns_[c];
    if (!column.is_variable()) continue;
    if (targets_[c].nested) {
      ARROW_RETURN_NOT_OK(column.DecodeNested(rows, ends, count, targets_[c].nested.get()));
    } else if (IsBorrowed(column, rows[0])) {
      const uint32_t length = column.VariableBytes(rows[0]);
      ARROW_RETURN_NOT_OK(targets_[c].plain->BorrowString(arrow::SliceBuffer(owner_, ends[0] - owner_->data(), length)));
      ends[0] += length;
    } else {
      column.DecodeStrings(rows, ends, first_row, count, &*targets_[c].plain);
    }
  }
  return arrow::Status::OK();
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> RowCodec::Output::Finish(int64_t rows) {
  std::vector<std::shared_ptr<arrow::ArrayData>> columns;
  columns.reserve(targets_.size());
  for (Target& target : targets_) {
    ARROW_ASSIGN_OR_RAISE(auto data, target.nested ? target.nested->Finish() : target.plain->Finish());
    columns.push_back(std::move(data));
  }
  return arrow::RecordBatch::Make(codec_.output_schema_, rows, std::move(columns));
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> RowCodec::Decode(std::span<const uint8_t* const> rows,
                                                                    arrow::MemoryPool* pool) const {
  const auto row_count = static_cast<int64_t>(rows.size());
  ARROW_ASSIGN_OR_RAISE(Output output, Output::Make(*this, row_count, pool));
  for (int64_t first = 0; first < row_count; first += kBlockRows) {
    const auto count = static_cast<int32_t>(std::min<int64_t>(kBlockRows, row_count - first));
    ARROW_RETURN_NOT_OK(output.Decode(rows.data() + first, first, count));
  }
  return output.Finish(row_count);
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> RowCodec::DecodeInPlace(const uint8_t* row,
                                                                           const std::shared_ptr<arrow::Buffer>& owner,
                                                                           arrow::MemoryPool* pool) const {
  ARROW_ASSIGN_OR_RAISE(Output output, Output::Make(*this, 1, pool));
  output.Borrow(owner);
  ARROW_RETURN_NOT_OK(output.Decode(&row, 0, 1));
  return output.Finish(1);
}

}  // namespace icebound::row
