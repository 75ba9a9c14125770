// SPDX-License-Identifier: Apache-2.0
//
// Merges sorted runs, on disk or in memory, into one ordered stream of rows, with a tree of losers (Knuth, TAOCP 3,
// 5.4.1): each inner node keeps the run that lost there, so the next row costs one comparison a level, against losers
// that are already in the cache.
//
//   Fill(batch)    the winner's row goes to the batch (copied when it lies in a block that will be read over), the
//                  run moves on to its next row, whose code (merge_order.h) is replayed up the tree.
//   wide rows      A row wider than a block is compared by its first piece and loaded when it has won: into the batch, or,
//                  when it is wider than that too, into a buffer of its own, which the batch of columns may keep, or
//                  into one that all runs share. It is handed out by address, alone; its run moves on at the next
//                  Fill. As the row before is gone then, codes relative to it cannot be made: the tree is built anew.
//
// Rows of equal keys come in no particular order.
#pragma once

#include <arrow/memory_pool.h>
#include <arrow/result.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "exec/sort/key_prefix.h"
#include "exec/sort/row_batch.h"
#include "exec/sort/row_layout.h"
#include "exec/sort/run_file.h"

namespace icebound::exec::sort {

/// Not thread safe.
class RowMerger {
 public:
  /// What one merge reads. `entries` are sorted and stay, with their rows, until the merger is gone.
  struct Inputs {
    std::vector<SortRun> runs;
    std::vector<std::span<const SortEntry>> entries;
    RowSpread spread;  ///< of all rows
  };

  /// Bytes of the buffer that the wide rows of these runs share; 0 without any.
  static int64_t WideRowBytes(const SortRun& run);

  /// Opens the runs: their buffers come from the budget (RunReader::BufferBytes each, and the scratch of the largest). With a
  /// pool, each wide row gets a buffer from there; without one, they share a buffer that comes from the budget, too
  /// (WideRowBytes of the widest). The layout outlives the merger.
  static arrow::Result<std::unique_ptr<RowMerger>> Make(const RowLayout& layout, SortBudget* budget, Inputs inputs,
                                                        arrow::MemoryPool* wide_row_pool_or_null = nullptr);

  virtual ~RowMerger() = default;

  /// Clears the batch and fills it with the next rows; it stays empty at the end. The addresses live until the next call.
  virtual arrow::Status Fill(RowBatch* batch) = 0;
};

}  // namespace icebound::exec::sort
