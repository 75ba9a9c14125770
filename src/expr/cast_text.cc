// SPDX-License-Identifier: Apache-2.0
//
// Casts from and to text: one parser and one printer a type, from number_text.h and date_time_text.h.
#include <arrow/extension/uuid.h>
#include <arrow/util/checked_cast.h>

#include "base/error.h"
#include "expr/cast.h"
#include "expr/date_time_text.h"
#include "expr/decimal_block.h"
#include "expr/number_text.h"
#include "expr/text_kernels.h"

namespace icebound::expr {

using arrow::Type;
using arrow::internal::checked_cast;

namespace {

/// Parses every row that is not null into a fixed-width array: parse(std::string_view) returns Result of something that converts
/// to Out.
template <typename Out, typename ParseOne>
arrow::Result<arrow::Datum> ParseRows(const KernelInput& input, ParseOne parse) {
  ARROW_ASSIGN_OR_RAISE(auto validity, CombinedValidity(input.arguments, input.num_rows, input.context.pool));
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> values,
                        arrow::AllocateBuffer(input.num_rows * sizeof(Out), input.context.pool));
  const BytesReader reader(input.arguments[0]);
  Out* out = reinterpret_cast<Out*>(values->mutable_data());
  for (int64_t row = 0; row < input.num_rows; ++row) {
    out[row] = Out{};
    if (validity != nullptr && !arrow::bit_util::GetBit(validity->data(), row)) continue;
    ARROW_ASSIGN_OR_RAISE(const auto value, parse(reader[row]));
    out[row] = static_cast<Out>(value);
  }
  return MakeArrayDatum(input.type, input.num_rows, std::move(validity), std::move(values));
}

arrow::Result<arrow::Datum> ParseBooleans(const KernelInput& input) {
  const BytesReader reader(input.arguments[0]);
  ARROW_ASSIGN_OR_RAISE(auto validity, CombinedValidity(input.arguments, input.num_rows, input.context.pool));
  ARROW_ASSIGN_OR_RAISE(auto bits, AllocateBits(input.num_rows, input.context.pool));
  for (int64_t row = 0; row < input.num_rows; ++row) {
    bool value = false;
    if (validity == nullptr || arrow::bit_util::GetBit(validity->data(), row)) {
      ARROW_ASSIGN_OR_RAISE(value, ParseBoolean(reader[row]));
    }
    arrow::bit_util::SetBitTo(bits->mutable_data(), row, value);
  }
  return MakeArrayDatum(input.type, input.num_rows, std::move(validity), std::move(bits));
}

arrow::Result<arrow::Datum> ParseDecimals(const KernelInput& input) {
  const auto& type = checked_cast<const arrow::DecimalType&>(*input.type);
  const auto parse = [&type](std::string_view text) { return ParseDecimal(text, type.precision(), type.scale()); };
  return type.id() == Type::DECIMAL64 ? ParseRows<int64_t>(input, parse) : ParseRows<Int128>(input, parse);
}

struct UuidBytes {
  char bytes[16];
};

arrow::Result<arrow::Datum> ParseUuids(const KernelInput& input) {
  return ParseRows<UuidBytes>(input, [](std::string_view text) -> arrow::Result<UuidBytes> {
    ARROW_ASSIGN_OR_RAISE(const std::string bytes, ParseUuid(text));
    UuidBytes value;
    std::copy(bytes.begin(), bytes.end(), value.bytes);
    return value;
  });
}

/// The bytes are never more than the characters they are written with.
arrow::Result<arrow::Datum> ParseByteStrings(const KernelInput& input) {
  const BytesReader reader(input.arguments[0]);
  return MapToSink(input, [&reader](int64_t row, TextSink* sink) -> arrow::Status {
    const std::string_view text = reader[row];
    ARROW_ASSIGN_OR_RAISE(char* out, sink->Extend(static_cast<int64_t>(text.size())));
    ARROW_ASSIGN_OR_RAISE(const size_t bytes, ParseBytes(text, out));
    sink->Shrink(static_cast<int64_t>(text.size() - bytes));
    return arrow::Status::OK();
  });
}

}  // namespace

