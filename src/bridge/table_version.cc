// SPDX-License-Identifier: Apache-2.0
#include "bridge/table_version.h"

#include "base/error.h"
#include "iceberg/spec/iso_time.h"
#include "sql/nearest_name.h"

namespace icebound::bridge {
namespace {

std::string TimeText(int64_t us) {
  std::string text;
  iceberg::AppendIsoTimestamp(us, iceberg::TimePrecision::kMicros, /*utc=*/true, &text);
  return text;
}

arrow::Result<const iceberg::Snapshot*> FindById(const iceberg::TableMetadata& metadata, int64_t snapshot_id) {
  const iceberg::Snapshot* snapshot = metadata.FindSnapshot(snapshot_id);
  if (snapshot != nullptr) return snapshot;
  const std::string current = metadata.current_snapshot_id ? fmt::format("; the current one is {}", *metadata.current_snapshot_id)
                                                           : std::string(": it has none");
  return MakeError(ErrorKind::kNotFound, "the table has no snapshot {}{}", snapshot_id, current);
}

}  // namespace

arrow::Result<TableVersion> SelectVersion(const iceberg::TableMetadata& metadata, const plan::IcebergReference& reference) {
  if (!reference.names_version()) return TableVersion{metadata.current_snapshot(), &metadata.current_schema()};
  if (reference.snapshot_id) {
    ARROW_ASSIGN_OR_RAISE(const auto* snapshot, FindById(metadata, *reference.snapshot_id));
    return TableVersion{snapshot, &metadata.SchemaOf(*snapshot)};
  }
  if (reference.as_of_us) {
    auto snapshot = metadata.SnapshotAsOf(iceberg::FloorDivide(*reference.as_of_us, 1000));
    if (!snapshot.ok()) {
      if (GetErrorKind(snapshot.status()) != ErrorKind::kNotFound) return snapshot.status();
      const int64_t asked_ms = iceberg::FloorDivide(*reference.as_of_us, 1000);
      std::string why = "it has no history";
      if (!metadata.snapshot_log.empty()) {
        const int64_t begin_ms = metadata.snapshot_log.front().timestamp_ms;
        why = begin_ms <= asked_ms ? "the one that was current then has been removed since"
                                   : fmt::format("its history begins at {}", TimeText(begin_ms * 1000));
      }
      return MakeError(ErrorKind::kNotFound, "the table has no snapshot of {}: {}", TimeText(*reference.as_of_us), why);
    }
    return TableVersion{*snapshot, &metadata.SchemaOf(**snapshot)};
  }
  const iceberg::SnapshotRef* ref = metadata.FindRef(*reference.ref);
  if (ref == nullptr) {
    std::vector<std::string> names;
    for (const iceberg::SnapshotRef& known : metadata.refs) names.push_back(known.name);
    return MakeError(ErrorKind::kNotFound, "the table has no branch or tag \"{}\"{}", *reference.ref,
                     sql::SuggestionText(*reference.ref, names));
  }
  ARROW_ASSIGN_OR_RAISE(const auto* snapshot, FindById(metadata, ref->snapshot_id));
  return TableVersion{snapshot, ref->is_branch ? &metadata.current_schema() : &metadata.SchemaOf(*snapshot)};
}

}  // namespace icebound::bridge
