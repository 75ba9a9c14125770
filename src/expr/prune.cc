// SPDX-License-Identifier: Apache-2.0
//
// Statistics pruning by abstract evaluation: every boolean node is given the outcomes (true, false, null) that some row may have,
// every other node a range that holds its values. Both err on the side of more outcomes and wider ranges, so NOT is sound, too:
// it swaps true and false. Nothing is evaluated, and no memory is needed beyond a few scalars.
#include "expr/prune.h"

#include <arrow/util/checked_cast.h>

#include <algorithm>
#include <cmath>

#include "expr/calendar.h"
#include "expr/cast.h"
#include "expr/compare_scalars.h"
#include "expr/elementwise.h"
#include "expr/functions.h"
#include "expr/like_pattern.h"

namespace icebound::expr {

using arrow::Type;
using arrow::internal::checked_cast;

namespace {

using ScalarPtr = std::shared_ptr<arrow::Scalar>;

/// What some row may have.
struct Outcomes {
  bool can_be_true = true;
  bool can_be_false = true;
  bool can_be_null = true;
};

/// The values of an expression over all rows: those that are not null lie between the bounds (inclusive; absent = unknown).
struct Range {
  ScalarPtr min;
  ScalarPtr max;
  bool may_be_null = true;
  bool may_have_value = true;
};

constexpr Outcomes kOnlyNull{false, false, true};

/// True when a <= b is impossible, that is when a > b for certain.
bool CertainlyGreater(const ScalarPtr& a, const ScalarPtr& b) {
  if (a == nullptr || b == nullptr) return false;
  const auto order = CompareScalars(*a, *b);
  return order.has_value() && *order > 0;
}

bool CertainlyGreaterOrEqual(const ScalarPtr& a, const ScalarPtr& b) {
  if (a == nullptr || b == nullptr) return false;
  const auto order = CompareScalars(*a, *b);
  return order.has_value() && *order >= 0;
}

/// Every value of both ranges is the same one.
bool CertainlyEqual(const Range& a, const Range& b) {
  return CertainlyGreaterOrEqual(a.min, b.max) && CertainlyGreaterOrEqual(b.min, a.max) &&
         CertainlyGreaterOrEqual(b.max, a.max) && CertainlyGreaterOrEqual(a.max, b.max);
}

bool Disjoint(const Range& a, const Range& b) { return CertainlyGreater(a.min, b.max) || CertainlyGreater(b.min, a.max); }

bool IsNan(const arrow::Scalar& scalar) {
  if (scalar.type->id() == Type::DOUBLE) return std::isnan(ScalarValue<double>(scalar));
  return scalar.type->id() == Type::FLOAT && std::isnan(ScalarValue<float>(scalar));
}

/// A bound as the cast makes it: only for casts that keep the order. nullptr when it cannot be said.
ScalarPtr CastBound(const ScalarPtr& bound, const TypePtr& type) {
  if (bound == nullptr) return nullptr;
  if (bound->type->Equals(*type)) return bound;
  if (bound->type->id() == Type::FLOAT && type->id() == Type::DOUBLE) {
    return std::make_shared<arrow::DoubleScalar>(ScalarValue<float>(*bound));
  }
  if (bound->type->id() == Type::TIMESTAMP && type->id() == Type::DATE32) {
    const bool nano = checked_cast<const arrow::TimestampType&>(*bound->type).unit() == arrow::TimeUnit::NANO;
    if (!IsLogical(*bound->type)) return nullptr;
    const int64_t days = FloorDivide(ScalarValue<int64_t>(*bound), nano ? kNanosPerDay : kMicrosPerDay);
    return days == static_cast<int32_t>(days) ? std::make_shared<arrow::Date32Scalar>(static_cast<int32_t>(days)) : nullptr;
  }
  if (bound->type->id() == Type::TIMESTAMP && type->id() == Type::TIMESTAMP) {
    const auto& from = checked_cast<const arrow::TimestampType&>(*bound->type);
    const auto& to = checked_cast<const arrow::TimestampType&>(*type);
    return from.unit() == to.unit() ? std::make_shared<arrow::TimestampScalar>(ScalarValue<int64_t>(*bound), type) : nullptr;
  }
  return WidenScalar(*bound, type);
}

class Pruner {
 public:
  explicit Pruner(const std::function<ColumnBounds(int column)>& bounds) : bounds_(bounds) {}

  Outcomes OutcomesOf(const Expr& expr) const {
    if (ClassOf(*expr.type()) == TypeClass::kUnknown) return kOnlyNull;
    switch (expr.kind()) {
      case ExprKind::kCall:
        return OutcomesOfCall(checked_cast<const CallExpr&>(expr));
      case ExprKind::kColumn:
      case ExprKind::kLiteral:
      case ExprKind::kCast:
        return FromBoolean(RangeOf(expr));
      case ExprKind::kCase:
      case ExprKind::kOuterColumn:
        return {};
    }
    return {};
  }

