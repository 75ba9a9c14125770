// SPDX-License-Identifier: Apache-2.0
#include "exec/join/hash_join_operator.h"

#include <utility>

#include "exec/join/hash_join.h"
#include "exec/join/output_schema.h"
#include "runtime/operator_timer.h"

namespace icebound::exec {

arrow::Result<std::unique_ptr<HashJoinOperator>> HashJoinOperator::Make(QueryContext* context, std::unique_ptr<Operator> left,
                                                                        std::unique_ptr<Operator> right, expr::JoinType type,
                                                                        expr::JoinCondition condition, bool build_left,
                                                                        const std::shared_ptr<arrow::Schema>& output) {
  join::HashJoinOptions options;
  options.context = context;
  options.left = left->schema();
  options.right = right->schema();
  options.type = type;
  options.condition = std::move(condition);
  options.build_left = build_left;
  ARROW_ASSIGN_OR_RAISE(options.output, join::PlainOutputSchema(*left->schema(), *right->schema(), type, output));
  std::unique_ptr<HashJoinOperator> made(
      new HashJoinOperator(context, std::move(build_left ? left : right), std::move(build_left ? right : left), options.output));
  options.metrics = &made->mutable_metrics();
  ARROW_ASSIGN_OR_RAISE(made->join_, join::HashJoin::Make(std::move(options)));
  return made;
}

HashJoinOperator::HashJoinOperator(QueryContext* context, std::unique_ptr<Operator> build, std::unique_ptr<Operator> probe,
                                   std::shared_ptr<arrow::Schema> schema)
    : Operator(context, "hash join", std::move(schema)), build_(std::move(build)), probe_(std::move(probe)) {}

HashJoinOperator::~HashJoinOperator() = default;

arrow::Status HashJoinOperator::DrainBuildSide() {
  ARROW_RETURN_NOT_OK(build_->Prepare());
  ARROW_RETURN_NOT_OK(join_->StartBuild(WorkerCount(*context(), *build_)));
  ARROW_RETURN_NOT_OK(DrainInParallel(context(), build_.get(), [this](int worker, BatchStream* stream) -> arrow::Status {
    while (true) {
      ARROW_ASSIGN_OR_RAISE(const std::shared_ptr<arrow::RecordBatch> batch, stream->Next());
      const runtime::OperatorTimer timer(mutable_metrics());
      if (batch == nullptr) return join_->FinishBuildWorker(worker);
      ARROW_RETURN_NOT_OK(join_->AppendBuild(worker, batch));
    }
  }));
  build_.reset();  // what the scan holds is worth more to the probe
  const runtime::OperatorTimer timer(mutable_metrics());
  return join_->FinishBuild();
}

arrow::Status HashJoinOperator::Prepare() {
  ARROW_RETURN_NOT_OK(DrainBuildSide());
  if (join_->NeedsProbe()) {
    ARROW_RETURN_NOT_OK(probe_->Prepare());
  } else {
    probe_.reset();
  }
  const runtime::OperatorTimer timer(mutable_metrics());
  return join_->StartProbe(std::move(probe_));
}

int HashJoinOperator::max_streams() const { return join_->max_streams(); }

arrow::Result<std::unique_ptr<BatchStream>> HashJoinOperator::OpenStream() { return join_->OpenStream(); }

}  // namespace icebound::exec
