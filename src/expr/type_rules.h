// SPDX-License-Identifier: Apache-2.0
//
// SQL types over Arrow types. A column may arrive in many physical shapes (dictionary, view, large offsets, narrow decimals,
// seconds); every one has one *logical* type in which expressions are typed and kernels work:
//
//   SQL type            TypeClass      logical Arrow type                     also accepted
//   boolean             kBoolean       bool
//   smallint            kInt16         int16                                  int8, uint8
//   integer             kInt32         int32                                  uint16
//   bigint              kInt64         int64                                  uint32
//   numeric(p,s)        kDecimal       decimal64 (p <= 18) or decimal128      decimal32, decimal256 up to 38 digits, uint64 (20
//                       digits)
//   real                kFloat         float                                  half float
//   double precision    kDouble        double
//   text                kText          utf8                                   large_utf8, utf8_view, dictionary of any of them
//   bytea               kBinary        binary, fixed_size_binary              large_binary, binary_view
//   uuid                kUuid          extension arrow.uuid
//   date                kDate          date32                                 date64
//   time                kTime          time64[us]                             time32, time64[ns]
//   timestamp           kTimestamp     timestamp[us] or timestamp[ns]         timestamp[s], timestamp[ms]
//   timestamptz         kTimestampTz   the same with a zone                   (values are UTC; the session's zone is UTC)
//   interval            kInterval      month_day_nano                         duration, month and day-time intervals
//   list, struct, map   kList, ...     themselves                             large_list (read as list)
//
// time64[ns] columns keep their type so that comparisons are exact; time functions read them in microseconds.
#pragma once

#include <arrow/result.h>
#include <arrow/type.h>

#include <memory>
#include <string>
#include <vector>

namespace icebound::expr {

enum class TypeClass {
  kUnknown,  ///< NULL, or a string literal that has no type yet
  kBoolean,
  kInt16,
  kInt32,
  kInt64,
  kDecimal,
  kFloat,
  kDouble,
  kText,
  kBinary,
  kUuid,
  kDate,
  kTime,
  kTimestamp,
  kTimestampTz,
  kInterval,
  kList,
  kStruct,
  kMap,
  kOther,  ///< not a SQL type (unions, unregistered extensions): columns of it pass through, functions refuse it
  kAny,    ///< in signatures only
};

using TypePtr = std::shared_ptr<arrow::DataType>;

/// The type expressions over `type` are resolved with (see the table above).
TypePtr LogicalType(const TypePtr& type);
/// True when arrays of this type are already in the shape that kernels read.
bool IsLogical(const arrow::DataType& type);

TypeClass ClassOf(const arrow::DataType& type);
bool IsInteger(TypeClass type_class);
bool IsNumeric(TypeClass type_class);
bool IsTemporal(TypeClass type_class);  ///< date, timestamp, timestamptz: what can be compared with each other

/// PostgreSQL's name, for messages: "bigint", "numeric(15,2)", "timestamp without time zone", "integer[]".
std::string SqlTypeName(const arrow::DataType& type);
std::string SqlTypeName(TypeClass type_class);
/// The same without precision and scale, which choose no function and no cast: "numeric".
std::string SqlFamilyName(const arrow::DataType& type);

/// Digits of the decimal that holds every value of an integer type: 5, 10 or 19 (decimals answer their own precision).
int DecimalDigits(const arrow::DataType& type);
/// decimal64 when `narrow` and 18 digits are enough, else decimal128.
TypePtr DecimalType(int precision, int scale, bool narrow);
/// True when PostgreSQL converts `from` to `to` without being asked.
bool IsImplicitCast(TypeClass from, TypeClass to);
/// True when CAST(from AS to) exists.
bool IsExplicitCast(const arrow::DataType& from, const arrow::DataType& to);

/// The logical type of class `target` that holds a value of type `from` (the scale of a decimal, the unit of a timestamp are
/// kept).
TypePtr TypeForClass(const TypePtr& from, TypeClass target);

}  // namespace icebound::expr
