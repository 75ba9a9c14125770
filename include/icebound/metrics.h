// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace icebound {

struct OperatorMetrics {
  std::string name;
  int64_t rows = 0;
  double seconds = 0;      ///< inside the operator, children excluded, summed over threads
  int64_t peak_bytes = 0;  ///< most memory it held; 0 for what passes on the memory of others
  int64_t spilled_bytes = 0;
  int64_t spill_levels = 0;
};

/// A snapshot of a statement's (or session's) counters. Resident memory, ledger and disk are the session's: when two results of
/// one session are read side by side, each sees the spilled bytes of both.
struct QueryMetrics {
  int64_t peak_rss_bytes = 0;  ///< VmHWM of the process
  int64_t memory_limit_bytes = 0;
  int64_t peak_ledger_bytes = 0;
  int64_t reserved_bytes = 0;     ///< held now
  int64_t spilled_bytes = 0;      ///< written to spill files, as stored
  int64_t spilled_raw_bytes = 0;  ///< the same before compression
  int64_t spill_peak_bytes = 0;   ///< most disk in use at one time
  int64_t spill_files = 0;
  int64_t input_rows = 0;
  int64_t input_bytes = 0;
  int64_t input_rows_expected = 0;  ///< 0 when unknown
  int64_t output_rows = 0;
  int64_t output_rows_expected = 0;  ///< 0 when unknown: it becomes known when a sort has seen its input
  double wall_seconds = 0;
  double cpu_seconds = 0;
  std::vector<OperatorMetrics> operators;
};

}  // namespace icebound
