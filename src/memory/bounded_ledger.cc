// SPDX-License-Identifier: Apache-2.0
#include "memory/bounded_ledger.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <limits>

#include "base/byte_size.h"
#include "base/error.h"

namespace icebound::memory {
namespace {

// Room for the buffers of a scan or two to grow by while every spillable consumer is full.
constexpr int64_t kHeadroomBytesMax = 8 << 20;

// Freed blocks kept for reuse while nobody needs the room: what two threads that decode lineitem free at the end of a row group.
// Measured over its 60 million rows: keeping 4 MiB costs 5.2 s in the kernel, 8 MiB 3.5 s, 16 MiB 1.9 s, 32 MiB 0.8 s, and the
// high-water mark rises by 5 MiB in all, because the peak is made of live blocks.
constexpr int64_t kRetainedBytesMax = 32 << 20;

// What shrinking blocks may take of the emergency reserve for as long as a copy of at most 8 KiB takes, on several threads.
constexpr int64_t kShrinkBytesMax = 128 << 10;

// An account whose consumer is gone is reused only when this many newer ones wait: whoever still knows its pool meets its own
// name.
constexpr size_t kIdleAccountsMin = 64;

/// The consumer's end of an account.
class ConsumerHandle final : public MemoryConsumer {
 public:
  ConsumerHandle(BoundedLedger* ledger, ConsumerAccount* account, std::string name)
      : ledger_(ledger), account_(account), name_(std::move(name)) {}
  ~ConsumerHandle() override { ledger_->Close(account_); }

  const std::string& name() const override { return name_; }
  bool TryReserve(int64_t bytes) override { return ledger_->TryReserve(account_, bytes); }
  arrow::Status Reserve(int64_t bytes) override { return ledger_->Reserve(account_, bytes); }
  void Release(int64_t bytes) override { ledger_->Release(account_, bytes); }
  int64_t reserved_bytes() const override { return account_->held_bytes.load(); }
  int64_t peak_bytes() const override { return account_->peak_bytes.load(); }
  int64_t share_bytes() const override { return ledger_->ShareBytes(account_); }
  bool reclaim_requested() const override { return account_->wanted_bytes.load(std::memory_order_relaxed) > 0; }
  arrow::MemoryPool* pool() override { return &account_->pool; }
  arrow::MemoryPool* try_pool() override { return &account_->try_pool; }

