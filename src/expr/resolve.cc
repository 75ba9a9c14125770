// SPDX-License-Identifier: Apache-2.0
#include "expr/resolve.h"

#include <arrow/util/checked_cast.h>

#include <algorithm>
#include <cctype>
#include <numeric>

#include "base/error.h"
#include "expr/cast.h"
#include "expr/decimal_block.h"
#include "expr/number_text.h"

namespace icebound::expr {

using arrow::internal::checked_cast;

bool IsUntypedLiteral(const Expr& expr) {
  return expr.kind() == ExprKind::kLiteral && (expr.type()->id() == arrow::Type::STRING || expr.type()->id() == arrow::Type::NA);
}

bool IsOperatorName(std::string_view name) { return !name.empty() && !std::isalpha(static_cast<unsigned char>(name.front())); }

namespace {

std::string TypeNameOf(const Expr& expr) {
  if (IsUntypedLiteral(expr)) return "unknown";
  return SqlFamilyName(*expr.type());
}

std::string TypeList(const std::vector<ExprPtr>& arguments) {
  std::string list;
  for (const ExprPtr& argument : arguments) {
    if (!list.empty()) list += ", ";
    list += TypeNameOf(*argument);
  }
  return list;
}

/// The spelling of an operator in SQL, for messages; functions keep their names.
std::string_view SqlSpelling(std::string_view name) {
  struct Pair {
    std::string_view name, spelling;
  };
  static constexpr Pair kSpellings[] = {{"like", "~~"},
                                        {"not_like", "!~~"},
                                        {"ilike", "~~*"},
                                        {"not_ilike", "!~~*"},
                                        {"negate", "-"},
                                        {"is_distinct_from", "IS DISTINCT FROM"},
                                        {"is_not_distinct_from", "IS NOT DISTINCT FROM"},
                                        {"in", "="},
                                        {"not_in", "<>"}};
  for (const Pair& pair : kSpellings) {
    if (pair.name == name) return pair.spelling;
  }
  return name;
}

std::string DescribeCall(std::string_view name, const std::vector<ExprPtr>& arguments) {
  const std::string_view spelling = SqlSpelling(name);
  if (IsOperatorName(spelling) || spelling != name) {
    if (arguments.size() == 1) return fmt::format("operator does not exist: {} {}", spelling, TypeNameOf(*arguments[0]));
    if (arguments.size() >= 2)
      return fmt::format("operator does not exist: {} {} {}", TypeNameOf(*arguments[0]), spelling, TypeNameOf(*arguments[1]));
  }
  return fmt::format("function {}({}) does not exist", name, TypeList(arguments));
}

int EditDistance(std::string_view left, std::string_view right) {
  std::vector<int> row(right.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (size_t i = 1; i <= left.size(); ++i) {
    int diagonal = row[0];
    row[0] = static_cast<int>(i);
    for (size_t j = 1; j <= right.size(); ++j) {
      const int above = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (left[i - 1] == right[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row.back();
}

/// The known function whose name is nearest, if it is near at all.
std::string_view NearestName(std::string_view name) {
  std::string_view nearest;
  int best = std::max<int>(1, static_cast<int>(name.size()) / 3) + 1;
  for (const std::string_view candidate : FunctionRegistry::Get().Names()) {
    if (IsOperatorName(candidate)) continue;
    const int distance = EditDistance(name, candidate);
    if (distance < best || (distance == best && !nearest.empty() && candidate < nearest)) {
      best = distance;
      nearest = candidate;
    }
  }
  return nearest;
}

}  // namespace

arrow::Status NoSuchCall(std::string_view name, const std::vector<ExprPtr>& arguments) {
  std::string message = DescribeCall(name, arguments);
  if (FunctionRegistry::Get().Find(name) == nullptr) {
    if (const std::string_view nearest = NearestName(name); !nearest.empty())
      message += fmt::format("; did you mean \"{}\"?", nearest);
  } else {
    message += "; no candidate matches the argument types, explicit casts may help";
  }
  return ErrorStatus(ErrorKind::kInvalidInput, std::move(message));
}

arrow::Result<ExprPtr> CoerceTo(ExprPtr expr, const TypePtr& type) {
  if (expr->type()->Equals(*type)) {
    return expr;
  }
  if (expr->kind() == ExprKind::kLiteral) {
    const auto& value = checked_cast<const LiteralExpr&>(*expr).value();
    if (!value->is_valid) return MakeLiteral(arrow::MakeNullScalar(type), expr->position());
    if (value->type->id() == arrow::Type::STRING && ClassOf(*type) != TypeClass::kText) {
      auto scalar = ScalarFromText(checked_cast<const arrow::StringScalar&>(*value).view(), type);
      if (!scalar.ok() && GetErrorKind(scalar.status()) == ErrorKind::kExecution) {
        return ErrorStatus(ErrorKind::kInvalidInput, scalar.status().message());  // The statement is wrong, not its data.
      }
      ARROW_RETURN_NOT_OK(scalar.status());
      return MakeLiteral(*scalar, expr->position());
    }
    if (auto widened = WidenScalar(*value, type)) return MakeLiteral(std::move(widened), expr->position());
  }
  // A column in another shape of the same type needs no cast: evaluation hands its logical form out.
  if (LogicalType(expr->type())->Equals(*type)) return expr;
  const TextPosition position = expr->position();
  return std::make_shared<CastExpr>(std::move(expr), type, position);
}

DecimalOperand DecimalOperandOf(const Expr& expr) {
  const TypePtr type = LogicalType(expr.type());
  DecimalOperand operand{DecimalDigits(*type), DecimalScale(*type)};
  if (expr.kind() != ExprKind::kLiteral) return operand;
  const auto& value = checked_cast<const LiteralExpr&>(expr).value();
  if (!value->is_valid) return operand;
  const Int128 unscaled = DecimalScalarValue(*value);
  int digits = std::max(1, operand.scale);
  while (digits < operand.precision && (unscaled >= PowerOfTen(digits) || unscaled <= -PowerOfTen(digits))) ++digits;
  operand.precision = digits;
  return operand;
}

bool IsNarrowDecimal(const std::vector<ExprPtr>& arguments) {
  bool narrow = false;
  for (const ExprPtr& argument : arguments) {
    if (argument->kind() == ExprKind::kLiteral) continue;
    const auto id = LogicalType(argument->type())->id();
    if (id == arrow::Type::DECIMAL128) return false;
    narrow |= id == arrow::Type::DECIMAL64;
  }
  return narrow;
}

namespace {

TypeClass ParameterAt(const Function& function, size_t index) {
  return function.parameters[std::min(index, function.parameters.size() - 1)];
}

bool AcceptsCount(const Function& function, size_t count) {
  return function.variadic ? count >= function.parameters.size() : count == function.parameters.size();
}

bool IsPreferred(TypeClass type_class) {
  using enum TypeClass;
  return type_class == kDouble || type_class == kText || type_class == kTimestampTz || type_class == kBoolean ||
         type_class == kInterval;
}

/// The category of a type, as far as untyped literals are concerned.
char CategoryOf(TypeClass type_class) {
  if (IsNumeric(type_class)) return 'N';
  if (IsTemporal(type_class) || type_class == TypeClass::kTime) return 'D';
  return static_cast<char>(type_class);
}

class OverloadSearch {
 public:
  OverloadSearch(const FunctionFamily& family, const std::vector<ExprPtr>& arguments) : arguments_(arguments) {
    for (const ExprPtr& argument : arguments) {
      classes_.push_back(IsUntypedLiteral(*argument) ? TypeClass::kUnknown : ClassOf(*LogicalType(argument->type())));
    }
    for (const Function* function : family.overloads) {
      if (function->result_type != nullptr && AcceptsCount(*function, arguments.size()) && Reaches(*function))
        candidates_.push_back(function);
    }
  }

  const Function* Find() {
    if (const Function* exact = SameTypeForLiteral(); exact != nullptr) return exact;
    KeepBest([this](const Function& function, size_t i) { return ParameterAt(function, i) == classes_[i]; });
    KeepBest([this](const Function& function, size_t i) {
      const TypeClass parameter = ParameterAt(function, i);
      return classes_[i] != TypeClass::kUnknown && (parameter == classes_[i] || IsPreferred(parameter));
    });
    if (candidates_.size() > 1) ResolveLiterals();
    return candidates_.size() == 1 ? candidates_.front() : nullptr;
  }

  bool IsAmbiguous() const { return candidates_.size() > 1; }

 private:
  bool Reaches(const Function& function) const {
    for (size_t i = 0; i < classes_.size(); ++i) {
      if (!IsImplicitCast(classes_[i], ParameterAt(function, i))) return false;
    }
    return true;
  }

  /// Of two arguments, an untyped literal is first taken to have the type of the other.
  const Function* SameTypeForLiteral() const {
    if (classes_.size() != 2 || (classes_[0] == TypeClass::kUnknown) == (classes_[1] == TypeClass::kUnknown)) return nullptr;
    const TypeClass known = classes_[0] == TypeClass::kUnknown ? classes_[1] : classes_[0];
    for (const Function* function : candidates_) {
      if (ParameterAt(*function, 0) == known && ParameterAt(*function, 1) == known) return function;
    }
    return nullptr;
  }

  template <typename Matches>
  void KeepBest(Matches matches) {
    size_t best = 0;
    std::vector<const Function*> kept;
    for (const Function* function : candidates_) {
      size_t count = 0;
      for (size_t i = 0; i < classes_.size(); ++i) count += matches(*function, i) ? 1 : 0;
      if (count > best) kept.clear();
      best = std::max(best, count);
      if (count == best) kept.push_back(function);
    }
    candidates_ = std::move(kept);
  }

  void ResolveLiterals() {
    for (size_t i = 0; i < classes_.size(); ++i) {
      if (classes_[i] != TypeClass::kUnknown) continue;
      const auto is_text = [i](const Function* f) { return ParameterAt(*f, i) == TypeClass::kText; };
      const char category = CategoryOf(ParameterAt(*candidates_.front(), i));
      const bool any_text = std::any_of(candidates_.begin(), candidates_.end(), is_text);
      const bool agree = std::all_of(candidates_.begin(), candidates_.end(),
                                     [&](const Function* f) { return CategoryOf(ParameterAt(*f, i)) == category; });
      if (any_text) {
        std::erase_if(candidates_, [&](const Function* f) { return !is_text(f); });
      } else if (agree) {
        std::vector<const Function*> preferred;
        std::copy_if(candidates_.begin(), candidates_.end(), std::back_inserter(preferred),
                     [i](const Function* f) { return IsPreferred(ParameterAt(*f, i)); });
        if (!preferred.empty()) candidates_ = std::move(preferred);
      }
    }
  }

  const std::vector<ExprPtr>& arguments_;
  std::vector<TypeClass> classes_;
  std::vector<const Function*> candidates_;
};

/// The concrete type an argument takes for a parameter of this class.
TypePtr ParameterType(const Expr& argument, TypeClass parameter) {
  if (parameter == TypeClass::kAny && IsUntypedLiteral(argument)) return arrow::utf8();
  if (parameter == TypeClass::kDecimal && IsInteger(ClassOf(*argument.type()))) {
    const DecimalOperand operand = DecimalOperandOf(argument);
    return arrow::decimal128(operand.precision, operand.scale);
  }
  if (parameter == TypeClass::kTime) return arrow::time64(arrow::TimeUnit::MICRO);  // Functions of times count microseconds.
  return TypeForClass(argument.type(), parameter);
}

}  // namespace

arrow::Result<Resolution> ResolveBySignature(const FunctionFamily& family, std::vector<ExprPtr> arguments) {
  OverloadSearch search(family, arguments);
  const Function* function = search.Find();
  if (function == nullptr) {
    if (!search.IsAmbiguous()) return NoSuchCall(family.name, arguments);
    if (IsOperatorName(family.name) && arguments.size() == 2) {
      return MakeError(ErrorKind::kInvalidInput, "operator is not unique: {} {} {}; explicit casts may help",
                       TypeNameOf(*arguments[0]), family.name, TypeNameOf(*arguments[1]));
    }
    return MakeError(ErrorKind::kInvalidInput, "function {}({}) is not unique; explicit casts may help", family.name,
                     TypeList(arguments));
  }
  for (size_t i = 0; i < arguments.size(); ++i) {
    TypePtr type = ParameterType(*arguments[i], ParameterAt(*function, i));
    if (ParameterAt(*function, i) == TypeClass::kDecimal && arguments[i]->type()->id() == arrow::Type::STRING) {
      const auto& value = checked_cast<const LiteralExpr&>(*arguments[i]).value();
      ARROW_ASSIGN_OR_RAISE(const auto shape, ShapeOfDecimal(checked_cast<const arrow::StringScalar&>(*value).view()));
      type = arrow::decimal128(shape.precision, shape.scale);
    }
    ARROW_ASSIGN_OR_RAISE(arguments[i], CoerceTo(std::move(arguments[i]), type));
  }
  ARROW_ASSIGN_OR_RAISE(TypePtr type, function->result_type(arguments));
  return Resolution{function, std::move(arguments), std::move(type)};
}

arrow::Result<ExprPtr> MakeCall(std::string_view name, std::vector<ExprPtr> arguments, TextPosition position) {
  const FunctionFamily* family = FunctionRegistry::Get().Find(name);
  if (family == nullptr) return NoSuchCall(name, arguments);
  if (family->rewriter != nullptr) return family->rewriter(std::move(arguments), position);
  arrow::Result<Resolution> resolution = family->resolver != nullptr ? family->resolver(*family, std::move(arguments))
                                                                     : ResolveBySignature(*family, std::move(arguments));
  ARROW_RETURN_NOT_OK(resolution.status());
  return std::make_shared<CallExpr>(resolution->function, std::move(resolution->arguments), std::move(resolution->type),
                                    position);
}

arrow::Result<ExprPtr> MakeCast(ExprPtr child, const TypePtr& type, TextPosition position) {
  const bool untyped = IsUntypedLiteral(*child);
  if (child->type()->Equals(*type)) {
    // 'x'::text is typed from now on, which a bare literal is not.
    if (!untyped) return child;
    return std::make_shared<CastExpr>(std::move(child), type, position);
  }
  if (!untyped && !IsExplicitCast(*child->type(), *type)) {
    return MakeError(ErrorKind::kInvalidInput, "cannot cast type {} to {}", SqlFamilyName(*child->type()), SqlFamilyName(*type));
  }
  if (child->kind() == ExprKind::kLiteral && IsLogical(*type)) {
    const auto& value = checked_cast<const LiteralExpr&>(*child).value();
    if (untyped && value->is_valid && ClassOf(*type) != TypeClass::kText && ClassOf(*type) < TypeClass::kList) {
      return CoerceTo(std::move(child), type);
    }
    if (auto widened = WidenScalar(*value, type)) return MakeLiteral(std::move(widened), position);
  }
  return std::make_shared<CastExpr>(std::move(child), type, position);
}

arrow::Result<TypePtr> CommonTypeOf(const std::vector<ExprPtr>& branches) {
  std::vector<TypePtr> types;
  for (const ExprPtr& branch : branches) {
    if (!IsUntypedLiteral(*branch)) types.push_back(branch->type());
  }
  return CommonType(types);
}

arrow::Result<ExprPtr> MakeCase(std::vector<ExprPtr> conditions, std::vector<ExprPtr> values, ExprPtr otherwise,
                                TextPosition position) {
  std::vector<ExprPtr> branches = values;
  if (otherwise != nullptr) branches.insert(branches.begin(), otherwise);  // PostgreSQL's order, which its messages show
  const auto common = CommonTypeOf(branches);
  if (!common.ok()) return ErrorStatus(ErrorKind::kInvalidInput, "CASE " + common.status().message());
  std::vector<ExprPtr> children;
  for (size_t i = 0; i < conditions.size(); ++i) {
    ExprPtr condition = std::move(conditions[i]);
    if (ClassOf(*condition->type()) != TypeClass::kBoolean) {
      if (!IsUntypedLiteral(*condition)) {
        return MakeError(ErrorKind::kInvalidInput, "argument of CASE/WHEN must be type boolean, not type {}",
                         SqlTypeName(*condition->type()));
      }
      ARROW_ASSIGN_OR_RAISE(condition, CoerceTo(std::move(condition), arrow::boolean()));
    }
    children.push_back(std::move(condition));
    ARROW_ASSIGN_OR_RAISE(ExprPtr value, CoerceTo(values[i], *common));
    children.push_back(std::move(value));
  }
  if (otherwise == nullptr) {
    children.push_back(MakeLiteral(arrow::MakeNullScalar(*common)));
  } else {
    ARROW_ASSIGN_OR_RAISE(ExprPtr value, CoerceTo(std::move(otherwise), *common));
    children.push_back(std::move(value));
  }
  return std::make_shared<CaseExpr>(std::move(children), position);
}

ExprPtr MakeColumn(int index, const arrow::Field& field, TextPosition position) {
  return std::make_shared<ColumnExpr>(index, field.name(), field.type(), position);
}

ExprPtr MakeLiteral(std::shared_ptr<arrow::Scalar> value, TextPosition position) {
  return std::make_shared<LiteralExpr>(std::move(value), position);
}

ExprPtr MakeAnd(std::vector<ExprPtr> conjuncts) {
  if (conjuncts.empty()) return MakeLiteral(std::make_shared<arrow::BooleanScalar>(true));
  if (conjuncts.size() == 1) return std::move(conjuncts.front());
  const Function* function = FunctionRegistry::Get().Find("and")->overloads.front();
  return std::make_shared<CallExpr>(function, std::move(conjuncts), arrow::boolean());
}

std::vector<ExprPtr> SplitConjunction(const ExprPtr& predicate) {
  std::vector<ExprPtr> conjuncts;
  const auto split = [&](const auto& self, const ExprPtr& expr) -> void {
    if (expr->kind() == ExprKind::kCall && checked_cast<const CallExpr&>(*expr).name() == "and") {
      for (const ExprPtr& child : expr->children()) self(self, child);
      return;
    }
    if (expr->kind() == ExprKind::kLiteral) {
      const auto& value = *checked_cast<const LiteralExpr&>(*expr).value();
      if (value.type->id() == arrow::Type::BOOL && value.is_valid && checked_cast<const arrow::BooleanScalar&>(value).value)
        return;
    }
    conjuncts.push_back(expr);
  };
  split(split, predicate);
  return conjuncts;
}

arrow::Result<TypePtr> BooleanResult(const std::vector<ExprPtr>&) { return arrow::boolean(); }
arrow::Result<TypePtr> TextResult(const std::vector<ExprPtr>&) { return arrow::utf8(); }
arrow::Result<TypePtr> Int32Result(const std::vector<ExprPtr>&) { return arrow::int32(); }
arrow::Result<TypePtr> Int64Result(const std::vector<ExprPtr>&) { return arrow::int64(); }
arrow::Result<TypePtr> DoubleResult(const std::vector<ExprPtr>&) { return arrow::float64(); }
arrow::Result<TypePtr> DateResult(const std::vector<ExprPtr>&) { return arrow::date32(); }
arrow::Result<TypePtr> IntervalResult(const std::vector<ExprPtr>&) { return arrow::month_day_nano_interval(); }
arrow::Result<TypePtr> FirstResult(const std::vector<ExprPtr>& arguments) { return LogicalType(arguments.front()->type()); }

}  // namespace icebound::expr
