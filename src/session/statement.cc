// SPDX-License-Identifier: Apache-2.0
#include "session/statement.h"

#include <sys/resource.h>

namespace icebound {
namespace {

double CpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) { return static_cast<double>(time.tv_sec) + time.tv_usec * 1e-6; };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

int64_t NowMicroseconds() {
  return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace

StatementMetrics::StatementMetrics(const SessionResources& resources)
    : resources_(resources),
      cpu_seconds_before_(CpuSeconds()),
      spilled_bytes_before_(resources.disk->written_bytes()),
      spilled_raw_bytes_before_(resources.disk->written_raw_bytes()),
      spill_files_before_(resources.disk->created_files()) {}

void StatementMetrics::MarkFinished() {
  QueryMetrics snapshot = Snapshot();
  std::lock_guard lock(mutex_);
  if (!final_) final_ = std::move(snapshot);
}

bool StatementMetrics::finished() const {
  std::lock_guard lock(mutex_);
  return final_.has_value();
}

QueryMetrics StatementMetrics::Snapshot() const {
  {
    std::lock_guard lock(mutex_);
    if (final_) return *final_;
  }
  QueryMetrics out;
  out.peak_rss_bytes = memory::ProbeResidentMemory().peak_bytes;
  out.memory_limit_bytes = resources_.memory_limit_bytes;
  out.peak_ledger_bytes = resources_.ledger->peak_bytes();
  out.reserved_bytes = resources_.ledger->reserved_bytes();
  out.spilled_bytes = resources_.disk->written_bytes() - spilled_bytes_before_;
  out.spilled_raw_bytes = resources_.disk->written_raw_bytes() - spilled_raw_bytes_before_;
  out.spill_peak_bytes = resources_.disk->peak_used_bytes();
  out.spill_files = resources_.disk->created_files() - spill_files_before_;
  out.input_rows = registry_.input_rows;
  out.input_bytes = registry_.input_bytes;
  out.input_rows_expected = registry_.input_rows_total;
  out.output_rows = registry_.output_rows;
  out.output_rows_expected = registry_.output_rows_total;
  out.wall_seconds = std::chrono::duration<double>(Clock::now() - started_).count();
  out.cpu_seconds = CpuSeconds() - cpu_seconds_before_;
  registry_.ForEachOperator([&](const runtime::OperatorMetrics& metrics) {
    OperatorMetrics& row = out.operators.emplace_back();
    row.name = metrics.name;
    row.rows = metrics.rows;
    row.seconds = static_cast<double>(metrics.busy_ns) * 1e-9;
    row.peak_bytes = metrics.peak_bytes;
    row.spilled_bytes = metrics.spilled_bytes;
    row.spill_levels = metrics.spill_levels;
  });
  return out;
}

Statement::Statement(SessionResources& resources, std::shared_ptr<StatementMetrics> metrics)
    : metrics_(std::move(metrics)),
      context_{*resources.ledger, *resources.disk, resources.cancellation, metrics_->registry()},
      plan_consumer_(resources.ledger->AddConsumer("parser")),
      plan_memory_(plan_consumer_.get()) {
  context_.threads = resources.threads;
  context_.batch_rows = resources.batch_rows;
  context_.force_spill = resources.force_spill;
  context_.statement_time_us = NowMicroseconds();
}

arrow::Status Statement::Prepare() {
  if (root_ == nullptr || stream_ != nullptr) return arrow::Status::OK();
  const arrow::Status status = OpenRoot();
  if (status.ok()) return status;
  arrow::Status shown = lines_.Position(status);
  Close();
  return shown;
}

arrow::Status Statement::OpenRoot() {
  ARROW_RETURN_NOT_OK(context_.cancellation.Check());
  ARROW_RETURN_NOT_OK(root_->Prepare());
  if (counts_output_) context_.metrics.output_rows_total = root_->RowsToCome().value_or(0);
  ARROW_ASSIGN_OR_RAISE(stream_, root_->OpenStream());
  return arrow::Status::OK();
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> Statement::Next() {
  ARROW_RETURN_NOT_OK(Prepare());
  if (stream_ == nullptr) return nullptr;
  auto batch = stream_->Next();
  if (!batch.ok()) {
    arrow::Status shown = lines_.Position(batch.status());
    Close();
    return shown;
  }
  if (*batch == nullptr) {
    Close();
  } else if (counts_output_) {
    context_.metrics.output_rows.fetch_add((*batch)->num_rows(), std::memory_order_relaxed);
  }
  return batch;
}

void Statement::Close() {
  stream_.reset();
  root_.reset();
  plan_memory_.Free();
  // What the operators freed is of no use to the next statement in this shape, and a host program wants it back.
  context_.ledger.Trim();
  metrics_->MarkFinished();
}

}  // namespace icebound