 private:
  BoundedLedger* const ledger_;
  ConsumerAccount* const account_;
  const std::string name_;
};

}  // namespace

BoundedLedger::BoundedLedger(const MemoryLedgerOptions& options, int64_t granted_bytes, std::optional<int64_t> guarded_bytes)
    : limit_bytes_(options.limit_bytes),
      granted_bytes_(granted_bytes),
      headroom_bytes_(std::min(granted_bytes / 16, kHeadroomBytesMax)),
      policy_(options.policy),
      stall_timeout_(options.stall_timeout_ms),
      allocator_(&committed_, std::min(granted_bytes / 2, kRetainedBytesMax)) {
  if (guarded_bytes) guard_.emplace(*guarded_bytes);
  accounts_.push_back(std::make_unique<ConsumerAccount>(this));
  session_account_ = accounts_.back().get();
  session_account_->name = "session";
  session_account_->open = true;
}

BoundedLedger::~BoundedLedger() = default;

void BoundedLedger::Retire() {
#ifndef NDEBUG
  int64_t reserved_bytes = 0;
  bool open = false;
  {
    std::lock_guard lock(mutex_);
    for (const auto& account : accounts_) {
      reserved_bytes += account->reserved_bytes.load();
      open = open || (account->open && account.get() != session_account_);
    }
  }
  if (open || reserved_bytes != 0) {
    std::fprintf(stderr, "icebound: a memory ledger lost its owner before its consumers: %s\n", DescribeTopConsumers(8).c_str());
    std::abort();
  }
#endif
  DropUser();
}

void BoundedLedger::DropUser() {
  if (users_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
}

std::unique_ptr<MemoryConsumer> BoundedLedger::AddConsumer(std::string name, Reclaimer* reclaimer) {
  std::lock_guard lock(mutex_);
  ConsumerAccount* account = FindReusableAccount();
  if (account == nullptr) {
    accounts_.push_back(std::make_unique<ConsumerAccount>(this));
    account = accounts_.back().get();
  }
  account->name = name;
  account->reclaimer = reclaimer;
  account->open = true;
  account->peak_bytes.store(0);
  account->wanted_bytes.store(0);
  if (reclaimer != nullptr) spillable_.push_back(account);
  return std::make_unique<ConsumerHandle>(this, account, std::move(name));
}

ConsumerAccount* BoundedLedger::FindReusableAccount() {
  ConsumerAccount* oldest = nullptr;
  size_t idle = 0;
  for (const auto& account : accounts_) {
    if (account->open || account->held_bytes.load() != 0) continue;
    ++idle;
    if (oldest == nullptr || account->closed_sequence < oldest->closed_sequence) oldest = account.get();
  }
  return idle > kIdleAccountsMin ? oldest : nullptr;
}

void BoundedLedger::Close(ConsumerAccount* account) {
  {
    std::unique_lock lock(mutex_);
    std::erase(spillable_, account);
    unpinned_.wait(lock, [account] { return account->pins == 0; });
    account->reclaimer = nullptr;
  }
  const int64_t reserved_bytes = account->reserved_bytes.load();
  if (reserved_bytes > 0) Release(account, reserved_bytes);
  std::lock_guard lock(mutex_);
  account->closed_sequence = ++close_count_;
  account->open = false;
}

int64_t BoundedLedger::available_bytes() const {
  return std::max<int64_t>(0, granted_bytes_ - committed_.now() + allocator_.trimmable_bytes());
}

void BoundedLedger::Trim() { allocator_.Trim(std::numeric_limits<int64_t>::max()); }

std::string BoundedLedger::DescribeTopConsumers(int count) const {
  std::vector<std::pair<int64_t, std::string>> lines;
  {
    std::lock_guard lock(mutex_);
    for (const auto& account : accounts_) {
      const int64_t held_bytes = account->held_bytes.load();
      if (held_bytes > 0) lines.emplace_back(held_bytes, account->name);
    }
  }
  std::sort(lines.begin(), lines.end(), std::greater<>());
  std::string text;
  for (size_t i = 0; i < lines.size() && i < static_cast<size_t>(count); ++i) {
    text += fmt::format("{}{} {}", i == 0 ? "" : ", ", lines[i].second, FormatBytes(lines[i].first));
  }
  if (lines.size() > static_cast<size_t>(count)) text += fmt::format(", and {} more", lines.size() - static_cast<size_t>(count));
  return text.empty() ? "nothing" : text;
}

// ---- reservations ----

bool BoundedLedger::TryReserve(ConsumerAccount* account, int64_t bytes) {
  if (bytes <= 0) return true;
  if (guard_) guard_->Tick();
  const bool taken = ObtainOptional(
      {account, Urgency::kOptional, bytes, [&](int64_t ceiling_bytes) { return committed_.TryAdd(bytes, ceiling_bytes); }});
  if (taken) account->reserved_bytes.fetch_add(bytes);
  return taken;
}

arrow::Status BoundedLedger::Reserve(ConsumerAccount* account, int64_t bytes) {
  if (guard_) guard_->Tick();
  if (!committed_.TryAdd(bytes, granted_bytes_)) {
    ARROW_RETURN_NOT_OK(ObtainRequired(
        {account, Urgency::kRequired, bytes, [&](int64_t ceiling_bytes) { return committed_.TryAdd(bytes, ceiling_bytes); }}));
  }
  Charge(account, bytes);
  account->reserved_bytes.fetch_add(bytes);
  return arrow::Status::OK();
}

void BoundedLedger::Release(ConsumerAccount* account, int64_t bytes) {
  account->reserved_bytes.fetch_sub(bytes);
  Discharge(account, bytes);
  committed_.Subtract(bytes);
  account->wanted_bytes.store(0, std::memory_order_relaxed);
  if (waiters_.load() > 0) NotifyWaiters();
}

// ---- blocks ----

arrow::Status BoundedLedger::Allocate(ConsumerAccount* account, Urgency urgency, int64_t bytes, int64_t alignment,
                                      uint8_t** out) {
  if (guard_) guard_->Tick();
  if (bytes > granted_bytes_) return RefusedError({account, urgency, bytes, nullptr});
  const int64_t block_bytes = BlockBytes(bytes, alignment);
  auto attempt = [&, this](int64_t ceiling_bytes) {
    *out = allocator_.Allocate(bytes, alignment, ceiling_bytes);
    return *out != nullptr;
  };
  if (urgency == Urgency::kOptional) {
    const Request request{account, urgency, block_bytes, attempt};
    return ObtainOptional(request) ? arrow::Status::OK() : RefusedError(request);
  }
  if (!attempt(granted_bytes_)) ARROW_RETURN_NOT_OK(ObtainRequired({account, urgency, block_bytes, attempt}));
  Charge(account, block_bytes);
  return arrow::Status::OK();
}

arrow::Status BoundedLedger::Reallocate(ConsumerAccount* account, Urgency urgency, int64_t old_bytes, int64_t new_bytes,
                                        int64_t alignment, uint8_t** block) {
  if (new_bytes > granted_bytes_) return RefusedError({account, urgency, new_bytes - old_bytes, nullptr});
  const int64_t more_bytes = BlockBytes(new_bytes, alignment) - BlockBytes(old_bytes, alignment);
  auto attempt = [&, this](int64_t ceiling_bytes) {
    uint8_t* moved = allocator_.Reallocate(*block, old_bytes, new_bytes, alignment, ceiling_bytes);
    if (moved != nullptr) *block = moved;
    return moved != nullptr;
  };
  if (more_bytes <= 0) {
    // Giving back must not fail for want of room. Into a slab a block moves by a copy, both of which exist for a moment.
    if (!attempt(granted_bytes_) && !attempt(granted_bytes_ + kShrinkBytesMax)) {
      return RefusedError({account, Urgency::kRequired, BlockBytes(new_bytes, alignment), attempt});
    }
    Discharge(account, -more_bytes);
    if (more_bytes < 0 && waiters_.load() > 0) NotifyWaiters();
    return arrow::Status::OK();
  }
  if (urgency == Urgency::kOptional) {
    const Request request{account, urgency, more_bytes, attempt};
    return ObtainOptional(request) ? arrow::Status::OK() : RefusedError(request);
  }
  if (!attempt(granted_bytes_)) ARROW_RETURN_NOT_OK(ObtainRequired({account, urgency, more_bytes, attempt}));
  Charge(account, more_bytes);
  return arrow::Status::OK();
}

void BoundedLedger::Free(ConsumerAccount* account, uint8_t* block, int64_t bytes, int64_t alignment) {
  const int64_t block_bytes = BlockBytes(bytes, alignment);
  allocator_.Free(block, bytes, alignment);
  Discharge(account, block_bytes);
  if (account->wanted_bytes.load(std::memory_order_relaxed) > 0)
    account->wanted_bytes.fetch_sub(block_bytes, std::memory_order_relaxed);
  if (waiters_.load() > 0) NotifyWaiters();
}

// ---- charging and shares ----

void BoundedLedger::Claim(ConsumerAccount* account, int64_t bytes) {
  held_bytes_.fetch_add(bytes, std::memory_order_relaxed);
  account->held_bytes.fetch_add(bytes, std::memory_order_relaxed);
}

void BoundedLedger::Charge(ConsumerAccount* account, int64_t bytes) {
  Claim(account, bytes);
  RaisePeak(account);
}

void BoundedLedger::RaisePeak(ConsumerAccount* account) {
  const int64_t held_bytes = account->held_bytes.load(std::memory_order_relaxed);
  int64_t seen = account->peak_bytes.load(std::memory_order_relaxed);
  while (seen < held_bytes && !account->peak_bytes.compare_exchange_weak(seen, held_bytes, std::memory_order_relaxed)) {
  }
}

void BoundedLedger::Discharge(ConsumerAccount* account, int64_t bytes) {
  account->held_bytes.fetch_sub(bytes, std::memory_order_relaxed);
  held_bytes_.fetch_sub(bytes, std::memory_order_relaxed);
}

int64_t BoundedLedger::HeldBySpillableLocked() const {
  int64_t bytes = 0;
  for (const ConsumerAccount* account : spillable_) bytes += account->held_bytes.load(std::memory_order_relaxed);
  return bytes;
}

int64_t BoundedLedger::ShareLocked(const ConsumerAccount* asker) const {
  const int64_t lendable_bytes = granted_bytes_ - headroom_bytes_;
  const int64_t spillable_bytes = HeldBySpillableLocked();
  // Committed by the allocator but neither held nor trimmable: the unused ends of slabs that are in use.
  const int64_t held_bytes = held_bytes_.load(std::memory_order_relaxed);
  const int64_t stuck_bytes = std::max<int64_t>(0, committed_.now() - allocator_.trimmable_bytes() - held_bytes);
  const int64_t unspillable_bytes = held_bytes - spillable_bytes + stuck_bytes;
  if (policy_ == PoolPolicy::kGreedy) {
    const int64_t others_bytes = held_bytes + stuck_bytes - asker->held_bytes.load(std::memory_order_relaxed);
    return std::max<int64_t>(0, lendable_bytes - others_bytes);
  }
  int64_t active = 0;
  for (const ConsumerAccount* account : spillable_) {
    if (account == asker || account->held_bytes.load(std::memory_order_relaxed) > 0) ++active;
  }
  return std::max<int64_t>(0, lendable_bytes - unspillable_bytes) / std::max<int64_t>(1, active);
}

bool BoundedLedger::ClaimShare(ConsumerAccount* account, int64_t bytes) {
  std::lock_guard lock(mutex_);
  if (account->reclaimer != nullptr && policy_ == PoolPolicy::kFair) {
    if (account->held_bytes.load(std::memory_order_relaxed) + bytes > ShareLocked(account)) return false;
  }
  Claim(account, bytes);
  return true;
}

int64_t BoundedLedger::ShareBytes(const ConsumerAccount* account) const {
  std::lock_guard lock(mutex_);
  if (account->reclaimer == nullptr) return granted_bytes_;
  return ShareLocked(account);
}

}  // namespace icebound::memory
