// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

#include "base/error.h"

namespace icebound::runtime {

/// Set by any thread (or a signal handler: lock-free), read at every batch by the workers; a new statement starts with it clear,
/// unless CancelAll has come.
class CancellationToken {
 public:
  void Cancel() { cancelled_.store(true, std::memory_order_relaxed); }
  /// Cancels what runs and whatever starts later: no Reset takes it back.
  void CancelAll() { all_cancelled_.store(true, std::memory_order_relaxed); }
  void Reset() { cancelled_.store(false, std::memory_order_relaxed); }
  bool cancelled() const { return cancelled_.load(std::memory_order_relaxed) || all_cancelled_.load(std::memory_order_relaxed); }
  arrow::Status Check() const {
    return cancelled() ? MakeError(ErrorKind::kCancelled, "the statement was cancelled") : arrow::Status::OK();
  }

 private:
  std::atomic<bool> cancelled_{false};
  std::atomic<bool> all_cancelled_{false};
};

}  // namespace icebound::runtime
