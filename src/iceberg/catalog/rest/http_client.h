// SPDX-License-Identifier: Apache-2.0
//
// HTTP for catalogs, in one place: libcurl with time limits, bounded bodies and retries.
//
//   what happened                        may be repeated    may not (a commit)
//   no connection was made               tried again        tried again: nothing was sent
//   429, the server refused to look      tried again        tried again
//   502, 503, 504                        tried again        the answer is the caller's: it may have happened
//   the connection broke, no answer      tried again        kCommitUnknown
//   a time limit passed                  kIo                kCommitUnknown (kIo when nothing was sent)
//   anything else                        the caller's       the caller's
//
// Between tries: what Retry-After says (seconds or a date; longer than retry_after_max_ms is not waited for), else a random
// time up to backoff_ms * 2^n. A request that may not be repeated gets a connection of its own: on one that was used before,
// libcurl would send it again by itself when the server closes without an answer.
//
// Redirects are followed for GET and HEAD to the same host only, so that credentials reach nobody else. Proxies are those of
// the environment (https_proxy, no_proxy, ...), certificates are checked against the system's authorities.
//
// Messages name the method and the path of a URL, and host and port. Never its query, headers or body, which may hold secrets.
#pragma once

#include <arrow/buffer.h>
#include <arrow/memory_pool.h>
#include <arrow/result.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "iceberg/spec/snapshot.h"

namespace icebound::iceberg {

struct HttpRequest {
  std::string method;
  std::string url;
  StringPairs headers;
  std::string body;
  bool may_be_repeated = false;  ///< twice is as good as once
};

struct HttpResponse {
  int status = 0;
  std::string content_type;
  std::string etag;
  std::string retry_after;
  std::shared_ptr<arrow::Buffer> body;
  int tries = 1;

  std::string_view text() const { return body == nullptr ? std::string_view() : static_cast<std::string_view>(*body); }
};

struct HttpOptions {
  int64_t connect_timeout_ms = 30'000;
  int64_t idle_timeout_ms = 120'000;   ///< without a byte; rounded up to seconds
  int64_t total_timeout_ms = 600'000;  ///< of one try
  int retries_max = 5;
  int64_t backoff_ms = 200;
  int64_t backoff_max_ms = 10'000;
  int64_t retry_after_max_ms = 120'000;
  int64_t body_bytes_max = int64_t{1} << 31;
  std::string ca_bundle;  ///< files; empty: the system's
  std::string client_certificate;
  std::string client_key;

  /// From a catalog's properties: rest.client.connection-timeout-ms, rest.client.socket-timeout-ms,
  /// rest.client.request-timeout-ms, rest.client.max-retries, ssl.cabundle, ssl.client.cert, ssl.client.key (and
  /// REQUESTS_CA_BUNDLE or CURL_CA_BUNDLE).
  static arrow::Result<HttpOptions> FromProperties(const StringPairs& properties);
};

/// Puts what proves who we are on each try of a request. Thread safe.
class HttpAuthorizer {
 public:
  virtual ~HttpAuthorizer() = default;
  /// Headers beside those of the request.
  virtual arrow::Result<StringPairs> Headers(const HttpRequest& request) = 0;
};

/// "/v1/config" of a URL.
std::string_view PathOfUrl(std::string_view url);
/// "http://host:8181" of a URL, without a user's name and password.
std::string OriginOfUrl(std::string_view url);
/// As in paths and queries: everything but letters, digits and -._~ becomes %XX.
std::string EncodeUrl(std::string_view text);

/// How long Retry-After says to wait; nullopt when it says nothing that can be read.
arrow::Result<std::optional<int64_t>> RetryAfterMs(const std::string& header, int64_t now_seconds);

/// Thread safe; requests run side by side.
class HttpClient {
 public:
  /// Bodies are buffers of `pool`, which outlives the client and its responses.
  static arrow::Result<std::unique_ptr<HttpClient>> Make(HttpOptions options, arrow::MemoryPool* pool);
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;
  ~HttpClient();

  /// An answer of any status, or why there is none: see above. `authorizer` may be null.
  arrow::Result<HttpResponse> Send(const HttpRequest& request, HttpAuthorizer* authorizer) const;

 private:
  struct Try;
  struct Handles;

  HttpClient(HttpOptions options, arrow::MemoryPool* pool);
  arrow::Result<Try> SendOnce(const HttpRequest& request, HttpAuthorizer* authorizer) const;
  /// How long to wait before the next try; nullopt to give up.
  arrow::Result<std::optional<int64_t>> WaitMs(const HttpRequest& request, const Try& last, int retry) const;

  const HttpOptions options_;
  arrow::MemoryPool* const pool_;
  const std::unique_ptr<Handles> handles_;
};

}  // namespace icebound::iceberg
