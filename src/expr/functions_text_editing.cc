// SPDX-License-Identifier: Apache-2.0
//
// Text made from text: replace, translate, reverse, repeat, padding, overlay, code points, hexadecimal, encodings, md5.
#include <arrow/util/base64.h>

#include <algorithm>
#include <charconv>

#include "base/error.h"
#include "expr/elementwise.h"
#include "expr/md5.h"
#include "expr/number_text.h"
#include "expr/resolve.h"
#include "expr/text_kernels.h"
#include "expr/utf8_text.h"

namespace icebound::expr {

using arrow::Datum;

namespace {

using enum TypeClass;

arrow::Result<Datum> Replace(const KernelInput& input) {
  const BytesReader text(input.arguments[0]), from(input.arguments[1]), to(input.arguments[2]);
  return MapToSink(input, [&](int64_t row, TextSink* sink) -> arrow::Status {
    std::string_view rest = text[row];
    const std::string_view old = from[row];
    while (!old.empty() && old.size() <= rest.size()) {
      const void* found = memmem(rest.data(), rest.size(), old.data(), old.size());
      if (found == nullptr) break;
      const size_t at = static_cast<const char*>(found) - rest.data();
      ARROW_RETURN_NOT_OK(sink->Append(rest.substr(0, at)));
      ARROW_RETURN_NOT_OK(sink->Append(to[row]));
      rest.remove_prefix(at + old.size());
    }
    return sink->Append(rest);
  });
}

/// Each character of `from` becomes the one at the same place of `to`, or nothing when there is none.
arrow::Result<Datum> Translate(const KernelInput& input) {
  const BytesReader text(input.arguments[0]), from(input.arguments[1]), to(input.arguments[2]);
  return MapToSink(input, [&](int64_t row, TextSink* sink) -> arrow::Status {
    const std::string_view value = text[row], old = from[row], fresh = to[row];
    for (size_t at = 0; at < value.size();) {
      const std::string_view character = value.substr(at, CharacterBytes(value, at));
      at += character.size();
      int64_t place = 0;
      size_t old_at = 0;
      while (old_at < old.size() && old.substr(old_at, CharacterBytes(old, old_at)) != character) {
        old_at += CharacterBytes(old, old_at);
        ++place;
      }
      if (old_at >= old.size()) {
        ARROW_RETURN_NOT_OK(sink->Append(character));
        continue;
      }
      const size_t fresh_at = SkipCharacters(fresh, place);
      if (fresh_at < fresh.size()) ARROW_RETURN_NOT_OK(sink->Append(fresh.substr(fresh_at, CharacterBytes(fresh, fresh_at))));
    }
    return arrow::Status::OK();
  });
}

arrow::Result<Datum> Reverse(const KernelInput& input) {
  const BytesReader text(input.arguments[0]);
  return MapToSink(input, [&](int64_t row, TextSink* sink) -> arrow::Status {
    const std::string_view value = text[row];
    ARROW_ASSIGN_OR_RAISE(char* out, sink->Extend(static_cast<int64_t>(value.size())));
    char* end = out + value.size();
    for (size_t at = 0; at < value.size();) {
      const size_t bytes = CharacterBytes(value, at);
      end -= bytes;
      std::memcpy(end, value.data() + at, bytes);
      at += bytes;
    }
    return arrow::Status::OK();
  });
}

arrow::Result<Datum> Repeat(const KernelInput& input) {
  const BytesReader text(input.arguments[0]);
  const ValueReader<int64_t> count(input.arguments[1]);
  return MapToSink(input, [&](int64_t row, TextSink* sink) {
    return text[row].empty() ? arrow::Status::OK() : sink->Append(std::max<int64_t>(count[row], 0), text[row]);
  });
}

/// Text of exactly `length` characters: cut at the right, or filled up at one side with the fill repeated.
arrow::Status PadTo(std::string_view text, int64_t length, std::string_view fill, bool at_left, TextSink* sink) {
  const int64_t characters = CountCharacters(text);
  if (length <= characters || fill.empty())
    return sink->Append(text.substr(0, SkipCharacters(text, std::max<int64_t>(length, 0))));
  const int64_t missing = length - characters, fill_characters = CountCharacters(fill);
  const std::string_view last = fill.substr(0, SkipCharacters(fill, missing % fill_characters));
  if (!at_left) ARROW_RETURN_NOT_OK(sink->Append(text));
  ARROW_RETURN_NOT_OK(sink->Append(missing / fill_characters, fill));
  ARROW_RETURN_NOT_OK(sink->Append(last));
  return at_left ? sink->Append(text) : arrow::Status::OK();
}

template <bool kLeft>
arrow::Result<Datum> Pad(const KernelInput& input) {
  const BytesReader text(input.arguments[0]);
  const ValueReader<int64_t> length(input.arguments[1]);
  const Datum space(std::make_shared<arrow::StringScalar>(" "));
  const BytesReader fill(input.arguments.size() > 2 ? input.arguments[2] : space);
  return MapToSink(input, [&](int64_t row, TextSink* sink) { return PadTo(text[row], length[row], fill[row], kLeft, sink); });
}

/// overlay(text, new, from[, count]): `count` characters from `from` on give way to the new text.
arrow::Result<Datum> Overlay(const KernelInput& input) {
  const BytesReader text(input.arguments[0]), fresh(input.arguments[1]);
  const ValueReader<int64_t> from(input.arguments[2]);
  const bool has_count = input.arguments.size() > 3;
  const ValueReader<int64_t> count(input.arguments[has_count ? 3 : 2]);
  return MapToSink(input, [&](int64_t row, TextSink* sink) -> arrow::Status {
    if (from[row] <= 0) return MakeError(ErrorKind::kExecution, "negative substring length not allowed");
    const std::string_view value = text[row];
    const int64_t removed = has_count ? count[row] : CountCharacters(fresh[row]);
    int64_t rest = 0;  // where the text goes on, in characters from 0
    if (__builtin_add_overflow(from[row] - 1, removed, &rest)) rest = static_cast<int64_t>(value.size());
    ARROW_RETURN_NOT_OK(sink->Append(value.substr(0, SkipCharacters(value, from[row] - 1))));
    ARROW_RETURN_NOT_OK(sink->Append(fresh[row]));
    return sink->Append(value.substr(SkipCharacters(value, std::max<int64_t>(rest, 0))));
  });
}

int32_t CodePoint(std::string_view text) {
  if (text.empty()) return 0;
  const size_t bytes = CharacterBytes(text, 0);
  const uint8_t first = static_cast<uint8_t>(text.front());
  if (bytes == 1) return first;
  int32_t code = first & (0xFF >> (bytes + 1));
  for (size_t i = 1; i < bytes; ++i) code = (code << 6) | (static_cast<uint8_t>(text[i]) & 0x3F);
  return code;
}

arrow::Result<Datum> Ascii(const KernelInput& input) {
  const BytesReader text(input.arguments[0]);
  return MapRows<int32_t>(input, [&](int64_t row, int32_t* out) {
    *out = CodePoint(text[row]);
    return arrow::Status::OK();
  });
}

arrow::Status AppendCodePoint(int64_t code, std::string* out) {
  if (code == 0) return MakeError(ErrorKind::kExecution, "null character not permitted");
  if (code < 0) return MakeError(ErrorKind::kExecution, "character number must be positive");
  if (code > 0x10FFFF) return MakeError(ErrorKind::kExecution, "requested character too large for encoding: {}", code);
  if (code >= 0xD800 && code <= 0xDFFF)
    return MakeError(ErrorKind::kExecution, "requested character not valid for encoding: {}", code);
  const auto tail = [&](int shift) { out->push_back(static_cast<char>(0x80 | ((code >> shift) & 0x3F))); };
  if (code < 0x80) {
    out->push_back(static_cast<char>(code));
  } else if (code < 0x800) {
    out->push_back(static_cast<char>(0xC0 | (code >> 6)));
    tail(0);
  } else if (code < 0x10000) {
    out->push_back(static_cast<char>(0xE0 | (code >> 12)));
    tail(6);
    tail(0);
  } else {
    out->push_back(static_cast<char>(0xF0 | (code >> 18)));
    tail(12);
    tail(6);
    tail(0);
  }
  return arrow::Status::OK();
}

arrow::Result<Datum> Chr(const KernelInput& input) {
  const ValueReader<int32_t> code(input.arguments[0]);
  return MapToText(input, [&](int64_t row, std::string* out) { return AppendCodePoint(code[row], out); });
}

/// Hexadecimal of the two's complement.
template <typename T>
arrow::Result<Datum> ToHex(const KernelInput& input) {
  const ValueReader<T> value(input.arguments[0]);
  return MapToText(input, [&](int64_t row, std::string* out) {
    char buffer[20];
    const auto end = std::to_chars(buffer, buffer + sizeof(buffer), static_cast<std::make_unsigned_t<T>>(value[row]), 16).ptr;
    out->append(buffer, end - buffer);
    return arrow::Status::OK();
  });
}

arrow::Result<Datum> Md5Kernel(const KernelInput& input) {
  const BytesReader data(input.arguments[0]);
  return MapToText(input, [&](int64_t row, std::string* out) {
    const auto digest = Md5(data[row]);
    out->resize(32);
    WriteHex({reinterpret_cast<const char*>(digest.data()), digest.size()}, out->data());
    return arrow::Status::OK();
  });
}

/// A text as an SQL literal.
arrow::Result<Datum> QuoteLiteral(const KernelInput& input) {
  const BytesReader text(input.arguments[0]);
  return MapToSink(input, [&](int64_t row, TextSink* sink) -> arrow::Status {
    const std::string_view value = text[row];
    const bool escapes = value.find('\\') != std::string_view::npos;
    ARROW_RETURN_NOT_OK(sink->Append(escapes ? "E'" : "'"));
    for (const char c : value) {
      if (c == '\'' || c == '\\') ARROW_RETURN_NOT_OK(sink->Append(c));
      ARROW_RETURN_NOT_OK(sink->Append(c));
    }
    return sink->Append('\'');
  });
}

arrow::Status UnknownEncoding(std::string_view format) {
  return MakeError(ErrorKind::kExecution, "unrecognized encoding: \"{}\"", format);
}

/// encode(bytea, 'hex' or 'base64')
arrow::Result<Datum> Encode(const KernelInput& input) {
  const BytesReader data(input.arguments[0]), format(input.arguments[1]);
  return MapToSink(input, [&](int64_t row, TextSink* sink) -> arrow::Status {
    const std::string_view bytes = data[row];
    if (EqualsIgnoreCase(format[row], "hex")) {
      ARROW_ASSIGN_OR_RAISE(char* out, sink->Extend(static_cast<int64_t>(bytes.size()) * 2));
      WriteHex(bytes, out);
      return arrow::Status::OK();
    }
    if (!EqualsIgnoreCase(format[row], "base64")) return UnknownEncoding(format[row]);
    constexpr size_t kLineBytes = 57;  // 76 characters a line, as MIME and PostgreSQL have it
    for (size_t at = 0; at < bytes.size(); at += kLineBytes) {
      if (at > 0) ARROW_RETURN_NOT_OK(sink->Append('\n'));
      ARROW_RETURN_NOT_OK(sink->Append(arrow::util::base64_encode(bytes.substr(at, kLineBytes))));
    }
    return arrow::Status::OK();
  });
}

int Base64Value(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  return c == '+' ? 62 : (c == '/' ? 63 : -1);
}

arrow::Status DecodeBase64(std::string_view text, TextSink* sink) {
  uint32_t bits = 0;
  int count = 0, padding = 0;
  for (const char c : text) {
    if (c == ' ' || c == '\n' || c == '\r' || c == '\t') continue;
    if (c == '=') {
      ++padding;
      continue;
    }
    const int value = Base64Value(c);
    if (value < 0 || padding > 0)
      return MakeError(ErrorKind::kExecution, "invalid symbol \"{}\" found while decoding base64 sequence", c);
    bits = (bits << 6) | static_cast<uint32_t>(value);
    if (++count % 4 != 0) continue;
    for (const int shift : {16, 8, 0}) ARROW_RETURN_NOT_OK(sink->Append(static_cast<char>(bits >> shift)));
    bits = 0;
  }
  const int rest = count % 4;
  if (rest == 1 || (rest > 0 && padding != 4 - rest) || (rest == 0 && padding > 0)) {
    return MakeError(ErrorKind::kExecution, "invalid base64 end sequence");
  }
  bits <<= 6 * (rest == 0 ? 0 : 4 - rest);
  if (rest > 1) ARROW_RETURN_NOT_OK(sink->Append(static_cast<char>(bits >> 16)));
  if (rest > 2) ARROW_RETURN_NOT_OK(sink->Append(static_cast<char>(bits >> 8)));
  return arrow::Status::OK();
}

/// decode(text, 'hex' or 'base64')
arrow::Result<Datum> Decode(const KernelInput& input) {
  const BytesReader text(input.arguments[0]), format(input.arguments[1]);
  return MapToSink(input, [&](int64_t row, TextSink* sink) -> arrow::Status {
    const std::string_view value = text[row];
    if (EqualsIgnoreCase(format[row], "base64")) return DecodeBase64(value, sink);
    if (!EqualsIgnoreCase(format[row], "hex")) return UnknownEncoding(format[row]);
    ARROW_ASSIGN_OR_RAISE(char* out, sink->Extend(static_cast<int64_t>(value.size())));
    ARROW_ASSIGN_OR_RAISE(const size_t bytes, ReadHex(value, out));
    sink->Shrink(static_cast<int64_t>(value.size() - bytes));
    return arrow::Status::OK();
  });
}

arrow::Result<TypePtr> BinaryResult(const std::vector<ExprPtr>&) { return arrow::binary(); }

void AddEditing(FunctionRegistry* registry, std::string_view name, std::vector<TypeClass> parameters, ResultType result,
                Kernel kernel, bool can_fail) {
  const bool text_result = result == TextResult;
  registry->Add({.name = name,
                 .parameters = std::move(parameters),
                 .result_type = result,
                 .kernel = kernel,
                 .can_fail = can_fail,
                 .text_result = text_result});
}

}  // namespace

void RegisterTextEditing(FunctionRegistry* registry) {
  AddEditing(registry, "replace", {kText, kText, kText}, TextResult, Replace, false);
  AddEditing(registry, "translate", {kText, kText, kText}, TextResult, Translate, false);
  AddEditing(registry, "reverse", {kText}, TextResult, Reverse, false);
  AddEditing(registry, "repeat", {kText, kInt64}, TextResult, Repeat, true);
  AddEditing(registry, "lpad", {kText, kInt64}, TextResult, Pad<true>, true);
  AddEditing(registry, "lpad", {kText, kInt64, kText}, TextResult, Pad<true>, true);
  AddEditing(registry, "rpad", {kText, kInt64}, TextResult, Pad<false>, true);
  AddEditing(registry, "rpad", {kText, kInt64, kText}, TextResult, Pad<false>, true);
  AddEditing(registry, "overlay", {kText, kText, kInt64}, TextResult, Overlay, true);
  AddEditing(registry, "overlay", {kText, kText, kInt64, kInt64}, TextResult, Overlay, true);
  AddEditing(registry, "ascii", {kText}, Int32Result, Ascii, false);
  AddEditing(registry, "chr", {kInt32}, TextResult, Chr, true);
  AddEditing(registry, "to_hex", {kInt32}, TextResult, ToHex<int32_t>, false);
  AddEditing(registry, "to_hex", {kInt64}, TextResult, ToHex<int64_t>, false);
  AddEditing(registry, "md5", {kText}, TextResult, Md5Kernel, false);
  AddEditing(registry, "md5", {kBinary}, TextResult, Md5Kernel, false);
  AddEditing(registry, "quote_literal", {kText}, TextResult, QuoteLiteral, false);
  AddEditing(registry, "encode", {kBinary, kText}, TextResult, Encode, true);
  AddEditing(registry, "decode", {kText, kText}, BinaryResult, Decode, true);
}

}  // namespace icebound::expr
