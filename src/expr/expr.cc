// SPDX-License-Identifier: Apache-2.0
#include "expr/expr.h"

#include <arrow/util/checked_cast.h>

#include <algorithm>

#include "base/error.h"
#include "expr/date_time_text.h"
#include "expr/decimal_block.h"
#include "expr/functions.h"
#include "expr/sql_text.h"
#include "expr/type_rules.h"

namespace icebound::expr {

using arrow::internal::checked_cast;

ColumnExpr::ColumnExpr(int index, std::string name, TypePtr type, TextPosition position)
    : Expr(ExprKind::kColumn, std::move(type), {}, position), index_(index), name_(std::move(name)) {}

std::string ColumnExpr::ToString() const { return name_; }

ExprPtr ColumnExpr::WithChildren(std::vector<ExprPtr>) const {
  return std::make_shared<ColumnExpr>(index_, name_, type(), position());
}

LiteralExpr::LiteralExpr(std::shared_ptr<arrow::Scalar> value, TextPosition position)
    : Expr(ExprKind::kLiteral, value->type, {}, position), value_(std::move(value)) {}

std::string LiteralExpr::ToString() const { return LiteralToSql(*value_); }

ExprPtr LiteralExpr::WithChildren(std::vector<ExprPtr>) const { return std::make_shared<LiteralExpr>(value_, position()); }

CallExpr::CallExpr(const Function* function, std::vector<ExprPtr> arguments, TypePtr type, TextPosition position)
    : Expr(ExprKind::kCall, std::move(type), std::move(arguments), position),
      function_(function),
      prepared_(function->prepare == nullptr ? nullptr : function->prepare(children())) {}

std::string_view CallExpr::name() const { return function_->name; }

std::string CallExpr::ToString() const { return CallToSql(*this); }

ExprPtr CallExpr::WithChildren(std::vector<ExprPtr> children) const {
  return std::make_shared<CallExpr>(function_, std::move(children), type(), position());
}

CastExpr::CastExpr(ExprPtr child, TypePtr type, TextPosition position)
    : Expr(ExprKind::kCast, std::move(type), {std::move(child)}, position) {}

std::string CastExpr::ToString() const { return fmt::format("CAST({} AS {})", children()[0]->ToString(), SqlTypeName(*type())); }

ExprPtr CastExpr::WithChildren(std::vector<ExprPtr> children) const {
  return std::make_shared<CastExpr>(std::move(children.front()), type(), position());
}

CaseExpr::CaseExpr(std::vector<ExprPtr> conditions_values_else, TextPosition position)
    : Expr(ExprKind::kCase, LogicalType(conditions_values_else.back()->type()), conditions_values_else, position) {}

std::string CaseExpr::ToString() const {
  std::string text = "CASE";
  for (size_t i = 0; i + 1 < children().size(); i += 2) {
    text += fmt::format(" WHEN {} THEN {}", children()[i]->ToString(), children()[i + 1]->ToString());
  }
  return text + fmt::format(" ELSE {} END", children().back()->ToString());
}

ExprPtr CaseExpr::WithChildren(std::vector<ExprPtr> children) const {
  return std::make_shared<CaseExpr>(std::move(children), position());
}

OuterColumnExpr::OuterColumnExpr(int levels_up, int index, std::string name, TypePtr type, TextPosition position)
    : Expr(ExprKind::kOuterColumn, LogicalType(type), {}, position),
      levels_up_(levels_up),
      index_(index),
      name_(std::move(name)) {}

std::string OuterColumnExpr::ToString() const { return fmt::format("outer({})", name_); }

ExprPtr OuterColumnExpr::WithChildren(std::vector<ExprPtr>) const {
  return std::make_shared<OuterColumnExpr>(levels_up_, index_, name_, type(), position());
}

arrow::Result<ExprPtr> Transform(const ExprPtr& expr, const std::function<arrow::Result<ExprPtr>(const ExprPtr&)>& replace) {
  std::vector<ExprPtr> children;
  bool changed = false;
  children.reserve(expr->children().size());
  for (const ExprPtr& child : expr->children()) {
    ARROW_ASSIGN_OR_RAISE(ExprPtr rewritten, Transform(child, replace));
    changed |= rewritten != child;
    children.push_back(std::move(rewritten));
  }
  return replace(changed ? expr->WithChildren(std::move(children)) : expr);
}

ExprPtr WithoutPositions(const ExprPtr& expr) {
  std::vector<ExprPtr> children;
  for (const ExprPtr& child : expr->children()) children.push_back(WithoutPositions(child));
  switch (expr->kind()) {
    case ExprKind::kColumn: {
      const auto& column = checked_cast<const ColumnExpr&>(*expr);
      return std::make_shared<ColumnExpr>(column.index(), column.name(), column.type());
    }
    case ExprKind::kLiteral:
      return std::make_shared<LiteralExpr>(checked_cast<const LiteralExpr&>(*expr).value());
    case ExprKind::kCall: {
      const auto& call = checked_cast<const CallExpr&>(*expr);
      return std::make_shared<CallExpr>(&call.function(), std::move(children), call.type());
    }
    case ExprKind::kCast:
      return std::make_shared<CastExpr>(std::move(children[0]), expr->type());
    case ExprKind::kCase:
      return std::make_shared<CaseExpr>(std::move(children));
    case ExprKind::kOuterColumn: {
      const auto& outer = checked_cast<const OuterColumnExpr&>(*expr);
      return std::make_shared<OuterColumnExpr>(outer.levels_up(), outer.index(), outer.name(), outer.type());
    }
  }
  return expr;
}

namespace {

void CollectColumns(const Expr& expr, std::vector<int>* columns) {
  if (expr.kind() == ExprKind::kColumn) columns->push_back(checked_cast<const ColumnExpr&>(expr).index());
  for (const ExprPtr& child : expr.children()) CollectColumns(*child, columns);
}

}  // namespace

std::vector<int> ReferencedColumns(const Expr& expr) {
  std::vector<int> columns;
  CollectColumns(expr, &columns);
  std::sort(columns.begin(), columns.end());
  columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
  return columns;
}

arrow::Result<ExprPtr> RemapColumns(const ExprPtr& expr, const std::vector<int>& mapping) {
  return Transform(expr, [&](const ExprPtr& node) -> arrow::Result<ExprPtr> {
    if (node->kind() != ExprKind::kColumn) return node;
    const auto& column = checked_cast<const ColumnExpr&>(*node);
    if (column.index() < 0 || static_cast<size_t>(column.index()) >= mapping.size() || mapping[column.index()] < 0) {
      return MakeError(ErrorKind::kInternal, "column {} (\"{}\") has no place in the new schema", column.index(), column.name());
    }
    if (mapping[column.index()] == column.index()) return node;
    return std::make_shared<ColumnExpr>(mapping[column.index()], column.name(), column.type(), column.position());
  });
}

bool Equals(const Expr& left, const Expr& right) {
  if (&left == &right) return true;
  if (left.kind() != right.kind() || left.children().size() != right.children().size() || !left.type()->Equals(*right.type()))
    return false;
  switch (left.kind()) {
    case ExprKind::kColumn:
      if (checked_cast<const ColumnExpr&>(left).index() != checked_cast<const ColumnExpr&>(right).index()) return false;
      break;
    case ExprKind::kLiteral:
      if (!checked_cast<const LiteralExpr&>(left).value()->Equals(
              *checked_cast<const LiteralExpr&>(right).value(),
              arrow::EqualOptions::Defaults().nans_equal(true).signed_zeros_equal(false))) {
        return false;
      }
      break;
    case ExprKind::kCall:
      if (&checked_cast<const CallExpr&>(left).function() != &checked_cast<const CallExpr&>(right).function()) return false;
      break;
    case ExprKind::kOuterColumn: {
      const auto& left_column = checked_cast<const OuterColumnExpr&>(left);
      const auto& right_column = checked_cast<const OuterColumnExpr&>(right);
      if (left_column.levels_up() != right_column.levels_up() || left_column.index() != right_column.index()) return false;
      break;
    }
    case ExprKind::kCast:
    case ExprKind::kCase:
      break;
  }
  for (size_t i = 0; i < left.children().size(); ++i) {
    if (!Equals(*left.children()[i], *right.children()[i])) return false;
  }
  return true;
}

namespace {

bool AllNodes(const Expr& expr, bool (*test)(const Expr& node)) {
  if (!test(expr)) return false;
  return std::all_of(expr.children().begin(), expr.children().end(),
                     [test](const ExprPtr& child) { return AllNodes(*child, test); });
}

Volatility VolatilityOf(const Expr& node) {
  return node.kind() == ExprKind::kCall ? checked_cast<const CallExpr&>(node).function().volatility : Volatility::kImmutable;
}

/// True when a cast between these types has a result for every value.
bool CastNeverFails(const arrow::DataType& from, const arrow::DataType& to) {
  const TypeClass source = ClassOf(from), target = ClassOf(to);
  if (target == TypeClass::kText && source < TypeClass::kList) return true;
  if (source == TypeClass::kText || source >= TypeClass::kList) return from.Equals(to);
  if (IsInteger(source) && IsInteger(target)) return source <= target;
  if (IsNumeric(source) && target == TypeClass::kDouble) return true;
  if (target == TypeClass::kDecimal && (IsInteger(source) || source == TypeClass::kDecimal)) {
    const auto& decimal = checked_cast<const arrow::DecimalType&>(to);
    return decimal.scale() >= DecimalScale(from) &&
           decimal.precision() - decimal.scale() >= DecimalDigits(from) - DecimalScale(from);
  }
  if ((source == TypeClass::kTimestamp || source == TypeClass::kTimestampTz) && target == TypeClass::kDate) return true;
  return source == target && from.Equals(to);
}

}  // namespace

bool IsDeterministic(const Expr& expr) {
  return AllNodes(expr, [](const Expr& node) { return VolatilityOf(node) == Volatility::kImmutable; });
}

bool IsConstant(const Expr& expr) {
  return AllNodes(expr, [](const Expr& node) {
    return node.kind() != ExprKind::kColumn && node.kind() != ExprKind::kOuterColumn &&
           VolatilityOf(node) != Volatility::kVolatile;
  });
}

bool CanFail(const Expr& expr) {
  return !AllNodes(expr, [](const Expr& node) {
    if (node.kind() == ExprKind::kCast) return CastNeverFails(*node.children()[0]->type(), *node.type());
    if (node.kind() != ExprKind::kCall) return true;
    const auto& call = checked_cast<const CallExpr&>(node);
    const Function& function = call.function();
    return !function.can_fail || (function.never_fails != nullptr && function.never_fails(call));
  });
}

}  // namespace icebound::expr
