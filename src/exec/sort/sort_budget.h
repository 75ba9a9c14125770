// SPDX-License-Identifier: Apache-2.0
//
// The sorter's purse: bytes reserved from the ledger, lent to arenas and buffers, and kept when they come back.
//
// Memory that a spill frees must not go back to the ledger while the sort still needs it, because another consumer
// would take it before the merge asks for its buffers. So a freed byte becomes slack, the next Take is served from
// slack first, and only ReturnSlack hands bytes back, at the two places where the sorter knows what it will need:
// before the merge, and when the ledger asks for memory.
#pragma once

#include <arrow/status.h>

#include <atomic>
#include <cstdint>
#include <limits>

#include "memory/memory_ledger.h"

namespace icebound::exec::sort {

/// Thread safe. The consumer outlives it; destruction returns everything, so all takers must have given back by then.
class SortBudget {
 public:
  explicit SortBudget(memory::MemoryConsumer* consumer) : consumer_(*consumer) {}
  ~SortBudget() { ReturnSlack(0); }
  SortBudget(const SortBudget&) = delete;
  SortBudget& operator=(const SortBudget&) = delete;

  /// Takes from slack, then from the ledger; false when the ledger refuses, or at the ceiling.
  bool TryTake(int64_t bytes);

  /// As TryTake, but lets the ledger reclaim from others; a refusal is the plan's failure (ErrorKind::kMemoryLimit).
  arrow::Status Take(int64_t bytes);

  /// TryTake refuses what would bring taken_bytes() above `bytes`: the rest of the share is for what cannot be refused.
  void SetCeiling(int64_t bytes) { ceiling_bytes_.store(bytes, std::memory_order_relaxed); }

  /// The bytes become slack.
  void Give(int64_t bytes);

  /// Hands slack back to the ledger, but keeps at least `floor_bytes` reserved, taken bytes included. Returns the
  /// bytes handed back.
  int64_t ReturnSlack(int64_t floor_bytes);

  int64_t slack_bytes() const { return slack_bytes_.load(std::memory_order_relaxed); }
  int64_t taken_bytes() const { return taken_bytes_.load(std::memory_order_relaxed); }
  memory::MemoryConsumer& consumer() { return consumer_; }

 private:
  int64_t TakeSlack(int64_t bytes_max);

  memory::MemoryConsumer& consumer_;
  std::atomic<int64_t> slack_bytes_{0};
  std::atomic<int64_t> taken_bytes_{0};
  std::atomic<int64_t> ceiling_bytes_{std::numeric_limits<int64_t>::max()};
};

}  // namespace icebound::exec::sort
