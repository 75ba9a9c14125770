// SPDX-License-Identifier: Apache-2.0
#include "expr/sql_text.h"

#include <arrow/util/checked_cast.h>

#include "expr/date_time_text.h"
#include "expr/decimal_block.h"
#include "expr/functions.h"
#include "expr/number_text.h"

namespace icebound::expr {

using arrow::Type;
using arrow::internal::checked_cast;

namespace {

std::string Quote(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'') quoted.push_back('\'');
    quoted.push_back(c);
  }
  return quoted + "'";
}

template <typename Append>
std::string Typed(std::string_view type, Append append) {
  std::string text;
  append(&text);
  return fmt::format("{} '{}'", type, text);
}

}  // namespace

std::string LiteralToSql(const arrow::Scalar& value) {
  if (!value.is_valid) return "NULL";
  std::string text;
  switch (value.type->id()) {
    case Type::BOOL:
      return checked_cast<const arrow::BooleanScalar&>(value).value ? "true" : "false";
    case Type::STRING:
      return Quote(checked_cast<const arrow::StringScalar&>(value).view());
    case Type::INT16:
    case Type::INT32:
    case Type::INT64:
    case Type::DECIMAL64:
    case Type::DECIMAL128:
      AppendDecimal(DecimalScalarValue(value), DecimalScale(*value.type), &text);
      return text;
    case Type::FLOAT:
      AppendFloat(ScalarValue<float>(value), &text);
      return text;
    case Type::DOUBLE:
      AppendDouble(ScalarValue<double>(value), &text);
      return text;
    case Type::DATE32:
      return Typed("DATE", [&](std::string* out) { AppendDate(ScalarValue<int32_t>(value), out); });
    case Type::TIME64: {
      const auto unit = checked_cast<const arrow::Time64Type&>(*value.type).unit();
      return Typed("TIME", [&](std::string* out) { AppendTime(ScalarValue<int64_t>(value), unit, out); });
    }
    case Type::TIMESTAMP: {
      const auto& type = checked_cast<const arrow::TimestampType&>(*value.type);
      return Typed(type.timezone().empty() ? "TIMESTAMP" : "TIMESTAMPTZ",
                   [&](std::string* out) { AppendTimestamp(ScalarValue<int64_t>(value), type, out); });
    }
    case Type::INTERVAL_MONTH_DAY_NANO:
      return Typed("INTERVAL", [&](std::string* out) { AppendInterval(ScalarValue<Interval>(value), out); });
    case Type::BINARY:
      AppendBytes(checked_cast<const arrow::BinaryScalar&>(value).view(), &text);
      return Quote(text);
    default:
      return value.ToString();
  }
}

namespace {

enum Precedence { kOr = 1, kAnd, kNot, kIs, kComparison, kPattern, kOtherOperator, kSum, kProduct, kPower, kUnary, kAtom };

struct OperatorSpelling {
  std::string_view name;
  std::string_view spelling;
  Precedence precedence;
};

const OperatorSpelling* FindInfix(std::string_view name) {
  static constexpr OperatorSpelling kInfix[] = {
      {"or", "OR", kOr},
      {"and", "AND", kAnd},
      {"=", "=", kComparison},
      {"<>", "<>", kComparison},
      {"<", "<", kComparison},
      {"<=", "<=", kComparison},
      {">", ">", kComparison},
      {">=", ">=", kComparison},
      {"is_distinct_from", "IS DISTINCT FROM", kIs},
      {"is_not_distinct_from", "IS NOT DISTINCT FROM", kIs},
      {"like", "LIKE", kPattern},
      {"not_like", "NOT LIKE", kPattern},
      {"ilike", "ILIKE", kPattern},
      {"not_ilike", "NOT ILIKE", kPattern},
      {"~", "~", kOtherOperator},
      {"~*", "~*", kOtherOperator},
      {"!~", "!~", kOtherOperator},
      {"!~*", "!~*", kOtherOperator},
      {"||", "||", kOtherOperator},
      {"+", "+", kSum},
      {"-", "-", kSum},
      {"*", "*", kProduct},
      {"/", "/", kProduct},
      {"%", "%", kProduct},
      {"^", "^", kPower},
  };
  for (const OperatorSpelling& spelling : kInfix) {
    if (spelling.name == name) return &spelling;
  }
  return nullptr;
}

std::string_view FindPostfix(std::string_view name) {
  static constexpr std::pair<std::string_view, std::string_view> kPostfix[] = {
      {"is_null", "IS NULL"},       {"is_not_null", "IS NOT NULL"},
      {"is_true", "IS TRUE"},       {"is_not_true", "IS NOT TRUE"},
      {"is_false", "IS FALSE"},     {"is_not_false", "IS NOT FALSE"},
      {"is_unknown", "IS UNKNOWN"}, {"is_not_unknown", "IS NOT UNKNOWN"}};
  for (const auto& [postfix, spelling] : kPostfix) {
    if (postfix == name) return spelling;
  }
  return {};
}

Precedence PrecedenceOf(const Expr& expr) {
  if (expr.kind() != ExprKind::kCall) return kAtom;
  const std::string_view name = checked_cast<const CallExpr&>(expr).name();
  if (const OperatorSpelling* infix = FindInfix(name); infix != nullptr && expr.children().size() >= 2) return infix->precedence;
  if (name == "not") return kNot;
  if (name == "in" || name == "not_in") return kPattern;
  if (!FindPostfix(name).empty()) return kIs;
  return name == "negate" ? kUnary : kAtom;
}

std::string Operand(const Expr& expr, int at_least) {
  return PrecedenceOf(expr) < at_least ? fmt::format("({})", expr.ToString()) : expr.ToString();
}

std::string JoinArguments(const CallExpr& call, size_t first) {
  std::string text;
  for (size_t i = first; i < call.children().size(); ++i) {
    if (i > first) text += ", ";
    text += call.children()[i]->ToString();
  }
  return text;
}

}  // namespace

std::string CallToSql(const CallExpr& call) {
  const std::string_view name = call.name();
  const auto& arguments = call.children();
  if (const OperatorSpelling* infix = FindInfix(name); infix != nullptr && arguments.size() >= 2) {
    const bool is_pattern = infix->precedence == kPattern;
    std::string text = Operand(*arguments[0], infix->precedence + (infix->precedence == kComparison ? 1 : 0));
    const size_t operands = is_pattern ? 2 : arguments.size();
    for (size_t i = 1; i < operands; ++i)
      text += fmt::format(" {} {}", infix->spelling, Operand(*arguments[i], infix->precedence + 1));
    if (is_pattern && arguments.size() == 3) text += fmt::format(" ESCAPE {}", arguments[2]->ToString());
    return text;
  }
  if (const std::string_view postfix = FindPostfix(name); !postfix.empty())
    return fmt::format("{} {}", Operand(*arguments[0], kIs + 1), postfix);
  if (name == "not") return "NOT " + Operand(*arguments[0], kNot);
  if (name == "negate") return "-" + Operand(*arguments[0], kUnary + 1);
  if (name == "in" || name == "not_in") {
    return fmt::format("{} {} ({})", Operand(*arguments[0], kPattern + 1), name == "in" ? "IN" : "NOT IN",
                       JoinArguments(call, 1));
  }
  if (name == "extract" && arguments[0]->kind() == ExprKind::kLiteral) {
    const auto& field = checked_cast<const LiteralExpr&>(*arguments[0]).value();
    return fmt::format("EXTRACT({} FROM {})", field->ToString(), arguments[1]->ToString());
  }
  return fmt::format("{}({})", name, JoinArguments(call, 0));
}

}  // namespace icebound::expr
