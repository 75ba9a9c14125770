// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "plan/table_source.h"

namespace icebound::bridge {

/// The tables of a query of our own. Not thread safe.
class FewTables final : public plan::TableResolver {
 public:
  explicit FewTables(std::map<std::string, std::shared_ptr<plan::TableSource>> tables) : tables_(std::move(tables)) {}

  arrow::Result<plan::ResolvedTable> ResolveName(const std::vector<std::string>& parts) override {
    const auto found = tables_.find(parts.back());
    if (parts.size() == 1 && found != tables_.end()) return found->second;
    return MakeError(ErrorKind::kInternal, "a query of our own reads \"{}\"", parts.back());
  }
  arrow::Result<std::shared_ptr<plan::TableSource>> ResolvePath(const std::string& path) override {
    return MakeError(ErrorKind::kInternal, "a query of our own reads '{}'", path);
  }
  std::vector<std::string> TableNames() const override { return {}; }

 private:
  const std::map<std::string, std::shared_ptr<plan::TableSource>> tables_;
};

}  // namespace icebound::bridge
