// SPDX-License-Identifier: Apache-2.0
#include "exec/aggregate/byte_columns.h"

#include <arrow/array.h>

#include <algorithm>

#include "row/copy_bytes.h"

namespace icebound::exec::aggregate {

arrow::Result<std::shared_ptr<arrow::Array>> MakeByteColumn(const ByteColumnParts& parts, int64_t rows,
                                                            const std::shared_ptr<arrow::Buffer>& validity_or_null,
                                                            arrow::MemoryPool* pool) {
  constexpr auto kSizeBytes = static_cast<int64_t>(sizeof(uint32_t));
  const auto count = static_cast<size_t>(rows);
  ARROW_ASSIGN_OR_RAISE(const auto size_buffer, arrow::AllocateBuffer(2 * rows * kSizeBytes, pool));
  const std::span<uint32_t> sizes{reinterpret_cast<uint32_t*>(size_buffer->mutable_data()), count};
  const std::span<uint32_t> key_sizes{sizes.data() + count, count};
  std::fill(key_sizes.begin(), key_sizes.end(), 0);
  if (parts.key_or_null != nullptr) ARROW_RETURN_NOT_OK(parts.key_or_null->AddLengths(parts.key_columns, 0, key_sizes));
  for (size_t i = 0; i < count; ++i) sizes[i] = key_sizes[i] + (parts.with_key_bytes ? 4 : 0);
  if (parts.codec_or_null != nullptr) ARROW_RETURN_NOT_OK(parts.codec_or_null->AddSizes(*parts.packed, 0, sizes));

  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> offsets,
                        arrow::AllocateBuffer((rows + 1) * static_cast<int64_t>(sizeof(int64_t)), pool));
  auto* offset = reinterpret_cast<int64_t*>(offsets->mutable_data());
  offset[0] = 0;
  for (size_t i = 0; i < count; ++i) offset[i + 1] = offset[i] + sizes[i];
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> data, arrow::AllocateBuffer(offset[count], pool));
  ARROW_ASSIGN_OR_RAISE(const auto cursor_buffer, arrow::AllocateBuffer(rows * static_cast<int64_t>(sizeof(uint8_t*)), pool));
  const std::span<uint8_t*> cursors{reinterpret_cast<uint8_t**>(cursor_buffer->mutable_data()), count};
  for (size_t i = 0; i < count; ++i) cursors[i] = data->mutable_data() + offset[i];
  if (parts.with_key_bytes) {
    for (size_t i = 0; i < count; ++i) row::StoreAs(cursors[i] + sizes[i] - 4, key_sizes[i]);
  }
  if (parts.key_or_null != nullptr) ARROW_RETURN_NOT_OK(parts.key_or_null->Encode(parts.key_columns, 0, cursors));
  if (parts.codec_or_null != nullptr) ARROW_RETURN_NOT_OK(parts.codec_or_null->Encode(*parts.packed, 0, cursors));
  return std::make_shared<arrow::LargeBinaryArray>(rows, std::move(offsets), std::move(data), validity_or_null);
}

}  // namespace icebound::exec::aggregate
