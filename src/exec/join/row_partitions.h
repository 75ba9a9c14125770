// SPDX-License-Identifier: Apache-2.0
//
// Packed rows of one side, split by hash into partitions that stay in memory while there is room and go to spill files, the
// largest first, when there is not.
//
//   StartWorker -> Append* -> FinishWorker, a thread each -> chunks(p), TakeSpilled(p)
//
// Every worker fills one chunk a partition. A chunk is what is written to disk, as one block, and what comes back: rows are
// packed once. A full chunk of a partition in memory is kept, together with the reservation for its part of the hash table that
// will be built over it; when memory for the next chunk is refused, the partition with the most kept bytes goes to disk, and its
// chunks are filled again. From then on that partition's chunks are written as they fill.
//
// Memory contract. Start takes a chunk for every worker and partition; nothing else is needed to make progress, so nothing is
// reserved on the way to the disk. A row wider than half a chunk has pages of its own; they are the plan's minimum for such rows.
#pragma once

#include <arrow/record_batch.h>
#include <arrow/result.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "exec/join/join_side.h"
#include "exec/sort/mapped_pages.h"
#include "exec/sort/sort_budget.h"
#include "row/hash.h"
#include "runtime/query_context.h"
#include "spill/spill_file.h"

namespace icebound::exec::join {

/// Not a partition: the row is left out.
constexpr uint8_t kNoPartition = 0xFF;

/// Hash table bytes a row, reserved with it.
constexpr int64_t kTableBytesPerRow = 12;

/// The partition of a hash among 2^bits. Levels are independent of each other.
inline uint8_t PartitionOf(uint64_t hash, int level, int bits) {
  if (bits == 0) return 0;
  if (level > 0) hash = row::Mix(hash + static_cast<uint64_t>(level) * 0x9E3779B97F4A7C15ULL);
  return static_cast<uint8_t>(hash >> (64 - bits));
}

/// Rows one behind the other.
struct RowChunk {
  sort::MappedPages pages;
  int64_t used_bytes = 0;
  int64_t rows = 0;
};

/// Rows on disk. A plain value; `file` is null when there are none.
struct SpilledRows {
  std::shared_ptr<spill::SpillFile> file;
  int64_t rows = 0;
  int64_t bytes = 0;
  int64_t widest_row_bytes = 0;
};

struct RowPartitionsOptions {
  runtime::QueryContext* context = nullptr;
  sort::SortBudget* budget = nullptr;
  const JoinSide* side = nullptr;
  std::string purpose;  ///< in names of spill files
  int bits = 5;         ///< 2^bits partitions
  int level = 0;
  int workers = 1;
  int64_t chunk_bytes = 64 << 10;
  /// Bytes the owner may hold: asked when a chunk is full. Null: all rows go to disk.
  std::function<int64_t()> held_bytes_max;
};

/// Append and FinishWorker: a thread each worker. SpillLargest: any thread. The rest: one thread, when no other is at work.
class RowPartitions {
 public:
  static constexpr int kBitsMax = 6;

  /// A block of the file holds at most so much; a wider row goes on in the blocks behind it, which count no rows.
  static constexpr int64_t kPieceBytes = int64_t{8} << 20;
  static_assert(kPieceBytes <= spill::kMaxBlockBytes);

  explicit RowPartitions(RowPartitionsOptions options);

  /// What a worker needs when all partitions are spilled.
  static int64_t WorkerBytes(int partitions, int64_t chunk_bytes) { return partitions * chunk_bytes; }

  /// Takes the chunks of a worker for the partitions `wanted[p]`; empty: for all.
  arrow::Status StartWorker(int worker, const std::vector<bool>& wanted = {});

  /// Appends the rows of `packed` to the partitions `targets` says; kNoPartition leaves a row out.
  arrow::Status Append(int worker, const arrow::RecordBatch& packed, std::span<const uint64_t> hashes,
                       std::span<const uint8_t> targets);

  /// Appends a copy of one row with its head.
  arrow::Status AppendRow(int worker, uint8_t partition, const uint8_t* row, int64_t bytes);

  arrow::Status FinishWorker(int worker);

  int partition_count() const { return 1 << options_.bits; }
  int bits() const { return options_.bits; }
  bool is_spilled(int partition) const { return partitions_[partition]->spilled.load(std::memory_order_relaxed); }
  int64_t rows(int partition) const { return partitions_[partition]->rows; }
  std::vector<RowChunk>& chunks(int partition) { return partitions_[partition]->chunks; }

