// SPDX-License-Identifier: Apache-2.0
//
// Columns of a file found by field id, as table formats have them: names, order and types are the file's own affair, and a file
// may be older or newer than the table's schema.
//
// A wanted column (its id is the metadata PARQUET:field_id, at every depth) is, in this order,
//   1. the file's column with that id
//   2. the value that the file has for all its rows (of a partition, or one that the reader knows)
//   3. the file's column without an id whose name stands for that id (a name mapping)
//   4. the default given for the id
//   5. NULL
//
// A field of a struct that is wanted without an id (the parts of a variant) goes by its name.
//
// Values are converted as table formats promote them: integers and floats to wider ones, decimals to a higher precision, dates to
// timestamps, times of any unit that holds the value. Structs are rebuilt field by field; lists and maps around what they hold.
// Nothing is copied that keeps its type.
#pragma once

#include <arrow/array.h>
#include <arrow/compute/exec.h>
#include <arrow/result.h>
#include <arrow/scalar.h>
#include <arrow/type.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <vector>

#include "io/parquet_schema.h"

namespace icebound::io {

inline constexpr int32_t kNoFieldId = -1;

/// The metadata PARQUET:field_id, or kNoFieldId.
int32_t FieldIdOf(const arrow::Field& field);

/// The id of a column that has none in the file, by the names on the way to it ("element", "key", "value" below lists and maps).
using FieldIdByName = std::function<std::optional<int32_t>(std::span<const std::string_view> path)>;

using ScalarsById = std::map<int32_t, std::shared_ptr<arrow::Scalar>>;

/// What a file's own columns do not say.
struct FieldIdMapping {
  const ScalarsById* defaults = nullptr;   ///< of the table, at any depth; each of its field's type
  const FieldIdByName* names = nullptr;    ///< of the table; null or empty: columns without ids are not recognised
  ScalarsById constants;                   ///< of the file, for columns of the top: values of all its rows
  std::map<int32_t, int64_t> row_numbers;  ///< of the file: such a column counts rows, from this number on
  std::set<int32_t> required;              ///< columns of the top that must not be NULL for want of anything better
  std::set<int32_t> filled;                ///< columns whose NULLs in the file are filled with their constant or row number
};

/// Finds every column of `wanted` (plain types) in `file` (plain types). A stored type that does not fit is kUnsupported, naming
/// the column, both types and the file; two columns of one id, or a required column that is nowhere, are kCorruptData.
arrow::Result<std::vector<ColumnSource>> MatchByFieldId(const arrow::Schema& wanted, const arrow::Schema& file,
                                                        std::string_view file_name, const FieldIdMapping& mapping);

/// True when some column of `file`, at any depth, has a field id.
bool HasFieldIds(const arrow::Schema& file);

/// How values of a file's type become values of a table's. Immutable, thread safe.
struct ValueMapping {
  struct Child {
    int index = -1;  ///< of the file's struct; -1: it has none
    std::shared_ptr<const ValueMapping> mapping;
    std::shared_ptr<arrow::Scalar> missing;  ///< then this stands in its place; null: NULL
  };
  std::shared_ptr<arrow::DataType> type;  ///< of the table
  bool needs_cast = false;                ///< a value without children, of another type
  std::vector<Child> children;            ///< one a field of a struct; of a list its element, of a map key and value
};

arrow::Result<std::shared_ptr<arrow::Array>> MapValues(const std::shared_ptr<arrow::Array>& values, const ValueMapping& mapping,
                                                       arrow::compute::ExecContext* context);

}  // namespace icebound::io
