// SPDX-License-Identifier: Apache-2.0
//
// Choosing overloads and inserting implicit casts; used by MakeCall and by the resolvers of the function families.
#pragma once

#include <arrow/result.h>

#include <string>
#include <string_view>
#include <vector>

#include "expr/functions.h"

namespace icebound::expr {

/// Among the overloads of a family that have a signature, by PostgreSQL's rules: an exact match; else the candidates that
/// implicit casts reach, those with the most exact matches, then those with the most exact or preferred types; untyped literals
/// take text when some candidate does, else the one type that the remaining candidates agree on.
arrow::Result<Resolution> ResolveBySignature(const FunctionFamily& family, std::vector<ExprPtr> arguments);

/// "operator does not exist: text + integer" or "function foo(bigint) does not exist".
arrow::Status NoSuchCall(std::string_view name, const std::vector<ExprPtr>& arguments);
bool IsOperatorName(std::string_view name);

/// Digits and scale an operand of decimal arithmetic needs: a literal only as many as it is written with.
struct DecimalOperand {
  int precision;
  int scale;
  int IntegerDigits() const { return precision - scale; }
};
DecimalOperand DecimalOperandOf(const Expr& expr);
/// True when a decimal64 column takes part and no decimal128 column does: results of up to 18 digits then stay narrow.
bool IsNarrowDecimal(const std::vector<ExprPtr>& arguments);

/// The same type whatever the arguments are.
template <const TypePtr& (*Type)()>
arrow::Result<TypePtr> Always(const std::vector<ExprPtr>&) {
  return Type();
}
arrow::Result<TypePtr> BooleanResult(const std::vector<ExprPtr>& arguments);
arrow::Result<TypePtr> TextResult(const std::vector<ExprPtr>& arguments);
arrow::Result<TypePtr> Int32Result(const std::vector<ExprPtr>& arguments);
arrow::Result<TypePtr> Int64Result(const std::vector<ExprPtr>& arguments);
arrow::Result<TypePtr> DoubleResult(const std::vector<ExprPtr>& arguments);
arrow::Result<TypePtr> DateResult(const std::vector<ExprPtr>& arguments);
arrow::Result<TypePtr> IntervalResult(const std::vector<ExprPtr>& arguments);
/// The logical type of the first argument.
arrow::Result<TypePtr> FirstResult(const std::vector<ExprPtr>& arguments);

}  // namespace icebound::expr
