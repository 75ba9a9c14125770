// SPDX-License-Identifier: Apache-2.0
//
// Counters of one statement, an entry an operator; what EXPLAIN ANALYZE, --metrics and the progress bar read.
#pragma once

#include <atomic>
#include <chrono>
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

/// Adds the time it runs to one operator's busy_ns; paused around calls into a child, whose time is the child's own. One
/// thread's.
class BusyTimer {
 public:
  explicit BusyTimer(OperatorMetrics& metrics) : metrics_(metrics), started_(Clock::now()) {}
  BusyTimer(const BusyTimer&) = delete;
  BusyTimer& operator=(const BusyTimer&) = delete;
  ~BusyTimer() { Pause(); }

  void Pause() {
    if (!running_) return;
    running_ = false;
    const auto elapsed = std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - started_);
    metrics_.busy_ns.fetch_add(elapsed.count(), std::memory_order_relaxed);
  }
  void Resume() {
    if (running_) return;
    running_ = true;
    started_ = Clock::now();
  }

 private:
  using Clock = std::chrono::steady_clock;
  OperatorMetrics& metrics_;
  Clock::time_point started_;
  bool running_ = true;
};

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

 private:
  mutable std::mutex mutex_;
  std::deque<OperatorMetrics> operators_;  // guarded by mutex_ (the entries themselves are atomics)
};

}  // namespace icebound::runtime
