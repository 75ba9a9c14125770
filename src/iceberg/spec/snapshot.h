// SPDX-License-Identifier: Apache-2.0
//
// Snapshots and what refers to them: branches and tags, the log of current snapshots, statistics files.
//
// A table may have tens of thousands of snapshots, so each is held small: its summary stays JSON text until somebody asks for it.
#pragma once

#include <arrow/result.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "iceberg/spec/json_text.h"

namespace icebound::iceberg {

/// Names and values in their order.
using StringPairs = std::vector<std::pair<std::string, std::string>>;

/// The value of `name`; null when there is none.
const std::string* FindValue(const StringPairs& pairs, std::string_view name);
arrow::Result<StringPairs> ParseStringPairs(std::string_view json);
void WriteStringPairs(const StringPairs& pairs, JsonWriter* writer);

/// A value.
struct Snapshot {
  int64_t snapshot_id = 0;
  std::optional<int64_t> parent_snapshot_id;
  int64_t sequence_number = 0;  ///< 0 in v1
  int64_t timestamp_ms = 0;
  std::string manifest_list;           ///< empty in old v1 tables, which name their manifests here:
  std::vector<std::string> manifests;  ///< v1 only
  std::optional<int32_t> schema_id;
  std::optional<int64_t> first_row_id;  ///< v3
  std::optional<int64_t> added_rows;    ///< v3
  std::optional<std::string> key_id;    ///< v3
  std::string summary_json;             ///< an object, or empty
  std::string unknown_members;

  static arrow::Result<Snapshot> Parse(std::string_view json);
  void Write(int format_version, JsonWriter* writer) const;

  /// The summary, "operation" included.
  arrow::Result<StringPairs> Summary() const;
  void SetSummary(const StringPairs& summary);
  /// "append", "replace", "overwrite", "delete"; empty when the summary does not say.
  arrow::Result<std::string> Operation() const;
};

inline constexpr std::string_view kMainBranch = "main";

/// A branch or a tag. A value.
struct SnapshotRef {
  std::string name;
  int64_t snapshot_id = 0;
  bool is_branch = false;
  std::optional<int32_t> min_snapshots_to_keep;  ///< branches only
  std::optional<int64_t> max_snapshot_age_ms;    ///< branches only
  std::optional<int64_t> max_ref_age_ms;
  std::string unknown_members;

  static arrow::Result<SnapshotRef> Parse(std::string name, std::string_view json);
  /// Without the name, which stands before it.
  void Write(JsonWriter* writer) const;
};

/// When a snapshot became the current one.
struct SnapshotLogEntry {
  int64_t timestamp_ms = 0;
  int64_t snapshot_id = 0;
  std::string unknown_members;

  static arrow::Result<SnapshotLogEntry> Parse(std::string_view json);
  void Write(JsonWriter* writer) const;
};

/// A metadata file that this one followed.
struct MetadataLogEntry {
  int64_t timestamp_ms = 0;
  std::string metadata_file;
  std::string unknown_members;

  static arrow::Result<MetadataLogEntry> Parse(std::string_view json);
  void Write(JsonWriter* writer) const;
};

/// One blob of a statistics file.
struct StatisticsBlob {
  std::string type;
  int64_t snapshot_id = 0;
  int64_t sequence_number = 0;
  std::vector<int32_t> field_ids;
  StringPairs properties;
  std::string unknown_members;
};

/// A Puffin file with statistics of a snapshot.
struct StatisticsFile {
  int64_t snapshot_id = 0;
  std::string path;
  int64_t file_bytes = 0;
  int64_t footer_bytes = 0;
  std::optional<std::string> key_metadata;  ///< base64
  std::vector<StatisticsBlob> blobs;
  std::string unknown_members;

  static arrow::Result<StatisticsFile> Parse(std::string_view json);
  void Write(JsonWriter* writer) const;
};

/// A file with statistics of every partition of a snapshot.
struct PartitionStatisticsFile {
  int64_t snapshot_id = 0;
  std::string path;
  int64_t file_bytes = 0;
  std::string unknown_members;

  static arrow::Result<PartitionStatisticsFile> Parse(std::string_view json);
  void Write(JsonWriter* writer) const;
};

}  // namespace icebound::iceberg
