// SPDX-License-Identifier: Apache-2.0
//
// The ledger: every byte a session may hold, granted before it is allocated.
//
//   P(limit) = min(limit + 50 MiB, max(limit, 128 MiB))          what the operating system may ever see (VmHWM)
//   P(limit) = baseline + libraries + emergency + grants
//
// baseline   resident bytes of the process when the session starts (command line: MeasureBaseline of process_tuning.h), or what
//            the host already holds (library in a host: growth counts, so baseline is 0 and P is the limit + 50 MiB on top of it)
// libraries  16 MiB (22 in a host) for the code and tables of the libraries that queries touch later; where the process is ours,
//            a guard drops them when the resident size comes near P (resident_guard.h)
// emergency  4 MiB, never lent: building errors, and the spill path, must always be able to run
// grants     what consumers share. Two doors lead in: MemoryConsumer::Reserve for our own structures, and
//            MemoryConsumer::pool(), an arrow::MemoryPool that reserves before it allocates, for every Arrow buffer.
//
// Freed memory counts until the system has it back: the pool charges resident bytes (its size classes and free lists), and gives
// free lists back (MADV_DONTNEED) before any reservation is refused or any consumer is asked to spill.
//
// Contract for consumers
//   - Reserve a phase's workspace before the phase and keep it to the end: nobody reserves while spilling.
//   - A refused TryReserve means: spill what you hold, then try again. A refused Reserve is the plan's failure; its message
//     names the largest consumers with their bytes.
//   - A spillable consumer may hold its fair share, (grants - headroom - unspillable) / (active spillable consumers); a consumer
//     is active from its first byte to its last. The share grows again when another one finishes. The headroom (1/16 of the
//     grants, at most 8 MiB) is left to required requests, so that the next buffer of a scan does not have to wait until a full
//     sort has spilled.
//   - Reserve and pool() are for what the plan cannot do without. They may pass the share while memory is free, and they make
//     others spill: a consumer that can spill asks with TryReserve and try_pool() first.
//   - Reclaim may be called from any thread, including the one that is inside Reserve of another consumer; it must not reserve,
//     and must return 0 at once when the consumer is busy (the ledger then sets reclaim_requested(), polled at every batch).
#pragma once

#include <arrow/memory_pool.h>
#include <arrow/result.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace icebound::memory {

class MemoryLedger;

enum class PoolPolicy { kFair, kGreedy };

/// P(limit): the high-water mark the operating system may see for a limit, in bytes.
int64_t PromisedResidentBytes(int64_t limit_bytes);

/// What a spillable consumer offers the ledger. Thread safe by contract (see above).
class Reclaimer {
 public:
  virtual ~Reclaimer() = default;
  /// Bytes a spill would give back now: an estimate, cheap, never blocks.
  virtual int64_t ReclaimableBytes() const = 0;
  /// Spills until `bytes` are released or nothing is left. Returns what was released; 0 when busy.
  virtual arrow::Result<int64_t> Reclaim(int64_t bytes) = 0;
};

/// One named line of the ledger: an operator, a scan, a writer. Thread safe. Destroying it returns what it reserved; buffers from
/// its pool() may outlive it and stay charged (to its name) until they are freed.
class MemoryConsumer {
 public:
  virtual ~MemoryConsumer() = default;

  virtual const std::string& name() const = 0;

  /// Reserves or says no; never blocks on another consumer for long. A spillable consumer is refused beyond its share.
  virtual bool TryReserve(int64_t bytes) = 0;

  /// Reserves, after giving free lists back and reclaiming from others as needed; otherwise ErrorKind::kMemoryLimit.
  virtual arrow::Status Reserve(int64_t bytes) = 0;

  virtual void Release(int64_t bytes) = 0;

  /// Bytes held now through Reserve and pool(), and their high-water mark.
  virtual int64_t reserved_bytes() const = 0;
  virtual int64_t peak_bytes() const = 0;

  /// What this consumer may hold now without being refused (its fair share, or all grants for unspillable ones).
  virtual int64_t share_bytes() const = 0;

  /// True when the ledger wants memory back: spill at the next batch. Cleared by the consumer's next Release.
  virtual bool reclaim_requested() const = 0;

  /// An arrow::MemoryPool charged to this consumer. Owned by the ledger: valid as long as that has an owner, or a buffer. An
  /// allocation is met as by Reserve.
  virtual arrow::MemoryPool* pool() = 0;

