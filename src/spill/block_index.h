// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace icebound::spill {

/// Where blocks begin in a file: the offset of every stride-th block. When kEntriesMax are held, every second one is dropped and
/// the stride doubles, so that the index of any file fits 1 KiB; a seek lands at most stride - 1 heads before its block. Not
/// thread safe.
class BlockIndex {
 public:
  static constexpr size_t kEntriesMax = 128;

  struct Position {
    int64_t block = 0;
    int64_t offset = 0;
  };

  /// Blocks must be added in order: 0, 1, 2, ...
  void Add(int64_t block, int64_t offset) {
    if (block % stride_ != 0) return;
    if (offsets_.size() == kEntriesMax) {
      for (size_t i = 0; i < kEntriesMax / 2; ++i) offsets_[i] = offsets_[2 * i];
      offsets_.resize(kEntriesMax / 2);
      stride_ *= 2;
    }
    offsets_.push_back(offset);
  }

  /// The last known position at or before `block`.
  Position Floor(int64_t block) const {
    if (offsets_.empty()) return {};
    const int64_t entry = std::min<int64_t>(block / stride_, static_cast<int64_t>(offsets_.size()) - 1);
    return {entry * stride_, offsets_[entry]};
  }

 private:
  std::vector<int64_t> offsets_;
  int64_t stride_ = 1;
};

}  // namespace icebound::spill
