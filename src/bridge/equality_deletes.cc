// SPDX-License-Identifier: Apache-2.0
#include "bridge/equality_deletes.h"

#include <algorithm>
#include <atomic>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "bridge/file_scan.h"
#include "expr/aggregate.h"
#include "iceberg/deletes/partition_scope.h"

namespace icebound::bridge {
namespace {

using expr::ExprPtr;

/// A key: the column of the top that it is or is in, with only what leads to the key, and the names on the way down.
struct KeyField {
  iceberg::Field column;
  std::vector<std::string> path;  ///< below the column
};

/// The newest schema that has the field: the one read with, else of the history.
const iceberg::Schema* SchemaWith(const SnapshotRead& read, int32_t id) {
  if (read.schema->FindField(id) != nullptr) return read.schema;
  const auto& schemas = read.metadata->schemas;
  for (auto schema = schemas.rbegin(); schema != schemas.rend(); ++schema) {
    if ((*schema)->FindField(id) != nullptr) return schema->get();
  }
  return nullptr;
}

arrow::Result<KeyField> FindKey(const SnapshotRead& read, int32_t id) {
  const iceberg::Schema* schema = SchemaWith(read, id);
  if (schema == nullptr) {
    return MakeError(ErrorKind::kCorruptData, "an equality delete of {} is about field id {}, which no schema of the table has",
                     read.name, id);
  }
  KeyField key{.column = *schema->FindField(id)};
  if (key.column.type->is_nested()) {
    return MakeError(ErrorKind::kCorruptData, "an equality delete of {} is about \"{}\" (field id {}), a {}", read.name,
                     schema->FullName(id), id, key.column.type->ToString());
  }
  for (const iceberg::Field* parent = schema->Parent(id); parent != nullptr; parent = schema->Parent(parent->id)) {
    if (parent->type->id() != iceberg::TypeId::kStruct) {
      return MakeError(ErrorKind::kCorruptData, "an equality delete of {} is about \"{}\" (field id {}), inside a list or map",
                       read.name, schema->FullName(id), id);
    }
    key.path.insert(key.path.begin(), key.column.name);
    iceberg::Field outer = *parent;
    outer.type = iceberg::Type::Struct({key.column});
    outer.initial_default.reset();
    key.column = std::move(outer);
  }
  return key;
}

/// The key as an expression over a column of its plan.
arrow::Result<ExprPtr> KeyOf(const KeyField& key, int column, const arrow::Schema& schema) {
  ExprPtr value = expr::MakeColumn(column, *schema.field(column));
  for (const std::string& name : key.path) {
    ARROW_ASSIGN_OR_RAISE(
        value, expr::MakeCall("field", {std::move(value), expr::MakeLiteral(std::make_shared<arrow::StringScalar>(name))}));
  }
  return value;
}

/// The delete files of one group for one scan. Thread safe.
class GroupFiles final : public FileList {
 public:
  GroupFiles(std::shared_ptr<const SnapshotRead> read, std::shared_ptr<const iceberg::TableScan> scan, size_t group,
             std::shared_ptr<arrow::Schema> schema)
      : read_(std::move(read)), scan_(std::move(scan)), group_(group), schema_(std::move(schema)) {}

  arrow::Result<bool> Next(FileToRead* file) override {
    const int64_t index = next_.fetch_add(1, std::memory_order_relaxed);
    if (index >= scan_->equality_groups()[group_].files) return false;
    ARROW_ASSIGN_OR_RAISE(const iceberg::DeleteFile deletes, scan_->EqualityDelete(group_, index));
    file->location = deletes.file.file_path;
    file->format = deletes.file.file_format;
    file->is_data = true;
    file->mapping.names = &read_->names;
    file->mapping.constants[kSequenceColumn] = std::make_shared<arrow::Int64Scalar>(deletes.sequence_number);
    file->mapping.constants[kScopeColumn] = std::make_shared<arrow::BinaryScalar>(
        arrow::Buffer::FromString(iceberg::EncodePartitionScope(deletes.file.spec_id, deletes.file.partition)));
    // A delete file without one of its keys would delete what nobody asked for.
    for (const auto& column : schema_->fields()) file->mapping.required.insert(io::FieldIdOf(*column));
    return true;
  }