  /// What was reserved for the table of a partition; the caller gives it back to the budget, or builds the table in it.
  int64_t table_bytes(int partition) const { return partitions_[partition]->table_bytes; }
  void ForgetTableBytes(int partition) { partitions_[partition]->table_bytes = 0; }

  /// The spilled rows of a partition, to be read; once.
  arrow::Result<SpilledRows> TakeSpilled(int partition);

  /// Writes the partition that keeps the most. Returns its bytes, 0 when none is kept. With `wait` false it may also return 0
  /// because another thread is at it.
  arrow::Result<int64_t> SpillLargest(bool wait = true);

  /// Gives unused chunks back to the budget.
  void FreeSpareChunks();

  int64_t kept_bytes() const { return kept_bytes_.load(std::memory_order_relaxed); }
  int64_t spilled_bytes() const { return spilled_bytes_.load(std::memory_order_relaxed); }
  int64_t widest_row_bytes() const { return widest_row_bytes_.load(std::memory_order_relaxed); }
  const JoinSide& side() const { return *options_.side; }

 private:
  struct Partition {
    std::mutex mutex;
    std::atomic<bool> spilled{false};        // set under mutex
    std::atomic<int64_t> kept_bytes{0};      // changed under mutex
    std::vector<RowChunk> chunks;            // guarded by mutex
    int64_t table_bytes = 0;                 // guarded by mutex
    int64_t rows = 0;                        // guarded by mutex: in full chunks
    int64_t bytes = 0;                       // guarded by mutex: written
    std::shared_ptr<spill::SpillFile> file;  // guarded by mutex
  };

  /// A chunk being filled.
  struct Filling {
    uint8_t* next = nullptr;
    uint8_t* end = nullptr;
    int64_t rows = 0;
    sort::MappedPages pages;
  };

  struct Worker {
    std::vector<Filling> filling;
    std::vector<uint32_t> sizes;
    std::vector<uint8_t*> places;
    std::vector<uint8_t> trash;
    int64_t widest_row_bytes = 0;
  };

  bool IsWide(int64_t bytes) const { return bytes > options_.chunk_bytes / 2; }
  static uint8_t* Begin(const Filling& filling) { return filling.pages.data(); }
  void Use(Filling* filling, sort::MappedPages pages);
  int64_t PlaceRange(Worker* worker, int64_t begin, int64_t end, std::span<const uint64_t> hashes,
                     std::span<const uint8_t> targets);
  arrow::Status AppendWide(Worker* worker, const arrow::RecordBatch& packed, int64_t row, uint64_t hash, uint8_t partition);
  arrow::Status AddWide(uint8_t partition, sort::MappedPages pages, int64_t bytes);
  arrow::Result<sort::MappedPages> WidePages(int64_t bytes);
  arrow::Status HandOver(Worker* worker, uint8_t partition);
  bool TryKeep(Worker* worker, uint8_t partition);
  arrow::Status WriteFilling(Worker* worker, uint8_t partition);
  arrow::Status Write(Partition* partition, const uint8_t* rows, int64_t bytes, int64_t row_count);
  arrow::Result<int64_t> SpillLocked(Partition* partition);
  bool TryGetChunk(sort::MappedPages* pages);
  bool MayHold(int64_t more_bytes) const;

  const RowPartitionsOptions options_;
  std::vector<std::unique_ptr<Partition>> partitions_;
  std::vector<Worker> workers_;
  std::mutex spill_mutex_;  // held while the largest partition is chosen and written
  std::mutex spare_mutex_;
  std::vector<sort::MappedPages> spare_;  // guarded by spare_mutex_
  std::atomic<int64_t> kept_bytes_{0};
  std::atomic<int64_t> spilled_bytes_{0};
  std::atomic<int64_t> widest_row_bytes_{0};
};

/// Reads spilled rows back, a block at a time. Not thread safe.
class SpilledRowReader {
 public:
  static arrow::Result<SpilledRowReader> Open(const SpilledRows& rows, const JoinSide& side, const spill::ReadOptions& options);

  /// Whether the next block, whole rows, fits into `pages` behind `used_bytes`, kReadSlackBytes included. True at the end.
  arrow::Result<bool> Fits(const sort::MappedPages& pages, int64_t used_bytes);
  arrow::Result<bool> AtEnd();

  /// Appends the next block to `pages` behind *used_bytes, growing them when needed. Returns its rows; 0 at the end.
  arrow::Result<int64_t> Read(sort::MappedPages* pages, int64_t* used_bytes);

 private:
  SpilledRowReader(const JoinSide& side) : side_(&side) {}

  const JoinSide* side_;
  std::unique_ptr<spill::SpillReader> reader_;  // null: no rows
};

}  // namespace icebound::exec::join
