// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <icebound/metrics.h>

#include <arrow/result.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace icebound::cli {

/// The operators of every statement that ran, for documents about the whole run: Session::metrics has only the last one's.
using OperatorsByStatement = std::vector<std::vector<OperatorMetrics>>;

/// The counters as --metrics writes them; docs/guide.md describes the fields.
nlohmann::ordered_json MetricsDocument(const QueryMetrics& totals, const OperatorsByStatement& statements);

/// The file of --metrics. It is opened before the job runs, so that a path that cannot be written fails at once, and written
/// after it, also when it failed.
class MetricsFile {
 public:
  MetricsFile() = default;
  MetricsFile(MetricsFile&& other) noexcept;
  MetricsFile& operator=(MetricsFile&&) = delete;
  ~MetricsFile();

  /// An empty path: nothing was asked for, and Write does nothing.
  static arrow::Result<MetricsFile> Open(const std::string& path);
  arrow::Status Write(const nlohmann::ordered_json& document);

 private:
  std::string path_;
  int descriptor_ = -1;
};

}  // namespace icebound::cli
