// SPDX-License-Identifier: Apache-2.0
#include "io/cloud_file_systems.h"

#include <arrow/util/config.h>
#include <arrow/util/uri.h>
#ifdef ARROW_AZURE
#include <arrow/filesystem/azurefs.h>
#endif
#ifdef ARROW_GCS
#include <arrow/filesystem/gcsfs.h>
#endif

#include <charconv>
#include <chrono>
#include <cstdlib>
#include <initializer_list>
#include <set>

#include "base/error.h"
#include "io/s3_library.h"

namespace icebound::io {
namespace {

/// Looks properties up under any of several names, and knows which ones were looked at.
class PropertyReader {
 public:
  PropertyReader(const StorageProperties& properties, std::string prefix) : properties_(properties), prefix_(std::move(prefix)) {}

  std::optional<std::string> Text(std::initializer_list<const char*> names) {
    std::optional<std::string> value;
    for (const char* name : names) {
      known_.insert(name);
      if (const auto found = properties_.find(name); !value.has_value() && found != properties_.end() && !found->second.empty())
        value = found->second;
    }
    return value;
  }
  arrow::Result<bool> Flag(std::initializer_list<const char*> names, bool otherwise) {
    const std::optional<std::string> text = Text(names);
    if (!text.has_value()) return otherwise;
    if (*text == "true" || *text == "True" || *text == "1") return true;
    if (*text == "false" || *text == "False" || *text == "0") return false;
    return MakeError(ErrorKind::kInvalidInput, "{} must be true or false, not \"{}\"", *names.begin(), *text);
  }
  arrow::Result<std::optional<double>> Number(std::initializer_list<const char*> names) {
    const std::optional<std::string> text = Text(names);
    if (!text.has_value()) return std::nullopt;
    double value = 0;
    const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
    if (error != std::errc() || end != text->data() + text->size() || value < 0) {
      return MakeError(ErrorKind::kInvalidInput, "{} must be a number, not \"{}\"", *names.begin(), *text);
    }
    return value;
  }
  /// An error for the first property with our prefix that nobody asked for.
  arrow::Status CheckAllKnown() const {
    for (const auto& [name, value] : properties_) {
      if (name.starts_with(prefix_) && !known_.contains(name)) {
        return MakeError(ErrorKind::kUnsupported, "the storage property {} is not known", name);
      }
    }
    return arrow::Status::OK();
  }

