// SPDX-License-Identifier: Apache-2.0
#include "iceberg/catalog/commit_lookup.h"

#include <algorithm>

#include "base/error.h"

namespace icebound::iceberg {
namespace {

bool LogHolds(const TableMetadata& metadata, const std::string& location) {
  return std::any_of(metadata.metadata_log.begin(), metadata.metadata_log.end(),
                     [&](const MetadataLogEntry& entry) { return entry.metadata_file == location; });
}

}  // namespace

arrow::Status JudgeCommit(const LoadedTable& base, const std::string& new_location, const arrow::Result<LoadedTable>& now,
                          const arrow::Status& failure, bool request_is_over) {
  const std::string table = base.identifier.ToString();
  const auto unknown = [&](std::string_view seen) {
    return MakeError(ErrorKind::kCommitUnknown,
                     "whether the commit to {} happened is not known ({}): {}. It did if the table's metadata file is, or its "
                     "metadata-log holds, {}. Until then delete no file that it wrote",
                     table, seen, failure.message(), new_location);
  };
  if (!now.ok()) return unknown("looking failed: " + now.status().message());
  if (now->metadata_location == new_location || LogHolds(*now->metadata, new_location)) return arrow::Status::OK();
  if (now->metadata_location == base.metadata_location) {
    if (!request_is_over) return unknown("not yet");
    return MakeError(ErrorKind::kIo, "the commit to {} failed and nothing changed: {}", table, failure.message());
  }
  if (!LogHolds(*now->metadata, base.metadata_location)) return unknown("the table has changed since");
  return MakeError(ErrorKind::kCommitConflict, "another commit to {} came first: its metadata file is {} now, no longer {}",
                   table, now->metadata_location, base.metadata_location);
}

bool HasNewSnapshots(const MetadataChanges& changes, const TableMetadata& now) {
  const auto has = [&](int64_t id) { return now.FindSnapshot(id) != nullptr; };
  return !changes.new_snapshot_ids.empty() && std::all_of(changes.new_snapshot_ids.begin(), changes.new_snapshot_ids.end(), has);
}

arrow::Status JudgeUnnamedCommit(const LoadedTable& base, const TableMetadata& updated, const MetadataChanges& changes,
                                 const arrow::Result<LoadedTable>& now, const arrow::Status& failure) {
  const std::string table = base.identifier.ToString();
  const auto unknown = [&](std::string_view seen) {
    const std::string sign = changes.new_snapshot_ids.empty() ? std::string("what it set")
                                                              : fmt::format("snapshot {}", changes.new_snapshot_ids.back());
    return MakeError(ErrorKind::kCommitUnknown,
                     "whether the commit to {} happened is not known ({}): {}. It did if the table has {}. Until then delete no "
                     "file that it wrote",
                     table, seen, failure.message(), sign);
  };
  if (!now.ok()) return unknown("looking failed: " + now.status().message());
  const TableMetadata& found = *now->metadata;
  if (HasNewSnapshots(changes, found)) return arrow::Status::OK();
  const auto missing = CompareMetadata(&found, updated);
  if (missing.ok() && missing->updates == 0) return arrow::Status::OK();
  if (now->metadata_location == base.metadata_location) return unknown("not yet");
  const bool follows = !found.metadata_log.empty() && found.metadata_log.back().metadata_file == base.metadata_location;
  if (!follows || found.current_snapshot_id == base.metadata->current_snapshot_id) return unknown("the table has changed since");
  return MakeError(ErrorKind::kCommitConflict, "another commit to {} came first: its metadata file is {} now, no longer {}",
                   table, now->metadata_location, base.metadata_location);
}

}  // namespace icebound::iceberg
