// SPDX-License-Identifier: Apache-2.0
#include "io/parquet_writer/encode_pipeline.h"

#include <arrow/util/byte_size.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace icebound::io {
namespace {

/// Batches wait here on top of what their maker holds. Four of the usual 1 MiB keep two threads busy through the uneven columns
/// of a table.
constexpr int64_t kMaxBytesInFlight = int64_t{4} << 20;
constexpr size_t kMaxFlights = 4;

/// Ready columns that are looked at for the one with the most work; more would cost more than they gain.
constexpr size_t kCompared = 32;

void Add(const ColumnsState& column, ColumnsState* sum) {
  sum->encoded_bytes += column.encoded_bytes;
  sum->held_bytes += column.held_bytes;
  sum->working_bytes += column.working_bytes;
  sum->wide_bytes += column.wide_bytes;
}

}  // namespace

EncodePipeline::EncodePipeline(int workers, int columns, Callbacks callbacks)
    : workers_(workers), callbacks_(std::move(callbacks)), columns_(static_cast<size_t>(columns)) {}

EncodePipeline::~EncodePipeline() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  work_available_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

arrow::Status EncodePipeline::Push(std::shared_ptr<arrow::RecordBatch> batch) {
  StartWorkers();
  Flight flight;
  ARROW_ASSIGN_OR_RAISE(flight.bytes, arrow::util::ReferencedBufferSize(*batch));
  flight.batch = std::move(batch);
  Lock lock(mutex_);
  while (!flights_.empty() && (flights_.size() >= kMaxFlights || bytes_in_flight_ + flight.bytes > kMaxBytesInFlight)) {
    ARROW_RETURN_NOT_OK(RetireOldest(&lock));
  }
  Launch(&lock, std::move(flight));
  // Without workers the caller does it all; and a batch of very wide rows must be gone before the next one is made.
  while (!flights_.empty() && (workers_ == 0 || bytes_in_flight_ > kMaxBytesInFlight)) ARROW_RETURN_NOT_OK(RetireOldest(&lock));
  return error_;
}

arrow::Status EncodePipeline::Drain() {
  Lock lock(mutex_);
  while (!flights_.empty()) ARROW_RETURN_NOT_OK(RetireOldest(&lock));
  return error_;
}

arrow::Status EncodePipeline::ForEachColumn(const std::function<arrow::Status(int, int)>& work) {
  Lock lock(mutex_);
  for_each_ = &work;
  Launch(&lock, Flight());
  const arrow::Status status = RetireOldest(&lock);
  for_each_ = nullptr;
  return status;
}

arrow::Status EncodePipeline::RefreshState() {
  state_ = {};
  for (int column = 0; column < static_cast<int>(columns_.size()); ++column) Add(callbacks_.state(column), &state_);
  return arrow::Status::OK();
}

void EncodePipeline::Launch(Lock*, Flight flight) {
  bytes_in_flight_ += flight.bytes;
  flight.columns_left = static_cast<int>(columns_.size());
  flights_.push_back(std::move(flight));
  for (size_t i = 0; i < columns_.size(); ++i) {
    if (std::exchange(columns_[i].is_queued, true)) continue;
    ready_.push_back(static_cast<int>(i));
  }
  work_available_.notify_all();
}

bool EncodePipeline::RunOneTask(Lock* lock, int worker) {
  if (ready_.empty()) return false;
  const int index = TakeReady();
  Column& column = columns_[static_cast<size_t>(index)];
  Flight& flight = flights_[static_cast<size_t>(column.next_flight -
                                                first_flight_)];  // deques keep references through push and pop at the ends
  const auto* for_each = for_each_;
  const bool failed = !error_.ok();
  lock->unlock();
  const auto started = std::chrono::steady_clock::now();
  arrow::Status status;
  ColumnsState state;
  if (!failed) {
    status = flight.batch == nullptr ? (*for_each)(index, worker) : callbacks_.encode(index, *flight.batch, worker);
    state = callbacks_.state(index);
  }
  const auto spent = std::chrono::steady_clock::now() - started;
  lock->lock();
  column.spent_ns += std::chrono::duration_cast<std::chrono::nanoseconds>(spent).count();
  if (!status.ok() && error_.ok()) error_ = std::move(status);
  Add(state, &flight.state);
  if (--flight.columns_left == 0) flight_done_.notify_all();
  ++column.next_flight;
  if (column.next_flight < first_flight_ + static_cast<int64_t>(flights_.size())) {
    ready_.push_back(index);
    work_available_.notify_one();
  } else {
    column.is_queued = false;
  }
  return true;
}

int EncodePipeline::TakeReady() {
  const int64_t end_flight = first_flight_ + static_cast<int64_t>(flights_.size());
  size_t best = 0;
  double most_work = -1;
  for (size_t i = 0; i < std::min(ready_.size(), kCompared); ++i) {
    const Column& column = columns_[static_cast<size_t>(ready_[i])];
    const double work = static_cast<double>(column.spent_ns) * static_cast<double>(end_flight - column.next_flight);
    if (work > most_work) {
      most_work = work;
      best = i;
    }
  }
  const int index = ready_[best];
  ready_[best] = ready_.front();
  ready_.pop_front();
  return index;
}

arrow::Status EncodePipeline::RetireOldest(Lock* lock) {
  while (flights_.front().columns_left > 0) {
    if (!RunOneTask(lock, /*worker=*/0)) {
      flight_done_.wait(*lock);  // the rest is with other threads
    }
  }
  state_ = flights_.front().state;
  bytes_in_flight_ -= flights_.front().bytes;
  flights_.pop_front();
  ++first_flight_;
  return error_;
}

void EncodePipeline::WorkerLoop(int worker) {
  Lock lock(mutex_);
  while (!stopping_) {
    if (!RunOneTask(&lock, worker)) work_available_.wait(lock);
  }
}

void EncodePipeline::StartWorkers() {
  if (static_cast<int>(threads_.size()) == workers_) return;
  for (int worker = 1; worker <= workers_; ++worker) {
    threads_.emplace_back([this, worker] { WorkerLoop(worker); });
  }
}

}  // namespace icebound::io
