// SPDX-License-Identifier: Apache-2.0
//
// The Arrow types a scan delivers, and whether two files have the same columns.
//
// A Parquet file written through an Arrow library carries the writer's Arrow schema, and Arrow's reader obeys it: files written
// by Rust come back as string_view, pandas categories as dictionaries, polars strings as large_string. Parquet itself knows none
// of these (they are all BYTE_ARRAY), the engine wants one type for one kind of value, and views pin every buffer of their batch.
// So the stored schema is rewritten before the reader sees it.
#pragma once

#include <arrow/result.h>
#include <arrow/scalar.h>
#include <arrow/type.h>
#include <parquet/properties.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace icebound::io {

/// `type` with the Arrow-only variations removed, at every level: views, large offsets and dictionaries become plain strings,
/// binaries and lists, extension types their storage, small decimals decimal128. What carries meaning (time zones, durations,
/// fixed sizes) stays.
std::shared_ptr<arrow::DataType> PlainType(const std::shared_ptr<arrow::DataType>& type);

/// The same for every field. Metadata stays (of the schema, and of fields at any depth: field ids above all). An extension type
/// leaves its name there, as Arrow does for types it does not know, so that a writer can restore it.
std::shared_ptr<arrow::Schema> PlainSchema(const arrow::Schema& schema);

/// Rewrites the value of the "ARROW:schema" key (a base64 IPC message). kCorruptData-worthy input gives a plain error: the caller
/// knows the file.
arrow::Result<std::string> PlainStoredSchema(std::string_view encoded, arrow::MemoryPool* pool);

/// How the Parquet library is asked to read: our pool, no threads or caches of its own, INT96 as microseconds (nanoseconds would
/// wrap the years before 1678 and after 2262, which writers of INT96 use).
parquet::ArrowReaderProperties ReadProperties(arrow::MemoryPool* pool);

struct ValueMapping;

/// How a file delivers one column of the table.
struct ColumnSource {
  int field_index = -1;        ///< of the file's schema; -1: it has no such column, and one of the last two says what it is
  bool as_dictionary = false;  ///< the table wants a dictionary of the file's values
  bool needs_cast = false;     ///< the file's type is narrower: widen losslessly
  std::shared_ptr<const ValueMapping> mapping = nullptr;   ///< of a nested column that is to be rebuilt (column_mapping.h)
  std::shared_ptr<arrow::Scalar> constant = nullptr;       ///< the value of every row, or of those that are NULL in the file
  std::optional<int64_t> first_row_number = std::nullopt;  ///< likewise: this and how many rows of the file come before

  bool is_stored() const { return field_index >= 0; }
};

/// Maps every column of `table` to a field of `file` by name (the k-th column of a repeated name to its k-th). A missing or extra
/// column, or another type that does not widen losslessly (signed and unsigned integers upwards, float to double, decimals of the
/// same scale), is kInvalidInput naming both files, the column and both types.
arrow::Result<std::vector<ColumnSource>> MatchColumns(const arrow::Schema& table, std::string_view table_file,
                                                      const arrow::Schema& file, std::string_view file_name);

/// True when both types have the same values in the same layout: names of list items and nullability of children may differ.
bool SameLayout(const arrow::DataType& left, const arrow::DataType& right);

/// `data` as `type`, which has the same layout; nothing is copied.
std::shared_ptr<arrow::ArrayData> Relabel(const std::shared_ptr<arrow::ArrayData>& data,
                                          const std::shared_ptr<arrow::DataType>& type);

}  // namespace icebound::io
