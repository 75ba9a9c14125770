// SPDX-License-Identifier: Apache-2.0
//
// Dynamic hybrid hash join in a bounded amount of memory (Jahangiri, Carey, Freytag, "Design Trade-offs for a Robust Dynamic
// Hybrid Hash Join", arXiv 2112.02480; row layout and tables after Kuiper et al., "Saving Private Hash Join", VLDB 2025).
//
//   Make -> StartBuild -> AppendBuild*, FinishBuildWorker (a thread each worker) -> FinishBuild -> StartProbe -> OpenStream*
//
//   1. Build (row_partitions.h). Rows of the build side are packed, keys first, into up to 64 partitions by the highest bits of
//      their hashes. When memory is refused the largest partition goes to disk, and what comes for it later follows.
//   2. Between build and probe nothing but kept rows is held, and the ledger may ask for those: the other input is prepared now,
//      and it may be a join or a sort itself.
//   3. Probe (block_matcher.h). Tables are made over the partitions in memory. Rows of the other side are matched at once if
//      their partition is there; others are written, as packed rows, to the file of their partition. A Bloom filter and the
//      ranges of the keys, of the whole build side, drop rows that match nothing before they are packed, where the join type
//      allows it. Where the keys are columns of a scan, it drops them itself (runtime/probe_filter.h).
//   4. Pairs (pair_join.h). When all streams have probed, memory is freed, and the streams share the spilled partitions: a pair
//      each, split again or gone over in chunks when it does not fit. Every row is written once for each time it is split.
//
// Memory contract. All is charged to one spillable consumer, through a purse that keeps what comes back (sort_budget.h). The
// build side takes what the ledger lends, but leaves kLeftPart of what is free to the other input's scan and to the operators
// above. Each phase takes its floor before it begins: build, a chunk for each worker and partition; probe, a chunk for each
// stream and spilled partition, for which more partitions are spilled if need be; pairs, some blocks. So it ends whatever the
// volumes are.
//
// Worked example: 15M rows of 70 bytes to build, limit 256 MiB, two threads, 231 MiB of grants: 138 MiB may be held, so 8 of 64
// partitions stay in memory. The other side has 60M rows of 26 bytes, of which 7/8, 1.4 GB, are written. A pair is 16 MiB of rows
// and 3 MiB of table against 24 MiB: it fits twice, once for each thread.
#pragma once

#include <arrow/record_batch.h>
#include <arrow/result.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "exec/join/join_filter.h"
#include "exec/join/join_plan.h"
#include "exec/join/join_table.h"
#include "exec/join/join_work.h"
#include "exec/join/pair_join.h"
#include "exec/join/published_keys.h"
#include "exec/join/row_partitions.h"
#include "exec/operator.h"
#include "memory/memory_ledger.h"

namespace icebound::exec::join {

struct HashJoinOptions {
  runtime::QueryContext* context = nullptr;
  runtime::OperatorMetrics* metrics = nullptr;
  std::shared_ptr<arrow::Schema> left;
  std::shared_ptr<arrow::Schema> right;
  expr::JoinType type = expr::JoinType::kInner;
  expr::JoinCondition condition;
  bool build_left = false;
  std::shared_ptr<arrow::Schema> output;
  std::shared_ptr<runtime::ProbeFilter> probe_filter_or_null;  ///< told what the build side's keys are
};

/// AppendBuild and FinishBuildWorker: a thread each worker. Streams: a thread each. The rest: the coordinating thread. Destroy
/// the streams before the join.
class HashJoin final : public memory::Reclaimer {
 public:
  static arrow::Result<std::unique_ptr<HashJoin>> Make(HashJoinOptions options);
  ~HashJoin() override;

  arrow::Status StartBuild(int workers);
  arrow::Status AppendBuild(int worker, const std::shared_ptr<arrow::RecordBatch>& batch);
  arrow::Status FinishBuildWorker(int worker);
  arrow::Status FinishBuild();

  /// Whether anything can come out for rows of the other side: false when nothing was built and nothing is emitted without a
  /// match.
  bool NeedsProbe() const;

  /// Takes the other side's operator, prepared; null when NeedsProbe is false.
  arrow::Status StartProbe(std::unique_ptr<Operator> probe);
  int max_streams() const { return streams_max_; }
  arrow::Result<std::unique_ptr<runtime::BatchStream>> OpenStream();

  /// Stored bytes written so far.
  int64_t spilled_bytes() const { return spilled_bytes_.load(std::memory_order_relaxed); }

  // memory::Reclaimer
  int64_t ReclaimableBytes() const override;
  arrow::Result<int64_t> Reclaim(int64_t bytes) override;

 private:
  friend class HashJoinStream;

  /// What is left to do when all have probed: a pair, or the fates of the rows of a partition in memory.
  struct Task {
    std::optional<JoinPair> pair;
    int partition = -1;
  };
  enum class Phase { kIdle, kBuild, kParked, kProbe };

  /// One worker of the build.
  struct BuildWorker {
    std::vector<uint64_t> hashes;
    std::vector<uint8_t> valid;
    std::vector<uint8_t> targets;
    std::vector<KeyRange> ranges;
    int64_t rows = 0;
  };

  HashJoin(const HashJoinOptions& options, JoinRules rules);
  arrow::Status MakeSides(const HashJoinOptions& options);
  void ChooseSizes(int workers);
  int64_t HeldBytesMax() const;
  int64_t WorkspaceBytes() const;
  arrow::Status GiveBackIfAsked();
  arrow::Status ReserveProbe();
  arrow::Status BuildTables();
  arrow::Status BuildTable(int partition);
  arrow::Status FinishProbing();
  void FreePartition(int partition);
  void FinishStreams();
  int64_t PairBytesMax(int tasks_left) const;
  void UpdateMetrics();

  // For Reclaim, which may come as long as the consumer lives: hence declared before it.
  mutable std::mutex reclaim_mutex_;
  Phase phase_ = Phase::kIdle;  // guarded by reclaim_mutex_

  JoinPlan plan_;
  std::unique_ptr<memory::MemoryConsumer> consumer_;
  sort::SortBudget budget_;
  const int streams_max_;
  int bits_ = 5;
  int64_t chunk_bytes_ = 64 << 10;  // of the build side, and at most of a block of either
  int64_t probe_chunk_bytes_ = 4 << 10;
  int64_t floor_bytes_ = 0;
  sort::MappedPages workspace_;  // stands for the vectors of workers and streams
  std::vector<BuildWorker> build_workers_;
  std::unique_ptr<RowPartitions> build_;
  std::unique_ptr<RowPartitions> spilled_probe_;  // null when no partition is spilled
  std::optional<JoinFilter> filter_;
  bool may_filter_ = false;
  std::optional<PublishedKeys> published_keys_;
  std::shared_ptr<runtime::ProbeFilter> probe_filter_;  // null: nobody asks, or the keys are not plain
  int64_t build_rows_ = 0;
  std::vector<JoinTable> tables_;
  std::vector<bool> is_spilled_;
  int64_t average_row_bytes_ = 0;
  bool may_repeat_ = false;
  std::unique_ptr<Operator> probe_;
  int probe_streams_max_ = 0;  // constant while streams run, as probe_ is not
  std::atomic<int> opened_{0};
  JoinWork<Task> work_;

  std::atomic<int64_t> spilled_bytes_{0};
  std::atomic<int64_t> spill_levels_{0};
};

}  // namespace icebound::exec::join
