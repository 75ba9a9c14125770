// SPDX-License-Identifier: Apache-2.0
//
// For tests: a REST catalog whose answers are scripted by method and path.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "iceberg/catalog/catalog_testing.h"
#include "iceberg/catalog/rest/http_testing.h"
#include "iceberg/catalog/rest/rest_catalog.h"

namespace icebound::iceberg {

/// Answers with the first rule whose text the line of a request begins with, and goes on to the rule's next answer, the last of
/// which stays. Without a rule: 404.
class ScriptedCatalog {
 public:
  struct Rule {
    std::string line;
    std::vector<std::string> answers;
    size_t next = 0;
  };

  explicit ScriptedCatalog(std::vector<Rule> rules) : rules_(std::move(rules)) {
    rules_.push_back({"GET /v1/config", {Answer(200, R"({"defaults": {}, "overrides": {}})")}});
    server_ = std::make_unique<ScriptedServer>([this](const SeenRequest& request) {
      for (Rule& rule : rules_) {
        if (!request.line().starts_with(rule.line)) continue;
        return rule.answers[std::min(rule.next++, rule.answers.size() - 1)];
      }
      return ErrorAnswer(404, "NoRule", "no rule for " + request.line());
    });
  }

  /// Quick to give up.
  arrow::Result<std::unique_ptr<RestCatalog>> Open(StringPairs properties = {},
                                                   std::shared_ptr<MetadataMemory> memory = std::make_shared<CountedMemory>()) {
    properties.emplace_back("uri", server_->url());
    properties.emplace_back("rest.client.max-retries", "1");
    return RestCatalog::Open("test", std::move(properties), LocalContext(std::move(memory)));
  }
  std::unique_ptr<RestCatalog> MustOpen(StringPairs properties = {}) {
    auto catalog = Open(std::move(properties));
    EXPECT_TRUE(catalog.ok()) << catalog.status().ToString();
    return std::move(*catalog);
  }

  const ScriptedServer& server() const { return *server_; }
  std::vector<std::string> lines() const { return server_->lines(); }
  SeenRequest last() const { return server_->requests().back(); }
  /// How many requests began so.
  int64_t count(const std::string& line) const {
    const auto seen = lines();
    return std::count_if(seen.begin(), seen.end(), [&](const std::string& text) { return text.starts_with(line); });
  }

 private:
  std::vector<Rule> rules_;
  std::unique_ptr<ScriptedServer> server_;
};

/// The answer to loading a table.
inline std::string TableAnswer(const TableMetadata& metadata, const std::string& location, const std::string& members = "",
                               const std::string& headers = "") {
  return Answer(200, fmt::format(R"({{"metadata-location": "{}", "metadata": {}{}}})", location, metadata.ToJson(), members),
                headers);
}

}  // namespace icebound::iceberg
