// SPDX-License-Identifier: Apache-2.0
#include "options.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

namespace icebound::cli {

arrow::Result<std::shared_ptr<Session>> OpenSession(const GlobalOptions& options) {
  ARROW_ASSIGN_OR_RAISE(const int64_t limit_bytes, ParseMemoryLimit(options.memory_limit));
  BoundedSessionConfig config(limit_bytes);
  config.target_partitions = options.threads;
  config.batch_size = options.batch_size;
  config.spill_directory = options.spill_dir;
  if (options.spill_limit) {
    ARROW_ASSIGN_OR_RAISE(config.spill_limit_bytes, ParseMemoryLimit(*options.spill_limit));
  }
  config.owns_process = true;
  ARROW_ASSIGN_OR_RAISE(auto session, CreateBoundedSession(config));
  for (const std::string& property : options.properties) {
    const size_t equals = property.find('=');
    if (equals == std::string::npos || equals == 0) {
      return arrow::Status::Invalid("--property wants KEY=VALUE, not \"", property, "\"");
    }
    ARROW_RETURN_NOT_OK(session->SetProperty(property.substr(0, equals), property.substr(equals + 1)));
  }
  return session;
}

arrow::Status WriteMetrics(const GlobalOptions& options, const QueryMetrics& metrics) {
  if (options.metrics_path.empty()) return arrow::Status::OK();
  nlohmann::ordered_json operators = nlohmann::ordered_json::array();
  for (const OperatorMetrics& row : metrics.operators) {
    operators.push_back({{"name", row.name},
                         {"rows", row.rows},
                         {"seconds", row.seconds},
                         {"peak_bytes", row.peak_bytes},
                         {"spilled_bytes", row.spilled_bytes},
                         {"spill_levels", row.spill_levels}});
  }
  const nlohmann::ordered_json document = {{"peak_rss_bytes", metrics.peak_rss_bytes},
                                           {"memory_limit_bytes", metrics.memory_limit_bytes},
                                           {"peak_ledger_bytes", metrics.peak_ledger_bytes},
                                           {"spilled_bytes", metrics.spilled_bytes},
                                           {"spilled_raw_bytes", metrics.spilled_raw_bytes},
                                           {"spill_peak_bytes", metrics.spill_peak_bytes},
                                           {"spill_files", metrics.spill_files},
                                           {"input_rows", metrics.input_rows},
                                           {"output_rows", metrics.output_rows},
                                           {"input_bytes", metrics.input_bytes},
                                           {"wall_seconds", metrics.wall_seconds},
                                           {"cpu_seconds", metrics.cpu_seconds},
                                           {"operators", std::move(operators)}};
  std::ofstream file(options.metrics_path);
  file << document.dump(2) << '\n';
  file.close();
  if (!file) {
    return arrow::Status::IOError("cannot write metrics to ", options.metrics_path, ": ", std::strerror(errno));
  }
  return arrow::Status::OK();
}

}  // namespace icebound::cli
