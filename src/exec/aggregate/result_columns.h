// SPDX-License-Identifier: Apache-2.0
//
// From the rows of groups to columns: keys back from their packed form, results from states.
#pragma once

#include <arrow/array.h>
#include <arrow/result.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "exec/aggregate/group_layout.h"
#include "expr/aggregate.h"

namespace icebound::exec::aggregate {

/// How a byte string state keeps its value.
enum class BytesForm { kNone, kText, kPacked, kOrdered };

/// Where the result of one aggregate comes from.
struct ResultPlan {
  expr::AggregateKind kind = expr::AggregateKind::kCount;
  std::shared_ptr<arrow::DataType> type;
  int state = -1;
  int count_state = -1;    ///< averages
  int argument_scale = 0;  ///< averages of decimals
  BytesForm bytes_form = BytesForm::kNone;
  expr::TextPosition position;  ///< of the call
};

/// Makes the columns. Immutable once made, hence thread safe.
class ResultColumns {
 public:
  static arrow::Result<std::unique_ptr<ResultColumns>> Make(const GroupLayout* layout, std::vector<ResultPlan> plans);
  ~ResultColumns();

  /// The layout's key columns.
  arrow::Result<arrow::ArrayVector> Keys(std::span<const uint8_t* const> rows, arrow::MemoryPool* pool) const;

  /// The result of plan `index` for every row. A result beyond its type is ErrorKind::kExecution.
  arrow::Result<std::shared_ptr<arrow::Array>> Result(size_t index, std::span<const uint8_t* const> rows,
                                                      arrow::MemoryPool* pool) const;
  size_t count() const { return plans_.size(); }

 private:
  explicit ResultColumns(const GroupLayout* layout) : layout_(*layout) {}

  const GroupLayout& layout_;
  std::vector<ResultPlan> plans_;
  std::vector<std::unique_ptr<row::RowCodec>> codecs_;  // of packed values; null for others
};

}  // namespace icebound::exec::aggregate
