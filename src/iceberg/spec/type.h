// SPDX-License-Identifier: Apache-2.0
//
// Iceberg's types (format versions 1 to 3) and the fields they are made of.
//
// A type is immutable and shared; those without parameters exist once. Fields carry the id that data files are read by, and what
// a reader or writer puts in their place when a file (initial default) or a writer (write default) has no value. Defaults stay
// JSON text, which json_value.h reads when a column needs it. What a field or a nested type says beyond the specification is kept
// in `unknown_members` and written again.
//
// What has no type of its own in Arrow is held in its physical form: a geometry or geography is its well-known binary, a variant
// is its two byte strings.
#pragma once

#include <arrow/result.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace icebound::iceberg {

enum class TypeId : uint8_t {
  kUnknown,  ///< v3: always null, never stored
  kBoolean,
  kInt,
  kLong,
  kFloat,
  kDouble,
  kDecimal,
  kDate,
  kTime,           ///< microseconds since midnight
  kTimestamp,      ///< microseconds, no zone
  kTimestampTz,    ///< microseconds, UTC
  kTimestampNs,    ///< v3
  kTimestampTzNs,  ///< v3
  kString,
  kUuid,
  kFixed,
  kBinary,
  kGeometry,   ///< v3
  kGeography,  ///< v3
  kVariant,    ///< v3
  kStruct,
  kList,
  kMap,
};

class Type;
using TypePtr = std::shared_ptr<const Type>;

/// Field ids above are the columns that readers make up (_file, _pos, _row_id, ...).
constexpr int32_t kMaxColumnId = 2147483447;

struct Field {
  int32_t id = 0;
  std::string name;
  bool required = false;
  TypePtr type;
  std::optional<std::string> doc;
  std::optional<std::string> initial_default;  ///< JSON text
  std::optional<std::string> write_default;    ///< JSON text
  std::string unknown_members;

  bool operator==(const Field& other) const;
};

/// Immutable, thread safe.
class Type {
 public:
  /// A type without parameters; kDecimal, kFixed and the nested ones have their own makers (geometry and geography get the
  /// default parameters).
  static const TypePtr& Of(TypeId id);
  static arrow::Result<TypePtr> Decimal(int32_t precision, int32_t scale);
  static arrow::Result<TypePtr> Fixed(int32_t length_bytes);
  static TypePtr Geometry(std::string crs);
  static TypePtr Geography(std::string crs, std::string algorithm);
  static TypePtr Struct(std::vector<Field> fields, std::string unknown_members = "");
  /// Names of element, key and value are given by the format and set here.
  static TypePtr List(Field element, std::string unknown_members = "");
  static TypePtr Map(Field key, Field value, std::string unknown_members = "");

  /// A type from its word: "long", "decimal(9, 2)", "fixed[16]", "geography(srid:4326, karney)". Words of later versions are
  /// ErrorKind::kUnsupported.
  static arrow::Result<TypePtr> Parse(std::string_view word);

  TypeId id() const { return id_; }
  int32_t precision() const { return first_; }
  int32_t scale() const { return second_; }
  int32_t length_bytes() const { return first_; }
  const std::string& crs() const { return crs_; }              ///< empty is the default, OGC:CRS84
  const std::string& algorithm() const { return algorithm_; }  ///< empty is the default, spherical
  const std::string& unknown_members() const { return unknown_members_; }

  /// Fields of a struct; the element of a list; key and value of a map; none otherwise.
  const std::vector<Field>& fields() const { return fields_; }
  const Field& element() const { return fields_[0]; }
  const Field& key() const { return fields_[0]; }
  const Field& value() const { return fields_[1]; }

  bool is_nested() const { return id_ >= TypeId::kStruct; }
  /// As the specification counts: neither nested nor a variant.
  bool is_primitive() const { return id_ < TypeId::kVariant; }

  /// The word of the specification; nested types as struct<1: a: optional int>, list<int>, map<string, int>.
  std::string ToString() const;

  /// The first format version that has this type (nested parts not looked at).
  int min_format_version() const;

  bool operator==(const Type& other) const;

 private:
  explicit Type(TypeId id, int32_t first = 0, int32_t second = 0) : id_(id), first_(first), second_(second) {}

  TypeId id_;
  int32_t first_;   ///< precision, or length
  int32_t second_;  ///< scale
  std::string crs_;
  std::string algorithm_;
  std::vector<Field> fields_;
  std::string unknown_members_;
};

/// True when a column of type `from` may become `to` without rewriting files. (Whether a partition transform forbids it is
/// PartitionSpec's to say.)
bool CanPromote(const Type& from, const Type& to, int format_version);

}  // namespace icebound::iceberg
