// SPDX-License-Identifier: Apache-2.0
#include "exec/aggregate/argument_columns.h"

#include <arrow/util/bit_util.h>

#include <algorithm>

#include "base/error.h"
#include "exec/aggregate/byte_columns.h"

namespace icebound::exec::aggregate {
namespace {

template <typename T>
void WidenTo64(const arrow::ArrayData& data, int64_t first, int32_t count, int64_t* out) {
  const T* values = data.GetValues<T>(1) + first;
  for (int32_t i = 0; i < count; ++i) out[i] = static_cast<int64_t>(values[i]);
}

bool IsText(const arrow::DataType& type) {
  switch (row::ValueStorageOf(type).id()) {
    case arrow::Type::STRING:
    case arrow::Type::BINARY:
    case arrow::Type::LARGE_STRING:
    case arrow::Type::LARGE_BINARY:
    case arrow::Type::STRING_VIEW:
    case arrow::Type::BINARY_VIEW:
      return true;
    default:
      return false;
  }
}

/// Which values are there, also when a dictionary holds the nulls.
arrow::Result<std::shared_ptr<arrow::Buffer>> ValidityOf(const arrow::Array& values, arrow::MemoryPool* pool) {
  ARROW_ASSIGN_OR_RAISE(auto bits, arrow::AllocateBuffer(arrow::bit_util::BytesForBits(values.length()), pool));
  std::memset(bits->mutable_data(), 0, static_cast<size_t>(bits->size()));
  ARROW_ASSIGN_OR_RAISE(const auto view, row::ColumnView::Make(values, row::ValueStorageOf(*values.type())));
  row::RowBlock block;
  for (int64_t first = 0; first < values.length(); first += row::kBlockRows) {
    const auto count = static_cast<int32_t>(std::min<int64_t>(row::kBlockRows, values.length() - first));
    block.Fill(view, first, count);
    for (int32_t i = 0; i < count; ++i) arrow::bit_util::SetBitTo(bits->mutable_data(), first + i, block.IsValid(i));
  }
  return std::shared_ptr<arrow::Buffer>(std::move(bits));
}

bool EqualOrNull(const expr::ExprPtr& left, const expr::ExprPtr& right) {
  if (left == nullptr || right == nullptr) return left == right;
  return expr::Equals(*left, *right);
}

}  // namespace

bool operator==(const ArgumentSpec& left, const ArgumentSpec& right) {
  return left.form == right.form && left.takes_nulls == right.takes_nulls && EqualOrNull(left.value, right.value) &&
         EqualOrNull(left.filter, right.filter) &&
         std::equal(left.order.begin(), left.order.end(), right.order.begin(), right.order.end(),
                    [](const expr::AggregateOrder& a, const expr::AggregateOrder& b) {
                      return a.descending == b.descending && a.nulls_first == b.nulls_first && expr::Equals(*a.expr, *b.expr);
                    });
}

std::shared_ptr<arrow::Schema> PackedValueSchema(const std::shared_ptr<arrow::DataType>& type) {
  return arrow::schema({arrow::field("value", type)});
}

// --- reading a batch --------------------------------------------------------------------------------------------------------

arrow::Result<std::unique_ptr<ArgumentReader>> ArgumentReader::Make(ArgumentSpec spec) {
  std::unique_ptr<ArgumentReader> reader(new ArgumentReader());
  if (spec.form == ArgumentForm::kPacked || spec.form == ArgumentForm::kOrdered) {
    ARROW_ASSIGN_OR_RAISE(reader->codec_, row::RowCodec::Make(PackedValueSchema(spec.value->type())));
    ARROW_ASSIGN_OR_RAISE(reader->text_shape_, row::TypeShape::Make(arrow::large_binary(), "argument"));
  } else if (spec.form == ArgumentForm::kText) {
    ARROW_ASSIGN_OR_RAISE(reader->text_shape_, row::TypeShape::Make(spec.value->type(), "argument"));
  }
  if (spec.form == ArgumentForm::kOrdered) {
    std::vector<row::SortField> fields;
    for (const expr::AggregateOrder& order : spec.order) {
      fields.push_back({order.expr->type(), /*nullable=*/true, order.descending, order.nulls_first});
    }
    ARROW_ASSIGN_OR_RAISE(reader->encoder_, row::SortKeyEncoder::Make(std::move(fields)));
  }
  reader->spec_ = std::move(spec);
  return reader;
}

arrow::Result<ArgumentColumn> ArgumentReader::Read(const arrow::RecordBatch& batch, const expr::EvalContext& context) const {
  ArgumentColumn column;
  column.form_ = spec_.form;
  if (spec_.filter != nullptr) {
    ARROW_ASSIGN_OR_RAISE(column.filter_, expr::EvaluateToArray(*spec_.filter, batch, context));
    if (column.filter_->type_id() != arrow::Type::BOOL) return MakeError(ErrorKind::kInternal, "a FILTER that is not boolean");
  }
  if (spec_.form == ArgumentForm::kRows) return column;
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Array> values, expr::EvaluateToArray(*spec_.value, batch, context));
  column.masks_nulls_ = !spec_.takes_nulls;
  if (codec_ != nullptr) {
    ARROW_ASSIGN_OR_RAISE(values, ToBytes(values, batch, context));
  } else if (spec_.form == ArgumentForm::kText && !IsText(*values->type())) {
    return MakeError(ErrorKind::kInternal, "{} where text was expected", values->type()->ToString());
  }
  if (spec_.form >= ArgumentForm::kText || spec_.form == ArgumentForm::kMask) {
    ARROW_ASSIGN_OR_RAISE(column.view_, row::ColumnView::Make(*values, row::ValueStorageOf(*values->type())));
    column.layout_ = text_shape_.layout;
  }
  column.values_ = std::move(values);
  return column;
}

