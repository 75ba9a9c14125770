// SPDX-License-Identifier: Apache-2.0
//
// The sorter's output: merged rows, turned back into batches.
//
// On one thread each Next merges the rows of a batch and decodes them. With more, a thread of its own merges ahead
// while the consumer works. Decoding is done by whoever has time: when a batch is already waiting, the merge thread
// is ahead and decodes the next one itself (the consumer is a Parquet writer, say); when none is, the consumer waits,
// and gets the rows to decode them while the next are merged.
#pragma once

#include <arrow/result.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "exec/sort/row_format.h"
#include "exec/sort/row_merger.h"
#include "runtime/batch_stream.h"
#include "runtime/query_context.h"

namespace icebound::exec::sort {

/// What a sorter's output stream is made of. Pointers outlive the stream.
struct MergeStreamOptions {
  runtime::QueryContext* context = nullptr;
  runtime::OperatorMetrics* metrics = nullptr;
  const SortRowFormat* format = nullptr;
  arrow::MemoryPool* pool = nullptr;  ///< for the batches
  std::optional<int64_t> fetch_rows;  ///< rows after which the stream ends
  int threads = 1;                    ///< with more than one the merge runs ahead of its consumer
  std::unique_ptr<RowMerger> merger;
  std::vector<std::unique_ptr<RowBatch>> row_batches;  ///< as many as RowBatchesWanted
};

/// Buffers of rows between the merge and the decoding: one on one thread; else one that is filled, one on its way,
/// one being decoded.
int RowBatchesWanted(int threads);

/// The merge thread starts with the first Next and is stopped and joined by the destructor.
arrow::Result<std::unique_ptr<runtime::BatchStream>> MakeMergeStream(MergeStreamOptions options);

}  // namespace icebound::exec::sort
