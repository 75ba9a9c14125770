// SPDX-License-Identifier: Apache-2.0
//
// Who does what when the streams of a join run side by side: first all of them probe, then they share what is left to do.
//
//   TryEnter -> probe -> Leave, the last one publishes the tasks      EnterLate (nothing to probe any more)
//   Take -> work -> Done, until Take gives none
//
// A task may add others before it is done, so a stream that finds none waits while any is under way.
#pragma once

#include <arrow/result.h>
#include <arrow/status.h>

#include <condition_variable>
#include <deque>
#include <limits>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.h"

namespace icebound::exec::join {

/// Thread safe.
template <typename Task>
class JoinWork {
 public:
  /// Begins to probe. False when all `inputs_max` inputs are taken, or probing is over.
  bool TryEnter(int inputs_max) {
    std::lock_guard lock(mutex_);
    if (probing_over_ || entered_ == inputs_max) return false;
    ++entered_;
    ++probing_;
    return true;
  }

  /// Ends probing; true for the last one, who must call Publish.
  bool Leave() {
    std::lock_guard lock(mutex_);
    if (--probing_ > 0) return false;
    probing_over_ = true;
    return true;
  }

  /// The tasks there are now; streams may take them from here on.
  void Publish(std::vector<Task> tasks) {
    std::lock_guard lock(mutex_);
    probing_over_ = published_ = true;
    for (Task& task : tasks) tasks_.push_back(std::move(task));
    changed_.notify_all();
  }

  /// Lets no two tasks run side by side: each needs too much memory.
  void RunOneAtATime() {
    std::lock_guard lock(mutex_);
    running_max_ = 1;
  }

  /// The next task and how many streams could be at work with it, or none at the end. Waits for both.
  struct Taken {
    Task task;
    int left = 0;  ///< tasks waiting or under way, this one included
  };
  arrow::Result<std::optional<Taken>> Take() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] {
      if (!failure_.ok()) return true;
      return published_ && (tasks_.empty() ? running_ == 0 : running_ < running_max_);
    });
    ARROW_RETURN_NOT_OK(failure_);
    if (tasks_.empty()) return std::nullopt;
    std::optional<Taken> taken(Taken{std::move(tasks_.front()), 0});
    tasks_.pop_front();
    ++running_;
    taken->left = running_ + static_cast<int>(tasks_.size());
    return taken;
  }

  /// A task is done, with others to follow it: they come first, so that their files go soon.
  void Done(std::vector<Task> more) {
    std::lock_guard lock(mutex_);
    for (Task& task : more) tasks_.push_front(std::move(task));
    --running_;
    changed_.notify_all();
  }

  /// Makes every Take fail. The first failure stays.
  void Fail(const arrow::Status& status) {
    std::lock_guard lock(mutex_);
    if (failure_.ok()) failure_ = status;
    changed_.notify_all();
  }

  bool IsAtEnd() {
    std::lock_guard lock(mutex_);
    return published_ && tasks_.empty() && running_ == 0;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int entered_ = 0;  // all guarded by mutex_
  int probing_ = 0;
  bool probing_over_ = false;
  bool published_ = false;
  int running_ = 0;
  int running_max_ = std::numeric_limits<int>::max();
  std::deque<Task> tasks_;
  arrow::Status failure_;
};

}  // namespace icebound::exec::join
