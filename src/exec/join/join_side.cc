// SPDX-License-Identifier: Apache-2.0
#include "exec/join/join_side.h"

#include <arrow/array/builder_binary.h>
#include <arrow/array/concatenate.h>
#include <arrow/util/bit_util.h>
#include <arrow/util/bitmap_ops.h>

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "exec/join/output_schema.h"

namespace icebound::exec::join {
namespace {

/// Hashes of joins; any number would do.
constexpr uint64_t kHashSeed = 0;

/// Whether equal values of a type have equal packed bytes.
bool HasExactBytes(const arrow::DataType& type) {
  using arrow::Type;
  switch (type.id()) {
    case Type::HALF_FLOAT:
    case Type::FLOAT:
    case Type::DOUBLE:
    case Type::INTERVAL_DAY_TIME:
    case Type::INTERVAL_MONTH_DAY_NANO:
      return false;
    case Type::DICTIONARY:
      return HasExactBytes(*static_cast<const arrow::DictionaryType&>(type).value_type());
    case Type::EXTENSION:
      return HasExactBytes(*static_cast<const arrow::ExtensionType&>(type).storage_type());
    default:
      return std::all_of(type.fields().begin(), type.fields().end(),
                         [](const auto& field) { return HasExactBytes(*field->type()); });
  }
}

/// NULL by its code, or by the dictionary's entry.
bool IsNull(const arrow::Array& column, int64_t row) {
  if (column.type_id() != arrow::Type::DICTIONARY) return column.IsNull(row);
  const auto& codes = static_cast<const arrow::DictionaryArray&>(column);
  return codes.IsNull(row) || codes.dictionary()->IsNull(codes.GetValueIndex(row));
}

bool MayHaveNulls(const arrow::Array& column) {
  if (column.type_id() != arrow::Type::DICTIONARY) return column.null_count() > 0;
  const auto& codes = static_cast<const arrow::DictionaryArray&>(column);
  return codes.indices()->null_count() > 0 || codes.dictionary()->null_count() > 0;
}

/// The sort keys of a column as a binary column, NULL where the column is.
arrow::Result<std::shared_ptr<arrow::Array>> SortKeysOf(const row::SortKeyEncoder& encoder,
                                                        const std::shared_ptr<arrow::Array>& column, arrow::MemoryPool* pool) {
  const int64_t rows = column->length();
  ARROW_ASSIGN_OR_RAISE(auto offsets, arrow::AllocateBuffer((rows + 1) * static_cast<int64_t>(sizeof(int64_t)), pool));
  ARROW_ASSIGN_OR_RAISE(auto lengths, arrow::AllocateBuffer(rows * static_cast<int64_t>(sizeof(uint32_t)), pool));
  auto* length = reinterpret_cast<uint32_t*>(lengths->mutable_data());
  std::fill_n(length, rows, 0);
  ARROW_RETURN_NOT_OK(encoder.AddLengths({column}, 0, {length, static_cast<size_t>(rows)}));
  auto* offset = reinterpret_cast<int64_t*>(offsets->mutable_data());
  offset[0] = 0;
  for (int64_t i = 0; i < rows; ++i) offset[i + 1] = offset[i] + length[i];
  ARROW_ASSIGN_OR_RAISE(auto data, arrow::AllocateBuffer(offset[rows], pool));
  ARROW_ASSIGN_OR_RAISE(auto cursors, arrow::AllocateBuffer(rows * static_cast<int64_t>(sizeof(uint8_t*)), pool));
  auto** cursor = reinterpret_cast<uint8_t**>(cursors->mutable_data());
  for (int64_t i = 0; i < rows; ++i) cursor[i] = data->mutable_data() + offset[i];
  ARROW_RETURN_NOT_OK(encoder.Encode({column}, 0, {cursor, static_cast<size_t>(rows)}));
  std::shared_ptr<arrow::Buffer> validity;
  if (MayHaveNulls(*column)) {
    ARROW_ASSIGN_OR_RAISE(auto bits, arrow::AllocateBuffer(arrow::bit_util::BytesForBits(rows), pool));
    std::fill_n(bits->mutable_data(), bits->size(), 0);
    for (int64_t i = 0; i < rows; ++i) arrow::bit_util::SetBitTo(bits->mutable_data(), i, !IsNull(*column, i));
    validity = std::move(bits);
  }
  return std::make_shared<arrow::LargeBinaryArray>(rows, std::shared_ptr<arrow::Buffer>(std::move(offsets)),
                                                   std::shared_ptr<arrow::Buffer>(std::move(data)), std::move(validity));
}

}  // namespace

arrow::Result<std::unique_ptr<JoinSide>> JoinSide::Make(const std::shared_ptr<arrow::Schema>& schema,
                                                        const std::vector<expr::ExprPtr>& keys,
                                                        const std::vector<bool>& null_safe, bool has_flag) {
  std::unique_ptr<JoinSide> side(new JoinSide());
  side->head_bytes_ = kHeadBytes + (has_flag ? 1 : 0);
  ARROW_ASSIGN_OR_RAISE(side->schema_, PlainSchema(schema));
  for (int i = 0; i < schema->num_fields(); ++i) {
    side->is_plain_column_.push_back(schema->field(i)->type()->Equals(*side->schema_->field(i)->type()));
  }
  std::vector<size_t> order(keys.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_partition(order.begin(), order.end(), [&](size_t k) { return null_safe[k]; });
  side->position_.assign(static_cast<size_t>(schema->num_fields()), -1);
  arrow::FieldVector fields;
  for (const size_t k : order) {
    KeySource source;
    source.null_safe = null_safe[k];
    std::shared_ptr<arrow::DataType> type = ValueTypeOf(keys[k]->type());
    const bool exact = HasExactBytes(*type);
    const bool is_column = keys[k]->kind() == expr::ExprKind::kColumn;
    const int column = is_column ? static_cast<const expr::ColumnExpr&>(*keys[k]).index() : -1;
    if (column >= schema->num_fields()) return MakeError(ErrorKind::kInternal, "a join key of column {}", column);
    if (is_column) {
      source.column = column;
    } else {
      source.expr = keys[k];
    }
    bool nullable = true;
    if (!exact) {
      ARROW_ASSIGN_OR_RAISE(source.as_binary, row::SortKeyEncoder::Make({{type, /*nullable=*/true}}));
      type = arrow::large_binary();
    } else if (is_column && side->position_[static_cast<size_t>(column)] < 0) {
      side->position_[static_cast<size_t>(column)] = static_cast<int>(fields.size());
      nullable = source.null_safe || schema->field(column)->nullable();
    }
    side->key_types_.push_back(type);
    fields.push_back(arrow::field(keys[k]->ToString(), std::move(type), nullable));
    side->sources_.push_back(std::move(source));
  }
  side->PlaceKeys(fields);
  ARROW_ASSIGN_OR_RAISE(side->key_codec_, row::RowCodec::Make(arrow::schema(fields)));
  ARROW_ASSIGN_OR_RAISE(side->hasher_, row::RowHasher::Make(side->key_types_, kHashSeed));
  side->slot_bytes_ = static_cast<uint32_t>(side->key_codec_->fixed_bytes()) - side->lone_keys_.null_bytes;
  side->lone_keys_.fixed_bytes = static_cast<uint32_t>(side->key_codec_->fixed_bytes());
  side->variable_keys_ = !side->key_codec_->fixed_width().has_value();
  side->has_exact_slots_ = !side->variable_keys_ && side->null_safe_bits_ == 0;
  for (int i = 0; i < schema->num_fields(); ++i) {
    if (side->position_[static_cast<size_t>(i)] >= 0) continue;
    side->position_[static_cast<size_t>(i)] = static_cast<int>(fields.size());
    side->rest_.push_back(i);
    fields.push_back(schema->field(i));
  }
  const auto nullable_count = std::count_if(fields.begin(), fields.end(), [](const auto& field) {
    return field->nullable() && ValueTypeOf(field->type())->id() != arrow::Type::NA;
  });
  side->packed_schema_ = arrow::schema(std::move(fields));
  ARROW_ASSIGN_OR_RAISE(side->codec_, row::RowCodec::Make(side->packed_schema_));
  side->row_keys_ = {static_cast<uint32_t>((nullable_count + 7) / 8), static_cast<uint32_t>(side->codec_->fixed_bytes())};
  if (side->codec_->fixed_width().has_value()) side->fixed_row_bytes_ = side->head_bytes_ + side->codec_->fixed_bytes();
  return side;
}

/// Finds the null bits of keys.
void JoinSide::PlaceKeys(const arrow::FieldVector& fields) {
  size_t bit = 0;
  for (size_t k = 0; k < fields.size(); ++k) {
    if (fields[k]->type()->id() == arrow::Type::NA) {
      is_always_null_ = is_always_null_ || !sources_[k].null_safe;
      continue;
    }
    if (!fields[k]->nullable()) continue;
    if (sources_[k].null_safe) {
      ++null_safe_bits_;
    } else {
      null_mask_.resize(bit / 8 + 1, 0);
      null_mask_[bit / 8] |= static_cast<uint8_t>(1 << (bit % 8));
    }
    ++bit;
  }
  lone_keys_.null_bytes = static_cast<uint32_t>((bit + 7) / 8);
}

bool JoinSide::RestEqual(const uint8_t* packed, const uint8_t* other, const KeyPlace& place) const {
  if (variable_keys_) {
    // The slots, lengths among them, are equal; the key codec finds them behind its own null bits.
    const uint32_t bytes = key_codec_->RowSize(packed + row_keys_.null_bytes - lone_keys_.null_bytes) - lone_keys_.fixed_bytes;
    if (std::memcmp(packed + row_keys_.fixed_bytes, other + place.fixed_bytes, bytes) != 0) return false;
  }
  int left = null_safe_bits_;
  for (int i = 0; left > 0; ++i, left -= 8) {
    const auto mask = static_cast<uint8_t>(left >= 8 ? 0xFF : (1 << left) - 1);
    if (((packed[i] ^ other[i]) & mask) != 0) return false;
  }
  return true;
}

arrow::Result<SideBatch> JoinSide::Evaluate(const std::shared_ptr<arrow::RecordBatch>& batch,
                                            const expr::EvalContext& context) const {
  SideBatch result;
  result.input = batch;
  arrow::ArrayVector columns;
  columns.reserve(sources_.size() + rest_.size());
  for (const KeySource& source : sources_) {
    std::shared_ptr<arrow::Array> column;
    if (source.column >= 0) {
      column = batch->column(source.column);
    } else {
      ARROW_ASSIGN_OR_RAISE(column, expr::EvaluateToArray(*source.expr, *batch, context));
    }
    if (source.as_binary != nullptr) {
      ARROW_ASSIGN_OR_RAISE(column, SortKeysOf(*source.as_binary, column, context.pool));
    }
    columns.push_back(std::move(column));
  }
  result.keys = columns;
  for (const int column : rest_) columns.push_back(batch->column(column));
  result.packed = arrow::RecordBatch::Make(packed_schema_, batch->num_rows(), std::move(columns));
  return result;
}

arrow::Result<bool> JoinSide::Hash(const SideBatch& batch, std::span<uint64_t> hashes, std::span<uint8_t> valid) const {
  ARROW_RETURN_NOT_OK(hasher_->Hash(batch.keys, 0, hashes));
  bool any_null = false;
  std::memset(valid.data(), 1, valid.size());
  for (size_t k = 0; k < sources_.size(); ++k) {
    const arrow::Array& key = *batch.keys[k];
    if (sources_[k].null_safe || !MayHaveNulls(key)) continue;
    for (size_t i = 0; i < valid.size(); ++i) valid[i] &= static_cast<uint8_t>(!IsNull(key, static_cast<int64_t>(i)));
    any_null = true;
  }
  if (!any_null) return false;
  any_null = false;
  for (size_t i = 0; i < valid.size(); ++i) {
    if (valid[i] != 0) continue;
    any_null = true;
    hashes[i] = row::Mix(hashes[i] + i);
  }
  return any_null;
}

arrow::Result<arrow::ArrayVector> JoinSide::Decode(std::span<const uint8_t* const> packed, arrow::MemoryPool* pool) const {
  ARROW_ASSIGN_OR_RAISE(const auto batch, codec_->Decode(packed, pool));
  arrow::ArrayVector columns;
  columns.reserve(position_.size());
  for (const int position : position_) columns.push_back(batch->column(position));
  return columns;
}

}  // namespace icebound::exec::join
