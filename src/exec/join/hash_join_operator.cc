// SPDX-License-Identifier: Apache-2.0
#include "exec/join/hash_join_operator.h"

#include <utility>

#include "base/error.h"

namespace icebound::exec {

arrow::Result<std::unique_ptr<HashJoinOperator>> HashJoinOperator::Make(
    QueryContext* context, std::unique_ptr<Operator> left, std::unique_ptr<Operator> right, expr::JoinType type,
    expr::JoinCondition condition, bool build_left, const std::shared_ptr<arrow::Schema>& output,
    std::shared_ptr<runtime::ProbeFilter> probe_filter_or_null) {
  if (condition.keys.empty()) return MakeError(ErrorKind::kInternal, "a hash join needs a key");
  ARROW_ASSIGN_OR_RAISE(auto plain, PlainOutput(*left, *right, type, output));
  std::unique_ptr<HashJoinOperator> made(new HashJoinOperator(context, "hash join", std::move(plain)));
  ARROW_RETURN_NOT_OK(
      made->Start({std::move(left), std::move(right), type, std::move(condition), build_left, std::move(probe_filter_or_null)}));
  return made;
}

}  // namespace icebound::exec
