// SPDX-License-Identifier: Apache-2.0
//
// Text: length, parts of a text, searching, case, trimming, joining. Positions and lengths count characters (code points), from
// 1.
#include <arrow/compute/api_scalar.h>
#include <arrow/util/checked_cast.h>

#include <algorithm>
#include <array>
#include <limits>

#include "base/error.h"
#include "expr/elementwise.h"
#include "expr/resolve.h"
#include "expr/text_kernels.h"
#include "expr/utf8_text.h"

namespace icebound::expr {

using arrow::Datum;
using arrow::internal::checked_cast;

namespace {

using enum TypeClass;

// --- length ------------------------------------------------------------------------------------------------------------------

arrow::Result<Datum> CharacterLength(const KernelInput& input) {
  const BytesReader text(input.arguments[0]);
  return MapRows<int32_t>(input, [&](int64_t row, int32_t* out) {
    *out = static_cast<int32_t>(CountCharacters(text[row]));
    return arrow::Status::OK();
  });
}

template <int kBitsPerByte>
arrow::Result<Datum> ByteLength(const KernelInput& input) {
  const BytesReader text(input.arguments[0]);
  return MapRows<int32_t>(input, [&](int64_t row, int32_t* out) -> arrow::Status {
    const int64_t length = static_cast<int64_t>(text[row].size()) * kBitsPerByte;
    if (length > std::numeric_limits<int32_t>::max()) return MakeError(ErrorKind::kExecution, "integer out of range");
    *out = static_cast<int32_t>(length);
    return arrow::Status::OK();
  });
}

// --- parts -------------------------------------------------------------------------------------------------------------------

/// Characters [begin, begin + count) of a text, from 0; ASCII text is cut by bytes.
std::string_view CutCharacters(std::string_view text, int64_t begin, int64_t count) {
  if (IsAscii(
          text.substr(0, static_cast<size_t>(std::min<int64_t>(text.size(), begin + std::min<int64_t>(count, text.size())))))) {
    return begin >= static_cast<int64_t>(text.size()) ? std::string_view() : text.substr(begin, count);
  }
  const size_t from = SkipCharacters(text, begin);
  const std::string_view rest = text.substr(from);
  return rest.substr(0, SkipCharacters(rest, count));
}

/// The window [from, from + length) clipped to positions from 1 on, as PostgreSQL does for a start before the text.
struct Window {
  int64_t begin;  ///< from 0
  int64_t count;
};

arrow::Result<Window> MakeWindow(int64_t from, std::optional<int64_t> length) {
  if (!length.has_value()) return Window{std::max<int64_t>(from - 1, 0), std::numeric_limits<int64_t>::max() / 2};
  if (*length < 0) return MakeError(ErrorKind::kExecution, "negative substring length not allowed");
  int64_t end = 0;
  if (__builtin_add_overflow(from, *length, &end)) end = std::numeric_limits<int64_t>::max() / 2;
  const int64_t begin = std::max<int64_t>(from, 1);
  return Window{begin - 1, std::max<int64_t>(std::min(end, std::numeric_limits<int64_t>::max() / 2) - begin, 0)};
}

template <bool kBytes>
arrow::Result<Datum> Substring(const KernelInput& input) {
  const BytesReader text(input.arguments[0]);
  const ValueReader<int64_t> from(input.arguments[1]);
  const bool has_length = input.arguments.size() > 2;
  const ValueReader<int64_t> length(input.arguments[has_length ? 2 : 1]);
  return MapToSink(input, [&](int64_t row, TextSink* sink) -> arrow::Status {
    ARROW_ASSIGN_OR_RAISE(const Window window, MakeWindow(from[row], has_length ? std::optional(length[row]) : std::nullopt));
    const std::string_view value = text[row];
    if (kBytes) {
      return sink->Append(window.begin >= static_cast<int64_t>(value.size()) ? std::string_view()
                                                                             : value.substr(window.begin, window.count));
    }
    return sink->Append(CutCharacters(value, window.begin, window.count));
  });
}

/// A negative count means all but so many.
arrow::Result<Datum> Left(const KernelInput& input) {
  const BytesReader text(input.arguments[0]);
  const ValueReader<int64_t> count(input.arguments[1]);
  return MapToTextView(input, [&](int64_t row) {
    const std::string_view value = text[row];
    const int64_t n = count[row];
    return value.substr(0, n >= 0 ? SkipCharacters(value, n)
                                  : SkipCharactersBack(value, n == std::numeric_limits<int64_t>::min() ? -(n + 1) : -n));
  });
}

arrow::Result<Datum> Right(const KernelInput& input) {
  const BytesReader text(input.arguments[0]);
  const ValueReader<int64_t> count(input.arguments[1]);
  return MapToTextView(input, [&](int64_t row) {
    const std::string_view value = text[row];
    const int64_t n = count[row];
    return value.substr(n >= 0 ? SkipCharactersBack(value, n)
                               : SkipCharacters(value, n == std::numeric_limits<int64_t>::min() ? -(n + 1) : -n));
  });
}

/// Field `n` of a text cut at a delimiter; a negative n counts from the end.
std::string_view SplitPart(std::string_view text, std::string_view delimiter, int64_t n) {
  if (delimiter.empty()) return n == 1 || n == -1 ? text : std::string_view();
  if (n > 0) {
    for (; n > 1; --n) {
      const size_t at = text.find(delimiter);
      if (at == std::string_view::npos) return {};
      text.remove_prefix(at + delimiter.size());
    }
    return text.substr(0, text.find(delimiter));
  }
  for (; n < -1; ++n) {
    const size_t at = text.rfind(delimiter);
    if (at == std::string_view::npos) return {};
    text = text.substr(0, at);
  }
  const size_t at = text.rfind(delimiter);
  return at == std::string_view::npos ? text : text.substr(at + delimiter.size());
}

arrow::Result<Datum> SplitPartKernel(const KernelInput& input) {
  const BytesReader text(input.arguments[0]), delimiter(input.arguments[1]);
  const ValueReader<int64_t> field(input.arguments[2]);
  return MapToSink(input, [&](int64_t row, TextSink* sink) -> arrow::Status {
    if (field[row] == 0) return MakeError(ErrorKind::kExecution, "field position must not be zero");
    return sink->Append(SplitPart(text[row], delimiter[row], field[row]));
  });
}

// --- searching ---------------------------------------------------------------------------------------------------------------

size_t FindText(std::string_view text, std::string_view part) {
  if (part.empty()) return 0;
  if (part.size() > text.size()) return std::string_view::npos;
  const void* found = memmem(text.data(), text.size(), part.data(), part.size());
  return found == nullptr ? std::string_view::npos : static_cast<const char*>(found) - text.data();
}

arrow::Result<Datum> Position(const KernelInput& input) {
  const BytesReader text(input.arguments[0]), part(input.arguments[1]);
  return MapRows<int32_t>(input, [&](int64_t row, int32_t* out) {
    const size_t at = FindText(text[row], part[row]);
    *out = at == std::string_view::npos ? 0 : static_cast<int32_t>(CountCharacters(text[row].substr(0, at)) + 1);
    return arrow::Status::OK();
  });
}

arrow::Result<Datum> StartsWith(const KernelInput& input) {
  const BytesReader text(input.arguments[0]), part(input.arguments[1]);
  return MapRowsToBoolean(input, [&](int64_t row) { return text[row].starts_with(part[row]); });
}
arrow::Result<Datum> EndsWith(const KernelInput& input) {
  const BytesReader text(input.arguments[0]), part(input.arguments[1]);
  return MapRowsToBoolean(input, [&](int64_t row) { return text[row].ends_with(part[row]); });
}
arrow::Result<Datum> Contains(const KernelInput& input) {
  const BytesReader text(input.arguments[0]), part(input.arguments[1]);
  return MapRowsToBoolean(input, [&](int64_t row) { return FindText(text[row], part[row]) != std::string_view::npos; });
}

// --- case --------------------------------------------------------------------------------------------------------------------

/// All bytes of the rows below 128, which costs much less than decoding characters.
bool IsAsciiColumn(const Datum& text, int64_t num_rows) {
  if (num_rows == 0 || !text.is_array()) return false;
  const int32_t* offsets = text.array()->GetValues<int32_t>(1);
  const auto& data = text.array()->buffers[2];
  if (data == nullptr) return true;
  const char* bytes = reinterpret_cast<const char*>(data->data());
  return IsAscii({bytes + offsets[0], static_cast<size_t>(offsets[num_rows] - offsets[0])});
}

arrow::Result<Datum> Lower(const KernelInput& input) {
  const char* function = IsAsciiColumn(input.arguments[0], input.num_rows) ? "ascii_lower" : "utf8_lower";
  return arrow::compute::CallFunction(function, {input.arguments[0]}, input.exec);
}
arrow::Result<Datum> Upper(const KernelInput& input) {
  const char* function = IsAsciiColumn(input.arguments[0], input.num_rows) ? "ascii_upper" : "utf8_upper";
  return arrow::compute::CallFunction(function, {input.arguments[0]}, input.exec);
}

bool IsWordCharacter(std::string_view character) {
  const char c = character.front();
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || static_cast<uint8_t>(c) >= 128;
}

/// The first letter of each word in upper case, the rest in lower case; words are runs of letters and digits.
arrow::Result<Datum> Initcap(const KernelInput& input) {
  ARROW_ASSIGN_OR_RAISE(const Datum lower, Lower(input));
  ARROW_ASSIGN_OR_RAISE(const Datum upper, Upper(input));
  const BytesReader lower_text(lower), upper_text(upper);
  return MapToSink(input, [&](int64_t row, TextSink* sink) -> arrow::Status {
    const std::string_view small = lower_text[row], large = upper_text[row];
    bool in_word = false;
    size_t small_at = 0, large_at = 0;
    while (small_at < small.size() && large_at < large.size()) {  // Both have the same number of characters.
      const std::string_view small_char = small.substr(small_at, CharacterBytes(small, small_at));
      const std::string_view large_char = large.substr(large_at, CharacterBytes(large, large_at));
      ARROW_RETURN_NOT_OK(sink->Append(in_word ? small_char : large_char));
      in_word = IsWordCharacter(small_char);
      small_at += small_char.size();
      large_at += large_char.size();
    }
    return arrow::Status::OK();
  });
}

// --- trimming ----------------------------------------------------------------------------------------------------------------

/// The set of characters to trim: a table for ASCII, the text itself for others.
class CharacterSet {
 public:
  explicit CharacterSet(std::string_view characters) : characters_(characters) {
    for (const char c : characters) {
      if (static_cast<uint8_t>(c) < 128) ascii_[static_cast<uint8_t>(c)] = true;
    }
  }
  bool Contains(std::string_view character) const {
    const uint8_t first = static_cast<uint8_t>(character.front());
    if (first < 128) return ascii_[first];
    for (size_t at = 0; at < characters_.size();) {
      const size_t bytes = CharacterBytes(characters_, at);
      if (characters_.substr(at, bytes) == character) return true;
      at += bytes;
    }
    return false;
  }

