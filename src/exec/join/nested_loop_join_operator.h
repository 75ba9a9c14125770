// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "exec/join/join_operator.h"

namespace icebound::exec {

/// A join without keys: cross products and conditions that are not equalities. All rows are in one partition; when it does not
/// fit into memory, the other side is written as well, and read again for each part that does (pair_join.h).
class NestedLoopJoinOperator final : public JoinOperator {
 public:
  /// `condition` has no keys. `build_left` says which child is kept: the smaller one. `output` as for HashJoinOperator.
  static arrow::Result<std::unique_ptr<NestedLoopJoinOperator>> Make(QueryContext* context, std::unique_ptr<Operator> left,
                                                                     std::unique_ptr<Operator> right, expr::JoinType type,
                                                                     expr::JoinCondition condition, bool build_left,
                                                                     const std::shared_ptr<arrow::Schema>& output);

 private:
  using JoinOperator::JoinOperator;
};

}  // namespace icebound::exec
