// SPDX-License-Identifier: Apache-2.0
//
// What a join has learnt of its build side, for the scan that feeds its other side: rows that match nothing are dropped before
// the rest of them is decoded.
//
//   planner   makes a ProbeFilter, hands it to the join and, with the numbers of the key columns, to the scan
//   join      Publish when the build side is complete (a test of a part would drop rows that match), Withdraw before its memory
//             goes
//   scan      asks test_or_null() and applies it; there may be none yet, or ever
//
// A scan that is read while the join probes sees one test all the time; one that is read before the build side is complete sees
// none, and gives all its rows.
#pragma once

#include <arrow/array.h>
#include <arrow/memory_pool.h>
#include <arrow/status.h>

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>

namespace icebound::runtime {

/// Integers, dates and times as they are stored; both ends included.
struct KeyBounds {
  int64_t least = INT64_MIN;
  int64_t greatest = INT64_MAX;
};

/// Thread safe.
class KeyTest {
 public:
  virtual ~KeyTest() = default;

  /// Zeroes pass[i] of rows whose keys match nothing. It may let others pass that match nothing, too. What it needs comes from
  /// `pool`.
  virtual arrow::Status Test(const arrow::ArrayVector& keys, std::span<uint8_t> pass, arrow::MemoryPool* pool) const = 0;

  /// Outside of which the values of key number `key` match nothing, where that is known.
  virtual std::optional<KeyBounds> BoundsOf(size_t key) const = 0;
};

/// Thread safe. The publisher sees to it that nobody applies a test any more when it withdraws it.
class ProbeFilter {
 public:
  void Publish(const KeyTest* test) { test_.store(test, std::memory_order_release); }
  void Withdraw() { test_.store(nullptr, std::memory_order_release); }
  const KeyTest* test_or_null() const { return test_.load(std::memory_order_acquire); }

 private:
  std::atomic<const KeyTest*> test_{nullptr};
};

}  // namespace icebound::runtime
