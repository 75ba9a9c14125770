// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <arrow/status.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "io/parquet_writer/hybrid_encoding.h"
#include "io/parquet_writer/pool_vector.h"

namespace icebound::io {

/// The definition or repetition levels of one page. While all are the same (a column without nulls), only their number is kept.
class LevelBuffer {
 public:
  LevelBuffer(int max_level, arrow::MemoryPool* pool)
      : max_level_(max_level), levels_(pool), histogram_(static_cast<size_t>(max_level) + 1) {}

  int max_level() const { return max_level_; }
  int64_t count() const { return count_; }
  const std::vector<int64_t>& histogram() const { return histogram_; }

  arrow::Status AppendRun(uint8_t level, int64_t count) {
    if (count == 0) return arrow::Status::OK();
    histogram_[level] += count;
    if (count_ == 0) uniform_level_ = level;
    if (is_uniform_ && level == uniform_level_) {
      count_ += count;
      return arrow::Status::OK();
    }
    ARROW_RETURN_NOT_OK(Materialize(count));
    std::memset(levels_.end(), level, static_cast<size_t>(count));
    levels_.Advance(count);
    count_ += count;
    return arrow::Status::OK();
  }

  /// Levels 1 and 0 from the bits of a validity bitmap, `valid` of which are set.
  arrow::Status AppendBits(const uint8_t* bitmap, int64_t offset, int64_t count, int64_t valid) {
    if (valid == count) return AppendRun(1, count);
    if (valid == 0) return AppendRun(0, count);
    ARROW_RETURN_NOT_OK(Materialize(count));
    uint8_t* out = levels_.end();
    for (int64_t i = offset; i < offset + count; ++i) *out++ = (bitmap[i / 8] >> (i % 8)) & 1;
    histogram_[1] += valid;
    histogram_[0] += count - valid;
    levels_.Advance(count);
    count_ += count;
    return arrow::Status::OK();
  }

  arrow::Status AppendLevels(const int16_t* levels, int64_t count) {
    if (is_uniform_ && std::all_of(levels, levels + count, [&](int16_t level) { return level == levels[0]; })) {
      return AppendRun(count > 0 ? static_cast<uint8_t>(levels[0]) : 0, count);
    }
    ARROW_RETURN_NOT_OK(Materialize(count));
    uint8_t* out = levels_.end();
    for (int64_t i = 0; i < count; ++i) {
      out[i] = static_cast<uint8_t>(levels[i]);
      ++histogram_[out[i]];
    }
    levels_.Advance(count);
    count_ += count;
    return arrow::Status::OK();
  }

  /// Appends the levels as a data page (version 1) holds them: a 4-byte length and the hybrid stream. Nothing when only level 0
  /// exists.
  arrow::Status Encode(PoolVector<uint8_t>* out) const {
    if (max_level_ == 0) return arrow::Status::OK();
    const int bits = BitWidth(static_cast<uint32_t>(max_level_));
    ARROW_RETURN_NOT_OK(out->Reserve(4 + (is_uniform_ ? 16 : MaxHybridBytes(count_, bits))));
    uint8_t* stream = out->end() + 4;
    const auto bytes = static_cast<int32_t>(is_uniform_ ? EncodeHybridRun(uniform_level_, count_, bits, stream)
                                                        : EncodeHybrid(levels_.data(), count_, bits, stream));
    std::memcpy(out->end(), &bytes, 4);
    out->Advance(4 + bytes);
    return arrow::Status::OK();
  }

  void Clear() {
    levels_.Clear();
    count_ = 0;
    is_uniform_ = true;
    std::fill(histogram_.begin(), histogram_.end(), 0);
  }
  /// Bytes of the encoded levels, roughly.
  int64_t EstimateBytes() const { return is_uniform_ ? 0 : count_ * BitWidth(static_cast<uint32_t>(max_level_)) / 8; }
  int64_t memory_bytes() const { return levels_.capacity_bytes(); }

 private:
  /// Turns the run so far into levels and makes room for `extra` more.
  arrow::Status Materialize(int64_t extra) {
    if (!is_uniform_) return levels_.Reserve(extra);
    ARROW_RETURN_NOT_OK(levels_.Reserve(count_ + extra));
    std::memset(levels_.data(), uniform_level_, static_cast<size_t>(count_));
    levels_.Advance(count_);
    is_uniform_ = false;
    return arrow::Status::OK();
  }

  const int max_level_;
  PoolVector<uint8_t> levels_;  // empty while is_uniform_
  std::vector<int64_t> histogram_;
  int64_t count_ = 0;
  uint8_t uniform_level_ = 0;
  bool is_uniform_ = true;
};

}  // namespace icebound::io