 private:
  const StorageProperties& properties_;
  const std::string prefix_;
  std::set<std::string, std::less<>> known_;
};

std::optional<std::string> Environment(std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (const char* value = std::getenv(name); value != nullptr && *value != '\0') return value;
  }
  return std::nullopt;
}

/// Splits "http://host:port" into scheme and the rest; without a scheme it is https.
std::pair<std::string, std::string> SplitEndpoint(std::string endpoint) {
  std::string scheme = "https";
  if (const size_t at = endpoint.find("://"); at != std::string::npos) {
    scheme = endpoint.substr(0, at);
    endpoint = endpoint.substr(at + 3);
  }
  while (endpoint.ends_with('/')) endpoint.pop_back();
  return {scheme, endpoint};
}

arrow::Result<arrow::fs::S3Options> S3Credentials(const S3Library& library, PropertyReader* reader) {
  const auto key = reader->Text({"s3.access-key-id", "client.access-key-id"});
  const auto secret = reader->Text({"s3.secret-access-key", "client.secret-access-key"});
  const auto token = reader->Text({"s3.session-token", "client.session-token"});
  const auto role = reader->Text({"s3.role-arn", "client.role-arn"});
  const auto role_session = reader->Text({"s3.role-session-name", "client.role-session-name"});
  ARROW_ASSIGN_OR_RAISE(const bool anonymous, reader->Flag({"s3.anonymous"}, false));
  if (key.has_value() != secret.has_value()) {
    return MakeError(ErrorKind::kInvalidInput, "s3.access-key-id and s3.secret-access-key are only useful together");
  }
  if (anonymous) return library.anonymous_options();
  if (role.has_value()) {
    arrow::fs::S3Options options = library.default_options();
    library.assume_role(&options, *role, role_session.value_or("icebound"), "", 900, nullptr);
    return options;
  }
  if (key.has_value()) return library.key_options(*key, *secret, token.value_or(""));
  return library.default_options();  // AWS_ACCESS_KEY_ID and so on, profiles, the machine's role
}

arrow::Status RefuseRemoteSigning(PropertyReader* reader) {
  ARROW_ASSIGN_OR_RAISE(const bool remote_signing, reader->Flag({"s3.remote-signing-enabled"}, false));
  const auto signer = reader->Text({"s3.signer"});
  reader->Text({"s3.signer.uri", "s3.signer.endpoint"});  // they matter only with one of the two
  if (remote_signing || signer.has_value())
    return MakeError(ErrorKind::kUnsupported, "S3 requests signed by a remote signer are not supported");
  return arrow::Status::OK();
}

arrow::Result<std::shared_ptr<arrow::fs::FileSystem>> MakeS3(const std::string& bucket, const StorageProperties& properties,
                                                             const arrow::io::IOContext& context) {
  ARROW_ASSIGN_OR_RAISE(const S3Library* library, LoadS3Library());
  PropertyReader reader(properties, "s3.");
  ARROW_ASSIGN_OR_RAISE(arrow::fs::S3Options options, S3Credentials(*library, &reader));
  ARROW_RETURN_NOT_OK(RefuseRemoteSigning(&reader));

  auto endpoint = reader.Text({"s3.endpoint"});
  if (!endpoint.has_value()) endpoint = Environment({"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"});
  if (endpoint.has_value()) std::tie(options.scheme, options.endpoint_override) = SplitEndpoint(*endpoint);
  auto region = reader.Text({"s3.region", "client.region"});
  if (!region.has_value()) region = Environment({"AWS_REGION", "AWS_DEFAULT_REGION"});
  ARROW_ASSIGN_OR_RAISE(const bool resolve_region, reader.Flag({"s3.resolve-region"}, false));
  // A store of one's own has no regions to speak of, but requests are signed for one.
  if (!region.has_value() && endpoint.has_value()) region = "us-east-1";
  if (!region.has_value() || (resolve_region && !endpoint.has_value())) {
    auto resolved = library->bucket_region(bucket);
    if (!resolved.ok()) {
      return WithContext(resolved.status(), ErrorKind::kIo,
                         fmt::format("asking for the region of the bucket {} (s3.region would tell it)", bucket));
    }
    region = *resolved;
  }
  options.region = *region;

  // Arrow puts the bucket into the host name unless there is an endpoint of one's own.
  ARROW_ASSIGN_OR_RAISE(const bool virtual_addressing, reader.Flag({"s3.force-virtual-addressing"}, false));
  const bool default_path_style = options.endpoint_override.empty() ? false : !virtual_addressing;
  ARROW_ASSIGN_OR_RAISE(const bool path_style, reader.Flag({"s3.path-style-access"}, default_path_style));
  if (path_style && virtual_addressing) {
    return MakeError(ErrorKind::kInvalidInput, "s3.path-style-access and s3.force-virtual-addressing contradict each other");
  }
  if (path_style && options.endpoint_override.empty())
    options.endpoint_override = fmt::format("s3.{}.amazonaws.com", options.region);
  options.force_virtual_addressing = !path_style;

  if (const auto proxy = reader.Text({"s3.proxy-uri"})) {
    ARROW_ASSIGN_OR_RAISE(options.proxy_options, library->proxy_options(*proxy));
  }
  ARROW_ASSIGN_OR_RAISE(const std::optional<double> connect_timeout, reader.Number({"s3.connect-timeout"}));
  ARROW_ASSIGN_OR_RAISE(const std::optional<double> request_timeout, reader.Number({"s3.request-timeout"}));
  options.connect_timeout = connect_timeout.value_or(options.connect_timeout);
  options.request_timeout = request_timeout.value_or(options.request_timeout);
  ARROW_RETURN_NOT_OK(reader.CheckAllKnown());

  // In the background, any number of parts of an upload may wait in memory.
  options.background_writes = false;
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::fs::FileSystem> file_system, library->Make(options, context));
  return file_system;
}