  /// The same, but an allocation is met as by TryReserve: a failure means "spill and try again". A buffer of one of the two
  /// pools may be grown and freed through the other.
  virtual arrow::MemoryPool* try_pool() = 0;
};

struct MemoryLedgerOptions {
  int64_t limit_bytes = 0;     ///< the user's limit, at least kMinimumLimitBytes
  int64_t baseline_bytes = 0;  ///< resident bytes that are not ours to lend
  bool inside_host = false;    ///< library in a host program: promise growth <= limit + 50 MiB
  PoolPolicy policy = PoolPolicy::kFair;

  /// A required request that finds no room waits for busy consumers to spill; it fails when none of them released anything for
  /// this long, longer while the process hardly computes (reclaim.cc).
  int64_t stall_timeout_ms = 2000;
};

constexpr int64_t kMinimumLimitBytes = int64_t{32} << 20;

/// Gives a ledger up. It goes with the last buffer of its pools: a host program may hold on to a batch that it was given.
struct MemoryLedgerDeleter {
  void operator()(MemoryLedger* ledger) const;
};
using MemoryLedgerPtr = std::unique_ptr<MemoryLedger, MemoryLedgerDeleter>;

/// Thread safe. The owner outlives every consumer and reservation (checked in debug builds); buffers may outlive the owner.
class MemoryLedger {
 public:
  static arrow::Result<MemoryLedgerPtr> Make(const MemoryLedgerOptions& options);
  virtual ~MemoryLedger() = default;

  /// Adds a consumer. `reclaimer` is null for one that cannot spill; it must outlive the consumer.
  virtual std::unique_ptr<MemoryConsumer> AddConsumer(std::string name, Reclaimer* reclaimer = nullptr) = 0;

  /// A pool for Arrow buffers that belong to no operator in particular ("session").
  virtual arrow::MemoryPool* pool() = 0;

  virtual int64_t granted_bytes() const = 0;    ///< size of the grants: what all consumers together may hold
  virtual int64_t reserved_bytes() const = 0;   ///< held now, free lists included
  virtual int64_t peak_bytes() const = 0;       ///< high-water mark of the same
  virtual int64_t available_bytes() const = 0;  ///< grants that are neither reserved nor in use (free lists count as available)

  /// Gives all free lists back to the system.
  virtual void Trim() = 0;

  /// "sort 41.2 MiB, scan 12.0 MiB": the largest consumers, for messages.
  virtual std::string DescribeTopConsumers(int count) const = 0;

 private:
  friend struct MemoryLedgerDeleter;
  /// The owner is gone.
  virtual void Retire() = 0;
};

/// An RAII reservation: released when destroyed, grown and shrunk through ResizeTo. Not thread safe.
class Reservation {
 public:
  Reservation() = default;
  explicit Reservation(MemoryConsumer* consumer) : consumer_(consumer) {}
  Reservation(Reservation&& other) noexcept { *this = std::move(other); }
  Reservation& operator=(Reservation&& other) noexcept {
    if (this != &other) {
      Free();
      consumer_ = other.consumer_;
      bytes_ = other.bytes_;
      other.bytes_ = 0;
    }
    return *this;
  }
  ~Reservation() { Free(); }

  /// Grows (or shrinks) to exactly `bytes`; on failure nothing changed.
  arrow::Status ResizeTo(int64_t bytes) {
    if (bytes > bytes_) {
      ARROW_RETURN_NOT_OK(consumer_->Reserve(bytes - bytes_));
    } else if (bytes < bytes_) {
      consumer_->Release(bytes_ - bytes);
    }
    bytes_ = bytes;
    return arrow::Status::OK();
  }
  bool TryResizeTo(int64_t bytes) {
    if (bytes > bytes_) {
      if (!consumer_->TryReserve(bytes - bytes_)) return false;
    } else if (bytes < bytes_) {
      consumer_->Release(bytes_ - bytes);
    }
    bytes_ = bytes;
    return true;
  }
  void Free() {
    if (consumer_ != nullptr && bytes_ > 0) consumer_->Release(bytes_);
    bytes_ = 0;
  }
  int64_t bytes() const { return bytes_; }

 private:
  MemoryConsumer* consumer_ = nullptr;
  int64_t bytes_ = 0;
};

/// Resident bytes of this process now and its high-water mark, from /proc/self/status.
struct ResidentMemory {
  int64_t current_bytes = 0;    ///< VmRSS
  int64_t peak_bytes = 0;       ///< VmHWM
  int64_t anonymous_bytes = 0;  ///< RssAnon
};
ResidentMemory ProbeResidentMemory();

}  // namespace icebound::memory
