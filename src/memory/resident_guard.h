// SPDX-License-Identifier: Apache-2.0
//
// The last line of the promise, for a program that owns its process: what no ledger sees. The pages of Arrow's code and constant
// tables count as resident once they were touched, and a query that uses many kernels touches 30 MiB of them, of which it needs
// a third at a time. They are clean copies of files, so the system can have them back at any moment; the next use maps them
// again from the page cache (measured: dropping them every 20 ms cost a two-thread decode nothing that could be told from noise).
//
// So the guard looks at the resident size now and then, and when it comes near the promise, drops them.
#pragma once

#include <atomic>
#include <cstdint>

namespace icebound::memory {

/// Gives the clean pages of the program's and libraries' files back to the system; returns the bytes that were resident. Thread
/// safe. About a millisecond, and as much again for mapping the useful part back.
int64_t DropLibraryPages();

/// Thread safe.
class ResidentGuard {
 public:
  /// Opens /proc/self/statm once. Without it the guard does nothing.
  explicit ResidentGuard(int64_t promised_bytes);
  ResidentGuard(const ResidentGuard&) = delete;
  ResidentGuard& operator=(const ResidentGuard&) = delete;
  ~ResidentGuard();

  /// To be called wherever memory is asked for: every 64th call of a thread looks at the resident size (2 microseconds), the
  /// others only count.
  void Tick() {
    thread_local uint32_t ticks = 0;
    if ((++ticks & 63) == 0) Check();
  }

  /// Looks now.
  void Check();

  int64_t drops() const { return drops_.load(std::memory_order_relaxed); }

 private:
  int64_t ResidentBytes() const;

  const int64_t promised_bytes_;
  const int statm_fd_;
  std::atomic<int64_t> next_drop_ns_{0};  // steady clock
  std::atomic<int64_t> drops_{0};
};

}  // namespace icebound::memory
