// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <arrow/memory_pool.h>

#include <atomic>
#include <cstdint>
#include <string>

#include "memory/consumer_pool.h"
#include "memory/memory_ledger.h"

namespace icebound::memory {

/// What the ledger keeps of one consumer. Outlives the consumer for its pools' sake: a closed account holds what its outstanding
/// buffers hold, and is given to a new consumer some time after the last of them is gone.
struct ConsumerAccount {
  explicit ConsumerAccount(BoundedLedger* ledger)
      : pool(ledger, this, Urgency::kRequired, &counters), try_pool(ledger, this, Urgency::kOptional, &counters) {}

  // Self-synchronised.
  std::atomic<int64_t> held_bytes{0};      ///< reservations and the blocks of both pools
  std::atomic<int64_t> reserved_bytes{0};  ///< reservations alone
  std::atomic<int64_t> peak_bytes{0};      ///< high-water mark of held_bytes
  std::atomic<int64_t> wanted_bytes{0};    ///< what the ledger asked back and did not get yet; positive: reclaim requested

  // Guarded by the ledger's mutex.
  std::string name;
  Reclaimer* reclaimer = nullptr;  ///< null for an unspillable consumer, and once closed
  bool open = false;
  int pins = 0;                 ///< threads that are inside the reclaimer; closing waits for them
  int64_t closed_sequence = 0;  ///< order of closing, to reuse the oldest first

  PoolCounters counters;
  ConsumerPool pool;
  ConsumerPool try_pool;
};

}  // namespace icebound::memory
