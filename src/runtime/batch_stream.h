// SPDX-License-Identifier: Apache-2.0
//
// The protocol between everything that produces batches and everything that takes them. A pipeline is a chain of BatchStreams
// pulled by one thread; several threads run several chains over one StreamSource, which hands out morsels (a Parquet row group,
// a merge range). Pull keeps one-to-many operators (join probes, unnesting) and LIMIT simple, and a result reader is just a
// stream.
//
// A batch is bounded by rows and bytes (QueryContext::batch_rows, batch_bytes); one wider row travels alone. Its buffers are
// charged to the MemoryConsumer of whoever made it, until the last reference goes: hold a batch no longer than needed, and copy
// what you keep.
#pragma once

#include <arrow/record_batch.h>
#include <arrow/result.h>

#include <memory>
#include <string>

namespace icebound::runtime {

/// Batches on one thread. Next() gives a non-empty batch, or nullptr at the end (and ever after).
class BatchStream {
 public:
  virtual ~BatchStream() = default;
  virtual arrow::Result<std::shared_ptr<arrow::RecordBatch>> Next() = 0;
};

/// Makes the streams of one pipeline. OpenStream may be called from any thread, at most max_streams() times side by side;
/// together the streams deliver every row once. When max_streams() is 1 the rows keep the source's own order.
class StreamSource {
 public:
  virtual ~StreamSource() = default;
  virtual const std::shared_ptr<arrow::Schema>& schema() const = 0;
  /// How many streams may run side by side: bounded by morsels, and by what memory can hold.
  virtual int max_streams() const = 0;
  virtual arrow::Result<std::unique_ptr<BatchStream>> OpenStream() = 0;
  /// High-water mark of what its streams held together; 0 when it reads what others hold. Thread safe.
  virtual int64_t peak_bytes() const { return 0; }
};

/// Where batches end: a file writer, a queue. Not thread safe. Exactly one of Finish and Abort is called, or neither: destruction
/// aborts.
class BatchSink {
 public:
  virtual ~BatchSink() = default;
  virtual arrow::Status Write(const std::shared_ptr<arrow::RecordBatch>& batch) = 0;
  /// Makes everything written durable and visible at once (atomic rename, completed upload).
  virtual arrow::Status Finish() = 0;
  /// Leaves nothing behind. Safe after any error.
  virtual void Abort() = 0;
};

}  // namespace icebound::runtime
