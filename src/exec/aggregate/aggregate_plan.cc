// SPDX-License-Identifier: Apache-2.0
#include "exec/aggregate/aggregate_plan.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "expr/type_rules.h"

namespace icebound::exec::aggregate {
namespace {

using expr::AggregateCall;
using expr::AggregateKind;
using expr::TypeClass;

bool EqualOrNull(const expr::ExprPtr& left, const expr::ExprPtr& right) {
  if (left == nullptr || right == nullptr) return left == right;
  return expr::Equals(*left, *right);
}

/// Whether values of a logical type are read as 64-bit integers.
bool IsIntegerLike(const arrow::DataType& type) {
  switch (expr::ClassOf(type)) {
    case TypeClass::kBoolean:
    case TypeClass::kInt16:
    case TypeClass::kInt32:
    case TypeClass::kInt64:
    case TypeClass::kDate:
    case TypeClass::kTime:
    case TypeClass::kTimestamp:
    case TypeClass::kTimestampTz:
      return true;
    case TypeClass::kDecimal:
      return type.id() == arrow::Type::DECIMAL64 || static_cast<const arrow::DecimalType&>(type).precision() <= 18;
    default:
      return false;
  }
}

bool IsDouble(const arrow::DataType& type) {
  return expr::ClassOf(type) == TypeClass::kFloat || expr::ClassOf(type) == TypeClass::kDouble;
}

bool IsWideDecimal(const arrow::DataType& type) { return type.id() == arrow::Type::DECIMAL128 && !IsIntegerLike(type); }

/// True for calls to which DISTINCT makes a difference, and that are computed over a distinct source.
bool NeedsDistinctSource(const AggregateCall& call) {
  if (!call.distinct) return false;
  switch (call.kind) {
    case AggregateKind::kCount:
    case AggregateKind::kSum:
    case AggregateKind::kAvg:
    case AggregateKind::kStddevSamp:
    case AggregateKind::kStddevPop:
    case AggregateKind::kVarSamp:
    case AggregateKind::kVarPop:
      return true;
    default:
      return false;
  }
}

bool NeedsOrderedSource(const AggregateCall& call) {
  return call.kind == AggregateKind::kArrayAgg || call.kind == AggregateKind::kStringAgg;
}

/// The expression, not evaluated for rows that the filter leaves out when that could fail.
arrow::Result<expr::ExprPtr> Guarded(const expr::ExprPtr& expr, const expr::ExprPtr& filter) {
  if (filter == nullptr || !expr::CanFail(*expr)) return expr;
  return expr::MakeCase({filter}, {expr}, expr::MakeLiteral(arrow::MakeNullScalar(expr->type())));
}

class Planner {
 public:
  Planner(const arrow::Schema& input, int key_count) : input_(input), key_count_(key_count) {}

  arrow::Status Add(const AggregateCall& call) {
    if (NeedsOrderedSource(call)) return AddOrdered(call);
    if (NeedsDistinctSource(call)) return AddDistinct(call);
    AggregateCall guarded = call;
    for (expr::ExprPtr& argument : guarded.arguments) {
      ARROW_ASSIGN_OR_RAISE(argument, Guarded(AsLogical(argument), call.filter));
    }
    for (expr::AggregateOrder& order : guarded.order_by) {
      ARROW_ASSIGN_OR_RAISE(order.expr, Guarded(order.expr, call.filter));
    }
    const expr::ExprPtr value = guarded.arguments.empty() ? nullptr : guarded.arguments.front();
    return AddCall(guarded, value, call.filter, Source::kInput, &plan_.input);
  }

  void AddSortKey(const expr::ExprPtr& key) {
    ResultPlan result;
    const auto& type = key->type();
    const bool is_dictionary = type->id() == arrow::Type::DICTIONARY;
    result.type = is_dictionary ? static_cast<const arrow::DictionaryType&>(*type).value_type() : type;
    result.bytes_form = BytesForm::kPacked;
    ArgumentSpec spec{ArgumentForm::kPacked, key, nullptr, /*takes_nulls=*/true, {}};
    result.state = StateOf(StateKind::kFirstBytes, spec, &plan_.input);
    plan_.results.push_back(std::move(result));
  }

  AggregatePlan Finish() { return std::move(plan_); }

 private:
  enum class Source { kInput, kDistinct };

  /// The state of this kind that the argument feeds; made when it is not there.
  int StateOf(StateKind kind, const ArgumentSpec& spec, ArgumentPlan* arguments) {
    for (size_t a = 0; a < arguments->specs.size(); ++a) {
      if (!(arguments->specs[a] == spec)) continue;
      for (const int state : arguments->states[a]) {
        if (plan_.states[static_cast<size_t>(state)] == kind) return state;
      }
    }
    const auto state = static_cast<int>(plan_.states.size());
    plan_.states.push_back(kind);
    arguments->Feed(spec, state);
    return state;
  }

