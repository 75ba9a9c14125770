// SPDX-License-Identifier: Apache-2.0
#include "iceberg/spec/table_metadata.h"

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "iceberg/spec/iso_time.h"

namespace icebound::iceberg {

const Schema* TableMetadata::FindSchema(int32_t schema_id) const {
  for (const auto& schema : schemas) {
    if (schema->schema_id() == schema_id) return schema.get();
  }
  return nullptr;
}

const PartitionSpec* TableMetadata::FindSpec(int32_t spec_id) const {
  for (const PartitionSpec& spec : partition_specs) {
    if (spec.spec_id == spec_id) return &spec;
  }
  return nullptr;
}

const SortOrder* TableMetadata::FindSortOrder(int32_t order_id) const {
  for (const SortOrder& order : sort_orders) {
    if (order.order_id == order_id) return &order;
  }
  return nullptr;
}

const Snapshot* TableMetadata::FindSnapshot(int64_t snapshot_id) const {
  // The newest stand last and are asked for most.
  for (auto snapshot = snapshots.rbegin(); snapshot != snapshots.rend(); ++snapshot) {
    if (snapshot->snapshot_id == snapshot_id) return &*snapshot;
  }
  return nullptr;
}

const SnapshotRef* TableMetadata::FindRef(std::string_view name) const {
  for (const SnapshotRef& ref : refs) {
    if (ref.name == name) return &ref;
  }
  return nullptr;
}

const Schema& TableMetadata::SchemaOf(const Snapshot& snapshot) const {
  const Schema* own = snapshot.schema_id ? FindSchema(*snapshot.schema_id) : nullptr;
  return own == nullptr ? current_schema() : *own;
}

const Field* TableMetadata::FindFieldInHistory(int32_t field_id) const {
  if (const Field* field = current_schema().FindField(field_id)) return field;
  const Schema* newest = nullptr;
  for (const auto& schema : schemas) {
    const bool newer = newest == nullptr || schema->schema_id() > newest->schema_id();
    if (newer && schema->FindField(field_id) != nullptr) newest = schema.get();
  }
  return newest == nullptr ? nullptr : newest->FindField(field_id);
}

TypePtr TableMetadata::TupleType(const PartitionSpec& spec) const {
  return spec.TupleType([this](int32_t source_id) -> TypePtr {
    const Field* source = FindFieldInHistory(source_id);
    return source == nullptr ? nullptr : source->type;
  });
}

arrow::Result<const Snapshot*> TableMetadata::SnapshotAsOf(int64_t timestamp_ms) const {
  const SnapshotLogEntry* last = nullptr;
  for (const SnapshotLogEntry& entry : snapshot_log) {
    if (entry.timestamp_ms <= timestamp_ms && (last == nullptr || entry.timestamp_ms >= last->timestamp_ms)) last = &entry;
  }
  const Snapshot* snapshot = last == nullptr ? nullptr : FindSnapshot(last->snapshot_id);
  if (snapshot == nullptr) {
    // Files may hold any number; the message then says the last time that microseconds reach.
    constexpr int64_t kLastMs = std::numeric_limits<int64_t>::max() / 1000 - kMicrosPerDay / 1000;
    std::string time;
    AppendIsoTimestamp(std::clamp(timestamp_ms, -kLastMs, kLastMs) * 1000, TimePrecision::kMicros, /*utc=*/true, &time);
    return MakeError(ErrorKind::kNotFound, "table {} has no snapshot that was current at {}", location, time);
  }
  return snapshot;
}

}  // namespace icebound::iceberg
