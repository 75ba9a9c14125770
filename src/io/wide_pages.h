// SPDX-License-Identifier: Apache-2.0
//
// Pages that are large beside the memory there is: one wide value each, mostly. Decoding one takes its page (for a moment two),
// the value, and the batch that its consumer works on. One stream can afford that where several cannot; so the streams of a scan
// take turns.
//
//   a page header says more than wide_bytes  ->  WidePass::TryTake   taken: it stays until the stream's next batch is asked for
//                                                                    refused: the stream drops what it holds, and waits
//   the next batch is asked for              ->  WidePass::Give
//
// A stream that was given its turn and is then not pulled must not hold up the others for ever (they may feed the one who would
// pull it): whoever has waited for kPatience goes on without a turn.
#pragma once

#include <arrow/result.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "runtime/cancellation.h"

namespace icebound::io {

/// Thread safe.
class WidePageGate {
 public:
  /// Pages of at most `wide_bytes` pass freely.
  WidePageGate(int64_t wide_bytes, const runtime::CancellationToken* cancellation)
      : wide_bytes_(wide_bytes), cancellation_(*cancellation) {}

  int64_t wide_bytes() const { return wide_bytes_; }

 private:
  friend class WidePass;
  static constexpr std::chrono::seconds kPatience{5};
  static constexpr std::chrono::milliseconds kBetweenChecks{50};

  bool TryTake();
  /// True when taken, false when patience ended.
  arrow::Result<bool> Wait();
  void Give();

  const int64_t wide_bytes_;
  const runtime::CancellationToken& cancellation_;
  std::mutex mutex_;
  std::condition_variable given_;
  bool taken_ = false;       // guarded by mutex_
  int64_t times_taken_ = 0;  // guarded by mutex_
};

/// One stream's. Not thread safe. A null gate lets everything pass: there is only one stream.
class WidePass {
 public:
  explicit WidePass(WidePageGate* gate_or_null) : gate_(gate_or_null) {}
  ~WidePass() { Give(); }
  WidePass(const WidePass&) = delete;
  WidePass& operator=(const WidePass&) = delete;

  /// Whether a page of so many bytes may be read now. If not, was_refused() until Wait.
  bool MayRead(int64_t page_bytes);
  bool was_refused() const { return was_refused_; }

  /// Waits for the turn. Hold no pages then.
  arrow::Status Wait();

  /// Ends the turn, if this stream has it.
  void Give();

  bool held() const { return state_ != State::kNone; }
  int64_t widest_page_bytes() const { return widest_page_bytes_; }  ///< so far

 private:
  enum class State { kNone, kTaken, kWithout };

  WidePageGate* const gate_;
  State state_ = State::kNone;
  bool was_refused_ = false;
  int64_t widest_page_bytes_ = 0;
};

/// Says of a refusal of memory what a row of `row_bytes` bytes needs; other statuses, and rows that are not wide, as they are.
arrow::Status ExplainWideRow(const arrow::Status& status, int64_t row_bytes);

}  // namespace icebound::io
