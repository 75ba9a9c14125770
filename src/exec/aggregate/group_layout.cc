// SPDX-License-Identifier: Apache-2.0
#include "exec/aggregate/group_layout.h"

namespace icebound::exec::aggregate {

arrow::Result<std::unique_ptr<GroupLayout>> GroupLayout::Make(const arrow::FieldVector& keys,
                                                              const std::vector<StateKind>& states) {
  std::unique_ptr<GroupLayout> layout(new GroupLayout());
  layout->key_schema_ = arrow::schema(keys);
  ARROW_ASSIGN_OR_RAISE(layout->codec_, row::RowCodec::Make(layout->key_schema_));
  std::vector<std::shared_ptr<arrow::DataType>> types;
  for (const auto& field : keys) types.push_back(field->type());
  ARROW_ASSIGN_OR_RAISE(layout->hasher_, row::RowHasher::Make(types, kGroupHashSeed));
  layout->variable_keys_ = !layout->codec_->fixed_width().has_value();
  layout->fixed_key_bytes_ = static_cast<uint32_t>(layout->codec_->fixed_width().value_or(0));
  layout->head_bytes_ = layout->variable_keys_ ? 12 : 8;
  uint32_t offset = layout->head_bytes_;
  for (const StateKind kind : states) {
    layout->states_.push_back({kind, offset});
    if (IsByteString(kind)) layout->byte_strings_.push_back(offset);
    offset += StateBytes(kind);
  }
  layout->key_offset_ = offset;
  return layout;
}

void GroupLayout::Store(const uint8_t* row, uint8_t* out) const {
  const uint32_t bytes = RowBytes(row);
  row::CopyBytes(out, row, bytes);
  out += bytes;
  for (const uint32_t offset : byte_strings_) {
    const uint32_t outside_bytes = ByteString::OutsideBytes(row + offset);
    if (outside_bytes == 0) continue;
    row::CopyBytes(out, ByteString::View(row + offset).data(), outside_bytes);
    out += outside_bytes;
  }
}

void GroupLayout::AttachTo(uint8_t* row, const uint8_t* outside) const {
  for (const uint32_t offset : byte_strings_) {
    const uint32_t bytes = ByteString::OutsideBytes(row + offset);
    if (bytes == 0) continue;
    ByteString::PointTo(row + offset, outside);
    outside += bytes;
  }
}

}  // namespace icebound::exec::aggregate