arrow::Result<std::shared_ptr<arrow::fs::FileSystem>> MakeGcs(const StorageProperties& properties,
                                                              const arrow::io::IOContext& context) {
#ifdef ARROW_GCS
  PropertyReader reader(properties, "gcs.");
  const auto token = reader.Text({"gcs.oauth2.token"});
  ARROW_ASSIGN_OR_RAISE(const std::optional<double> expires_ms, reader.Number({"gcs.oauth2.token-expires-at"}));
  arrow::fs::GcsOptions options = arrow::fs::GcsOptions::Defaults();
  if (token.has_value()) {
    const auto since_epoch = std::chrono::milliseconds(static_cast<int64_t>(expires_ms.value_or(0)));
    const auto expires = expires_ms.has_value() ? arrow::fs::TimePoint(since_epoch)
                                                : arrow::fs::TimePoint(std::chrono::system_clock::now() + std::chrono::hours(1));
    options = arrow::fs::GcsOptions::FromAccessToken(*token, expires);
  } else if (const auto endpoint = reader.Text({"gcs.service.host", "gcs.endpoint"}); endpoint.has_value()) {
    options = arrow::fs::GcsOptions::Anonymous();  // emulators and stores of one's own want no Google account
  }
  if (const auto endpoint = reader.Text({"gcs.service.host", "gcs.endpoint"}))
    std::tie(options.scheme, options.endpoint_override) = SplitEndpoint(*endpoint);
  if (const auto project = reader.Text({"gcs.project-id"})) options.project_id = *project;
  if (const auto place = reader.Text({"gcs.default-location", "gcs.default-bucket-location"}))
    options.default_bucket_location = *place;
  ARROW_RETURN_NOT_OK(reader.CheckAllKnown());
  options.retry_limit_seconds = 60;  // the default of fifteen minutes looks like a hang
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::fs::FileSystem> file_system, arrow::fs::GcsFileSystem::Make(options, context));
  return file_system;
#else
  return MakeError(ErrorKind::kUnsupported, "this Arrow was built without Google Cloud Storage");
#endif
}

#ifdef ARROW_AZURE
arrow::Status AzureCredentials(PropertyReader* reader, arrow::fs::AzureOptions* options) {
  const auto key = reader->Text({"adls.account-key"});
  const auto sas = reader->Text({"adls.sas-token"});
  const auto tenant = reader->Text({"adls.tenant-id"});
  const auto client = reader->Text({"adls.client-id"});
  const auto secret = reader->Text({"adls.client-secret"});
  if (reader->Text({"adls.connection-string", "adls.token"}).has_value()) {
    return MakeError(
        ErrorKind::kUnsupported,
        "adls.connection-string and adls.token are not supported: use adls.account-key, adls.sas-token or a client secret");
  }
  if (key.has_value()) return options->ConfigureAccountKeyCredential(*key);
  if (sas.has_value()) return options->ConfigureSASCredential(*sas);
  if (tenant.has_value() && client.has_value() && secret.has_value())
    return options->ConfigureClientSecretCredential(*tenant, *client, *secret);
  if (client.has_value()) return options->ConfigureManagedIdentityCredential(*client);
  return options->ConfigureDefaultCredential();
}
#endif

arrow::Result<std::shared_ptr<arrow::fs::FileSystem>> MakeAzure(const std::string& authority, const StorageProperties& properties,
                                                                const arrow::io::IOContext& context) {
#ifdef ARROW_AZURE
  PropertyReader reader(properties, "adls.");
  arrow::fs::AzureOptions options;
  const size_t at = authority.find('@');
  const std::string host = at == std::string::npos ? "" : authority.substr(at + 1);
  options.account_name = reader.Text({"adls.account-name"}).value_or(host.substr(0, host.find('.')));
  if (options.account_name.empty()) {
    return MakeError(ErrorKind::kInvalidInput,
                     "abfs://{}: no account: write abfs://container@account.dfs.core.windows.net/path, or set adls.account-name",
                     authority);
  }
  if (const auto value = reader.Text({"adls.blob-storage-authority"})) options.blob_storage_authority = *value;
  if (const auto value = reader.Text({"adls.dfs-storage-authority"})) options.dfs_storage_authority = *value;
  if (const auto value = reader.Text({"adls.blob-storage-scheme"})) options.blob_storage_scheme = *value;
  if (const auto value = reader.Text({"adls.dfs-storage-scheme"})) options.dfs_storage_scheme = *value;
  ARROW_RETURN_NOT_OK(AzureCredentials(&reader, &options));
  ARROW_RETURN_NOT_OK(reader.CheckAllKnown());
  options.background_writes = false;
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::fs::FileSystem> file_system, arrow::fs::AzureFileSystem::Make(options, context));
  return file_system;
#else
  return MakeError(ErrorKind::kUnsupported, "this Arrow was built without Azure");
#endif
}

}  // namespace

arrow::Result<std::shared_ptr<arrow::fs::FileSystem>> MakeCloudFileSystem(const std::string& scheme, const std::string& authority,
                                                                          const StorageProperties& properties,
                                                                          const arrow::io::IOContext& context) {
  auto file_system = scheme == "s3"   ? MakeS3(authority, properties, context)
                     : scheme == "gs" ? MakeGcs(properties, context)
                                      : MakeAzure(authority, properties, context);
  if (!file_system.ok())
    return WithContext(file_system.status(), ErrorKind::kInvalidInput, fmt::format("connecting to {}://{}", scheme, authority));
  return file_system;
}

}  // namespace icebound::io
