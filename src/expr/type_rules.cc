// SPDX-License-Identifier: Apache-2.0
#include "expr/type_rules.h"

#include <arrow/extension/uuid.h>
#include <arrow/extension_type.h>
#include <arrow/util/checked_cast.h>

#include <algorithm>

#include "base/error.h"
#include "expr/expr.h"

namespace icebound::expr {

using arrow::Type;
using arrow::internal::checked_cast;

namespace {

constexpr int kMaxDigits = 38;
constexpr int kNarrowDigits = 18;

bool IsUuid(const arrow::DataType& type) {
  return type.id() == Type::EXTENSION && checked_cast<const arrow::ExtensionType&>(type).extension_name() == "arrow.uuid";
}

std::string ZoneOf(const arrow::DataType& type) { return checked_cast<const arrow::TimestampType&>(type).timezone(); }

}  // namespace

TypePtr LogicalType(const TypePtr& type) {
  switch (type->id()) {
    case Type::DICTIONARY:
      return LogicalType(checked_cast<const arrow::DictionaryType&>(*type).value_type());
    case Type::RUN_END_ENCODED:
      return LogicalType(checked_cast<const arrow::RunEndEncodedType&>(*type).value_type());
    case Type::LARGE_STRING:
    case Type::STRING_VIEW:
      return arrow::utf8();
    case Type::LARGE_BINARY:
    case Type::BINARY_VIEW:
      return arrow::binary();
    case Type::INT8:
    case Type::UINT8:
      return arrow::int16();
    case Type::UINT16:
      return arrow::int32();
    case Type::UINT32:
      return arrow::int64();
    case Type::UINT64:
      return arrow::decimal128(20, 0);
    case Type::HALF_FLOAT:
      return arrow::float32();
    case Type::DATE64:
      return arrow::date32();
    case Type::TIME32:
      return arrow::time64(arrow::TimeUnit::MICRO);
    case Type::TIMESTAMP: {
      const auto unit = checked_cast<const arrow::TimestampType&>(*type).unit();
      return unit == arrow::TimeUnit::MICRO || unit == arrow::TimeUnit::NANO
                 ? type
                 : arrow::timestamp(arrow::TimeUnit::MICRO, ZoneOf(*type));
    }
    case Type::DECIMAL32: {
      const auto& decimal = checked_cast<const arrow::DecimalType&>(*type);
      return arrow::decimal64(decimal.precision(), decimal.scale());
    }
    case Type::DECIMAL256: {
      const auto& decimal = checked_cast<const arrow::DecimalType&>(*type);
      return decimal.precision() <= kMaxDigits ? arrow::decimal128(decimal.precision(), decimal.scale()) : type;
    }
    case Type::DURATION:
    case Type::INTERVAL_MONTHS:
    case Type::INTERVAL_DAY_TIME:
      return arrow::month_day_nano_interval();
    case Type::LARGE_LIST:
      return arrow::list(checked_cast<const arrow::LargeListType&>(*type).value_field());
    default:
      return type;
  }
}

bool IsLogical(const arrow::DataType& type) {
  switch (type.id()) {
    case Type::DICTIONARY:
    case Type::RUN_END_ENCODED:
    case Type::LARGE_STRING:
    case Type::STRING_VIEW:
    case Type::LARGE_BINARY:
    case Type::BINARY_VIEW:
    case Type::INT8:
    case Type::UINT8:
    case Type::UINT16:
    case Type::UINT32:
    case Type::UINT64:
    case Type::HALF_FLOAT:
    case Type::DATE64:
    case Type::TIME32:
    case Type::DECIMAL32:
    case Type::DURATION:
    case Type::INTERVAL_MONTHS:
    case Type::INTERVAL_DAY_TIME:
    case Type::LARGE_LIST:
      return false;
    case Type::TIMESTAMP: {
      const auto unit = checked_cast<const arrow::TimestampType&>(type).unit();
      return unit == arrow::TimeUnit::MICRO || unit == arrow::TimeUnit::NANO;
    }
    case Type::DECIMAL256:
      return checked_cast<const arrow::DecimalType&>(type).precision() > kMaxDigits;
    default:
      return true;
  }
}

TypeClass ClassOf(const arrow::DataType& type) {
  switch (type.id()) {
    case Type::NA:
      return TypeClass::kUnknown;
    case Type::BOOL:
      return TypeClass::kBoolean;
    case Type::INT8:
    case Type::UINT8:
    case Type::INT16:
      return TypeClass::kInt16;
    case Type::UINT16:
    case Type::INT32:
      return TypeClass::kInt32;
    case Type::UINT32:
    case Type::INT64:
      return TypeClass::kInt64;
    case Type::UINT64:
      return TypeClass::kDecimal;
    case Type::DECIMAL32:
    case Type::DECIMAL64:
    case Type::DECIMAL128:
    case Type::DECIMAL256: {
      const auto& decimal = checked_cast<const arrow::DecimalType&>(type);
      const bool is_sql = decimal.precision() <= kMaxDigits && decimal.scale() >= 0 && decimal.scale() <= decimal.precision();
      return is_sql ? TypeClass::kDecimal : TypeClass::kOther;
    }
    case Type::HALF_FLOAT:
    case Type::FLOAT:
      return TypeClass::kFloat;
    case Type::DOUBLE:
      return TypeClass::kDouble;
    case Type::STRING:
    case Type::LARGE_STRING:
    case Type::STRING_VIEW:
      return TypeClass::kText;
    case Type::BINARY:
    case Type::LARGE_BINARY:
    case Type::BINARY_VIEW:
    case Type::FIXED_SIZE_BINARY:
      return TypeClass::kBinary;
    case Type::DATE32:
    case Type::DATE64:
      return TypeClass::kDate;
    case Type::TIME32:
    case Type::TIME64:
      return TypeClass::kTime;
    case Type::TIMESTAMP:
      return ZoneOf(type).empty() ? TypeClass::kTimestamp : TypeClass::kTimestampTz;
    case Type::DURATION:
    case Type::INTERVAL_MONTHS:
    case Type::INTERVAL_DAY_TIME:
    case Type::INTERVAL_MONTH_DAY_NANO:
      return TypeClass::kInterval;
    case Type::LIST:
    case Type::LARGE_LIST:
    case Type::FIXED_SIZE_LIST:
    case Type::LIST_VIEW:
    case Type::LARGE_LIST_VIEW:
      return TypeClass::kList;
    case Type::STRUCT:
      return TypeClass::kStruct;
    case Type::MAP:
      return TypeClass::kMap;
    case Type::DICTIONARY:
      return ClassOf(*checked_cast<const arrow::DictionaryType&>(type).value_type());
    case Type::RUN_END_ENCODED:
      return ClassOf(*checked_cast<const arrow::RunEndEncodedType&>(type).value_type());
    default:
      return IsUuid(type) ? TypeClass::kUuid : TypeClass::kOther;
  }
}

bool IsInteger(TypeClass c) { return c == TypeClass::kInt16 || c == TypeClass::kInt32 || c == TypeClass::kInt64; }
bool IsNumeric(TypeClass c) {
  return IsInteger(c) || c == TypeClass::kDecimal || c == TypeClass::kFloat || c == TypeClass::kDouble;
}
bool IsTemporal(TypeClass c) { return c == TypeClass::kDate || c == TypeClass::kTimestamp || c == TypeClass::kTimestampTz; }

std::string SqlTypeName(TypeClass type_class) {
  switch (type_class) {
    case TypeClass::kUnknown:
      return "unknown";
    case TypeClass::kBoolean:
      return "boolean";
    case TypeClass::kInt16:
      return "smallint";
    case TypeClass::kInt32:
      return "integer";
    case TypeClass::kInt64:
      return "bigint";
    case TypeClass::kDecimal:
      return "numeric";
    case TypeClass::kFloat:
      return "real";
    case TypeClass::kDouble:
      return "double precision";
    case TypeClass::kText:
      return "text";
    case TypeClass::kBinary:
      return "bytea";
    case TypeClass::kUuid:
      return "uuid";
    case TypeClass::kDate:
      return "date";
    case TypeClass::kTime:
      return "time without time zone";
    case TypeClass::kTimestamp:
      return "timestamp without time zone";
    case TypeClass::kTimestampTz:
      return "timestamp with time zone";
    case TypeClass::kInterval:
      return "interval";
    case TypeClass::kList:
      return "list";
    case TypeClass::kStruct:
      return "struct";
    case TypeClass::kMap:
      return "map";
    case TypeClass::kOther:
      return "other";
    case TypeClass::kAny:
      return "any";
  }
  return "?";
}

std::string SqlTypeName(const arrow::DataType& type) {
  const TypeClass type_class = ClassOf(type);
  if (type_class == TypeClass::kOther) return type.ToString();
  if (type_class == TypeClass::kDecimal && type.id() != Type::UINT64) {
    const auto& decimal = checked_cast<const arrow::DecimalType&>(type);
    return fmt::format("numeric({},{})", decimal.precision(), decimal.scale());
  }
  if (type_class == TypeClass::kList && type.num_fields() == 1) return SqlTypeName(*type.field(0)->type()) + "[]";
  return SqlTypeName(type_class);
}

std::string SqlFamilyName(const arrow::DataType& type) {
  const TypeClass type_class = ClassOf(type);
  return type_class == TypeClass::kDecimal ? SqlTypeName(type_class) : SqlTypeName(type);
}

int DecimalDigits(const arrow::DataType& type) {
  switch (ClassOf(type)) {
    case TypeClass::kInt16:
      return 5;
    case TypeClass::kInt32:
      return 10;
    case TypeClass::kInt64:
      return 19;
    default:
      return type.id() == Type::UINT64 ? 20 : checked_cast<const arrow::DecimalType&>(type).precision();
  }
}

TypePtr DecimalType(int precision, int scale, bool narrow) {
  return narrow && precision <= kNarrowDigits ? arrow::decimal64(precision, scale) : arrow::decimal128(precision, scale);
}

bool IsImplicitCast(TypeClass from, TypeClass to) {
  if (from == to || to == TypeClass::kAny || from == TypeClass::kUnknown) return true;
  using enum TypeClass;
  switch (from) {
    case kInt16:
      return to == kInt32 || to == kInt64 || to == kDecimal || to == kFloat || to == kDouble;
    case kInt32:
      return to == kInt64 || to == kDecimal || to == kFloat || to == kDouble;
    case kInt64:
      return to == kDecimal || to == kFloat || to == kDouble;
    case kDecimal:
      return to == kFloat || to == kDouble;
    case kFloat:
      return to == kDouble;
    case kDate:
      return to == kTimestamp || to == kTimestampTz;
    case kTimestamp:
      return to == kTimestampTz;
    case kTime:
      return to == kInterval;
    default:
      return false;
  }
}

namespace {

bool IsExplicitScalarCast(TypeClass from, TypeClass to) {
  using enum TypeClass;
  if (from == to || from == kUnknown || from == kText || to == kText) return from != kOther && to != kOther;
  if (IsNumeric(from) && IsNumeric(to)) return true;
  switch (from) {
    case kBoolean:
      return to == kInt32;
    case kInt32:
      return to == kBoolean;
    case kDate:
      return to == kTimestamp || to == kTimestampTz;
    case kTimestamp:
      return to == kDate || to == kTime || to == kTimestampTz;
    case kTimestampTz:
      return to == kDate || to == kTime || to == kTimestamp;
    case kTime:
      return to == kInterval;
    case kInterval:
      return to == kTime;
    case kBinary:
      return to == kUuid;
    case kUuid:
      return to == kBinary;
    default:
      return false;
  }
}

}  // namespace

bool IsExplicitCast(const arrow::DataType& from, const arrow::DataType& to) {
  const TypeClass source = ClassOf(from), target = ClassOf(to);
  if (source == TypeClass::kUnknown || from.Equals(to)) return true;
  const auto nested = [](TypeClass c) { return c == TypeClass::kList || c == TypeClass::kStruct || c == TypeClass::kMap; };
  if (!nested(source) && !nested(target)) return IsExplicitScalarCast(source, target);
  // No text of lists, structs and maps yet: said where the cast stands, not when it runs.
  if (source != target || from.num_fields() != to.num_fields()) return false;
  for (int i = 0; i < from.num_fields(); ++i) {
    if (!IsExplicitCast(*from.field(i)->type(), *to.field(i)->type())) return false;
  }
  return true;
}

TypePtr TypeForClass(const TypePtr& from, TypeClass target) {
  if (target == TypeClass::kAny || ClassOf(*from) == target) return LogicalType(from);
  switch (target) {
    case TypeClass::kBoolean:
      return arrow::boolean();
    case TypeClass::kInt16:
      return arrow::int16();
    case TypeClass::kInt32:
      return arrow::int32();
    case TypeClass::kInt64:
      return arrow::int64();
    case TypeClass::kDecimal:
      return IsInteger(ClassOf(*from)) ? arrow::decimal128(DecimalDigits(*from), 0) : arrow::decimal128(38, 10);
    case TypeClass::kFloat:
      return arrow::float32();
    case TypeClass::kDouble:
      return arrow::float64();
    case TypeClass::kText:
      return arrow::utf8();
    case TypeClass::kBinary:
      return arrow::binary();
    case TypeClass::kUuid:
      return arrow::extension::uuid();
    case TypeClass::kDate:
      return arrow::date32();
    case TypeClass::kTime:
      return arrow::time64(arrow::TimeUnit::MICRO);
    case TypeClass::kTimestamp:
    case TypeClass::kTimestampTz: {
      const auto unit = from->id() == Type::TIMESTAMP ? checked_cast<const arrow::TimestampType&>(*LogicalType(from)).unit()
                                                      : arrow::TimeUnit::MICRO;
      return target == TypeClass::kTimestamp ? arrow::timestamp(unit) : arrow::timestamp(unit, "UTC");
    }
    case TypeClass::kInterval:
      return arrow::month_day_nano_interval();
    default:
      return from;
  }
}

namespace {

arrow::Status CannotMatch(const arrow::DataType& left, const arrow::DataType& right) {
  return MakeError(ErrorKind::kInvalidInput, "types {} and {} cannot be matched", SqlFamilyName(left), SqlFamilyName(right));
}

/// The decimal that holds both; when 38 digits are not enough the fraction gives way, and a value that loses digits is rounded.
TypePtr CommonDecimal(const arrow::DataType& left, const arrow::DataType& right) {
  const auto scale_of = [](const arrow::DataType& type) {
    return arrow::is_decimal(type.id()) ? checked_cast<const arrow::DecimalType&>(type).scale() : 0;
  };
  const int scale = std::max(scale_of(left), scale_of(right));
  const int integer_digits = std::max(DecimalDigits(left) - scale_of(left), DecimalDigits(right) - scale_of(right));
  const int precision = std::min(kMaxDigits, integer_digits + scale);
  const bool narrow = left.id() != Type::DECIMAL128 && right.id() != Type::DECIMAL128;
  return DecimalType(precision, std::max(std::min(scale, kMaxDigits - integer_digits), 0), narrow);
}

arrow::Result<TypePtr> CommonTimestamp(const arrow::DataType& left, const arrow::DataType& right) {
  auto unit = arrow::TimeUnit::MICRO;
  bool zoned = false;
  for (const arrow::DataType* type : {&left, &right}) {
    if (type->id() != Type::TIMESTAMP) continue;
    if (checked_cast<const arrow::TimestampType&>(*type).unit() == arrow::TimeUnit::NANO) unit = arrow::TimeUnit::NANO;
    zoned |= !ZoneOf(*type).empty();
  }
  return zoned ? arrow::timestamp(unit, "UTC") : arrow::timestamp(unit);
}

arrow::Result<TypePtr> CommonPair(const TypePtr& a, const TypePtr& b);

arrow::Result<TypePtr> CommonNested(const TypePtr& a, const TypePtr& b) {
  if (a->num_fields() != b->num_fields()) return CannotMatch(*a, *b);
  arrow::FieldVector fields;
  for (int i = 0; i < a->num_fields(); ++i) {
    const auto type = CommonPair(LogicalType(a->field(i)->type()), LogicalType(b->field(i)->type()));
    if (!type.ok()) return CannotMatch(*a, *b);
    fields.push_back(a->field(i)->WithType(*type)->WithNullable(a->field(i)->nullable() || b->field(i)->nullable()));
  }
  if (ClassOf(*a) == TypeClass::kStruct) return arrow::struct_(std::move(fields));
  if (ClassOf(*a) == TypeClass::kList) return arrow::list(fields.front());
  return CannotMatch(*a, *b);
}

arrow::Result<TypePtr> CommonPair(const TypePtr& a, const TypePtr& b) {
  if (a->Equals(*b)) return a;
  const TypeClass left = ClassOf(*a), right = ClassOf(*b);
  if (left == TypeClass::kUnknown) return b;
  if (right == TypeClass::kUnknown) return a;
  if (IsNumeric(left) && IsNumeric(right)) {
    const TypeClass wider = std::max(left, right);  // The enumeration is in the order of implicit casts.
    if (wider == TypeClass::kDecimal) return CommonDecimal(*a, *b);
    return TypeForClass(arrow::null(), wider);
  }
  if (IsTemporal(left) && IsTemporal(right)) return CommonTimestamp(*a, *b);
  if (left != right) {
    if (IsImplicitCast(left, right)) return b;
    if (IsImplicitCast(right, left)) return a;
    return CannotMatch(*a, *b);
  }
  switch (left) {
    case TypeClass::kText:
      return arrow::utf8();
    case TypeClass::kBinary:
      return arrow::binary();
    case TypeClass::kTime:
      return arrow::time64(arrow::TimeUnit::NANO);
    case TypeClass::kList:
    case TypeClass::kStruct:
      return CommonNested(a, b);
    default:
      return CannotMatch(*a, *b);
  }
}

}  // namespace

arrow::Result<TypePtr> CommonType(const std::vector<TypePtr>& types) {
  TypePtr common = arrow::null();
  for (const TypePtr& type : types) {
    ARROW_ASSIGN_OR_RAISE(common, CommonPair(common, LogicalType(type)));
  }
  return common->id() == Type::NA ? arrow::utf8() : common;
}

}  // namespace icebound::expr