  bool MayBeNull(const expr::Expr& value, Source source) const {
    if (source != Source::kInput || value.kind() != expr::ExprKind::kColumn) return true;
    const int index = static_cast<const expr::ColumnExpr&>(value).index();
    return index < 0 || index >= input_.num_fields() || input_.field(index)->nullable() ||
           input_.field(index)->type()->id() == arrow::Type::DICTIONARY;
  }

  ArgumentSpec CountedRows(const expr::ExprPtr& value, const expr::ExprPtr& filter, Source source) const {
    if (value == nullptr || !MayBeNull(*value, source)) return {ArgumentForm::kRows, nullptr, filter, false, {}};
    return {ArgumentForm::kMask, value, filter, false, {}};
  }

  /// States and result of a call whose argument is `value` over what `arguments` reads.
  arrow::Status AddCall(const AggregateCall& call, const expr::ExprPtr& value, const expr::ExprPtr& filter, Source source,
                        ArgumentPlan* arguments) {
    ResultPlan result;
    result.kind = call.kind;
    result.position = call.position;
    result.type = call.type;
    switch (call.kind) {
      case AggregateKind::kCountStar:
      case AggregateKind::kCount:
        result.state = StateOf(StateKind::kCount, CountedRows(value, filter, source), arguments);
        break;
      case AggregateKind::kSum:
      case AggregateKind::kAvg:
        ARROW_RETURN_NOT_OK(AddSum(value, filter, source, arguments, &result));
        break;
      case AggregateKind::kStddevSamp:
      case AggregateKind::kStddevPop:
      case AggregateKind::kVarSamp:
      case AggregateKind::kVarPop:
        result.state = StateOf(StateKind::kMoments, {ArgumentForm::kDouble, value, filter, false, {}}, arguments);
        break;
      case AggregateKind::kBoolAnd:
      case AggregateKind::kMin:
        AddExtreme(value, filter, /*is_min=*/true, arguments, &result);
        break;
      case AggregateKind::kBoolOr:
      case AggregateKind::kMax:
        AddExtreme(value, filter, /*is_min=*/false, arguments, &result);
        break;
      case AggregateKind::kFirst:
      case AggregateKind::kLast:
      case AggregateKind::kAnyValue:
        AddChosen(call, value, filter, arguments, &result);
        break;
      case AggregateKind::kArrayAgg:
      case AggregateKind::kStringAgg:
        return MakeError(ErrorKind::kInternal, "{} is computed by sorting", call.ToString());
    }
    plan_.results.push_back(std::move(result));
    return arrow::Status::OK();
  }

  arrow::Status AddSum(const expr::ExprPtr& value, const expr::ExprPtr& filter, Source source, ArgumentPlan* arguments,
                       ResultPlan* result) {
    const arrow::DataType& type = *value->type();
    StateKind kind = StateKind::kSumInt;
    ArgumentForm form = ArgumentForm::kInt;
    if (IsDouble(type)) {
      kind = StateKind::kSumDouble;
      form = ArgumentForm::kDouble;
    } else if (expr::ClassOf(type) == TypeClass::kInterval) {
      kind = StateKind::kSumInterval;
      form = ArgumentForm::kInterval;
    } else if (IsWideDecimal(type)) {
      kind = StateKind::kSumWide;
      form = ArgumentForm::kWide;
    } else if (!IsIntegerLike(type)) {
      return MakeError(ErrorKind::kInternal, "a sum of {}", type.ToString());
    }
    result->state = StateOf(kind, {form, value, filter, false, {}}, arguments);
    if (result->kind == AggregateKind::kAvg && kind != StateKind::kSumInterval) {
      result->count_state = StateOf(StateKind::kCount, CountedRows(value, filter, source), arguments);
      if (arrow::is_decimal(type.id())) result->argument_scale = static_cast<const arrow::DecimalType&>(type).scale();
    }
    return arrow::Status::OK();
  }

  void AddExtreme(const expr::ExprPtr& value, const expr::ExprPtr& filter, bool is_min, ArgumentPlan* arguments,
                  ResultPlan* result) {
    const arrow::DataType& type = *value->type();
    ArgumentSpec spec{ArgumentForm::kOrdered, value, filter, false, {}};
    StateKind kind = is_min ? StateKind::kMinBytes : StateKind::kMaxBytes;
    if (IsIntegerLike(type)) {
      kind = is_min ? StateKind::kMinInt : StateKind::kMaxInt;
      spec.form = ArgumentForm::kInt;
    } else if (IsWideDecimal(type)) {
      kind = is_min ? StateKind::kMinWide : StateKind::kMaxWide;
      spec.form = ArgumentForm::kWide;
    } else if (IsDouble(type)) {
      kind = is_min ? StateKind::kMinDouble : StateKind::kMaxDouble;
      spec.form = ArgumentForm::kDouble;
    } else if (type.id() == arrow::Type::STRING || type.id() == arrow::Type::BINARY) {
      spec.form = ArgumentForm::kText;
      result->bytes_form = BytesForm::kText;
    } else {
      spec.order.push_back({value, false, false});
      result->bytes_form = BytesForm::kOrdered;
    }
    result->state = StateOf(kind, spec, arguments);
  }

