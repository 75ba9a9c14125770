// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <arrow/result.h>

#include <cstdint>
#include <memory>
#include <optional>

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
  std::unique_ptr<RowMerger> merger;
  std::unique_ptr<RowBatch> rows;
};

/// The merged rows as batches. With more than one thread, merging and decoding run ahead on a thread of their own, as
/// far as a small queue allows, so that they overlap with what the consumer does with the batches; it starts with the
/// first Next and is stopped and joined by the destructor.
arrow::Result<std::unique_ptr<runtime::BatchStream>> MakeMergeStream(MergeStreamOptions options);

}  // namespace icebound::exec::sort
