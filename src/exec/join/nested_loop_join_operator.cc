// SPDX-License-Identifier: Apache-2.0
#include "exec/join/nested_loop_join_operator.h"

#include <utility>

#include "base/error.h"

namespace icebound::exec {

arrow::Result<std::unique_ptr<NestedLoopJoinOperator>> NestedLoopJoinOperator::Make(
    QueryContext* context, std::unique_ptr<Operator> left, std::unique_ptr<Operator> right, expr::JoinType type,
    expr::JoinCondition condition, bool build_left, const std::shared_ptr<arrow::Schema>& output) {
  if (!condition.keys.empty()) return MakeError(ErrorKind::kInternal, "a nested loop join takes no keys");
  ARROW_ASSIGN_OR_RAISE(auto plain, PlainOutput(*left, *right, type, output));
  std::unique_ptr<NestedLoopJoinOperator> made(new NestedLoopJoinOperator(context, "nested loop join", std::move(plain)));
  ARROW_RETURN_NOT_OK(made->Start({std::move(left), std::move(right), type, std::move(condition), build_left}));
  return made;
}

}  // namespace icebound::exec
