// SPDX-License-Identifier: Apache-2.0
#include "exec/sort/merge_stream.h"

#include <signal.h>

#include <system_error>
#include <thread>
#include <utility>

#include "base/error.h"
#include "runtime/bounded_queue.h"
#include "runtime/operator_timer.h"

namespace icebound::exec::sort {
namespace {

/// Batches that may wait in the queue, by the bytes of their rows: two, so that a producer and a consumer of uneven
/// speed seldom wait for each other, and no more, because they are memory the consumer cannot use.
constexpr int64_t kQueuedBatches = 2;

/// Merges and decodes on the caller's thread.
class DirectMergeStream final : public runtime::BatchStream {
 public:
  explicit DirectMergeStream(MergeStreamOptions options)
      : options_(std::move(options)), rows_left_(options_.fetch_rows.value_or(std::numeric_limits<int64_t>::max())) {}

  arrow::Result<std::shared_ptr<arrow::RecordBatch>> Next() override {
    if (options_.merger == nullptr) return nullptr;
    const runtime::OperatorTimer timer(*options_.metrics);
    ARROW_RETURN_NOT_OK(options_.context->cancellation.Check());
    if (rows_left_ > 0) ARROW_RETURN_NOT_OK(options_.merger->Fill(options_.rows.get()));
    options_.rows->Truncate(rows_left_);
    const int64_t row_count = options_.rows->row_count();
    if (rows_left_ == 0 || row_count == 0) {
      Close();
      return nullptr;
    }
    ARROW_ASSIGN_OR_RAISE(auto batch, options_.format->Decode(options_.rows->rows(), options_.pool));
    rows_left_ -= row_count;
    options_.metrics->rows.fetch_add(row_count, std::memory_order_relaxed);
    return batch;
  }

 private:
  /// Gives memory and disk back as soon as the last row has gone, not when the stream goes.
  void Close() {
    options_.merger.reset();
    options_.rows.reset();
  }

  MergeStreamOptions options_;
  int64_t rows_left_;
};

/// Runs another stream ahead on a thread of its own.
class ThreadedMergeStream final : public runtime::BatchStream {
 public:
  ThreadedMergeStream(std::unique_ptr<runtime::BatchStream> source, int64_t batch_bytes)
      : source_(std::move(source)), queue_(kQueuedBatches * batch_bytes), batch_bytes_(batch_bytes) {}

  ~ThreadedMergeStream() override {
    queue_.Abort(MakeError(ErrorKind::kCancelled, "the reader of a sort has gone"));
    if (thread_.joinable()) thread_.join();
  }

  arrow::Result<std::shared_ptr<arrow::RecordBatch>> Next() override {
    if (!thread_.joinable()) ARROW_RETURN_NOT_OK(StartThread());
    ARROW_ASSIGN_OR_RAISE(std::optional<std::shared_ptr<arrow::RecordBatch>> batch, queue_.Pop());
    return batch.has_value() ? std::move(*batch) : nullptr;
  }

 private:
  arrow::Status StartThread() {
    // Signals are for the threads of the program that wait for them.
    sigset_t all;
    sigset_t previous;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &previous);
    arrow::Status status;
    try {
      thread_ = std::thread([this] { Produce(); });
    } catch (const std::system_error& error) {
      status = MakeError(ErrorKind::kIo, "cannot start the merge thread of a sort: {}", error.what());
    }
    pthread_sigmask(SIG_SETMASK, &previous, nullptr);
    return status;
  }

  void Produce() {
    while (true) {
      arrow::Result<std::shared_ptr<arrow::RecordBatch>> batch = source_->Next();
      if (!batch.ok()) return queue_.Abort(batch.status());
      if (*batch == nullptr) return queue_.Close();
      if (!queue_.Push(std::move(*batch), batch_bytes_).ok()) return;  // the other side has aborted
    }
  }

  const std::unique_ptr<runtime::BatchStream> source_;
  runtime::BoundedQueue<std::shared_ptr<arrow::RecordBatch>> queue_;
  const int64_t batch_bytes_;
  std::thread thread_;
};

}  // namespace

arrow::Result<std::unique_ptr<runtime::BatchStream>> MakeMergeStream(MergeStreamOptions options) {
  const bool threaded = options.context->threads > 1;
  const int64_t batch_bytes = options.context->batch_bytes;
  auto direct = std::make_unique<DirectMergeStream>(std::move(options));
  if (!threaded) return direct;
  return std::make_unique<ThreadedMergeStream>(std::move(direct), batch_bytes);
}

}  // namespace icebound::exec::sort
