// SPDX-License-Identifier: Apache-2.0
#include "bridge/table_description.h"

#include <arrow/array/array_primitive.h>
#include <arrow/scalar.h>

#include <charconv>
#include <limits>
#include <unordered_map>
#include <unordered_set>

#include "base/byte_size.h"
#include "base/error.h"
#include "bridge/few_tables.h"
#include "bridge/metadata_tables/manifest_tables.h"
#include "bridge/table_version.h"

namespace icebound::bridge {
namespace {

using iceberg::Snapshot;
using iceberg::SnapshotRef;
using iceberg::TableMetadata;

constexpr int64_t kMiB = int64_t{1} << 20;

/// A number among the table's properties. One that is malformed is as good as none: this is a report.
int64_t NumberProperty(const TableMetadata& metadata, std::string_view name, int64_t otherwise) {
  const std::string* text = metadata.FindProperty(name);
  int64_t value = 0;
  if (text == nullptr) return otherwise;
  const char* const end = text->data() + text->size();
  const auto [stop, error] = std::from_chars(text->data(), end, value);
  return error == std::errc{} && stop == end && value > 0 ? value : otherwise;
}

/// The one row of a query whose columns are all bigint, NULL as 0.
class NumberRows {
 public:
  static arrow::Result<std::vector<std::vector<int64_t>>> Run(const QueryRunner& run, const std::string& text,
                                                              plan::TableResolver& tables) {
    ARROW_ASSIGN_OR_RAISE(const auto reader, run(text, tables));
    std::vector<std::vector<int64_t>> rows;
    while (true) {
      std::shared_ptr<arrow::RecordBatch> batch;
      ARROW_RETURN_NOT_OK(reader->ReadNext(&batch));
      if (batch == nullptr) return rows;
      for (int64_t row = 0; row < batch->num_rows(); ++row) {
        std::vector<int64_t>& values = rows.emplace_back();
        for (const auto& column : batch->columns()) {
          if (column->type_id() != arrow::Type::INT64) {
            return MakeError(ErrorKind::kInternal, "a number of a table's description is of type {}", column->type()->ToString());
          }
          const auto& numbers = static_cast<const arrow::Int64Array&>(*column);
          values.push_back(numbers.IsNull(row) ? 0 : numbers.Value(row));
        }
      }
    }
  }
};

void AddColumns(const iceberg::Schema& schema, const iceberg::Type& type, std::vector<TableColumn>* columns) {
  for (const iceberg::Field& field : type.fields()) {
    columns->push_back({field.id, schema.FullName(field.id), field.type->ToString(), field.required, field.doc.value_or("")});
    if (field.type->is_nested()) {
      // The fields say it all: a struct's own word would repeat them.
      if (field.type->id() == iceberg::TypeId::kStruct) columns->back().type = "struct";
      if (field.type->id() == iceberg::TypeId::kList) columns->back().type = "list";
      if (field.type->id() == iceberg::TypeId::kMap) columns->back().type = "map";
      AddColumns(schema, *field.type, columns);
    }
  }
}

/// A column by id, also one that was dropped.
std::string ColumnName(const TableMetadata& metadata, int32_t field_id) {
  std::string name = metadata.current_schema().FullName(field_id);
  if (!name.empty()) return name;
  const iceberg::Field* field = metadata.FindFieldInHistory(field_id);
  return field != nullptr ? field->name : fmt::format("field {}", field_id);
}

arrow::Status DescribeMetadata(const NamedTable& table, TableDescription* out) {
  const TableMetadata& metadata = *table.loaded.metadata;
  out->table = table.name;
  out->uuid = metadata.table_uuid;
  out->location = metadata.location;
  out->metadata_location = table.loaded.metadata_location;
  out->format_version = metadata.format_version;
  out->last_sequence_number = metadata.last_sequence_number;
  out->read_only_reason = table.loaded.read_only_reason;
  out->schema_id = metadata.current_schema_id;
  AddColumns(metadata.current_schema(), *metadata.current_schema().type(), &out->columns);
  out->spec_id = metadata.default_spec_id;
  for (const iceberg::PartitionField& field : metadata.default_spec().fields) {
    out->partition_fields.push_back({field.name, field.transform.ToString(), ColumnName(metadata, field.source_id())});
  }
  out->sort_order_id = metadata.default_sort_order_id;
  for (const iceberg::SortField& field : metadata.default_sort_order().fields) {
    out->sort_fields.push_back(
        {ColumnName(metadata, field.source_id()), field.transform.ToString(), field.descending, field.nulls_first});
  }
  out->properties = {metadata.properties.begin(), metadata.properties.end()};
  if (const Snapshot* current = metadata.current_snapshot()) {
    ARROW_ASSIGN_OR_RAISE(std::string operation, current->Operation());
    out->current_snapshot = TableSnapshot{current->snapshot_id, current->timestamp_ms, std::move(operation)};
  }
  out->snapshots = static_cast<int64_t>(metadata.snapshots.size());
  out->refs = static_cast<int64_t>(metadata.refs.size());
  return arrow::Status::OK();
}

/// Where files of sizes below this begin to be another bucket.
const std::vector<int64_t>& BucketEdges() {
  static const std::vector<int64_t> edges = {1 * kMiB, 8 * kMiB, 32 * kMiB, 128 * kMiB, 512 * kMiB, 2048 * kMiB};
  return edges;
}

arrow::Status SumFiles(const QueryRunner& run, plan::TableResolver& tables, TableDescription* out) {
  ARROW_ASSIGN_OR_RAISE(
      const auto kinds,
      NumberRows::Run(
          run,
          "SELECT CAST(content AS bigint), CASE WHEN file_format = 'PUFFIN' THEN 1::bigint ELSE 0::bigint END, count(*), "
          "CAST(sum(record_count) AS bigint), CAST(sum(held_bytes) AS bigint) FROM file_facts GROUP BY 1, 2",
          tables));
  for (const auto& row : kinds) {
    TableFiles& files = row[0] == 0                  ? out->data_files
                        : row[0] == 2                ? out->equality_delete_files
                        : row[0] == 1 && row[1] == 1 ? out->deletion_vectors
                                                     : out->position_delete_files;
    files.files += row[2];
    files.rows += row[3];
    files.bytes += row[4];
  }
  std::string bucket = "CASE";
  for (size_t i = 0; i < BucketEdges().size(); ++i) {
    bucket += fmt::format(" WHEN file_size_in_bytes < {} THEN {}::bigint", BucketEdges()[i], i);
  }
  bucket += fmt::format(" ELSE {}::bigint END", BucketEdges().size());
  for (size_t i = 0; i <= BucketEdges().size(); ++i) {
    TableSizeBucket& sizes = out->file_sizes.emplace_back();
    sizes.from_bytes = i == 0 ? 0 : BucketEdges()[i - 1];
    if (i < BucketEdges().size()) sizes.to_bytes = BucketEdges()[i];
  }
  ARROW_ASSIGN_OR_RAISE(
      const auto buckets,
      NumberRows::Run(run,
                      fmt::format("SELECT {}, count(*), CAST(sum(file_size_in_bytes) AS bigint) FROM file_facts "
                                  "WHERE content = 0 GROUP BY 1",
                                  bucket),
                      tables));
  for (const auto& row : buckets) {
    out->file_sizes[static_cast<size_t>(row[0])].files = row[1];
    out->file_sizes[static_cast<size_t>(row[0])].bytes = row[2];
  }
  return arrow::Status::OK();
}

/// Spark's options of a rewrite by size.
struct RewriteSizes {
  explicit RewriteSizes(int64_t target) : target_bytes(target), min_bytes(target / 4 * 3), max_bytes(target / 5 * 9) {}
  static constexpr int64_t kMinInputFiles = 5;

