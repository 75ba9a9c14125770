// SPDX-License-Identifier: Apache-2.0
//
// The metadata tables that are read from manifests. A reader holds the manifest list and one manifest at a time; metrics are
// decoded only when a scan asks for them.
#include "bridge/metadata_tables/manifest_tables.h"

#include <set>

#include "base/error.h"
#include "bridge/metadata_tables/row_table.h"
#include "bridge/table_files.h"
#include "bridge/unified_partition.h"
#include "iceberg/manifest/manifest_reader.h"
#include "iceberg/scan/manifest_source.h"
#include "iceberg/spec/single_value.h"

namespace icebound::bridge {
namespace {

using iceberg::ColumnBytes;
using iceberg::ColumnCounts;
using iceberg::DataFile;
using iceberg::FileContent;
using iceberg::ManifestContent;
using iceberg::ManifestEntry;
using iceberg::ManifestFile;
using iceberg::TableMetadata;

// Position deletes: the bounds of their column file_path, by the specification's reserved id.
constexpr int32_t kDeletedFilePathId = 2147483546;

/// What the readers of one table share.
struct Surroundings {
  std::shared_ptr<const TableMetadata> metadata;
  const iceberg::Snapshot* snapshot = nullptr;  ///< null: no rows
  iceberg::FileOpener open_file;
  UnifiedPartition partition;

  Surroundings(const NamedTable& table, const TableVersion& version)
      : metadata(table.loaded.metadata),
        snapshot(version.snapshot),
        open_file(OpenTableFiles(table.resolve)),
        partition(*table.loaded.metadata) {}
};
using SurroundingsPtr = std::shared_ptr<const Surroundings>;

std::string Description(std::string_view name, const NamedTable& table, const TableVersion& version) {
  return fmt::format(
      "{} of iceberg table {}{}", name, table.name,
      version.snapshot == nullptr ? " (no snapshot)" : fmt::format(" (snapshot {})", version.snapshot->snapshot_id));
}

// --- manifests ---------------------------------------------------------------------------------------------------------------

class ManifestRows final : public RowReader<ManifestFile> {
 public:
  static arrow::Result<std::unique_ptr<RowReader<ManifestFile>>> Open(SurroundingsPtr table, const RowScan& scan) {
    auto rows = std::make_unique<ManifestRows>();
    rows->table_ = std::move(table);
    if (rows->table_->snapshot != nullptr) {
      ARROW_ASSIGN_OR_RAISE(rows->manifests_,
                            iceberg::ManifestSource::Open(*rows->table_->snapshot, rows->table_->open_file, scan.consumer));
    }
    return rows;
  }
  arrow::Result<const ManifestFile*> Next() override {
    if (manifests_ == nullptr) return nullptr;
    ARROW_ASSIGN_OR_RAISE(const bool found, manifests_->Next(&manifest_));
    if (!found) return nullptr;
    if (manifest_.spec_id == ManifestFile::kSpecOfHeader && manifest_.length_bytes == 0) {
      // Named by an old v1 snapshot: no list knows how long it is.
      ARROW_ASSIGN_OR_RAISE(const auto file, table_->open_file(manifest_.path));
      ARROW_ASSIGN_OR_RAISE(manifest_.length_bytes, file->GetSize());
    }
    return &manifest_;
  }

