// SPDX-License-Identifier: Apache-2.0
#include "iceberg/scan/table_scan.h"

#include "base/error.h"

namespace icebound::iceberg {
namespace {

/// A manifest that ends early, between two blocks, looks whole to its reader; the list knows better.
arrow::Status CheckLiveFiles(const ManifestFile& manifest, int64_t live_files) {
  const int64_t promised = int64_t{manifest.added_files.value_or(0)} + manifest.existing_files.value_or(0);
  if (live_files >= promised) return arrow::Status::OK();
  return MakeError(ErrorKind::kCorruptData, "manifest {} holds {} live files, its manifest list counts {}", manifest.path,
                   live_files, promised);
}

}  // namespace

TableScan::TableScan(ScanOptions options, ScanFilter filter) : options_(std::move(options)), filter_(std::move(filter)) {}

arrow::Result<std::unique_ptr<TableScan>> TableScan::Open(ScanOptions options) {
  const Schema& schema = options.schema == nullptr ? options.table->current_schema() : *options.schema;
  ARROW_ASSIGN_OR_RAISE(ScanFilter filter, ScanFilter::Make(options.filters, options.filter_field_ids, schema, *options.table));
  std::unique_ptr<TableScan> scan(new TableScan(std::move(options), std::move(filter)));
  const TableScan* deletes_of = scan->options_.deletes_of.get();
  if (deletes_of == nullptr) {
    scan->deletes_ = std::make_shared<DeleteIndex>(*scan->options_.table, scan->options_.consumer);
    if (scan->options_.snapshot != nullptr) ARROW_RETURN_NOT_OK(scan->ReadDeletes());
    return scan;
  }
  if (deletes_of->options_.snapshot != scan->options_.snapshot || !deletes_of->filter_.empty()) {
    return MakeError(ErrorKind::kInternal, "the deletes of a scan are those of another snapshot, or not all");
  }
  scan->deletes_ = deletes_of->deletes_;
  return scan;
}

arrow::Result<std::unique_ptr<ManifestReader>> TableScan::OpenManifest(const ManifestFile& manifest,
                                                                       std::vector<int32_t> metric_columns) {
  auto file = options_.open(manifest.path);
  if (!file.ok()) {
    return WithContext(file.status(), ErrorKind::kIo, fmt::format("manifest of snapshot {}", options_.snapshot->snapshot_id));
  }
  ManifestReadOptions read_options;
  read_options.consumer = options_.consumer;
  read_options.metric_columns = std::move(metric_columns);
  return ManifestReader::Open(*std::move(file), manifest, *options_.table, read_options);
}

arrow::Status TableScan::ReadDeletes() {
  ARROW_ASSIGN_OR_RAISE(const auto manifests, ManifestSource::Open(*options_.snapshot, options_.open, options_.consumer));
  ManifestFile manifest;
  for (;;) {
    ARROW_ASSIGN_OR_RAISE(const bool more, manifests->Next(&manifest));
    if (!more) break;
    if (manifest.content != ManifestContent::kDeletes) continue;
    if (!filter_.MayMatch(manifest)) {
      ++counts_.delete_manifests_left_out;
      continue;
    }
    ARROW_RETURN_NOT_OK(ReadDeleteManifest(manifest));
  }
  counts_.delete_files = deletes_->files();
  return deletes_->Finish();
}

arrow::Status TableScan::ReadDeleteManifest(const ManifestFile& manifest) {
  std::vector<int32_t> metric_fields = filter_.metric_fields();
  metric_fields.push_back(kDeleteFilePathId);
  ARROW_ASSIGN_OR_RAISE(const auto reader, OpenManifest(manifest, std::move(metric_fields)));
  ++counts_.delete_manifests;
  int64_t live_files = 0;
  for (;;) {
    ARROW_ASSIGN_OR_RAISE(const bool more, reader->Next(&entry_));
    if (!more) break;
    ++live_files;
    if (!filter_.DeletesMayMatch(entry_.file)) {
      ++counts_.delete_files_left_out;
      continue;
    }
    const arrow::Status added = deletes_->Add(entry_);
    if (!added.ok()) {
      return WithContext(added, ErrorKind::kCorruptData,
                         fmt::format("manifest {}, after {} delete files", manifest.path, deletes_->files()));
    }
  }
  return CheckLiveFiles(manifest, live_files);
}

arrow::Result<bool> TableScan::OpenNextDataManifest() {
  if (options_.snapshot == nullptr) return false;
  if (manifests_ == nullptr) {
    ARROW_ASSIGN_OR_RAISE(manifests_, ManifestSource::Open(*options_.snapshot, options_.open, options_.consumer));
  }
  for (;;) {
    ARROW_ASSIGN_OR_RAISE(const bool more, manifests_->Next(&manifest_));
    if (!more) return false;
    if (manifest_.content != ManifestContent::kData) continue;
    if (!filter_.MayMatch(manifest_)) {
      ++counts_.data_manifests_left_out;
      continue;
    }
    ARROW_ASSIGN_OR_RAISE(reader_, OpenManifest(manifest_, filter_.metric_fields()));
    ++counts_.data_manifests;
    live_files_ = 0;
    return true;
  }
}

arrow::Result<bool> TableScan::NextLocked(FileTask* task) {
  for (;;) {
    if (reader_ == nullptr) {
      ARROW_ASSIGN_OR_RAISE(const bool more, OpenNextDataManifest());
      if (!more) return false;
    }
    ARROW_ASSIGN_OR_RAISE(const bool more, reader_->Next(&entry_));
    if (!more) {
      reader_.reset();
      ARROW_RETURN_NOT_OK(CheckLiveFiles(manifest_, live_files_));
      continue;
    }
    ++live_files_;
    if (filter_.DataMayMatch(entry_.file)) break;
    ++counts_.data_files_left_out;
  }
  ARROW_RETURN_NOT_OK(deletes_->Match(entry_.file, *entry_.sequence_number, &matched_));
  task->file = entry_.file;
  task->sequence_number = *entry_.sequence_number;
  task->file_sequence_number = entry_.file_sequence_number;
  task->deletion_vector = std::move(matched_.deletion_vector);
  task->position_deletes = std::move(matched_.position_deletes);
  task->has_equality_deletes = matched_.has_equality_deletes;
  task->filter_always_true = filter_.IsAlwaysTrue(entry_.file);
  ++counts_.tasks;
  return true;
}

arrow::Result<bool> TableScan::Next(FileTask* task) {
  std::lock_guard lock(mutex_);
  ARROW_RETURN_NOT_OK(failure_);
  auto found = NextLocked(task);
  failure_ = found.status();
  return found;
}

ScanCounts TableScan::counts() const {
  std::lock_guard lock(mutex_);
  return counts_;
}

}  // namespace icebound::iceberg
