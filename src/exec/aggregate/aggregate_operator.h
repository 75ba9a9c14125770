// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "exec/operator.h"
#include "expr/aggregate.h"
#include "expr/expr.h"

namespace icebound::exec {

namespace aggregate {
class Aggregation;
}  // namespace aggregate

/// GROUP BY: one row for each distinct combination of the group expressions (NULLs are alike), those first, then the aggregates.
/// Without groups exactly one row, also over no input. Without aggregates it is DISTINCT. A breaker over aggregate::Aggregation
/// (aggregation.h): it drains its child on all threads in Prepare and gives the groups in no particular order.
class AggregateOperator final : public Operator {
 public:
  /// `output` has the groups' columns, then the aggregates'; its names, types and nullability are taken over, but columns of
  /// dictionary type come out as their values.
  static arrow::Result<std::unique_ptr<AggregateOperator>> Make(QueryContext* context, std::unique_ptr<Operator> child,
                                                                std::vector<expr::ExprPtr> groups,
                                                                std::vector<expr::AggregateCall> aggregates,
                                                                const std::shared_ptr<arrow::Schema>& output);
  ~AggregateOperator() override;

  arrow::Status Prepare() override;
  int max_streams() const override;

  /// The operator must outlive the streams.
  arrow::Result<std::unique_ptr<BatchStream>> OpenStream() override;

 private:
  AggregateOperator(QueryContext* context, std::unique_ptr<Operator> child, std::shared_ptr<arrow::Schema> schema);

  std::unique_ptr<Operator> child_;  // gone once drained
  std::unique_ptr<aggregate::Aggregation> aggregation_;
};

}  // namespace icebound::exec
