// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <arrow/result.h>
#include <arrow/type.h>
#include <arrow/util/key_value_metadata.h>
#include <parquet/properties.h>
#include <parquet/schema.h>

#include <memory>
#include <vector>

namespace icebound::io {

/// A field of the Arrow schema and its leaf columns in Parquet: [first_leaf, first_leaf + leaf_count).
struct WrittenField {
  int first_leaf = 0;
  int leaf_count = 0;
  bool is_flat = false;  ///< neither nested nor repeated: one leaf, levels straight from the validity bitmap
};

/// How an Arrow schema lies in a Parquet file.
struct WrittenSchema {
  /// What readers are told to give back (ARROW:schema): the schema as it came, in stored types (stored_type.h).
  std::shared_ptr<arrow::Schema> arrow_schema;
  std::shared_ptr<parquet::SchemaDescriptor> descriptor;
  std::vector<WrittenField> fields;
  /// The schema's own metadata and ARROW:schema.
  std::shared_ptr<arrow::KeyValueMetadata> metadata;
};

/// kUnsupported, naming the column, for types that Parquet cannot hold.
arrow::Result<WrittenSchema> MakeWrittenSchema(const arrow::Schema& schema, const parquet::WriterProperties& properties,
                                               arrow::MemoryPool* pool);

}  // namespace icebound::io
