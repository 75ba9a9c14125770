// SPDX-License-Identifier: Apache-2.0
//
// Packed rows: all columns of a row in one piece of bytes, so that a sort or a hash partition can move, spill and return rows
// without touching columns. A row carries no pointer and no alignment: it may be copied anywhere with memcpy, and written to
// disk as it is.
//
//   row       = null bits | slots | variable bytes
//   null bits   one bit for each nullable column, in schema order, least significant bit first; 1 means null; padded to a byte
//   slots       one for each column, at an offset that is the same in all rows; little endian; all 00 when null
//   variable    the bytes of the variable-width columns, in schema order, nothing between them
//
//   type                                     slot                                                           variable bytes
//   bool                                     1 byte
//   integers, floats, dates, times, ...      1, 2, 4 or 8 bytes
//   intervals                                4, 8 or 16 bytes
//   decimal(p, s), any bit width             an integer of 4 bytes when p <= 9, 8 when p <= 18,
//                                            16 when p <= 38, else 32
//   fixed_size_binary(n)                     n bytes
//   string, binary, large_, _view            length, 4 bytes                                                the bytes
//   list, map, fixed_size_list, struct ...   length of the compact value, 4 bytes                           the compact value
//   null                                     nothing
//   dictionary                               as its value type: plain columns come out
//   extension                                as its storage: the extension type comes out
//
//   compact value (of nested types, recursive)
//     fixed width      as its slot
//     string ...       length, 4 bytes | the bytes
//     list, map        count, 4 bytes | null bits, count of them padded to a byte | the values of the items that are not null
//     fixed_size_list  the same without the count
//     struct           null bits, one for each child | the values of the children that are not null
//   A list of fixed-width items has the values of its null items too (as 00), so that it is copied in one piece.
//
// Worked example: {l_orderkey: int64 not null, l_comment: string, l_tax: decimal(15, 2)}, the row {7, "ab", 0.05}
//
//     00 | 07 00 00 00 00 00 00 00 | 02 00 00 00 | 05 00 00 00 00 00 00 00 | 61 62          23 bytes
//     |    l_orderkey                length of     l_tax, unscaled           l_comment
//     null bits: bit 0 l_comment,    l_comment
//     bit 1 l_tax
//
// Rows are read back without checks: they come from memory, or from spill blocks whose checksum was verified.
#pragma once

#include <arrow/memory_pool.h>
#include <arrow/record_batch.h>
#include <arrow/result.h>
#include <arrow/type.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace icebound::row {

/// Turns batches into packed rows and back, a column at a time in blocks of rows. Immutable once made, hence thread safe.
///
/// A batch given to AddSizes or Encode has the schema's columns, each of the schema's type or a dictionary of it, sliced or
/// not. Field names and metadata are not compared. A null in a column that is not nullable is ErrorKind::kInternal; a decimal
/// with more digits than its slot holds is kExecution.
class RowCodec {
 public:
  /// Fails with kUnsupported for unions and run-end encoded types, naming the field. A schema without columns is fine: its rows
  /// have no bytes.
  static arrow::Result<std::unique_ptr<RowCodec>> Make(const std::shared_ptr<arrow::Schema>& schema);
  ~RowCodec();

  /// What Decode gives: the schema with dictionaries replaced by their value types, at any depth.
  const std::shared_ptr<arrow::Schema>& output_schema() const { return output_schema_; }

  /// Bytes of every row when no column has a variable width.
  std::optional<int32_t> fixed_width() const;

  /// Bytes of null bits and slots: the least a row can take.
  int32_t fixed_bytes() const { return fixed_bytes_; }

  /// Adds to sizes[i] the bytes of row first_row + i. Fails when a row would pass 4 GiB.
  arrow::Status AddSizes(const arrow::RecordBatch& batch, int64_t first_row, std::span<uint32_t> sizes) const;

  /// Writes row first_row + i at rows[i], which has the bytes AddSizes counted.
  arrow::Status Encode(const arrow::RecordBatch& batch, int64_t first_row, std::span<uint8_t* const> rows) const;

  /// Rebuilds a batch from rows. All its memory comes from `pool`. Fails with kInternal when a column with 32-bit offsets would
  /// pass 2 GiB: callers bound batches by the bytes of their rows.
  arrow::Result<std::shared_ptr<arrow::RecordBatch>> Decode(std::span<const uint8_t* const> rows, arrow::MemoryPool* pool) const;

  /// The same for one row that lies in `owner`: its long strings are kept there and not copied, so that of a row as wide as
  /// memory allows there is one copy.
  arrow::Result<std::shared_ptr<arrow::RecordBatch>> DecodeInPlace(const uint8_t* row,
                                                                   const std::shared_ptr<arrow::Buffer>& owner,
                                                                   arrow::MemoryPool* pool) const;

  /// Bytes of the row at `row`, found from its own bytes.
  uint32_t RowSize(const uint8_t* row) const;

 private:
  class Column;  // how one column is written and read
  class Output;  // the columns of a batch while it is decoded

  RowCodec();
  arrow::Status CheckBatch(const arrow::RecordBatch& batch, int64_t first_row, size_t rows) const;

  std::shared_ptr<arrow::Schema> output_schema_;
  std::vector<Column> columns_;
  int32_t null_bytes_ = 0;
  int32_t fixed_bytes_ = 0;
};

}  // namespace icebound::row
