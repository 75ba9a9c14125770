// SPDX-License-Identifier: Apache-2.0
//
// What a real server makes of these is in tests/interop.
#include "iceberg/catalog/metadata_changes.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "iceberg/catalog/catalog_testing.h"

namespace icebound::iceberg {
namespace {

using nlohmann::json;
using testing::ElementsAre;

Snapshot MakeSnapshot(int64_t id, std::optional<int64_t> parent = std::nullopt) {
  Snapshot snapshot;
  snapshot.snapshot_id = id;
  snapshot.parent_snapshot_id = parent;
  snapshot.sequence_number = id;
  snapshot.timestamp_ms = 1000 + id;
  snapshot.manifest_list = "s" + std::to_string(id) + ".avro";
  snapshot.schema_id = 0;
  snapshot.SetSummary({{"operation", "append"}});
  return snapshot;
}

void MoveMain(TableMetadata* metadata, int64_t id) {
  metadata->current_snapshot_id = id;
  for (SnapshotRef& ref : metadata->refs) {
    if (ref.name == kMainBranch) {
      ref.snapshot_id = id;
      return;
    }
  }
  metadata->refs.push_back({.name = std::string(kMainBranch), .snapshot_id = id, .is_branch = true});
}

/// Snapshots 1 and 2, main at 2, a tag at 1.
TableMetadata Base() {
  TableMetadata metadata = SmallTable("/t");
  metadata.properties = {{"a", "1"}, {"b", "2"}};
  metadata.snapshots = {MakeSnapshot(1), MakeSnapshot(2, 1)};
  MoveMain(&metadata, 2);
  metadata.refs.push_back({.name = "old", .snapshot_id = 1, .max_ref_age_ms = 5});
  return metadata;
}

std::shared_ptr<const Schema> TwoColumns(int32_t schema_id) {
  Field x{.id = 1, .name = "x", .type = Type::Of(TypeId::kLong)};
  Field y{.id = 2, .name = "y", .type = Type::Of(TypeId::kString)};
  return *Schema::Make(schema_id, Type::Struct({x, y}));
}

json Requirements(const MetadataChanges& changes) { return json::parse(changes.requirements_json); }
json Updates(const MetadataChanges& changes) { return json::parse(changes.updates_json); }
json UuidOf(const TableMetadata& metadata) { return {{"type", "assert-table-uuid"}, {"uuid", metadata.table_uuid}}; }
json MainAt(const json& id) { return {{"type", "assert-ref-snapshot-id"}, {"ref", "main"}, {"snapshot-id", id}}; }

TEST(MetadataChanges, NothingIsNothing) {
  const TableMetadata base = Base();
  TableMetadata same = base;
  same.last_updated_ms += 5;
  same.last_sequence_number += 1;
  same.snapshot_log.push_back({.timestamp_ms = 1, .snapshot_id = 2});
  same.metadata_log.push_back({.timestamp_ms = 1, .metadata_file = "f"});
  const auto changes = *CompareMetadata(&base, same);
  EXPECT_EQ(changes.updates, 0);
  EXPECT_EQ(Updates(changes), json::array());
  EXPECT_EQ(Requirements(changes), json({UuidOf(base), MainAt(2)}));
}

TEST(MetadataChanges, AnAppend) {
  const TableMetadata base = Base();
  TableMetadata updated = base;
  updated.snapshots.push_back(MakeSnapshot(3, 2));
  MoveMain(&updated, 3);
  const auto changes = *CompareMetadata(&base, updated);
  EXPECT_EQ(Requirements(changes), json({UuidOf(base), MainAt(2)}));
  EXPECT_EQ(Updates(changes), json::parse(R"([{"action": "add-snapshot", "snapshot": {"snapshot-id": 3, "parent-snapshot-id": 2,
                             "sequence-number": 3, "timestamp-ms": 1003, "manifest-list": "s3.avro", "schema-id": 0,
                             "summary": {"operation": "append"}}},
                            {"action": "set-snapshot-ref", "ref-name": "main", "snapshot-id": 3, "type": "branch"}])"));
  EXPECT_THAT(changes.new_snapshot_ids, ElementsAre(3));
}

TEST(MetadataChanges, TheFirstSnapshotExpectsNone) {
  const TableMetadata base = SmallTable("/t");
  TableMetadata updated = base;
  updated.snapshots.push_back(MakeSnapshot(1));
  MoveMain(&updated, 1);
  EXPECT_EQ(Requirements(*CompareMetadata(&base, updated)), json({UuidOf(base), MainAt(nullptr)}));
}

