// SPDX-License-Identifier: Apache-2.0
//
// Constants: numbers, strings, typed literals.
#include <arrow/scalar.h>
#include <arrow/util/decimal.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>

#include "expr/evaluate.h"
#include "expr/type_rules.h"
#include "sql/expr_binder.h"
#include "sql/interval_literal.h"

namespace icebound::sql {

using expr::ExprPtr;

namespace {

constexpr int kDecimalDigitsMax = 38;

/// 0x1F, 0o17, 0b11, with an optional sign: libpg_query leaves those beyond 32 bits as text. nullopt when the text is no such
/// number or does not fit.
std::optional<int64_t> PrefixedInteger(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  if (text.size() < 3 || text[0] != '0') return std::nullopt;
  const char letter = static_cast<char>(text[1] | 0x20);
  const int base = letter == 'x' ? 16 : letter == 'o' ? 8 : letter == 'b' ? 2 : 0;
  if (base == 0) return std::nullopt;
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data() + 2, text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return negative ? -value : value;
}

std::optional<int64_t> DecimalInteger(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

ExprPtr IntegerLiteral(int64_t value, int offset) {
  const bool fits_int32 = value >= std::numeric_limits<int32_t>::min() && value <= std::numeric_limits<int32_t>::max();
  if (fits_int32) return expr::MakeLiteral(std::make_shared<arrow::Int32Scalar>(static_cast<int32_t>(value)), {offset});
  return expr::MakeLiteral(std::make_shared<arrow::Int64Scalar>(value), {offset});
}

}  // namespace

arrow::Result<std::shared_ptr<arrow::Scalar>> DecimalFromText(std::string_view text) {
  const bool negative = text.starts_with('-');
  std::string_view digits_and_point = text;
  if (negative) digits_and_point.remove_prefix(1);
  const size_t point = digits_and_point.find('.');
  const std::string_view whole = digits_and_point.substr(0, point);
  const std::string_view fraction = point == std::string_view::npos ? std::string_view() : digits_and_point.substr(point + 1);
  std::string digits = std::string(whole) + std::string(fraction);
  digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size()));
  const int scale = static_cast<int>(fraction.size());
  const int precision = std::max({1, scale, static_cast<int>(digits.size())});
  if (precision > kDecimalDigitsMax) {
    return MakeError(ErrorKind::kInvalidInput,
                     "number has more than {} digits; write it with an exponent to get double precision", kDecimalDigitsMax);
  }
  arrow::Decimal128 value;
  if (!digits.empty()) {
    ARROW_ASSIGN_OR_RAISE(value, arrow::Decimal128::FromString(digits));
  }
  if (negative) value.Negate();
  const auto type = expr::DecimalType(precision, scale, /*narrow=*/true);
  if (type->id() == arrow::Type::DECIMAL64) {
    return std::make_shared<arrow::Decimal64Scalar>(arrow::Decimal64(static_cast<int64_t>(value.low_bits())), type);
  }
  return std::make_shared<arrow::Decimal128Scalar>(value, type);
}

arrow::Result<ExprPtr> ExprBinder::BindConstant(const Node& node) {
  ARROW_RETURN_NOT_OK(context_.OnlyFields(node, {"ival", "fval", "boolval", "sval", "bsval", "isnull", "location"}));
  const int offset = node.location();
  if (node.Flag("isnull")) return expr::MakeLiteral(std::make_shared<arrow::NullScalar>(), {offset});
  if (const Node value = node["ival"]) return IntegerLiteral(value.Integer("ival"), offset);
  if (const Node value = node["fval"]) return NumericLiteral(value.Text("fval"), offset);
  if (const Node value = node["boolval"]) {
    return expr::MakeLiteral(std::make_shared<arrow::BooleanScalar>(value.Flag("boolval")), {offset});
  }
  if (const Node value = node["sval"]) {
    return expr::MakeLiteral(std::make_shared<arrow::StringScalar>(std::string(value.Text("sval"))), {offset});
  }
  return context_.Unsupported(offset, "bit strings; bytes are written as '\\x1f'::bytea");
}

