// SPDX-License-Identifier: Apache-2.0
//
// The ledger behind memory_ledger.h. Two sums are kept apart:
//
//   committed   what may be resident: reservations, live blocks, freed blocks the allocator still holds; never above the grants
//   held        what consumers answer for: reservations and live blocks, by account
//
// How a request is met
//
//   kRequired (Reserve, pool)                     kOptional (TryReserve, try_pool)
//   1. take it while committed <= grants          1. spillable: refuse beyond the fair share
//   2. trim free blocks                           2. take it while committed <= grants - headroom - what waiters need
//   3. let others spill, the largest first        3. trim free blocks
//   4. wait while others release                  4. let others spill that hold more than their share
//   5. fail, naming who holds what                5. wait a moment if one of them was busy; refuse
//
// The headroom is what optional requests leave to required ones, so that the next buffer of a scan need not wait until a sort
// that filled everything has spilled. A required request that has to wait is counted in waiting_bytes_, which optional requests
// leave alone: freed bytes reach it and not whoever grabs fastest.
//
// Locks: the first two steps of a required request touch atomics and the allocator's class mutexes only. mutex_ guards the
// accounts; it is taken for shares, and never held while a Reclaimer runs. A consumer that is being reclaimed from is pinned;
// closing it waits for the pins.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "memory/committed_bytes.h"
#include "memory/consumer_account.h"
#include "memory/memory_ledger.h"
#include "memory/resident_allocator.h"
#include "memory/resident_guard.h"

namespace icebound::memory {

/// Thread safe.
class BoundedLedger final : public MemoryLedger {
 public:
  /// A guard is set up when the process is ours; nullopt in a host program, whose pages are its own.
  BoundedLedger(const MemoryLedgerOptions& options, int64_t granted_bytes, std::optional<int64_t> guarded_bytes);
  ~BoundedLedger() override;

  std::unique_ptr<MemoryConsumer> AddConsumer(std::string name, Reclaimer* reclaimer) override;
  arrow::MemoryPool* pool() override { return &session_account_->pool; }
  int64_t granted_bytes() const override { return granted_bytes_; }
  int64_t reserved_bytes() const override { return committed_.now(); }
  int64_t peak_bytes() const override { return committed_.peak(); }
  int64_t available_bytes() const override;
  void Trim() override;
  std::string DescribeTopConsumers(int count) const override;

  // For the consumers and their pools.
  bool TryReserve(ConsumerAccount* account, int64_t bytes);
  arrow::Status Reserve(ConsumerAccount* account, int64_t bytes);
  void Release(ConsumerAccount* account, int64_t bytes);
  arrow::Status Allocate(ConsumerAccount* account, Urgency urgency, int64_t bytes, int64_t alignment, uint8_t** out);
  arrow::Status Reallocate(ConsumerAccount* account, Urgency urgency, int64_t old_bytes, int64_t new_bytes, int64_t alignment,
                           uint8_t** block);
  void Free(ConsumerAccount* account, uint8_t* block, int64_t bytes, int64_t alignment);
  int64_t ShareBytes(const ConsumerAccount* account) const;
  void Close(ConsumerAccount* account);

  /// Every block of a pool, of any size, holds the ledger alive, as its owner does. DropUser may delete the ledger: touch nothing
  /// of it afterwards.
  void AddUser() { users_.fetch_add(1, std::memory_order_relaxed); }
  void DropUser();

 private:
  void Retire() override;

  /// Tries to take what a request needs without passing a ceiling of committed bytes.
  using Attempt = std::function<bool(int64_t ceiling_bytes)>;

  using Clock = std::chrono::system_clock;

  /// A request on its way through the steps above.
  struct Request {
    ConsumerAccount* account;
    Urgency urgency;
    int64_t bytes;  ///< what it may add to committed at most
    Attempt attempt;
  };
  enum class ReclaimOutcome { kReleased, kBusy, kNothing };

  /// Whom a request found busy.
  struct BusyConsumers {
    bool worth_waiting = false;           ///< one that may answer soon
    std::vector<ConsumerAccount*> asked;  ///< those that were asked for this request first
  };

  // Which accounts exist. All need mutex_.
  ConsumerAccount* FindReusableAccount();
  int64_t ShareLocked(const ConsumerAccount* asker) const;
  int64_t HeldBySpillableLocked() const;

  // Charging an account. A claim is a charge that may still be taken back, so it leaves the peak alone.
  void Claim(ConsumerAccount* account, int64_t bytes);
  void Charge(ConsumerAccount* account, int64_t bytes);
  void RaisePeak(ConsumerAccount* account);
  void Discharge(ConsumerAccount* account, int64_t bytes);
  bool ClaimShare(ConsumerAccount* account, int64_t bytes);

  // Making room: reclaim.cc.
  bool ObtainOptional(const Request& request);
  arrow::Status ObtainRequired(const Request& request);
  bool AttemptAfterTrim(const Request& request);
  arrow::Result<bool> AttemptAfterReclaim(const Request& request, BusyConsumers* busy);
  arrow::Result<bool> AttemptWhileWaiting(const Request& request, BusyConsumers* busy);
  bool AttemptAfterMoment(const Request& request);
  ConsumerAccount* PinVictim(const Request& request, const std::vector<ConsumerAccount*>& tried, int64_t* excess_bytes);
  void Unpin(ConsumerAccount* account);
  arrow::Result<ReclaimOutcome> ReclaimFrom(ConsumerAccount* victim, int64_t bytes);
  void Withdraw(const BusyConsumers& busy);
  bool OthersHoldAnything(const ConsumerAccount* account) const;
  int64_t ReleaseCount() const;
  bool WaitForRelease(Clock::time_point deadline, int64_t* seen_releases);
  int64_t CeilingBytes(Urgency urgency) const;
  int64_t ShortfallBytes(const Request& request) const;
  void NotifyWaiters();
  arrow::Status RefusedError(const Request& request) const;

  // Constant.
  const int64_t limit_bytes_;
  const int64_t granted_bytes_;
  const int64_t headroom_bytes_;
  const PoolPolicy policy_;
  const std::chrono::milliseconds stall_timeout_;

  // Self-synchronised.
  std::optional<ResidentGuard> guard_;
  CommittedBytes committed_;
  ResidentAllocator allocator_;
  std::atomic<int64_t> held_bytes_{0};
  std::atomic<int64_t> waiting_bytes_{0};
  std::atomic<int> waiters_{0};
  std::atomic<int64_t> users_{1};  // the owner, and every live block of a pool

  mutable std::mutex mutex_;
  std::condition_variable room_made_;                       // with mutex_: release_count_ grew
  std::condition_variable unpinned_;                        // with mutex_: some account's pins reached 0
  int64_t release_count_ = 0;                               // guarded by mutex_: releases seen while somebody waited
  int64_t close_count_ = 0;                                 // guarded by mutex_
  std::vector<std::unique_ptr<ConsumerAccount>> accounts_;  // guarded by mutex_
  std::vector<ConsumerAccount*> spillable_;                 // guarded by mutex_: open ones with a reclaimer
  ConsumerAccount* session_account_ = nullptr;              // set by the constructor
};

}  // namespace icebound::memory
