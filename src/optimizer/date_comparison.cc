// SPDX-License-Identifier: Apache-2.0
#include "optimizer/date_comparison.h"

#include <arrow/scalar.h>

#include <limits>
#include <optional>
#include <string_view>

namespace icebound::optimizer {

using expr::ExprKind;
using expr::ExprPtr;

namespace {

/// Midnights around an instant.
struct Days {
  int64_t before;  ///< the last midnight not after it
  int64_t after;   ///< the first midnight not before it
};

std::optional<Days> DaysAround(const expr::Expr& expr) {
  if (expr.kind() != ExprKind::kLiteral || expr.type()->id() != arrow::Type::TIMESTAMP) return std::nullopt;
  const auto& type = static_cast<const arrow::TimestampType&>(*expr.type());
  const auto& scalar = static_cast<const arrow::TimestampScalar&>(*static_cast<const expr::LiteralExpr&>(expr).value());
  if (!scalar.is_valid || !type.timezone().empty()) return std::nullopt;
  int64_t units_a_day = 86'400;
  for (int step = 0; step < static_cast<int>(type.unit()); ++step) units_a_day *= 1000;
  const int64_t before = scalar.value / units_a_day - (scalar.value % units_a_day < 0 ? 1 : 0);
  return Days{before, scalar.value % units_a_day == 0 ? before : before + 1};
}

/// The date that is cast to a timestamp; nullptr when the expression is something else.
ExprPtr CastDate(const expr::Expr& expr) {
  if (expr.kind() != ExprKind::kCast || expr.type()->id() != arrow::Type::TIMESTAMP) return nullptr;
  if (!static_cast<const arrow::TimestampType&>(*expr.type()).timezone().empty()) return nullptr;
  const ExprPtr& child = expr.children().front();
  return child->type()->id() == arrow::Type::DATE32 ? child : nullptr;
}

std::string_view Mirrored(std::string_view name) {
  if (name == "<") return ">";
  if (name == "<=") return ">=";
  if (name == ">") return "<";
  return name == ">=" ? "<=" : name;
}

}  // namespace

ExprPtr AsDateComparison(const ExprPtr& expr) {
  if (expr->kind() != ExprKind::kCall || expr->children().size() != 2) return expr;
  std::string_view name = static_cast<const expr::CallExpr&>(*expr).name();
  if (name != "<" && name != "<=" && name != ">" && name != ">=" && name != "=" && name != "<>") return expr;
  ExprPtr date = CastDate(*expr->children()[0]);
  std::optional<Days> days = DaysAround(*expr->children()[1]);
  if (date == nullptr || !days) {
    date = CastDate(*expr->children()[1]);
    days = DaysAround(*expr->children()[0]);
    name = Mirrored(name);
  }
  if (date == nullptr || !days) return expr;
  // No date is equal to an instant that is no midnight.
  if ((name == "=" || name == "<>") && days->before != days->after) return expr;
  const int64_t day = name == "<" || name == ">=" ? days->after : days->before;
  if (day < std::numeric_limits<int32_t>::min() || day > std::numeric_limits<int32_t>::max()) return expr;
  auto compared =
      expr::MakeCall(name, {std::move(date), expr::MakeLiteral(std::make_shared<arrow::Date32Scalar>(static_cast<int32_t>(day)))},
                     expr->position());
  return compared.ok() ? *compared : expr;
}

}  // namespace icebound::optimizer
