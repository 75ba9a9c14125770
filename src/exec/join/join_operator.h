// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "exec/operator.h"
#include "expr/join_condition.h"
#include "runtime/probe_filter.h"

namespace icebound::exec {

namespace join {
class HashJoin;
}  // namespace join

/// What the join operators have in common: a breaker on one side, the build side, over join::HashJoin (hash_join.h). Prepare
/// drains that child, and the streams pull the other one. Each child is run once, whatever happens. Columns of dictionary type
/// come out as their values.
class JoinOperator : public Operator {
 public:
  ~JoinOperator() override;

  arrow::Status Prepare() final;
  int max_streams() const final;

  /// The operator must outlive its streams.
  arrow::Result<std::unique_ptr<BatchStream>> OpenStream() final;

 protected:
  struct Inputs {
    std::unique_ptr<Operator> left;
    std::unique_ptr<Operator> right;
    expr::JoinType type = expr::JoinType::kInner;
    expr::JoinCondition condition;
    bool build_left = false;
    std::shared_ptr<runtime::ProbeFilter> probe_filter_or_null;
  };

  JoinOperator(QueryContext* context, std::string name, std::shared_ptr<arrow::Schema> output);
  arrow::Status Start(Inputs inputs);

  /// `output` with dictionaries replaced by their value types; kInternal when its columns are not those of the join.
  static arrow::Result<std::shared_ptr<arrow::Schema>> PlainOutput(const Operator& left, const Operator& right,
                                                                   expr::JoinType type,
                                                                   const std::shared_ptr<arrow::Schema>& output);

 private:
  arrow::Status DrainBuildSide();

  std::unique_ptr<Operator> build_;  // gone once drained
  std::unique_ptr<Operator> probe_;  // the join's, once prepared
  std::unique_ptr<join::HashJoin> join_;
};

}  // namespace icebound::exec
