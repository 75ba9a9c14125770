// SPDX-License-Identifier: Apache-2.0
//
// Bound expressions: immutable trees over the columns of one batch, typed when made. The binder makes them with MakeCall/MakeCast
// (which choose the overload and insert PostgreSQL's implicit casts), optimizer rules rewrite them, Evaluate runs them through
// Arrow compute, and statistics pruning walks the same tree.
#pragma once

#include <arrow/datum.h>
#include <arrow/record_batch.h>
#include <arrow/result.h>
#include <arrow/scalar.h>
#include <arrow/type.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace icebound::expr {

class Expr;
using ExprPtr = std::shared_ptr<const Expr>;

enum class ExprKind { kColumn, kLiteral, kCall, kCast, kCase, kOuterColumn };

/// Where an expression stands in the SQL text, in bytes; -1 when it was made by a rule.
struct TextPosition {
  int offset = -1;
};

/// Base of the closed family below. Thread safe: immutable.
class Expr {
 public:
  virtual ~Expr() = default;
  ExprKind kind() const { return kind_; }
  const std::shared_ptr<arrow::DataType>& type() const { return type_; }
  const std::vector<ExprPtr>& children() const { return children_; }
  TextPosition position() const { return position_; }
  /// As SQL text, for EXPLAIN and for default column names: `l_quantity < 24`.
  virtual std::string ToString() const = 0;
  /// The same node over other children (same count and types).
  virtual ExprPtr WithChildren(std::vector<ExprPtr> children) const = 0;

 protected:
  Expr(ExprKind kind, std::shared_ptr<arrow::DataType> type, std::vector<ExprPtr> children, TextPosition position)
      : kind_(kind), type_(std::move(type)), children_(std::move(children)), position_(position) {}

 private:
  const ExprKind kind_;
  const std::shared_ptr<arrow::DataType> type_;
  const std::vector<ExprPtr> children_;
  const TextPosition position_;
};

/// Column `index` of the input batch.
class ColumnExpr final : public Expr {
 public:
  ColumnExpr(int index, std::string name, std::shared_ptr<arrow::DataType> type, TextPosition position = {});
  int index() const { return index_; }
  const std::string& name() const { return name_; }
  std::string ToString() const override;
  ExprPtr WithChildren(std::vector<ExprPtr> children) const override;

 private:
  const int index_;
  const std::string name_;
};

/// A constant; SQL NULL without a context type has arrow::null().
class LiteralExpr final : public Expr {
 public:
  explicit LiteralExpr(std::shared_ptr<arrow::Scalar> value, TextPosition position = {});
  const std::shared_ptr<arrow::Scalar>& value() const { return value_; }
  std::string ToString() const override;
  ExprPtr WithChildren(std::vector<ExprPtr> children) const override;

 private:
  const std::shared_ptr<arrow::Scalar> value_;
};

struct Function;  // an overload in the registry (functions.h): signature, volatility, how to evaluate

/// What a function made of its literal arguments once, for all batches (the hash set of an IN list). Immutable, thread safe.
class PreparedCall {
 public:
  virtual ~PreparedCall() = default;
};

/// A function or an operator ("+", "=", "and", "like", "substring", ...) over its arguments.
class CallExpr final : public Expr {
 public:
  CallExpr(const Function* function, std::vector<ExprPtr> arguments, std::shared_ptr<arrow::DataType> type,
           TextPosition position = {});
  const Function& function() const { return *function_; }
  std::string_view name() const;
  /// nullptr when the function prepares nothing for these arguments.
  const PreparedCall* prepared() const { return prepared_.get(); }
  std::string ToString() const override;
  ExprPtr WithChildren(std::vector<ExprPtr> children) const override;

 private:
  const Function* const function_;
  const std::shared_ptr<const PreparedCall> prepared_;
};

/// CAST(child AS type); a value out of range is an error, as in PostgreSQL.
class CastExpr final : public Expr {
 public:
  CastExpr(ExprPtr child, std::shared_ptr<arrow::DataType> type, TextPosition position = {});
  std::string ToString() const override;
  ExprPtr WithChildren(std::vector<ExprPtr> children) const override;
};

