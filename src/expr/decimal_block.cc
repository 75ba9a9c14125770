// SPDX-License-Identifier: Apache-2.0
#include "expr/decimal_block.h"

#include <arrow/util/checked_cast.h>

#include "expr/type_rules.h"

namespace icebound::expr {

using arrow::internal::checked_cast;

int DecimalScale(const arrow::DataType& type) {
  return arrow::is_decimal(type.id()) ? checked_cast<const arrow::DecimalType&>(type).scale() : 0;
}

bool FitsInt64(const arrow::DataType& type) {
  return type.id() == arrow::Type::INT64 || (type.id() != arrow::Type::UINT64 && DecimalDigits(type) <= 18);
}

Int128 DecimalScalarValue(const arrow::Scalar& scalar) {
  switch (scalar.type->id()) {
    case arrow::Type::INT16:
      return ScalarValue<int16_t>(scalar);
    case arrow::Type::INT32:
    case arrow::Type::DECIMAL32:
      return ScalarValue<int32_t>(scalar);
    case arrow::Type::INT64:
    case arrow::Type::DECIMAL64:
      return ScalarValue<int64_t>(scalar);
    default:
      return ScalarValue<Int128>(scalar);
  }
}

std::shared_ptr<arrow::Scalar> MakeDecimalScalar(Int128 value, const TypePtr& type) {
  if (type->id() == arrow::Type::DECIMAL64)
    return std::make_shared<arrow::Decimal64Scalar>(arrow::Decimal64(static_cast<int64_t>(value)), type);
  return std::make_shared<arrow::Decimal128Scalar>(
      arrow::Decimal128(static_cast<int64_t>(value >> 64), static_cast<uint64_t>(value)), type);
}

DecimalReader::DecimalReader(const arrow::Datum& datum) {
  if (!datum.is_array()) {
    scalar_ = DecimalScalarValue(*datum.scalar());
    return;
  }
  const arrow::ArrayData& data = *datum.array();
  byte_width_ = data.type->byte_width();
  static constexpr uint8_t kNothing = 0;
  values_ = data.buffers[1] == nullptr ? &kNothing : data.buffers[1]->data() + data.offset * byte_width_;
}

template <typename Wide>
void DecimalReader::ReadAs(int64_t begin, int64_t count, Wide* out) const {
  if (values_ == nullptr) {
    std::fill(out, out + count, static_cast<Wide>(scalar_));
    return;
  }
  const auto read = [&]<typename Stored>(Stored) {
    const uint8_t* in = values_ + begin * sizeof(Stored);
    for (int64_t i = 0; i < count; ++i) {
      Stored value;
      std::memcpy(&value, in + i * sizeof(Stored), sizeof(Stored));
      out[i] = static_cast<Wide>(value);
    }
  };
  switch (byte_width_) {
    case 2:
      return read(int16_t{});
    case 4:
      return read(int32_t{});
    case 8:
      return read(int64_t{});
    default:
      return read(Int128{});
  }
}

void DecimalReader::Read(int64_t begin, int64_t count, int64_t* out) const { ReadAs(begin, count, out); }
void DecimalReader::Read(int64_t begin, int64_t count, Int128* out) const { ReadAs(begin, count, out); }

}  // namespace icebound::expr