arrow::Result<ExprPtr> ExprBinder::BindParameter(const Node& node) {
  ARROW_RETURN_NOT_OK(context_.OnlyFields(node, {"number", "location"}));
  const int offset = node.location();
  const int64_t number = node.Integer("number");
  const auto& parameters = context_.options().parameters;
  if (number < 1 || number > static_cast<int64_t>(parameters.size())) {
    return context_.Invalid(offset, "there is no parameter ${}", number);
  }
  // A string takes its type from around it, as a quoted one does.
  ExprPtr value = expr::MakeLiteral(parameters[static_cast<size_t>(number) - 1], {offset});
  const auto logical = expr::LogicalType(value->type());
  if (value->type()->Equals(*logical)) return value;
  ARROW_ASSIGN_OR_RAISE(value, context_.Position(expr::MakeCast(std::move(value), logical, {offset}), offset));
  const expr::EvalContext evaluation{context_.options().pool, context_.options().statement_time_us};
  ARROW_ASSIGN_OR_RAISE(auto scalar, context_.Position(expr::EvaluateConstant(*value, evaluation), offset));
  return expr::MakeLiteral(std::move(scalar), {offset});
}

arrow::Result<ExprPtr> ExprBinder::NumericLiteral(std::string_view text, int offset) {
  std::string digits(text);
  digits.erase(std::remove(digits.begin(), digits.end(), '_'), digits.end());
  if (const auto value = PrefixedInteger(digits)) return IntegerLiteral(*value, offset);
  if (const auto value = DecimalInteger(digits)) return IntegerLiteral(*value, offset);
  if (digits.find_first_of("xXoObB") != std::string::npos) {
    return context_.Invalid(offset, "integer {} is out of range for bigint", text);
  }
  if (digits.find_first_of("eE") == std::string::npos) {
    ARROW_ASSIGN_OR_RAISE(auto scalar, context_.Position(DecimalFromText(digits), offset));
    return expr::MakeLiteral(std::move(scalar), {offset});
  }
  double value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || !std::isfinite(value)) {
    return context_.Invalid(offset, "\"{}\" is out of range for type double precision", text);
  }
  return expr::MakeLiteral(std::make_shared<arrow::DoubleScalar>(value), {offset});
}

arrow::Result<ExprPtr> ExprBinder::IntervalLiteral(std::string_view text, const Node& type_name, int offset) {
  const std::vector<Node> modifiers = type_name["typmods"].items();
  if (modifiers.size() > 1) return context_.Unsupported(type_name.location(), "intervals with a precision");
  const uint32_t fields =
      modifiers.empty() ? IntervalFields::kAll : static_cast<uint32_t>(modifiers.front()["ival"].Integer("ival"));
  ARROW_ASSIGN_OR_RAISE(const auto value, context_.Position(IntervalFromText(text, fields), offset));
  return expr::MakeLiteral(std::make_shared<arrow::MonthDayNanoIntervalScalar>(value), {offset});
}

arrow::Result<ExprPtr> ExprBinder::FoldLiteral(ExprPtr cast, int offset) {
  if (cast->kind() != expr::ExprKind::kCast || cast->children().front()->kind() != expr::ExprKind::kLiteral) return cast;
  // A bare string literal would take the type of its context, which 'x'::text must not.
  if (cast->type()->id() == arrow::Type::STRING) return cast;
  const expr::EvalContext evaluation{context_.options().pool, context_.options().statement_time_us};
  auto value = expr::EvaluateConstant(*cast, evaluation);
  if (!value.ok()) return context_.Position(value.status(), offset);
  return expr::MakeLiteral(std::move(value).MoveValueUnsafe(), {offset});
}

}  // namespace icebound::sql
