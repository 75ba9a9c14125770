// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <arrow/buffer.h>
#include <arrow/memory_pool.h>
#include <arrow/result.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

namespace icebound::spill {

/// A few buffers of kScratchBytes, borrowed for the time of one Append or one read: all files and readers share them, so 400
/// readers of a merge cost no more than one. Allocated once by Make: borrowing never allocates (it may run inside the ledger's
/// reclaim) and never fails; it waits while all are in use, which ends because no borrower waits for anything but its own disk
/// call. Thread safe.
class ScratchBuffers {
 public:
  /// `pool` null: the plain heap.
  static arrow::Result<std::unique_ptr<ScratchBuffers>> Make(int count, arrow::MemoryPool* pool);

  class Loan {
   public:
    Loan(ScratchBuffers* owner, std::span<uint8_t> bytes) : owner_(owner), bytes_(bytes) {}
    Loan(Loan&& other) noexcept : owner_(std::exchange(other.owner_, nullptr)), bytes_(other.bytes_) {}
    Loan& operator=(Loan&&) = delete;
    ~Loan() {
      if (owner_ != nullptr) owner_->Return(bytes_);
    }
    std::span<uint8_t> bytes() const { return bytes_; }

   private:
    ScratchBuffers* owner_;
    std::span<uint8_t> bytes_;
  };

  Loan Borrow();

  int64_t total_bytes() const { return total_bytes_; }

 private:
  ScratchBuffers() = default;
  void Return(std::span<uint8_t> bytes);

  int64_t total_bytes_ = 0;
  std::vector<std::unique_ptr<arrow::Buffer>> pooled_;  // either these,
  std::vector<std::unique_ptr<uint8_t[]>> heap_;        // or these hold the memory
  std::mutex mutex_;
  std::condition_variable returned_;
  std::vector<std::span<uint8_t>> free_;  // guarded by mutex_; the last used, still warm in the cache, is lent first
};

}  // namespace icebound::spill
