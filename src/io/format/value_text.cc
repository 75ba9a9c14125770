// SPDX-License-Identifier: Apache-2.0
#include "io/format/value_text.h"

#include <arrow/array/array_dict.h>
#include <arrow/array/array_nested.h>
#include <arrow/array/array_run_end.h>
#include <arrow/extension_type.h>
#include <arrow/util/base64.h>
#include <arrow/util/decimal.h>
#include <arrow/util/float16.h>
#include <arrow/util/ree_util.h>
#include <arrow/util/utf8.h>

#include <cmath>
#include <limits>

#include "base/error.h"
#include "expr/calendar.h"
#include "expr/date_time_text.h"
#include "expr/number_text.h"

namespace icebound::io {
namespace {

constexpr int64_t kSecondsPerDay = 86'400;
constexpr int64_t kNanosPerSecond = 1'000'000'000;

/// Bytes of a binary cell that are written at a time: a multiple of three, for base64.
constexpr size_t kBinaryPiece = 12 << 10;

int64_t UnitsPerSecond(arrow::TimeUnit::type unit) {
  switch (unit) {
    case arrow::TimeUnit::SECOND:
      return 1;
    case arrow::TimeUnit::MILLI:
      return 1000;
    case arrow::TimeUnit::MICRO:
      return 1'000'000;
    case arrow::TimeUnit::NANO:
      return kNanosPerSecond;
  }
  return 1;
}

template <typename ArrayType>
auto ValueAt(const arrow::Array& array, int64_t row) {
  return static_cast<const ArrayType&>(array).Value(row);
}

std::string_view BytesAt(const arrow::Array& array, int64_t row) {
  switch (array.type_id()) {
    case arrow::Type::STRING:
    case arrow::Type::BINARY:
      return static_cast<const arrow::BinaryArray&>(array).GetView(row);
    case arrow::Type::LARGE_STRING:
    case arrow::Type::LARGE_BINARY:
      return static_cast<const arrow::LargeBinaryArray&>(array).GetView(row);
    case arrow::Type::STRING_VIEW:
    case arrow::Type::BINARY_VIEW:
      return static_cast<const arrow::BinaryViewArray&>(array).GetView(row);
    default:
      return static_cast<const arrow::FixedSizeBinaryArray&>(array).GetView(row);
  }
}

// ISO 8601

/// Years outside 0 to 9999 have a sign, as the standard asks.
void AppendIsoDate(int64_t days, std::string* out) {
  const expr::CivilDate date = expr::CivilFromDays(days);
  if (date.year >= 0 && date.year <= 9999) {
    fmt::format_to(std::back_inserter(*out), "{:04}-{:02}-{:02}", date.year, date.month, date.day);
  } else {
    fmt::format_to(std::back_inserter(*out), "{:+07}-{:02}-{:02}", date.year, date.month, date.day);
  }
}

/// ".5" for 500 milliseconds; nothing for whole seconds.
void AppendFraction(int64_t nanoseconds, std::string* out) {
  if (nanoseconds == 0) return;
  fmt::format_to(std::back_inserter(*out), ".{:09}", nanoseconds);
  while (out->back() == '0') out->pop_back();
}

void AppendIsoClock(int64_t seconds, int64_t nanoseconds, std::string* out) {
  fmt::format_to(std::back_inserter(*out), "{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
  AppendFraction(nanoseconds, out);
}

void AppendIsoTimestamp(int64_t value, const arrow::TimestampType& type, std::string* out) {
  const int64_t per_second = UnitsPerSecond(type.unit());
  const int64_t seconds = expr::FloorDivide(value, per_second);
  AppendIsoDate(expr::FloorDivide(seconds, kSecondsPerDay), out);
  out->push_back('T');
  AppendIsoClock(expr::FloorModulo(seconds, kSecondsPerDay),
                 expr::FloorModulo(value, per_second) * (kNanosPerSecond / per_second), out);
  if (!type.timezone().empty()) out->push_back('Z');
}

/// P1Y2M3DT4H5M6.5S. Every part has its own sign, as PostgreSQL writes it too.
void AppendIsoDuration(int64_t months, int64_t days, int64_t seconds, int64_t nanoseconds, std::string* out) {
  const size_t begin = out->size();
  const auto part = [&](int64_t value, char unit) {
    if (value != 0) fmt::format_to(std::back_inserter(*out), "{}{}", value, unit);
  };
  out->push_back('P');
  part(months / 12, 'Y');
  part(months % 12, 'M');
  part(days, 'D');
  if (seconds != 0 || nanoseconds != 0) {
    out->push_back('T');
    part(seconds / 3600, 'H');
    part(seconds / 60 % 60, 'M');
    if (seconds % 60 != 0 || nanoseconds != 0) {
      if (seconds % 60 == 0 && nanoseconds < 0) out->push_back('-');
      expr::AppendInteger(seconds % 60, out);
      AppendFraction(std::abs(nanoseconds), out);
      out->push_back('S');
    }
  }
  if (out->size() == begin + 1) out->append("T0S");
}

// Times in any unit, in SQL's text

arrow::Status AppendSqlTimestamp(int64_t value, const arrow::TimestampType& type, std::string* out) {
  const int64_t per_second = UnitsPerSecond(type.unit());
  if (per_second >= 1'000'000) {
    expr::AppendTimestamp(value, type, out);
    return arrow::Status::OK();
  }
  int64_t microseconds = 0;
  if (__builtin_mul_overflow(value, 1'000'000 / per_second, &microseconds)) {
    return MakeError(ErrorKind::kExecution, "timestamp out of range: {} {}", value, type.ToString());
  }
  expr::AppendTimestamp(microseconds, arrow::TimestampType(arrow::TimeUnit::MICRO, type.timezone()), out);
  return arrow::Status::OK();
}

void AppendTimeOfDay(int64_t value, arrow::TimeUnit::type unit, TextStyle style, std::string* out) {
  const int64_t per_second = UnitsPerSecond(unit);
  if (style == TextStyle::kJson) {
    AppendIsoClock(value / per_second, value % per_second * (kNanosPerSecond / per_second), out);
  } else if (per_second >= 1'000'000) {
    expr::AppendTime(value, unit, out);
  } else {
    expr::AppendTime(value * (1'000'000 / per_second), arrow::TimeUnit::MICRO, out);
  }
}

arrow::Status AppendDuration(int64_t value, arrow::TimeUnit::type unit, TextStyle style, std::string* out) {
  const int64_t per_second = UnitsPerSecond(unit);
  if (style == TextStyle::kJson) {
    AppendIsoDuration(0, 0, value / per_second, value % per_second * (kNanosPerSecond / per_second), out);
    return arrow::Status::OK();
  }
  // Whole days keep the clock part, which is in nanoseconds, within 64 bits.
  const int64_t per_day = per_second * kSecondsPerDay;
  const int64_t days = value / per_day;
  if (days > std::numeric_limits<int32_t>::max() || days < std::numeric_limits<int32_t>::min()) {
    return MakeError(ErrorKind::kExecution, "interval out of range: {} days", days);
  }
  expr::AppendInterval({0, static_cast<int32_t>(days), value % per_day * (kNanosPerSecond / per_second)}, out);
  return arrow::Status::OK();
}

void AppendInterval(const expr::Interval& interval, TextStyle style, std::string* out) {
  if (style == TextStyle::kSql) {
    expr::AppendInterval(interval, out);
  } else {
    AppendIsoDuration(interval.months, interval.days, interval.nanoseconds / kNanosPerSecond,
                      interval.nanoseconds % kNanosPerSecond, out);
  }
}

void AppendJsonDouble(double value, bool is_float, std::string* out) {
  if (std::isfinite(value)) {
    is_float ? expr::AppendFloat(static_cast<float>(value), out) : expr::AppendDouble(value, out);
  } else {
    out->append(std::isnan(value) ? "\"NaN\"" : value > 0 ? "\"Infinity\"" : "\"-Infinity\"");
  }
}

void AppendNumber(const arrow::Array& array, int64_t row, TextStyle style, std::string* out) {
  using arrow::Type;
  const bool is_json = style == TextStyle::kJson;
  switch (array.type_id()) {
    case Type::BOOL:
      out->append(ValueAt<arrow::BooleanArray>(array, row) ? "true" : "false");
      break;
    case Type::INT8:
      expr::AppendInteger(ValueAt<arrow::Int8Array>(array, row), out);
      break;
    case Type::INT16:
      expr::AppendInteger(ValueAt<arrow::Int16Array>(array, row), out);
      break;
    case Type::INT32:
      expr::AppendInteger(ValueAt<arrow::Int32Array>(array, row), out);
      break;
    case Type::INT64:
      expr::AppendInteger(ValueAt<arrow::Int64Array>(array, row), out);
      break;
    case Type::UINT8:
      expr::AppendInteger(ValueAt<arrow::UInt8Array>(array, row), out);
      break;
    case Type::UINT16:
      expr::AppendInteger(ValueAt<arrow::UInt16Array>(array, row), out);
      break;
    case Type::UINT32:
      expr::AppendInteger(ValueAt<arrow::UInt32Array>(array, row), out);
      break;
    case Type::UINT64:
      fmt::format_to(std::back_inserter(*out), "{}", ValueAt<arrow::UInt64Array>(array, row));
      break;
    case Type::DOUBLE: {
      const double value = ValueAt<arrow::DoubleArray>(array, row);
      is_json ? AppendJsonDouble(value, false, out) : expr::AppendDouble(value, out);
      break;
    }
    default: {  // FLOAT, HALF_FLOAT
      const float value = array.type_id() == Type::FLOAT
                              ? ValueAt<arrow::FloatArray>(array, row)
                              : arrow::util::Float16::FromBits(ValueAt<arrow::HalfFloatArray>(array, row)).ToFloat();
      is_json ? AppendJsonDouble(value, true, out) : expr::AppendFloat(value, out);
      break;
    }
  }
}

void AppendDecimal(const arrow::Array& array, int64_t row, std::string* out) {
  switch (array.type_id()) {
    case arrow::Type::DECIMAL32:
      out->append(static_cast<const arrow::Decimal32Array&>(array).FormatValue(row));
      break;
    case arrow::Type::DECIMAL64:
      out->append(static_cast<const arrow::Decimal64Array&>(array).FormatValue(row));
      break;
    case arrow::Type::DECIMAL128: {
      const arrow::Decimal128 value(static_cast<const arrow::Decimal128Array&>(array).GetValue(row));
      const auto wide = static_cast<expr::Int128>(static_cast<expr::UInt128>(static_cast<uint64_t>(value.high_bits())) << 64 |
                                                  value.low_bits());
      const int scale = static_cast<const arrow::Decimal128Type&>(*array.type()).scale();
      scale >= 0 ? expr::AppendDecimal(wide, scale, out) : void(out->append(value.ToString(scale)));
      break;
    }
    default:
      out->append(static_cast<const arrow::Decimal256Array&>(array).FormatValue(row));
      break;
  }
}

/// Dates, times, timestamps, durations and intervals.
arrow::Status AppendTemporal(const arrow::Array& array, int64_t row, TextStyle style, std::string* out) {
  using arrow::Type;
  const bool is_json = style == TextStyle::kJson;
  const auto id = array.type_id();
  switch (id) {
    case Type::DATE32:
    case Type::DATE64: {
      const int64_t days = id == Type::DATE32 ? ValueAt<arrow::Date32Array>(array, row)
                                              : expr::FloorDivide(ValueAt<arrow::Date64Array>(array, row), kSecondsPerDay * 1000);
      if (!is_json && days == static_cast<int32_t>(days)) {
        expr::AppendDate(static_cast<int32_t>(days), out);
      } else {
        AppendIsoDate(days, out);
      }
      return arrow::Status::OK();
    }
    case Type::TIME32:
      AppendTimeOfDay(ValueAt<arrow::Time32Array>(array, row), static_cast<const arrow::Time32Type&>(*array.type()).unit(), style,
                      out);
      return arrow::Status::OK();
    case Type::TIME64:
      AppendTimeOfDay(ValueAt<arrow::Time64Array>(array, row), static_cast<const arrow::Time64Type&>(*array.type()).unit(), style,
                      out);
      return arrow::Status::OK();
    case Type::TIMESTAMP: {
      const auto& type = static_cast<const arrow::TimestampType&>(*array.type());
      const int64_t value = ValueAt<arrow::TimestampArray>(array, row);
      if (!is_json) return AppendSqlTimestamp(value, type, out);
      AppendIsoTimestamp(value, type, out);
      return arrow::Status::OK();
    }
    case Type::DURATION:
      return AppendDuration(ValueAt<arrow::DurationArray>(array, row),
                            static_cast<const arrow::DurationType&>(*array.type()).unit(), style, out);
    case Type::INTERVAL_MONTHS:
      AppendInterval({ValueAt<arrow::MonthIntervalArray>(array, row), 0, 0}, style, out);
      return arrow::Status::OK();
    case Type::INTERVAL_DAY_TIME: {
      const auto value = static_cast<const arrow::DayTimeIntervalArray&>(array).GetValue(row);
      AppendInterval({0, value.days, value.milliseconds * int64_t{1'000'000}}, style, out);
      return arrow::Status::OK();
    }
    case Type::INTERVAL_MONTH_DAY_NANO:
      AppendInterval(static_cast<const arrow::MonthDayNanoIntervalArray&>(array).GetValue(row), style, out);
      return arrow::Status::OK();
    default:
      return MakeError(ErrorKind::kUnsupported, "values of type {} have no text form", array.type()->ToString());
  }
}

arrow::Status AppendBinary(std::string_view bytes, TextStyle style, TextOut* out) {
  ARROW_RETURN_NOT_OK(out->Append(style == TextStyle::kJson ? "\"" : "\\x"));
  std::string piece;
  while (!bytes.empty()) {
    const std::string_view part = bytes.substr(0, kBinaryPiece);
    bytes.remove_prefix(part.size());
    if (style == TextStyle::kJson) {
      piece = arrow::util::base64_encode(part);
    } else {
      piece.resize(2 * part.size());
      expr::WriteHex(part, piece.data());
    }
    ARROW_RETURN_NOT_OK(out->Append(piece));
  }
  return style == TextStyle::kJson ? out->Append("\"") : arrow::Status::OK();
}

/// The end of the valid UTF-8 prefix of `text`, which is not valid as a whole.
size_t ValidPrefix(std::string_view text) {
  size_t low = 0;
  while (low < text.size()) {
    const auto lead = static_cast<uint8_t>(text[low]);
    const size_t length = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    const std::string_view character = text.substr(low, length);
    if (!arrow::util::ValidateUTF8(character)) return low;
    low += length;
  }
  return low;
}

arrow::Status AppendEscaped(std::string_view text, TextOut* out) {
  size_t clean = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<uint8_t>(text[i]);
    if (byte >= 0x20 && byte != '"' && byte != '\\') continue;
    ARROW_RETURN_NOT_OK(out->Append(text.substr(clean, i - clean)));
    clean = i + 1;
    if (byte == '"' || byte == '\\') {
      const char pair[] = {'\\', static_cast<char>(byte)};
      ARROW_RETURN_NOT_OK(out->Append(std::string_view(pair, 2)));
    } else if (byte == '\n' || byte == '\r' || byte == '\t') {
      ARROW_RETURN_NOT_OK(out->Append(byte == '\n' ? "\\n" : byte == '\r' ? "\\r" : "\\t"));
    } else {
      ARROW_RETURN_NOT_OK(out->Append(fmt::format("\\u{:04x}", byte)));
    }
  }
  return out->Append(text.substr(clean));
}

/// The physical row of a run-end encoded array, and the array it is in.
int64_t PhysicalRow(const arrow::RunEndEncodedArray& array, int64_t row) {
  const arrow::ArraySpan span(*array.data());
  switch (array.run_ends()->type_id()) {
    case arrow::Type::INT16:
      return arrow::ree_util::internal::FindPhysicalIndex<int16_t>(span, row, span.offset);
    case arrow::Type::INT32:
      return arrow::ree_util::internal::FindPhysicalIndex<int32_t>(span, row, span.offset);
    default:
      return arrow::ree_util::internal::FindPhysicalIndex<int64_t>(span, row, span.offset);
  }
}

}  // namespace

arrow::Status AppendJsonString(std::string_view text, TextOut* out) {
  static const bool initialized = [] {
    arrow::util::InitializeUTF8();
    return true;
  }();
  (void)initialized;
  ARROW_RETURN_NOT_OK(out->Append("\""));
  while (!arrow::util::ValidateUTF8(text)) {
    const size_t valid = ValidPrefix(text);
    ARROW_RETURN_NOT_OK(AppendEscaped(text.substr(0, valid), out));
    ARROW_RETURN_NOT_OK(out->Append("\\ufffd"));
    text.remove_prefix(std::min(valid + 1, text.size()));
  }
  ARROW_RETURN_NOT_OK(AppendEscaped(text, out));
  return out->Append("\"");
}

arrow::Status ValueText::Append(const arrow::Array& array, int64_t row, TextStyle style, TextOut* out) {
  switch (array.type_id()) {
    case arrow::Type::DICTIONARY: {
      if (array.IsNull(row)) break;
      const auto& encoded = static_cast<const arrow::DictionaryArray&>(array);
      return Append(*encoded.dictionary(), encoded.GetValueIndex(row), style, out);
    }
    case arrow::Type::RUN_END_ENCODED: {
      const auto& encoded = static_cast<const arrow::RunEndEncodedArray&>(array);
      return Append(*encoded.values(), PhysicalRow(encoded, row), style, out);
    }
    case arrow::Type::SPARSE_UNION: {
      const auto& values = static_cast<const arrow::SparseUnionArray&>(array);
      return Append(*values.field(values.child_id(row)), row, style, out);
    }
    case arrow::Type::DENSE_UNION: {
      const auto& values = static_cast<const arrow::DenseUnionArray&>(array);
      return Append(*values.field(values.child_id(row)), values.value_offset(row), style, out);
    }
    default:
      break;
  }
  if (array.type_id() == arrow::Type::NA || array.IsNull(row)) {
    return style == TextStyle::kJson ? out->Append("null") : arrow::Status::OK();
  }
  switch (array.type_id()) {
    case arrow::Type::EXTENSION:
      return AppendExtension(array, row, style, out);
    case arrow::Type::STRING:
    case arrow::Type::LARGE_STRING:
    case arrow::Type::STRING_VIEW:
      return style == TextStyle::kJson ? AppendJsonString(BytesAt(array, row), out) : out->Append(BytesAt(array, row));
    case arrow::Type::BINARY:
    case arrow::Type::LARGE_BINARY:
    case arrow::Type::BINARY_VIEW:
    case arrow::Type::FIXED_SIZE_BINARY:
      return AppendBinary(BytesAt(array, row), style, out);
    case arrow::Type::LIST:
    case arrow::Type::LARGE_LIST:
    case arrow::Type::FIXED_SIZE_LIST:
    case arrow::Type::LIST_VIEW:
    case arrow::Type::LARGE_LIST_VIEW:
    case arrow::Type::MAP:
      return AppendList(array, row, out);
    case arrow::Type::STRUCT:
      return AppendStruct(array, row, out);
    default:
      return AppendScalar(array, row, style, out);
  }
}

arrow::Status ValueText::AppendScalar(const arrow::Array& array, int64_t row, TextStyle style, TextOut* out) {
  const auto id = array.type_id();
  const bool is_bare = arrow::is_integer(id) || arrow::is_floating(id) || id == arrow::Type::BOOL;
  const bool is_quoted = style == TextStyle::kJson && !is_bare;
  scratch_.clear();
  if (is_quoted) scratch_.push_back('"');
  if (is_bare) {
    AppendNumber(array, row, style, &scratch_);
  } else if (arrow::is_decimal(id)) {
    AppendDecimal(array, row, &scratch_);
  } else {
    ARROW_RETURN_NOT_OK(AppendTemporal(array, row, style, &scratch_));
  }
  if (is_quoted) scratch_.push_back('"');
  return out->Append(scratch_);
}

arrow::Status ValueText::AppendList(const arrow::Array& array, int64_t row, TextOut* out) {
  std::shared_ptr<arrow::Array> items;
  int64_t begin = 0;
  int64_t length = 0;
  const auto locate = [&](const auto& lists) {
    items = lists.values();
    begin = lists.value_offset(row);
    length = lists.value_length(row);
  };
  switch (array.type_id()) {
    case arrow::Type::LARGE_LIST:
      locate(static_cast<const arrow::LargeListArray&>(array));
      break;
    case arrow::Type::FIXED_SIZE_LIST:
      locate(static_cast<const arrow::FixedSizeListArray&>(array));
      break;
    case arrow::Type::LIST_VIEW:
      locate(static_cast<const arrow::ListViewArray&>(array));
      break;
    case arrow::Type::LARGE_LIST_VIEW:
      locate(static_cast<const arrow::LargeListViewArray&>(array));
      break;
    default:  // a map is a list of structs key, value, whatever its fields are called
      locate(static_cast<const arrow::ListArray&>(array));
      break;
  }
  const bool is_map = array.type_id() == arrow::Type::MAP;
  const arrow::StructArray* entries = is_map ? static_cast<const arrow::StructArray*>(items.get()) : nullptr;
  ARROW_RETURN_NOT_OK(out->Append("["));
  for (int64_t i = begin; i < begin + length; ++i) {
    if (i > begin) ARROW_RETURN_NOT_OK(out->Append(","));
    if (!is_map) {
      ARROW_RETURN_NOT_OK(Append(*items, i, TextStyle::kJson, out));
      continue;
    }
    ARROW_RETURN_NOT_OK(out->Append("{\"key\":"));
    ARROW_RETURN_NOT_OK(Append(*entries->field(0), i, TextStyle::kJson, out));
    ARROW_RETURN_NOT_OK(out->Append(",\"value\":"));
    ARROW_RETURN_NOT_OK(Append(*entries->field(1), i, TextStyle::kJson, out));
    ARROW_RETURN_NOT_OK(out->Append("}"));
  }
  return out->Append("]");
}

arrow::Status ValueText::AppendStruct(const arrow::Array& array, int64_t row, TextOut* out) {
  const auto& structs = static_cast<const arrow::StructArray&>(array);
  ARROW_RETURN_NOT_OK(out->Append("{"));
  for (int i = 0; i < structs.num_fields(); ++i) {
    if (i > 0) ARROW_RETURN_NOT_OK(out->Append(","));
    ARROW_RETURN_NOT_OK(AppendJsonString(array.type()->field(i)->name(), out));
    ARROW_RETURN_NOT_OK(out->Append(":"));
    ARROW_RETURN_NOT_OK(Append(*structs.field(i), row, TextStyle::kJson, out));
  }
  return out->Append("}");
}

arrow::Status ValueText::AppendExtension(const arrow::Array& array, int64_t row, TextStyle style, TextOut* out) {
  const auto& type = static_cast<const arrow::ExtensionType&>(*array.type());
  const auto storage = static_cast<const arrow::ExtensionArray&>(array).storage();
  if (type.extension_name() == "arrow.uuid" && storage->type_id() == arrow::Type::FIXED_SIZE_BINARY) {
    scratch_.clear();
    if (style == TextStyle::kJson) scratch_.push_back('"');
    expr::AppendUuid(reinterpret_cast<const uint8_t*>(BytesAt(*storage, row).data()), &scratch_);
    if (style == TextStyle::kJson) scratch_.push_back('"');
    return out->Append(scratch_);
  }
  if (type.extension_name() == "arrow.bool8" && storage->type_id() == arrow::Type::INT8) {
    return out->Append(ValueAt<arrow::Int8Array>(*storage, row) != 0 ? "true" : "false");
  }
  return Append(*storage, row, style, out);
}

namespace {

/// What a type stands for: the values of a dictionary, the storage of an extension.
const arrow::DataType& Plain(const arrow::DataType& type) {
  switch (type.id()) {
    case arrow::Type::DICTIONARY:
      return Plain(*static_cast<const arrow::DictionaryType&>(type).value_type());
    case arrow::Type::RUN_END_ENCODED:
      return Plain(*static_cast<const arrow::RunEndEncodedType&>(type).value_type());
    case arrow::Type::EXTENSION:
      return Plain(*static_cast<const arrow::ExtensionType&>(type).storage_type());
    default:
      return type;
  }
}

}  // namespace

bool ValueText::IsNull(const arrow::Array& array, int64_t row) {
  switch (array.type_id()) {
    case arrow::Type::NA:
      return true;
    case arrow::Type::DICTIONARY: {
      const auto& encoded = static_cast<const arrow::DictionaryArray&>(array);
      return encoded.IsNull(row) || IsNull(*encoded.dictionary(), encoded.GetValueIndex(row));
    }
    case arrow::Type::RUN_END_ENCODED: {
      const auto& encoded = static_cast<const arrow::RunEndEncodedArray&>(array);
      return IsNull(*encoded.values(), PhysicalRow(encoded, row));
    }
    case arrow::Type::SPARSE_UNION: {
      const auto& values = static_cast<const arrow::SparseUnionArray&>(array);
      return IsNull(*values.field(values.child_id(row)), row);
    }
    case arrow::Type::DENSE_UNION: {
      const auto& values = static_cast<const arrow::DenseUnionArray&>(array);
      return IsNull(*values.field(values.child_id(row)), values.value_offset(row));
    }
    default:
      return array.IsNull(row);
  }
}

bool ValueText::IsNested(const arrow::DataType& type) {
  const arrow::Type::type id = Plain(type).id();
  return arrow::is_nested(id) && !arrow::is_union(id);
}

}  // namespace icebound::io
