// SPDX-License-Identifier: Apache-2.0
#include "exec/sort/row_format.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace icebound::exec::sort {

arrow::Result<std::unique_ptr<SortRowFormat>> SortRowFormat::Make(const std::shared_ptr<arrow::Schema>& input,
                                                                  const std::vector<SortColumn>& keys, int output_columns) {
  std::unique_ptr<SortRowFormat> format(new SortRowFormat());
  std::vector<row::SortField> fields;
  for (const SortColumn& key : keys) {
    // A column that already orders the rows cannot order them further.
    if (std::find(format->key_columns_.begin(), format->key_columns_.end(), key.column) != format->key_columns_.end()) continue;
    const auto& field = input->field(key.column);
    fields.push_back({field->type(), field->nullable(), key.descending, key.nulls_first});
    format->key_columns_.push_back(key.column);
  }
  ARROW_ASSIGN_OR_RAISE(format->keys_, row::SortKeyEncoder::Make(std::move(fields)));

  format->key_wanted_.assign(format->key_columns_.size(), false);
  arrow::FieldVector payload_fields;
  for (int column = 0; column < output_columns; ++column) {
    const auto found = std::find(format->key_columns_.begin(), format->key_columns_.end(), column);
    const int key_field = static_cast<int>(found - format->key_columns_.begin());
    if (found != format->key_columns_.end() && format->keys_->CanDecode(key_field)) {
      format->key_wanted_[key_field] = true;
      format->any_key_wanted_ = true;
      format->origins_.push_back({true, key_field});
    } else {
      format->origins_.push_back({false, static_cast<int>(format->payload_columns_.size())});
      format->payload_columns_.push_back(column);
      payload_fields.push_back(input->field(column));
    }
  }
  format->payload_schema_ = arrow::schema(std::move(payload_fields));
  ARROW_ASSIGN_OR_RAISE(format->payload_, row::RowCodec::Make(format->payload_schema_));

  arrow::FieldVector output_fields;
  for (int column = 0; column < output_columns; ++column) {
    const Origin origin = format->origins_[column];
    const auto& type = origin.from_key ? format->keys_->decoded_type(origin.index)
                                       : format->payload_->output_schema()->field(origin.index)->type();
    output_fields.push_back(input->field(column)->WithType(type));
  }
  format->output_schema_ = arrow::schema(std::move(output_fields), input->metadata());
  format->ComputeLayout();
  return format;
}

void SortRowFormat::ComputeLayout() {
  layout_.key_is_fixed = keys_->fixed_width().has_value();
  layout_.fixed_key_bytes = static_cast<uint32_t>(keys_->fixed_width().value_or(0));
  const bool row_is_fixed = layout_.key_is_fixed && payload_->fixed_width().has_value();
  const uint32_t fixed_bytes = row_is_fixed ? layout_.fixed_key_bytes + static_cast<uint32_t>(*payload_->fixed_width()) : 0;
  // Rows without any byte keep a head, so that a row always has an address of its own and a block of rows a size.
  layout_.fixed_row_bytes = fixed_bytes;
  layout_.head_bytes = fixed_bytes > 0 ? 0 : (layout_.key_is_fixed ? 4 : 8);
  layout_.fixed_part_bytes = static_cast<uint32_t>(payload_->fixed_bytes());
  if (layout_.key_is_fixed) layout_.fixed_part_bytes += layout_.head_bytes + layout_.fixed_key_bytes;
}

arrow::Result<SortInput> SortRowFormat::Prepare(const arrow::RecordBatch& batch) const {
  SortInput input;
  input.rows = batch.num_rows();
  for (int column : key_columns_) input.keys.push_back(batch.column(column));
  arrow::ArrayVector columns;
  for (int column : payload_columns_) columns.push_back(batch.column(column));
  input.payload = arrow::RecordBatch::Make(payload_schema_, batch.num_rows(), std::move(columns));
  return input;
}

arrow::Status SortRowFormat::MeasureKeys(const SortInput& input, int64_t first_row, std::span<uint32_t> key_bytes) const {
  if (layout_.key_is_fixed) {
    std::fill(key_bytes.begin(), key_bytes.end(), layout_.fixed_key_bytes);
    return arrow::Status::OK();
  }
  std::fill(key_bytes.begin(), key_bytes.end(), 0);
  return keys_->AddLengths(input.keys, first_row, key_bytes);
}

arrow::Status SortRowFormat::EncodeKeys(const SortInput& input, int64_t first_row, std::span<uint8_t*> cursors) const {
  return keys_->Encode(input.keys, first_row, cursors);
}

arrow::Status SortRowFormat::Measure(const SortInput& input, int64_t first_row, std::span<uint32_t> row_bytes,
                                     std::span<uint32_t> key_bytes) const {
  if (layout_.fixed_row_bytes != 0) {
    std::fill(row_bytes.begin(), row_bytes.end(), layout_.fixed_row_bytes);
    return arrow::Status::OK();
  }
  if (layout_.key_is_fixed) {
    std::fill(row_bytes.begin(), row_bytes.end(), layout_.head_bytes + layout_.fixed_key_bytes);
  } else {
    ARROW_RETURN_NOT_OK(MeasureKeys(input, first_row, key_bytes));
    for (size_t i = 0; i < row_bytes.size(); ++i) {
      if (key_bytes[i] > UINT32_MAX - layout_.head_bytes) {
        return MakeError(ErrorKind::kUnsupported, "a sort key of {} bytes is wider than a row may be", key_bytes[i]);
      }
      row_bytes[i] = layout_.head_bytes + key_bytes[i];
    }
  }
  return payload_->AddSizes(*input.payload, first_row, row_bytes);
}

arrow::Status SortRowFormat::Encode(const SortInput& input, int64_t first_row, std::span<const uint32_t> row_bytes,
                                    std::span<const uint32_t> key_bytes, std::span<uint8_t*> cursors) const {
  if (layout_.head_bytes == 4) {
    for (size_t i = 0; i < cursors.size(); ++i) {
      std::memcpy(cursors[i], &row_bytes[i], 4);
      cursors[i] += 4;
    }
  } else if (layout_.head_bytes == 8) {
    for (size_t i = 0; i < cursors.size(); ++i) {
      std::memcpy(cursors[i], &row_bytes[i], 4);
      std::memcpy(cursors[i] + 4, &key_bytes[i], 4);
      cursors[i] += 8;
    }
  }
  ARROW_RETURN_NOT_OK(keys_->Encode(input.keys, first_row, cursors));
  return payload_->Encode(*input.payload, first_row, cursors);
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> SortRowFormat::Decode(std::span<const uint8_t*> rows, arrow::MemoryPool* pool,
                                                                         const std::shared_ptr<arrow::Buffer>& owner) const {
  arrow::ArrayVector from_keys;
  if (any_key_wanted_) {
    for (const uint8_t*& row : rows) row += layout_.head_bytes;
    ARROW_ASSIGN_OR_RAISE(from_keys, keys_->Decode(rows, key_wanted_, pool));
  } else {
    for (const uint8_t*& row : rows) row += layout_.PayloadOffset(row);
  }
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::RecordBatch> payload,
                        owner != nullptr ? payload_->DecodeInPlace(rows[0], owner, pool) : payload_->Decode(rows, pool));
  arrow::ArrayVector columns;
  columns.reserve(origins_.size());
  for (const Origin& origin : origins_) {
    columns.push_back(origin.from_key ? from_keys[origin.index] : payload->column(origin.index));
  }
  return arrow::RecordBatch::Make(output_schema_, static_cast<int64_t>(rows.size()), std::move(columns));
}

}  // namespace icebound::exec::sort
