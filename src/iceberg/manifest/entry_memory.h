// SPDX-License-Identifier: Apache-2.0
//
// What one entry holds on the heap, reserved before it is allocated. An entry comes out of a block that is charged already, but
// its values may take more than its bytes did: a bound of no bytes is two bytes there and a pair of 40 here.
#pragma once

#include <arrow/status.h>

#include <cstdint>

#include "memory/memory_ledger.h"

namespace icebound::iceberg {

/// Not thread safe. Keeps the most that any entry took, as the entry keeps its room.
class EntryMemory {
 public:
  explicit EntryMemory(memory::MemoryConsumer* consumer) : reservation_(consumer) {}

  /// The next entry begins.
  void Restart() { used_bytes_ = 0; }

  /// Call before `bytes` more are put into the entry. A vector or string that grows holds up to twice what it needs, and while it
  /// grows the old room too; that factor is put on here.
  arrow::Status Take(int64_t bytes) {
    used_bytes_ += kGrowthFactor * bytes;
    if (used_bytes_ <= reservation_.bytes()) [[likely]]
      return arrow::Status::OK();
    return reservation_.ResizeTo((used_bytes_ / kStepBytes + 1) * kStepBytes);
  }

 private:
  static constexpr int64_t kGrowthFactor = 3;
  static constexpr int64_t kStepBytes = 16 << 10;

  memory::Reservation reservation_;
  int64_t used_bytes_ = 0;
};

}  // namespace icebound::iceberg
