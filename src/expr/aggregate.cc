// SPDX-License-Identifier: Apache-2.0
#include "expr/aggregate.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "expr/decimal_block.h"
#include "expr/resolve.h"
#include "expr/type_rules.h"

namespace icebound::expr {
namespace {

struct AggregateName {
  std::string_view name;
  AggregateKind kind;
};

/// The first name of a kind is how it is shown. count(*) has no name of its own.
constexpr AggregateName kNames[] = {
    {"count", AggregateKind::kCount},
    {"sum", AggregateKind::kSum},
    {"avg", AggregateKind::kAvg},
    {"min", AggregateKind::kMin},
    {"max", AggregateKind::kMax},
    {"stddev_samp", AggregateKind::kStddevSamp},
    {"stddev", AggregateKind::kStddevSamp},
    {"stddev_pop", AggregateKind::kStddevPop},
    {"var_samp", AggregateKind::kVarSamp},
    {"variance", AggregateKind::kVarSamp},
    {"var_pop", AggregateKind::kVarPop},
    {"bool_and", AggregateKind::kBoolAnd},
    {"every", AggregateKind::kBoolAnd},
    {"bool_or", AggregateKind::kBoolOr},
    {"first", AggregateKind::kFirst},
    {"last", AggregateKind::kLast},
    {"any_value", AggregateKind::kAnyValue},
    {"array_agg", AggregateKind::kArrayAgg},
    {"string_agg", AggregateKind::kStringAgg},
};

constexpr int kSumDigits = 38;

std::string_view NameOf(AggregateKind kind) {
  for (const AggregateName& entry : kNames) {
    if (entry.kind == kind) return entry.name;
  }
  return "count";
}

std::string DescribeCall(std::string_view name, const std::vector<ExprPtr>& arguments) {
  std::vector<std::string> types;
  for (const ExprPtr& argument : arguments) {
    types.push_back(IsUntypedLiteral(*argument) ? "unknown" : SqlFamilyName(*argument->type()));
  }
  return fmt::format("function {}({})", name, fmt::join(types, ", "));
}

arrow::Status NoSuchAggregate(std::string_view name, const std::vector<ExprPtr>& arguments) {
  return MakeError(ErrorKind::kInvalidInput,
                   "{} does not exist; no candidate matches the argument types, explicit casts may help",
                   DescribeCall(name, arguments));
}

/// Whether values of the type have an order: maps and what holds them have none.
bool HasOrder(const arrow::DataType& type) {
  if (type.id() == arrow::Type::MAP || ClassOf(type) == TypeClass::kOther) return false;
  return std::all_of(type.fields().begin(), type.fields().end(), [](const auto& field) { return HasOrder(*field->type()); });
}

TypePtr SumType(const arrow::DataType& type) {
  const TypeClass type_class = ClassOf(type);
  if (type_class == TypeClass::kInt16 || type_class == TypeClass::kInt32) return arrow::int64();
  if (type_class == TypeClass::kInt64) return arrow::decimal128(kSumDigits, 0);
  if (type_class == TypeClass::kDecimal) return arrow::decimal128(kSumDigits, DecimalScale(type));
  return type_class == TypeClass::kInterval ? arrow::month_day_nano_interval() : arrow::float64();
}

/// The type that `/` gives to sum(x) / count(x), where sums of integers are numeric.
arrow::Result<TypePtr> AverageType(const arrow::DataType& type) {
  TypePtr sum = SumType(type);
  if (sum->id() == arrow::Type::INT64) sum = arrow::decimal128(kSumDigits, 0);
  if (!arrow::is_decimal(sum->id())) return sum;
  ARROW_ASSIGN_OR_RAISE(const ExprPtr quotient, MakeCall("/", {std::make_shared<ColumnExpr>(0, "sum", sum),
                                                               std::make_shared<ColumnExpr>(1, "count", arrow::int64())}));
  return quotient->type();
}

/// The only argument in the shape that the kind works on.
arrow::Result<ExprPtr> Number(std::string_view name, const std::vector<ExprPtr>& arguments, bool intervals) {
  const ExprPtr& argument = arguments.front();
  if (IsUntypedLiteral(*argument)) {
    return MakeError(ErrorKind::kInvalidInput, "{} is not unique; explicit casts may help", DescribeCall(name, arguments));
  }
  const TypePtr type = LogicalType(argument->type());
  const TypeClass type_class = ClassOf(*type);
  if (!IsNumeric(type_class) && !(intervals && type_class == TypeClass::kInterval)) return NoSuchAggregate(name, arguments);
  return CoerceTo(argument, type);
}

arrow::Result<ExprPtr> Any(const ExprPtr& argument) {
  return CoerceTo(argument, IsUntypedLiteral(*argument) ? arrow::utf8() : LogicalType(argument->type()));
}

arrow::Result<ExprPtr> OfClass(std::string_view name, const std::vector<ExprPtr>& arguments, size_t at, TypeClass wanted) {
  const ExprPtr& argument = arguments[at];
  if (!IsUntypedLiteral(*argument) && ClassOf(*LogicalType(argument->type())) != wanted) return NoSuchAggregate(name, arguments);
  return CoerceTo(argument, wanted == TypeClass::kText ? arrow::utf8() : arrow::boolean());
}

/// Sets arguments and type of a call whose kind and number of arguments are right.
arrow::Status TypeCall(std::string_view name, const std::vector<ExprPtr>& arguments, AggregateCall* call) {
  ExprPtr argument;
  switch (call->kind) {
    case AggregateKind::kCountStar:
      call->type = arrow::int64();
      return arrow::Status::OK();
    case AggregateKind::kCount: {
      ARROW_ASSIGN_OR_RAISE(argument, Any(arguments.front()));
      call->type = arrow::int64();
      break;
    }
    case AggregateKind::kSum:
    case AggregateKind::kAvg: {
      ARROW_ASSIGN_OR_RAISE(argument, Number(name, arguments, /*intervals=*/true));
      if (call->kind == AggregateKind::kSum) {
        call->type = SumType(*argument->type());
      } else {
        ARROW_ASSIGN_OR_RAISE(call->type, AverageType(*argument->type()));
      }
      if (call->type->id() == arrow::Type::DOUBLE) {
        ARROW_ASSIGN_OR_RAISE(argument, CoerceTo(std::move(argument), arrow::float64()));
      }
      break;
    }
    case AggregateKind::kStddevSamp:
    case AggregateKind::kStddevPop:
    case AggregateKind::kVarSamp:
    case AggregateKind::kVarPop: {
      ARROW_ASSIGN_OR_RAISE(argument, Number(name, arguments, /*intervals=*/false));
      ARROW_ASSIGN_OR_RAISE(argument, CoerceTo(std::move(argument), arrow::float64()));
      call->type = arrow::float64();
      break;
    }
    case AggregateKind::kBoolAnd:
    case AggregateKind::kBoolOr: {
      ARROW_ASSIGN_OR_RAISE(argument, OfClass(name, arguments, 0, TypeClass::kBoolean));
      call->type = arrow::boolean();
      break;
    }
    case AggregateKind::kMin:
    case AggregateKind::kMax:
    case AggregateKind::kFirst:
    case AggregateKind::kLast:
    case AggregateKind::kAnyValue: {
      ARROW_ASSIGN_OR_RAISE(argument, Any(arguments.front()));
      call->type = LogicalType(argument->type());
      const bool compares = call->kind == AggregateKind::kMin || call->kind == AggregateKind::kMax;
      if (compares && !HasOrder(*call->type)) return NoSuchAggregate(name, arguments);
      break;
    }
    case AggregateKind::kArrayAgg: {
      ARROW_ASSIGN_OR_RAISE(argument, Any(arguments.front()));
      call->type = arrow::list(LogicalType(argument->type()));
      break;
    }
    case AggregateKind::kStringAgg: {
      ARROW_ASSIGN_OR_RAISE(argument, OfClass(name, arguments, 0, TypeClass::kText));
      ARROW_ASSIGN_OR_RAISE(ExprPtr separator, OfClass(name, arguments, 1, TypeClass::kText));
      call->arguments = {std::move(argument), std::move(separator)};
      call->type = arrow::utf8();
      return arrow::Status::OK();
    }
  }
  call->arguments = {std::move(argument)};
  return arrow::Status::OK();
}

bool EqualOrNull(const ExprPtr& left, const ExprPtr& right) {
  if (left == nullptr || right == nullptr) return left == right;
  return Equals(*left, *right);
}

}  // namespace

std::string AggregateCall::ToString() const {
  std::string text(NameOf(kind));
  text += "(";
  if (kind == AggregateKind::kCountStar) text += "*";
  if (distinct) text += "DISTINCT ";
  for (size_t i = 0; i < arguments.size(); ++i) text += (i > 0 ? ", " : "") + arguments[i]->ToString();
  for (size_t i = 0; i < order_by.size(); ++i) {
    text += (i == 0 ? " ORDER BY " : ", ") + order_by[i].expr->ToString();
    if (order_by[i].descending) text += " DESC";
    // Nulls are last by default, and first when descending.
    if (order_by[i].nulls_first != order_by[i].descending) text += order_by[i].nulls_first ? " NULLS FIRST" : " NULLS LAST";
  }
  text += ")";
  if (filter != nullptr) text += fmt::format(" FILTER (WHERE {})", filter->ToString());
  return text;
}

bool IsAggregateName(std::string_view name) {
  return std::any_of(std::begin(kNames), std::end(kNames), [name](const AggregateName& entry) { return entry.name == name; });
}

std::vector<std::string_view> AggregateNames() {
  std::vector<std::string_view> names;
  for (const AggregateName& entry : kNames) names.push_back(entry.name);
  return names;
}

arrow::Result<AggregateCall> MakeAggregate(std::string_view name, std::vector<ExprPtr> arguments, bool star,
                                           TextPosition position) {
  const auto* entry =
      std::find_if(std::begin(kNames), std::end(kNames), [name](const AggregateName& known) { return known.name == name; });
  if (entry == std::end(kNames)) {
    return MakeError(ErrorKind::kInvalidInput, "{} does not exist", DescribeCall(name, arguments));
  }
  AggregateCall call;
  call.kind = star ? AggregateKind::kCountStar : entry->kind;
  call.position = position;
  const size_t wanted = star ? 0 : entry->kind == AggregateKind::kStringAgg ? 2 : 1;
  if ((star && entry->kind != AggregateKind::kCount) || arguments.size() != wanted) return NoSuchAggregate(name, arguments);
  ARROW_RETURN_NOT_OK(TypeCall(name, arguments, &call));
  return call;
}

arrow::Result<AggregateCall> TransformAggregate(const AggregateCall& call,
                                                const std::function<arrow::Result<ExprPtr>(const ExprPtr&)>& replace) {
  AggregateCall changed = call;
  const auto apply = [&](ExprPtr* expr) -> arrow::Status {
    ARROW_ASSIGN_OR_RAISE(ExprPtr replaced, replace(*expr));
    if (!replaced->type()->Equals(*(*expr)->type())) {
      return MakeError(ErrorKind::kInternal, "{} of {} became {} of {}", (*expr)->ToString(), SqlTypeName(*(*expr)->type()),
                       replaced->ToString(), SqlTypeName(*replaced->type()));
    }
    *expr = std::move(replaced);
    return arrow::Status::OK();
  };
  for (ExprPtr& argument : changed.arguments) ARROW_RETURN_NOT_OK(apply(&argument));
  if (changed.filter != nullptr) ARROW_RETURN_NOT_OK(apply(&changed.filter));
  for (AggregateOrder& order : changed.order_by) ARROW_RETURN_NOT_OK(apply(&order.expr));
  return changed;
}

bool Equals(const AggregateCall& left, const AggregateCall& right) {
  const auto same_order = [](const AggregateOrder& a, const AggregateOrder& b) {
    return a.descending == b.descending && a.nulls_first == b.nulls_first && Equals(*a.expr, *b.expr);
  };
  return left.kind == right.kind && left.distinct == right.distinct && left.type->Equals(*right.type) &&
         EqualOrNull(left.filter, right.filter) &&
         std::equal(left.arguments.begin(), left.arguments.end(), right.arguments.begin(), right.arguments.end(),
                    [](const ExprPtr& a, const ExprPtr& b) { return Equals(*a, *b); }) &&
         std::equal(left.order_by.begin(), left.order_by.end(), right.order_by.begin(), right.order_by.end(), same_order);
}

}  // namespace icebound::expr
