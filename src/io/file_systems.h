// SPDX-License-Identifier: Apache-2.0
//
// From a path or URI as the user wrote it to a file system and a path inside it.
//
//   data/x.parquet, /data/x.parquet, file:///data/x.parquet     the local disk
//   s3://bucket/key (s3a, s3n)                                  Amazon S3 and everything that speaks its protocol
//   gs://bucket/key (gcs)                                       Google Cloud Storage
//   abfs[s]://container@account.dfs.core.windows.net/path       Azure Data Lake Storage (wasb[s] too)
//
// Storage properties have PyIceberg's names (`s3.endpoint`, `s3.access-key-id`, `gcs.oauth2.token`, `adls.account-key`, ...);
// what they leave out comes from the environment as the cloud's own tools read it (AWS_*, GOOGLE_*, AZURE_*). A property of a
// known store whose meaning is not implemented is an error when that store is first used, never ignored.
//
// The S3 client is a library of 17 MiB that costs about as much resident memory once in use: it is loaded at the first s3:// path
// and shut down when the process exits.
#pragma once

#include <arrow/filesystem/filesystem.h>
#include <arrow/io/interfaces.h>
#include <arrow/memory_pool.h>
#include <arrow/result.h>
#include <arrow/util/thread_pool.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

namespace icebound::io {

using StorageProperties = std::map<std::string, std::string>;

/// A place in a store. `path` is what `file_system` understands (it may hold glob characters); `text` is what the user wrote, for
/// messages.
struct Location {
  std::shared_ptr<arrow::fs::FileSystem> file_system;
  std::string path;
  std::string text;
  bool is_local = false;

  /// What comes before `path` in a full name: "" for local paths, "s3://" for S3. Prefix + path of a listed file names it in
  /// messages.
  std::string prefix;
};

/// The scheme of `text` in lower case, or "" when it is a plain local path.
std::string SchemeOf(std::string_view text);

/// Makes and keeps one file system a store and authority. Thread safe. Outlives the locations it gave and the files opened
/// through them.
class FileSystems {
 public:
  /// `pool` takes what the stores' clients allocate through Arrow; it must outlive this object.
  FileSystems(StorageProperties properties, arrow::MemoryPool* pool);
  ~FileSystems();

  /// kInvalidInput for a malformed URI or property, kUnsupported for an unknown scheme or a store this Arrow was built without.
  arrow::Result<Location> Resolve(std::string_view path_or_uri);

  const StorageProperties& properties() const { return properties_; }

  /// Threads for requests to remote stores, started when first used.
  arrow::internal::ThreadPool* io_threads() const { return io_threads_.get(); }

 private:
  arrow::Result<std::shared_ptr<arrow::fs::FileSystem>> RemoteFileSystem(const std::string& scheme, const std::string& authority);

  const StorageProperties properties_;
  const std::shared_ptr<arrow::internal::ThreadPool> io_threads_;
  const arrow::io::IOContext context_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<arrow::fs::FileSystem>> remote_;  // by scheme and authority; guarded by mutex_
  std::shared_ptr<arrow::fs::FileSystem> local_;
};

}  // namespace icebound::io
