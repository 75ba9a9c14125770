// SPDX-License-Identifier: Apache-2.0
//
// Aggregate functions as data: what the binder makes of `sum(DISTINCT x) FILTER (WHERE y)`, what the plan carries and what the
// aggregate operator computes. Not expressions: an aggregate stands in an AggregateNode, and expressions above refer to its
// column.
//
//   function                      argument                  result
//   count(*), count(x)            any                       int64, never null
//   sum                           int8 to int32             int64
//                                 int64, uint64             decimal(38, 0)
//                                 decimal(p, s)             decimal(38, s)
//                                 float, double             double
//                                 interval                  interval
//   avg                           integers, decimals        decimal, typed as the division of sum by count
//                                 float, double             double
//                                 interval                  interval
//   min, max                      any type with an order    the same
//   stddev(_samp, _pop), variance = var_samp, var_pop       numbers      double
//   bool_and = every, bool_or     boolean                   boolean
//   first, last, any_value        any                       the same; first and last take nulls, too, in ORDER BY's order
//   array_agg                     any                       list; nulls are items
//   string_agg(text, separator)   text                      text; nulls are skipped
//
// Over no rows all but count give NULL. A sum beyond its type is ErrorKind::kExecution, never a wrap. Types are PostgreSQL's
// where Arrow has them.
#pragma once

#include <arrow/result.h>
#include <arrow/type.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "expr/expr.h"

namespace icebound::expr {

enum class AggregateKind {
  kCountStar,
  kCount,
  kSum,
  kAvg,
  kMin,
  kMax,
  kStddevSamp,
  kStddevPop,
  kVarSamp,
  kVarPop,
  kBoolAnd,
  kBoolOr,
  kFirst,
  kLast,
  kAnyValue,
  kArrayAgg,
  kStringAgg,
};

/// One term of ORDER BY inside an aggregate.
struct AggregateOrder {
  ExprPtr expr;
  bool descending = false;
  bool nulls_first = false;
};

/// One aggregate, bound over the columns of the aggregate's input. A value.
struct AggregateCall {
  AggregateKind kind = AggregateKind::kCountStar;
  std::vector<ExprPtr> arguments;  ///< coerced to what the kind takes; string_agg has its separator second
  std::shared_ptr<arrow::DataType> type;
  bool distinct = false;
  ExprPtr filter;  ///< boolean; rows for which it is not true are left out; may be null
  std::vector<AggregateOrder> order_by;
  TextPosition position;

  /// As SQL text: `sum(DISTINCT l_tax) FILTER (WHERE l_tax > 0)`.
  std::string ToString() const;
};

/// True for names that are aggregate functions (lower case): "sum", "count", ...
bool IsAggregateName(std::string_view name);

/// All names, for suggestions.
std::vector<std::string_view> AggregateNames();

/// Chooses kind and types from the name and the arguments and coerces these; distinct, filter and order_by are the caller's.
/// `star` is count(*). Errors are kInvalidInput in PostgreSQL's words, without a position.
arrow::Result<AggregateCall> MakeAggregate(std::string_view name, std::vector<ExprPtr> arguments, bool star,
                                           TextPosition position);

/// The call with each of its expressions (arguments, filter, order) replaced; types must stay.
arrow::Result<AggregateCall> TransformAggregate(const AggregateCall& call,
                                                const std::function<arrow::Result<ExprPtr>(const ExprPtr&)>& replace);

bool Equals(const AggregateCall& left, const AggregateCall& right);

}  // namespace icebound::expr
