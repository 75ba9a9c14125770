// SPDX-License-Identifier: Apache-2.0
#include "exec/join/join_operator.h"

#include <utility>

#include "exec/join/hash_join.h"
#include "exec/join/output_schema.h"
#include "runtime/operator_timer.h"

namespace icebound::exec {

JoinOperator::JoinOperator(QueryContext* context, std::string name, std::shared_ptr<arrow::Schema> output)
    : Operator(context, std::move(name), std::move(output)) {}

JoinOperator::~JoinOperator() = default;

arrow::Result<std::shared_ptr<arrow::Schema>> JoinOperator::PlainOutput(const Operator& left, const Operator& right,
                                                                        expr::JoinType type,
                                                                        const std::shared_ptr<arrow::Schema>& output) {
  return join::PlainOutputSchema(left.schema(), right.schema(), type, output);
}

arrow::Status JoinOperator::Start(Inputs inputs) {
  join::HashJoinOptions options;
  options.context = context();
  options.metrics = &mutable_metrics();
  options.left = inputs.left->schema();
  options.right = inputs.right->schema();
  options.type = inputs.type;
  options.condition = std::move(inputs.condition);
  options.build_left = inputs.build_left;
  options.output = schema();
  options.probe_filter_or_null = std::move(inputs.probe_filter_or_null);
  build_ = std::move(inputs.build_left ? inputs.left : inputs.right);
  probe_ = std::move(inputs.build_left ? inputs.right : inputs.left);
  return join::HashJoin::Make(std::move(options)).Value(&join_);
}

arrow::Status JoinOperator::DrainBuildSide() {
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

arrow::Status JoinOperator::Prepare() {
  ARROW_RETURN_NOT_OK(DrainBuildSide());
  if (join_->NeedsProbe()) {
    ARROW_RETURN_NOT_OK(probe_->Prepare());
  } else {
    probe_.reset();
  }
  const runtime::OperatorTimer timer(mutable_metrics());
  return join_->StartProbe(std::move(probe_));
}

int JoinOperator::max_streams() const { return join_->max_streams(); }

arrow::Result<std::unique_ptr<BatchStream>> JoinOperator::OpenStream() { return join_->OpenStream(); }

}  // namespace icebound::exec
