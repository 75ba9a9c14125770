// SPDX-License-Identifier: Apache-2.0
#include "io/file_systems.h"

#include <arrow/filesystem/localfs.h>
#include <arrow/util/uri.h>

#include <algorithm>
#include <cctype>

#include "base/error.h"
#include "io/cloud_file_systems.h"

namespace icebound::io {
namespace {

/// Requests under way at once. They spend their time waiting, so their number is what hides a store's latency; each costs a stack
/// and a connection.
constexpr int kIoThreads = 8;

/// "s3a" and "s3n" are Hadoop's names for the same store; the others likewise.
std::string CanonicalScheme(const std::string& scheme) {
  if (scheme == "s3a" || scheme == "s3n") return "s3";
  if (scheme == "gcs") return "gs";
  if (scheme == "abfss" || scheme == "wasb" || scheme == "wasbs") return "abfs";
  return scheme;
}

arrow::Result<std::string> LocalPathOfUri(const std::string& text) {
  auto uri = arrow::util::Uri::FromString(text);
  if (!uri.ok()) return MakeError(ErrorKind::kInvalidInput, "\"{}\" is not a valid URI: {}", text, uri.status().message());
  if (!uri->host().empty() && uri->host() != "localhost") {
    return MakeError(ErrorKind::kInvalidInput,
                     "\"{}\" names the host \"{}\": a file URI can only mean this machine (file:///path)", text, uri->host());
  }
  if (uri->path().empty()) return MakeError(ErrorKind::kInvalidInput, "\"{}\" has no path", text);
  return uri->path();
}

}  // namespace

std::string SchemeOf(std::string_view text) {
  // RFC 3986: ALPHA *( ALPHA / DIGIT / "+" / "-" / "." ) ":"; "://" is required here, so that "c:x" stays a path, except for
  // "file:/path".
  size_t end = 0;
  while (end < text.size() &&
         (std::isalnum(static_cast<unsigned char>(text[end])) || text[end] == '+' || text[end] == '-' || text[end] == '.'))
    ++end;
  if (end < 2 || !std::isalpha(static_cast<unsigned char>(text[0]))) return "";
  std::string scheme(text.substr(0, end));
  std::transform(scheme.begin(), scheme.end(), scheme.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const std::string_view rest = text.substr(end);
  return rest.starts_with("://") || (scheme == "file" && rest.starts_with(":/")) ? scheme : "";
}

FileSystems::FileSystems(StorageProperties properties, arrow::MemoryPool* pool)
    : properties_(std::move(properties)),
      io_threads_(*arrow::internal::ThreadPool::Make(kIoThreads)),
      context_(pool, io_threads_.get()),
      local_(std::make_shared<arrow::fs::LocalFileSystem>(context_)) {}

FileSystems::~FileSystems() = default;

arrow::Result<Location> FileSystems::Resolve(std::string_view path_or_uri) {
  const std::string text(path_or_uri);
  if (text.empty()) return MakeError(ErrorKind::kInvalidInput, "the path is empty");
  if (text.find('\0') != std::string::npos) return MakeError(ErrorKind::kInvalidInput, "the path has a zero byte in it");
  const std::string scheme = CanonicalScheme(SchemeOf(text));
  if (scheme.empty()) return Location{.file_system = local_, .path = text, .text = text, .is_local = true};
  if (scheme == "file") {
    ARROW_ASSIGN_OR_RAISE(std::string path, LocalPathOfUri(text));
    return Location{.file_system = local_, .path = std::move(path), .text = text, .is_local = true};
  }
  if (scheme != "s3" && scheme != "gs" && scheme != "abfs") {
    return MakeError(ErrorKind::kUnsupported, "\"{}\": no store has the scheme \"{}\"; there are file, s3, gs and abfs", text,
                     scheme);
  }
  // scheme "://" authority "/" key: the key is taken as it stands, as the stores' own tools do (no percent decoding, '?' and '#'
  // mean themselves).
  const size_t start = text.find("://") + 3;
  const size_t slash = std::min(text.find('/', start), text.size());
  const std::string authority = text.substr(start, slash - start);
  std::string key = slash < text.size() ? text.substr(slash + 1) : "";
  if (authority.empty()) return MakeError(ErrorKind::kInvalidInput, "\"{}\" names no bucket", text);
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::fs::FileSystem> file_system, RemoteFileSystem(scheme, authority));
  // abfs://container@account/...: inside the file system the container comes first, as a bucket does.
  const std::string bucket = scheme == "abfs" ? authority.substr(0, authority.find('@')) : authority;
  Location location{.file_system = std::move(file_system), .path = key.empty() ? bucket : bucket + "/" + key, .text = text};
  location.prefix = text.substr(0, start);
  return location;
}

arrow::Result<std::shared_ptr<arrow::fs::FileSystem>> FileSystems::RemoteFileSystem(const std::string& scheme,
                                                                                    const std::string& authority) {
  // Buckets of S3 may lie in different regions and those of Azure in different accounts; one client serves all of Google's.
  const std::string key = scheme == "gs" ? scheme : scheme + "://" + authority;
  std::lock_guard lock(mutex_);
  std::shared_ptr<arrow::fs::FileSystem>& file_system = remote_[key];
  if (file_system == nullptr) {
    ARROW_ASSIGN_OR_RAISE(file_system, MakeCloudFileSystem(scheme, authority, properties_, context_));
  }
  return file_system;
}

}  // namespace icebound::io