TEST(MetadataChanges, PropertiesLocationAndVersion) {
  const TableMetadata base = Base();
  TableMetadata updated = base;
  updated.properties = {{"b", "3"}, {"c", "\"4\""}};
  updated.location = "/u";
  updated.format_version = 3;
  EXPECT_EQ(Updates(*CompareMetadata(&base, updated)), json::parse(R"([{"action": "upgrade-format-version", "format-version": 3},
                            {"action": "set-location", "location": "/u"},
                            {"action": "set-properties", "updates": {"b": "3", "c": "\"4\""}},
                            {"action": "remove-properties", "removals": ["a"]}])"));
}

TEST(MetadataChanges, SchemasSpecsAndOrders) {
  const TableMetadata base = Base();
  TableMetadata updated = base;
  updated.schemas.push_back(TwoColumns(1));
  updated.current_schema_id = 1;
  updated.last_column_id = 2;
  PartitionSpec spec;
  spec.spec_id = 1;
  spec.fields = {{.source_ids = {1}, .field_id = 1000, .name = "x_b", .transform = *Transform::Parse("bucket[4]")}};
  updated.partition_specs.push_back(spec);
  updated.default_spec_id = 1;
  updated.last_partition_id = 1000;
  SortOrder order;
  order.order_id = 1;
  order.fields = {{.source_ids = {1}, .transform = *Transform::Parse("identity")}};
  updated.sort_orders.push_back(order);
  updated.default_sort_order_id = 1;
  const auto changes = *CompareMetadata(&base, updated);
  EXPECT_EQ(Requirements(changes), json({UuidOf(base),
                                         MainAt(2),
                                         {{"type", "assert-last-assigned-field-id"}, {"last-assigned-field-id", 1}},
                                         {{"type", "assert-current-schema-id"}, {"current-schema-id", 0}},
                                         {{"type", "assert-last-assigned-partition-id"}, {"last-assigned-partition-id", 999}},
                                         {{"type", "assert-default-spec-id"}, {"default-spec-id", 0}},
                                         {{"type", "assert-default-sort-order-id"}, {"default-sort-order-id", 0}}}));
  const json updates = Updates(changes);
  ASSERT_EQ(updates.size(), 6);
  EXPECT_EQ(updates[0]["action"], "add-schema");
  EXPECT_EQ(updates[0]["last-column-id"], 2);
  EXPECT_EQ(updates[0]["schema"]["fields"].size(), 2);
  EXPECT_EQ(updates[1], json::parse(R"({"action": "set-current-schema", "schema-id": -1})"));
  EXPECT_EQ(updates[2], json::parse(R"({"action": "add-spec", "spec": {"spec-id": 1, "fields":
                                        [{"source-id": 1, "field-id": 1000, "name": "x_b", "transform": "bucket[4]"}]}})"));
  EXPECT_EQ(updates[3], json::parse(R"({"action": "set-default-spec", "spec-id": -1})"));
  EXPECT_EQ(updates[4]["action"], "add-sort-order");
  EXPECT_EQ(updates[4]["sort-order"]["order-id"], 1);
  EXPECT_EQ(updates[5], json::parse(R"({"action": "set-default-sort-order", "sort-order-id": -1})"));

  // Back to the old ones: by number, nothing added.
  TableMetadata back = updated;
  back.current_schema_id = 0;
  back.default_spec_id = 0;
  back.default_sort_order_id = 0;
  EXPECT_EQ(Updates(*CompareMetadata(&updated, back)),
            json::parse(R"([{"action": "set-current-schema", "schema-id": 0}, {"action": "set-default-spec", "spec-id": 0},
                            {"action": "set-default-sort-order", "sort-order-id": 0}])"));
}

TEST(MetadataChanges, ReferencesComeAndGo) {
  const TableMetadata base = Base();
  TableMetadata updated = base;
  updated.refs.erase(updated.refs.begin() + 1);
  updated.refs.push_back({.name = "audit", .snapshot_id = 1, .is_branch = true, .min_snapshots_to_keep = 3});
  const auto changes = *CompareMetadata(&base, updated);
  EXPECT_EQ(Requirements(changes), json({UuidOf(base),
                                         MainAt(2),
                                         {{"type", "assert-ref-snapshot-id"}, {"ref", "audit"}, {"snapshot-id", nullptr}},
                                         {{"type", "assert-ref-snapshot-id"}, {"ref", "old"}, {"snapshot-id", 1}}}));
  EXPECT_EQ(Updates(changes), json::parse(R"([{"action": "set-snapshot-ref", "ref-name": "audit", "snapshot-id": 1,
                                               "type": "branch", "min-snapshots-to-keep": 3},
                                              {"action": "remove-snapshot-ref", "ref-name": "old"}])"));
}

