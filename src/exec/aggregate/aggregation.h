// SPDX-License-Identifier: Apache-2.0
//
// A whole GROUP BY: a HashAggregator for the groups, one more for each set of DISTINCT arguments, a sorter for each order of
// array_agg and string_agg.
//
//   Make -> StartInput -> (Append* -> FinishWorker, a thread each) -> FinishInput -> OpenStream
//
// The groups take the input's rows; in FinishInput they take the distinct values and the gathered lists, group by group, from the
// other components, as further rows.
#pragma once

#include <arrow/result.h>

#include <memory>
#include <vector>

#include "exec/aggregate/aggregate_plan.h"
#include "exec/aggregate/hash_aggregator.h"
#include "exec/aggregate/key_columns.h"
#include "exec/aggregate/ordered_values.h"
#include "exec/aggregate/result_columns.h"
#include "exec/operator.h"
#include "expr/shared_parts.h"

namespace icebound::exec::aggregate {

/// Append and FinishWorker: one thread a worker. OpenStream: any thread. The rest: the coordinating thread.
class Aggregation {
 public:
  /// Of the operator's output: dictionaries as their values.
  static arrow::Result<std::shared_ptr<arrow::Schema>> OutputSchema(const std::shared_ptr<arrow::Schema>& output);

  /// `input` is the schema of the batches, `output` OutputSchema of the result.
  static arrow::Result<std::unique_ptr<Aggregation>> Make(QueryContext* context, const std::shared_ptr<arrow::Schema>& input,
                                                          std::vector<expr::ExprPtr> groups,
                                                          const std::vector<expr::AggregateCall>& aggregates,
                                                          const std::shared_ptr<arrow::Schema>& output,
                                                          runtime::OperatorMetrics* metrics);
  ~Aggregation();

  /// How many workers the memory that is free now will do for. Each needs its start in every component, so with many DISTINCT
  /// arguments a second worker may take more than is left by the first.
  int WorkersMax() const { return groups_->WorkersMax(PeerCount()); }
  arrow::Status StartInput(int workers);
  arrow::Status Append(int worker, const std::shared_ptr<arrow::RecordBatch>& batch);
  arrow::Status FinishWorker(int worker);
  arrow::Status FinishInput();

  int max_streams() const { return groups_->max_streams(); }
  arrow::Result<std::unique_ptr<BatchStream>> OpenStream();

 private:
  friend class AggregationStream;

  struct DistinctSource;
  struct OrderedSource;
  /// Readers of a plan's arguments.
  struct Arguments {
    std::vector<std::unique_ptr<ArgumentReader>> readers;
    std::vector<std::vector<int>> states;

    static arrow::Result<Arguments> Make(const ArgumentPlan& plan);
    /// Adds what Read evaluates.
    void AddExprs(std::vector<expr::ExprPtr>* exprs) const;
    arrow::Status Read(const arrow::RecordBatch& batch, const expr::EvalContext& eval, GroupBatch* out) const;
  };

  Aggregation(QueryContext* context, runtime::OperatorMetrics* metrics);
  int PeerCount() const { return static_cast<int>(1 + distinct_.size() + ordered_.size()); }
  expr::EvalContext eval() const { return {consumer_->pool(), context_->statement_time_us}; }
  arrow::Status MakeDistinct(const DistinctPlan& plan);
  arrow::Status MakeOrdered(OrderedPlan plan);
  arrow::Status AppendToSources(int worker, const std::shared_ptr<arrow::RecordBatch>& batch, const arrow::ArrayVector& keys);
  arrow::Status DrainDistinct(DistinctSource* source);
  arrow::Status DrainOrdered(OrderedSource* source);
  arrow::Result<std::shared_ptr<arrow::RecordBatch>> MakeOutput(std::span<const uint8_t* const> rows) const;

  QueryContext* const context_;
  runtime::OperatorMetrics* const metrics_;
  const std::unique_ptr<memory::MemoryConsumer> consumer_;  // of evaluated keys and arguments
  std::shared_ptr<arrow::Schema> output_schema_;
  KeyColumns keys_;
  std::vector<int> sort_key_result_;  // by key: its place in the results, or -1
  size_t call_count_ = 0;
  int workers_ = 1;
  bool takes_input_ = true;  // groups_ needs the input's rows themselves
  Arguments input_;
  expr::SharedParts parts_;  // of what is read from a batch of the input
  std::unique_ptr<HashAggregator> groups_;
  std::unique_ptr<ResultColumns> results_;
  std::vector<std::unique_ptr<DistinctSource>> distinct_;
  std::vector<std::unique_ptr<OrderedSource>> ordered_;
};

}  // namespace icebound::exec::aggregate
