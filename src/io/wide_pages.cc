// SPDX-License-Identifier: Apache-2.0
#include "io/wide_pages.h"

#include <algorithm>

#include "base/byte_size.h"
#include "base/error.h"

namespace icebound::io {
namespace {

/// Rows up to these parts of the limit always pass (README): scanned, sorted and written, or in any plan.
constexpr int64_t kWidestRowPart = 4;
constexpr int64_t kWidestRowOfAnyPlanPart = 8;

/// The smallest limit there is takes rows of 4 MiB; a refusal while rows are not even this wide has another cause.
constexpr int64_t kWideRowBytes = int64_t{1} << 20;

constexpr int64_t kMiB = int64_t{1} << 20;

}  // namespace

bool WidePageGate::TryTake() {
  std::lock_guard lock(mutex_);
  if (taken_) return false;
  taken_ = true;
  ++times_taken_;
  return true;
}

arrow::Result<bool> WidePageGate::Wait() {
  std::unique_lock lock(mutex_);
  auto last_change = std::chrono::steady_clock::now();
  int64_t seen = times_taken_;
  while (taken_) {
    given_.wait_for(lock, kBetweenChecks);
    ARROW_RETURN_NOT_OK(cancellation_.Check());
    const auto now = std::chrono::steady_clock::now();
    if (times_taken_ != seen) {
      seen = times_taken_;
      last_change = now;
    }
    if (taken_ && now - last_change > kPatience) return false;
  }
  taken_ = true;
  ++times_taken_;
  return true;
}

void WidePageGate::Give() {
  {
    std::lock_guard lock(mutex_);
    taken_ = false;
  }
  given_.notify_one();
}

bool WidePass::MayRead(int64_t page_bytes) {
  widest_page_bytes_ = std::max(widest_page_bytes_, page_bytes);
  if (gate_ == nullptr || state_ != State::kNone || page_bytes <= gate_->wide_bytes()) return true;
  if (gate_->TryTake()) {
    state_ = State::kTaken;
    return true;
  }
  was_refused_ = true;
  return false;
}

arrow::Status WidePass::Wait() {
  was_refused_ = false;
  if (state_ != State::kNone) return arrow::Status::OK();
  bool taken = false;
  if (gate_ != nullptr) {
    ARROW_ASSIGN_OR_RAISE(taken, gate_->Wait());
  }
  state_ = taken ? State::kTaken : State::kWithout;
  return arrow::Status::OK();
}

void WidePass::Give() {
  if (state_ == State::kTaken) gate_->Give();
  state_ = State::kNone;
}

arrow::Status ExplainWideRow(const arrow::Status& status, int64_t row_bytes) {
  if (GetErrorKind(status) != ErrorKind::kMemoryLimit || row_bytes < kWideRowBytes) return status;
  const auto limit = [row_bytes](int64_t part) { return FormatByteLimit((part * row_bytes + kMiB - 1) / kMiB * kMiB); };
  return MakeError(
      ErrorKind::kMemoryLimit,
      "memory limit too small for a row, or a page of rows, of {}: raise it to at least {}, or to {} when it is joined "
      "or grouped, or the sort key ({})",
      FormatBytes(row_bytes), limit(kWidestRowPart), limit(kWidestRowOfAnyPlanPart), status.message());
}

}  // namespace icebound::io
