// SPDX-License-Identifier: Apache-2.0
#include "iceberg/catalog/rest/http_client.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <random>
#include <thread>

#include "base/error.h"
#include "iceberg/catalog/rest/late_library.h"

namespace icebound::iceberg {
namespace {

constexpr int64_t kFirstBodyBytes = 16 << 10;
constexpr size_t kHeaderBytesMax = 4 << 10;
constexpr int kRedirectsMax = 5;

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return lower;
}

std::string_view Strip(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && std::string_view(" \t\r\n").find(text.back()) != std::string_view::npos) text.remove_suffix(1);
  return text;
}

arrow::Result<int64_t> NumberProperty(const StringPairs& properties, std::string_view name, int64_t default_value) {
  const std::string* text = FindValue(properties, name);
  if (text == nullptr || text->empty()) return default_value;
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error != std::errc{} || end != text->data() + text->size() || value < 0 || value > (int64_t{1} << 31)) {
    return MakeError(ErrorKind::kInvalidInput, "catalog property {} is not a number from 0 to 2147483648: '{}'", name, *text);
  }
  return value;
}

std::string TextProperty(const StringPairs& properties, std::string_view name) {
  const std::string* text = FindValue(properties, name);
  return text == nullptr ? std::string() : *text;
}

/// Receives one answer. Failures are kept here: libcurl only learns that it has to stop.
struct Receiver {
  arrow::MemoryPool* pool;
  int64_t bytes_max;
  HttpResponse response;
  std::unique_ptr<arrow::ResizableBuffer> buffer;
  int64_t bytes = 0;
  arrow::Status failure;

  arrow::Status Append(const char* data, int64_t size) {
    if (bytes + size > bytes_max) {
      return MakeError(ErrorKind::kCorruptData, "the answer has more than {} bytes", bytes_max);
    }
    if (buffer == nullptr) {
      ARROW_ASSIGN_OR_RAISE(buffer, arrow::AllocateResizableBuffer(std::max(kFirstBodyBytes, size), pool));
    } else if (bytes + size > buffer->size()) {
      const int64_t wanted = std::min(bytes_max, std::max(bytes + size, buffer->size() * 2));
      ARROW_RETURN_NOT_OK(buffer->Resize(wanted, /*shrink_to_fit=*/false));
    }
    std::copy_n(data, size, reinterpret_cast<char*>(buffer->mutable_data()) + bytes);
    bytes += size;
    return arrow::Status::OK();
  }

  static size_t OnBody(char* data, size_t size, size_t count, void* self) {
    auto* receiver = static_cast<Receiver*>(self);
    receiver->failure = receiver->Append(data, static_cast<int64_t>(size * count));
    return receiver->failure.ok() ? size * count : 0;
  }

  static size_t OnHeader(char* data, size_t size, size_t count, void* self) {
    HttpResponse& response = static_cast<Receiver*>(self)->response;
    const std::string_view line(data, size * count);
    if (line.starts_with("HTTP/")) response = HttpResponse();  // the one before was 1xx, or a proxy's
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos || line.size() > kHeaderBytesMax) return line.size();
    const std::string name = Lower(line.substr(0, colon));
    const std::string_view value = Strip(line.substr(colon + 1));
    if (name == "content-type") response.content_type = value;
    if (name == "etag") response.etag = value;
    if (name == "retry-after") response.retry_after = value;
    return line.size();
  }
};

/// Nothing was sent: the server, or anything that stands for it, was never reached.
bool NeverSent(CURLcode code, int64_t sent_bytes) {
  switch (code) {
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_CONNECT:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_URL_MALFORMAT:
      return true;
    default:
      return sent_bytes == 0;
  }
}

/// It will not be better in a moment.
bool IsLasting(CURLcode code) {
  return code == CURLE_OPERATION_TIMEDOUT || code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CACERT_BADFILE ||
         code == CURLE_SSL_CERTPROBLEM || code == CURLE_UNSUPPORTED_PROTOCOL || code == CURLE_URL_MALFORMAT ||
         code == CURLE_TOO_MANY_REDIRECTS || code == CURLE_WRITE_ERROR || code == CURLE_OUT_OF_MEMORY;
}

