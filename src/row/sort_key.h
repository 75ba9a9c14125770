// SPDX-License-Identifier: Apache-2.0
//
// Order-preserving keys: each row of the sort columns becomes bytes whose memcmp order is the SQL order.
//
//   key   = field field ...                          in ORDER BY order, nothing between the fields
//   field = [marker] body                            the marker only when the field is nullable
//
//   marker  NULLS FIRST: null 00, value 01           the marker never depends on ASC or DESC
//           NULLS LAST:  value 01, null 02
//   body    the bytes below; DESC inverts every bit of them. A null's body is all 00 when the type has a fixed width (so that a
//           key of fixed-width fields has a fixed width) and is absent otherwise.
//
//   type                                body, ascending                                                            bytes
//   bool                                00 or 01                                                                   1
//   intN, date, time, timestamp, ...    big endian, sign bit flipped:  -2 = 7F FF FF FE   3 = 80 00 00 03           1, 2, 4, 8
//   uintN                               big endian                                                                 1, 2, 4, 8
//   half, float, double                 -0 becomes +0 and every NaN one positive NaN; negative: all bits flipped,
//                                       else the sign bit; big endian. So -inf < -1 < 0 < 1 < inf < NaN             2, 4, 8
//   decimal(p, s), any bit width        as an integer of 4 bytes when p <= 9, 8 when p <= 18, 16 when p <= 38, else 32
//   month interval                      as int32                                                                   4
//   day-time interval                   days * 86'400'000 + ms, as int64                                           8
//   month-day-nano interval             (months * 30 + days) * 86'400e9 + ns, as a 128-bit integer                 16
//   fixed_size_binary(n)                the bytes                                                                  n
//   string, binary, large_, _view       the bytes with 00 escaped as 00 FF, then 00 00:
//                                       "ab" = 61 62 00 00     "a\0b" = 61 00 FF 62 00 00     "" = 00 00            length + 2 +
//   list, large_list, *_view            an item is 01 body, or 02 when null; then 00:  [7, null] = 01 80 00 00 07 02 00
//   fixed_size_list(n)                  n items, no end byte
//   map                                 as list of struct {key, value}
//   struct                              an item for each child
//   dictionary                          as its values (index order plays no part)
//   null                                nothing, not even a marker
//   extension                           as its storage
//
// Below the top level a null is greater than every value when ascending (PostgreSQL's rule for arrays and rows), and DESC
// inverts that too.
//
// Worked example: ORDER BY l_shipdate, l_comment DESC NULLS FIRST; l_shipdate is date32 NOT NULL, l_comment is a nullable string.
//
//     1970-01-02, "ab"     80 00 00 01 | 01 | 9E 9D FF FF
//     1970-01-02, null     80 00 00 01 | 00
//     1969-12-31, ""       7F FF FF FF | 01 | FF FF
//
//   Their order by memcmp is the third, the second, the first.
//
// No field's bytes are a prefix of other bytes of the same field, hence no key is a proper prefix of another: comparing
// min(length a, length b) bytes decides, and equal keys have equal lengths. Whatever follows a key never takes part.
//
// The ideas (big endian with a flipped sign, escaped zero bytes) are folklore; FoundationDB's tuple layer and arrow-rs
// `arrow-row` describe close relatives.
#pragma once

#include <arrow/array.h>
#include <arrow/memory_pool.h>
#include <arrow/result.h>
#include <arrow/type.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace icebound::row {

/// One ORDER BY term. A field that is not nullable has no marker byte: say so whenever the column is known to hold no null.
struct SortField {
  std::shared_ptr<arrow::DataType> type;
  bool nullable = true;
  bool descending = false;
  bool nulls_first = false;
};

/// Encodes sort columns to keys and rebuilds columns from keys. Works a column at a time in blocks of rows, and allocates
/// nothing a row. Immutable once made, hence thread safe.
///
/// A column given to AddLengths or Encode has its field's type, or is a dictionary of it (and the other way round: a field
/// declared as a dictionary takes plain columns too), sliced or not. A null in a field that is not nullable is
/// ErrorKind::kInternal.
class SortKeyEncoder {
 public:
  /// Fails with kUnsupported for unions and run-end encoded types, naming the field's position and type.
  static arrow::Result<std::unique_ptr<SortKeyEncoder>> Make(std::vector<SortField> fields);
  ~SortKeyEncoder();

  int num_fields() const { return static_cast<int>(fields_.size()); }
  const std::vector<SortField>& fields() const { return fields_; }

  /// Bytes of every key when no field's length depends on the value; AddLengths adds just that then.
  std::optional<int32_t> fixed_width() const { return fixed_width_; }

  /// Adds to lengths[i] the bytes of the key of row first_row + i. The caller zeroes `lengths`, or lets it start at the bytes
  /// it stores beside the key. Fails when a key would pass 4 GiB.
  arrow::Status AddLengths(const arrow::ArrayVector& columns, int64_t first_row, std::span<uint32_t> lengths) const;

  /// Writes the key of row first_row + i at cursors[i] and moves cursors[i] past it, to where a packed row may follow. The
  /// destinations hold the bytes AddLengths counted, are not aligned and do not overlap.
  arrow::Status Encode(const arrow::ArrayVector& columns, int64_t first_row, std::span<uint8_t*> cursors) const;

  /// Whether a column can be rebuilt exactly from keys. False for floating point (-0 and NaN payloads are gone), day-time and
  /// month-day-nano intervals, and nested types: a sorter keeps those in its rows as well.
  bool CanDecode(int field) const;

  /// Type of the rebuilt column: the field's, with dictionaries replaced by their value type.
  const std::shared_ptr<arrow::DataType>& decoded_type(int field) const;

  /// Rebuilds columns from the keys at cursors[i] and moves cursors[i] past the key. The result has num_fields() entries; entry
  /// f is null when !wanted[f] or !CanDecode(f). An empty `wanted` wants all. The keys must come from an encoder of the same
  /// fields: they are not checked. Fails with kInternal when a string column with 32-bit offsets would pass 2 GiB: callers
  /// bound batches by bytes.
  arrow::Result<arrow::ArrayVector> Decode(std::span<const uint8_t*> cursors, const std::vector<bool>& wanted,
                                           arrow::MemoryPool* pool) const;

  /// Moves cursors[i] past the key it points at.
  void Skip(std::span<const uint8_t*> cursors) const;

 private:
  class Column;  // how one field is written and read

  SortKeyEncoder();

  std::vector<SortField> fields_;
  std::vector<Column> columns_;
  std::optional<int32_t> fixed_width_;
};

}  // namespace icebound::row
