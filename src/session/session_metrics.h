// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "session/statement.h"

namespace icebound {

/// The counters of a session: sums over its statements. Those that ended are added up and forgotten, so that memory does not grow
/// with their number. Thread safe.
class SessionMetrics {
 public:
  explicit SessionMetrics(const SessionResources& resources) : resources_(resources) {}

  /// The counters of a statement that begins now.
  std::shared_ptr<StatementMetrics> Begin();

  /// As Session::metrics says.
  QueryMetrics Snapshot() const;

 private:
  const SessionResources& resources_;
  mutable std::mutex mutex_;
  QueryMetrics ended_;                                      // guarded by mutex_: sums
  std::vector<std::shared_ptr<StatementMetrics>> running_;  // guarded by mutex_: begun, and not yet in ended_
  std::shared_ptr<StatementMetrics> last_;                  // guarded by mutex_
};

}  // namespace icebound
