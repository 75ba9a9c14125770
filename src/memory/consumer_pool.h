// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <arrow/memory_pool.h>

#include <atomic>
#include <cstdint>
#include <string>

namespace icebound::memory {

class BoundedLedger;
struct ConsumerAccount;

/// How a request that does not fit at once is treated.
enum class Urgency {
  kOptional,  ///< it may be refused: the asker can spill what it holds and try again
  kRequired,  ///< a refusal fails the plan: others spill first, and the asker may wait for them
};

/// What arrow::MemoryPool wants counted, in bytes as they were asked for. Thread safe.
class PoolCounters {
 public:
  void CountGrowth(int64_t bytes);
  void CountShrinkage(int64_t bytes) { allocated_bytes_.fetch_sub(bytes, std::memory_order_relaxed); }

  int64_t allocated_bytes() const { return allocated_bytes_.load(std::memory_order_relaxed); }
  int64_t peak_bytes() const { return peak_bytes_.load(std::memory_order_relaxed); }
  int64_t total_bytes() const { return total_bytes_.load(std::memory_order_relaxed); }
  int64_t allocations() const { return allocations_.load(std::memory_order_relaxed); }

 private:
  std::atomic<int64_t> allocated_bytes_{0};
  std::atomic<int64_t> peak_bytes_{0};
  std::atomic<int64_t> total_bytes_{0};
  std::atomic<int64_t> allocations_{0};
};

/// The door for Arrow buffers: reserves a block's resident size in one consumer's name before it allocates. The counters are in
/// bytes as asked for, the charge is in bytes of blocks. Thread safe. Owned by the ledger, so buffers may outlive their
/// consumer. The two pools of a consumer share their counters and may free and grow each other's blocks.
class ConsumerPool final : public arrow::MemoryPool {
 public:
  ConsumerPool(BoundedLedger* ledger, ConsumerAccount* account, Urgency urgency, PoolCounters* counters)
      : ledger_(ledger), account_(account), urgency_(urgency), counters_(counters) {}

  using arrow::MemoryPool::Allocate;
  using arrow::MemoryPool::Free;
  using arrow::MemoryPool::Reallocate;

  arrow::Status Allocate(int64_t size, int64_t alignment, uint8_t** out) override;
  arrow::Status Reallocate(int64_t old_size, int64_t new_size, int64_t alignment, uint8_t** ptr) override;
  void Free(uint8_t* buffer, int64_t size, int64_t alignment) override;
  void ReleaseUnused() override;

  int64_t bytes_allocated() const override { return counters_->allocated_bytes(); }
  int64_t max_memory() const override { return counters_->peak_bytes(); }
  int64_t total_bytes_allocated() const override { return counters_->total_bytes(); }
  int64_t num_allocations() const override { return counters_->allocations(); }
  std::string backend_name() const override { return "icebound"; }

 private:
  BoundedLedger* const ledger_;
  ConsumerAccount* const account_;
  const Urgency urgency_;
  PoolCounters* const counters_;
};

}  // namespace icebound::memory
