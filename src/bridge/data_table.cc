// SPDX-License-Identifier: Apache-2.0
#include "bridge/data_table.h"

#include <utility>

#include "base/error.h"
#include "bridge/file_scan.h"
#include "bridge/position_deletes.h"
#include "iceberg/deletes/partition_scope.h"
#include "iceberg/scan/table_scan.h"

namespace icebound::bridge {
namespace {

using iceberg::FileTask;

/// The data files of one scan. Thread safe.
class DataFileList final : public FileList {
 public:
  static arrow::Result<std::unique_ptr<FileList>> Make(std::shared_ptr<const SnapshotRead> read,
                                                       std::shared_ptr<arrow::Schema> schema, DataFiles which,
                                                       std::shared_ptr<const iceberg::TableScan> deletes,
                                                       std::vector<expr::ExprPtr> filters, runtime::QueryContext* context,
                                                       memory::MemoryConsumer* consumer) {
    std::unique_ptr<DataFileList> files(new DataFileList(std::move(read), std::move(schema), which, context, consumer));
    iceberg::ScanOptions options{
        .table = files->read_->metadata, .snapshot = files->read_->snapshot, .open = files->read_->open, .consumer = consumer};
    options.deletes_of = std::move(deletes);
    if (!filters.empty()) {
      // Columns at the top alone; those that no file has are none of the schema's.
      for (const auto& column : files->schema_->fields()) {
        const int32_t id = io::FieldIdOf(*column);
        options.filter_field_ids.push_back(files->read_->schema->FindField(id) == nullptr ? 0 : id);
      }
      options.filters = std::move(filters);
      options.schema = files->read_->schema;
    }
    ARROW_ASSIGN_OR_RAISE(files->scan_, iceberg::TableScan::Open(std::move(options)));
    return std::unique_ptr<FileList>(std::move(files));
  }

  arrow::Result<bool> Next(FileToRead* file) override {
    FileTask task;
    do {
      ARROW_ASSIGN_OR_RAISE(const bool more, scan_->Next(&task));
      if (!more) return false;
    } while (!IsWanted(task));
    file->location = task.file.file_path;
    file->format = task.file.file_format;
    file->is_data = true;
    ARROW_ASSIGN_OR_RAISE(file->mapping, MappingOf(task));
    if (task.deletion_vector.has_value() || !task.position_deletes.empty()) {
      file->excluded = [this, task = std::move(task)](memory::MemoryConsumer* consumer) {
        return LoadExcludedRows(task, read_, context_, &shared_deletes_, consumer);
      };
    }
    return true;
  }

 private:
  DataFileList(std::shared_ptr<const SnapshotRead> read, std::shared_ptr<arrow::Schema> schema, DataFiles which,
               runtime::QueryContext* context, memory::MemoryConsumer* consumer)
      : read_(std::move(read)),
        schema_(std::move(schema)),
        which_(which),
        context_(context),
        shared_deletes_(read_, context, consumer) {}

  bool IsWanted(const FileTask& task) const {
    if (which_ == DataFiles::kAll) return true;
    return task.has_equality_deletes == (which_ == DataFiles::kWithEqualityDeletes);
  }

  arrow::Result<io::FieldIdMapping> MappingOf(const FileTask& task) const {
    const iceberg::DataFile& file = task.file;
    io::FieldIdMapping mapping{.defaults = &read_->defaults, .names = &read_->names};
    mapping.constants[kFilePathColumn] = std::make_shared<arrow::StringScalar>(file.file_path);
    mapping.constants[kSequenceColumn] = std::make_shared<arrow::Int64Scalar>(task.sequence_number);
    mapping.constants[kScopeColumn] = std::make_shared<arrow::BinaryScalar>(
        arrow::Buffer::FromString(iceberg::EncodePartitionScope(file.spec_id, file.partition)));
    mapping.row_numbers[kRowPositionColumn] = 0;
    mapping.filled = {kRowIdColumn, kLastUpdatedColumn};
    // Without a first row id the file has no row lineage.
    if (file.first_row_id.has_value()) {
      mapping.row_numbers[kRowIdColumn] = *file.first_row_id;
      const int64_t added = task.file_sequence_number.value_or(task.sequence_number);
      mapping.constants[kLastUpdatedColumn] = std::make_shared<arrow::Int64Scalar>(added);
    }
    for (const iceberg::Field& field : read_->schema->fields()) {
      if (field.required) mapping.required.insert(field.id);
    }
    ARROW_RETURN_NOT_OK(AddPartitionValues(file, &mapping));
    return mapping;
  }

  /// Values of identity partitions: what the file says when it leaves their columns out.
  arrow::Status AddPartitionValues(const iceberg::DataFile& file, io::FieldIdMapping* mapping) const {
    const iceberg::PartitionSpec* spec = read_->metadata->FindSpec(file.spec_id);
    if (spec == nullptr) {
      return MakeError(ErrorKind::kCorruptData, "{} is of partition spec {}, which the table does not have", file.file_path,
                       file.spec_id);
    }
    const iceberg::TypePtr tuple = read_->metadata->TupleType(*spec);
    for (size_t i = 0; i < spec->fields.size() && i < file.partition.size(); ++i) {
      const iceberg::PartitionField& field = spec->fields[i];
      if (field.transform.kind() != iceberg::TransformKind::kIdentity) continue;
      for (const std::shared_ptr<arrow::Field>& column : schema_->fields()) {
        if (io::FieldIdOf(*column) != field.source_id()) continue;
        ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Scalar> value,
                              iceberg::LiteralToScalar(*tuple->fields()[i].type, file.partition[i]));
        ARROW_ASSIGN_OR_RAISE(mapping->constants[field.source_id()], PlainScalar(std::move(value), column->type()));
      }
    }
    return arrow::Status::OK();
  }

