// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <arrow/array/builder_nested.h>
#include <arrow/result.h>
#include <arrow/type.h>

#include <map>
#include <memory>
#include <vector>

#include "iceberg/manifest/manifest_entry.h"
#include "iceberg/spec/table_metadata.h"

namespace icebound::bridge {

/// One struct type for the partition tuples of all specs that a table had: every field that any of them has, by field id, all
/// optional. A field that was dropped (void since) keeps the type it had. Names that two fields share get their ids appended.
/// UUIDs are text. Immutable, thread safe.
class UnifiedPartition {
 public:
  explicit UnifiedPartition(const iceberg::TableMetadata& metadata);

  /// True for tables that were never partitioned.
  bool empty() const { return fields_.empty(); }
  const std::shared_ptr<arrow::DataType>& type() const { return type_; }

  /// Appends the partition of `file`, whose spec is one of the table's.
  arrow::Status Append(const iceberg::DataFile& file, arrow::StructBuilder* builder) const;

 private:
  struct Field {
    int32_t field_id;
    iceberg::TypePtr type;
  };
  /// From a field of the unified struct to the place in a spec's tuple, and the type there; -1 when the spec has none.
  struct Place {
    int index = -1;
    iceberg::TypePtr type;
  };

  std::vector<Field> fields_;                      // by field id
  std::map<int32_t, std::vector<Place>> by_spec_;  // one place a field
  std::shared_ptr<arrow::DataType> type_;
};

}  // namespace icebound::bridge
