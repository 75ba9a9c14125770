// SPDX-License-Identifier: Apache-2.0
//
// A conversation with a REST catalog: its configuration, where its endpoints are, and requests with all that each needs.
//
//   properties   what /v1/config gives as defaults, under the catalog's own, under the server's overrides
//   prefix       of those, between v1/ and the rest of every path
//   endpoints    what the server says it offers; without a list, namespaces and tables as they were before there were lists
//   headers      header.NAME properties, User-Agent, X-Iceberg-Access-Delegation: vended-credentials (unless set)
//
// A request that is refused with 401 or 419 gets one more try with a new token, when there is a way to one.
#pragma once

#include <arrow/result.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "iceberg/catalog/catalog.h"
#include "iceberg/catalog/catalog_context.h"
#include "iceberg/catalog/rest/http_client.h"
#include "iceberg/catalog/rest/rest_auth.h"
#include "iceberg/catalog/rest/rest_error.h"
#include "iceberg/spec/json_text.h"

namespace icebound::iceberg {

/// Thread safe.
class RestSession {
 public:
  /// Asks for the configuration.
  static arrow::Result<std::unique_ptr<RestSession>> Open(StringPairs properties, MetadataMemory& memory);

  const StringPairs& properties() const { return properties_; }

  /// `endpoint` as the specification writes it: "GET /v1/{prefix}/namespaces".
  bool Offers(std::string_view endpoint) const;
  /// kUnsupported when it is not offered.
  arrow::Status Require(std::string_view endpoint) const;

  /// The URL of a path below the prefix, which is encoded already: "namespaces/a%1Fb/tables".
  std::string Url(std::string_view path) const;
  /// Levels as one part of a path.
  std::string EncodeNamespace(const Namespace& levels) const;

  /// An answer of any status.
  arrow::Result<HttpResponse> Send(HttpRequest request) const;
  arrow::Status Error(const HttpRequest& request, const HttpResponse& response,
                      std::optional<ErrorKind> kind = std::nullopt) const;

 private:
  RestSession() = default;
  arrow::Status Connect(MetadataMemory& memory);
  arrow::Status ReadConfig();
  arrow::Status ReadHeaders();

  // Constant after Open:
  StringPairs properties_;
  std::string base_uri_;  ///< with a slash at its end
  std::string prefix_;
  std::string separator_;
  std::vector<std::string> endpoints_;
  StringPairs headers_;
  std::vector<std::string> secret_headers_;
  std::unique_ptr<HttpClient> client_;
  std::unique_ptr<RestAuthorizer> authorizer_;
};

/// The members of a successful answer, which `response` holds. kCorruptData when it is no JSON object.
arrow::Result<JsonObject> ReadAnswer(const HttpRequest& request, const HttpResponse& response);

}  // namespace icebound::iceberg
