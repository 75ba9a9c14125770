// SPDX-License-Identifier: Apache-2.0
//
// The leaves of column_decoder.h: a reading step (what stands in the file) under an Arrow builder (what is wanted).
#include <arrow/array/builder_binary.h>
#include <arrow/array/builder_decimal.h>
#include <arrow/array/builder_primitive.h>
#include <arrow/array/builder_time.h>
#include <arrow/util/decimal.h>
#include <arrow/util/utf8.h>

#include <limits>

#include "base/error.h"
#include "iceberg/avro/column_decoder.h"

namespace icebound::iceberg::avro {

namespace {

/// `Append(cursor, builder) -> arrow::Result<int64_t>`-like steps are small functors, so that a value costs one virtual call.
template <typename Builder, typename Step>
class LeafDecoder final : public ColumnDecoder {
 public:
  LeafDecoder(const std::shared_ptr<arrow::DataType>& type, Step step, DecoderContext* context)
      : step_(step), builder_(type, context->pool), context_(context) {}

  arrow::Status Decode(BlockCursor* cursor) override { return step_(cursor, &builder_, &context_->batch_bytes); }
  arrow::Status AppendNull() override {
    ++context_->batch_bytes;
    return builder_.AppendNull();
  }
  int64_t length() const override { return builder_.length(); }
  arrow::Result<std::shared_ptr<arrow::Array>> Finish() override { return builder_.Finish(); }

 private:
  const Step step_;
  Builder builder_;
  DecoderContext* const context_;
};

template <typename Builder, typename Step>
std::unique_ptr<ColumnDecoder> Leaf(const std::shared_ptr<arrow::DataType>& type, Step step, DecoderContext* context) {
  return std::make_unique<LeafDecoder<Builder, Step>>(type, step, context);
}

/// Builders whose constructor takes no type.
template <typename Base>
class Typed : public Base {
 public:
  Typed(const std::shared_ptr<arrow::DataType>&, arrow::MemoryPool* pool) : Base(pool) {}
};

struct BooleanStep {
  arrow::Status operator()(BlockCursor* cursor, arrow::BooleanBuilder* builder, int64_t* bytes) const {
    bool value = false;
    ARROW_RETURN_NOT_OK(cursor->ReadBoolean(&value));
    *bytes += 1;
    return builder->Append(value);
  }
};

/// A stored int or long as a number of Arrow's, times a factor. Floored when the factor is below one: `divisor`.
template <typename Builder>
struct IntegerStep {
  bool is_int;
  int64_t factor = 1;
  int64_t divisor = 1;
  int64_t day = 0;  // times of day: how long it is

  arrow::Status operator()(BlockCursor* cursor, Builder* builder, int64_t* bytes) const {
    using Value = typename Builder::value_type;
    int64_t value = 0;
    if (is_int) {
      int32_t narrow = 0;
      ARROW_RETURN_NOT_OK(cursor->ReadInt(&narrow));
      value = narrow;
    } else {
      ARROW_RETURN_NOT_OK(cursor->ReadLong(&value));
    }
    if (factor != 1 && __builtin_mul_overflow(value, factor, &value)) {
      return MakeError(ErrorKind::kExecution, "a time is too far away for the unit of its column");
    }
    if (divisor != 1) value = value / divisor - (value % divisor < 0 ? 1 : 0);
    if (day != 0 && (value < 0 || value >= day)) {
      return MakeError(ErrorKind::kCorruptData, "a time of day is not within a day: {}", value);
    }
    *bytes += sizeof(Value);
    return builder->Append(static_cast<Value>(value));
  }
};

template <typename Stored, typename Builder>
struct FloatStep {
  arrow::Status operator()(BlockCursor* cursor, Builder* builder, int64_t* bytes) const {
    Stored value = 0;
    ARROW_RETURN_NOT_OK(cursor->ReadFloat(&value));
    *bytes += sizeof(typename Builder::value_type);
    return builder->Append(value);
  }
};

template <typename Builder>
struct BytesStep {
  int64_t fixed_bytes;  // -1: its length stands before it
  bool is_text;

  arrow::Status operator()(BlockCursor* cursor, Builder* builder, int64_t* bytes) const {
    std::string_view value;
    ARROW_RETURN_NOT_OK(fixed_bytes < 0 ? cursor->ReadBytes(&value) : cursor->ReadFixed(fixed_bytes, &value));
    if (is_text && !arrow::util::ValidateUTF8(value)) return MakeError(ErrorKind::kCorruptData, "a string is not UTF-8");
    *bytes += static_cast<int64_t>(value.size()) + 4;
    return builder->Append(value);
  }
};

template <typename Builder>
struct EnumStep {
  const Node* stored;

  arrow::Status operator()(BlockCursor* cursor, Builder* builder, int64_t* bytes) const {
    int32_t symbol = 0;
    ARROW_RETURN_NOT_OK(cursor->ReadInt(&symbol));
    if (symbol < 0 || symbol >= static_cast<int64_t>(stored->symbols.size())) {
      return MakeError(ErrorKind::kCorruptData, "{} has no symbol number {}", ToString(*stored), symbol);
    }
    const std::string& text = stored->symbols[static_cast<size_t>(symbol)];
    *bytes += static_cast<int64_t>(text.size()) + 4;
    return builder->Append(text);
  }
};

/// Big-endian two's complement of any length whose value has at most `precision` digits.
template <typename Builder, typename Value>
struct DecimalStep {
  int64_t fixed_bytes;
  int32_t precision;

