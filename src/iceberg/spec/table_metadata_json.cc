// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/error.h"
#include "iceberg/spec/table_metadata.h"

namespace icebound::iceberg {
namespace {

/// No snapshot, as v1 and v2 files of the reference implementation say it.
constexpr int64_t kNoSnapshot = -1;

/// Takes one document apart. `object` looks into the text; members are asked for by name so that the rest is what is not known.
class MetadataParser {
 public:
  MetadataParser(JsonObject object, TableMetadata* metadata) : object_(std::move(object)), metadata_(metadata) {}

  arrow::Status Run() {
    ARROW_RETURN_NOT_OK(ParseScalars());
    ARROW_RETURN_NOT_OK(ParseSchemas());
    ARROW_RETURN_NOT_OK(ParseSpecs());
    ARROW_RETURN_NOT_OK(ParseSortOrders());
    ARROW_RETURN_NOT_OK(ParseHistory());
    ARROW_RETURN_NOT_OK(ParseRefs());
    metadata_->unknown_members = object_.UnknownMembers();
    return arrow::Status::OK();
  }

 private:
  bool is_v1() const { return metadata_->format_version == 1; }

  /// A list member, empty when absent.
  template <typename T, typename Parse>
  arrow::Status ParseList(std::string_view name, std::vector<T>* out, Parse parse) {
    const auto json = object_.Find(name);
    if (!json) return arrow::Status::OK();
    auto elements = JsonElements::Make(*json);
    if (!elements.ok()) return WithContext(elements.status(), ErrorKind::kCorruptData, fmt::format("'{}'", name));
    out->reserve(static_cast<size_t>(elements->count()));
    std::string_view element;
    while (elements->Next(&element)) {
      auto value = parse(element);
      if (!value.ok()) {
        return WithContext(value.status(), ErrorKind::kCorruptData, fmt::format("'{}', entry {}", name, out->size() + 1));
      }
      out->push_back(*std::move(value));
    }
    return arrow::Status::OK();
  }

  arrow::Status ParseScalars() {
    ARROW_ASSIGN_OR_RAISE(const auto uuid, object_.FindString("table-uuid"));
    if (!uuid && !is_v1()) return object_.GetString("table-uuid").status();
    if (uuid && uuid->empty()) return MakeError(ErrorKind::kCorruptData, "'table-uuid' is empty");
    metadata_->table_uuid = uuid.value_or("");
    ARROW_ASSIGN_OR_RAISE(metadata_->location, object_.GetString("location"));
    if (!is_v1()) {
      ARROW_ASSIGN_OR_RAISE(metadata_->last_sequence_number, object_.GetInt64("last-sequence-number"));
    }
    ARROW_ASSIGN_OR_RAISE(metadata_->last_updated_ms, object_.GetInt64("last-updated-ms"));
    ARROW_ASSIGN_OR_RAISE(metadata_->last_column_id, object_.GetInt32("last-column-id"));
    if (metadata_->format_version >= 3) {
      ARROW_ASSIGN_OR_RAISE(metadata_->next_row_id, object_.GetInt64("next-row-id"));
      metadata_->encryption_keys = CompactJson(object_.Find("encryption-keys").value_or(""));
    }
    if (const auto properties = object_.Find("properties")) {
      auto pairs = ParseStringPairs(*properties);
      if (!pairs.ok()) return WithContext(pairs.status(), ErrorKind::kCorruptData, "'properties'");
      metadata_->properties = *std::move(pairs);
    }
    return arrow::Status::OK();
  }

