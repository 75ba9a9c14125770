// SPDX-License-Identifier: Apache-2.0
#include "iceberg/catalog/metadata_changes.h"

#include <functional>
#include <unordered_map>
#include <unordered_set>

#include "base/error.h"

namespace icebound::iceberg {
namespace {

/// "The last one added by this request."
constexpr int64_t kLastAdded = -1;

template <typename T>
std::string JsonOf(const T& value) {
  std::string json;
  JsonWriter writer(&json);
  value.Write(&writer);
  return json;
}
std::string JsonOf(const Snapshot& snapshot) {
  std::string json;
  JsonWriter writer(&json);
  snapshot.Write(kMaxFormatVersion, &writer);
  return json;
}
std::string JsonOf(const std::shared_ptr<const Schema>& schema) { return JsonOf(*schema); }

int64_t IdOf(const std::shared_ptr<const Schema>& schema) { return schema->schema_id(); }
int64_t IdOf(const PartitionSpec& spec) { return spec.spec_id; }
int64_t IdOf(const SortOrder& order) { return order.order_id; }
int64_t IdOf(const Snapshot& snapshot) { return snapshot.snapshot_id; }
int64_t IdOf(const StatisticsFile& file) { return file.snapshot_id; }
int64_t IdOf(const PartitionStatisticsFile& file) { return file.snapshot_id; }

/// What became of a list whose elements have ids.
template <typename T>
struct ListChanges {
  std::vector<const T*> added;
  std::vector<const T*> changed;
  std::vector<int64_t> removed;
};

template <typename T>
ListChanges<T> CompareLists(const std::vector<T>& before, const std::vector<T>& after) {
  std::unordered_map<int64_t, const T*> left;
  left.reserve(before.size());
  for (const T& value : before) left.emplace(IdOf(value), &value);
  ListChanges<T> changes;
  for (const T& value : after) {
    const auto old = left.find(IdOf(value));
    if (old == left.end()) {
      changes.added.push_back(&value);
    } else {
      if (JsonOf(*old->second) != JsonOf(value)) changes.changed.push_back(&value);
      left.erase(old);
    }
  }
  for (const T& value : before) {
    if (left.contains(IdOf(value))) changes.removed.push_back(IdOf(value));
  }
  return changes;
}

/// Writes both lists while it goes through the metadata.
class ChangeWriter {
 public:
  ChangeWriter(const TableMetadata* base, const TableMetadata& updated)
      : creates_(base == nullptr),
        base_(creates_ ? nothing_ : *base),
        updated_(updated),
        requirements_(&changes_.requirements_json),
        updates_(&changes_.updates_json) {}

  arrow::Result<MetadataChanges> Run() {
    requirements_.BeginArray();
    updates_.BeginArray();
    if (creates_) {
      Require("assert-create", [](JsonWriter*) {});
    } else if (!base_.table_uuid.empty()) {
      Require("assert-table-uuid", [&](JsonWriter* w) { w->StringMember("uuid", base_.table_uuid); });
    }
    RequireRef(kMainBranch);
    ARROW_RETURN_NOT_OK(CompareHead());
    CompareProperties();
    ARROW_RETURN_NOT_OK(CompareSchemas());
    ARROW_RETURN_NOT_OK(CompareSpecs());
    ARROW_RETURN_NOT_OK(CompareSortOrders());
    ARROW_RETURN_NOT_OK(CompareSnapshots());
    ARROW_RETURN_NOT_OK(CompareRest());
    requirements_.EndArray();
    updates_.EndArray();
    return std::move(changes_);
  }

 private:
  using Members = std::function<void(JsonWriter*)>;

  void Require(std::string_view type, const Members& members) {
    requirements_.BeginObject();
    requirements_.StringMember("type", type);
    members(&requirements_);
    requirements_.EndObject();
  }
  void RequireInt(std::string_view type, std::string_view member, int64_t value) {
    if (!creates_) Require(type, [&](JsonWriter* w) { w->IntMember(member, value); });
  }
  void RequireRef(std::string_view name) {
    if (creates_ || !required_refs_.emplace(name).second) return;
    const SnapshotRef* ref = base_.FindRef(name);
    Require("assert-ref-snapshot-id", [&](JsonWriter* w) {
      w->StringMember("ref", name);
      if (ref == nullptr) {
        w->RawMember("snapshot-id", "null");
      } else {
        w->IntMember("snapshot-id", ref->snapshot_id);
      }
    });
  }
  void RequireAllRefs() {
    for (const SnapshotRef& ref : base_.refs) RequireRef(ref.name);
  }

  void Update(std::string_view action, const Members& members) {
    updates_.BeginObject();
    updates_.StringMember("action", action);
    members(&updates_);
    updates_.EndObject();
    ++changes_.updates;
  }
  void UpdateId(std::string_view action, std::string_view member, int64_t id) {
    Update(action, [&](JsonWriter* w) { w->IntMember(member, id); });
  }
  void UpdateIds(std::string_view action, std::string_view member, const std::vector<int64_t>& ids) {
    Update(action, [&](JsonWriter* w) {
      w->Key(member);
      w->BeginArray();
      for (const int64_t id : ids) w->Int(id);
      w->EndArray();
    });
  }
  template <typename T>
  void UpdateValue(std::string_view action, std::string_view member, const T& value) {
    Update(action, [&](JsonWriter* w) { w->RawMember(member, JsonOf(value)); });
  }

