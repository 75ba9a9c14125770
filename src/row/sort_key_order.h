// SPDX-License-Identifier: Apache-2.0
//
// The fixed-width bodies of sort keys (the table in sort_key.h): packed values to bytes in memcmp order, and back.
#pragma once

#include <cstdint>

#include "row/type_shape.h"

namespace icebound::row {

/// How a packed value becomes bytes that compare like it.
enum class Order : uint8_t {
  kUnsigned,   ///< big endian
  kSigned,     ///< big endian, sign bit flipped; every width up to 32 bytes
  kHalfFloat,  ///< the three floating point types: zeros tied, NaN tied and last
  kFloat,
  kDouble,
  kDayTime,       ///< {int32 days, int32 milliseconds} as milliseconds
  kMonthDayNano,  ///< {int32 months, int32 days, int64 nanoseconds} as nanoseconds, a month being 30 days
};

/// The order of a layout that is fixed but not kBytes.
Order OrderOf(const TypeShape& shape);

/// Whether RestoreValues can undo OrderValues.
bool IsReversible(Order order);

/// Reads `count` packed values of `width` bytes and writes as many bytes to `ordered`, inverted if asked. The ranges do not
/// overlap.
void OrderValues(Order order, int32_t width, bool invert, const uint8_t* packed, int32_t count, uint8_t* ordered);

/// The opposite, for reversible orders.
void RestoreValues(Order order, int32_t width, bool invert, const uint8_t* ordered, int32_t count, uint8_t* packed);

}  // namespace icebound::row
