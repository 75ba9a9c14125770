// SPDX-License-Identifier: Apache-2.0
//
// Avro values to the values of one Arrow column, one call a value. Decoders form a tree along the wanted type:
//
//   StructDecoder       the file's fields in the file's order: each goes to a child, or is skipped; wanted fields that the file
// does
//                       not have are constants
//   ListDecoder         lists, and maps in either of their forms
//   NullableDecoder     a union with null, over the decoder of the other type
//   leaves              column_leaves.cc: one for each pair of stored and wanted type
//
// Which pairs fit is Iceberg's rule of promotion (int to long, float to double, date to timestamp, wider decimals), and what
// Avro's logical types say (timestamps of any unit). Anything else is kUnsupported when the file is opened, with the column's
// path.
#pragma once

#include <arrow/array.h>
#include <arrow/memory_pool.h>
#include <arrow/result.h>
#include <arrow/scalar.h>
#include <arrow/type.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "iceberg/avro/binary.h"
#include "iceberg/avro/schema.h"

namespace icebound::iceberg::avro {

/// Not thread safe. After a failure a decoder is of no more use.
class ColumnDecoder {
 public:
  virtual ~ColumnDecoder() = default;

  /// Appends the value that stands next.
  virtual arrow::Status Decode(BlockCursor* cursor) = 0;
  /// Appends a null, also where null is not allowed: what lies below a null struct.
  virtual arrow::Status AppendNull() = 0;
  virtual int64_t length() const = 0;
  /// The values so far, of the wanted type; begins anew.
  virtual arrow::Result<std::shared_ptr<arrow::Array>> Finish() = 0;
};

/// The id of a column that has none in the file, by the names on the way to it ("element", "key", "value" below lists and maps).
using IdsByName = std::function<std::optional<int32_t>(std::span<const std::string_view> path)>;

/// What the decoders of one file share.
struct DecoderContext {
  arrow::MemoryPool* pool = nullptr;
  const std::map<int32_t, std::shared_ptr<arrow::Scalar>>* defaults = nullptr;
  const IdsByName* ids_by_name = nullptr;  // may be empty
  int64_t batch_bytes = 0;                 // of all values since the last batch; leaves add to it
};

/// The field id in an Arrow field's metadata (PARQUET:field_id), or kNoId.
int32_t FieldIdOf(const arrow::Field& field);

/// A decoder for the values of `stored`. `path` is that of the column, for messages and names. The context outlives it.
arrow::Result<std::unique_ptr<ColumnDecoder>> MakeColumnDecoder(const Node& stored, const arrow::Field& wanted,
                                                                std::vector<std::string_view>* path, DecoderContext* context);

/// A decoder of values that no record has: a default, or null.
arrow::Result<std::unique_ptr<ColumnDecoder>> MakeConstantDecoder(const arrow::Field& wanted, DecoderContext* context);

/// The leaf for a type that is no union, record, array or map; null when the pair does not fit.
arrow::Result<std::unique_ptr<ColumnDecoder>> MakeLeafDecoder(const Node& stored, const std::shared_ptr<arrow::DataType>& wanted,
                                                              DecoderContext* context);

/// Which of a record's fields goes where: the index among `wanted` for each field of `record`, or -1 to skip it.
std::vector<int> MatchFields(const Node& record, const arrow::FieldVector& wanted, std::vector<std::string_view>* path,
                             const DecoderContext& context);

}  // namespace icebound::iceberg::avro
