// SPDX-License-Identifier: Apache-2.0
//
// How the bounded ledger makes room: the slow half of a request (bounded_ledger.h has the steps).
#include <time.h>

#include <algorithm>

#include "base/byte_size.h"
#include "base/error.h"
#include "memory/bounded_ledger.h"

namespace icebound::memory {
namespace {

// Asking for less than this at a time would make many small spills.
constexpr int64_t kReclaimBytesMin = 1 << 20;

// A consumer that was busy may have become idle without releasing anything, so a waiter asks again this often.
constexpr std::chrono::milliseconds kAskAgain{20};

// How long TryReserve waits for a busy consumer: a few batches.
constexpr std::chrono::milliseconds kMoment{10};

// A waiter gives up after this many stall timeouts although others go on releasing: they take it all back themselves.
constexpr int kStallsMax = 10;

// While the process computed less than half of a stall's time, a waiter bears with up to this many of them: the machine is busy
// with something else, or a disk is slow, and neither may turn into an error of memory.
constexpr int kIdleStallsMax = 5;

// When no consumer can spill, others may still be about to free buffers; but then most likely the plan needs more than there is.
// A thread that compresses a page of the widest rows on a busy machine takes the better part of a second.
constexpr std::chrono::milliseconds kWaitForUnspillable{1000};

// What spills that were asked for may take of the emergency reserve, all together.
constexpr int64_t kSpillLoanBytesMax = 1 << 20;

// True while this thread is inside some Reclaimer: what it asks for then must not start another reclaim.
thread_local bool inside_reclaimer = false;

std::chrono::nanoseconds ProcessCpuTime() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

/// How long nobody has released anything, on the wall's clock and in time computed.
class Stall {
 public:
  using Clock = std::chrono::steady_clock;

  void Restart() { *this = Stall(); }
  bool Exceeds(std::chrono::milliseconds patience) const {
    const auto waited = Clock::now() - wall_;
    if (waited < patience) return false;
    return waited >= kIdleStallsMax * patience || ProcessCpuTime() - computed_ >= patience / 2;
  }

 private:
  Clock::time_point wall_ = Clock::now();
  std::chrono::nanoseconds computed_ = ProcessCpuTime();
};

class InsideReclaimer {
 public:
  InsideReclaimer() { inside_reclaimer = true; }
  ~InsideReclaimer() { inside_reclaimer = false; }
};

/// Counts a waiting request, so that optional ones leave room for it.
class WaiterMark {
 public:
  WaiterMark(std::atomic<int>* waiters, std::atomic<int64_t>* waiting_bytes, int64_t bytes)
      : waiters_(waiters), waiting_bytes_(waiting_bytes), bytes_(bytes) {
    waiting_bytes_->fetch_add(bytes_);
    waiters_->fetch_add(1);
  }
  ~WaiterMark() {
    waiters_->fetch_sub(1);
    waiting_bytes_->fetch_sub(bytes_);
  }

