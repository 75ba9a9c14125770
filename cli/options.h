// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <icebound/session.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace icebound::cli {

/// The options before the command, as typed.
struct GlobalOptions {
  std::string memory_limit = "50%";
  std::optional<int> threads;
  std::optional<int64_t> batch_size;
  std::optional<std::string> spill_dir;
  std::optional<std::string> spill_limit;
  std::string catalog;                  ///< a catalog of PyIceberg's configuration; empty: its default
  std::vector<std::string> properties;  ///< K=V
  std::string metrics_path;
  bool json = false;
  bool quiet = false;
  bool no_progress = false;
};

/// Opens the session these options describe.
arrow::Result<std::shared_ptr<Session>> OpenSession(const GlobalOptions& options);

}  // namespace icebound::cli
