// SPDX-License-Identifier: Apache-2.0
//
// Manifests and manifest lists, read an entry at a time.
//
//   manifest list   one record a manifest: path, spec, counts, summaries of partition values     ManifestListReader
//   manifest        one record a file: what a snapshot did to it, and all that is known of it    ManifestReader
//
// Both are Avro files whose fields go by id, never by name or place; what a version does not have keeps the default that the
// specification gives for reading it (content 0, sequence numbers 0). Memory is one Avro block and one entry, however many
// entries there are; both are charged to the consumer.
//
// Inheritance. A manifest is written before its commit is known, so its new entries leave open what the manifest list knows:
//
//   snapshot id              null: that of the list's entry
//   sequence numbers         null in an ADDED entry: the list's. In an EXISTING or DELETED entry both must stand there, for such
// a
//                            file is older than its manifest; giving it the manifest's number would move its rows in time and
// undo
//                            deletes. A live entry without them is corrupt data. v1 manifests have none: 0
//   data, file number        are two things: rewritten data keeps the number of its rows and gets the file number of its commit
//   first row id (v3)        null in a data manifest with a first row id: that id plus the records of the entries before, those
// that
//                            were given an id this way (deleted entries neither get nor count). Without one in the list nothing
// has
//                            row ids, whatever the entries say. Delete files have none
//
// Partition tuples come in the order of the manifest's spec, each value of the type that its transform gives for the column's
// type now: an int that was promoted since is widened.
#pragma once

#include <arrow/io/interfaces.h>
#include <arrow/result.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "iceberg/avro/record_reader.h"
#include "iceberg/manifest/entry_memory.h"
#include "iceberg/manifest/manifest_entry.h"
#include "iceberg/manifest/manifest_file.h"
#include "iceberg/spec/table_metadata.h"
#include "memory/memory_ledger.h"

namespace icebound::iceberg {

/// Not thread safe. The consumer must outlive it.
class ManifestListReader {
 public:
  /// `path` is for messages.
  static arrow::Result<std::unique_ptr<ManifestListReader>> Open(std::shared_ptr<arrow::io::RandomAccessFile> file,
                                                                 std::string path, memory::MemoryConsumer* consumer);

  /// Fills `manifest`; false when there is none left. What is kept of it is the caller's to charge.
  arrow::Result<bool> Next(ManifestFile* manifest);

 private:
  ManifestListReader(std::unique_ptr<avro::RecordReader> records, std::string path, memory::MemoryConsumer* consumer)
      : records_(std::move(records)), path_(std::move(path)), memory_(consumer) {}

  arrow::Status ReadManifest(avro::ValueReader& record, ManifestFile* manifest);
  arrow::Status ReadSummaries(avro::ValueReader& value, std::vector<FieldSummary>* summaries);

  const std::unique_ptr<avro::RecordReader> records_;
  const std::string path_;
  EntryMemory memory_;
};

struct ManifestReadOptions {
  memory::MemoryConsumer* consumer = nullptr;  ///< required
  /// Only entries that are not deleted. What rewrites a manifest for an old snapshot's sake reads all.
  bool live_only = true;
  /// Metrics of these columns alone (a plan needs those it filters by); nullopt is all.
  std::optional<std::vector<int32_t>> metric_columns;
};

/// Not thread safe. The consumer and the table's metadata must outlive it.
class ManifestReader {
 public:
  static arrow::Result<std::unique_ptr<ManifestReader>> Open(std::shared_ptr<arrow::io::RandomAccessFile> file,
                                                             const ManifestFile& manifest, const TableMetadata& table,
                                                             const ManifestReadOptions& options);

  const PartitionSpec& spec() const { return *spec_; }
  const TypePtr& tuple_type() const { return tuple_type_; }
  ManifestContent content() const { return content_; }
  int format_version() const { return format_version_; }

  /// Fills `entry`, inherited values included; false when there is none left. What is kept of it is the caller's to charge.
  arrow::Result<bool> Next(ManifestEntry* entry);

 private:
  ManifestReader(std::unique_ptr<avro::RecordReader> records, const ManifestFile& manifest, const ManifestReadOptions& options);

  arrow::Status ReadHeader(const TableMetadata& table);
  arrow::Status ReadEntry(avro::ValueReader& record, ManifestEntry* entry);
  arrow::Status ReadDataFile(avro::ValueReader& record, DataFile* file);
  arrow::Status ReadMetrics(int32_t field_id, avro::ValueReader& value, DataFile* file);
  arrow::Status ReadPartition(avro::ValueReader& record, DataFile* file);
  arrow::Status ReadCounts(avro::ValueReader& value, ColumnCounts* counts);
  arrow::Status ReadBounds(avro::ValueReader& value, ColumnBytes* bounds);
  bool WantsMetrics(int32_t field_id) const;
  arrow::Status CheckEntry(const ManifestEntry& entry) const;
  arrow::Status Inherit(ManifestEntry* entry);

  const std::unique_ptr<avro::RecordReader> records_;
  const ManifestFile manifest_;
  const ManifestReadOptions options_;
  EntryMemory memory_;
  const PartitionSpec* spec_ = nullptr;
  TypePtr tuple_type_;
  ManifestContent content_ = ManifestContent::kData;
  int format_version_ = 1;
  std::optional<int64_t> next_row_id_;  ///< for the next entry that has none
};

}  // namespace icebound::iceberg
