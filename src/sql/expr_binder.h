// SPDX-License-Identifier: Apache-2.0
//
// Binds expressions: the parser's node to a typed expr::Expr over the columns of a scope. Names of functions and operators,
// implicit casts and the types of results are decided by expr::MakeCall and its siblings; here SQL's spellings are mapped to
// their names and errors get positions.
#pragma once

#include <arrow/result.h>

#include <string>
#include <string_view>
#include <vector>

#include "expr/expr.h"
#include "sql/bind_context.h"
#include "sql/scope.h"

namespace icebound::sql {

/// Where an expression stands; decides what it may contain and how errors name it.
enum class Clause { kSelectList, kWhere, kOrderBy, kValues, kLimit };

/// "WHERE", "LIMIT", ...
std::string_view ClauseName(Clause clause);

/// One scope and clause. Not thread safe. Files: bind_expr.cc (dispatch, operators, CASE), bind_function.cc (calls),
/// bind_literal.cc (constants), bind_type.cc (type names, casts).
class ExprBinder {
 public:
  ExprBinder(BindContext& context, const Scope& scope, Clause clause) : context_(context), scope_(scope), clause_(clause) {}

  arrow::Result<expr::ExprPtr> Bind(const Node& node);

  /// Binds and checks that the value is boolean (or NULL), as WHERE and CASE WHEN want.
  arrow::Result<expr::ExprPtr> BindCondition(const Node& node, std::string_view construct);

  arrow::Result<std::vector<expr::ExprPtr>> BindList(const std::vector<Node>& nodes);

  /// The value of an expression without columns, cast to `type`; nullptr for NULL.
  arrow::Result<std::shared_ptr<arrow::Scalar>> BindConstantValue(const Node& node, const std::shared_ptr<arrow::DataType>& type);

 private:
  using ExprResult = arrow::Result<expr::ExprPtr>;

  ExprResult BindNode(const Node& node);
  ExprResult BindColumnRef(const Node& node);
  ExprResult BindIndirection(const Node& node);
  ExprResult BindStructFields(expr::ExprPtr value, const std::vector<std::string>& fields, int offset);
  ExprResult BindBoolExpr(const Node& node);
  ExprResult BindOperator(const Node& node);
  ExprResult BindPlainOperator(const Node& node);
  ExprResult BindIn(const Node& node);
  ExprResult BindBetween(const Node& node);
  ExprResult BindLike(const Node& node, std::string_view name);
  ExprResult BindCase(const Node& node);
  ExprResult BindMinMax(const Node& node);
  ExprResult BindBooleanTest(const Node& node);
  ExprResult BindNullTest(const Node& node);
  ExprResult BindCollate(const Node& node);

  ExprResult BindFunction(const Node& node);
  ExprResult BindSqlValueFunction(const Node& node);

  ExprResult BindConstant(const Node& node);
  ExprResult NumericLiteral(std::string_view text, int offset);
  ExprResult DecimalLiteral(std::string_view text, int offset);
  ExprResult IntervalLiteral(std::string_view text, const Node& type_name, int offset);

  ExprResult BindTypeCast(const Node& node);
  ExprResult CastTo(expr::ExprPtr value, const Node& type_name, int offset);
  ExprResult CastToNumeric(expr::ExprPtr value, const Node& type_name, int offset);
  ExprResult CastToVarchar(expr::ExprPtr value, const Node& type_name, int offset);
  /// Replaces a cast of a literal by its value, so that a bad date is an error here, with a position.
  ExprResult FoldLiteral(expr::ExprPtr cast, int offset);

  ExprResult Call(std::string_view name, std::vector<expr::ExprPtr> arguments, int offset);

  BindContext& context_;
  const Scope& scope_;
  const Clause clause_;
};

/// The SQL type a TypeName node means, without its modifiers handled specially (numeric, varchar): see CastTo. `offset` places
/// errors.
arrow::Result<std::shared_ptr<arrow::DataType>> BindTypeName(const BindContext& context, const Node& type_name);

/// PostgreSQL's internal name of a type as written ("int4" for integer): the default column name of a cast.
std::string InternalTypeName(const Node& type_name);

/// The column name PostgreSQL gives an expression without an alias: the column's, function's or type's name, "case", ..., else
/// "?column?".
std::string DefaultColumnName(const Node& expression);

/// The literal of a decimal, from its text ("-12.50"); precision and scale are its own.
arrow::Result<std::shared_ptr<arrow::Scalar>> DecimalFromText(std::string_view text);

}  // namespace icebound::sql
