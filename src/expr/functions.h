// SPDX-License-Identifier: Apache-2.0
//
// The functions and operators of SQL, by the names MakeCall knows. Each family registers its overloads in functions_<family>.cc:
// a signature, how the result is typed, and a kernel that computes one batch. Resolution follows PostgreSQL: an exact match
// first, then the candidates reachable by implicit casts, most exact matches and preferred types (text, double, timestamptz)
// first; a string literal takes the type its context wants.
//
// Operators (the binder maps SQL's operators to these names):
//   + - * / %  negate  ^          numbers; date + integer, date - date, date/timestamp/time +- interval, interval arithmetic
//   = <> < <= > >=                any two comparable types; lists, structs and uuids by value
//   is_distinct_from  is_not_distinct_from
//   and  or  not                  three-valued; "and"/"or" take any number of arguments
//   is_null  is_not_null  is_true  is_not_true  is_false  is_not_false  is_unknown  is_not_unknown
//   in  not_in                    (value, item, ...); BETWEEN is expanded by the binder to >= and <=
//   like  not_like  ilike  not_ilike      (string, pattern[, escape])
//   ~  ~*  !~  !~*                (string, regular expression)
//   ||                            text with anything, bytea with bytea, list with list
//   extract                       (field name as a string literal, value) gives numeric; date_part the same as double
//   subscript  field              list[i] from 1, map[key]; (struct, field name as a string literal)
//   timezone                      (zone, timestamp): the function behind AT TIME ZONE
//
// Functions, by SQL name (lower case):
//   conditional  coalesce nullif greatest least        (CASE is MakeCase)
//   string       concat concat_ws length char_length character_length octet_length bit_length lower upper initcap trim(btrim)
//                ltrim rtrim substring substr left right position strpos replace translate reverse repeat lpad rpad split_part
//                starts_with ends_with contains ascii chr md5 overlay to_hex quote_literal encode decode
//                SUBSTRING(s FROM a FOR b) is substring(s, a, b); POSITION(a IN b) is position(b, a), as PostgreSQL's parser
//                orders them; TRIM(BOTH c FROM s) is btrim(s, c), LEADING ltrim, TRAILING rtrim; OVERLAY is overlay(s, new,
//                from[, for])
//   regex        regexp_like regexp_replace regexp_substr regexp_count regexp_instr
//   number       abs sign round trunc ceil ceiling floor sqrt cbrt power pow exp ln log log10 log2 mod gcd lcm
//                sin cos tan cot asin acos atan atan2 sinh cosh tanh degrees radians pi random width_bucket
//   date/time    now current_timestamp transaction_timestamp statement_timestamp localtimestamp current_date current_time
//                date_trunc date_part extract make_date make_timestamp make_time make_interval age
//                to_timestamp (seconds, or text and template) to_date
//                justify_hours justify_days justify_interval year quarter month week day hour minute last_day to_char
//   list/map     cardinality array_length array_contains map_keys map_values
#pragma once

#include <arrow/compute/exec.h>
#include <arrow/datum.h>
#include <arrow/result.h>

#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "expr/evaluate.h"
#include "expr/expr.h"
#include "expr/type_rules.h"

