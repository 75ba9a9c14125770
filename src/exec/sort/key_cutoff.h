// SPDX-License-Identifier: Apache-2.0
//
// ORDER BY ... LIMIT k: the key from which on rows cannot be among the first k any more.
//
// Each sorted run reports some of its keys, with the number of its rows up to them: "another 512 rows are not above
// K". The reports of all runs, kept in a heap with the largest key on top, are a histogram of what is known to exist.
// As long as the rest still counts k rows without its top, the top is dropped; once they count k, the top is the
// cutoff: k rows are not above it, so rows at or above it may go. So the cutoff tightens after every run, also when k
// rows are more than a run can hold.
//
// Source: Chronis, Do, Graefe, Peters, "External Merge Sort for Top-K Queries" (SIGMOD 2020).
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <queue>
#include <span>
#include <string>
#include <vector>

#include "exec/sort/key_prefix.h"
#include "exec/sort/row_layout.h"

namespace icebound::exec::sort {

/// Shared by the workers of one sort. Thread safe.
class KeyCutoff {
 public:
  /// Keys reported are cut to this length (and rounded up), so that the histogram is small whatever the keys are.
  static constexpr size_t kKeyBytesMax = 256;

  /// Buckets held at most (a run reports about k / 512 rows to a bucket), hence 1024 * (256 + overhead) bytes, which
  /// the sorter charges.
  static constexpr size_t kBucketsMax = 1024;
  static constexpr int64_t kStateBytes = int64_t{kBucketsMax} * (kKeyBytesMax + 64);

  KeyCutoff(const RowLayout& layout, int64_t fetch_rows) : layout_(layout), fetch_rows_(fetch_rows) {}

  /// Takes the keys of a run that is about to be written: sorted, and each row reported only once.
  void AddRun(std::span<const SortEntry> sorted);

  /// Takes one key that k rows are not above, whether or not they are reported (again) later.
  void Offer(const uint8_t* row);

  /// Copies the cutoff to `key` when it is newer than `*version`; true when there is one.
  bool Refresh(uint64_t* version, std::string* key) const;

  int64_t fetch_rows() const { return fetch_rows_; }

 private:
  struct Bucket {
    std::string key;  // rows counted are not above it
    int64_t rows = 0;
    bool operator<(const Bucket& other) const { return key < other.key; }
  };

  void TightenLocked(const std::string& bound);

  const RowLayout layout_;
  const int64_t fetch_rows_;
  mutable std::mutex mutex_;
  std::priority_queue<Bucket> buckets_;  // guarded by mutex_
  int64_t counted_rows_ = 0;             // guarded by mutex_: rows in buckets_
  std::string cutoff_;                   // guarded by mutex_
  std::atomic<uint64_t> version_{0};     // of cutoff_; 0: none yet
};

}  // namespace icebound::exec::sort
