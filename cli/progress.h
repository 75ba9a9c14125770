// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <icebound/metrics.h>

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace icebound::cli {

/// The text of the progress line. What people look at first stands first (how far, how fast, how long still), and a field that
/// does not fit the width is left out whole. Remembers when its phase began, so that the rate is that of the phase.
class ProgressLine {
 public:
  /// At most `width` characters.
  std::string Text(const QueryMetrics& metrics, int width);

 private:
  enum class Phase {
    kReading,  ///< input is left, or nobody knows how much
    kWorking,  ///< all is read, nothing has come out: merges, build sides
    kWriting,  ///< rows come out, and all is read
  };

  Phase phase_ = Phase::kReading;
  double began_seconds_ = 0;  // of the phase, on the statement's clock
  int64_t began_rows_ = 0;    // counted when it began
};

/// A line on the terminal's stderr that tells how far a statement is. Drawn by a thread of its own ten times a second, from
/// counters alone; erased by Stop(). Draws nothing when stderr is no terminal.
class ProgressBar {
 public:
  using Counters = std::function<QueryMetrics()>;  ///< called from the bar's thread

  ProgressBar(Counters counters, bool enabled);
  ~ProgressBar() { Stop(); }

  /// Erases the line and joins the thread. Idempotent.
  void Stop();

 private:
  void Run();

  const Counters counters_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;  // guarded by mutex_
  std::thread thread_;
};

}  // namespace icebound::cli
