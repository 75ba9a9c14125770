// SPDX-License-Identifier: Apache-2.0
#include "iceberg/spec/single_value.h"

#include <arrow/util/endian.h>

#include <bit>
#include <cstring>
#include <limits>

#include "base/error.h"
#include "iceberg/spec/iso_time.h"

namespace icebound::iceberg {
namespace {

template <typename T>
std::string LittleEndian(T value) {
  value = arrow::bit_util::ToLittleEndian(value);
  return std::string(reinterpret_cast<const char*>(&value), sizeof(value));
}

template <typename T>
T FromLittleEndian(std::string_view bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof(value));
  return arrow::bit_util::FromLittleEndian(value);
}

arrow::Status WrongLength(const Type& type, std::string_view bytes) {
  return MakeError(ErrorKind::kCorruptData, "{} bytes are no value of type {}", bytes.size(), type.ToString());
}

arrow::Result<Literal> DecodeInt64(const Type& type, std::string_view bytes) {
  if (bytes.size() == 8) return Literal(FromLittleEndian<int64_t>(bytes));
  if (bytes.size() != 4) return WrongLength(type, bytes);
  const int64_t narrow = FromLittleEndian<int32_t>(bytes);
  switch (type.id()) {
    case TypeId::kLong:
      return Literal(narrow);
    case TypeId::kTimestamp:
    case TypeId::kTimestampNs: {
      const int64_t per_day = type.id() == TypeId::kTimestamp ? kMicrosPerDay : kNanosPerDay;
      int64_t instant = 0;
      if (__builtin_mul_overflow(narrow, per_day, &instant)) {
        return MakeError(ErrorKind::kCorruptData, "day {} does not fit a {}", narrow, type.ToString());
      }
      return Literal(instant);
    }
    default:
      return WrongLength(type, bytes);
  }
}

arrow::Result<Literal> DecodeDecimal(const Type& type, std::string_view bytes) {
  if (bytes.empty()) return WrongLength(type, bytes);
  const bool negative = (static_cast<unsigned char>(bytes.front()) & 0x80) != 0;
  // A writer that pads to a fixed length is read all the same.
  const char sign = negative ? '\xff' : '\0';
  while (bytes.size() > 16 && bytes.front() == sign) bytes.remove_prefix(1);
  if (bytes.size() > 16) return WrongLength(type, bytes);
  uint64_t high = negative ? ~uint64_t{0} : 0;
  uint64_t low = high;
  for (const char c : bytes) {
    high = (high << 8) | (low >> 56);
    low = (low << 8) | static_cast<unsigned char>(c);
  }
  return Literal(arrow::Decimal128(static_cast<int64_t>(high), low));
}

/// The start of the character (UTF-8) after the one at `position`.
size_t NextCharacter(const std::string& text, size_t position) {
  ++position;
  while (position < text.size() && (static_cast<unsigned char>(text[position]) & 0xc0) == 0x80) ++position;
  return position;
}

/// Bytes of the first `length` units: code points of a string, bytes of the others.
size_t PrefixBytes(const Type& type, const std::string& value, int64_t length) {
  if (type.id() != TypeId::kString) return std::min(value.size(), static_cast<size_t>(length));
  size_t position = 0;
  for (int64_t i = 0; i < length && position < value.size(); ++i) position = NextCharacter(value, position);
  return position;
}

uint32_t CodePoint(std::string_view character) {
  const auto byte = [&](size_t i) { return static_cast<uint32_t>(static_cast<unsigned char>(character[i])); };
  if (character.size() == 1) return byte(0);
  uint32_t code = byte(0) & (0xffu >> (character.size() + 1));
  for (size_t i = 1; i < character.size(); ++i) code = (code << 6) | (byte(i) & 0x3f);
  return code;
}

std::string Utf8(uint32_t code) {
  std::string text;
  const auto add = [&](uint32_t byte) { text.push_back(static_cast<char>(byte)); };
  if (code < 0x80) {
    add(code);
  } else if (code < 0x800) {
    add(0xc0 | (code >> 6));
    add(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    add(0xe0 | (code >> 12));
    add(0x80 | ((code >> 6) & 0x3f));
    add(0x80 | (code & 0x3f));
  } else {
    add(0xf0 | (code >> 18));
    add(0x80 | ((code >> 12) & 0x3f));
    add(0x80 | ((code >> 6) & 0x3f));
    add(0x80 | (code & 0x3f));
  }
  return text;
}

std::optional<std::string> IncreaseString(std::string prefix) {
  while (!prefix.empty()) {
    size_t last = prefix.size() - 1;
    while (last > 0 && (static_cast<unsigned char>(prefix[last]) & 0xc0) == 0x80) --last;
    const uint32_t code = CodePoint(std::string_view(prefix).substr(last));
    prefix.resize(last);
    if (code < 0x10ffff) return prefix + Utf8(code + 1 >= 0xd800 && code + 1 <= 0xdfff ? 0xe000 : code + 1);
  }
  return std::nullopt;
}

std::optional<std::string> IncreaseBytes(std::string prefix) {
  while (!prefix.empty()) {
    const auto last = static_cast<unsigned char>(prefix.back());
    prefix.pop_back();
    if (last < 0xff) return prefix + static_cast<char>(last + 1);
  }
  return std::nullopt;
}

bool IsCut(const Type& type) {
  return type.id() == TypeId::kString || type.id() == TypeId::kBinary || type.id() == TypeId::kFixed;
}

}  // namespace

std::string MinimalBigEndian(const arrow::Decimal128& unscaled) {
  std::string bytes;
  for (int shift = 56; shift >= 0; shift -= 8)
    bytes.push_back(static_cast<char>(static_cast<uint64_t>(unscaled.high_bits()) >> shift));
  for (int shift = 56; shift >= 0; shift -= 8) bytes.push_back(static_cast<char>(unscaled.low_bits() >> shift));
  // A leading byte says nothing when it only repeats the sign of the next one.
  size_t first = 0;
  const unsigned char sign = unscaled.high_bits() < 0 ? 0xff : 0x00;
  while (first + 1 < bytes.size() && static_cast<unsigned char>(bytes[first]) == sign &&
         (static_cast<unsigned char>(bytes[first + 1]) & 0x80) == (sign & 0x80)) {
    ++first;
  }
  return bytes.substr(first);
}

arrow::Result<std::string> EncodeSingleValue(const Type& type, const Literal& value) {
  if (IsNull(value) || !Holds(type, value)) {
    return MakeError(ErrorKind::kInternal, "no bytes for a value that is null or not of type {}", type.ToString());
  }
  return std::visit(
      []<typename T>(const T& held) -> std::string {
        if constexpr (std::is_same_v<T, bool>) {
          return std::string(1, held ? '\1' : '\0');
        } else if constexpr (std::is_same_v<T, float>) {
          return LittleEndian(std::bit_cast<int32_t>(held));
        } else if constexpr (std::is_same_v<T, double>) {
          return LittleEndian(std::bit_cast<int64_t>(held));
        } else if constexpr (std::is_integral_v<T>) {
          return LittleEndian(held);
        } else if constexpr (std::is_same_v<T, arrow::Decimal128>) {
          return MinimalBigEndian(held);
        } else if constexpr (std::is_same_v<T, std::string>) {
          return held;
        } else {
          return {};
        }
      },
      value);
}

arrow::Result<Literal> DecodeSingleValue(const Type& type, std::string_view bytes) {
  switch (type.id()) {
    case TypeId::kBoolean:
      if (bytes.size() != 1) return WrongLength(type, bytes);
      return Literal(bytes[0] != '\0');
    case TypeId::kInt:
    case TypeId::kDate:
      if (bytes.size() != 4) return WrongLength(type, bytes);
      return Literal(FromLittleEndian<int32_t>(bytes));
    case TypeId::kLong:
    case TypeId::kTime:
    case TypeId::kTimestamp:
    case TypeId::kTimestampTz:
    case TypeId::kTimestampNs:
    case TypeId::kTimestampTzNs:
      return DecodeInt64(type, bytes);
    case TypeId::kFloat:
      if (bytes.size() != 4) return WrongLength(type, bytes);
      return Literal(std::bit_cast<float>(FromLittleEndian<int32_t>(bytes)));
    case TypeId::kDouble:
      if (bytes.size() == 4) return Literal(static_cast<double>(std::bit_cast<float>(FromLittleEndian<int32_t>(bytes))));
      if (bytes.size() != 8) return WrongLength(type, bytes);
      return Literal(std::bit_cast<double>(FromLittleEndian<int64_t>(bytes)));
    case TypeId::kDecimal:
      return DecodeDecimal(type, bytes);
    case TypeId::kUuid:
      if (bytes.size() != 16) return WrongLength(type, bytes);
      return Literal(std::string(bytes));
    case TypeId::kFixed:
      if (bytes.size() != static_cast<size_t>(type.length_bytes())) return WrongLength(type, bytes);
      return Literal(std::string(bytes));
    case TypeId::kString:
    case TypeId::kBinary:
    case TypeId::kGeometry:
    case TypeId::kGeography:
      return Literal(std::string(bytes));
    default:
      return MakeError(ErrorKind::kUnsupported, "values of type {} as bytes", type.ToString());
  }
}

std::optional<Literal> DecodeBound(const Type& type, std::string_view bytes) {
  if (type.id() == TypeId::kGeometry || type.id() == TypeId::kGeography) return std::nullopt;
  // The bound of a fixed may be a prefix, as that of a binary.
  if (type.id() == TypeId::kFixed) return Literal(std::string(bytes));
  auto value = DecodeSingleValue(type, bytes);
  if (!value.ok() || IsNan(*value)) return std::nullopt;
  return *std::move(value);
}

Literal TruncateLowerBound(const Type& type, const Literal& value, int64_t length) {
  if (IsNull(value) || !IsCut(type)) return value;
  const auto& text = std::get<std::string>(value);
  return text.substr(0, PrefixBytes(type, text, length));
}

std::optional<Literal> TruncateUpperBound(const Type& type, const Literal& value, int64_t length) {
  if (IsNull(value) || !IsCut(type)) return value;
  const auto& text = std::get<std::string>(value);
  const size_t prefix_bytes = PrefixBytes(type, text, length);
  if (prefix_bytes == text.size()) return value;
  auto increased =
      type.id() == TypeId::kString ? IncreaseString(text.substr(0, prefix_bytes)) : IncreaseBytes(text.substr(0, prefix_bytes));
  if (!increased) return std::nullopt;
  return Literal(*std::move(increased));
}

}  // namespace icebound::iceberg