 private:
  SurroundingsPtr table_;
  std::unique_ptr<iceberg::ManifestSource> manifests_;
  ManifestFile manifest_;
};

/// A bound of a manifest's partition values as people read it.
std::optional<std::string> BoundText(const iceberg::PartitionField& field, const iceberg::Type& type,
                                     const std::optional<std::string>& bound) {
  if (!bound) return std::nullopt;
  const auto value = iceberg::DecodeBound(type, *bound);
  if (!value) return std::nullopt;
  return field.transform.ValueText(type, *value);
}

arrow::Status AppendSummaries(const TableMetadata& metadata, const ManifestFile& manifest, arrow::ArrayBuilder* builder) {
  auto& list = static_cast<arrow::ListBuilder&>(*builder);
  ARROW_RETURN_NOT_OK(list.Append());
  const iceberg::PartitionSpec* spec = metadata.FindSpec(manifest.spec_id);
  if (spec == nullptr && manifest.spec_id != ManifestFile::kSpecOfHeader) {
    return MakeError(ErrorKind::kCorruptData, "manifest {} has partition spec {}, which the table does not have", manifest.path,
                     manifest.spec_id);
  }
  if (spec == nullptr || manifest.partitions.empty()) return arrow::Status::OK();
  if (manifest.partitions.size() != spec->fields.size()) {
    return MakeError(ErrorKind::kCorruptData, "manifest {} has summaries of {} partition fields, and its spec {} has {}",
                     manifest.path, manifest.partitions.size(), spec->spec_id, spec->fields.size());
  }
  const iceberg::TypePtr tuple = metadata.TupleType(*spec);
  auto& item = static_cast<arrow::StructBuilder&>(*list.value_builder());
  for (size_t i = 0; i < spec->fields.size(); ++i) {
    const iceberg::FieldSummary& summary = manifest.partitions[i];
    const iceberg::Type& type = *tuple->fields()[i].type;
    ARROW_RETURN_NOT_OK(item.Append());
    ARROW_RETURN_NOT_OK(static_cast<arrow::BooleanBuilder*>(item.field_builder(0))->Append(summary.contains_null));
    ARROW_RETURN_NOT_OK(AppendValue(static_cast<arrow::BooleanBuilder*>(item.field_builder(1)), summary.contains_nan));
    ARROW_RETURN_NOT_OK(
        AppendValue(static_cast<arrow::StringBuilder*>(item.field_builder(2)), BoundText(spec->fields[i], type, summary.lower)));
    ARROW_RETURN_NOT_OK(
        AppendValue(static_cast<arrow::StringBuilder*>(item.field_builder(3)), BoundText(spec->fields[i], type, summary.upper)));
  }
  return arrow::Status::OK();
}

/// A count that the list may leave out: null then, and 0 for manifests of the other content.
Column<ManifestFile> CountColumn(std::string name, ManifestContent content, std::optional<int32_t> ManifestFile::*count) {
  return Int32Column<ManifestFile>(std::move(name), kNullable, [content, count](const ManifestFile& m) -> std::optional<int32_t> {
    return m.content == content ? m.*count : std::optional<int32_t>(0);
  });
}

std::shared_ptr<arrow::DataType> SummariesType() {
  return arrow::list(
      arrow::struct_({arrow::field("contains_null", arrow::boolean(), false), arrow::field("contains_nan", arrow::boolean()),
                      arrow::field("lower_bound", arrow::utf8()), arrow::field("upper_bound", arrow::utf8())}));
}

// --- files and entries -------------------------------------------------------------------------------------------------------

struct EntryScan {
  bool live_only = true;
  bool metrics = true;
  std::optional<std::vector<int32_t>> metric_columns;  ///< with metrics: of these columns alone
  FileKinds kinds = FileKinds::kAll;
};

class EntryRows final : public RowReader<ManifestEntry> {
 public:
  static arrow::Result<std::unique_ptr<RowReader<ManifestEntry>>> Open(SurroundingsPtr table, const RowScan& scan,
                                                                       EntryScan entries) {
    auto rows = std::make_unique<EntryRows>();
    rows->table_ = std::move(table);
    rows->entries_ = std::move(entries);
    rows->consumer_ = scan.consumer;
    rows->context_ = scan.context;
    if (rows->table_->snapshot != nullptr) {
      ARROW_ASSIGN_OR_RAISE(rows->manifests_,
                            iceberg::ManifestSource::Open(*rows->table_->snapshot, rows->table_->open_file, scan.consumer));
    }
    return rows;
  }

  arrow::Result<const ManifestEntry*> Next() override {
    while (true) {
      if (manifest_ == nullptr) {
        ARROW_ASSIGN_OR_RAISE(const bool found, OpenNext());
        if (!found) return nullptr;
      }
      ARROW_ASSIGN_OR_RAISE(const bool found, manifest_->Next(&entry_));
      if (found) return &entry_;
      manifest_.reset();
    }
  }

