// SPDX-License-Identifier: Apache-2.0
//
// Three-valued logic: AND, OR, NOT, IS [NOT] NULL / TRUE / FALSE / UNKNOWN.
#include <arrow/compute/api_scalar.h>

#include "base/error.h"
#include "expr/elementwise.h"
#include "expr/resolve.h"

namespace icebound::expr {

using arrow::Datum;

namespace {

/// The words PostgreSQL has for a condition of another type.
template <bool kIsAnd>
arrow::Result<Resolution> ResolveConnective(const FunctionFamily& family, std::vector<ExprPtr> arguments) {
  if (arguments.empty()) return NoSuchCall(family.name, arguments);
  for (ExprPtr& argument : arguments) {
    if (IsUntypedLiteral(*argument)) {
      ARROW_ASSIGN_OR_RAISE(argument, CoerceTo(std::move(argument), arrow::boolean()));
    } else if (ClassOf(*argument->type()) != TypeClass::kBoolean) {
      return MakeError(ErrorKind::kInvalidInput, "argument of {} must be type boolean, not type {}", kIsAnd ? "AND" : "OR",
                       SqlTypeName(*argument->type()));
    }
  }
  return Resolution{family.overloads.front(), std::move(arguments), arrow::boolean()};
}

arrow::Result<Datum> Not(const KernelInput& input) { return arrow::compute::Invert(input.arguments[0], input.exec); }

enum class Test { kNull, kNotNull, kTrue, kNotTrue, kFalse, kNotFalse };

/// Not strict, and every row has an answer. Reads a word of bits at a time through byte-wise bitmaps.
template <Test kTest>
arrow::Result<Datum> TestValue(const KernelInput& input) {
  const Datum& argument = input.arguments[0];
  const ValidityReader valid(argument);
  std::shared_ptr<arrow::Buffer> bits;
  if constexpr (kTest == Test::kNull || kTest == Test::kNotNull) {
    ARROW_ASSIGN_OR_RAISE(bits, MapRowsToBits(input.num_rows, input.context.pool,
                                              [&](int64_t row) { return valid[row] == (kTest == Test::kNotNull); }));
  } else {
    const arrow::ArrayData& data = *argument.array();
    const uint8_t* values = data.buffers.size() > 1 && data.buffers[1] != nullptr ? data.buffers[1]->data() : nullptr;
    constexpr bool kWanted = kTest == Test::kTrue || kTest == Test::kNotTrue;
    constexpr bool kPositive = kTest == Test::kTrue || kTest == Test::kFalse;
    ARROW_ASSIGN_OR_RAISE(bits, MapRowsToBits(input.num_rows, input.context.pool, [&](int64_t row) {
                            const bool is = valid[row] && arrow::bit_util::GetBit(values, data.offset + row) == kWanted;
                            return is == kPositive;
                          }));
  }
  return MakeArrayDatum(arrow::boolean(), input.num_rows, nullptr, std::move(bits));
}

void AddTest(FunctionRegistry* registry, std::string_view name, Kernel kernel, TypeClass parameter) {
  registry->Add({.name = name,
                 .parameters = {parameter},
                 .result_type = BooleanResult,
                 .kernel = kernel,
                 .strict = false,
                 .can_fail = false});
}

}  // namespace

void RegisterLogic(FunctionRegistry* registry) {
  registry->Add({.name = "and", .strict = false, .can_fail = false, .strategy = Strategy::kAnd});
  registry->SetResolver("and", ResolveConnective<true>);
  registry->Add({.name = "or", .strict = false, .can_fail = false, .strategy = Strategy::kOr});
  registry->SetResolver("or", ResolveConnective<false>);
  registry->Add(
      {.name = "not", .parameters = {TypeClass::kBoolean}, .result_type = BooleanResult, .kernel = Not, .can_fail = false});
  AddTest(registry, "is_null", TestValue<Test::kNull>, TypeClass::kAny);
  AddTest(registry, "is_not_null", TestValue<Test::kNotNull>, TypeClass::kAny);
  AddTest(registry, "is_unknown", TestValue<Test::kNull>, TypeClass::kBoolean);
  AddTest(registry, "is_not_unknown", TestValue<Test::kNotNull>, TypeClass::kBoolean);
  AddTest(registry, "is_true", TestValue<Test::kTrue>, TypeClass::kBoolean);
  AddTest(registry, "is_not_true", TestValue<Test::kNotTrue>, TypeClass::kBoolean);
  AddTest(registry, "is_false", TestValue<Test::kFalse>, TypeClass::kBoolean);
  AddTest(registry, "is_not_false", TestValue<Test::kNotFalse>, TypeClass::kBoolean);
}

}  // namespace icebound::expr