/// Time limits, and what TLS is checked and proved with.
void SetLimits(const CurlFunctions& curl, const HttpOptions& options, CURL* handle) {
  const auto set = [&](CURLoption option, auto value) { curl.easy_setopt(handle, option, value); };
  set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(options.connect_timeout_ms));
  set(CURLOPT_TIMEOUT_MS, static_cast<long>(options.total_timeout_ms));
  set(CURLOPT_LOW_SPEED_LIMIT, 1L);
  set(CURLOPT_LOW_SPEED_TIME, static_cast<long>((options.idle_timeout_ms + 999) / 1000));
  if (!options.ca_bundle.empty()) set(CURLOPT_CAINFO, options.ca_bundle.c_str());
  if (!options.client_certificate.empty()) set(CURLOPT_SSLCERT, options.client_certificate.c_str());
  if (!options.client_key.empty()) set(CURLOPT_SSLKEY, options.client_key.c_str());
}

int64_t RandomUpTo(int64_t bound) {
  thread_local std::minstd_rand random(std::random_device{}());
  return std::uniform_int_distribution<int64_t>(bound / 4, std::max<int64_t>(1, bound))(random);
}

std::string Place(const HttpRequest& request) {
  return fmt::format("{} {} at {}", request.method, PathOfUrl(request.url), OriginOfUrl(request.url));
}

std::string_view HostOfOrigin(std::string_view origin) {
  const std::string_view rest = origin.substr(origin.find("://") + 3);
  if (rest.starts_with('[')) return rest.substr(0, rest.find(']') + 1);
  return rest.substr(0, rest.find(':'));
}

/// The same server, or the same host by https.
bool MayFollow(std::string_view from, std::string_view to) {
  const std::string before = Lower(OriginOfUrl(from));
  const std::string after = Lower(OriginOfUrl(to));
  return before == after ||
         (before.starts_with("http://") && after.starts_with("https://") && HostOfOrigin(before) == HostOfOrigin(after));
}

}  // namespace

std::string_view PathOfUrl(std::string_view url) {
  const size_t scheme = url.find("://");
  const size_t begin = url.find('/', scheme == std::string_view::npos ? 0 : scheme + 3);
  if (begin == std::string_view::npos) return "/";
  return url.substr(begin, url.find_first_of("?#", begin) - begin);
}

std::string OriginOfUrl(std::string_view url) {
  const size_t scheme = url.find("://");
  if (scheme == std::string_view::npos) return std::string();
  std::string_view authority = url.substr(scheme + 3);
  authority = authority.substr(0, authority.find_first_of("/?#"));
  if (const size_t at = authority.rfind('@'); at != std::string_view::npos) authority.remove_prefix(at + 1);
  return fmt::format("{}://{}", url.substr(0, scheme), authority);
}

std::string EncodeUrl(std::string_view text) {
  std::string encoded;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
                       c == '_' || c == '~';
    if (plain) {
      encoded += c;
    } else {
      fmt::format_to(std::back_inserter(encoded), "%{:02X}", static_cast<uint8_t>(c));
    }
  }
  return encoded;
}

arrow::Result<std::optional<int64_t>> RetryAfterMs(const std::string& header, int64_t now_seconds) {
  if (header.empty()) return std::optional<int64_t>();
  int64_t seconds = 0;
  const auto [end, error] = std::from_chars(header.data(), header.data() + header.size(), seconds);
  if (error == std::errc{} && end == header.data() + header.size() && seconds >= 0 && seconds < (int64_t{1} << 40)) {
    return std::optional<int64_t>(seconds * 1000);
  }
  ARROW_ASSIGN_OR_RAISE(const CurlFunctions* curl, LoadCurl());
  const time_t date = curl->getdate(header.c_str(), nullptr);
  if (date < 0) return std::optional<int64_t>();
  return std::optional<int64_t>(std::max<int64_t>(0, date - now_seconds) * 1000);
}

arrow::Result<HttpOptions> HttpOptions::FromProperties(const StringPairs& properties) {
  HttpOptions options;
  ARROW_ASSIGN_OR_RAISE(options.connect_timeout_ms,
                        NumberProperty(properties, "rest.client.connection-timeout-ms", options.connect_timeout_ms));
  ARROW_ASSIGN_OR_RAISE(options.idle_timeout_ms,
                        NumberProperty(properties, "rest.client.socket-timeout-ms", options.idle_timeout_ms));
  ARROW_ASSIGN_OR_RAISE(options.total_timeout_ms,
                        NumberProperty(properties, "rest.client.request-timeout-ms", options.total_timeout_ms));
  ARROW_ASSIGN_OR_RAISE(const int64_t retries, NumberProperty(properties, "rest.client.max-retries", options.retries_max));
  options.retries_max = static_cast<int>(std::min<int64_t>(retries, 100));
  options.ca_bundle = TextProperty(properties, "ssl.cabundle");
  for (const char* variable : {"REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"}) {
    const char* value = std::getenv(variable);
    if (options.ca_bundle.empty() && value != nullptr) options.ca_bundle = value;
  }
  options.client_certificate = TextProperty(properties, "ssl.client.cert");
  options.client_key = TextProperty(properties, "ssl.client.key");
  return options;
}

