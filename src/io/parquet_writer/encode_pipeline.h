// SPDX-License-Identifier: Apache-2.0
//
// Batches to columns, on several threads, in order.
//
//   Push(batch 7)   batches in flight: 5 6 7        column 0 is through 6 and takes 7 next; column 1 is busy with 5; ...
//
// A task is one column of one batch; a column is with one thread at a time and takes its batches in order, so encoders need no
// locks. Workers take the column that has most to do. Push returns as soon as few enough batches are in flight, and lends its
// thread to the workers until then: whoever makes the batches runs beside those who encode them, and no thread idles while there
// is work.
//
// Push tells the state of the columns after a batch that is certainly done: which one depends on the sizes of the batches alone,
// never on timing, so that whoever cuts row groups by that state cuts the same file every time.
#pragma once

#include <arrow/record_batch.h>
#include <arrow/status.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace icebound::io {

/// Sums over the columns.
struct ColumnsState {
  int64_t encoded_bytes = 0;  ///< of the open row group, if it ended now
  int64_t held_bytes = 0;     ///< memory that spilling or ending the row group gives back
  int64_t working_bytes = 0;  ///< memory of the encoders besides
  int64_t wide_bytes = 0;     ///< of pages that are one wide value: the next ones may be as wide
};

/// Push, Drain and ForEachColumn are for one thread; the work is done on that thread and `workers` others, which start with the
/// first Push.
class EncodePipeline {
 public:
  struct Callbacks {
    /// Encodes `column` of a batch. `worker` is 0 for the caller's thread, else 1 to workers.
    std::function<arrow::Status(int column, const arrow::RecordBatch& batch, int worker)> encode;
    /// The state of one column, between two of its batches.
    std::function<ColumnsState(int column)> state;
  };

  EncodePipeline(int workers, int columns, Callbacks callbacks);
  ~EncodePipeline();

  /// Hands a batch over. Returns the first error of any batch so far.
  arrow::Status Push(std::shared_ptr<arrow::RecordBatch> batch);

  /// The state after the newest batch that Push or Drain knows to be done.
  const ColumnsState& state() const { return state_; }

  /// Waits until nothing is in flight.
  arrow::Status Drain();

  /// Asks the columns for their state anew. Nothing may be in flight.
  arrow::Status RefreshState();

  /// Runs `work` for every column once, on all threads. Nothing may be in flight.
  arrow::Status ForEachColumn(const std::function<arrow::Status(int column, int worker)>& work);

 private:
  using Lock = std::unique_lock<std::mutex>;

  struct Flight {
    std::shared_ptr<arrow::RecordBatch> batch;  // null: the flight of ForEachColumn
    int64_t bytes = 0;
    int columns_left = 0;
    ColumnsState state;
  };
  struct Column {
    int64_t next_flight = 0;  // counted from the first ever
    int64_t spent_ns = 0;     // so far, on all its batches
    bool is_queued = false;   // in ready_, or with a thread
  };

  void Launch(Lock* lock, Flight flight);
  /// The ready column that has the most to do: a column is one thread's at a time, so whoever has long columns left last waits.
  int TakeReady();
  /// Runs one task, if there is one. The lock is released meanwhile.
  bool RunOneTask(Lock* lock, int worker);
  /// Helps and waits until the oldest flight is done, and drops it.
  arrow::Status RetireOldest(Lock* lock);
  void WorkerLoop(int worker);
  void StartWorkers();

  const int workers_;
  const Callbacks callbacks_;
  ColumnsState state_;

  std::mutex mutex_;
  std::condition_variable work_available_;
  std::condition_variable flight_done_;
  // Guarded by mutex_:
  std::deque<Flight> flights_;
  int64_t first_flight_ = 0;  // number of flights_.front()
  int64_t bytes_in_flight_ = 0;
  std::vector<Column> columns_;
  std::deque<int> ready_;  // columns with a batch to take
  const std::function<arrow::Status(int, int)>* for_each_ = nullptr;
  arrow::Status error_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace icebound::io
