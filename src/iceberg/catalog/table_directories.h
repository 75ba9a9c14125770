// SPDX-License-Identifier: Apache-2.0
//
// Tables whose directory is all the catalog they have, as Java's HadoopTables keeps them:
//
//   <table>/metadata/v1.metadata.json, v2.metadata.json, ...    the table is the last of them
//   <table>/metadata/version-hint.text                          "2": at least this far; written after the commit, so it may lag
//
// Reading starts at the hint and goes on while there is a next version; without a hint, or when it names a file that is gone, the
// directory is listed. A commit of version N + 1 is MetadataStore::Publish of that name: of two writers one finds it taken. So
// that both try the same name, version N + 1 is compressed as the properties of version N say, and version 1 never.
//
// A directory of a table that some catalog keeps (00003-<uuid>.metadata.json) can be read, too, but not committed to: which of
// its files is the table is known to that catalog alone. The hint decides if there is one (some write file names into it), else
// the highest number; when two files have it, one of them lost a race and neither is taken.
#pragma once

#include <optional>
#include <string>

#include "iceberg/catalog/catalog.h"
#include "iceberg/catalog/metadata_store.h"

namespace icebound::iceberg {

/// Thread safe.
class TableDirectories {
 public:
  /// `single_writer`: see metadata_store.h.
  TableDirectories(CatalogContext context, bool single_writer) : store_(std::move(context)), single_writer_(single_writer) {}

  const MetadataStore& store() const { return store_; }

  /// Whether a table is in `directory`: something in its metadata directory is named like table metadata.
  arrow::Result<bool> IsTable(const std::string& directory) const;
  arrow::Result<LoadedTable> Load(const TableIdentifier& identifier, const std::string& directory) const;
  /// In metadata.location.
  arrow::Result<LoadedTable> Create(const TableIdentifier& identifier, TableMetadata metadata) const;
  arrow::Result<LoadedTable> Commit(const LoadedTable& base, TableMetadata updated) const;
  /// Deletes the metadata, after which it is no table, then the rest of the directory.
  arrow::Status Drop(const TableIdentifier& identifier, const std::string& directory) const;

 private:
  arrow::Result<std::optional<std::string>> Newest(const std::string& directory) const;
  arrow::Result<std::optional<std::string>> NewestByHint(const std::string& metadata_directory) const;
  arrow::Result<std::optional<std::string>> NewestByListing(const std::string& metadata_directory) const;
  arrow::Result<std::optional<std::string>> FindVersion(const std::string& metadata_directory, int64_t version) const;
  void WriteHint(const std::string& metadata_location, int64_t version) const;

  const MetadataStore store_;
  const bool single_writer_;
};

}  // namespace icebound::iceberg
