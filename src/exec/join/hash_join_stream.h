// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <arrow/buffer.h>
#include <arrow/record_batch.h>
#include <arrow/result.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "exec/join/block_matcher.h"
#include "exec/join/hash_join.h"
#include "runtime/batch_stream.h"

namespace icebound::exec::join {

/// Probes with one of the other side's streams, then works off tasks (hash_join.h, phases 3 and 4). For one thread.
class HashJoinStream final : public runtime::BatchStream {
 public:
  HashJoinStream(HashJoin* join, int number);
  ~HashJoinStream() override;

  arrow::Result<std::shared_ptr<arrow::RecordBatch>> Next() override;

 private:
  enum class Step { kStart, kProbe, kWait, kTask, kEnd };
  using BatchPtr = std::shared_ptr<arrow::RecordBatch>;

  arrow::Result<BatchPtr> Advance();
  arrow::Status Start();
  arrow::Result<BatchPtr> Probe();
  arrow::Status StopProbing();
  arrow::Status TakeTask();
  arrow::Result<BatchPtr> RunTask();
  arrow::Status FinishTask();

  arrow::Status StartBatch(const BatchPtr& batch);
  void Filter(const SideBatch& rows);
  void Direct();
  arrow::Status SpillRows(const SideBatch& rows);
  arrow::Status MatchRows(const SideBatch& rows);
  arrow::Status PackKeys(const SideBatch& rows);

  HashJoin& join_;
  JoinPlan& plan_;
  const int number_;
  JoinOutput output_;
  BlockMatcher matcher_;
  Step step_ = Step::kStart;
  std::unique_ptr<runtime::BatchStream> input_;
  BatchPtr waiting_;           // a batch larger than is matched at a time
  int64_t waiting_first_ = 0;  // its first row to come
  bool is_matching_ = false;

  // The batch being matched.
  SideBatch rows_;
  std::vector<uint64_t> hashes_;
  std::vector<uint8_t> valid_;
  std::vector<uint8_t> pass_;
  std::vector<uint8_t> targets_;        // of rows in memory
  std::vector<uint8_t> spill_targets_;  // of the others
  std::vector<uint8_t> matched_;
  std::vector<int32_t> chosen_;
  std::vector<int32_t> spilled_;
  std::vector<uint8_t*> key_places_;
  std::vector<uint32_t> key_sizes_;
  std::unique_ptr<arrow::ResizableBuffer> key_bytes_;
  bool has_null_keys_ = false;

  // Whether filtering pays.
  int64_t bloom_rows_ = 0;
  int64_t bloom_passed_ = 0;

  std::optional<HashJoin::Task> task_;
  std::unique_ptr<PairJoin> pair_;
  std::optional<FateScan> fates_;
  size_t next_chunk_ = 0;  // of the partition whose fates are told
};

}  // namespace icebound::exec::join