 private:
  const std::shared_ptr<const SnapshotRead> read_;
  const std::shared_ptr<const iceberg::TableScan> scan_;
  const size_t group_;
  const std::shared_ptr<arrow::Schema> schema_;
  std::atomic<int64_t> next_{0};
};

/// Thread safe.
class GroupTable final : public plan::TableSource {
 public:
  GroupTable(std::shared_ptr<const SnapshotRead> read, std::shared_ptr<const iceberg::TableScan> scan, size_t group,
             std::shared_ptr<arrow::Schema> schema)
      : read_(std::move(read)), scan_(std::move(scan)), group_(group), schema_(std::move(schema)) {}

  const std::shared_ptr<arrow::Schema>& schema() const override { return schema_; }
  plan::TableStatistics statistics() const override { return {.rows = group().records}; }
  bool AppliesFiltersExactly() const override { return true; }
  std::string Describe() const override {
    return fmt::format("equality deletes of {} ({} file{})", read_->name, group().files, group().files == 1 ? "" : "s");
  }
  arrow::Result<std::unique_ptr<runtime::StreamSource>> Scan(const plan::ScanRequest& request,
                                                             runtime::QueryContext* context) const override {
    arrow::FieldVector fields;
    for (const int column : request.projection) fields.push_back(schema_->field(column));
    FileScan scan{.read = read_,
                  .name = "equality deletes of " + read_->name,
                  .schema = arrow::schema(std::move(fields)),
                  .files = group().files,
                  .rows = group().records};
    scan.list = [read = read_, deletes = scan_, group = group_,
                 schema = scan.schema](memory::MemoryConsumer*) -> arrow::Result<std::unique_ptr<FileList>> {
      return std::make_unique<GroupFiles>(read, deletes, group, schema);
    };
    return ScanFiles(std::move(scan), request, context);
  }

 private:
  const iceberg::EqualityDeleteGroup& group() const { return scan_->equality_groups()[group_]; }

