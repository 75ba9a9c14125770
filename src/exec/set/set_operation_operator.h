// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "exec/operator.h"

namespace icebound::exec {

namespace aggregate {
class HashAggregator;
class GroupRows;
}  // namespace aggregate

enum class SetOperationKind { kIntersect, kIntersectAll, kExcept, kExceptAll };

/// INTERSECT and EXCEPT: rows are compared as whole, NULLs alike. A row that is on the left l times and on the right r times
/// comes out once (kIntersect: l and r > 0; kExcept: l > 0 and r = 0), min(l, r) times (kIntersectAll) or max(l - r, 0) times
/// (kExceptAll). A breaker over aggregate::HashAggregator, which counts each row by side; the rows come in no particular order.
class SetOperationOperator final : public Operator {
 public:
  /// The children have the column types of `output`; columns of dictionary type come out as their values.
  static arrow::Result<std::unique_ptr<SetOperationOperator>> Make(QueryContext* context, std::unique_ptr<Operator> left,
                                                                   std::unique_ptr<Operator> right, SetOperationKind kind,
                                                                   const std::shared_ptr<arrow::Schema>& output);
  ~SetOperationOperator() override;

  arrow::Status Prepare() override;
  int max_streams() const override;

  /// The operator must outlive the streams.
  arrow::Result<std::unique_ptr<BatchStream>> OpenStream() override;

 private:
  SetOperationOperator(QueryContext* context, std::unique_ptr<Operator> left, std::unique_ptr<Operator> right,
                       SetOperationKind kind, std::shared_ptr<arrow::Schema> schema);

  std::unique_ptr<Operator> left_;  // gone once drained
  std::unique_ptr<Operator> right_;
  const SetOperationKind kind_;
  std::unique_ptr<aggregate::GroupRows> rows_;
  std::unique_ptr<aggregate::HashAggregator> counter_;
};

}  // namespace icebound::exec