TEST(MetadataChanges, ExpiryRequiresThatAllReferencesStayed) {
  TableMetadata base = Base();
  base.refs[1].name = "keep";
  base.refs[1].snapshot_id = 2;
  base.statistics = {{.snapshot_id = 1, .path = "p1"}, {.snapshot_id = 2, .path = "p2"}};
  base.partition_statistics = {{.snapshot_id = 1, .path = "q1"}};
  TableMetadata updated = base;
  updated.snapshots.erase(updated.snapshots.begin());
  updated.statistics.erase(updated.statistics.begin());
  updated.statistics[0].path = "p3";
  updated.partition_statistics = {{.snapshot_id = 2, .path = "q2", .file_bytes = 7}};
  const auto changes = *CompareMetadata(&base, updated);
  EXPECT_EQ(Requirements(changes),
            json({UuidOf(base), MainAt(2), {{"type", "assert-ref-snapshot-id"}, {"ref", "keep"}, {"snapshot-id", 2}}}));
  EXPECT_EQ(Updates(changes), json::parse(R"([{"action": "remove-statistics", "snapshot-id": 1},
                            {"action": "set-statistics", "snapshot-id": 2, "statistics": {"snapshot-id": 2,
                             "statistics-path": "p3", "file-size-in-bytes": 0, "file-footer-size-in-bytes": 0,
                             "blob-metadata": []}},
                            {"action": "remove-partition-statistics", "snapshot-id": 1},
                            {"action": "set-partition-statistics", "partition-statistics": {"snapshot-id": 2,
                             "statistics-path": "q2", "file-size-in-bytes": 7}},
                            {"action": "remove-snapshots", "snapshot-ids": [1]}])"));
}

TEST(MetadataChanges, UnusedSchemasAndSpecsGo) {
  TableMetadata base = Base();
  base.schemas.push_back(TwoColumns(1));
  base.current_schema_id = 1;
  PartitionSpec spec;
  spec.spec_id = 1;
  base.partition_specs.push_back(spec);
  TableMetadata updated = base;
  updated.schemas.erase(updated.schemas.begin());
  updated.partition_specs.pop_back();
  const auto changes = *CompareMetadata(&base, updated);
  EXPECT_EQ(Updates(changes), json::parse(R"([{"action": "remove-partition-specs", "spec-ids": [1]},
                                              {"action": "remove-schemas", "schema-ids": [0]}])"));
  EXPECT_EQ(Requirements(changes), json({UuidOf(base),
                                         MainAt(2),
                                         {{"type", "assert-current-schema-id"}, {"current-schema-id", 1}},
                                         {{"type", "assert-default-spec-id"}, {"default-spec-id", 0}},
                                         {{"type", "assert-ref-snapshot-id"}, {"ref", "old"}, {"snapshot-id", 1}}}));
}

TEST(MetadataChanges, ATableIsCreatedWhole) {
  const TableMetadata table = Base();
  const auto changes = *CompareMetadata(nullptr, table);
  EXPECT_EQ(Requirements(changes), json::parse(R"([{"type": "assert-create"}])"));
  std::vector<std::string> actions;
  for (const json& update : Updates(changes)) actions.push_back(update["action"]);
  EXPECT_THAT(actions,
              ElementsAre("assign-uuid", "upgrade-format-version", "set-location", "set-properties", "add-schema",
                          "set-current-schema", "add-spec", "set-default-spec", "add-sort-order", "set-default-sort-order",
                          "add-snapshot", "add-snapshot", "set-snapshot-ref", "set-snapshot-ref"));
}

TEST(MetadataChanges, WhatIsForGoodStays) {
  const TableMetadata base = Base();
  const auto kind_after = [&](const std::function<void(TableMetadata*)>& change) {
    TableMetadata updated = base;
    change(&updated);
    return KindOf(CompareMetadata(&base, updated).status());
  };
  EXPECT_EQ(kind_after([](TableMetadata* m) { m->snapshots[0].manifest_list = "x"; }), ErrorKind::kInternal);
  EXPECT_EQ(kind_after([](TableMetadata* m) { m->table_uuid = "x"; }), ErrorKind::kInternal);
  EXPECT_EQ(kind_after([](TableMetadata* m) { m->schemas[0] = TwoColumns(0); }), ErrorKind::kInternal);
  EXPECT_EQ(kind_after([](TableMetadata* m) { m->current_snapshot_id = 1; }), ErrorKind::kInternal);
  EXPECT_EQ(kind_after([](TableMetadata* m) { m->format_version = 1; }), ErrorKind::kInvalidInput);
  EXPECT_EQ(kind_after([](TableMetadata* m) { m->sort_orders.clear(); }), ErrorKind::kUnsupported);
  EXPECT_EQ(kind_after([](TableMetadata* m) { m->encryption_keys = "[{}]"; }), ErrorKind::kUnsupported);
  EXPECT_EQ(kind_after([](TableMetadata* m) { m->unknown_members = "\"a\":1"; }), ErrorKind::kUnsupported);
}

}  // namespace
}  // namespace icebound::iceberg
