// SPDX-License-Identifier: Apache-2.0
#include "iceberg/avro/schema_names.h"

#include <fmt/format.h>

#include <array>

namespace icebound::iceberg::avro {

namespace {

struct TypeRow {
  Type type;
  std::string_view name;
  bool is_primitive;
  int64_t min_bytes;
};

constexpr std::array kTypes = {
    TypeRow{Type::kNull, "null", true, 0},      TypeRow{Type::kBoolean, "boolean", true, 1},
    TypeRow{Type::kInt, "int", true, 1},        TypeRow{Type::kLong, "long", true, 1},
    TypeRow{Type::kFloat, "float", true, 4},    TypeRow{Type::kDouble, "double", true, 8},
    TypeRow{Type::kBytes, "bytes", true, 1},    TypeRow{Type::kString, "string", true, 1},
    TypeRow{Type::kFixed, "fixed", false, 0},   TypeRow{Type::kEnum, "enum", false, 1},
    TypeRow{Type::kRecord, "record", false, 0}, TypeRow{Type::kArray, "array", false, 1},
    TypeRow{Type::kMap, "map", false, 1},       TypeRow{Type::kUnion, "union", false, 1},
};

const TypeRow& RowOf(Type type) { return kTypes[static_cast<size_t>(type)]; }

bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }

/// The code point that begins at `text[*at]`, and the place behind it; a byte that is no UTF-8 stands for itself.
uint32_t NextCodePoint(std::string_view text, size_t* at) {
  const auto byte = [&](size_t i) { return i < text.size() ? static_cast<uint8_t>(text[i]) : 0U; };
  const uint32_t first = byte(*at);
  const int extra = first >= 0xF0 ? 3 : first >= 0xE0 ? 2 : first >= 0xC0 ? 1 : 0;
  uint32_t value = extra == 0 ? first : first & (0x3FU >> extra);
  for (int i = 1; i <= extra; ++i) {
    const uint32_t next = byte(*at + static_cast<size_t>(i));
    if ((next & 0xC0) != 0x80) {
      ++*at;
      return first;
    }
    value = value << 6 | (next & 0x3F);
  }
  *at += static_cast<size_t>(extra) + 1;
  return value;
}

}  // namespace

std::string_view TypeName(Type type) { return RowOf(type).name; }

std::optional<Type> PrimitiveByName(std::string_view name) {
  for (const TypeRow& row : kTypes) {
    if (row.is_primitive && row.name == name) return row.type;
  }
  return std::nullopt;
}

bool IsTimestamp(LogicalType logical) {
  return logical == LogicalType::kTimestampMillis || logical == LogicalType::kTimestampMicros ||
         logical == LogicalType::kTimestampNanos;
}

std::string LogicalTypeName(const Node& node) {
  switch (node.logical) {
    case LogicalType::kDecimal:
      return "decimal";
    case LogicalType::kUuid:
      return "uuid";
    case LogicalType::kDate:
      return "date";
    case LogicalType::kTimeMillis:
      return "time-millis";
    case LogicalType::kTimeMicros:
      return "time-micros";
    case LogicalType::kTimestampMillis:
      return "timestamp-millis";
    case LogicalType::kTimestampMicros:
      return "timestamp-micros";
    case LogicalType::kTimestampNanos:
      return "timestamp-nanos";
    case LogicalType::kMap:
      return "map";
    case LogicalType::kNone:
      break;
  }
  return "";
}

int64_t FixedMinBytes(const Node& node) { return node.type == Type::kFixed ? node.fixed_bytes : RowOf(node.type).min_bytes; }

std::string AvroName(std::string_view name) {
  std::string out;
  if (!name.empty() && IsDigit(name.front())) out += '_';
  for (size_t at = 0; at < name.size();) {
    if (IsLetter(name[at]) || IsDigit(name[at])) {
      out += name[at++];
      continue;
    }
    // Java's characters are UTF-16: a code point beyond 0xFFFF becomes two.
    const uint32_t code = NextCodePoint(name, &at);
    if (code > 0xFFFF) {
      out += fmt::format("_x{:X}_x{:X}", 0xD7C0 + (code >> 10), 0xDC00 + (code & 0x3FF));
    } else {
      out += fmt::format("_x{:X}", code);
    }
  }
  return out.empty() ? "_" : out;
}

}  // namespace icebound::iceberg::avro
