// SPDX-License-Identifier: Apache-2.0
//
// Which rows of a row group can satisfy a scan's filters, by what the file says of itself.
//
//   1. RowGroupMayMatch: the statistics of the row group's column chunks against all conjuncts;
//   2. SelectRows: for each conjunct over one column with a page index, the bounds of every page; the pages that may match give
//      row ranges, which are intersected over the conjuncts (pages of different columns end at different rows).
//
// Bounds are used only where the Parquet specification vouches for them: columns whose order the file defines and this library
// knows, not INT96, not nested. NaN bounds are dropped, and a bound of zero stands for both zeros. A truncated string is a bound
// all the same: a minimum was cut, a maximum was cut and rounded up.
// Source: Apache Parquet, parquet.thrift (Statistics, ColumnOrder, ColumnIndex) and PageIndex.md.
#pragma once

#include <arrow/result.h>
#include <parquet/metadata.h>

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "expr/expr.h"
#include "expr/prune.h"
#include "io/parquet_footer.h"
#include "io/parquet_schema.h"
#include "io/row_ranges.h"

namespace icebound::io {

/// A plain-encoded bound of a column as a scalar of `type` (a plain type), or null when it says nothing.
std::shared_ptr<arrow::Scalar> DecodeBound(const parquet::ColumnDescriptor& descriptor,
                                           const std::shared_ptr<arrow::DataType>& type, std::string_view encoded,
                                           bool is_minimum);

/// Filters of one scan on one file. Immutable, thread safe.
class ParquetPruner {
 public:
  /// `filters` are conjuncts over the columns of `schema`, which `columns` finds in the file.
  ParquetPruner(std::vector<expr::ExprPtr> filters, std::shared_ptr<arrow::Schema> schema, std::vector<ColumnSource> columns,
                std::shared_ptr<ParquetFooter> footer);

  bool has_filters() const { return !filters_.empty(); }

  /// False only when no row of the row group can satisfy the filters.
  arrow::Result<bool> RowGroupMayMatch(const FooterPage& page, int row_group) const;

  /// Rows of the row group outside which no row satisfies the filters. Reads the page indexes of the filters' columns, charged to
  /// `pool`.
  arrow::Result<RowRanges> SelectRows(const FooterPage& page, int row_group, arrow::MemoryPool* pool) const;

 private:
  /// The leaf of a flat column; -1 for a nested one.
  int LeafOf(int column) const { return leaves_[static_cast<size_t>(column)]; }
  expr::ColumnBounds BoundsOfChunk(const parquet::RowGroupMetaData& row_group, int column) const;
  /// The bound in the type of the scan's column.
  std::shared_ptr<arrow::Scalar> Bound(int column, std::string_view encoded, bool is_minimum) const;
  arrow::Result<RowRanges> PagesThatMayMatch(const expr::Expr& filter, int column, const parquet::RowGroupMetaData& row_group,
                                             arrow::MemoryPool* pool) const;

  const std::vector<expr::ExprPtr> filters_;
  const std::shared_ptr<arrow::Schema> schema_;
  const std::vector<ColumnSource> columns_;
  const std::shared_ptr<ParquetFooter> footer_;
  std::vector<int> leaves_;  // of each column of schema_
};

}  // namespace icebound::io
