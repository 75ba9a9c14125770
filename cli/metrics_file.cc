// SPDX-License-Identifier: Apache-2.0
#include "metrics_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "standard_output.h"

namespace icebound::cli {

nlohmann::ordered_json MetricsDocument(const QueryMetrics& totals, const OperatorsByStatement& statements) {
  nlohmann::ordered_json operators = nlohmann::ordered_json::array();
  for (size_t i = 0; i < statements.size(); ++i) {
    for (const OperatorMetrics& row : statements[i]) {
      operators.push_back({{"name", row.name},
                           {"statement", i + 1},
                           {"rows", row.rows},
                           {"seconds", row.seconds},
                           {"peak_bytes", row.peak_bytes},
                           {"spilled_bytes", row.spilled_bytes},
                           {"spill_levels", row.spill_levels}});
    }
  }
  return {{"peak_rss_bytes", totals.peak_rss_bytes},
          {"memory_limit_bytes", totals.memory_limit_bytes},
          {"peak_ledger_bytes", totals.peak_ledger_bytes},
          {"spilled_bytes", totals.spilled_bytes},
          {"spilled_raw_bytes", totals.spilled_raw_bytes},
          {"spill_peak_bytes", totals.spill_peak_bytes},
          {"spill_files", totals.spill_files},
          {"input_rows", totals.input_rows},
          {"output_rows", totals.output_rows},
          {"input_bytes", totals.input_bytes},
          {"wall_seconds", totals.wall_seconds},
          {"cpu_seconds", totals.cpu_seconds},
          {"operators", std::move(operators)}};
}

MetricsFile::MetricsFile(MetricsFile&& other) noexcept
    : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}

MetricsFile::~MetricsFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

arrow::Result<MetricsFile> MetricsFile::Open(const std::string& path) {
  MetricsFile file;
  if (path.empty()) return file;
  file.path_ = path;
  file.descriptor_ = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file.descriptor_ < 0) return arrow::Status::Invalid("cannot write metrics to ", path, ": ", std::strerror(errno));
  return file;
}

arrow::Status MetricsFile::Write(const nlohmann::ordered_json& document) {
  if (descriptor_ < 0) return arrow::Status::OK();
  ARROW_RETURN_NOT_OK(WriteFully(descriptor_, document.dump(2) + "\n", "metrics to " + path_));
  // Some file systems tell of a full disk only now.
  const int closed = close(std::exchange(descriptor_, -1));
  return closed == 0 ? arrow::Status::OK() : WriteError("metrics to " + path_, errno);
}

}  // namespace icebound::cli