  /// first, last and any_value; in an order, the value with the least or the greatest sort key.
  void AddChosen(const AggregateCall& call, const expr::ExprPtr& value, const expr::ExprPtr& filter, ArgumentPlan* arguments,
                 ResultPlan* result) {
    const bool is_any = call.kind == AggregateKind::kAnyValue;
    const bool is_last = call.kind == AggregateKind::kLast;
    ArgumentSpec spec{ArgumentForm::kPacked, value, filter, /*takes_nulls=*/!is_any, {}};
    StateKind kind = is_last ? StateKind::kLastBytes : StateKind::kFirstBytes;
    result->bytes_form = BytesForm::kPacked;
    if (!is_any && !call.order_by.empty()) {
      spec.form = ArgumentForm::kOrdered;
      spec.order = call.order_by;
      kind = is_last ? StateKind::kMaxBytes : StateKind::kMinBytes;
      result->bytes_form = BytesForm::kOrdered;
    }
    result->state = StateOf(kind, spec, arguments);
  }

  arrow::Status AddDistinct(const AggregateCall& call) {
    expr::ExprPtr value = AsLogical(call.arguments.front());
    auto source = std::find_if(plan_.distinct.begin(), plan_.distinct.end(), [&](const DistinctPlan& other) {
      return expr::Equals(*other.values.front(), *value) && EqualOrNull(other.filter, call.filter);
    });
    if (source == plan_.distinct.end()) {
      plan_.distinct.emplace_back();
      source = plan_.distinct.end() - 1;
      source->values.push_back(value);
      source->filter = call.filter;
    }
    // The value stands behind the keys; what the filter leaves out never comes.
    const auto column = std::make_shared<expr::ColumnExpr>(key_count_, value->ToString(), value->type());
    return AddCall(call, column, /*filter=*/nullptr, Source::kDistinct, &source->arguments);
  }

  arrow::Status AddOrdered(const AggregateCall& call) {
    AggregateCall logical = call;
    for (expr::ExprPtr& argument : logical.arguments) argument = AsLogical(argument);
    for (expr::AggregateOrder& order : logical.order_by) order.expr = AsLogical(order.expr);
    auto source = std::find_if(plan_.ordered.begin(), plan_.ordered.end(),
                               [&](const OrderedPlan& other) { return SharesOrder(other.calls.calls.front(), logical); });
    if (source == plan_.ordered.end()) {
      plan_.ordered.emplace_back();
      source = plan_.ordered.end() - 1;
      source->filter = call.filter;
    }
    const int place = key_count_ + static_cast<int>(source->calls.calls.size());
    const auto column = std::make_shared<expr::ColumnExpr>(place, logical.ToString(), call.type);
    source->calls.calls.push_back(std::move(logical));
    ResultPlan result;
    result.kind = call.kind;
    result.position = call.position;
    result.type = call.type;
    result.bytes_form = BytesForm::kPacked;
    result.state =
        StateOf(StateKind::kFirstBytes, {ArgumentForm::kPacked, column, nullptr, /*takes_nulls=*/true, {}}, &source->arguments);
    plan_.results.push_back(std::move(result));
    return arrow::Status::OK();
  }

  const arrow::Schema& input_;
  const int key_count_;
  AggregatePlan plan_;
};

}  // namespace

void ArgumentPlan::Feed(const ArgumentSpec& spec, int state) {
  const auto found = std::find(specs.begin(), specs.end(), spec);
  if (found != specs.end()) {
    states[static_cast<size_t>(found - specs.begin())].push_back(state);
    return;
  }
  specs.push_back(spec);
  states.push_back({state});
}

expr::ExprPtr AsLogical(const expr::ExprPtr& expr) {
  if (expr::IsLogical(*expr->type())) return expr;
  return std::make_shared<expr::CastExpr>(expr, expr::LogicalType(expr->type()), expr->position());
}

arrow::Result<AggregatePlan> PlanAggregates(const arrow::Schema& input, const std::vector<AggregateCall>& calls,
                                            const std::vector<expr::ExprPtr>& sort_keys, int key_count) {
  Planner planner(input, key_count);
  for (const AggregateCall& call : calls) ARROW_RETURN_NOT_OK(planner.Add(call));
  for (const expr::ExprPtr& key : sort_keys) planner.AddSortKey(key);
  return planner.Finish();
}

}  // namespace icebound::exec::aggregate