 private:
  std::atomic<int>* const waiters_;
  std::atomic<int64_t>* const waiting_bytes_;
  const int64_t bytes_;
};

}  // namespace

int64_t BoundedLedger::CeilingBytes(Urgency urgency) const {
  if (urgency == Urgency::kRequired) return granted_bytes_;
  return granted_bytes_ - headroom_bytes_ - waiting_bytes_.load();
}

int64_t BoundedLedger::ShortfallBytes(const Request& request) const {
  return committed_.now() + request.bytes - CeilingBytes(request.urgency);
}

bool BoundedLedger::AttemptAfterTrim(const Request& request) {
  // Another thread may take what was trimmed; then there is more to trim, or nothing left.
  while (true) {
    const int64_t shortfall_bytes = ShortfallBytes(request);
    const int64_t trimmed_bytes = shortfall_bytes > 0 ? allocator_.Trim(shortfall_bytes) : 0;
    if (request.attempt(CeilingBytes(request.urgency))) return true;
    if (trimmed_bytes == 0) return false;
  }
}

bool BoundedLedger::ObtainOptional(const Request& request) {
  if (request.bytes > granted_bytes_) return false;
  const bool holds_nothing = request.account->held_bytes.load() == 0;
  if (!ClaimShare(request.account, request.bytes)) return false;
  bool taken = request.attempt(CeilingBytes(Urgency::kOptional)) || AttemptAfterTrim(request);
  // Under kGreedy whoever holds something can spill it; only who came with empty hands may ask others.
  const bool may_reclaim = policy_ == PoolPolicy::kFair || holds_nothing;
  if (!taken && may_reclaim && !inside_reclaimer) {
    BusyConsumers busy;
    // An error of another's spill is not this consumer's to report: it is refused, and meets the disk itself.
    taken = AttemptAfterReclaim(request, &busy).ValueOr(false) || (busy.worth_waiting && AttemptAfterMoment(request));
  }
  if (!taken) {
    Discharge(request.account, request.bytes);
    return false;
  }
  RaisePeak(request.account);
  return true;
}

arrow::Status BoundedLedger::ObtainRequired(const Request& request) {
  if (request.bytes > granted_bytes_) return RefusedError(request);
  if (AttemptAfterTrim(request)) return arrow::Status::OK();
  if (inside_reclaimer) {
    // A spill that must allocate after all is what the emergency reserve is for: it gives back more than it takes.
    return request.attempt(granted_bytes_ + kSpillLoanBytesMax) ? arrow::Status::OK() : RefusedError(request);
  }
  WaiterMark mark(&waiters_, &waiting_bytes_, request.bytes);
  BusyConsumers busy;
  ARROW_ASSIGN_OR_RAISE(const bool taken, AttemptWhileWaiting(request, &busy));
  // Met by other means or failed: either way nobody needs to spill for it any more.
  Withdraw(busy);
  return taken ? arrow::Status::OK() : RefusedError(request);
}

arrow::Result<bool> BoundedLedger::AttemptWhileWaiting(const Request& request, BusyConsumers* busy) {
  const auto start = Clock::now();
  Stall stall;
  int64_t seen_releases = ReleaseCount();
  while (true) {
    busy->worth_waiting = false;
    ARROW_ASSIGN_OR_RAISE(const bool taken, AttemptAfterReclaim(request, busy));
    if (taken) return true;
    if (!OthersHoldAnything(request.account)) return false;
    const auto patience = busy->worth_waiting ? stall_timeout_ : std::min(stall_timeout_, kWaitForUnspillable);
    const auto now = Clock::now();
    if (stall.Exceeds(patience) || now - start >= kStallsMax * stall_timeout_) return false;
    while (WaitForRelease(now + kAskAgain, &seen_releases)) {
      stall.Restart();
      if (AttemptAfterTrim(request)) return true;
    }
  }
}

bool BoundedLedger::AttemptAfterMoment(const Request& request) {
  WaiterMark mark(&waiters_, &waiting_bytes_, 0);
  const auto deadline = Clock::now() + kMoment;
  int64_t seen_releases = ReleaseCount();
  while (WaitForRelease(deadline, &seen_releases)) {
    if (AttemptAfterTrim(request)) return true;
  }
  return false;
}

int64_t BoundedLedger::ReleaseCount() const {
  std::lock_guard lock(mutex_);
  return release_count_;
}

bool BoundedLedger::WaitForRelease(Clock::time_point deadline, int64_t* seen_releases) {
  std::unique_lock lock(mutex_);
  const bool released = room_made_.wait_until(lock, deadline, [&] { return release_count_ != *seen_releases; });
  *seen_releases = release_count_;
  return released;
}

arrow::Result<bool> BoundedLedger::AttemptAfterReclaim(const Request& request, BusyConsumers* busy) {
  std::vector<ConsumerAccount*> tried;
  while (true) {
    if (AttemptAfterTrim(request)) return true;
    int64_t excess_bytes = 0;
    ConsumerAccount* victim = PinVictim(request, tried, &excess_bytes);
    if (victim == nullptr) return false;
    tried.push_back(victim);
    const int64_t wanted_bytes = std::max({ShortfallBytes(request), kReclaimBytesMin, excess_bytes});
    const bool asked_before = victim->wanted_bytes.load() > 0;
    arrow::Result<ReclaimOutcome> outcome = ReclaimFrom(victim, wanted_bytes);
    Unpin(victim);
    ARROW_RETURN_NOT_OK(outcome.status());
    if (*outcome != ReclaimOutcome::kBusy) continue;
    // One that was asked before and did not answer yet is not worth another moment of an optional request.
    if (request.urgency == Urgency::kRequired || !asked_before) busy->worth_waiting = true;
    if (!asked_before) busy->asked.push_back(victim);
  }
}

ConsumerAccount* BoundedLedger::PinVictim(const Request& request, const std::vector<ConsumerAccount*>& tried,
                                          int64_t* excess_bytes) {
  std::lock_guard lock(mutex_);
  const bool fairly =
      policy_ == PoolPolicy::kFair && request.urgency == Urgency::kOptional && request.account->reclaimer != nullptr;
  const int64_t share_bytes = fairly ? ShareLocked(request.account) : 0;
  ConsumerAccount* largest = nullptr;
  for (ConsumerAccount* account : spillable_) {
    if (account == request.account || std::find(tried.begin(), tried.end(), account) != tried.end()) continue;
    const int64_t held_bytes = account->held_bytes.load();
    if (held_bytes <= share_bytes) continue;
    if (largest == nullptr || held_bytes > largest->held_bytes.load()) largest = account;
  }
  if (largest == nullptr) return nullptr;
  ++largest->pins;
  *excess_bytes = fairly ? largest->held_bytes.load() - share_bytes : 0;
  return largest;
}

void BoundedLedger::Unpin(ConsumerAccount* account) {
  std::lock_guard lock(mutex_);
  if (--account->pins == 0) unpinned_.notify_all();
}

arrow::Result<BoundedLedger::ReclaimOutcome> BoundedLedger::ReclaimFrom(ConsumerAccount* victim, int64_t bytes) {
  // Constant while the account is pinned.
  Reclaimer* reclaimer = victim->reclaimer;
  if (reclaimer->ReclaimableBytes() <= 0) return ReclaimOutcome::kNothing;
  InsideReclaimer inside;
  ARROW_ASSIGN_OR_RAISE(const int64_t released_bytes, reclaimer->Reclaim(bytes));
  if (released_bytes > 0) return ReclaimOutcome::kReleased;
  victim->wanted_bytes.store(bytes);
  return ReclaimOutcome::kBusy;
}

void BoundedLedger::Withdraw(const BusyConsumers& busy) {
  std::lock_guard lock(mutex_);
  for (ConsumerAccount* account : busy.asked) {
    // Another waiter's wish may go with it; that one asks again within its next turn.
    if (std::find(spillable_.begin(), spillable_.end(), account) != spillable_.end()) account->wanted_bytes.store(0);
  }
}

bool BoundedLedger::OthersHoldAnything(const ConsumerAccount* account) const {
  return held_bytes_.load() > account->held_bytes.load();
}

void BoundedLedger::NotifyWaiters() {
  {
    std::lock_guard lock(mutex_);
    ++release_count_;
  }
  room_made_.notify_all();
}

arrow::Status BoundedLedger::RefusedError(const Request& request) const {
  std::string name;
  {
    std::lock_guard lock(mutex_);
    name = request.account->name;
  }
  return MakeError(
      ErrorKind::kMemoryLimit, "memory limit too small: {} needs {} more; holding: {}; of {} grants (memory limit {})", name,
      FormatBytes(request.bytes), DescribeTopConsumers(4), FormatBytes(granted_bytes_), FormatByteLimit(limit_bytes_));
}

}  // namespace icebound::memory
