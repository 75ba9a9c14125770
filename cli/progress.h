// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <icebound/session.h>

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace icebound::cli {

/// A line on the terminal's stderr that tells how far a statement is: phase, rows, bytes, spilled, memory and its limit, rate,
/// time left. Drawn by a thread of its own ten times a second, from counters alone; erased by Stop(). Draws nothing when stderr
/// is no terminal.
class ProgressBar {
 public:
  ProgressBar(const Session& session, bool enabled);
  ~ProgressBar() { Stop(); }

  /// Erases the line and joins the thread. Idempotent.
  void Stop();

 private:
  void Run();

  const Session& session_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;  // guarded by mutex_
  std::thread thread_;
};

/// The text of the line for these counters, at most `width` characters: a function of its own so that it can be looked at without
/// a terminal.
std::string ProgressText(const QueryMetrics& metrics, int width);

}  // namespace icebound::cli