namespace icebound::expr {

enum class Volatility {
  kImmutable,  ///< same arguments, same value
  kStable,     ///< the same within a statement: now()
  kVolatile,   ///< another value in every row: random()
};

/// What a kernel works on.
struct KernelInput {
  /// Arrays of num_rows in their logical type, or scalars; at least one array unless there are no arguments.
  std::span<const arrow::Datum> arguments;
  const TypePtr& type;  ///< of the result
  int64_t num_rows;
  const EvalContext& context;
  const CallExpr* call;  ///< nullptr inside casts
  arrow::compute::ExecContext* exec;
};

/// Computes the result (type `input.type`, an array of num_rows). For strict functions no argument is a null scalar and rows with
/// a null argument must become null; they must not raise an error either.
using Kernel = arrow::Result<arrow::Datum> (*)(const KernelInput& input);

/// The result's type from the coerced arguments.
using ResultType = arrow::Result<TypePtr> (*)(const std::vector<ExprPtr>& arguments);

/// Makes what depends on literal arguments only, once per CallExpr; nullptr when they are not literals.
using Prepare = std::shared_ptr<const PreparedCall> (*)(const std::vector<ExprPtr>& arguments);

/// True when these arguments cannot raise an error although others can.
using NeverFails = bool (*)(const CallExpr& call);

/// Which arguments are evaluated when.
enum class Strategy {
  kEager,     ///< all arguments, for all rows
  kFirst,     ///< the first argument only; Prepare has read the others, which are literals
  kAnd,       ///< the next argument only for the rows that are not yet false
  kOr,        ///< ... not yet true
  kCoalesce,  ///< ... still null
};

/// One overload. Immutable after registration; lives as long as the process.
struct Function {
  std::string_view name;
  std::vector<TypeClass> parameters;
  ResultType result_type = nullptr;
  Kernel kernel = nullptr;
  bool variadic = false;     ///< the last parameter may repeat
  bool strict = true;        ///< NULL in, NULL out
  bool can_fail = true;      ///< some values raise an error: never evaluated for rows that do not need it
  bool text_result = false;  ///< over a dictionary-encoded argument the result is one, too
  Volatility volatility = Volatility::kImmutable;
  Strategy strategy = Strategy::kEager;
  Prepare prepare = nullptr;
  NeverFails never_fails = nullptr;  ///< refines can_fail
};

struct FunctionFamily;
class FunctionRegistry;

/// A chosen overload with its coerced arguments.
struct Resolution {
  const Function* function;
  std::vector<ExprPtr> arguments;
  TypePtr type;
};

/// Chooses among a family's overloads where signatures alone cannot say it (numeric operators, comparisons).
using Resolver = arrow::Result<Resolution> (*)(const FunctionFamily& family, std::vector<ExprPtr> arguments);

/// Makes another expression of a call that needs no kernel of its own (BETWEEN-like sugar).
using Rewriter = arrow::Result<ExprPtr> (*)(std::vector<ExprPtr> arguments, TextPosition position);

struct FunctionFamily {
  std::string_view name;
  std::vector<const Function*> overloads;
  Resolver resolver = nullptr;  ///< nullptr: by signature
  Rewriter rewriter = nullptr;  ///< when set, nothing else is
};

/// All families. Built once; read only afterwards, so thread safe.
class FunctionRegistry {
 public:
  static const FunctionRegistry& Get();

  const FunctionFamily* Find(std::string_view name) const;
  std::vector<std::string_view> Names() const;

  /// Used by the Register functions below while the registry is built.
  void Add(Function function);
  void AddAlias(std::string_view alias, std::string_view name);
  void SetResolver(std::string_view name, Resolver resolver);
  void AddRewriter(std::string_view name, Rewriter rewriter);

 private:
  FunctionRegistry();
  std::deque<Function> functions_;
  std::unordered_map<std::string_view, FunctionFamily> families_;
};

void RegisterArithmetic(FunctionRegistry* registry);
void RegisterComparison(FunctionRegistry* registry);
void RegisterLogic(FunctionRegistry* registry);
void RegisterIn(FunctionRegistry* registry);
void RegisterPatterns(FunctionRegistry* registry);
void RegisterText(FunctionRegistry* registry);
void RegisterTextEditing(FunctionRegistry* registry);
void RegisterNumbers(FunctionRegistry* registry);
void RegisterConditional(FunctionRegistry* registry);
void RegisterIntervalArithmetic(FunctionRegistry* registry);
void RegisterDateTime(FunctionRegistry* registry);
void RegisterDateTimeFields(FunctionRegistry* registry);
void RegisterFormat(FunctionRegistry* registry);
void RegisterNested(FunctionRegistry* registry);

}  // namespace icebound::expr
