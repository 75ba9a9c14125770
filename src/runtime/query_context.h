// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "memory/memory_ledger.h"
#include "runtime/cancellation.h"
#include "runtime/metrics.h"
#include "spill/disk_manager.h"

namespace icebound::runtime {

/// What everything that runs is handed: one a statement. References outlive the statement (the session owns them). Thread safe.
struct QueryContext {
  memory::MemoryLedger& ledger;
  spill::DiskManager& disk;
  const CancellationToken& cancellation;
  MetricsRegistry& metrics;
  int threads = 1;  ///< target_partitions
  int64_t batch_rows = 8192;
  int64_t batch_bytes = int64_t{1} << 20;
  int64_t statement_time_us = 0;  ///< now() of the statement, UTC microseconds since the epoch

  /// For tests: every breaker spills after each batch it takes.
  bool force_spill = false;
};

}  // namespace icebound::runtime
