// SPDX-License-Identifier: Apache-2.0
//
// External merge sort in a bounded amount of memory.
//
//   Make -> StartInput(workers) -> Append(worker, batch)* -> FinishWorker(worker), a thread each -> FinishInput -> OpenStream
//
//   1. Run generation (run_builder.h). Each worker packs rows, key first, into its arena; when its part of the fair
//      share is used up it sorts them (entry_sort.h) and writes a run (run_file.h). Rows that all fit are never
//      written.
//   2. Merge planning (FinishInput). Every run of a merge needs one block of memory. The merge may use kMergeShare of
//      what is free then, because somebody will do something with the rows (a Parquet writer wants some 20 MiB). When
//      all runs fit, one merge gives the output. Otherwise runs are merged into longer ones first: always the
//      smallest, and in the first step just as many as make every later merge a full one, so that the fewest rows are
//      written twice. With more than one thread two groups are merged side by side, each in half the memory, as long as
//      that memory holds enough runs: the same rows are written twice, in half the time.
//      Wide rows are the exception to the share: who takes them holds several of them at a time, whatever the grants
//      are, so the merge leaves kConsumerRows of the widest row to it, and holds one itself (run_file.h).
//   3. Merge (row_merger.h, merge_stream.h): a tree of losers, rows back to columns, ahead on a thread of its own.
//      Blocks are freed on disk as they are read.
//
// Memory contract. All of it is charged to one spillable consumer. Start reserves the workspace of each worker and
// the floor of the smallest merge; what a phase frees stays reserved until the next phase has what it needs
// (sort_budget.h); so nothing is ever reserved on the way to the disk, and another consumer that takes every free
// byte cannot stop the sort. The ledger may ask for memory during phase 1: idle builders spill at once, busy ones
// with their next batch.
//
// Worked example: 9 GB of rows under grants of 80 MiB, 26 of them in use by the scan. Two workers with 27 MiB each
// make about 380 runs of 24 MB; a block is 96 KiB, 380 of them are 36 MiB, below 0.6 * 80 MiB: one merge, every row
// is written once.
//
// With a row limit (ORDER BY ... LIMIT k) the same machine drops rows at or above the k-th smallest key known (key_cutoff.h).
#pragma once

#include <arrow/result.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "exec/sort/key_cutoff.h"
#include "exec/sort/row_format.h"
#include "exec/sort/row_merger.h"
#include "exec/sort/run_builder.h"
#include "exec/sort/sort_budget.h"
#include "memory/memory_ledger.h"
#include "runtime/batch_stream.h"
#include "runtime/query_context.h"

namespace icebound::exec::sort {

struct SorterOptions {
  std::vector<SortColumn> keys;
  int output_columns = 0;             ///< the first columns of the input come out again; the rest is only sorted by
  std::optional<int64_t> fetch_rows;  ///< only the first rows of the order are wanted
};

/// Append and FinishWorker: one thread a worker. The rest: the coordinating thread. Destroy the stream before the sorter.
class ExternalSorter final : public memory::Reclaimer {
 public:
  static arrow::Result<std::unique_ptr<ExternalSorter>> Make(runtime::QueryContext* context,
                                                             const std::shared_ptr<arrow::Schema>& input, SorterOptions options,
                                                             runtime::OperatorMetrics* metrics);
  ~ExternalSorter() override;

  const std::shared_ptr<arrow::Schema>& output_schema() const { return format_->output_schema(); }

  arrow::Status StartInput(int workers);
  arrow::Status Append(int worker, const arrow::RecordBatch& batch);
  arrow::Status FinishWorker(int worker);

  /// Plans the merge, and does those that must come before the last one.
  arrow::Status FinishInput();

  /// The rows in order; once.
  arrow::Result<std::unique_ptr<runtime::BatchStream>> OpenStream();

  // What happened, for metrics and tests. After FinishInput.
  int64_t initial_runs() const { return initial_runs_; }
  int64_t final_fan_in() const { return final_fan_in_; }
  int64_t merge_levels() const { return merge_levels_; }    ///< times the most often written row was written
  int64_t paired_merges() const { return paired_merges_; }  ///< merges before the last one that ran beside another
  int64_t spilled_bytes() const { return shared_.spilled_bytes.load(std::memory_order_relaxed); }

  // memory::Reclaimer
  int64_t ReclaimableBytes() const override;
  arrow::Result<int64_t> Reclaim(int64_t bytes) override;

 private:
  /// A run and how often its rows have been written.
  struct PlannedRun {
    SortRun run;
    int64_t level = 1;
  };

  /// Runs that become one.
  struct MergeGroup {
    std::vector<SortRun> runs;
    PlannedRun merged;
  };

  ExternalSorter(runtime::QueryContext* context, std::unique_ptr<SortRowFormat> format, SorterOptions options,
                 runtime::OperatorMetrics* metrics);
  void SetTakingRows(bool taking_rows);
  void ChooseSizes(int workers);
  int64_t FreeBytes() const;
  int64_t MergeBytesMax() const;
  int64_t OutputBytesMax() const;
  int64_t OutputBufferBytes() const;
  bool HasLonelyRows() const;
  int64_t WideRowBytes() const;
  int64_t BytesForConsumer() const;
  int MergeThreads() const;
  arrow::Status SpillWhatIsInMemory();
  arrow::Status ReduceRuns();
  int64_t FanIn(int64_t bytes) const;
  std::vector<int64_t> ChooseMerges() const;
  int64_t PairFanIn() const;
  MergeGroup TakeSmallest(int64_t count);
  arrow::Status MergeSmallest(const std::vector<int64_t>& counts);
  arrow::Status Merge(MergeGroup* group);
  arrow::Status ChargeRuns();
  void UpdateMetrics();

  // For Reclaim, which may come as long as the consumer lives: hence declared before it.
  mutable std::mutex reclaim_mutex_;
  bool taking_rows_ = false;  // guarded by reclaim_mutex_: builders_ is complete and may be looked at

  runtime::QueryContext* const context_;
  runtime::OperatorMetrics* const metrics_;
  const SorterOptions options_;
  const std::unique_ptr<SortRowFormat> format_;
  const std::unique_ptr<memory::MemoryConsumer> consumer_;
  SortBudget budget_;
  std::optional<KeyCutoff> cutoff_;
  SortShared shared_;
  MappedPages cutoff_pages_;  // stands for the cutoff's small strings
  std::vector<std::unique_ptr<SortRunBuilder>> builders_;
  std::vector<PlannedRun> runs_;  // largest first, once planned
  int64_t charged_runs_ = 0;      // runs whose state is paid for
  int64_t initial_runs_ = 0;
  int64_t final_fan_in_ = 0;
  int64_t merge_levels_ = 0;
  int64_t paired_merges_ = 0;
};

}  // namespace icebound::exec::sort
