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
#include "expr/join_condition.h"
#include "plan/logical_plan.h"
#include "sql/bind_context.h"
#include "sql/scope.h"

namespace icebound::sql {

class Aggregation;
class Binder;
class CommonTableScope;

/// Where an expression stands; decides what it may contain and how errors name it.
enum class Clause {
  kSelectList,
  kWhere,
  kOrderBy,
  kValues,
  kLimit,
  kGroupBy,
  kHaving,
  kJoinOn,
  kAggregate,      ///< an argument of an aggregate function
  kFilter,         ///< FILTER (WHERE ...)
  kTableFunction,  ///< an argument of a function in FROM
};

/// "WHERE", "LIMIT", ...
std::string_view ClauseName(Clause clause);

/// What surrounds an expression. The references outlive its binding.
struct ExprPlace {
  const Scope& scope;
  Clause clause;
  const CommonTableScope* common_tables = nullptr;  ///< for subqueries
  /// The rows that the expression is evaluated over: subqueries put ApplyNodes on top, whose last column they are. Null where
  /// subqueries are refused.
  plan::PlanPtr* rows = nullptr;
  /// Set when the expression stands above GROUP BY: what is bound is not finished before Aggregation::Finish.
  const Aggregation* aggregation = nullptr;
};

/// Which truth values must be told apart. Where NULL counts as false (WHERE), or as true (below a NOT there), a subquery's
/// condition needs one join instead of two.
enum class Truth { kExact, kNullIsFalse, kNullIsTrue };

/// One scope and clause. Not thread safe. Files: bind_expr.cc (dispatch, operators, CASE), bind_row.cc (row values),
/// bind_function.cc (calls), bind_subquery.cc (subqueries), bind_literal.cc (constants), bind_type.cc (type names, casts).
class ExprBinder {
 public:
  ExprBinder(BindContext& context, Binder& binder, ExprPlace place) : context_(context), binder_(binder), place_(place) {}

  arrow::Result<expr::ExprPtr> Bind(const Node& node);

  /// Binds and checks that the value is boolean (or NULL), as WHERE and CASE WHEN want.
  arrow::Result<expr::ExprPtr> BindCondition(const Node& node, std::string_view construct, Truth truth = Truth::kNullIsFalse);

  arrow::Result<std::vector<expr::ExprPtr>> BindList(const std::vector<Node>& nodes);

  /// The value of an expression without columns, cast to `type`; nullptr for NULL.
  arrow::Result<std::shared_ptr<arrow::Scalar>> BindConstantValue(const Node& node, const std::shared_ptr<arrow::DataType>& type);

 private:
  using ExprResult = arrow::Result<expr::ExprPtr>;

  ExprResult BindAs(const Node& node, Truth truth);
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

  // bind_row.cc
  ExprResult BindRowComparison(const Node& node, std::string_view name);
  ExprResult BindRowIn(const Node& node);
  arrow::Result<std::vector<expr::ExprPtr>> BindRow(const Node& node);
  ExprResult CompareRows(std::string_view name, const std::vector<expr::ExprPtr>& left, const std::vector<expr::ExprPtr>& right,
                         int offset);

  // bind_subquery.cc
  /// `left operation ANY (subquery)`, or ALL.
  struct Quantified {
    plan::PlanPtr subquery;
    std::vector<expr::ExprPtr> left;
    std::string operation;
    bool all = false;
    Truth truth = Truth::kExact;
    int offset = -1;
  };
  ExprResult BindSubLink(const Node& node);
  ExprResult BindInSubquery(const plan::PlanPtr& subquery, const expr::ExprPtr& left, int offset);
  ExprResult BindQuantified(const Quantified& test);
  /// A mark: the subquery has a row for which the condition, over the rows' columns and then its own, is true.
  ExprResult Exists(const plan::PlanPtr& subquery, expr::ExprPtr condition, int offset);
  ExprResult Apply(plan::PlanPtr subquery, expr::JoinType type, expr::JoinCondition condition, int offset);

  // bind_function.cc
  ExprResult BindFunction(const Node& node);
  ExprResult BindAggregateColumn(const Node& node, std::string_view name);
  ExprResult BindSqlValueFunction(const Node& node);

  ExprResult BindConstant(const Node& node);
  ExprResult BindParameter(const Node& node);
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
  Binder& binder_;
  const ExprPlace place_;
  Truth truth_ = Truth::kExact;  ///< of the node that is being bound
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
