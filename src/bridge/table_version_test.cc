// SPDX-License-Identifier: Apache-2.0
//
// Versions, and the snapshots that expiring would remove, over metadata made by hand.
#include <gtest/gtest.h>

#include "base/error.h"
#include "bridge/table_description.h"
#include "bridge/table_version.h"

namespace icebound::bridge {
namespace {

using iceberg::TableMetadata;

constexpr int64_t kDayMs = int64_t{24} * 3600 * 1000;

std::shared_ptr<const iceberg::Schema> SchemaOf(int32_t schema_id, const std::string& column) {
  iceberg::Field field{.id = 1, .name = column, .type = iceberg::Type::Of(iceberg::TypeId::kLong)};
  return iceberg::Schema::Make(schema_id, iceberg::Type::Struct({field})).ValueOrDie();
}

/// Snapshots 1 to `count`, a day apart, each the child of the one before; the last is current. Schema 0 was that of the first, 1
/// of the others.
TableMetadata Chain(int count) {
  TableMetadata metadata;
  metadata.schemas = {SchemaOf(0, "old"), SchemaOf(1, "new")};
  metadata.current_schema_id = 1;
  for (int i = 1; i <= count; ++i) {
    iceberg::Snapshot snapshot;
    snapshot.snapshot_id = i;
    if (i > 1) snapshot.parent_snapshot_id = i - 1;
    snapshot.timestamp_ms = i * kDayMs;
    snapshot.schema_id = i == 1 ? 0 : 1;
    metadata.snapshots.push_back(snapshot);
    iceberg::SnapshotLogEntry entry;
    entry.timestamp_ms = i * kDayMs;
    entry.snapshot_id = i;
    metadata.snapshot_log.push_back(entry);
  }
  metadata.current_snapshot_id = count;
  iceberg::SnapshotRef main;
  main.name = "main";
  main.snapshot_id = count;
  main.is_branch = true;
  metadata.refs = {main};
  return metadata;
}

void AddRef(TableMetadata* metadata, const std::string& name, int64_t snapshot_id, bool is_branch) {
  iceberg::SnapshotRef ref;
  ref.name = name;
  ref.snapshot_id = snapshot_id;
  ref.is_branch = is_branch;
  metadata->refs.push_back(ref);
}

std::string Chosen(const TableMetadata& metadata, const plan::IcebergReference& reference) {
  const auto version = SelectVersion(metadata, reference);
  if (!version.ok()) return version.status().message();
  return fmt::format("{} with {}", version->snapshot == nullptr ? 0 : version->snapshot->snapshot_id,
                     version->schema->fields()[0].name);
}

TEST(SelectVersion, TakesTheSchemaThatGoesWithIt) {
  TableMetadata metadata = Chain(3);
  AddRef(&metadata, "tagged", 1, /*is_branch=*/false);
  AddRef(&metadata, "branched", 1, /*is_branch=*/true);
  EXPECT_EQ(Chosen(metadata, {}), "3 with new");
  EXPECT_EQ(Chosen(metadata, {.snapshot_id = 1}), "1 with old");
  EXPECT_EQ(Chosen(metadata, {.ref = "tagged"}), "1 with old");
  EXPECT_EQ(Chosen(metadata, {.ref = "branched"}), "1 with new") << "a branch goes on being written to";
  EXPECT_EQ(Chosen(metadata, {.ref = "main"}), "3 with new");
}

TEST(SelectVersion, TellsTimesToTheMillisecond) {
  const TableMetadata metadata = Chain(3);
  EXPECT_EQ(Chosen(metadata, {.as_of_us = 2 * kDayMs * 1000}), "2 with new");
  EXPECT_EQ(Chosen(metadata, {.as_of_us = 2 * kDayMs * 1000 - 1}), "1 with old");
  EXPECT_EQ(Chosen(metadata, {.as_of_us = 9 * kDayMs * 1000}), "3 with new");
  EXPECT_EQ(Chosen(metadata, {.as_of_us = kDayMs * 1000 - 1}),
            "the table has no snapshot of 1970-01-01T23:59:59.999999+00:00: its history begins at 1970-01-02T00:00:00+00:00");
}

TEST(SelectVersion, SaysWhatThereIsNot) {
  TableMetadata metadata = Chain(2);
  EXPECT_EQ(Chosen(metadata, {.snapshot_id = 7}), "the table has no snapshot 7; the current one is 2");
  EXPECT_EQ(Chosen(metadata, {.ref = "mian"}), "the table has no branch or tag \"mian\"; did you mean \"main\"?");
  metadata.snapshots.erase(metadata.snapshots.begin());
  EXPECT_EQ(Chosen(metadata, {.as_of_us = kDayMs * 1000}),
            "the table has no snapshot of 1970-01-02T00:00:00+00:00: the one that was current then has been removed since");
  TableMetadata empty = Chain(0);
  empty.current_snapshot_id.reset();
  empty.refs.clear();
  EXPECT_EQ(Chosen(empty, {}), "0 with new");
  EXPECT_EQ(GetErrorKind(SelectVersion(empty, {.snapshot_id = 1}).status()), ErrorKind::kNotFound);
}

TEST(CountExpiredSnapshots, KeepsWhatIsYoungOrAskedFor) {
  TableMetadata metadata = Chain(10);
  const int64_t now = 11 * kDayMs;
  EXPECT_EQ(CountExpiredSnapshots(metadata, now), 5) << "five days are young: 6 to 10";
  metadata.properties = {{"history.expire.max-snapshot-age-ms", std::to_string(kDayMs)}};
  EXPECT_EQ(CountExpiredSnapshots(metadata, now), 9);
  metadata.properties.emplace_back("history.expire.min-snapshots-to-keep", "4");
  EXPECT_EQ(CountExpiredSnapshots(metadata, now), 6);
  AddRef(&metadata, "release", 2, /*is_branch=*/false);
  EXPECT_EQ(CountExpiredSnapshots(metadata, now), 5) << "a tag keeps its one snapshot";
  metadata.refs.back().max_ref_age_ms = kDayMs;
  EXPECT_EQ(CountExpiredSnapshots(metadata, now), 6) << "until it is old itself";
  metadata.refs.back() = {};
  metadata.refs.back().name = "audit";
  metadata.refs.back().is_branch = true;
  metadata.refs.back().snapshot_id = 3;
  metadata.refs.back().min_snapshots_to_keep = 2;
  EXPECT_EQ(CountExpiredSnapshots(metadata, now), 4) << "a branch keeps as many as it says: 2 and 3";
}

TEST(CountExpiredSnapshots, KeepsYoungSnapshotsThatNothingNames) {
  TableMetadata metadata = Chain(10);
  metadata.current_snapshot_id = 8;  // rolled back
  metadata.refs[0].snapshot_id = 8;
  EXPECT_EQ(CountExpiredSnapshots(metadata, 11 * kDayMs), 5) << "9 and 10 are young";
  EXPECT_EQ(CountExpiredSnapshots(metadata, 30 * kDayMs), 9) << "main keeps its last one";
}

}  // namespace
}  // namespace icebound::bridge
