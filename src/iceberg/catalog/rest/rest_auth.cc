// SPDX-License-Identifier: Apache-2.0
#include "iceberg/catalog/rest/rest_auth.h"

#include <charconv>
#include <cstdlib>
#include <ctime>

#include "base/error.h"
#include "iceberg/catalog/rest/rest_error.h"
#include "iceberg/spec/json_text.h"

namespace icebound::iceberg {
namespace {

using std::chrono::steady_clock;

/// A token is asked for anew this long before it expires, or a quarter of its life when that is shorter.
constexpr int64_t kRenewBeforeSeconds = 60;

std::string Property(const StringPairs& properties, std::string_view name) {
  const std::string* value = FindValue(properties, name);
  return value == nullptr ? std::string() : *value;
}

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

std::string FirstOf(std::initializer_list<std::string> values) {
  for (const std::string& value : values) {
    if (!value.empty()) return value;
  }
  return std::string();
}

arrow::Status CheckAuthProperties(const StringPairs& properties) {
  for (const auto& [name, value] : properties) {
    if (name == "auth" || name.starts_with("auth.")) {
      return MakeError(
          ErrorKind::kUnsupported,
          "catalog property {} is not supported: token, credential with oauth2-server-uri, and rest.sigv4-enabled are", name);
    }
    const bool known = value.empty() || value == "none" || value == "oauth2" || value == "sigv4";
    if (name == "rest.auth.type" && !known) {
      return MakeError(ErrorKind::kUnsupported, "rest.auth.type {} is not supported: none, oauth2 and sigv4 are", value);
    }
  }
  return arrow::Status::OK();
}

std::string FormOf(const StringPairs& fields) {
  std::string form;
  for (const auto& [name, value] : fields) {
    if (value.empty()) continue;
    if (!form.empty()) form += '&';
    form += name + "=" + EncodeUrl(value);
  }
  return form;
}

/// Seconds, which some servers write as a string.
std::optional<int64_t> ReadSeconds(std::optional<std::string_view> json) {
  if (!json) return std::nullopt;
  std::string_view text = *json;
  if (text.size() >= 2 && text.front() == '"') text = text.substr(1, text.size() - 2);
  int64_t seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc{} || seconds < 0) return std::nullopt;
  return std::min<int64_t>(seconds, int64_t{1} << 31);
}

}  // namespace

bool IsTrueProperty(const StringPairs& properties, std::string_view name) {
  std::string text = Property(properties, name);
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return text == "true" || text == "1" || text == "yes" || text == "y" || text == "t" || text == "on";
}

arrow::Status RestAuthorizer::ReadAws(const StringPairs& properties) {
  if (const std::string profile = Property(properties, "client.profile-name"); !profile.empty()) {
    return MakeError(ErrorKind::kUnsupported,
                     "client.profile-name is not supported: set client.access-key-id and "
                     "client.secret-access-key, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY");
  }
  AwsCredentials aws;
  aws.access_key_id = FirstOf({Property(properties, "rest.access-key-id"), Property(properties, "client.access-key-id")});
  if (!aws.access_key_id.empty()) {
    aws.secret_access_key =
        FirstOf({Property(properties, "rest.secret-access-key"), Property(properties, "client.secret-access-key")});
    aws.session_token = FirstOf({Property(properties, "rest.session-token"), Property(properties, "client.session-token")});
  } else {
    aws.access_key_id = Environment("AWS_ACCESS_KEY_ID");
    aws.secret_access_key = Environment("AWS_SECRET_ACCESS_KEY");
    aws.session_token = Environment("AWS_SESSION_TOKEN");
  }
  if (aws.access_key_id.empty() || aws.secret_access_key.empty()) {
    return MakeError(ErrorKind::kInvalidInput,
                     "rest.sigv4-enabled needs keys: set client.access-key-id and "
                     "client.secret-access-key, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY");
  }
  aws.region = FirstOf({Property(properties, "rest.signing-region"), Property(properties, "client.region"),
                        Environment("AWS_REGION"), Environment("AWS_DEFAULT_REGION")});
  if (aws.region.empty()) return MakeError(ErrorKind::kInvalidInput, "rest.sigv4-enabled needs the property rest.signing-region");
  aws.service = FirstOf({Property(properties, "rest.signing-name"), "execute-api"});
  aws_ = std::move(aws);
  return arrow::Status::OK();
}