  arrow::Status ParseSchemas() {
    const auto single = object_.Find("schema");  // of v1; known either way, so that it is not written twice
    ARROW_RETURN_NOT_OK(ParseList("schemas", &metadata_->schemas, Schema::Parse));
    if (metadata_->schemas.empty() && is_v1()) {
      if (!single) return object_.Get("schema").status();
      ARROW_ASSIGN_OR_RAISE(auto schema, Schema::Parse(*single));
      metadata_->current_schema_id = schema->schema_id();
      metadata_->schemas.push_back(std::move(schema));
      object_.Find("current-schema-id");
    } else {
      ARROW_RETURN_NOT_OK(object_.Get("schemas").status());
      ARROW_ASSIGN_OR_RAISE(metadata_->current_schema_id, object_.GetInt32("current-schema-id"));
    }
    if (metadata_->FindSchema(metadata_->current_schema_id) == nullptr) {
      return MakeError(ErrorKind::kCorruptData, "schema {} is the current one but does not exist", metadata_->current_schema_id);
    }
    return arrow::Status::OK();
  }

  arrow::Status ParseSpecs() {
    const auto single = object_.Find("partition-spec");
    ARROW_RETURN_NOT_OK(ParseList("partition-specs", &metadata_->partition_specs, PartitionSpec::Parse));
    if (metadata_->partition_specs.empty() && is_v1()) {
      if (!single) return object_.Get("partition-spec").status();
      ARROW_ASSIGN_OR_RAISE(PartitionSpec spec, PartitionSpec::ParseFields(*single, 0));
      metadata_->partition_specs.push_back(std::move(spec));
      object_.Find("default-spec-id");
    } else {
      ARROW_RETURN_NOT_OK(object_.Get("partition-specs").status());
      ARROW_ASSIGN_OR_RAISE(metadata_->default_spec_id, object_.GetInt32("default-spec-id"));
    }
    if (metadata_->FindSpec(metadata_->default_spec_id) == nullptr) {
      return MakeError(ErrorKind::kCorruptData, "partition spec {} is the default but does not exist",
                       metadata_->default_spec_id);
    }
    ARROW_ASSIGN_OR_RAISE(const auto last_id, object_.FindInt32("last-partition-id"));
    if (!last_id && !is_v1()) return object_.GetInt32("last-partition-id").status();
    int32_t highest = kFirstPartitionFieldId - 1;
    for (const PartitionSpec& spec : metadata_->partition_specs) highest = std::max(highest, spec.highest_field_id());
    metadata_->last_partition_id = last_id.value_or(highest);
    return arrow::Status::OK();
  }

  arrow::Status ParseSortOrders() {
    ARROW_RETURN_NOT_OK(ParseList("sort-orders", &metadata_->sort_orders, SortOrder::Parse));
    if (metadata_->sort_orders.empty() && is_v1()) {
      metadata_->sort_orders.emplace_back();
      object_.Find("default-sort-order-id");
    } else {
      ARROW_RETURN_NOT_OK(object_.Get("sort-orders").status());
      ARROW_ASSIGN_OR_RAISE(metadata_->default_sort_order_id, object_.GetInt32("default-sort-order-id"));
    }
    const bool may_be_implied = metadata_->default_sort_order_id == kUnsortedOrderId;
    if (metadata_->FindSortOrder(metadata_->default_sort_order_id) == nullptr && may_be_implied) {
      metadata_->sort_orders.emplace_back();
    }
    if (metadata_->FindSortOrder(metadata_->default_sort_order_id) == nullptr) {
      return MakeError(ErrorKind::kCorruptData, "sort order {} is the default but does not exist",
                       metadata_->default_sort_order_id);
    }
    return arrow::Status::OK();
  }

  arrow::Status ParseHistory() {
    ARROW_RETURN_NOT_OK(ParseList("snapshots", &metadata_->snapshots, Snapshot::Parse));
    ARROW_RETURN_NOT_OK(ParseList("snapshot-log", &metadata_->snapshot_log, SnapshotLogEntry::Parse));
    ARROW_RETURN_NOT_OK(ParseList("metadata-log", &metadata_->metadata_log, MetadataLogEntry::Parse));
    ARROW_RETURN_NOT_OK(ParseList("statistics", &metadata_->statistics, StatisticsFile::Parse));
    ARROW_RETURN_NOT_OK(ParseList("partition-statistics", &metadata_->partition_statistics, PartitionStatisticsFile::Parse));
    ARROW_ASSIGN_OR_RAISE(metadata_->current_snapshot_id, object_.FindInt64("current-snapshot-id"));
    if (metadata_->current_snapshot_id == kNoSnapshot) metadata_->current_snapshot_id.reset();
    return arrow::Status::OK();
  }

