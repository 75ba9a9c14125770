// SPDX-License-Identifier: Apache-2.0
//
// From a snapshot to a stream of file tasks.
//
//   Open   reads the manifest list and, through it, delete manifests into a DeleteIndex
//   Next   reads the list again, and data manifests one at a time; a live entry with its deletes is a task
//
// What the filter leaves out (scan_filter.h) is not looked at: manifests are not opened, files are no tasks.
//
// Memory: the index of deletes, one manifest being read, and the deletes of one task, however many data files there are. The list
// is read twice rather than held.
//
// Manifests without live files by the list's counts are read all the same: a list that is wrong must not make rows vanish. For
// the same reason a manifest with fewer live files than its list counts is corrupt data.
#pragma once

#include <arrow/io/interfaces.h>
#include <arrow/result.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "iceberg/deletes/delete_index.h"
#include "iceberg/manifest/manifest_reader.h"
#include "iceberg/scan/file_task.h"
#include "iceberg/scan/manifest_source.h"
#include "iceberg/scan/scan_filter.h"
#include "iceberg/spec/table_metadata.h"
#include "memory/memory_ledger.h"

namespace icebound::iceberg {

class TableScan;

struct ScanOptions {
  std::shared_ptr<const TableMetadata> table;  ///< required
  /// Of the table's snapshots; null: a table without one, that is without rows.
  const Snapshot* snapshot = nullptr;
  FileOpener open;  ///< required
  /// What the query wants of the rows: conjuncts over columns, which are the fields `filter_field_ids` (0: none) of `schema`.
  /// Whoever reads the files applies them; here they leave out what cannot satisfy them.
  std::vector<expr::ExprPtr> filters;
  std::vector<int32_t> filter_field_ids;
  const Schema* schema = nullptr;  ///< of the table's schemas; null: the current one
  /// A scan of the same snapshot without a filter, whose deletes are these, too: delete manifests are read once and held once,
  /// and FileTask::has_equality_deletes is the same whatever the filter is. Null: this scan reads those that its filter needs.
  std::shared_ptr<const TableScan> deletes_of;
  memory::MemoryConsumer* consumer = nullptr;  ///< required; outlives the scan
};

/// What a scan has done so far.
struct ScanCounts {
  int64_t delete_manifests = 0;  // read
  int64_t delete_manifests_left_out = 0;
  int64_t delete_files = 0;  // in the index
  int64_t delete_files_left_out = 0;
  int64_t data_manifests = 0;  // read
  int64_t data_manifests_left_out = 0;
  int64_t tasks = 0;
  int64_t data_files_left_out = 0;
};

/// Thread safe. What it gives out does not refer to it, except where said.
class TableScan {
 public:
  static arrow::Result<std::unique_ptr<TableScan>> Open(ScanOptions options);

  /// The next data file; false when there is none left. After a failure it fails for good.
  arrow::Result<bool> Next(FileTask* task);

  /// Groups of the equality deletes that may be about a row the filter keeps. Valid as long as the scan.
  const std::vector<EqualityDeleteGroup>& equality_groups() const { return deletes_->equality_groups(); }
  /// The file `index` (below its `files`) of a group. Its scope is EncodePartitionScope of its spec and partition.
  arrow::Result<DeleteFile> EqualityDelete(size_t group, int64_t index) const { return deletes_->EqualityDelete(group, index); }

  ScanCounts counts() const;

 private:
  TableScan(ScanOptions options, ScanFilter filter);

  arrow::Status ReadDeletes();
  arrow::Status ReadDeleteManifest(const ManifestFile& manifest);
  arrow::Result<std::unique_ptr<ManifestReader>> OpenManifest(const ManifestFile& manifest, std::vector<int32_t> metric_columns);
  arrow::Result<bool> OpenNextDataManifest();
  arrow::Result<bool> NextLocked(FileTask* task);

  const ScanOptions options_;
  const ScanFilter filter_;
  std::shared_ptr<DeleteIndex> deletes_;  // shared with scans whose deletes_of this is

  mutable std::mutex mutex_;
  // Guarded by mutex_.
  arrow::Status failure_;
  std::unique_ptr<ManifestSource> manifests_;
  ManifestFile manifest_;
  std::unique_ptr<ManifestReader> reader_;  // of manifest_; null between manifests
  int64_t live_files_ = 0;                  // read of manifest_
  ManifestEntry entry_;
  MatchedDeletes matched_;
  ScanCounts counts_;
};

}  // namespace icebound::iceberg
