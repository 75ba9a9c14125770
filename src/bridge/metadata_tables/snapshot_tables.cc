// SPDX-License-Identifier: Apache-2.0
//
// The metadata tables whose rows are in the table's metadata: snapshots, history, refs, metadata_log_entries.
#include "bridge/metadata_tables/snapshot_tables.h"

#include <unordered_set>

#include "bridge/metadata_tables/row_table.h"

namespace icebound::bridge {
namespace {

using iceberg::MetadataLogEntry;
using iceberg::Snapshot;
using iceberg::SnapshotLogEntry;
using iceberg::SnapshotRef;
using iceberg::TableMetadata;

/// Rows that are items of a vector in the metadata, which is kept.
template <typename Row>
class ItemReader final : public RowReader<Row> {
 public:
  ItemReader(std::shared_ptr<const TableMetadata> metadata, const std::vector<Row>& items)
      : metadata_(std::move(metadata)), items_(items) {}
  arrow::Result<const Row*> Next() override { return next_ < items_.size() ? &items_[next_++] : nullptr; }

 private:
  const std::shared_ptr<const TableMetadata> metadata_;
  const std::vector<Row>& items_;
  size_t next_ = 0;
};

template <typename Row>
std::shared_ptr<plan::TableSource> TableOfItems(const NamedTable& table, std::string_view name, const std::vector<Row>& items,
                                                std::vector<Column<Row>> columns, std::function<int64_t(const Row&)> row_bytes) {
  RowTableDefinition<Row> definition;
  definition.description = fmt::format("{} of iceberg table {}", name, table.name);
  definition.columns = std::move(columns);
  definition.rows = static_cast<int64_t>(items.size());
  definition.row_bytes = std::move(row_bytes);
  definition.open = [metadata = table.loaded.metadata, &items](const RowScan&) -> arrow::Result<std::unique_ptr<RowReader<Row>>> {
    return std::make_unique<ItemReader<Row>>(metadata, items);
  };
  return std::make_shared<RowTable<Row>>(std::move(definition));
}

constexpr int64_t kSmallRowBytes = 64;

arrow::Status AppendSummary(const Snapshot& snapshot, arrow::ArrayBuilder* builder) {
  auto& map = static_cast<arrow::MapBuilder&>(*builder);
  if (snapshot.summary_json.empty()) return map.AppendNull();
  ARROW_ASSIGN_OR_RAISE(const iceberg::StringPairs summary, snapshot.Summary());
  ARROW_RETURN_NOT_OK(map.Append());
  auto& keys = static_cast<arrow::StringBuilder&>(*map.key_builder());
  auto& items = static_cast<arrow::StringBuilder&>(*map.item_builder());
  for (const auto& [key, value] : summary) {
    if (key == "operation") continue;
    ARROW_RETURN_NOT_OK(keys.Append(key));
    ARROW_RETURN_NOT_OK(items.Append(value));
  }
  return arrow::Status::OK();
}

}  // namespace

std::shared_ptr<plan::TableSource> MakeSnapshotsTable(const NamedTable& table) {
  std::vector<Column<Snapshot>> columns = {
      TimeColumn<Snapshot>("committed_at", kRequired, [](const Snapshot& s) { return s.timestamp_ms * 1000; }),
      Int64Column<Snapshot>("snapshot_id", kRequired, [](const Snapshot& s) { return s.snapshot_id; }),
      Int64Column<Snapshot>("parent_id", kNullable, [](const Snapshot& s) { return s.parent_snapshot_id; }),
      {arrow::field("operation", arrow::utf8()),
       [](const Snapshot& s, arrow::ArrayBuilder* builder) -> arrow::Status {
         ARROW_ASSIGN_OR_RAISE(const std::string operation, s.Operation());
         auto& text = static_cast<arrow::StringBuilder&>(*builder);
         return operation.empty() ? text.AppendNull() : text.Append(operation);
       }},
      {arrow::field("manifest_list", arrow::utf8()),
       [](const Snapshot& s, arrow::ArrayBuilder* builder) -> arrow::Status {
         auto& text = static_cast<arrow::StringBuilder&>(*builder);
         return s.manifest_list.empty() ? text.AppendNull() : text.Append(s.manifest_list);
       }},
      {arrow::field("summary", arrow::map(arrow::utf8(), arrow::utf8())), AppendSummary}};
  return TableOfItems<Snapshot>(table, "snapshots", table.loaded.metadata->snapshots, std::move(columns), [](const Snapshot& s) {
    return kSmallRowBytes + static_cast<int64_t>(s.manifest_list.size() + s.summary_json.size());
  });
}

std::shared_ptr<plan::TableSource> MakeHistoryTable(const NamedTable& table) {
  const TableMetadata* metadata = table.loaded.metadata.get();
  // Charged with the metadata: a set of ids is smaller than the snapshots that it is of.
  auto ancestors = std::make_shared<std::unordered_set<int64_t>>();
  for (const Snapshot* s = metadata->current_snapshot(); s != nullptr && ancestors->insert(s->snapshot_id).second;) {
    s = s->parent_snapshot_id ? metadata->FindSnapshot(*s->parent_snapshot_id) : nullptr;
  }
  std::vector<Column<SnapshotLogEntry>> columns = {
      TimeColumn<SnapshotLogEntry>("made_current_at", kRequired, [](const auto& entry) { return entry.timestamp_ms * 1000; }),
      Int64Column<SnapshotLogEntry>("snapshot_id", kRequired, [](const auto& entry) { return entry.snapshot_id; }),
      Int64Column<SnapshotLogEntry>("parent_id", kNullable,
                                    [metadata](const auto& entry) {
                                      const Snapshot* snapshot = metadata->FindSnapshot(entry.snapshot_id);
                                      return snapshot != nullptr ? snapshot->parent_snapshot_id : std::nullopt;
                                    }),
      MakeColumn<SnapshotLogEntry, arrow::BooleanType>(
          "is_current_ancestor", arrow::boolean(), kRequired,
          [ancestors](const auto& entry) { return ancestors->contains(entry.snapshot_id); })};
  return TableOfItems<SnapshotLogEntry>(table, "history", metadata->snapshot_log, std::move(columns),
                                        [](const auto&) { return kSmallRowBytes; });
}

std::shared_ptr<plan::TableSource> MakeRefsTable(const NamedTable& table) {
  std::vector<Column<SnapshotRef>> columns = {
      TextColumn<SnapshotRef>("name", kRequired, [](const SnapshotRef& ref) { return std::string_view(ref.name); }),
      TextColumn<SnapshotRef>("type", kRequired, [](const SnapshotRef& ref) { return ref.is_branch ? "BRANCH" : "TAG"; }),
      Int64Column<SnapshotRef>("snapshot_id", kRequired, [](const SnapshotRef& ref) { return ref.snapshot_id; }),
      Int64Column<SnapshotRef>("max_reference_age_in_ms", kNullable, [](const SnapshotRef& ref) { return ref.max_ref_age_ms; }),
      Int32Column<SnapshotRef>("min_snapshots_to_keep", kNullable,
                               [](const SnapshotRef& ref) { return ref.min_snapshots_to_keep; }),
      Int64Column<SnapshotRef>("max_snapshot_age_in_ms", kNullable,
                               [](const SnapshotRef& ref) { return ref.max_snapshot_age_ms; })};
  return TableOfItems<SnapshotRef>(table, "refs", table.loaded.metadata->refs, std::move(columns),
                                   [](const SnapshotRef& ref) { return kSmallRowBytes + static_cast<int64_t>(ref.name.size()); });
}

std::shared_ptr<plan::TableSource> MakeMetadataLogTable(const NamedTable& table) {
  const TableMetadata* metadata = table.loaded.metadata.get();
  // The log tells what came before; the file itself is its end.
  struct Log {
    std::shared_ptr<const TableMetadata> metadata;
    std::vector<MetadataLogEntry> entries;
  };
  auto log = std::make_shared<Log>(Log{table.loaded.metadata, metadata->metadata_log});
  MetadataLogEntry now;
  now.timestamp_ms = metadata->last_updated_ms;
  now.metadata_file = table.loaded.metadata_location;
  log->entries.push_back(std::move(now));
  const auto snapshot_at = [metadata](const MetadataLogEntry& entry) -> const Snapshot* {
    const auto found = metadata->SnapshotAsOf(entry.timestamp_ms);
    return found.ok() ? *found : nullptr;
  };
  RowTableDefinition<MetadataLogEntry> definition;
  definition.description = fmt::format("metadata_log_entries of iceberg table {}", table.name);
  definition.columns = {
      TimeColumn<MetadataLogEntry>("timestamp", kRequired, [](const auto& entry) { return entry.timestamp_ms * 1000; }),
      TextColumn<MetadataLogEntry>("file", kRequired, [](const auto& entry) { return std::string_view(entry.metadata_file); }),
      Int64Column<MetadataLogEntry>("latest_snapshot_id", kNullable,
                                    [snapshot_at](const auto& entry) -> std::optional<int64_t> {
                                      const Snapshot* snapshot = snapshot_at(entry);
                                      return snapshot != nullptr ? std::optional(snapshot->snapshot_id) : std::nullopt;
                                    }),
      Int32Column<MetadataLogEntry>("latest_schema_id", kNullable,
                                    [snapshot_at](const auto& entry) -> std::optional<int32_t> {
                                      const Snapshot* snapshot = snapshot_at(entry);
                                      return snapshot != nullptr ? snapshot->schema_id : std::nullopt;
                                    }),
      Int64Column<MetadataLogEntry>("latest_sequence_number", kNullable,
                                    [snapshot_at](const auto& entry) -> std::optional<int64_t> {
                                      const Snapshot* snapshot = snapshot_at(entry);
                                      return snapshot != nullptr ? std::optional(snapshot->sequence_number) : std::nullopt;
                                    })};
  definition.rows = static_cast<int64_t>(log->entries.size());
  definition.row_bytes = [](const auto& entry) { return kSmallRowBytes + static_cast<int64_t>(entry.metadata_file.size()); };
  definition.open = [log](const RowScan&) -> arrow::Result<std::unique_ptr<RowReader<MetadataLogEntry>>> {
    return std::make_unique<ItemReader<MetadataLogEntry>>(log->metadata, log->entries);
  };
  return std::make_shared<RowTable<MetadataLogEntry>>(std::move(definition));
}

}  // namespace icebound::bridge
