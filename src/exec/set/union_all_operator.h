// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "exec/operator.h"

namespace icebound::exec {

/// UNION ALL: each stream works through the children in order, so one stream gives all rows of the first child, then of the
/// second, ...
class UnionAllOperator final : public Operator {
 public:
  /// The children have the column types of `schema`; names may differ.
  UnionAllOperator(QueryContext* context, std::vector<std::unique_ptr<Operator>> children, std::shared_ptr<arrow::Schema> schema);

  arrow::Status Prepare() override;
  int max_streams() const override;
  arrow::Result<std::unique_ptr<BatchStream>> OpenStream() override;

  /// A stream of child `index`, or nullptr when it already has as many as it allows. Thread safe.
  arrow::Result<std::unique_ptr<BatchStream>> OpenChildStream(size_t index);
  size_t child_count() const { return children_.size(); }

 private:
  const std::vector<std::unique_ptr<Operator>> children_;
  std::mutex mutex_;
  std::vector<int> opened_;  // guarded by mutex_: streams opened so far, by child
};

}  // namespace icebound::exec