 private:
  Range RangeOf(const Expr& expr) const {
    switch (expr.kind()) {
      case ExprKind::kColumn:
        return FromBounds(bounds_(checked_cast<const ColumnExpr&>(expr).index()), *expr.type());
      case ExprKind::kLiteral: {
        const ScalarPtr& value = checked_cast<const LiteralExpr&>(expr).value();
        if (!value->is_valid) return {nullptr, nullptr, true, false};
        return {value, value, false, true};
      }
      case ExprKind::kCast: {
        Range range = RangeOf(*expr.children()[0]);
        range.min = CastBound(range.min, expr.type());
        range.max = CastBound(range.max, expr.type());
        return range;
      }
      default:
        return {};
    }
  }

  static Range FromBounds(const ColumnBounds& bounds, const arrow::DataType& type) {
    Range range;
    const bool is_floating = arrow::is_floating(type.id());
    const auto usable = [](const ScalarPtr& scalar) {
      return scalar != nullptr && scalar->is_valid && !IsNan(*scalar) ? scalar : nullptr;
    };
    range.min = usable(bounds.min);
    // NaN is the greatest value, and bounds say nothing of it.
    range.max = is_floating && bounds.may_contain_nan ? nullptr : usable(bounds.max);
    range.may_be_null = !bounds.null_count.has_value() || *bounds.null_count > 0;
    range.may_have_value =
        !(bounds.null_count.has_value() && bounds.value_count.has_value() && *bounds.null_count >= *bounds.value_count);
    return range;
  }

  static Outcomes FromBoolean(const Range& range) {
    const auto value = [](const ScalarPtr& scalar, bool otherwise) {
      return scalar != nullptr && scalar->type->id() == Type::BOOL ? checked_cast<const arrow::BooleanScalar&>(*scalar).value
                                                                   : otherwise;
    };
    return {range.may_have_value && value(range.max, true), range.may_have_value && !value(range.min, false), range.may_be_null};
  }

  Outcomes OutcomesOfCall(const CallExpr& call) const {
    const std::string_view name = call.name();
    if (name == "and" || name == "or") return Connective(call, name == "and");
    if (name == "not") return Not(OutcomesOf(*call.children()[0]));
    if (name.starts_with("is_")) return Test(call);
    if (name == "in") return In(call);
    if (name == "not_in") return Not(In(call));
    if (name == "like") return Like(call);
    if (name == "not_like") return Not(Like(call));
    if (name == "starts_with") return StartsWith(call);
    if (name == "=" || name == "<>") {
      const Outcomes equal = Equal(RangeOf(*call.children()[0]), RangeOf(*call.children()[1]));
      return name == "=" ? equal : Not(equal);
    }
    if (name == "<") return Less(*call.children()[0], *call.children()[1]);
    if (name == ">") return Less(*call.children()[1], *call.children()[0]);
    if (name == "<=") return Not(Less(*call.children()[1], *call.children()[0]));
    if (name == ">=") return Not(Less(*call.children()[0], *call.children()[1]));
    return {};
  }

  static Outcomes Not(const Outcomes& of) { return {of.can_be_false, of.can_be_true, of.can_be_null}; }

  Outcomes Connective(const CallExpr& call, bool is_and) const {
    // OR is AND of the negations, negated.
    const auto view = [is_and](const Outcomes& of) { return is_and ? of : Not(of); };
    Outcomes all{true, false, false};
    for (const ExprPtr& child : call.children()) {
      const Outcomes next = view(OutcomesOf(*child));
      const bool all_open = all.can_be_true || all.can_be_null, next_open = next.can_be_true || next.can_be_null;
      all = {all.can_be_true && next.can_be_true, all.can_be_false || next.can_be_false,
             (all.can_be_null && next_open) || (next.can_be_null && all_open)};
    }
    return view(all);
  }

  static Outcomes Equal(const Range& a, const Range& b) {
    if (!a.may_have_value || !b.may_have_value) return kOnlyNull;
    return {!Disjoint(a, b), !CertainlyEqual(a, b), a.may_be_null || b.may_be_null};
  }

  Outcomes Less(const Expr& left, const Expr& right) const {
    const Range a = RangeOf(left), b = RangeOf(right);
    if (!a.may_have_value || !b.may_have_value) return kOnlyNull;
    return {!CertainlyGreaterOrEqual(a.min, b.max), !CertainlyGreater(b.min, a.max), a.may_be_null || b.may_be_null};
  }

