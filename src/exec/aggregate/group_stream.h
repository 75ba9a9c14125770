// SPDX-License-Identifier: Apache-2.0
//
// One stream of a HashAggregator's output: takes partitions, merges each to one row a group, and gives these out.
//
//   in memory     the workers' rows are merged where they lie (in_place_merge.h); when there was one worker, whose table never
//                 forgot, they are given out as they are
//   on disk       the rows are read back into an exact store; when that does not fit, it goes to 16 parts of its own, with what
//                 was merged so far merged, which come next
//   not divided   after kLevelsMax levels, when one part has nearly all of the rows, or when many keys have one hash: sorted
#pragma once

#include <memory>
#include <vector>

#include "exec/aggregate/hash_aggregator.h"
#include "exec/aggregate/in_place_merge.h"
#include "exec/aggregate/sorted_groups.h"

namespace icebound::exec::aggregate {

class PartitionStream final : public GroupRowStream {
 public:
  /// A partition is split in 2^kBits.
  static constexpr int kBits = 4;

  explicit PartitionStream(HashAggregator* aggregator);

  arrow::Result<std::span<const uint8_t* const>> Next() override;

 private:
  arrow::Result<bool> NextPartition();
  arrow::Status MergeInMemory(uint32_t partition);
  arrow::Status MergeStored(StoredRows stored);
  arrow::Status StartStore(int level);
  arrow::Result<uint8_t*> AddSlice(uint8_t* rows, int32_t count);
  arrow::Status SpillStore();
  arrow::Status SortStored(StoredRows stored, StoredRowReader* rest_or_null);
  arrow::Status QueueParts(const StoredRows& parent);
  void NextOfChunks();

  HashAggregator& aggregator_;
  const GroupLayout& layout_;
  std::vector<const uint8_t*> rows_;  // given out last

  // Where rows come from now: one of these.
  std::vector<RowChunk*> chunk_lists_;
  RowChunk* chunk_ = nullptr;
  uint8_t* chunk_row_ = nullptr;
  std::unique_ptr<InPlaceMerge> merge_;
  std::unique_ptr<SortedGroups> sorted_;

  std::unique_ptr<PartitionFiles> files_;
  std::unique_ptr<GroupStore> store_;
  bool spilled_ = false;
  int level_ = 0;  // of files_
};

}  // namespace icebound::exec::aggregate
