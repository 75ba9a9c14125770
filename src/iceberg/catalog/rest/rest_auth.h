// SPDX-License-Identifier: Apache-2.0
//
// How a REST catalog knows who we are, by properties:
//
//   rest.sigv4-enabled   AWS's signature. Keys: rest.access-key-id or client.access-key-id (and -secret-access-key,
//   -session-token),
//                        else AWS_ACCESS_KEY_ID and its like; rest.signing-region, client.region, AWS_REGION; rest.signing-name
//                        (execute-api). With a token or credential beside it, that travels as Original-Authorization
//   credential           OAuth2 client credentials, "id:secret" or "secret", for a token of oauth2-server-uri (else the
//   catalog's own
//                        v1/oauth/tokens) with scope (catalog), audience and resource; asked for anew before it expires, and
//                        once when the server refuses it
//   token                a bearer token as it is
//   (none)               nothing, or what header.Authorization says
//
// Other ways (auth.*, rest.auth.type = basic, google, ...) are kUnsupported.
#pragma once

#include <arrow/result.h>

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "iceberg/catalog/rest/aws_signature.h"
#include "iceberg/catalog/rest/http_client.h"

namespace icebound::iceberg {

bool IsTrueProperty(const StringPairs& properties, std::string_view name);

/// Thread safe.
class RestAuthorizer final : public HttpAuthorizer {
 public:
  /// `base_uri` is the catalog's, with a slash at its end; `client` outlives the object.
  static arrow::Result<std::unique_ptr<RestAuthorizer>> Make(const StringPairs& properties, const std::string& base_uri,
                                                             const HttpClient& client);

  arrow::Result<StringPairs> Headers(const HttpRequest& request) override;

  /// After a request was refused with `refused` as its token: whether another try may be let in.
  bool CanRenew() const { return oauth_.has_value(); }
  /// Drops the token, so that the next request asks for another.
  void Renew();

  /// What must not stand in a message.
  std::vector<std::string> Secrets() const;

  /// Asks the same server for tokens in the same way.
  bool SameAs(const RestAuthorizer& other) const;
  /// Goes on with the other's token.
  void TakeToken(const RestAuthorizer& other);

 private:
  struct OAuth {
    std::string url;
    std::string form;    ///< the request's body
    std::string secret;  ///< of `form`
    bool operator==(const OAuth&) const = default;
  };
  explicit RestAuthorizer(const HttpClient& client) : client_(client) {}
  arrow::Status ReadAws(const StringPairs& properties);
  /// With mutex_ held.
  arrow::Status FetchToken();

  const HttpClient& client_;
  // Constant after Make:
  std::optional<AwsCredentials> aws_;
  std::optional<OAuth> oauth_;
  // Guarded by mutex_:
  mutable std::mutex mutex_;
  std::string token_;
  std::optional<std::chrono::steady_clock::time_point> renew_at_;
};

}  // namespace icebound::iceberg
