// SPDX-License-Identifier: Apache-2.0
#include "exec/sort/key_cutoff.h"

#include <algorithm>
#include <string_view>

namespace icebound::exec::sort {
namespace {

/// A key, or when it is long the least short one above all keys that begin alike; empty when there is none (all FF).
std::string BoundOf(const RowLayout& layout, const uint8_t* row) {
  const uint32_t key_bytes = layout.KeyBytes(row);
  const auto* key = reinterpret_cast<const char*>(layout.Key(row));
  if (key_bytes <= KeyCutoff::kKeyBytesMax) return std::string(key, key_bytes);
  std::string bound(key, KeyCutoff::kKeyBytesMax);
  while (!bound.empty() && static_cast<uint8_t>(bound.back()) == 0xFF) bound.pop_back();
  if (!bound.empty()) ++bound.back();
  return bound;
}

}  // namespace

void KeyCutoff::AddRun(std::span<const SortEntry> sorted) {
  if (sorted.empty() || fetch_rows_ <= 0) return;
  // Half of the buckets serve the k rows that count, so each has k / 512 of them; the other half are those not yet dropped.
  const auto rows = static_cast<int64_t>(sorted.size());
  const int64_t step = std::max<int64_t>(1, std::min((fetch_rows_ + 511) / 512, rows));
  std::lock_guard lock(mutex_);
  for (int64_t counted = 0; counted < rows;) {
    const int64_t next = std::min(counted + step, rows);
    std::string bound = BoundOf(layout_, sorted[next - 1].row);
    if (bound.empty()) return;
    const bool full = counted_rows_ >= fetch_rows_;
    if (full && bound >= buckets_.top().key) break;
    if (!full && buckets_.size() >= kBucketsMax) break;
    buckets_.push({std::move(bound), next - counted});
    counted_rows_ += next - counted;
    while (counted_rows_ - buckets_.top().rows >= fetch_rows_) {
      counted_rows_ -= buckets_.top().rows;
      buckets_.pop();
    }
    counted = next;
  }
  if (counted_rows_ >= fetch_rows_) TightenLocked(buckets_.top().key);
}

void KeyCutoff::Offer(const uint8_t* row) {
  const std::string bound = BoundOf(layout_, row);
  if (bound.empty()) return;
  std::lock_guard lock(mutex_);
  TightenLocked(bound);
}

void KeyCutoff::TightenLocked(const std::string& bound) {
  if (version_.load(std::memory_order_relaxed) != 0 && bound >= cutoff_) return;
  cutoff_ = bound;
  version_.fetch_add(1, std::memory_order_release);
}

bool KeyCutoff::Refresh(uint64_t* version, std::string* key) const {
  const uint64_t now = version_.load(std::memory_order_acquire);
  if (now == *version) return now != 0;
  std::lock_guard lock(mutex_);
  *key = cutoff_;
  *version = version_.load(std::memory_order_relaxed);
  return true;
}

}  // namespace icebound::exec::sort