  int64_t target_bytes;
  int64_t min_bytes;
  int64_t max_bytes;
};

/// Groups, files and bytes that a rewrite of `chosen` (columns part of the group's key, bytes, heavy) would be of.
std::string GroupsQuery(const std::string& chosen, bool partitioned, int32_t spec_id, const RewriteSizes& sizes) {
  const std::string key = partitioned ? "spec_id, partition" : "spec_id";
  return fmt::format(
      "WITH {0}, by_partition AS (SELECT spec_id, count(*) AS files, CAST(sum(bytes) AS bigint) AS bytes, bool_or(heavy) AS "
      "heavy "
      "FROM chosen WHERE bytes < {2} OR bytes > {3} OR heavy GROUP BY {1}), "
      "rewrites AS (SELECT files, bytes, heavy FROM by_partition WHERE spec_id = {4} UNION ALL "
      "SELECT CAST(sum(files) AS bigint), CAST(sum(bytes) AS bigint), bool_or(heavy) FROM by_partition WHERE spec_id <> {4} "
      "HAVING count(*) > 0) "
      "SELECT count(*), CAST(sum(files) AS bigint), CAST(sum(bytes) AS bigint) FROM rewrites "
      "WHERE files >= {5} OR (files > 1 AND bytes > {6}) OR bytes > {3} OR heavy",
      chosen, key, sizes.min_bytes, sizes.max_bytes, spec_id, RewriteSizes::kMinInputFiles, sizes.target_bytes);
}

arrow::Status JudgeDataFiles(const TableMetadata& metadata, bool partitioned, const QueryRunner& run, plan::TableResolver& tables,
                             TableDescription* out) {
  const RewriteSizes sizes(NumberProperty(metadata, "write.target-file-size-bytes", 512 * kMiB));
  const std::string chosen = fmt::format(
      "scoped AS (SELECT about_file, CAST(sum(record_count) AS bigint) AS deleted FROM file_facts "
      "WHERE content = 1 AND about_file IS NOT NULL GROUP BY about_file), "
      "chosen AS (SELECT f.spec_id{}, f.file_size_in_bytes AS bytes, "
      "coalesce(s.deleted, 0) > 0 AND 10 * least(s.deleted, f.record_count) >= 3 * f.record_count AS heavy "
      "FROM file_facts f LEFT JOIN scoped s ON s.about_file = f.file_path WHERE f.content = 0)",
      partitioned ? ", f.partition" : "");
  ARROW_ASSIGN_OR_RAISE(const auto rows,
                        NumberRows::Run(run, GroupsQuery(chosen, partitioned, metadata.default_spec_id, sizes), tables));
  if (rows.size() == 1 && rows[0][0] > 0) {
    out->maintenance.push_back({"compact",
                                fmt::format("{} data files of {} in {} groups would be rewritten to files of about {}",
                                            rows[0][1], FormatBytes(rows[0][2]), rows[0][0], FormatBytes(sizes.target_bytes)),
                                rows[0][1], rows[0][2]});
  }
  return arrow::Status::OK();
}

arrow::Status JudgeDeletes(const TableMetadata& metadata, bool partitioned, const QueryRunner& run, plan::TableResolver& tables,
                           TableDescription* out) {
  const TableFiles& equality = out->equality_delete_files;
  const TableFiles& position = out->position_delete_files;
  if (equality.files > 0) {
    out->maintenance.push_back(
        {"resolve-deletes",
         fmt::format("{} equality delete files with {} keys are joined with every read", equality.files, equality.rows),
         equality.files, equality.bytes});
  }
  if (position.files == 0) return arrow::Status::OK();
  if (metadata.format_version >= 3) {
    out->maintenance.push_back(
        {"resolve-deletes",
         fmt::format("{} position delete files are older than format version 3, which has deletion vectors", position.files),
         position.files, position.bytes});
    return arrow::Status::OK();
  }
  const RewriteSizes sizes(NumberProperty(metadata, "write.delete.target-file-size-bytes", 64 * kMiB));
  const std::string chosen =
      fmt::format("chosen AS (SELECT spec_id{}, file_size_in_bytes AS bytes, false AS heavy FROM file_facts WHERE content = 1)",
                  partitioned ? ", partition" : "");
  ARROW_ASSIGN_OR_RAISE(const auto rows,
                        NumberRows::Run(run, GroupsQuery(chosen, partitioned, metadata.default_spec_id, sizes), tables));
  if (rows.size() == 1 && rows[0][0] > 0) {
    out->maintenance.push_back({"rewrite-position-deletes",
                                fmt::format("{} position delete files of {} in {} groups would be rewritten to files of about {}",
                                            rows[0][1], FormatBytes(rows[0][2]), rows[0][0], FormatBytes(sizes.target_bytes)),
                                rows[0][1], rows[0][2]});
  }
  return arrow::Status::OK();
}

arrow::Status JudgeManifests(const TableMetadata& metadata, const QueryRunner& run, plan::TableResolver& tables,
                             TableDescription* out) {
  const int64_t target_bytes = NumberProperty(metadata, "commit.manifest.target-size-bytes", 8 * kMiB);
  const int64_t small_max = NumberProperty(metadata, "commit.manifest.min-count-to-merge", 100);
  ARROW_ASSIGN_OR_RAISE(
      const auto rows,
      NumberRows::Run(run,
                      fmt::format("SELECT count(*), CAST(sum(length) AS bigint), count(*) FILTER (WHERE length < {0}), "
                                  "CAST(sum(length) FILTER (WHERE length < {0}) AS bigint) FROM manifests",
                                  target_bytes / 2),
                      tables));
  out->manifests = rows[0][0];
  out->manifest_bytes = rows[0][1];
  if (rows[0][2] >= small_max) {
    out->maintenance.push_back({"rewrite-manifests",
                                fmt::format("{} manifests are smaller than half of {}, the size they should have", rows[0][2],
                                            FormatBytes(target_bytes)),
                                rows[0][2], rows[0][3]});
  }
  return arrow::Status::OK();
}

}  // namespace

int64_t CountExpiredSnapshots(const TableMetadata& metadata, int64_t now_ms) {
  constexpr int64_t kFiveDaysMs = int64_t{5} * 24 * 3600 * 1000;
  const int64_t age_ms = NumberProperty(metadata, "history.expire.max-snapshot-age-ms", kFiveDaysMs);
  const int64_t keep = NumberProperty(metadata, "history.expire.min-snapshots-to-keep", 1);
  const int64_t ref_age_ms = NumberProperty(metadata, "history.expire.max-ref-age-ms", std::numeric_limits<int64_t>::max());
  std::unordered_map<int64_t, const Snapshot*> by_id;
  for (const Snapshot& snapshot : metadata.snapshots) by_id.emplace(snapshot.snapshot_id, &snapshot);
  const auto find = [&](int64_t id) {
    const auto found = by_id.find(id);
    return found == by_id.end() ? nullptr : found->second;
  };
  std::unordered_set<int64_t> kept;
  std::unordered_set<int64_t> referenced;
  for (const SnapshotRef& ref : metadata.refs) {
    const Snapshot* snapshot = find(ref.snapshot_id);
    if (snapshot == nullptr) continue;
    const bool is_main = ref.name == iceberg::kMainBranch;
    if (!is_main && now_ms - snapshot->timestamp_ms > ref.max_ref_age_ms.value_or(ref_age_ms)) continue;
    if (!ref.is_branch) {
      kept.insert(snapshot->snapshot_id);
      referenced.insert(snapshot->snapshot_id);
      continue;
    }
    const int64_t min_kept = ref.min_snapshots_to_keep ? *ref.min_snapshots_to_keep : keep;
    const int64_t oldest_ms = now_ms - ref.max_snapshot_age_ms.value_or(age_ms);
    // Ancestors are kept up to the first that is neither among the newest nor young enough.
    std::unordered_set<int64_t> seen;
    bool keeping = true;
    for (int64_t count = 0; snapshot != nullptr && seen.insert(snapshot->snapshot_id).second; ++count) {
      keeping = keeping && (count < min_kept || snapshot->timestamp_ms >= oldest_ms);
      if (keeping) kept.insert(snapshot->snapshot_id);
      referenced.insert(snapshot->snapshot_id);
      snapshot = snapshot->parent_snapshot_id ? find(*snapshot->parent_snapshot_id) : nullptr;
    }
  }
  int64_t expired = 0;
  for (const Snapshot& snapshot : metadata.snapshots) {
    const bool young_orphan = !referenced.contains(snapshot.snapshot_id) && snapshot.timestamp_ms >= now_ms - age_ms;
    if (!kept.contains(snapshot.snapshot_id) && !young_orphan) ++expired;
  }
  return expired;
}

arrow::Result<TableDescription> DescribeTable(const NamedTable& table, int64_t now_ms, memory::MemoryLedger* ledger,
                                              const QueryRunner& run) {
  const TableMetadata& metadata = *table.loaded.metadata;
  TableDescription out;
  ARROW_RETURN_NOT_OK(DescribeMetadata(table, &out));
  const TableVersion version{metadata.current_snapshot(), &metadata.current_schema()};
  auto facts = MakeFileFactsTable(table, version);
  const bool partitioned = facts->schema()->GetFieldIndex("partition") >= 0;
  FewTables tables({{"file_facts", std::move(facts)}, {"manifests", MakeManifestsTable(table, version)}});
  ARROW_RETURN_NOT_OK(SumFiles(run, tables, &out));
  ARROW_RETURN_NOT_OK(JudgeDataFiles(metadata, partitioned, run, tables, &out));
  ARROW_RETURN_NOT_OK(JudgeDeletes(metadata, partitioned, run, tables, &out));
  {
    // Index and sets of ids, with what hash tables add.
    constexpr int64_t kBytesASnapshot = 256;
    const auto consumer = ledger->AddConsumer("snapshots to expire");
    memory::Reservation ids(consumer.get());
    ARROW_RETURN_NOT_OK(ids.ResizeTo(kBytesASnapshot * out.snapshots));
    const int64_t expired = CountExpiredSnapshots(metadata, now_ms);
    if (expired > 0) {
      out.maintenance.push_back(
          {"expire-snapshots", fmt::format("{} snapshots are older than anything asks for", expired), expired, 0});
    }
  }
  ARROW_RETURN_NOT_OK(JudgeManifests(metadata, run, tables, &out));
  return out;
}

}  // namespace icebound::bridge
