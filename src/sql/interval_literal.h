// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <arrow/result.h>
#include <arrow/type.h>

#include <cstdint>
#include <string_view>

namespace icebound::sql {

/// The fields of INTERVAL '...' YEAR TO MONTH as the parser encodes them: one bit a field.
struct IntervalFields {
  static constexpr uint32_t kMonth = 1u << 1, kYear = 1u << 2, kDay = 1u << 3, kHour = 1u << 10, kMinute = 1u << 11,
                            kSecond = 1u << 12;
  static constexpr uint32_t kAll = 0x7FFF;
};

/// The value of INTERVAL 'text' with these fields: a number without a unit counts the last field, smaller ones are cut off,
/// larger ones stay (as in PostgreSQL). The error quotes the text and has no position.
arrow::Result<arrow::MonthDayNanoIntervalType::MonthDayNanos> IntervalFromText(std::string_view text,
                                                                               uint32_t fields = IntervalFields::kAll);

}  // namespace icebound::sql
