// SPDX-License-Identifier: Apache-2.0
//
// COALESCE, NULLIF, GREATEST, LEAST. (CASE is an expression kind of its own.)
#include <arrow/array/util.h>
#include <arrow/compute/api_scalar.h>

#include "base/error.h"
#include "expr/cast.h"
#include "expr/compare_scalars.h"
#include "expr/elementwise.h"
#include "expr/resolve.h"

namespace icebound::expr {

using arrow::Datum;

namespace {

/// All arguments in their common type, with the construct named in the error as PostgreSQL does.
arrow::Result<Resolution> ResolveCommon(const FunctionFamily& family, std::vector<ExprPtr> arguments,
                                        std::string_view construct) {
  if (arguments.empty()) return NoSuchCall(family.name, arguments);
  const auto common = CommonTypeOf(arguments);
  if (!common.ok()) return ErrorStatus(ErrorKind::kInvalidInput, fmt::format("{} {}", construct, common.status().message()));
  for (ExprPtr& argument : arguments) {
    ARROW_ASSIGN_OR_RAISE(argument, CoerceTo(std::move(argument), *common));
  }
  return Resolution{family.overloads.front(), std::move(arguments), *common};
}

arrow::Result<Resolution> ResolveCoalesce(const FunctionFamily& family, std::vector<ExprPtr> arguments) {
  return ResolveCommon(family, std::move(arguments), "COALESCE");
}
arrow::Result<Resolution> ResolveGreatest(const FunctionFamily& family, std::vector<ExprPtr> arguments) {
  return ResolveCommon(family, std::move(arguments), "GREATEST");
}
arrow::Result<Resolution> ResolveLeast(const FunctionFamily& family, std::vector<ExprPtr> arguments) {
  return ResolveCommon(family, std::move(arguments), "LEAST");
}

/// NULLIF(a, b) is CASE WHEN a = b THEN NULL ELSE a END.
arrow::Result<ExprPtr> RewriteNullif(std::vector<ExprPtr> arguments, TextPosition position) {
  if (arguments.size() != 2) return NoSuchCall("nullif", arguments);
  ARROW_ASSIGN_OR_RAISE(ExprPtr equal, MakeCall("=", arguments, position));
  return MakeCase({std::move(equal)}, {MakeLiteral(std::make_shared<arrow::NullScalar>())}, arguments[0], position);
}

/// NULL arguments are passed over. The best so far is compared with each argument in turn by the comparison operators' own
/// kernel.
template <bool kGreatest>
arrow::Result<Datum> Extreme(const KernelInput& input) {
  const Function* less = FunctionRegistry::Get().Find("<")->overloads.front();
  const TypePtr boolean = arrow::boolean();
  const auto is_null = [](const Datum& value) { return value.is_scalar() && !value.scalar()->is_valid; };
  Datum best;
  for (const Datum& argument : input.arguments) {
    if (is_null(argument)) continue;
    if (best.kind() == Datum::NONE) {
      best = argument;
      continue;
    }
    if (best.is_scalar() && argument.is_scalar()) {
      const auto order = CompareScalars(*best.scalar(), *argument.scalar());
      if (!order.has_value())
        return MakeError(ErrorKind::kUnsupported, "GREATEST and LEAST of type {}", SqlTypeName(*input.type));
      if (kGreatest ? *order < 0 : *order > 0) best = argument;
      continue;
    }
    const Datum pair[2] = {kGreatest ? best : argument, kGreatest ? argument : best};
    const KernelInput comparison{pair, boolean, input.num_rows, input.context, nullptr, input.exec};
    ARROW_ASSIGN_OR_RAISE(const Datum replace, less->kernel(comparison));
    // Null when either is null: then whichever is not.
    ARROW_ASSIGN_OR_RAISE(const Datum other, arrow::compute::CallFunction("coalesce", {best, argument}, input.exec));
    ARROW_ASSIGN_OR_RAISE(const Datum either, arrow::compute::IfElse(replace, argument, best, input.exec));
    ARROW_ASSIGN_OR_RAISE(best, arrow::compute::CallFunction("coalesce", {either, other}, input.exec));
  }
  if (best.kind() == Datum::NONE) {
    ARROW_ASSIGN_OR_RAISE(auto nulls, arrow::MakeArrayOfNull(input.type, input.num_rows, input.context.pool));
    return nulls;
  }
  return best;
}

}  // namespace

void RegisterConditional(FunctionRegistry* registry) {
  registry->Add({.name = "coalesce", .strict = false, .can_fail = false, .strategy = Strategy::kCoalesce});
  registry->SetResolver("coalesce", ResolveCoalesce);
  registry->AddRewriter("nullif", RewriteNullif);
  registry->Add({.name = "greatest", .kernel = Extreme<true>, .strict = false, .can_fail = false});
  registry->SetResolver("greatest", ResolveGreatest);
  registry->Add({.name = "least", .kernel = Extreme<false>, .strict = false, .can_fail = false});
  registry->SetResolver("least", ResolveLeast);
}

}  // namespace icebound::expr
