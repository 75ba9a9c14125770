// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <arrow/result.h>
#include <arrow/status.h>

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

#include "base/error.h"

namespace icebound::runtime {

/// A first-in first-out queue between threads, bounded by bytes: the merge thread pushes batches, the writer pops them.
///
///   producers  Push* -> Close            or Abort(error) at any time
///   consumers  Pop* until nullopt        or Abort(error) at any time
///
/// Push waits while the queue holds items and the new one would pass the capacity; an item larger than that travels alone. So
/// memory in the queue is at most max(capacity, largest item), plus what a consumer is working on. After Abort the items are
/// dropped, and every call, also one that was waiting, returns the abort's status: whoever stops early must call Abort, or the
/// other side waits forever. Thread safe.
template <typename T>
class BoundedQueue {
 public:
  explicit BoundedQueue(int64_t capacity_bytes) : capacity_bytes_(capacity_bytes) {}

  BoundedQueue(const BoundedQueue&) = delete;
  BoundedQueue& operator=(const BoundedQueue&) = delete;

  /// `bytes` is what the item counts as. Pushing after Close is an error of the caller (kInternal in the status of Push).
  arrow::Status Push(T item, int64_t bytes) {
    std::unique_lock lock(mutex_);
    can_push_.wait(lock, [&] { return closed_ || !abort_status_.ok() || items_.empty() || bytes <= capacity_bytes_ - bytes_; });
    ARROW_RETURN_NOT_OK(abort_status_);
    if (closed_) return MakeError(ErrorKind::kInternal, "push to a closed queue");
    items_.emplace_back(std::move(item), bytes);
    bytes_ += bytes;
    can_pop_.notify_one();
    return arrow::Status::OK();
  }

  /// The oldest item; nullopt when the queue is closed and empty.
  arrow::Result<std::optional<T>> Pop() {
    std::unique_lock lock(mutex_);
    can_pop_.wait(lock, [&] { return closed_ || !abort_status_.ok() || !items_.empty(); });
    ARROW_RETURN_NOT_OK(abort_status_);
    if (items_.empty()) return std::nullopt;
    std::optional<T> item(std::move(items_.front().first));
    bytes_ -= items_.front().second;
    items_.pop_front();
    // All producers: the room may be too small for the one that was waiting first and enough for another.
    can_push_.notify_all();
    return item;
  }

  /// No more items will come. What is in the queue can still be popped.
  void Close() {
    std::lock_guard lock(mutex_);
    closed_ = true;
    can_push_.notify_all();
    can_pop_.notify_all();
  }

  /// Ends the queue for both sides with `status` (not OK). The first abort counts; later ones change nothing.
  void Abort(arrow::Status status) {
    std::deque<std::pair<T, int64_t>> dropped;  // destroyed outside the lock: freeing a batch may take the ledger's
    std::lock_guard lock(mutex_);
    if (!abort_status_.ok()) return;
    abort_status_ = status.ok() ? MakeError(ErrorKind::kInternal, "a queue was aborted without a reason") : std::move(status);
    bytes_ = 0;
    dropped.swap(items_);
    can_push_.notify_all();
    can_pop_.notify_all();
  }

  int64_t bytes() const {
    std::lock_guard lock(mutex_);
    return bytes_;
  }

 private:
  const int64_t capacity_bytes_;
  mutable std::mutex mutex_;
  std::condition_variable can_push_;
  std::condition_variable can_pop_;
  std::deque<std::pair<T, int64_t>> items_;  // guarded by mutex_, as all below
  int64_t bytes_ = 0;
  bool closed_ = false;
  arrow::Status abort_status_;
};

}  // namespace icebound::runtime