/// Children: condition 1, value 1, condition 2, value 2, ..., else. Values are evaluated only for the rows that reach them.
class CaseExpr final : public Expr {
 public:
  CaseExpr(std::vector<ExprPtr> conditions_values_else, TextPosition position = {});
  std::string ToString() const override;
  ExprPtr WithChildren(std::vector<ExprPtr> children) const override;
};

/// Column `index` of a query `levels_up` around the one the expression belongs to (1: the next). Only in the right child of a
/// plan::ApplyNode; decorrelation replaces it, so nothing evaluates it. Not a column of the batch: ReferencedColumns and
/// RemapColumns pass it by.
class OuterColumnExpr final : public Expr {
 public:
  OuterColumnExpr(int levels_up, int index, std::string name, std::shared_ptr<arrow::DataType> type, TextPosition position = {});
  int levels_up() const { return levels_up_; }
  int index() const { return index_; }
  const std::string& name() const { return name_; }
  std::string ToString() const override;
  ExprPtr WithChildren(std::vector<ExprPtr> children) const override;

 private:
  const int levels_up_;
  const int index_;
  const std::string name_;
};

// --- making ---------------------------------------------------------------------------------------------------------------

ExprPtr MakeColumn(int index, const arrow::Field& field, TextPosition position = {});
ExprPtr MakeLiteral(std::shared_ptr<arrow::Scalar> value, TextPosition position = {});

/// Resolves `name` for the argument types, inserting implicit casts. The error (kInvalidInput) has PostgreSQL's words: "function
/// foo(bigint) does not exist", "operator does not exist: text + integer", with the nearest name suggested; the caller adds line,
/// column and caret.
arrow::Result<ExprPtr> MakeCall(std::string_view name, std::vector<ExprPtr> arguments, TextPosition position = {});

/// An explicit cast, or the child itself when the type is already right.
arrow::Result<ExprPtr> MakeCast(ExprPtr child, const std::shared_ptr<arrow::DataType>& type, TextPosition position = {});

/// The type that UNION, CASE, VALUES, IN and COALESCE give to branches of these types.
arrow::Result<std::shared_ptr<arrow::DataType>> CommonType(const std::vector<std::shared_ptr<arrow::DataType>>& types);

/// CASE with its values cast to their common type; `otherwise` may be null.
arrow::Result<ExprPtr> MakeCase(std::vector<ExprPtr> conditions, std::vector<ExprPtr> values, ExprPtr otherwise,
                                TextPosition position = {});

/// Conjunction; the constant true when empty. SplitConjunction is its inverse.
ExprPtr MakeAnd(std::vector<ExprPtr> conjuncts);
std::vector<ExprPtr> SplitConjunction(const ExprPtr& predicate);

/// True for a literal that takes its type from its context, as PostgreSQL's "unknown": a string literal or NULL.
bool IsUntypedLiteral(const Expr& expr);

/// The argument as `type`, by an implicit cast; literals are converted at once ("invalid input syntax for type date: ..." is the
/// caller's to place).
arrow::Result<ExprPtr> CoerceTo(ExprPtr expr, const std::shared_ptr<arrow::DataType>& type);

/// The type that CASE, IN and COALESCE give to these branches: as CommonType, where untyped literals follow the others.
arrow::Result<std::shared_ptr<arrow::DataType>> CommonTypeOf(const std::vector<ExprPtr>& branches);

// --- walking --------------------------------------------------------------------------------------------------------------

/// Bottom-up rewrite: `replace` gets each node with its rewritten children and returns it, or another one of the same type.
arrow::Result<ExprPtr> Transform(const ExprPtr& expr, const std::function<arrow::Result<ExprPtr>(const ExprPtr&)>& replace);

/// The same tree as if a rule had made it.
ExprPtr WithoutPositions(const ExprPtr& expr);

/// Sorted, distinct indexes of the columns used.
std::vector<int> ReferencedColumns(const Expr& expr);

/// The same tree with column i renumbered to mapping[i].
arrow::Result<ExprPtr> RemapColumns(const ExprPtr& expr, const std::vector<int>& mapping);

bool Equals(const Expr& left, const Expr& right);

/// True when every run gives the same value (no now(), random()) .
bool IsDeterministic(const Expr& expr);
/// True when no column is referenced and the value is the same for the whole statement (random() is not constant).
bool IsConstant(const Expr& expr);
/// True when evaluating `expr` can raise an error for some row.
bool CanFail(const Expr& expr);

}  // namespace icebound::expr
