// SPDX-License-Identifier: Apache-2.0
//
// Which rows of a window of a row group pass a scan's filters, asked before the other columns are decoded.
//
//   0. Rows that the scan leaves out (excluded_rows.h) do not pass: no filter sees them.
//   1. Conjuncts over one column that cannot fail are evaluated once for each value of its dictionary. Whether a row passes them
//      is then one look into a table, by the row's index: no value is copied. NULL has its own place in the table.
//   2. What is left (several columns, plain pages, conjuncts that can fail) is evaluated on the rows that are left, in the order
//      of the filters, so that a conjunct that guards another one still does.
//   3. Keys of joins whose other side is complete (runtime/probe_filter.h) are tested, by value where that is fewer tests. A test
//      that lets most rows pass is given up.
#pragma once

#include <arrow/result.h>
#include <arrow/type.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "expr/expr.h"
#include "io/excluded_rows.h"
#include "io/flat/flat_column.h"
#include "io/parquet_table.h"
#include "memory/ledger_vector.h"
#include "memory/memory_ledger.h"

namespace icebound::io {

/// The filters of one scan. Immutable, thread safe.
class ParquetRowFilter {
 public:
  /// `filters` are conjuncts over the columns of `schema`, each over one at least, as are `probe_filters`.
  static arrow::Result<std::shared_ptr<const ParquetRowFilter>> Make(const std::vector<expr::ExprPtr>& filters,
                                                                     std::vector<ParquetProbeFilter> probe_filters,
                                                                     std::shared_ptr<arrow::Schema> schema,
                                                                     int64_t statement_time_us);

  /// The columns that the filters use, in order.
  const std::vector<int>& columns() const { return columns_; }

 private:
  friend class ParquetWindowFilter;

  struct Conjunct {
    expr::ExprPtr expr;
    std::vector<int> columns;
    bool by_value = false;  ///< one column, and it cannot fail
  };
  /// Conjuncts to be evaluated together over some columns.
  struct Predicate {
    expr::ExprPtr expr;
    std::vector<int> columns;  ///< of the scan, for each of the expression's
    std::shared_ptr<arrow::Schema> schema;
  };

  arrow::Result<Predicate> Combine(const std::vector<bool>& chosen) const;

  std::shared_ptr<arrow::Schema> schema_;
  int64_t statement_time_us_ = 0;
  std::vector<Conjunct> conjuncts_;
  std::vector<ParquetProbeFilter> probe_filters_;
  std::vector<int> columns_;
};

/// The state of one stream. Not thread safe.
class ParquetWindowFilter {
 public:
  /// How the filter sees the window's columns.
  struct Window {
    int64_t rows = 0;
    int64_t first_row = 0;  ///< in the file
    const ExcludedRows* excluded_or_null = nullptr;
    int64_t rows_to_come = 0;  ///< of the row group: a larger dictionary is not worth evaluating
    /// The column with its window loaded; null when another reader has it.
    std::function<FlatColumn*(int column)> flat_or_null;
    /// The values of some rows (all when `positions` is null).
    std::function<arrow::Result<std::shared_ptr<arrow::Array>>(int column, const int32_t* positions, int64_t count)> values;
  };

  ParquetWindowFilter(std::shared_ptr<const ParquetRowFilter> filter, memory::MemoryConsumer* consumer);

  /// Dictionaries of the row group before are forgotten.
  void StartRowGroup();

  arrow::Status Apply(const Window& window);

  /// Rows that passed, and their positions in the window; null when all did. Valid until the next Apply.
  int64_t count() const { return count_; }
  const int32_t* positions() const { return all_pass_ ? nullptr : positions_.data(); }

 private:
  /// passes[i] != 0: the i-th value of the dictionary passes.
  struct Table {
    memory::LedgerVector<uint8_t> passes;
    bool is_usable = false;
    bool all_pass = false;
  };

  /// A join's keys, in this stream.
  struct Probe {
    std::optional<Table> table;  // of this row group's dictionary
    int64_t tested_rows = 0;
    int64_t passed_rows = 0;
  };

  arrow::Status ApplyProbe(const ParquetProbeFilter& filter, const Window& window, Probe* probe);
  arrow::Status TestRows(const runtime::KeyTest& test, const ParquetProbeFilter& filter, const Window& window);
  arrow::Status TestDictionary(const runtime::KeyTest& test, FlatColumn* flat, Probe* probe);
  arrow::Result<const Table*> TableOf(int column, FlatColumn* flat, int64_t rows_to_come);
  arrow::Result<const ParquetRowFilter::Predicate*> PredicateOf(const std::vector<bool>& chosen);
  arrow::Status Exclude(const Window& window);
  void Keep(const uint32_t* slots, const uint8_t* passes);
  arrow::Status EvaluateRest(const ParquetRowFilter::Predicate& predicate, const Window& window);

  const std::shared_ptr<const ParquetRowFilter> filter_;
  memory::MemoryConsumer* const consumer_;
  std::map<int, Table> tables_;  // by column
  std::vector<Probe> probes_;
  std::map<std::vector<bool>, ParquetRowFilter::Predicate> predicates_;
  memory::LedgerVector<int32_t> positions_;
  memory::LedgerVector<uint8_t> bitmap_;  // of rows that are not excluded
  int64_t count_ = 0;
  bool all_pass_ = true;
};

}  // namespace icebound::io
