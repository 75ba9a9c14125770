// SPDX-License-Identifier: Apache-2.0
#include "expr/row_set.h"

#include <arrow/array/util.h>
#include <arrow/compute/api_vector.h>
#include <arrow/util/bit_block_counter.h>
#include <arrow/util/bit_util.h>
#include <arrow/util/bitmap_ops.h>
#include <arrow/util/bitmap_reader.h>
#include <arrow/util/checked_cast.h>

#include "base/error.h"
#include "expr/cast.h"
#include "expr/type_rules.h"

namespace icebound::expr {

using arrow::Datum;
using arrow::Type;
using arrow::internal::checked_cast;

namespace {

arrow::Result<Datum> TakeValues(const Datum& values, const Datum& positions, arrow::compute::ExecContext* exec) {
  return arrow::compute::Take(values, positions, arrow::compute::TakeOptions::NoBoundsCheck(), exec);
}

/// Dictionaries of text keep their indices; their values take the logical type. Everything else becomes logical as a whole.
arrow::Result<Datum> Normalize(const Datum& value, const EvalContext& context, arrow::compute::ExecContext* exec) {
  const arrow::DataType& type = *value.type();
  if (IsLogical(type)) return value;
  if (type.id() == Type::DICTIONARY) {
    const auto& dictionary_type = checked_cast<const arrow::DictionaryType&>(type);
    const TypePtr logical = LogicalType(dictionary_type.value_type());
    if (logical->id() == Type::STRING || logical->id() == Type::BINARY) {
      if (logical->Equals(*dictionary_type.value_type())) return value;
      ARROW_ASSIGN_OR_RAISE(const Datum values, ToLogical(Datum(value.array()->dictionary), context, exec));
      auto data = value.array()->Copy();
      data->dictionary = values.array();
      data->type = arrow::dictionary(dictionary_type.index_type(), logical, dictionary_type.ordered());
      return data;
    }
  }
  return ToLogical(value, context, exec);
}

/// Writes the numbers of the bits that are `wanted`, and returns how many. Words of one kind are the rule, and cost next to
/// nothing; in mixed ones each bit's number is written and then kept or not, without a branch.
int64_t CollectPositions(const uint8_t* bits, int64_t offset, int64_t num_rows, bool wanted, int32_t* out) {
  arrow::internal::BitBlockCounter words(bits, offset, num_rows);
  int64_t count = 0;
  for (int64_t row = 0; row < num_rows;) {
    const arrow::internal::BitBlockCount word = words.NextWord();
    if (wanted ? word.AllSet() : word.NoneSet()) {
      for (int64_t i = 0; i < word.length; ++i) out[count + i] = static_cast<int32_t>(row + i);
      count += word.length;
    } else if (wanted ? !word.NoneSet() : !word.AllSet()) {
      arrow::internal::BitmapReader reader(bits, offset + row, word.length);
      for (int64_t i = 0; i < word.length; ++i) {
        out[count] = static_cast<int32_t>(row + i);
        count += reader.IsSet() == wanted ? 1 : 0;
        reader.Next();
      }
    }
    row += word.length;
  }
  return count;
}

}  // namespace

bool IsTextDictionary(const Datum& datum) { return datum.is_array() && datum.array()->type->id() == Type::DICTIONARY; }

arrow::Result<RowSet> RowSet::Select(const std::shared_ptr<arrow::Array>& positions, arrow::compute::ExecContext* exec) const {
  if (rows_ == nullptr) return RowSet(batch_, positions);
  ARROW_ASSIGN_OR_RAISE(const Datum rows, TakeValues(Datum(rows_), Datum(positions), exec));
  return RowSet(batch_, rows.make_array());
}

arrow::Result<Datum> RowSet::Column(const ColumnExpr& column, const EvalContext& context, arrow::compute::ExecContext* exec) {
  const int index = column.index();
  if (index < 0 || index >= batch_->num_columns()) {
    return MakeError(ErrorKind::kInternal, "column {} (\"{}\") of a batch with {} columns", index, column.name(),
                     batch_->num_columns());
  }
  if (columns_.empty()) columns_.resize(batch_->num_columns());
  Datum& slot = columns_[index];
  if (slot.kind() != Datum::NONE) return slot;
  Datum value(batch_->column(index));
  if (rows_ != nullptr && value.type()->id() != Type::STRING_VIEW && value.type()->id() != Type::BINARY_VIEW) {
    ARROW_ASSIGN_OR_RAISE(value, TakeValues(value, Datum(rows_), exec));
  }
  ARROW_ASSIGN_OR_RAISE(value, Normalize(value, context, exec));
  if (value.length() != num_rows_) {
    ARROW_ASSIGN_OR_RAISE(value, TakeValues(value, Datum(rows_), exec));
  }
  const TypePtr wanted = LogicalType(column.type());
  if (!IsTextDictionary(value) && !value.type()->Equals(*wanted)) {
    // The reader may deliver another width of the same type (decimal64 for decimal128).
    ARROW_ASSIGN_OR_RAISE(value, CastDatum(value, wanted, num_rows_, context, exec));
  }
  slot = value;
  return slot;
}

arrow::Result<std::shared_ptr<arrow::Array>> PositionsWhere(const Datum& condition, int64_t num_rows, bool when_true,
                                                            arrow::MemoryPool* pool) {
  std::shared_ptr<arrow::Buffer> buffer;
  ARROW_ASSIGN_OR_RAISE(buffer, arrow::AllocateBuffer(num_rows * static_cast<int64_t>(sizeof(int32_t)), pool));
  int32_t* out = reinterpret_cast<int32_t*>(buffer->mutable_data());
  int64_t count = 0;
  if (condition.is_scalar()) {
    const bool is_true = condition.scalar()->is_valid && checked_cast<const arrow::BooleanScalar&>(*condition.scalar()).value;
    if (is_true == when_true) {
      for (; count < num_rows; ++count) out[count] = static_cast<int32_t>(count);
    }
  } else {
    const arrow::ArrayData& data = *condition.array();
    const uint8_t* values = data.buffers[1] == nullptr ? nullptr : data.buffers[1]->data();
    const uint8_t* validity = data.null_count == 0 || data.buffers[0] == nullptr ? nullptr : data.buffers[0]->data();
    std::shared_ptr<arrow::Buffer> combined;
    int64_t offset = data.offset;
    if (validity != nullptr) {
      ARROW_ASSIGN_OR_RAISE(combined, arrow::internal::BitmapAnd(pool, values, offset, validity, offset, num_rows, 0));
      values = combined->data();
      offset = 0;
    }
    count = CollectPositions(values, offset, num_rows, when_true, out);
  }
  const auto data = arrow::ArrayData::Make(arrow::int32(), count, {nullptr, std::move(buffer)}, 0);
  return arrow::MakeArray(data);
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> TakeRows(const arrow::RecordBatch& batch,
                                                            const std::shared_ptr<arrow::Array>& positions,
                                                            const EvalContext& context, arrow::compute::ExecContext* exec) {
  arrow::ArrayVector columns(batch.num_columns());
  for (int i = 0; i < batch.num_columns(); ++i) {
    Datum column(batch.column(i));
    const TypePtr type = column.type();
    const bool is_view = type->id() == Type::STRING_VIEW || type->id() == Type::BINARY_VIEW;
    if (is_view) {
      ARROW_ASSIGN_OR_RAISE(column, ToLogical(column, context, exec));
    }
    ARROW_ASSIGN_OR_RAISE(column, TakeValues(column, Datum(positions), exec));
    if (is_view) {
      ARROW_ASSIGN_OR_RAISE(column, CastDatum(column, type, positions->length(), context, exec));
    }
    columns[i] = column.make_array();
  }
  return arrow::RecordBatch::Make(batch.schema(), positions->length(), std::move(columns));
}

}  // namespace icebound::expr
