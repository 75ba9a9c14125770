// SPDX-License-Identifier: Apache-2.0
#include "base/injection.h"

#include <condition_variable>
#include <mutex>
#include <utility>
#include <vector>

namespace icebound {
namespace injection {

std::atomic<int> armed_count{0};

struct ArmedPoint {
  std::string name;
  ScopedInjection::Callback callback;
  std::atomic<int64_t> hits{0};
  int running = 0;  // callbacks inside; guarded by registry mutex
};

namespace {

struct Registry {
  std::mutex mutex;
  std::condition_variable idle;
  std::vector<std::shared_ptr<ArmedPoint>> points;  // guarded by mutex; the last one of a name counts
};

// Never destroyed: a point may be hit by a thread that outlives static objects.
Registry& GlobalRegistry() {
  static Registry* registry = new Registry();
  return *registry;
}

}  // namespace

arrow::Status Hit(std::string_view name) {
  Registry& registry = GlobalRegistry();
  std::shared_ptr<ArmedPoint> point;
  {
    std::lock_guard lock(registry.mutex);
    for (const auto& armed : registry.points) {
      if (armed->name == name) point = armed;
    }
    if (point == nullptr) return arrow::Status::OK();
    ++point->running;
  }
  const int64_t hit = point->hits.fetch_add(1) + 1;
  arrow::Status status = point->callback(hit);
  {
    std::lock_guard lock(registry.mutex);
    --point->running;
  }
  registry.idle.notify_all();
  return status;
}

}  // namespace injection

ScopedInjection::ScopedInjection(std::string name, Callback callback) : point_(std::make_shared<injection::ArmedPoint>()) {
  point_->name = std::move(name);
  point_->callback = std::move(callback);
  auto& registry = injection::GlobalRegistry();
  std::lock_guard lock(registry.mutex);
  registry.points.push_back(point_);
  injection::armed_count.fetch_add(1);
}

ScopedInjection::~ScopedInjection() {
  auto& registry = injection::GlobalRegistry();
  std::unique_lock lock(registry.mutex);
  std::erase(registry.points, point_);
  injection::armed_count.fetch_sub(1);
  registry.idle.wait(lock, [this] { return point_->running == 0; });
}

ScopedInjection::Callback ScopedInjection::FailOnHit(int64_t nth, arrow::Status status) {
  return [nth, status = std::move(status)](int64_t hit) { return hit == nth ? status : arrow::Status::OK(); };
}

ScopedInjection::Callback ScopedInjection::FailFromHit(int64_t nth, arrow::Status status) {
  return [nth, status = std::move(status)](int64_t hit) { return hit >= nth ? status : arrow::Status::OK(); };
}

int64_t ScopedInjection::hits() const { return point_->hits.load(); }

}  // namespace icebound
