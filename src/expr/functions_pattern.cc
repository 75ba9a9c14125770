// SPDX-License-Identifier: Apache-2.0
//
// LIKE, ILIKE and regular expressions. Regular expressions have RE2's syntax (no backreferences, no look-around) with
// PostgreSQL's defaults: "." matches a newline, ^ and $ match only at the ends, unless the flag n (or m) says otherwise.
#include <arrow/array/array_binary.h>
#include <arrow/array/concatenate.h>
#include <arrow/array/util.h>
#include <arrow/compute/api_scalar.h>
#include <arrow/util/checked_cast.h>

#include "base/error.h"
#include "expr/elementwise.h"
#include "expr/like_pattern.h"
#include "expr/pattern_length.h"
#include "expr/resolve.h"
#include "expr/text_kernels.h"
#include "expr/utf8_text.h"

namespace icebound::expr {

using arrow::Datum;
using arrow::internal::checked_cast;

namespace {

using enum TypeClass;

std::string_view TextOf(const Datum& scalar) { return BytesReader(scalar)[0]; }

// --- LIKE --------------------------------------------------------------------------------------------------------------------

arrow::Result<Datum> Inverted(Datum value, bool negated, arrow::compute::ExecContext* exec) {
  if (!negated) return value;
  return arrow::compute::Invert(value, exec);
}

/// arguments: text, pattern[, escape]
arrow::Result<Datum> MatchLike(const KernelInput& input, std::span<const Datum> arguments) {
  const BytesReader text(arguments[0]), pattern(arguments[1]);
  const bool constant = arguments[1].is_scalar() && (arguments.size() < 3 || arguments[2].is_scalar());
  const Datum backslash(std::make_shared<arrow::StringScalar>("\\"));
  const BytesReader escape(arguments.size() > 2 ? arguments[2] : backslash);
  if (constant) {
    ARROW_ASSIGN_OR_RAISE(const LikeMatcher matcher, LikeMatcher::Make(pattern[0], escape[0]));
    return MapRowsToBoolean(input, [&](int64_t row) { return matcher.Matches(text[row]); });
  }
  arrow::Status status;
  auto result = MapRowsToBoolean(input, [&](int64_t row) {
    const auto matcher = LikeMatcher::Make(pattern[row], escape[row]);
    if (!matcher.ok()) {
      status = matcher.status();
      return false;
    }
    return matcher->Matches(text[row]);
  });
  ARROW_RETURN_NOT_OK(status);
  return result;
}

template <bool kNegated>
arrow::Result<Datum> Like(const KernelInput& input) {
  ARROW_ASSIGN_OR_RAISE(Datum matched, MatchLike(input, input.arguments));
  return Inverted(std::move(matched), kNegated, input.exec);
}

/// Both sides in lower case, character by character.
template <bool kNegated>
arrow::Result<Datum> Ilike(const KernelInput& input) {
  std::vector<Datum> lowered;
  for (const Datum& argument : input.arguments) {
    ARROW_ASSIGN_OR_RAISE(Datum lower, arrow::compute::CallFunction("utf8_lower", {argument}, input.exec));
    lowered.push_back(std::move(lower));
  }
  ARROW_ASSIGN_OR_RAISE(Datum matched, MatchLike(input, lowered));
  return Inverted(std::move(matched), kNegated, input.exec);
}

std::optional<std::string_view> LiteralText(const Expr& expr) {
  if (expr.kind() != ExprKind::kLiteral || expr.type()->id() != arrow::Type::STRING) return std::nullopt;
  const auto& scalar = *checked_cast<const LiteralExpr&>(expr).value();
  return scalar.is_valid ? std::optional(checked_cast<const arrow::StringScalar&>(scalar).view()) : std::nullopt;
}

bool LikeNeverFails(const CallExpr& call) {
  const auto& arguments = call.children();
  const auto pattern = LiteralText(*arguments[1]);
  const auto escape = arguments.size() > 2 ? LiteralText(*arguments[2]) : std::optional<std::string_view>("\\");
  return pattern && escape && LikeMatcher::Make(*pattern, *escape).ok();
}

void AddLike(FunctionRegistry* registry, std::string_view name, Kernel kernel) {
  for (const bool with_escape : {false, true}) {
    registry->Add({.name = name,
                   .parameters = with_escape ? std::vector{kText, kText, kText} : std::vector{kText, kText},
                   .result_type = BooleanResult,
                   .kernel = kernel,
                   .never_fails = LikeNeverFails});
  }
}

// --- regular expressions -----------------------------------------------------------------------------------------------------

arrow::Status RegexError(const arrow::Status& status) {
  if (status.ok() || status.IsOutOfMemory() || GetErrorKind(status).has_value()) return status;
  // RE2's words ("missing )") are followed by the pattern, with the flags that RegexSource puts before it.
  std::string reason = status.message();
  if (const size_t prefix = reason.find("regular expression: "); prefix != std::string::npos) reason.erase(0, prefix + 20);
  for (const char* flags : {"(?s", "(?m"}) {
    if (const size_t at = reason.find(flags); at != std::string::npos)
      reason.resize(reason.rfind(": ", at) == std::string::npos ? at : reason.rfind(": ", at));
  }
  return MakeError(ErrorKind::kExecution, "invalid regular expression: {}", reason);
}

struct RegexFlags {
  bool ignore_case = false;
  bool global = false;
  bool newline_sensitive = false;
};

arrow::Result<RegexFlags> ParseFlags(std::string_view text) {
  RegexFlags flags;
  for (const char c : text) {
    switch (c) {
      case 'i':
        flags.ignore_case = true;
        break;
      case 'c':
        flags.ignore_case = false;
        break;
      case 'g':
        flags.global = true;
        break;
      case 'n':
      case 'm':
        flags.newline_sensitive = true;
        break;
      case 's':
        flags.newline_sensitive = false;
        break;
      default:
        return MakeError(ErrorKind::kExecution, "invalid regular expression option: \"{}\"", std::string_view(&c, 1));
    }
  }
  return flags;
}

std::string RegexSource(std::string_view pattern, const RegexFlags& flags) {
  std::string source = flags.newline_sensitive ? "(?m" : "(?s";
  if (flags.ignore_case) source += 'i';
  source += ')';
  return source.append(pattern);
}

/// All but the first: pattern, replacement, flags.
arrow::Status CheckLengths(const std::vector<std::string_view>& constants) {
  for (size_t i = 1; i < constants.size(); ++i) ARROW_RETURN_NOT_OK(CheckPatternLength(constants[i], "regular expression"));
  return arrow::Status::OK();
}

/// Runs `apply(text array, pattern, other constants)` over maximal runs of rows in which every argument but the first has one
/// value: once for constants, which is the usual case.
template <typename Apply>
arrow::Result<Datum> ForConstantRuns(const KernelInput& input, Apply apply) {
  const auto& arguments = input.arguments;
  std::vector<std::string_view> constants(arguments.size());
  if (std::all_of(arguments.begin() + 1, arguments.end(), [](const Datum& argument) { return argument.is_scalar(); })) {
    for (size_t i = 1; i < arguments.size(); ++i) constants[i] = TextOf(arguments[i]);
    ARROW_RETURN_NOT_OK(CheckLengths(constants));
    return apply(arguments[0], constants);
  }
  ARROW_ASSIGN_OR_RAISE(const auto validity, CombinedValidity(arguments, input.num_rows, input.context.pool));
  std::shared_ptr<arrow::Array> text = arguments[0].is_array() ? arguments[0].make_array() : nullptr;
  if (text == nullptr) {
    ARROW_ASSIGN_OR_RAISE(text, arrow::MakeArrayFromScalar(*arguments[0].scalar(), input.num_rows, input.context.pool));
  }
  std::vector<BytesReader> readers;
  for (const Datum& argument : arguments) readers.emplace_back(argument);
  arrow::ArrayVector pieces;
  for (int64_t begin = 0; begin < input.num_rows;) {
    const auto is_valid = [&](int64_t row) { return validity == nullptr || arrow::bit_util::GetBit(validity->data(), row); };
    const auto same = [&](int64_t row) {
      if (is_valid(row) != is_valid(begin)) return false;
      for (size_t i = 1; is_valid(row) && i < readers.size(); ++i) {
        if (readers[i][row] != readers[i][begin]) return false;
      }
      return true;
    };
    int64_t end = begin + 1;
    while (end < input.num_rows && same(end)) ++end;
    if (is_valid(begin)) {
      for (size_t i = 1; i < readers.size(); ++i) constants[i] = readers[i][begin];
      ARROW_RETURN_NOT_OK(CheckLengths(constants));
      ARROW_ASSIGN_OR_RAISE(const Datum piece, apply(Datum(text->Slice(begin, end - begin)), constants));
      pieces.push_back(piece.make_array());
    } else {
      ARROW_ASSIGN_OR_RAISE(auto nulls, arrow::MakeArrayOfNull(input.type, end - begin, input.context.pool));
      pieces.push_back(std::move(nulls));
    }
    begin = end;
  }
  ARROW_ASSIGN_OR_RAISE(auto all, arrow::Concatenate(pieces, input.context.pool));
  return all;
}

arrow::Result<Datum> CallRegex(const char* function, const Datum& text, const std::string& source,
                               arrow::compute::ExecContext* exec) {
  const arrow::compute::MatchSubstringOptions options(source);
  auto result = arrow::compute::CallFunction(function, {text}, &options, exec);
  if (!result.ok()) return RegexError(result.status());
  return result;
}

template <bool kIgnoreCase, bool kNegated>
arrow::Result<Datum> RegexOperator(const KernelInput& input) {
  return ForConstantRuns(input, [&](const Datum& text, const std::vector<std::string_view>& constants) -> arrow::Result<Datum> {
    const RegexFlags flags{.ignore_case = kIgnoreCase};
    ARROW_ASSIGN_OR_RAISE(Datum matched, CallRegex("match_substring_regex", text, RegexSource(constants[1], flags), input.exec));
    return Inverted(std::move(matched), kNegated, input.exec);
  });
}

arrow::Result<RegexFlags> FlagsWithoutGlobal(std::string_view function, const std::vector<std::string_view>& constants,
                                             size_t index) {
  if (index >= constants.size()) return RegexFlags{};
  ARROW_ASSIGN_OR_RAISE(const RegexFlags flags, ParseFlags(constants[index]));
  if (flags.global) return MakeError(ErrorKind::kExecution, "{}() does not support the \"global\" option", function);
  return flags;
}

arrow::Result<Datum> RegexpLike(const KernelInput& input) {
  return ForConstantRuns(input, [&](const Datum& text, const std::vector<std::string_view>& constants) -> arrow::Result<Datum> {
    ARROW_ASSIGN_OR_RAISE(const RegexFlags flags, FlagsWithoutGlobal("regexp_like", constants, 2));
    return CallRegex("match_substring_regex", text, RegexSource(constants[1], flags), input.exec);
  });
}

arrow::Result<Datum> RegexpCount(const KernelInput& input) {
  return ForConstantRuns(input, [&](const Datum& text, const std::vector<std::string_view>& constants) {
    return CallRegex("count_substring_regex", text, RegexSource(constants[1], {}), input.exec);
  });
}

/// PostgreSQL's \1 .. \9, \& and \\ in RE2's spelling; any other backslash stands for itself.
std::string RegexReplacement(std::string_view text) {
  std::string replacement;
  for (size_t i = 0; i < text.size(); ++i) {
    const char next = i + 1 < text.size() ? text[i + 1] : '\0';
    if (text[i] != '\\') {
      replacement += text[i];
    } else if (next == '&') {
      replacement += "\\0";
      ++i;
    } else if ((next >= '1' && next <= '9') || next == '\\') {
      replacement += '\\';
      replacement += next;
      ++i;
    } else {
      replacement += "\\\\";
    }
  }
  return replacement;
}

int64_t WidestBytes(const Datum& text) {
  if (text.is_scalar()) return static_cast<int64_t>(TextOf(text).size());
  const BytesReader reader(text);
  size_t widest = 0;
  for (int64_t row = 0; row < text.length(); ++row) widest = std::max(widest, reader[row].size());
  return static_cast<int64_t>(widest);
}

/// The kernel puts each row's result together on plain heap. What that may take at most is held as a buffer that nobody touches:
/// counted by the ledger, resident nowhere.
arrow::Result<std::unique_ptr<arrow::Buffer>> HoldWidestResult(const Datum& text, const std::string& replacement, bool global,
                                                               arrow::MemoryPool* pool) {
  constexpr int64_t kNarrowBytes = int64_t{256} << 10;
  const int64_t row_bytes = WidestBytes(text);
  const auto groups = static_cast<int64_t>(std::count(replacement.begin(), replacement.end(), '\\'));
  const auto literal_bytes = static_cast<int64_t>(replacement.size()) * (global ? row_bytes + 1 : 1);
  const int64_t widest_bytes = row_bytes * (1 + groups) + literal_bytes;
  return arrow::AllocateBuffer(widest_bytes <= kNarrowBytes ? 0 : 2 * widest_bytes, pool);
}

arrow::Result<Datum> ReplaceRegex(const Datum& text, const std::string& source, const std::string& replacement, bool global,
                                  arrow::compute::ExecContext* exec) {
  ARROW_ASSIGN_OR_RAISE(const auto held, HoldWidestResult(text, replacement, global, exec->memory_pool()));
  const arrow::compute::ReplaceSubstringOptions options(source, replacement, global ? -1 : 1);
  auto result = arrow::compute::CallFunction("replace_substring_regex", {text}, &options, exec);
  if (!result.ok()) return RegexError(result.status());
  return result;
}

arrow::Result<Datum> RegexpReplace(const KernelInput& input) {
  return ForConstantRuns(input, [&](const Datum& text, const std::vector<std::string_view>& constants) -> arrow::Result<Datum> {
    RegexFlags flags;
    if (constants.size() > 3) {
      ARROW_ASSIGN_OR_RAISE(flags, ParseFlags(constants[3]));
    }
    return ReplaceRegex(text, RegexSource(constants[1], flags), RegexReplacement(constants[2]), flags.global, input.exec);
  });
}

/// The first match, or NULL: everything around it is replaced by nothing.
arrow::Result<Datum> RegexpSubstr(const KernelInput& input) {
  return ForConstantRuns(input, [&](const Datum& text, const std::vector<std::string_view>& constants) -> arrow::Result<Datum> {
    const std::string pattern(constants[1]);
    ARROW_ASSIGN_OR_RAISE(const Datum matched, CallRegex("match_substring_regex", text, RegexSource(pattern, {}), input.exec));
    ARROW_ASSIGN_OR_RAISE(const Datum found, ReplaceRegex(text, "(?s)^.*?(" + pattern + ").*$", "\\1", false, input.exec));
    return arrow::compute::IfElse(matched, found, Datum(arrow::MakeNullScalar(arrow::utf8())), input.exec);
  });
}

/// The place of the first match in characters, from 1; 0 when there is none.
arrow::Result<Datum> RegexpInstr(const KernelInput& input) {
  return ForConstantRuns(input, [&](const Datum& text, const std::vector<std::string_view>& constants) -> arrow::Result<Datum> {
    ARROW_ASSIGN_OR_RAISE(const Datum bytes, CallRegex("find_substring_regex", text, RegexSource(constants[1], {}), input.exec));
    const BytesReader reader(text);
    const Datum arguments[2] = {text, bytes};
    const KernelInput rows{arguments, input.type, text.length(), input.context, nullptr, input.exec};
    const ValueReader<int32_t> found(bytes);
    return MapRows<int32_t>(rows, [&](int64_t row, int32_t* out) {
      *out = found[row] < 0 ? 0 : static_cast<int32_t>(CountCharacters(reader[row].substr(0, found[row])) + 1);
      return arrow::Status::OK();
    });
  });
}

/// A literal pattern fails for every row or for none, so nothing is lost when it is compiled early.
bool PatternIsLiteral(const CallExpr& call) {
  return std::all_of(call.children().begin() + 1, call.children().end(),
                     [](const ExprPtr& argument) { return LiteralText(*argument).has_value(); });
}

void AddRegex(FunctionRegistry* registry, std::string_view name, size_t texts, ResultType result, Kernel kernel,
              bool text_result = false) {
  registry->Add({.name = name,
                 .parameters = std::vector(texts, kText),
                 .result_type = result,
                 .kernel = kernel,
                 .text_result = text_result,
                 .never_fails = PatternIsLiteral});
}

}  // namespace

void RegisterPatterns(FunctionRegistry* registry) {
  AddLike(registry, "like", Like<false>);
  AddLike(registry, "not_like", Like<true>);
  AddLike(registry, "ilike", Ilike<false>);
  AddLike(registry, "not_ilike", Ilike<true>);
  registry->AddAlias("~~", "like");
  registry->AddAlias("!~~", "not_like");
  registry->AddAlias("~~*", "ilike");
  registry->AddAlias("!~~*", "not_ilike");
  AddRegex(registry, "~", 2, BooleanResult, RegexOperator<false, false>);
  AddRegex(registry, "~*", 2, BooleanResult, RegexOperator<true, false>);
  AddRegex(registry, "!~", 2, BooleanResult, RegexOperator<false, true>);
  AddRegex(registry, "!~*", 2, BooleanResult, RegexOperator<true, true>);
  AddRegex(registry, "regexp_like", 2, BooleanResult, RegexpLike);
  AddRegex(registry, "regexp_like", 3, BooleanResult, RegexpLike);
  AddRegex(registry, "regexp_count", 2, Int32Result, RegexpCount);
  AddRegex(registry, "regexp_instr", 2, Int32Result, RegexpInstr);
  AddRegex(registry, "regexp_substr", 2, TextResult, RegexpSubstr, true);
  AddRegex(registry, "regexp_replace", 3, TextResult, RegexpReplace, true);
  AddRegex(registry, "regexp_replace", 4, TextResult, RegexpReplace, true);
}

}  // namespace icebound::expr
