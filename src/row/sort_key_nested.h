// SPDX-License-Identifier: Apache-2.0
//
// Sort-key bodies of lists, maps and structs (the table in sort_key.h), a value at a time and always ascending: the encoder
// inverts the whole body afterwards when the field is descending.
#pragma once

#include <arrow/array/data.h>

#include <cstdint>

#include "row/type_shape.h"

namespace icebound::row {

/// Bytes of the body of the valid value at `position` (as in RowBlock) of any layout.
uint64_t NestedKeyLength(const TypeShape& shape, const arrow::ArrayData& array, int64_t position);

/// Writes the body and returns its end. Clears *fits when a decimal inside has more digits than its packed integer holds.
uint8_t* WriteNestedKey(const TypeShape& shape, const arrow::ArrayData& array, int64_t position, uint8_t* out, bool* fits);

/// End of the body that starts at `key`. `mask` is FF for a descending field, else 00.
const uint8_t* SkipNestedKey(const TypeShape& shape, const uint8_t* key, uint8_t mask);

}  // namespace icebound::row
