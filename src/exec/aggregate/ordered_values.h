// SPDX-License-Identifier: Apache-2.0
//
// array_agg and string_agg: rows are sorted by group, then by ORDER BY, then as they came; the values of a group then stand in
// one piece.
//
//   Make -> StartInput -> (Append* -> FinishWorker, a thread each) -> FinishInput -> Next*
//
// The sorter's rows are [key | arguments | DISTINCT: sort key of the arguments | order terms that are no arguments | number]. The
// key is the packed group key as one binary column, so that rows of a group have equal keys whatever the types are. With
// DISTINCT equal arguments are neighbours, because what ORDER BY names must be an argument then.
#pragma once

#include <arrow/buffer_builder.h>
#include <arrow/result.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "exec/aggregate/group_layout.h"
#include "exec/sort/external_sorter.h"
#include "expr/aggregate.h"
#include "expr/evaluate.h"

namespace icebound::exec::aggregate {

/// Calls that share rows and order: the same ORDER BY, DISTINCT (and then arguments) and FILTER.
struct OrderedCalls {
  std::vector<expr::AggregateCall> calls;
};

/// Whether a call can join others.
bool SharesOrder(const expr::AggregateCall& left, const expr::AggregateCall& right);

class OrderedValues {
 public:
  /// `layout` is that of the groups, and outlives this.
  static arrow::Result<std::unique_ptr<OrderedValues>> Make(runtime::QueryContext* context, const GroupLayout* layout,
                                                            OrderedCalls calls);
  ~OrderedValues();

  arrow::Status StartInput(int workers);
  /// Rows that pass the filter, with their group keys.
  arrow::Status Append(int worker, const arrow::RecordBatch& batch, const arrow::ArrayVector& keys,
                       const expr::EvalContext& eval);
  arrow::Status FinishWorker(int worker);
  arrow::Status FinishInput();

  /// Groups in turn: the key columns of the layout, then a column for each call; nullptr at the end.
  arrow::Result<std::shared_ptr<arrow::RecordBatch>> Next(arrow::MemoryPool* pool);

  const std::vector<expr::AggregateCall>& calls() const { return calls_; }
  /// Of the batches that Next gives.
  const std::shared_ptr<arrow::Schema>& schema() const { return schema_; }
  void AddMetricsTo(runtime::OperatorMetrics* metrics) const;

 private:
  class ValueColumn;
  class ListColumn;
  class TextColumn;

  OrderedValues(runtime::QueryContext* context, const GroupLayout* layout);
  arrow::Status PlanColumns();
  arrow::Status AddSorted(const arrow::RecordBatch& batch);
  arrow::Result<std::shared_ptr<arrow::RecordBatch>> TakeEnded(size_t groups, arrow::MemoryPool* pool);
  arrow::Status EndGroup();

  runtime::QueryContext* const context_;
  const GroupLayout& layout_;
  std::vector<expr::AggregateCall> calls_;
  std::shared_ptr<arrow::Schema> schema_;
  runtime::OperatorMetrics metrics_{"ordered values"};

  // Columns of the sorter's input.
  std::vector<expr::ExprPtr> columns_;       // behind the key: arguments, order terms
  std::vector<std::vector<int>> arguments_;  // by call, of columns_
  std::unique_ptr<row::SortKeyEncoder> distinct_;
  int argument_count_ = 0;
  std::shared_ptr<arrow::Schema> input_schema_;
  std::unique_ptr<sort::ExternalSorter> sorter_;
  std::atomic<int64_t> next_number_{0};

  // Reading.
  std::unique_ptr<runtime::BatchStream> stream_;
  std::vector<std::unique_ptr<ValueColumn>> values_;
  std::unique_ptr<arrow::BufferBuilder> keys_;  // of the groups not given out yet
  std::vector<int64_t> key_ends_;
  bool in_group_ = false;
  bool at_end_ = false;
  std::string last_distinct_;
};

}  // namespace icebound::exec::aggregate
