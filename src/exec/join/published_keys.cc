// SPDX-License-Identifier: Apache-2.0
#include "exec/join/published_keys.h"

#include <arrow/buffer.h>

namespace icebound::exec::join {

arrow::Status PublishedKeys::Test(const arrow::ArrayVector& keys, std::span<uint8_t> pass, arrow::MemoryPool* pool) const {
  const size_t rows = pass.size();
  const auto bytes = static_cast<int64_t>(rows * (sizeof(uint64_t) + 1));
  ARROW_ASSIGN_OR_RAISE(const std::unique_ptr<arrow::Buffer> space, arrow::AllocateBuffer(bytes, pool));
  const std::span<uint64_t> hashes(reinterpret_cast<uint64_t*>(space->mutable_data()), rows);
  const std::span<uint8_t> valid(space->mutable_data() + rows * sizeof(uint64_t), rows);
  SideBatch batch;
  batch.keys = keys;
  ARROW_ASSIGN_OR_RAISE(const bool has_null_keys, side_.Hash(batch, hashes, valid));
  for (size_t i = 0; has_null_keys && i < rows; ++i) pass[i] &= valid[i];
  if (filter_.has_ranges()) filter_.ApplyRanges(keys, pass);
  if (filter_.has_bloom()) filter_.ApplyBloom(hashes, pass);
  return arrow::Status::OK();
}

std::optional<runtime::KeyBounds> PublishedKeys::BoundsOf(size_t key) const {
  if (!filter_.has_ranges()) return std::nullopt;
  const KeyRange range = filter_.range(key);
  if (range.least == INT64_MIN && range.greatest == INT64_MAX) return std::nullopt;
  return runtime::KeyBounds{.least = range.least, .greatest = range.greatest};
}

}  // namespace icebound::exec::join
