// SPDX-License-Identifier: Apache-2.0
//
// What several expressions over the same batches have in common: sum(p * (1 - d)) and sum(p * (1 - d) * (1 + t)) share
// p * (1 - d), which is then evaluated once a batch.
//
//   SharedParts   found once, when the expressions are known
//   PartValues    the values of the parts for one batch; EvalContext::parts points to it
//
// A part is a call, a cast or a CASE that occurs at least twice, reads a column, and gives the same value in every run. Its value
// is kept only when it is evaluated for all rows of the batch: what a branch of CASE evaluates for its own rows is not.
#pragma once

#include <arrow/datum.h>

#include <unordered_map>
#include <vector>

#include "expr/expr.h"

namespace icebound::expr {

/// Immutable once made, hence thread safe.
class SharedParts {
 public:
  SharedParts() = default;
  explicit SharedParts(std::vector<ExprPtr> exprs);

  size_t count() const { return count_; }
  /// The number of a node of one of the expressions, the same for equal parts; -1 when it is no part.
  int NumberOf(const Expr& node) const {
    const auto found = numbers_.find(&node);
    return found == numbers_.end() ? -1 : found->second;
  }

 private:
  std::vector<ExprPtr> exprs_;  // numbers_ knows their nodes by address
  std::unordered_map<const Expr*, int> numbers_;
  size_t count_ = 0;
};

/// One batch and one thread only. The parts must outlive it.
class PartValues {
 public:
  explicit PartValues(const SharedParts& parts) : parts_(parts), values_(parts.count()) {}

  /// Where the node's value is kept, empty (Datum::NONE) before it is known; null when the node is no part.
  arrow::Datum* Find(const Expr& node) {
    if (values_.empty()) return nullptr;
    const int number = parts_.NumberOf(node);
    return number < 0 ? nullptr : &values_[static_cast<size_t>(number)];
  }

 private:
  const SharedParts& parts_;
  std::vector<arrow::Datum> values_;
};

}  // namespace icebound::expr