  arrow::Status ParseRefs() {
    if (const auto refs = object_.Find("refs")) {
      ARROW_ASSIGN_OR_RAISE(const JsonObject members, JsonObject::Make(*refs));
      metadata_->refs.reserve(members.members().size() + 1);
      for (const JsonObject::Member& member : members.members()) {
        ARROW_ASSIGN_OR_RAISE(SnapshotRef ref, SnapshotRef::Parse(member.name, member.value));
        metadata_->refs.push_back(std::move(ref));
      }
    }
    std::optional<int64_t>& current = metadata_->current_snapshot_id;
    const SnapshotRef* main = metadata_->FindRef(kMainBranch);
    if (main == nullptr && current) {
      metadata_->refs.push_back({.name = std::string(kMainBranch), .snapshot_id = *current, .is_branch = true});
    } else if (main != nullptr && !current) {
      current = main->snapshot_id;
    } else if (main != nullptr && main->snapshot_id != *current) {
      return MakeError(ErrorKind::kCorruptData, "branch main is at snapshot {}, but the current snapshot is {}",
                       main->snapshot_id, *current);
    }
    if (current && metadata_->FindSnapshot(*current) == nullptr) {
      return MakeError(ErrorKind::kCorruptData, "snapshot {} is the current one but does not exist", *current);
    }
    return arrow::Status::OK();
  }