  arrow::Status operator()(BlockCursor* cursor, Builder* builder, int64_t* bytes) const {
    std::string_view stored;
    ARROW_RETURN_NOT_OK(fixed_bytes < 0 ? cursor->ReadBytes(&stored) : cursor->ReadFixed(fixed_bytes, &stored));
    const bool is_negative = !stored.empty() && static_cast<int8_t>(stored.front()) < 0;
    const char sign = is_negative ? '\xff' : '\0';
    while (stored.size() > 16 && stored.front() == sign && (static_cast<int8_t>(stored[1]) < 0) == is_negative)
      stored.remove_prefix(1);
    if (stored.empty() || stored.size() > 16) {
      return MakeError(ErrorKind::kCorruptData, "a decimal of {} bytes", stored.size());
    }
    ARROW_ASSIGN_OR_RAISE(const auto value, arrow::Decimal128::FromBigEndian(reinterpret_cast<const uint8_t*>(stored.data()),
                                                                             static_cast<int32_t>(stored.size())));
    if (!value.FitsInPrecision(precision)) {
      return MakeError(ErrorKind::kCorruptData, "a decimal has more than {} digits", precision);
    }
    *bytes += sizeof(Value);
    if constexpr (std::is_same_v<Value, arrow::Decimal128>) {
      return builder->Append(value);
    } else {
      return builder->Append(Value(static_cast<int64_t>(value.low_bits())));
    }
  }
};

/// Units a second; 0 for what is no time.
int64_t UnitsPerSecond(const Node& stored) {
  switch (stored.logical) {
    case LogicalType::kTimeMillis:
    case LogicalType::kTimestampMillis:
      return 1000;
    case LogicalType::kTimeMicros:
    case LogicalType::kTimestampMicros:
      return 1000000;
    case LogicalType::kTimestampNanos:
      return 1000000000;
    default:
      return 0;
  }
}

int64_t UnitsPerSecond(arrow::TimeUnit::type unit) {
  switch (unit) {
    case arrow::TimeUnit::SECOND:
      return 1;
    case arrow::TimeUnit::MILLI:
      return 1000;
    case arrow::TimeUnit::MICRO:
      return 1000000;
    case arrow::TimeUnit::NANO:
      return 1000000000;
  }
  return 1;
}

template <typename Builder>
IntegerStep<Builder> TimeStep(const Node& stored, arrow::TimeUnit::type unit) {
  const int64_t wanted_units = UnitsPerSecond(unit);
  IntegerStep<Builder> step{stored.type == Type::kInt};
  if (stored.logical == LogicalType::kDate) {
    step.factor = 86400 * wanted_units;
    return step;
  }
  // A long without a logical type is taken to be of the wanted unit already.
  const int64_t stored_units = UnitsPerSecond(stored) == 0 ? wanted_units : UnitsPerSecond(stored);
  step.factor = std::max<int64_t>(1, wanted_units / stored_units);
  step.divisor = std::max<int64_t>(1, stored_units / wanted_units);
  return step;
}

bool IsTimeOf(const Node& stored, LogicalType millis) {
  const auto first = static_cast<int>(millis);
  const auto logical = static_cast<int>(stored.logical);
  const int units = millis == LogicalType::kTimeMillis ? 2 : 3;
  return stored.logical == LogicalType::kNone ? stored.type == Type::kLong : logical >= first && logical < first + units;
}

std::unique_ptr<ColumnDecoder> IntegerLeaf(const Node& stored, const std::shared_ptr<arrow::DataType>& wanted,
                                           DecoderContext* context) {
  const bool is_int = stored.type == Type::kInt;
  switch (wanted->id()) {
    case arrow::Type::INT32:
      if (!is_int) return nullptr;
      return Leaf<arrow::Int32Builder>(wanted, IntegerStep<arrow::Int32Builder>{is_int}, context);
    case arrow::Type::INT64:
      return Leaf<arrow::Int64Builder>(wanted, IntegerStep<arrow::Int64Builder>{is_int}, context);
    case arrow::Type::DATE32:
      if (!is_int || (stored.logical != LogicalType::kNone && stored.logical != LogicalType::kDate)) return nullptr;
      return Leaf<arrow::Date32Builder>(wanted, IntegerStep<arrow::Date32Builder>{is_int}, context);
    case arrow::Type::TIME64: {
      if (!IsTimeOf(stored, LogicalType::kTimeMillis)) return nullptr;
      const auto unit = static_cast<const arrow::Time64Type&>(*wanted).unit();
      auto step = TimeStep<arrow::Time64Builder>(stored, unit);
      step.day = 86400 * UnitsPerSecond(unit);
      return Leaf<arrow::Time64Builder>(wanted, step, context);
    }
    case arrow::Type::TIMESTAMP: {
      if (!IsTimeOf(stored, LogicalType::kTimestampMillis) && stored.logical != LogicalType::kDate) return nullptr;
      const auto unit = static_cast<const arrow::TimestampType&>(*wanted).unit();
      return Leaf<arrow::TimestampBuilder>(wanted, TimeStep<arrow::TimestampBuilder>(stored, unit), context);
    }
    default:
      return nullptr;
  }
}

template <typename Builder>
std::unique_ptr<ColumnDecoder> TextLeaf(const Node& stored, const std::shared_ptr<arrow::DataType>& wanted, bool is_text,
                                        DecoderContext* context) {
  if (stored.type == Type::kEnum) return Leaf<Builder>(wanted, EnumStep<Builder>{&stored}, context);
  if (is_text) arrow::util::InitializeUTF8();  // else valid text is refused
  const int64_t fixed_bytes = stored.type == Type::kFixed ? stored.fixed_bytes : -1;
  // A string that the file calls one is checked as well as one that it calls bytes.
  return Leaf<Builder>(wanted, BytesStep<Builder>{fixed_bytes, is_text}, context);
}

template <typename Builder, typename Value>
std::unique_ptr<ColumnDecoder> DecimalLeaf(const Node& stored, const std::shared_ptr<arrow::DataType>& wanted,
                                           DecoderContext* context) {
  const auto& decimal = static_cast<const arrow::DecimalType&>(*wanted);
  if (stored.logical != LogicalType::kDecimal || stored.scale != decimal.scale() || stored.precision > decimal.precision()) {
    return nullptr;
  }
  const int64_t fixed_bytes = stored.type == Type::kFixed ? stored.fixed_bytes : -1;
  return Leaf<Builder>(wanted, DecimalStep<Builder, Value>{fixed_bytes, decimal.precision()}, context);
}

std::unique_ptr<ColumnDecoder> BytesLeaf(const Node& stored, const std::shared_ptr<arrow::DataType>& wanted,
                                         DecoderContext* context) {
  const bool is_variable = stored.type == Type::kBytes || stored.type == Type::kString || stored.type == Type::kEnum;
  switch (wanted->id()) {
    case arrow::Type::STRING:
      return is_variable ? TextLeaf<arrow::StringBuilder>(stored, wanted, true, context) : nullptr;
    case arrow::Type::LARGE_STRING:
      return is_variable ? TextLeaf<arrow::LargeStringBuilder>(stored, wanted, true, context) : nullptr;
    case arrow::Type::BINARY:
      return TextLeaf<arrow::BinaryBuilder>(stored, wanted, false, context);
    case arrow::Type::LARGE_BINARY:
      return TextLeaf<arrow::LargeBinaryBuilder>(stored, wanted, false, context);
    case arrow::Type::FIXED_SIZE_BINARY: {
      const int32_t width = static_cast<const arrow::FixedSizeBinaryType&>(*wanted).byte_width();
      if (stored.type != Type::kFixed || stored.fixed_bytes != width) return nullptr;
      return TextLeaf<arrow::FixedSizeBinaryBuilder>(stored, wanted, false, context);
    }
    case arrow::Type::DECIMAL32:
      return DecimalLeaf<arrow::Decimal32Builder, arrow::Decimal32>(stored, wanted, context);
    case arrow::Type::DECIMAL64:
      return DecimalLeaf<arrow::Decimal64Builder, arrow::Decimal64>(stored, wanted, context);
    case arrow::Type::DECIMAL128:
      return DecimalLeaf<arrow::Decimal128Builder, arrow::Decimal128>(stored, wanted, context);
    default:
      return nullptr;
  }
}

}  // namespace

arrow::Result<std::unique_ptr<ColumnDecoder>> MakeLeafDecoder(const Node& stored, const std::shared_ptr<arrow::DataType>& wanted,
                                                              DecoderContext* context) {
  switch (stored.type) {
    case Type::kBoolean:
      if (wanted->id() != arrow::Type::BOOL) return nullptr;
      return Leaf<arrow::BooleanBuilder>(wanted, BooleanStep{}, context);
    case Type::kInt:
    case Type::kLong:
      return IntegerLeaf(stored, wanted, context);
    case Type::kFloat:
      if (wanted->id() == arrow::Type::FLOAT)
        return Leaf<arrow::FloatBuilder>(wanted, FloatStep<float, arrow::FloatBuilder>{}, context);
      if (wanted->id() != arrow::Type::DOUBLE) return nullptr;
      return Leaf<arrow::DoubleBuilder>(wanted, FloatStep<float, arrow::DoubleBuilder>{}, context);
    case Type::kDouble:
      if (wanted->id() != arrow::Type::DOUBLE) return nullptr;
      return Leaf<arrow::DoubleBuilder>(wanted, FloatStep<double, arrow::DoubleBuilder>{}, context);
    case Type::kBytes:
    case Type::kString:
    case Type::kFixed:
    case Type::kEnum:
      return BytesLeaf(stored, wanted, context);
    default:
      return nullptr;
  }
}

}  // namespace icebound::iceberg::avro
