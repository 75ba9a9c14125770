// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "exec/operator.h"
#include "expr/join_condition.h"

namespace icebound::exec {

namespace join {
class HashJoin;
}  // namespace join

/// A join on equal keys, over join::HashJoin (hash_join.h). A breaker on its build side alone: Prepare drains that child, and the
/// streams pull the other one. Columns of dictionary type come out as their values.
class HashJoinOperator final : public Operator {
 public:
  /// Needs at least one key. `build_left` says which child is kept in memory or in spill files: the smaller one. `output` has the
  /// columns that expr::JoinType speaks of; its names and nullability are taken over.
  static arrow::Result<std::unique_ptr<HashJoinOperator>> Make(QueryContext* context, std::unique_ptr<Operator> left,
                                                               std::unique_ptr<Operator> right, expr::JoinType type,
                                                               expr::JoinCondition condition, bool build_left,
                                                               const std::shared_ptr<arrow::Schema>& output);
  ~HashJoinOperator() override;

  arrow::Status Prepare() override;
  int max_streams() const override;

  /// Streams hold nothing of the operator's children, but the operator must outlive them.
  arrow::Result<std::unique_ptr<BatchStream>> OpenStream() override;

 private:
  HashJoinOperator(QueryContext* context, std::unique_ptr<Operator> build, std::unique_ptr<Operator> probe,
                   std::shared_ptr<arrow::Schema> schema);
  arrow::Status DrainBuildSide();

  std::unique_ptr<Operator> build_;  // gone once drained
  std::unique_ptr<Operator> probe_;
  std::unique_ptr<join::HashJoin> join_;
};

}  // namespace icebound::exec
