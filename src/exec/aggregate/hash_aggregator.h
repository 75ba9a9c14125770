// SPDX-License-Identifier: Apache-2.0
//
// Aggregation by hash in a bounded amount of memory.
//
//   Make -> StartInput(workers) -> Append(worker, batch)* -> FinishWorker(worker), a thread each -> FinishInput
//        -> OpenStream*, a thread each
//
//   1. Input (group_store.h). Each worker gathers groups in its own store, partitioned by hash. When memory is refused it writes
//      all its rows to the partitions' files and goes on. Batches whose keys are few are grouped by small numbers (key_codes.h),
//      and their states updated a group at a time (grouped_update.h).
//   2. FinishInput. When nothing was written and the rows leave enough memory to others, they stay; else all are written.
//   3. Output (group_stream.h), partition after partition, on as many streams as there are threads: the rows of a group that
//      came from several workers or spills are merged to one. A partition that does not fit is split again, and what cannot
//      be split is sorted.
//
// Memory contract. All of it is charged to one spillable consumer. StartInput takes what each worker needs to go on after a
// spill, and makes sure of what each stream needs to split a partition; what a phase frees stays reserved until the next has
// its own (exec/sort/sort_budget.h). So nothing is ever reserved on the way to the disk. The ledger may ask for memory during
// phase 1: idle workers spill at once, busy ones with their next batch; and after phase 2, until the first stream begins.
//
// Worked example: 60M rows, 15M groups of 80 bytes under grants of 200 MiB. The rows come clustered, so each worker makes about
// 7.5M rows of them and writes 12 times; the 64 partitions have 19 MB each and are merged one a thread.
#pragma once

#include <arrow/result.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "exec/aggregate/argument_columns.h"
#include "exec/aggregate/group_layout.h"
#include "exec/aggregate/group_store.h"
#include "exec/aggregate/partition_files.h"
#include "exec/sort/sort_budget.h"
#include "memory/memory_ledger.h"
#include "runtime/query_context.h"

namespace icebound::exec::aggregate {

/// What Append takes: keys as columns (key_columns.h), arguments, and the states each argument feeds.
struct GroupBatch {
  int64_t rows = 0;
  arrow::ArrayVector keys;
  std::vector<ArgumentColumn> arguments;
  const std::vector<std::vector<int>>* states_of_argument = nullptr;
};

/// Rows of groups, each group once. Not thread safe.
class GroupRowStream {
 public:
  virtual ~GroupRowStream() = default;
  /// The next rows, at most batch_rows and batch_bytes of the context (one wider row comes alone); they are good until the next
  /// call. Empty at the end.
  virtual arrow::Result<std::span<const uint8_t* const>> Next() = 0;
};

/// Append and FinishWorker: one thread a worker. Streams: any thread. The rest: the coordinating thread. Destroy the streams
/// before the aggregator.
class HashAggregator final : public memory::Reclaimer {
 public:
  /// `name` is that of the consumer and of spill files; the metrics' spill counters are added to.
  static arrow::Result<std::unique_ptr<HashAggregator>> Make(runtime::QueryContext* context, std::string name,
                                                             std::unique_ptr<GroupLayout> layout,
                                                             runtime::OperatorMetrics* metrics);
  ~HashAggregator() override;

  const GroupLayout& layout() const { return *layout_; }

  /// How many workers may take rows when each needs its start for every one of `peers` (see StartInput), and half of what is free
  /// is left to what gives the rows.
  int WorkersMax(int peers) const;

  /// `peers`: consumers that take rows side by side, this one among them.
  arrow::Status StartInput(int workers, int peers = 1);
  arrow::Status Append(int worker, const GroupBatch& batch);
  arrow::Status FinishWorker(int worker);
  arrow::Status FinishInput();

  int max_streams() const { return max_streams_; }
  arrow::Result<std::unique_ptr<GroupRowStream>> OpenStream();

  /// For the batches that are made of the rows.
  arrow::MemoryPool* pool() { return consumer_->pool(); }

  // What happened, for metrics and tests.
  int64_t spilled_bytes() const { return spilled_bytes_.load(std::memory_order_relaxed); }
  int64_t spill_levels() const { return spill_levels_.load(std::memory_order_relaxed); }
  int64_t sorted_partitions() const { return sorted_partitions_.load(std::memory_order_relaxed); }

  // memory::Reclaimer
  int64_t ReclaimableBytes() const override;
  arrow::Result<int64_t> Reclaim(int64_t bytes) override;

 private:
  friend class PartitionStream;
  struct Worker;

  HashAggregator(runtime::QueryContext* context, std::string name, std::unique_ptr<GroupLayout> layout,
                 runtime::OperatorMetrics* metrics);
  void SetTakingRows(bool taking_rows);
  arrow::Result<int32_t> LoadKeys(Worker* worker, const arrow::RecordBatch& keys, int64_t first, int64_t rows_max);
  arrow::Status AppendSlice(Worker* worker, const GroupBatch& batch, const arrow::RecordBatch& keys, int64_t first,
                            int32_t count);
  arrow::Status FindRows(Worker* worker, const arrow::RecordBatch& keys, int64_t first, int32_t count, bool must);
  arrow::Status FindGroups(Worker* worker, const arrow::RecordBatch& keys, int64_t first, int32_t count, bool must);
  void Update(Worker* worker, const StatePlace& place, const SliceValues& values, int32_t count, bool* rows_are_set);
  arrow::Status SpillWorker(Worker* worker);
  int64_t FreeBytes() const;
  int64_t StreamBytes() const;
  void ChooseStreams(int64_t largest_bytes);
  int PartitionBits() const;
  arrow::Status SpillAll();
  arrow::Status SpillWaiting();
  int64_t QueueStored();

  // Work of the streams: partitions in memory, then those on disk.
  struct Work {
    bool in_memory = false;
    uint32_t partition = 0;
    StoredRows stored;
  };
  std::vector<GroupStore*> Stores();
  bool TakeWork(Work* work);
  void AddWork(std::vector<StoredRows> parts);
  void CountSpill(int64_t bytes, int64_t level);
  void UpdateMetrics();

  // For Reclaim, which may come as long as the consumer lives: hence declared before it.
  mutable std::mutex reclaim_mutex_;
  bool taking_rows_ = false;      // guarded by reclaim_mutex_: workers_ is complete and may be looked at
  bool waits_in_memory_ = false;  // guarded by reclaim_mutex_: all rows are in memory, and no stream has begun

  runtime::QueryContext* const context_;
  const std::string name_;
  runtime::OperatorMetrics* const metrics_;
  const std::unique_ptr<GroupLayout> layout_;
  const std::unique_ptr<memory::MemoryConsumer> consumer_;
  sort::SortBudget budget_;
  std::unique_ptr<PartitionFiles> files_;
  std::vector<std::unique_ptr<Worker>> workers_;
  int64_t chunk_bytes_ = 0;
  int64_t floor_bytes_ = 0;  // what Reclaim leaves
  int max_streams_ = 1;
  std::mutex fallback_mutex_;  // held while rows in memory are written because they cannot be merged

  std::mutex work_mutex_;
  uint32_t next_partition_ = 0;     // guarded by work_mutex_: of those in memory
  uint32_t memory_partitions_ = 0;  // set before streams are opened
  std::deque<StoredRows> stored_;   // guarded by work_mutex_

  std::atomic<int64_t> spilled_bytes_{0};
  std::atomic<int64_t> spill_levels_{0};
  std::atomic<int64_t> sorted_partitions_{0};
};

}  // namespace icebound::exec::aggregate
