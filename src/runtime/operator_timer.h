// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include "runtime/metrics.h"

namespace icebound::runtime {

/// Charges the time of a scope to one operator, children excluded: a timer that starts inside another one on the same thread
/// stops the outer until it ends. So the sum over operators is the time the threads were busy. Use one in every Next() and around
/// a breaker's work.
class OperatorTimer {
 public:
  explicit OperatorTimer(OperatorMetrics& metrics) : metrics_(metrics), outer_(current_), started_(Clock::now()) {
    if (outer_ != nullptr) outer_->Charge(started_);
    current_ = this;
  }
  ~OperatorTimer() {
    const Clock::time_point now = Clock::now();
    Charge(now);
    current_ = outer_;
    if (outer_ != nullptr) outer_->started_ = now;
  }
  OperatorTimer(const OperatorTimer&) = delete;
  OperatorTimer& operator=(const OperatorTimer&) = delete;

 private:
  using Clock = std::chrono::steady_clock;

  void Charge(Clock::time_point now) {
    metrics_.busy_ns.fetch_add(std::chrono::duration_cast<std::chrono::nanoseconds>(now - started_).count(),
                               std::memory_order_relaxed);
  }

  static inline thread_local OperatorTimer* current_ = nullptr;

  OperatorMetrics& metrics_;
  OperatorTimer* const outer_;
  Clock::time_point started_;
};

}  // namespace icebound::runtime
