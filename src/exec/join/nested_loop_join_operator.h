// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "exec/operator.h"
#include "expr/join_condition.h"

namespace icebound::exec {

namespace join {
class NestedLoopJoin;
}  // namespace join

/// A join without keys: cross products and conditions that are not equalities, over join::NestedLoopJoin (nested_loop_join.h).
/// A breaker on its build side; a child is run once, whatever happens. Columns of dictionary type come out as their values.
class NestedLoopJoinOperator final : public Operator {
 public:
  /// `condition` has no keys. `build_left` says which child is kept: the smaller one. `output` as for HashJoinOperator.
  static arrow::Result<std::unique_ptr<NestedLoopJoinOperator>> Make(QueryContext* context, std::unique_ptr<Operator> left,
                                                                     std::unique_ptr<Operator> right, expr::JoinType type,
                                                                     expr::JoinCondition condition, bool build_left,
                                                                     const std::shared_ptr<arrow::Schema>& output);
  ~NestedLoopJoinOperator() override;

  arrow::Status Prepare() override;
  int max_streams() const override;
  arrow::Result<std::unique_ptr<BatchStream>> OpenStream() override;

 private:
  NestedLoopJoinOperator(QueryContext* context, std::unique_ptr<Operator> build, std::unique_ptr<Operator> probe,
                         std::shared_ptr<arrow::Schema> schema);

  std::unique_ptr<Operator> build_;  // gone once drained
  std::unique_ptr<Operator> probe_;
  std::unique_ptr<join::NestedLoopJoin> join_;
};

}  // namespace icebound::exec
