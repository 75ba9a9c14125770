// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

namespace icebound::memory {

/// The one number the promise hangs on: bytes that are resident, or may become so without asking again. It grows only through
/// TryAdd, which compares with a ceiling before anybody touches a page. Thread safe, lock free.
class CommittedBytes {
 public:
  /// Adds `bytes` unless the sum would pass `ceiling_bytes`; then nothing changed.
  bool TryAdd(int64_t bytes, int64_t ceiling_bytes) {
    int64_t before = now_.load(std::memory_order_relaxed);
    do {
      if (bytes > ceiling_bytes - before) return false;
    } while (!now_.compare_exchange_weak(before, before + bytes));
    RaisePeak(before + bytes);
    return true;
  }

  /// Sequentially consistent, so that a releaser that then sees no waiter, and a waiter that then sees no room, cannot both be
  /// right.
  void Subtract(int64_t bytes) { now_.fetch_sub(bytes); }

  int64_t now() const { return now_.load(); }
  int64_t peak() const { return peak_.load(std::memory_order_relaxed); }

 private:
  void RaisePeak(int64_t value) {
    int64_t seen = peak_.load(std::memory_order_relaxed);
    while (seen < value && !peak_.compare_exchange_weak(seen, value, std::memory_order_relaxed)) {
    }
  }

  std::atomic<int64_t> now_{0};
  std::atomic<int64_t> peak_{0};
};

}  // namespace icebound::memory
