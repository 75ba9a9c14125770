// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <arrow/result.h>
#include <arrow/type.h>

#include <cstdint>
#include <string_view>

namespace icebound::sql {

/// The fields of INTERVAL '...' YEAR TO MONTH, as the parser encodes them: one bit a field.
struct IntervalFields {
  static constexpr uint32_t kMonth = 1u << 1, kYear = 1u << 2, kDay = 1u << 3, kHour = 1u << 10, kMinute = 1u << 11,
                            kSecond = 1u << 12;
  static constexpr uint32_t kAll = 0x7FFF;
  uint32_t mask = kAll;
};

/// Reads PostgreSQL's interval text: "3 months 2 days", "1 year -2 hours ago", "1-2" (years-months), "04:05:06.789", "1 12:00",
/// "P1Y2M3DT4H5M6S". Fractions go to the smaller units as in PostgreSQL (a month has 30 days there, a day 24 hours). With
/// `fields` a bare number counts the last field and smaller ones are cut off. The error quotes the text and has no position.
arrow::Result<arrow::MonthDayNanoIntervalType::MonthDayNanos> ParseInterval(std::string_view text, IntervalFields fields = {});

}  // namespace icebound::sql
