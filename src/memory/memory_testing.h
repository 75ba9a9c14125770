// SPDX-License-Identifier: Apache-2.0
//
// What the tests of this folder share.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "memory/memory_ledger.h"

namespace icebound::memory {

constexpr int64_t kMiB = int64_t{1} << 20;
constexpr int64_t kNoCeiling = int64_t{1} << 60;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

/// Sanitizers keep shadow memory and freed blocks, so resident sizes say nothing there.
#define SKIP_WHEN_SANITIZED() \
  if (kSanitized) GTEST_SKIP() << "resident sizes under a sanitizer are the sanitizer's"

/// A ledger of exactly `granted_bytes`.
inline MemoryLedgerPtr MakeLedger(int64_t granted_bytes, PoolPolicy policy = PoolPolicy::kFair, int64_t stall_timeout_ms = 2000) {
  MemoryLedgerOptions options;
  options.limit_bytes = std::max(granted_bytes, kMinimumLimitBytes);
  options.inside_host = true;
  options.policy = policy;
  options.stall_timeout_ms = stall_timeout_ms;
  auto probe = MemoryLedger::Make(options);
  options.baseline_bytes = probe.ValueOrDie()->granted_bytes() - granted_bytes;
  auto ledger = MemoryLedger::Make(options);
  EXPECT_EQ((*ledger)->granted_bytes(), granted_bytes);
  return std::move(ledger).ValueOrDie();
}

/// Runs `body` in a child process, so that its resident sizes are its own. `body` returns an error text, empty for success.
inline void ExpectInChild(const std::function<std::string()>& body) {
  int pipe_fds[2];
  ASSERT_EQ(pipe(pipe_fds), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    close(pipe_fds[0]);
    const std::string message = body();
    [[maybe_unused]] const ssize_t written = write(pipe_fds[1], message.data(), message.size());
    _exit(message.empty() ? 0 : 1);
  }
  close(pipe_fds[1]);
  std::string message;
  char buffer[512];
  for (ssize_t n = 0; (n = read(pipe_fds[0], buffer, sizeof(buffer))) > 0;) message.append(buffer, static_cast<size_t>(n));
  close(pipe_fds[0]);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "child: " << message << " (status " << status << ")";
}

/// A spillable consumer that behaves as operators should: it reserves in steps, spills itself when refused and no step is left,
/// answers the ledger's requests when it is not busy. Thread safe.
class TestSpiller : public Reclaimer {
 public:
  TestSpiller(MemoryLedger* ledger, std::string name) : consumer_(ledger->AddConsumer(std::move(name), this)) {}

  MemoryConsumer* consumer() { return consumer_.get(); }

  /// Reserves `bytes` if the ledger lets it.
  bool Take(int64_t bytes) {
    if (!consumer_->TryReserve(bytes)) return false;
    std::lock_guard lock(mutex_);
    held_bytes_ += bytes;
    return true;
  }

  /// Takes steps until refused; returns what it holds then.
  int64_t TakeUntilRefused(int64_t step_bytes) {
    while (Take(step_bytes)) {
    }
    return consumer_->reserved_bytes();
  }

  int64_t SpillAll() { return Spill(kNoCeiling); }

  int64_t Spill(int64_t bytes) {
    int64_t released_bytes = 0;
    {
      std::lock_guard lock(mutex_);
      released_bytes = std::min(bytes, held_bytes_);
      held_bytes_ -= released_bytes;
      spilled_bytes_ += released_bytes;
    }
    if (released_bytes > 0) consumer_->Release(released_bytes);
    return released_bytes;
  }

  int64_t ReclaimableBytes() const override {
    std::lock_guard lock(mutex_);
    return held_bytes_;
  }
  arrow::Result<int64_t> Reclaim(int64_t bytes) override {
    ++reclaim_calls_;
    if (busy_) return 0;
    if (!fail_with_.ok()) return fail_with_;
    if (workspace_bytes_ > 0) {
      ARROW_RETURN_NOT_OK(consumer_->Reserve(workspace_bytes_));
      consumer_->Release(workspace_bytes_);
    }
    return Spill(spills_whole_ ? kNoCeiling : bytes);
  }

  void set_busy(bool busy) { busy_ = busy; }
  /// Like a sort, which writes all it has as one run; otherwise it spills as much as it is asked for.
  void set_spills_whole(bool whole) { spills_whole_ = whole; }
  /// Breaks the contract: reserves and releases this much inside Reclaim.
  void set_workspace_bytes(int64_t bytes) { workspace_bytes_ = bytes; }
  void set_failure(arrow::Status status) { fail_with_ = std::move(status); }
  int reclaim_calls() const { return reclaim_calls_; }
  int64_t spilled_bytes() const {
    std::lock_guard lock(mutex_);
    return spilled_bytes_;
  }

 private:
  mutable std::mutex mutex_;
  int64_t held_bytes_ = 0;     // guarded by mutex_
  int64_t spilled_bytes_ = 0;  // guarded by mutex_
  std::atomic<bool> busy_{false};
  std::atomic<bool> spills_whole_{false};
  std::atomic<int> reclaim_calls_{0};
  arrow::Status fail_with_;
  int64_t workspace_bytes_ = 0;
  std::unique_ptr<MemoryConsumer> consumer_;  // last: goes first, while the rest can still answer
};

}  // namespace icebound::memory
