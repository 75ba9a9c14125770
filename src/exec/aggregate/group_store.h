// SPDX-License-Identifier: Apache-2.0
//
// Groups of one thread: a hash table over rows that lie in the partitions they will be spilled to.
//
//   Start -> (Find -> MakeRoom -> update the rows)*, Spill in between -> chunks(p)
//
// Rows are appended to chunks, each chunk holding rows of one partition only; what a row's states keep outside of it lies in
// chunks of its own. So spilling is writing chunks as they are (with byte strings: rows one by one, each with its strings), and
// afterwards all chunks are free again. The table has 8-byte entries, [salt, 16 bits | address of the row, 48 bits], with linear
// probing; it may forget its entries at any time, which only means that a group gets a second row. Two ways to use it:
//
//   kPreaggregate   The table keeps to the size of a cache, forgets everything when it is full, and steps aside while keys
//                   hardly repeat. It goes on growing where that will pay: when rows met groups of long ago.
//   kExact          Every group has one row until Spill. The table grows with them.
//
// Memory. Start takes what is needed to go on after a spill: chunks for all partitions and a small table. Find and MakeRoom say
// no when they need more and it is refused; the caller then spills and asks again with `must`.
//
// Kuiper, Boncz, Mühleisen, "Robust External Hash Aggregation in the Solid State Age" (ICDE 2024), describe the design of
// partitioned rows under a table of references that can be reset.
#pragma once

#include <arrow/result.h>

#include <cstdint>
#include <vector>

#include "exec/aggregate/group_layout.h"
#include "exec/aggregate/partition_files.h"
#include "exec/sort/mapped_pages.h"
#include "exec/sort/sort_budget.h"

namespace icebound::exec::aggregate {

enum class StoreMode { kPreaggregate, kExact };

struct GroupStoreOptions {
  const GroupLayout* layout = nullptr;
  sort::SortBudget* budget = nullptr;
  PartitionFiles* files = nullptr;  ///< where Spill writes, 2^bits of them
  int level = 0;
  int bits = 6;
  StoreMode mode = StoreMode::kPreaggregate;
  int64_t chunk_bytes = 16 << 10;
};

/// Keys to look for. `key_bytes` is null when all have the layout's fixed width.
struct KeySlice {
  int32_t count = 0;
  const uint64_t* hashes = nullptr;
  const uint8_t* const* keys = nullptr;
  const uint32_t* key_bytes = nullptr;
};

/// Rows one behind the other, behind this head.
struct RowChunk {
  RowChunk* next = nullptr;
  uint8_t* end = nullptr;  ///< of the rows
  int64_t rows = 0;

  uint8_t* begin() { return reinterpret_cast<uint8_t*>(this + 1); }
};

/// Not thread safe. The layout, the budget and the files outlive it.
class GroupStore {
 public:
  explicit GroupStore(const GroupStoreOptions& options);

  /// What Start takes.
  static int64_t StartBytes(int bits, int64_t chunk_bytes);

  arrow::Status Start();

  /// Makes the table large enough for so many groups, if it can be had.
  arrow::Status ExpectGroups(int64_t groups);

  /// Sets rows[i] to the row of key i, a new one (Begin) when there is none. False when memory was refused; rows that were begun
  /// before are without states, and harmless. With `must` a refusal is an error.
  arrow::Result<bool> Find(const KeySlice& keys, uint8_t** rows, bool must);

  /// Counts rows that met a group without being looked for.
  void AddMetRows(int64_t rows) { epoch_rows_ += rows; }

  /// Begins a row without looking for one; a refusal is an error.
  arrow::Status Insert(uint64_t hash, const uint8_t* key, uint32_t key_bytes, uint8_t** row);

  /// Makes room for so much in space(). False when memory was refused.
  arrow::Result<bool> MakeRoom(int64_t string_bytes, bool must);
  StringSpace* space() { return &space_; }

  /// Writes all rows to the files, and forgets them.
  arrow::Status Spill();

  /// Writes the rows of one partition, after Seal; they stay.
  arrow::Status SpillPartition(uint32_t partition);

  /// Forgets all rows, without writing them; their memory is kept.
  void Clear() { Reset(); }

  /// Begins anew for another partition; the memory is kept.
  void Reuse(PartitionFiles* files, int level);

  /// Gives back what is not needed to go on. After Spill.
  arrow::Status Shrink();

  /// Completes the chunks.
  void Seal();

  /// Frees the table: no more rows.
  void FreeTable() {
    entries_.Free();
    group_count_ = 0;
  }

  /// Rows of a partition, first chunk; after Seal.
  RowChunk* chunks(uint32_t partition) { return partitions_[partition].first; }
  int64_t rows(uint32_t partition) const { return partitions_[partition].rows; }
  int64_t total_rows() const { return row_count_; }

  /// Whether groups may have more than one row.
  bool has_forgotten() const { return has_forgotten_; }
  /// Whether keys that are not equal had equal hashes, so many that they were not looked through.
  bool has_collided() const { return has_collided_; }
  int64_t held_bytes() const { return held_bytes_; }
  int64_t table_entries() const { return static_cast<int64_t>(mask_ + 1); }
  bool passes_through() const { return passes_through_; }
  int64_t widest_row_bytes() const { return widest_row_bytes_; }

 private:
  struct Partition {
    RowChunk* first = nullptr;
    RowChunk* last = nullptr;
    uint8_t* next = nullptr;
    uint8_t* end = nullptr;
    int64_t rows = 0;
  };

  // The arena.
  arrow::Result<uint8_t*> Allocate(int64_t bytes, bool must);
  arrow::Result<bool> AddChunk(Partition* partition, int64_t row_bytes, bool must);
  uint8_t* NewRow(uint64_t hash, const uint8_t* key, uint32_t key_bytes, bool must);
  arrow::Result<bool> Refused();

  // The table.
  arrow::Result<bool> InsertAll(const KeySlice& keys, uint8_t** rows, bool must);
  uint8_t* FindOne(uint64_t hash, const uint8_t* key, uint32_t key_bytes, bool must);
  arrow::Result<bool> MakeTableRoom(int32_t count, bool must);
  arrow::Result<bool> GrowTable(int64_t entries, bool must);
  void ForgetTable();
  void ChooseNextEpoch();

  arrow::Status SpillStored(uint32_t partition, RowChunk* first);
  void Reset();

  GroupStoreOptions options_;
  const GroupLayout& layout_;
  std::vector<Partition> partitions_;
  int64_t row_count_ = 0;
  arrow::Status status_;  // of the last NewRow
  int64_t widest_row_bytes_ = 0;

  std::vector<sort::MappedPages> extents_;
  size_t extent_ = 0;        // the one being used
  int64_t extent_used_ = 0;  // bytes of it
  size_t extents_kept_ = 0;  // what Start took
  int64_t extent_bytes_ = 0;
  std::vector<sort::MappedPages> wide_;  // for what is wider than an extent
  int64_t held_bytes_ = 0;
  StringSpace space_;

  sort::MappedPages entries_;
  uint64_t mask_ = 0;
  int64_t group_count_ = 0;  // entries in use
  sort::MappedPages block_;  // for stored forms

  // Adaptation.
  bool passes_through_ = false;
  int64_t epoch_rows_ = 0;  // rows looked for since the table was empty
  int64_t pass_rows_left_ = 0;
  int64_t cache_entries_ = 0;
  int64_t half_rows_ = 0;  // of them before the last growth
  bool has_forgotten_ = false;
  bool has_collided_ = false;
};

}  // namespace icebound::exec::aggregate