  JsonObject object_;
  TableMetadata* const metadata_;
};

template <typename T>
void WriteList(std::string_view name, const std::vector<T>& values, JsonWriter* writer) {
  writer->Key(name);
  writer->BeginArray();
  for (const T& value : values) value.Write(writer);
  writer->EndArray();
}

void WriteSchemasAndSpecs(const TableMetadata& metadata, JsonWriter* writer) {
  const bool v1 = metadata.format_version == 1;
  if (v1) {
    writer->Key("schema");
    metadata.current_schema().Write(writer);
  }
  writer->IntMember("current-schema-id", metadata.current_schema_id);
  writer->Key("schemas");
  writer->BeginArray();
  for (const auto& schema : metadata.schemas) schema->Write(writer);
  writer->EndArray();
  if (v1) {
    writer->Key("partition-spec");
    metadata.default_spec().WriteFields(writer);
  }
  writer->IntMember("default-spec-id", metadata.default_spec_id);
  WriteList("partition-specs", metadata.partition_specs, writer);
  writer->IntMember("last-partition-id", metadata.last_partition_id);
  writer->IntMember("default-sort-order-id", metadata.default_sort_order_id);
  WriteList("sort-orders", metadata.sort_orders, writer);
}

void WriteHistory(const TableMetadata& metadata, JsonWriter* writer) {
  const bool v3 = metadata.format_version >= 3;
  if (metadata.current_snapshot_id) {
    writer->IntMember("current-snapshot-id", *metadata.current_snapshot_id);
  } else if (v3) {
    writer->RawMember("current-snapshot-id", "null");
  } else {
    writer->IntMember("current-snapshot-id", kNoSnapshot);
  }
  if (v3) writer->IntMember("next-row-id", metadata.next_row_id);
  if (v3 && !metadata.encryption_keys.empty()) writer->RawMember("encryption-keys", metadata.encryption_keys);
  writer->Key("refs");
  writer->BeginObject();
  for (const SnapshotRef& ref : metadata.refs) {
    writer->Key(ref.name);
    ref.Write(writer);
  }
  writer->EndObject();
  writer->Key("snapshots");
  writer->BeginArray();
  for (const Snapshot& snapshot : metadata.snapshots) snapshot.Write(metadata.format_version, writer);
  writer->EndArray();
  WriteList("statistics", metadata.statistics, writer);
  WriteList("partition-statistics", metadata.partition_statistics, writer);
  WriteList("snapshot-log", metadata.snapshot_log, writer);
  WriteList("metadata-log", metadata.metadata_log, writer);
}

arrow::Result<TableMetadata> ParseDocument(std::string_view json) {
  ARROW_RETURN_NOT_OK(CheckJson(json));
  ARROW_ASSIGN_OR_RAISE(JsonObject object, JsonObject::Make(json));
  TableMetadata metadata;
  ARROW_ASSIGN_OR_RAISE(metadata.format_version, object.GetInt32("format-version"));
  if (metadata.format_version < 1 || metadata.format_version > kMaxFormatVersion) {
    return MakeError(ErrorKind::kUnsupported, "table format version {} is not supported: versions 1 to {} are",
                     metadata.format_version, kMaxFormatVersion);
  }
  MetadataParser parser(std::move(object), &metadata);
  ARROW_RETURN_NOT_OK(parser.Run());
  return metadata;
}

}  // namespace

arrow::Result<TableMetadata> TableMetadata::Parse(std::string_view json, std::string_view file_name) {
  if (json.starts_with("\xef\xbb\xbf")) json.remove_prefix(3);
  auto metadata = ParseDocument(json);
  if (!metadata.ok()) {
    return WithContext(metadata.status(), ErrorKind::kCorruptData, fmt::format("table metadata {}", file_name));
  }
  return metadata;
}

std::string TableMetadata::ToJson() const {
  std::string json;
  JsonWriter writer(&json);
  writer.BeginObject();
  writer.IntMember("format-version", format_version);
  if (!table_uuid.empty()) writer.StringMember("table-uuid", table_uuid);
  writer.StringMember("location", location);
  if (format_version > 1) writer.IntMember("last-sequence-number", last_sequence_number);
  writer.IntMember("last-updated-ms", last_updated_ms);
  writer.IntMember("last-column-id", last_column_id);
  WriteSchemasAndSpecs(*this, &writer);
  writer.Key("properties");
  WriteStringPairs(properties, &writer);
  WriteHistory(*this, &writer);
  writer.Members(unknown_members);
  writer.EndObject();
  return json;
}

int64_t TableMetadata::HeldBytesMax(std::string_view json) {
  // Strings are held as they stand. The largest of what an object may become is a field of a schema with its place in the index
  // (table_metadata_test.cc measures it). What is read in one piece, with views of all its members, are the document, the members
  // of its maps (properties, refs), which stay, and one object below them at a time.
  constexpr int64_t kBytesPerObject = 320;
  constexpr int64_t kBytesPerMember = 80;
  constexpr int kDepthOfMaps = 2;
  int64_t objects = 0;
  int64_t map_members = 0;
  int64_t map_bytes = 0;
  int64_t members = 0;  // of the object that is open; nested ones go on counting from there, which is more than there are
  int64_t members_max = 0;
  int depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    map_bytes += depth <= kDepthOfMaps;
    if (in_string) {
      i += c == '\\';
      in_string = c != '"';
    } else if (c == '"') {
      in_string = true;
    } else if (c == ':') {
      map_members += depth <= kDepthOfMaps;
      members_max = std::max(members_max, ++members);
    } else if (c == '{' || c == '[') {
      ++depth;
      objects += c == '{';
      if (depth <= kDepthOfMaps + 1) members = 0;
    } else if (c == '}' || c == ']') {
      --depth;
      if (depth <= kDepthOfMaps) members = 0;
    }
  }
  return static_cast<int64_t>(json.size()) + map_bytes + objects * kBytesPerObject +
         (map_members + members_max) * kBytesPerMember;
}

}  // namespace icebound::iceberg
