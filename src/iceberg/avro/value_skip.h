// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <arrow/status.h>

#include "iceberg/avro/binary.h"
#include "iceberg/avro/schema.h"

namespace icebound::iceberg::avro {

/// Moves the cursor behind a value of this type. Takes time in proportion to the value's bytes at most, times kMaxValueDepth.
arrow::Status SkipValue(const Node& node, BlockCursor* cursor);

}  // namespace icebound::iceberg::avro
