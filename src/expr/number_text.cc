// SPDX-License-Identifier: Apache-2.0
#include "expr/number_text.h"

#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "expr/shown_text.h"

namespace icebound::expr {

namespace {

constexpr bool IsSpace(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
constexpr bool IsDigit(char c) { return c >= '0' && c <= '9'; }
constexpr char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

constexpr std::array<Int128, kMaxDecimalDigits + 1> MakePowers() {
  std::array<Int128, kMaxDecimalDigits + 1> powers{};
  Int128 power = 1;
  for (int i = 0; i <= kMaxDecimalDigits; ++i) {
    powers[i] = power;
    if (i < kMaxDecimalDigits) power *= 10;
  }
  return powers;
}
constexpr auto kPowers = MakePowers();

int HexDigit(char c) {
  if (IsDigit(c)) return c - '0';
  const char lower = Lower(c);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

arrow::Status FieldOverflow() { return MakeError(ErrorKind::kExecution, "numeric field overflow"); }

}  // namespace

Int128 PowerOfTen(int exponent) { return kPowers[exponent]; }

std::string_view TrimSpace(std::string_view text) {
  while (!text.empty() && IsSpace(text.front())) text.remove_prefix(1);
  while (!text.empty() && IsSpace(text.back())) text.remove_suffix(1);
  return text;
}

bool EqualsIgnoreCase(std::string_view left, std::string_view right) {
  if (left.size() != right.size()) return false;
  for (size_t i = 0; i < left.size(); ++i) {
    if (Lower(left[i]) != Lower(right[i])) return false;
  }
  return true;
}

arrow::Status InvalidSyntax(std::string_view type_name, std::string_view text) {
  return MakeError(ErrorKind::kExecution, "invalid input syntax for type {}: \"{}\"", type_name, ShownText(text));
}

arrow::Result<int64_t> ParseInteger(std::string_view text, TypeClass type_class) {
  std::string_view digits = TrimSpace(text);
  if (!digits.empty() && digits.front() == '+') digits.remove_prefix(1);
  if (digits.empty() || (digits.front() != '-' && !IsDigit(digits.front()))) return InvalidSyntax(SqlTypeName(type_class), text);
  int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error == std::errc::invalid_argument || end != digits.data() + digits.size())
    return InvalidSyntax(SqlTypeName(type_class), text);
  bool fits = error == std::errc();
  if (type_class == TypeClass::kInt32) fits = fits && value == static_cast<int32_t>(value);
  if (type_class == TypeClass::kInt16) fits = fits && value == static_cast<int16_t>(value);
  if (!fits)
    return MakeError(ErrorKind::kExecution, "value \"{}\" is out of range for type {}", ShownText(text), SqlTypeName(type_class));
  return value;
}

namespace {

template <typename Float>
arrow::Result<Float> ParseFloating(std::string_view text, TypeClass type_class) {
  std::string_view number = TrimSpace(text);
  bool negative = false;
  if (!number.empty() && (number.front() == '+' || number.front() == '-')) {
    negative = number.front() == '-';
    number.remove_prefix(1);
  }
  Float value = 0;
  if (EqualsIgnoreCase(number, "nan")) {
    return std::numeric_limits<Float>::quiet_NaN();
  }
  if (EqualsIgnoreCase(number, "inf") || EqualsIgnoreCase(number, "infinity")) {
    value = std::numeric_limits<Float>::infinity();
    return negative ? -value : value;
  }
  if (number.empty() || !(IsDigit(number.front()) || number.front() == '.')) return InvalidSyntax(SqlTypeName(type_class), text);
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (end != number.data() + number.size() || error == std::errc::invalid_argument)
    return InvalidSyntax(SqlTypeName(type_class), text);
  if (error == std::errc::result_out_of_range) {
    return MakeError(ErrorKind::kExecution, "\"{}\" is out of range for type {}", ShownText(text), SqlTypeName(type_class));
  }
  return negative ? -value : value;
}

/// A number as written: its digits without the point, the places after the point, and the exponent.
struct DecimalParts {
  bool negative = false;
  std::string digits;  ///< without leading zeros
  int64_t scale = 0;   ///< value = digits * 10^-scale; may be negative
};

arrow::Result<DecimalParts> SplitDecimal(std::string_view text) {
  std::string_view rest = TrimSpace(text);
  DecimalParts parts;
  if (!rest.empty() && (rest.front() == '+' || rest.front() == '-')) {
    parts.negative = rest.front() == '-';
    rest.remove_prefix(1);
  }
  bool point = false, any = false;
  size_t i = 0;
  for (; i < rest.size() && (IsDigit(rest[i]) || (rest[i] == '.' && !point)); ++i) {
    if (rest[i] == '.') {
      point = true;
      continue;
    }
    any = true;
    if (point) ++parts.scale;
    if (rest[i] != '0' || !parts.digits.empty()) parts.digits.push_back(rest[i]);
  }
  if (!any) return InvalidSyntax("numeric", text);
  if (i < rest.size()) {
    int exponent = 0;
    if (Lower(rest[i]) != 'e') return InvalidSyntax("numeric", text);
    ++i;
    if (i + 1 < rest.size() && rest[i] == '+' && IsDigit(rest[i + 1])) ++i;
    const auto [end, error] = std::from_chars(rest.data() + i, rest.data() + rest.size(), exponent);
    if (end != rest.data() + rest.size() || error == std::errc::invalid_argument) return InvalidSyntax("numeric", text);
    if (error != std::errc() || std::abs(exponent) > 100'000)
      return MakeError(ErrorKind::kExecution, "value overflows numeric format");
    parts.scale -= exponent;
  }
  return parts;
}

}  // namespace

arrow::Result<double> ParseDouble(std::string_view text) { return ParseFloating<double>(text, TypeClass::kDouble); }
arrow::Result<float> ParseFloat(std::string_view text) { return ParseFloating<float>(text, TypeClass::kFloat); }

arrow::Result<Int128> ParseDecimal(std::string_view text, int precision, int scale) {
  ARROW_ASSIGN_OR_RAISE(DecimalParts parts, SplitDecimal(text));
  const int64_t shift = scale - parts.scale;  // value * 10^scale = digits * 10^shift
  bool round_up = false;
  if (shift < 0) {
    const int64_t kept = static_cast<int64_t>(parts.digits.size()) + shift;
    round_up = kept >= 0 && kept < static_cast<int64_t>(parts.digits.size()) && parts.digits[kept] >= '5';
    parts.digits.resize(kept > 0 ? kept : 0);
  } else if (!parts.digits.empty()) {
    if (shift > kMaxDecimalDigits) return FieldOverflow();
    parts.digits.append(shift, '0');
  }
  if (parts.digits.size() > static_cast<size_t>(precision)) return FieldOverflow();
  Int128 value = 0;
  for (char digit : parts.digits) value = value * 10 + (digit - '0');
  value += round_up ? 1 : 0;
  if (value >= PowerOfTen(precision)) return FieldOverflow();
  return parts.negative ? -value : value;
}

arrow::Result<DecimalShape> ShapeOfDecimal(std::string_view text) {
  ARROW_ASSIGN_OR_RAISE(const DecimalParts parts, SplitDecimal(text));
  const int64_t scale = std::max<int64_t>(parts.scale, 0);
  const int64_t digits =
      static_cast<int64_t>(parts.digits.size()) + (parts.scale < 0 && !parts.digits.empty() ? -parts.scale : 0);
  const int64_t precision = std::max<int64_t>({digits, scale, 1});
  if (precision > kMaxDecimalDigits) {
    return MakeError(ErrorKind::kInvalidInput, "the number {} needs more than {} digits", TrimSpace(text), kMaxDecimalDigits);
  }
  return DecimalShape{static_cast<int>(precision), static_cast<int>(scale)};
}

arrow::Result<bool> ParseBoolean(std::string_view text) {
  const std::string_view word = TrimSpace(text);
  const auto is_prefix_of = [&](std::string_view full, size_t at_least) {
    return word.size() >= at_least && word.size() <= full.size() && EqualsIgnoreCase(word, full.substr(0, word.size()));
  };
  if (is_prefix_of("true", 1) || is_prefix_of("yes", 1) || is_prefix_of("on", 2) || word == "1") return true;
  if (is_prefix_of("false", 1) || is_prefix_of("no", 1) || is_prefix_of("off", 2) || word == "0") return false;
  return InvalidSyntax("boolean", text);
}

arrow::Result<std::string> ParseUuid(std::string_view text) {
  std::string_view hex = TrimSpace(text);
  if (hex.size() >= 2 && hex.front() == '{' && hex.back() == '}') hex = hex.substr(1, hex.size() - 2);
  std::string bytes;
  bytes.reserve(16);
  for (size_t i = 0; i < hex.size();) {
    // A hyphen may follow every group of four digits.
    if (hex[i] == '-' && !bytes.empty() && bytes.size() % 2 == 0 && bytes.size() < 16 && hex[i - 1] != '-') {
      ++i;
      continue;
    }
    const int high = HexDigit(hex[i]);
    const int low = i + 1 < hex.size() ? HexDigit(hex[i + 1]) : -1;
    if (high < 0 || low < 0 || bytes.size() == 16) return InvalidSyntax("uuid", text);
    bytes.push_back(static_cast<char>(high * 16 + low));
    i += 2;
  }
  if (bytes.size() != 16) return InvalidSyntax("uuid", text);
  return bytes;
}

arrow::Result<size_t> ReadHex(std::string_view text, char* out) {
  size_t written = 0;
  for (size_t i = 0; i < text.size();) {
    if (IsSpace(text[i])) {
      ++i;
      continue;
    }
    const int high = HexDigit(text[i]);
    if (high < 0) return MakeError(ErrorKind::kExecution, "invalid hexadecimal digit: \"{}\"", text.substr(i, 1));
    if (i + 1 == text.size()) return MakeError(ErrorKind::kExecution, "invalid hexadecimal data: odd number of digits");
    const int low = HexDigit(text[i + 1]);
    if (low < 0) return MakeError(ErrorKind::kExecution, "invalid hexadecimal digit: \"{}\"", text.substr(i + 1, 1));
    out[written++] = static_cast<char>(high * 16 + low);
    i += 2;
  }
  return written;
}

arrow::Result<size_t> ParseBytes(std::string_view text, char* out) {
  if (text.starts_with("\\x")) return ReadHex(text.substr(2), out);
  size_t written = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      out[written++] = text[i];
    } else if (i + 1 < text.size() && text[i + 1] == '\\') {
      out[written++] = '\\';
      ++i;
    } else {
      const auto octal = [&](size_t at, char most) { return at < text.size() && text[at] >= '0' && text[at] <= most; };
      if (!octal(i + 1, '3') || !octal(i + 2, '7') || !octal(i + 3, '7'))
        return MakeError(ErrorKind::kExecution, "invalid input syntax for type bytea");
      out[written++] = static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
      i += 3;
    }
  }
  return written;
}

void AppendInteger(int64_t value, std::string* out) {
  char buffer[24];
  const auto end = std::to_chars(buffer, buffer + sizeof(buffer), value).ptr;
  out->append(buffer, end - buffer);
}

namespace {

template <typename Float>
void AppendFloating(Float value, int fixed_digits, std::string* out) {
  if (std::isnan(value)) {
    out->append("NaN");
    return;
  }
  if (std::isinf(value)) {
    out->append(value < 0 ? "-Infinity" : "Infinity");
    return;
  }
  char buffer[64];
  const auto end = std::to_chars(buffer, buffer + sizeof(buffer), value, std::chars_format::scientific).ptr;
  const std::string_view scientific(buffer, end - buffer);
  const size_t e = scientific.find('e');
  int exponent = 0;
  const char* exponent_begin = scientific.data() + e + 1 + (scientific[e + 1] == '+' ? 1 : 0);
  std::from_chars(exponent_begin, scientific.data() + scientific.size(), exponent);
  if (exponent < -4 || exponent >= fixed_digits) {
    out->append(scientific);  // to_chars gives the exponent two digits at least, as PostgreSQL does.
    return;
  }
  char fixed[64];
  const auto fixed_end = std::to_chars(fixed, fixed + sizeof(fixed), value, std::chars_format::fixed).ptr;
  out->append(fixed, fixed_end - fixed);
}

}  // namespace

void AppendDouble(double value, std::string* out) { AppendFloating(value, 15, out); }
void AppendFloat(float value, std::string* out) { AppendFloating(value, 6, out); }

void AppendDecimal(Int128 value, int scale, std::string* out) {
  char buffer[48];
  char* const end = buffer + sizeof(buffer);
  char* begin = end;
  UInt128 rest = value < 0 ? -static_cast<UInt128>(value) : static_cast<UInt128>(value);
  int written = 0;
  while (rest > 0 || written <= scale) {
    if (written == scale && scale > 0) *--begin = '.';
    *--begin = static_cast<char>('0' + static_cast<int>(rest % 10));
    rest /= 10;
    ++written;
  }
  if (value < 0) *--begin = '-';
  out->append(begin, end - begin);
}

void AppendUuid(const uint8_t* bytes, std::string* out) {
  constexpr char kHex[] = "0123456789abcdef";
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) out->push_back('-');
    out->push_back(kHex[bytes[i] >> 4]);
    out->push_back(kHex[bytes[i] & 15]);
  }
}

void WriteHex(std::string_view bytes, char* out) {
  constexpr char kHex[] = "0123456789abcdef";
  for (const char c : bytes) {
    *out++ = kHex[static_cast<uint8_t>(c) >> 4];
    *out++ = kHex[static_cast<uint8_t>(c) & 15];
  }
}

void AppendBytes(std::string_view bytes, std::string* out) {
  const size_t begin = out->size() + 2;
  out->append("\\x").resize(begin + bytes.size() * 2);
  WriteHex(bytes, out->data() + begin);
}

}  // namespace icebound::expr
