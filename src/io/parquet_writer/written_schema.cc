// SPDX-License-Identifier: Apache-2.0
#include "io/parquet_writer/written_schema.h"

#include <arrow/extension/json.h>
#include <arrow/extension/uuid.h>
#include <arrow/ipc/writer.h>
#include <arrow/util/base64.h>
#include <parquet/arrow/schema.h>

#include "base/error.h"
#include "io/parquet_guard.h"
#include "io/stored_type.h"

namespace icebound::io {
namespace {

constexpr char kArrowSchemaKey[] = "ARROW:schema";
constexpr char kExtensionNameKey[] = "ARROW:extension:name";

/// The field as Parquet is to know it: a column that only its metadata says to be a uuid or JSON gets the logical type again. The
/// engine's own arrays are of the storage type, so this is for the file's schema alone.
std::shared_ptr<arrow::Field> AnnotatedField(const arrow::Field& field) {
  const std::shared_ptr<arrow::DataType>& type = field.type();
  const std::string name = field.HasMetadata() ? field.metadata()->Get(kExtensionNameKey).ValueOr(std::string()) : std::string();
  if (name == "arrow.uuid" && type->Equals(arrow::fixed_size_binary(16))) return field.WithType(arrow::extension::uuid());
  if (name == "arrow.json" && type->id() == arrow::Type::STRING) return field.WithType(arrow::extension::json());
  const auto child = [&](int i) { return AnnotatedField(*type->field(i)); };
  switch (type->id()) {
    case arrow::Type::STRUCT: {
      arrow::FieldVector children;
      for (int i = 0; i < type->num_fields(); ++i) children.push_back(child(i));
      return field.WithType(arrow::struct_(std::move(children)));
    }
    case arrow::Type::LIST:
      return field.WithType(arrow::list(child(0)));
    case arrow::Type::LARGE_LIST:
      return field.WithType(arrow::large_list(child(0)));
    case arrow::Type::FIXED_SIZE_LIST:
      return field.WithType(arrow::fixed_size_list(child(0), static_cast<const arrow::FixedSizeListType&>(*type).list_size()));
    case arrow::Type::MAP: {
      const auto& map = static_cast<const arrow::MapType&>(*type);
      return field.WithType(std::make_shared<arrow::MapType>(AnnotatedField(*map.key_field()), AnnotatedField(*map.item_field()),
                                                             map.keys_sorted()));
    }
    default:
      return field.Copy();
  }
}

arrow::Schema AnnotatedSchema(const arrow::Schema& schema) {
  arrow::FieldVector fields;
  for (const auto& field : schema.fields()) fields.push_back(AnnotatedField(*field));
  return arrow::Schema(std::move(fields), schema.metadata());
}

arrow::Result<std::shared_ptr<arrow::KeyValueMetadata>> StoredMetadata(const arrow::Schema& schema, arrow::MemoryPool* pool) {
  auto metadata = std::make_shared<arrow::KeyValueMetadata>();
  if (schema.metadata() != nullptr) {
    for (int64_t i = 0; i < schema.metadata()->size(); ++i) {
      if (schema.metadata()->key(i) != kArrowSchemaKey) metadata->Append(schema.metadata()->key(i), schema.metadata()->value(i));
    }
  }
  ARROW_ASSIGN_OR_RAISE(auto serialized, arrow::ipc::SerializeSchema(schema, pool));
  metadata->Append(kArrowSchemaKey, arrow::util::base64_encode(std::string_view(*serialized)));
  return metadata;
}

int CountLeaves(const parquet::schema::Node& node) {
  if (node.is_primitive()) return 1;
  const auto& group = static_cast<const parquet::schema::GroupNode&>(node);
  int leaves = 0;
  for (int i = 0; i < group.field_count(); ++i) leaves += CountLeaves(*group.field(i));
  return leaves;
}

/// Names the column whose type has no place in Parquet.
arrow::Status CheckFields(const arrow::Schema& schema, const parquet::WriterProperties& properties,
                          const parquet::ArrowWriterProperties& arrow_properties) {
  for (const auto& field : schema.fields()) {
    parquet::schema::NodePtr node;
    const auto context = [&] {
      return fmt::format("column \"{}\" of type {} cannot be written to Parquet", field->name(), field->type()->ToString());
    };
    ARROW_RETURN_NOT_OK(GuardParquet(ErrorKind::kUnsupported, context, [&]() -> arrow::Status {
      return parquet::arrow::FieldToNode(field, properties, arrow_properties, &node);
    }));
  }
  return arrow::Status::OK();
}

}  // namespace

arrow::Result<WrittenSchema> MakeWrittenSchema(const arrow::Schema& schema, const parquet::WriterProperties& properties,
                                               arrow::MemoryPool* pool) {
  if (schema.num_fields() == 0) return MakeError(ErrorKind::kInvalidInput, "a Parquet file needs at least one column");
  WrittenSchema written;
  written.arrow_schema = StoredSchema(schema, StoredDictionaries::kKept);
  const auto arrow_properties = parquet::default_arrow_writer_properties();
  ARROW_RETURN_NOT_OK(CheckFields(*written.arrow_schema, properties, *arrow_properties));
  ARROW_RETURN_NOT_OK(GuardParquet(ErrorKind::kUnsupported, "making a Parquet schema", [&]() -> arrow::Status {
    const arrow::Schema annotated = AnnotatedSchema(*written.arrow_schema);
    return parquet::arrow::ToParquetSchema(&annotated, properties, *arrow_properties, &written.descriptor);
  }));
  int leaf = 0;
  for (int i = 0; i < schema.num_fields(); ++i) {
    const parquet::schema::Node& node = *written.descriptor->group_node()->field(i);
    WrittenField field;
    field.first_leaf = leaf;
    field.leaf_count = CountLeaves(node);
    field.is_flat = node.is_primitive() && !node.is_repeated();
    leaf += field.leaf_count;
    written.fields.push_back(field);
  }
  ARROW_ASSIGN_OR_RAISE(written.metadata, StoredMetadata(*written.arrow_schema, pool));
  return written;
}

}  // namespace icebound::io
