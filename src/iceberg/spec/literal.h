// SPDX-License-Identifier: Apache-2.0
//
// One value of a primitive type, held without its type: a partition value, a bound, a default.
//
//   boolean                              bool
//   int, date                            int32_t
//   long, time, timestamps               int64_t
//   float, double, decimal               float, double, arrow::Decimal128 (the unscaled value)
//   string, uuid, fixed, binary, geo     std::string (a uuid is its 16 bytes, most significant first)
//   null of every type                   std::monostate
//
// Every function that takes a type expects a value of that type (or null) and says kInternal otherwise. All are pure.
#pragma once

#include <arrow/result.h>
#include <arrow/scalar.h>
#include <arrow/util/decimal.h>

#include <compare>
#include <cstdint>
#include <memory>
#include <string>
#include <variant>

#include "iceberg/spec/type.h"

namespace icebound::iceberg {

using Literal = std::variant<std::monostate, bool, int32_t, int64_t, float, double, arrow::Decimal128, std::string>;

inline bool IsNull(const Literal& value) { return value.index() == 0; }

/// True when `value` is null or held as values of `type` are.
bool Holds(const Type& type, const Literal& value);

/// Order of two values of one type: null first; floats as IEEE 754 orders them (-0.0 before +0.0) with NaN last; strings and
/// bytes by unsigned bytes, which for UTF-8 is the order of code points.
std::weak_ordering CompareLiterals(const Literal& left, const Literal& right);

/// Equality of partition values: null equals null, floats are equal when their bits are (every NaN is one NaN, -0.0 is not +0.0).
inline bool SameLiteral(const Literal& left, const Literal& right) { return CompareLiterals(left, right) == 0; }

bool IsNan(const Literal& value);

/// What people read and partition paths hold: ISO dates and times, plain decimals, base64 for bytes, "null".
std::string LiteralText(const Type& type, const Literal& value);

/// The value as Arrow holds it (ToArrowType of arrow_schema.h), and back.
arrow::Result<std::shared_ptr<arrow::Scalar>> LiteralToScalar(const Type& type, const Literal& value);
arrow::Result<Literal> LiteralFromScalar(const Type& type, const arrow::Scalar& scalar);

}  // namespace icebound::iceberg
