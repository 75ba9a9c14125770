// SPDX-License-Identifier: Apache-2.0
//
// Numbers, booleans, uuids and bytes as text, the way PostgreSQL reads and prints them. Errors carry its words, e.g. invalid
// input syntax for type integer: "abc". All functions are pure.
#pragma once

#include <arrow/result.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "expr/type_rules.h"

namespace icebound::expr {

using Int128 = __int128;
using UInt128 = unsigned __int128;

inline constexpr int kMaxDecimalDigits = 38;

/// 10^exponent for 0..38.
Int128 PowerOfTen(int exponent);

/// The error every parser below gives for text it cannot read.
arrow::Status InvalidSyntax(std::string_view type_name, std::string_view text);

/// kInt16, kInt32 or kInt64.
arrow::Result<int64_t> ParseInteger(std::string_view text, TypeClass type_class);
arrow::Result<double> ParseDouble(std::string_view text);
arrow::Result<float> ParseFloat(std::string_view text);
/// Rounds half away from zero to `scale`; "numeric field overflow" when more than `precision` digits are needed.
arrow::Result<Int128> ParseDecimal(std::string_view text, int precision, int scale);
arrow::Result<bool> ParseBoolean(std::string_view text);
/// 16 bytes.
arrow::Result<std::string> ParseUuid(std::string_view text);
/// \x hex, or the escape format. Writes at most text.size() bytes to `out` and returns how many.
arrow::Result<size_t> ParseBytes(std::string_view text, char* out);

/// The digits and scale that hold a number as it is written ("1.50" -> 3, 2); an error when it has no decimal within 38 digits.
struct DecimalShape {
  int precision;
  int scale;
};
arrow::Result<DecimalShape> ShapeOfDecimal(std::string_view text);

void AppendInteger(int64_t value, std::string* out);
/// Shortest text that reads back as the same value; exponent form outside 1e-4 .. 1e15 (1e6 for float).
void AppendDouble(double value, std::string* out);
void AppendFloat(float value, std::string* out);
void AppendDecimal(Int128 value, int scale, std::string* out);
void AppendUuid(const uint8_t* bytes, std::string* out);
/// \x and lower-case hex.
void AppendBytes(std::string_view bytes, std::string* out);
/// Two lower-case digits a byte.
void WriteHex(std::string_view bytes, char* out);
/// The bytes of hex digits, white space between them ignored; at most text.size() / 2 bytes are written. Returns how many.
arrow::Result<size_t> ReadHex(std::string_view text, char* out);

std::string_view TrimSpace(std::string_view text);
bool EqualsIgnoreCase(std::string_view left, std::string_view right);

}  // namespace icebound::expr
