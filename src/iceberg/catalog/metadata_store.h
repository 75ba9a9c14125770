// SPDX-License-Identifier: Apache-2.0
//
// Metadata files in a file system: loaded, staged, made visible, deleted.
//
//   Load          read, decompressed by its first bytes, parsed; charged while the table is held
//   Stage         serialised and charged before anything is written, so that a memory limit stops a commit at its beginning
//   WriteNew      under a name with a fresh UUID, which nothing refers to yet. Durable when it returns: on the local disk the
//                 file and its directory are synced, an object store answers once it holds the object
//   Publish       under a name that others may want at the same time (v7.metadata.json): at most one caller ever gets it.
//
//                 local disk    written as staged-<uuid>.metadata.json, synced, then link(2), which refuses a name that exists
//                               (renameat2 with RENAME_NOREPLACE where there are no hard links), then the directory is synced
//                 others        Arrow's file systems have no such step. Without the caller's word that it is the only
//                               writer (`single_writer`), publishing is kUnsupported: a lost update would be silent
//
// A file is compressed as write.metadata.compression-codec says.
#pragma once

#include <arrow/buffer.h>
#include <arrow/result.h>

#include <memory>
#include <string>
#include <vector>

#include "iceberg/catalog/catalog.h"
#include "iceberg/catalog/catalog_context.h"
#include "iceberg/spec/metadata_file.h"

namespace icebound::iceberg {

/// Metadata that is ready to be written, and the table it will be.
struct StagedMetadata {
  LoadedTable table;
  std::shared_ptr<arrow::Buffer> file_bytes;
};

/// Thread safe.
class MetadataStore {
 public:
  explicit MetadataStore(CatalogContext context) : context_(std::move(context)) {}

  const CatalogContext& context() const { return context_; }

  /// kNotFound when there is no such file, kCorruptData when it is not table metadata.
  arrow::Result<LoadedTable> Load(TableIdentifier identifier, std::string metadata_location) const;

  /// The table that `json` is; `json` itself is the caller's to have charged.
  arrow::Result<LoadedTable> Parse(TableIdentifier identifier, std::string metadata_location, std::string_view json) const;

  /// `text_bytes_hint`: about how long the JSON will be (that of the metadata before it), 0 when nobody knows.
  arrow::Result<StagedMetadata> Stage(TableIdentifier identifier, std::string metadata_location, TableMetadata metadata,
                                      MetadataCodec codec, int64_t text_bytes_hint) const;

  arrow::Status WriteNew(const StagedMetadata& staged) const;

  /// kCommitConflict when the name is taken, kCommitUnknown as in catalog.h; after every other failure the name is not ours.
  arrow::Status Publish(const StagedMetadata& staged, bool single_writer) const;

  /// The whole content of a small file; kNotFound when there is none.
  arrow::Result<std::shared_ptr<arrow::Buffer>> Read(const std::string& location) const;
  /// Makes `location` hold `text` whether it exists or not. Readers see the old or the new text, on the local disk.
  arrow::Status Replace(const std::string& location, std::string_view text) const;
  arrow::Result<arrow::fs::FileType> TypeOf(const std::string& location) const;
  arrow::Status CreateDirectory(const std::string& location) const;
  /// With everything in it.
  arrow::Status DeleteDirectory(const std::string& location) const;
  /// Calls `visit(name, type)` for each entry right below a directory; kNotFound when there is none.
  arrow::Status VisitEntries(const std::string& location,
                             const std::function<arrow::Status(const std::string&, arrow::fs::FileType)>& visit) const;
  /// As well as it can: the file is one that nobody needs.
  void Delete(const std::string& location) const;

 private:
  const CatalogContext context_;
};

/// The codec that `metadata`'s properties ask for.
arrow::Result<MetadataCodec> CodecOf(const TableMetadata& metadata);

/// Where the metadata files of a table are: write.metadata.path, or <location>/metadata.
std::string MetadataDirectory(const TableMetadata& metadata);

/// The location of the metadata file that follows `previous` (empty: the first), with a fresh UUID in its name.
arrow::Result<std::string> NewMetadataLocation(const TableMetadata& metadata, const std::string& previous);

/// Checks that `updated` may follow `base` (same uuid, no older format) and puts the file of `base` into its metadata-log, which
/// is cut to write.metadata.previous-versions-max entries.
arrow::Status FollowBase(const LoadedTable& base, TableMetadata* updated);

/// What write.metadata.delete-after-commit.enabled asks for: deletes the files that left the log with this commit.
void DeleteForgottenMetadata(const MetadataStore& store, const LoadedTable& base, const TableMetadata& committed);

}  // namespace icebound::iceberg
