// SPDX-License-Identifier: Apache-2.0
#include "memory/consumer_pool.h"

#include "base/error.h"
#include "memory/bounded_ledger.h"

namespace icebound::memory {
namespace {

arrow::Status CheckRequest(int64_t bytes, int64_t alignment) {
  if (bytes < 0) return MakeError(ErrorKind::kInternal, "an allocation of {} bytes was asked for", bytes);
  if (alignment <= 0 || (alignment & (alignment - 1)) != 0 || alignment > ResidentAllocator::kAlignmentMax) {
    return MakeError(ErrorKind::kInternal, "an allocation aligned to {} bytes was asked for; powers of two up to {} are possible",
                     alignment, ResidentAllocator::kAlignmentMax);
  }
  return arrow::Status::OK();
}

}  // namespace

arrow::Status ConsumerPool::Allocate(int64_t size, int64_t alignment, uint8_t** out) {
  ARROW_RETURN_NOT_OK(CheckRequest(size, alignment));
  ARROW_RETURN_NOT_OK(ledger_->Allocate(account_, urgency_, size, alignment, out));
  ledger_->AddUser();
  counters_->CountGrowth(size);
  return arrow::Status::OK();
}

arrow::Status ConsumerPool::Reallocate(int64_t old_size, int64_t new_size, int64_t alignment, uint8_t** ptr) {
  ARROW_RETURN_NOT_OK(CheckRequest(new_size, alignment));
  ARROW_RETURN_NOT_OK(ledger_->Reallocate(account_, urgency_, old_size, new_size, alignment, ptr));
  if (new_size > old_size) {
    counters_->CountGrowth(new_size - old_size);
  } else {
    counters_->CountShrinkage(old_size - new_size);
  }
  return arrow::Status::OK();
}

void ConsumerPool::Free(uint8_t* buffer, int64_t size, int64_t alignment) {
  ledger_->Free(account_, buffer, size, alignment);
  counters_->CountShrinkage(size);
  ledger_->DropUser();  // this pool may be gone now
}

void ConsumerPool::ReleaseUnused() { ledger_->Trim(); }

void PoolCounters::CountGrowth(int64_t bytes) {
  const int64_t now = allocated_bytes_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  total_bytes_.fetch_add(bytes, std::memory_order_relaxed);
  allocations_.fetch_add(1, std::memory_order_relaxed);
  int64_t peak = peak_bytes_.load(std::memory_order_relaxed);
  while (peak < now && !peak_bytes_.compare_exchange_weak(peak, now, std::memory_order_relaxed)) {
  }
}

}  // namespace icebound::memory
