// SPDX-License-Identifier: Apache-2.0
//
// Named fault-injection points: places where a test can make the code fail, wait or look.
//
//     arrow::Status SpillFile::Write(...) {
//       ICEBOUND_INJECT("spill.write");        // returns the armed status from this function
//       ...
//     }
//
//     ScopedInjection full_disk("spill.write", ScopedInjection::FailOnHit(3, MakeError(ErrorKind::kDiskLimit, "disk full")));
//
// Without ICEBOUND_INJECTION the macro is empty. With it and nothing armed anywhere, a point costs one relaxed load. Names are
// "folder.action"; the points are the macro's uses, there is no list to keep.
#pragma once

#include <arrow/status.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace icebound {

namespace injection {

/// How many injections are armed in this process. Only its being zero matters to a point.
extern std::atomic<int> armed_count;

/// Runs what is armed for `name`. Thread safe; called through the macro.
arrow::Status Hit(std::string_view name);

struct ArmedPoint;

}  // namespace injection

/// Arms one point while it lives; a second one for the same name takes its place until destroyed. Thread safe points, but arm
/// and disarm from one thread at a time. Destroying it waits for callbacks that are running.
class ScopedInjection {
 public:
  /// Called at every hit with its number, from 1; what it returns is returned at the point. May block.
  using Callback = std::function<arrow::Status(int64_t hit)>;

  ScopedInjection(std::string name, Callback callback);
  ScopedInjection(const ScopedInjection&) = delete;
  ScopedInjection& operator=(const ScopedInjection&) = delete;
  ~ScopedInjection();

  /// A callback that returns `status` at the nth hit (from 1) and OK at all others.
  static Callback FailOnHit(int64_t nth, arrow::Status status);
  /// A callback that returns `status` at the nth hit and at every later one.
  static Callback FailFromHit(int64_t nth, arrow::Status status);

  /// Hits so far, failed or not.
  int64_t hits() const;

 private:
  std::shared_ptr<injection::ArmedPoint> point_;
};

}  // namespace icebound

#ifdef ICEBOUND_INJECTION
#define ICEBOUND_INJECT(name)                                                      \
  do {                                                                             \
    if (::icebound::injection::armed_count.load(std::memory_order_relaxed) != 0) { \
      ::arrow::Status injected_status_ = ::icebound::injection::Hit(name);         \
      if (!injected_status_.ok()) return injected_status_;                         \
    }                                                                              \
  } while (false)
#else
#define ICEBOUND_INJECT(name) \
  do {                        \
  } while (false)
#endif