/// Packs values, with a sort key in front when there is an order.
arrow::Result<std::shared_ptr<arrow::Array>> ArgumentReader::ToBytes(const std::shared_ptr<arrow::Array>& values,
                                                                     const arrow::RecordBatch& batch,
                                                                     const expr::EvalContext& context) const {
  const auto packed = arrow::RecordBatch::Make(PackedValueSchema(values->type()), values->length(), {values});
  arrow::ArrayVector terms;
  for (const expr::AggregateOrder& order : spec_.order) {
    if (expr::Equals(*order.expr, *spec_.value)) {
      terms.push_back(values);
      continue;
    }
    ARROW_ASSIGN_OR_RAISE(auto term, expr::EvaluateToArray(*order.expr, batch, context));
    terms.push_back(std::move(term));
  }
  std::shared_ptr<arrow::Buffer> validity;
  if (!spec_.takes_nulls) {
    ARROW_ASSIGN_OR_RAISE(validity, ValidityOf(*values, context.pool));
  }
  const ByteColumnParts parts{encoder_.get(), std::move(terms), codec_.get(), packed, /*with_key_bytes=*/encoder_ != nullptr};
  return MakeByteColumn(parts, values->length(), validity, context.pool);
}

// --- reading a slice --------------------------------------------------------------------------------------------------------

const uint8_t* ArgumentColumn::LoadMask(int64_t first, int32_t count, SliceScratch* scratch) const {
  uint8_t* valid = scratch->valid;
  bool has_mask = false;
  if (masks_nulls_) {
    const bool through_view = view_.values != nullptr;
    if (through_view && view_.may_have_nulls) {
      for (int32_t at = 0; at < count; at += row::kBlockRows) {
        const int32_t rows = std::min(row::kBlockRows, count - at);
        scratch->block.Fill(view_, first + at, rows);
        for (int32_t i = 0; i < rows; ++i) valid[at + i] = scratch->block.IsValid(i) ? 1 : 0;
      }
      has_mask = true;
    } else if (!through_view && values_->null_count() > 0) {
      row::UnpackBits(values_->null_bitmap_data(), values_->offset() + first, count, valid);
      has_mask = true;
    }
  }
  if (filter_ != nullptr) {
    const auto& filter = static_cast<const arrow::BooleanArray&>(*filter_);
    const uint8_t* bits = filter.values()->data();
    const uint8_t* set = filter.null_bitmap_data();
    for (int32_t i = 0; i < count; ++i) {
      const int64_t at = filter.offset() + first + i;
      const bool is_true = row::BitIsSet(bits, at) && (set == nullptr || row::BitIsSet(set, at));
      valid[i] = is_true && (!has_mask || valid[i] != 0) ? 1 : 0;
    }
    has_mask = true;
  }
  return has_mask ? valid : nullptr;
}

