// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "exec/join/join_operator.h"

namespace icebound::exec {

/// A join on equal keys.
class HashJoinOperator final : public JoinOperator {
 public:
  /// Needs at least one key. `build_left` says which child is kept in memory or in spill files: the smaller one. `output` has the
  /// columns that expr::JoinType speaks of; its names and nullability are taken over. `probe_filter_or_null` is told of the keys
  /// of the child that is kept, for a scan below the other one.
  static arrow::Result<std::unique_ptr<HashJoinOperator>> Make(
      QueryContext* context, std::unique_ptr<Operator> left, std::unique_ptr<Operator> right, expr::JoinType type,
      expr::JoinCondition condition, bool build_left, const std::shared_ptr<arrow::Schema>& output,
      std::shared_ptr<runtime::ProbeFilter> probe_filter_or_null = nullptr);

 private:
  using JoinOperator::JoinOperator;
};

}  // namespace icebound::exec
