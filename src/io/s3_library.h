// SPDX-License-Identifier: Apache-2.0
//
// Arrow's S3 client, loaded when it is first needed.
//
// In builds like the pyarrow wheel the client is a library of its own beside libarrow: 17 MiB of which half becomes resident when
// it is loaded, and as much again when it starts. Linking it would charge every run for it. So it is opened by name, and the few
// functions needed are looked up by their symbols; their types come from Arrow's header, and the library is of the very build
// whose header we were compiled with. An Arrow that holds the client in libarrow itself works the same way.
#pragma once

#include <arrow/filesystem/s3fs.h>
#include <arrow/result.h>

#include <string>

namespace icebound::io {

/// Functions of the loaded client. Constant once made.
struct S3Library {
  arrow::fs::S3Options (*default_options)() = nullptr;
  arrow::fs::S3Options (*anonymous_options)() = nullptr;
  arrow::fs::S3Options (*key_options)(const std::string& key, const std::string& secret, const std::string& token) = nullptr;
  void (*assume_role)(arrow::fs::S3Options* options, const std::string& role_arn, const std::string& session_name,
                      const std::string& external_id, int load_frequency,
                      const std::shared_ptr<Aws::STS::STSClient>& client) = nullptr;
  arrow::Result<arrow::fs::S3ProxyOptions> (*proxy_options)(const std::string& uri) = nullptr;
  arrow::Result<std::string> (*bucket_region)(const std::string& bucket) = nullptr;
  arrow::Result<std::shared_ptr<arrow::fs::S3FileSystem>> (*make)(const arrow::fs::S3Options& options,
                                                                  const arrow::io::IOContext& context) = nullptr;
  arrow::Status (*finalize)() = nullptr;  ///< null when somebody else started the client and ends it

  /// `make`, and the client's end is arranged for: it is shut down when the process exits, before its library's own objects go.
  arrow::Result<std::shared_ptr<arrow::fs::S3FileSystem>> Make(const arrow::fs::S3Options& options,
                                                               const arrow::io::IOContext& context) const;
};

/// Loads and starts the client, once a process. Thread safe. kUnsupported when this Arrow has none.
arrow::Result<const S3Library*> LoadS3Library();

}  // namespace icebound::io