/// Easy handles that wait for their next use, each with its open connections.
struct HttpClient::Handles {
  const CurlFunctions* curl = nullptr;
  std::mutex mutex;
  std::vector<CURL*> idle;  // guarded by mutex

  ~Handles() {
    for (CURL* handle : idle) curl->easy_cleanup(handle);
  }
  CURL* Take() {
    const std::lock_guard lock(mutex);
    if (idle.empty()) return curl->easy_init();
    CURL* handle = idle.back();
    idle.pop_back();
    curl->easy_reset(handle);
    return handle;
  }
  void Return(CURL* handle) {
    const std::lock_guard lock(mutex);
    idle.push_back(handle);
  }
};

struct HttpClient::Try {
  CURLcode code = CURLE_OK;
  bool never_sent = false;
  std::string why;
  std::string redirect_url;
  HttpResponse response;
};

HttpClient::HttpClient(HttpOptions options, arrow::MemoryPool* pool)
    : options_(std::move(options)), pool_(pool), handles_(std::make_unique<Handles>()) {}

HttpClient::~HttpClient() = default;

arrow::Result<std::unique_ptr<HttpClient>> HttpClient::Make(HttpOptions options, arrow::MemoryPool* pool) {
  ARROW_ASSIGN_OR_RAISE(const CurlFunctions* curl, LoadCurl());
  std::unique_ptr<HttpClient> client(new HttpClient(std::move(options), pool));
  client->handles_->curl = curl;
  return client;
}

arrow::Result<HttpClient::Try> HttpClient::SendOnce(const HttpRequest& request, HttpAuthorizer* authorizer) const {
  const CurlFunctions& curl = *handles_->curl;
  StringPairs headers = request.headers;
  if (authorizer != nullptr) {
    ARROW_ASSIGN_OR_RAISE(const StringPairs more, authorizer->Headers(request));
    headers.insert(headers.end(), more.begin(), more.end());
  }
  headers.emplace_back("Expect", "");  // else a large body waits a second for a permission that few servers give
  curl_slist* list = nullptr;
  for (const auto& [name, value] : headers) {
    list = curl.slist_append(list, fmt::format("{}:{}{}", name, value.empty() ? "" : " ", value).c_str());
  }
  const std::unique_ptr<curl_slist, decltype(curl.slist_free_all)> owned_list(list, curl.slist_free_all);
  CURL* const handle = handles_->Take();
  if (handle == nullptr) return MakeError(ErrorKind::kMemoryLimit, "libcurl has no memory for a request");
  Receiver receiver{.pool = pool_, .bytes_max = options_.body_bytes_max};
  char detail[CURL_ERROR_SIZE] = "";
  const auto set = [&](CURLoption option, auto value) { curl.easy_setopt(handle, option, value); };
  set(CURLOPT_URL, request.url.c_str());
  set(CURLOPT_PATH_AS_IS, 1L);
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_HTTPHEADER, list);
  set(CURLOPT_ACCEPT_ENCODING, "gzip");
  SetLimits(curl, options_, handle);
  set(CURLOPT_ERRORBUFFER, static_cast<char*>(detail));
  set(CURLOPT_WRITEFUNCTION, &Receiver::OnBody);
  set(CURLOPT_WRITEDATA, static_cast<void*>(&receiver));
  set(CURLOPT_HEADERFUNCTION, &Receiver::OnHeader);
  set(CURLOPT_HEADERDATA, static_cast<void*>(&receiver));
  if (!request.may_be_repeated) set(CURLOPT_FRESH_CONNECT, 1L);
  if (request.method == "HEAD") {
    set(CURLOPT_NOBODY, 1L);
  } else if (request.method == "POST") {
    set(CURLOPT_POST, 1L);
    set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
    set(CURLOPT_POSTFIELDS, request.body.c_str());
  } else if (request.method != "GET") {
    set(CURLOPT_CUSTOMREQUEST, request.method.c_str());
  }
  Try done;
  done.code = curl.easy_perform(handle);
  long status = 0, sent_bytes = 0;
  char* redirect_url = nullptr;
  curl.easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &status);
  curl.easy_getinfo(handle, CURLINFO_REQUEST_SIZE, &sent_bytes);
  curl.easy_getinfo(handle, CURLINFO_REDIRECT_URL, &redirect_url);
  if (redirect_url != nullptr) done.redirect_url = redirect_url;
  handles_->Return(handle);
  done.never_sent = NeverSent(done.code, sent_bytes);
  done.why = detail[0] != '\0' ? static_cast<const char*>(detail) : curl.easy_strerror(done.code);
  done.response = std::move(receiver.response);
  done.response.status = static_cast<int>(status);
  if (receiver.buffer != nullptr && done.code == CURLE_OK) {
    ARROW_RETURN_NOT_OK(receiver.buffer->Resize(receiver.bytes, /*shrink_to_fit=*/false));
    done.response.body = std::move(receiver.buffer);
  }
  if (receiver.failure.ok()) return done;
  if (!request.may_be_repeated) {
    return MakeError(ErrorKind::kCommitUnknown, "the answer to {} cannot be held: {}", Place(request),
                     receiver.failure.message());
  }
  const ErrorKind kind = receiver.failure.IsOutOfMemory() ? ErrorKind::kMemoryLimit : ErrorKind::kIo;
  return WithContext(receiver.failure, kind, fmt::format("reading the answer to {}", Place(request)));
}

