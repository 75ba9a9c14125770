// SPDX-License-Identifier: Apache-2.0
//
// One worker's half of a sort: rows in, sorted runs out.
//
//   Append      rows go to the arena and the sort array, in slices that fit the cache, until memory is refused: then
//               they are sorted, written as a run, and the same chunks are filled again
//   Finish      sorts what is left; writes it too when anything of this sort is on disk
//   TakeRuns    the runs; or SortedEntries, when the rows stayed in memory
//
// On the way it watches whether keys arrive in order (or in reverse): such a run needs no sorting, and runs that
// follow one another are written as one. With a row limit (ORDER BY ... LIMIT k), rows at or above the shared cutoff
// are dropped as soon as their keys are made, runs are cut to k rows, and the arena is compacted whenever it holds
// twice that many.
#pragma once

#include <arrow/record_batch.h>
#include <arrow/status.h>

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "exec/sort/key_cutoff.h"
#include "exec/sort/key_prefix.h"
#include "exec/sort/mapped_pages.h"
#include "exec/sort/row_arena.h"
#include "exec/sort/row_format.h"
#include "exec/sort/row_spread.h"
#include "exec/sort/run_file.h"
#include "runtime/cancellation.h"

namespace icebound::exec::sort {

/// What the workers of one sort have in common. Outlives the builders.
struct SortShared {
  SortShared(const SortRowFormat& format, SortBudget* budget, spill::DiskManager* disk,
             const runtime::CancellationToken& cancellation)
      : format(format), budget(*budget), disk(*disk), cancellation(cancellation) {}

  const SortRowFormat& format;
  SortBudget& budget;
  spill::DiskManager& disk;
  const runtime::CancellationToken& cancellation;
  KeyCutoff* cutoff_or_null = nullptr;
  int workers = 1;
  bool force_spill = false;
  int64_t block_bytes = 0;
  int64_t chunk_bytes = 0;
  int64_t scratch_entries = 0;
  int64_t row_bytes_max = 0;              ///< a wider row is the plan's failure
  int64_t floor_bytes = 0;                ///< reserved from start to end, so that the smallest merge is always possible
  std::atomic<bool> spilled{false};       ///< something of this sort is on disk
  std::atomic<int64_t> spilled_bytes{0};  ///< stored bytes of finished runs
  std::atomic<int64_t> widest_row_bytes{0};
};

/// Append and Finish are for one thread; Reclaim may come from any other at any time, and does nothing while the
/// builder is at work.
class SortRunBuilder {
 public:
  explicit SortRunBuilder(SortShared* shared);

  /// Takes the workspace: block, scratch and slice arrays. Nothing is reserved after it on the way to the disk.
  arrow::Status Start();

  arrow::Status Append(const arrow::RecordBatch& batch);
  arrow::Status Finish();

  /// After Finish: writes rows that stayed in memory, because another worker has spilled or the merge needs the room.
  arrow::Status SpillRest();

  /// After Finish: gives the workspace to the budget, and fixes rows that are still in memory there.
  void FreeWorkspace();

  std::vector<SortRun> TakeRuns() { return std::move(runs_); }
  std::span<const SortEntry> SortedEntries() const { return {entries(), static_cast<size_t>(count_)}; }
  const RowSpread& spread() const { return spread_; }  ///< of the rows in memory
  int64_t held_bytes() const { return held_bytes_.load(std::memory_order_relaxed); }

  /// Spills the rows in memory and gives their memory to the budget. False when at work.
  arrow::Result<bool> Reclaim();

  /// Bytes Reclaim would free if the builder is not at work. Cheap.
  int64_t ReclaimableBytes() const;

 private:
  class Exclusive;

  // All below need the builder to be held (Exclusive), but for held_bytes_.
  arrow::Status AppendBatch(const SortInput& input);
  arrow::Status AppendFiltered(const SortInput& input);
  arrow::Status AppendSlice(const SortInput& input, int64_t first_row, int64_t rows);
  arrow::Result<int64_t> Place(int64_t begin, int64_t rows, bool must_place_one);
  void WatchOrder(int64_t begin);
  arrow::Status MakeRoom();
  bool GrowEntries(int64_t count);
  arrow::Status ChargeRuns();
  arrow::Status KeepFirstRows();
  void SortRows();
  arrow::Status SpillRows();
  arrow::Status CloseRun();
  void ForgetRows();
  void FreeRows();
  void NoteHeld();
  int64_t HeldBytesMax() const;
  arrow::Status TooWide(int64_t row_bytes, int64_t key_bytes) const;

  SortEntry* entries() const { return reinterpret_cast<SortEntry*>(entry_pages_.data()); }

  SortShared& shared_;
  const RowLayout& layout_;
  RowArena arena_;
  RowArena spare_arena_;  // where KeepFirstRows moves rows
  MappedPages entry_pages_;
  MappedPages workspace_;
  uint8_t* block_ = nullptr;  // of the run writer; between runs, keys are tested here
  std::span<SortEntry> scratch_;
  std::span<uint32_t> row_bytes_;
  std::span<uint32_t> key_bytes_;
  std::span<uint8_t*> cursors_;
  std::optional<RunWriter> writer_;

  int64_t count_ = 0;      // rows in memory
  RowSpread spread_;       // of the rows in memory
  RowSpread seen_spread_;  // of all rows so far
  // What the prefixes in the sort array are made with, while the rows are in the cache: it suited all rows before
  // those in memory, and most likely suits them too.
  std::optional<KeyPrefix> prefix_;
  bool ascending_ = true;  // of the rows in memory, in the order they came
  bool descending_ = true;
  bool sorted_ = false;
  bool finished_ = false;
  std::atomic<bool> pinned_{false};  // the merge has the rows' addresses
  std::vector<SortRun> runs_;
  int64_t charged_runs_ = 0;  // runs whose state is paid for
  uint64_t cutoff_version_ = 0;
  std::string cutoff_;
  std::atomic<int64_t> held_bytes_{0};  // arena and entries
  std::atomic<bool> busy_{false};
};

}  // namespace icebound::exec::sort
