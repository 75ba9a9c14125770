// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>

#include "exec/operator.h"
#include "icebound/metrics.h"
#include "runtime/query_context.h"
#include "sql/sql_error.h"

namespace icebound {

/// Resources that all statements of one session share. Owned by the session; members are thread safe.
struct SessionResources {
  memory::MemoryLedgerPtr ledger;
  std::unique_ptr<spill::DiskManager> disk;
  runtime::CancellationToken cancellation;
  int64_t memory_limit_bytes = 0;
  int threads = 1;
  int64_t batch_rows = 8192;
  bool force_spill = false;  ///< for tests: runtime::QueryContext::force_spill
};

/// Counters of one statement that outlive its operators: metrics() and the progress bar read them from any thread.
class StatementMetrics {
 public:
  explicit StatementMetrics(const SessionResources& resources);

  runtime::MetricsRegistry& registry() { return registry_; }
  /// Freezes the clocks; further calls change nothing.
  void MarkFinished();
  bool finished() const;
  /// Thread safe.
  QueryMetrics Snapshot() const;

 private:
  using Clock = std::chrono::steady_clock;

  const SessionResources& resources_;
  runtime::MetricsRegistry registry_;
  const Clock::time_point started_ = Clock::now();
  const double cpu_seconds_before_;
  const int64_t spilled_bytes_before_;
  const int64_t spilled_raw_bytes_before_;
  const int64_t spill_files_before_;
  mutable std::mutex mutex_;
  std::optional<QueryMetrics> final_;  // guarded by mutex_: set by MarkFinished
};

/// One planned statement: the context its operators run in and the operators themselves. Lives until its rows are read or
/// dropped. One thread at a time.
class Statement {
 public:
  Statement(SessionResources& resources, std::shared_ptr<StatementMetrics> metrics);
  ~Statement() { Close(); }

  const runtime::QueryContext& context() const { return context_; }
  runtime::QueryContext* mutable_context() { return &context_; }
  StatementMetrics& metrics() { return *metrics_; }
  const std::shared_ptr<StatementMetrics>& shared_metrics() const { return metrics_; }
  void set_root(std::unique_ptr<exec::Operator> root) { root_ = std::move(root); }
  exec::Operator* root() { return root_.get(); }
  /// The text that errors point into.
  void set_lines(sql::StatementLines lines) { lines_ = std::move(lines); }
  /// The heap that the bound plan takes, and before it what parsing takes; freed with the operators.
  memory::Reservation& plan_memory() { return plan_memory_; }
  /// False for COPY, whose one row is the count of the rows that its operator reports itself.
  void set_counts_output(bool counts_output) { counts_output_ = counts_output; }

  /// Runs the breakers, so that Next() has rows at once. Idempotent.
  arrow::Status Prepare();

  /// The next batch of the answer; runs the breakers first when this is the first call. nullptr at the end, when everything is
  /// freed.
  arrow::Result<std::shared_ptr<arrow::RecordBatch>> Next();

  /// Stops and frees operators, spill files and memory. Idempotent.
  void Close();

 private:
  arrow::Status OpenRoot();

  const std::shared_ptr<StatementMetrics> metrics_;
  runtime::QueryContext context_;
  bool counts_output_ = true;
  const std::unique_ptr<memory::MemoryConsumer> plan_consumer_;
  memory::Reservation plan_memory_;
  sql::StatementLines lines_;
  std::unique_ptr<exec::Operator> root_;
  std::unique_ptr<runtime::BatchStream> stream_;  // declared after root_: freed before it
};

}  // namespace icebound
