// SPDX-License-Identifier: Apache-2.0
#include "iceberg/catalog/rest/rest_session.h"

#include <algorithm>

#include "icebound/version.h"

namespace icebound::iceberg {
namespace {

/// Of servers that give no list.
constexpr std::string_view kEndpointsBeforeLists[] = {
    "GET /v1/{prefix}/namespaces",
    "GET /v1/{prefix}/namespaces/{namespace}",
    "POST /v1/{prefix}/namespaces",
    "DELETE /v1/{prefix}/namespaces/{namespace}",
    "GET /v1/{prefix}/namespaces/{namespace}/tables",
    "GET /v1/{prefix}/namespaces/{namespace}/tables/{table}",
    "POST /v1/{prefix}/namespaces/{namespace}/tables",
    "POST /v1/{prefix}/namespaces/{namespace}/tables/{table}",
    "DELETE /v1/{prefix}/namespaces/{namespace}/tables/{table}",
    "POST /v1/{prefix}/tables/rename",
};

constexpr std::string_view kLevelSeparator = "\x1f";

std::string Property(const StringPairs& properties, std::string_view name) {
  const std::string* value = FindValue(properties, name);
  return value == nullptr ? std::string() : *value;
}

void SetProperty(StringPairs* properties, const std::string& name, std::string value) {
  for (auto& [key, old] : *properties) {
    if (key == name) {
      old = std::move(value);
      return;
    }
  }
  properties->emplace_back(name, std::move(value));
}

std::string DecodeUrl(std::string_view text) {
  const auto digit = [](char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
  };
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool is_code = text[i] == '%' && i + 2 < text.size() && digit(text[i + 1]) >= 0 && digit(text[i + 2]) >= 0;
    decoded += is_code ? static_cast<char>(digit(text[i + 1]) * 16 + digit(text[i + 2])) : text[i];
    if (is_code) i += 2;
  }
  return decoded;
}

std::string EndWithSlash(std::string text) { return text.ends_with('/') ? text : text + "/"; }

bool IsSecretHeader(std::string name) {
  for (char& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  for (const std::string_view part : {"auth", "cookie", "token", "key", "secret"}) {
    if (name.find(part) != std::string::npos) return true;
  }
  return false;
}

/// One map of the configuration; empty when there is none.
arrow::Result<StringPairs> FindPairs(JsonObject* config, std::string_view name) {
  const auto json = config->Find(name);
  if (!json) return StringPairs();
  return ParseStringPairs(*json);
}

}  // namespace

arrow::Result<JsonObject> ReadAnswer(const HttpRequest& request, const HttpResponse& response) {
  if (!CheckJson(response.text()).ok()) return BadAnswer(request, response, "is not JSON");
  auto object = JsonObject::Make(response.text());
  if (!object.ok()) return BadAnswer(request, response, "is no JSON object");
  return object;
}

arrow::Status RestSession::ReadHeaders() {
  headers_ = {{"User-Agent", fmt::format("icebound/{}", kVersion)},
              {"X-Client-Version", fmt::format("icebound {}", kVersion)},
              {"X-Iceberg-Access-Delegation", "vended-credentials"}};
  for (const auto& [property, value] : properties_) {
    if (!property.starts_with("header.")) continue;
    const std::string name = property.substr(7);
    if (name.empty() || (name + value).find_first_of("\r\n", 0) != std::string::npos || name.find(':') != std::string::npos) {
      return MakeError(ErrorKind::kInvalidInput, "catalog property {} is no HTTP header", property);
    }
    std::erase_if(headers_, [&](const auto& header) {
      return std::equal(header.first.begin(), header.first.end(), name.begin(), name.end(),
                        [](char a, char b) { return std::tolower(a) == std::tolower(b); });
    });
    if (IsSecretHeader(name)) secret_headers_.push_back(value);
    headers_.emplace_back(name, value);
  }
  return arrow::Status::OK();
}

arrow::Status RestSession::Connect(MetadataMemory& memory) {
  const std::string uri = Property(properties_, "uri");
  if (!uri.starts_with("http://") && !uri.starts_with("https://")) {
    return MakeError(ErrorKind::kInvalidInput, "the uri of a REST catalog begins with http:// or https://, unlike '{}'",
                     OriginOfUrl(uri));
  }
  base_uri_ = EndWithSlash(uri);
  ARROW_ASSIGN_OR_RAISE(HttpOptions options, HttpOptions::FromProperties(properties_));
  ARROW_ASSIGN_OR_RAISE(auto client, HttpClient::Make(std::move(options), memory.pool()));
  ARROW_ASSIGN_OR_RAISE(auto authorizer, RestAuthorizer::Make(properties_, base_uri_, *client));
  if (authorizer_ != nullptr && authorizer->SameAs(*authorizer_)) authorizer->TakeToken(*authorizer_);
  authorizer_ = std::move(authorizer);
  client_ = std::move(client);
  return ReadHeaders();
}

arrow::Status RestSession::ReadConfig() {
  HttpRequest request;
  request.method = "GET";
  request.url = base_uri_ + "v1/config";
  request.may_be_repeated = true;
  if (const std::string warehouse = Property(properties_, "warehouse"); !warehouse.empty()) {
    request.url += "?warehouse=" + EncodeUrl(warehouse);
  }
  ARROW_ASSIGN_OR_RAISE(const HttpResponse response, Send(request));
  if (response.status != 200) return Error(request, response);
  ARROW_ASSIGN_OR_RAISE(JsonObject config, ReadAnswer(request, response));
  const auto defaults = FindPairs(&config, "defaults");
  const auto overrides = FindPairs(&config, "overrides");
  if (!defaults.ok() || !overrides.ok()) return BadAnswer(request, response, "has defaults or overrides that are no texts");
  for (const auto& [name, value] : *defaults) {
    if (FindValue(properties_, name) == nullptr) properties_.emplace_back(name, value);
  }
  for (const auto& [name, value] : *overrides) SetProperty(&properties_, name, value);
  if (const auto endpoints = config.Find("endpoints")) {
    ARROW_ASSIGN_OR_RAISE(JsonElements elements, JsonElements::Make(*endpoints));
    std::string_view element;
    while (elements.Next(&element)) {
      const auto endpoint = DecodeJsonString(element);
      if (!endpoint.ok()) return BadAnswer(request, response, "has endpoints that are no texts");
      endpoints_.push_back(*endpoint);
    }
  }
  if (endpoints_.empty()) endpoints_.assign(std::begin(kEndpointsBeforeLists), std::end(kEndpointsBeforeLists));
  return arrow::Status::OK();
}

arrow::Result<std::unique_ptr<RestSession>> RestSession::Open(StringPairs properties, MetadataMemory& memory) {
  std::unique_ptr<RestSession> session(new RestSession());
  session->properties_ = std::move(properties);
  ARROW_RETURN_NOT_OK(session->Connect(memory));
  ARROW_RETURN_NOT_OK(session->ReadConfig());
  // Once more: the configuration may have said where, and how to prove who we are.
  ARROW_RETURN_NOT_OK(session->Connect(memory));
  session->prefix_ = Property(session->properties_, "prefix");
  while (session->prefix_.starts_with('/')) session->prefix_.erase(0, 1);
  while (session->prefix_.ends_with('/')) session->prefix_.pop_back();
  session->separator_ = DecodeUrl(Property(session->properties_, "namespace-separator"));
  if (session->separator_.empty()) session->separator_ = kLevelSeparator;
  return session;
}

bool RestSession::Offers(std::string_view endpoint) const {
  return std::find(endpoints_.begin(), endpoints_.end(), endpoint) != endpoints_.end();
}

arrow::Status RestSession::Require(std::string_view endpoint) const {
  if (Offers(endpoint)) return arrow::Status::OK();
  return MakeError(ErrorKind::kUnsupported, "the REST catalog at {} does not offer {}: it is not among the endpoints it lists",
                   OriginOfUrl(base_uri_), endpoint);
}

std::string RestSession::Url(std::string_view path) const {
  return fmt::format("{}v1/{}{}{}", base_uri_, prefix_, prefix_.empty() ? "" : "/", path);
}

std::string RestSession::EncodeNamespace(const Namespace& levels) const {
  std::string encoded;
  for (size_t i = 0; i < levels.size(); ++i) encoded += (i == 0 ? "" : EncodeUrl(separator_)) + EncodeUrl(levels[i]);
  return encoded;
}

arrow::Result<HttpResponse> RestSession::Send(HttpRequest request) const {
  for (const auto& header : headers_) {
    if (FindValue(request.headers, header.first) == nullptr) request.headers.push_back(header);
  }
  if (!request.body.empty()) request.headers.emplace_back("Content-Type", "application/json");
  ARROW_ASSIGN_OR_RAISE(HttpResponse response, client_->Send(request, authorizer_.get()));
  if ((response.status != 401 && response.status != 419) || !authorizer_->CanRenew()) return response;
  authorizer_->Renew();
  return client_->Send(request, authorizer_.get());
}

arrow::Status RestSession::Error(const HttpRequest& request, const HttpResponse& response, std::optional<ErrorKind> kind) const {
  std::vector<std::string> secrets = authorizer_->Secrets();
  secrets.insert(secrets.end(), secret_headers_.begin(), secret_headers_.end());
  if (const std::string* own = FindValue(request.headers, "Authorization")) secrets.push_back(own->substr(own->find(' ') + 1));
  return RestError(request, response, secrets, kind);
}

}  // namespace icebound::iceberg