  static arrow::Status Never(std::string_view what, int64_t id) {
    return MakeError(ErrorKind::kInternal, "a commit would change {} {}, which is for good", what, id);
  }
  static arrow::Status NoWord(std::string_view what) {
    return MakeError(ErrorKind::kUnsupported, "the REST protocol has no way to {}", what);
  }

  arrow::Status CompareHead() {
    if (updated_.table_uuid != base_.table_uuid) {
      if (!base_.table_uuid.empty()) return MakeError(ErrorKind::kInternal, "a commit would change the table's uuid");
      Update("assign-uuid", [&](JsonWriter* w) { w->StringMember("uuid", updated_.table_uuid); });
    }
    if (!creates_ && updated_.format_version < base_.format_version) {
      return MakeError(ErrorKind::kInvalidInput, "format version {} cannot go back to {}", base_.format_version,
                       updated_.format_version);
    }
    if (creates_ || updated_.format_version != base_.format_version) {
      UpdateId("upgrade-format-version", "format-version", updated_.format_version);
    }
    if (updated_.location != base_.location) {
      Update("set-location", [&](JsonWriter* w) { w->StringMember("location", updated_.location); });
    }
    if (updated_.encryption_keys != base_.encryption_keys) return NoWord("change encryption keys from here");
    if (updated_.unknown_members != base_.unknown_members) return NoWord("set members of metadata that the format does not know");
    return arrow::Status::OK();
  }

  void CompareProperties() {
    StringPairs set;
    for (const auto& pair : updated_.properties) {
      const std::string* old = base_.FindProperty(pair.first);
      if (old == nullptr || *old != pair.second) set.push_back(pair);
    }
    std::vector<const std::string*> removed;
    for (const auto& [name, value] : base_.properties) {
      if (updated_.FindProperty(name) == nullptr) removed.push_back(&name);
    }
    if (!set.empty()) {
      Update("set-properties", [&](JsonWriter* w) {
        w->Key("updates");
        WriteStringPairs(set, w);
      });
    }
    if (!removed.empty()) {
      Update("remove-properties", [&](JsonWriter* w) {
        w->Key("removals");
        w->BeginArray();
        for (const std::string* name : removed) w->String(*name);
        w->EndArray();
      });
    }
  }

  /// Chooses `id` by number, or as the last one of `added`.
  template <typename T>
  void Choose(std::string_view action, std::string_view member, int64_t id, const std::vector<const T*>& added) {
    UpdateId(action, member, !added.empty() && IdOf(*added.back()) == id ? kLastAdded : id);
  }

  arrow::Status CompareSchemas() {
    const auto changes = CompareLists(base_.schemas, updated_.schemas);
    if (!changes.changed.empty()) return Never("schema", IdOf(*changes.changed[0]));
    if (!changes.added.empty()) RequireInt("assert-last-assigned-field-id", "last-assigned-field-id", base_.last_column_id);
    for (const auto* schema : changes.added) {
      Update("add-schema", [&](JsonWriter* w) {
        w->RawMember("schema", JsonOf(*schema));
        w->IntMember("last-column-id", updated_.last_column_id);
      });
    }
    const bool chooses = creates_ || updated_.current_schema_id != base_.current_schema_id;
    if (chooses || !changes.removed.empty()) {
      RequireInt("assert-current-schema-id", "current-schema-id", base_.current_schema_id);
    }
    if (chooses) Choose("set-current-schema", "schema-id", updated_.current_schema_id, changes.added);
    removed_schemas_ = changes.removed;
    return arrow::Status::OK();
  }

  arrow::Status CompareSpecs() {
    const auto changes = CompareLists(base_.partition_specs, updated_.partition_specs);
    if (!changes.changed.empty()) return Never("partition spec", IdOf(*changes.changed[0]));
    if (!changes.added.empty()) {
      RequireInt("assert-last-assigned-partition-id", "last-assigned-partition-id", base_.last_partition_id);
    }
    for (const PartitionSpec* spec : changes.added) UpdateValue("add-spec", "spec", *spec);
    const bool chooses = creates_ || updated_.default_spec_id != base_.default_spec_id;
    if (chooses || !changes.removed.empty()) RequireInt("assert-default-spec-id", "default-spec-id", base_.default_spec_id);
    if (chooses) Choose("set-default-spec", "spec-id", updated_.default_spec_id, changes.added);
    removed_specs_ = changes.removed;
    return arrow::Status::OK();
  }