arrow::Result<std::optional<int64_t>> HttpClient::WaitMs(const HttpRequest& request, const Try& last, int retry) const {
  const std::optional<int64_t> give_up;
  if (retry >= options_.retries_max) return give_up;
  const int status = last.response.status;
  if (last.code != CURLE_OK) {
    if (IsLasting(last.code) || (!last.never_sent && !request.may_be_repeated)) return give_up;
  } else if (status != 429 && (!request.may_be_repeated || (status != 502 && status != 503 && status != 504))) {
    return give_up;
  }
  if (last.code == CURLE_OK) {
    ARROW_ASSIGN_OR_RAISE(const auto asked_ms, RetryAfterMs(last.response.retry_after, std::time(nullptr)));
    if (asked_ms) return *asked_ms <= options_.retry_after_max_ms ? asked_ms : give_up;
  }
  const int64_t bound_ms = std::min(options_.backoff_max_ms, options_.backoff_ms << std::min(retry, 20));
  return std::optional<int64_t>(RandomUpTo(bound_ms));
}

arrow::Result<HttpResponse> HttpClient::Send(const HttpRequest& original, HttpAuthorizer* authorizer) const {
  HttpRequest request = original;
  int redirects = 0;
  for (int retry = 0;; ++retry) {
    ARROW_ASSIGN_OR_RAISE(Try last, SendOnce(request, authorizer));
    const int status = last.response.status;
    if (last.code == CURLE_OK && status >= 300 && status < 400 && !last.redirect_url.empty()) {
      const bool reads = request.method == "GET" || request.method == "HEAD";
      if (!reads || !MayFollow(request.url, last.redirect_url) || ++redirects > kRedirectsMax) {
        return MakeError(ErrorKind::kIo, "{} is redirected to {} at {}: set the catalog's uri to where the server is",
                         Place(request), PathOfUrl(last.redirect_url), OriginOfUrl(last.redirect_url));
      }
      request.url = std::move(last.redirect_url);
      --retry;
      continue;
    }
    ARROW_ASSIGN_OR_RAISE(const auto wait_ms, WaitMs(request, last, retry));
    if (wait_ms) {
      std::this_thread::sleep_for(std::chrono::milliseconds(*wait_ms));
      continue;
    }
    last.response.tries = retry + 1;
    if (last.code == CURLE_OK) return std::move(last.response);
    const std::string tries = retry == 0 ? std::string() : fmt::format(" (after {} tries)", retry + 1);
    if (last.never_sent) {
      return MakeError(ErrorKind::kIo, "{} was not reached{}: {}. Check the catalog's uri, the network, proxies and certificates",
                       Place(request), tries, last.why);
    }
    if (!request.may_be_repeated) {
      return MakeError(ErrorKind::kCommitUnknown, "{} was sent, and no whole answer came: {}", Place(request), last.why);
    }
    return MakeError(ErrorKind::kIo,
                     "{} gave no whole answer{}: {}. Is the server well? rest.client.socket-timeout-ms and "
                     "rest.client.request-timeout-ms say how long it is waited for",
                     Place(request), tries, last.why);
  }
}

}  // namespace icebound::iceberg
