// SPDX-License-Identifier: Apache-2.0
//
// Counters of one statement, an entry an operator; what EXPLAIN ANALYZE, --metrics and the progress bar read.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <utility>

namespace icebound::runtime {

/// One operator's counters. Written by its workers, read at any time by others: relaxed atomics.
struct OperatorMetrics {
  explicit OperatorMetrics(std::string name) : name(std::move(name)) {}
  const std::string name;
  std::atomic<int64_t> rows{0};           ///< rows delivered
  std::atomic<int64_t> busy_ns{0};        ///< time inside the operator, children excluded, summed over threads
  std::atomic<int64_t> peak_bytes{0};     ///< high-water mark of its MemoryConsumer
  std::atomic<int64_t> spilled_bytes{0};  ///< stored bytes it wrote to spill files
  std::atomic<int64_t> spill_levels{0};   ///< merge passes or partition depth; 0 = stayed in memory
};

/// Raises `peak` to at least `value`.
inline void RaiseTo(std::atomic<int64_t>& peak, int64_t value) {
  int64_t seen = peak.load(std::memory_order_relaxed);
  while (seen < value && !peak.compare_exchange_weak(seen, value, std::memory_order_relaxed)) {
  }
}

/// Thread safe. Entries live as long as the registry; references stay valid.
class MetricsRegistry {
 public:
  OperatorMetrics& AddOperator(std::string name) {
    std::lock_guard lock(mutex_);
    return operators_.emplace_back(std::move(name));
  }
  template <typename Visitor>
  void ForEachOperator(Visitor&& visit) const {
    std::lock_guard lock(mutex_);
    for (const OperatorMetrics& metrics : operators_) visit(metrics);
  }

  std::atomic<int64_t> input_rows{0};
  std::atomic<int64_t> input_bytes{0};       ///< file bytes read by scans
  std::atomic<int64_t> input_rows_total{0};  ///< rows the scans expect to read, when known (progress)
  std::atomic<int64_t> output_rows{0};
  std::atomic<int64_t> output_rows_total{0};  ///< rows that will come out, when known (progress)

 private:
  mutable std::mutex mutex_;
  std::deque<OperatorMetrics> operators_;  // guarded by mutex_ (the entries themselves are atomics)
};

}  // namespace icebound::runtime