  arrow::Status CompareSortOrders() {
    const auto changes = CompareLists(base_.sort_orders, updated_.sort_orders);
    if (!changes.changed.empty()) return Never("sort order", IdOf(*changes.changed[0]));
    if (!changes.removed.empty()) return NoWord(fmt::format("remove sort order {}", changes.removed[0]));
    for (const SortOrder* order : changes.added) UpdateValue("add-sort-order", "sort-order", *order);
    if (!creates_ && updated_.default_sort_order_id == base_.default_sort_order_id) return arrow::Status::OK();
    RequireInt("assert-default-sort-order-id", "default-sort-order-id", base_.default_sort_order_id);
    Choose("set-default-sort-order", "sort-order-id", updated_.default_sort_order_id, changes.added);
    return arrow::Status::OK();
  }

  void SetRef(const SnapshotRef& ref) {
    RequireRef(ref.name);
    Update("set-snapshot-ref", [&](JsonWriter* w) {
      w->StringMember("ref-name", ref.name);
      w->IntMember("snapshot-id", ref.snapshot_id);
      w->StringMember("type", ref.is_branch ? "branch" : "tag");
      if (ref.min_snapshots_to_keep) w->IntMember("min-snapshots-to-keep", *ref.min_snapshots_to_keep);
      if (ref.max_snapshot_age_ms) w->IntMember("max-snapshot-age-ms", *ref.max_snapshot_age_ms);
      if (ref.max_ref_age_ms) w->IntMember("max-ref-age-ms", *ref.max_ref_age_ms);
    });
  }

  arrow::Status CompareRefs() {
    const SnapshotRef* main = updated_.FindRef(kMainBranch);
    if ((main == nullptr ? std::nullopt : std::optional(main->snapshot_id)) != updated_.current_snapshot_id) {
      return MakeError(ErrorKind::kInternal, "a commit says that branch main is not at the current snapshot");
    }
    for (const SnapshotRef& ref : updated_.refs) {
      const SnapshotRef* old = base_.FindRef(ref.name);
      if (old == nullptr || JsonOf(*old) != JsonOf(ref)) SetRef(ref);
    }
    for (const SnapshotRef& ref : base_.refs) {
      if (updated_.FindRef(ref.name) != nullptr) continue;
      RequireRef(ref.name);
      Update("remove-snapshot-ref", [&](JsonWriter* w) { w->StringMember("ref-name", ref.name); });
    }
    return arrow::Status::OK();
  }

  /// Statistics are one file a snapshot: a new one takes the place of the old.
  template <typename T>
  void CompareStatistics(const std::vector<T>& before, const std::vector<T>& after, std::string_view remove,
                         const std::function<void(const T&)>& set) {
    const auto changes = CompareLists(before, after);
    for (const int64_t id : changes.removed) UpdateId(remove, "snapshot-id", id);
    for (const T* file : changes.added) set(*file);
    for (const T* file : changes.changed) set(*file);
  }

  arrow::Status CompareSnapshots() {
    const auto changes = CompareLists(base_.snapshots, updated_.snapshots);
    if (!changes.changed.empty()) return Never("snapshot", changes.changed[0]->snapshot_id);
    for (const Snapshot* snapshot : changes.added) {
      changes_.new_snapshot_ids.push_back(snapshot->snapshot_id);
      Update("add-snapshot", [&](JsonWriter* w) {
        w->Key("snapshot");
        snapshot->Write(updated_.format_version, w);
      });
    }
    ARROW_RETURN_NOT_OK(CompareRefs());
    CompareStatistics<StatisticsFile>(base_.statistics, updated_.statistics, "remove-statistics",
                                      [&](const StatisticsFile& file) {
                                        Update("set-statistics", [&](JsonWriter* w) {
                                          w->IntMember("snapshot-id", file.snapshot_id);
                                          w->RawMember("statistics", JsonOf(file));
                                        });
                                      });
    CompareStatistics<PartitionStatisticsFile>(
        base_.partition_statistics, updated_.partition_statistics, "remove-partition-statistics",
        [&](const PartitionStatisticsFile& file) { UpdateValue("set-partition-statistics", "partition-statistics", file); });
    removed_snapshots_ = changes.removed;
    return arrow::Status::OK();
  }

  arrow::Status CompareRest() {
    if (!removed_snapshots_.empty()) UpdateIds("remove-snapshots", "snapshot-ids", removed_snapshots_);
    if (!removed_specs_.empty()) UpdateIds("remove-partition-specs", "spec-ids", removed_specs_);
    if (!removed_schemas_.empty()) UpdateIds("remove-schemas", "schema-ids", removed_schemas_);
    if (!removed_snapshots_.empty() || !removed_specs_.empty() || !removed_schemas_.empty()) RequireAllRefs();
    return arrow::Status::OK();
  }

  const bool creates_;
  const TableMetadata nothing_;
  const TableMetadata& base_;
  const TableMetadata& updated_;
  MetadataChanges changes_;
  JsonWriter requirements_;
  JsonWriter updates_;
  std::unordered_set<std::string_view> required_refs_;
  std::vector<int64_t> removed_snapshots_, removed_specs_, removed_schemas_;
};

}  // namespace

arrow::Result<MetadataChanges> CompareMetadata(const TableMetadata* base, const TableMetadata& updated) {
  return ChangeWriter(base, updated).Run();
}

}  // namespace icebound::iceberg
