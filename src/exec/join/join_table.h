// SPDX-License-Identifier: Apache-2.0
//
// A hash table over packed rows that lie in memory.
//
//   entry  salt, 16 bits | address of a row, 48 bits          0: empty
//
// Linear probing over the distinct keys, at most two thirds full; the salt is the low 16 bits of the hash, so that a row is
// looked at only when it most likely has the key. Rows of the same key hang behind the first one: once in the table, the head of
// a row is the address of the next. So a key that a million rows share takes one entry, and its rows are added in constant time
// each.
#pragma once

#include <arrow/status.h>

#include <cstdint>
#include <cstring>
#include <span>

#include "exec/join/join_side.h"
#include "exec/join/row_partitions.h"
#include "exec/sort/mapped_pages.h"

namespace icebound::exec::join {

/// Keys of rows to look up.
struct ProbeKeys {
  const uint8_t* const* rows = nullptr;  ///< packed rows, or keys packed alone
  KeyPlace place;
  const uint64_t* hashes = nullptr;
};

/// Filled by one thread, then read by any. The budget outlives it.
class JoinTable {
 public:
  /// Bytes for a table of so many rows.
  static int64_t Bytes(int64_t rows) { return rows * kTableBytesPerRow + 64; }

  /// Room for `rows`; the memory comes from `budget`, which gives it or fails.
  arrow::Status Allocate(sort::SortBudget* budget, int64_t rows);
  void Free();

  /// Adds the rows that lie in [begin, end) and whose keys can match. Without `keep_duplicates` only the first row of a key.
  /// Their heads are hashes; those of the rows added become addresses.
  void Insert(const JoinSide& side, uint8_t* begin, const uint8_t* end, bool keep_duplicates);

  bool is_empty() const { return capacity_ == 0; }
  bool has_duplicates() const { return has_duplicates_; }

  /// heads[j] = the first row with the keys of keys.rows[rows[j]], or null. The table of row i is tables[targets[i]], or the only
  /// one when `targets` is null; a target of kNoPartition has no match.
  static void Lookup(const JoinSide& side, const JoinTable* tables, const uint8_t* targets, const ProbeKeys& keys,
                     std::span<const int32_t> rows, uint8_t** heads);

  /// The next row with the same key, or null.
  static uint8_t* Next(const uint8_t* row) {
    uint64_t head;
    std::memcpy(&head, row, sizeof(head));
    return reinterpret_cast<uint8_t*>(head);
  }

 private:
  static constexpr uint64_t kAddressMask = (uint64_t{1} << 48) - 1;

  uint64_t* Slot(uint64_t hash) const {
    // The highest bits chose the partition.
    const uint64_t spread = hash << RowPartitions::kBitsMax;
    return entries_ + static_cast<uint64_t>((static_cast<unsigned __int128>(spread) * capacity_) >> 64);
  }
  void InsertRow(const JoinSide& side, uint8_t* row, uint64_t hash, uint64_t* slot, bool keep_duplicates);

  sort::MappedPages pages_;
  uint64_t* entries_ = nullptr;
  uint64_t capacity_ = 0;
  bool has_duplicates_ = false;
};

}  // namespace icebound::exec::join
