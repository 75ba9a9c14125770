// SPDX-License-Identifier: Apache-2.0
#include "iceberg/catalog/rest/aws_signature.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <ctime>
#include <map>

#include "base/error.h"
#include "iceberg/catalog/rest/late_library.h"

namespace icebound::iceberg {
namespace {

std::string Hex(const std::string& bytes) {
  std::string hex;
  for (const char byte : bytes) fmt::format_to(std::back_inserter(hex), "{:02x}", static_cast<uint8_t>(byte));
  return hex;
}

std::string Sha256(const CryptoFunctions& crypto, std::string_view text) {
  std::string digest(SHA256_DIGEST_LENGTH, '\0');
  auto* const out = reinterpret_cast<unsigned char*>(digest.data());
  crypto.sha256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), out);
  return digest;
}

std::string Hmac(const CryptoFunctions& crypto, std::string_view key, std::string_view text) {
  std::string digest(SHA256_DIGEST_LENGTH, '\0');
  unsigned int size = 0;
  crypto.hmac(crypto.evp_sha256(), key.data(), static_cast<int>(key.size()), reinterpret_cast<const unsigned char*>(text.data()),
              text.size(), reinterpret_cast<unsigned char*>(digest.data()), &size);
  return digest;
}

/// Encoded once more, its slashes kept.
std::string CanonicalPath(std::string_view path, bool encode_again) {
  if (!encode_again) return std::string(path);
  std::string canonical;
  while (true) {
    const size_t slash = path.find('/');
    canonical += EncodeUrl(path.substr(0, slash));
    if (slash == std::string_view::npos) return canonical;
    canonical += '/';
    path.remove_prefix(slash + 1);
  }
}

std::string CanonicalQuery(std::string_view url) {
  const size_t mark = url.find('?');
  if (mark == std::string_view::npos) return std::string();
  std::string_view query = url.substr(mark + 1);
  std::vector<std::string> parts;
  while (!query.empty()) {
    const size_t end = query.find('&');
    std::string part(query.substr(0, end));
    if (part.find('=') == std::string::npos) part += '=';
    parts.push_back(std::move(part));
    query.remove_prefix(end == std::string_view::npos ? query.size() : end + 1);
  }
  std::sort(parts.begin(), parts.end());
  return fmt::format("{}", fmt::join(parts, "&"));
}

std::string_view AuthorityOf(std::string_view origin) { return origin.substr(origin.find("://") + 3); }

}  // namespace

arrow::Result<StringPairs> SignForAws(const HttpRequest& request, const AwsCredentials& credentials, int64_t now_seconds) {
  ARROW_ASSIGN_OR_RAISE(const CryptoFunctions* crypto, LoadCrypto());
  const time_t now = now_seconds;
  tm utc{};
  gmtime_r(&now, &utc);
  char time[32];
  std::strftime(time, sizeof(time), "%Y%m%dT%H%M%SZ", &utc);
  const std::string date(time, 8);
  const std::string body_hash = Hex(Sha256(*crypto, request.body));
  StringPairs added = {{"X-Amz-Date", time}, {"X-Amz-Content-SHA256", body_hash}};
  if (!credentials.session_token.empty()) added.emplace_back("X-Amz-Security-Token", credentials.session_token);

  std::map<std::string, std::string> headers = {{"host", std::string(AuthorityOf(OriginOfUrl(request.url)))}};
  for (const StringPairs* pairs : {&request.headers, static_cast<const StringPairs*>(&added)}) {
    for (const auto& [name, value] : *pairs) {
      std::string lower = name;
      for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
      headers[lower] = value;
    }
  }
  std::string header_lines, names;
  for (const auto& [name, value] : headers) {
    header_lines += fmt::format("{}:{}\n", name, value);
    names += (names.empty() ? "" : ";") + name;
  }
  const std::string canonical = fmt::format("{}\n{}\n{}\n{}\n{}\n{}", request.method,
                                            CanonicalPath(PathOfUrl(request.url), /*encode_again=*/credentials.service != "s3"),
                                            CanonicalQuery(request.url), header_lines, names, body_hash);
  const std::string scope = fmt::format("{}/{}/{}/aws4_request", date, credentials.region, credentials.service);
  const std::string to_sign = fmt::format("AWS4-HMAC-SHA256\n{}\n{}\n{}", time, scope, Hex(Sha256(*crypto, canonical)));
  std::string key = Hmac(*crypto, "AWS4" + credentials.secret_access_key, date);
  for (const std::string_view part :
       {std::string_view(credentials.region), std::string_view(credentials.service), std::string_view("aws4_request")}) {
    key = Hmac(*crypto, key, part);
  }
  added.emplace_back("Authorization", fmt::format("AWS4-HMAC-SHA256 Credential={}/{}, SignedHeaders={}, Signature={}",
                                                  credentials.access_key_id, scope, names, Hex(Hmac(*crypto, key, to_sign))));
  return added;
}

}  // namespace icebound::iceberg
