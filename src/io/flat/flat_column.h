// SPDX-License-Identifier: Apache-2.0
//
// Decodes one flat column of a row group, only as far as somebody wants its values.
//
// Arrow's column readers give every value of every row, as it is asked for. A scan with filters wants a few rows of most columns;
// so this one works in two steps, a window of rows at a time:
//
//   Load(row, count)    finds for each row of the window a *slot*: the index into the dictionary, or the place in the page. That
//                       unpacks indexes and walks along lengths, and copies no value.
//   slots()             let a predicate be looked up that was evaluated once for each value of the dictionary
//   Append(positions)   copies the values of the chosen rows
//
// Rows between windows are skipped: within a page by runs of indexes and by arithmetic, whole pages without being decompressed.
// A chunk may go from dictionary indexes to plain values at any page: a window lies within one page, and is one or the other.
//
// It reads what nearly all files are made of: no nesting, plain values or a dictionary of them, levels as run lengths. CanRead
// says no beforehand to other columns, and is_unreadable() afterwards, when a page is not what the chunk's metadata said; Arrow's
// reader takes those.
// Sources: Apache Parquet, Encodings.md and README.md ("Data Pages").
#pragma once

#include <arrow/array.h>
#include <arrow/result.h>
#include <arrow/type.h>
#include <parquet/column_page.h>
#include <parquet/column_reader.h>
#include <parquet/metadata.h>

#include <cstdint>
#include <memory>

#include "io/flat/flat_output.h"
#include "io/flat/hybrid_runs.h"
#include "io/row_ranges.h"
#include "memory/ledger_vector.h"
#include "memory/memory_ledger.h"

namespace icebound::io {

using FlatSlots = memory::LedgerVector<uint32_t>;

struct FlatColumnOptions {
  std::unique_ptr<parquet::PageReader> pages;
  RowRanges segments;  ///< rows that the pages hold
  int64_t rows = 0;    ///< of the row group
};

/// Not thread safe. Calls may throw what the Parquet library throws.
class FlatColumn {
 public:
  /// Whether a column chunk can be read as `type`.
  static bool CanRead(const parquet::ColumnDescriptor& descriptor, const parquet::ColumnChunkMetaData& chunk,
                      const arrow::DataType& type);

  FlatColumn(const parquet::ColumnDescriptor& descriptor, std::shared_ptr<arrow::DataType> type, FlatColumnOptions options,
             memory::MemoryConsumer* consumer);

  /// Goes to the page of `row`, which lies behind the last window. Returns how many rows from there on the page has.
  arrow::Result<int64_t> Seek(int64_t row);

  /// After Seek(row): makes rows [row, row + count) of its page the window. `slots` is where it keeps them: valid as long as
  /// nobody else uses that.
  arrow::Status Load(int64_t row, int64_t count, FlatSlots* slots);

  /// Appends the values of `count` rows of the window: those numbered positions[i] - first, or all when `positions` is null.
  arrow::Status Append(const int32_t* positions, int64_t count, int64_t first, FlatOutput* output);

  /// True when the window's rows have slots that are indexes into the dictionary, dictionary_size() for NULL.
  bool has_dictionary_slots() const { return page_is_dictionary_; }
  const uint32_t* slots() const { return slots_->data(); }
  int64_t dictionary_size() const { return dictionary_size_; }
  /// The dictionary's values and, behind them, a NULL.
  arrow::Result<std::shared_ptr<arrow::Array>> DictionaryAndNull();

  /// Bytes of the page it holds although its last row was in the window; 0 when there are more rows in it.
  int64_t done_page_bytes() const { return page_ != nullptr && row_ >= page_end_ ? page_->size() : 0; }

  /// A page has an encoding that the metadata did not mention and this class does not know.
  bool is_unreadable() const { return is_unreadable_; }

 private:
  enum class Shape { kFixed, kDecimal32, kDecimal64, kDecimalBytes, kText };
  static constexpr uint32_t kNoSlot = UINT32_MAX;

  struct Source;  // where slots point to
  arrow::Status NextPage(int64_t row);
  int64_t NextPageBegin();
  arrow::Status LoadDictionary(const parquet::DictionaryPage& page);
  arrow::Status StartPage(const parquet::DataPage& page);
  arrow::Status StartLevels(const parquet::DataPage& page, const uint8_t** data, int64_t* bytes);
  arrow::Status SkipRows(int64_t rows);
  arrow::Status SkipValues(int64_t values);
  arrow::Status LoadValues(int64_t values);
  template <typename Visit>
  arrow::Status WalkTexts(int64_t count, Visit&& visit);
  void SpreadSlots(int64_t values, int64_t rows, const uint32_t* levels);
  arrow::Status Gather(const Source& source, const int32_t* positions, int64_t count, int64_t first, FlatOutput* output);
  template <bool kPositions, bool kSlots, bool kNulls>
  arrow::Status GatherRows(const Source& source, const int32_t* positions, int64_t count, int64_t first, FlatOutput* output);
  template <bool kNulls, typename SlotOf>
  arrow::Status GatherTexts(const Source& source, int64_t count, SlotOf&& slot_of, FlatOutput* output);
  arrow::Status Unreadable(std::string_view what);

  const std::shared_ptr<arrow::DataType> type_;
  memory::MemoryConsumer* const consumer_;
  const bool is_nullable_;
  const RowRanges segments_;
  const int64_t rows_;
  Shape shape_;
  int64_t stored_bytes_ = 0;  // of a value in a page; 0 for text
  std::unique_ptr<parquet::PageReader> pages_;
  bool is_unreadable_ = false;

  // The dictionary: values as in a page, or texts one after another and where they begin.
  bool has_dictionary_ = false;
  int64_t dictionary_size_ = 0;
  std::shared_ptr<arrow::Buffer> dictionary_;
  memory::LedgerVector<int32_t> dictionary_offsets_;

  // The page.
  size_t segment_ = 0;
  int64_t next_page_row_ = 0;
  int64_t wanted_row_ = 0;  // while the page reader looks for a page
  std::shared_ptr<parquet::Page> page_;
  int64_t page_end_ = 0;  // rows of the row group
  int64_t row_ = 0;       // the next one the levels and values give
  bool page_is_dictionary_ = false;
  HybridRuns levels_;
  HybridRuns indexes_;
  const uint8_t* values_ = nullptr;
  const uint8_t* values_end_ = nullptr;
  const uint8_t* text_at_ = nullptr;
  int64_t value_at_ = 0;  // of plain values of fixed width: number of the next one

  // The window.
  FlatSlots* slots_ = nullptr;
  int64_t window_rows_ = 0;
  bool has_slots_ = false;  // else the rows' values lie one after another, from
  int64_t first_value_ = 0;
  bool has_nulls_ = false;
  memory::LedgerVector<uint8_t> nulls_;  // of the rows being appended
};

}  // namespace icebound::io