arrow::Result<arrow::Datum> CastFromText(const KernelInput& input) {
  const arrow::DataType& type = *input.type;
  switch (type.id()) {
    case Type::BOOL:
      return ParseBooleans(input);
    case Type::INT16:
      return ParseRows<int16_t>(input, [](std::string_view text) { return ParseInteger(text, TypeClass::kInt16); });
    case Type::INT32:
      return ParseRows<int32_t>(input, [](std::string_view text) { return ParseInteger(text, TypeClass::kInt32); });
    case Type::INT64:
      return ParseRows<int64_t>(input, [](std::string_view text) { return ParseInteger(text, TypeClass::kInt64); });
    case Type::FLOAT:
      return ParseRows<float>(input, ParseFloat);
    case Type::DOUBLE:
      return ParseRows<double>(input, ParseDouble);
    case Type::DECIMAL64:
    case Type::DECIMAL128:
      return ParseDecimals(input);
    case Type::DATE32:
      return ParseRows<int32_t>(input, ParseDate);
    case Type::TIME64: {
      const auto unit = checked_cast<const arrow::Time64Type&>(type).unit();
      return ParseRows<int64_t>(input, [unit](std::string_view text) { return ParseTime(text, unit); });
    }
    case Type::TIMESTAMP: {
      const auto& timestamp = checked_cast<const arrow::TimestampType&>(type);
      return ParseRows<int64_t>(input, [&timestamp](std::string_view text) { return ParseTimestamp(text, timestamp); });
    }
    case Type::INTERVAL_MONTH_DAY_NANO:
      return ParseRows<Interval>(input, [](std::string_view text) { return ParseInterval(text); });
    case Type::BINARY:
      return ParseByteStrings(input);
    case Type::EXTENSION:
      return ParseUuids(input);
    default:
      return MakeError(ErrorKind::kUnsupported, "cannot cast type text to {}", SqlFamilyName(type));
  }
}

arrow::Result<std::shared_ptr<arrow::Scalar>> ScalarFromText(std::string_view text, const TypePtr& type) {
  switch (type->id()) {
    case Type::STRING:
      return std::make_shared<arrow::StringScalar>(std::string(text));
    case Type::BOOL: {
      ARROW_ASSIGN_OR_RAISE(const bool value, ParseBoolean(text));
      return std::make_shared<arrow::BooleanScalar>(value);
    }
    case Type::INT16: {
      ARROW_ASSIGN_OR_RAISE(const int64_t value, ParseInteger(text, TypeClass::kInt16));
      return std::make_shared<arrow::Int16Scalar>(static_cast<int16_t>(value));
    }
    case Type::INT32: {
      ARROW_ASSIGN_OR_RAISE(const int64_t value, ParseInteger(text, TypeClass::kInt32));
      return std::make_shared<arrow::Int32Scalar>(static_cast<int32_t>(value));
    }
    case Type::INT64: {
      ARROW_ASSIGN_OR_RAISE(const int64_t value, ParseInteger(text, TypeClass::kInt64));
      return std::make_shared<arrow::Int64Scalar>(value);
    }
    case Type::FLOAT: {
      ARROW_ASSIGN_OR_RAISE(const float value, ParseFloat(text));
      return std::make_shared<arrow::FloatScalar>(value);
    }
    case Type::DOUBLE: {
      ARROW_ASSIGN_OR_RAISE(const double value, ParseDouble(text));
      return std::make_shared<arrow::DoubleScalar>(value);
    }
    case Type::DECIMAL64:
    case Type::DECIMAL128: {
      const auto& decimal = checked_cast<const arrow::DecimalType&>(*type);
      ARROW_ASSIGN_OR_RAISE(const Int128 value, ParseDecimal(text, decimal.precision(), decimal.scale()));
      return MakeDecimalScalar(value, type);
    }
    case Type::DATE32: {
      ARROW_ASSIGN_OR_RAISE(const int32_t value, ParseDate(text));
      return std::make_shared<arrow::Date32Scalar>(value);
    }
    case Type::TIME64: {
      ARROW_ASSIGN_OR_RAISE(const int64_t value, ParseTime(text, checked_cast<const arrow::Time64Type&>(*type).unit()));
      return std::make_shared<arrow::Time64Scalar>(value, type);
    }
    case Type::TIMESTAMP: {
      ARROW_ASSIGN_OR_RAISE(const int64_t value, ParseTimestamp(text, checked_cast<const arrow::TimestampType&>(*type)));
      return std::make_shared<arrow::TimestampScalar>(value, type);
    }
    case Type::INTERVAL_MONTH_DAY_NANO: {
      ARROW_ASSIGN_OR_RAISE(const Interval value, ParseInterval(text));
      return std::make_shared<arrow::MonthDayNanoIntervalScalar>(value, type);
    }
    case Type::BINARY: {
      std::string value(text.size(), '\0');
      ARROW_ASSIGN_OR_RAISE(const size_t bytes, ParseBytes(text, value.data()));
      value.resize(bytes);
      return std::make_shared<arrow::BinaryScalar>(arrow::Buffer::FromString(std::move(value)));
    }
    case Type::EXTENSION: {
      ARROW_ASSIGN_OR_RAISE(std::string value, ParseUuid(text));
      const auto storage = std::make_shared<arrow::FixedSizeBinaryScalar>(arrow::Buffer::FromString(std::move(value)),
                                                                          arrow::fixed_size_binary(16));
      return std::make_shared<arrow::ExtensionScalar>(storage, type);
    }
    default:
      return MakeError(ErrorKind::kUnsupported, "a string literal cannot be read as {}", SqlTypeName(*type));
  }
}

