// SPDX-License-Identifier: Apache-2.0
//
// Type names and casts.
#include <arrow/extension/uuid.h>
#include <arrow/type.h>

#include <algorithm>
#include <array>

#include "expr/type_rules.h"
#include "sql/expr_binder.h"
#include "sql/nearest_name.h"

namespace icebound::sql {

using expr::ExprPtr;

namespace {

constexpr int kDecimalDigitsMax = 38;

enum class SqlType {
  kBoolean,
  kInt16,
  kInt32,
  kInt64,
  kFloat,
  kDouble,
  kNumeric,
  kText,
  kVarchar,
  kBinary,
  kUuid,
  kDate,
  kTime,
  kTimestamp,
  kTimestampTz,
  kInterval
};

struct TypeRow {
  std::string_view name;  ///< as written; the parser turns SQL's keywords into PostgreSQL's internal names
  SqlType type;
};
constexpr std::array kTypes = {
    TypeRow{"bool", SqlType::kBoolean},        TypeRow{"boolean", SqlType::kBoolean},
    TypeRow{"int", SqlType::kInt32},           TypeRow{"int2", SqlType::kInt16},
    TypeRow{"smallint", SqlType::kInt16},      TypeRow{"int4", SqlType::kInt32},
    TypeRow{"integer", SqlType::kInt32},       TypeRow{"int8", SqlType::kInt64},
    TypeRow{"bigint", SqlType::kInt64},        TypeRow{"long", SqlType::kInt64},
    TypeRow{"float4", SqlType::kFloat},        TypeRow{"real", SqlType::kFloat},
    TypeRow{"float8", SqlType::kDouble},       TypeRow{"double", SqlType::kDouble},
    TypeRow{"numeric", SqlType::kNumeric},     TypeRow{"decimal", SqlType::kNumeric},
    TypeRow{"text", SqlType::kText},           TypeRow{"string", SqlType::kText},
    TypeRow{"varchar", SqlType::kVarchar},     TypeRow{"bytea", SqlType::kBinary},
    TypeRow{"binary", SqlType::kBinary},       TypeRow{"uuid", SqlType::kUuid},
    TypeRow{"date", SqlType::kDate},           TypeRow{"time", SqlType::kTime},
    TypeRow{"timestamp", SqlType::kTimestamp}, TypeRow{"timestamptz", SqlType::kTimestampTz},
    TypeRow{"interval", SqlType::kInterval},
};
// Types that PostgreSQL has and that are known to be missing here, so that they are not reported as typing errors.
constexpr std::array<std::string_view, 12> kMissingTypes = {"bpchar", "char",   "timetz", "json", "jsonb", "money",
                                                            "bit",    "varbit", "xml",    "name", "oid",   "inet"};

const TypeRow* FindType(std::string_view name) {
  const auto found = std::find_if(kTypes.begin(), kTypes.end(), [&](const TypeRow& row) { return row.name == name; });
  return found == kTypes.end() ? nullptr : &*found;
}

/// The integer constants of (10, 2); false when one is something else.
bool IntegerModifiers(const Node& type_name, std::vector<int64_t>* values) {
  for (const Node& modifier : type_name["typmods"].items()) {
    if (!modifier.Is("A_Const") || !modifier["ival"]) return false;
    values->push_back(modifier["ival"].Integer("ival"));
  }
  return true;
}

arrow::Result<std::shared_ptr<arrow::DataType>> TimestampType(const BindContext& context, const Node& type_name,
                                                              const std::vector<int64_t>& modifiers, const std::string& zone) {
  const int64_t digits = modifiers.empty() ? 6 : modifiers.front();
  if (digits == 6) return arrow::timestamp(arrow::TimeUnit::MICRO, zone);
  if (digits == 9) return arrow::timestamp(arrow::TimeUnit::NANO, zone);
  return context.Unsupported(type_name.location(), fmt::format("timestamp({}); there are 6 and 9 (nanoseconds)", digits));
}

arrow::Result<std::shared_ptr<arrow::DataType>> NumericType(const BindContext& context, const Node& type_name,
                                                            const std::vector<int64_t>& modifiers) {
  const int64_t precision = modifiers.empty() ? kDecimalDigitsMax : modifiers[0];
  const int64_t scale = modifiers.size() > 1 ? modifiers[1] : 0;
  if (modifiers.size() > 2) return context.Invalid(type_name.location(), "invalid NUMERIC type modifier");
  if (precision < 1 || precision > kDecimalDigitsMax) {
    return context.Invalid(type_name.location(), "NUMERIC precision {} must be between 1 and {}", precision, kDecimalDigitsMax);
  }
  if (scale < 0 || scale > precision) {
    return context.Invalid(type_name.location(), "NUMERIC scale {} must be between 0 and precision {}", scale, precision);
  }
  return expr::DecimalType(static_cast<int>(precision), static_cast<int>(scale), /*narrow=*/true);
}

arrow::Result<const TypeRow*> LookUpType(const BindContext& context, const Node& type_name) {
  const int offset = type_name.location();
  ARROW_RETURN_NOT_OK(context.OnlyFields(type_name, {"names", "typmods", "typemod", "arrayBounds", "location"}));
  const std::vector<std::string> parts = NameParts(type_name["names"]);
  if (parts.size() > 2 || (parts.size() == 2 && parts.front() != "pg_catalog")) {
    return context.Invalid(offset, "schema \"{}\" of type {} does not exist", parts.front(), parts.back());
  }
  const std::string& name = parts.back();
  if (type_name["arrayBounds"]) return context.Unsupported(offset, fmt::format("casts to lists ({}[])", name));
  if (const TypeRow* row = FindType(name)) return row;
  if (std::find(kMissingTypes.begin(), kMissingTypes.end(), name) != kMissingTypes.end()) {
    return context.Unsupported(offset, fmt::format("type {}{}",
                                                   name == "bpchar"   ? "char(n)"
                                                   : name == "timetz" ? "time with time zone"
                                                                      : name,
                                                   name == "bpchar" ? "; varchar(n) or text hold strings" : ""));
  }
  std::vector<std::string> names;
  for (const TypeRow& row : kTypes) names.emplace_back(row.name);
  return context.Invalid(offset, "type \"{}\" does not exist{}", name, SuggestionText(name, names));
}

bool IsStringLiteral(const expr::Expr& value) {
  return value.kind() == expr::ExprKind::kLiteral && value.type()->id() == arrow::Type::STRING &&
         static_cast<const expr::LiteralExpr&>(value).value()->is_valid;
}

std::string StringOf(const expr::Expr& literal) {
  const auto& scalar = *static_cast<const expr::LiteralExpr&>(literal).value();
  return std::string(static_cast<const arrow::StringScalar&>(scalar).view());
}

}  // namespace

std::string InternalTypeName(const Node& type_name) { return std::string(type_name["names"].items().back().Text("sval")); }

arrow::Result<std::shared_ptr<arrow::DataType>> BindTypeName(const BindContext& context, const Node& type_name) {
  ARROW_ASSIGN_OR_RAISE(const TypeRow* row, LookUpType(context, type_name));
  const int offset = type_name.location();
  std::vector<int64_t> modifiers;
  if (!IntegerModifiers(type_name, &modifiers)) return context.Invalid(offset, "type modifiers must be simple integer constants");
  const bool takes_modifiers = row->type == SqlType::kNumeric || row->type == SqlType::kVarchar ||
                               row->type == SqlType::kTimestamp || row->type == SqlType::kTimestampTz ||
                               row->type == SqlType::kInterval;
  if (!modifiers.empty() && !takes_modifiers) {
    if (row->type == SqlType::kTime) return context.Unsupported(offset, "time with a precision");
    return context.Invalid(offset, "type modifier is not allowed for type \"{}\"", row->name);
  }
  switch (row->type) {
    case SqlType::kBoolean:
      return arrow::boolean();
    case SqlType::kInt16:
      return arrow::int16();
    case SqlType::kInt32:
      return arrow::int32();
    case SqlType::kInt64:
      return arrow::int64();
    case SqlType::kFloat:
      return arrow::float32();
    case SqlType::kDouble:
      return arrow::float64();
    case SqlType::kNumeric:
      return NumericType(context, type_name, modifiers);
    case SqlType::kText:
    case SqlType::kVarchar:
      return arrow::utf8();
    case SqlType::kBinary:
      return arrow::binary();
    case SqlType::kUuid:
      return arrow::extension::uuid();
    case SqlType::kDate:
      return arrow::date32();
    case SqlType::kTime:
      return arrow::time64(arrow::TimeUnit::MICRO);
    case SqlType::kTimestamp:
      return TimestampType(context, type_name, modifiers, "");
    case SqlType::kTimestampTz:
      return TimestampType(context, type_name, modifiers, "UTC");
    case SqlType::kInterval:
      return arrow::month_day_nano_interval();
  }
  return context.Unsupported(offset, row->name);
}

arrow::Result<ExprPtr> ExprBinder::BindTypeCast(const Node& node) {
  ARROW_RETURN_NOT_OK(context_.OnlyFields(node, {"arg", "typeName", "location"}));
  ARROW_ASSIGN_OR_RAISE(ExprPtr value, Bind(node["arg"]));
  const Node type_name = node["typeName"];
  // The parser gives `date '2020-01-01'` no location of its own.
  const int offset = node.location() >= 0 ? node.location() : type_name.location();
  return CastTo(std::move(value), type_name, offset);
}

arrow::Result<ExprPtr> ExprBinder::CastTo(ExprPtr value, const Node& type_name, int offset) {
  ARROW_ASSIGN_OR_RAISE(const TypeRow* row, LookUpType(context_, type_name));
  ARROW_ASSIGN_OR_RAISE(auto type, BindTypeName(context_, type_name));
  const int value_offset = value->position().offset >= 0 ? value->position().offset : offset;
  if (row->type == SqlType::kInterval) {
    if (IsStringLiteral(*value)) return IntervalLiteral(StringOf(*value), type_name, value_offset);
    if (type_name["typmods"]) {
      return context_.Unsupported(type_name.location(), "interval fields in the cast of a value that is no literal");
    }
  }
  if (row->type == SqlType::kVarchar && type_name["typmods"]) return CastToVarchar(std::move(value), type_name, offset);
  if (row->type == SqlType::kNumeric && !type_name["typmods"]) return CastToNumeric(std::move(value), type_name, offset);
  const bool literal = value->kind() == expr::ExprKind::kLiteral;
  ARROW_ASSIGN_OR_RAISE(ExprPtr cast,
                        context_.Position(expr::MakeCast(std::move(value), type, {offset}), literal ? value_offset : offset));
  return literal ? FoldLiteral(std::move(cast), value_offset) : cast;
}

arrow::Result<ExprPtr> ExprBinder::CastToNumeric(ExprPtr value, const Node& type_name, int offset) {
  const expr::TypeClass from = expr::ClassOf(*value->type());
  if (from == expr::TypeClass::kDecimal || value->type()->id() == arrow::Type::NA) return value;
  if (expr::IsInteger(from)) {
    const auto type = expr::DecimalType(expr::DecimalDigits(*value->type()), 0, /*narrow=*/true);
    return context_.Position(expr::MakeCast(std::move(value), type, {offset}), offset);
  }
  if (IsStringLiteral(*value)) {
    std::string text = StringOf(*value);
    const int value_offset = value->position().offset;
    const size_t begin = text.find_first_not_of(" \t\n\r");
    const size_t end = text.find_last_not_of(" \t\n\r");
    text = begin == std::string::npos ? std::string() : text.substr(begin, end - begin + 1);
    const std::string_view digits = std::string_view(text).substr(text.starts_with('-') || text.starts_with('+') ? 1 : 0);
    const bool plain = digits.find_first_not_of("0123456789.") == std::string_view::npos &&
                       std::count(digits.begin(), digits.end(), '.') <= 1 &&
                       digits.find_first_of("0123456789") != std::string_view::npos;
    if (!plain) return context_.Invalid(value_offset, "invalid input syntax for type numeric: \"{}\"", text);
    if (text.starts_with('+')) text.erase(0, 1);
    ARROW_ASSIGN_OR_RAISE(auto scalar, context_.Position(DecimalFromText(text), value_offset));
    return expr::MakeLiteral(std::move(scalar), {value_offset});
  }
  // Without bounds PostgreSQL's numeric keeps every digit, which a fixed-size decimal cannot promise for these types.
  return context_.Unsupported(type_name.location(),
                              fmt::format("a cast from {} to numeric without precision and scale; write numeric(38, 10)",
                                          expr::SqlTypeName(*value->type())));
}

arrow::Result<ExprPtr> ExprBinder::CastToVarchar(ExprPtr value, const Node& type_name, int offset) {
  std::vector<int64_t> modifiers;
  IntegerModifiers(type_name, &modifiers);
  if (modifiers.size() != 1 || modifiers.front() < 1) {
    return context_.Invalid(type_name.location(), "length for type varchar must be at least 1");
  }
  ARROW_ASSIGN_OR_RAISE(ExprPtr text, context_.Position(expr::MakeCast(std::move(value), arrow::utf8(), {offset}), offset));
  // An explicit cast cuts longer strings without an error.
  ExprPtr length = expr::MakeLiteral(
      std::make_shared<arrow::Int32Scalar>(static_cast<int32_t>(std::min<int64_t>(modifiers.front(), INT32_MAX))), {offset});
  return Call("left", {std::move(text), std::move(length)}, offset);
}

}  // namespace icebound::sql