  const std::shared_ptr<const SnapshotRead> read_;
  const std::shared_ptr<arrow::Schema> schema_;
  const DataFiles which_;
  runtime::QueryContext* const context_;
  std::unique_ptr<iceberg::TableScan> scan_;
  SharedPositionDeletes shared_deletes_;
};

/// Thread safe.
class DataTable final : public plan::TableSource {
 public:
  DataTable(std::shared_ptr<const SnapshotRead> read, DataColumns columns, DataFiles which,
            std::shared_ptr<const iceberg::TableScan> deletes)
      : read_(std::move(read)), columns_(std::move(columns)), which_(which), deletes_(std::move(deletes)) {}

  const std::shared_ptr<arrow::Schema>& schema() const override { return columns_.schema; }
  plan::TableStatistics statistics() const override { return {.rows = read_->rows, .bytes = read_->bytes}; }
  bool AppliesFiltersExactly() const override { return true; }

  std::string Describe() const override {
    std::string text = fmt::format("iceberg {}", read_->name);
    if (read_->snapshot == nullptr) return text + " (no snapshot)";
    std::string counts;
    if (read_->data_files.has_value())
      counts += fmt::format("{} file{}, ", *read_->data_files, *read_->data_files == 1 ? "" : "s");
    if (read_->delete_files.value_or(0) > 0) {
      counts += fmt::format("{} delete{}, ", *read_->delete_files, *read_->delete_files == 1 ? "" : "s");
    }
    if (which_ == DataFiles::kWithEqualityDeletes) counts += "those with equality deletes, ";
    if (which_ == DataFiles::kWithoutEqualityDeletes) counts += "those without equality deletes, ";
    return fmt::format("{} ({}snapshot {})", text, counts, read_->snapshot->snapshot_id);
  }

  arrow::Result<std::unique_ptr<runtime::StreamSource>> Scan(const plan::ScanRequest& request,
                                                             runtime::QueryContext* context) const override {
    arrow::FieldVector fields;
    for (const int column : request.projection) fields.push_back(columns_.schema->field(column));
    FileScan scan{.read = read_,
                  .name = read_->name,
                  .schema = arrow::schema(std::move(fields)),
                  .files = read_->data_files,
                  .rows = read_->rows.value_or(0)};
    scan.list = [read = read_, schema = scan.schema, which = which_, deletes = deletes_, filters = request.filters,
                 context](memory::MemoryConsumer* consumer) {
      return DataFileList::Make(read, schema, which, deletes, filters, context, consumer);
    };
    return ScanFiles(std::move(scan), request, context);
  }

 private:
  const std::shared_ptr<const SnapshotRead> read_;
  const DataColumns columns_;
  const DataFiles which_;
  const std::shared_ptr<const iceberg::TableScan> deletes_;  // null: each scan reads its own
};

}  // namespace

DataColumns MakeDataColumns(const SnapshotRead& read, const std::vector<iceberg::Field>& extras) {
  DataColumns columns;
  arrow::FieldVector fields;
  for (const iceberg::Field& field : read.schema->fields()) fields.push_back(PlainColumn(field));
  columns.table_columns = static_cast<int>(fields.size());
  fields.push_back(ColumnWithId("_file", arrow::utf8(), kFilePathColumn));
  fields.push_back(ColumnWithId("_pos", arrow::int64(), kRowPositionColumn));
  if (read.metadata->format_version >= 3) {
    fields.push_back(ColumnWithId("_row_id", arrow::int64(), kRowIdColumn));
    fields.push_back(ColumnWithId("_last_updated_sequence_number", arrow::int64(), kLastUpdatedColumn));
  }
  columns.sequence = static_cast<int>(fields.size());
  fields.push_back(ColumnWithId("sequence number", arrow::int64(), kSequenceColumn));
  columns.scope = static_cast<int>(fields.size());
  fields.push_back(ColumnWithId("partition scope", arrow::binary(), kScopeColumn));
  for (const iceberg::Field& field : extras) {
    columns.extras[field.id] = static_cast<int>(fields.size());
    fields.push_back(PlainColumn(field)->WithName(field.name + " (dropped)"));
  }
  columns.schema = arrow::schema(std::move(fields));
  return columns;
}

std::shared_ptr<plan::TableSource> MakeDataTable(std::shared_ptr<const SnapshotRead> read, DataColumns columns, DataFiles which,
                                                 std::shared_ptr<const iceberg::TableScan> deletes) {
  return std::make_shared<DataTable>(std::move(read), std::move(columns), which, std::move(deletes));
}

}  // namespace icebound::bridge