arrow::Result<std::unique_ptr<RestAuthorizer>> RestAuthorizer::Make(const StringPairs& properties, const std::string& base_uri,
                                                                    const HttpClient& client) {
  ARROW_RETURN_NOT_OK(CheckAuthProperties(properties));
  std::unique_ptr<RestAuthorizer> auth(new RestAuthorizer(client));
  const std::string type = Property(properties, "rest.auth.type");
  if (type == "none") return auth;
  if (IsTrueProperty(properties, "rest.sigv4-enabled") || type == "sigv4") ARROW_RETURN_NOT_OK(auth->ReadAws(properties));
  auth->token_ = Property(properties, "token");
  if (const std::string credential = Property(properties, "credential"); !credential.empty()) {
    const size_t colon = credential.find(':');
    OAuth oauth;
    oauth.secret = colon == std::string::npos ? credential : credential.substr(colon + 1);
    oauth.url = FirstOf({Property(properties, "oauth2-server-uri"), base_uri + "v1/oauth/tokens"});
    if (oauth.url.find("://") == std::string::npos) oauth.url = base_uri + oauth.url.substr(oauth.url.find_first_not_of('/'));
    oauth.form = FormOf({{"grant_type", "client_credentials"},
                         {"client_id", colon == std::string::npos ? "" : credential.substr(0, colon)},
                         {"client_secret", oauth.secret},
                         {"scope", FirstOf({Property(properties, "scope"), "catalog"})},
                         {"audience", Property(properties, "audience")},
                         {"resource", Property(properties, "resource")}});
    auth->oauth_ = std::move(oauth);
    auth->token_.clear();
  }
  return auth;
}

arrow::Status RestAuthorizer::FetchToken() {
  HttpRequest request;
  request.method = "POST";
  request.url = oauth_->url;
  request.headers = {{"Content-Type", "application/x-www-form-urlencoded"}, {"Accept", "application/json"}};
  request.body = oauth_->form;
  request.may_be_repeated = true;
  ARROW_ASSIGN_OR_RAISE(const HttpResponse response, client_.Send(request, nullptr));
  if (response.status != 200) {
    return WithContext(RestError(request, response, {oauth_->secret}), ErrorKind::kInvalidInput, "asking for an OAuth2 token");
  }
  const auto read = [&]() -> arrow::Status {
    ARROW_RETURN_NOT_OK(CheckJson(response.text()));
    ARROW_ASSIGN_OR_RAISE(JsonObject answer, JsonObject::Make(response.text()));
    ARROW_ASSIGN_OR_RAISE(token_, answer.GetString("access_token"));
    renew_at_.reset();
    if (const auto life = ReadSeconds(answer.Find("expires_in"))) {
      renew_at_ = steady_clock::now() + std::chrono::seconds(*life - std::min(kRenewBeforeSeconds, *life / 4));
    }
    return arrow::Status::OK();
  };
  if (!read().ok() || token_.empty()) return BadAnswer(request, response, "holds no access_token");
  return arrow::Status::OK();
}

arrow::Result<StringPairs> RestAuthorizer::Headers(const HttpRequest& request) {
  std::string token;
  {
    const std::lock_guard lock(mutex_);
    const bool is_old = renew_at_ && steady_clock::now() >= *renew_at_;
    if (oauth_ && (token_.empty() || is_old)) ARROW_RETURN_NOT_OK(FetchToken());
    token = token_;
  }
  StringPairs headers;
  const bool has_own = FindValue(request.headers, "Authorization") != nullptr;
  if (aws_) {
    ARROW_ASSIGN_OR_RAISE(headers, SignForAws(request, *aws_, std::time(nullptr)));
    if (!token.empty()) headers.emplace_back("Original-Authorization", "Bearer " + token);
  } else if (!token.empty() && !has_own) {
    headers.emplace_back("Authorization", "Bearer " + token);
  }
  return headers;
}

void RestAuthorizer::Renew() {
  const std::lock_guard lock(mutex_);
  token_.clear();
}

std::vector<std::string> RestAuthorizer::Secrets() const {
  std::vector<std::string> secrets;
  if (oauth_) secrets.push_back(oauth_->secret);
  if (aws_) secrets.insert(secrets.end(), {aws_->secret_access_key, aws_->session_token});
  const std::lock_guard lock(mutex_);
  secrets.push_back(token_);
  return secrets;
}

bool RestAuthorizer::SameAs(const RestAuthorizer& other) const { return oauth_ && oauth_ == other.oauth_; }

void RestAuthorizer::TakeToken(const RestAuthorizer& other) {
  const std::scoped_lock lock(mutex_, other.mutex_);
  token_ = other.token_;
  renew_at_ = other.renew_at_;
}

}  // namespace icebound::iceberg
