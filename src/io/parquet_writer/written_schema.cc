// SPDX-License-Identifier: Apache-2.0
#include "io/parquet_writer/written_schema.h"

#include <arrow/ipc/writer.h>
#include <arrow/util/base64.h>
#include <parquet/arrow/schema.h>

#include "base/error.h"
#include "io/parquet_guard.h"
#include "io/stored_type.h"

namespace icebound::io {
namespace {

constexpr char kArrowSchemaKey[] = "ARROW:schema";

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
    return parquet::arrow::ToParquetSchema(written.arrow_schema.get(), properties, *arrow_properties, &written.descriptor);
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