  Outcomes In(const CallExpr& call) const {
    const Range value = RangeOf(*call.children()[0]);
    if (!value.may_have_value) return kOnlyNull;
    Outcomes outcomes{false, true, value.may_be_null};
    for (size_t i = 1; i < call.children().size(); ++i) {
      const Range item = RangeOf(*call.children()[i]);
      outcomes.can_be_null |= item.may_be_null;
      if (!item.may_have_value) {
        outcomes.can_be_false = false;  // NULL among the items: no row is certain not to be in the list.
        continue;
      }
      outcomes.can_be_true |= !Disjoint(value, item);
      if (CertainlyEqual(value, item)) outcomes.can_be_false = false;
    }
    return outcomes;
  }

  Outcomes Test(const CallExpr& call) const {
    const std::string_view name = call.name();
    if (name == "is_distinct_from" || name == "is_not_distinct_from") return Distinct(call, name == "is_distinct_from");
    const Expr& operand = *call.children()[0];
    if (name == "is_null" || name == "is_not_null") {
      Range range = RangeOf(operand);
      if (operand.kind() == ExprKind::kCall && ClassOf(*operand.type()) == TypeClass::kBoolean) {
        const Outcomes of = OutcomesOf(operand);
        range.may_be_null = of.can_be_null;
        range.may_have_value = of.can_be_true || of.can_be_false;
      }
      const Outcomes is_null{range.may_be_null, range.may_have_value, false};
      return name == "is_null" ? is_null : Not(is_null);
    }
    const Outcomes of = OutcomesOf(operand);
    Outcomes is{};
    if (name.ends_with("true")) {
      is = {of.can_be_true, of.can_be_false || of.can_be_null, false};
    } else if (name.ends_with("false")) {
      is = {of.can_be_false, of.can_be_true || of.can_be_null, false};
    } else if (name.ends_with("unknown")) {
      is = {of.can_be_null, of.can_be_true || of.can_be_false, false};
    }
    return name.starts_with("is_not_") ? Not(is) : is;
  }

  Outcomes Distinct(const CallExpr& call, bool distinct) const {
    const Range a = RangeOf(*call.children()[0]), b = RangeOf(*call.children()[1]);
    const bool both_values = a.may_have_value && b.may_have_value;
    const bool can_be_equal = (both_values && !Disjoint(a, b)) || (a.may_be_null && b.may_be_null);
    const bool can_differ =
        (both_values && !CertainlyEqual(a, b)) || (a.may_be_null && b.may_have_value) || (b.may_be_null && a.may_have_value);
    const Outcomes is_distinct{can_differ, can_be_equal, false};
    return distinct ? is_distinct : Not(is_distinct);
  }

  static std::optional<std::string_view> LiteralText(const Expr& expr) {
    if (expr.kind() != ExprKind::kLiteral) return std::nullopt;
    return BytesOfScalar(*checked_cast<const LiteralExpr&>(expr).value());
  }

  Outcomes Like(const CallExpr& call) const {
    const auto pattern = LiteralText(*call.children()[1]);
    const auto escape = call.children().size() > 2 ? LiteralText(*call.children()[2]) : std::optional<std::string_view>("\\");
    if (!pattern || !escape || ClassOf(*call.children()[0]->type()) != TypeClass::kText) return {};
    const LikePrefix prefix = PrefixOfLike(*pattern, *escape);
    if (prefix.is_whole) {  // No wildcard: as =.
      const auto text = std::make_shared<arrow::StringScalar>(prefix.text);
      return Equal(RangeOf(*call.children()[0]), {text, text, false, true});
    }
    return WithPrefix(*call.children()[0], prefix.text, prefix.rest_is_any);
  }

  Outcomes StartsWith(const CallExpr& call) const {
    const auto prefix = LiteralText(*call.children()[1]);
    return prefix ? WithPrefix(*call.children()[0], std::string(*prefix), true) : Outcomes{};
  }

  /// Values that match all start with `prefix`; when `exactly`, all that start with it match.
  Outcomes WithPrefix(const Expr& value, const std::string& prefix, bool exactly) const {
    const Range range = RangeOf(value);
    if (!range.may_have_value) return kOnlyNull;
    Outcomes outcomes{true, true, range.may_be_null};
    const auto min = range.min == nullptr ? std::nullopt : BytesOfScalar(*range.min);
    const auto max = range.max == nullptr ? std::nullopt : BytesOfScalar(*range.max);
    // A value with the prefix is at least the prefix itself, and not above every string that starts with it.
    if (max && *max < prefix) outcomes.can_be_true = false;
    if (min && min->substr(0, prefix.size()) > prefix) outcomes.can_be_true = false;
    if (exactly && min && max && min->starts_with(prefix) && max->starts_with(prefix)) outcomes.can_be_false = false;
    return outcomes;
  }

  const std::function<ColumnBounds(int column)>& bounds_;
};

}  // namespace

bool MayMatch(const Expr& predicate, const std::function<ColumnBounds(int column)>& bounds) {
  return Pruner(bounds).OutcomesOf(predicate).can_be_true;
}

}  // namespace icebound::expr