 private:
  arrow::Result<bool> OpenNext() {
    if (manifests_ == nullptr) return false;
    ManifestFile file;
    do {
      ARROW_RETURN_NOT_OK(context_->cancellation.Check());
      ARROW_ASSIGN_OR_RAISE(const bool found, manifests_->Next(&file));
      if (!found) {
        manifests_.reset();
        return false;
      }
    } while (!IsWanted(file));
    iceberg::ManifestReadOptions options;
    options.consumer = consumer_;
    options.live_only = entries_.live_only;
    options.metric_columns = entries_.metrics ? entries_.metric_columns : std::vector<int32_t>();
    ARROW_ASSIGN_OR_RAISE(auto opened, table_->open_file(file.path));
    context_->metrics.input_bytes.fetch_add(file.length_bytes, std::memory_order_relaxed);
    ARROW_ASSIGN_OR_RAISE(manifest_, iceberg::ManifestReader::Open(std::move(opened), file, *table_->metadata, options));
    return true;
  }

  /// A list's counts decide nothing: one that is wrong must not make files vanish.
  bool IsWanted(const ManifestFile& file) const {
    return entries_.kinds == FileKinds::kAll || (file.content == ManifestContent::kData) == (entries_.kinds == FileKinds::kData);
  }

  SurroundingsPtr table_;
  EntryScan entries_;
  memory::MemoryConsumer* consumer_ = nullptr;
  runtime::QueryContext* context_ = nullptr;
  std::unique_ptr<iceberg::ManifestSource> manifests_;  // null at the end
  std::unique_ptr<iceberg::ManifestReader> manifest_;
  ManifestEntry entry_;
};

int64_t EntryBytes(const ManifestEntry& entry) {
  constexpr int64_t kFixedBytes = 200;
  const DataFile& file = entry.file;
  const size_t counts = file.column_sizes.size() + file.value_counts.size() + file.null_value_counts.size() +
                        file.nan_value_counts.size() + file.split_offsets.size() + file.equality_ids.size();
  size_t bytes = file.file_path.size() + counts * 12;
  for (const ColumnBytes* bounds : {&file.lower_bounds, &file.upper_bounds}) {
    for (const auto& [column, bound] : *bounds) bytes += bound.size() + 8;
  }
  return kFixedBytes + static_cast<int64_t>(bytes);
}

/// Manifests do not tell an empty map from none.
template <typename Item, typename Pairs>
arrow::Status AppendMap(const Pairs& pairs, arrow::ArrayBuilder* builder) {
  auto& map = static_cast<arrow::MapBuilder&>(*builder);
  if (pairs.empty()) return map.AppendNull();
  ARROW_RETURN_NOT_OK(map.Append());
  auto& keys = static_cast<arrow::Int32Builder&>(*map.key_builder());
  auto& items = static_cast<Item&>(*map.item_builder());
  for (const auto& [column, value] : pairs) {
    ARROW_RETURN_NOT_OK(keys.Append(column));
    ARROW_RETURN_NOT_OK(items.Append(value));
  }
  return arrow::Status::OK();
}

template <typename Builder, typename Value>
arrow::Status AppendList(const std::vector<Value>& values, arrow::ArrayBuilder* builder) {
  auto& list = static_cast<arrow::ListBuilder&>(*builder);
  if (values.empty()) return list.AppendNull();
  ARROW_RETURN_NOT_OK(list.Append());
  return static_cast<Builder&>(*list.value_builder()).AppendValues(values);
}

using FileColumn = Column<ManifestEntry>;

FileColumn CountsColumn(std::string name, ColumnCounts DataFile::*counts) {
  return {arrow::field(std::move(name), arrow::map(arrow::int32(), arrow::int64())),
          [counts](const ManifestEntry& entry, arrow::ArrayBuilder* builder) {
            return AppendMap<arrow::Int64Builder>(entry.file.*counts, builder);
          }};
}

FileColumn BoundsColumn(std::string name, ColumnBytes DataFile::*bounds) {
  return {arrow::field(std::move(name), arrow::map(arrow::int32(), arrow::binary())),
          [bounds](const ManifestEntry& entry, arrow::ArrayBuilder* builder) {
            return AppendMap<arrow::BinaryBuilder>(entry.file.*bounds, builder);
          }};
}

FileColumn PartitionColumn(const SurroundingsPtr& table) {
  return {arrow::field("partition", table->partition.type(), /*nullable=*/false),
          [table](const ManifestEntry& entry, arrow::ArrayBuilder* builder) {
            return table->partition.Append(entry.file, static_cast<arrow::StructBuilder*>(builder));
          }};
}

FileColumn ContentColumn() {
  return Int32Column<ManifestEntry>("content", kRequired, [](const auto& e) { return static_cast<int32_t>(e.file.content); });
}
FileColumn PathColumn() {
  return TextColumn<ManifestEntry>("file_path", kRequired, [](const auto& e) { return std::string_view(e.file.file_path); });
}
FileColumn FormatColumn() {
  return TextColumn<ManifestEntry>("file_format", kRequired, [](const auto& e) {
    std::string format = e.file.file_format;
    for (char& c : format) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    return format;
  });
}
FileColumn SpecColumn() {
  return Int32Column<ManifestEntry>("spec_id", kRequired, [](const auto& e) { return e.file.spec_id; });
}
FileColumn RecordsColumn() {
  return Int64Column<ManifestEntry>("record_count", kRequired, [](const auto& e) { return e.file.record_count; });
}
FileColumn SizeColumn() {
  return Int64Column<ManifestEntry>("file_size_in_bytes", kRequired, [](const auto& e) { return e.file.file_size_bytes; });
}

constexpr std::string_view kFirstMetric = "column_sizes", kLastMetric = "upper_bounds";

/// All of a file, in Spark's order.
std::vector<FileColumn> FileColumns(const SurroundingsPtr& table) {
  std::vector<FileColumn> columns = {ContentColumn(), PathColumn(), FormatColumn(), SpecColumn()};
  if (!table->partition.empty()) columns.push_back(PartitionColumn(table));
  columns.insert(
      columns.end(),
      {RecordsColumn(),
       SizeColumn(),
       CountsColumn("column_sizes", &DataFile::column_sizes),
       CountsColumn("value_counts", &DataFile::value_counts),
       CountsColumn("null_value_counts", &DataFile::null_value_counts),
       CountsColumn("nan_value_counts", &DataFile::nan_value_counts),
       BoundsColumn("lower_bounds", &DataFile::lower_bounds),
       BoundsColumn("upper_bounds", &DataFile::upper_bounds),
       MakeColumn<ManifestEntry, arrow::BinaryType>("key_metadata", arrow::binary(), kNullable,
                                                    [](const auto& e) { return e.file.key_metadata; }),
       {arrow::field("split_offsets", arrow::list(arrow::int64())),
        [](const ManifestEntry& e, arrow::ArrayBuilder* builder) {
          return AppendList<arrow::Int64Builder>(e.file.split_offsets, builder);
        }},
       {arrow::field("equality_ids", arrow::list(arrow::int32())),
        [](const ManifestEntry& e, arrow::ArrayBuilder* builder) {
          return AppendList<arrow::Int32Builder>(e.file.equality_ids, builder);
        }},
       Int32Column<ManifestEntry>("sort_order_id", kNullable, [](const auto& e) { return e.file.sort_order_id; }),
       Int64Column<ManifestEntry>("first_row_id", kNullable, [](const auto& e) { return e.file.first_row_id; }),
       TextColumn<ManifestEntry>("referenced_data_file", kNullable, [](const auto& e) { return e.file.referenced_data_file; }),
       Int64Column<ManifestEntry>("content_offset", kNullable, [](const auto& e) { return e.file.content_offset; }),
       Int64Column<ManifestEntry>("content_size_in_bytes", kNullable, [](const auto& e) { return e.file.content_size_bytes; })});
  return columns;
}

int FindColumn(const std::vector<FileColumn>& columns, std::string_view name) {
  const auto found =
      std::find_if(columns.begin(), columns.end(), [&](const auto& column) { return column.field->name() == name; });
  return static_cast<int>(found - columns.begin());
}

/// The one data file that position deletes are about, if that is known.
std::optional<std::string> AboutFile(const DataFile& file) {
  if (file.content != FileContent::kPositionDeletes) return std::nullopt;
  if (file.referenced_data_file) return file.referenced_data_file;
  const std::string* lower = iceberg::FindColumn(file.lower_bounds, kDeletedFilePathId);
  const std::string* upper = iceberg::FindColumn(file.upper_bounds, kDeletedFilePathId);
  if (lower == nullptr || upper == nullptr || *lower != *upper) return std::nullopt;
  return *lower;
}

}  // namespace

std::shared_ptr<plan::TableSource> MakeManifestsTable(const NamedTable& table, const TableVersion& version) {
  auto shared = std::make_shared<const Surroundings>(table, version);
  RowTableDefinition<ManifestFile> definition;
  definition.description = Description("manifests", table, version);
  definition.columns = {
      Int32Column<ManifestFile>("content", kRequired, [](const auto& m) { return static_cast<int32_t>(m.content); }),
      TextColumn<ManifestFile>("path", kRequired, [](const auto& m) { return std::string_view(m.path); }),
      Int64Column<ManifestFile>("length", kRequired, [](const auto& m) { return m.length_bytes; }),
      Int32Column<ManifestFile>("partition_spec_id", kNullable,
                                [](const auto& m) { return m.spec_id < 0 ? std::nullopt : std::optional<int32_t>(m.spec_id); }),
      Int64Column<ManifestFile>("added_snapshot_id", kRequired, [](const auto& m) { return m.added_snapshot_id; }),
      CountColumn("added_data_files_count", ManifestContent::kData, &ManifestFile::added_files),
      CountColumn("existing_data_files_count", ManifestContent::kData, &ManifestFile::existing_files),
      CountColumn("deleted_data_files_count", ManifestContent::kData, &ManifestFile::deleted_files),
      CountColumn("added_delete_files_count", ManifestContent::kDeletes, &ManifestFile::added_files),
      CountColumn("existing_delete_files_count", ManifestContent::kDeletes, &ManifestFile::existing_files),
      CountColumn("deleted_delete_files_count", ManifestContent::kDeletes, &ManifestFile::deleted_files),
      {arrow::field("partition_summaries", SummariesType(), /*nullable=*/false),
       [shared](const ManifestFile& m, arrow::ArrayBuilder* builder) { return AppendSummaries(*shared->metadata, m, builder); }}};
  definition.row_bytes = [](const ManifestFile& m) {
    constexpr int64_t kFixedBytes = 80, kSummaryBytes = 64;
    return kFixedBytes + static_cast<int64_t>(m.path.size() + m.partitions.size() * kSummaryBytes);
  };
  definition.open = [shared](const RowScan& scan) { return ManifestRows::Open(shared, scan); };
  return std::make_shared<RowTable<ManifestFile>>(std::move(definition));
}

std::shared_ptr<plan::TableSource> MakeFilesTable(const NamedTable& table, const TableVersion& version, FileKinds kinds) {
  auto shared = std::make_shared<const Surroundings>(table, version);
  RowTableDefinition<ManifestEntry> definition;
  definition.description = Description("files", table, version);
  definition.columns = FileColumns(shared);
  definition.row_bytes = EntryBytes;
  const int first = FindColumn(definition.columns, kFirstMetric);
  const int last = FindColumn(definition.columns, kLastMetric);
  definition.open = [shared, kinds, first, last](const RowScan& scan) {
    const bool metrics = std::any_of(scan.projection.begin(), scan.projection.end(),
                                     [&](int column) { return column >= first && column <= last; });
    return EntryRows::Open(shared, scan, {.live_only = true, .metrics = metrics, .metric_columns = {}, .kinds = kinds});
  };
  return std::make_shared<RowTable<ManifestEntry>>(std::move(definition));
}

std::shared_ptr<plan::TableSource> MakeEntriesTable(const NamedTable& table, const TableVersion& version) {
  auto shared = std::make_shared<const Surroundings>(table, version);
  std::vector<FileColumn> file_columns = FileColumns(shared);
  arrow::FieldVector file_fields;
  for (const FileColumn& column : file_columns) file_fields.push_back(column.field);
  RowTableDefinition<ManifestEntry> definition;
  definition.description = Description("entries", table, version);
  definition.columns = {
      Int32Column<ManifestEntry>("status", kRequired, [](const auto& e) { return static_cast<int32_t>(e.status); }),
      Int64Column<ManifestEntry>("snapshot_id", kNullable, [](const auto& e) { return e.snapshot_id; }),
      Int64Column<ManifestEntry>("sequence_number", kNullable, [](const auto& e) { return e.sequence_number; }),
      Int64Column<ManifestEntry>("file_sequence_number", kNullable, [](const auto& e) { return e.file_sequence_number; }),
      {arrow::field("data_file", arrow::struct_(std::move(file_fields)), /*nullable=*/false),
       [columns = std::move(file_columns)](const ManifestEntry& entry, arrow::ArrayBuilder* builder) -> arrow::Status {
         auto& file = static_cast<arrow::StructBuilder&>(*builder);
         ARROW_RETURN_NOT_OK(file.Append());
         for (size_t i = 0; i < columns.size(); ++i) {
           ARROW_RETURN_NOT_OK(columns[i].append(entry, file.field_builder(static_cast<int>(i))));
         }
         return arrow::Status::OK();
       }}};
  const int file_column = static_cast<int>(definition.columns.size()) - 1;
  definition.row_bytes = EntryBytes;
  definition.open = [shared, file_column](const RowScan& scan) {
    return EntryRows::Open(shared, scan, {.live_only = false, .metrics = scan.Wants(file_column), .metric_columns = {}});
  };
  return std::make_shared<RowTable<ManifestEntry>>(std::move(definition));
}

std::shared_ptr<plan::TableSource> MakeFileFactsTable(const NamedTable& table, const TableVersion& version) {
  auto shared = std::make_shared<const Surroundings>(table, version);
  RowTableDefinition<ManifestEntry> definition;
  definition.description = Description("files", table, version);
  if (!shared->partition.empty()) definition.columns.push_back(PartitionColumn(shared));
  const auto about_file = static_cast<int>(definition.columns.size()) + 6;
  definition.columns.insert(
      definition.columns.end(),
      {SpecColumn(), ContentColumn(), PathColumn(), FormatColumn(), RecordsColumn(), SizeColumn(),
       TextColumn<ManifestEntry>("about_file", kNullable, [](const auto& e) { return AboutFile(e.file); }),
       Int64Column<ManifestEntry>("held_bytes", kRequired,
                                  [](const auto& e) { return e.file.content_size_bytes.value_or(e.file.file_size_bytes); }),
       Int64Column<ManifestEntry>("snapshot_id", kNullable, [](const auto& e) { return e.snapshot_id; }),
       TimeColumn<ManifestEntry>("committed_at", kNullable, [shared](const auto& e) -> std::optional<int64_t> {
         const iceberg::Snapshot* snapshot = e.snapshot_id ? shared->metadata->FindSnapshot(*e.snapshot_id) : nullptr;
         return snapshot == nullptr ? std::nullopt : std::optional(snapshot->timestamp_ms * 1000);
       })});
  definition.row_bytes = EntryBytes;
  definition.open = [shared, about_file](const RowScan& scan) {
    return EntryRows::Open(
        shared, scan,
        {.live_only = true, .metrics = scan.Wants(about_file), .metric_columns = std::vector<int32_t>{kDeletedFilePathId}});
  };
  return std::make_shared<RowTable<ManifestEntry>>(std::move(definition));
}

}  // namespace icebound::bridge
