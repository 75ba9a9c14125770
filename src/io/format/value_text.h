// SPDX-License-Identifier: Apache-2.0
//
// A value of any Arrow type as text: the one place that knows how, for CSV, JSON and tables.
//
//   type                    SQL text (as CAST AS text)         JSON
//   integers                12                                 12
//   floats                  1.5, NaN, Infinity                 1.5, "NaN", "Infinity", "-Infinity"
//   decimals                1.50                               "1.50"
//   booleans                true                               true
//   strings                 as they are                        "escaped"
//   binary                  \x00ff                             "base64"
//   dates, times            2024-01-31, 10:00:00.5             "2024-01-31", "10:00:00.5"
//   timestamps              2024-01-31 10:00:00[+00]           "2024-01-31T10:00:00[Z]"     zoned ones in UTC
//   intervals, durations    1 mon 2 days 03:00:00              "P1M2DT3H"
//   uuid                    0f8f...                            "0f8f..."
//   lists                   as JSON                            [1, 2]
//   structs                 as JSON                            {"name": value}
//   maps                    as JSON                            [{"key": k, "value": v}]
//
// Dictionaries, run ends, unions and other extension types are what they stand for. A null is the caller's to write at the top,
// and null inside JSON.
#pragma once

#include <arrow/array.h>
#include <arrow/status.h>

#include <string>
#include <string_view>

#include "io/format/text_out.h"

namespace icebound::io {

enum class TextStyle { kSql, kJson };

/// Not thread safe: it keeps a scratch string.
class ValueText {
 public:
  /// Appends the value at `row`. An SQL null appends nothing.
  arrow::Status Append(const arrow::Array& array, int64_t row, TextStyle style, TextOut* out);

  /// True for a null of the array, or of what it stands for (a null entry of a dictionary, a null child of a union).
  static bool IsNull(const arrow::Array& array, int64_t row);
  /// True for lists, structs and maps, dictionaries of them and so on.
  static bool IsNested(const arrow::DataType& type);

 private:
  arrow::Status AppendScalar(const arrow::Array& array, int64_t row, TextStyle style, TextOut* out);
  arrow::Status AppendList(const arrow::Array& array, int64_t row, TextOut* out);
  arrow::Status AppendStruct(const arrow::Array& array, int64_t row, TextOut* out);
  arrow::Status AppendExtension(const arrow::Array& array, int64_t row, TextStyle style, TextOut* out);

  std::string scratch_;
};

/// `text` as a JSON string, quotes included. Bytes that are not UTF-8 become U+FFFD, so that the document stays valid.
arrow::Status AppendJsonString(std::string_view text, TextOut* out);

}  // namespace icebound::io
