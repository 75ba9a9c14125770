// SPDX-License-Identifier: Apache-2.0
#include "options.h"

namespace icebound::cli {

arrow::Result<std::shared_ptr<Session>> OpenSession(const GlobalOptions& options) {
  ARROW_ASSIGN_OR_RAISE(const int64_t limit_bytes, ParseMemoryLimit(options.memory_limit));
  BoundedSessionConfig config(limit_bytes);
  config.target_partitions = options.threads;
  config.batch_size = options.batch_size;
  config.spill_directory = options.spill_dir;
  if (options.spill_limit) {
    ARROW_ASSIGN_OR_RAISE(config.spill_limit_bytes, ParseSpillLimit(*options.spill_limit, options.spill_dir.value_or("")));
  }
  config.owns_process = true;
  ARROW_ASSIGN_OR_RAISE(auto session, CreateBoundedSession(config));
  std::map<std::string, std::string> properties;
  for (const std::string& property : options.properties) {
    const size_t equals = property.find('=');
    if (equals == std::string::npos || equals == 0) {
      return arrow::Status::Invalid("--property wants KEY=VALUE, not \"", property, "\"");
    }
    const std::string name = property.substr(0, equals);
    properties[name] = property.substr(equals + 1);
    ARROW_RETURN_NOT_OK(session->SetProperty(name, properties[name]));
  }
  if (!options.catalog.empty()) ARROW_RETURN_NOT_OK(session->AttachCatalog(options.catalog, properties));
  return session;
}

}  // namespace icebound::cli
