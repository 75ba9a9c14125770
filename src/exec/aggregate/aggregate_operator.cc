// SPDX-License-Identifier: Apache-2.0
#include "exec/aggregate/aggregate_operator.h"

#include <algorithm>
#include <utility>

#include "exec/aggregate/aggregation.h"
#include "runtime/operator_timer.h"
#include "runtime/worker_pool.h"

namespace icebound::exec {

arrow::Result<std::unique_ptr<AggregateOperator>> AggregateOperator::Make(QueryContext* context, std::unique_ptr<Operator> child,
                                                                          std::vector<expr::ExprPtr> groups,
                                                                          std::vector<expr::AggregateCall> aggregates,
                                                                          const std::shared_ptr<arrow::Schema>& output) {
  const std::shared_ptr<arrow::Schema> input = child->schema();
  ARROW_ASSIGN_OR_RAISE(auto schema, aggregate::Aggregation::OutputSchema(output));
  std::unique_ptr<AggregateOperator> made(new AggregateOperator(context, std::move(child), std::move(schema)));
  ARROW_ASSIGN_OR_RAISE(made->aggregation_, aggregate::Aggregation::Make(context, input, std::move(groups), aggregates,
                                                                         made->schema(), &made->mutable_metrics()));
  return made;
}

AggregateOperator::AggregateOperator(QueryContext* context, std::unique_ptr<Operator> child,
                                     std::shared_ptr<arrow::Schema> schema)
    : Operator(context, "aggregate", std::move(schema)), child_(std::move(child)) {}

AggregateOperator::~AggregateOperator() = default;

arrow::Status AggregateOperator::Prepare() {
  ARROW_RETURN_NOT_OK(child_->Prepare());
  const int workers = std::min(WorkerCount(*context(), *child_), aggregation_->WorkersMax());
  ARROW_RETURN_NOT_OK(aggregation_->StartInput(workers));
  ARROW_RETURN_NOT_OK(runtime::RunOnThreads(workers, [this](int worker) -> arrow::Status {
    ARROW_ASSIGN_OR_RAISE(const std::unique_ptr<BatchStream> stream, child_->OpenStream());
    while (true) {
      ARROW_ASSIGN_OR_RAISE(const std::shared_ptr<arrow::RecordBatch> batch, stream->Next());
      const runtime::OperatorTimer timer(mutable_metrics());
      if (batch == nullptr) return aggregation_->FinishWorker(worker);
      ARROW_RETURN_NOT_OK(aggregation_->Append(worker, batch));
    }
  }));
  child_.reset();  // what the scan holds is worth more to the merge
  const runtime::OperatorTimer timer(mutable_metrics());
  return aggregation_->FinishInput();
}

int AggregateOperator::max_streams() const { return aggregation_->max_streams(); }

arrow::Result<std::unique_ptr<BatchStream>> AggregateOperator::OpenStream() { return aggregation_->OpenStream(); }

}  // namespace icebound::exec
