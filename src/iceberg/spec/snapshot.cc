// SPDX-License-Identifier: Apache-2.0
#include "iceberg/spec/snapshot.h"

#include "base/error.h"

namespace icebound::iceberg {
namespace {

arrow::Status InSnapshot(const arrow::Status& status, int64_t snapshot_id) {
  return WithContext(status, ErrorKind::kCorruptData, fmt::format("snapshot {}", snapshot_id));
}

arrow::Result<std::vector<std::string>> ParseStrings(std::string_view json) {
  ARROW_ASSIGN_OR_RAISE(JsonElements elements, JsonElements::Make(json));
  std::vector<std::string> strings;
  std::string_view element;
  while (elements.Next(&element)) {
    ARROW_ASSIGN_OR_RAISE(std::string text, DecodeJsonString(element));
    strings.push_back(std::move(text));
  }
  return strings;
}

arrow::Status ParseSnapshotMembers(JsonObject* object, Snapshot* snapshot) {
  ARROW_ASSIGN_OR_RAISE(snapshot->parent_snapshot_id, object->FindInt64("parent-snapshot-id"));
  ARROW_ASSIGN_OR_RAISE(const auto sequence_number, object->FindInt64("sequence-number"));
  // Snapshots of a table that was upgraded from v1 have none, whatever the table's version.
  snapshot->sequence_number = sequence_number.value_or(0);
  ARROW_ASSIGN_OR_RAISE(snapshot->timestamp_ms, object->GetInt64("timestamp-ms"));
  ARROW_ASSIGN_OR_RAISE(const auto manifest_list, object->FindString("manifest-list"));
  if (manifest_list && manifest_list->empty()) return MakeError(ErrorKind::kCorruptData, "'manifest-list' is empty");
  snapshot->manifest_list = manifest_list.value_or("");
  if (const auto manifests = object->Find("manifests")) {
    ARROW_ASSIGN_OR_RAISE(snapshot->manifests, ParseStrings(*manifests));
  }
  if (!manifest_list && !object->Find("manifests")) return object->GetString("manifest-list").status();
  ARROW_ASSIGN_OR_RAISE(snapshot->schema_id, object->FindInt32("schema-id"));
  ARROW_ASSIGN_OR_RAISE(snapshot->first_row_id, object->FindInt64("first-row-id"));
  ARROW_ASSIGN_OR_RAISE(snapshot->added_rows, object->FindInt64("added-rows"));
  ARROW_ASSIGN_OR_RAISE(snapshot->key_id, object->FindString("key-id"));
  if (const auto summary = object->Find("summary")) {
    ARROW_RETURN_NOT_OK(ParseStringPairs(*summary).status());
    snapshot->summary_json = CompactJson(*summary);
  }
  snapshot->unknown_members = object->UnknownMembers();
  return arrow::Status::OK();
}

arrow::Result<StatisticsBlob> ParseBlob(std::string_view json) {
  ARROW_ASSIGN_OR_RAISE(JsonObject object, JsonObject::Make(json));
  StatisticsBlob blob;
  ARROW_ASSIGN_OR_RAISE(blob.type, object.GetString("type"));
  ARROW_ASSIGN_OR_RAISE(blob.snapshot_id, object.GetInt64("snapshot-id"));
  ARROW_ASSIGN_OR_RAISE(blob.sequence_number, object.GetInt64("sequence-number"));
  ARROW_ASSIGN_OR_RAISE(blob.field_ids, object.GetInt32List("fields"));
  if (const auto properties = object.Find("properties")) {
    ARROW_ASSIGN_OR_RAISE(blob.properties, ParseStringPairs(*properties));
  }
  blob.unknown_members = object.UnknownMembers();
  return blob;
}

void WriteBlob(const StatisticsBlob& blob, JsonWriter* writer) {
  writer->BeginObject();
  writer->StringMember("type", blob.type);
  writer->IntMember("snapshot-id", blob.snapshot_id);
  writer->IntMember("sequence-number", blob.sequence_number);
  writer->IntListMember("fields", blob.field_ids);
  if (!blob.properties.empty()) {
    writer->Key("properties");
    WriteStringPairs(blob.properties, writer);
  }
  writer->Members(blob.unknown_members);
  writer->EndObject();
}

}  // namespace

const std::string* FindValue(const StringPairs& pairs, std::string_view name) {
  for (const auto& [key, value] : pairs) {
    if (key == name) return &value;
  }
  return nullptr;
}

arrow::Result<StringPairs> ParseStringPairs(std::string_view json) {
  ARROW_ASSIGN_OR_RAISE(const JsonObject object, JsonObject::Make(json));
  StringPairs pairs;
  pairs.reserve(object.members().size());
  for (const JsonObject::Member& member : object.members()) {
    if (member.value == "null") continue;
    auto value = DecodeJsonString(member.value);
    if (!value.ok()) return WithContext(value.status(), ErrorKind::kCorruptData, fmt::format("'{}'", member.name));
    pairs.emplace_back(member.name, *std::move(value));
  }
  return pairs;
}

void WriteStringPairs(const StringPairs& pairs, JsonWriter* writer) {
  writer->BeginObject();
  for (const auto& [key, value] : pairs) writer->StringMember(key, value);
  writer->EndObject();
}

arrow::Result<Snapshot> Snapshot::Parse(std::string_view json) {
  ARROW_ASSIGN_OR_RAISE(JsonObject object, JsonObject::Make(json));
  Snapshot snapshot;
  ARROW_ASSIGN_OR_RAISE(snapshot.snapshot_id, object.GetInt64("snapshot-id"));
  const arrow::Status parsed = ParseSnapshotMembers(&object, &snapshot);
  if (!parsed.ok()) return InSnapshot(parsed, snapshot.snapshot_id);
  return snapshot;
}

void Snapshot::Write(int format_version, JsonWriter* writer) const {
  writer->BeginObject();
  if (format_version > 1) writer->IntMember("sequence-number", sequence_number);
  writer->IntMember("snapshot-id", snapshot_id);
  if (parent_snapshot_id) writer->IntMember("parent-snapshot-id", *parent_snapshot_id);
  writer->IntMember("timestamp-ms", timestamp_ms);
  if (!summary_json.empty()) writer->RawMember("summary", summary_json);
  if (!manifest_list.empty()) {
    writer->StringMember("manifest-list", manifest_list);
  } else {
    writer->Key("manifests");
    writer->BeginArray();
    for (const std::string& manifest : manifests) writer->String(manifest);
    writer->EndArray();
  }
  if (schema_id) writer->IntMember("schema-id", *schema_id);
  if (first_row_id) writer->IntMember("first-row-id", *first_row_id);
  if (added_rows) writer->IntMember("added-rows", *added_rows);
  if (key_id) writer->StringMember("key-id", *key_id);
  writer->Members(unknown_members);
  writer->EndObject();
}

arrow::Result<StringPairs> Snapshot::Summary() const {
  if (summary_json.empty()) return StringPairs();
  return ParseStringPairs(summary_json);
}

void Snapshot::SetSummary(const StringPairs& summary) {
  summary_json.clear();
  JsonWriter writer(&summary_json);
  WriteStringPairs(summary, &writer);
}

arrow::Result<std::string> Snapshot::Operation() const {
  ARROW_ASSIGN_OR_RAISE(const StringPairs summary, Summary());
  const std::string* operation = FindValue(summary, "operation");
  return operation == nullptr ? std::string() : *operation;
}

arrow::Result<SnapshotRef> SnapshotRef::Parse(std::string name, std::string_view json) {
  SnapshotRef ref;
  ref.name = std::move(name);
  const auto parse = [&]() -> arrow::Status {
    ARROW_ASSIGN_OR_RAISE(JsonObject object, JsonObject::Make(json));
    ARROW_ASSIGN_OR_RAISE(ref.snapshot_id, object.GetInt64("snapshot-id"));
    ARROW_ASSIGN_OR_RAISE(const std::string type, object.GetString("type"));
    ref.is_branch = type == "branch" || type == "BRANCH";
    if (!ref.is_branch && type != "tag" && type != "TAG") {
      return MakeError(ErrorKind::kCorruptData, "'type' is neither 'branch' nor 'tag': '{}'", type);
    }
    ARROW_ASSIGN_OR_RAISE(ref.min_snapshots_to_keep, object.FindInt32("min-snapshots-to-keep"));
    ARROW_ASSIGN_OR_RAISE(ref.max_snapshot_age_ms, object.FindInt64("max-snapshot-age-ms"));
    ARROW_ASSIGN_OR_RAISE(ref.max_ref_age_ms, object.FindInt64("max-ref-age-ms"));
    ref.unknown_members = object.UnknownMembers();
    return arrow::Status::OK();
  };
  const arrow::Status parsed = parse();
  if (!parsed.ok()) return WithContext(parsed, ErrorKind::kCorruptData, fmt::format("reference '{}'", ref.name));
  return ref;
}

void SnapshotRef::Write(JsonWriter* writer) const {
  writer->BeginObject();
  writer->IntMember("snapshot-id", snapshot_id);
  writer->StringMember("type", is_branch ? "branch" : "tag");
  if (min_snapshots_to_keep) writer->IntMember("min-snapshots-to-keep", *min_snapshots_to_keep);
  if (max_snapshot_age_ms) writer->IntMember("max-snapshot-age-ms", *max_snapshot_age_ms);
  if (max_ref_age_ms) writer->IntMember("max-ref-age-ms", *max_ref_age_ms);
  writer->Members(unknown_members);
  writer->EndObject();
}

arrow::Result<SnapshotLogEntry> SnapshotLogEntry::Parse(std::string_view json) {
  ARROW_ASSIGN_OR_RAISE(JsonObject object, JsonObject::Make(json));
  SnapshotLogEntry entry;
  ARROW_ASSIGN_OR_RAISE(entry.timestamp_ms, object.GetInt64("timestamp-ms"));
  ARROW_ASSIGN_OR_RAISE(entry.snapshot_id, object.GetInt64("snapshot-id"));
  entry.unknown_members = object.UnknownMembers();
  return entry;
}

void SnapshotLogEntry::Write(JsonWriter* writer) const {
  writer->BeginObject();
  writer->IntMember("timestamp-ms", timestamp_ms);
  writer->IntMember("snapshot-id", snapshot_id);
  writer->Members(unknown_members);
  writer->EndObject();
}

arrow::Result<MetadataLogEntry> MetadataLogEntry::Parse(std::string_view json) {
  ARROW_ASSIGN_OR_RAISE(JsonObject object, JsonObject::Make(json));
  MetadataLogEntry entry;
  ARROW_ASSIGN_OR_RAISE(entry.timestamp_ms, object.GetInt64("timestamp-ms"));
  ARROW_ASSIGN_OR_RAISE(entry.metadata_file, object.GetString("metadata-file"));
  entry.unknown_members = object.UnknownMembers();
  return entry;
}

void MetadataLogEntry::Write(JsonWriter* writer) const {
  writer->BeginObject();
  writer->IntMember("timestamp-ms", timestamp_ms);
  writer->StringMember("metadata-file", metadata_file);
  writer->Members(unknown_members);
  writer->EndObject();
}

arrow::Result<StatisticsFile> StatisticsFile::Parse(std::string_view json) {
  ARROW_ASSIGN_OR_RAISE(JsonObject object, JsonObject::Make(json));
  StatisticsFile file;
  ARROW_ASSIGN_OR_RAISE(file.snapshot_id, object.GetInt64("snapshot-id"));
  ARROW_ASSIGN_OR_RAISE(file.path, object.GetString("statistics-path"));
  ARROW_ASSIGN_OR_RAISE(file.file_bytes, object.GetInt64("file-size-in-bytes"));
  ARROW_ASSIGN_OR_RAISE(file.footer_bytes, object.GetInt64("file-footer-size-in-bytes"));
  ARROW_ASSIGN_OR_RAISE(file.key_metadata, object.FindString("key-metadata"));
  ARROW_ASSIGN_OR_RAISE(const std::string_view blobs, object.Get("blob-metadata"));
  ARROW_ASSIGN_OR_RAISE(JsonElements elements, JsonElements::Make(blobs));
  std::string_view element;
  while (elements.Next(&element)) {
    ARROW_ASSIGN_OR_RAISE(StatisticsBlob blob, ParseBlob(element));
    file.blobs.push_back(std::move(blob));
  }
  file.unknown_members = object.UnknownMembers();
  return file;
}

void StatisticsFile::Write(JsonWriter* writer) const {
  writer->BeginObject();
  writer->IntMember("snapshot-id", snapshot_id);
  writer->StringMember("statistics-path", path);
  writer->IntMember("file-size-in-bytes", file_bytes);
  writer->IntMember("file-footer-size-in-bytes", footer_bytes);
  if (key_metadata) writer->StringMember("key-metadata", *key_metadata);
  writer->Key("blob-metadata");
  writer->BeginArray();
  for (const StatisticsBlob& blob : blobs) WriteBlob(blob, writer);
  writer->EndArray();
  writer->Members(unknown_members);
  writer->EndObject();
}

arrow::Result<PartitionStatisticsFile> PartitionStatisticsFile::Parse(std::string_view json) {
  ARROW_ASSIGN_OR_RAISE(JsonObject object, JsonObject::Make(json));
  PartitionStatisticsFile file;
  ARROW_ASSIGN_OR_RAISE(file.snapshot_id, object.GetInt64("snapshot-id"));
  ARROW_ASSIGN_OR_RAISE(file.path, object.GetString("statistics-path"));
  ARROW_ASSIGN_OR_RAISE(file.file_bytes, object.GetInt64("file-size-in-bytes"));
  file.unknown_members = object.UnknownMembers();
  return file;
}

void PartitionStatisticsFile::Write(JsonWriter* writer) const {
  writer->BeginObject();
  writer->IntMember("snapshot-id", snapshot_id);
  writer->StringMember("statistics-path", path);
  writer->IntMember("file-size-in-bytes", file_bytes);
  writer->Members(unknown_members);
  writer->EndObject();
}

}  // namespace icebound::iceberg
