// SPDX-License-Identifier: Apache-2.0
#include "bridge/snapshot_read.h"

#include <arrow/extension_type.h>
#include <arrow/util/key_value_metadata.h>

#include <charconv>

#include "base/error.h"
#include "bridge/table_files.h"
#include "iceberg/spec/arrow_schema.h"
#include "iceberg/spec/json_value.h"
#include "iceberg/spec/name_mapping.h"
#include "io/parquet_schema.h"

namespace icebound::bridge {
namespace {

std::optional<int64_t> Number(const iceberg::StringPairs& summary, std::string_view name) {
  const std::string* text = iceberg::FindValue(summary, name);
  int64_t number = 0;
  if (text == nullptr) return std::nullopt;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), number);
  if (error != std::errc() || end != text->data() + text->size() || number < 0) return std::nullopt;
  return number;
}

arrow::Status AddDefaults(const iceberg::Type& type, arrow::MemoryPool* pool, io::ScalarsById* defaults) {
  for (const iceberg::Field& field : type.fields()) {
    if (field.initial_default.has_value()) {
      ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Scalar> value,
                            iceberg::DefaultValue(field, iceberg::DefaultKind::kInitial, pool));
      if (value != nullptr) {
        ARROW_ASSIGN_OR_RAISE((*defaults)[field.id], PlainScalar(std::move(value), PlainColumn(field)->type()));
      }
    }
    ARROW_RETURN_NOT_OK(AddDefaults(*field.type, pool, defaults));
  }
  return arrow::Status::OK();
}

io::FieldIdByName NamesOf(iceberg::NameMapping mapping) {
  auto shared = std::make_shared<const iceberg::NameMapping>(std::move(mapping));
  return [shared](std::span<const std::string_view> path) -> std::optional<int32_t> {
    const std::vector<iceberg::MappedField>* fields = &shared->fields;
    const iceberg::MappedField* found = nullptr;
    for (const std::string_view name : path) {
      found = iceberg::FindMapped(*fields, name);
      if (found == nullptr) return std::nullopt;
      fields = &found->fields;
    }
    return found == nullptr ? std::nullopt : found->field_id;
  };
}

/// What a summary does not say, from the counts that the manifest list has.
arrow::Status CountByManifests(SnapshotRead* read) {
  const std::unique_ptr<memory::MemoryConsumer> consumer = read->ledger->AddConsumer("manifests of " + read->name);
  ARROW_ASSIGN_OR_RAISE(const auto manifests, iceberg::ManifestSource::Open(*read->snapshot, read->open, consumer.get()));
  int64_t rows = 0, data_files = 0, delete_files = 0;
  iceberg::ManifestFile manifest;
  for (;;) {
    ARROW_ASSIGN_OR_RAISE(const bool more, manifests->Next(&manifest));
    if (!more) break;
    // Old lists do not count.
    if (!manifest.added_files.has_value() || !manifest.existing_files.has_value()) return arrow::Status::OK();
    const bool is_data = manifest.content == iceberg::ManifestContent::kData;
    (is_data ? data_files : delete_files) += int64_t{*manifest.added_files} + *manifest.existing_files;
    if (is_data) rows += manifest.added_rows.value_or(0) + manifest.existing_rows.value_or(0);
  }
  read->rows = rows;
  read->data_files = data_files;
  read->delete_files = delete_files;
  return arrow::Status::OK();
}

}  // namespace

arrow::Result<std::shared_ptr<const SnapshotRead>> MakeSnapshotRead(const iceberg::LoadedTable& table,
                                                                    const iceberg::Snapshot* snapshot,
                                                                    const iceberg::Schema& schema, std::string name,
                                                                    io::FileSystems* file_systems, memory::MemoryLedger* ledger) {
  auto read = std::make_shared<SnapshotRead>();
  read->metadata = table.metadata;
  read->snapshot = snapshot;
  read->schema = &schema;
  read->name = std::move(name);
  read->file_systems = file_systems;
  read->ledger = ledger;
  read->open = OpenTableFiles(ResolveLocations([file_systems] { return file_systems; }, ledger->pool()));
  ARROW_RETURN_NOT_OK(AddDefaults(*schema.type(), ledger->pool(), &read->defaults));
  if (const std::string* mapping = table.metadata->FindProperty(iceberg::kNameMappingProperty)) {
    ARROW_ASSIGN_OR_RAISE(iceberg::NameMapping parsed, iceberg::NameMapping::Parse(*mapping));
    read->names = NamesOf(std::move(parsed));
  }
  if (snapshot == nullptr) {
    read->rows = read->bytes = read->data_files = read->delete_files = 0;
    return read;
  }
  ARROW_ASSIGN_OR_RAISE(const iceberg::StringPairs summary, snapshot->Summary());
  read->rows = Number(summary, "total-records");
  if (const auto deleted = Number(summary, "total-position-deletes"); read->rows.has_value() && deleted.has_value()) {
    read->rows = std::max<int64_t>(0, *read->rows - *deleted);
  }
  read->bytes = Number(summary, "total-files-size");
  read->data_files = Number(summary, "total-data-files");
  read->delete_files = Number(summary, "total-delete-files");
  if (!read->rows.has_value() || !read->data_files.has_value()) ARROW_RETURN_NOT_OK(CountByManifests(read.get()));
  return read;
}

std::shared_ptr<arrow::Field> PlainColumn(const iceberg::Field& field) {
  return io::PlainSchema(*arrow::schema({iceberg::ToArrowField(field)}))->field(0)->WithNullable(true);
}

std::shared_ptr<arrow::Field> ColumnWithId(std::string name, std::shared_ptr<arrow::DataType> type, int32_t id) {
  return arrow::field(std::move(name), std::move(type), true,
                      arrow::key_value_metadata({iceberg::kFieldIdKey}, {std::to_string(id)}));
}

arrow::Result<std::shared_ptr<arrow::Scalar>> PlainScalar(std::shared_ptr<arrow::Scalar> value,
                                                          const std::shared_ptr<arrow::DataType>& type) {
  if (!value->is_valid) return arrow::MakeNullScalar(type);
  if (value->type->id() == arrow::Type::EXTENSION) value = static_cast<const arrow::ExtensionScalar&>(*value).value;
  if (value->type->Equals(*type)) return value;
  if (arrow::is_nested(type->id())) {
    return MakeError(ErrorKind::kUnsupported, "a default of type {}", value->type->ToString());
  }
  return value->CastTo(type);
}

arrow::Result<io::Location> ResolveLocation(io::FileSystems* file_systems, const std::string& location) {
  if (io::SchemeOf(location) != "file") return file_systems->Resolve(location);
  std::string_view path = location;
  path.remove_prefix(5);
  if (path.starts_with("//")) path.remove_prefix(2);
  if (path.starts_with("localhost/")) path.remove_prefix(9);
  if (!path.starts_with('/')) {
    return MakeError(ErrorKind::kInvalidInput, "\"{}\" names another machine: a file URI has a path of this one", location);
  }
  return file_systems->Resolve(path);
}

}  // namespace icebound::bridge
