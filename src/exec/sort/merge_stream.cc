// SPDX-License-Identifier: Apache-2.0
#include "exec/sort/merge_stream.h"

#include <signal.h>

#include <limits>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "base/error.h"
#include "runtime/bounded_queue.h"
#include "runtime/operator_timer.h"

namespace icebound::exec::sort {
namespace {

/// Batches that may wait for the consumer: two, so that a producer and a consumer of uneven speed seldom wait for
/// each other, and no more, because they are memory the consumer cannot use.
constexpr int64_t kQueuedBatches = 2;

using BatchPtr = std::shared_ptr<arrow::RecordBatch>;

/// The merge up to the row limit, and the decoding. Fill is for one thread at a time; Decode for any.
class MergedRows {
 public:
  explicit MergedRows(MergeStreamOptions* options)
      : context_(*options->context),
        metrics_(*options->metrics),
        format_(*options->format),
        pool_(options->pool),
        merger_(std::move(options->merger)),
        rows_left_(options->fetch_rows.value_or(std::numeric_limits<int64_t>::max())) {}

  /// The next rows; none at the end, when the merge has given its memory and its files back.
  arrow::Status Fill(RowBatch* rows) {
    const runtime::OperatorTimer timer(metrics_);
    rows->Clear();
    if (merger_ == nullptr) return arrow::Status::OK();
    ARROW_RETURN_NOT_OK(context_.cancellation.Check());
    if (rows_left_ > 0) ARROW_RETURN_NOT_OK(merger_->Fill(rows));
    rows->Truncate(rows_left_);
    rows_left_ -= rows->row_count();
    if (rows->empty()) merger_.reset();
    return arrow::Status::OK();
  }

  arrow::Result<BatchPtr> Decode(RowBatch* rows) {
    const runtime::OperatorTimer timer(metrics_);
    metrics_.rows.fetch_add(rows->row_count(), std::memory_order_relaxed);
    const std::shared_ptr<arrow::Buffer> owner = rows->TakeOwner();
    return format_.Decode(rows->rows(), pool_, owner);
  }

 private:
  runtime::QueryContext& context_;
  runtime::OperatorMetrics& metrics_;
  const SortRowFormat& format_;
  arrow::MemoryPool* const pool_;
  std::unique_ptr<RowMerger> merger_;
  int64_t rows_left_;
};

/// Merges and decodes on the caller's thread.
class DirectMergeStream final : public runtime::BatchStream {
 public:
  explicit DirectMergeStream(MergeStreamOptions options) : merged_(&options), rows_(std::move(options.row_batches[0])) {}

  arrow::Result<BatchPtr> Next() override {
    if (rows_ == nullptr) return nullptr;
    ARROW_RETURN_NOT_OK(merged_.Fill(rows_.get()));
    if (!rows_->empty()) return merged_.Decode(rows_.get());
    rows_.reset();
    return nullptr;
  }

 private:
  MergedRows merged_;
  std::unique_ptr<RowBatch> rows_;  // null after the end
};

/// Merges ahead on a thread of its own.
class ThreadedMergeStream final : public runtime::BatchStream {
 public:
  explicit ThreadedMergeStream(MergeStreamOptions options)
      : merged_(&options), queue_(kQueuedBatches), spare_(std::move(options.row_batches)) {}

  ~ThreadedMergeStream() override {
    queue_.Abort(MakeError(ErrorKind::kCancelled, "the reader of a sort has gone"));
    if (thread_.joinable()) thread_.join();
  }

  arrow::Result<BatchPtr> Next() override {
    if (!thread_.joinable()) ARROW_RETURN_NOT_OK(StartThread());
    ARROW_ASSIGN_OR_RAISE(std::optional<Item> item, queue_.Pop());
    if (!item.has_value()) return nullptr;
    if (item->rows == nullptr) return std::move(item->batch);
    ARROW_ASSIGN_OR_RAISE(BatchPtr batch, merged_.Decode(item->rows.get()));
    PutSpare(std::move(item->rows));
    return batch;
  }

 private:
  /// Decoded, or still to be.
  struct Item {
    BatchPtr batch;
    std::unique_ptr<RowBatch> rows;
  };

  arrow::Status StartThread();
  arrow::Status Produce();

  std::unique_ptr<RowBatch> TakeSpare() {
    std::lock_guard lock(spare_mutex_);
    if (spare_.empty()) return nullptr;
    std::unique_ptr<RowBatch> rows = std::move(spare_.back());
    spare_.pop_back();
    return rows;
  }
  void PutSpare(std::unique_ptr<RowBatch> rows) {
    std::lock_guard lock(spare_mutex_);
    if (!ended_) spare_.push_back(std::move(rows));
  }
  void EndSpare() {
    std::lock_guard lock(spare_mutex_);
    ended_ = true;
    spare_.clear();
  }

  MergedRows merged_;
  runtime::BoundedQueue<Item> queue_;  // an item counts 1
  std::mutex spare_mutex_;
  std::vector<std::unique_ptr<RowBatch>> spare_;  // guarded by spare_mutex_
  bool ended_ = false;                            // guarded by spare_mutex_: buffers are no longer needed
  std::thread thread_;
};

arrow::Status ThreadedMergeStream::StartThread() {
  // Signals are for the threads of the program that wait for them.
  sigset_t all;
  sigset_t previous;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &previous);
  arrow::Status status;
  try {
    thread_ = std::thread([this] {
      arrow::Status produced = Produce();
      if (!produced.ok()) queue_.Abort(std::move(produced));
    });
  } catch (const std::system_error& error) {
    status = MakeError(ErrorKind::kIo, "cannot start the merge thread of a sort: {}", error.what());
  }
  pthread_sigmask(SIG_SETMASK, &previous, nullptr);
  return status;
}

arrow::Status ThreadedMergeStream::Produce() {
  std::unique_ptr<RowBatch> rows = TakeSpare();
  while (true) {
    ARROW_RETURN_NOT_OK(merged_.Fill(rows.get()));
    if (rows->empty()) break;
    // A row that lies in the merge's own memory must be decoded before the merge goes on.
    std::unique_ptr<RowBatch> next;
    if (queue_.bytes() == 0 && !rows->borrows_row()) next = TakeSpare();
    Item item;
    if (next != nullptr) {
      item.rows = std::exchange(rows, std::move(next));
    } else {
      ARROW_ASSIGN_OR_RAISE(item.batch, merged_.Decode(rows.get()));
    }
    ARROW_RETURN_NOT_OK(queue_.Push(std::move(item), 1));
  }
  rows.reset();
  EndSpare();
  queue_.Close();
  return arrow::Status::OK();
}

}  // namespace

int RowBatchesWanted(int threads) { return threads > 1 ? 3 : 1; }

arrow::Result<std::unique_ptr<runtime::BatchStream>> MakeMergeStream(MergeStreamOptions options) {
  if (options.threads > 1) return std::make_unique<ThreadedMergeStream>(std::move(options));
  return std::make_unique<DirectMergeStream>(std::move(options));
}

}  // namespace icebound::exec::sort
