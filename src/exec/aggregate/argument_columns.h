// SPDX-License-Identifier: Apache-2.0
//
// What aggregates take from a batch: the argument's values in the shape that its states want, and which rows count.
//
//   form          from                                                       values of a slice
//   kRows         nothing: count(*)                                          a mask, or none
//   kMask         any column: count(x)                                       a mask, or none
//   kInt          bool, integers, dates, times, decimals to 18 digits        64-bit integers
//   kWide         decimals to 38 digits                                      128-bit integers
//   kDouble       float, double                                              doubles
//   kInterval     month_day_nano                                             as they are
//   kText         strings and binary                                         their bytes
//   kPacked       any column; null is a value, too                           the packed row of the value (row/row_codec.h)
//   kOrdered      any column, in the order of terms (the value itself        sort key | packed row | bytes of the sort key, 4:
//                 for min and max)                                           their memcmp order is that of the terms
#pragma once

#include <arrow/record_batch.h>
#include <arrow/result.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "exec/aggregate/state.h"
#include "expr/aggregate.h"
#include "expr/evaluate.h"
#include "expr/expr.h"
#include "row/column_block.h"
#include "row/row_codec.h"
#include "row/sort_key.h"

namespace icebound::exec::aggregate {

enum class ArgumentForm { kRows, kMask, kInt, kWide, kDouble, kInterval, kText, kPacked, kOrdered };

/// One argument, as the plan wants it.
struct ArgumentSpec {
  ArgumentForm form = ArgumentForm::kRows;
  expr::ExprPtr value;   ///< null for kRows
  expr::ExprPtr filter;  ///< null: all rows
  bool takes_nulls = false;
  std::vector<expr::AggregateOrder> order;  ///< kOrdered
};

bool operator==(const ArgumentSpec& left, const ArgumentSpec& right);

/// Room for the values of one slice.
struct SliceScratch {
  uint8_t valid[kSliceRows];
  union {
    int64_t ints[kSliceRows];
    double doubles[kSliceRows];
    uint8_t wides[kSliceRows * 16];
  };
  std::string_view bytes[kSliceRows];
  row::RowBlock block;
};

/// The values of an argument for one batch. Valid as long as the batch.
class ArgumentColumn {
 public:
  /// Values of the rows [first, first + count), at most kSliceRows.
  SliceValues Load(int64_t first, int32_t count, SliceScratch* scratch) const;

 private:
  friend class ArgumentReader;

  const uint8_t* LoadMask(int64_t first, int32_t count, SliceScratch* scratch) const;
  const int64_t* LoadInts(int64_t first, int32_t count, SliceScratch* scratch) const;
  const double* LoadDoubles(int64_t first, int32_t count, SliceScratch* scratch) const;
  void LoadBytes(int64_t first, int32_t count, SliceScratch* scratch) const;

  ArgumentForm form_ = ArgumentForm::kRows;
  std::shared_ptr<arrow::Array> values_;
  std::shared_ptr<arrow::Array> filter_;
  row::Layout layout_ = row::Layout::kNull;  // of strings
  row::ColumnView view_;
  bool masks_nulls_ = false;
};

/// Makes the columns of one argument. Immutable once made, hence thread safe.
class ArgumentReader {
 public:
  static arrow::Result<std::unique_ptr<ArgumentReader>> Make(ArgumentSpec spec);

  arrow::Result<ArgumentColumn> Read(const arrow::RecordBatch& batch, const expr::EvalContext& context) const;

  const ArgumentSpec& spec() const { return spec_; }

 private:
  ArgumentReader() = default;
  arrow::Result<std::shared_ptr<arrow::Array>> ToBytes(const std::shared_ptr<arrow::Array>& values,
                                                       const arrow::RecordBatch& batch, const expr::EvalContext& context) const;

  ArgumentSpec spec_;
  std::unique_ptr<row::RowCodec> codec_;          // kPacked, kOrdered
  std::unique_ptr<row::SortKeyEncoder> encoder_;  // kOrdered
  row::TypeShape text_shape_;
};

/// The schema of the codec that packs values of this type, to read them back.
std::shared_ptr<arrow::Schema> PackedValueSchema(const std::shared_ptr<arrow::DataType>& type);

/// The packed row in a value of kOrdered.
inline const uint8_t* PackedInOrdered(std::string_view value) {
  const auto* end = reinterpret_cast<const uint8_t*>(value.data()) + value.size();
  const auto key_bytes = row::LoadAs<uint32_t>(end - 4);
  return reinterpret_cast<const uint8_t*>(value.data()) + key_bytes;
}

}  // namespace icebound::exec::aggregate
