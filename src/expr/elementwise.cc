// SPDX-License-Identifier: Apache-2.0
#include "expr/elementwise.h"

#include <arrow/array/data.h>
#include <arrow/extension_type.h>
#include <arrow/util/bitmap_ops.h>
#include <arrow/util/checked_cast.h>

namespace icebound::expr {

using arrow::internal::checked_cast;

std::string_view ScalarBytes(const arrow::Scalar& scalar) {
  return checked_cast<const arrow::internal::PrimitiveScalarBase&>(scalar).view();
}

namespace {

/// The validity bitmap of an array; nullptr when nothing is null.
const std::shared_ptr<arrow::Buffer>* ValidityOf(const arrow::ArrayData& data) {
  return data.buffers.empty() || data.buffers[0] == nullptr || data.null_count == 0 ? nullptr : &data.buffers[0];
}

}  // namespace

arrow::Result<std::shared_ptr<arrow::Buffer>> CombinedValidity(std::span<const arrow::Datum> arguments, int64_t num_rows,
                                                               arrow::MemoryPool* pool) {
  std::shared_ptr<arrow::Buffer> combined;
  for (const arrow::Datum& argument : arguments) {
    if (!argument.is_array()) continue;
    const arrow::ArrayData& data = *argument.array();
    const std::shared_ptr<arrow::Buffer>* bitmap = ValidityOf(data);
    if (bitmap == nullptr) continue;
    if (combined != nullptr) {
      ARROW_ASSIGN_OR_RAISE(combined,
                            arrow::internal::BitmapAnd(pool, combined->data(), 0, (*bitmap)->data(), data.offset, num_rows, 0));
    } else if (data.offset % 8 == 0) {
      combined = arrow::SliceBuffer(*bitmap, data.offset / 8, arrow::bit_util::BytesForBits(num_rows));
    } else {
      ARROW_ASSIGN_OR_RAISE(combined, arrow::internal::CopyBitmap(pool, (*bitmap)->data(), data.offset, num_rows));
    }
  }
  return combined;
}

arrow::Datum MakeArrayDatum(const TypePtr& type, int64_t num_rows, std::shared_ptr<arrow::Buffer> validity,
                            std::shared_ptr<arrow::Buffer> values) {
  const int64_t null_count = validity == nullptr ? 0 : arrow::kUnknownNullCount;
  return arrow::ArrayData::Make(type, num_rows, {std::move(validity), std::move(values)}, null_count);
}

arrow::Result<std::shared_ptr<arrow::Buffer>> AllocateBits(int64_t num_rows, arrow::MemoryPool* pool) {
  const int64_t bytes = arrow::bit_util::BytesForBits(num_rows);
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> bits, arrow::AllocateBuffer(bytes, pool));
  if (bytes > 0) bits->mutable_data()[bytes - 1] = 0;
  return bits;
}

void PackBits(const uint8_t* bytes, int64_t count, uint8_t* bits, int64_t first_bit) {
  uint8_t* out = bits + first_bit / 8;
  int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    uint64_t eight;
    std::memcpy(&eight, bytes + i, 8);
    // The product moves the low bit of byte k to bit 56 + k; no two of them meet.
    *out++ = static_cast<uint8_t>((eight * 0x0102040810204080ULL) >> 56);
  }
  if (i == count) return;
  uint8_t last = 0;
  for (int bit = 0; i < count; ++i, ++bit) last |= static_cast<uint8_t>(bytes[i] << bit);
  *out = last;
}

BytesReader::BytesReader(const arrow::Datum& datum) {
  const arrow::DataType* type = datum.type().get();
  if (type->id() == arrow::Type::EXTENSION) type = checked_cast<const arrow::ExtensionType&>(*type).storage_type().get();
  const bool is_fixed = type->id() == arrow::Type::FIXED_SIZE_BINARY;
  if (datum.is_array()) {
    const arrow::ArrayData& data = *datum.array();
    if (is_fixed) {
      width_ = checked_cast<const arrow::FixedSizeBinaryType&>(*type).byte_width();
      if (data.buffers[1] != nullptr) data_ = reinterpret_cast<const char*>(data.buffers[1]->data()) + data.offset * width_;
    } else {
      offsets_ = data.GetValues<int32_t>(1);
      static constexpr int32_t kEmpty[2] = {0, 0};
      if (offsets_ == nullptr) offsets_ = kEmpty;
      if (data.buffers[2] != nullptr) data_ = reinterpret_cast<const char*>(data.buffers[2]->data());
    }
    return;
  }
  const arrow::Scalar* scalar = datum.scalar().get();
  if (scalar->type->id() == arrow::Type::EXTENSION) scalar = checked_cast<const arrow::ExtensionScalar&>(*scalar).value.get();
  const auto& value = checked_cast<const arrow::BaseBinaryScalar&>(*scalar).value;
  mask_ = 0;
  if (value != nullptr) {
    data_ = reinterpret_cast<const char*>(value->data());
    width_ = value->size();
  }
}

ValidityReader::ValidityReader(const arrow::Datum& datum) {
  if (!datum.is_array()) {
    all_ = datum.scalar()->is_valid;
    return;
  }
  if (datum.array()->type->id() == arrow::Type::NA) {
    all_ = false;
  } else if (const auto* bitmap = ValidityOf(*datum.array())) {
    bits_ = (*bitmap)->data();
    offset_ = datum.array()->offset;
  }
}

}  // namespace icebound::expr
