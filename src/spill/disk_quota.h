// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace icebound::spill {

/// Bytes on disk against a limit: charged before a write, refunded when the bytes are gone. Thread safe.
class DiskQuota {
 public:
  explicit DiskQuota(int64_t limit_bytes) : limit_bytes_(limit_bytes) {}

  bool TryCharge(int64_t bytes) {
    int64_t used = used_bytes_.load(std::memory_order_relaxed);
    do {
      if (bytes > limit_bytes_ - used) return false;
    } while (!used_bytes_.compare_exchange_weak(used, used + bytes, std::memory_order_relaxed));
    int64_t peak = peak_bytes_.load(std::memory_order_relaxed);
    while (peak < used + bytes && !peak_bytes_.compare_exchange_weak(peak, used + bytes, std::memory_order_relaxed)) {
    }
    return true;
  }

  void Refund(int64_t bytes) { used_bytes_.fetch_sub(bytes, std::memory_order_relaxed); }

  int64_t limit_bytes() const { return limit_bytes_; }
  int64_t used_bytes() const { return used_bytes_.load(std::memory_order_relaxed); }
  int64_t peak_bytes() const { return peak_bytes_.load(std::memory_order_relaxed); }

 private:
  const int64_t limit_bytes_;
  std::atomic<int64_t> used_bytes_{0};
  std::atomic<int64_t> peak_bytes_{0};
};

}  // namespace icebound::spill