 private:
  std::string_view characters_;
  std::array<bool, 128> ascii_{};
};

template <bool kLeft, bool kRight>
std::string_view TrimText(std::string_view text, const CharacterSet& set) {
  while (kLeft && !text.empty()) {
    const size_t bytes = CharacterBytes(text, 0);
    if (!set.Contains(text.substr(0, bytes))) break;
    text.remove_prefix(bytes);
  }
  while (kRight && !text.empty()) {
    const size_t at = SkipCharactersBack(text, 1);
    if (!set.Contains(text.substr(at))) break;
    text = text.substr(0, at);
  }
  return text;
}

template <bool kLeft, bool kRight>
arrow::Result<Datum> Trim(const KernelInput& input) {
  const BytesReader text(input.arguments[0]);
  if (input.arguments.size() == 1 || input.arguments[1].is_scalar()) {
    const CharacterSet set(input.arguments.size() == 1 ? " " : BytesReader(input.arguments[1])[0]);
    return MapToTextView(input, [&](int64_t row) { return TrimText<kLeft, kRight>(text[row], set); });
  }
  const BytesReader characters(input.arguments[1]);
  return MapToTextView(input, [&](int64_t row) { return TrimText<kLeft, kRight>(text[row], CharacterSet(characters[row])); });
}

// --- joining -----------------------------------------------------------------------------------------------------------------

/// All arguments of one row, one after another.
arrow::Result<Datum> Join(const KernelInput& input) {
  std::vector<BytesReader> parts;
  for (const Datum& argument : input.arguments) parts.emplace_back(argument);
  return MapToSink(input, [&](int64_t row, TextSink* sink) {
    for (const BytesReader& part : parts) ARROW_RETURN_NOT_OK(sink->Append(part[row]));
    return arrow::Status::OK();
  });
}

/// concat (no separator) and concat_ws (the first argument): NULL arguments are passed over.
template <bool kSeparator>
arrow::Result<Datum> Concat(const KernelInput& input) {
  std::vector<BytesReader> parts;
  std::vector<ValidityReader> valid;
  for (const Datum& argument : input.arguments) {
    parts.emplace_back(argument);
    valid.emplace_back(argument);
  }
  std::shared_ptr<arrow::Buffer> validity;
  if (kSeparator) {
    const Datum& separator = input.arguments[0];
    if (separator.is_scalar() && !separator.scalar()->is_valid) {
      ARROW_ASSIGN_OR_RAISE(validity, arrow::AllocateEmptyBitmap(input.num_rows, input.context.pool));
    } else {
      ARROW_ASSIGN_OR_RAISE(validity, CombinedValidity(input.arguments.first(1), input.num_rows, input.context.pool));
    }
  }
  return MapToSinkWith(input, std::move(validity), [&](int64_t row, TextSink* sink) {
    bool first = true;
    for (size_t i = kSeparator ? 1 : 0; i < parts.size(); ++i) {
      if (!valid[i][row]) continue;
      if (kSeparator && !first) ARROW_RETURN_NOT_OK(sink->Append(parts[0][row]));
      ARROW_RETURN_NOT_OK(sink->Append(parts[i][row]));
      first = false;
    }
    return arrow::Status::OK();
  });
}

/// A value as concat prints it: as its cast to text, but booleans as t and f.
arrow::Result<ExprPtr> ToConcatText(ExprPtr value) {
  if (IsUntypedLiteral(*value) || ClassOf(*value->type()) == kText) return CoerceTo(std::move(value), arrow::utf8());
  if (ClassOf(*value->type()) == kBoolean) {
    const auto text = [](const char* word) { return MakeLiteral(std::make_shared<arrow::StringScalar>(word)); };
    ARROW_ASSIGN_OR_RAISE(ExprPtr negated, MakeCall("not", {value}));
    return MakeCase({value, std::move(negated)}, {text("t"), text("f")}, nullptr);
  }
  return MakeCast(std::move(value), arrow::utf8());
}

arrow::Result<Resolution> ResolveConcat(const FunctionFamily& family, std::vector<ExprPtr> arguments) {
  if (arguments.empty()) return NoSuchCall(family.name, arguments);
  for (ExprPtr& argument : arguments) {
    ARROW_ASSIGN_OR_RAISE(argument, ToConcatText(std::move(argument)));
  }
  return Resolution{family.overloads.front(), std::move(arguments), arrow::utf8()};
}

/// ||: text with anything that has a text form; bytea with bytea; lists are another overload.
arrow::Result<Resolution> ResolveJoin(const FunctionFamily& family, std::vector<ExprPtr> arguments) {
  if (arguments.size() != 2) return NoSuchCall(family.name, arguments);
  const bool untyped[2] = {IsUntypedLiteral(*arguments[0]), IsUntypedLiteral(*arguments[1])};
  const TypeClass classes[2] = {ClassOf(*arguments[0]->type()), ClassOf(*arguments[1]->type())};
  const auto is_text = [&](int i) { return untyped[i] || classes[i] == kText; };
  const auto is_kind = [&](int i, TypeClass wanted) { return !untyped[i] && classes[i] == wanted; };
  if (is_kind(0, kList) || is_kind(1, kList)) {
    const auto common = CommonTypeOf(arguments);
    if (!common.ok()) return NoSuchCall(family.name, arguments);
    for (ExprPtr& argument : arguments) {
      ARROW_ASSIGN_OR_RAISE(argument, CoerceTo(std::move(argument), *common));
    }
    return Resolution{family.overloads[1], std::move(arguments), *common};
  }
  const bool bytes = is_kind(0, kBinary) || is_kind(1, kBinary);
  if (bytes && !(untyped[0] || is_kind(0, kBinary))) return NoSuchCall(family.name, arguments);
  if (bytes && !(untyped[1] || is_kind(1, kBinary))) return NoSuchCall(family.name, arguments);
  if (!bytes && !is_text(0) && !is_text(1)) return NoSuchCall(family.name, arguments);
  const TypePtr type = bytes ? arrow::binary() : arrow::utf8();
  for (ExprPtr& argument : arguments) {
    const bool as_it_is = IsUntypedLiteral(*argument) || ClassOf(*argument->type()) == ClassOf(*type);
    if (as_it_is) {
      ARROW_ASSIGN_OR_RAISE(argument, CoerceTo(std::move(argument), type));
    } else {
      ARROW_ASSIGN_OR_RAISE(argument, MakeCast(std::move(argument), type));
    }
  }
  return Resolution{family.overloads.front(), std::move(arguments), type};
}

// --- registration ------------------------------------------------------------------------------------------------------------

void AddText(FunctionRegistry* registry, std::string_view name, std::vector<TypeClass> parameters, ResultType result,
             Kernel kernel, bool can_fail = false) {
  const bool text_result = result == TextResult;
  registry->Add({.name = name,
                 .parameters = std::move(parameters),
                 .result_type = result,
                 .kernel = kernel,
                 .can_fail = can_fail,
                 .text_result = text_result});
}

arrow::Result<TypePtr> BinaryResult(const std::vector<ExprPtr>&) { return arrow::binary(); }

void RegisterLengths(FunctionRegistry* registry) {
  AddText(registry, "length", {kText}, Int32Result, CharacterLength);
  AddText(registry, "length", {kBinary}, Int32Result, ByteLength<1>);
  AddText(registry, "char_length", {kText}, Int32Result, CharacterLength);
  registry->AddAlias("character_length", "char_length");
  AddText(registry, "octet_length", {kText}, Int32Result, ByteLength<1>);
  AddText(registry, "octet_length", {kBinary}, Int32Result, ByteLength<1>);
  AddText(registry, "bit_length", {kText}, Int32Result, ByteLength<8>, true);
  AddText(registry, "bit_length", {kBinary}, Int32Result, ByteLength<8>, true);
}

/// A constant length that is not negative cannot fail.
bool SubstringNeverFails(const CallExpr& call) {
  const auto& arguments = call.children();
  if (arguments.size() < 3) return true;
  if (arguments[2]->kind() != ExprKind::kLiteral) return false;
  const auto& length = *checked_cast<const LiteralExpr&>(*arguments[2]).value();
  return !length.is_valid || checked_cast<const arrow::Int64Scalar&>(length).value >= 0;
}

void RegisterParts(FunctionRegistry* registry) {
  for (const std::string_view name : {"substring", "substr"}) {
    for (const size_t numbers : {1, 2}) {
      std::vector<TypeClass> text{kText}, bytes{kBinary};
      text.resize(numbers + 1, kInt64);
      bytes.resize(numbers + 1, kInt64);
      registry->Add({.name = name,
                     .parameters = std::move(text),
                     .result_type = TextResult,
                     .kernel = Substring<false>,
                     .text_result = true,
                     .never_fails = SubstringNeverFails});
      registry->Add({.name = name,
                     .parameters = std::move(bytes),
                     .result_type = BinaryResult,
                     .kernel = Substring<true>,
                     .never_fails = SubstringNeverFails});
    }
  }
  AddText(registry, "left", {kText, kInt64}, TextResult, Left);
  AddText(registry, "right", {kText, kInt64}, TextResult, Right);
  AddText(registry, "split_part", {kText, kText, kInt64}, TextResult, SplitPartKernel, true);
}

}  // namespace

void RegisterText(FunctionRegistry* registry) {
  RegisterLengths(registry);
  RegisterParts(registry);
  AddText(registry, "position", {kText, kText}, Int32Result, Position);
  AddText(registry, "strpos", {kText, kText}, Int32Result, Position);
  AddText(registry, "starts_with", {kText, kText}, BooleanResult, StartsWith);
  AddText(registry, "ends_with", {kText, kText}, BooleanResult, EndsWith);
  AddText(registry, "contains", {kText, kText}, BooleanResult, Contains);
  AddText(registry, "lower", {kText}, TextResult, Lower);
  AddText(registry, "upper", {kText}, TextResult, Upper);
  AddText(registry, "initcap", {kText}, TextResult, Initcap);
  AddText(registry, "btrim", {kText}, TextResult, Trim<true, true>);
  AddText(registry, "btrim", {kText, kText}, TextResult, Trim<true, true>);
  registry->AddAlias("trim", "btrim");
  AddText(registry, "ltrim", {kText}, TextResult, Trim<true, false>);
  AddText(registry, "ltrim", {kText, kText}, TextResult, Trim<true, false>);
  AddText(registry, "rtrim", {kText}, TextResult, Trim<false, true>);
  AddText(registry, "rtrim", {kText, kText}, TextResult, Trim<false, true>);
  registry->Add({.name = "concat", .kernel = Concat<false>, .strict = false, .can_fail = false});
  registry->SetResolver("concat", ResolveConcat);
  registry->Add({.name = "concat_ws", .kernel = Concat<true>, .strict = false, .can_fail = false});
  registry->SetResolver("concat_ws", ResolveConcat);
  registry->Add({.name = "||", .kernel = Join, .can_fail = false});
  registry->SetResolver("||", ResolveJoin);
}

}  // namespace icebound::expr
