// SPDX-License-Identifier: Apache-2.0
//
// From the values of some records to the columns of a batch, in two steps: the records are cut into values, which stay where they
// are in the text, column by column; then each column is read in one loop of its type.
#pragma once

#include <arrow/array/data.h>
#include <arrow/buffer.h>
#include <arrow/memory_pool.h>
#include <arrow/result.h>
#include <arrow/type.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/csv/csv_lexer.h"

namespace icebound::io {

/// A value in a text of less than 2 GiB.
struct CsvCell {
  uint32_t begin;
  uint32_t length : 31;
  uint32_t quoted : 1;
};
static_assert(sizeof(CsvCell) == 8);

/// Values that mean NULL.
class CsvNulls {
 public:
  explicit CsvNulls(const std::vector<std::string>& texts);

  bool IsNull(std::string_view text, bool quoted) const {
    if (text.empty()) return !quoted && empty_is_null_;
    if (others_.empty() || quoted) return false;
    return IsOther(text);
  }
  /// In a column that is not text, nothing in quotes is no value either.
  bool IsNullValue(std::string_view text, bool quoted) const {
    return text.empty() ? quoted || empty_is_null_ : IsNull(text, quoted);
  }

 private:
  bool IsOther(std::string_view text) const;

  bool empty_is_null_ = false;
  std::vector<std::string> others_;
};

/// What was wrong, and where in the text.
struct CsvFault {
  const char* record = nullptr;  ///< where the record begins; null when nothing was wrong
  int column = -1;               ///< of the file, when a value is at fault
  std::string message;
};

/// The values of up to a number of records, of the columns that are wanted. Not thread safe.
class CsvCells {
 public:
  /// `slots` has an entry for each column of the file: the place of a wanted one, or -1.
  CsvCells(std::vector<int> slots, int64_t records_max, arrow::MemoryPool* pool);

  /// Allocates. Call it once, first.
  arrow::Status Init();

  /// Cuts the records from the lexer's position on, up to the number of records or until they are `bytes_max` long. False when
  /// a record is not as it should be (`fault` says how). An empty line is no record where there are several columns.
  bool Read(CsvLexer* lexer, char* text, int64_t bytes_max, CsvFault* fault);

  int64_t records() const { return records_; }
  const char* text() const { return text_; }
  std::span<const CsvCell> column(int slot) const {
    return {cells_ + static_cast<int64_t>(slot) * records_max_, static_cast<size_t>(records_)};
  }
  /// Where a record begins.
  const char* record(int64_t index) const { return text_ + starts_[index]; }

 private:
  bool ReadRecord(CsvLexer* lexer, CsvFault* fault);

  const std::vector<int> slots_;
  const int64_t records_max_;
  arrow::MemoryPool* const pool_;
  std::unique_ptr<arrow::Buffer> buffer_;
  CsvCell* cells_ = nullptr;    // column after column
  uint32_t* starts_ = nullptr;  // of the records
  const char* text_ = nullptr;
  int64_t records_ = 0;
};

/// True for the types that ReadColumn makes.
bool IsCsvType(const arrow::DataType& type);

/// Bytes of a value of such a type in a batch, the text of a string aside.
int64_t CsvValueBytes(const arrow::DataType& type);

/// Reads a column as CAST reads text. On a value that is none of the type, `bad_record` is its index, else it stays.
arrow::Result<std::shared_ptr<arrow::ArrayData>> ReadColumn(std::span<const CsvCell> cells, const char* text,
                                                            const std::shared_ptr<arrow::DataType>& type, const CsvNulls& nulls,
                                                            arrow::MemoryPool* pool, int64_t* bad_record);

}  // namespace icebound::io
