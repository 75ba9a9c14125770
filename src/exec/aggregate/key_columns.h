// SPDX-License-Identifier: Apache-2.0
//
// Group keys as columns whose equal values have equal bytes.
//
//   floating point                              -0 becomes +0 and every NaN one NaN: still a value of its type
//   intervals, and what holds any of these      the sort key (row/sort_key.h) as a binary column; the value itself is kept as a
//   in a list, map or struct                    state of the group (kFirstBytes)
//   all others                                  as they are
#pragma once

#include <arrow/record_batch.h>
#include <arrow/result.h>

#include <memory>
#include <vector>

#include "expr/evaluate.h"
#include "expr/expr.h"
#include "row/sort_key.h"

namespace icebound::exec::aggregate {

/// Immutable once made, hence thread safe.
class KeyColumns {
 public:
  /// `nullable[k]` says whether key k may be NULL.
  static arrow::Result<KeyColumns> Make(std::vector<expr::ExprPtr> exprs, const std::vector<bool>& nullable);

  /// Of the columns that Read gives.
  const arrow::FieldVector& fields() const { return fields_; }
  /// Whether key k comes as a sort key.
  bool IsSortKey(size_t k) const { return sources_[k].encoder != nullptr; }
  bool AnySortKey() const;

  arrow::Result<arrow::ArrayVector> Read(const arrow::RecordBatch& batch, const expr::EvalContext& context) const;

 private:
  struct Source {
    expr::ExprPtr expr;
    std::shared_ptr<row::SortKeyEncoder> encoder;
    bool is_float = false;
  };

  std::vector<Source> sources_;
  arrow::FieldVector fields_;
};

}  // namespace icebound::exec::aggregate