const int64_t* ArgumentColumn::LoadInts(int64_t first, int32_t count, SliceScratch* scratch) const {
  using arrow::Type;
  const arrow::ArrayData& data = *values_->data();
  int64_t* out = scratch->ints;
  switch (data.type->id()) {
    case Type::BOOL:
      for (int32_t i = 0; i < count; ++i) out[i] = row::BitIsSet(data.buffers[1]->data(), data.offset + first + i) ? 1 : 0;
      return out;
    case Type::INT8:
      WidenTo64<int8_t>(data, first, count, out);
      return out;
    case Type::UINT8:
      WidenTo64<uint8_t>(data, first, count, out);
      return out;
    case Type::INT16:
      WidenTo64<int16_t>(data, first, count, out);
      return out;
    case Type::UINT16:
      WidenTo64<uint16_t>(data, first, count, out);
      return out;
    case Type::UINT32:
      WidenTo64<uint32_t>(data, first, count, out);
      return out;
    case Type::INT32:
    case Type::DATE32:
    case Type::TIME32:
    case Type::DECIMAL32:
      WidenTo64<int32_t>(data, first, count, out);
      return out;
    case Type::DECIMAL128: {
      // Up to 18 digits: the low half is the value.
      const uint8_t* values = data.buffers[1]->data() + (data.offset + first) * 16;
      for (int32_t i = 0; i < count; ++i) out[i] = row::LoadAs<int64_t>(values + static_cast<int64_t>(i) * 16);
      return out;
    }
    default:
      return data.GetValues<int64_t>(1) + first;
  }
}

const double* ArgumentColumn::LoadDoubles(int64_t first, int32_t count, SliceScratch* scratch) const {
  const arrow::ArrayData& data = *values_->data();
  if (data.type->id() == arrow::Type::DOUBLE) return data.GetValues<double>(1) + first;
  const float* values = data.GetValues<float>(1) + first;
  for (int32_t i = 0; i < count; ++i) scratch->doubles[i] = static_cast<double>(values[i]);
  return scratch->doubles;
}

void ArgumentColumn::LoadBytes(int64_t first, int32_t count, SliceScratch* scratch) const {
  row::VisitStrings(layout_, *view_.values, [&](const auto& strings) {
    for (int32_t at = 0; at < count; at += row::kBlockRows) {
      const int32_t rows = std::min(row::kBlockRows, count - at);
      scratch->block.Fill(view_, first + at, rows);
      row::VisitRows(
          scratch->block, [&](int32_t i, int64_t position) { scratch->bytes[at + i] = strings(position); },
          [&](int32_t i) { scratch->bytes[at + i] = std::string_view(); });
    }
  });
}

SliceValues ArgumentColumn::Load(int64_t first, int32_t count, SliceScratch* scratch) const {
  SliceValues values;
  values.valid = LoadMask(first, count, scratch);
  switch (form_) {
    case ArgumentForm::kRows:
    case ArgumentForm::kMask:
      break;
    case ArgumentForm::kInt:
      values.ints = LoadInts(first, count, scratch);
      break;
    case ArgumentForm::kWide:
    case ArgumentForm::kInterval:
      values.wides = values_->data()->buffers[1]->data() + (values_->offset() + first) * 16;
      values.intervals = values.wides;
      break;
    case ArgumentForm::kDouble:
      values.doubles = LoadDoubles(first, count, scratch);
      break;
    case ArgumentForm::kText:
    case ArgumentForm::kPacked:
    case ArgumentForm::kOrdered:
      LoadBytes(first, count, scratch);
      values.bytes = scratch->bytes;
      break;
  }
  return values;
}

}  // namespace icebound::exec::aggregate
