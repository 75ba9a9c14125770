// SPDX-License-Identifier: Apache-2.0
#include "iceberg/catalog/rest/rest_error.h"

#include "iceberg/spec/json_text.h"

namespace icebound::iceberg {
namespace {

constexpr size_t kMessageBytesMax = 500;
/// Shorter ones are in every text.
constexpr size_t kSecretBytesMin = 4;

std::string CutMessage(std::string text) {
  for (char& c : text) {
    if (static_cast<uint8_t>(c) < 0x20) c = ' ';
  }
  if (text.size() <= kMessageBytesMax) return text;
  size_t end = kMessageBytesMax;
  while (end > 0 && (static_cast<uint8_t>(text[end]) & 0xc0) == 0x80) --end;
  return text.substr(0, end) + "...";
}

std::string WithoutSecrets(std::string text, const std::vector<std::string>& secrets) {
  for (const std::string& secret : secrets) {
    if (secret.size() < kSecretBytesMin) continue;
    for (size_t at = text.find(secret); at != std::string::npos; at = text.find(secret, at))
      text.replace(at, secret.size(), "***");
  }
  return text;
}

std::string Join(const std::string& type, const std::string& message) {
  if (type.empty() || message.empty()) return type + message;
  return type + ": " + message;
}

/// ErrorModel {"error": {"message", "type", "code"}}, or an OAuth error {"error": "...", "error_description": "..."}.
arrow::Result<std::string> ReadErrorModel(std::string_view text) {
  ARROW_RETURN_NOT_OK(CheckJson(text));
  ARROW_ASSIGN_OR_RAISE(JsonObject outer, JsonObject::Make(text));
  ARROW_ASSIGN_OR_RAISE(const std::string_view error, outer.Get("error"));
  if (error.starts_with('"')) {
    ARROW_ASSIGN_OR_RAISE(const std::string type, DecodeJsonString(error));
    ARROW_ASSIGN_OR_RAISE(const auto description, outer.FindString("error_description"));
    return Join(type, description.value_or(""));
  }
  ARROW_ASSIGN_OR_RAISE(JsonObject model, JsonObject::Make(error));
  ARROW_ASSIGN_OR_RAISE(const auto type, model.FindString("type"));
  ARROW_ASSIGN_OR_RAISE(const auto message, model.FindString("message"));
  return Join(type.value_or(""), message.value_or(""));
}

ErrorKind KindOfStatus(int status) {
  switch (status) {
    case 400:
    case 401:
    case 403:
    case 409:
    case 419:
    case 422:
      return ErrorKind::kInvalidInput;
    case 404:
      return ErrorKind::kNotFound;
    case 405:
    case 406:
    case 501:
      return ErrorKind::kUnsupported;
    default:
      return ErrorKind::kIo;
  }
}

std::string Advice(const HttpResponse& response) {
  switch (response.status) {
    case 401:
    case 419:
      return ". Check the catalog's token, credential or signing keys";
    case 403:
      return ". These credentials may not do this: ask for the right, or use others";
    case 405:
    case 406:
    case 501:
      return ". The server does not do this";
    case 429:
      return fmt::format(". It asks for fewer requests, {} tries later still{}", response.tries,
                         response.retry_after.empty() ? "" : " (Retry-After: " + CutMessage(response.retry_after) + ")");
    case 502:
    case 503:
    case 504:
      return fmt::format(". Tried {} time(s): is the server well?", response.tries);
    default:
      return response.status >= 500 ? ". The server's log says more" : "";
  }
}

}  // namespace

std::string ServerMessage(const HttpResponse& response, const std::vector<std::string>& secrets) {
  const std::string_view text = response.text();
  if (text.empty()) return "the server gives no reason";
  const auto model = ReadErrorModel(text);
  if (model.ok() && !model->empty()) return CutMessage(WithoutSecrets(*model, secrets));
  return fmt::format("the answer is no Iceberg error but {} bytes of {}", text.size(),
                     response.content_type.empty() ? "unknown type" : CutMessage(response.content_type));
}

arrow::Status RestError(const HttpRequest& request, const HttpResponse& response, const std::vector<std::string>& secrets,
                        std::optional<ErrorKind> kind) {
  return MakeError(kind.value_or(KindOfStatus(response.status)), "{} {} at {}: {} (HTTP status {}){}", request.method,
                   PathOfUrl(request.url), OriginOfUrl(request.url), ServerMessage(response, secrets), response.status,
                   Advice(response));
}

arrow::Status BadAnswer(const HttpRequest& request, const HttpResponse& response, std::string_view what) {
  return MakeError(
      ErrorKind::kCorruptData,
      "{} {} at {}: the answer {} ({} bytes of {}, HTTP status {}). Is the catalog's uri that of an Iceberg REST catalog?",
      request.method, PathOfUrl(request.url), OriginOfUrl(request.url), what, response.text().size(),
      response.content_type.empty() ? "unknown type" : CutMessage(response.content_type), response.status);
}

}  // namespace icebound::iceberg