  const std::shared_ptr<const SnapshotRead> read_;
  const std::shared_ptr<const iceberg::TableScan> scan_;
  const size_t group_;
  const std::shared_ptr<arrow::Schema> schema_;
};

/// The keys of a group with their highest sequence numbers: keys, the number, and the scope unless the group is global.
struct DeletedKeys {
  plan::PlanPtr plan;
  int sequence = 0;
  int scope = -1;
};

/// Columns of one name and id are one: two keys may lie in one struct.
void AddKeyColumn(const iceberg::Field& field, std::vector<iceberg::Field>* columns) {
  const auto found = std::find_if(columns->begin(), columns->end(), [&](const auto& column) { return column.id == field.id; });
  if (found == columns->end()) {
    columns->push_back(field);
    return;
  }
  std::vector<iceberg::Field> children = found->type->fields();
  for (const iceberg::Field& child : field.type->fields()) AddKeyColumn(child, &children);
  if (found->type->id() == iceberg::TypeId::kStruct) found->type = iceberg::Type::Struct(std::move(children));
}

arrow::Result<DeletedKeys> DeletedKeysOf(const std::vector<KeyField>& keys, size_t group,
                                         const std::shared_ptr<const SnapshotRead>& read,
                                         const std::shared_ptr<const iceberg::TableScan>& scan) {
  const iceberg::EqualityDeleteGroup& about = scan->equality_groups()[group];
  std::vector<iceberg::Field> columns;
  for (const KeyField& key : keys) AddKeyColumn(key.column, &columns);
  arrow::FieldVector fields;
  for (const iceberg::Field& column : columns) fields.push_back(PlainColumn(column));
  const int sequence = static_cast<int>(fields.size());
  fields.push_back(ColumnWithId("sequence number", arrow::int64(), kSequenceColumn));
  if (!about.global) fields.push_back(ColumnWithId("partition scope", arrow::binary(), kScopeColumn));

  auto table = std::make_shared<GroupTable>(read, scan, group, arrow::schema(std::move(fields)));
  plan::ScanRequest request;
  request.projection.resize(static_cast<size_t>(table->schema()->num_fields()));
  std::iota(request.projection.begin(), request.projection.end(), 0);
  plan::PlanPtr files = std::make_shared<plan::ScanNode>(std::move(table), read->name + " deletes", std::move(request));

  std::vector<ExprPtr> exprs;
  std::vector<std::string> names;
  for (const KeyField& key : keys) {
    const auto column = std::find_if(columns.begin(), columns.end(), [&](const auto& c) { return c.id == key.column.id; });
    ARROW_ASSIGN_OR_RAISE(exprs.emplace_back(), KeyOf(key, static_cast<int>(column - columns.begin()), *files->schema()));
    names.push_back(key.path.empty() ? key.column.name : key.path.back());
  }
  const auto add = [&](int column) {
    exprs.push_back(expr::MakeColumn(column, *files->schema()->field(column)));
    names.push_back(files->schema()->field(column)->name());
  };
  DeletedKeys deleted{.sequence = static_cast<int>(keys.size())};
  if (!about.global) {
    deleted.scope = deleted.sequence++;
    add(sequence + 1);
  }
  add(sequence);
  deleted.plan = std::make_shared<plan::ProjectNode>(std::move(files), exprs, names);
  if (about.files == 1) return deleted;  // one file, one sequence number

  std::vector<ExprPtr> groups;
  for (int i = 0; i < deleted.sequence; ++i) groups.push_back(expr::MakeColumn(i, *deleted.plan->schema()->field(i)));
  const ExprPtr number = expr::MakeColumn(deleted.sequence, *deleted.plan->schema()->field(deleted.sequence));
  ARROW_ASSIGN_OR_RAISE(expr::AggregateCall highest, expr::MakeAggregate("max", {number}, /*star=*/false, {}));
  deleted.plan = std::make_shared<plan::AggregateNode>(std::move(deleted.plan), std::move(groups),
                                                       std::vector<expr::AggregateCall>{std::move(highest)}, std::move(names));
  return deleted;
}

int DataColumnOf(const KeyField& key, const SnapshotRead& read, const DataColumns& columns) {
  for (int i = 0; i < columns.table_columns; ++i) {
    if (read.schema->fields()[static_cast<size_t>(i)].id == key.column.id) return i;
  }
  const auto extra = columns.extras.find(key.column.id);
  return extra == columns.extras.end() ? -1 : extra->second;
}

/// True when the column of the schema read with has the key: it may have been dropped from a struct that is still there.
bool IsInSchema(const SnapshotRead& read, int32_t id) { return read.schema->FindField(id) != nullptr; }

}  // namespace

arrow::Result<std::vector<iceberg::Field>> DroppedKeyColumns(const SnapshotRead& read, const iceberg::TableScan& scan) {
  std::vector<iceberg::Field> dropped;
  for (const iceberg::EqualityDeleteGroup& group : scan.equality_groups()) {
    for (const int32_t id : group.equality_ids) {
      ARROW_ASSIGN_OR_RAISE(const KeyField key, FindKey(read, id));
      if (IsInSchema(read, id)) continue;
      if (!key.path.empty()) {
        return MakeError(ErrorKind::kUnsupported,
                         "an equality delete of {} is about field id {}, which was dropped from a struct", read.name, id);
      }
      AddKeyColumn(key.column, &dropped);
    }
  }
  return dropped;
}

arrow::Result<plan::PlanPtr> WithoutDeletedRows(plan::PlanPtr data, const DataColumns& columns,
                                                std::shared_ptr<const SnapshotRead> read,
                                                std::shared_ptr<const iceberg::TableScan> scan) {
  for (size_t group = 0; group < scan->equality_groups().size(); ++group) {
    std::vector<KeyField> keys;
    for (const int32_t id : scan->equality_groups()[group].equality_ids) {
      ARROW_ASSIGN_OR_RAISE(keys.emplace_back(), FindKey(*read, id));
    }
    ARROW_ASSIGN_OR_RAISE(const DeletedKeys deleted, DeletedKeysOf(keys, group, read, scan));
    const arrow::Schema& left = *data->schema();
    const arrow::Schema& right = *deleted.plan->schema();
    expr::JoinCondition condition;
    for (size_t i = 0; i < keys.size(); ++i) {
      ARROW_ASSIGN_OR_RAISE(ExprPtr key, KeyOf(keys[i], DataColumnOf(keys[i], *read, columns), left));
      const int column = static_cast<int>(i);
      condition.keys.push_back(
          {.left = std::move(key), .right = expr::MakeColumn(column, *right.field(column)), .null_safe = true});
    }
    if (deleted.scope >= 0) {
      condition.keys.push_back({.left = expr::MakeColumn(columns.scope, *left.field(columns.scope)),
                                .right = expr::MakeColumn(deleted.scope, *right.field(deleted.scope))});
    }
    const ExprPtr of_data = expr::MakeColumn(columns.sequence, *left.field(columns.sequence));
    const ExprPtr of_delete = expr::MakeColumn(left.num_fields() + deleted.sequence, *right.field(deleted.sequence));
    ARROW_ASSIGN_OR_RAISE(condition.residual, expr::MakeCall(">", {of_delete, of_data}));
    data = std::make_shared<plan::JoinNode>(std::move(data), deleted.plan, expr::JoinType::kLeftAnti, std::move(condition));
  }
  return data;
}

}  // namespace icebound::bridge