namespace {

/// Prints every row that is not null: append(value, std::string* out).
template <typename T, typename AppendOne>
arrow::Result<arrow::Datum> PrintRows(const KernelInput& input, AppendOne append) {
  const ValueReader<T> reader(input.arguments[0]);
  return MapToText(input, [&](int64_t row, std::string* out) {
    append(reader[row], out);
    return arrow::Status::OK();
  });
}

arrow::Result<arrow::Datum> PrintUuids(const KernelInput& input) {
  const BytesReader reader(input.arguments[0]);
  return MapToText(input, [&](int64_t row, std::string* out) {
    AppendUuid(reinterpret_cast<const uint8_t*>(reader[row].data()), out);
    return arrow::Status::OK();
  });
}

arrow::Result<arrow::Datum> PrintBytes(const KernelInput& input) {
  const BytesReader reader(input.arguments[0]);
  return MapToSink(input, [&](int64_t row, TextSink* sink) -> arrow::Status {
    ARROW_RETURN_NOT_OK(sink->Append("\\x"));
    const std::string_view bytes = reader[row];
    ARROW_ASSIGN_OR_RAISE(char* out, sink->Extend(static_cast<int64_t>(bytes.size()) * 2));
    WriteHex(bytes, out);
    return arrow::Status::OK();
  });
}

arrow::Result<arrow::Datum> PrintBooleans(const KernelInput& input) {
  const arrow::ArrayData& data = *input.arguments[0].array();
  return MapToText(input, [&data](int64_t row, std::string* out) {
    out->append(arrow::bit_util::GetBit(data.buffers[1]->data(), data.offset + row) ? "true" : "false");
    return arrow::Status::OK();
  });
}

}  // namespace

arrow::Result<arrow::Datum> CastToText(const KernelInput& input) {
  const arrow::DataType& type = *input.arguments[0].type();
  switch (type.id()) {
    case Type::BOOL:
      return PrintBooleans(input);
    case Type::INT16:
      return PrintRows<int16_t>(input, [](int16_t value, std::string* out) { AppendInteger(value, out); });
    case Type::INT32:
      return PrintRows<int32_t>(input, [](int32_t value, std::string* out) { AppendInteger(value, out); });
    case Type::INT64:
      return PrintRows<int64_t>(input, AppendInteger);
    case Type::FLOAT:
      return PrintRows<float>(input, AppendFloat);
    case Type::DOUBLE:
      return PrintRows<double>(input, AppendDouble);
    case Type::DECIMAL64:
    case Type::DECIMAL128: {
      const DecimalReader reader(input.arguments[0]);
      const int scale = DecimalScale(type);
      return MapToText(input, [&](int64_t row, std::string* out) {
        AppendDecimal(reader[row], scale, out);
        return arrow::Status::OK();
      });
    }
    case Type::DATE32:
      return PrintRows<int32_t>(input, AppendDate);
    case Type::TIME64: {
      const auto unit = checked_cast<const arrow::Time64Type&>(type).unit();
      return PrintRows<int64_t>(input, [unit](int64_t value, std::string* out) { AppendTime(value, unit, out); });
    }
    case Type::TIMESTAMP: {
      const auto& timestamp = checked_cast<const arrow::TimestampType&>(type);
      return PrintRows<int64_t>(input, [&timestamp](int64_t value, std::string* out) { AppendTimestamp(value, timestamp, out); });
    }
    case Type::INTERVAL_MONTH_DAY_NANO:
      return PrintRows<Interval>(input, AppendInterval);
    case Type::BINARY:
    case Type::FIXED_SIZE_BINARY:
      return PrintBytes(input);
    case Type::EXTENSION:
      return PrintUuids(input);
    default:
      return MakeError(ErrorKind::kUnsupported, "cannot cast type {} to text", SqlFamilyName(type));
  }
}

}  // namespace icebound::expr
