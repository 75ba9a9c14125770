// SPDX-License-Identifier: Apache-2.0
//
// Small numbers for the keys of one batch: rows of equal codes have equal keys, so that a table of codes finds a row's group
// without hashing, packing or comparing its key.
//
//   column                      code of a value                                   codes
//   dictionary                  its index; null: as many as the dictionary has     values + 1
//   bool                        0, 1; null: 2                                      3
//   integers, dates, decimals   value - least of the batch; null: behind the       greatest - least + 2
//     to 64 bits                greatest
//   text and binary to 16       the order in which values came; null: the last     ShortTexts::kMax + 1
//     bytes
//
// A row's code is that of its columns in mixed radix: code = code of column 1 * codes of column 2 + code of column 2, and so on.
// Codes mean nothing in another batch. A batch whose columns have more than kCodesMax codes together has none; a column of many
// values is known after its first rows, so that looking costs nothing where it does not help. How many texts there are shows only
// as they come: Load may say that the batch has no codes from here on.
//
// Worked example: a dictionary {"A", "N", "R"} and a boolean: 4 * 3 codes; ("N", true) has the code 1 * 3 + 1 = 4.
#pragma once

#include <arrow/array.h>

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "row/type_shape.h"

namespace icebound::exec::aggregate {

/// Numbers for a few short texts, in a table that is open to the next slot. A text is two words and its length: no address is
/// kept, so that numbers stay the same from batch to batch.
class ShortTexts {
 public:
  static constexpr int kMax = 31;
  static constexpr size_t kBytesMax = 16;
  static constexpr int kNone = -1;

  /// The number of the text, a new one when it was not there; kNone when it is too long or there are too many.
  int NumberOf(std::string_view text);
  void Clear() { *this = ShortTexts(); }

 private:
  static constexpr size_t kSlots = 64;
  struct Slot {
    uint64_t head = 0;
    uint64_t tail = 0;
    uint32_t bytes = 0;
    int32_t number = kNone;
  };

  std::array<Slot, kSlots> slots_;
  int count_ = 0;
};

/// One thread only. The batch must outlive its use.
class KeyCodes {
 public:
  /// The table of codes is set anew for each batch, and must be small beside it.
  static constexpr int64_t kCodesMax = 1024;

  /// Looks at the columns of a batch. False when it has no codes.
  bool Open(const arrow::ArrayVector& columns);

  /// Codes are below.
  int32_t code_count() const { return code_count_; }

  /// Sets codes[i] to that of row first + i, for up to kSliceRows rows. False when the rest of the batch has none.
  bool Load(int64_t first, int32_t count, uint16_t* codes);

 private:
  struct Column {
    const arrow::ArrayData* data = nullptr;
    int64_t least = 0;
    int32_t null_code = 0;                         // the last code
    row::Layout text_layout = row::Layout::kNull;  // of text
    bool has_nulls = false;
  };

  static bool OpenColumn(const arrow::Array& array, Column* column);

  static bool LoadTexts(const Column& column, int64_t first, int32_t count, ShortTexts* texts, uint16_t* codes);

  std::vector<Column> columns_;
  std::vector<ShortTexts> texts_;  // by column
  int32_t code_count_ = 0;
};

}  // namespace icebound::exec::aggregate
