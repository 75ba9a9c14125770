// SPDX-License-Identifier: Apache-2.0
#include "session/session_metrics.h"

#include <utility>

namespace icebound {
namespace {

/// Adds what can be added; peaks, limits and operators stay as they are.
void AddCounters(const QueryMetrics& statement, QueryMetrics* sum) {
  sum->input_rows += statement.input_rows;
  sum->input_bytes += statement.input_bytes;
  sum->input_rows_expected += statement.input_rows_expected;
  sum->output_rows += statement.output_rows;
  sum->output_rows_expected += statement.output_rows_expected;
  sum->wall_seconds += statement.wall_seconds;
  sum->cpu_seconds += statement.cpu_seconds;
}

}  // namespace

std::shared_ptr<StatementMetrics> SessionMetrics::Begin() {
  auto begun = std::make_shared<StatementMetrics>(resources_);
  std::lock_guard lock(mutex_);
  std::erase_if(running_, [this](const std::shared_ptr<StatementMetrics>& statement) {
    if (!statement->finished()) return false;
    AddCounters(statement->Snapshot(), &ended_);
    return true;
  });
  running_.push_back(begun);
  last_ = begun;
  return begun;
}

QueryMetrics SessionMetrics::Snapshot() const {
  QueryMetrics sum;
  {
    std::lock_guard lock(mutex_);
    sum = ended_;
    for (const auto& statement : running_) AddCounters(statement->Snapshot(), &sum);
    if (last_ != nullptr) sum.operators = last_->Snapshot().operators;
  }
  // The disk and the ledger count for the whole session themselves.
  sum.peak_rss_bytes = memory::ProbeResidentMemory().peak_bytes;
  sum.memory_limit_bytes = resources_.memory_limit_bytes;
  sum.peak_ledger_bytes = resources_.ledger->peak_bytes();
  sum.reserved_bytes = resources_.ledger->reserved_bytes();
  sum.spilled_bytes = resources_.disk->written_bytes();
  sum.spilled_raw_bytes = resources_.disk->written_raw_bytes();
  sum.spill_peak_bytes = resources_.disk->peak_used_bytes();
  sum.spill_files = resources_.disk->created_files();
  return sum;
}

}  // namespace icebound
